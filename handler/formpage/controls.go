package formpage

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/pen"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/schema"
)

// writer writes the HTML of fields in the page's words.
type writer struct {
	*pen.Pen
	words *words.Words
}

// This file writes the HTML of fields, of which a page may have thousands: html/template
// takes ten times as long for one, and as much memory. Values stand in text or in an attribute
// in double quotes, as Put escapes them, and an address was checked before (policy.Link,
// Policy.Picture).

func (p *writer) divider(f *field) { p.Put(`<hr class="fs-divider" data-b="%i">`+"\n", f.Block) }

// group writes the beginning of a group.
func (p *writer) group(f *field) {
	p.Put(`<fieldset class="q group%i" id="%i" data-b="%i">`, f.Classes, f.ID, f.Block)
	p.When(f.Label != "", "<legend>%s</legend>", f.Label)
	p.When(f.Description != "", `<p class="fs-desc">%s</p>`, f.Description)
	p.pic(f.Image)
	p.Put("\n")
}

func (p *writer) captcha(f *field) {
	p.Put(`<div class="q`)
	p.When(f.Fault != "", " bad")
	p.Put(`" id="%i" data-b="%i" tabindex="-1"><p class="fs-label">%s</p>`, f.ID, f.Block, f.Label)
	p.about(f)
	p.Put(`<div class="%i" data-sitekey="%i"></div><noscript>%s</noscript><script src="%i" async defer></script></div>`+"\n",
		f.Widget.Class, f.Widget.SiteKey, p.words.Get("captcha.noscript"), f.Widget.Script)
}

// question writes a block that is answered.
func (p *writer) question(f *field) {
	tag := "div"
	if f.Set {
		tag = "fieldset"
	}
	p.Put(`<%i class="q`, tag)
	p.When(f.Fault != "", " bad")
	p.Put("%i", f.Classes)
	p.When(f.ImageAlign != "", " pic-%i", f.ImageAlign)
	p.When(f.Set, `" id="%i`, f.ID)
	p.Put(`" data-b="%i" data-t="%i"`, f.Block, f.Type)
	switch {
	case f.Set:
		p.aria(f)
		p.Put(" tabindex=\"-1\">\n<legend>")
		p.name(f)
		p.When(f.Required, `<span class="vh req"> (%s)</span>`, p.words.Get("required"))
		p.Put("</legend>")
	case f.control == nil || len(f.Stored) > 0 && !f.Several: // there is nothing that a label could be for
		p.Put(">\n" + `<p class="fs-label"`)
		p.When(len(f.Stored) == 0, ` id="%i"`, f.ID)
		p.Put(">")
		p.name(f)
		p.Put("</p>")
	default:
		p.Put(">\n"+`<label class="fs-label" for="%i">`, f.ID)
		p.name(f)
		p.Put("</label>")
	}
	p.about(f)
	p.pic(f.Image)
	p.Put("\n" + `<div class="fs-in">`)
	if f.control != nil {
		f.control(p, f)
	}
	p.When(f.Amount != "", `<p class="fs-pay"><strong>%s</strong></p>`, f.Amount)
	p.Put("</div></%i>\n", tag)
}

func (p *writer) name(f *field) {
	p.When(f.Number > 0, `<span class="num">%i.</span> `, strconv.Itoa(f.Number))
	p.Put("%s", f.Label)
	p.When(f.Required, `<span class="req" aria-hidden="true">*</span>`)
}

func (p *writer) about(f *field) {
	p.When(f.Description != "", `<p class="fs-desc" id="%i-d">%s</p>`, f.ID, f.Description)
	p.When(f.Help != "", `<p class="fs-help" id="%i-h">%s</p>`, f.ID, f.Help)
	p.When(f.Fault != "", `<p class="fs-fault" id="%i-e">%s</p>`, f.ID, f.Fault)
}

// aria writes the attributes that tie a control to what about wrote.
func (p *writer) aria(f *field) {
	if f.Description != "" || f.Help != "" || f.Fault != "" || f.Reads {
		p.Put(` aria-describedby="`)
		p.When(f.Description != "", "%i-d ", f.ID)
		p.When(f.Help != "", "%i-h ", f.ID)
		p.When(f.Fault != "", "%i-e ", f.ID)
		p.When(f.Reads, "%i-s", f.ID)
		p.Put(`"`)
	}
	p.When(f.Fault != "", ` aria-invalid="true"`)
	p.When(f.Focus, " autofocus")
}

