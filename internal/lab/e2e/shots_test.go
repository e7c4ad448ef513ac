package e2e

import (
	"fmt"
	"os"
	"testing"

	"github.com/formsvc/formsvc/handler/formpage"
)

// Pictures of all forms and states at a phone's and a desktop's width, for people to look
// at. Nothing is compared: set FORMSVC_E2E_SHOTS to a directory.
func TestPictures(t *testing.T) {
	if os.Getenv("FORMSVC_E2E_SHOTS") == "" {
		t.Skip("reason: FORMSVC_E2E_SHOTS names no directory")
	}
	s := newSite(t, formpage.Config{Brand: formpage.Link{Text: "Made with formsvc", URL: "https://example.com/"}})
	feedback, finder, every, closed := s.sample("feedback"), s.sample("finder"), s.sample("every"), s.sample("feedback")
	next := `document.querySelector('.fs-actions button').click()`
	for _, width := range []int64{390, 1280} {
		for _, dark := range []bool{false, true} {
			b := newTab(t, width, 850)
			b.dark(dark)
			name := func(state string) string {
				return fmt.Sprintf("%s-%d-%s", state, width, map[bool]string{false: "light", true: "dark"}[dark])
			}
			if !dark {
				b.open(s.url(feedback, ""))
				b.shot(name("feedback"))
				b.do(next)
				b.until(`document.querySelector('#summary')`)
				b.shot(name("feedback-faults"))
			}
			b.open(s.url(finder, "?lang=de"))
			b.shot(name("finder-0"))
			for i, set := range []string{"", `document.querySelector('[value="id:filter"]').click()`, `document.querySelector('[name="a.milch"][value=true]').click()`, `document.querySelector('[value="4"]').click()`, "", ``} {
				if set != "" {
					b.do(set)
				}
				b.do(`window.was=document.querySelector('.fs');` + next)
				b.until(`document.querySelector('.fs')!==window.was`)
				b.shot(name(fmt.Sprintf("finder-%d", i+1)))
			}
			b.open(s.url(every, "?short=word&legal=true"))
			for i := range 4 {
				b.shot(name(fmt.Sprintf("every-%d", i)))
				b.do(`window.was=document.querySelector('.fs');` + next)
				if i < 3 {
					b.until(`document.querySelector('.fs')!==window.was`)
				}
			}
			b.shows("That was all of it")
			b.shot(name("every-end"))
		}
	}
	for _, width := range []int64{390, 1280} {
		b := newTab(t, width, 850)
		open := func(name, url string) {
			b.open(url)
			b.shot(fmt.Sprintf("%s-%d", name, width))
		}
		open("preview", s.preview(every, ""))
		open("embedded", s.url(finder, "?embed=1"))
		open("finder-ar", s.url(finder, "?lang=ar"))
		b.press("next")
		b.shot(fmt.Sprintf("finder-ar-1-%d", width))
		b.open(s.url(every, "?short=x&legal=true&lang=fr"))
		b.print()
		for page := range 4 {
			b.shot(fmt.Sprintf("print-%d-%d", page, width))
			b.press("next")
		}
	}
	b := newTab(t, 390, 850)
	s.close(closed)
	b.open(s.url(closed, ""))
	b.shot("closed-390")
	b.open(s.url(feedback, "?lang=ar"))
	b.shot("feedback-ar-390")
	b.open(s.url(every, "?lang=ar&short=x"))
	b.shot("every-ar-390")
	b.open(s.server.URL + "/f/nothing")
	b.shot("missing-390")
}
