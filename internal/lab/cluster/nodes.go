//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"text/template"
	"time"
)

// node is a machine with PostgreSQL under Patroni, and a member of etcd.
type node struct {
	*machine
	data          string // PostgreSQL's directory, a file system of its own
	etcd, patroni *unit
	killed        time.Time // when its PostgreSQL was, last
}

// diskSize is how much room a node has for PostgreSQL.
const diskSize = "768m"

// patroniConfig is the configuration of one node. Passwords and TLS are left out: nobody else
// is on this network.
var patroniConfig = template.Must(template.New("").Parse(`
scope: forms
name: {{.Name}}
restapi:
  listen: {{.Address}}:8008
  connect_address: {{.Address}}:8008
{{.Store}}:
  hosts: {{.Etcd}}
bootstrap:
  dcs:
    # How long a leader that says nothing stays the leader. Patroni takes no less.
    ttl: 20
    loop_wait: 2
    retry_timeout: 8
    # A leader whose PostgreSQL does not come back in this time gives way.
    primary_start_timeout: 10
    # What is acknowledged is on two machines. Strict: without a second machine nothing is
    # acknowledged.
    synchronous_mode: true
    synchronous_mode_strict: true
    maximum_lag_on_failover: 1048576
    postgresql:
      use_pg_rewind: true
      use_slots: true
      parameters:
        # A standby or a client that says nothing is given up. PostgreSQL's own times are a
        # minute and a quarter of an hour; that long responses would wait for a synchronous
        # standby that is cut off.
        wal_sender_timeout: 5s
        wal_receiver_timeout: 5s
        tcp_user_timeout: 5s
        max_connections: 100
        shared_buffers: 64MB
        min_wal_size: 64MB
        max_wal_size: 128MB
        wal_keep_size: 128MB
        max_slot_wal_keep_size: 256MB
  initdb:
    - encoding: UTF8
    - locale: C
    - data-checksums
postgresql:
  listen: {{.Address}}:5432
  connect_address: {{.Address}}:5432
  data_dir: {{.Data}}/data
  bin_dir: {{.Bin}}
  pgpass: {{.Data}}/pgpass
  authentication:
    superuser: {username: postgres}
    replication: {username: replicator}
    rewind: {username: postgres}
  pg_hba:
    - local all all trust
    - host all all 10.99.0.0/24 trust
    - host replication replicator 10.99.0.0/24 trust
  parameters:
    unix_socket_directories: {{.Data}}
`))

// etcdSection says by which API of etcd Patroni of a version keeps its state: "etcd3", or
// "etcd", which is the second. Before 3.0.3, Patroni had a fault with the third: a leader that
// comes back from behind a broken network overwrites the key of its successor, and what was
// acknowledged meanwhile is lost (github.com/patroni/patroni/pull/2689). Debian 12 has 3.0.2.
func etcdSection(version string) (string, error) {
	var major, minor, patch int
	if _, err := fmt.Sscanf(version, "patroni %d.%d.%d", &major, &minor, &patch); err != nil {
		return "", fmt.Errorf("the version of Patroni is %q: %w", version, err)
	}
	if 10000*major+100*minor+patch < 30003 {
		return "etcd", nil
	}
	return "etcd3", nil
}

