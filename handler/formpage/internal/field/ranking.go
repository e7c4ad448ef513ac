package field

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/pen"
	"github.com/formsvc/formsvc/schema"
)

func (b *builder) ranking(f *Field, block *schema.Block, p *schema.Properties) {
	choices := b.ordered(block, p)
	for i, c := range choices {
		name := input.Sub(input.Rank, c.ID, block.ID)
		o := Option{ID: f.ID + "-" + strconv.Itoa(i), Name: name, Label: cmp.Or(c.Label, c.ID), Value: b.value(name)}
		f.Options = append(f.Options, o)
	}
	// What was ordered already is shown in its order.
	slices.SortStableFunc(f.Options, func(x, y Option) int { return cmp.Compare(place(x.Value), place(y.Value)) })
}

func place(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return math.MaxInt
}

func (p *writer) ranking(f *Field) {
	p.Put(`<ol class="ranking">`)
	most := formblock.MaxDrawn(schema.TypeRanking) // choices that have a list of all places
	for _, o := range pen.Each(p.Pen, f.Options) {
		p.Put(`<li data-label="%s"><span class="grip" aria-hidden="true"></span>`, o.Label)
		if len(f.Options) > most {
			p.Put(`<input id="%i" name="%i" value="%v" inputmode="numeric" autocomplete="off" aria-label="`, o.ID, o.Name, o.Value)
			p.Sentence(p.words.Get("place"), "label", o.Label)
			p.Put(`">`)
		} else {
			p.Put(`<select id="%i" name="%i" aria-label="`, o.ID, o.Name)
			p.Sentence(p.words.Get("place"), "label", o.Label)
			p.Put(`"><option value="">–</option>`)
			for n := range f.Options {
				place := strconv.Itoa(n + 1)
				p.listed(&Option{Value: place, Label: p.words.Number(place), Chosen: o.Value == place})
			}
			p.Put("</select>")
		}
		p.Put(`<span class="lbl">%s</span><span class="moves" hidden>`, o.Label)
		p.move("-1", "up", "M6 15l6-6 6 6", o.Label)
		p.move("1", "down", "M6 9l6 6 6-6", o.Label)
		p.Put("</span></li>")
	}
	p.Put(`</ol><button type="button" class="fs-button quiet" data-ranked hidden>%s</button>`, p.words.Get("ranking.right"))
}

func (p *writer) move(by, word, drawing, label string) {
	p.Put(`<button type="button" data-move="%i" aria-label="`, by)
	p.Sentence(p.words.Get(word), "label", label)
	p.Put(`"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="%i"/></svg></button>`, drawing)
}
