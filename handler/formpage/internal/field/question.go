package field

import (
	"strconv"

	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
)

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
