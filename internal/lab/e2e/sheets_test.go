package e2e

import (
	"encoding/json"
	"fmt"
	"html/template"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

// escapes are sheets that are made to get out of the form.
var escapes = []string{
	`.fs{margin-top:-500px}`, `.fs{margin:-200px}`, `.fs{transform:translateY(-300px) scale(5)}`, `.fs{transform:scale(20)}`, `.fs{outline:900px solid red}`,
	`.fs{box-shadow:0 0 0 900px red}`, `.fs *{margin-top:-900px!important}`, `.fs{transform:translate(-50%,-50%) rotate(45deg) scale(3)}`, `.fs{margin-block:-900px}`,
	`.fs{height:200px;margin-bottom:-900px}.fs *{outline:3000px solid red;outline-offset:-1px}`, `.fs{float:left;width:300vw;margin:-50vh -50vw}`, `.fs{display:inline-block;vertical-align:500px;line-height:0}`,
	`.fs-main{transform:translateY(-100vh) scale(9)}.fs-label{text-shadow:0 -400px red;font-size:900px;line-height:0}`, `.fs{display:contents}.fs-main{margin-top:-600px}`,
}

// sheet makes a sheet of the properties that properties.txt allows, with values that reach far.
func sheet(random *rand.Rand, properties []string) string {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	far := func() string {
		return fmt.Sprint(random.IntN(4001)-2000) + pick("px", "px", "vh", "vw", "%", "em")
	}
	var b strings.Builder
	for range 1 + random.IntN(3) {
		b.WriteString(pick(".fs", ".fs", "html", "body", ".fs *", ".fs-main", ".fs-form", ".q", ".fs-progress", ".fs > *", "*") + "{")
		for range 1 + random.IntN(8) {
			property := pick(properties...)
			var value string
			switch {
			case property == "transform":
				value = pick("translate(", "translatex(", "translatey(") + far() + ") " + pick("scale(", "scale(-") + fmt.Sprint(1+random.IntN(30)) + ")" + pick("", " rotate(45deg)", " skew(60deg)")
			case property == "box-shadow":
				value = far() + " " + far() + " 0 900px red"
			case property == "outline":
				value = fmt.Sprint(random.IntN(3000)) + "px solid red"
			case property == "display":
				value = pick("contents", "inline", "inline-block", "flex", "grid", "table", "block", "flow-root")
			case property == "float":
				value = pick("left", "right")
			case strings.Contains(property, "margin"), strings.Contains(property, "offset"), property == "vertical-align", property == "text-indent", strings.Contains(property, "spacing"):
				value = far()
			default:
				value = pick(far(), pick("auto", "none", "0", "1", "visible", "red", "inherit", "center", "stretch", "max-content", "min-content"))
			}
			b.WriteString(property + ":" + value + pick("", "!important") + ";")
		}
		b.WriteString("}")
	}
	return b.String()
}

// No sheet of an author gets over the host's header and footer, or over the bar of a preview.
func TestSheetsStayInTheForm(t *testing.T) {
	source := must(os.ReadFile("../../../handler/formpage/internal/theme/properties.txt"))
	properties := strings.Fields(string(source))
	if len(properties) < 100 {
		t.Fatal("the list of properties is not found")
	}
	s := newSite(t, formpage.Config{Layout: template.Must(template.New("").Parse(`<!doctype html><html lang="{{.Language}}"><head><title>{{.Title}}</title>
		<style nonce="{{.Nonce}}">body{margin:0}header,footer{height:80px;background:#eee}</style>{{.Head}}</head><body><header>The host</header>{{.Body}}<footer>Also the host</footer></body></html>`))})
	form := s.publish("Sheets", "MULTI", formsvc.Definition{
		Blocks:   json.RawMessage(`[{"id":"a","type":"short_text","label":"A"},{"id":"b","type":"yes_no","label":"B"},{"id":"break","type":"page_break"},{"id":"c","type":"long_text","label":"C"}]`),
		Settings: json.RawMessage(`{"navigation":true,"progressBar":true,"showTitle":true}`),
	})
	random := rand.New(rand.NewPCG(22, 7)) // the same sheets each time
	sheets := append([]string(nil), escapes...)
	for len(sheets) < 100 {
		sheets = append(sheets, sheet(random, properties))
	}
	b := newTab(t, 360, 700)
	written := 0
	for _, sheet := range sheets {
		theme, _ := json.Marshal(map[string]string{"customCss": sheet}) // a string
		must(s.service.As(s.owner).UpdateForm(t.Context(), form.ID, formsvc.FormUpdate{Definition: formsvc.Definition{Theme: theme}}))
		b.run(chromedp.Navigate(s.preview(form, "")))
		for _, width := range []int64{360, 1280} {
			b.size(width, 700)
			b.until(fmt.Sprintf("innerWidth===%d", width))
			over := get(b, chromedp.Evaluate[string](`(() => {
				const over = [];
				for (const e of document.querySelectorAll("header,.fs-preview,footer")) {
					e.scrollIntoView({block: "center"});
					const r = e.getBoundingClientRect();
					for (const x of [1, r.width/4, r.width/2, r.width*3/4, r.width-1]) for (const y of [2, r.height/2, r.height-2]) {
						const at = document.elementFromPoint(r.left + x, r.top + y);
						if (!e.contains(at)) over.push((at ? at.tagName + "." + at.className : "nothing") + " is over " + e.tagName);
					}
				}
				return [...new Set(over)].slice(0, 3).join("; ");
			})()`))
			if over != "" {
				t.Errorf("%d px: %s: %s", width, over, sheet)
			}
		}
		if get(b, chromedp.Evaluate[bool](`[...document.querySelectorAll("style[nonce]")].some(e => e.textContent.includes("}\n.fs") && /\n\.fs[^\n]*$/.test(e.textContent))`)) {
			written++
		}
	}
	if written < 80 {
		t.Errorf("%d of %d sheets were written into the page", written, len(sheets))
	}
}
