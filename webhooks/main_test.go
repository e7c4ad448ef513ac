package webhooks

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/formsvc/formsvc/internal/lab/dialguard"
	"github.com/formsvc/formsvc/internal/objectid"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// insideVariable is set in a process that runs in a network of its own, in which every
// address is local.
const insideVariable = "FORMSVC_TEST_INSIDE"

func TestMain(m *testing.M) {
	if os.Getenv(insideVariable) != "" { // nothing leaves it
		goleak.VerifyTestMain(m)
	}
	goleak.VerifyTestMain(dialguard.Guard(m))
}

// bench is a store with one form, and a dispatcher over it.
type bench struct {
	t         testing.TB
	store     *memory.Store
	workspace storage.ID
	forms     map[storage.ID]storage.ID // of webhooks, each its own
	ids       *objectid.Source
	seen      *recorder
	log       *logBuffer
	d         *Dispatcher
}

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// newBench makes a bench. A nil transport is the real one, with loopback allowed.
func newBench(t testing.TB, c Config, transport http.RoundTripper) *bench {
	t.Helper()
	b := &bench{t: t, forms: map[storage.ID]storage.ID{}, store: memory.New(), ids: objectid.NewSource(), seen: newRecorder(), log: &logBuffer{}}
	ctx, now := t.Context(), time.Now()
	owner, workspace := b.ids.New(now), b.ids.New(now)
	must(t, b.store.CreateWorkspace(ctx, storage.Workspace{ID: workspace, PublicID: "workspace001", OwnerID: owner, Name: "w", CreatedAt: now, UpdatedAt: now}, 0))
	b.workspace = workspace
	c.AllowedNetworks = append(c.AllowedNetworks, loopback...)
	if c.Observer == nil {
		c.Observer = b.seen
	}
	d, _, err := New(Params{Store: b.store, Config: c, Logger: slog.New(slog.NewJSONHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	must(t, err)
	if transport != nil {
		d.transport = transport
	}
	b.d = d
	return b
}

// expect reports what does not hold.
func expect(t testing.TB, holds bool, format string, args ...any) {
	t.Helper()
	if !holds {
		t.Errorf(format, args...)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// webhook registers a destination.
func (b *bench) webhook(url string, secret []byte) storage.ID {
	b.t.Helper()
	now := time.Now()
	id, form := b.ids.New(now), b.ids.New(now)
	b.forms[id] = form
	must(b.t, b.store.CreateForm(context.Background(), storage.AsHost(), storage.Form{
		ID: form, PublicID: form.String()[12:], WorkspaceID: b.workspace, FormContent: storage.FormContent{Name: "f", Type: "SINGLE"}, Status: "published",
		Revision: 1, CreatedAt: now, UpdatedAt: now,
	}))
	must(b.t, b.store.CreateWebhook(context.Background(), storage.AsHost(), storage.NewWebhook{
		Webhook: storage.Webhook{ID: id, FormID: form, URL: url, Enabled: true, CreatedAt: time.Now(), UpdatedAt: time.Now()},
		Secret:  secret,
	}))
	return id
}

// event queues one event that is due now: a response to the form of the webhook.
func (b *bench) event(webhook storage.ID, body string) storage.ID {
	b.t.Helper()
	return b.submit(webhook, body, nil)
}

// events queues n events.
func (b *bench) events(webhook storage.ID, n int) {
	b.t.Helper()
	for range n {
		b.event(webhook, "x")
	}
}

// change changes a webhook as its owner does.
func (b *bench) change(webhook storage.ID, c storage.WebhookChange) {
	b.t.Helper()
	c.At = time.Now()
	_, err := b.store.UpdateWebhook(context.Background(), storage.AsHost(), webhook, c)
	must(b.t, err)
}

// directDispatch is what New's directDispatch gives to a store, nil while none runs.
func (b *bench) handOver() *directDispatch {
	to, _ := b.d.newDirectDispatch()
	h, _ := to.(*directDispatch)
	return h
}

// submit stores a response, and hands its delivery over when there is to whom.
func (b *bench) submit(webhook storage.ID, body string, to *directDispatch) storage.ID {
	b.t.Helper()
	if to == nil {
		return b.submitTo(webhook, body, nil)
	}
	return b.submitTo(webhook, body, to)
}

func (b *bench) submitTo(webhook storage.ID, body string, to storage.DirectDispatcher) storage.ID {
	b.t.Helper()
	now := time.Now().UTC()
	id := b.ids.New(now)
	n := storage.NewSubmission{
		Submission:   storage.Submission{ID: b.ids.New(now), FormID: b.forms[webhook], SubmittedAt: now.Truncate(time.Second), Answers: []byte("[]"), Metadata: []byte("{}"), Hidden: []byte("{}")},
		FormRevision: 1,
		Event:        storage.Event{ID: id, Type: "form.response.completed", Body: []byte(body)},
		Dispatcher:   to,
	}
	_, _, err := b.store.Submit(context.Background(), n)
	must(b.t, err)
	return id
}

// testEvent queues an event as the owner of a webhook does who tries it.
func (b *bench) testEvent(webhook storage.ID) {
	b.t.Helper()
	must(b.t, b.store.Enqueue(context.Background(), webhook, storage.Event{ID: b.ids.New(time.Now()), Type: "form.response.completed", Body: []byte("x")}))
}

// run starts the dispatcher; stop ends it and waits.
func (b *bench) run() (stop func()) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	returned := make(chan error, 1)
	go func() { returned <- b.d.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-returned; err != nil {
				b.t.Errorf("Run: %v", err)
			}
		})
	}
	b.t.Cleanup(stop)
	return stop
}

// attempts returns the history of a webhook, oldest first.
func (b *bench) attempts(webhook storage.ID) []storage.Delivery {
	b.t.Helper()
	list, err := b.store.Deliveries(context.Background(), storage.AsHost(), webhook, storage.MaxHistory)
	must(b.t, err)
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}

// claim leases everything that can be claimed.
func (b *bench) claim(lease time.Duration) []storage.ClaimedDelivery {
	b.t.Helper()
	all := map[storage.ID]int{}
	hooks, err := b.store.Webhooks(context.Background(), storage.AsHost(), storage.Page{Limit: 100_000})
	must(b.t, err)
	for _, w := range hooks {
		all[w.ID] = 1_000_000
	}
	list, _, err := b.store.ClaimDeliveries(context.Background(), storage.ClaimParams{
		Lease: lease, Webhooks: all, Fast: storage.Pool{MaxDeliveries: 1_000_000}, Slow: storage.Pool{MaxDeliveries: 1_000_000}, NewOrFailing: storage.Pool{MaxDeliveries: 1_000_000},
	})
	must(b.t, err)
	return list
}

func (b *bench) stats() storage.QueueStats {
	b.t.Helper()
	s, err := b.store.QueueStats(context.Background())
	must(b.t, err)
	return s
}

// gated is a store that claims and writes when these functions return nil.
type gated struct {
	storage.DeliveryStore
	claim, finish func() error
}

func (g gated) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	if err := g.claim(); err != nil {
		return nil, false, err
	}
	return g.DeliveryStore.ClaimDeliveries(ctx, p)
}

func (g gated) FinishDeliveries(ctx context.Context, done []storage.Result) ([]storage.Lease, error) {
	if err := g.finish(); err != nil {
		return nil, err
	}
	return g.DeliveryStore.FinishDeliveries(ctx, done)
}

// recorder is an Observer that tests wait on.
type recorder struct {
	NoObserver
	attempts chan storage.Delivery
	queues   chan storage.QueueStats
	inFlight chan InFlight
}

func newRecorder() *recorder {
	return &recorder{attempts: make(chan storage.Delivery, 100_000), queues: make(chan storage.QueueStats, 100_000), inFlight: make(chan InFlight, 100_000)}
}

func (r *recorder) AttemptFinished(_ context.Context, a storage.Delivery) { r.attempts <- a }
func (r *recorder) QueueObserved(_ context.Context, q storage.QueueStats) { r.queues <- q }
func (r *recorder) InFlightObserved(_ context.Context, i InFlight)        { r.inFlight <- i }

// wait waits for the end of the next n attempts.
func (r *recorder) wait(t *testing.T, n int) {
	t.Helper()
	limit := time.After(time.Minute)
	for i := range n {
		select {
		case <-r.attempts:
		case <-limit:
			t.Fatalf("%d of %d attempts within a minute", i, n)
		}
	}
}

// polls is what to give a dispatcher as its spread when polls 100 to 250 ms apart
// would be too many for a long time.
func polls(apart time.Duration) func(least, most time.Duration) time.Duration {
	return func(_, most time.Duration) time.Duration { return max(apart, most) }
}

// logBuffer keeps what was logged.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// roundTrip is a transport for tests without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// reply is a response with a status and headers given in pairs.
func reply(status int, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(""))}
}

// resolver answers from a map; what is not in it does not exist.
type resolver map[string][]string

func (r resolver) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	list, ok := r[strings.TrimSuffix(host, ".")]
	if !ok {
		return nil, errNoName
	}
	var out []netip.Addr
	for _, s := range list {
		out = append(out, netip.MustParseAddr(s))
	}
	return out, nil
}

type noNameError struct{}

func (noNameError) Error() string { return "no such name" }

var errNoName = noNameError{}
