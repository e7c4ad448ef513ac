// Package field renders the blocks of a form. It creates the view of each block and writes its HTML,
// including the violations of its answer.
//
// It does not use html/template, because a page can have thousands of blocks: html/template takes ten times as
// long per block, and ten times the memory. Package pen escapes values in text and in attributes with double
// quotes. The URLs were checked before (policy.Link, Policy.Picture).
//
// kinds.go contains the rendering of each block type.
package field

import (
	"cmp"
	"html/template"
	"math"
	"slices"
	"strconv"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/host"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/pen"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/theme"
	"github.com/formsvc/formsvc/handler/formpage/internal/upload"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/schema"
)

// writer writes the HTML of fields in the page's words.
type writer struct {
	*pen.Pen
	words *words.Words
}

// Field is one block with everything that its HTML needs.
type Field struct {
	write   func(*writer, *Field) // nil: there is nothing to show
	control func(*writer, *Field) // writes the inputs of a question; nil: it has none

	Type     string // of the block
	Kind     string // for an unanswered field: a class of the page's style
	Fieldset bool   // it has several controls: drawn as a fieldset
	ID       string // of the element, the start of the ids of its parts
	Block    string // the block's id

	Label, Description string
	Number             int // zero: not numbered
	Required           bool
	Error              string
	Focus              bool   // it has the focus when the page is shown
	Help               string // a sentence that says which answer is expected
	Image              *policy.Picture
	ImageAlign         string
	Properties         *schema.Properties

	Name, Value    string
	Input          string // type of the input
	Mode           string // its inputmode
	Autocomplete   string // its autocomplete
	Placeholder    string
	Min, Max       string
	Step           string
	MaxChars       int
	Options        []Option // the choices, or the columns of a matrix
	Other          *Option
	OtherName      string // of the input for its text
	OtherText      string
	Rows           []Row
	Parts          []Field
	Low, Mid, High string // labels of a scale
	Icon           string // its drawing
	Link           template.URL
	Separator      string // between the parts of a date
	Frame          string // address of an embed
	Video          string // address of a video file
	Zone           string // name of the input for the browser's offset
	Countries      string // the options of a country field, as HTML
	CallingCodes   string // those of the country of a phone number
	ShowsReading   bool   // how its text is read is shown below it
	Reading        string
	Stored         []upload.File
	Widget         *host.Widget
	Accept         string
	MaxBytes       int64 // of a file
	Multiple       bool
	Remove         string // name of the buttons that take a file back
	Amount         string // of a payment, with its currency
	Classes        string
}

// Option is a choice of a field.
type Option struct {
	ID, Name, Value, Label string
	Badge                  string
	Color                  string // class of its swatch
	Image                  *policy.Picture
	Chosen, Required       bool
}

// Row is a row of a matrix.
type Row struct {
	ID, Name, Label string
	Chosen          []string // the values of its columns
}

// Problem is a line of the summary above the form. ID is empty when the page has no
// field for it.
type Problem struct{ ID, Label, Text string }

// Render draws blocks of a page.
func Render(s *Source, blocks []schema.Block) *Rendered {
	b := newBuilder(s)
	b.renderBlocks(blocks)
	b.HTML = b.pen.TakePieces()
	return &b.Rendered
}

// RenderEnding draws an ending, with its link unless the page leads on by itself.
func RenderEnding(s *Source, block *schema.Block, leads bool) *Rendered {
	b, f := newBuilder(s), new(Field)
	b.fill(f, block)
	if leads {
		f.Link = ""
	}
	b.writeEnding(f)
	b.HTML = b.pen.TakePieces()
	return &b.Rendered
}

// renderBlocks draws blocks, as many as there is room for. The view of one is gone when the next
// one is drawn: all of them would take more memory than the page.
func (b *builder) renderBlocks(blocks []schema.Block) {
	var f Field // one for all: it is a kilobyte
	for i := range blocks {
		block := &blocks[i]
		if formblock.Properties(block).Hide || block.Type == schema.TypeEnding || block.Type == schema.TypePageBreak {
			continue
		}
		group := block.Type == schema.TypeGroup
		if b.pen.HasRoom() {
			b.fill(&f, block)
			f.Focus = b.focus && block.TakesAnswer() && f.control != nil
			b.focus = b.focus && group && f.Description == "" && f.Image == nil
			if f.write != nil {
				f.write(b.pen, &f)
			}
			b.options, b.parts = f.Options, f.Parts
			if group {
				b.renderBlocks(block.Children)
				b.pen.Put("</fieldset>\n")
			}
			b.focus = false
		}
		if b.pen.Truncated && !group {
			if b.Omitted++; b.Omitted == 1 {
				b.FirstOmitted = cmp.Or(block.Label, block.ID)
			}
		}
	}
}

// fill makes f the view of one block.
func (b *builder) fill(f *Field, block *schema.Block) {
	p := formblock.Properties(block)
	*f = Field{
		write: (*writer).writeQuestion, control: (*writer).writeInput,
		Type: block.Type, Kind: block.Type, ID: "q" + strconv.Itoa(b.index[block.ID]), Block: block.ID, Properties: p,
		Label: block.Label, Description: block.Description, Required: block.Required, Number: b.numbers[block.ID],
		Name: input.Answer + block.ID, Placeholder: p.PlaceholderText, Input: "text", Options: b.options[:0], Parts: b.parts[:0],
	}
	if block.Label == "" && block.TakesAnswer() {
		f.Label = b.Words.Get("type." + block.Type)
	}
	f.Image = b.allowPicture(p.Image, p.ImageAlt)
	if p.ImageWidth != nil && f.Image != nil && *p.ImageWidth > 0 {
		b.Theme.AddRule("#"+f.ID+" .pic img", "width:"+theme.FormatPixels(math.Min(*p.ImageWidth, 4000)))
	}
	if f.Image != nil {
		f.ImageAlign = cmp.Or(p.ImageAlign, "inline")
	}
	b.Used["#"+block.ID] = true
	b.fillByType(f, block, p)
	if b.Host.CannotAnswer(block) { // the page demands nothing that it cannot take
		f.Required = false
		f.Help += " " + b.Words.Get("error.REQUIRED.unavailable")
	}
	if f.Input == "radio" {
		for i := range f.Options {
			f.Options[i].Required = f.Required
		}
	}
	answered := block.TakesAnswer()
	if answered && f.Remove == "" {
		f.Value, f.Reading = b.value(f.Name), cmp.Or(f.Reading, b.Readings[f.Name].Text)
	}
	b.addViolation(f, block)
	if b.Settings.InlineFields && !b.Single {
		f.Classes += " inline"
	}
}

// addViolation words the fault of a field and adds it to the summary. Faults of a part stand
// beside the part.
func (b *builder) addViolation(f *Field, block *schema.Block) {
	for _, v := range b.Rendered.Violations[block.ID] {
		sub := ViolationPart(v.Path)
		i := slices.IndexFunc(f.Parts, func(part Field) bool { return sub != "" && part.Block == sub })
		if i < 0 {
			f.Error = cmp.Or(f.Error, b.ViolationText(v, block, false))
		} else if part := &f.Parts[i]; part.Error == "" {
			part.Error = b.ViolationText(v, block, true)
			b.Problems = append(b.Problems, Problem{part.ID, f.Label + ": " + part.Label, part.Error})
		}
	}
	if f.Error != "" {
		b.Problems = append(b.Problems, Problem{f.ID, f.Label, f.Error})
	}
}
