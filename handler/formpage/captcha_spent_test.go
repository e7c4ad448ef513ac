package formpage_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc/handler/formpage"
)

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
	if p.status != http.StatusUnprocessableEntity || len(p.values["proof"]) != 2 || len(s.answers(form)) != 0 {
		t.Fatalf("a fault: %d, %d proofs", p.status, len(p.values["proof"]))
	}
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
			strings.Contains(end.text("fs-fault"), "A response was already sent with this check.") && strings.Contains(end.raw, `class="sum"`):
			others++
		default:
			t.Fatalf("%d: %d %s %s", i, end.status, end.url, end.text("fs-main"))
		}
	}
	if stored := s.answers(form); len(stored) != 1 || stored[0]["n"] != `"first"` || same != 100 || others != 300 {
		t.Errorf("%d responses are stored, want 1; %d the same, %d others", len(stored), same, others)
	}
	if v.asked.Load() != asked {
		t.Errorf("the service was asked %d times", v.asked.Load()-asked)
	}
	// Both are solved anew, and neither comes from the page before.
	old := p.values["proof"]
	p = p.fill("a.m", "second").press("next")
	if p.status != http.StatusConflict || p.values.Get("at") == "b" {
		t.Fatalf("%d at %s", p.status, p.values.Get("at"))
	}
	p.values["proof"] = old
	if again := p.press("next"); again.status != http.StatusUnprocessableEntity {
		t.Errorf("a spent proof: %d", again.status)
	}
	p.values.Del("proof")
	p = p.add("sum", "t4").press("next")
	if p = p.add("sum", "t5").press("next"); p.status != http.StatusOK || len(s.answers(form)) != 2 {
		t.Errorf("solved again: %d %s, %d are stored", p.status, p.text("fs-main"), len(s.answers(form)))
	}
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
	if stored.Load() != 1 || back.Load() != 31 || len(s.answers(form)) != 1 {
		t.Errorf("%d were stored, %d came back, %d are there; want 1, 31 and 1", stored.Load(), back.Load(), len(s.answers(form)))
	}
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
		if done := strings.Contains(end.url, "/done"); done != (want != 1) || len(s.answers(form)) != 1 {
			t.Errorf("%d: %d %s", want, end.status, end.text("fs-main"))
		}
	}
	for i, token := range []string{"t3", "t4"} {
		p.fill("a.n", token).values.Set("sum", token)
		if end := p.press("next"); !strings.Contains(end.url, "/done") || len(s.answers(form)) != i+2 {
			t.Errorf("%s: %d %s", token, end.status, end.text("fs-main"))
		}
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
		if len(got.Faults) != 1 || got.Faults[0].Field != "d" || got.Captcha == "" {
			t.Fatalf("the first captcha: %+v", got)
		}
		if _, got = send(got.Captcha+" bad", "x", ""); len(got.Faults) != 1 || got.Faults[0].Field != "d" {
			t.Fatalf("a wrong token: %+v", got)
		}
		// What is refused spends nothing.
		status, got := send(got.Captcha+" "+two, "x", "nothing")
		if status != http.StatusUnprocessableEntity || len(got.Faults) != 1 || got.Faults[0].Field != "nothing" {
			t.Fatalf("the second captcha: %d %+v", status, got)
		}
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
