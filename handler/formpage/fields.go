package formpage

import (
	"cmp"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/schema"
)

// field is one block with everything that its HTML needs.
type field struct {
	Type  string // of the block
	Kind  string // which template draws it
	Set   bool   // it has several controls: drawn as a fieldset
	ID    string // of the element, the start of the ids of its parts
	Block string // the block's id
	Level int    // of its heading

	Label, Description string
	Number             int // zero: not numbered
	Required           bool
	Fault              string
	Focus              bool   // it has the focus when the page is shown
	Help               string // a sentence on what is expected
	Image              *picture
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
	PerRow       int
	Link         template.URL
	Host         string        // of the embed
	Sep          string        // between the parts of a date
	Frame        string        // address of an embed
	Video        string        // address of a video file
	Zone         string        // name of the input for the browser's offset
	Countries    template.HTML // the options of a country field
	Callers      template.HTML // those of the country of a phone number
	Reads        bool          // how its text is read is shown below it
	Reading      string
	Stored       []shownFile
	Widget       *Widget
	Accept       string
	MaxBytes     int64 // of a file
	Several      bool
	Remove       string // name of the buttons that take a file back
	Amount       string // of a payment, with its currency
	Classes      string
}

// fields draws blocks, as many as there is room for. The view of one is gone when the next
// one is drawn: all of them would take more memory than the page.
func (b *builder) fields(blocks []schema.Block, level int) {
	var f field // one for all: it is a kilobyte
	for i := range blocks {
		block := &blocks[i]
		if properties(block).Hide || block.Type == schema.TypeEnding || block.Type == schema.TypePageBreak {
			continue
		}
		if b.pen.more() {
			b.field(&f, block, level)
			f.Focus = b.focus && takesAnswer(f.Type) && f.Kind != "payment" && f.Kind != "unavailable"
			b.focus = b.focus && f.Kind == "group" && f.Description == "" && f.Image == nil
			b.pen.field(&f)
			b.options, b.parts = f.Options, f.Parts
			if f.Kind == "group" {
				b.fields(block.Children, level+1)
				b.pen.markup("</fieldset>\n")
			}
			b.focus = false
		}
		if b.pen.full && block.Type != schema.TypeGroup {
			if b.cut++; b.cut == 1 {
				b.cutAt = cmp.Or(block.Label, block.ID)
			}
		}
	}
}

