package formpage

import (
	"cmp"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/fault"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/host"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/theme"
	"github.com/formsvc/formsvc/handler/formpage/internal/upload"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/schema"
)

// field is one block with everything that its HTML needs.
type field struct {
	write   func(*writer, *field) // nil: there is nothing to show
	control func(*writer, *field) // writes the inputs of a question; nil: it has none

	Type  string // of the block
	Kind  string // of what is not answered: a class of the page's style
	Set   bool   // it has several controls: drawn as a fieldset
	ID    string // of the element, the start of the ids of its parts
	Block string // the block's id

	Label, Description string
	Number             int // zero: not numbered
	Required           bool
	Fault              string
	Focus              bool   // it has the focus when the page is shown
	Help               string // a sentence on what is expected
	Image              *policy.Picture
	ImageAlign         string
	P                  *schema.Properties

	Name, Value  string
	Input        string // type of the input
	Mode         string // its inputmode
	Complete     string // its autocomplete
	Placeholder  string
	Min, Max     string
	Step         string
	MaxChars     int
	Options      []option
	Other        *option
	OtherName    string // of the input for its text
	OtherText    string
	Rows         []row
	Columns      []option
	Parts        []field
	Low, Mid, Hi string // labels of a scale
	Icon         string // its drawing
	Link         template.URL
	Sep          string // between the parts of a date
	Frame        string // address of an embed
	Video        string // address of a video file
	Zone         string // name of the input for the browser's offset
	Countries    string // the options of a country field, as HTML
	Callers      string // those of the country of a phone number
	Reads        bool   // how its text is read is shown below it
	Reading      string
	Stored       []upload.File
	Widget       *host.Widget
	Accept       string
	MaxBytes     int64 // of a file
	Several      bool
	Remove       string // name of the buttons that take a file back
	Amount       string // of a payment, with its currency
	Classes      string
}

// fields draws blocks, as many as there is room for. The view of one is gone when the next
// one is drawn: all of them would take more memory than the page.
func (b *builder) fields(blocks []schema.Block) {
	var f field // one for all: it is a kilobyte
	for i := range blocks {
		block := &blocks[i]
		if formblock.Properties(block).Hide || block.Type == schema.TypeEnding || block.Type == schema.TypePageBreak {
			continue
		}
		group := block.Type == schema.TypeGroup
		if b.pen.More() {
			b.field(&f, block)
			f.Focus = b.focus && formblock.TakesAnswer(f.Type) && f.control != nil
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
			if b.cut++; b.cut == 1 {
				b.cutAt = cmp.Or(block.Label, block.ID)
			}
		}
	}
}

// field makes f the view of one block.
func (b *builder) field(f *field, block *schema.Block) {
	p := formblock.Properties(block)
	*f = field{
		write: (*writer).question, control: (*writer).input,
		Type: block.Type, Kind: block.Type, ID: b.element(block.ID), Block: block.ID, P: p,
		Label: block.Label, Description: block.Description, Required: block.Required, Number: b.numbers[block.ID],
		Name: input.Answer + block.ID, Placeholder: p.PlaceholderText, Input: "text", Options: b.options[:0], Parts: b.parts[:0],
	}
	if block.Label == "" && formblock.TakesAnswer(block.Type) {
		f.Label = b.c.words.Get("type." + block.Type)
	}
	f.Image = b.picture(p.Image, p.ImageAlt)
	if p.ImageWidth != nil && f.Image != nil && *p.ImageWidth > 0 {
		b.view.Theme.AddRule("#"+f.ID+" .pic img", "width:"+theme.Pixels(math.Min(*p.ImageWidth, 4000)))
	}
	if f.Image != nil {
		f.ImageAlign = cmp.Or(p.ImageAlign, "inline")
	}
	b.used["#"+block.ID] = true
	b.draw(f, block, p)
	if b.c.h.host.CannotGive(block) { // the page demands nothing that it cannot take
		f.Required = false
		f.Help += " " + b.c.words.Get("fault.REQUIRED.unavailable")
	}
	if f.Input == "radio" {
		for i := range f.Options {
			f.Options[i].Required = f.Required
		}
	}
	if formblock.TakesAnswer(block.Type) {
		if f.Remove == "" {
			f.Value, f.Reading = b.value(f.Name), b.c.readings[f.Name].Text
		}
		b.fault(f, block)
	}
	if b.c.form.Settings.InlineFields && !b.view.Single {
		f.Classes += " inline"
	}
}

// posted returns the values of an input, and marks the input as shown. Nothing that is
// drawn reads an input in another way.
func (b *builder) posted(name string) []string {
	b.used[name] = true
	return b.c.values[name]
}

// value returns what was typed into an input.
func (b *builder) value(name string) string {
	if posted := b.posted(name); len(posted) > 0 {
		return posted[0]
	}
	return ""
}

// fault words what is wrong with a field and adds it to the summary. Faults of a part
// stand beside that.
func (b *builder) fault(f *field, block *schema.Block) {
	for _, v := range b.faults[block.ID] {
		sub := fault.Part(v.Path)
		i := slices.IndexFunc(f.Parts, func(part field) bool { return sub != "" && part.Block == sub })
		if i < 0 {
			f.Fault = cmp.Or(f.Fault, b.c.faults().Text(v, block, false))
		} else if part := &f.Parts[i]; part.Fault == "" {
			part.Fault = b.c.faults().Text(v, block, true)
			b.problems = append(b.problems, problem{part.ID, f.Label + ": " + part.Label, part.Fault})
		}
	}
	if f.Fault != "" {
		b.problems = append(b.problems, problem{f.ID, f.Label, f.Fault})
	}
}

