package formpage_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sethvargo/go-limiter/memorystore"
	"golang.org/x/net/html"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// people offers as many people as the value of By says, but none to eve. It fails while down is set.
type people struct{ down bool }

func (p *people) of(q formsvc.ChoiceQuery) (list []schema.Choice, err error) {
	if p.down {
		return nil, errors.New("down")
	}
	n := 0
	if _, _ = fmt.Sscan(q.By, &n); q.Respondent == "eve" {
		n = 0
	}
	for i := range n {
		if c := (schema.Choice{ID: fmt.Sprint("p", i), Label: fmt.Sprintf("Person <%03d>", i)}); strings.Contains(c.Label, q.Search) {
			list = append(list, c)
		}
	}
	return list, nil
}

func (p *people) Choices(_ context.Context, q formsvc.ChoiceQuery) ([]schema.Choice, error) {
	return p.of(q)
}

func (p *people) Labels(_ context.Context, ids []string, q formsvc.ChoiceQuery) (map[string]string, error) {
	all, err := p.of(q)
	labels := map[string]string{}
	for _, c := range all {
		if slices.Contains(ids, c.ID) {
			labels[c.ID] = c.Label
		}
	}
	return labels, err
}

const fromPeople = `"properties":{"rule":{"choices":{"list":"people","by":"answers.n"}}}`

func peopleSite(t *testing.T, config formpage.Config, options ...formsvc.Option) (*site, *people) {
	source := &people{}
	check := func(_ context.Context, in formsvc.CheckInput) (string, error) {
		if source.down {
			panic("down")
		}
		if in.Answer.String() != "A-1" {
			return "No <order> {{n}}", nil
		}
		return "", nil
	}
	return newSite(t, config, append(options, formsvc.WithChoices("people", "People", source), formsvc.WithCheck("order", "Order", check))...), source
}

func (p *page) count(tag string, attrs ...string) (n int) {
	p.each(func(node *html.Node) {
		match := node.Data == tag
		for i := 0; i < len(attrs); i += 2 {
			match = match && attr(node, attrs[i]) == attrs[i+1]
		}
		if match {
			n++
		}
	})
	return n
}

// A list is shown as options, in a select or as a search, depending on its length, for each type of block.
func TestListsOnPages(t *testing.T) {
	t.Parallel()
	s, _ := peopleSite(t, formpage.Config{})
	for _, c := range []struct {
		typ, n, want string
	}{
		{"single_choice", "0", "radio 0, checkbox 0, option 0, search 0"},
		{"single_choice", "40", "radio 40, checkbox 0, option 0, search 0"},
		{"single_choice", "41", "radio 0, checkbox 0, option 42, search 0"},
		{"picture_choice", "200", "radio 0, checkbox 0, option 201, search 0"},
		{"picture_choice", "201", "radio 0, checkbox 0, option 0, search 1"},
		{"dropdown", "3", "radio 0, checkbox 0, option 4, search 0"},
		{"dropdown", "10000", "radio 0, checkbox 0, option 0, search 1"},
		{"multiple_choice", "40", "radio 0, checkbox 40, option 0, search 0"},
		{"multiple_choice", "41", "radio 0, checkbox 0, option 0, search 1"},
	} {
		for _, blocks := range []string{`{"id":"who","type":"` + c.typ + `","label":"Who",` + fromPeople + `}`, `{"id":"g","type":"group","children":[{"id":"who","type":"` + c.typ + `","label":"Who",` + fromPeople + `}]}`} {
			form := s.form("MULTI", `[{"id":"n","type":"number","label":"N"},{"id":"break","type":"page_break"},`+blocks+`]`, "", "")
			p := s.open(form, "").fill("a.n", c.n).press("next").require(http.StatusOK)
			got := fmt.Sprintf("radio %d, checkbox %d, option %d, search %d", p.count("input", "type", "radio"), p.count("input", "type", "checkbox"), p.count("option"), p.count("input", "type", "search"))
			expect.Equal(t, got, c.want, "%s of %s", c.typ, c.n)
		}
	}
}

