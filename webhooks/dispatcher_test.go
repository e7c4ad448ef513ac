package webhooks

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/scheduler"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

const hook = "https://hooks.example/in?token=hidden"

// What a delivery sends is in [TestADeliverySendsWhatIsDocumented].
func TestADeliveryIsSentSignedAndRecorded(t *testing.T) {
	t.Parallel()
	got := make(chan string, 2)
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("Service-Signature")
		w.WriteHeader(http.StatusAccepted)
	})
	b := newBench(t, Config{}, nil)
	const secret, body = "0123456789abcdef", `{"id":"1"}`
	b.d.secrets = secretsWith(t, gcm(t, 2), gcm(t, 1))
	signed := b.webhook(s.URL, nil)
	sealed := secretsWith(t, gcm(t, 1)).Encrypt(signed, secret)
	b.change(signed, storage.WebhookChange{Secret: &sealed})
	stop := b.run()
	event := b.event(signed, body)
	b.d.Wake()
	if got, want := <-got, Sign(secret, []byte(body)); got != want {
		t.Errorf("the signature is %q, want %q", got, want)
	}
	stop()
	history := b.attempts(signed)
	if len(history) != 1 {
		t.Fatalf("history is %+v", history)
	}
	a := history[0]
	if a.ID.IsZero() || a.EventID != event || a.WebhookID != signed || a.EventType != "form.response.completed" || a.Attempt != 1 ||
		a.Status != 202 || !a.Success || a.Error != "" || a.Duration <= 0 || !a.NextAttemptAt.IsZero() || time.Since(a.CreatedAt) > time.Minute {
		t.Errorf("attempt is %+v", a)
	}
	if q := b.stats(); q.Due+q.Waiting != 0 {
		t.Errorf("the queue still has %+v", q)
	}
}

func TestFailuresHaveClassesAndNothingElse(t *testing.T) {
	t.Parallel()
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone" {
			w.WriteHeader(http.StatusGone)
			return
		}
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "receivers-own-words")
	})
	b := newBench(t, Config{Resolver: resolver{"inside.example": {"10.0.0.1"}}}, nil)
	for _, c := range []struct {
		url, class string
		status     int
		again      bool
	}{
		{s.URL + "/teapot", ClassStatus, 418, true},
		{s.URL + "/gone", ClassStatus, 410, false},
		{dead.URL, ClassNetwork, 0, true},
		{"http://missing.example/?token=hidden", ClassNetwork, 0, true},
		{"http://inside.example/?token=hidden", ClassNetwork, 0, true},
		{"http://10.0.0.1/?token=hidden", ClassNetwork, 0, true},
		{"not a url?token=hidden", ClassNetwork, 0, true},
	} {
		id := b.webhook(c.url, nil)
		b.event(id, "submitted-answers")
		stop := b.run()
		b.seen.wait(t, 1)
		stop()
		history := b.attempts(id)
		if len(history) != 1 {
			t.Errorf("%s: history is %+v", c.url, history)
			continue
		}
		a := history[0]
		if a.Error != c.class || a.Status != c.status || a.Success != (c.class == "") || a.NextAttemptAt.IsZero() == c.again {
			t.Errorf("%s: attempt is %+v", c.url, a)
		}
	}
	log := b.log.String()
	for _, secret := range []string{"hidden", "receivers-own-words", "submitted-answers"} {
		expect(t, !strings.Contains(log, secret), "the log has %q", secret)
	}
	for _, cause := range []string{"no such name", "10.0.0.1", "status 418", "refused", `"webhook":"`, `"event":"`, `"delivery":"`, `"attempt":1`, `"duration":`} {
		expect(t, strings.Contains(log, cause), "the log lacks %q", cause)
	}
}

// It is the host's fault, and the deliveries wait until it is mended.
func TestASecretThatCannotBeOpenedIsNoAttempt(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var sent atomic.Int32
		b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) { sent.Add(1); return reply(200), nil }))
		b.d.randomDuration = polls(30 * time.Second) // four days of polls take long
		b.d.secrets = secretsWith(t, gcm(t, 1))
		id := b.webhook(hook, nil)
		foreign := secretsWith(t, gcm(t, 2)).Encrypt(id, "0123456789abcdef")
		b.change(id, storage.WebhookChange{Secret: &foreign})
		b.events(id, 10)
		stop := b.run()
		time.Sleep(100 * time.Hour) // longer than MaxAge
		if got := b.attempts(id); sent.Load() != 0 || len(got) != 0 {
			t.Errorf("%d requests, attempts %+v", sent.Load(), got)
		}
		if text := b.log.String(); !strings.Contains(text, storage.ErrSecret.Error()) || strings.Count(text, "postponed") != 1 {
			t.Errorf("the log does not say why, or not once for the webhook:\n%s", text)
		}
		stop()
		b.d.secrets = secretsWith(t, gcm(t, 1), gcm(t, 2))
		b.run()
		time.Sleep(2 * time.Minute)
		if got := b.attempts(id); sent.Load() != 10 || len(got) != 10 || got[0].Attempt != 1 || !got[0].Success {
			t.Errorf("after the fault %d requests, attempts %+v", sent.Load(), got)
		}
		if n := strings.Count(b.log.String(), "deliveries resumed"); n != 1 {
			t.Errorf("%d lines say that it can be opened again, want 1", n)
		}
	})
}

