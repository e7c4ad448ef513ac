package pgrun

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// bouncerPort is part of the socket's name and of nothing else.
const bouncerPort = 6432

// BouncerConfig says which server a PgBouncer stands before. PoolSize is
// required.
type BouncerConfig struct {
	// Host is a host name, an address or the directory of a Unix socket.
	Host string
	Port uint16
	// User and Password are those of every connection to the server, whatever
	// name a client gives.
	User, Password string
	// PoolSize is the number of server connections for a database. With
	// more clients than that, transactions wait for one another's.
	PoolSize int
	// Sessions: a client keeps its server connection until it leaves, instead of
	// until its transaction ends.
	Sessions bool
	// Settings are more lines of its section pgbouncer, such as "query_wait_timeout = 1".
	Settings []string
}

// A Bouncer is a PgBouncer in a temporary directory.
type Bouncer struct {
	home    *home
	process *process
}

// StartBouncer starts the program and returns when it accepts connections, as
// the same user as StartServer's. Close it after use.
func StartBouncer(ctx context.Context, program string, config BouncerConfig) (*Bouncer, error) {
	h, err := newHome()
	if err != nil {
		return nil, fmt.Errorf("start PgBouncer: %w", err)
	}
	if err := h.write("pgbouncer.ini", config.ini(h.dir)); err != nil {
		return nil, errors.Join(err, h.close())
	}
	p, err := h.start(syscall.SIGKILL, program, h.path("pgbouncer.ini"))
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	b := &Bouncer{home: h, process: p}
	if err := b.wait(ctx); err != nil {
		return nil, errors.Join(h.explain(fmt.Errorf("PgBouncer did not start: %w", err)), b.Close())
	}
	return b, nil
}

// URL is the connection string of the database with that name on the server.
func (b *Bouncer) URL(database string) string {
	return (&url.URL{
		Scheme:   "postgres",
		User:     url.User("anyone"),
		Path:     "/" + database,
		RawQuery: url.Values{"host": {b.home.dir}, "port": {strconv.Itoa(bouncerPort)}}.Encode(),
	}).String()
}

// Close ends it, its connections too, and removes its directory.
func (b *Bouncer) Close() error {
	var err error
	if b.process.running() {
		err = b.process.stop(syscall.SIGKILL) // it has nothing to lose; other signals differ by version
	}
	return errors.Join(err, b.home.close())
}

func (b *Bouncer) wait(ctx context.Context) error {
	socket := b.home.path(".s.PGSQL." + strconv.Itoa(bouncerPort))
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		if connection, err := (&net.Dialer{}).DialContext(ctx, "unix", socket); err == nil {
			return connection.Close()
		}
		select {
		case <-b.process.ended:
			return errors.Join(b.process.err, errEnded)
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// ini is the configuration file. What is not named is as PgBouncer has it by
// itself, so that tests meet what a host meets.
func (c BouncerConfig) ini(dir string) string {
	mode := "transaction"
	if c.Sessions {
		mode = "session"
	}
	return fmt.Sprintf(`[databases]
* = %s

[pgbouncer]
listen_addr =
listen_port = %d
unix_socket_dir = %s
auth_type = any
pool_mode = %s
default_pool_size = %d
max_client_conn = 1000
%s
`, c.server(), bouncerPort, dir, mode, c.PoolSize, strings.Join(c.Settings, "\n"))
}

// server is the connection string in PgBouncer's own syntax, which has no empty
// values.
func (c BouncerConfig) server() string {
	var out strings.Builder
	fmt.Fprintf(&out, "port=%d", c.Port)
	for _, parameter := range []struct{ name, value string }{
		{"host", c.Host}, {"user", c.User}, {"password", c.Password},
	} {
		if parameter.value != "" {
			fmt.Fprintf(&out, " %s='%s'", parameter.name, strings.ReplaceAll(parameter.value, "'", "''"))
		}
	}
	return out.String()
}