func (p *writer) pic(pic *policy.Picture) {
	if pic != nil {
		p.Put(`<div class="pic"><img src="%i" alt="%s"`, string(pic.URL), pic.Alt)
		p.When(pic.Width > 0, ` width="%i" height="%i"`, strconv.Itoa(pic.Width), strconv.Itoa(pic.Height))
		p.Put(` loading="lazy"></div>`)
	}
}

// content writes a block that nobody answers.
func (p *writer) content(f *field) {
	p.Put(`<div class="c c-%i`, f.Kind)
	p.When(f.ImageAlign != "", " pic-%i", f.ImageAlign)
	p.When(f.Kind == "screen", " fs-screen")
	p.Put(`" id="%i" data-b="%i">`, f.ID, f.Block)
	switch f.ImageAlign {
	case "cover", "split_left", "split_right", "float_left", "float_right":
		p.pic(f.Image)
	}
	p.Put("\n")
	switch {
	case f.Label == "":
	case f.Kind == "statement" && f.P.QuotationMarks:
		p.Put("<blockquote><p>%s</p></blockquote>", f.Label)
	case f.Kind == "prose":
		p.Put(`<p class="fs-text">%s</p>`, f.Label)
	default:
		p.Put("<h2>%s</h2>", f.Label)
	}
	p.Put("\n")
	p.When(f.Description != "", `<p class="fs-desc">%s</p>`, f.Description)
	p.Put("\n")
	if f.ImageAlign == "inline" {
		p.pic(f.Image)
	}
	switch link := string(f.Link); {
	case f.Video != "":
		p.Put(`<video class="fs-video" src="%i" controls preload="metadata"></video>`, f.Video)
	case f.Frame != "":
		p.Put(`<div class="fs-embed" data-frame="%i"><a class="fs-button quiet" href="%i" target="_blank" rel="noopener">`, f.Frame, link)
		p.When(f.Kind == "video", `<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M8 5v14l11-7z"/></svg>`)
		p.linkText(f)
		p.Put(`<span class="vh nt"> %s</span></a></div>`, p.words.Get("new_tab"))
	case link != "" && f.Kind != "screen":
		p.Put(`<a class="fs-button quiet" href="%i" target="_blank" rel="noopener">`, link)
		p.linkText(f)
		p.Put(`<span class="vh"> %s</span></a>`, p.words.Get("new_tab"))
	}
	p.Put("</div>\n\n")
}

func (p *writer) linkText(f *field) {
	switch {
	case f.Kind == "embed":
		p.Sentence(p.words.Get("embed.show"), "host", strings.TrimPrefix(strings.TrimPrefix(policy.Origin(string(f.Link)), "https://"), "http://"))
	case f.Frame != "":
		p.Put("%s", p.words.Get("video.play"))
	default:
		p.Put("%s", p.words.Get(f.Kind+".open"))
	}
}

func (p *writer) textarea(f *field) {
	p.Put(`<textarea id="%i" name="%i" rows="4"`, f.ID, f.Name)
	p.limits(f)
	p.Put(">\n%v</textarea>", f.Value)
}

// limits writes the attributes that inputs of a text end with.
func (p *writer) limits(f *field) {
	p.When(f.Placeholder != "", ` placeholder="%s"`, f.Placeholder)
	p.When(f.Min != "", ` min="%i"`, f.Min)
	p.When(f.Max != "", ` max="%i"`, f.Max)
	p.When(f.Step != "", ` step="%i"`, f.Step)
	p.When(f.MaxChars > 0, ` data-max="%i"`, strconv.Itoa(f.MaxChars))
	p.When(f.Required, " required")
	p.aria(f)
}

func (p *writer) input(f *field) {
	p.Put(`<input type="%i" id="%i" name="%i" value="%v"`, f.Input, f.ID, f.Name, f.Value)
	p.When(f.Mode != "", ` inputmode="%i"`, f.Mode)
	p.When(f.Complete != "", ` autocomplete="%i"`, f.Complete)
	p.limits(f)
	p.When(f.Reads, " data-read")
	p.Put(">")
	if f.Callers != "" {
		p.Put(`<select class="whose" id="%i-c" name="c.%i" autocomplete="tel-country-code" aria-label="%s: %s" data-read>`, f.ID, f.Name, f.Label, p.words.Get("part.country"))
		p.Markup(f.Callers)
		p.Put("</select>")
	}
	p.When(f.Reads, `<p class="fs-read" id="%i-s" aria-live="polite">%s</p>`, f.ID, f.Reading)
}

