package field

import (
	"strconv"

	"github.com/formsvc/formsvc/handler/formpage/internal/htmlwriter"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
)

func (p *writer) writeTextarea(f *Field) {
	p.Put(`<textarea id="%i" name="%i" rows="4"`, f.ID, f.Name)
	p.writeInputAttributes(f)
	p.Put(">\n%v</textarea>", f.Value)
}

func (p *writer) writeInputAttributes(f *Field) {
	p.PutIf(f.Placeholder != "", ` placeholder="%s"`, f.Placeholder)
	p.PutIf(f.Min != "", ` min="%i"`, f.Min)
	p.PutIf(f.Max != "", ` max="%i"`, f.Max)
	p.PutIf(f.Step != "", ` step="%i"`, f.Step)
	p.PutIf(f.MaxChars > 0, ` data-max="%i"`, strconv.Itoa(f.MaxChars))
	p.PutIf(f.Required, " required")
	p.writeARIA(f)
}

func (p *writer) writeInput(f *Field) {
	p.Put(`<input type="%i" id="%i" name="%i" value="%v"`, f.Input, f.ID, f.Name, f.Value)
	p.PutIf(f.Mode != "", ` inputmode="%i"`, f.Mode)
	p.PutIf(f.Autocomplete != "", ` autocomplete="%i"`, f.Autocomplete)
	p.writeInputAttributes(f)
	p.PutIf(f.ShowsInterpretation, " data-read")
	p.Put(">")
	if f.CallingCodes != "" {
		p.Put(`<select class="whose" id="%i-c" name="c.%i" autocomplete="%i-country-code" aria-label="%s: %s" data-read>`, f.ID, f.Name, f.Autocomplete, f.Label, p.words.Get("part.country"))
		p.WriteMarkup(f.CallingCodes)
		p.Put("</select>")
	}
	p.PutIf(f.ShowsInterpretation, `<p class="fs-read" id="%i-s" aria-live="polite">%s</p>`, f.ID, f.Interpretation)
}

func (p *writer) writeOption(o *Option) {
	p.Put(`<option value="%v"`, o.Value)
	p.PutIf(o.Chosen, " selected")
	p.Put(">%s</option>", o.Label)
}

func (p *writer) writeOtherText(f *Field) {
	if o := f.Other; o != nil {
		p.Put(`<input class="other-text" id="%i-o" name="%i" value="%v" aria-label="`, f.ID, f.OtherName, f.OtherText)
		p.PutSentence(p.words.Get("other.text"), "label", o.Label)
		p.Put(`" placeholder="`)
		p.PutSentence(p.words.Get("other.text"), "label", o.Label)
		p.Put(`" autocomplete="off"`)
		p.PutIf(f.Interpretation != "", ` aria-describedby="%i-os"`, f.ID)
		p.Put(">")
		p.PutIf(f.Interpretation != "", `<p class="fs-fault" id="%i-os">%s</p>`, f.ID, f.Interpretation)
	}
}

func (p *writer) writeDateParts(f *Field) {
	if len(f.Parts) == 0 {
		return
	}
	p.Put(`<div class="dateparts">`)
	for i, part := range htmlwriter.EachFitting(p.Writer, f.Parts) {
		p.PutIf(i > 0 && f.Separator != "" && part.Input != "time", `<span class="sep" aria-hidden="true">%s</span>`, f.Separator)
		p.Put(`<div class="dp`)
		p.PutIf(part.Input == "text", " digits")
		p.Put(`"><label for="%i">%s</label>`, part.ID, part.Label)
		p.writeInput(part)
		p.Put("</div>")
	}
	p.Put("</div>")
	p.PutIf(f.Zone != "", `<input type="hidden" name="%i" data-zone>`, f.Zone)
}

// writeChoiceInput writes an option's input. begin is the start of the option's label.
func (p *writer) writeChoiceInput(begin, kind string, o *Option) {
	p.Put(begin+`<input type="%i" name="%i" value="%v"`, kind, o.Name, o.Value)
	p.PutIf(o.Chosen, " checked")
	p.PutIf(o.Required, " required")
	p.Put(">")
}

