package export

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// MaxColumns is the column limit in spreadsheet programs. It also limits the memory for finding the columns.
const MaxColumns = 16_384

// columnKey identifies a column by a field and a part of the field's value. The part is empty for the whole value.
type columnKey struct{ field, part string }

type column struct {
	columnKey
	name  string // column name in a header with IDs
	label string // column name in a header with labels
}

var (
	leading  = []string{"submission_id", "submitted_at"}
	trailing = []string{
		"completion_time", "ending", "metadata/country", "metadata/device", "metadata/user_agent",
		"metadata/utm/campaign", "metadata/utm/content", "metadata/utm/medium", "metadata/utm/source", "metadata/utm/term",
	}
)

// columns holds the columns of a table: first the fields in the definition, then fields that occur only in submissions.
type columns struct {
	o       Options
	leading []string // names of the first columns
	fields  []*field
	byID    map[string]*field
	labels  map[columnKey]string // current labels of choices, with the choice's ID as part

	index map[columnKey]int // positions, set by header
	cells []cell            // reused for every row
	full  bool              // another column would exceed MaxColumns
}

type field struct {
	id, label string
	parts     []column
}

func newColumns(d storage.Definition, o Options) (*columns, error) {
	c := &columns{o: o, leading: leading, byID: map[string]*field{}, labels: map[columnKey]string{}, index: map[columnKey]int{}}
	if o.Respondent {
		c.leading = slices.Concat(c.leading, []string{"respondent"})
	}
	if o.Changes {
		c.leading = slices.Concat(c.leading, []string{"revision", "changed_at"})
	}
	blocks, err := schema.DecodeBlocks(d.Blocks)
	if err != nil {
		return nil, err
	}
	c.addBlocks(blocks)
	hidden, err := schema.DecodeHiddenFields(d.HiddenFields)
	if err != nil {
		return nil, err
	}
	variables, err := schema.DecodeVariables(d.Variables)
	if err != nil {
		return nil, err
	}
	for _, name := range append(hidden, slices.Sorted(maps.Keys(variables))...) {
		c.addColumn(c.findOrAddField(name, name), part{})
	}
	return c, c.checkColumnCount()
}

func (c *columns) count() int { return len(c.leading) + len(c.index) + len(trailing) }

func (c *columns) addBlocks(blocks []schema.Block) {
	for i := range blocks {
		b := &blocks[i]
		for _, p := range blockParts(b, c.o) {
			c.addColumn(c.findOrAddField(b.ID, b.PlainLabel()), p)
		}
		for _, choice := range slices.Concat(b.Choices, b.MatrixColumns) {
			if choice.Label != "" && b.ListRef().List == "" {
				c.labels[columnKey{b.ID, choice.ID}] = choice.Label
			}
		}
		c.addBlocks(b.Children)
	}
}

func (c *columns) findOrAddField(id, label string) *field {
	f := c.byID[id]
	if f == nil {
		id, label = strings.Clone(id), strings.Clone(label) // do not keep the whole page in memory
		f = &field{id: id, label: label}
		c.byID[id] = f
		c.fields = append(c.fields, f)
	}
	return f
}

func (c *columns) checkColumnCount() error {
	if !c.full {
		return nil
	}
	return &schema.Error{Violations: []schema.Violation{{
		Path: "/format", Code: schema.CodeTooMany,
		Message: "the submissions need more than " + strconv.Itoa(MaxColumns) + " columns, which spreadsheet programs cannot open: use NDJSON instead",
	}}}
}

func (c *columns) addColumn(f *field, p part) {
	if _, known := c.index[columnKey{f.id, p.name}]; known {
		return
	}
	if c.full = c.count() == MaxColumns; c.full {
		return
	}
	p = part{strings.Clone(p.name), strings.Clone(p.label)}
	col := column{columnKey: columnKey{f.id, p.name}, name: f.id, label: cmp.Or(f.label, f.id)}
	c.index[col.columnKey] = 0
	if p.name != "" {
		col.name += "/" + p.name
		col.label += ": " + cmp.Or(p.label, p.name)
	}
	f.parts = append(f.parts, col)
}

