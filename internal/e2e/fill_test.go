package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

// set fills in inputs as a person would: by selector, with the events that a browser
// fires.
func (b *tab) set(pairs ...string) {
	b.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		selector, value := pairs[i], pairs[i+1]
		b.until("document.querySelector(" + quote(selector) + ")")
		b.do(`const e=document.querySelector(` + quote(selector) + `);
			if(e.matches("[type=radio],[type=checkbox]")) e.click();
			else { e.focus(); e.value=` + quote(value) + `; e.dispatchEvent(new Event("input",{bubbles:true})); e.dispatchEvent(new Event("change",{bubbles:true})); }`)
	}
}

// press sends the page by a button and waits for the next one.
func (b *tab) press(button string) {
	b.t.Helper()
	b.do(`const f=document.querySelector(".fs"); f.setAttribute("data-old","1"); f.querySelector(".fs-actions [value=` + button + `]").click()`)
	b.until(`document.readyState==="complete" && document.querySelector(".fs:not([data-old])")`)
}

var feedbackAnswers = []string{
	choice("a.overall", "4"), "", field("a.product"), "id:decaf", field("y.ordered_on"), "2026", field("m.ordered_on"), "11", field("d.ordered_on"), "2",
	field("a.orders"), "3", choice("a.delivery", "6"), "", choice("a.liked", "id:taste"), "", choice("a.liked", "other"), "", field("o.liked"), "The smell",
	choice("a.heard", "id:cafe"), "", choice("a.recommend", "10"), "", choice("a.again", "true"), "", field("a.comment"), "One\ntwo",
	field("a.name"), "Grace", field("a.email"), "grace@example.com", choice("a.consent", "true"), "",
}

func wantAnswers(t *testing.T, stored []map[string]string, want map[string]string) {
	t.Helper()
	if len(stored) != 1 {
		t.Fatalf("%d responses are stored, want 1", len(stored))
	}
	for id, value := range want {
		if stored[0][id] != value {
			t.Errorf("%s is %s, want %s", id, stored[0][id], value)
		}
	}
}

// What was typed is what the API returns, with and without JavaScript.
func TestFormsAreFilledIn(t *testing.T) {
	for name, script := range map[string]bool{"with JavaScript": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, formpage.Config{})
			open := func(form formsvc.Form, query string) *tab {
				b := newTab(t, 390, 800)
				if !script {
					b.noScript()
				}
				b.open(s.url(form, query))
				return b
			}

			feedback := s.sample("feedback")
			b := open(feedback, "?ref=r1")
			b.set(feedbackAnswers...)
			b.press("next")
			b.shows("Thank you!")
			wantAnswers(t, s.answers(feedback), map[string]string{
				"overall": "4", "product": `{"id":"decaf","label":"Decaf Sugarcane"}`, "ordered_on": `"2026-11-02"`, "orders": "3", "delivery": "6",
				"liked": `[{"id":"taste","label":"The taste"},{"other":"The smell"}]`, "heard": `{"id":"cafe","label":"One of our cafés"}`,
				"recommend": "10", "again": "true", "comment": `"One\ntwo"`, "name": `"Grace"`, "email": `"grace@example.com"`, "consent": "true", "ref": `"r1"`,
			})

			finder := s.sample("finder")
			b = open(finder, "?lang=de")
			b.press("next")
			b.set(choice("a.zubereitung", "id:filter"), "")
			b.press("next")
			b.set(choice("a.milch", "false"), "")
			b.press("next")
			b.set(choice("a.staerke", "3"), "")
			b.press("next")
			b.set(choice("a.aromen", "id:nuss"), "", choice("a.aromen", "id:karamell"), "")
			b.press("next")
			b.set(field("a.menge"), "0,75")
			b.press("back")
			b.press("next")
			b.press("next")
			b.set(field("a.email"), "ada@example.com")
			b.press("next")
			b.until(`location.pathname.endsWith("/done")`)
			b.shows("Danke!")
			wantAnswers(t, s.answers(finder), map[string]string{
				"zubereitung": `{"id":"filter","label":"Handfilter"}`, "milch": "false", "staerke": "3", "menge": "0.75", "email": `"ada@example.com"`,
				"aromen": `[{"id":"nuss","label":"Nuss und Schokolade"},{"id":"karamell","label":"Karamell"}]`,
			})

			every := s.sample("every")
			b = open(every, "")
			b.set(field("a.short"), "word", choice("a.rating", "7"), "", choice("a.scale", "-0.5"), "")
			b.press("next")
			if script {
				b.do(`document.querySelector("[data-label=Speed] [data-move='-1']").click()`)
			} else {
				b.set(field("k.t.ranking"), "1", field("k.s.ranking"), "2", field("k.p.ranking"), "3")
			}
			b.set(choice("r.food.matrix", "id:3"), "", field("a.dropdown"), "id:m", choice("a.picture", "id:sea"), "")
			b.press("next")
			b.set(field("d.birthday"), "5", field("m.birthday"), "6", field("y.birthday"), "1990", field("p.firstName.contact"), "Ada", field("a.country"), "IS")
			b.press("next")
			b.set(field("a.nick"), "ace", choice("a.legal", "true"), "")
			b.press("next")
			b.shows("That was all of it")
			wantAnswers(t, s.answers(every), map[string]string{
				"short": `"word"`, "rating": "7", "scale": "-0.5", "dropdown": `{"id":"m","label":"Mouse"}`, "picture": `{"id":"sea","label":"Sea"}`,
				"ranking":  `[{"id":"t","label":"Taste"},{"id":"s","label":"Speed"},{"id":"p","label":"Price"}]`,
				"matrix":   `{"food":{"id":"3","label":"Good"}}`,
				"birthday": `"1990-06-05"`, "contact": `{"firstName":"Ada"}`, "country": `"IS"`, "nick": `"ace"`, "legal": "true",
			})
		})
	}
}

