package formpage

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/schema"
)

// This file writes the HTML of fields, of which a page may have thousands: html/template
// takes ten times as long for one, and as much memory. Values stand in text or in an attribute
// in double quotes, as put escapes them, and an address was checked before (webLink,
// policy.picture).

func (p *pen) divider(f *field) { p.put(`<hr class="fs-divider" data-b="%i">`+"\n", f.Block) }

// group writes the beginning of a group.
func (p *pen) group(f *field) {
	p.put(`<fieldset class="q group%i" id="%i" data-b="%i">`, f.Classes, f.ID, f.Block)
	p.when(f.Label != "", "<legend>%s</legend>", f.Label)
	p.when(f.Description != "", `<p class="fs-desc">%s</p>`, f.Description)
	p.pic(f.Image)
	p.put("\n")
}

func (p *pen) captcha(f *field) {
	p.put(`<div class="q`)
	p.when(f.Fault != "", " bad")
	p.put(`" id="%i" data-b="%i" tabindex="-1"><p class="fs-label">%s</p>`, f.ID, f.Block, f.Label)
	p.about(f)
	p.put(`<div class="%i" data-sitekey="%i"></div><noscript>%s</noscript><script src="%i" async defer></script></div>`+"\n",
		f.Widget.Class, f.Widget.SiteKey, p.words.Get("captcha.noscript"), f.Widget.Script)
}

// question writes a block that is answered.
func (p *pen) question(f *field) {
	tag := "div"
	if f.Set {
		tag = "fieldset"
	}
	p.put(`<%i class="q`, tag)
	p.when(f.Fault != "", " bad")
	p.put("%i", f.Classes)
	p.when(f.ImageAlign != "", " pic-%i", f.ImageAlign)
	p.when(f.Set, `" id="%i`, f.ID)
	p.put(`" data-b="%i" data-t="%i"`, f.Block, f.Type)
	switch {
	case f.Set:
		p.aria(f)
		p.put(" tabindex=\"-1\">\n<legend>")
		p.name(f)
		p.when(f.Required, `<span class="vh req"> (%s)</span>`, p.words.Get("required"))
		p.put("</legend>")
	case f.control == nil || len(f.Stored) > 0 && !f.Several: // there is nothing that a label could be for
		p.put(">\n" + `<p class="fs-label"`)
		p.when(len(f.Stored) == 0, ` id="%i"`, f.ID)
		p.put(">")
		p.name(f)
		p.put("</p>")
	default:
		p.put(">\n"+`<label class="fs-label" for="%i">`, f.ID)
		p.name(f)
		p.put("</label>")
	}
	p.about(f)
	p.pic(f.Image)
	p.put("\n" + `<div class="fs-in">`)
	if f.control != nil {
		f.control(p, f)
	}
	p.when(f.Amount != "", `<p class="fs-pay"><strong>%s</strong></p>`, f.Amount)
	p.put("</div></%i>\n", tag)
}

func (p *pen) name(f *field) {
	p.when(f.Number > 0, `<span class="num">%i.</span> `, strconv.Itoa(f.Number))
	p.put("%s", f.Label)
	p.when(f.Required, `<span class="req" aria-hidden="true">*</span>`)
}

func (p *pen) about(f *field) {
	p.when(f.Description != "", `<p class="fs-desc" id="%i-d">%s</p>`, f.ID, f.Description)
	p.when(f.Help != "", `<p class="fs-help" id="%i-h">%s</p>`, f.ID, f.Help)
	p.when(f.Fault != "", `<p class="fs-fault" id="%i-e">%s</p>`, f.ID, f.Fault)
}

// aria writes the attributes that tie a control to what about wrote.
func (p *pen) aria(f *field) {
	if f.Description != "" || f.Help != "" || f.Fault != "" || f.Reads {
		p.put(` aria-describedby="`)
		p.when(f.Description != "", "%i-d ", f.ID)
		p.when(f.Help != "", "%i-h ", f.ID)
		p.when(f.Fault != "", "%i-e ", f.ID)
		p.when(f.Reads, "%i-s", f.ID)
		p.put(`"`)
	}
	p.when(f.Fault != "", ` aria-invalid="true"`)
	p.when(f.Focus, " autofocus")
}

