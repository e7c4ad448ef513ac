//go:build unix

package webhooks

import (
	"errors"
	"net"
	"syscall"
)

// silent reports whether an idle connection is still open and nothing has come in. What
// comes unasked is not an answer to the next request.
func silent(conn net.Conn) bool {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	open := false
	err = raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK)
		open = errors.Is(err, syscall.EAGAIN)
		return true
	})
	return err == nil && open
}