func TestByKeyboardAlone(t *testing.T) {
	s := newSite(t, formpage.Config{})
	finder := s.sample("finder")
	b := newTab(t, 1280, 800)
	b.open(s.url(finder, "?lang=de"))
	step := func(id string) { b.until(`document.querySelector("form").dataset.step===` + quote(id)) }
	b.run(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	step("zubereitung")
	b.run(chromedp.KeyEvent("b"), chromedp.KeyEvent(kb.Enter))
	step("milch")
	b.run(chromedp.KeyEvent(" "), chromedp.KeyEvent(kb.Enter))
	step("staerke")
	b.run(chromedp.KeyEvent("4"), chromedp.KeyEvent(kb.Enter))
	step("aromen")
	b.run(chromedp.KeyEvent("a"), chromedp.KeyEvent("c"), chromedp.KeyEvent(kb.Enter))
	step("menge")
	b.run(chromedp.KeyEvent("2"), chromedp.KeyEvent(kb.Enter))
	step("email")
	b.run(chromedp.KeyEvent("ada@example.com"), chromedp.KeyEvent(kb.Enter))
	b.until(`location.pathname.endsWith("/done")`)
	wantAnswers(t, s.answers(finder), map[string]string{
		"zubereitung": `{"id":"filter","label":"Handfilter"}`, "milch": "true", "staerke": "4", "menge": "2",
		"aromen": `[{"id":"nuss","label":"Nuss und Schokolade"},{"id":"zitrus","label":"Zitrus"}]`, "email": `"ada@example.com"`,
	})
}

func TestMistakesFirst(t *testing.T) {
	s := newSite(t, formpage.Config{})
	form := s.sample("feedback")
	b := newTab(t, 390, 800)
	b.open(s.url(form, ""))
	b.set(field("a.email"), "nobody", field("a.comment"), "kept")
	b.press("next")
	b.until(`document.activeElement.id==="summary"`)
	b.until(`document.querySelector("[name='a.email']").value==="nobody" && document.querySelector("[name='a.comment']").value==="kept"`)
	b.until(`document.querySelector("[name='a.email']").getAttribute("aria-invalid")==="true"`)
	b.set(feedbackAnswers...)
	b.press("next")
	b.shows("Thank you!")
	if n := len(s.answers(form)); n != 1 {
		t.Errorf("%d responses are stored, want 1", n)
	}
}

func TestADoubleClickStoresOnce(t *testing.T) {
	for _, script := range []bool{true, false} {
		s := newSite(t, formpage.Config{})
		form := s.publish("Short", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"a","type":"short_text","label":"A"}]`)})
		b := newTab(t, 390, 800)
		if !script {
			b.noScript()
		}
		b.open(s.url(form, ""))
		b.set(field("a.a"), "x")
		b.do(`const e=document.querySelector(".fs-actions button"); e.click(); e.click()`)
		b.shows("Thank you!")
		if n := len(s.answers(form)); n != 1 {
			t.Errorf("script %v: %d responses are stored, want 1", script, n)
		}
	}
}

func TestAReloadLosesNothing(t *testing.T) {
	s := newSite(t, formpage.Config{})
	form := s.sample("finder")
	b := newTab(t, 390, 800)
	b.open(s.url(form, "?lang=de"))
	b.press("next")
	b.set(choice("a.zubereitung", "other"), "", field("o.zubereitung"), "Mokkakanne")
	b.press("next")
	b.set(choice("a.milch", "true"), "")
	b.run(chromedp.Reload())
	b.until(`document.querySelector("form").dataset.step==="milch" && document.querySelector("[name='a.milch'][value=true]").checked`)
	b.press("back")
	b.until(`document.querySelector("[name='o.zubereitung']").value==="Mokkakanne"`)
}

// Blocks that an answer calls for appear while a page is filled in, and what is typed
// stays.
func TestBlocksAppearWithTheirAnswers(t *testing.T) {
	s := newSite(t, formpage.Config{})
	form := s.publish("Rules", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[
		{"id":"pet","type":"yes_no","label":"A pet?"},
		{"id":"name","type":"short_text","label":"Its name","required":true,"properties":{"rule":{"show":{"==":[{"var":"answers.pet"},true]}}}},
		{"id":"note","type":"short_text","label":"A note"}]`)})
	b := newTab(t, 390, 800)
	b.open(s.url(form, ""))
	b.until(`!document.querySelector("[data-b=name]")`)
	b.set(field("a.note"), "typed")
	b.set(choice("a.pet", "true"), "")
	b.until(`document.querySelector("[data-b=pet]+[data-b=name]+[data-b=note]") && document.querySelector("[name='a.note']").value==="typed"`)
	b.set(field("a.name"), "Rex")
	b.set(choice("a.pet", "false"), "")
	b.until(`!document.querySelector("[data-b=name]")`)
	b.set(choice("a.pet", "true"), "")
	b.until(`(document.querySelector("[data-b=name] input")||{}).value==="Rex"`)
	b.press("next")
	b.shows("Thank you!")
	wantAnswers(t, s.answers(form), map[string]string{"pet": "true", "name": `"Rex"`, "note": `"typed"`})
}

