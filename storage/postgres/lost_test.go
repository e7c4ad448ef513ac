package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// A proxy stands between a pool and the server, and loses connections.
type proxy struct {
	listener net.Listener
	network  string
	server   string
	group    sync.WaitGroup

	// When cut is set, the next thing that a client sends reaches the server, and
	// the connection ends when the server answers.
	cut   atomic.Bool
	found chan struct{} // what was cut off has been answered
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	config, err := pgxpool.ParseConfig(pgtest.URL(t))
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &proxy{listener: listener, found: make(chan struct{}, 100)}
	p.network, p.server = "tcp", net.JoinHostPort(config.ConnConfig.Host, strconv.Itoa(int(config.ConnConfig.Port)))
	if config.ConnConfig.Host[0] == '/' {
		p.network, p.server = "unix", config.ConnConfig.Host+"/.s.PGSQL."+strconv.Itoa(int(config.ConnConfig.Port))
	}
	p.group.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		p.group.Wait()
	})
	return p
}

// through is a pool's option: its connections go through the proxy.
func (p *proxy) through(c *pgxpool.Config) {
	address := p.listener.Addr().(*net.TCPAddr)
	c.ConnConfig.Host, c.ConnConfig.Port = "127.0.0.1", uint16(address.Port) // a port
	c.ConnConfig.TLSConfig, c.ConnConfig.Fallbacks = nil, nil
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(p.network, p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		var doomed atomic.Bool
		end := func() { _, _ = client.Close(), server.Close() }
		p.group.Go(func() {
			defer end()
			forward(server, client, func() bool {
				if p.cut.CompareAndSwap(true, false) {
					doomed.Store(true)
				}
				return true
			})
		})
		p.group.Go(func() {
			defer end()
			forward(client, server, func() bool {
				if doomed.Load() {
					p.found <- struct{}{}
					return false
				}
				return true
			})
		})
	}
}

// forward copies what pass lets through.
func forward(to io.Writer, from io.Reader, pass func() bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !pass() {
			return
		}
		if _, failed := to.Write(buf[:n]); failed != nil || err != nil {
			return
		}
	}
}

func TestAReadOnALostConnectionIsTriedAgain(t *testing.T) {
	t.Parallel()
	direct, _ := testStore(t)
	p := newProxy(t)
	s := New(pgtest.Pool(t, p.through), WithSchema(direct.db.Schema))
	form := seedForm(t, s)
	p.cut.Store(true)
	wantError(t, "Form", errorOf(s.Form(t.Context(), storage.AsHost(), form)), nil)
	if len(p.found) != 1 {
		t.Fatal("no connection was lost")
	}
}

// A change whose answer is lost was made, but nobody can know.
func TestAChangeOnALostConnectionIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	direct, _ := testStore(t)
	p := newProxy(t)
	s := New(pgtest.Pool(t, p.through), WithSchema(direct.db.Schema))
	form := seedForm(t, s)
	for i, change := range [][2]storage.FormChange{
		{{Acceptance: &storage.AcceptanceRules{ResponseLimit: 1}}, {Acceptance: &storage.AcceptanceRules{ResponseLimit: 2}}}, // a batch
		{{Name: ptr("renamed")}, {Name: ptr("renamed again")}},                                                               // one statement
	} {
		// Once with success, so that the statement is prepared and nothing but its
		// answer can be lost.
		must(t, errorOf(s.UpdateForm(t.Context(), storage.AsHost(), form, change[0])))
		p.cut.Store(true)
		_, err := s.UpdateForm(t.Context(), storage.AsHost(), form, change[1])
		if !errors.Is(err, storage.ErrOutcomeUnknown) || errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("change %d: UpdateForm = %v", i, err)
		}
		select {
		case <-p.found:
		default:
			t.Fatalf("change %d: no connection was lost", i)
		}
		got, err := direct.Form(t.Context(), storage.AsHost(), form)
		if want := int64(3 + 2*i); err != nil || got.Revision != want {
			t.Errorf("change %d: revision %d (%v), want %d: the change was made once", i, got.Revision, err, want)
		}
	}
}

func ptr[T any](v T) *T { return &v }

