package formsvc

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc/internal/export"
	"github.com/formsvc/formsvc/internal/faults"
	"github.com/formsvc/formsvc/internal/quantile"
	"github.com/formsvc/formsvc/schema"
)

// Summary counts the answers to a form.
//
// It cannot say at which block respondents give up: only whole responses are stored. For
// that the page would have to report every block that a respondent reaches, and the
// service to count these reports by block as it counts views and starts.
type Summary struct {
	Responses int64
	// Blocks are those that answer, in the order of the form, then its hidden fields and
	// variables, then what only the responses have.
	Blocks []BlockSummary
}

// BlockSummary counts the answers to one block, hidden field or variable. Members that
// its kind of value does not have are zero.
type BlockSummary struct {
	ID, Type, Label string
	Gone            bool // it is not in the form any more
	Answered        int64
	// Skipped is the number of responses without an answer, among them those from before
	// the block was in the form.
	Skipped int64

	// Choices are those of the form, chosen or not, and those that are gone from it. For
	// yes_no and legal they are true and false, for country the countries, and for
	// payment the states.
	Choices []ChoiceCount
	Other   int64        // answers with a text of the respondent's own
	Rows    []RowSummary // of a matrix
	Numbers *NumberSummary
	NPS     *NPSSummary
	Days    []DayCount // of dates, as they were written, from the first on
	// Unlisted counts values that are not among Choices or Days because there are more
	// than 10,000 different ones that the form does not have.
	Unlisted int64
}

// ChoiceCount says how often a choice was made.
type ChoiceCount struct {
	ID, Label string
	Count     int64
	MeanPlace float64 // in a ranking, from 1; 0: never chosen
}

// RowSummary counts what was chosen in one row of a matrix.
type RowSummary struct {
	ID, Label string
	Choices   []ChoiceCount
}

// NumberSummary describes the numbers that were answered.
type NumberSummary struct {
	Count          int64
	Min, Max, Mean float64
	StdDev         float64 // of the numbers as the whole population
	// Median is exact when Exact is set: for up to 1,000 different numbers. Of more, it
	// is within 1 % for magnitudes of 1e-9 to 1e15, and so are the bins that numbers
	// are counted in.
	Median float64
	Exact  bool
	// Histogram has one bin for each number where there are at most 20, else 20 of equal
	// width.
	Histogram []Bin
}

// Bin counts the numbers from From up to To. Those that equal To are in the next bin,
// unless this is the last one or From is To.
type Bin struct {
	From, To float64
	Count    int64
}

// NPSSummary is the net promoter score: the percentage of promoters (9 and 10) less that
// of detractors (0 to 6).
type NPSSummary struct {
	Detractors, Passives, Promoters int64
	Score                           float64
}

// DayCount says how often a day was answered.
type DayCount struct {
	Day   string // such as 2026-11-20
	Count int64
}

// The bounds of a summary: distinct choices or days that the form does not have, by
// block, and the bins of a histogram.
const (
	summaryUnknown = 10_000
	summaryBins    = 20
)

// Summary counts the answers to a form, in one pass over the responses of q, newest
// first. Its memory grows with the blocks and choices, and up to 10,000 days or gone
// choices a block, not with the responses. All numbers in it are finite. It returns a
// [*schema.Error] when the responses have more than 16,384 different fields.
func (c Client) Summary(ctx context.Context, form ID, q SubmissionQuery) (Summary, error) {
	f, err := c.s.storage.Form(ctx, c.who, form)
	if err != nil {
		return Summary{}, err
	}
	content, err := DecodeForm(f)
	if err != nil {
		return Summary{}, err
	}
	t := newTally(content)
	for s, err := range c.submissions(ctx, form, q, export.PageSize) {
		if err != nil {
			return Summary{}, err
		}
		if err := t.add(s); err != nil {
			return Summary{}, err
		}
	}
	return t.summary(), nil
}

// tally is a summary under construction.
type tally struct {
	responses int64
	blocks    []*blockTally
	byID      map[string]*blockTally
}

type blockTally struct {
	BlockSummary
	choices choiceTally
	rows    []*rowTally
	rowByID map[string]*rowTally
	numbers quantile.Numbers
	days    map[string]int64
	unknown int // distinct choices and days that the form does not have
}

type rowTally struct {
	RowSummary
	choices choiceTally
}

type choiceTally struct {
	list  []ChoiceCount // until the end MeanPlace is the sum of the places
	index map[string]int
}

func (t *choiceTally) define(id, label string) *ChoiceCount {
	if t.index == nil {
		t.index = map[string]int{}
	}
	at, known := t.index[id]
	if !known {
		id, label = strings.Clone(id), strings.Clone(label) // not a page's memory with them
		at = len(t.list)
		t.index[id] = at
		t.list = append(t.list, ChoiceCount{ID: id, Label: label})
	}
	return &t.list[at]
}

func (t *choiceTally) counts() []ChoiceCount {
	for i := range t.list {
		if c := &t.list[i]; c.Count > 0 {
			c.MeanPlace /= float64(c.Count)
		}
	}
	return t.list
}

func newTally(content FormContent) *tally {
	t := &tally{byID: map[string]*blockTally{}}
	t.defineBlocks(content.Blocks)
	for _, name := range content.HiddenFields {
		t.define(name, schema.TypeHidden, name)
	}
	for _, name := range slices.Sorted(maps.Keys(content.Variables)) {
		t.define(name, schema.TypeVariable, name)
	}
	return t
}