func (p *pen) pic(pic *picture) {
	if pic != nil {
		p.put(`<div class="pic"><img src="%i" alt="%s"`, string(pic.URL), pic.Alt)
		p.when(pic.Width > 0, ` width="%i" height="%i"`, strconv.Itoa(pic.Width), strconv.Itoa(pic.Height))
		p.put(` loading="lazy"></div>`)
	}
}

// content writes a block that nobody answers.
func (p *pen) content(f *field) {
	p.put(`<div class="c c-%i`, f.Kind)
	p.when(f.ImageAlign != "", " pic-%i", f.ImageAlign)
	p.when(f.Kind == "screen", " fs-screen")
	p.put(`" id="%i" data-b="%i">`, f.ID, f.Block)
	switch f.ImageAlign {
	case "cover", "split_left", "split_right", "float_left", "float_right":
		p.pic(f.Image)
	}
	p.put("\n")
	switch {
	case f.Label == "":
	case f.Kind == "statement" && f.P.QuotationMarks:
		p.put("<blockquote><p>%s</p></blockquote>", f.Label)
	case f.Kind == "prose":
		p.put(`<p class="fs-text">%s</p>`, f.Label)
	default:
		p.put("<h2>%s</h2>", f.Label)
	}
	p.put("\n")
	p.when(f.Description != "", `<p class="fs-desc">%s</p>`, f.Description)
	p.put("\n")
	if f.ImageAlign == "inline" {
		p.pic(f.Image)
	}
	switch link := string(f.Link); {
	case f.Video != "":
		p.put(`<video class="fs-video" src="%i" controls preload="metadata"></video>`, f.Video)
	case f.Frame != "":
		p.put(`<div class="fs-embed" data-frame="%i"><a class="fs-button quiet" href="%i" target="_blank" rel="noopener">`, f.Frame, link)
		p.when(f.Kind == "video", `<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M8 5v14l11-7z"/></svg>`)
		p.linkText(f)
		p.put(`<span class="vh nt"> %s</span></a></div>`, p.words.Get("new_tab"))
	case link != "" && f.Kind != "screen":
		p.put(`<a class="fs-button quiet" href="%i" target="_blank" rel="noopener">`, link)
		p.linkText(f)
		p.put(`<span class="vh"> %s</span></a>`, p.words.Get("new_tab"))
	}
	p.put("</div>\n\n")
}

func (p *pen) linkText(f *field) {
	switch {
	case f.Kind == "embed":
		p.sentence("embed.show", "host", strings.TrimPrefix(strings.TrimPrefix(originOf(string(f.Link)), "https://"), "http://"))
	case f.Frame != "":
		p.put("%s", p.words.Get("video.play"))
	default:
		p.put("%s", p.words.Get(f.Kind+".open"))
	}
}

func (p *pen) textarea(f *field) {
	p.put(`<textarea id="%i" name="%i" rows="4"`, f.ID, f.Name)
	p.limits(f)
	p.put(">\n%v</textarea>", f.Value)
}

// limits writes the attributes that inputs of a text end with.
func (p *pen) limits(f *field) {
	p.when(f.Placeholder != "", ` placeholder="%s"`, f.Placeholder)
	p.when(f.Min != "", ` min="%i"`, f.Min)
	p.when(f.Max != "", ` max="%i"`, f.Max)
	p.when(f.Step != "", ` step="%i"`, f.Step)
	p.when(f.MaxChars > 0, ` data-max="%i"`, strconv.Itoa(f.MaxChars))
	p.when(f.Required, " required")
	p.aria(f)
}

func (p *pen) input(f *field) {
	p.put(`<input type="%i" id="%i" name="%i" value="%v"`, f.Input, f.ID, f.Name, f.Value)
	p.when(f.Mode != "", ` inputmode="%i"`, f.Mode)
	p.when(f.Complete != "", ` autocomplete="%i"`, f.Complete)
	p.limits(f)
	p.when(f.Reads, " data-read")
	p.put(">")
	if f.Callers != "" {
		p.put(`<select class="whose" id="%i-c" name="c.%i" autocomplete="tel-country-code" aria-label="%s: %s" data-read>`, f.ID, f.Name, f.Label, p.words.Get("part.country"))
		p.markup(f.Callers)
		p.put("</select>")
	}
	p.when(f.Reads, `<p class="fs-read" id="%i-s" aria-live="polite">%s</p>`, f.ID, f.Reading)
}

