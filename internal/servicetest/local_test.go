package servicetest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/webhooks"
)

// mailbox is a handler that records bodies, and returns 500 for events that contain fails.
type mailbox struct {
	got chan string

	mu    sync.Mutex
	fails string
}

func (m *mailbox) failFor(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails = text
}

func (m *mailbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := make([]byte, r.ContentLength)
	_, _ = r.Body.Read(body)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails != "" && strings.Contains(string(body), m.fails) {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	m.got <- string(body)
}

func (m *mailbox) wait(t *testing.T, text string) {
	t.Helper()
	select {
	case got := <-m.got:
		expect.That(t, strings.Contains(got, text), "the handler got %s, want %s", got, text)
	case <-time.After(30 * time.Second):
		t.Fatalf("the handler did not get %s", text)
	}
}

func onEachWithMailbox(t *testing.T, test func(t *testing.T, b *servicetest.Bundle, m *mailbox)) {
	servicetest.OnEachStore(t, func(t *testing.T, store storage.Storage) {
		m := &mailbox{got: make(chan string, 100)}
		b := servicetest.SetupOn(t, store, formsvc.WithoutRateLimit(), formsvc.WithWebhookConfig(webhooks.Config{
			Local: map[string]http.Handler{"mail": m}, Retry: webhooks.RetryPolicy{Delays: []time.Duration{time.Millisecond}},
		}))
		test(t, b, m)
	})
}

const nameBlock = `[{"id":"name","type":"short_text","label":"Name"}]`

// Neither the API nor the builder nor a Client lists, shows, accepts, changes or deletes a local webhook.
func TestLocalWebhooksDoNotExistOutsideOfGo(t *testing.T) {
	t.Parallel()
	onEachWithMailbox(t, func(t *testing.T, b *servicetest.Bundle, m *mailbox) {
		form := b.Form(nameBlock, `{}`)
		l := b.LocalWebhooks()
		hook := expect.Must(l.CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: form, URL: "local:mail", SigningSecret: servicetest.Secret}))
		expect.That(t, hook.HasSecret && hook.Enabled && hook.FormID == form && hook.AllForms.IsZero(), "the webhook is %+v", hook)
		b.Dispatch()
		expect.Must(b.Answer(form, "name", `"Ann"`))
		m.wait(t, `"name":"Ann"`)
		servicetest.WaitFor(t, "the delivery is in the log", func() bool { return len(expect.Must(l.Deliveries(t.Context(), hook.ID))) == 1 })

		path := "/webhooks/" + hook.ID.String()
		list := b.Do(http.MethodGet, "/webhooks", "", nil)
		expect.That(t, !strings.Contains(list.Body.String(), hook.ID.String()), "the list has it: %s", list.Body)
		for _, c := range [][2]string{{http.MethodGet, ""}, {http.MethodDelete, ""}, {http.MethodPatch, `{"enabled":false}`}, {http.MethodPatch, `{"signing_secret":null}`}, {http.MethodPatch, `{"url":"https://example.com/"}`}} {
			status(t, b.Do(c[0], path, c[1], nil), http.StatusNotFound, c[0]+c[1])
		}
		status(t, b.Do(http.MethodGet, path+"/deliveries", "", nil), http.StatusNotFound, "the log")
		for _, url := range []string{"local:mail", "LOCAL:mail", "local://mail", "local:mail?a=b"} {
			w := b.Do(http.MethodPost, "/webhooks", fmt.Sprintf(`{"form_id":%q,"url":%q}`, form, url), nil)
			expect.That(t, w.Code == http.StatusUnprocessableEntity && strings.Contains(w.Body.String(), "WEBHOOK_URL_REJECTED"), "%s: %d %s", url, w.Code, w.Body)
		}
		status(t, b.Do(http.MethodPost, "/webhooks", `{"form_id":"000000000000000000000000","url":"https://example.com/"}`, nil), http.StatusNotFound, "a webhook for all forms")
		page := httptest.NewRecorder()
		l.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/webhooks", nil))
		expect.That(t, page.Code == http.StatusOK && !strings.Contains(page.Body.String(), hook.ID.String()), "the client's own list: %d %s", page.Code, page.Body)
		other := expect.Must(b.Store.Webhooks(t.Context(), storage.AsHost(), storage.Page{Limit: 10}))
		expect.Equal(t, len(other), 0, "the webhooks of the host")

		for name, c := range map[string]formsvc.Client{"user": b.As(b.User.ID), "host": b.AsHost()} {
			_, err := c.Webhook(t.Context(), hook.ID)
			expect.Error(t, name+" Webhook", err, formsvc.ErrNotFound)
			_, err = c.UpdateWebhook(t.Context(), hook.ID, formsvc.WebhookUpdate{Enabled: new(bool)})
			expect.Error(t, name+" UpdateWebhook", err, formsvc.ErrNotFound)
			expect.Error(t, name+" DeleteWebhook", c.DeleteWebhook(t.Context(), hook.ID), formsvc.ErrNotFound)
			_, err = c.Deliveries(t.Context(), hook.ID)
			expect.Error(t, name+" Deliveries", err, formsvc.ErrNotFound)
			expect.Equal(t, len(expect.Must(c.FormWebhooks(t.Context(), form))), 0, name+" FormWebhooks")
			_, err = c.CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: form, URL: "local:mail"})
			expect.That(t, errors.As(err, new(*formsvc.RejectedURLError)), "%s CreateWebhook: %v", name, err)
			for w := range c.Webhooks(t.Context(), formsvc.Query{}) {
				t.Errorf("%s Webhooks: %+v", name, w)
			}
		}
	})
}

