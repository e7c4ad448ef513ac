package formpage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// standIn answers as the captcha services do: the token "good" is good once.
func standIn(t *testing.T, asked *atomic.Int64) *httptest.Server {
	t.Helper()
	var used atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Method != http.MethodPost || r.PostFormValue("secret") != "the-secret" {
			_ = json.NewEncoder(w).Encode(map[string]any{"success": false, "error-codes": []string{"invalid-input-secret"}})
			return
		}
		switch token := r.PostFormValue("response"); {
		case token == "broken":
			w.WriteHeader(http.StatusBadGateway)
		case token == "good" && used.CompareAndSwap(false, true):
			_ = json.NewEncoder(w).Encode(map[string]any{"success": true, "hostname": "example.com"})
		default:
			_ = json.NewEncoder(w).Encode(map[string]any{"success": false, "error-codes": []string{"timeout-or-duplicate"}})
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func TestCaptchas(t *testing.T) {
	t.Parallel()
	for kind, maker := range map[string]func(formpage.CaptchaKeys) formpage.Verifier{
		"turnstile": formpage.Turnstile, "hcaptcha": formpage.HCaptcha, "recaptcha": formpage.ReCAPTCHA,
	} {
		var asked atomic.Int64
		server := standIn(t, &asked)
		v := maker(formpage.CaptchaKeys{SiteKey: "site", Secret: "the-secret", Endpoint: server.URL})
		s := newSite(t, formpage.Config{Verifiers: map[string]formpage.Verifier{kind: v}})
		form := s.form("MULTI", `[{"id":"c","type":"captcha","properties":{"captchaType":"`+kind+`"}},{"id":"b","type":"page_break"},{"id":"n","type":"short_text","label":"Name","required":true}]`, "", "")
		p := s.open(form, "")
		widget := v.Widget()
		p.about(kind).expect(anyStatus, holds(`class="`+widget.Class+`" data-sitekey="site"`, `src="`+widget.Script+`"`))
		if policy := p.header.Get("Content-Security-Policy"); !strings.Contains(policy, widget.Sources[0]) || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: the policy is %s", kind, policy)
		}
		s.wait(time.Minute)
		// A page that was never shown the challenge is not taken.
		skipped := s.open(form, "")
		skipped.values.Set("at", "b")
		skipped.values.Set("seen", "n")
		skipped.values.Set("a.n", "robot")
		s.wait(time.Minute)
		skipped.press("next").about(kind).expect(http.StatusUnprocessableEntity, responses(form, 0))
		for _, token := range []string{"", "bad"} {
			p.values.Set(widget.Input, token)
			if p = p.press("next"); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text("summary"), "Please complete this verification.") {
				t.Errorf("%s: token %q: %d %s", kind, token, p.status, p.text("summary"))
			}
		}
		p.values.Set(widget.Input, "broken")
		p = p.press("next").about(kind).expect(http.StatusServiceUnavailable)
		p.values.Set(widget.Input, "good")
		p = p.press("next")
		// Solved once, it stays solved, though its token is used up.
		p = p.press("next").about(kind).expect(anyStatus, shows("summary", "Name"))
		before := asked.Load()
		if end := p.fill("a.n", "Ada").press("next"); end.status != http.StatusOK || len(s.answers(form)) != 1 || asked.Load() != before {
			t.Errorf("%s: %d %s, %d responses", kind, end.status, end.text("fs-main"), len(s.answers(form)))
		}
		// Proof of one visit is none of another.
		proof, other := p.values.Get("proof"), s.open(form, "")
		other.values.Set("proof", proof)
		if again := other.press("next"); proof == "" || again.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: a proof was taken twice: %d", kind, again.status)
		}
		_, err := maker(formpage.CaptchaKeys{Secret: "wrong", Endpoint: server.URL}).Verify(t.Context(), "good", "")
		expect.That(t, err != nil, "%s: a wrong secret is no error", kind)
	}
}

func TestACaptchaWithoutItsVerifierHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("MULTI", `[{"id":"c","type":"captcha","required":true,"properties":{"captchaType":"hcaptcha"}},{"id":"n","type":"short_text"}]`, "", "")
	p := s.open(form, "").fill("a.n", "x")
	s.wait(time.Minute)
	expect.That(t, !strings.Contains(p.raw, "captcha") && p.press("next").status == http.StatusOK,
		"the page pretends to have a captcha")
}

