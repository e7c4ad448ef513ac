package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
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
	field("a.name"), "Grace", field("a.email"), "grace@example.com", accepts("a.consent"), "",
}

func wantAnswers(t *testing.T, stored []map[string]string, want map[string]string) {
	t.Helper()
	expect.Require(t, len(stored) == 1, "%d responses are stored, want 1", len(stored))
	for id, value := range want {
		expect.That(t, stored[0][id] == value, "%s is %s, want %s", id, stored[0][id], value)
	}
}

// Mistakes come back with everything filled in, in all three forms; the summary has the
// focus. What was typed is what the API returns, with and without JavaScript.
func TestMistakesFirst(t *testing.T) {
	for _, script := range []bool{true, false} {
		s := newSite(t, formpage.Config{})
		b := newTabOf(t, script, 390, 800)
		wrong := func(form formsvc.Form, fields, faults int) {
			t.Helper()
			b.press("next")
			b.until(`document.activeElement.id==="summary"`)
			b.until(fmt.Sprintf(`document.querySelectorAll("#summary a").length===%d && document.querySelectorAll(".fs-fault").length===%d`, faults, fields))
			b.until(`document.title.startsWith("Please check") || document.title.startsWith("Bitte prüfen")`)
			expect.Equal(t, len(s.answers(form)), 0, "%v responses are stored, want none yet", script)
		}

		feedback := s.sample("feedback")
		b.open(s.url(feedback, "?ref=r1"))
		b.set(field("a.email"), "nobody", field("a.comment"), "kept")
		wrong(feedback, 6, 6)
		b.until(`document.querySelector("[name='a.email']").value==="nobody" && document.querySelector("[name='a.comment']").value==="kept"`)
		b.until(`document.querySelector("[name='a.email']").getAttribute("aria-invalid")==="true"`)
		b.set(feedbackAnswers...)
		b.press("next")
		b.shows("Thank you!")
		wantAnswers(t, s.answers(feedback), map[string]string{
			"overall": "4", "product": `{"id":"decaf","label":"Decaf Sugarcane"}`, "ordered_on": `"2026-11-02"`, "orders": "3", "delivery": "6",
			"liked": `[{"id":"taste","label":"The taste"},{"other":"The smell"}]`, "heard": `{"id":"cafe","label":"One of our cafés"}`,
			"recommend": "10", "again": "true", "comment": `"One\ntwo"`, "name": `"Grace"`, "email": `"grace@example.com"`, "consent": "true", "ref": `"r1"`,
		})

		finder := s.sample("finder")
		b.open(s.url(finder, "?lang=de"))
		b.press("next")
		wrong(finder, 1, 1)
		b.set(choice("a.zubereitung", "id:gar_nicht"), "")
		b.press("next")
		b.step("tee")
		b.set(field("a.tee"), strings.Repeat("Tee ", 20))
		wrong(finder, 1, 1)
		b.press("back") // and by another way
		b.until(`document.querySelector("[value='id:gar_nicht']").checked`)
		b.set(choice("a.zubereitung", "id:espresso"), "")
		b.press("next")
		b.step("milch")
		b.press("back")
		b.set(choice("a.zubereitung", "id:gar_nicht"), "")
		b.press("next")
		b.until(`document.querySelector("[name='a.tee']").value.startsWith("Tee Tee")`)
		b.set(field("a.tee"), "Earl Grey")
		b.press("next")
		b.shows("Auch gut!")
		wantAnswers(t, s.answers(finder), map[string]string{"tee": `"Earl Grey"`, "zubereitung": `{"id":"gar_nicht","label":"Gar nicht, ich trinke Tee"}`, "milch": ""})

		every := s.sample("every")
		b.open(s.url(every, ""))
		b.set(field("a.email"), "nobody", field("a.number"), "2000", field("a.website"), "http://", field("a.phone"), "12")
		wrong(every, 5, 5)
		b.set(field("a.short"), "word", field("a.email"), "", field("a.number"), "", field("a.website"), "", field("a.phone"), "+31 20 794 6000")
		b.press("next")
		b.set(choice("a.multiple", "id:r"), "", choice("a.single", "id:b"), "", field("a.dropdown"), "id:z", choice("r.food.matrix", "id:3"), "", choice("r.place.matrix", "id:1"), "")
		if script {
			b.do(`for (const by of [0, 1, 0]) document.querySelectorAll(".ranking [data-move='1']")[by].click()`)
		} else {
			b.set(field("k.s.ranking"), "1", field("k.p.ranking"), "2", field("k.t.ranking"), "3")
		}
		const entered = `[...document.querySelectorAll(".fs-fields :checked, .fs-fields .ranking select")].map(e => e.name+"="+e.value).sort().join()`
		before := get(b, chromedp.Evaluate[string](entered))
		wrong(every, 1, 1)
		b.until(entered + ` === ` + quote(before))
		b.set(choice("a.multiple", "id:g"), "")
		b.press("next")
		b.step("page3")
		b.set(field("d.birthday"), "31", field("m.birthday"), "2", field("y.birthday"), "1990")
		wrong(every, 1, 1)
		b.press("back")
		b.until(`document.querySelector("[name='a.multiple'][value='id:g']").checked`)
		b.press("next")
		b.until(`document.querySelector("[name='d.birthday']").value==="31"`)
		b.set(field("d.birthday"), "28")
		b.press("next")
		wrong(every, 1, 1)
		b.set(accepts("a.legal"), "")
		b.press("next")
		b.shows("That was all of it")
		wantAnswers(t, s.answers(every), map[string]string{
			"short": `"word"`, "phone": `"+31207946000"`, "birthday": `"1990-02-28"`, "legal": "true",
			"multiple": `[{"id":"r","label":"Red"},{"id":"g","label":"Green"}]`, "single": `{"id":"b","label":"The second"}`,
			"ranking": `[{"id":"s","label":"Speed"},{"id":"p","label":"Price"},{"id":"t","label":"Taste"}]`, "matrix": `{"food":{"id":"3","label":"Good"},"place":{"id":"1","label":"Poor"}}`,
		})
	}
}