// list writes options to choose from in a list.
func (p *writer) list(f *field) {
	p.Put(`<select id="%i" name="%i"`, f.ID, f.Name)
	p.When(f.Complete != "", ` autocomplete="%i"`, f.Complete)
	p.When(f.Required, " required")
	p.aria(f)
	p.Put(`><option value="">%s</option>`, cmp.Or(f.Placeholder, p.words.Get("choose")))
	p.Markup(f.Countries)
	for _, o := range pen.Each(p.Pen, f.Options) {
		p.listed(o)
	}
	if f.Other != nil {
		p.listed(f.Other)
	}
	p.Put("</select>")
	p.dateParts(f)
	p.otherText(f)
}

func (p *writer) listed(o *option) {
	p.Put(`<option value="%v"`, o.Value)
	p.When(o.Chosen, " selected")
	p.Put(">%s</option>", o.Label)
}

func (p *writer) otherText(f *field) {
	if o := f.Other; o != nil {
		p.Put(`<input class="other-text" id="%i-o" name="%i" value="%v" aria-label="`, f.ID, f.OtherName, f.OtherText)
		p.Sentence(p.words.Get("other.text"), "label", o.Label)
		p.Put(`" placeholder="`)
		p.Sentence(p.words.Get("other.text"), "label", o.Label)
		p.Put(`">`)
	}
}

func (p *writer) files(f *field) {
	if len(f.Stored) > 0 {
		p.Put(`<ul class="fs-files">`)
		for _, s := range pen.Each(p.Pen, f.Stored) {
			p.Put(`<li><input type="hidden" name="%i" value="%v"><span>%i</span><button class="fs-button quiet" name="%i" value="%i">`, s.Input, s.Token, s.Name, f.Remove, s.ID)
			p.Sentence(p.words.Get("remove"), "label", s.Name)
			p.Put("</button></li>")
		}
		p.Put("</ul>")
	}
	if len(f.Stored) > 0 && !f.Several {
		p.Put(`<span id="%i"></span>`, f.ID)
		return
	}
	p.When(f.Type == schema.TypeSignature, `<div class="fs-sign" hidden><canvas aria-hidden="true"></canvas><button type="button" class="fs-button quiet" data-clear>%s</button></div>`, p.words.Get("clear"))
	p.Put(`<div class="fs-drop"><input type="file" id="%i" name="%i"`, f.ID, f.Name)
	p.When(f.Accept != "", ` accept="%s"`, f.Accept)
	p.Put(` data-bytes="%i"`, strconv.FormatInt(f.MaxBytes, 10))
	p.When(f.Several, " multiple")
	p.When(f.Required && len(f.Stored) == 0, " required")
	p.aria(f)
	text := "file.drop"
	if f.Several {
		text = "files.drop"
	}
	p.Put(`><span aria-hidden="true" hidden><svg viewBox="0 0 24 24"><path d="M12 16V4M7 9l5-5 5 5M4 16v4h16v-4"/></svg><b>%s</b></span></div>`, p.words.Get(text))
}

// dateParts writes the inputs of a date in parts, if it has some.
func (p *writer) dateParts(f *field) {
	if len(f.Parts) == 0 {
		return
	}
	p.Put(`<div class="dateparts">`)
	for i, part := range pen.Each(p.Pen, f.Parts) {
		p.When(i > 0 && f.Sep != "" && part.Input != "time", `<span class="sep" aria-hidden="true">%s</span>`, f.Sep)
		p.Put(`<div class="dp`)
		p.When(part.Input == "text", " digits")
		p.Put(`"><label for="%i">%s</label>`, part.ID, part.Label)
		p.input(part)
		p.Put("</div>")
	}
	p.Put("</div>")
	p.When(f.Zone != "", `<input type="hidden" name="%i" data-zone>`, f.Zone)
}

// pick writes an input that an option is chosen with, after the beginning of its label.
func (p *writer) pick(begin, kind string, o *option) {
	p.Put(begin+`<input type="%i" name="%i" value="%v"`, kind, o.Name, o.Value)
	p.When(o.Chosen, " checked")
	p.When(o.Required, " required")
	p.Put(">")
}

func (p *writer) choices(f *field) {
	for _, o := range pen.Each(p.Pen, f.Options) {
		p.choice(f.Input, o)
		p.Put("\n")
	}
	if f.Other != nil {
		p.Put(`<div class="opt-other">`)
		p.choice(f.Input, f.Other)
		p.otherText(f)
		p.Put("</div>")
	}
	p.dateParts(f)
}

