package servicetest_test

import (
	"bufio"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/webhooks"
)

func TestAResponseBecomesASignedDelivery(t *testing.T) {
	t.Parallel()
	url, requests := servicetest.Receiver(t)
	b := servicetest.Setup(t, servicetest.Loopback(), formsvc.WithoutRateLimit())
	form := b.Form(`[{"id":"name","type":"short_text","label":"Name"},{"id":"plan","type":"single_choice","choices":[{"id":"p","label":"Pro"}]}]`, `{}`)
	b.Do(http.MethodPatch, "/forms/"+form.String(), `{"definition":{"hidden_fields":["ref"]}}`, nil)
	hook := b.Webhook(form, url, servicetest.Secret)
	b.Dispatch()
	s, err := b.Submit(t.Context(), formsvc.SubmitParams{
		FormID: form, Answers: servicetest.Answers("name", `"Ann"`, "plan", `"p"`), Hidden: map[string]string{"ref": "mail"}, CompletionTime: 12.5,
		Metadata: formsvc.Metadata{Country: "DE"},
	})
	expect.NoError(t, err)
	got := <-requests
	check(t, webhooks.Verify(servicetest.Secret, []byte(got.Body), got.Header.Get("Service-Signature")))
	var event struct {
		ID       formsvc.ID
		Response json.RawMessage
	}
	expect.NoError(t, json.Unmarshal([]byte(got.Body), &event))
	want := `{"formId":"` + form.String() + `","answers":{"name":"Ann","plan":{"id":"p","label":"Pro"},"ref":"mail"},"submissionId":"` + s.ID.String() +
		`","submittedAt":"` + s.SubmittedAt.Format("2006-01-02T15:04:05Z") + `","hidden":{"ref":"mail"},"variables":{},"consents":{},"metadata":{"country":"DE"},"completionTime":12.5}`
	expect.That(t, string(event.Response) == want, "response\n%s\nwant\n%s", event.Response, want)

	deliveries := b.Deliveries(hook, 1)
	if d := deliveries[0]; !d.Success || d.Status != 200 || d.EventID != event.ID || d.SubmissionID == nil || *d.SubmissionID != s.ID || d.Attempt != 1 || d.NextAttemptAt != nil {
		t.Errorf("delivery %+v", d)
	}
	expect.NoError(t, b.Redeliver(t.Context(), hook, deliveries[0].ID))
	again := <-requests
	expect.That(t, again.Body == got.Body && again.Header.Get("Service-Signature") == got.Header.Get("Service-Signature"),
		"sent again:\n%s\nwant\n%s", again.Body, got.Body)
	expect.Equal(t, b.Deliveries(hook, 2)[0].EventID, event.ID, "the event of the redelivery")
	// What was deleted is not sent again, and a disabled webhook takes nothing.
	b.Do(http.MethodDelete, "/forms/"+form.String()+"/submissions/"+s.ID.String(), "", nil)
	expect.Error(t, "Redeliver", b.Redeliver(t.Context(), hook, deliveries[0].ID), formsvc.ErrNotFound)
	b.Do(http.MethodPatch, "/webhooks/"+hook.String(), `{"enabled":false}`, nil)
	expect.Error(t, "SendTestEvent", b.SendTestEvent(t.Context(), hook), formsvc.ErrConflict)
}

