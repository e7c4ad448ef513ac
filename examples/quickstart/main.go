// Command quickstart runs the API, the builder, the form pages and a webhook receiver in one process, with
// sample data. Without a database, it stores everything in memory and loses it when the process ends.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -database-url postgres://localhost/forms
//	go run ./examples/quickstart -addr unix:/tmp/forms.sock
//
// Read main.go first: it shows how a host uses formsvc. The builder is package handler/builder, and the form
// pages are package handler/formpage. seed.go creates the sample data from the directory forms, and
// receiver.go is the webhook receiver.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sethvargo/go-limiter"
	"github.com/sethvargo/go-limiter/memorystore"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/builder"
	"github.com/formsvc/formsvc/handler/docs"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/ratelimit"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/postgres"
	"github.com/formsvc/formsvc/webhooks"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on: host:port (port 0 picks a free port) or unix:/path/to.sock")
	database := flag.String("database-url", "", "URL of the PostgreSQL database (if empty, data is kept in memory)")
	flag.Parse()

	if err := run(*addr, *database, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(addr, database string, out io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	store, closeStore, err := openStore(ctx, database)
	if err != nil {
		return err
	}
	defer closeStore()
	h, err := newHost(ctx, addr, store, logger)
	if err != nil {
		return err
	}
	h.print(out)
	return h.serve(ctx)
}

// openStore picks the storage: this is all that differs between memory and
// PostgreSQL.
func openStore(ctx context.Context, database string) (_ storage.Storage, closeStore func(), err error) {
	if database == "" {
		return memory.New(), func() {}, nil
	}
	pool, err := openPool(ctx, database)
	if err != nil {
		return nil, nil, err
	}
	// A host with several processes migrates once, before it starts them.
	if err := postgres.Migrate(ctx, pool); err != nil {
		pool.Close()
		return nil, nil, err
	}
	return postgres.New(pool), pool.Close, nil
}

// host is a program that embeds formsvc.
type host struct {
	url      string // where this process is reached, without a slash at the end
	listener net.Listener
	// deliveries is where the receiver listens if listener is a unix socket.
	deliveries net.Listener
	store      storage.Storage
	service    *formsvc.Service
	owners     *builder.Handler
	demo       demo
	preview    string // address of the feedback form's preview
	receiver   *receiver
	uploads    string // directory
	limit      limiter.Store
	routes     http.Handler
	logger     *slog.Logger
}

// newHost puts everything together. Nothing runs before serve.
func newHost(ctx context.Context, addr string, store storage.Storage, logger *slog.Logger) (_ *host, err error) {
	// The listener comes first: the webhook and the printed lines need the port.
	network, at := "tcp", addr
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		network, at = "unix", path
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, network, at)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use by another program, or is a stale socket file: try -addr 127.0.0.1:0", addr)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, listener.Close())
		}
	}()

	h := &host{url: baseURL(listener), listener: listener, store: store, logger: logger}
	receiving := h.url + receivePath
	if network == "unix" {
		// A webhook leads to a port, so the receiver, and nothing else, listens on one.
		if h.deliveries, err = (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
			return nil, err
		}
		receiving = baseURL(h.deliveries) + receivePath
	}
	// Files that respondents send are gone with the process, as all in memory is.
	if h.uploads, err = os.MkdirTemp("", "quickstart"); err != nil {
		return nil, err
	}
	files, err := formpage.NewDir(h.uploads, h.url+"/files/")
	if err != nil {
		return nil, err
	}
	h.service, err = formsvc.New(
		formsvc.WithStorage(h.store),
		formsvc.WithBaseURL(h.url), // links in answers are absolute
		formsvc.WithLogger(logger),
		formsvc.WithFiles(files), // they go with their response
		formsvc.WithWebhookConfig(webhooks.Config{
			// Only public addresses may be a webhook's destination, so that nobody
			// reaches into the host's network. The receiver here is on the loopback
			// interface and needs this exception. Do without it in production.
			AllowedNetworks: ownNetworks,
		}),
		// Ten times the default, so that the conformance suite need not wait for it.
		formsvc.WithRateLimit(10*ratelimit.DefaultTokens, ratelimit.DefaultPer),
	)
	if err != nil {
		return nil, err
	}
	if h.demo, err = prepare(ctx, h.store, h.service, receiving); err != nil {
		return nil, fmt.Errorf("seed: %w", err)
	}
	h.receiver = newReceiver(h.demo.Secret)
	if h.limit, err = memorystore.New(&memorystore.Config{Tokens: 60, Interval: time.Minute}); err != nil {
		return nil, err
	}
	forms, err := formpage.New(h.service, formpage.Config{
		Files:    files,
		Partials: formpage.Resume, // respondents may go on later
		// Files are stored before anybody knows who sends them: an address has a limit.
		Limiter: h.limit,
		// All callers on a unix socket share one.
		ClientIP: func(r *http.Request) string {
			address, _ := netip.ParseAddrPort(r.RemoteAddr)
			return address.Addr().String()
		},
		Logger: logger,
		Brand:  formpage.Link{Text: "Made with formsvc", URL: "https://github.com/formsvc/formsvc"},
		// A host keeps its secret, and all of its processes have the same one. With a
		// secret that is new at each start, a page that was opened before has to be sent
		// twice, and links of previews end.
		Secret: []byte(rand.Text()),
	})
	if err != nil {
		return nil, err
	}
	owners, err := builder.New(h.service, builder.Config{
		// Whoever reaches this program is Mara. A real host asks its sessions who is signed in.
		User:   func(*http.Request) (formsvc.ID, error) { return mara.ID, nil },
		Pages:  forms,
		Logger: logger,
	})
	if err != nil {
		return nil, err
	}
	h.owners = owners
	preview, err := forms.PreviewPath(h.demo.FormID, time.Now().Add(24*time.Hour))
	if err != nil {
		return nil, err
	}
	h.preview = h.url + preview

	mux := http.NewServeMux()
	mux.Handle("/v1/", h.service) // the API; everything else is this program's own
	mux.Handle("POST "+receivePath, h.receiver)
	mux.Handle("GET /docs", docs.Handler(h.service, "/v1/openapi.json", docs.Options{Key: h.demo.Key, HomeURL: "/"}))
	mux.Handle("/f/", forms)
	mux.Handle("/forms/", owners)
	mux.Handle("GET /{$}", http.RedirectHandler("/forms/", http.StatusSeeOther))
	mux.Handle("GET /files/", formpage.FileHandler(files)) // a real host asks who is there first
	h.routes = ownHosts(mux)
	return h, nil
}

