package field

import (
	"encoding/json"
	"net/url"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/formdata"
	"github.com/formsvc/formsvc/handler/formpage/internal/host"
	"github.com/formsvc/formsvc/handler/formpage/internal/htmlwriter"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/theme"
	"github.com/formsvc/formsvc/handler/formpage/internal/upload"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/schema"
)

// Source holds the data that fields are rendered from.
type Source struct {
	Blocks   []schema.Block // All blocks of the form.
	Settings *schema.Settings
	Numbered []schema.Block // The blocks whose questions are numbered.
	Single   bool           // Whether each question has its own page.

	Words *words.Words
	Host  *host.Host
	Theme *theme.Theme // Rendering adds rules for the blocks.
	Own   policy.Hosts // The page's own hosts, which must not be shown in a frame.

	// Value returns the value of an insertion, by the text between its braces. If nil, insertions keep their braces.
	Value func(name string) string

	Values          url.Values                         // The values that the respondent entered.
	Lists           map[string]List                    // The choices of blocks whose choices come from the host.
	Interpretations map[string]formdata.Interpretation // How values were interpreted, by input.
	Files           upload.Files                       // The page's files.
	Fixed           map[string]string                  // Stored answers that the page only shows, by block.
	Violations      []schema.Violation
	Verbatim        bool                    // Whether to show violations' messages unchanged.
	Solved          func(block string) bool // Reports whether a captcha is solved.
	Visit           string                  // The seed for random orders, which keeps them the same throughout a visit.
	Focus           bool                    // Whether the first field may be focused.
	Canvas          bool                    // Whether the blocks are rendered for an editor.
	Top             bool                    // Whether an ending's link opens outside the frame.
}

// Rendered holds the rendered fields and the information about them that the page needs.
type Rendered struct {
	HTML         []htmlwriter.Chunk
	Problems     []Problem
	Violations   map[string][]schema.Violation // By block.
	Used         map[string]bool               // The names of the page's inputs.
	Policy       policy.Policy
	Multipart    bool
	Native       bool   // Whether the browser must submit the form, because the page runs another host's script.
	Omitted      int    // How many blocks are missing or incomplete because of the size limit.
	FirstOmitted string // The label of the first such block.
}

// ShowsBlock reports whether a block is on the page.
func (d *Rendered) ShowsBlock(block string) bool { return d.Used["#"+block] }

type builder struct {
	*Source
	Rendered
	out     *writer
	numbers map[string]int // Question numbers, if the questions are numbered.
	index   map[string]int // All blocks, for element IDs.

	pictures map[*byte]*policy.Picture // By the address of their JSON.
	options  []Option                  // The last field's options. The next field reuses their memory.
	parts    []Field
	digits   map[string]string // Numbers that were already formatted, because scales repeat them.
	focus    bool              // Whether the next field may be focused.
	elements int               // How many more of a canvas's blocks can have an element.
	contacts int               // How many blocks contain an address or contact.
}

// maxHTML is the size limit for a form's HTML in bytes. A complete page then takes at most 4 MiB plus the entered text.
const maxHTML = 7 << 19

func newBuilder(s *Source) *builder {
	b := &builder{
		Source: s, out: &writer{htmlwriter.New(maxHTML), s.Words},
		Rendered: Rendered{Violations: map[string][]schema.Violation{}, Used: make(map[string]bool, 2*len(s.Blocks))},
		numbers:  map[string]int{}, index: make(map[string]int, len(s.Blocks)),
		pictures: map[*byte]*policy.Picture{}, digits: map[string]string{}, focus: s.Focus,
	}
	b.Policy.Own = s.Own
	for _, v := range s.Violations {
		b.Rendered.Violations[v.Field] = append(b.Rendered.Violations[v.Field], v)
	}
	for block, hidden := range formblock.Walk(s.Blocks) {
		b.index[block.ID] = len(b.index) + 1 // The number is the same on every page.
		if s.Canvas {
			b.index[block.ID] = hashElementID(block.ID)
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

// allowSources allows the sources that a block loads. Blocks on other pages need this too, because the script shows
// those pages in the same document.
func (b *builder) allowSources(block *schema.Block) {
	p := formblock.Properties(block)
	b.allowPicture(p.Image, "")
	for _, c := range block.Choices {
		b.allowPicture(c.Image, "")
	}
	if w := b.Host.CaptchaWidget(block); w != nil {
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

// allowPicture parses JSON that may be an image: a URL, or an object with a URL. It returns nil if it is neither.
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
	if known == nil || htmlwriter.EscapedSize(string(known.URL)) > b.out.Remaining {
		b.out.Truncated = b.out.Truncated || known != nil
		return nil
	}
	pic := *known
	pic.Alt = alt
	return &pic
}

// useValues returns an input's values and marks the input as shown. All rendering code must read inputs with posted.
func (b *builder) useValues(name string) []string {
	b.Used[name] = true
	return b.Values[name]
}

func (b *builder) useValue(name string) string {
	if posted := b.useValues(name); len(posted) > 0 {
		return posted[0]
	}
	return ""
}

func (b *builder) formatNumber(plain string) string {
	text, known := b.digits[plain]
	if !known {
		text = b.Words.FormatNumber(plain)
		b.digits[plain] = text
	}
	return text
}