// The Go API creates, changes, lists and deletes local webhooks, and refuses other URLs.
func TestLocalWebhooksInGo(t *testing.T) {
	t.Parallel()
	onEachWithMailbox(t, func(t *testing.T, b *servicetest.Bundle, m *mailbox) {
		l, form := b.LocalWebhooks(), b.Form(nameBlock, `{}`)
		for range 25 { // more than Limits.Webhooks
			expect.Must(l.CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: form, URL: "local:other"}))
		}
		ordinary := expect.Must(b.AsHost().CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: form, URL: "https://93.184.215.14/", Disabled: true}))
		hook := expect.Must(l.CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: form, URL: "local:mail", Disabled: true}))
		expect.Equal(t, len(expect.Must(l.FormWebhooks(t.Context(), form))), 26, "local webhooks of the form")
		for _, url := range []string{"", "mail", "local:", "local:a b", "https://example.com/", "http://127.0.0.1/"} {
			_, err := l.CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: form, URL: url})
			expect.That(t, errors.As(err, new(*formsvc.Error)), "CreateWebhook with %q: %v", url, err)
			_, err = l.UpdateWebhook(t.Context(), hook.ID, formsvc.WebhookUpdate{URL: &url})
			expect.That(t, errors.As(err, new(*formsvc.Error)), "UpdateWebhook with %q: %v", url, err)
		}
		_, err := l.CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: b.Workspace, URL: "local:mail"})
		expect.Error(t, "CreateWebhook of an unknown form", err, formsvc.ErrNotFound)
		_, err = l.UpdateWebhook(t.Context(), ordinary.ID, formsvc.WebhookUpdate{Enabled: new(bool)})
		expect.Error(t, "UpdateWebhook of an ordinary webhook", err, formsvc.ErrNotFound)
		expect.Error(t, "DeleteWebhook of an ordinary webhook", l.DeleteWebhook(t.Context(), ordinary.ID), formsvc.ErrNotFound)

		enabled, secret := true, servicetest.Secret
		hook = expect.Must(l.UpdateWebhook(t.Context(), hook.ID, formsvc.WebhookUpdate{Enabled: &enabled, SigningSecret: &secret}))
		expect.That(t, hook.Enabled && hook.HasSecret, "the changed webhook is %+v", hook)
		// Its log, test events and redeliveries are those of all webhooks.
		m.failFor("Ann")
		b.Dispatch()
		expect.Must(b.Answer(form, "name", `"Ann"`))
		log := func() []formsvc.Delivery { return expect.Must(l.Deliveries(t.Context(), hook.ID)) }
		servicetest.WaitFor(t, "both attempts fail", func() bool { return len(log()) == 2 })
		m.failFor("")
		expect.Equal(t, expect.Must(b.RedeliverFailed(t.Context(), hook.ID, time.Time{})), 1, "redelivered")
		m.wait(t, "Ann")
		servicetest.WaitFor(t, "the redelivery is in the log", func() bool { return len(log()) == 3 && log()[0].Success })
		expect.NoError(t, b.Redeliver(t.Context(), hook.ID, log()[0].ID))
		m.wait(t, "Ann")
		expect.NoError(t, b.SendTestEvent(t.Context(), hook.ID))
		m.wait(t, `"name":`)
		expect.NoError(t, l.DeleteWebhook(t.Context(), hook.ID))
		_, err = l.Webhook(t.Context(), hook.ID)
		expect.Error(t, "Webhook after DeleteWebhook", err, formsvc.ErrNotFound)
	})
}

