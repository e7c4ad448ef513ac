// Package summary counts the answers to a form. Its memory grows with the form, not with the number of submissions.
package summary

import (
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc/internal/export"
	"github.com/formsvc/formsvc/internal/filter"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

const (
	// MaxBins is the maximum number of bins in a histogram.
	MaxBins    = 20
	maxUnknown = 10_000 // maximum distinct choices and days per block that are not in the form
	// MaxTexts limits how many distinct texts a block stores, and maxText limits their length in characters.
	MaxTexts, maxText = 1000, 300
	maxSeconds        = 100 // maximum number of stored completion times
)

// Tally holds the counts of the submissions added so far. Submissions must be added newest first.
type Tally struct {
	Responses int64
	Read      int64        // how many submissions were read, including those that a filter does not select
	Seconds   []float64    // completion times of the newest submissions
	Days      ChoiceCounts // submissions by day, which is used as the ID
	Endings   ChoiceCounts // submissions by the ending that they reached
	Blocks    []*Block     // in the order of formsvc.Summary
	byID      map[string]*Block
}

// Text is a free-text answer, truncated to the maximum length.
type Text struct {
	Text       string
	Submission storage.ID // newest submission with this text
	Count      int64

	hash uint64 // hash of the whole text
}

// Texts holds a block's newest distinct texts. Older submissions still increase the counts of these texts, but once the
// list is full, no texts are added.
type Texts struct {
	List  []Text
	index map[uint64]int // positions in List by hash; nil until a text is added
}

var seed = maphash.MakeSeed()

func (t *Texts) add(added Text) {
	if t.index == nil {
		t.index = make(map[uint64]int, len(t.List))
		for i := range t.List {
			t.index[t.List[i].hash] = i
		}
	}
	if at, known := t.index[added.hash]; known {
		t.List[at].Count += added.Count
	} else if len(t.List) < MaxTexts {
		t.index[added.hash] = len(t.List)
		t.List = append(t.List, added)
	}
}

// Block counts the answers to one block, hidden field or variable.
type Block struct {
	ID, Type, Label            string
	Deleted                    bool // the form no longer has the block
	FromList                   bool // the choices come from a list of the host
	Answered, Other, Uncounted int64
	Choices                    ChoiceCounts
	Rows                       []*Row // rows of a matrix
	Numbers                    Series
	NPS                        *schema.NPSSummary
	Days                       ChoiceCounts // days, which are used as IDs
	Texts                      Texts
	OtherType                  *Block // earlier answers of another type, as a linked list

	rowByID map[string]*Row
	unknown int // distinct choices and days that are not in the form
}

// Row counts the choices in a matrix row.
type Row struct {
	ID, Label string
	Choices   ChoiceCounts
}

// ChoiceCounts counts the form's choices and unknown choices.
type ChoiceCounts struct {
	list  []schema.ChoiceCount // in this list, MeanPosition is the sum of the positions
	index map[string]int
}

func (t *ChoiceCounts) indexOf(id string) (at int, known bool) {
	if t.index == nil { // not yet created, or removed by compact
		t.index = make(map[string]int, len(t.list))
		for i := range t.list {
			t.index[t.list[i].ID] = i
		}
	}
	at, known = t.index[id]
	return at, known
}

func (t *ChoiceCounts) findOrAdd(id, label string) *schema.ChoiceCount {
	at, known := t.indexOf(id)
	if !known {
		id, label = strings.Clone(id), strings.Clone(label) // do not keep the whole page in memory
		at = len(t.list)
		t.index[id] = at
		t.list = append(t.list, schema.ChoiceCount{ID: id, Label: label})
	}
	return &t.list[at]
}

// Counts returns the choices in the order in which they were added.
func (t *ChoiceCounts) Counts() []schema.ChoiceCount {
	list := slices.Clone(t.list)
	for i := range list {
		if c := &list[i]; c.Count > 0 {
			c.MeanPosition /= float64(c.Count)
		}
	}
	return list
}

// New returns a tally for a form's blocks, hidden fields and variables.
func New(blocks []schema.Block, hidden []string, variables map[string]any) *Tally {
	t := &Tally{byID: map[string]*Block{}}
	t.addBlocks(blocks)
	for i := range blocks {
		if b := &blocks[i]; b.Type == schema.TypeEnding {
			t.Endings.findOrAdd(b.ID, b.PlainLabel())
		}
	}
	for _, name := range hidden {
		t.addBlock(name, schema.TypeHidden, name)
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		t.addBlock(name, schema.TypeVariable, name)
	}
	return t
}

func (t *Tally) addBlock(id, kind, label string) *Block {
	b := newBlock(id, kind, label)
	t.Blocks = append(t.Blocks, b)
	t.byID[b.ID] = b
	return b
}

func newBlock(id, kind, label string) *Block {
	return &Block{ID: strings.Clone(id), Type: strings.Clone(kind), Label: strings.Clone(label)}
}

func (t *Tally) addBlocks(blocks []schema.Block) {
	for i := range blocks {
		b := &blocks[i]
		if b.TakesAnswer() {
			made := t.addBlock(b.ID, b.Type, b.PlainLabel())
			made.FromList = b.ListRef().List != ""
			for _, c := range b.Choices {
				made.Choices.findOrAdd(c.ID, c.Label)
			}
			if b.AnswerShape() == schema.ShapeBoolean {
				made.Choices.findOrAdd("true", "")
				made.Choices.findOrAdd("false", "")
			}
			if b.Type == schema.TypeMatrix {
				for _, r := range b.MatrixRows {
					row := made.findOrAddRow(r.ID, r.Label)
					for _, c := range b.MatrixColumns {
						row.Choices.findOrAdd(c.ID, c.Label)
					}
				}
			}
		}
		t.addBlocks(b.Children)
	}
}

func (b *Block) findOrAddRow(id, label string) *Row {
	r := b.rowByID[id]
	if r == nil {
		id = strings.Clone(id)
		r = &Row{ID: id, Label: label}
		if b.rowByID == nil {
			b.rowByID = map[string]*Row{}
		}
		b.rowByID[id] = r
		b.Rows = append(b.Rows, r)
	}
	return r
}

// AddStored counts one stored submission, on its day in the time zone, if the filter f selects it. It returns a
// [*schema.Error] if there are more than [export.MaxColumns] distinct fields.
func (t *Tally) AddStored(s *storage.Submission, f *filter.Filter, zone *time.Location) error {
	t.Read++
	answers, err := schema.DecodeAnswers(s.Answers)
	if err != nil {
		return err
	}
	if selected, err := f.Matches(answers, s.Ending); err != nil || !selected {
		return err
	}
	t.Responses++
	if len(t.Seconds) < maxSeconds {
		t.Seconds = append(t.Seconds, s.CompletionTime)
	}
	t.Days.findOrAdd(s.SubmittedAt.In(zone).Format(time.DateOnly), "").Count++
	if s.Ending != "" {
		t.Endings.findOrAdd(s.Ending, "").Count++
	}
	for i := range answers {
		a := &answers[i]
		b, err := t.findOrAddBlock(a.ID, a.Type, a.Label)
		if err != nil {
			return err
		}
		b.countAnswer(a)
		if text := freeText(a); text != "" {
			b.Texts.add(Text{truncateText(text), s.ID, 1, maphash.String(seed, text)})
		}
	}
	return nil
}

// Merge adds the counts of older submissions.
func (t *Tally) Merge(older *Tally) error {
	t.Responses += older.Responses
	t.Read += older.Read
	t.Seconds = append(t.Seconds, older.Seconds[:min(maxSeconds-len(t.Seconds), len(older.Seconds))]...)
	for _, day := range older.Days.list {
		t.Days.findOrAdd(day.ID, "").Count += day.Count
	}
	for _, ending := range older.Endings.list {
		t.Endings.findOrAdd(ending.ID, "").Count += ending.Count
	}
	for _, from := range older.Blocks {
		for ; from != nil; from = from.OtherType {
			if from.Answered == 0 {
				continue
			}
			b, err := t.findOrAddBlock(from.ID, from.Type, from.Label)
			if err != nil {
				return err
			}
			b.mergeCounts(from)
		}
	}
	return nil
}

func (t *Tally) findOrAddBlock(id, kind, label string) (*Block, error) {
	b := t.byID[id]
	if b == nil {
		if len(t.Blocks) >= export.MaxColumns {
			return nil, violation.New("", schema.CodeTooMany, "the submissions have more than "+strconv.Itoa(export.MaxColumns)+" different fields")
		}
		b = t.addBlock(id, kind, label)
		b.Deleted = true
	}
	for !countedTogether(b.Type, kind) {
		if b.OtherType == nil {
			b.OtherType = newBlock(id, kind, label)
		}
		b = b.OtherType
	}
	return b, nil
}

// countedTogether reports whether answers of two types are counted together, because both types are texts or both are
// choices. Numeric types are always counted separately, because their scales differ.
func countedTogether(a, b string) bool {
	if a == b {
		return true
	}
	x, _ := schema.LookupBlockType(a)
	y, _ := schema.LookupBlockType(b)
	return x.Comparison == schema.CompareText && y.Comparison == schema.CompareText || x.Shape == schema.ShapeChoice && y.Shape == schema.ShapeChoice
}

// freeText returns the text in an answer that charts do not show, or "".
func freeText(a *schema.Answer) string {
	switch v := a.Value.(type) {
	case schema.Picks:
		if own := slices.IndexFunc(v, func(p schema.Pick) bool { return p.ID == "" }); own >= 0 {
			return v[own].Other
		}
	case schema.String:
		if a.Type != schema.TypeCountry {
			return string(v)
		}
	case schema.Contact, schema.Files, schema.Other:
		return a.String()
	}
	return ""
}

func truncateText(text string) string {
	if len(text) > maxText { // len counts bytes, so there can be fewer characters
		if runes := []rune(text); len(runes) > maxText {
			return string(runes[:maxText-1]) + "…"
		}
	}
	return strings.Clone(text)
}

func (b *Block) mergeCounts(from *Block) {
	b.Answered += from.Answered
	b.Other += from.Other
	b.Uncounted += from.Uncounted
	b.mergeVotes(&b.Choices, &from.Choices)
	b.mergeVotes(&b.Days, &from.Days)
	b.Numbers.Merge(&from.Numbers)
	if n := from.NPS; n != nil {
		b.addNPS(n.Detractors, n.Passives, n.Promoters)
	}
	for _, r := range from.Rows {
		if b.rowByID[r.ID] == nil && !b.reserveUnknown() {
			b.Uncounted++
			continue
		}
		b.mergeVotes(&b.findOrAddRow(r.ID, r.Label).Choices, &r.Choices)
	}
	for _, text := range from.Texts.List {
		b.Texts.add(text)
	}
}

func (b *Block) mergeVotes(to, from *ChoiceCounts) {
	for _, c := range from.list {
		b.addChoice(to, c)
	}
}

func (b *Block) countAnswer(a *schema.Answer) {
	b.Answered++
	switch v := a.Value.(type) {
	case schema.Number:
		b.Numbers.Add(float64(v))
		if a.Type == schema.TypeNPS {
			switch {
			case v <= 6:
				b.addNPS(1, 0, 0)
			case v <= 8:
				b.addNPS(0, 1, 0)
			default:
				b.addNPS(0, 0, 1)
			}
		}
	case schema.Bool:
		b.addChoice(&b.Choices, schema.ChoiceCount{ID: v.String(), Count: 1})
	case schema.Picks:
		for i, p := range v {
			switch {
			case p.ID == "":
				b.Other++
			case a.Type == schema.TypeRanking:
				b.addChoice(&b.Choices, schema.ChoiceCount{ID: p.ID, Label: p.Label, Count: 1, MeanPosition: float64(i + 1)})
			default:
				b.addChoice(&b.Choices, schema.ChoiceCount{ID: p.ID, Label: p.Label, Count: 1})
			}
		}
	case schema.Matrix:
		for _, r := range v {
			if b.rowByID[r.ID] == nil && !b.reserveUnknown() {
				b.Uncounted++
				continue
			}
			row := b.findOrAddRow(r.ID, "")
			for _, p := range r.Picks {
				b.addChoice(&row.Choices, schema.ChoiceCount{ID: p.ID, Label: p.Label, Count: 1})
			}
		}
	case schema.Date:
		b.addChoice(&b.Days, schema.ChoiceCount{ID: v.Time.Format(time.DateOnly), Count: 1})
	case schema.Payment:
		b.addChoice(&b.Choices, schema.ChoiceCount{ID: v.Status, Count: 1})
	case schema.String:
		if a.Type == schema.TypeCountry {
			b.addChoice(&b.Choices, schema.ChoiceCount{ID: string(v), Count: 1})
		}
	}
}

func (b *Block) addChoice(t *ChoiceCounts, c schema.ChoiceCount) {
	if _, known := t.indexOf(c.ID); !known && !b.reserveUnknown() {
		b.Uncounted += c.Count
		return
	}
	to := t.findOrAdd(c.ID, c.Label)
	to.Count += c.Count
	to.MeanPosition += c.MeanPosition
}

// reserveUnknown counts another unknown value. It returns false if the limit is reached.
func (b *Block) reserveUnknown() bool {
	if b.unknown == maxUnknown {
		return false
	}
	b.unknown++
	return true
}

func (b *Block) addNPS(detractors, passives, promoters int64) {
	if b.NPS == nil {
		b.NPS = new(schema.NPSSummary)
	}
	n := b.NPS
	n.Detractors += detractors
	n.Passives += passives
	n.Promoters += promoters
	n.Score = 100 * float64(n.Promoters-n.Detractors) / float64(n.Promoters+n.Passives+n.Detractors)
}

// Compact removes indexes that Add can recreate, and keeps only the given number of each block's newest texts. It
// returns the approximate size of the tally in bytes.
func (t *Tally) Compact(texts int) (size int) {
	for _, b := range t.Blocks {
		for ; b != nil; b = b.OtherType {
			size += 600 + len(b.ID) + len(b.Label) + 32*len(b.Numbers.counts) + b.Choices.dropIndex() + b.Days.dropIndex()
			for _, r := range b.Rows {
				size += 150 + r.Choices.dropIndex()
			}
			if len(b.Texts.List) > texts {
				b.Texts.List = slices.Clone(b.Texts.List[:texts])
			}
			b.Texts.index = nil
			for _, text := range b.Texts.List {
				size += 64 + len(text.Text)
			}
		}
	}
	return size + 500 + 8*cap(t.Seconds) + t.Days.dropIndex() + t.Endings.dropIndex()
}

func (t *ChoiceCounts) dropIndex() (size int) {
	t.index = nil
	for _, c := range t.list {
		size += 64 + len(c.ID) + len(c.Label)
	}
	return size
}
