package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
	if _, err := s.Form(t.Context(), storage.AsHost(), form); err != nil {
		t.Errorf("Form = %v", err)
	}
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
		{{Gate: &storage.Gate{ResponseLimit: 1}}, {Gate: &storage.Gate{ResponseLimit: 2}}}, // a batch
		{{Name: ptr("renamed")}, {Name: ptr("renamed again")}},                             // one statement
	} {
		// Once with success, so that the statement is prepared and nothing but its
		// answer can be lost.
		if _, err := s.UpdateForm(t.Context(), storage.AsHost(), form, change[0]); err != nil {
			t.Fatal(err)
		}
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
	if _, err := s.Workspace(t.Context(), storage.AsHost(), storage.ID{1}); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("Workspace without a server = %v", err)
	}

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
		late := time.AfterFunc(2*time.Second, leave)
		_, _, err := s.Submit(ctx, response(1+failed))
		late.Stop()
		leave()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Submit = %v", err)
		}
	}
	if failed == 0 || failed > 2 {
		t.Errorf("%d responses failed, want one or two", failed)
	}
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
		done := make(chan error, 1)
		go func() {
			if changes {
				done <- s.CreateWorkspace(ctx, storage.Workspace{ID: storage.ID{1}, PublicID: "w", OwnerID: storage.ID{2}}, 0)
				return
			}
			_, err := s.Workspace(ctx, storage.AsHost(), storage.ID{1})
			done <- err
		}()
		eventually(t, "the call waits", func() bool { return waited(t, pool, tx) })
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) || errors.Is(err, storage.ErrOutcomeUnknown) != changes {
			t.Errorf("a call that changes something (%t) = %v", changes, err)
		}
		eventually(t, "the server knows that too", func() bool { return !waited(t, pool, tx) })
	}
}

// A caller who leaves in the middle of a page gives the connection back.
func TestACancelledReadGivesItsConnectionBack(t *testing.T) {
	t.Parallel()
	s, pool := testStore(t, pgtest.MaxConns(1))
	locked, err := pgxpool.New(t.Context(), pgtest.URL(t))
	must(t, err)
	defer locked.Close()
	tx, err := locked.Begin(t.Context())
	must(t, err)
	execute(t, tx, s, `LOCK TABLE formsvc.workspaces IN ACCESS EXCLUSIVE MODE`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Workspaces(ctx, storage.AsHost(), storage.Page{Limit: 1}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Workspaces = %v", err)
	}
	err = s.CreateWorkspace(ctx, storage.Workspace{}, 0)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("CreateWorkspace = %v", err)
	}
	must(t, tx.Rollback(t.Context()))
	if _, err := s.Workspaces(t.Context(), storage.AsHost(), storage.Page{Limit: 1}); err != nil {
		t.Errorf("Workspaces on the pool's one connection = %v", err)
	}
	if n := pool.Stat().AcquiredConns(); n != 0 {
		t.Errorf("%d connections were not given back", n)
	}
}
