package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

const laterBlocks = `[{"id":"a","type":"short_text","label":"A"},{"id":"b","type":"short_text","label":"B"},{"id":"w","type":"date","label":"W","properties":{"showTimePicker":true}},
	{"id":"break","type":"page_break"},{"id":"c","type":"single_choice","label":"C","choices":[{"id":"x","label":"X"}]},{"id":"end","type":"ending","label":"The very end"}]`

// click presses a button that does not lead to another page of the form.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.until("document.querySelector(" + quote(selector) + ")")
	b.do("document.querySelector(" + quote(selector) + ").click()")
}

// halves waits until the half responses of a form that owners see are so many, and the newest has
// these answers.
func (s *site) halves(form formsvc.Form, n int, answers string) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		var list []string
		for p, err := range s.service.As(s.owner).Partials(s.t.Context(), form.ID, formsvc.Query{}) {
			expect.NoError(s.t, err)
			list = append(list, string(p.Answers))
		}
		if len(list) == n && (n == 0 || list[0] == answers) {
			return
		}
		expect.Require(s.t, !time.Now().After(deadline), "saved is %s, want %d with %s", list, n, answers)
	}
}

// soon makes what is due in ten seconds due now.
const soon = `if (!window.soon) { const real = setTimeout; window.soon = 1; window.setTimeout = (f, ms, ...list) => real(f, ms === 10000 ? 0 : ms, ...list) }`

// hide tells the page that nobody sees it any more, and then that somebody does again.
func (b *tab) hide(meanwhile func()) {
	b.t.Helper()
	b.do(`Object.defineProperty(document, "visibilityState", {configurable: true, get: () => "hidden"}); document.dispatchEvent(new Event("visibilitychange"))`)
	meanwhile()
	b.do(`delete document.visibilityState; document.dispatchEvent(new Event("visibilitychange"))`)
}

// A response is handed on from tab to tab by its link, with the script and without. With the script
// it is saved as somebody types, also when the tab is closed, and takes over what another tab saved.
func TestGoingOnLater(t *testing.T) {
	for name, script := range map[string]bool{"script": true, "plain": false} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, formpage.Config{Partials: formpage.ResumeAndShow})
			form := s.publish("Later", "MULTI", formsvc.Definition{Blocks: json.RawMessage(laterBlocks)})
			tabs := make([]*tab, 3)
			for i := range tabs {
				tabs[i] = newTabOf(t, script, 390, 800)
			}
			one, two, three := tabs[0], tabs[1], tabs[2]
			one.open(s.url(form, ""))
			one.shows("The owners of this form and anyone who has your link can read your answers")
			one.shot("later-first-" + name)
			if script {
				one.until(`document.querySelector("[name=viewed]").value`)
				one.do(soon)
				one.set(field("a.a"), "<b>1")
				s.halves(form, 1, `{"a":"<b>1"}`)
				one.shows("Your answers are saved.")
				one.until(`!document.querySelector("[value=forget]").hidden`)
				one.run(chromedp.Reload())
				one.until(`document.querySelector("[name='a.a']")?.value === "<b>1" && document.querySelector("[name=viewed]").value`)
				// It is saved without waiting when the tab is left.
				one.set(field("a.b"), "left")
				one.hide(func() { s.halves(form, 1, `{"a":"<b>1","b":"left"}`) })
				one.until(`JSON.parse(atob(document.querySelector("[name=half]").value.split(".")[0].replace(/-/g,"+").replace(/_/g,"/"))).r === 2`)
				one.set(field("a.b"), "closed")
				one.run(chromedp.Navigate("about:blank"))
				s.halves(form, 1, `{"a":"<b>1","b":"closed"}`)
				one.open(s.url(form, ""))
				one.until(`document.querySelector("[name='a.b']")?.value === "closed" && document.querySelector("[name=viewed]").value`)
			} else {
				one.set(field("a.a"), "<b>1")
				one.set(field("a.b"), "closed")
			}
			one.click("[value=later]")
			one.shows("Use this link to continue later")
			one.until(`document.querySelector("#summary") === document.activeElement`)
			one.shot("later-link-" + name)
			link := get(one, chromedp.Evaluate[string](`document.querySelector("[data-link]").href`))
			expect.Require(t, strings.HasPrefix(link, s.url(form, "/later?lang=en#")), "the link is %s", link)
			_, token, _ := strings.Cut(link, "#")
			if script {
				one.shows(link)
			}

			two.run(chromedp.Navigate(link))
			two.shows("Continue with your answers")
			two.shot("later-linked-" + name)
			if script {
				two.until(`document.querySelector("[data-paste]").hidden`)
			} else {
				two.set("#fs-link", link)
			}
			two.until(`!document.body.innerText.includes("closed")`)
			two.press("resume")
			two.shows("These are your saved answers.")
			two.shot("later-resumed-" + name)
			two.until(`document.querySelector("[name='a.b']").value === "closed"`)
			at := get(two, chromedp.Evaluate[string](`location.href`))
			expect.That(t, !strings.Contains(at, token), "the address is %s", at)
			two.set(field("a.b"), "2")
			two.press("next")
			two.until(`document.querySelector(".fs-form").dataset.step === "break"`)
			s.halves(form, 1, `{"a":"<b>1","b":"2"}`)

			// The first one goes on: what it did not change is the second one's.
			if script {
				one.do(soon)
				one.set(field("a.a"), "3")
				one.shows("on another device") // by itself, as nobody types
				one.until(`document.querySelector("[name='a.b']").value === "2" && document.querySelector("[name='a.a']").value === "3"`)
				s.halves(form, 1, `{"a":"3","b":"2"}`)
				one.press("next")
			} else {
				one.set(field("a.a"), "3")
				one.press("next")
				one.shows("on another device")
				one.press("next")
			}
			one.until(`document.querySelector(".fs-form").dataset.step === "break"`)

			three.run(chromedp.Navigate(link))
			three.until(`document.readyState === "complete"`)
			if !script {
				three.set("#fs-link", token)
			}
			three.press("resume")
			three.until(`document.querySelector(".fs-form").dataset.step === "break"`) // the farthest page
			three.set(choice("a.c", "id:x"), "")
			three.press("next")
			three.shows("The very end")
			wantAnswers(t, s.answers(form), map[string]string{"a": `"3"`, "b": `"2"`, "c": `{"id":"x","label":"X"}`})
			s.halves(form, 0, "")
			if script {
				two.do(soon)
				two.set(choice("a.c", "id:x"), "") // saved by itself, and new: it stays
				two.shows("already submitted from another window or device")
				two.press("back")
				two.shows("Your answers were not submitted. You can still copy")
			} else {
				two.press("back")
				two.shows("The very end")
			}
			for _, b := range tabs {
				asked, problems := b.requests.list()
				if i := slices.IndexFunc(asked, func(url string) bool { before, _, _ := strings.Cut(url, "#"); return strings.Contains(before, token) }); i >= 0 || len(problems) > 0 {
					t.Errorf("a server was told %v; %v", asked, problems)
				}
			}
		})
	}
}

