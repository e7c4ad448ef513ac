package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/ledger"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres"
	"github.com/formsvc/formsvc/webhooks"
)

// serverVariable is set in the environment of a serving process. The program
// starts itself again as one, so that a test binary can do it too.
const serverVariable = "FORMSVC_SOAK_SERVER"

// serverConfig is the configuration of a serving process.
type serverConfig struct {
	Database string
	Schema   string
	Forms    []formsvc.ID
	Timeout  time.Duration // of an attempt
	Lease    time.Duration // of a claim; zero: the dispatcher's own
	InFlight int           // requests at one time
	Slow     int           // requests at one time of the second pool; zero: the dispatcher's own
	Mutant   string        // for tests
	Name     string        // the User-Agent of its requests
}

// submitRequest is the body of a request to a serving process. It responds with the
// submission's id.
type submitRequest struct{ Key string }

const (
	maintainEvery = 500 * time.Millisecond
	connections   = 12
	retries       = 50
	retryAfter    = 200 * time.Millisecond
)

// serving reports whether this process is a serving one, and its configuration.
func serving() (c serverConfig, ok bool, err error) {
	text, ok := os.LookupEnv(serverVariable)
	if !ok {
		return c, false, nil
	}
	return c, true, json.Unmarshal([]byte(text), &c)
}

// serve is all that a host does: it serves submissions, runs the dispatcher and
// sweeps, until its standard input ends. Its address is the first line that it
// writes. wrap may put something between the service and its store.
func serve(c serverConfig, wrap func(storage.Storage) storage.Storage) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pool, err := openPool(ctx, c.Database)
	if err != nil {
		return err
	}
	defer pool.Close()
	tables := postgres.New(pool, postgres.WithSchema(c.Schema))
	if err := tables.CheckVersion(ctx); err != nil {
		return err
	}
	store := wrap(tables)
	if c.Lease > 0 {
		store = shortLease{store, c.Lease}
	}
	sending := webhooks.Config{AllowedNetworks: loopback()}
	sending.Timeout, sending.InFlight, sending.InFlightSlow, sending.UserAgent = c.Timeout, c.InFlight, c.Slow, c.Name
	sending.Retry = webhooks.RetryPolicy{Delays: manyDelays(), Jitter: 0.5}
	svc, err := formsvc.New(
		formsvc.WithStorage(store),
		formsvc.WithoutRateLimit(),
		formsvc.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))),
		formsvc.WithWebhookConfig(sending),
	)
	if err != nil {
		return err
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler(svc, c.Forms), ReadHeaderTimeout: time.Minute}
	ends := []func() error{
		func() error { return svc.Dispatcher().Run(ctx) },
		func() error { return maintain(ctx, svc) },
		func() error {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		},
	}
	ended := make(chan error, len(ends))
	for _, end := range ends {
		go func() { ended <- end() }()
	}
	fmt.Println(listener.Addr())

	_, err = io.Copy(io.Discard, os.Stdin) // ends with the parent
	stop := context.WithoutCancel(ctx)
	err = errors.Join(err, server.Shutdown(stop))
	cancel()
	for range cap(ended) {
		err = errors.Join(err, <-ended)
	}
	return errors.Join(err, svc.Close(stop))
}

// handler serves submissions and the other writes of the load.
func handler(svc *formsvc.Service, forms []formsvc.ID) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /{$}", submitter{svc, forms})
	mux.Handle("POST /write", writeHandler(svc))
	return mux
}

// submitter hands each request to Submit.
type submitter struct {
	svc   *formsvc.Service
	forms []formsvc.ID
}

func (s submitter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked submitRequest
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, err := json.Marshal(asked.Key)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	stored, err := s.svc.Submit(r.Context(), formsvc.SubmitParams{
		FormID:         s.forms[crc32.ChecksumIEEE([]byte(asked.Key))%uint32(len(s.forms))], // the same for each attempt
		Answers:        map[string]json.RawMessage{ledger.Block: answer},
		IdempotencyKey: asked.Key,
	})
	switch {
	case err == nil:
		_, _ = io.WriteString(w, stored.ID.String()) // a client that is gone will ask again
	case errors.Is(err, storage.ErrUnavailable), errors.Is(err, storage.ErrOutcomeUnknown):
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// maintain does what a dispatcher does once a minute, more often.
func maintain(ctx context.Context, svc *formsvc.Service) error {
	tick := time.NewTicker(maintainEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := svc.Maintain(ctx); err != nil && ctx.Err() == nil {
			slog.Warn("cannot maintain", "cause", err)
		}
	}
}

// shortLease is a store whose leases are shorter than the dispatcher asks, so
// that the deliveries of a killed process need not wait so long.
type shortLease struct {
	storage.Storage
	lease time.Duration
}

func (s shortLease) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	p.Lease = s.lease
	return s.Storage.ClaimDeliveries(ctx, p)
}

func (s shortLease) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	if n.Dispatcher != nil {
		n.Dispatcher = shortHandOver{n.Dispatcher, s.lease}
	}
	return s.Storage.Submit(ctx, n)
}

// shortHandOver does the same for what is handed over.
type shortHandOver struct {
	to    storage.DirectDispatcher
	lease time.Duration
}

func (h shortHandOver) Reserve(form storage.ID) ([]storage.ID, time.Duration) {
	reserved, _ := h.to.Reserve(form)
	return reserved, h.lease
}

func (h shortHandOver) Dispatch(leased []storage.ClaimedDelivery, others bool) {
	h.to.Dispatch(leased, others)
}

// manyDelays: no delivery is given up.
func manyDelays() []time.Duration {
	delays := make([]time.Duration, retries)
	for i := range delays {
		delays[i] = retryAfter
	}
	return delays
}

func loopback() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }

// openPool opens a pool, which connects when it is used first.
func openPool(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = connections
	return pgxpool.NewWithConfig(ctx, config)
}
