//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/ledger"
	"github.com/formsvc/formsvc/internal/lab/pgtest/pgrun"
	"github.com/formsvc/formsvc/storage/postgres"
)

// cluster is all machines.
type cluster struct {
	dir, logs string
	nodes     []*node
	hosts     []*machine
	poolers   []*pooler
	redis     *machine
	driver    *driver
	random    *rand.Rand
}

const (
	formCount    = 6
	webhooksEach = 2 // of a form
	refusedShare = 0.02
	startWithin  = time.Minute
)

// errFound says that the ledger is not clean.
var errFound = errors.New("something is wrong")

// drive is the program inside of the namespaces: it starts everything, brings the faults
// about, and compares.
func drive(args []string) error {
	p, err := parse(args)
	if err != nil {
		return err
	}
	ctx, began := context.Background(), time.Now()
	c := &cluster{dir: "/run/cluster", logs: p.logs, random: random(p.seed)}
	pool, err := c.start(ctx, p)
	if err != nil {
		return err
	}
	db := &database{pool, postgres.New(pool)}
	receiver, err := ledger.StartReceiver(ours+":9000", p.seed, refusedShare, func() { c.driver.worked(doorEvents) })
	if err != nil {
		return err
	}
	if err := c.prepare(ctx, db, receiver, p); err != nil {
		return err
	}
	fmt.Printf("%d nodes, %d hosts (%d through PgBouncer), all at work after %.0f s\n", len(c.nodes), len(c.hosts), len(c.poolers), time.Since(began).Seconds())

	hard, abandon := context.WithCancel(ctx)
	stopping, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.driver.run(hard, stopping)
	}()
	done, repeats, failed := c.faults(ctx, p)
	stop()
	patience := time.AfterFunc(2*requestTimeout, abandon)
	<-ended
	if !patience.Stop() {
		pause(ctx, 2*storeTimeout) // until no host works on what was abandoned
	}
	abandon()
	if failed = errors.Join(failed, db.drain(ctx, 2*(2*attemptTimeout+30*time.Second))); failed != nil {
		c.driver.found(notWhole, "%v", failed)
	}
	for _, m := range c.hosts {
		if n := m.units[0].fell(); n != 0 {
			c.driver.found(died, "%s, %d times", m.name, n)
		}
	}
	l, found, err := db.compare(ctx, c.driver, receiver, repeats)
	if err != nil {
		return errors.Join(failed, err)
	}
	report(os.Stdout, l, c.driver, done, found)
	fmt.Printf("%.0f s in all\n", time.Since(began).Seconds())
	if len(found) > 0 {
		return errFound
	}
	return nil
}

// start starts all machines, and makes the database.
func (c *cluster) start(ctx context.Context, p plan) (*pgxpool.Pool, error) {
	programs, err := pgrun.Finder{}.Postgres(ctx)
	if err != nil {
		return nil, err
	}
	if c.logs == "" {
		c.logs = filepath.Join(c.dir, "logs")
	}
	if err := os.MkdirAll(c.logs, 0o755); err != nil {
		return nil, err
	}
	c.redis = &machine{name: "redis", address: "10.99.0.31"}
	machines := []*machine{c.redis}
	var three []*machine
	for i := range 3 {
		three = append(three, &machine{name: fmt.Sprintf("db%d", i+1), address: fmt.Sprintf("10.99.0.%d", 11+i)})
		c.hosts = append(c.hosts, &machine{name: fmt.Sprintf("app%d", i+1), address: fmt.Sprintf("10.99.0.%d", 21+i)})
	}
	if err := plug(append(append(machines, three...), c.hosts...)); err != nil {
		return nil, err
	}
	if c.nodes, err = startNodes(ctx, three, programs, c.dir, c.logs); err != nil {
		return nil, err
	}
	if _, err := c.redis.add("redis", c.logs, "redis-server", "--bind", c.redis.address, "--protected-mode", "no", "--save", "", "--appendonly", "no"); err != nil {
		return nil, err
	}
	if err := whole(ctx, c.nodes, startWithin); err != nil {
		return nil, err
	}
	if err := c.makeDatabase(ctx); err != nil {
		return nil, err
	}
	pool, err := openPool(ctx, nodesURL(c.nodes, databaseRole, databaseName), false)
	if err != nil {
		return nil, err
	}
	// A standby that has not made the database yet says so, and pgx asks no other node then.
	if err := until(ctx, startWithin, func() error { return pool.Ping(ctx) }); err != nil {
		return nil, err
	}
	// Migrate needs a session, which a pooler in transaction mode does not give. Hosts that
	// migrate when they start do so with a URL of the nodes.
	if err := postgres.Migrate(ctx, pool); err != nil {
		return nil, err
	}
	_, err = pool.Exec(ctx, `CREATE TABLE orders (key text PRIMARY KEY)`)
	return pool, err
}