func (t *tally) define(id, kind, label string) *blockTally {
	id, kind, label = strings.Clone(id), strings.Clone(kind), strings.Clone(label)
	b := &blockTally{BlockSummary: BlockSummary{ID: id, Type: kind, Label: label}, rowByID: map[string]*rowTally{}}
	t.blocks = append(t.blocks, b)
	t.byID[id] = b
	return b
}

func (t *tally) defineBlocks(blocks []schema.Block) {
	for i := range blocks {
		b := &blocks[i]
		if b.TakesAnswer() {
			made := t.define(b.ID, b.Type, b.Label)
			for _, c := range b.Choices {
				made.choices.define(c.ID, c.Label)
			}
			if b.Type == schema.TypeYesNo || b.Type == schema.TypeLegal {
				made.choices.define("true", "")
				made.choices.define("false", "")
			}
			if b.Type == schema.TypeMatrix {
				for _, r := range b.MatrixRows {
					row := made.row(r.ID, r.Label)
					for _, c := range b.MatrixColumns {
						row.choices.define(c.ID, c.Label)
					}
				}
			}
		}
		t.defineBlocks(b.Children)
	}
}

func (b *blockTally) row(id, label string) *rowTally {
	r := b.rowByID[id]
	if r == nil {
		id = strings.Clone(id)
		r = &rowTally{RowSummary: RowSummary{ID: id, Label: label}}
		b.rowByID[id] = r
		b.rows = append(b.rows, r)
	}
	return r
}

// add counts one response.
func (t *tally) add(s Submission) error {
	answers, err := DecodeAnswers(s)
	if err != nil {
		return err
	}
	t.responses++
	for i := range answers {
		a := &answers[i]
		b := t.byID[a.ID]
		if b == nil {
			if len(t.blocks) >= export.MaxColumns {
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
func (b *blockTally) count(a *Answer) {
	b.Answered++
	switch v := a.Value.(type) {
	case schema.Number:
		b.numbers.Add(float64(v))
		if a.Type == schema.TypeNPS {
			b.countNPS(float64(v))
		}
	case schema.Bool:
		b.choose(&b.choices, v.String(), "", 0)
	case schema.Picks:
		for i, p := range v {
			switch {
			case p.ID == "":
				b.Other++
			case a.Type == schema.TypeRanking:
				b.choose(&b.choices, p.ID, p.Label, i+1)
			default:
				b.choose(&b.choices, p.ID, p.Label, 0)
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
				b.choose(&row.choices, p.ID, p.Label, 0)
			}
		}
	case schema.Date:
		b.countDay(v.Time.Format(time.DateOnly))
	case schema.Payment:
		b.choose(&b.choices, v.Status, "", 0)
	case schema.Text:
		if a.Type == schema.TypeCountry {
			b.choose(&b.choices, string(v), "", 0)
		}
	}
}

// choose counts one choice; place is that in a ranking, or 0.
func (b *blockTally) choose(t *choiceTally, id, label string, place int) {
	if _, known := t.index[id]; !known && !b.mayList() {
		b.Unlisted++
		return
	}
	c := t.define(id, label)
	c.Count++
	c.MeanPlace += float64(place)
}

func (b *blockTally) countDay(day string) {
	if _, known := b.days[day]; !known && !b.mayList() {
		b.Unlisted++
		return
	}
	if b.days == nil {
		b.days = map[string]int64{}
	}
	b.days[day]++
}

// mayList counts one more value that the form does not have, if there is room for it.
func (b *blockTally) mayList() bool {
	if b.unknown == summaryUnknown {
		return false
	}
	b.unknown++
	return true
}

func (b *blockTally) countNPS(score float64) {
	if b.NPS == nil {
		b.NPS = new(NPSSummary)
	}
	switch {
	case score <= 6:
		b.NPS.Detractors++
	case score <= 8:
		b.NPS.Passives++
	default:
		b.NPS.Promoters++
	}
}

func (t *tally) summary() Summary {
	s := Summary{Responses: t.responses}
	for _, b := range t.blocks {
		b.Skipped = t.responses - b.Answered
		b.Choices = b.choices.counts()
		for _, r := range b.rows {
			r.Choices = r.choices.counts()
			b.Rows = append(b.Rows, r.RowSummary)
		}
		if n := &b.numbers; n.Count > 0 {
			b.Numbers = &NumberSummary{
				Count: n.Count, Min: n.Min, Max: n.Max, Mean: n.Mean(), StdDev: n.StdDev(), Median: n.Median(), Exact: n.Exact(),
			}
			for _, bin := range n.Histogram(summaryBins) {
				b.Numbers.Histogram = append(b.Numbers.Histogram, Bin(bin))
			}
		}
		if n := b.NPS; n != nil {
			n.Score = 100 * float64(n.Promoters-n.Detractors) / float64(n.Promoters+n.Passives+n.Detractors)
		}
		for day, count := range b.days {
			b.Days = append(b.Days, DayCount{day, count})
		}
		slices.SortFunc(b.Days, func(x, y DayCount) int { return strings.Compare(x.Day, y.Day) })
		s.Blocks = append(s.Blocks, b.BlockSummary)
	}
	return s
}
