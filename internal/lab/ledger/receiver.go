package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/formsvc/formsvc/webhooks"
)

// Block is the id of the one question of a form. Its answer is the key.
const Block = "key"

// Receiver is where the webhooks go. It writes down each request, keeps some
// waiting and refuses some, so that processes die while requests are under way
// and deliveries are tried again.
type Receiver struct {
	url     string
	refused float64
	told    func()
	server  *http.Server
	served  chan error

	mu       sync.Mutex
	random   *rand.Rand
	received []Reception
	inFlight int
	most     int
}

// receiverHolds is how long the receiver keeps a request waiting at most.
const receiverHolds = 30 * time.Millisecond

// StartReceiver starts a receiver at an address that refuses this share of the requests. It
// tells of each that it accepts, unless told is nil.
func StartReceiver(address string, seed uint64, refused float64, told func()) (*Receiver, error) {
	var listen net.ListenConfig
	listener, err := listen.Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	r := &Receiver{
		url:     "http://" + listener.Addr().String(),
		random:  rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // repeatable
		refused: refused,
		told:    told,
		served:  make(chan error, 1),
	}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}
	go func() { r.served <- r.server.Serve(listener) }()
	return r, nil
}

// Close ends the receiver. Nothing is written down after it.
func (r *Receiver) Close() error {
	err := r.server.Close()
	if served := <-r.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// Address is where the receiver listens.
func (r *Receiver) Address() string { return strings.TrimPrefix(r.url, "http://") }

// WebhookURL is where the webhook with this number goes.
func (r *Receiver) WebhookURL(number int) string { return fmt.Sprintf("%s/%d", r.url, number) }

// Secret is the signing secret of the webhook with this number.
func Secret(number int) string { return fmt.Sprintf("signing secret of webhook %d", number) }

func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	got, ok := ReadReception(request)
	if !ok {
		return // cut off before its end
	}
	hold, refuse := r.begin()
	wait := time.NewTimer(hold)
	defer wait.Stop()
	select {
	case <-wait.C:
		got.Accepted = !refuse
	case <-request.Context().Done(): // the sender is gone: nobody will hear the answer
	}
	r.end(got)
	if !got.Accepted {
		w.WriteHeader(http.StatusInternalServerError)
	} else if r.told != nil {
		r.told()
	}
}

func (r *Receiver) begin() (hold time.Duration, refuse bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight++
	r.most = max(r.most, r.inFlight)
	return time.Duration(r.random.Int64N(int64(receiverHolds))), r.random.Float64() < r.refused
}

// end writes a request down, before it is answered.
func (r *Receiver) end(got Reception) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight--
	r.received = append(r.received, got)
}

// Log returns what was received, and how many requests were under way at most.
func (r *Receiver) Log() ([]Reception, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.received, r.most
}

// ReadReception reads a request, and reports whether it came whole.
func ReadReception(request *http.Request) (Reception, bool) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return Reception{}, false
	}
	// A path or a body that cannot be read leaves ids that nothing has.
	number, err := strconv.Atoi(strings.TrimPrefix(request.URL.Path, "/"))
	if err != nil {
		number = -1
	}
	var event struct {
		ID       string
		Response struct {
			SubmissionID string
			Answers      map[string]string
		}
	}
	_ = json.Unmarshal(body, &event)
	return Reception{
		Webhook:    number,
		Event:      event.ID,
		Submission: event.Response.SubmissionID,
		Key:        event.Response.Answers[Block],
		Body:       sha256.Sum256(body),
		Signed:     webhooks.Verify(Secret(number), body, request.Header.Get("Service-Signature")) == nil,
	}, true
}
