//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// pooler is PgBouncer on a machine of a host, and HAProxy, by which PgBouncer finds the leader.
type pooler struct{ bouncer, proxy *unit }

// haproxyConfig asks Patroni on each node whether its PostgreSQL is the leader. When the
// leader is one no more, all connections to it end, so that nobody waits for it.
const haproxyConfig = `
defaults
  mode tcp
  timeout connect 2s
  timeout check 2s
  timeout client 1h
  timeout server 1h
listen leader
  bind 127.0.0.1:5000
  option httpchk GET /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 tcp-ut 5s on-marked-down shutdown-sessions
`

// bouncerConfig is that of PgBouncer. Its waits are shorter than a call of the host's may take
// (see storeTimeout): after a fault PgBouncer asks for a server each second, not after 15 s.
const bouncerConfig = `
[databases]
* = host=127.0.0.1 port=5000
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = 6432
unix_socket_dir =
auth_type = trust
auth_file = %s
pool_mode = transaction
default_pool_size = 16
max_client_conn = 200
server_connect_timeout = 2
server_login_retry = 1
query_wait_timeout = 4
log_connections = 0
log_disconnections = 0
`

// startPooler starts both on a machine.
func startPooler(m *machine, nodes []*node, dir, logs string) (*pooler, error) {
	var servers strings.Builder
	for _, n := range nodes {
		fmt.Fprintf(&servers, "  server %s %s:5432 check port 8008\n", n.name, n.address)
	}
	users := filepath.Join(dir, m.name, "users.txt")
	files := map[string]string{
		"haproxy.cfg":   haproxyConfig + servers.String(),
		"users.txt":     `"` + databaseRole + `" ""` + "\n",
		"pgbouncer.ini": fmt.Sprintf(bouncerConfig, users),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, m.name, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	p := &pooler{}
	var err error
	if p.proxy, err = m.add("haproxy-"+m.name, logs, "haproxy", "-db", "-f", filepath.Join(dir, m.name, "haproxy.cfg")); err != nil {
		return nil, err
	}
	p.bouncer, err = m.add("pgbouncer-"+m.name, logs, "pgbouncer", filepath.Join(dir, m.name, "pgbouncer.ini"))
	return p, err
}
