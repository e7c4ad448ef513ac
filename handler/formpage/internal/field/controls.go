package field

import (
	"strconv"

	"github.com/formsvc/formsvc/handler/formpage/internal/pen"
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
		p.Put(`<select class="whose" id="%i-c" name="c.%i" autocomplete="tel-country-code" aria-label="%s: %s" data-read>`, f.ID, f.Name, f.Label, p.words.Get("part.country"))
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
		p.Put(`">`)
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
