package conformance

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

func deliveryCases() []testCase {
	n := needs(NeedsSubmit, NeedsReceiverURL)
	return []testCase{
		{"deliveries/request", "A submission is sent to the form's webhook as JSON, with the version header and, without a secret, unsigned.", n, deliveriesRequest},
		{"deliveries/signature", "With a signing secret, the delivery has a signature header with sha256= and the HMAC of the exact body.", n, deliveriesSignature},
		{"deliveries/new-secret", "A new signing secret signs all later deliveries, and without a secret they are unsigned.", n, deliveriesNewSecret},
		{"deliveries/each-webhook", "Every enabled webhook of the form receives the event, with the same id and the same bytes.", n, deliveriesEachWebhook},
		{"deliveries/disabled", "A disabled webhook receives nothing, and later does not receive the events from that time.", n, deliveriesDisabled},
		{"deliveries/summary", "A delivery has a summary of its attempt, without the body, the URL and the secret.", n, deliveriesSummary},
		{"deliveries/most", "The list contains the 100 most recent deliveries, newest first, without the oldest of 101.", n, deliveriesMost},
		{"deliveries/retry", "A failed delivery is sent again at the announced time, as the same event with the same bytes.", n, deliveriesRetry},
		{"deliveries/other-form", "A webhook receives only the submissions of its form.", n, deliveriesOtherForm},
		{"deliveries/failure", "A response outside of 2xx is a failed attempt with its status and the time of the next attempt.", n, deliveriesFailure},
		{"deliveries/redirect", "A redirect is not followed and is a failed attempt.", n, deliveriesRedirect},
		{"deliveries/unreachable", "An attempt has status 0 if the destination does not respond.", n, deliveriesUnreachable},
	}
}

// receiver is a server that webhooks are sent to.
type receiver struct {
	*session
	url string

	mu  sync.Mutex
	got []delivered
}

// delivered is one request that a receiver got.
type delivered struct {
	method, path string
	header       http.Header
	body         []byte
}

// receive starts a receiver that answers every request with respond.
func (s *session) receive(respond http.HandlerFunc) *receiver {
	r := &receiver{session: s}
	address, stop, err := listen(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		r.mu.Lock()
		r.got = append(r.got, delivered{req.Method, req.URL.Path, req.Header, body})
		r.mu.Unlock()
		respond(w, req)
	}))
	s.must("failed to listen for deliveries", err)
	s.closers = append(s.closers, stop)
	r.url = s.target.ReceiverURL(address)
	return r
}

func noContent(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

// list returns the requests so far.
func (r *receiver) list() []delivered {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]delivered(nil), r.got...)
}

// wait returns the first n requests.
func (r *receiver) wait(n int) []delivered {
	r.until("a delivery", func() bool { return len(r.list()) >= n })
	return r.list()[:n]
}

// deliveryTimeout is how long the suite waits for a delivery or its summary. The
// first attempt is made at once.
const deliveryTimeout = 30 * time.Second

// until asks again and again until something holds; the case ends when it never
// does.
func (s *session) until(what string, holds func() bool) {
	for deadline := time.Now().Add(deliveryTimeout); !holds(); {
		if time.Now().After(deadline) {
			s.fatalf("%s did not arrive within %s", what, deliveryTimeout)
		}
		s.pause(20 * time.Millisecond)
	}
}

// hook makes a webhook that sends to a URL.
func (c *caller) hook(form, url string, extra object) string {
	body := object{"form_id": form, "url": url}
	for name, value := range extra {
		body[name] = value
	}
	return text(c.post("/webhooks", body).want(http.StatusCreated).object(), "id")
}

// publishedForm makes a form that takes responses.
func (c *caller) publishedForm() string {
	form := c.form(c.workspace(), "definition", question())
	c.publish(form)
	return form
}

func (r *receiver) header(d delivered, name string) string {
	return d.header.Get(r.target.HeaderPrefix + "-" + name)
}

// checkSignature holds a delivery against the secret; an empty secret means that it
// must not be signed.
func (r *receiver) checkSignature(d delivered, secret string) {
	want := ""
	if secret != "" {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(d.body)
		want = "sha256=" + hex.EncodeToString(mac.Sum(nil))
	}
	if got := r.header(d, "Signature"); got != want {
		r.errorf("%s-Signature of the delivery is %q, want %q", r.target.HeaderPrefix, got, want)
	}
}

