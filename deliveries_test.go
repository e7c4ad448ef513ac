package formsvc_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/webhooks"
)

// received is a request as a receiver saw it.
type received struct {
	header http.Header
	body   string
}

// receiver is a real HTTP server that passes on what it gets.
func receiver(t *testing.T) (url string, requests <-chan received) {
	t.Helper()
	ch := make(chan received, 16)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ch <- received{r.Header.Clone(), readAll(t, r.Body)}
	}))
	t.Cleanup(server.Close)
	return server.URL, ch
}

func loopback() formsvc.Option {
	return formsvc.WithWebhookConfig(webhooks.Config{
		AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")},
	})
}

// dispatch runs the dispatcher until the test ends.
func (b *bundle) dispatch() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Dispatcher().Run(ctx) }()
	b.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.t.Error(err)
		}
	})
}

func (b *bundle) webhook(form formsvc.ID, url, secret string) formsvc.ID {
	b.t.Helper()
	var made struct{ ID formsvc.ID }
	body := `{"form_id":"` + form.String() + `","url":"` + url + `","signing_secret":"` + secret + `"}`
	if w := b.do(http.MethodPost, "/webhooks", body, &made); w.Code != http.StatusCreated {
		b.t.Fatalf("creating a webhook: %d %s", w.Code, w.Body)
	}
	return made.ID
}

const secret = "a secret of sixteen or more"

func TestAResponseBecomesASignedDelivery(t *testing.T) {
	t.Parallel()
	url, requests := receiver(t)
	b := setup(t, loopback(), formsvc.WithoutRateLimit())
	form := b.form(`[{"id":"name","type":"short_text","label":"Name"},{"id":"plan","type":"single_choice","choices":[{"id":"p","label":"Pro"}]}]`, `{}`)
	b.do(http.MethodPatch, "/forms/"+form.String(), `{"definition":{"hidden_fields":["ref"]}}`, nil)
	hook := b.webhook(form, url, secret)
	b.dispatch()
	s, err := b.Submit(t.Context(), formsvc.Response{
		FormID: form, Answers: answers("name", `"Ann"`, "plan", `"p"`), Hidden: map[string]string{"ref": "mail"}, CompletionTime: 12.5,
		Metadata: formsvc.Metadata{Country: "DE"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := <-requests
	for name, want := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "formsvc-webhook/1.0", "Service-Version": "1.0.0",
	} {
		if got.header.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.header.Get(name), want)
		}
	}
	if err := webhooks.Verify(secret, []byte(got.body), got.header.Get("Service-Signature")); err != nil {
		t.Error(err)
	}
	var event struct {
		ID       formsvc.ID
		Response json.RawMessage
	}
	if err := json.Unmarshal([]byte(got.body), &event); err != nil {
		t.Fatal(err)
	}
	want := `{"formId":"` + form.String() + `","answers":{"name":"Ann","plan":{"id":"p","label":"Pro"},"ref":"mail"},"submissionId":"` + s.ID.String() +
		`","submittedAt":"` + s.SubmittedAt.Format("2006-01-02T15:04:05Z") + `","hidden":{"ref":"mail"},"variables":{},"metadata":{"country":"DE"},"completionTime":12.5}`
	if string(event.Response) != want {
		t.Errorf("response\n%s\nwant\n%s", event.Response, want)
	}

	deliveries := b.deliveries(hook, 1)
	if d := deliveries[0]; !d.Success || d.Status != 200 || d.EventID != event.ID || d.SubmissionID == nil || *d.SubmissionID != s.ID || d.Attempt != 1 || d.NextAttemptAt != nil {
		t.Errorf("delivery %+v", d)
	}
	for _, leak := range []string{secret, url, "Ann"} {
		if w := b.do(http.MethodGet, "/webhooks/"+hook.String()+"/deliveries", "", nil); strings.Contains(w.Body.String(), leak) {
			t.Errorf("the deliveries tell %q: %s", leak, w.Body)
		}
	}

	t.Run("a redelivery sends the same bytes", func(t *testing.T) {
		if err := b.Redeliver(t.Context(), hook, deliveries[0].ID); err != nil {
			t.Fatal(err)
		}
		if again := <-requests; again.body != got.body || again.header.Get("Service-Signature") != got.header.Get("Service-Signature") {
			t.Errorf("sent again:\n%s\nwant\n%s", again.body, got.body)
		}
		if d := b.deliveries(hook, 2)[0]; d.EventID != event.ID {
			t.Errorf("delivery %+v", d)
		}
	})
	t.Run("a test event is signed and has no submission", func(t *testing.T) {
		if err := b.SendTestEvent(t.Context(), hook); err != nil {
			t.Fatal(err)
		}
		sample := <-requests
		if err := webhooks.Verify(secret, []byte(sample.body), sample.header.Get("Service-Signature")); err != nil {
			t.Error(err)
		}
		if !strings.Contains(sample.body, `"answers":{"name":`) || strings.Contains(sample.body, "submissionId") {
			t.Errorf("test event %s", sample.body)
		}
		if d := b.deliveries(hook, 3)[0]; d.SubmissionID != nil || !d.Success {
			t.Errorf("delivery %+v", d)
		}
	})
	t.Run("what was deleted is not sent again", func(t *testing.T) {
		b.do(http.MethodDelete, "/forms/"+form.String()+"/submissions/"+s.ID.String(), "", nil)
		if err := b.Redeliver(t.Context(), hook, deliveries[0].ID); !errors.Is(err, formsvc.ErrNotFound) {
			t.Errorf("%v, want ErrNotFound", err)
		}
	})
	t.Run("a disabled webhook takes neither", func(t *testing.T) {
		b.do(http.MethodPatch, "/webhooks/"+hook.String(), `{"enabled":false}`, nil)
		if err := b.SendTestEvent(t.Context(), hook); !errors.Is(err, formsvc.ErrConflict) {
			t.Errorf("%v, want ErrConflict", err)
		}
	})
}

