package postgres_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/storage/postgres"
)

// silence is how long a network may say nothing before a connection is given up. Without
// these settings an operating system waits for a quarter of an hour.
const silence = 5 * time.Second

// openPool makes the pool of a host.
func openPool(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 16
	config.ConnConfig.ConnectTimeout = silence // of a new connection
	config.PingTimeout = silence               // of one that was idle, before it serves
	// What was sent and is not acknowledged ends the connection: on this side and, by its own
	// setting, on the server's. A PgBouncer refuses the setting here; there it belongs to the
	// role (ALTER ROLE app SET tcp_user_timeout = '5s').
	config.ConnConfig.DialFunc = (&net.Dialer{Control: userTimeout}).DialContext
	config.ConnConfig.RuntimeParams["tcp_user_timeout"] = strconv.FormatInt(silence.Milliseconds(), 10)
	return pgxpool.NewWithConfig(ctx, config)
}

// userTimeout sets TCP_USER_TIMEOUT, which Linux has, on a socket.
func userTimeout(network, _ string, c syscall.RawConn) (err error) {
	const tcpUserTimeout = 18 // of linux/tcp.h, in milliseconds
	if network == "unix" {
		return nil
	}
	controlled := c.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(silence.Milliseconds()))
	})
	if err == nil {
		err = controlled
	}
	return err
}

// A pool with time-outs against a network that falls silent.
func Example_pool() {
	ctx := context.Background()
	pool, err := openPool(ctx, os.Getenv("DATABASE_URL")) // connects when it is used first
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	store := postgres.New(pool)
	fmt.Println(store.Validate())
	// Output: <nil>
}
