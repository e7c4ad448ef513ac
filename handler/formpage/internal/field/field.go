// Package field renders a form's blocks. It builds a view of each block and writes its HTML, including the violations
// in its answer. It does not use html/template, which needs ten times as much time and memory per block, because a page
// can have thousands of blocks. Instead, package htmlwriter escapes all values in text and in quoted attributes, and
// package policy checks the URLs. block_types.go contains the rendering for each block type.
package field

import (
	"cmp"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/host"
	"github.com/formsvc/formsvc/handler/formpage/internal/htmlwriter"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/theme"
	"github.com/formsvc/formsvc/handler/formpage/internal/upload"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/schema"
)

type writer struct {
	*htmlwriter.Writer
	words *words.Words
}

// Field holds the data for one block's HTML.
type Field struct {
	write   func(*writer, *Field) // If nil, the block has no HTML.
	control func(*writer, *Field) // Writes a question's inputs. Nil if it has none.

	Type     string // The block type.
	Kind     string // A CSS class, for blocks without an answer.
	Fieldset bool   // Whether to use a fieldset, because there is more than one control.
	ID       string // The element's ID, which is also the prefix for the IDs of its parts.
	Block    string // The block's ID.

	Label, Description string // Without formats.
	HasDescription     bool   // Whether the block has one. Insertions can be empty.
	HasLabel           bool
	Number             int // Zero if the question is not numbered.
	Required           bool
	Error              string
	Focus              bool   // Whether the field is focused initially.
	Help               string // A sentence that describes the expected answer.
	HTML               struct {
		Label, Description, Error, Help string // Empty for a text without formats.
	}
	Image      *policy.Picture
	ImageAlign string
	Properties *schema.Properties

	Name, Value         string
	Input               string // The type attribute.
	Mode                string // The inputmode attribute.
	Autocomplete        string // The autocomplete attribute.
	Placeholder         string
	Min, Max            string
	Step                string
	MaxChars            int
	Options             []Option // The choices, or the columns of a matrix.
	Other               *Option
	OtherName           string // The name of the input for the "other" text.
	OtherText           string
	Rows                []Row
	Parts               []Field
	Low, Mid, High      string // The labels of a scale.
	Icon                string // The icon's SVG path.
	Link                template.URL
	Separator           string // The separator between a date's parts.
	Frame               string // An embed's URL.
	Video               string // A video file's URL.
	Zone                string // The name of the input for the browser's UTC offset.
	Countries           string // A country field's HTML options.
	CallingCodes        string // The HTML options for a phone number's country.
	ShowsInterpretation bool   // Whether to show below the field how its text is interpreted.
	Interpretation      string
	Stored              []upload.File
	Widget              *host.Widget
	Accept              string
	MaxBytes            int64 // The size limit for a file.
	Multiple            bool
	Remove              string // The name of the buttons that remove files.
	Amount              string // A payment's amount with its currency.
	Fixed               string // A stored answer that is only shown.
	Classes             string
	List                *List // Nil if the choices are the block's own.
}

// Option is one of a field's choices.
type Option struct {
	ID, Name, Value, Label string
	HTML                   string // Of a label with formats.
	Badge                  string
	Color                  string // The CSS class of the choice's color swatch.
	Image                  *policy.Picture
	Chosen, Required       bool
}

// Row is a row of a matrix.
type Row struct {
	ID, Name, Label string
	Chosen          []string // The values of the selected columns.
}

// Problem is an entry in the summary above the form. ID is empty if the page has no matching field.
type Problem struct{ ID, Label, Text string }

// Render renders the blocks of a page.
func Render(s *Source, blocks []schema.Block) *Rendered {
	b := newBuilder(s)
	b.renderBlocks(blocks)
	b.HTML = b.out.TakeChunks()
	return &b.Rendered
}

// RenderEnding renders an ending. If leads is true, it renders no link, because the page opens the link automatically.
func RenderEnding(s *Source, block *schema.Block, leads bool) *Rendered {
	b, f := newBuilder(s), new(Field)
	b.fillField(f, block)
	if leads {
		f.Link = ""
	}
	b.writeEnding(f)
	b.HTML = b.out.TakeChunks()
	return &b.Rendered
}