func (p *writer) writeChoice(kind string, o *Option) {
	p.Put(`<label class="opt`)
	p.PutIf(o.Image != nil, " has-pic")
	p.writeChoiceInput(`">`, kind, o)
	if o.Image != nil {
		p.Put(`<img src="%i" alt="%s" loading="lazy">`, string(o.Image.URL), o.Image.Alt)
	}
	p.PutIf(o.Badge != "", `<span class="badge">%s</span>`, o.Badge)
	p.PutIf(o.Color != "", `<span class="swatch %i"></span>`, o.Color)
	p.Put(`<span class="lbl">%t</span></label>`, o.Label, o.HTML)
}

func (p *writer) writeQuestion(f *Field) {
	tag := "div"
	if f.Fieldset {
		tag = "fieldset"
	}
	p.Put(`<%i class="q`, tag)
	p.PutIf(f.Error != "", " bad")
	p.Put("%i", f.Classes)
	p.PutIf(f.ImageAlign != "", " pic-%i", f.ImageAlign)
	p.PutIf(f.Fieldset, `" id="%i`, f.ID)
	p.Put(`" data-b="%i" data-t="%i"`, f.Block, f.Type)
	switch {
	case f.Fieldset:
		p.writeARIA(f)
		p.Put(" tabindex=\"-1\">\n<legend>")
		p.writeLabel(f)
		p.PutIf(f.Required, `<span class="vh req"> (%s)</span>`, p.words.Get("required"))
		p.Put("</legend>")
	case f.control == nil || len(f.Stored) > 0 && !f.Multiple: // A label needs a control.
		p.Put(">\n" + `<p class="fs-label"`)
		p.PutIf(len(f.Stored) == 0, ` id="%i"`, f.ID)
		p.Put(">")
		p.writeLabel(f)
		p.Put("</p>")
	default:
		p.Put(">\n"+`<label class="fs-label" for="%i">`, f.ID)
		p.writeLabel(f)
		p.Put("</label>")
	}
	p.writeHelp(f)
	p.writePicture(f.Image)
	p.Put("\n" + `<div class="fs-in">`)
	if f.control != nil {
		f.control(p, f)
	}
	if len(f.Rows) == 0 {
		p.writeClearButton(f, f.Name, f.Label)
	}
	p.PutIf(f.Amount != "", `<p class="fs-pay"><strong>%s</strong></p>`, f.Amount)
	p.PutIf(f.Fixed != "", `<p class="fs-pay">%v</p>`, f.Fixed)
	p.Put("</div></%i>\n", tag)
}

func (p *writer) writeLabel(f *Field) {
	p.PutIf(f.Number > 0, `<span class="num">%i.</span> `, strconv.Itoa(f.Number))
	p.Put("%t", f.Label, f.HTML.Label)
	p.PutIf(f.Required, `<span class="req" aria-hidden="true">*</span>`)
}

func (p *writer) writeHelp(f *Field) {
	p.PutIf(f.HasDescription, `<p class="fs-desc" id="%i-d">%t</p>`, f.ID, f.Description, f.HTML.Description)
	p.PutIf(f.Help != "", `<p class="fs-help" id="%i-h">%t</p>`, f.ID, f.Help, f.HTML.Help)
	p.PutIf(f.Error != "", `<p class="fs-fault" id="%i-e">%t</p>`, f.ID, f.Error, f.HTML.Error)
}

func (p *writer) writeARIA(f *Field) {
	if f.HasDescription || f.Help != "" || f.Error != "" || f.ShowsInterpretation {
		p.Put(` aria-describedby="`)
		p.PutIf(f.HasDescription, "%i-d ", f.ID)
		p.PutIf(f.Help != "", "%i-h ", f.ID)
		p.PutIf(f.Error != "", "%i-e ", f.ID)
		p.PutIf(f.ShowsInterpretation, "%i-s", f.ID)
		p.Put(`"`)
	}
	p.PutIf(f.Error != "", ` aria-invalid="true"`)
	p.PutIf(f.Focus, " autofocus")
}

func (p *writer) writePicture(pic *policy.Picture) {
	if pic != nil {
		p.Put(`<div class="pic"><img src="%i" alt="%s"`, string(pic.URL), pic.Alt)
		p.PutIf(pic.Width > 0, ` width="%i" height="%i"`, strconv.Itoa(pic.Width), strconv.Itoa(pic.Height))
		p.Put(` loading="lazy"></div>`)
	}
}