// list writes options to choose from in a list.
func (p *pen) list(f *field) {
	p.put(`<select id="%i" name="%i"`, f.ID, f.Name)
	p.when(f.Complete != "", ` autocomplete="%i"`, f.Complete)
	p.when(f.Required, " required")
	p.aria(f)
	p.put(`><option value="">%s</option>`, cmp.Or(f.Placeholder, p.words.Get("choose")))
	p.markup(f.Countries)
	for _, o := range each(p, f.Options) {
		p.listed(o)
	}
	if f.Other != nil {
		p.listed(f.Other)
	}
	p.put("</select>")
	p.dateParts(f)
	p.otherText(f)
}

func (p *pen) listed(o *option) {
	p.put(`<option value="%v"`, o.Value)
	p.when(o.Chosen, " selected")
	p.put(">%s</option>", o.Label)
}

func (p *pen) otherText(f *field) {
	if o := f.Other; o != nil {
		p.put(`<input class="other-text" id="%i-o" name="%i" value="%v" aria-label="`, f.ID, f.OtherName, f.OtherText)
		p.sentence("other.text", "label", o.Label)
		p.put(`" placeholder="`)
		p.sentence("other.text", "label", o.Label)
		p.put(`">`)
	}
}

func (p *pen) files(f *field) {
	if len(f.Stored) > 0 {
		p.put(`<ul class="fs-files">`)
		for _, s := range each(p, f.Stored) {
			p.put(`<li><input type="hidden" name="%i" value="%v"><span>%i</span><button class="fs-button quiet" name="%i" value="%i">`, s.Input, s.Token, s.Name, f.Remove, s.ID)
			p.sentence("remove", "label", s.Name)
			p.put("</button></li>")
		}
		p.put("</ul>")
	}
	if len(f.Stored) > 0 && !f.Several {
		p.put(`<span id="%i"></span>`, f.ID)
		return
	}
	p.when(f.Type == schema.TypeSignature, `<div class="fs-sign" hidden><canvas aria-hidden="true"></canvas><button type="button" class="fs-button quiet" data-clear>%s</button></div>`, p.words.Get("clear"))
	p.put(`<div class="fs-drop"><input type="file" id="%i" name="%i"`, f.ID, f.Name)
	p.when(f.Accept != "", ` accept="%s"`, f.Accept)
	p.put(` data-bytes="%i"`, strconv.FormatInt(f.MaxBytes, 10))
	p.when(f.Several, " multiple")
	p.when(f.Required && len(f.Stored) == 0, " required")
	p.aria(f)
	text := "file.drop"
	if f.Several {
		text = "files.drop"
	}
	p.put(`><span aria-hidden="true" hidden><svg viewBox="0 0 24 24"><path d="M12 16V4M7 9l5-5 5 5M4 16v4h16v-4"/></svg><b>%s</b></span></div>`, p.words.Get(text))
}

// dateParts writes the inputs of a date in parts, if it has some.
func (p *pen) dateParts(f *field) {
	if len(f.Parts) == 0 {
		return
	}
	p.put(`<div class="dateparts">`)
	for i, part := range each(p, f.Parts) {
		p.when(i > 0 && f.Sep != "" && part.Input != "time", `<span class="sep" aria-hidden="true">%s</span>`, f.Sep)
		p.put(`<div class="dp`)
		p.when(part.Input == "text", " digits")
		p.put(`"><label for="%i">%s</label>`, part.ID, part.Label)
		p.input(part)
		p.put("</div>")
	}
	p.put("</div>")
	p.when(f.Zone != "", `<input type="hidden" name="%i" data-zone>`, f.Zone)
}

// pick writes an input that an option is chosen with, after the beginning of its label.
func (p *pen) pick(begin, kind string, o *option) {
	p.put(begin+`<input type="%i" name="%i" value="%v"`, kind, o.Name, o.Value)
	p.when(o.Chosen, " checked")
	p.when(o.Required, " required")
	p.put(">")
}

func (p *pen) choices(f *field) {
	for _, o := range each(p, f.Options) {
		p.choice(f.Input, o)
		p.put("\n")
	}
	if f.Other != nil {
		p.put(`<div class="opt-other">`)
		p.choice(f.Input, f.Other)
		p.otherText(f)
		p.put("</div>")
	}
	p.dateParts(f)
}