// draw chooses how a block is drawn: as a question with one line of text if it says no more.
func (b *builder) draw(f *field, block *schema.Block, p *schema.Properties) {
	switch block.Type {
	case schema.TypeShortText:
		f.MaxChars = formblock.Positive(p.MaxChars)
	case schema.TypeLongText:
		f.control, f.MaxChars = (*writer).textarea, formblock.Positive(p.MaxChars)
	case schema.TypeEmail:
		f.Input, f.Complete, f.Mode, f.Reads = "email", "email", "email", true
	case schema.TypePhone:
		f.Input, f.Complete, f.Mode, f.Reads = "tel", "tel", "tel", true
		f.Callers = b.callers(f.Name, p.DefaultCountry)
	case schema.TypeWebsite:
		f.Complete, f.Mode = "url", "url"
		f.Placeholder = cmp.Or(f.Placeholder, "https://")
	case schema.TypeNumber:
		f.Mode, f.Classes, f.Reads = "decimal", " short", true
		f.Help = b.numberHelp(p)
	case schema.TypeCountry:
		f.control, f.Complete = (*writer).list, "country"
		f.Countries = b.countries(b.c.words.Countries(), f.Name, p.DefaultCountry)
	case schema.TypeTime:
		f.Input, f.Classes = "time", " short"
		if p.ShowSeconds {
			f.Step = "1"
		}
	case schema.TypeDate:
		b.drawDate(f, block, p)
	case schema.TypeRating:
		f.Icon = rateIcon(p.Icon)
		b.scale(f)
	case schema.TypeNPS, schema.TypeOpinionScale:
		b.scale(f)
	case schema.TypeYesNo:
		f.buttons()
		f.Classes = " pair"
		b.fixed(f, "true", b.c.words.Get("yes"), "false", b.c.words.Get("no"))
	case schema.TypeLegal:
		f.buttons()
		if p.LegalType != nil && *p.LegalType == 1 {
			f.Input = "checkbox"
			b.fixed(f, "true", cmp.Or(p.LegalText, b.c.words.Get("legal.accept")))
			break
		}
		f.Help = p.LegalText
		b.fixed(f, "true", b.c.words.Get("legal.accept"), "false", b.c.words.Get("legal.refuse"))
	case schema.TypeDropdown:
		f.control = (*writer).list
		b.choices(f, block, p)
	case schema.TypeSingleChoice, schema.TypeMultipleChoice, schema.TypePictureChoice:
		f.buttons()
		if formblock.TakesSeveral(block) {
			f.Input = "checkbox"
			f.Help = b.countHelp(p)
		}
		if block.Type == schema.TypePictureChoice {
			f.Classes += " pictures"
			if p.SuperSize {
				f.Classes += " super"
			}
		}
		if p.HorizontalAlign {
			f.Classes += " across"
		}
		if n := formblock.Positive(p.PerRow); n > 0 && n <= 12 {
			f.Classes += " per of" + strconv.Itoa(n)
		}
		b.choices(f, block, p)
	case schema.TypeRanking:
		f.control, f.Set = (*writer).ranking, true
		f.Help = b.c.words.Get("help.ranking")
		b.ranking(f, block, p)
	case schema.TypeMatrix:
		f.control, f.Set, f.Input = (*writer).matrix, true, "radio"
		if p.MultiSelection {
			f.Input = "checkbox"
		}
		b.matrix(f, block)
	case schema.TypeAddress, schema.TypeContactInfo:
		f.control, f.Set = (*writer).contact, true
		b.contact(f, block, p)
	case schema.TypeFileUpload, schema.TypeSignature:
		if b.c.files() != nil {
			b.drawFiles(f, block, p)
			break
		}
		f.control, f.Help = nil, b.c.words.Get("help.no_files")
	case schema.TypePayment:
		f.control, f.Help = nil, b.c.words.Get("payment.note")
		f.Amount = strings.TrimSpace(p.Amount + " " + p.Currency)
		if block.Required && b.c.h.host.Payments {
			f.Help += " " + b.c.words.Get("payment.first")
		}
	case schema.TypeGroup:
		f.write = (*writer).group
	case schema.TypeCaptcha:
		b.drawCaptcha(f, block)
	case schema.TypeWelcome, schema.TypeEnding:
		f.write, f.Kind, f.Link = (*writer).content, "screen", policy.Link(p.ButtonLink, "mailto", "tel")
	case schema.TypeText:
		f.write, f.Kind = (*writer).content, "prose"
	case schema.TypeStatement, schema.TypeHeading, schema.TypeImage:
		f.write = (*writer).content
	case schema.TypeVideo:
		f.write = (*writer).content
		f.Link = policy.Link(p.VideoLink)
		f.Frame, f.Video = b.policy.Video(p.VideoLink)
	case schema.TypePDF:
		f.write, f.Link = (*writer).content, policy.Link(p.PDFLink)
	case schema.TypeEmbed:
		f.write, f.Link = (*writer).content, policy.Link(p.EmbedLink)
		f.Frame = b.policy.Frame(p.EmbedLink)
	case schema.TypeDivider:
		f.write = (*writer).divider
	default:
		f.write = nil
	}
}

// buttons draws a field with options as buttons.
func (f *field) buttons() { f.control, f.Set, f.Input = (*writer).choices, true, "radio" }

func (b *builder) numberHelp(p *schema.Properties) string {
	kind := words.Bounds(p.MinVal && p.Min != nil, p.MaxVal && p.Max != nil)
	return b.c.words.Get("help."+kind, "min", formblock.Or(p.Min, 0), "max", formblock.Or(p.Max, 0))
}