// A receiver that was tried with a test event finds each member of a real one in it, with a
// value of the same JSON type, except for submissionId.
func TestATestEventHasTheShapeOfARealOne(t *testing.T) {
	t.Parallel()
	url, requests := servicetest.Receiver(t)
	b := servicetest.Setup(t, servicetest.Loopback(), formsvc.WithoutRateLimit())
	form := b.Form(`[{"id":"group","type":"group","children":[{"id":"name","type":"short_text"}]},
		{"id":"other","type":"multiple_choice","properties":{"otherOption":true}},
		{"id":"grid","type":"matrix","matrix_rows":[{"id":"r"}],"matrix_columns":[{"id":"c","label":"C"}],"properties":{"multiSelection":true}},
		{"id":"files","type":"file_upload","properties":{"multipleFiles":true}},
		{"id":"host","type":"number","properties":{"hide":true}},
		{"id":"stars","type":"rating","properties":{"rule":{"set":{"score":{"+":[{"var":"variables.score"},1]}}}}}]`, `{}`)
	b.Do(http.MethodPatch, "/forms/"+form.String(), `{"definition":{"hidden_fields":["ref"],"variables":{"score":0}}}`, nil)
	hook := b.Webhook(form, url, servicetest.Secret)
	b.Dispatch()
	_, err := b.Submit(t.Context(), formsvc.SubmitParams{
		FormID:      form,
		Answers:     servicetest.Answers("name", `"Ann"`, "other", `[{"other":"x"}]`, "grid", `{"r":["c"]}`, "stars", `3`),
		HostAnswers: servicetest.Answers("host", `7`, "files", `[{"id":"f","name":"a.pdf","url":"https://example.com/a","mime_type":"application/pdf","size":3}]`),
		Hidden:      map[string]string{"ref": "mail"}, CompletionTime: 12.5,
		Metadata: formsvc.Metadata{Country: "DE", Device: "phone", UserAgent: "A/1", UTM: map[string]string{"campaign": "a", "content": "b", "medium": "c", "source": "d", "term": "e"}},
	})
	expect.NoError(t, err)
	real := <-requests
	expect.NoError(t, b.SendTestEvent(t.Context(), hook))
	var bodies [2]map[string]any
	for i, text := range []string{real.Body, (<-requests).Body} {
		expect.NoError(t, json.Unmarshal([]byte(text), &bodies[i]))
	}
	delete(bodies[0]["response"].(map[string]any), "submissionId")
	want, got := shapeOf("", bodies[0]), shapeOf("", bodies[1])
	slices.Sort(want)
	slices.Sort(got)
	diff := cmp.Diff(want, got)
	expect.That(t, diff == "", "the shape of a real event (-) and of a test event (+):\n%s", diff)
	expect.That(t, b.Deliveries(hook, 2)[0].SubmissionID == nil, "a test event has the id of a response")
	seconds := bodies[1]["response"].(map[string]any)["completionTime"]
	expect.That(t, seconds != 0.0, "the completion time of a test event is 0")
}

// shapeOf lists the paths in a JSON value with their types.
func shapeOf(path string, value any) (paths []string) {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			paths = append(paths, shapeOf(path+"/"+name, v)...)
		}
	case []any:
		for _, v := range value {
			paths = append(paths, shapeOf(path+"/0", v)...)
		}
	}
	return append(paths, fmt.Sprintf("%s %T", path, value))
}

func aead(t *testing.T, key byte) cipher.AEAD {
	t.Helper()
	block := expect.Must(aes.NewCipher([]byte(strings.Repeat(string(rune(key)), 32))))
	return expect.Must(cipher.NewGCM(block))
}

// Who is responsible for a destination sees that its deliveries wait, since when and why.
func TestPausedWebhooksAreListed(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		t.Cleanup(busy.Close)
		quiet, _ := servicetest.Receiver(t)
		form := b.Form(servicetest.MailBlocks, `{}`)
		b.Webhook(form, quiet, servicetest.Secret)
		hook := b.Webhook(form, busy.URL, servicetest.Secret)
		paused := func(c formsvc.Client, q formsvc.Query) (list []formsvc.PausedWebhook) {
			for p, err := range c.PausedWebhooks(t.Context(), q) {
				expect.NoError(t, err)
				list = append(list, p)
			}
			return list
		}
		if list := paused(b.AsHost(), formsvc.Query{}); len(list) > 0 {
			t.Errorf("paused before anything was sent: %v", list)
		}
		b.Dispatch()
		expect.Must(b.Answer(form, "mail", `"a@example.com"`))
		servicetest.WaitFor(t, "the pause", func() bool { return len(paused(b.AsHost(), formsvc.Query{})) > 0 })
		for name, c := range map[string]formsvc.Client{"the host": b.AsHost(), "the owner": b.As(b.User.ID)} {
			list := paused(c, formsvc.Query{Limit: 5})
			expect.Require(t, len(list) == 1, "%s sees %v", name, list)
			p := list[0]
			if p.WebhookID != hook || p.FormID != form || p.URL != busy.URL || p.Reason != formsvc.PauseRetryAfter || p.Failures != 1 ||
				time.Since(p.FailingSince) > time.Minute || time.Until(p.PausedUntil) < 50*time.Minute {
				t.Errorf("%s sees %+v", name, p)
			}
		}
		if list := paused(b.As(formsvc.UserIDFrom("somebody else")), formsvc.Query{}); len(list) > 0 {
			t.Errorf("somebody else sees %v", list)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, err := range b.AsHost().PausedWebhooks(ctx, formsvc.Query{}) {
			expect.That(t, errors.Is(err, context.Canceled), "a canceled context: %v", err)
		}
	})
}

// outage is a receiver that ends every delivery without success until it is repaired, and counts
// the events that it took.
type outage struct {
	url      string
	repaired atomic.Bool
	mu       sync.Mutex
	taken    map[string]int
}

