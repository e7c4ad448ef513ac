//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// kind is a kind of fault. do brings it about and returns when it is over; what it killed is
// started by the supervisor.
type kind struct {
	name string
	do   func(context.Context, *cluster) error
	// cut says whether all hosts may lose the results of deliveries, rather than one or none.
	cut bool
	// kills is how many host processes it kills.
	kills int
}

// kinds are in the order in which they happen. The first four are the short form.
var kinds = []kind{
	{"leader's PostgreSQL killed", killLeader, true, 0},
	{"host process killed", killHost, false, 1},
	{"leader cut off", cutLeaderOff, true, 0},
	{"switchover", switchOver, true, 0},
	{poolerKilled, killPooler, true, 0},
	{"leader's disk full", fillDisk, true, 0},
	{"etcd's leader killed", killEtcd, true, 0},
	{"leader's machine off", turnLeaderOff, true, 0},
	{"standby killed", killStandby, true, 0},
	{"leader and a host cut off", cutLeaderAndHostOff, true, 0},
	{"standby cut off", cutStandbyOff, true, 0},
	{"Redis killed", killRedis, false, 0},
}

const poolerKilled = "pooler killed"

func kindNames() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// happened is a fault with what it did.
type happened struct {
	kind     string
	silences map[string]time.Duration // by door
	took     time.Duration            // until all was well again
}

const (
	// giveWay bounds how long the others may take to have another leader.
	giveWay = 45 * time.Second
	// wellWithin bounds how long the cluster may take to be whole again.
	wellWithin = 90 * time.Second
)

// happen brings a fault about under load and waits until all is well again.
func (c *cluster) happen(ctx context.Context, k kind) (happened, error) {
	began := time.Now()
	c.driver.silences() // those from before are not this fault's
	if err := k.do(ctx, c); err != nil {
		return happened{}, fmt.Errorf("%s: %w", k.name, err)
	}
	if err := whole(ctx, c.nodes, wellWithin); err != nil {
		return happened{}, fmt.Errorf("%s: %w", k.name, err)
	}
	if err := c.driver.wait(ctx); err != nil {
		return happened{}, fmt.Errorf("%s: %w", k.name, err)
	}
	return happened{k.name, c.driver.silences(), time.Since(began)}, ctx.Err()
}

// now returns the nodes with these roles, as soon as there are both.
func (c *cluster) now(ctx context.Context) (leader, standby *node, err error) {
	err = until(ctx, wellWithin, func() error {
		list, err := members(ctx, c.nodes)
		leader, standby = find(c.nodes, list, "leader"), find(c.nodes, list, "sync_standby")
		if err == nil && (leader == nil || standby == nil) {
			err = fmt.Errorf("no leader, or no synchronous standby: %s", list)
		}
		return err
	})
	return leader, standby, err
}

// succeeded waits until the other nodes have another leader than this one, and a synchronous
// standby.
func (c *cluster) succeeded(ctx context.Context, old *node) error {
	var others []*node
	for _, n := range c.nodes {
		if n != old {
			others = append(others, n)
		}
	}
	return until(ctx, giveWay, func() error {
		list, err := members(ctx, others)
		if leader := find(c.nodes, list, "leader"); err == nil && (leader == nil || leader == old || find(c.nodes, list, "sync_standby") == nil) {
			err = fmt.Errorf("nobody has succeeded %s: %s", old.name, list)
		}
		return err
	})
}

func killLeader(ctx context.Context, c *cluster) error {
	leader, _, err := c.now(ctx)
	if err != nil {
		return err
	}
	return leader.killPostgres()
}

// killPostgres kills the first process of the node's PostgreSQL; the others end with it.
func (n *node) killPostgres() error {
	text, err := os.ReadFile(filepath.Join(n.data, "data", "postmaster.pid"))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return err
	}
	err = syscall.Kill(pid, syscall.SIGKILL)
	n.killed = time.Now()
	return err
}

func turnLeaderOff(ctx context.Context, c *cluster) error {
	leader, _, err := c.now(ctx)
	if err != nil {
		return err
	}
	err = leader.powerOff()
	if err == nil {
		err = c.succeeded(ctx, leader)
	}
	leader.powerOn()
	return err
}

func killStandby(ctx context.Context, c *cluster) error {
	_, standby, err := c.now(ctx)
	if err != nil {
		return err
	}
	return errors.Join(standby.killPostgres(), standby.patroni.kill())
}

