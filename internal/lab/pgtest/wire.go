package pgtest

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Wire is the network between a pool and its server. It can drop what runs through it.
type Wire struct {
	listener net.Listener
	network  string // of the server
	address  string
	tasks    sync.WaitGroup

	mu    sync.Mutex
	lines []*line
}

// line is a connection from the pool to the server.
type line struct {
	ends  [2]net.Conn
	stuck chan struct{} // closed when nothing passes any more
}

// NewWire puts a Wire before the server with this connection string, and returns the
// connection string of the same database behind it. It ends with the test.
func NewWire(t TB, serverURL string) (w *Wire, throughIt string) {
	t.Helper()
	server, err := pgx.ParseConfig(serverURL)
	if err != nil {
		t.Fatalf("connection string for the wire: %v", err)
	}
	w = &Wire{}
	w.network, w.address = "tcp", net.JoinHostPort(server.Host, strconv.Itoa(int(server.Port)))
	if len(server.Host) > 0 && server.Host[0] == '/' {
		w.network, w.address = "unix", server.Host+"/.s.PGSQL."+strconv.Itoa(int(server.Port))
	}
	if w.listener, err = new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
		t.Fatalf("wire: %v", err)
	}
	w.tasks.Go(w.accept)
	t.Cleanup(func() {
		_ = w.listener.Close()
		w.mu.Lock()
		for _, l := range w.lines {
			l.cut()
		}
		w.mu.Unlock()
		w.tasks.Wait()
	})
	through := url.URL{
		Scheme: "postgres", User: url.UserPassword(server.User, server.Password),
		Host: w.listener.Addr().String(), Path: "/" + server.Database, RawQuery: "sslmode=disable",
	}
	return w, through.String()
}

// Swallow drops all that runs through the connections of this moment, in both directions
// and without a word to either side. Connections that are made later work. It returns how
// many it has swallowed.
func (w *Wire) Swallow() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, l := range w.lines {
		select {
		case <-l.stuck:
		default:
			close(l.stuck)
			n++
		}
	}
	return n
}

func (w *Wire) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		server, err := new(net.Dialer).Dial(w.network, w.address)
		if err != nil {
			_ = client.Close()
			continue
		}
		l := &line{ends: [2]net.Conn{client, server}, stuck: make(chan struct{})}
		w.mu.Lock()
		w.lines = append(w.lines, l)
		w.mu.Unlock()
		w.tasks.Go(func() {
			var both sync.WaitGroup
			both.Go(func() { l.pass(server, client) })
			both.Go(func() { l.pass(client, server) })
			both.Wait()
			w.mu.Lock()
			w.lines = slices.DeleteFunc(w.lines, func(other *line) bool { return other == l })
			w.mu.Unlock()
		})
	}
}

func (l *line) cut() {
	for _, end := range l.ends {
		_ = end.Close()
	}
}

// pass hands on what comes from one end. Of a stuck line neither end hears anything, not
// even that the other has closed it.
func (l *line) pass(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		select {
		case <-l.stuck:
			if err != nil {
				return
			}
			continue // read, and dropped
		default:
		}
		if err == nil {
			_, err = to.Write(buffer[:n])
		}
		if err != nil {
			l.cut()
			return
		}
	}
}