func newOutage(t *testing.T) *outage {
	o := &outage{taken: map[string]int{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !o.repaired.Load() {
			w.WriteHeader(http.StatusGone)
			return
		}
		id, _, _ := strings.Cut(strings.TrimPrefix(servicetest.ReadAll(t, r.Body), `{"id":"`), `"`)
		o.mu.Lock()
		defer o.mu.Unlock()
		o.taken[id]++
	}))
	t.Cleanup(server.Close)
	o.url = server.URL
	return o
}

// answered stores n responses, lets the receiver refuse them, and returns the form's webhook.
func (o *outage) answered(t *testing.T, b *servicetest.Bundle, n int) (form, hook formsvc.ID, last formsvc.Submission) {
	t.Helper()
	form = b.Form(servicetest.TextBlock, `{}`)
	hook = b.Webhook(form, o.url, servicetest.Secret)
	stop := dispatching(t, b)
	for range n {
		var err error
		if last, err = b.Answer(form, "name", `"Ann"`); err != nil {
			t.Fatal(err)
		}
	}
	b.Deliveries(hook, n)
	stop()
	return form, hook, last
}

// cutOff is a store that fails after some redeliveries.
type cutOff struct {
	storage.Storage
	left   *int
	before func() // each
}

func (s cutOff) RedeliverFailed(ctx context.Context, webhook, delivery storage.ID) error {
	if *s.left--; *s.left < 0 {
		return storage.ErrUnavailable
	}
	s.before()
	return s.Storage.RedeliverFailed(ctx, webhook, delivery)
}

func TestRedeliverFailed(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		ctx, o := t.Context(), newOutage(t)
		form, hook, last := o.answered(t, b, 5)
		_, foreign, _ := o.answered(t, b, 2) // of another form
		want := func(n int, cause error) func(int, error) {
			return func(got int, err error) {
				t.Helper()
				expect.That(t, got == n && errors.Is(err, cause), "RedeliverFailed: %d, %v; want %d, %v", got, err, n, cause)
			}
		}
		want(0, nil)(b.RedeliverFailed(ctx, hook, time.Now().Add(time.Hour)))
		want(0, formsvc.ErrNotFound)(b.RedeliverFailed(ctx, form, time.Time{}))
		expect.NoError(t, b.AsHost().DeleteSubmission(ctx, form, last.ID))

		// It is disabled: nothing is queued.
		b.Do(http.MethodPatch, "/webhooks/"+hook.String(), `{"enabled":false}`, nil)
		want(0, formsvc.ErrConflict)(b.RedeliverFailed(ctx, hook, time.Time{}))
		b.Do(http.MethodPatch, "/webhooks/"+hook.String(), `{"enabled":true}`, nil)

		// A store that fails, and a caller who gives up, leave the rest to the next call.
		left := 1
		want(1, storage.ErrUnavailable)(b.WithStorage(cutOff{b.Store, &left, func() {}}).RedeliverFailed(ctx, hook, time.Time{}))
		canceled, cancel := context.WithCancel(ctx)
		left = 5
		calls := 0
		want(1, context.Canceled)(b.WithStorage(cutOff{b.Store, &left, func() {
			// The first one is queued already, and passed over.
			if calls++; calls == 3 {
				cancel()
			}
		}}).RedeliverFailed(canceled, hook, time.Time{}))

		// Calls at the same time queue each once.
		var all atomic.Int64
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				n, err := b.RedeliverFailed(ctx, hook, time.Now().Add(-time.Hour))
				check(t, err)
				all.Add(int64(n))
			})
		}
		group.Wait()
		expect.That(t, all.Load() == 2, "calls at once queued %d, want the 2 that were left of 4", all.Load())
		want(0, nil)(b.RedeliverFailed(ctx, hook, time.Time{}))

		o.repaired.Store(true)
		stop := dispatching(t, b)
		b.Deliveries(hook, 9)
		stop()
		want(0, nil)(b.RedeliverFailed(ctx, hook, time.Time{}))
		o.mu.Lock()
		defer o.mu.Unlock()
		expect.That(t, len(o.taken) == 4, "%d events were taken, want 4: %v", len(o.taken), o.taken)
		for id, n := range o.taken {
			expect.That(t, n == 1, "event %s was sent %d times", id, n)
		}
		want(2, nil)(b.RedeliverFailed(ctx, foreign, time.Time{}))
	})
}

// manyWebhooks is a storage whose list of webhooks is long, and may fail after some
// of them.
type manyWebhooks struct {
	storage.Storage
	total     int
	failAfter int // 0: never; negative: at once
	served    atomic.Int64
	reads     atomic.Int64
	running   atomic.Int64
}

