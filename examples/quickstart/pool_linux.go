package main

import (
	"syscall"
	"time"
)

// userTimeout returns what sets TCP_USER_TIMEOUT on a socket.
func userTimeout(d time.Duration) func(network, address string, c syscall.RawConn) error {
	const tcpUserTimeout = 18 // TCP_USER_TIMEOUT of linux/tcp.h, in milliseconds
	return func(network, _ string, c syscall.RawConn) (err error) {
		if network == "unix" {
			return nil
		}
		controlled := c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(d.Milliseconds()))
		})
		if err == nil {
			err = controlled
		}
		return err
	}
}
