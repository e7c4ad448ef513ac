// Package freeport finds addresses for programs that have to be told one. It is for tests.
package freeport

import (
	"context"
	"math/rand/v2"
	"net"
	"strconv"
)

// The ports below are not those that systems give to connections and to listeners on port 0, from
// 32768 on: of these another test may get one before the program listens on it.
const (
	first = 10_000
	ports = 20_000
	tries = 100
)

// Address returns a loopback address on which nothing listens.
func Address(ctx context.Context) (string, error) {
	var listener net.Listener
	err := error(nil)
	for range tries {
		port := first + rand.IntN(ports) //nolint:gosec // no secret
		listener, err = new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return listener.Addr().String(), listener.Close()
		}
	}
	return "", err
}
