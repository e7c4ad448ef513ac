package main

import (
	"context"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// silence is how long a network may say nothing before a connection is given up. Without
// these settings an operating system waits for a quarter of an hour.
const silence = 5 * time.Second

// openPool connects to PostgreSQL, with the settings that a network between the two needs.
func openPool(ctx context.Context, database string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(database)
	if err != nil {
		return nil, err
	}
	config.ConnConfig.ConnectTimeout = silence // of a new connection
	config.PingTimeout = silence               // of one that was idle, before it serves
	// What was sent and is not acknowledged by the other side's network ends the connection:
	// on this side and, by its own setting, on the server's. A PgBouncer refuses the setting
	// here; there it belongs to the role (ALTER ROLE app SET tcp_user_timeout = '5s').
	config.ConnConfig.DialFunc = (&net.Dialer{Control: userTimeout(silence)}).DialContext
	config.ConnConfig.RuntimeParams["tcp_user_timeout"] = strconv.FormatInt(silence.Milliseconds(), 10)
	return pgxpool.NewWithConfig(ctx, config)
}