// A page from right to left takes numbers as they are written there.
func TestFromRightToLeft(t *testing.T) {
	s := newSite(t, formpage.Config{})
	form := s.sample("feedback")
	b := newTab(t, 390, 800)
	b.open(s.url(form, "?lang=ar"))
	b.until(`document.documentElement.dir==="rtl" && getComputedStyle(document.querySelector(".fs-label")).textAlign !== "left"`)
	// The first of a scale is on the right.
	b.until(`(() => { const l=[...document.querySelectorAll("[name='a.delivery']")].map(e => e.getBoundingClientRect().left); return l[0] > l[6] })()`)
	b.set(feedbackAnswers...)
	b.set(field("a.orders"), "١٢")
	b.until(`getComputedStyle(document.querySelector("[name='a.orders']")).direction === "ltr"`) // -5, not 5-
	// What is written on the page, by the service or by the script, has one kind of digits.
	b.do(`const e=document.querySelector("textarea[data-max]"); e.value="x".repeat(e.dataset.max - 1); e.dispatchEvent(new Event("input",{bubbles:true}))`)
	b.until(`!document.querySelector(".fs-count").hidden && /[0-9]/.test(document.querySelector(".fs-count").textContent) && !/[٠-٩]/.test(document.querySelector(".fs").innerText)`)
	b.do(`const e=document.querySelector("textarea[data-max]"); e.value="x"; e.dispatchEvent(new Event("input",{bubbles:true}))`)
	b.press("next")
	b.until(`location.pathname.endsWith("/done")`)
	wantAnswers(t, s.answers(form), map[string]string{"orders": "12", "ordered_on": `"2026-11-02"`, "name": `"Grace"`})
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

	every := s.sample("every")
	b.open(s.url(every, ""))
	b.set(field("a.short"), "word", field("a.long"), "One\ntwo", choice("a.rating", "6"), "")
	b.press("next")
	b.set(choice("a.single", "other"), "", field("o.single"), "mine", field("a.dropdown"), "id:z", choice("r.place.matrix", "id:2"), "")
	b.do(`document.querySelector("[data-label=Speed] [data-move='-1']").click()`)
	b.run(chromedp.Reload())
	b.until(`document.querySelector("form").dataset.step==="page2" && document.querySelector("[name='o.single']").value==="mine" && document.querySelector("[name='r.place.matrix'][value='id:2']").checked &&
		document.querySelector("[name='a.dropdown']").value==="id:z" && [...document.querySelectorAll(".ranking li")].map(e => e.dataset.label).join()==="Taste,Speed,Price"`)
	b.press("back")
	b.until(`document.querySelector("[name='a.long']").value==="One\ntwo" && document.querySelector("[name='a.rating'][value='6']").checked`)
	// Another tab knows nothing of it.
	other := newTab(t, 390, 800)
	other.open(s.url(every, ""))
	other.until(`document.querySelector("[name='a.long']").value===""`)
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
					expect.That(t, wide == "", "%s%s, page %d, %d px: too wide: %s", form.Name, query, page, width, wide)
				}
				if !get(b, chromedp.Evaluate[bool](`!!document.querySelector(".fs-actions [value=next]")`)) {
					break
				}
				b.press("next")
			}
		}
	}
}

// No request leaves the page's origin before somebody clicks what is of another one, and
// the policy lists exactly these.
func TestRequestsStayAtHome(t *testing.T) {
	s := newSite(t, formpage.Config{})
	away := func(b *tab) (list []string) {
		urls, problems := b.requests.list()
		expect.That(t, len(urls) >= 4 && len(problems) == 0, "%d requests, problems %q", len(urls), problems)
		for _, url := range urls {
			if !strings.HasPrefix(url, s.server.URL+"/") && !strings.HasPrefix(url, "data:") {
				list = append(list, url)
			}
		}
		return list
	}
	for _, name := range []string{"feedback", "finder"} {
		b := newTab(t, 390, 800)
		b.open(s.url(s.sample(name), ""))
		b.press("next")
		if list := away(b); len(list) > 0 {
			t.Errorf("%s asks for %q", name, list)
		}
	}
	b := newTab(t, 390, 800)
	b.open(s.url(s.sample("every"), "?short=x&legal=true"))
	for range 3 {
		b.press("next")
	}
	if list := away(b); len(list) > 0 {
		t.Errorf("the page asked for %q", list)
	}
	policy := get(b, chromedp.Evaluate[string](`fetch(location.href).then(r => r.headers.get("Content-Security-Policy"))`, chromedp.EvalAwaitPromise))
	for _, want := range []string{"frame-src https://player.vimeo.com https://www.openstreetmap.org;", "default-src 'none'"} {
		expect.That(t, strings.Contains(policy+";", want), "the policy lacks %q: %s", want, policy)
	}
	b.do(`document.querySelector(".c-embed .fs-embed a").click()`)
	b.until(`document.querySelector(".c-embed iframe[sandbox]")`)
	for deadline := time.Now().Add(patience); len(away(b)) == 0; time.Sleep(20 * time.Millisecond) {
		expect.Require(t, !time.Now().After(deadline), "the embed that was clicked is not asked for")
	}
	for _, url := range away(b) {
		expect.That(t, strings.HasPrefix(url, "https://www.openstreetmap.org/"), "the click asked for %s", url)
	}
}