func deliveriesRequest(s *session) {
	c, r := s.caller(), s.receive(noContent)
	form := c.publishedForm()
	c.hook(form, r.url, nil)
	submission := s.submit(Response{Form: form, Answers: answers("b1", "Ada", "b2", "x"), CompletionTime: 2.5})
	d := r.wait(1)[0]
	if d.method != http.MethodPost {
		s.errorf("the method of the delivery is %s, want POST", d.method)
	}
	if got := d.header.Get("Content-Type"); got != "application/json" {
		s.errorf("Content-Type of the delivery is %q, want application/json", got)
	}
	if d.header.Get("User-Agent") == "" {
		s.errorf("the delivery has no User-Agent")
	}
	if got := r.header(d, "Version"); got != "1.0.0" {
		s.errorf("%s-Version of the delivery is %q, want 1.0.0", s.target.HeaderPrefix, got)
	}
	r.checkSignature(d, "")
	event, ok := decode(d.body).(object)
	if !ok {
		s.fatalf("the body of the delivery is not a JSON object: %s", d.body)
	}
	if !idPattern.MatchString(text(event, "id")) {
		s.errorf("id of the event is %v, want 24 lower-case hexadecimal digits", event["id"])
	}
	stored := c.get("/forms/" + form + "/submissions/" + submission).want(http.StatusOK)
	stored.same("response.formId", at(event, "response", "formId"), form)
	stored.same("response.submissionId", at(event, "response", "submissionId"), submission)
	stored.same("response.submittedAt", at(event, "response", "submittedAt"), stored.object()["submitted_at"])
	stored.same("response.completionTime", at(event, "response", "completionTime"), 2.5)
	stored.same("response.answers", at(event, "response", "answers"), object{"b1": "Ada", "b2": "x"})
	stored.same("response.hidden", at(event, "response", "hidden"), object{})
	stored.same("response.consents", at(event, "response", "consents"), object{})
	stored.same("response.metadata", at(event, "response", "metadata"), object{})
}

func deliveriesSignature(s *session) {
	c, r := s.caller(), s.receive(noContent)
	form, secret := c.publishedForm(), s.newSecret()
	c.hook(form, r.url, object{"signing_secret": secret})
	s.submit(Response{Form: form, Answers: answers("b1", "größe <b>&amp; 日本")})
	r.checkSignature(r.wait(1)[0], secret)
}

func deliveriesNewSecret(s *session) {
	c, r := s.caller(), s.receive(noContent)
	form, secret := c.publishedForm(), s.newSecret()
	hook := c.hook(form, r.url, object{"signing_secret": s.newSecret()})
	s.submit(Response{Form: form})
	r.wait(1)
	c.patch("/webhooks/"+hook, object{"signing_secret": secret}).want(http.StatusOK)
	s.submit(Response{Form: form})
	r.checkSignature(r.wait(2)[1], secret)
	c.patch("/webhooks/"+hook, object{"signing_secret": nil}).want(http.StatusOK)
	s.submit(Response{Form: form})
	r.checkSignature(r.wait(3)[2], "")
}

func deliveriesEachWebhook(s *session) {
	c, one, two := s.caller(), s.receive(noContent), s.receive(noContent)
	form := c.publishedForm()
	c.hook(form, one.url, nil)
	c.hook(form, two.url, nil)
	s.submit(Response{Form: form, Answers: answers("b1", "x")})
	if a, b := one.wait(1)[0], two.wait(1)[0]; !bytes.Equal(a.body, b.body) {
		s.errorf("two webhooks received different bytes for the same event:\n%s\n%s", a.body, b.body)
	}
}

func deliveriesDisabled(s *session) {
	c, off, on := s.caller(), s.receive(noContent), s.receive(noContent)
	form := c.publishedForm()
	hook := c.hook(form, off.url, object{"enabled": false})
	c.hook(form, on.url, nil)
	s.submit(Response{Form: form, Answers: answers("b1", "first")})
	on.wait(1)
	c.patch("/webhooks/"+hook, object{"enabled": true}).want(http.StatusOK)
	s.submit(Response{Form: form, Answers: answers("b1", "second")})
	if d := off.wait(1)[0]; at(decode(d.body), "response", "answers", "b1") != "second" {
		s.errorf("a webhook received a submission that was stored while it was disabled: %s", d.body)
	}
}

// summaries waits until a webhook has n delivery summaries.
func (c *caller) summaries(hook string, n int) (*response, []object) {
	var r *response
	c.until("a delivery summary", func() bool {
		r = c.get("/webhooks/" + hook + "/deliveries").want(http.StatusOK)
		return len(r.items()) >= n
	})
	for _, o := range r.items() {
		r.checkMembers(o, []string{
			"id", "event", "event_id", "submission_id", "attempt", "status", "success", "error", "duration_ms", "created_at",
			"next_attempt_at",
		})
		r.checkID(o, "id")
		r.checkTime(o, "created_at")
		r.same("event", o["event"], "form.response.completed")
	}
	return r, r.items()
}

func deliveriesSummary(s *session) {
	c, r := s.caller(), s.receive(noContent)
	form := c.publishedForm()
	hook := c.hook(form, r.url, object{"signing_secret": s.newSecret()})
	submission := s.submit(Response{Form: form, Answers: answers("b1", "a text of the respondent")})
	d := r.wait(1)[0]
	answer, items := c.summaries(hook, 1)
	o := items[0]
	answer.same("the number of summaries", len(items), 1)
	answer.same("event_id", o["event_id"], at(decode(d.body), "id"))
	answer.same("submission_id", o["submission_id"], submission)
	answer.same("attempt", o["attempt"], 1)
	answer.same("status", o["status"], http.StatusNoContent)
	answer.same("success", o["success"], true)
	answer.same("error", o["error"], nil)
	answer.same("next_attempt_at", o["next_attempt_at"], nil)
	for what, secret := range map[string]string{"an answer": "a text of the respondent", "the URL": r.url} {
		if bytes.Contains(answer.body, []byte(secret)) {
			answer.faultf("the delivery summaries contain %s", what)
		}
	}
}