// A webhook for all forms serves each form of each workspace, and each has its own deliveries.
func TestALocalWebhookForAllForms(t *testing.T) {
	t.Parallel()
	onEachWithMailbox(t, func(t *testing.T, b *servicetest.Bundle, m *mailbox) {
		l := b.LocalWebhooks()
		first := b.Form(nameBlock, `{}`)
		trashed := b.Form(nameBlock, `{}`)
		expect.NoError(t, b.AsHost().TrashForm(t.Context(), trashed))
		_, err := l.CreateWebhook(t.Context(), formsvc.WebhookCreate{URL: "local:mail", SigningSecret: servicetest.Secret})
		expect.That(t, errors.As(err, new(*formsvc.Error)), "a webhook for all forms with a secret: %v", err)
		all := expect.Must(l.CreateWebhook(t.Context(), formsvc.WebhookCreate{URL: "local:mail"}))
		other := expect.Must(b.CreateWorkspace(t.Context(), formsvc.UserIDFrom("bob"), "Another tenant"))
		second := expect.Must(b.AsHost().CreateForm(t.Context(), formsvc.FormCreate{Workspace: other.ID, Name: "Second", Definition: formsvc.Definition{Blocks: []byte(nameBlock)}}))
		expect.Must(b.AsHost().PublishForm(t.Context(), second.ID))
		b.Dispatch()
		of := func(form formsvc.ID) formsvc.Webhook {
			t.Helper()
			found := expect.Must(l.FormWebhooks(t.Context(), form))
			expect.Require(t, len(found) == 1 && found[0].AllForms == all.ID && found[0].FormID == form, "the webhooks of a form are %+v", found)
			return found[0]
		}
		for i, form := range []formsvc.ID{first, second.ID} {
			expect.Must(b.Answer(form, "name", fmt.Sprintf(`"Nr. %d"`, i)))
			m.wait(t, form.String())
			servicetest.WaitFor(t, "the form has its log", func() bool { return len(expect.Must(l.Deliveries(t.Context(), of(form).ID))) == 1 })
		}
		expect.NoError(t, b.RestoreForm(t.Context(), trashed, formsvc.ID{}))
		expect.Must(b.Answer(trashed, "name", `"restored"`))
		m.wait(t, "restored")

		// A change applies to each form, also in the trash, and to later ones.
		expect.NoError(t, b.AsHost().TrashForm(t.Context(), trashed))
		url := "local:other"
		expect.Must(l.UpdateWebhook(t.Context(), all.ID, formsvc.WebhookUpdate{URL: &url}))
		third := b.Form(nameBlock, `{}`)
		for _, form := range []formsvc.ID{first, second.ID, trashed, third} {
			expect.Equal(t, of(form).URL, url, "the URL of a form's webhook")
		}
		_, err = l.UpdateWebhook(t.Context(), all.ID, formsvc.WebhookUpdate{SigningSecret: &url})
		expect.That(t, errors.As(err, new(*formsvc.Error)), "a secret for all forms: %v", err)

		// One form can do without it.
		expect.NoError(t, l.DeleteWebhook(t.Context(), of(first).ID))
		expect.Equal(t, len(expect.Must(l.FormWebhooks(t.Context(), first))), 0, "webhooks of the form without it")
		expect.NoError(t, b.PurgeForm(t.Context(), trashed))
		var forms []formsvc.ID
		for w, err := range l.Webhooks(t.Context(), formsvc.Query{}) {
			expect.NoError(t, err)
			forms = append(forms, w.FormID)
		}
		slices.SortFunc(forms, func(a, b formsvc.ID) int { return strings.Compare(a.String(), b.String()) })
		expect.Equal(t, fmt.Sprint(forms), fmt.Sprint([]formsvc.ID{{}, second.ID, third}), "the forms of all local webhooks")
		expect.Equal(t, len(expect.Must(l.FormWebhooks(t.Context(), formsvc.ID{}))), 1, "webhooks for all forms")

		expect.NoError(t, l.DeleteWebhook(t.Context(), all.ID))
		b.Form(nameBlock, `{}`)
		for w := range l.Webhooks(t.Context(), formsvc.Query{}) {
			t.Errorf("after DeleteWebhook there is %+v", w)
		}
	})
}