func (p *pen) choice(kind string, o *option) {
	p.put(`<label class="opt`)
	p.when(o.Image != nil, " has-pic")
	p.pick(`">`, kind, o)
	if o.Image != nil {
		p.put(`<img src="%i" alt="%s" loading="lazy">`, string(o.Image.URL), o.Image.Alt)
	}
	p.when(o.Badge != "", `<span class="badge">%s</span>`, o.Badge)
	p.when(o.Color != "", `<span class="swatch %i"></span>`, o.Color)
	p.put(`<span class="lbl">%s</span></label>`, o.Label)
}

func (p *pen) scale(f *field) {
	kind := "scale"
	if f.Icon != "" {
		kind = "icons"
	}
	p.put(`<div class="%i">`, kind)
	for _, o := range each(p, f.Options) {
		p.pick("<label>", f.Input, o)
		if f.Icon == "" {
			p.put("<span>%s</span></label>", o.Label)
		} else {
			p.put(`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="%i"/></svg><span class="vh">%s</span></label>`,
				f.Icon, p.words.Get("rating", "value", o.Label, "max", len(f.Options)))
		}
	}
	p.put("</div>")
	p.when(f.Low != "" || f.Mid != "" || f.Hi != "", `<div class="ends"><span>%s</span><span>%s</span><span>%s</span></div>`, f.Low, f.Mid, f.Hi)
}

func (p *pen) contact(f *field) {
	p.put(`<div class="parts">`)
	for _, part := range each(p, f.Parts) {
		p.put(`<div class="part %i`, part.Block)
		p.when(part.Fault != "", " bad")
		p.put(`"><label for="%i">`, part.ID)
		p.name(part)
		p.put("</label>")
		p.about(part)
		part.control(p, part)
		p.put("</div>")
	}
	p.put("</div>")
}

func (p *pen) ranking(f *field) {
	p.put(`<ol class="ranking">`)
	for _, o := range each(p, f.Options) {
		p.put(`<li data-label="%s"><span class="grip" aria-hidden="true"></span>`, o.Label)
		if len(f.Options) > maxPlaces {
			p.put(`<input id="%i" name="%i" value="%v" inputmode="numeric" autocomplete="off" aria-label="`, o.ID, o.Name, o.Value)
			p.sentence("place", "label", o.Label)
			p.put(`">`)
		} else {
			p.put(`<select id="%i" name="%i" aria-label="`, o.ID, o.Name)
			p.sentence("place", "label", o.Label)
			p.put(`"><option value="">–</option>`)
			for n := range f.Options {
				place := strconv.Itoa(n + 1)
				p.listed(&option{Value: place, Label: p.words.Number(place), Chosen: o.Value == place})
			}
			p.put("</select>")
		}
		p.put(`<span class="lbl">%s</span><span class="moves" hidden>`, o.Label)
		p.move("-1", "up", "M6 15l6-6 6 6", o.Label)
		p.move("1", "down", "M6 9l6 6 6-6", o.Label)
		p.put("</span></li>")
	}
	p.put(`</ol><button type="button" class="fs-button quiet" data-ranked hidden>%s</button>`, p.words.Get("ranking.right"))
}

func (p *pen) move(by, word, drawing, label string) {
	p.put(`<button type="button" data-move="%i" aria-label="`, by)
	p.sentence(word, "label", label)
	p.put(`"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="%i"/></svg></button>`, drawing)
}

func (p *pen) matrix(f *field) {
	p.put(`<div class="matrix"><div class="m-head" aria-hidden="true"><span></span>`)
	for _, column := range each(p, f.Columns) {
		p.put("<span>%s</span>", column.Label)
	}
	p.put("</div>")
	for _, r := range each(p, f.Rows) {
		p.put(`<fieldset class="m-row" id="%i"><legend>%s</legend>`, r.ID, r.Label)
		for _, column := range each(p, f.Columns) {
			p.choice(f.Input, &option{Name: r.Name, Value: column.Value, Label: column.Label, Chosen: slices.Contains(r.Chosen, column.Value)})
		}
		p.put("</fieldset>")
	}
	p.put("</div>")
}