type delivery struct {
	ID            formsvc.ID
	EventID       formsvc.ID  `json:"event_id"`
	SubmissionID  *formsvc.ID `json:"submission_id"`
	Attempt       int
	Status        int
	Success       bool
	Error         *string
	NextAttemptAt *string `json:"next_attempt_at"`
}

// deliveries waits until the webhook has n deliveries: they are recorded shortly
// after the receiver has them. It asks as often as it can, so it needs a service
// without a rate limit.
func (b *bundle) deliveries(hook formsvc.ID, n int) []delivery {
	b.t.Helper()
	for b.t.Context().Err() == nil {
		var list struct{ Items []delivery }
		b.do(http.MethodGet, "/webhooks/"+hook.String()+"/deliveries", "", &list)
		if len(list.Items) >= n {
			return list.Items
		}
	}
	b.t.Fatalf("the webhook %s never had %d deliveries", hook, n)
	return nil
}

func TestSecretsAreSealedAndOpenAfterARotation(t *testing.T) {
	t.Parallel()
	url, requests := receiver(t)
	before, after := aead(t, 1), aead(t, 2)
	b := setup(t, loopback(), formsvc.WithSecretCipher(before), formsvc.WithoutRateLimit())
	form := b.form(textBlock, `{}`)
	hook := b.webhook(form, url, secret)
	stored, err := b.store.Secrets(t.Context(), storage.ID{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(stored) != 1 || stored[0].WebhookID != hook || strings.Contains(string(stored[0].Secret), secret[:8]) {
		t.Fatalf("the stored secret is %q", stored)
	}

	rotated, err := formsvc.New(formsvc.WithStorage(b.store), loopback(), formsvc.WithSecretCipher(after, before), formsvc.WithoutRateLimit())
	if err != nil {
		t.Fatal(err)
	}
	(&bundle{Service: rotated, t: t}).dispatch()
	if _, err := rotated.Submit(t.Context(), formsvc.Response{FormID: form, Answers: answers("name", `"x"`)}); err != nil {
		t.Fatal(err)
	}
	got := <-requests
	if err := webhooks.Verify(secret, []byte(got.body), got.header.Get("Service-Signature")); err != nil {
		t.Error(err)
	}
}

// A destination that failed often enough is paused. A new URL is another
// destination: an attempt at the old one that ends late must not pause it.
func TestANewURLStartsAfresh(t *testing.T) {
	t.Parallel()
	const failures = 10
	var tries atomic.Int64
	last, answer := make(chan struct{}), make(chan struct{})
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if tries.Add(1) == failures {
			close(last)
			<-answer
		}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer bad.Close()
	good, requests := receiver(t)

	b := setup(t, formsvc.WithoutRateLimit(), formsvc.WithWebhookConfig(webhooks.Config{
		AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Retry:           webhooks.RetryPolicy{Delays: slices.Repeat([]time.Duration{time.Millisecond}, 2*failures)},
		InFlightWebhook: 1,
	}))
	form := b.form(textBlock, `{}`)
	hook := b.webhook(form, bad.URL, secret)
	b.dispatch()
	if _, err := b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: answers("name", `"x"`)}); err != nil {
		t.Fatal(err)
	}
	<-last
	if w := b.do(http.MethodPatch, "/webhooks/"+hook.String(), `{"url":"`+good+`"}`, nil); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	close(answer)
	select {
	case <-requests:
	case <-time.After(30 * time.Second): // the pause would be a minute
		t.Fatal("nothing arrived at the new URL")
	}
}

func aead(t *testing.T, key byte) cipher.AEAD {
	t.Helper()
	block, err := aes.NewCipher([]byte(strings.Repeat(string(rune(key)), 32)))
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	return gcm
}

// Who is responsible for a destination sees that its deliveries wait, since when and why.
func TestPausedWebhooksAreListed(t *testing.T) {
	t.Parallel()
	onEachStorage(t, func(t *testing.T, b *bundle) {
		busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		t.Cleanup(busy.Close)
		quiet, _ := receiver(t)
		form := b.form(mailBlocks, `{}`)
		b.webhook(form, quiet, secret)
		hook := b.webhook(form, busy.URL, secret)
		paused := func(c formsvc.Client, q formsvc.Query) (list []formsvc.PausedWebhook) {
			for p, err := range c.PausedWebhooks(t.Context(), q) {
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, p)
			}
			return list
		}
		if list := paused(b.AsHost(), formsvc.Query{}); len(list) > 0 {
			t.Errorf("paused before anything was sent: %v", list)
		}
		b.dispatch()
		if _, err := b.submit(form, "mail", `"a@example.com"`); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the pause", func() bool { return len(paused(b.AsHost(), formsvc.Query{})) > 0 })
		for name, c := range map[string]formsvc.Client{"the host": b.AsHost(), "the owner": b.As(b.user.ID)} {
			list := paused(c, formsvc.Query{Limit: 5})
			if len(list) != 1 {
				t.Fatalf("%s sees %v", name, list)
			}
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
			if !errors.Is(err, context.Canceled) {
				t.Errorf("a cancelled context: %v", err)
			}
		}
	})
}