// Without the script, a search shows its results and keeps the selection. Without a new search, the page continues.
func TestSearchesOnPages(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, store storage.Storage) {
		s, _ := peopleSite(t, formpage.Config{}, formsvc.WithStorage(store))
		form := s.form("MULTI", `[{"id":"n","type":"number","label":"N"},{"id":"break","type":"page_break"},
		{"id":"who","type":"multiple_choice","label":"Who","required":true,`+fromPeople+`},{"id":"break2","type":"page_break"},
		{"id":"last","type":"short_text","label":"Hello {{answers.who}}"}]`, "", "")
		s.wait(time.Minute)
		p := s.open(form, "")
		s.wait(time.Minute)
		p = p.fill("a.n", "10000").press("next").require(http.StatusOK, shows("fs-list", "Enter a few letters"))
		p = p.fill("q.who", "007").press("next").require(http.StatusOK, hides("summary"), shows("fs-list", "Results: 10", "Person <007>", "Person <9007>"), value("q.who", "007"))
		p = p.press("next").require(http.StatusUnprocessableEntity, shows("summary", "Who"))
		p = p.fill("a.who", "id:p9007", "q.who", "Person").press("next").require(http.StatusOK, shows("fs-list", "first 20 results", "Person <9007>"))
		expect.Equal(t, p.count("input", "type", "checkbox"), 21, "the selected and the found people")
		p = p.fill("q.who", "nobody").press("stay").require(http.StatusOK, shows("fs-list", "No results.", "Person <9007>"))
		p = p.add("a.who", "id:p8").press("next").require(http.StatusOK, shows("fs-main", "Hello Person <008>, Person <9007>"))
		p = p.press("back").require(http.StatusOK, shows("fs-list", "Person <9007>", "Person <008>"))
		p.press("next").press("next").expect(anyStatus, responses(form, 1))
		s.stores(form, "who", `[{"id":"p8","label":"Person <008>"},{"id":"p9007","label":"Person <9007>"}]`)
	})
}

// A choice that is no longer offered, and an answer that the host's check refuses, are reported at their step.
func TestTheHostChecksEachStep(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, store storage.Storage) {
		s, source := peopleSite(t, formpage.Config{Secret: secret, AllowedOrigins: []string{"https://app.example"}}, formsvc.WithStorage(store))
		blocks := `[{"id":"n","type":"number","label":"N"},{"id":"who","type":"dropdown","label":"Who",` + fromPeople + `},{"id":"break","type":"page_break"},
		{"id":"order","type":"short_text","label":"Order","properties":{"rule":{"check":[{"host":"order"}]}}},{"id":"break2","type":"page_break"},{"id":"last","type":"short_text","label":"Last"}]`
		form := s.form("MULTI", blocks, "", "")
		preview := s.server.URL + expect.Must(s.pages.PreviewPath(form.ID, s.clock().Add(time.Hour)))
		for name, open := range map[string]func() *page{"page": func() *page { return s.open(form, "") }, "preview": func() *page { return s.get(preview) }} {
			p := open().about(name)
			s.wait(time.Minute)
			p = p.fill("a.n", "3").press("stay").require(http.StatusOK, shows("fs-list", "Person <002>"))
			p = p.fill("a.n", "2").add("a.who", "id:p2").press("next").require(http.StatusUnprocessableEntity, shows("summary", "Who", "Please choose one"), shows("fs-list", "Person <001>"), hides("fs-list", "Person <002>"))
			source.down = true
			failed := p.fill("a.n", "2", "a.who", "id:p1").press("next").require(http.StatusServiceUnavailable, shows("fs-main", "The choices cannot be shown at the moment."), value("a.who", "id:p1"), value("a.n", "2"))
			source.down = false
			p = failed.press("next").require(http.StatusOK, shows("fs-main", "Order"))
			p = p.fill("a.order", "B-2").press("next").require(http.StatusUnprocessableEntity, shows("summary", "Order", "No <order> {{n}}"))
			source.down = true
			p = p.fill("a.order", "A-1").press("next").require(http.StatusServiceUnavailable, value("a.order", "A-1"))
			source.down = false
			p = p.press("next").require(http.StatusOK, shows("fs-main", "Last"))
			source.down = true
			if name == "page" {
				p = p.press("next").require(http.StatusServiceUnavailable, responses(form, 0))
			}
			source.down = false
			p.press("next").expect(anyStatus, shows("fs-main"))
		}
		expect.Equal(t, len(s.answers(form)), 1, "responses")
		s.stores(form, "who", `{"id":"p1","label":"Person <001>"}`, "order", `"A-1"`)
	})
}