func TestAFailedDeliveryIsTriedEightTimes(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var bodies []string
		b := newBench(t, Config{}, roundTrip(func(r *http.Request) (*http.Response, error) {
			body, _ := io.ReadAll(r.Body)
			bodies = append(bodies, string(body))
			return reply(500), nil
		}))
		b.d.randomDuration = polls(10 * time.Second) // two days of polls take long
		id := b.webhook(hook, nil)
		event := b.event(id, "the same bytes")
		stop := b.run()
		time.Sleep(48 * time.Hour)
		stop()
		history := b.attempts(id)
		if len(history) != 8 || len(bodies) != 8 {
			t.Fatalf("%d attempts kept, %d made", len(history), len(bodies))
		}
		for i, a := range history {
			if a.Attempt != i+1 || a.EventID != event || bodies[i] != "the same bytes" || a.Status != 500 || a.Error != ClassStatus {
				t.Errorf("attempt %d is %+v with %q", i+1, a, bodies[i])
			}
			if last := i == 7; last != a.NextAttemptAt.IsZero() {
				t.Errorf("attempt %d: next at %s", i+1, a.NextAttemptAt)
			} else if !last {
				// Attempt times are whole seconds.
				if late := history[i+1].CreatedAt.Sub(a.NextAttemptAt); late < -time.Second || late > 10*time.Second {
					t.Errorf("attempt %d is %s late", i+2, late)
				}
			}
		}
		if q := b.stats(); q.Due+q.Waiting != 0 {
			t.Errorf("the queue still has %+v", q)
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var times []time.Time
		b := newBench(t, Config{Retry: RetryPolicy{Delays: []time.Duration{time.Second, time.Second, time.Hour}}}, roundTrip(func(*http.Request) (*http.Response, error) {
			times = append(times, time.Now())
			switch len(times) {
			case 1:
				return reply(429, "Retry-After", "600"), nil
			case 2:
				return reply(503, "Retry-After", time.Now().Add(30*time.Minute).UTC().Format(http.TimeFormat)), nil
			case 3:
				return reply(503, "Retry-After", "1"), nil
			}
			return reply(204), nil
		}))
		b.d.randomDuration = polls(time.Second)
		b.event(b.webhook(hook, nil), "x")
		stop := b.run()
		time.Sleep(4 * time.Hour)
		stop()
		if len(times) != 4 {
			t.Fatalf("%d attempts", len(times))
		}
		for i, want := range []time.Duration{10 * time.Minute, 30 * time.Minute, time.Hour} {
			if got := times[i+1].Sub(times[i]); got < want-time.Second || got > want+time.Second {
				t.Errorf("wait %d is %s, want %s", i+1, got, want)
			}
		}
	})
}

func TestAFailingWebhookIsPausedAndProbed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var mu sync.Mutex
		var times []time.Time
		healthy := false
		b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			times = append(times, time.Now())
			if healthy {
				return reply(200), nil
			}
			return reply(500), nil
		}))
		b.d.randomDuration = polls(time.Second)
		id := b.webhook(hook, nil)
		b.events(id, 300)
		stop := b.run()
		time.Sleep(6 * time.Hour)
		mu.Lock()
		// Half a minute of failures, and at least ten of them; then a probe after a third
		// of the time for which it has been failing.
		start := times[0]
		n := 0
		for n < len(times) && times[n].Sub(start) < pauseAfterThis {
			n++
		}
		expect(t, n >= 10, "%d requests before the first pause, want at least 10", n)
		probes := times[n:]
		for i := 1; i < len(probes); i++ {
			want := min(max(probes[i-1].Sub(start)/3, 10*time.Second), time.Hour)
			// The store counts from when the first failure was recorded, a moment later.
			if got := probes[i].Sub(probes[i-1]); got < want-50*time.Millisecond || got > want+2*time.Second {
				t.Errorf("probe %d comes after %s, want %s", i, got, want)
			}
		}
		expect(t, len(probes) >= 12 && len(probes) <= 30, "%d probes in six hours", len(probes))
		healthy = true
		before := len(times)
		mu.Unlock()
		paused, err := b.store.PausedWebhooks(t.Context(), storage.AsHost(), storage.Page{Limit: 10})
		must(t, err)
		if len(paused) != 1 || paused[0].WebhookID != id || paused[0].Reason != storage.PauseFailures || paused[0].Failures < 10 ||
			paused[0].FailingSince.Sub(start).Abs() > time.Minute {
			t.Errorf("paused are %+v", paused)
		}
		time.Sleep(time.Hour + time.Minute)
		mu.Lock()
		after := len(times)
		mu.Unlock()
		if after-before < 250 {
			t.Errorf("%d requests in the hour after recovery, want the backlog", after-before)
		}
		stop()
		if got := strings.Count(b.log.String(), "webhook resumed"); got != 1 {
			t.Errorf("%d log lines say that it is resumed, want 1", got)
		}
	})
}

