package field

import (
	"encoding/json"
	"net/url"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/host"
	"github.com/formsvc/formsvc/handler/formpage/internal/pen"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/read"
	"github.com/formsvc/formsvc/handler/formpage/internal/theme"
	"github.com/formsvc/formsvc/handler/formpage/internal/upload"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/schema"
)

// Source is what fields are made of.
type Source struct {
	Blocks   []schema.Block // of the form
	Settings *schema.Settings
	Numbered []schema.Block // their questions are numbered
	Single   bool           // each question has a page of its own

	Words *words.Words
	Host  *host.Host
	Theme *theme.Theme // rules of fields are added to it
	Own   policy.Hosts // of the page: it shows none of them in a frame

	Values     url.Values              // what was typed
	Readings   map[string]read.Reading // how it is read, by input
	Files      upload.Files            // the files that the page carries
	Violations []schema.Violation
	Verbatim   bool                    // the messages of Faults are the host's, and shown as they are
	Solved     func(block string) bool // whether a captcha is solved
	Visit      string                  // choices are mixed in the same way for one visit
	Focus      bool                    // the first field may have the focus
	Canvas     bool                    // the blocks are drawn for their editor
	Top        bool                    // the link of an ending leaves the frame that the page may be in
}

// Rendered has the drawn fields, and the facts about them that the whole page needs.
type Rendered struct {
	HTML         []pen.Piece
	Problems     []Problem
	Violations   map[string][]schema.Violation // by block
	Used         map[string]bool               // names of the inputs on the page
	Policy       policy.Policy
	Multipart    bool
	Native       bool   // the script leaves sending to the browser: a foreign script runs in the page
	Omitted      int    // blocks that are missing, or not whole, for want of room
	FirstOmitted string // label of the first such block
}

// Shows reports whether a block is on the page.
func (d *Rendered) Shows(block string) bool { return d.Used["#"+block] }

// builder makes fields of blocks.
type builder struct {
	*Source
	Rendered
	pen     *writer
	numbers map[string]int // of questions, when they are numbered
	index   map[string]int // of all blocks, for ids of elements

	pictures map[*byte]*policy.Picture // by where their JSON stands
	options  []Option                  // of the field that was drawn last: their memory is used again
	parts    []Field
	digits   map[string]string // numbers in the page's language, by the plain ones: scales repeat them
	focus    bool              // the next field may have the focus
	elements int               // of a canvas: blocks that may still have one
	contacts int               // blocks of the form with an address or contact
}

// maxHTML bounds the HTML that a page draws of its form, in bytes. With what stands around it,
// a page has at most 4 MiB and what was typed.
const maxHTML = 7 << 19

func newBuilder(s *Source) *builder {
	b := &builder{
		Source: s, pen: &writer{pen.New(maxHTML), s.Words},
		Rendered: Rendered{Violations: map[string][]schema.Violation{}, Used: make(map[string]bool, 2*len(s.Blocks))},
		numbers:  map[string]int{}, index: make(map[string]int, len(s.Blocks)),
		pictures: map[*byte]*policy.Picture{}, digits: map[string]string{}, focus: s.Focus,
	}
	b.Policy.Own = s.Own
	for _, v := range s.Violations {
		b.Rendered.Violations[v.Field] = append(b.Rendered.Violations[v.Field], v)
	}
	for block, hidden := range formblock.Walk(s.Blocks) {
		b.index[block.ID] = len(b.index) + 1 // the ids of elements stay the same on all pages
		if s.Canvas {
			b.index[block.ID] = elementNumber(block.ID)
		}
		if !hidden {
			b.allowSources(block)
			if block.AnswerShape() == schema.ShapeContact {
				b.contacts++
			}
		}
	}
	for block, hidden := range formblock.Walk(s.Numbered) {
		if block.TakesAnswer() && !hidden {
			b.numbers[block.ID] = len(b.numbers) + 1
		}
	}
	return b
}

// allowSources lets the page load what a block on any page of the form shows: the script shows the
// next one in the document of the first.
func (b *builder) allowSources(block *schema.Block) {
	p := formblock.Properties(block)
	b.allowPicture(p.Image, "")
	for _, c := range block.Choices {
		b.allowPicture(c.Image, "")
	}
	if w := b.Host.Widget(block); w != nil {
		b.Policy.AllowWidget(w.Script, w.Sources)
		b.Native = true
	}
	switch block.Type {
	case schema.TypeVideo:
		b.Policy.AllowVideo(p.VideoLink)
	case schema.TypeEmbed:
		b.Policy.AllowFrame(p.EmbedLink)
	}
}

// allowPicture reads a free JSON value that may be an image: an address, or an object with
// one. Others are no picture.
func (b *builder) allowPicture(raw json.RawMessage, alt string) *policy.Picture {
	if len(raw) == 0 {
		return nil
	}
	known, ok := b.pictures[&raw[0]]
	if !ok {
		var image schema.Image
		if json.Unmarshal(raw, &image.URL) == nil || json.Unmarshal(raw, &image) == nil {
			known = b.Policy.AllowPicture(&image)
		}
		b.pictures[&raw[0]] = known
	}
	if known == nil || pen.EscapedSize(string(known.URL)) > b.pen.Remaining {
		b.pen.Truncated = b.pen.Truncated || known != nil
		return nil
	}
	pic := *known
	pic.Alt = alt
	return &pic
}

// posted returns the values of an input, and marks the input as shown. Nothing that is
// drawn reads an input in another way.
func (b *builder) posted(name string) []string {
	b.Used[name] = true
	return b.Values[name]
}

// value returns the text that was typed into an input.
func (b *builder) value(name string) string {
	if posted := b.posted(name); len(posted) > 0 {
		return posted[0]
	}
	return ""
}

// formatNumber writes a plain number as the page's language does.
func (b *builder) formatNumber(plain string) string {
	text, known := b.digits[plain]
	if !known {
		text = b.Words.Number(plain)
		b.digits[plain] = text
	}
	return text
}
