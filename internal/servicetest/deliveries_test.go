package servicetest_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
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
	s, err := b.Submit(t.Context(), formsvc.Response{
		FormID: form, Answers: servicetest.Answers("name", `"Ann"`, "plan", `"p"`), Hidden: map[string]string{"ref": "mail"}, CompletionTime: 12.5,
		Metadata: formsvc.Metadata{Country: "DE"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := <-requests
	if err := webhooks.Verify(servicetest.Secret, []byte(got.Body), got.Header.Get("Service-Signature")); err != nil {
		t.Error(err)
	}
	var event struct {
		ID       formsvc.ID
		Response json.RawMessage
	}
	if err := json.Unmarshal([]byte(got.Body), &event); err != nil {
		t.Fatal(err)
	}
	want := `{"formId":"` + form.String() + `","answers":{"name":"Ann","plan":{"id":"p","label":"Pro"},"ref":"mail"},"submissionId":"` + s.ID.String() +
		`","submittedAt":"` + s.SubmittedAt.Format("2006-01-02T15:04:05Z") + `","hidden":{"ref":"mail"},"variables":{},"metadata":{"country":"DE"},"completionTime":12.5}`
	if string(event.Response) != want {
		t.Errorf("response\n%s\nwant\n%s", event.Response, want)
	}

	deliveries := b.Deliveries(hook, 1)
	if d := deliveries[0]; !d.Success || d.Status != 200 || d.EventID != event.ID || d.SubmissionID == nil || *d.SubmissionID != s.ID || d.Attempt != 1 || d.NextAttemptAt != nil {
		t.Errorf("delivery %+v", d)
	}
	t.Run("a redelivery sends the same bytes", func(t *testing.T) {
		if err := b.Redeliver(t.Context(), hook, deliveries[0].ID); err != nil {
			t.Fatal(err)
		}
		if again := <-requests; again.Body != got.Body || again.Header.Get("Service-Signature") != got.Header.Get("Service-Signature") {
			t.Errorf("sent again:\n%s\nwant\n%s", again.Body, got.Body)
		}
		if d := b.Deliveries(hook, 2)[0]; d.EventID != event.ID {
			t.Errorf("delivery %+v", d)
		}
	})
	t.Run("what was deleted is not sent again", func(t *testing.T) {
		b.Do(http.MethodDelete, "/forms/"+form.String()+"/submissions/"+s.ID.String(), "", nil)
		if err := b.Redeliver(t.Context(), hook, deliveries[0].ID); !errors.Is(err, formsvc.ErrNotFound) {
			t.Errorf("%v, want ErrNotFound", err)
		}
	})
	t.Run("a disabled webhook takes neither", func(t *testing.T) {
		b.Do(http.MethodPatch, "/webhooks/"+hook.String(), `{"enabled":false}`, nil)
		if err := b.SendTestEvent(t.Context(), hook); !errors.Is(err, formsvc.ErrConflict) {
			t.Errorf("%v, want ErrConflict", err)
		}
	})
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
	_, err := b.Submit(t.Context(), formsvc.Response{
		FormID:      form,
		Answers:     servicetest.Answers("name", `"Ann"`, "other", `[{"other":"x"}]`, "grid", `{"r":["c"]}`, "stars", `3`),
		HostAnswers: servicetest.Answers("host", `7`, "files", `[{"id":"f","name":"a.pdf","url":"https://example.com/a","mime_type":"application/pdf","size":3}]`),
		Hidden:      map[string]string{"ref": "mail"}, CompletionTime: 12.5,
		Metadata: formsvc.Metadata{Country: "DE", Device: "phone", UserAgent: "A/1", UTM: map[string]string{"campaign": "a", "content": "b", "medium": "c", "source": "d", "term": "e"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	real := <-requests
	if err := b.SendTestEvent(t.Context(), hook); err != nil {
		t.Fatal(err)
	}
	var bodies [2]map[string]any
	for i, text := range []string{real.Body, (<-requests).Body} {
		if err := json.Unmarshal([]byte(text), &bodies[i]); err != nil {
			t.Fatal(err)
		}
	}
	delete(bodies[0]["response"].(map[string]any), "submissionId")
	want, got := shapeOf("", bodies[0]), shapeOf("", bodies[1])
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the shape of a real event (-) and of a test event (+):\n%s", diff)
	}
	if seconds := bodies[1]["response"].(map[string]any)["completionTime"]; seconds == 0.0 {
		t.Error("the completion time of a test event is 0")
	}
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
		b.Dispatch()
		if _, err := b.Answer(form, "mail", `"a@example.com"`); err != nil {
			t.Fatal(err)
		}
		servicetest.WaitFor(t, "the pause", func() bool { return len(paused(b.AsHost(), formsvc.Query{})) > 0 })
		for name, c := range map[string]formsvc.Client{"the host": b.AsHost(), "the owner": b.As(b.User.ID)} {
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
