package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

const (
	submitFor = 30 * time.Second
	// warmUp is how long responses are submitted before they count: connections are
	// opened and statements prepared meanwhile.
	warmUp = time.Second
	// arriveWithin is how long the last requests may take.
	arriveWithin = 20 * time.Second
	questions    = 10
	// twoTries is how long it takes until dead webhooks have failed twice and wait for
	// minutes.
	twoTries = 20 * time.Second
)

// submit measures from the calls of Submit to the requests of their webhook. The
// requests come to this process: both ends are on one clock.
func submit(ctx context.Context, o options) (err error) {
	var store storage.Storage = memory.New()
	if !o.memory {
		db, err := newDatabase(ctx, o.connections)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.drop(ctx)) }()
		store = db.store
	}
	seen := &journeys{all: map[string]*journey{}}
	url, closeReceiver, err := listen(seen)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeReceiver()) }()
	svc, err := formsvc.New(formsvc.WithStorage(store), formsvc.WithoutRateLimit(),
		formsvc.WithWebhookConfig(reachable(nil)), formsvc.WithLogger(logger()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, svc.Close(context.WithoutCancel(ctx))) }()
	form, err := publish(ctx, svc, url)
	if err != nil {
		return err
	}
	if err := bury(ctx, store, o.dead); err != nil {
		return err
	}

	running, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	faults := make(chan error, 1)
	work.Go(func() { faults <- svc.Dispatcher().Run(running) })
	if o.duration == 0 {
		o.duration = submitFor
	}
	if o.dead > 0 {
		sleep(ctx, twoTries)
	}
	if err := respond(ctx, svc, form, seen, o); err != nil {
		return err
	}
	for deadline := time.Now().Add(arriveWithin); seen.missing() > 0 && time.Now().Before(deadline) && ctx.Err() == nil; {
		sleep(ctx, 10*time.Millisecond)
	}
	stop()
	if err := errors.Join(<-faults, ctx.Err()); err != nil {
		return err
	}
	return seen.print(o)
}

// listen receives webhooks on the loopback network.
func listen(seen *journeys) (url string, end func() error, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it waits for nothing
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		now := time.Now()
		var event struct {
			Response struct{ SubmissionID string }
		}
		if body, err := io.ReadAll(r.Body); err == nil && json.Unmarshal(body, &event) == nil {
			seen.arrive(event.Response.SubmissionID, now)
		}
	})}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	return "http://" + listener.Addr().String() + "/hook", func() error {
		err := server.Close()
		if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	}, nil
}

// publish makes a published form with one webhook.
func publish(ctx context.Context, svc *formsvc.Service, url string) (form formsvc.ID, err error) {
	workspace, err := svc.CreateWorkspace(ctx, formsvc.UserIDFrom("ann"), "Workspace")
	if err != nil {
		return form, err
	}
	blocks := make([]map[string]any, questions)
	for i := range blocks {
		blocks[i] = map[string]any{"id": question(i), "type": "short_text", "label": fmt.Sprintf("Question number %d", i)}
	}
	list, err := json.Marshal(blocks)
	if err != nil {
		return form, err
	}
	host := svc.AsHost()
	made, err := host.CreateForm(ctx, formsvc.FormCreate{Workspace: workspace.ID, Name: "Form", Definition: formsvc.Definition{Blocks: list}})
	if err != nil {
		return form, err
	}
	if _, err := host.CreateWebhook(ctx, formsvc.WebhookCreate{Form: made.ID, URL: url, SigningSecret: strings.Repeat("s", 32)}); err != nil {
		return form, err
	}
	_, err = host.PublishForm(ctx, made.ID)
	return made.ID, err
}

func question(i int) string { return fmt.Sprintf("q%d", i) }

// respond submits responses at a steady rate, each at a random moment of its share
// of the time, whether or not the earlier ones are stored.
func respond(ctx context.Context, svc *formsvc.Service, form formsvc.ID, seen *journeys, o options) error {
	answers := make(map[string]json.RawMessage, questions)
	for i := range questions {
		answers[question(i)] = json.RawMessage(`"An answer of some length"`)
	}
	share := time.Second / time.Duration(o.submits)
	started := time.Now()
	counted := started.Add(warmUp)
	end := counted.Add(o.duration)
	faults := make(chan error, 1)
	var work sync.WaitGroup
	defer work.Wait()
	for at := started; at.Before(end) && ctx.Err() == nil; at = at.Add(share) {
		sleep(ctx, time.Until(at)+rand.N(share)) //nolint:gosec // spreads load
		select {
		case err := <-faults:
			return err
		default:
		}
		work.Go(func() {
			before := time.Now()
			stored, err := svc.Submit(ctx, formsvc.SubmitParams{FormID: form, Answers: answers, CompletionTime: 12.5})
			after := time.Now()
			if err != nil {
				select {
				case faults <- err:
				default: // one is enough
				}
				return
			}
			seen.store(stored.ID.String(), before, after, !at.Before(counted))
		})
	}
	work.Wait()
	select {
	case err := <-faults:
		return err
	default:
		return nil
	}
}

// journey is the way of one response.
type journey struct {
	submitted time.Time // just before Submit
	stored    time.Time // Submit returned
	arrived   time.Time // the request of its webhook did
	counts    bool      // it is not of the warm-up
	again     int       // further requests
}

// journeys are those of all responses, by the ids of their submissions.
type journeys struct {
	mu  sync.Mutex
	all map[string]*journey
}

// of returns the journey of a submission. Its request may come before Submit
// returns.
func (s *journeys) of(id string) *journey {
	j := s.all[id]
	if j == nil {
		j = &journey{}
		s.all[id] = j
	}
	return j
}

func (s *journeys) store(id string, submitted, stored time.Time, counts bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.of(id)
	j.submitted, j.stored, j.counts = submitted, stored, counts
}

func (s *journeys) arrive(id string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.of(id)
	if !j.arrived.IsZero() {
		j.again++
		return
	}
	j.arrived = now
}

// missing counts the responses whose request has not come.
func (s *journeys) missing() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.all {
		if j.arrived.IsZero() {
			n++
		}
	}
	return n
}

// print tells how long the journeys took.
func (s *journeys) print(o options) error {
	missing := s.missing()
	s.mu.Lock()
	defer s.mu.Unlock()
	var whole, inSubmit, afterSubmit durations
	again := 0
	for _, j := range s.all {
		again += j.again
		if j.counts && !j.arrived.IsZero() {
			whole = append(whole, j.arrived.Sub(j.submitted))
			inSubmit = append(inSubmit, j.stored.Sub(j.submitted))
			afterSubmit = append(afterSubmit, j.arrived.Sub(j.stored))
		}
	}
	storedIn := "PostgreSQL"
	if o.memory {
		storedIn = "memory"
	}
	fmt.Printf("%d responses in %s, %d a second, %d requests missing, %d repeated\n", len(whole), storedIn, o.submits, missing, again)
	fmt.Printf("  Submit to request: %s\n", whole)
	fmt.Printf("  Submit itself:     %s\n", inSubmit)
	fmt.Printf("  from its return:   %s\n", afterSubmit)
	if missing+again > 0 {
		return errors.New("not every response had one request")
	}
	return nil
}
