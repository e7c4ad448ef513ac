//go:build linux

package main

import (
	"context"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sys/unix"
)

// The role and the database of the hosts.
const databaseRole, databaseName = "app", "forms"

// nodesURL names all nodes: a new connection goes to the first of them that takes changes.
func nodesURL(nodes []*node, role, database string) string {
	var hosts []string
	for _, n := range nodes {
		hosts = append(hosts, n.address+":5432")
	}
	return "postgres://" + role + "@" + strings.Join(hosts, ",") + "/" + database + "?target_session_attrs=read-write"
}

// poolerURL is PgBouncer on the host's own machine.
const poolerURL = "postgres://" + databaseRole + "@127.0.0.1:6432/" + databaseName

const (
	// networkSilence is how long a network may say nothing before a connection is given up;
	// examples/quickstart/pool.go has the reasons of these settings. With several nodes in the
	// URL a new connection waits that long for each that is silent, so it is less here: all of
	// them together have to fit into the time of a call.
	networkSilence = 2 * time.Second
	// storeTimeout is the time of a call. It is shorter than the time for which a leader that is
	// cut off still leads (Patroni's retry_timeout), so that a client asks again while it does:
	// that must not do harm, and here it is tried.
	storeTimeout = 5 * time.Second
)

// openPool connects a host to PostgreSQL, directly or through a PgBouncer.
func openPool(ctx context.Context, url string, pooled bool) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 12
	config.ConnConfig.ConnectTimeout = networkSilence
	config.PingTimeout = networkSilence
	config.ConnConfig.DialFunc = (&net.Dialer{Control: userTimeout}).DialContext
	if pooled {
		// PgBouncer before 1.21 knows no prepared statements in transaction mode. It takes no
		// tcp_user_timeout either, which is a setting of the role (see prepare).
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	} else {
		config.ConnConfig.RuntimeParams["tcp_user_timeout"] = strconv.FormatInt(networkSilence.Milliseconds(), 10)
	}
	return pgxpool.NewWithConfig(ctx, config)
}

// userTimeout sets TCP_USER_TIMEOUT on a socket.
func userTimeout(_, _ string, c syscall.RawConn) (err error) {
	controlled := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(networkSilence.Milliseconds()))
	})
	if err == nil {
		err = controlled
	}
	return err
}