// ownHosts refuses requests with a host name that is not this program's. Its pages are
// anybody's who opens them: a stranger's page in the same browser, whose name leads
// here all of a sudden (DNS rebinding), would read them. A host behind a domain lists the
// domain.
func ownHosts(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := (&url.URL{Host: r.Host}).Hostname() // without a port
		addr, err := netip.ParseAddr(name)
		own := strings.EqualFold(name, "localhost") || err == nil && addr.IsLoopback()
		if at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok && err == nil {
			own = own || at.AddrPort().Addr().Unmap() == addr
		}
		if !own {
			http.Error(w, "requests must use the program's own address as host", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// serve runs until ctx ends, then shuts down in an orderly way.
func (h *host) serve(ctx context.Context) error {
	server := &http.Server{
		Handler:           h.routes,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       2 * time.Minute, // a file of 10 MiB on a slow line
		IdleTimeout:       time.Minute,
		ErrorLog:          slog.NewLogLogger(h.logger.Handler(), slog.LevelWarn),
	}
	// Without a running Dispatcher deliveries would wait in the storage.
	running, stop := context.WithCancel(ctx)
	defer stop()
	dispatched := make(chan error, 1)
	go func() { dispatched <- h.service.Dispatcher().Run(running) }()

	served := make(chan error, 2)
	go func() { served <- server.Serve(h.listener) }()
	receiving := &http.Server{Handler: h.receiver, ReadTimeout: 5 * time.Second}
	if h.deliveries != nil {
		go func() { served <- receiving.Serve(h.deliveries) }()
	}

	var failed error
	select {
	case <-ctx.Done():
	case failed = <-served:
	}

	// The dispatcher ends first, because it posts to this very process. A host whose
	// receivers are elsewhere stops its server first, so that nothing new comes in.
	stop()
	failed = errors.Join(failed, <-dispatched)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(failed, server.Shutdown(grace), receiving.Shutdown(grace), h.service.Close(grace), h.limit.Close(grace), h.owners.Close(grace), os.RemoveAll(h.uploads))
}

func (h *host) print(w io.Writer) {
	fmt.Fprintf(w, "API: %s/v1\n", h.url)
	fmt.Fprintf(w, "Key: %s\n", h.demo.Key)
	for _, c := range h.commands() {
		fmt.Fprintln(w, c)
	}
	fmt.Fprintf(w, "Form: %s/f/%s\n", h.url, h.demo.PublicID)
	fmt.Fprintf(w, "Preview: %s\n", h.preview)
	fmt.Fprintf(w, "Page: %s/\n", h.url)
	if h.deliveries == nil { // the command knows no sockets
		fmt.Fprintf(w, "Conformance: %s\n", h.conformance())
	}
}

// conformance is the command that checks the API of this program against its description.
func (h *host) conformance() string {
	command := fmt.Sprintf("go run github.com/formsvc/formsvc/handler/conformance/remote -url %s/v1 -key %s", h.url, h.demo.Key)
	for _, network := range ownNetworks {
		command += " -allow " + network.String()
	}
	return command
}

// ownNetworks may be a webhook's destination: the receiver here is on the loopback interface.
var ownNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// commands are lines to paste into a shell, one after the other: they make a form, publish it, and
// send its first submission. Each line that needs the new form looks for the newest one.
func (h *host) commands() []string {
	curl := "curl -sS"
	if h.deliveries != nil {
		option, path := " --unix-socket '", h.listener.Addr().String()
		if name, ok := strings.CutPrefix(path, "@"); ok { // without a file
			option, path = " --abstract-unix-socket '", name
		} else {
			path, _ = filepath.Abs(path) // for a shell in another directory
		}
		curl += option + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	key := fmt.Sprintf(" -H 'X-API-Key: %s'", h.demo.Key)
	const asJSON = " -H 'Content-Type: application/json'"
	newest := func(field int) string {
		return fmt.Sprintf(`$(%s '%s/v1/forms?limit=1'%s | cut -d'"' -f%d)`, curl, h.url, key, field)
	}
	return []string{
		fmt.Sprintf("%s '%s/v1/me'%s", curl, h.url, key),
		fmt.Sprintf("%s '%s/v1/forms/%s/submissions?limit=3'%s", curl, h.url, h.demo.FormID, key),
		fmt.Sprintf("%s '%s/v1/forms'%s%s -d '%s'", curl, h.url, key, asJSON,
			`{"workspace_id":"`+h.demo.WorkspaceID.String()+`","name":"Tasting evening","definition":{"blocks":[{"id":"name","type":"short_text","label":"Your name","required":true},{"id":"seats","type":"number","label":"How many seats?"}]}}`),
		fmt.Sprintf(`%s -X PATCH "%s/v1/forms/%s"%s%s -d '{"status":"published"}'`, curl, h.url, newest(6), key, asJSON),
		// A page has a state, and is not sent within the first two seconds.
		fmt.Sprintf(`%s "%s/form.json" | sed -n 's/.*"state":"\([^"]*\)".*/{"state":"\1","answers":{"name":"Grace","seats":2}}/p' | (sleep 3; %s "%s/submit"%s -d @-)`,
			curl, h.url+"/f/"+newest(10), curl, h.url+"/f/"+newest(10), asJSON),
		fmt.Sprintf(`%s "%s/v1/forms/%s/submissions"%s`, curl, h.url, newest(6), key),
	}
}

// baseURL is the address of a listener as a browser on this machine uses it.
func baseURL(l net.Listener) string {
	if l.Addr().Network() == "unix" {
		return "http://localhost"
	}
	addr, err := netip.ParseAddrPort(l.Addr().String())
	if err == nil && addr.Addr().IsUnspecified() { // -addr :8080
		addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), addr.Port())
		return "http://" + addr.String()
	}
	return "http://" + l.Addr().String()
}
