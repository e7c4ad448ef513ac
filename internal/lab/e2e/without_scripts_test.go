package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// withoutScripts is a response whose page runs no scripts, in any browser.
type withoutScripts struct{ http.ResponseWriter }

func (w withoutScripts) WriteHeader(status int) {
	w.Header().Add("Content-Security-Policy", "sandbox allow-forms allow-same-origin")
	w.ResponseWriter.WriteHeader(status)
}

// withAndWithout publishes a form, and runs a test with the scripts of its page and without.
func (s *site) withAndWithout(b respondent, d formsvc.Definition, run func(form formsvc.Form, url string, script bool)) {
	s.t.Helper()
	form := s.publish("Form", "MULTI", d)
	opened(b, s.url(form, ""))
	run(form, s.url(form, ""), true)
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(withoutScripts{w}, r) }))
	s.t.Cleanup(plain.Close)
	form = s.publish("Form", "MULTI", d)
	url := strings.Replace(s.url(form, ""), s.server.URL, plain.URL, 1)
	b.visit(url)
	b.until(`!document.querySelector("[name=viewed]").value`)
	run(form, url, false)
}

// at waits for the page of a step.
func at(b respondent, step string) {
	b.until(`document.readyState === "complete" && document.querySelector(".fs-form")?.dataset.step === ` + quote(step))
}

func checksAreOnTheirStep(t *testing.T, b respondent) {
	s := newSite(t, formpage.Config{})
	d := formsvc.Definition{Blocks: json.RawMessage(`[{"id":"start","type":"date","label":"First day"},
		{"id":"end","type":"date","label":"Last day","properties":{"rule":{"check":[{"if":{"<":[{"days":[{"var":"answers.start"},{"var":"answers.end"}]},0]},"say":"The end is **before** the start."}]}}},
		{"id":"break","type":"page_break"},{"id":"name","type":"short_text","label":"Name"}]`)}
	s.withAndWithout(b, d, func(form formsvc.Form, _ string, _ bool) {
		b.do(`document.querySelector("[name='a.start']").value = "2026-12-24"; document.querySelector("[name='a.end']").value = "2026-12-23"`)
		press(b, ok)
		b.until(`document.querySelector("#summary")?.textContent.includes("The end is before the start.") && document.querySelector("[data-b=end] .fs-fault strong").textContent === "before"`)
		b.until(`document.querySelector("[name='a.start']").value === "2026-12-24" && document.querySelector("[name='a.end'][aria-invalid=true]").value === "2026-12-23"`)
		b.do(`document.querySelector("[name='a.end']").value = "2026-12-24"`)
		press(b, ok)
		at(b, "break")
		press(b, ok)
		b.until(thanks)
		wantAnswers(t, s.answers(form), map[string]string{"start": `"2026-12-24"`, "end": `"2026-12-24"`})
	})
}

// An owner removes the page that a respondent is on: the next page lists what was typed on it, by question.
func removedPagesAreListed(t *testing.T, b respondent) {
	s := newSite(t, formpage.Config{})
	const first, removed, last = `{"id":"a","type":"short_text","label":"A"},`, `{"id":"p","type":"page_break"},{"id":"why","type":"long_text","label":"Why?"},{"id":"pick","type":"single_choice","label":"Which?","choices":[{"id":"x","label":"The **first**"}]},`, `{"id":"q","type":"page_break"},{"id":"b","type":"short_text","label":"B"}`
	s.withAndWithout(b, formsvc.Definition{Blocks: json.RawMessage("[" + first + removed + last + "]")}, func(form formsvc.Form, _ string, _ bool) {
		typeInto(b, field("a.a"), "first")
		press(b, ok)
		at(b, "p")
		typeInto(b, field("a.why"), "a long story")
		press(b, choice("a.pick", "id:x"))
		expect.Must(s.service.AsHost().UpdateForm(t.Context(), form.ID, formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: json.RawMessage("[" + first + last + "]")}}))
		press(b, ok)
		at(b, "q")
		b.until(`document.querySelector("#summary").textContent.includes("no longer has these questions") && document.querySelector("#summary dt").textContent === "Why?" && document.querySelector("#summary dd").textContent === "a long story"`)
		typeInto(b, field("a.b"), "last")
		press(b, ok)
		b.until(thanks)
		wantAnswers(t, s.answers(form), map[string]string{"a": `"first"`, "b": `"last"`})
	})
}

// A respondent searches a list of the host, while another person signs in, and answers once.
func respondentsSearchLists(t *testing.T, b respondent) {
	var who atomic.Value
	who.Store("Ann")
	guests := formsvc.Definition{Settings: json.RawMessage(`{"onePerRespondent":true}`), Blocks: json.RawMessage(`[{"id":"n","type":"number","label":"How many"},{"id":"break","type":"page_break"},
		{"id":"who","type":"dropdown","label":"Who","properties":{"rule":{"choices":{"list":"people","by":"answers.n"}}}}]`)}
	s := newSite(t, formpage.Config{SignIn: http.RedirectHandler("/login", http.StatusSeeOther), Respondent: func(*http.Request, formsvc.PublicForm) (id, displayName string, err error) {
		return who.Load().(string), who.Load().(string), nil
	}}, formsvc.WithChoices("people", "People", people{}))
	s.withAndWithout(b, guests, func(form formsvc.Form, url string, script bool) {
		b.until(`document.querySelector(".fs-who").textContent.includes("Ann")`)
		typeInto(b, field("a.n"), "1000")
		press(b, ok)
		at(b, "break")
		typeInto(b, field("q.who"), "0500")
		if !script {
			press(b, ok)
		}
		b.until(`document.querySelectorAll("[data-b=who] [type=radio]").length === 1 && document.querySelector("[data-b=who]").textContent.includes("Person 0500")`)
		press(b, `[data-b=who] [type=radio]`)
		who.Store("Eve")
		press(b, ok)
		b.until(`document.querySelector("#summary") && document.querySelector(".fs-who").textContent.includes("Eve") && document.querySelector("[data-b=who] :checked")`)
		press(b, ok)
		b.until(thanks)
		wantAnswers(t, s.answers(form), map[string]string{"who": `{"id":"p500","label":"Person 0500"}`})
		b.visit(url)
		b.until(`document.querySelector(".fs-screen h1") && !document.querySelector("form")`)
		who.Store("")
		b.visit(url)
		b.until(`document.querySelector(".fs-screen .fs-button").href.includes("sign-in=1")`)
		who.Store("Ann")
	})
}