// makeDatabase makes the role and the database of the hosts.
func (c *cluster) makeDatabase(ctx context.Context) error {
	admin, err := openPool(ctx, nodesURL(c.nodes, "postgres", "postgres"), false)
	if err != nil {
		return err
	}
	defer admin.Close()
	for _, statement := range []string{
		`CREATE ROLE ` + databaseRole + ` LOGIN`,
		`ALTER ROLE ` + databaseRole + ` SET tcp_user_timeout = '` + networkSilence.String() + `'`, // for poolers, which cannot ask for it
		`CREATE DATABASE ` + databaseName + ` OWNER ` + databaseRole,
	} {
		if _, err := admin.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// prepare makes the forms, and starts the hosts.
func (c *cluster) prepare(ctx context.Context, db *database, receiver *ledger.Receiver, p plan) error {
	key, forms, err := makeForms(ctx, db.store, receiver)
	if err != nil {
		return err
	}
	program, err := c.copyProgram()
	if err != nil {
		return err
	}
	c.driver = newDriver(key, forms, p.seed)
	for i, m := range c.hosts {
		socket := filepath.Join(c.dir, m.name, "socket", "host")
		if err := directory(filepath.Dir(socket)); err != nil {
			return err
		}
		command := []string{program, partHost, "-socket", socket, "-redis", c.redis.address + ":6379"}
		url := nodesURL(c.nodes, databaseRole, databaseName)
		pooled := i >= len(c.hosts)-p.poolers
		if pooled {
			url = poolerURL
			command = append(command, "-pooled")
		}
		if _, err := m.add("host-"+m.name, c.logs, append(command, "-database", url)...); err != nil {
			return err
		}
		way := wayDirect
		if pooled {
			way = wayPooler
			pooler, err := startPooler(m, c.nodes, c.dir, c.logs)
			if err != nil {
				return err
			}
			c.poolers = append(c.poolers, pooler)
		}
		c.driver.add(socket, way)
		if err := until(ctx, startWithin, func() error { _, err := os.Stat(socket); return err }); err != nil {
			return err
		}
	}
	return nil
}

// copyProgram puts this program where the user of the services can run it.
func (c *cluster) copyProgram() (string, error) {
	path := filepath.Join(c.dir, "cluster")
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return "", err
	}
	defer func() { _ = from.Close() }()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, from)
	return path, errors.Join(err, to.Close())
}

// makeForms makes the forms with their webhooks, and a key for the API.
func makeForms(ctx context.Context, store *postgres.Store, receiver *ledger.Receiver) (key string, forms []formsvc.Form, err error) {
	service, err := formsvc.New(formsvc.WithStorage(store), formsvc.WithWebhookConfig(deliveries()))
	if err != nil {
		return "", nil, err
	}
	user := formsvc.User{ID: formsvc.UserIDFrom("cluster"), Name: "Cluster"}
	issued, err := service.CreateKey(ctx, formsvc.KeyRequest{User: user, Name: "all", Scopes: formsvc.Scopes()})
	if err != nil {
		return "", nil, err
	}
	api := service.As(user.ID)
	workspace, err := api.CreateWorkspace(ctx, formsvc.WorkspaceCreate{Name: "Cluster"})
	if err != nil {
		return "", nil, err
	}
	for range formCount {
		form, err := api.CreateForm(ctx, formsvc.FormCreate{Workspace: workspace.ID, Name: "edit 0", Definition: formsvc.Definition{
			Blocks: []byte(`[{"id":"` + ledger.Block + `","type":"short_text","label":"Key","required":true}]`),
		}})
		if err == nil {
			form, err = api.PublishForm(ctx, form.ID)
		}
		for number := range webhooksEach {
			if err == nil {
				_, err = api.CreateWebhook(ctx, formsvc.WebhookCreate{Form: form.ID, URL: receiver.WebhookURL(number), SigningSecret: ledger.Secret(number)})
			}
		}
		if err != nil {
			return "", nil, err
		}
		forms = append(forms, form)
	}
	return issued.Secret, forms, nil
}

// faults brings the faults about, one after the other, and returns how many deliveries they
// may have repeated.
func (c *cluster) faults(ctx context.Context, p plan) (done []happened, repeats int, err error) {
	all, err := schedule(p, len(c.poolers) > 0)
	if err != nil {
		return nil, 0, err
	}
	if err := c.driver.wait(ctx); err != nil {
		return nil, 0, err
	}
	for i, k := range all {
		h, err := c.happen(ctx, k)
		repeats += k.kills * repeatable
		if k.cut {
			repeats += len(c.hosts) * repeatable
		}
		if err != nil {
			return done, repeats, err
		}
		done = append(done, h)
		fmt.Printf("%3d %-28s well after %5.1f s, responses silent for %.1f s\n", i+1, h.kind, h.took.Seconds(),
			max(h.silences[doorPages], h.silences[doorGo], h.silences[doorOrders]).Seconds())
		pause(ctx, time.Second)
	}
	return done, repeats, nil
}