func deliveriesMost(s *session) {
	c, r := s.caller(), s.receive(noContent)
	form := c.publishedForm()
	hook := c.hook(form, r.url, nil)
	first := s.submit(Response{Form: form})
	c.summaries(hook, 1)
	s.pause(time.Second) // the ids of several processes say nothing of the order within a second
	others := make(map[string]bool)
	for range 100 {
		others[s.submit(Response{Form: form})] = true
	}
	r.wait(101)
	var answer *response
	s.until("the summary of the 101st delivery", func() bool {
		answer = c.get("/webhooks/" + hook + "/deliveries").want(http.StatusOK)
		told := 0
		for _, o := range answer.items() {
			if others[text(o, "submission_id")] {
				told++
			}
		}
		return told == len(others)
	})
	answer.checkNewestFirst("created_at")
	if n := len(answer.items()); n != 100 {
		answer.faultf("the list has %d summaries after 101 deliveries, want 100", n)
	}
	for _, o := range answer.items() {
		if text(o, "submission_id") == first {
			answer.faultf("the list still contains the oldest delivery")
		}
	}
}

func deliveriesRetry(s *session) {
	var calls atomic.Int32
	r := s.receive(func(w http.ResponseWriter, req *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		noContent(w, req)
	})
	c := s.caller()
	form, secret := c.publishedForm(), s.newSecret()
	hook := c.hook(form, r.url, object{"signing_secret": secret})
	s.submit(Response{Form: form, Answers: answers("b1", "again")})
	answer, items := c.summaries(hook, 1)
	due := answer.checkTime(items[0], "next_attempt_at")
	if wait := due.Sub(answer.checkTime(items[0], "created_at")); wait > deliveryTimeout/2 {
		s.skip("the next attempt is only due in %s", wait)
	}
	both := r.wait(2)
	if !bytes.Equal(both[0].body, both[1].body) {
		s.errorf("the second attempt sent different bytes:\n%s\n%s", both[0].body, both[1].body)
	}
	r.checkSignature(both[1], secret)
	answer, items = c.summaries(hook, 2)
	answer.checkNewestFirst("created_at")
	answer.same("attempt", items[0]["attempt"], 2)
	answer.same("success", items[0]["success"], true)
	answer.same("next_attempt_at", items[0]["next_attempt_at"], nil)
	answer.same("event_id", items[0]["event_id"], items[1]["event_id"])
	if items[0]["id"] == items[1]["id"] {
		answer.faultf("two attempts have the same id")
	}
}

func deliveriesOtherForm(s *session) {
	c, mine, theirs := s.caller(), s.receive(noContent), s.receive(noContent)
	workspace := c.workspace()
	forms := []string{c.form(workspace, "definition", question()), c.form(workspace, "definition", question())}
	for i, r := range []*receiver{mine, theirs} {
		c.publish(forms[i])
		c.hook(forms[i], r.url, nil)
	}
	s.submit(Response{Form: forms[0]})
	mine.wait(1)
	s.submit(Response{Form: forms[1]})
	if d := theirs.wait(1)[0]; at(decode(d.body), "response", "formId") != forms[1] {
		s.errorf("a webhook received a submission of another form: %s", d.body)
	}
	if n := len(mine.list()); n != 1 {
		s.errorf("the other form's webhook got %d deliveries, want one", n)
	}
}

// failed makes one failed attempt and returns its summary.
func (s *session) failed(url string) (*response, object) {
	c := s.caller()
	form := c.publishedForm()
	hook := c.hook(form, url, nil)
	s.submit(Response{Form: form})
	answer, items := c.summaries(hook, 1)
	c.delete("/webhooks/" + hook).want(http.StatusNoContent) // nothing is sent again
	o := items[len(items)-1]
	answer.same("attempt", o["attempt"], 1)
	answer.same("success", o["success"], false)
	return answer, o
}

func deliveriesFailure(s *session) {
	r := s.receive(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	answer, o := s.failed(r.url)
	answer.same("status", o["status"], http.StatusTeapot)
	answer.same("error", o["error"], "status")
	answer.checkTime(o, "next_attempt_at")
}

func deliveriesRedirect(s *session) {
	r := s.receive(func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, "/followed", http.StatusTemporaryRedirect)
	})
	answer, o := s.failed(r.url)
	answer.same("status", o["status"], http.StatusTemporaryRedirect)
	answer.same("error", o["error"], "redirect")
	for _, d := range r.list() {
		if d.path == "/followed" {
			s.errorf("the service followed the redirect of a webhook's receiver")
		}
	}
}

func deliveriesUnreachable(s *session) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	s.must("failed to listen for deliveries", err)
	address := l.Addr().String()
	s.must("failed to close the listener", l.Close()) // now nobody listens there
	answer, o := s.failed(s.target.ReceiverURL(address))
	answer.same("status", o["status"], 0)
	answer.same("error", o["error"], "network")
}