// What a form needs and the host does not give is said to the host: when it asks, in the
// log at first sight, and in the preview.
func TestAHostIsToldWhatAFormLacks(t *testing.T) {
	t.Parallel()
	var log warnings
	s := newSite(t, formpage.Config{Secret: secret, Logger: slog.New(&log), Verifiers: map[string]formpage.Verifier{"turnstile": formpage.Turnstile(formpage.CaptchaKeys{})}})
	form := s.form("SINGLE", `[{"id":"n","type":"short_text","label":"N"},{"id":"c","type":"captcha","properties":{"captchaType":"hcaptcha"}},
		{"id":"t","type":"captcha","properties":{"captchaType":"turnstile"}},{"id":"no","type":"captcha","properties":{"captchaType":"none"}},
		{"id":"g","type":"group","children":[{"id":"f","type":"file_upload","label":"F"},{"id":"h","type":"signature","properties":{"hide":true}}]},
		{"id":"p","type":"payment","required":true,"label":"P"},{"id":"q","type":"payment","label":"Q"}]`, "", "")
	public := expect.Must(s.service.PublicForm(t.Context(), form.PublicID))
	got := s.pages.MissingFeatures(public)
	if len(got) != 4 || !strings.Contains(got[1], `"t" is a captcha but Config.Limiter is not set`) || !strings.Contains(got[0], `"c" is a captcha`) || !strings.Contains(got[2], `"f" asks for files`) || !strings.Contains(got[3], `"p" requires a payment`) {
		t.Errorf("%q", got)
	}
	expect.That(t, len(log.list) == 0, "logged before the first page: %q", log.list)
	for range 3 {
		s.open(form, "")
	}
	expect.That(t, len(log.list) == 4, "logged: %q", log.list)
	bar := s.get(s.link(form.ID)).bar()
	for _, want := range []string{"CAPTCHA (hcaptcha) is not checked because it is not set up for this page", `"f" asks for files`, `"p" requires a payment`} {
		expect.That(t, strings.Contains(bar, want), "the preview lacks %q: %s", want, bar)
	}
}

// Files and captchas cost the host something, so it is told of pages without a limiter. Authors are not.
func TestAHostIsToldOfPagesWithoutALimiter(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Secret: secret, Files: &counting{}, Verifiers: map[string]formpage.Verifier{"turnstile": sums{}}})
	for block, want := range map[string]int{
		`{"id":"g","type":"group","children":[{"id":"f","type":"signature"}]}`:        1,
		`{"id":"c","type":"captcha","properties":{"captchaType":"turnstile"}}`:        1,
		`{"id":"f","type":"signature","properties":{"hide":true}}`:                    0,
		`{"id":"c","type":"captcha","properties":{"captchaType":"none","hide":true}}`: 0,
	} {
		form := s.form("MULTI", "["+block+"]", "", "")
		got := s.pages.MissingFeatures(expect.Must(s.service.PublicForm(t.Context(), form.PublicID)))
		expect.That(t, len(got) == want && (want <= 0 || strings.Contains(got[0], "Config.Limiter is not set")),
			"%s: %q", block, got)
		bar := s.get(s.link(form.ID)).bar()
		expect.That(t, !strings.Contains(bar, "Limiter"), "%s: the preview shows %s", block, bar)
	}
}

// tokens takes each token that begins with "t" once, as a captcha service does.
type tokens struct {
	sums
	used  *sync.Map
	asked *atomic.Int64
}

func newTokens() tokens { return tokens{used: new(sync.Map), asked: new(atomic.Int64)} }

func (v tokens) Verify(_ context.Context, token, _ string) (bool, error) {
	v.asked.Add(1)
	_, used := v.used.LoadOrStore(token, true)
	return strings.HasPrefix(token, "t") && !used, nil
}

const twoCaptchas = `[{"id":"n","type":"short_text","label":"Name","properties":{"maxChars":9}},{"id":"c","type":"captcha","properties":{"captchaType":"turnstile"}},
	{"id":"b","type":"page_break"},{"id":"d","type":"captcha","properties":{"captchaType":"turnstile"}},{"id":"m","type":"short_text","label":"More"},{"id":"e","type":"ending","label":"End"}]`