// A front end asks for the choices of a block, and its answers are checked.
func TestListsForFrontEnds(t *testing.T) {
	t.Parallel()
	s, source := peopleSite(t, formpage.Config{AllowedOrigins: []string{"https://app.example"}})
	form := s.form("MULTI", `[{"id":"n","type":"number","label":"N"},{"id":"who","type":"dropdown","label":"Who",`+fromPeople+`},{"id":"order","type":"short_text","label":"O","properties":{"rule":{"show":true,"check":[{"host":"order"}]}}}]`, "", "")
	base := s.server.URL + "/f/" + form.PublicID
	var page struct {
		State  string
		Blocks []schema.Block
	}
	s.ask(http.MethodGet, base+"/form.json", "https://app.example", nil, &page)
	expect.Equal(t, string(page.Blocks[1].Properties.Rule), `{"choices":{"list":"people","by":"answers.n"}}`, "the list")
	expect.Equal(t, len(page.Blocks[2].Properties.Rule), 0, "another rule")
	s.wait(time.Minute)
	ask := func(path string, more map[string]any) (int, string) {
		body := map[string]any{"state": page.State, "answers": map[string]any{"n": 300, "who": "p7", "order": "A-1"}}
		maps.Copy(body, more)
		var got struct {
			Code, Message     string
			Choices, Selected []struct{ ID, Label string }
			Faults            []struct{ Path, Code, Message string }
		}
		status, _ := s.ask(http.MethodPost, base+path, "https://app.example", body, &got)
		if !strings.Contains(got.Message, "form.json") {
			got.Message = ""
		}
		return status, fmt.Sprint(got.Code, len(got.Choices), got.Selected, got.Faults) + got.Message
	}
	for _, c := range []struct {
		path   string
		more   map[string]any
		status int
		want   string
	}{
		{"/choices", map[string]any{"block": "who"}, 200, "200 [{p7 Person <007>}] []"},
		{"/choices", map[string]any{"block": "who", "search": " 00 "}, 200, "12 [{p7 Person <007>}] []"},
		{"/choices", map[string]any{"block": "n"}, 404, "NOT_FOUND0 [] []"},
		{"/choices", map[string]any{"block": "who", "state": "x"}, 403, "STATE0 [] []"},
		{"/submit", map[string]any{"state": ""}, 403, "STATE0 [] []The request has no state. Send the state from form.json back with each request."},
		{"/submit", map[string]any{"answers": map[string]any{"n": 3, "who": "p7"}}, 422, "VALIDATION_FAILED0 [] [{/answers/who NOT_A_CHOICE Please choose one of the available answers.}]"},
		{"/submit", map[string]any{"answers": map[string]any{"order": "B"}}, 422, "VALIDATION_FAILED0 [] [{/answers/order CHECK_FAILED No <order> {{n}}}]"},
		{"/submit", nil, 201, "0 [] []"},
	} {
		status, got := ask(c.path, c.more)
		expect.Equal(t, fmt.Sprint(status, " ", got), fmt.Sprint(c.status, " ", c.want), "%s %v", c.path, c.more)
	}
	source.down = true
	for _, path := range []string{"/choices", "/submit"} {
		status, got := ask(path, map[string]any{"block": "who", "answers": map[string]any{"n": 4, "who": "p1"}})
		expect.Equal(t, fmt.Sprint(status, got), "503UNAVAILABLE0 [] []", "%s", path)
	}
	expect.Equal(t, len(s.answers(form)), 1, "responses")
}

// Searches have a budget of their own.
func TestSearchesAreLimited(t *testing.T) {
	t.Parallel()
	s, _ := peopleSite(t, formpage.Config{ClientIP: func(*http.Request) string { return "203.0.113.1" }, Limiter: expect.Must(memorystore.New(&memorystore.Config{Tokens: 2, Interval: time.Hour}))})
	form := s.form("MULTI", `[{"id":"n","type":"number","label":"N"},{"id":"who","type":"dropdown","label":"Who",`+fromPeople+`}]`, "", "")
	p := s.open(form, "").fill("a.n", "300").press("stay")
	for i := range 3 {
		p = p.fill("q.who", fmt.Sprint(i)).press("stay")
	}
	p.require(http.StatusOK, shows("fs-main", "The choices cannot be shown")).press("stay").expect(http.StatusOK, shows("fs-list", "Enter a few letters"))
}

// A list depends on who is signed in, when it is shown and when it is submitted.
func TestListsOfRespondentsOnPages(t *testing.T) {
	t.Parallel()
	who := "bob"
	s, _ := peopleSite(t, formpage.Config{Secret: secret, Respondent: func(*http.Request, formsvc.PublicForm) (string, string, error) { return who, "", nil }})
	form := s.form("MULTI", `[{"id":"n","type":"number","label":"N"},{"id":"who","type":"single_choice","label":"Who",`+fromPeople+`}]`, "", "")
	for _, c := range []struct {
		who           string
		radios, after int
	}{{"bob", 3, 1}, {"eve", 0, 1}, {"ann", 3, 2}} {
		who = c.who
		s.wait(time.Minute)
		p := s.open(form, "").fill("a.n", "3").press("stay").require(http.StatusOK)
		expect.Equal(t, p.count("input", "type", "radio"), c.radios, "choices of %s", who)
		s.wait(time.Minute)
		p.add("a.who", "id:p1").press("next").expect(anyStatus, responses(form, c.after))
	}
}