func TestAServerThatIsKilledAndComesBack(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t, pgtest.Config{})
	pool := pgtest.PoolAt(t, server.URL(), pgtest.MaxConns(8))
	must(t, Migrate(t.Context(), pool))
	s := New(pool)

	// Several callers make changes until the server is gone for each caller.
	var group sync.WaitGroup
	var mu sync.Mutex
	var acknowledged []storage.ID
	loaded := make(chan struct{})
	for caller := range byte(8) {
		group.Go(func() {
			for n := 0; ; n++ {
				w := storage.Workspace{ID: storage.ID{caller, byte(n >> 16), byte(n >> 8), byte(n)}, OwnerID: storage.ID{1, caller}}
				w.PublicID = w.ID.String()
				err := s.CreateWorkspace(t.Context(), w, 0)
				if err == nil {
					mu.Lock()
					if acknowledged = append(acknowledged, w.ID); len(acknowledged) == 200 {
						close(loaded)
					}
					mu.Unlock()
					continue
				}
				if !errors.Is(err, storage.ErrUnavailable) && !errors.Is(err, storage.ErrOutcomeUnknown) {
					t.Errorf("CreateWorkspace on a killed server = %v", err)
				}
				return
			}
		})
	}
	<-loaded
	server.Kill()
	group.Wait()
	wantError(t, "Workspace without a server", errorOf(s.Workspace(t.Context(), storage.AsHost(), storage.ID{1})), storage.ErrUnavailable)

	server.Restart()
	for _, id := range acknowledged {
		if _, err := s.Workspace(t.Context(), storage.AsHost(), id); err != nil {
			t.Fatalf("a workspace of %d that were acknowledged: %v", len(acknowledged), err)
		}
	}
}

// The network has dropped the pool's connections, and all that comes is responses of callers
// who give up before the store does: it takes one or two of them, not one for each connection.
func TestResponsesFindOutAboutDeadConnections(t *testing.T) {
	t.Parallel()
	const most = 6
	schema := filled(t, pgtest.Pool(t), pgseed.Size{Forms: 1})
	wire, address := pgtest.NewWire(t, pgtest.URL(t))
	pool := pgtest.PoolAt(t, address, pgtest.MaxConns(most), func(c *pgxpool.Config) {
		c.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	})
	s := New(pool, WithSchema(schema))
	var all [most]*pgxpool.Conn
	for i := range all {
		var err error
		if all[i], err = pool.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range all {
		c.Release()
	}
	if n := wire.Swallow(); n != most {
		t.Fatalf("%d connections are swallowed, want %d", n, most)
	}
	failed := 0
	for ; failed < most; failed++ {
		ctx, leave := context.WithCancel(t.Context())
		late := time.AfterFunc(5*time.Second, leave) // longer than a busy machine needs for one that is stored
		_, _, err := s.Submit(ctx, response(1+failed))
		late.Stop()
		leave()
		if err == nil {
			break
		}
		expect(t, errors.Is(err, context.Canceled), "Submit = %v", err)
	}
	expect(t, failed != 0 && failed <= 2, "%d responses failed, want one or two", failed)
	began := time.Now()
	eventually(t, "the dead connections have given up their places", func() bool { return pool.Stat().AcquiredConns() == 0 })
	if took := time.Since(began); took > 10*time.Second { // pgx would take 15
		t.Errorf("they took %v", took)
	}
}

// A caller who leaves is not told that nothing has changed: the server may be committing.
func TestACallerWhoLeavesAChangeDoesNotKnow(t *testing.T) {
	t.Parallel()
	s, pool := testStore(t)
	tx := begin(t, pool)
	execute(t, tx, s, `LOCK TABLE formsvc.workspaces IN ACCESS EXCLUSIVE MODE`)
	for _, changes := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		done := waits(t, pool, tx, func() error {
			if changes {
				return s.CreateWorkspace(ctx, storage.Workspace{ID: storage.ID{1}, PublicID: "w", OwnerID: storage.ID{2}}, 0)
			}
			return errorOf(s.Workspace(ctx, storage.AsHost(), storage.ID{1}))
		})
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) || errors.Is(err, storage.ErrOutcomeUnknown) != changes {
			t.Errorf("a call that changes something (%t) = %v", changes, err)
		}
		eventually(t, "the server knows that too", func() bool { return !waited(t, pool, tx) })
	}
}

