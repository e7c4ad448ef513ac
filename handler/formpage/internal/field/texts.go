package field

import "github.com/formsvc/formsvc/schema"

// allMarks are the marks of most texts, see [schema.ParseText].
const allMarks = schema.Formatting | schema.Insertions

// text returns a text of the form without formats, and its HTML. The HTML is empty if the text has no formats and
// insertions.
func (s *Source) text(source string, marks schema.TextMarks) (plain, html string) {
	return schema.RenderText(source, marks, s.Value)
}

// Plain returns a text of the form without formats and with its insertions.
func (s *Source) Plain(source string, marks schema.TextMarks) string {
	return schema.ParseText(source, marks).Insert(s.Value)
}

// Label returns the label of a block without formats and with its insertions.
func (s *Source) Label(b *schema.Block) string { return s.Plain(b.Label, allMarks) }