// renderBlocks renders blocks until the size limit is reached. All blocks share one Field, because separate Fields
// would take more memory than the page.
func (b *builder) renderBlocks(blocks []schema.Block) {
	var f Field // Shared by all blocks, because it takes 1 KB.
	for i := range blocks {
		block := &blocks[i]
		if formblock.Properties(block).Hide || block.Type == schema.TypeEnding || block.Type == schema.TypePageBreak {
			continue
		}
		group := block.Type == schema.TypeGroup
		if b.out.CheckRoom() {
			b.fillField(&f, block)
			f.Focus = b.focus && block.TakesAnswer() && f.control != nil
			b.focus = b.focus && group && !f.HasDescription && f.Image == nil
			if f.write != nil {
				f.write(b.out, &f)
			}
			b.options, b.parts = f.Options, f.Parts
			if group {
				b.renderBlocks(block.Children)
				b.out.Put("</fieldset>\n")
			}
			b.focus = false
		}
		if b.out.Truncated && !group {
			if b.Omitted++; b.Omitted == 1 {
				b.FirstOmitted = cmp.Or(b.Label(block), block.ID)
			}
		}
	}
}

func (b *builder) fillField(f *Field, block *schema.Block) {
	p := formblock.Properties(block)
	*f = Field{
		write: (*writer).writeQuestion, control: (*writer).writeInput,
		Type: block.Type, Kind: block.Type, ID: "q" + strconv.Itoa(b.index[block.ID]), Block: block.ID, Properties: p,
		HasLabel: block.Label != "", HasDescription: block.Description != "", Required: block.Required, Number: b.numbers[block.ID],
		Name: input.Answer + block.ID, Placeholder: p.PlaceholderText, Input: "text", Options: b.options[:0], Parts: b.parts[:0],
	}
	f.Label, f.HTML.Label = b.text(block.Label, allMarks)
	f.Description, f.HTML.Description = b.text(block.Description, allMarks)
	if strings.TrimSpace(f.Label) == "" && block.TakesAnswer() {
		f.HTML.Label, f.Label = "", b.Words.Get("type."+block.Type)
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
	if l, ok := b.Lists[block.ID]; ok {
		b.useList(f, block, &l)
	}
	if text, ok := b.Fixed[block.ID]; ok {
		f.control, f.Required, f.Amount, f.Fixed, f.Help = nil, false, "", text, b.Words.Get("edit.fixed")
	} else if b.Host.CannotAnswer(block) { // Do not require an answer that the page cannot accept.
		f.Required = false
		f.Help += " " + b.Words.Get("error.REQUIRED.unavailable")
	}
	if f.Input == "radio" {
		for i := range f.Options {
			f.Options[i].Required = f.Required
		}
	}
	answered := block.TakesAnswer()
	if answered && f.Remove == "" && (f.List == nil || !f.List.Failed) {
		f.Value, f.Interpretation = b.useValue(f.Name), cmp.Or(f.Interpretation, b.Interpretations[f.Name].Text)
	}
	b.addViolations(f, block)
	if b.Settings.InlineFields && !b.Single {
		f.Classes += " inline"
	}
}

// addViolations adds a field's violations to the field, or to one of its parts, and to the summary.
func (b *builder) addViolations(f *Field, block *schema.Block) {
	for _, v := range b.Rendered.Violations[block.ID] {
		sub := ViolationPart(v.Path)
		i := slices.IndexFunc(f.Parts, func(part Field) bool { return sub != "" && part.Block == sub })
		if i < 0 {
			if f.Error == "" {
				f.Error, f.HTML.Error = b.violationText(v, block, false)
			}
		} else if part := &f.Parts[i]; part.Error == "" {
			part.Error = b.ViolationText(v, block, true)
			b.Problems = append(b.Problems, Problem{part.ID, f.Label + ": " + part.Label, part.Error})
		}
	}
	switch {
	case f.Error == "":
	case f.Label == "": // A group may have no label, but a link needs a text.
		b.Problems = append(b.Problems, Problem{f.ID, f.Error, ""})
	default:
		b.Problems = append(b.Problems, Problem{f.ID, f.Label, f.Error})
	}
}