// A captcha that was solved is good for one response, whoever many are sent with it, one
// after the other or at once.
func TestACaptchaIsGoodForOneResponse(t *testing.T) {
	t.Parallel()
	v := newTokens()
	s := newSite(t, formpage.Config{MinFillTime: -1, Verifiers: map[string]formpage.Verifier{"turnstile": v}})
	form := s.form("MULTI", twoCaptchas, "", "")
	p := s.open(form, "").fill("a.n", "first").add("sum", "t1").press("next")
	p = p.add("sum", "t2")
	p = p.press("back") // solves nothing
	p = p.press("next").add("sum", "t3").fill("a.m", strings.Repeat("x", 10001)).press("next")
	expect.Require(t, p.status == http.StatusUnprocessableEntity && len(p.values["proof"]) == 2 && len(s.answers(form)) == 0,
		"a fault: %d, %d proofs", p.status, len(p.values["proof"]))
	p.fill("a.m", "") // what was refused has spent nothing
	asked := v.asked.Load()
	same, others := 0, 0
	for i := range 400 {
		q := url.Values{}
		for name, list := range p.values {
			q[name] = list
		}
		q.Set("go", "next")
		if i%4 > 0 {
			q.Set("a.n", fmt.Sprint(i))
		}
		switch end := p.post(q); {
		case end.status == http.StatusOK && strings.Contains(end.url, "/done"):
			same++
		case end.status == http.StatusConflict && end.values.Get("a.n") == fmt.Sprint(i) && len(end.values["proof"]) == 0 &&
			strings.Contains(end.text("fs-fault"), "This verification was already used for another response.") && strings.Contains(end.raw, `class="sum"`):
			others++
		default:
			t.Fatalf("%d: %d %s %s", i, end.status, end.url, end.text("fs-main"))
		}
	}
	if stored := s.answers(form); len(stored) != 1 || stored[0]["n"] != `"first"` || same != 100 || others != 300 {
		t.Errorf("%d responses are stored, want 1; %d the same, %d others", len(stored), same, others)
	}
	expect.That(t, v.asked.Load() == asked, "the service was asked %d times", v.asked.Load()-asked)
	// Both are solved anew, and neither comes from the page before.
	old := p.values["proof"]
	p = p.fill("a.m", "second").press("next")
	expect.Require(t, p.status == http.StatusConflict && p.values.Get("at") != "b", "%d at %s", p.status, p.values.Get("at"))
	p.values["proof"] = old
	p.press("next").about("a spent proof").expect(http.StatusUnprocessableEntity)
	p.values.Del("proof")
	p = p.add("sum", "t4").press("next")
	p.add("sum", "t5").press("next").about("solved again").expect(http.StatusOK, responses(form, 2))
}

func TestOneProofAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1, Verifiers: map[string]formpage.Verifier{"turnstile": newTokens()}})
	form := s.form("MULTI", `[{"id":"c","type":"captcha","properties":{"captchaType":"turnstile"}},{"id":"b","type":"page_break"},{"id":"n","type":"short_text","label":"Name"}]`, "", "", "ref")
	p := s.open(form, "").add("sum", "t").press("next")
	var wg sync.WaitGroup
	var stored, back atomic.Int64
	for i := range 32 {
		wg.Go(func() {
			values := url.Values{"go": {"next"}, "a.n": {"the same"}, "h.ref": {fmt.Sprint(i)}}
			for _, name := range []string{"state", "at", "proof", "seen"} {
				values[name] = p.values[name]
			}
			switch end := p.post(values); {
			case strings.Contains(end.url, "/done"):
				stored.Add(1)
			case end.status == http.StatusConflict && end.values.Get("h.ref") == fmt.Sprint(i) && end.values.Get("a.n") == "the same":
				back.Add(1)
			default:
				t.Errorf("%d %s", end.status, end.text("fs-main"))
			}
		})
	}
	wg.Wait()
	expect.That(t, stored.Load() == 1 && back.Load() == 31 && len(s.answers(form)) == 1,
		"%d were stored, %d came back, %d are there; want 1, 31 and 1", stored.Load(), back.Load(), len(s.answers(form)))
}

// Who goes back and solves the check again sends another response at once; a double click,
// whose token is used up, finds the first one.
func TestACaptchaThatIsSolvedOnEachPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Verifiers: map[string]formpage.Verifier{"turnstile": newTokens()}})
	form := s.form("MULTI", `[{"id":"n","type":"short_text","label":"Name"},{"id":"c","type":"captcha","properties":{"captchaType":"turnstile"}}]`, "", "")
	p := s.open(form, "").fill("a.n", "first")
	s.wait(time.Minute)
	p.values.Set("sum", "t1")
	for want, token := range []string{"t1", "t1", "t2"} {
		p.values.Set("sum", token)
		end := p.press("next")
		done := strings.Contains(end.url, "/done")
		expect.That(t, done == (want != 1) && len(s.answers(form)) == 1, "%d: %d %s", want, end.status, end.text("fs-main"))
	}
	for i, token := range []string{"t3", "t4"} {
		p.fill("a.n", token).values.Set("sum", token)
		p.press("next").about(token).expect(http.StatusOK, at("/done"), responses(form, i+2))
	}
}