const pauseAfterThis = 30*time.Second - time.Millisecond

// watcher is an Observer of pauses.
type watcher struct {
	NoObserver
	paused  chan storage.PausedWebhook
	resumed chan storage.ID
}

func (w *watcher) WebhookPaused(_ context.Context, p storage.PausedWebhook) { w.paused <- p }
func (w *watcher) WebhookResumed(_ context.Context, webhook storage.ID)     { w.resumed <- webhook }

// A test event, a redelivery and a change of the webhook are tried at once though it is
// paused, and a success ends the pause.
func TestAPausedWebhookIsTriedWhenItsOwnerAsksForIt(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var healthy atomic.Bool
		var sent atomic.Int32
		seen := &watcher{paused: make(chan storage.PausedWebhook, 100), resumed: make(chan storage.ID, 100)}
		b := newBench(t, Config{Observer: seen}, roundTrip(func(*http.Request) (*http.Response, error) {
			sent.Add(1)
			if healthy.Load() {
				return reply(200), nil
			}
			return reply(500), nil
		}))
		id := b.webhook(hook, nil)
		b.events(id, 100)
		b.run()
		time.Sleep(10 * time.Minute)
		p := storage.PausedWebhook{}
		for len(seen.paused) > 0 {
			p = <-seen.paused
		}
		if p.WebhookID != id || p.URL != hook || p.FormID != b.forms[id] || p.Reason != storage.PauseFailures || p.Failures < 10 ||
			time.Since(p.FailingSince) < 9*time.Minute || !p.PausedUntil.After(time.Now()) {
			t.Errorf("the Observer saw %+v", p)
		}
		history := b.attempts(id)
		for name, ask := range map[string]func(){
			"a test event": func() { b.testEvent(id) },
			"a redelivery": func() { must(t, b.store.Redeliver(t.Context(), id, history[len(history)-1].ID)) },
			"an enabling": func() {
				yes := true
				b.change(id, storage.WebhookChange{Enabled: &yes})
			},
		} {
			before := sent.Load()
			ask()
			b.d.Wake()
			time.Sleep(time.Second)
			if got := sent.Load() - before; got != 1 {
				t.Errorf("%s: %d requests, want 1", name, got)
			}
		}
		expect(t, len(seen.resumed) == 0, "a pause is over though nothing succeeded")
		healthy.Store(true)
		b.testEvent(id)
		b.d.Wake()
		time.Sleep(30 * time.Second)
		if got := b.stats(); len(seen.resumed) != 1 || <-seen.resumed != id || got.Due > 0 {
			t.Errorf("after a success the queue has %+v", got)
		}
	})
}

func TestWakeIsImmediateAndPollingFindsTheRest(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) { return reply(200), nil }))
		id := b.webhook(hook, nil)
		b.run()
		time.Sleep(time.Second)
		started := time.Now()
		b.event(id, "x")
		b.d.Wake()
		b.seen.wait(t, 1)
		// A claim keeps its distance from the poll that may have come just before.
		if took, most := time.Since(started), scheduler.DefaultConfig(1, 1, 1, time.Second).BatchDelay; took > most {
			t.Errorf("a wake took %s, want at most %s", took, most)
		}
		for range 20 {
			started = time.Now()
			b.event(id, "x")
			b.seen.wait(t, 1)
			if took := time.Since(started); took > 250*time.Millisecond {
				t.Errorf("a poll took %s", took)
			}
		}
		for range 1000 {
			b.d.Wake() // never blocks
		}
	})
}

