package field

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/formsvc/formsvc/handler/formpage/internal/fault"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/theme"
	"github.com/formsvc/formsvc/schema"
)

// Draw draws blocks of a page.
func Draw(s *Source, blocks []schema.Block) *Drawn {
	b := newBuilder(s)
	b.fields(blocks)
	b.HTML = b.pen.End()
	return &b.Drawn
}

// Ending returns the view of an ending, which its page draws.
func Ending(s *Source, block *schema.Block) (*Field, *Drawn) {
	b, f := newBuilder(s), new(Field)
	b.field(f, block)
	return f, &b.Drawn
}

// fields draws blocks, as many as there is room for. The view of one is gone when the next
// one is drawn: all of them would take more memory than the page.
func (b *builder) fields(blocks []schema.Block) {
	var f Field // one for all: it is a kilobyte
	for i := range blocks {
		block := &blocks[i]
		if formblock.Properties(block).Hide || block.Type == schema.TypeEnding || block.Type == schema.TypePageBreak {
			continue
		}
		group := block.Type == schema.TypeGroup
		if b.pen.More() {
			b.field(&f, block)
			f.Focus = b.focus && block.TakesAnswer() && f.control != nil
			b.focus = b.focus && group && f.Description == "" && f.Image == nil
			if f.write != nil {
				f.write(b.pen, &f)
			}
			b.options, b.parts = f.Options, f.Parts
			if group {
				b.fields(block.Children)
				b.pen.Put("</fieldset>\n")
			}
			b.focus = false
		}
		if b.pen.Full && !group {
			if b.Cut++; b.Cut == 1 {
				b.CutAt = cmp.Or(block.Label, block.ID)
			}
		}
	}
}

// field makes f the view of one block.
func (b *builder) field(f *Field, block *schema.Block) {
	p := formblock.Properties(block)
	*f = Field{
		write: (*writer).question, control: (*writer).input,
		Type: block.Type, Kind: block.Type, ID: "q" + strconv.Itoa(b.index[block.ID]), Block: block.ID, P: p,
		Label: block.Label, Description: block.Description, Required: block.Required, Number: b.numbers[block.ID],
		Name: input.Answer + block.ID, Placeholder: p.PlaceholderText, Input: "text", Options: b.options[:0], Parts: b.parts[:0],
	}
	if block.Label == "" && block.TakesAnswer() {
		f.Label = b.Words.Get("type." + block.Type)
	}
	f.Image = b.picture(p.Image, p.ImageAlt)
	if p.ImageWidth != nil && f.Image != nil && *p.ImageWidth > 0 {
		b.Theme.AddRule("#"+f.ID+" .pic img", "width:"+theme.Pixels(math.Min(*p.ImageWidth, 4000)))
	}
	if f.Image != nil {
		f.ImageAlign = cmp.Or(p.ImageAlign, "inline")
	}
	b.Used["#"+block.ID] = true
	b.draw(f, block, p)
	if b.Host.CannotGive(block) { // the page demands nothing that it cannot take
		f.Required = false
		f.Help += " " + b.Words.Get("fault.REQUIRED.unavailable")
	}
	if f.Input == "radio" {
		for i := range f.Options {
			f.Options[i].Required = f.Required
		}
	}
	answered := block.TakesAnswer()
	if answered && f.Remove == "" {
		f.Value, f.Reading = b.value(f.Name), b.Readings[f.Name].Text
	}
	if answered || f.Widget != nil {
		b.fault(f, block)
	}
	if b.Settings.InlineFields && !b.Single {
		f.Classes += " inline"
	}
}

// fault words the fault of a field and adds it to the summary. Faults of a part stand
// beside the part.
func (b *builder) fault(f *Field, block *schema.Block) {
	for _, v := range b.Drawn.Faults[block.ID] {
		sub := fault.Part(v.Path)
		i := slices.IndexFunc(f.Parts, func(part Field) bool { return sub != "" && part.Block == sub })
		if i < 0 {
			f.Fault = cmp.Or(f.Fault, b.texts.Text(v, block, false))
		} else if part := &f.Parts[i]; part.Fault == "" {
			part.Fault = b.texts.Text(v, block, true)
			b.Problems = append(b.Problems, Problem{part.ID, f.Label + ": " + part.Label, part.Fault})
		}
	}
	if f.Fault != "" {
		b.Problems = append(b.Problems, Problem{f.ID, f.Label, f.Fault})
	}
}