func (p *writer) choice(kind string, o *option) {
	p.Put(`<label class="opt`)
	p.When(o.Image != nil, " has-pic")
	p.pick(`">`, kind, o)
	if o.Image != nil {
		p.Put(`<img src="%i" alt="%s" loading="lazy">`, string(o.Image.URL), o.Image.Alt)
	}
	p.When(o.Badge != "", `<span class="badge">%s</span>`, o.Badge)
	p.When(o.Color != "", `<span class="swatch %i"></span>`, o.Color)
	p.Put(`<span class="lbl">%s</span></label>`, o.Label)
}

func (p *writer) scale(f *field) {
	kind := "scale"
	if f.Icon != "" {
		kind = "icons"
	}
	p.Put(`<div class="%i">`, kind)
	for _, o := range pen.Each(p.Pen, f.Options) {
		p.pick("<label>", f.Input, o)
		if f.Icon == "" {
			p.Put("<span>%s</span></label>", o.Label)
		} else {
			p.Put(`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="%i"/></svg><span class="vh">%s</span></label>`,
				f.Icon, p.words.Get("rating", "value", o.Label, "max", len(f.Options)))
		}
	}
	p.Put("</div>")
	p.When(f.Low != "" || f.Mid != "" || f.Hi != "", `<div class="ends"><span>%s</span><span>%s</span><span>%s</span></div>`, f.Low, f.Mid, f.Hi)
}

func (p *writer) contact(f *field) {
	p.Put(`<div class="parts">`)
	for _, part := range pen.Each(p.Pen, f.Parts) {
		p.Put(`<div class="part %i`, part.Block)
		p.When(part.Fault != "", " bad")
		p.Put(`"><label for="%i">`, part.ID)
		p.name(part)
		p.Put("</label>")
		p.about(part)
		part.control(p, part)
		p.Put("</div>")
	}
	p.Put("</div>")
}

func (p *writer) ranking(f *field) {
	p.Put(`<ol class="ranking">`)
	for _, o := range pen.Each(p.Pen, f.Options) {
		p.Put(`<li data-label="%s"><span class="grip" aria-hidden="true"></span>`, o.Label)
		if len(f.Options) > maxPlaces {
			p.Put(`<input id="%i" name="%i" value="%v" inputmode="numeric" autocomplete="off" aria-label="`, o.ID, o.Name, o.Value)
			p.Sentence(p.words.Get("place"), "label", o.Label)
			p.Put(`">`)
		} else {
			p.Put(`<select id="%i" name="%i" aria-label="`, o.ID, o.Name)
			p.Sentence(p.words.Get("place"), "label", o.Label)
			p.Put(`"><option value="">–</option>`)
			for n := range f.Options {
				place := strconv.Itoa(n + 1)
				p.listed(&option{Value: place, Label: p.words.Number(place), Chosen: o.Value == place})
			}
			p.Put("</select>")
		}
		p.Put(`<span class="lbl">%s</span><span class="moves" hidden>`, o.Label)
		p.move("-1", "up", "M6 15l6-6 6 6", o.Label)
		p.move("1", "down", "M6 9l6 6 6-6", o.Label)
		p.Put("</span></li>")
	}
	p.Put(`</ol><button type="button" class="fs-button quiet" data-ranked hidden>%s</button>`, p.words.Get("ranking.right"))
}

func (p *writer) move(by, word, drawing, label string) {
	p.Put(`<button type="button" data-move="%i" aria-label="`, by)
	p.Sentence(p.words.Get(word), "label", label)
	p.Put(`"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="%i"/></svg></button>`, drawing)
}

func (p *writer) matrix(f *field) {
	p.Put(`<div class="matrix"><div class="m-head" aria-hidden="true"><span></span>`)
	for _, column := range pen.Each(p.Pen, f.Columns) {
		p.Put("<span>%s</span>", column.Label)
	}
	p.Put("</div>")
	for _, r := range pen.Each(p.Pen, f.Rows) {
		p.Put(`<fieldset class="m-row" id="%i"><legend>%s</legend>`, r.ID, r.Label)
		for _, column := range pen.Each(p.Pen, f.Columns) {
			p.choice(f.Input, &option{Name: r.Name, Value: column.Value, Label: column.Label, Chosen: slices.Contains(r.Chosen, column.Value)})
		}
		p.Put("</fieldset>")
	}
	p.Put("</div>")
}
