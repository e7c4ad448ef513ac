package pgrun

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

//go:embed install.sh
var installScript string

// ErrCannotInstall is matched by Installer's errors when the machine has no
// apt-get, or neither root nor sudo without a password is at hand.
var ErrCannotInstall = errors.New("cannot install packages here")

// Installer installs packages with apt-get. The zero value is ready for use.
type Installer struct {
	// Output receives what apt-get says. Nil: it is discarded.
	Output io.Writer
	// LookPath finds a program. Nil: exec.LookPath.
	LookPath func(program string) (string, error)
	// UID is the effective user. Nil: this process's.
	UID func() int
	// Run runs a command. Nil: it is run, with Output as its output.
	Run func(ctx context.Context, name string, args ...string) error
}

// Install installs the packages, as root directly and else with sudo -n. No
// service is started and no database cluster is made on the machine.
func (i Installer) Install(ctx context.Context, packages ...string) error {
	name, args, err := i.command(packages)
	if err != nil {
		return fmt.Errorf("install %s: %w", strings.Join(packages, " "), err)
	}
	run := i.Run
	if run == nil {
		run = i.run
	}
	if err := run(ctx, name, args...); err != nil {
		return fmt.Errorf("install %s: %w", strings.Join(packages, " "), err)
	}
	return nil
}

func (i Installer) command(packages []string) (name string, args []string, err error) {
	look, uid := i.LookPath, i.UID
	if look == nil {
		look = exec.LookPath
	}
	if uid == nil {
		uid = os.Geteuid
	}
	if _, err := look("apt-get"); err != nil {
		return "", nil, fmt.Errorf("%w: no apt-get", ErrCannotInstall)
	}
	args = append([]string{"-c", installScript, "install.sh"}, packages...)
	if uid() == 0 {
		return "/bin/sh", args, nil
	}
	if _, err := look("sudo"); err != nil {
		return "", nil, fmt.Errorf("%w: not root, and no sudo", ErrCannotInstall)
	}
	return "sudo", append([]string{"-n", "/bin/sh"}, args...), nil
}

func (i Installer) run(ctx context.Context, name string, args ...string) error {
	command := exec.CommandContext(ctx, name, args...) //nolint:gosec // the two forms that command makes
	command.Stdout, command.Stderr = i.Output, i.Output
	// The script clears up after itself when it is told to end.
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	return command.Run()
}