// decodeAnswers returns a submission's answers with the current labels of choices, so that a corrected label does not
// split a choice into two.
func (c *columns) decodeAnswers(s *storage.Submission) ([]schema.Answer, error) {
	answers, err := schema.DecodeAnswers(s.Answers)
	if err != nil {
		return nil, fmt.Errorf("submission %s: %w", s.ID, err)
	}
	for i := range answers {
		update := func(picks schema.Picks) {
			for n := range picks {
				picks[n].Label = cmp.Or(c.labels[columnKey{answers[i].ID, picks[n].ID}], picks[n].Label)
			}
		}
		switch v := answers[i].Value.(type) {
		case schema.Picks:
			update(v)
		case schema.Matrix:
			for _, row := range v {
				update(row.Picks)
			}
		}
	}
	return answers, nil
}

func (c *columns) addColumnsOf(s *storage.Submission) error {
	answers, err := c.decodeAnswers(s)
	if err != nil {
		return err
	}
	for i := range answers {
		a := &answers[i]
		f := c.findOrAddField(a.ID, a.Label)
		emitCells(a, c.o, func(p part, _ string, _ bool) { c.addColumn(f, p) })
	}
	return c.checkColumnCount()
}

// newHeader returns the unique names of all columns. After it is called, no columns can be added.
func (c *columns) newHeader() []cell {
	shared := map[string]int{} // number of columns by name
	for _, f := range c.fields {
		for _, col := range f.parts {
			shared[c.columnName(col)]++
		}
	}
	taken := make(map[string]bool, c.count())
	for _, name := range slices.Concat(c.leading, trailing) {
		taken[name] = true
	}
	cells := make([]cell, 0, c.count())
	for _, name := range c.leading {
		cells = append(cells, cell{name, true})
	}
	for _, f := range c.fields {
		for _, col := range f.parts {
			name := c.columnName(col)
			if c.o.Labels && (shared[name] > 1 || taken[name]) {
				name += " [" + col.name + "]"
			}
			unique := name
			for n := 2; taken[unique]; n++ { // an ID can be equal to another ID combined with a part
				unique = name + " (" + strconv.Itoa(n) + ")"
			}
			taken[unique] = true
			c.index[col.columnKey] = len(cells)
			cells = append(cells, cell{text: unique})
		}
	}
	for _, name := range trailing {
		cells = append(cells, cell{name, true})
	}
	c.cells = make([]cell, len(cells))
	return cells
}

func (c *columns) columnName(col column) string {
	if c.o.Labels {
		return col.label
	}
	return col.name
}

// newRow returns a submission's cells, which are valid until the next call. known is false if the header lacks a column
// that the submission needs.
func (c *columns) newRow(s *storage.Submission) (cells []cell, known bool, err error) {
	answers, err := c.decodeAnswers(s)
	if err != nil {
		return nil, false, err
	}
	clear(c.cells)
	c.cells[0] = cell{s.ID.String(), true}
	c.cells[1] = cell{jsontree.FormatTime(s.SubmittedAt), true}
	if c.o.Respondent {
		c.cells[len(leading)].text = s.Respondent
	}
	if c.o.Changes {
		c.cells[len(c.leading)-2] = cell{strconv.FormatInt(s.Revision, 10), true}
	}
	if c.o.Changes && !s.ChangedAt.IsZero() {
		c.cells[len(c.leading)-1] = cell{jsontree.FormatTime(s.ChangedAt), true}
	}
	known = true
	for i := range answers {
		a := &answers[i]
		emitCells(a, c.o, func(p part, text string, plain bool) {
			at, ok := c.index[columnKey{a.ID, p.name}]
			if !ok {
				known = false
				return
			}
			c.cells[at] = cell{text, plain}
		})
	}
	if !known {
		return nil, false, nil
	}
	var m struct {
		Country, Device string
		UserAgent       string `json:"user_agent"`
		UTM             struct{ Campaign, Content, Medium, Source, Term string }
	}
	if len(s.Metadata) > 0 {
		if err := json.Unmarshal(s.Metadata, &m); err != nil {
			return nil, false, fmt.Errorf("submission %s: decode stored metadata: %w", s.ID, err)
		}
	}
	end := c.cells[len(c.cells)-len(trailing):]
	end[0] = cell{string(jsontree.AppendFloat(nil, s.CompletionTime)), true}
	for i, text := range []string{s.Ending, m.Country, m.Device, m.UserAgent, m.UTM.Campaign, m.UTM.Content, m.UTM.Medium, m.UTM.Source, m.UTM.Term} {
		end[1+i].text = text
	}
	return c.cells, true, nil
}
