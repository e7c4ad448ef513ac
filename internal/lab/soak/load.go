package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/ledger"
)

const (
	requestTimeout = 30 * time.Second
	retryPause     = 10 * time.Millisecond
	longestPause   = 40 * time.Millisecond // between two submissions of a worker
	repeated       = 0.02                  // of the acknowledged submissions
)

// load sends submissions and writes down which were acknowledged. What it does
// not know the outcome of it sends again with the same idempotency key, to
// whichever process is there.
type load struct {
	name   string // part of the idempotency keys
	client *http.Client
	urls   func() []string // of the serving processes, at least one

	mu           sync.Mutex
	acknowledged []ledger.Acknowledgement
	unanswered   []string
	unexpected   []string       // answers that no process should give
	cut          int            // requests without an answer, or with 503
	away         int            // requests that nobody took
	writes       map[string]int // acknowledged, by kind
	found        []ledger.Finding
	serverKills  []time.Time
	lostSaves    int // of partial submissions, within what a kill of the database server may lose
	progress     chan struct{}
}

func newLoad(urls func() []string) *load {
	return &load{
		client:   &http.Client{Timeout: requestTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: 100}},
		urls:     urls,
		progress: make(chan struct{}, 1),
		writes:   map[string]int{},
	}
}

// run runs the workers until stop ends, and then until each has its last
// acknowledgement, or ctx ends.
func (l *load) run(ctx, stop context.Context, workers int, seed uint64, written map[string]formsvc.ID) {
	defer l.client.CloseIdleConnections()
	var group sync.WaitGroup
	for worker := range workers {
		random := rand.New(rand.NewPCG(seed, 100+uint64(worker))) //nolint:gosec // repeatable
		group.Go(func() {
			for i := 0; stop.Err() == nil; i++ {
				key := fmt.Sprintf("%sworker %d, submission %d", l.name, worker, i)
				l.submit(ctx, key, random)
				if random.Float64() < repeated {
					l.submit(ctx, key, random)
				}
				pause(stop, time.Duration(random.Int64N(int64(longestPause))))
			}
		})
	}
	for number, kind := range writeKinds {
		form, ok := written[kind]
		if !ok {
			continue
		}
		w := &writer{load: l, kind: kind, form: form}
		random := rand.New(rand.NewPCG(seed, 1000+uint64(number))) //nolint:gosec // repeatable
		group.Go(func() { w.run(ctx, stop, random) })
	}
	group.Wait()
}

// serverKilled records that the database server is about to be killed.
func (l *load) serverKilled() {
	l.note(func() { l.serverKills = append(l.serverKills, time.Now()) })
}

// serverKilledWithin reports whether the database server was killed at most d after at. The
// caller holds the lock.
func (l *load) serverKilledWithin(at time.Time, d time.Duration) bool {
	return slices.ContainsFunc(l.serverKills, func(kill time.Time) bool { return kill.Sub(at).Abs() <= d })
}

// submit sends a submission until it is acknowledged.
func (l *load) submit(ctx context.Context, key string, random *rand.Rand) {
	for ctx.Err() == nil {
		urls := l.urls()
		id, ok := l.send(ctx, urls[random.IntN(len(urls))], key)
		if ok {
			l.note(func() { l.acknowledged = append(l.acknowledged, ledger.Acknowledgement{Key: key, Submission: id}) })
			select {
			case l.progress <- struct{}{}:
			default:
			}
			return
		}
		pause(ctx, retryPause)
	}
	l.note(func() { l.unanswered = append(l.unanswered, key) })
}

// send makes one attempt.
func (l *load) send(ctx context.Context, url, key string) (id string, ok bool) {
	body, err := json.Marshal(submitRequest{Key: key})
	if err != nil {
		panic(err) // a struct of a string
	}
	text, ok := l.post(ctx, url, body)
	return string(text), ok
}

// post sends a body to a serving process once and counts requests without a usable response.
func (l *load) post(ctx context.Context, url string, body []byte) (text []byte, ok bool) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		panic(err) // the process said so
	}
	response, err := l.client.Do(request)
	if errors.Is(err, syscall.ECONNREFUSED) {
		l.note(func() { l.away++ })
		return nil, false
	}
	if err != nil {
		l.note(func() { l.cut++ })
		return nil, false
	}
	defer func() { _ = response.Body.Close() }()
	text, err = io.ReadAll(response.Body)
	if err != nil || response.StatusCode == http.StatusServiceUnavailable {
		l.note(func() { l.cut++ })
		return nil, false
	}
	if response.StatusCode != http.StatusOK {
		l.note(func() {
			l.unexpected = append(l.unexpected, fmt.Sprintf("%d %s", response.StatusCode, strings.TrimSpace(string(text))))
		})
		return nil, false
	}
	return text, true
}

func (l *load) note(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