// startNodes starts etcd and Patroni on each machine.
func startNodes(ctx context.Context, machines []*machine, bin, dir, logs string) ([]*node, error) {
	version, err := exec.CommandContext(ctx, "patroni", "--version").Output()
	if err != nil {
		return nil, err
	}
	section, err := etcdSection(string(version))
	if err != nil {
		return nil, err
	}
	var flags []string
	if section == "etcd" {
		flags = []string{"--enable-v2"}
	}
	var members, clients []string
	for _, m := range machines {
		members = append(members, fmt.Sprintf("%s=http://%s:2380", m.name, m.address))
		clients = append(clients, m.address+":2379")
	}
	var nodes []*node
	for _, m := range machines {
		n := &node{machine: m, data: filepath.Join(dir, m.name, "postgres")}
		if err := directory(n.data); err != nil {
			return nil, err
		}
		if err := syscall.Mount("tmpfs", n.data, "tmpfs", 0, "mode=0700,size="+diskSize); err != nil {
			return nil, err
		}
		if err := give(n.data); err != nil {
			return nil, err
		}
		store := filepath.Join(dir, m.name, "etcd")
		if err := directory(store); err != nil {
			return nil, err
		}
		var config bytes.Buffer
		if err := patroniConfig.Execute(&config, map[string]string{
			"Name": m.name, "Address": m.address, "Etcd": strings.Join(clients, ","), "Data": n.data, "Bin": bin, "Store": section,
		}); err != nil {
			return nil, err
		}
		file := filepath.Join(dir, m.name, "patroni.yml")
		if err := os.WriteFile(file, config.Bytes(), 0o644); err != nil {
			return nil, err
		}
		n.etcd, err = m.add("etcd-"+m.name, logs, append([]string{"etcd",
			"--name", m.name, "--data-dir", store,
			"--listen-peer-urls", "http://" + m.address + ":2380", "--initial-advertise-peer-urls", "http://" + m.address + ":2380",
			"--listen-client-urls", "http://" + m.address + ":2379", "--advertise-client-urls", "http://" + m.address + ":2379",
			"--initial-cluster", strings.Join(members, ","),
			// On a busy machine the usual 100 ms and 1 s make elections of nothing.
			"--heartbeat-interval", "200", "--election-timeout", "2000", "--logger", "zap", "--log-level", "error"}, flags...)...)
		if err != nil {
			return nil, err
		}
		if n.patroni, err = m.add("patroni-"+m.name, logs, "patroni", file); err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// member is what Patroni says of a node.
type member struct {
	Name  string          `json:"name"`
	Role  string          `json:"role"`  // leader, sync_standby, replica
	State string          `json:"state"` // running, streaming …
	Lag   json.RawMessage `json:"lag"`
}

func (m member) String() string {
	return fmt.Sprintf("%s %s %s, lag %s", m.Name, m.Role, m.State, m.Lag)
}

// ask is the client for what Patroni and etcd say.
var ask = &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// members asks the nodes in turn, until one answers.
func members(ctx context.Context, nodes []*node) ([]member, error) {
	var failed error
	for _, n := range nodes {
		var cluster struct{ Members []member }
		err := get(ctx, "http://"+n.address+":8008/cluster", &cluster)
		if err == nil {
			return cluster.Members, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

func get(ctx context.Context, url string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	return fetch(r, into)
}

func fetch(r *http.Request, into any) error {
	answer, err := ask.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	return json.NewDecoder(answer.Body).Decode(into)
}

// find returns the node with a role, nil when there is none.
func find(nodes []*node, members []member, role string) *node {
	for _, m := range members {
		if m.Role == role && (m.State == "running" || m.State == "streaming") {
			for _, n := range nodes {
				if n.name == m.Name {
					return n
				}
			}
		}
	}
	return nil
}

// whole waits until there is nothing left to repair: Patroni has a leader, a synchronous standby
// and another one, both get what the leader writes, and etcd has all its members. For a moment
// after a standby was killed neither Patroni nor the leader knows: it has to follow anew.
func whole(ctx context.Context, nodes []*node, patience time.Duration) error {
	admin, err := openPool(ctx, nodesURL(nodes, "postgres", "postgres"), false)
	if err != nil {
		return err
	}
	defer admin.Close()
	var names []string
	var killed []time.Time
	for _, n := range nodes {
		names, killed = append(names, n.name), append(killed, n.killed)
	}
	return until(ctx, patience, func() error {
		for _, n := range nodes {
			var etcd struct{ Health string }
			if err := get(ctx, "http://"+n.address+":2379/health", &etcd); err != nil || etcd.Health != "true" {
				return fmt.Errorf("etcd on %s is not well (%w)", n.name, err)
			}
		}
		list, err := members(ctx, nodes)
		if err != nil {
			return err
		}
		if find(nodes, list, "leader") == nil || find(nodes, list, "sync_standby") == nil || find(nodes, list, "replica") == nil {
			return fmt.Errorf("the nodes are not whole: %s", list)
		}
		asking, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		var streaming, synchronous int
		err = admin.QueryRow(asking, `SELECT count(*), count(*) FILTER (WHERE sync_state = 'sync') FROM pg_stat_replication
			JOIN unnest($1::text[], $2::timestamptz[]) AS node (name, killed) ON node.name = application_name
			WHERE state = 'streaming' AND backend_start > node.killed`, names, killed).Scan(&streaming, &synchronous)
		if err == nil && (streaming != len(nodes)-1 || synchronous != 1) {
			err = fmt.Errorf("%d standbys follow, %d synchronously", streaming, synchronous)
		}
		return err
	})
}