// A handler that fails for one tenant pauses only that tenant's webhook.
func TestALocalWebhookPausesForOneForm(t *testing.T) {
	t.Parallel()
	onEachWithMailbox(t, func(t *testing.T, b *servicetest.Bundle, m *mailbox) {
		l := b.LocalWebhooks()
		expect.Must(l.CreateWebhook(t.Context(), formsvc.WebhookCreate{URL: "local:mail"}))
		bad, good := b.Form(nameBlock, `{}`), b.Form(nameBlock, `{}`)
		hook := expect.Must(l.FormWebhooks(t.Context(), bad))[0]
		event := storage.Event{ID: storage.ID{1}, Type: "form.response.completed", Body: []byte("{}")}
		expect.NoError(t, b.Store.Enqueue(t.Context(), hook.ID, event))
		claimed, _, err := b.Store.ClaimDeliveries(t.Context(), storage.ClaimParams{Lease: time.Hour, NewOrFailing: storage.Pool{MaxDeliveries: 1}, PerWebhook: 1, Local: []string{"local:mail"}})
		expect.NoError(t, err)
		expect.Require(t, len(claimed) == 1, "%d deliveries are claimed", len(claimed))
		_, err = b.Store.FinishDeliveries(t.Context(), []storage.Result{{
			Lease: claimed[0].Lease, Delivery: &storage.Delivery{ID: storage.ID{2}, WebhookID: hook.ID, EventID: event.ID, EventType: event.Type, Attempt: 1, Error: "status", CreatedAt: time.Now()},
			RetryIn: time.Hour, Health: storage.Health{Failures: 10}, PauseFor: time.Hour,
		}})
		expect.NoError(t, err)
		b.Dispatch()
		expect.Must(b.Answer(bad, "name", `"waits"`))
		expect.Must(b.Answer(good, "name", `"arrives"`))
		m.wait(t, "arrives")
		var paused []formsvc.ID
		for p, err := range l.PausedWebhooks(t.Context(), formsvc.Query{}) {
			expect.NoError(t, err)
			paused = append(paused, p.FormID)
		}
		expect.Equal(t, fmt.Sprint(paused), fmt.Sprint([]formsvc.ID{bad}), "the forms of paused webhooks")
		for p := range b.AsHost().PausedWebhooks(t.Context(), formsvc.Query{}) {
			t.Errorf("the host's list has %+v", p)
		}
		expect.NoError(t, b.SendTestEvent(t.Context(), hook.ID)) // a probe with the pending test event, whose success ends the pause
		m.wait(t, "{}")
		m.wait(t, "waits")
	})
}