func (s *manyWebhooks) Webhooks(_ context.Context, _ storage.Actor, page storage.Page) ([]storage.Webhook, error) {
	s.reads.Add(1)
	s.running.Add(1)
	defer s.running.Add(-1)
	next := s.total
	if page.After != nil {
		next = int(binary.BigEndian.Uint32(page.After.ID[8:])) - 1
	}
	var found []storage.Webhook
	for ; next > 0 && len(found) < page.Limit; next-- {
		w := storage.Webhook{URL: "https://example.com/" + strings.Repeat("u", 1000), CreatedAt: time.Unix(1_700_000_000, 0).UTC(), UpdatedAt: time.Unix(1_700_000_000, 0).UTC()}
		binary.BigEndian.PutUint32(w.ID[8:], uint32(next))
		found = append(found, w)
	}
	if s.failAfter != 0 && s.served.Load() >= int64(s.failAfter) {
		return nil, errors.New("the storage went away")
	}
	s.served.Add(int64(len(found)))
	return found, nil
}

func TestTheListOfWebhooksIsWholeHoweverLongItIs(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 999, 1000, 1001, 2000, 2345} {
		b := servicetest.Setup(t, formsvc.WithoutRateLimit())
		store := &manyWebhooks{Storage: b.Store, total: n}
		svc := servicetest.New(t, store, formsvc.WithoutRateLimit())
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			w := httptest.NewRecorder()
			servicetest.Serve(t, svc, w, b.Request(method, "/webhooks", ""))
			expect.Require(t, w.Code == http.StatusOK && w.Header().Get("Content-Type") == "application/json",
				"%d webhooks: %d %v", n, w.Code, w.Header())
			if method == http.MethodHead {
				expect.That(t, w.Body.Len() == 0, "HEAD has a body of %d bytes", w.Body.Len())
				continue
			}
			var list struct{ Items []struct{ ID formsvc.ID } }
			err := json.Unmarshal(w.Body.Bytes(), &list)
			expect.Require(t, err == nil, "%d webhooks: %v", n, err)
			seen := map[formsvc.ID]bool{}
			for _, item := range list.Items {
				seen[item.ID] = true
			}
			if reads := store.reads.Swap(0); len(list.Items) != n || len(seen) != n || reads != int64(n/1000+1) {
				t.Errorf("%d items with %d ids after %d reads, want %d, a thousand in a read", len(list.Items), len(seen), reads, n)
			}
		}
	}
}

// A failure before the first byte is an answer; one in the middle ends the
// connection, so that the client cannot take the part for the whole.
func TestAListThatFailsInTheMiddleNeverLooksWhole(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t, formsvc.WithoutRateLimit())
	for _, failAfter := range []int{100, 300, 12_000} {
		store := &manyWebhooks{Storage: b.Store, total: 20_000, failAfter: failAfter}
		server := httptest.NewServer(servicetest.New(t, store, formsvc.WithoutRateLimit()))
		r := expect.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/v1/webhooks", nil))
		r.Header.Set("X-API-Key", b.Key)
		answer, err := server.Client().Do(r)
		if err == nil {
			body, readErr := io.ReadAll(answer.Body)
			answer.Body.Close()
			if readErr == nil || json.Valid(body) {
				t.Errorf("after %d: %d bytes, valid %v, error %v; want a connection that ended", failAfter, len(body), json.Valid(body), readErr)
			}
		}
		server.Close()
	}
	first := servicetest.New(t, &manyWebhooks{Storage: b.Store, failAfter: -1}, formsvc.WithoutRateLimit())
	code := servicetest.Get(t, first, "/v1/webhooks", b.Key)
	expect.That(t, code == http.StatusInternalServerError, "a failure of the first page: %d, want 500", code)
}

// While a client does not read, no more than two pages are read from the storage, and
// nothing of the storage is held.
func TestASlowClientHoldsNothingOfTheStorage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := servicetest.Setup(t, formsvc.WithoutRateLimit())
		store := &manyWebhooks{Storage: b.Store, total: 1_000_000}
		svc := expect.Must(formsvc.New(formsvc.WithStorage(store), formsvc.WithoutRateLimit()))
		p, stop := servePipes(t, svc)
		conn := p.dial()
		expect.Must(io.WriteString(conn, "GET /v1/webhooks HTTP/1.1\r\nHost: x\r\nX-API-Key: "+b.Key+"\r\n\r\n"))
		expect.Must(bufio.NewReaderSize(conn, 16).ReadString('\n'))
		time.Sleep(time.Hour)
		synctest.Wait()
		if served, running := store.served.Load(), store.running.Load(); served > 2000 || running != 0 {
			t.Errorf("%d webhooks were read and %d reads are under way while the client sleeps", served, running)
		}
		conn.Close()
		stop()
		check(t, svc.Close(t.Context()))
	})
}
