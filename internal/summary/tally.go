// Package summary counts the answers to a form, one response after the other. Its memory
// grows with the form, and not with the responses.
package summary

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc/internal/export"
	"github.com/formsvc/formsvc/internal/faults"
	"github.com/formsvc/formsvc/schema"
)

const (
	// MaxBins is how many bins a histogram has at most.
	MaxBins = 20
	// maxUnknown bounds the distinct choices and days of a block that the form does not have.
	maxUnknown = 10_000
)

// Tally is what is counted of the responses so far.
type Tally struct {
	Responses int64
	Blocks    []*Block // in the order of package formsvc's Summary
	byID      map[string]*Block
}

// Block counts the answers to one block, hidden field or variable.
type Block struct {
	ID, Type, Label           string
	Gone                      bool // it is not in the form
	Answered, Other, Unlisted int64
	Choices                   Votes
	Rows                      []*Row // of a matrix
	Numbers                   Series
	NPS                       *Scores
	Days                      Votes // whose ids are the days

	rowByID map[string]*Row
	unknown int // distinct choices and days that the form does not have
}

// Row counts what was chosen in one row of a matrix.
type Row struct {
	ID, Label string
	Choices   Votes
}

// Scores counts answers of 0 to 10 as the net promoter score does.
type Scores struct {
	Detractors, Passives, Promoters int64
	Score                           float64
}

// Choice says how often a choice was made.
type Choice struct {
	ID, Label string
	Count     int64
	MeanPlace float64 // in a ranking, from 1
}

// Votes are the choices of a form, and those that were made beside them.
type Votes struct {
	list  []Choice // MeanPlace is the sum of the places
	index map[string]int
}

func (t *Votes) define(id, label string) *Choice {
	if t.index == nil {
		t.index = map[string]int{}
	}
	at, known := t.index[id]
	if !known {
		id, label = strings.Clone(id), strings.Clone(label) // not a page's memory with them
		at = len(t.list)
		t.index[id] = at
		t.list = append(t.list, Choice{ID: id, Label: label})
	}
	return &t.list[at]
}

// Counts returns the choices in the order in which they came up.
func (t *Votes) Counts() []Choice {
	list := slices.Clone(t.list)
	for i := range list {
		if c := &list[i]; c.Count > 0 {
			c.MeanPlace /= float64(c.Count)
		}
	}
	return list
}

// New returns a tally for a form's blocks, hidden fields and variables.
func New(blocks []schema.Block, hidden []string, variables map[string]any) *Tally {
	t := &Tally{byID: map[string]*Block{}}
	t.defineBlocks(blocks)
	for _, name := range hidden {
		t.define(name, schema.TypeHidden, name)
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		t.define(name, schema.TypeVariable, name)
	}
	return t
}

func (t *Tally) define(id, kind, label string) *Block {
	id, kind, label = strings.Clone(id), strings.Clone(kind), strings.Clone(label)
	b := &Block{ID: id, Type: kind, Label: label, rowByID: map[string]*Row{}}
	t.Blocks = append(t.Blocks, b)
	t.byID[id] = b
	return b
}

func (t *Tally) defineBlocks(blocks []schema.Block) {
	for i := range blocks {
		b := &blocks[i]
		if b.TakesAnswer() {
			made := t.define(b.ID, b.Type, b.Label)
			for _, c := range b.Choices {
				made.Choices.define(c.ID, c.Label)
			}
			if b.AnswerShape() == schema.ShapeBoolean {
				made.Choices.define("true", "")
				made.Choices.define("false", "")
			}
			if b.Type == schema.TypeMatrix {
				for _, r := range b.MatrixRows {
					row := made.row(r.ID, r.Label)
					for _, c := range b.MatrixColumns {
						row.Choices.define(c.ID, c.Label)
					}
				}
			}
		}
		t.defineBlocks(b.Children)
	}
}

func (b *Block) row(id, label string) *Row {
	r := b.rowByID[id]
	if r == nil {
		id = strings.Clone(id)
		r = &Row{ID: id, Label: label}
		b.rowByID[id] = r
		b.Rows = append(b.Rows, r)
	}
	return r
}

// Add counts one response. It returns a [*schema.Error] when the responses have more than
// [export.MaxColumns] different fields.
func (t *Tally) Add(answers []schema.Answer) error {
	t.Responses++
	for i := range answers {
		a := &answers[i]
		b := t.byID[a.ID]
		if b == nil {
			if len(t.Blocks) >= export.MaxColumns {
				return faults.One("", schema.CodeTooMany, "the responses have more than "+strconv.Itoa(export.MaxColumns)+" different fields")
			}
			b = t.define(a.ID, a.Type, a.Label)
			b.Gone = true
		}
		b.count(a)
	}
	return nil
}

// count counts one answer.
func (b *Block) count(a *schema.Answer) {
	b.Answered++
	switch v := a.Value.(type) {
	case schema.Number:
		b.Numbers.Add(float64(v))
		if a.Type == schema.TypeNPS {
			b.countNPS(float64(v))
		}
	case schema.Bool:
		b.choose(&b.Choices, v.String(), "", 0)
	case schema.Picks:
		for i, p := range v {
			switch {
			case p.ID == "":
				b.Other++
			case a.Type == schema.TypeRanking:
				b.choose(&b.Choices, p.ID, p.Label, i+1)
			default:
				b.choose(&b.Choices, p.ID, p.Label, 0)
			}
		}
	case schema.Matrix:
		for _, r := range v {
			if b.rowByID[r.ID] == nil && !b.mayList() {
				b.Unlisted++
				continue
			}
			row := b.row(r.ID, "")
			for _, p := range r.Picks {
				b.choose(&row.Choices, p.ID, p.Label, 0)
			}
		}
	case schema.Date:
		b.choose(&b.Days, v.Time.Format(time.DateOnly), "", 0)
	case schema.Payment:
		b.choose(&b.Choices, v.Status, "", 0)
	case schema.Text:
		if a.Type == schema.TypeCountry {
			b.choose(&b.Choices, string(v), "", 0)
		}
	}
}

// choose counts one choice; place is that in a ranking, or 0.
func (b *Block) choose(t *Votes, id, label string, place int) {
	if _, known := t.index[id]; !known && !b.mayList() {
		b.Unlisted++
		return
	}
	c := t.define(id, label)
	c.Count++
	c.MeanPlace += float64(place)
}

// mayList counts one more value that the form does not have, if there is room for it.
func (b *Block) mayList() bool {
	if b.unknown == maxUnknown {
		return false
	}
	b.unknown++
	return true
}

func (b *Block) countNPS(score float64) {
	if b.NPS == nil {
		b.NPS = new(Scores)
	}
	n := b.NPS
	switch {
	case score <= 6:
		n.Detractors++
	case score <= 8:
		n.Passives++
	default:
		n.Promoters++
	}
	n.Score = 100 * float64(n.Promoters-n.Detractors) / float64(n.Promoters+n.Passives+n.Detractors)
}