// A change that PgBouncer keeps waiting for a server that does not come back was sent to
// nobody, so its caller may try it again.
func TestAPoolerWithoutAServer(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	server := pgtest.NewServer(t, pgtest.Config{})
	must(t, Migrate(t.Context(), pgtest.PoolAt(t, server.URL())))
	bouncer := pgtest.PgBouncer(t, server.URL(), "query_wait_timeout = 1", "server_login_retry = 1")
	s := New(pgtest.PoolAt(t, bouncer, pgtest.Mode(pgx.QueryExecModeSimpleProtocol)))
	create := func(n byte) error {
		id := storage.ID{n}
		return s.CreateWorkspace(t.Context(), storage.Workspace{ID: id, PublicID: id.String(), OwnerID: id}, 0)
	}
	must(t, create(1))

	server.Kill()
	err := create(2)
	if !errors.Is(err, storage.ErrUnavailable) || errors.Is(err, storage.ErrOutcomeUnknown) {
		t.Errorf("CreateWorkspace behind a pooler without a server = %v", err)
	}
	server.Restart()
	eventually(t, "the same is made", func() bool {
		if err = create(2); err != nil && !errors.Is(err, storage.ErrUnavailable) {
			t.Fatalf("CreateWorkspace while the pooler connects again = %v", err)
		}
		return err == nil
	})
}

// A call that has used up its time ends its statement on the server too, so that nothing there
// goes on waiting for a form that somebody holds.
func TestATimeoutBehindAPoolerEndsTheStatement(t *testing.T) {
	t.Parallel()
	const calls = 3
	pool := pgtest.Pool(t)
	behind := pgtest.PoolAt(t, pgtest.PgBouncer(t, pgtest.URL(t)), pgtest.Mode(pgx.QueryExecModeExec))
	s := New(behind, WithSchema(filled(t, pool, pgseed.Size{Forms: 1})), WithTimeout(300*time.Millisecond))
	hold(t, s, 0)
	for range calls {
		_, err := s.UpdateForm(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Form, 0), storage.FormChange{Acceptance: &storage.AcceptanceRules{ResponseLimit: 1}})
		if !errors.Is(err, storage.ErrUnavailable) && !errors.Is(err, storage.ErrOutcomeUnknown) {
			t.Errorf("UpdateForm = %v", err)
		}
		if _, _, err := s.Submit(t.Context(), response(1)); !errors.Is(err, storage.ErrUnavailable) && !errors.Is(err, storage.ErrOutcomeUnknown) {
			t.Errorf("Submit = %v", err)
		}
	}
	eventually(t, "nothing waits for the form", func() bool { return waitingFor(t, pool, s, 0) == 0 })
}

// withStandby returns a store on a server of its own whose commits wait for a standby.
func withStandby(t *testing.T, options ...Option) (*Store, *pgxpool.Pool, *pgtest.Server) {
	t.Helper()
	primary := pgtest.NewServer(t, pgtest.Config{NoSync: true})
	pool := pgtest.PoolAt(t, primary.URL(), pgtest.MaxConns(8))
	createTables(t, pool, DefaultSchema)
	must(t, pgseed.Fill(t.Context(), pool, DefaultSchema, pgseed.Size{Forms: 1, Webhooks: 1}))
	standby := primary.Standby()
	for _, text := range []string{`ALTER SYSTEM SET synchronous_standby_names = '*'`, `SELECT pg_reload_conf()`} {
		run(t, pool, text)
	}
	for synchronous := false; !synchronous; {
		must(t, pool.QueryRow(t.Context(), `SELECT count(*) > 0 FROM pg_stat_replication WHERE sync_state = 'sync'`).Scan(&synchronous))
	}
	return New(pool, options...), pool, standby
}

// A call that is cut off while its commit waits for the standby leaves a row that everybody
// sees and that a failover loses. The response that repeats it is acknowledged, so it waits.
func TestARepeatedResponseWaitsForTheStandby(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	s, pool, standby := withStandby(t, WithTimeout(time.Second))
	n := response(1)
	n.IdempotencyKey = "key"
	standby.Pause()
	if _, _, err := s.Submit(t.Context(), n); !errors.Is(err, storage.ErrOutcomeUnknown) {
		t.Errorf("Submit = %v, want an unknown outcome: the standby hangs", err)
	}
	for rows := 0; rows == 0; { // the server has been told that nobody waits any more
		rows = count(t, pool, s, "submissions")
	}
	if _, _, err := s.Submit(t.Context(), n); !errors.Is(err, storage.ErrUnavailable) && !errors.Is(err, storage.ErrOutcomeUnknown) {
		t.Errorf("Submit of the same response = %v, want an error: the standby still has neither", err)
	}
	standby.Resume()
	if _, again, err := New(pool).Submit(t.Context(), n); err != nil || !again {
		t.Errorf("Submit when the standby goes on = %v, %v; want the first response", again, err)
	}
}