// A front end of the host's own has the same rules, with two captchas as well.
func TestCaptchasByJSONAreGoodForOneResponse(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1, Verifiers: map[string]formpage.Verifier{"turnstile": newTokens()}})
	form := s.form("MULTI", twoCaptchas, "", "")
	base := s.server.URL + "/f/" + form.PublicID
	type answer struct {
		State, Captcha, Code string
		Faults               []struct{ Field, Code, Message string }
	}
	var first answer
	s.ask(http.MethodGet, base+"/form.json", "", nil, &first)
	state := first.State
	send := func(captcha, name, unknown string) (int, answer) {
		var got answer
		answers := map[string]any{"n": name}
		if unknown != "" {
			answers[unknown] = 1
		}
		status, _ := s.ask(http.MethodPost, base+"/submit", "", map[string]any{"state": state, "captcha": captcha, "answers": answers}, &got)
		return status, got
	}
	solve := func(one, two string) string {
		_, got := send(one, "x", "")
		expect.Require(t, len(got.Faults) == 1 && got.Faults[0].Field == "d" && got.Captcha != "", "the first captcha: %+v", got)
		_, got = send(got.Captcha+" bad", "x", "")
		expect.Require(t, len(got.Faults) == 1 && got.Faults[0].Field == "d", "a wrong token: %+v", got)
		// What is refused spends nothing.
		status, got := send(got.Captcha+" "+two, "x", "nothing")
		expect.Require(t, status == http.StatusUnprocessableEntity && len(got.Faults) == 1 && got.Faults[0].Field == "nothing",
			"the second captcha: %d %+v", status, got)
		return got.Captcha
	}
	proof := solve("t1", "t2")
	for range 2 {
		if status, got := send(proof, "first", ""); status != http.StatusCreated {
			t.Errorf("%d %+v", status, got)
		}
	}
	status, got := send(proof, "second", "")
	if status != http.StatusConflict || got.Code != "CAPTCHA_USED" || len(got.Faults) != 2 || got.Captcha != "" || got.State == "" || len(s.answers(form)) != 1 {
		t.Fatalf("another response: %d %+v, %d are stored", status, got, len(s.answers(form)))
	}
	state = got.State
	if status, got := send(proof, "second", ""); status != http.StatusUnprocessableEntity || len(got.Faults) != 2 {
		t.Errorf("the spent proof: %d %+v", status, got)
	}
	if status, got := send(solve("t3", "t4"), "second", ""); status != http.StatusCreated || len(s.answers(form)) != 2 {
		t.Errorf("solved again: %d %+v", status, got)
	}
}

// However many captchas a form has: of a request that brings wrong tokens one is asked about,
// and the proofs that it brings are opened once.
func TestManyCaptchasCostWhatOneDoes(t *testing.T) { //nolint:paralleltest // measures what is allocated
	v := newTokens()
	s := newSite(t, formpage.Config{MinFillTime: -1, Verifiers: map[string]formpage.Verifier{"turnstile": v}})
	var blocks []string
	for i := range 300 {
		blocks = append(blocks, fmt.Sprintf(`{"id":"c%d","type":"captcha","properties":{"captchaType":"turnstile"}}`, i))
	}
	form := s.form("MULTI", "["+strings.Join(blocks, ",")+"]", "", "")
	values := url.Values{"state": s.open(form, "").values["state"], "go": {"next"}}
	send := func() *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/f/"+form.PublicID, strings.NewReader(values.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		s.pages.ServeHTTP(w, r)
		return w
	}
	values["sum"] = []string{"bad", "bad", "t"}
	send()
	expect.Equal(t, v.asked.Load(), 1, "times about wrong tokens, want 1")
	for range 100 {
		values.Add("proof", strings.Repeat("A", 9000)+"."+strings.Repeat("A", 43))
	}
	values.Del("sum")
	var w *httptest.ResponseRecorder
	n := allocated(func() { w = send() })
	expect.That(t, n <= mostAllocated, "%d bytes are allocated", n)
	expect.That(t, w.Code == http.StatusUnprocessableEntity && !strings.Contains(w.Body.String(), `name="proof"`),
		"%d, the page has %d proofs that are none", w.Code, strings.Count(w.Body.String(), `name="proof"`))
}

