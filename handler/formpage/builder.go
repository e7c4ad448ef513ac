package formpage

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/pen"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/walk"
	"github.com/formsvc/formsvc/schema"
)

// builder makes fields of blocks. It remembers what the page as a whole needs to know
// of them.
type builder struct {
	c        *call
	view     *pageView
	faults   map[string][]schema.Violation // by block
	numbers  map[string]int                // of questions, when they are numbered
	index    map[string]int                // of all blocks, for ids of elements
	used     map[string]bool               // names of the inputs on the page
	problems []problem
	policy   *policy.Policy
	pen      *writer

	multipart bool
	pictures  map[*byte]*policy.Picture // by where their JSON stands
	focus     bool                      // the next field may have the focus
	options   []option                  // of the field that was drawn last: their memory is used again
	parts     []field

	digits map[string]string // numbers in the page's language, by the plain ones
	cut    int               // blocks that are missing, or not whole, for want of room
	cutAt  string            // label of the first one
}

// What a page draws of its form, in bytes. With what stands around it, a page has at most
// 4 MiB and what was typed.
const (
	maxFields   = 7 << 19
	maxProblems = 1 << 18
)

func (c *call) newBuilder(view *pageView, path schema.Path, faults []schema.Violation) *builder {
	b := &builder{
		c: c, view: view, faults: map[string][]schema.Violation{}, numbers: map[string]int{}, index: make(map[string]int, len(c.form.Blocks)),
		used: make(map[string]bool, 2*len(c.form.Blocks)), policy: new(policy.Policy), pictures: map[*byte]*policy.Picture{}, pen: &writer{pen.NewLarge(maxFields), c.words}, digits: map[string]string{},
	}
	for _, v := range faults {
		b.faults[v.Field] = append(b.faults[v.Field], v)
	}
	for block, hidden := range formblock.Walk(c.form.Blocks) {
		b.index[block.ID] = len(b.index) + 1 // the ids of elements stay the same on all pages
		if !hidden {
			b.allow(block)
		}
	}
	if c.form.Settings.NumberedQuestions {
		for block, hidden := range formblock.Walk(walk.OnPath(&c.form, path)) {
			if block.TakesAnswer() && !hidden {
				b.numbers[block.ID] = len(b.numbers) + 1
			}
		}
	}
	return b
}

// elsewhere are the faults of no field on the page.
func (b *builder) elsewhere(steps []walk.Step) []problem {
	var list []problem
	for _, id := range slices.Sorted(maps.Keys(b.faults)) {
		if b.shown(id) {
			continue
		}
		label := id
		block := b.c.block(id)
		if block != nil {
			label = block.Label
			if walk.StepOf(steps, id) >= 0 {
				continue // its page is shown after this one
			}
		}
		list = append(list, problem{Label: label, Text: b.c.faults().Text(b.faults[id][0], block, false)})
	}
	return list
}

func (b *builder) shown(id string) bool { return b.used["#"+id] }

// inWords writes a plain number as the page's language does.
func (b *builder) inWords(plain string) string {
	text, known := b.digits[plain]
	if !known {
		text = b.c.words.Number(plain)
		b.digits[plain] = text
	}
	return text
}

// element is the id of a block's element.
func (b *builder) element(id string) string { return "q" + strconv.Itoa(b.index[id]) }

// allow lets the page load what a block on any page of the form shows: the script shows the
// next one in the document of the first.
func (b *builder) allow(block *schema.Block) {
	p := formblock.Properties(block)
	b.picture(p.Image, "")
	for _, c := range block.Choices {
		b.picture(c.Image, "")
	}
	if w := b.c.h.host.Widget(block); w != nil {
		b.policy.Widget(w.Script, w.Sources)
		b.view.Native = true
	}
	switch block.Type {
	case schema.TypeVideo:
		b.policy.Video(p.VideoLink)
	case schema.TypeEmbed:
		b.policy.Frame(p.EmbedLink)
	}
}

// picture reads a free JSON value that may be an image: an address, or an object with
// one. Others are no picture.
func (b *builder) picture(raw json.RawMessage, alt string) *policy.Picture {
	if len(raw) == 0 {
		return nil
	}
	known, ok := b.pictures[&raw[0]]
	if !ok {
		var image schema.Image
		if json.Unmarshal(raw, &image.URL) == nil || json.Unmarshal(raw, &image) == nil {
			known = b.policy.Picture(&image)
		}
		b.pictures[&raw[0]] = known
	}
	if known == nil || len(known.URL) > b.pen.Room {
		b.pen.Full = b.pen.Full || known != nil
		return nil
	}
	pic := *known
	pic.Alt = alt
	return &pic
}