// operations returns the statements of the blocks of SQL in a chapter of operations.md.
func operations(t *testing.T, chapter string) []string {
	t.Helper()
	text, err := os.ReadFile("operations.md")
	must(t, err)
	_, rest, found := strings.Cut(string(text), "\n## "+chapter+"\n")
	if !found {
		t.Fatalf("there is no chapter %q", chapter)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	var statements []string
	for _, block := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(rest, -1) {
		for statement := range strings.SplitSeq(block[1], ";\n") {
			if statement = strings.TrimSpace(statement); statement != "" {
				statements = append(statements, statement)
			}
		}
	}
	return statements
}

// What operations.md says of logical replication: the tables move to another server, there
// into partitions, while responses are stored, and the queue goes on.
func TestTablesMoveByLogicalReplication(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	say := operations(t, "PostgreSQL upgrades")
	if len(say) != 7 {
		t.Fatalf("%d statements: %q", len(say), say)
	}
	publish, empty, subscribe, copied, caughtUp, sequences, end := say[0], say[1], say[2], say[3], say[4], say[5], say[6]
	from := pgtest.NewServer(t, pgtest.Config{NoSync: true, Settings: map[string]string{"wal_level": "logical"}})
	to := pgtest.NewServer(t, pgtest.Config{NoSync: true, Settings: map[string]string{
		"max_sync_workers_per_subscription": "8", "max_logical_replication_workers": "12", "max_worker_processes": "20", "wal_retrieve_retry_interval": "50ms",
	}})
	before, after := pgtest.PoolAt(t, from.URL()), pgtest.PoolAt(t, to.URL())
	for _, pool := range []*pgxpool.Pool{before, after} {
		must(t, Migrate(t.Context(), pool))
	}
	run := func(pool *pgxpool.Pool, text string) {
		t.Helper()
		if _, err := pool.Exec(t.Context(), text, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err, text)
		}
	}
	run(after, partitionsSQL(t, DefaultSchema))
	must(t, pgseed.Fill(t.Context(), before, DefaultSchema, pgseed.Size{Forms: 3, Submissions: 100, AnswerBytes: 100, Webhooks: 1}))
	old := New(before)
	deliver(t, old, 1000, 3)
	submit := func(number int) {
		t.Helper()
		mustSubmit(t, old, response(number))
	}
	submit(2000)

	run(before, publish)
	run(after, empty)
	config := before.Config().ConnConfig
	run(after, strings.ReplaceAll(subscribe, "host=old dbname=app", fmt.Sprintf("host=%s port=%d user=%s dbname=%s", config.Host, config.Port, config.User, config.Database)))
	until := func(pool *pgxpool.Pool, text string) {
		t.Helper()
		for done := false; !done; {
			must(t, pool.QueryRow(t.Context(), text).Scan(&done))
		}
	}
	until(after, copied)
	submit(2001) // is not copied, but replicated
	// Here the processes stop.
	until(before, caughtUp)
	rows, err := before.Query(t.Context(), sequences)
	must(t, err)
	set, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(set) == 0 {
		t.Fatal(set, err)
	}
	run(after, strings.Join(set, "\n"))
	run(after, end)

	tables := catalog(t, old, `SELECT c.relname::text FROM pg_class c WHERE c.relnamespace = $1::text::regnamespace AND c.relkind = 'r'`)
	if !slices.Contains(tables, "formsvc_migrations") || len(tables) < 20 {
		t.Errorf("the tables are %q", tables)
	}
	for _, table := range tables {
		of := fmt.Sprintf(`SELECT COALESCE(md5(string_agg(t::text, E'\n' ORDER BY t::text)), '') FROM formsvc.%s t`, table)
		var was, is string
		must(t, before.QueryRow(t.Context(), of).Scan(&was))
		if err := after.QueryRow(t.Context(), of).Scan(&is); err != nil || is != was {
			t.Errorf("%s is another one: %v", table, err)
		}
	}
	s := New(after)
	check(t, s.CheckVersion(t.Context()))
	var last int64
	must(t, before.QueryRow(t.Context(), `SELECT last_value FROM formsvc.delivery_tokens`).Scan(&last))
	claimed := claimAll(t, s)
	expect(t, len(claimed) == 2, "%d deliveries go on, want 2", len(claimed))
	for _, d := range claimed {
		expect(t, d.Lease.Token > last, "the token %d is given twice", d.Lease.Token)
	}
	if _, again, err := s.Submit(t.Context(), response(3000)); err != nil || again {
		t.Errorf("Submit = %v, %v", again, err)
	}
}
