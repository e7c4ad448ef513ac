package main

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

// receiver is where the webhooks go. It writes down each request, keeps some
// waiting and refuses some, so that processes die while requests are under way
// and deliveries are tried again.
type receiver struct {
	url     string
	refused float64
	others  http.Handler // of webhooks without a number; nil: there are none
	server  *http.Server
	served  chan error

	mu       sync.Mutex
	random   *rand.Rand
	received []reception
	inFlight int
	most     int
}

// receiverHolds is how long the receiver keeps a request waiting at most.
const receiverHolds = 30 * time.Millisecond

// startReceiver starts a receiver that refuses this share of the requests.
func startReceiver(seed uint64, refused float64) (*receiver, error) {
	var listen net.ListenConfig
	listener, err := listen.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{
		url:     "http://" + listener.Addr().String(),
		random:  rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // repeatable
		refused: refused,
		served:  make(chan error, 1),
	}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}
	go func() { r.served <- r.server.Serve(listener) }()
	return r, nil
}

// close ends the receiver. Nothing is written down after it.
func (r *receiver) close() error {
	err := r.server.Close()
	if served := <-r.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// webhookURL is where the webhook with this number goes.
func (r *receiver) webhookURL(number int) string { return fmt.Sprintf("%s/%d", r.url, number) }

// signingSecret is the secret of the webhook with this number.
func signingSecret(number int) string { return fmt.Sprintf("signing secret of webhook %d", number) }

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if _, err := strconv.Atoi(strings.TrimPrefix(request.URL.Path, "/")); err != nil && r.others != nil {
		r.others.ServeHTTP(w, request)
		return
	}
	got, ok := readReception(request)
	if !ok {
		return // cut off before its end
	}
	hold, refuse := r.begin()
	wait := time.NewTimer(hold)
	defer wait.Stop()
	select {
	case <-wait.C:
		got.accepted = !refuse
	case <-request.Context().Done(): // the sender is gone: nobody will hear the answer
	}
	r.end(got)
	if !got.accepted {
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func (r *receiver) begin() (hold time.Duration, refuse bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight++
	r.most = max(r.most, r.inFlight)
	return time.Duration(r.random.Int64N(int64(receiverHolds))), r.random.Float64() < r.refused
}

// end writes a request down, before it is answered.
func (r *receiver) end(got reception) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight--
	r.received = append(r.received, got)
}

// log returns what was received, and how many requests were under way at most.
func (r *receiver) log() ([]reception, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.received, r.most
}

// readReception reads a request, and reports whether it came whole.
func readReception(request *http.Request) (reception, bool) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return reception{}, false
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
	return reception{
		webhook:    number,
		event:      event.ID,
		submission: event.Response.SubmissionID,
		key:        event.Response.Answers[blockID],
		body:       sha256.Sum256(body),
		signed:     webhooks.Verify(signingSecret(number), body, request.Header.Get("Service-Signature")) == nil,
	}, true
}