// field makes f the view of one block.
func (b *builder) field(f *field, block *schema.Block, level int) {
	p := properties(block)
	*f = field{
		Type: block.Type, ID: b.element(block.ID), Block: block.ID, Level: level, P: p,
		Label: block.Label, Description: block.Description, Required: block.Required, Number: b.numbers[block.ID],
		Name: nameAnswer + block.ID, Placeholder: p.PlaceholderText, Input: "text", Options: b.options[:0], Parts: b.parts[:0],
	}
	if block.Label == "" && takesAnswer(block.Type) {
		f.Label = b.c.words.get("type." + block.Type)
	}
	f.Image = b.picture(p.Image, p.ImageAlt)
	if p.ImageWidth != nil && f.Image != nil && *p.ImageWidth > 0 {
		b.view.Theme.addRule("#"+f.ID+" .pic img", "width:"+length(math.Min(*p.ImageWidth, 4000)))
	}
	if f.Image != nil {
		f.ImageAlign = cmp.Or(p.ImageAlign, "inline")
	}
	b.used["#"+block.ID] = true
	b.draw(f, block, p)
	if b.c.h.cannotGive(block) { // the page demands nothing that it cannot take
		f.Required = false
		f.Help += " " + b.c.words.get("fault.REQUIRED.unavailable")
	}
	if f.Input == "radio" {
		for i := range f.Options {
			f.Options[i].Required = f.Required
		}
	}
	if takesAnswer(block.Type) {
		if f.Remove == "" {
			f.Value, f.Reading = b.value(f.Name), b.c.readings[f.Name].text
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
// or row stand beside that.
func (b *builder) fault(f *field, block *schema.Block) {
	faults := b.faults[block.ID]
	if len(faults) == 0 {
		return
	}
	target, text := f.ID, ""
	for _, v := range faults {
		sub := lastPart(v.Path)
		if i := slices.IndexFunc(f.Parts, func(p field) bool { return p.Block == sub }); i >= 0 && f.Kind == "contact" {
			part := &f.Parts[i]
			if part.Fault == "" {
				part.Fault = b.c.faultText(v, block, true)
				b.problems = append(b.problems, problem{part.ID, f.Label + ": " + part.Label, part.Fault})
			}
			continue
		}
		if text == "" {
			text = b.c.faultText(v, block, false)
		}
	}
	if text == "" && f.Kind == "contact" {
		return
	}
	if text == "" {
		text = b.c.faultText(faults[0], block, false)
	}
	f.Fault = text
	b.problems = append(b.problems, problem{target, f.Label, text})
}

// lastPart is the last part of a JSON Pointer that goes into an answer, "" for the
// answer itself.
func lastPart(pointer string) string {
	parts := strings.Split(pointer, "/")
	if len(parts) < 4 {
		return ""
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(parts[3])
}

// draw chooses how a block is drawn.
func (b *builder) draw(f *field, block *schema.Block, p *schema.Properties) {
	f.Kind = "text"
	switch block.Type {
	case schema.TypeShortText:
		f.MaxChars = positive(p.MaxChars)
	case schema.TypeLongText:
		f.Kind, f.MaxChars = "textarea", positive(p.MaxChars)
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
		f.Kind, f.Complete = "select", "country"
		f.Countries = b.countries(b.c.words.countries(), nameAnswer+block.ID, p.DefaultCountry)
	case schema.TypeTime:
		f.Input, f.Classes = "time", " short"
		if p.ShowSeconds {
			f.Step = "1"
		}
	case schema.TypeDate:
		b.drawDate(f, block, p)
	case schema.TypeRating:
		f.Kind, f.Set, f.Icon = "icons", true, rateIcon(p.Icon)
		b.scale(f)
	case schema.TypeNPS:
		f.Kind, f.Set = "scale", true
		b.scale(f)
	case schema.TypeOpinionScale:
		f.Kind, f.Set = "scale", true
		b.scale(f)
	case schema.TypeYesNo:
		f.Kind, f.Set, f.Input, f.Classes = "choices", true, "radio", " pair"
		b.fixed(f, "true", b.c.words.get("yes"), "false", b.c.words.get("no"))
	case schema.TypeLegal:
		f.Kind, f.Set, f.Input = "choices", true, "radio"
		if p.LegalType != nil && *p.LegalType == 1 {
			f.Input = "checkbox"
			b.fixed(f, "true", cmp.Or(p.LegalText, b.c.words.get("legal.accept")))
			break
		}
		f.Help = p.LegalText
		b.fixed(f, "true", b.c.words.get("legal.accept"), "false", b.c.words.get("legal.refuse"))
	case schema.TypeDropdown:
		f.Kind = "select"
		b.choices(f, block, p)
	case schema.TypeSingleChoice, schema.TypeMultipleChoice, schema.TypePictureChoice:
		f.Kind, f.Set, f.Input = "choices", true, "radio"
		if takesSeveral(block) {
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
		if f.PerRow = positive(p.PerRow); f.PerRow > 0 && f.PerRow <= 12 {
			f.Classes += " per of" + strconv.Itoa(f.PerRow)
		}
		b.choices(f, block, p)
	case schema.TypeRanking:
		f.Kind, f.Set = "ranking", true
		f.Help = b.c.words.get("help.ranking")
		b.ranking(f, block, p)
	case schema.TypeMatrix:
		f.Kind, f.Set, f.Input = "matrix", true, "radio"
		if p.MultiSelection {
			f.Input = "checkbox"
		}
		b.matrix(f, block)
	case schema.TypeAddress, schema.TypeContactInfo:
		f.Kind, f.Set = "contact", true
		b.contact(f, block, p)
	case schema.TypeFileUpload, schema.TypeSignature:
		if b.c.files() != nil {
			b.drawFiles(f, block, p)
			break
		}
		f.Kind = "unavailable"
		f.Help = b.c.words.get("help.no_files")
	case schema.TypePayment:
		f.Kind, f.Help = "payment", b.c.words.get("payment.note")
		if block.Required && b.c.h.config.HostAnswers != nil {
			f.Help += " " + b.c.words.get("payment.first")
		}
		f.Amount = strings.TrimSpace(p.Amount + " " + p.Currency)
	case schema.TypeGroup:
		f.Kind, f.Set = "group", true
	case schema.TypeCaptcha:
		b.drawCaptcha(f, block)
	case schema.TypeWelcome, schema.TypeEnding:
		f.Kind, f.Link = "screen", webLink(p.ButtonLink, "mailto", "tel")
	case schema.TypeStatement:
		f.Kind = "statement"
	case schema.TypeHeading:
		f.Kind = "heading"
	case schema.TypeText:
		f.Kind = "prose"
	case schema.TypeImage:
		f.Kind = "image"
	case schema.TypeVideo:
		f.Kind = "video"
		b.video(f, p.VideoLink)
	case schema.TypePDF:
		f.Kind, f.Link = "pdf", webLink(p.PDFLink)
	case schema.TypeEmbed:
		f.Kind, f.Link = "embed", webLink(p.EmbedLink)
		f.Frame = b.policy.frame(p.EmbedLink)
		f.Host = strings.TrimPrefix(strings.TrimPrefix(originOf(p.EmbedLink), "https://"), "http://")
	case schema.TypeDivider:
		f.Kind = "divider"
	default:
		f.Kind = "nothing"
	}
}

func (b *builder) numberHelp(p *schema.Properties) string {
	low, high := p.MinVal && p.Min != nil, p.MaxVal && p.Max != nil
	switch {
	case low && high:
		return b.c.words.get("help.between", "min", *p.Min, "max", *p.Max)
	case low:
		return b.c.words.get("help.min", "min", *p.Min)
	case high:
		return b.c.words.get("help.max", "max", *p.Max)
	}
	return ""
}

func or(n *float64, fallback float64) float64 {
	if n == nil {
		return fallback
	}
	return *n
}

// positive returns n where it is above 0, else 0.
func positive(n *schema.Integer) int {
	if n == nil || *n <= 0 || *n > math.MaxInt32 {
		return 0
	}
	return int(*n)
}
