package webhooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/formsvc/formsvc/internal/timeout"
	"github.com/formsvc/formsvc/storage"
)

const localScheme = "local:"

var localURL = regexp.MustCompile(`^local:[A-Za-z0-9._-]{1,64}$`)

// CheckLocalURL returns a *[URLError] if raw is not the URL of a local webhook; see [Config].Local. It does not check
// whether a process serves the URL.
func CheckLocalURL(raw string) error {
	if !localURL.MatchString(raw) {
		return newURLError("it must be local: and a name of 1 to 64 letters, digits, dots, hyphens and underscores")
	}
	return nil
}

var (
	// errNoHandler means that the process does not serve the webhook.
	errNoHandler = errors.New("webhooks: no handler for the local webhook")
	// errHandlersHang means that too many earlier calls have not returned. It counts as a timeout.
	errHandlersHang = fmt.Errorf("webhooks: earlier calls of the handler have not returned: %w", context.DeadlineExceeded)
)

// localHandlers runs the handlers of local webhooks and limits their concurrent calls. A call counts until its handler
// returns, even after its attempt has timed out.
type localHandlers struct {
	handlers               map[string]http.Handler // by URL
	urls                   []string
	maxWebhook, maxHandler int

	mu      *sync.Mutex
	running map[any]int // by URL and by webhook ID
}

func newLocalHandlers(c Config) localHandlers {
	l := localHandlers{
		handlers: map[string]http.Handler{}, maxWebhook: c.InFlightWebhook, maxHandler: c.InFlight + c.InFlightSlow/2,
		mu: new(sync.Mutex), running: map[any]int{},
	}
	for name, handler := range c.Local {
		l.handlers[localScheme+name] = handler
		l.urls = append(l.urls, localScheme+name)
	}
	return l
}

// start counts a call of a webhook's handler. It reports false if there are too many.
func (l *localHandlers) start(webhook storage.ID, url string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running[webhook] >= l.maxWebhook || l.running[url] >= l.maxHandler {
		return false
	}
	l.running[webhook]++
	l.running[url]++
	return true
}

func (l *localHandlers) end(webhook storage.ID, url string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range []any{webhook, url} {
		if l.running[key]--; l.running[key] == 0 {
			delete(l.running, key)
		}
	}
}

// serveLocal passes a request to the handler of a local webhook, and returns the status and headers of the response. It
// does not wait for a handler that ignores the end of its context.
func (d *Dispatcher) serveLocal(req *http.Request, del *storage.ClaimedDelivery) (int, http.Header, error) {
	handler := d.local.handlers[del.URL]
	if handler == nil {
		return 0, nil, errNoHandler
	}
	delete(req.Header, "Idempotency-Key")
	req.Header, req.Host, req.RequestURI = req.Header.Clone(), strings.TrimPrefix(del.URL, localScheme), "/" // cloned, because a handler can change values
	if !d.local.start(del.Lease.WebhookID, del.URL) {
		return 0, nil, errHandlersHang
	}
	ctx := req.Context()
	// start has limited the calls.
	w, err := timeout.Call(ctx, make(chan struct{}, 1), func(context.Context) (*localResponse, error) {
		defer d.local.end(del.Lease.WebhookID, del.URL)
		w := &localResponse{header: http.Header{}}
		handler.ServeHTTP(w, req)
		return w, nil
	})
	if ctx.Err() != nil { // also if the handler has just returned
		return 0, nil, context.Cause(ctx)
	}
	if err != nil {
		d.log.Error("webhook handler failed", "webhook", del.Lease.WebhookID.String(), "event", del.Lease.EventID.String(), "error", err)
		return 0, nil, err
	}
	return cmp.Or(w.status, http.StatusOK), w.header, nil
}

// localResponse is a handler's response. Like receivers' responses, its body is discarded.
type localResponse struct {
	header http.Header
	status int // zero until the handler sends a status or a body
}

func (w *localResponse) Header() http.Header { return w.header }

func (w *localResponse) WriteHeader(status int) {
	if status < 100 || status > 999 { // as in net/http
		panic(fmt.Sprintf("invalid WriteHeader code %d", status))
	}
	if w.status == 0 && status >= 200 {
		w.status = status
	}
}

func (w *localResponse) Write(p []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	return len(p), nil
}