// A webhook with FormDetails gets the form's name, language and questions. Others get the same bytes as ever, and no
// operation of the API shows or takes the option.
func TestFormDetails(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStore(t, func(t *testing.T, store storage.Storage) {
		plain, detailed := &mailbox{got: make(chan string, 10)}, &mailbox{got: make(chan string, 10)}
		b := servicetest.SetupOn(t, store, formsvc.WithoutRateLimit(), formsvc.WithWebhookConfig(webhooks.Config{Local: map[string]http.Handler{"plain": plain, "detailed": detailed}}))
		l := b.LocalWebhooks()
		form := b.Form(`[{"id":"hello","type":"statement","label":"Hello"},{"id":"group","type":"group","label":"G","children":[{"id":"na\"me","type":"short_text","label":"Your **name**"}]},{"id":"n","type":"number"}]`, `{}`)
		expect.Must(l.CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: form, URL: "local:plain"}))
		hook := expect.Must(l.CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: form, URL: "local:detailed", FormDetails: true}))
		expect.That(t, hook.FormDetails, "the webhook is %+v", hook)
		b.Dispatch()
		name := expect.Must(b.AsHost().Form(t.Context(), form)).Name
		const questions = `"questions":{"na\"me":{"label":"Your name","type":"short_text"},"n":{"label":"","type":"number"}}}}`
		submit := func(language string) (short, long string) {
			t.Helper()
			_, err := b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers(`na"me`, `"Ann"`), Language: language})
			expect.NoError(t, err)
			return <-plain.got, <-detailed.got
		}
		var short, long string
		for range 2 { // the details are cached
			short, long = submit("pt-BR")
			expect.Equal(t, long, strings.TrimSuffix(short, "}}")+`,"formName":"`+name+`","language":"pt-BR",`+questions, "the event with details")
		}
		short, long = submit("")
		expect.Equal(t, long, strings.TrimSuffix(short, "}}")+`,"formName":"`+name+`",`+questions, "the event without a language")
		_, err := b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers(`na"me`, `"Ann"`), Language: "not a tag"})
		expect.That(t, errors.As(err, new(*formsvc.Error)), "a language that is no tag: %v", err)
		renamed := `Re"named`
		expect.Must(b.AsHost().UpdateForm(t.Context(), form, formsvc.FormUpdate{Name: &renamed}))
		_, long = submit("pt-BR")
		expect.That(t, strings.Contains(long, `"formName":"Re\"named"`), "after renaming the form: %s", long)
		expect.NoError(t, b.SendTestEvent(t.Context(), hook.ID))
		long = <-detailed.got
		expect.That(t, strings.HasSuffix(long, `"formName":"Re\"named","language":"en",`+questions) && json.Valid([]byte(long)), "the test event: %s", long)

		off := false
		expect.Must(l.UpdateWebhook(t.Context(), hook.ID, formsvc.WebhookUpdate{FormDetails: &off}))
		short, long = submit("de")
		expect.Equal(t, long, short, "the event after the option is off")

		made := b.Do(http.MethodPost, "/webhooks", fmt.Sprintf(`{"form_id":%q,"url":"https://93.184.215.14/","form_details":true}`, form), nil)
		status(t, made, http.StatusUnprocessableEntity, "form_details in the API")
		ordinary := expect.Must(b.As(b.User.ID).CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: form, URL: "https://93.184.215.14/", Disabled: true, FormDetails: true}))
		path := "/webhooks/" + ordinary.ID.String()
		expect.That(t, ordinary.FormDetails && !strings.Contains(b.Do(http.MethodGet, path, "", nil).Body.String(), "details"), "the API shows FormDetails")
		status(t, b.Do(http.MethodPatch, path, `{"form_details":false}`, nil), http.StatusUnprocessableEntity, "form_details in a PATCH")
		status(t, b.Do(http.MethodPatch, path, `{}`, nil), http.StatusUnprocessableEntity, "an empty PATCH")
	})
}