func killEtcd(ctx context.Context, c *cluster) error {
	for _, n := range c.nodes {
		var status struct {
			Header struct {
				Member string `json:"member_id"`
			}
			Leader string
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+n.address+":2379/v3/maintenance/status", strings.NewReader("{}"))
		if err == nil {
			err = fetch(r, &status)
		}
		if err != nil {
			return err
		}
		if status.Leader == status.Header.Member {
			return n.etcd.kill()
		}
	}
	return errors.New("etcd has no leader")
}

func killPooler(_ context.Context, c *cluster) error {
	return c.poolers[c.random.IntN(len(c.poolers))].bouncer.kill()
}

func killHost(_ context.Context, c *cluster) error {
	return c.hosts[c.random.IntN(len(c.hosts))].units[0].kill()
}

func killRedis(_ context.Context, c *cluster) error { return c.redis.units[0].kill() }

// cutLeaderOff: nobody hears the leader, and it hears nobody.
func cutLeaderOff(ctx context.Context, c *cluster) error {
	leader, _, err := c.now(ctx)
	if err != nil {
		return err
	}
	return errors.Join(silence(leader.machine), c.succeeded(ctx, leader), join(leader.machine))
}

// cutLeaderAndHostOff leaves the leader a host that goes on asking it.
func cutLeaderAndHostOff(ctx context.Context, c *cluster) error {
	leader, _, err := c.now(ctx)
	if err != nil {
		return err
	}
	host := c.hosts[c.random.IntN(len(c.hosts))]
	return errors.Join(aside(leader.machine, host), c.succeeded(ctx, leader), join(leader.machine, host))
}

// cutStandbyOff cuts the synchronous standby off for longer than the leader waits for it.
func cutStandbyOff(ctx context.Context, c *cluster) error {
	_, standby, err := c.now(ctx)
	if err != nil {
		return err
	}
	err = silence(standby.machine)
	pause(ctx, 10*time.Second)
	return errors.Join(err, join(standby.machine))
}

// fillDisk leaves the leader no byte of its disk, until another one leads. At first only what
// needs more room is refused: PostgreSQL writes into the files that its log has. It ends when
// these are used up, which is hastened here, and cannot start again. That takes a connection from
// before: a new one may need room for a cache of the catalog, and while nobody can connect and
// write, PostgreSQL does not end, and Patroni leaves it the lead.
func fillDisk(ctx context.Context, c *cluster) error {
	leader, _, err := c.now(ctx)
	if err != nil {
		return err
	}
	admin, err := openPool(ctx, nodesURL([]*node{leader}, "postgres", databaseName), false)
	if err != nil {
		return err
	}
	defer admin.Close()
	connected, err := admin.Acquire(ctx)
	if err != nil {
		return err
	}
	defer connected.Release()
	path := filepath.Join(leader.data, "filler")
	filler, err := os.Create(path)
	if err != nil {
		return err
	}
	// What PostgreSQL frees meanwhile is taken too.
	filling, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		block := make([]byte, 1<<16)
		for filling.Err() == nil {
			if _, err := filler.Write(block); err != nil {
				// Fails when PostgreSQL has ended. Of a file without a record it would be nothing.
				_, _ = connected.Exec(filling, `SELECT pg_logical_emit_message(false, 'cluster', ''), pg_switch_wal()`)
				pause(filling, 100*time.Millisecond)
			}
		}
	}()
	err = c.succeeded(ctx, leader)
	stop()
	<-ended
	return errors.Join(err, filler.Close(), os.Remove(path))
}

// switchOver asks Patroni to have the synchronous standby lead.
func switchOver(ctx context.Context, c *cluster) error {
	leader, standby, err := c.now(ctx)
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "patronictl", "-c", filepath.Join(c.dir, leader.name, "patroni.yml"),
		"switchover", "--force", "--leader", leader.name, "--candidate", standby.name).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return c.succeeded(ctx, leader)
}

// schedule are the kinds of the faults in their order: all of them in turn, or some. A seed
// shuffles each turn.
func schedule(p plan, poolers bool) (all []kind, err error) {
	var wanted []kind
	for _, k := range kinds {
		if poolers || k.name != poolerKilled {
			wanted = append(wanted, k)
		}
	}
	if p.only != "" {
		there := wanted
		wanted = nil
		for name := range strings.SplitSeq(p.only, ",") {
			i := slices.IndexFunc(there, func(k kind) bool { return k.name == strings.TrimSpace(name) })
			if i < 0 {
				return nil, fmt.Errorf("no kind of fault is named %q", name)
			}
			wanted = append(wanted, there[i])
		}
	}
	for r := random(p.seed); len(all) < p.faults; {
		if p.seed != 0 {
			r.Shuffle(len(wanted), func(i, j int) { wanted[i], wanted[j] = wanted[j], wanted[i] })
		}
		all = append(all, wanted...)
	}
	return all[:p.faults], nil
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }
