package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

// A file is chosen and a signature drawn; a mistake elsewhere on the page keeps both.
func TestFilesAndSignatures(t *testing.T) {
	for _, script := range []bool{true, false} {
		s := newSite(t, formpage.Config{})
		form := s.publish("Files", "MULTI", formsvc.Definition{Blocks: []byte(`[{"id":"f","type":"file_upload","label":"File","required":true},
			{"id":"s","type":"signature","label":"Signature"},{"id":"n","type":"short_text","label":"Name","required":true}]`)})
		paper := filepath.Join(t.TempDir(), "paper.txt")
		noError(t, os.WriteFile(paper, []byte("some text"), 0o600))
		b := newTab(t, 800, 900)
		if !script {
			b.noScript()
		}
		b.open(s.url(form, ""))
		b.run(chromedp.SetUploadFiles(chromedp.CSS(`[name="u.f"]`), []string{paper}))
		if script {
			b.do(`const c=document.querySelector("canvas"), r=c.getBoundingClientRect(); c.setPointerCapture=()=>{};
				const at=(type,x,y)=>c.dispatchEvent(new PointerEvent(type,{clientX:r.left+x,clientY:r.top+y,pointerId:1,bubbles:true}));
				at("pointerdown",20,20); at("pointermove",90,60); at("pointermove",140,20); at("pointerup",140,20)`)
			b.until(`document.querySelector("[name='u.s']").files.length===1`)
			b.until(`document.querySelector(".picked").innerText.includes("paper.txt")`)
		}
		b.press("next")
		b.until(`document.querySelector("#summary") && document.querySelector(".fs-files") && document.body.innerText.includes("paper.txt")`)
		b.set(field("a.n"), "Ada")
		b.press("next")
		b.shows("Thank you!")
		stored := s.answers(form)
		if len(stored) != 1 || !strings.Contains(stored[0]["f"], `"paper.txt"`) || script != strings.Contains(stored[0]["s"], "signature.png") {
			t.Errorf("script %v: stored is %v", script, stored)
		}
	}
}
