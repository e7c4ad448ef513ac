package field

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/pen"
	"github.com/formsvc/formsvc/schema"
)

func (b *builder) matrix(f *Field, block *schema.Block) {
	for _, c := range block.MatrixColumns {
		f.Columns = append(f.Columns, Option{Value: input.Picked + c.ID, Label: cmp.Or(c.Label, c.ID)})
	}
	if n := len(f.Columns); n > 0 && n <= 12 {
		f.Classes += " of" + strconv.Itoa(n)
	}
	if brief(f.Columns) {
		f.Classes += " brief"
	}
	for i, r := range block.MatrixRows {
		name := input.Sub(input.Row, r.ID, block.ID)
		f.Rows = append(f.Rows, Row{f.ID + "-r" + strconv.Itoa(i), name, cmp.Or(r.Label, r.ID), b.posted(name)})
	}
}

// brief reports whether the columns of a matrix stand side by side on a phone: they are
// few, and no word of their labels is wider than a column.
func brief(columns []Option) bool {
	return len(columns) <= 5 && !slices.ContainsFunc(columns, func(c Option) bool {
		return utf8.RuneCountInString(c.Label) > 24 ||
			slices.ContainsFunc(strings.Fields(c.Label), func(word string) bool { return utf8.RuneCountInString(word) > 9 })
	})
}

func (p *writer) matrix(f *Field) {
	p.Put(`<div class="matrix"><div class="m-head" aria-hidden="true"><span></span>`)
	for _, column := range pen.Each(p.Pen, f.Columns) {
		p.Put("<span>%s</span>", column.Label)
	}
	p.Put("</div>")
	for _, r := range pen.Each(p.Pen, f.Rows) {
		p.Put(`<fieldset class="m-row" id="%i"><legend>%s</legend>`, r.ID, r.Label)
		for _, column := range pen.Each(p.Pen, f.Columns) {
			p.choice(f.Input, &Option{Name: r.Name, Value: column.Value, Label: column.Label, Chosen: slices.Contains(r.Chosen, column.Value)})
		}
		p.Put("</fieldset>")
	}
	p.Put("</div>")
}
