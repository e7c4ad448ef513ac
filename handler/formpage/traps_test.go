package formpage_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/sethvargo/go-limiter/memorystore"

	"github.com/formsvc/formsvc/handler/formpage"
)

func TestTrapsShowTheFormAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("MULTI", `[{"id":"a","type":"short_text"}]`, "", "")
	for name, spring := range map[string]func(p *page){
		"too fast":     func(*page) {},
		"the honeypot": func(p *page) { s.wait(time.Minute); p.values.Set("more_info", "buy") },
		"no token":     func(p *page) { s.wait(time.Minute); p.values.Del("state") },
		"a forged one": func(p *page) { s.wait(time.Minute); p.values.Set("state", p.values.Get("state")+"x") },
		"an old one":   func(p *page) { s.wait(8 * 24 * time.Hour) },
		"another form": func(p *page) {
			p.values.Set("state", s.open(s.form("MULTI", `[]`, "", ""), "").values.Get("state"))
			s.wait(time.Minute)
		},
	} {
		before := len(s.answers(form))
		p := s.open(form, "").fill("a.a", name)
		spring(p)
		p = p.press("next")
		if p.status != http.StatusUnprocessableEntity || p.values.Get("a.a") != name || p.text("summary") == "" {
			t.Errorf("%s: %d, %q, %s", name, p.status, p.values.Get("a.a"), p.text("summary"))
			continue
		}
		s.wait(time.Minute)
		if p = p.press("next"); p.status != http.StatusOK || len(s.answers(form)) != before+1 {
			t.Errorf("%s: pressing once more: %d %s", name, p.status, p.text("summary"))
		}
	}
}

func TestALimitPerAddress(t *testing.T) {
	t.Parallel()
	store := must(memorystore.New(&memorystore.Config{Tokens: 2, Interval: time.Hour}))
	t.Cleanup(func() { _ = store.Close(t.Context()) })
	address := "192.0.2.1"
	s := newSite(t, formpage.Config{Limiter: store, Address: func(*http.Request) string { return address }})
	form := s.form("MULTI", `[{"id":"n","type":"short_text"}]`, "", "")
	var p *page
	for range 3 {
		p = s.open(form, "").fill("a.n", "kept")
		s.wait(time.Minute)
		p = p.press("next")
	}
	if p.status != http.StatusTooManyRequests || p.header.Get("Retry-After") == "" || p.values.Get("a.n") != "kept" {
		t.Errorf("the third page: %d", p.status)
	}
	if n := len(s.answers(form)); n != 2 {
		t.Errorf("%d responses are stored, want 2", n)
	}
	address = "192.0.2.2"
	if p = p.press("next"); p.status != http.StatusOK {
		t.Errorf("another address: %d", p.status)
	}
	_ = store.Close(t.Context())
	if p := s.open(form, "").fill("a.n", "x"); p != nil {
		s.wait(time.Minute)
		if end := p.press("next"); end.status != http.StatusOK {
			t.Errorf("a limiter that fails holds visitors up: %d", end.status)
		}
	}
}

// The limit is for what is stored. Steps are free, a request with files takes one token, and
// what is counted has a budget of its own.
func TestWhatTheLimitIsFor(t *testing.T) {
	t.Parallel()
	store := must(memorystore.New(&memorystore.Config{Tokens: 2, Interval: time.Hour}))
	t.Cleanup(func() { _ = store.Close(t.Context()) })
	dir := must(formpage.NewDir(t.TempDir(), "https://host.example/files/"))
	t.Cleanup(func() { _ = dir.Close() })
	s := newSite(t, formpage.Config{MinFillTime: -1, Files: dir, Limiter: store, Address: func(*http.Request) string { return "192.0.2.1" }})
	blocks := `[{"id":"f","type":"file_upload","properties":{"multipleFiles":true}}`
	for i := range 11 {
		blocks += fmt.Sprintf(`,{"id":"b%d","type":"short_text"}`, i)
	}
	form := s.form("SINGLE", blocks+"]", "", "")
	p := s.open(form, "").attach("next", [3]string{"u.f", "a.png", pngBytes}, [3]string{"u.f", "b.png", pngBytes}, [3]string{"u.f", "c.png", pngBytes})
	for i := range 11 {
		if p.status != http.StatusOK {
			t.Fatalf("step %d: %d %s", i, p.status, p.text("summary"))
		}
		p = p.press("next")
	}
	if p.status != http.StatusOK || len(s.answers(form)) != 1 {
		t.Fatalf("%d, %d responses", p.status, len(s.answers(form)))
	}
	late := s.open(form, "").attach("next", [3]string{"u.f", "a.png", pngBytes})
	if late.status != http.StatusTooManyRequests || late.header.Get("Retry-After") == "" {
		t.Errorf("a file beyond the limit: %d %s", late.status, late.text("summary"))
	}
	// Views and starts, of pages that were shown.
	for range 5 {
		beacon := s.open(form, "")
		beacon.url += "/view"
		beacon.post(url.Values{"state": beacon.values["state"]})
	}
	for range 20 {
		p := s.open(form, "")
		p.post(url.Values{"go": {"stay"}})
	}
	if c := s.funnel(form); c.Views != 2 || c.Starts > 2 {
		t.Errorf("the funnel of an address with two tokens is %+v", c)
	}
}
