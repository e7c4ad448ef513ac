package field

import (
	"strconv"

	"github.com/formsvc/formsvc/handler/formpage/internal/pen"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
)

func (p *writer) textarea(f *Field) {
	p.Put(`<textarea id="%i" name="%i" rows="4"`, f.ID, f.Name)
	p.limits(f)
	p.Put(">\n%v</textarea>", f.Value)
}

// limits writes the attributes that inputs of a text end with.
func (p *writer) limits(f *Field) {
	p.When(f.Placeholder != "", ` placeholder="%s"`, f.Placeholder)
	p.When(f.Min != "", ` min="%i"`, f.Min)
	p.When(f.Max != "", ` max="%i"`, f.Max)
	p.When(f.Step != "", ` step="%i"`, f.Step)
	p.When(f.MaxChars > 0, ` data-max="%i"`, strconv.Itoa(f.MaxChars))
	p.When(f.Required, " required")
	p.aria(f)
}

func (p *writer) input(f *Field) {
	p.Put(`<input type="%i" id="%i" name="%i" value="%v"`, f.Input, f.ID, f.Name, f.Value)
	p.When(f.Mode != "", ` inputmode="%i"`, f.Mode)
	p.When(f.Complete != "", ` autocomplete="%i"`, f.Complete)
	p.limits(f)
	p.When(f.Reads, " data-read")
	p.Put(">")
	if f.Callers != "" {
		p.Put(`<select class="whose" id="%i-c" name="c.%i" autocomplete="%i-country-code" aria-label="%s: %s" data-read>`, f.ID, f.Name, f.Complete, f.Label, p.words.Get("part.country"))
		p.Markup(f.Callers)
		p.Put("</select>")
	}
	p.When(f.Reads, `<p class="fs-read" id="%i-s" aria-live="polite">%s</p>`, f.ID, f.Reading)
}

func (p *writer) listed(o *Option) {
	p.Put(`<option value="%v"`, o.Value)
	p.When(o.Chosen, " selected")
	p.Put(">%s</option>", o.Label)
}

func (p *writer) otherText(f *Field) {
	if o := f.Other; o != nil {
		p.Put(`<input class="other-text" id="%i-o" name="%i" value="%v" aria-label="`, f.ID, f.OtherName, f.OtherText)
		p.Sentence(p.words.Get("other.text"), "label", o.Label)
		p.Put(`" placeholder="`)
		p.Sentence(p.words.Get("other.text"), "label", o.Label)
		p.Put(`" autocomplete="off"`)
		p.When(f.Reading != "", ` aria-describedby="%i-os"`, f.ID)
		p.Put(">")
		p.When(f.Reading != "", `<p class="fs-fault" id="%i-os">%s</p>`, f.ID, f.Reading)
	}
}

// dateParts writes the inputs of a date in parts, if it has some.
func (p *writer) dateParts(f *Field) {
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
func (p *writer) pick(begin, kind string, o *Option) {
	p.Put(begin+`<input type="%i" name="%i" value="%v"`, kind, o.Name, o.Value)
	p.When(o.Chosen, " checked")
	p.When(o.Required, " required")
	p.Put(">")
}

func (p *writer) choice(kind string, o *Option) {
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

// question writes a block that is answered.
func (p *writer) question(f *Field) {
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
	if len(f.Rows) == 0 {
		p.clear(f, f.Name, f.Label)
	}
	p.When(f.Amount != "", `<p class="fs-pay"><strong>%s</strong></p>`, f.Amount)
	p.Put("</div></%i>\n", tag)
}

func (p *writer) name(f *Field) {
	p.When(f.Number > 0, `<span class="num">%i.</span> `, strconv.Itoa(f.Number))
	p.Put("%s", f.Label)
	p.When(f.Required, `<span class="req" aria-hidden="true">*</span>`)
}

func (p *writer) about(f *Field) {
	p.When(f.Description != "", `<p class="fs-desc" id="%i-d">%s</p>`, f.ID, f.Description)
	p.When(f.Help != "", `<p class="fs-help" id="%i-h">%s</p>`, f.ID, f.Help)
	p.When(f.Fault != "", `<p class="fs-fault" id="%i-e">%s</p>`, f.ID, f.Fault)
}

// aria writes the attributes that tie a control to what about wrote.
func (p *writer) aria(f *Field) {
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
