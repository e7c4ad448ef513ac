package field

import (
	"bytes"
	"cmp"
	"hash/fnv"
	"math"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/pen"
	"github.com/formsvc/formsvc/handler/formpage/internal/theme"
	"github.com/formsvc/formsvc/schema"
)

// Part is a block at the top of a canvas.
type Part struct{ ID, HTML string }

// RenderCanvas draws blocks for their editor: those too that respondents do not see, each in an element
// data-block. An element fs-none is for a name: of a page break, of an ending, and of what shows nothing yet
// or has no room left. The style rules of a block are in an element data-style, so that a part can be
// drawn without the others.
func RenderCanvas(s *Source, blocks []schema.Block) []Part {
	source := *s // the rules of a block stand at the block, not in the theme of the page
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
		b.Theme.Style(func(rule string) { rules.WriteString(rule) })
		b.pen.PutIf(rules.Len() > 0 && rules.Len() < b.pen.Remaining, `<i data-style="%i" hidden></i>`, rules.String())
		b.pen.Raw("</div>\n")
		var out bytes.Buffer
		to := pen.NewStream(&out)
		to.WritePieces(b.pen.TakePieces())
		to.Close()
		parts = append(parts, Part{blocks[i].ID, out.String()})
	}
	return parts
}

// reserveElements takes the room for the elements of the blocks out of that for their content: an editor finds a
// block by its element, whatever the blocks before it take. A form that a write accepts has room for all.
func (b *builder) reserveElements(blocks []schema.Block) {
	const tags = 150 // of an element, at most
	left := b.pen.Remaining * 3 / 4
	for block := range formblock.Walk(blocks) {
		size := tags + pen.EscapedSize(block.ID)
		if left -= size; left < 0 {
			return
		}
		b.pen.Remaining -= size
		b.elements++
	}
}

// writeCanvasBlock draws a block but the end of its element.
func (b *builder) writeCanvasBlock(f *Field, block *schema.Block) {
	p, w := formblock.Properties(block), b.pen
	b.elements--
	w.Raw(`<div data-block="`)
	w.Escaped(block.ID)
	if _, known := schema.LookupBlockType(block.Type); known {
		w.Raw(`" data-type="` + block.Type)
	}
	w.Raw(`"`)
	if p.Hide {
		w.Raw(" data-hidden")
	}
	w.Raw(">")
	const none = `<div class="fs-none"></div>`
	if !w.HasRoom() {
		w.Raw(none)
		return
	}
	b.fill(f, block)
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
			w.Raw("</div>\n")
		}
		w.Put("</fieldset>")
	default:
		if f.write != nil {
			f.write(w, f)
		}
		media := block.Type == schema.TypeImage && f.Image == nil ||
			link == "" && (block.Type == schema.TypeVideo || block.Type == schema.TypePDF || block.Type == schema.TypeEmbed)
		w.PutIf(f.write == nil || media || !block.TakesAnswer() && block.Type != schema.TypeDivider && f.Label == "" && f.Description == "" && f.Image == nil && link == "", none)
	}
	b.options, b.parts = f.Options[:0], f.Parts[:0]
	welcome := block.Type == schema.TypeWelcome
	text := p.ButtonText
	if welcome {
		text = cmp.Or(text, b.Words.Get("begin"))
	}
	w.PutIf(text != "" && (welcome || block.Type == schema.TypeStatement || b.Single && block.TakesAnswer()),
		`<div class="fs-actions fs-own"><span class="fs-button">%s</span></div>`, text)
}

// elementNumber is the number that the elements of a block are named by where not all blocks are drawn at once.
func elementNumber(id string) int {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(id))
	return int(sum.Sum64() & math.MaxInt)
}