func TestNothingIsWiderThanTheScreen(t *testing.T) {
	s := newSite(t, formpage.Config{})
	b := newTab(t, 320, 700)
	for _, form := range []formsvc.Form{s.sample("feedback"), s.sample("finder"), s.sample("every")} {
		for _, query := range []string{"?lang=en&short=x", "?lang=ar&short=x"} {
			b.open(s.url(form, query))
			for page := range 4 {
				for _, width := range []int64{320, 390, 768, 1280, 1920} {
					b.size(width, 700)
					b.until(fmt.Sprintf("innerWidth===%d", width))
					wide := get(b, chromedp.Evaluate[string](`(() => { if (document.documentElement.scrollWidth<=innerWidth) return "";
						return [...document.querySelectorAll(".fs *")].filter(e => { const r=e.getBoundingClientRect(); return r.width>1 && (r.right>innerWidth+1||r.left<-1) && !e.closest(".fs-trap,.vh") }).map(e => e.tagName+"."+e.className).slice(0,5).join(" ") || "?" })()`))
					if wide != "" {
						t.Errorf("%s%s, page %d, %d px: too wide: %s", form.Name, query, page, width, wide)
					}
				}
				if !get(b, chromedp.Evaluate[bool](`!!document.querySelector(".fs-actions [value=next]")`)) {
					break
				}
				b.press("next")
			}
		}
	}
}

// Nothing leaves the page's origin.
func TestRequestsStayAtHome(t *testing.T) {
	s := newSite(t, formpage.Config{})
	form := s.sample("every")
	b := newTab(t, 390, 800)
	b.open(s.url(form, "?short=x&legal=true"))
	for range 4 {
		b.press("next")
	}
	b.shows("That was all of it")
	urls, problems := b.requests.list()
	if len(urls) < 5 || len(problems) > 0 {
		t.Errorf("%d requests, problems %q", len(urls), problems)
	}
	for _, url := range urls {
		if !strings.HasPrefix(url, s.server.URL+"/") && !strings.HasPrefix(url, "data:") {
			t.Errorf("the page asked for %s", url)
		}
	}
}
