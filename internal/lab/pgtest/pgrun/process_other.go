//go:build !linux

package pgrun

import (
	"errors"
	"syscall"
)

// attributes: elsewhere than on Linux nobody runs tests as root, and a program
// cannot be made to end with its parent.
func attributes(account, syscall.Signal) *syscall.SysProcAttr { return nil }

// freeze: PostgreSQL's processes end by themselves soon after the first one.
func (p *process) freeze() ([]int, error) { return nil, nil }

func alive(int) bool { return false }

func children(int) []int { return nil }

const stopped, goesOn = syscall.Signal(0), syscall.Signal(0)

func signal(int, syscall.Signal) error { return errors.ErrUnsupported }