// What is refused after a captcha was solved anew says with what it is sent again.
func TestARefusalByJSONSaysTheNewState(t *testing.T) {
	t.Parallel()
	v := newTokens()
	s := newSite(t, formpage.Config{MinFillTime: -1, Verifiers: map[string]formpage.Verifier{"turnstile": v}})
	form := s.form("MULTI", `[{"id":"n","type":"short_text"},{"id":"c","type":"captcha","properties":{"captchaType":"turnstile"}}]`, `{"duplicateField":"n"}`, "")
	base := s.server.URL + "/f/" + form.PublicID
	var got struct{ State, Captcha, Code string }
	s.ask(http.MethodGet, base+"/form.json", "", nil, &got)
	state := got.State
	send := func(captcha, name string) int {
		got.State, got.Captcha = "", ""
		status, _ := s.ask(http.MethodPost, base+"/submit", "", map[string]any{"state": state, "captcha": captcha, "answers": map[string]any{"n": name}}, &got)
		return status
	}
	send("t1", "Ann")
	other := state
	s.ask(http.MethodGet, base+"/form.json", "", nil, &got)
	state = got.State
	send("t2", "Bob")
	state = other
	if status := send("t3", "Bob"); status != http.StatusUnprocessableEntity || got.State == "" || got.Captcha == "" {
		t.Fatalf("an answer that is not new: %d %+v", status, got)
	}
	state = got.State
	if status := send(got.Captcha, "Cid"); status != http.StatusCreated || v.asked.Load() != 3 || len(s.answers(form)) != 3 {
		t.Errorf("sent again: %d %+v, the service was asked %d times", status, got, v.asked.Load())
	}
}

// A response does not give back the space of a file that is still being read.
func TestAResponseDuringAnUpload(t *testing.T) {
	t.Parallel()
	files := &counting{}
	s := newSite(t, formpage.Config{MinFillTime: -1, MaxVisitFiles: 60000, Files: files})
	form := s.form("MULTI", manyFiles, "", "")
	p := s.open(form, "").attach("upload", [3]string{"u.f", "a.txt", "kept"})
	body := "--x\r\nContent-Disposition: form-data; name=\"state\"\r\n\r\n" + p.values.Get("state") +
		"\r\n--x\r\nContent-Disposition: form-data; name=\"u.f\"; filename=\"b.txt\"\r\n\r\n" + strings.Repeat("x", 40000)
	r := httptest.NewRequest(http.MethodPost, "/f/"+form.PublicID, &breaking{strings.NewReader(body), func() error {
		p.press("next").expect(http.StatusOK, at("/done"))
		return errors.New("the visitor left")
	}})
	r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	s.pages.ServeHTTP(httptest.NewRecorder(), r)
	before := files.bytes.Load()
	for range 20 {
		p.attach("upload", [3]string{"u.f", "c.txt", strings.Repeat("x", 10000)})
	}
	n := files.bytes.Load() - before
	expect.That(t, n <= 60000 && n != 0, "%d bytes are stored, want at most 60,000", n)
}

// breaking ends a body with an error, after something else has happened.
type breaking struct {
	*strings.Reader
	end func() error
}

func (b *breaking) Read(p []byte) (int, error) {
	if b.Len() == 0 {
		return 0, b.end()
	}
	return b.Reader.Read(p)
}

// Each captcha of a page has a token of its own.
func TestTwoCaptchasOnOnePage(t *testing.T) {
	t.Parallel()
	v := newTokens()
	s := newSite(t, formpage.Config{MinFillTime: -1, Verifiers: map[string]formpage.Verifier{"turnstile": v}})
	const captcha = `"type":"captcha","properties":{"captchaType":"turnstile"}}`
	form := s.form("MULTI", `[{"id":"c",`+captcha+`,{"id":"d",`+captcha+`]`, "", "")
	end := s.open(form, "").add("sum", "t1").add("sum", "t2").press("next")
	expect.That(t, len(s.answers(form)) == 1 && v.asked.Load() == 2,
		"%d %s, the service was asked %d times", end.status, end.text("fs-main"), v.asked.Load())
}