// Who comes back with the browser's button after sending begins another response.
func TestComingBackAfterSending(t *testing.T) {
	s := newSite(t, formpage.Config{Partials: formpage.ResumeAndShow})
	form := s.publish("Back", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"a","type":"short_text","label":"A"}]`)})
	b := newTab(t, 390, 800)
	b.open(s.url(form, ""))
	b.until(`document.querySelector("[name=viewed]").value`)
	b.do(soon)
	b.set(field("a.a"), "1")
	s.halves(form, 1, `{"a":"1"}`)
	b.shows("Your answers are saved.")
	b.press("next")
	b.shows("Thank you!")
	b.do(`history.back()`)
	b.until(`document.querySelector("[name='a.a']") && document.querySelector("[name=viewed]").value`)
	b.do(soon)
	b.set(field("a.a"), "2")
	s.halves(form, 1, `{"a":"2"}`)
	// And forgets it again, with what is typed left alone.
	b.shows("Your answers are saved.")
	b.click("[value=forget]")
	b.shows("Your saved answers have been deleted.")
	s.halves(form, 0, "")
	b.set(field("a.a"), "3")
	b.press("next")
	b.shows("Thank you!")
	expect.Equal(t, len(s.answers(form)), 2, "are stored")
}

// slow holds the answers to saves back until the test says release(), and counts saves.
const slow = `{ const real = fetch; window.saves = 0; window.fetch = (url, o) => o?.body?.get?.("go") !== "save" ? real(url, o) :
	(window.saves++, real(url, o).then(r => new Promise(go => { window.release = () => go(r); }))) }`

// A form that is sent while its first save is on its way leaves nothing behind, and a page that
// nobody sees begins nothing.
func TestSendingWaitsForTheFirstSave(t *testing.T) {
	s := newSite(t, formpage.Config{Partials: formpage.ResumeAndShow})
	form := s.publish("Slow", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"a","type":"short_text","label":"A"}]`)})
	b := newTab(t, 390, 800)
	b.open(s.url(form, ""))
	b.until(`document.querySelector("[name=viewed]").value`)
	b.do(slow)
	b.set(field("a.a"), "1")
	b.hide(func() { b.until(`window.saves === 0`) })
	b.run(chromedp.Reload())
	b.until(`document.querySelector("[name='a.a']")?.value === "1" && document.querySelector("[name=viewed]").value`)
	b.do(slow)
	b.do(soon)
	b.set(field("a.a"), "2")
	s.halves(form, 1, `{"a":"2"}`)
	b.until(`window.release`)
	b.set(field("a.a"), "3")
	b.click(".fs-actions [value=next]")
	b.do(`setTimeout(release, 300)`)
	b.shows("Thank you!")
	s.halves(form, 0, "")
	wantAnswers(t, s.answers(form), map[string]string{"a": `"3"`})
}

// A file that is chosen is not lost to what another device saved: the page says that there is
// something, once for each change.
func TestAChosenFileStays(t *testing.T) {
	s := newSite(t, formpage.Config{Partials: formpage.ResumeAndShow})
	form := s.publish("File", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"f","type":"file_upload","label":"F"},{"id":"a","type":"short_text","label":"A"},{"id":"b","type":"short_text","label":"B"}]`)})
	b := newTab(t, 390, 800)
	b.open(s.url(form, ""))
	b.until(`document.querySelector("[name=viewed]").value`)
	b.do(soon)
	b.set(field("a.a"), "1")
	b.shows("Your answers are saved.")
	token := get(b, chromedp.Evaluate[string](`JSON.parse(atob(document.querySelector("[name=half]").value.split(".")[0].replace(/-/g,"+").replace(/_/g,"/"))).t`))
	if _, _, err := s.service.SavePartial(t.Context(), formsvc.PartialSubmission{FormID: form.ID, Token: token, Answers: map[string]json.RawMessage{"a": json.RawMessage(`"other"`)}}); err != nil {
		t.Fatal(err)
	}
	b.do(`const d = new DataTransfer(); d.items.add(new File(["x"], "x.png")); document.querySelector("[type=file]").files = d.files;
		const real = fetch; window.saves = 0; window.fetch = (...list) => (window.saves++, real(...list))`)
	b.set(field("a.b"), "2")
	b.shows("also changed in another window")
	b.do(`setTimeout(() => { window.later = 1; }, 500)`)
	b.until(`window.later && window.saves <= 2 && document.querySelector("[type=file]").files.length === 1`)
}