// A webhook with Updates gets an event for each change, signed and delivered like all others. Other webhooks, and the
// events of submissions, are as ever.
func TestUpdateEvents(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStore(t, func(t *testing.T, store storage.Storage) {
		plain, asking := &mailbox{got: make(chan string, 10)}, &mailbox{got: make(chan string, 10)}
		b := servicetest.SetupOn(t, store, formsvc.WithoutRateLimit(), formsvc.WithWebhookConfig(webhooks.Config{Local: map[string]http.Handler{"plain": plain, "asking": asking}}))
		l := b.LocalWebhooks()
		hook := expect.Must(l.CreateWebhook(t.Context(), formsvc.WebhookCreate{URL: "local:asking", Updates: true, FormDetails: true})) // for all forms
		expect.That(t, hook.Updates, "the webhook is %+v", hook)
		form := b.Form(`[{"id":"name","type":"short_text","label":"Name"},{"id":"ok","type":"legal","label":"OK","properties":{"legalText":"Terms"}}]`, `{}`)
		expect.Must(l.CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: form, URL: "local:plain"}))
		b.Dispatch()
		s := expect.Must(b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: rawMap{"name": json.RawMessage(`"Ann"`), "ok": json.RawMessage("true")}, CompletionTime: 3}))
		completed := <-plain.got
		expect.That(t, !strings.Contains(completed, `"type":"form`) && !strings.Contains(completed, "revision"), "the event of a submission: %s", completed)
		expect.That(t, strings.HasPrefix(<-asking.got, strings.TrimSuffix(completed, "}}")), "the event of a submission differs with Updates")

		type event struct {
			ID, Type string
			Response map[string]json.RawMessage
		}
		ids := map[string]bool{}
		for revision := int64(2); revision < 4; revision++ {
			changed := expect.Must(b.AsHost().UpdateSubmission(t.Context(), form, s.ID, formsvc.SubmissionChange{Answers: rawMap{"name": json.RawMessage(fmt.Sprintf(`"Ann %d"`, revision))}}))
			var got event
			body := <-asking.got
			expect.NoError(t, json.Unmarshal([]byte(body), &got))
			ids[got.ID] = true
			expect.Equal(t, got.Type, "form.response.updated", "the type")
			for name, want := range map[string]string{
				"submissionId": fmt.Sprintf("%q", s.ID), "revision": fmt.Sprint(revision), "changedAt": fmt.Sprintf("%q", changed.ChangedAt.Format("2006-01-02T15:04:05Z")),
				"submittedAt": fmt.Sprintf("%q", s.SubmittedAt.Format("2006-01-02T15:04:05Z")), "answers": fmt.Sprintf(`{"name":"Ann %d","ok":true}`, revision),
				"consents": `{"ok":"Terms"}`, "completionTime": "3", "formName": fmt.Sprintf("%q", expect.Must(b.AsHost().Form(t.Context(), form)).Name),
			} {
				expect.Equal(t, string(got.Response[name]), want, name)
			}
		}
		expect.Equal(t, len(ids), 2, "event IDs of two changes")
		_, err := b.AsHost().UpdateSubmission(t.Context(), form, s.ID, formsvc.SubmissionChange{}, formsvc.IfRevision(1))
		expect.That(t, errors.As(err, new(*formsvc.RevisionError)), "a stale change: %v", err)

		// A failed attempt is repeated with the same bytes, and a webhook no longer gets later changes after the option is off.
		asking.failFor("Ann 4")
		expect.Must(b.AsHost().UpdateSubmission(t.Context(), form, s.ID, formsvc.SubmissionChange{Answers: rawMap{"name": json.RawMessage(`"Ann 4"`)}}))
		off := false
		expect.Must(l.UpdateWebhook(t.Context(), hook.ID, formsvc.WebhookUpdate{Updates: &off}))
		expect.Must(b.AsHost().UpdateSubmission(t.Context(), form, s.ID, formsvc.SubmissionChange{Answers: rawMap{"name": json.RawMessage(`"Ann 5"`)}}))
		var copied formsvc.Webhook
		for _, w := range expect.Must(l.FormWebhooks(t.Context(), form)) {
			if w.URL == "local:asking" {
				copied = w
			}
		}
		expect.That(t, !copied.Updates && copied.AllForms == hook.ID, "the webhook of the form: %+v", copied)
		servicetest.WaitFor(t, "the fourth event fails", func() bool { return len(expect.Must(l.Deliveries(t.Context(), copied.ID))) >= 4 })
		asking.failFor("")
		latest := expect.Must(l.Deliveries(t.Context(), copied.ID))[0]
		expect.That(t, latest.EventType == "form.response.updated" && latest.SubmissionID == s.ID && !latest.Success, "the failed attempt: %+v", latest)
		expect.NoError(t, b.Redeliver(t.Context(), copied.ID, latest.ID))
		body := <-asking.got
		expect.That(t, strings.Contains(body, `"Ann 4"`) && strings.Contains(body, latest.EventID.String()), "the repeated event: %s", body)
		expect.NoError(t, b.SendTestEvent(t.Context(), copied.ID)) // the next event is not that of the last change
		for strings.Contains(body, s.ID.String()) {                // the failed event can arrive again
			body = <-asking.got
			expect.That(t, !strings.Contains(body, "Ann 5"), "an event after the option is off: %s", body)
		}
		for len(plain.got) > 0 {
			body := <-plain.got
			expect.That(t, !strings.Contains(body, "form.response.updated"), "a webhook without Updates got %s", body)
		}
		made := b.Do(http.MethodPost, "/webhooks", fmt.Sprintf(`{"form_id":%q,"url":"https://93.184.215.14/","updates":true}`, form), nil)
		status(t, made, http.StatusUnprocessableEntity, "updates in the API")
	})
}
