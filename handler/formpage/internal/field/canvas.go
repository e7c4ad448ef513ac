package field

import (
	"bytes"
	"cmp"
	"hash/fnv"
	"math"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/htmlwriter"
	"github.com/formsvc/formsvc/handler/formpage/internal/theme"
	"github.com/formsvc/formsvc/schema"
)

// Part is a top-level block in a canvas.
type Part struct{ ID, HTML string }

// RenderCanvas renders all blocks for an editor, including hidden blocks. Each block is in an element with a data-block
// attribute. An element of class fs-none shows only the name of a page break, of an ending, or of a block that has no
// visible content or exceeds the size limit. A block's style rules are in an element with a data-style attribute, so
// that the block can be rendered alone.
func RenderCanvas(s *Source, blocks []schema.Block) []Part {
	source := *s // Collect style rules per block instead of in the theme.
	b := newBuilder(&source)
	b.reserveElements(blocks)
	parts := make([]Part, 0, min(len(blocks), b.elements))
	var f Field
	for i := range blocks {
		if b.elements == 0 {
			break
		}
		b.Theme = new(theme.Theme)
		b.writeCanvasBlock(&f, &blocks[i])
		var rules strings.Builder
		b.Theme.WriteStyle(func(rule string) { rules.WriteString(rule) })
		b.out.PutIf(rules.Len() > 0 && rules.Len() < b.out.Remaining, `<i data-style="%i" hidden></i>`, rules.String())
		b.out.WriteRaw("</div>\n")
		var out bytes.Buffer
		to := htmlwriter.NewStream(&out)
		to.WriteChunks(b.out.TakeChunks())
		to.Close()
		parts = append(parts, Part{blocks[i].ID, out.String()})
	}
	return parts
}

// reserveElements reserves space for all blocks' elements, because the editor needs every element even if the HTML is
// truncated. In valid forms, there is enough space for all of them.
func (b *builder) reserveElements(blocks []schema.Block) {
	const tags = 150 // The maximum size of an element without the ID.
	left := b.out.Remaining * 3 / 4
	for block := range formblock.Walk(blocks) {
		size := tags + htmlwriter.EscapedSize(block.ID)
		if left -= size; left < 0 {
			return
		}
		b.out.Remaining -= size
		b.elements++
	}
}

// writeCanvasBlock renders a block without its closing tag.
func (b *builder) writeCanvasBlock(f *Field, block *schema.Block) {
	p, w := formblock.Properties(block), b.out
	b.elements--
	w.WriteRaw(`<div data-block="`)
	w.WriteEscaped(block.ID)
	if _, known := schema.LookupBlockType(block.Type); known {
		w.WriteRaw(`" data-type="` + block.Type)
	}
	w.WriteRaw(`"`)
	if p.Hide {
		w.WriteRaw(" data-hidden")
	}
	w.WriteRaw(">")
	const none = `<div class="fs-none"></div>`
	if !w.CheckRoom() {
		w.WriteRaw(none)
		return
	}
	b.fillField(f, block)
	link := string(f.Link)
	switch block.Type {
	case schema.TypeEnding:
		w.Put(none + `<div class="fs-screen fs-done">`)
		b.writeEnding(f)
		w.Put("</div>")
	case schema.TypePageBreak:
		w.PutIf(!b.Single && !b.Settings.SinglePage, `<div class="fs-actions"><span class="fs-button">%s</span></div>`, b.Words.Get("next_page"))
		w.Put(none)
	case schema.TypeGroup:
		f.write(w, f)
		for i := 0; i < len(block.Children) && b.elements > 0; i++ {
			b.writeCanvasBlock(f, &block.Children[i])
			w.WriteRaw("</div>\n")
		}
		w.Put("</fieldset>")
	default:
		if f.write != nil {
			f.write(w, f)
		}
		media := block.Type == schema.TypeImage && f.Image == nil ||
			link == "" && (block.Type == schema.TypeVideo || block.Type == schema.TypePDF || block.Type == schema.TypeEmbed)
		w.PutIf(f.write == nil || media || !block.TakesAnswer() && block.Type != schema.TypeDivider && !f.HasLabel && !f.HasDescription && f.Image == nil && link == "", none)
	}
	b.options, b.parts = f.Options[:0], f.Parts[:0]
	welcome := block.Type == schema.TypeWelcome
	text := b.Plain(p.ButtonText, schema.Insertions)
	if welcome {
		text = cmp.Or(text, b.Words.Get("start"))
	}
	w.PutIf(text != "" && (welcome || block.Type == schema.TypeStatement || b.Single && block.TakesAnswer()),
		`<div class="fs-actions fs-own"><span class="fs-button">%s</span></div>`, text)
}

// hashElementID derives the number in a block's element IDs from its ID, so that other blocks do not affect it.
func hashElementID(id string) int {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(id))
	return int(sum.Sum64() & math.MaxInt)
}
