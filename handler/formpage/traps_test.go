package formpage_test

import (
	"net/http"
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
	store, err := memorystore.New(&memorystore.Config{Tokens: 2, Interval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
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