func TestStopLetsRequestsEnd(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		b := newBench(t, Config{}, roundTrip(func(r *http.Request) (*http.Response, error) {
			wait := 5 * time.Second
			if r.URL.Host == "hang.example" {
				wait = time.Hour
			}
			select {
			case <-time.After(wait):
				return reply(200), nil
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}))
		quick, hang := b.webhook("https://quick.example/", nil), b.webhook("https://hang.example/", nil)
		b.events(quick, 6)
		b.event(hang, "x")
		stop := b.run()
		time.Sleep(time.Second)
		started := time.Now()
		stop()
		if took := time.Since(started); took != gracePeriod {
			t.Errorf("the stop took %s, want the grace period", took)
		}
		if got := b.attempts(quick); len(got) != 1 || !got[0].Success { // one at a time until it answers
			t.Errorf("of the quick ones %+v is written", got)
		}
		if got := b.attempts(hang); len(got) != 0 {
			t.Errorf("an attempt that was cut short is written: %+v", got)
		}
		// What was given back can be claimed at once, as the first attempt.
		again := b.claim(time.Minute)
		expect(t, len(again) == 6, "%d deliveries can be claimed, want 6", len(again))
		for _, del := range again {
			expect(t, del.Attempt == 1 && del.Health.Failures == 0, "given back as %+v", del)
		}
	})
}

func TestRunTwiceIsErrRunning(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) { return reply(200), nil }))
	id := b.webhook(hook, nil)
	for range 3 {
		stop := b.run()
		b.event(id, "x")
		b.seen.wait(t, 1) // it runs
		if err := b.d.Run(t.Context()); !errors.Is(err, ErrRunning) {
			t.Errorf("a second Run: %v", err)
		}
		stop()
	}
}

func TestStartAndStopHundredsOfTimes(t *testing.T) {
	t.Parallel()
	s := server(t, func(http.ResponseWriter, *http.Request) {})
	b := newBench(t, Config{}, nil)
	id := b.webhook(s.URL, nil)
	const rounds = 300
	for i := range rounds {
		b.event(id, "x")
		ctx, cancel := context.WithCancel(t.Context())
		switch i % 3 {
		case 0:
			cancel() // before it starts
		case 1:
			go cancel() // at any moment
		}
		done := make(chan error)
		go func() { done <- b.d.Run(ctx) }()
		if i%3 == 2 {
			b.seen.wait(t, 1)
			cancel()
		}
		must(t, <-done)
		cancel()
		for len(b.seen.attempts) > 0 {
			<-b.seen.attempts
		}
	}
	stop := b.run()
	defer stop()
	for b.stats().Due > 0 {
		select {
		case <-b.seen.attempts:
		case <-time.After(time.Minute):
			t.Fatalf("stuck with %+v", b.stats())
		}
		stop()
		stop = b.run()
	}
	if got := len(b.attempts(id)); got != storage.MaxHistory {
		t.Errorf("%d attempts are kept, want %d", got, storage.MaxHistory)
	}
}

func TestTheObserverSeesTheQueue(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) { return reply(500), nil }))
		b.event(b.webhook(hook, nil), "x")
		stop := b.run()
		time.Sleep(time.Minute + time.Second)
		stop()
		if got := len(b.seen.queues); got != 5 {
			t.Errorf("told %d times in a minute, want 5", got)
		}
	})
}

// A request has the only place of the second pool for 20 s, and then the place is free.
func TestTheObserverSeesThatTheSecondPoolIsFull(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		b := newBench(t, Config{InFlightSlow: 1, Retry: RetryPolicy{Delays: []time.Duration{}}}, roundTrip(func(*http.Request) (*http.Response, error) {
			time.Sleep(20 * time.Second)
			return reply(200), nil
		}))
		b.event(b.webhook(hook, nil), "x")
		stop := b.run()
		defer stop()
		<-b.seen.inFlight // when Run begins
		for _, want := range []InFlight{{0, 1, 15 * time.Second}, {0, 0, 20 * time.Second}, {0, 0, 20 * time.Second}} {
			got := <-b.seen.inFlight
			if got.Fast != want.Fast || got.Slow != want.Slow || got.SlowFullFor > want.SlowFullFor+50*time.Millisecond || got.SlowFullFor < want.SlowFullFor-250*time.Millisecond {
				t.Errorf("the Observer was told %+v, want %+v", got, want)
			}
		}
	})
}

func TestConstructingStartsNothing(t *testing.T) {
	t.Parallel()
	// The check is goleak's, in TestMain.
	for range 100 {
		if _, _, err := New(Params{Store: memory.New()}); err != nil {
			t.Fatal(err)
		}
	}
}
