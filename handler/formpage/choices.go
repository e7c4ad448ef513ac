package formpage

import (
	"cmp"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"github.com/formsvc/formsvc/handler/formpage/internal/css"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/plain"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/schema"
)

type option struct {
	ID, Name, Value, Label string
	Badge                  string
	Color                  string // class of its swatch
	Image                  *policy.Picture
	Chosen, Required       bool
}

type row struct {
	ID, Name, Label string
	Chosen          []string // the values of its columns
}

// fixed makes options of values and labels in turn.
func (b *builder) fixed(f *field, pairs ...string) {
	chosen := b.value(f.Name)
	for pair := range slices.Chunk(pairs, 2) {
		value, label := pair[0], pair[len(pair)-1]
		f.Options = append(f.Options, option{Name: f.Name, Value: value, Label: label, Chosen: chosen == value})
	}
}

func (b *builder) scale(f *field) {
	p := f.P
	from, to, step, n := formblock.Scale(f.Type, p)
	if p.LeftLabel || f.Type == schema.TypeNPS {
		f.Low = p.FirstLabel
	}
	if p.CenterLabel {
		f.Mid = p.SecondLabel
	}
	if p.RightLabel || f.Type == schema.TypeNPS {
		f.Hi = p.ThirdLabel
	}
	if n == 0 {
		f.Mode, f.Classes = "decimal", " short"
		f.Help = b.c.words.Get("help.between", "min", from, "max", to)
		return
	}
	if n > 11 {
		f.Classes += " many"
	} else if n > 7 {
		f.Classes += " n" + strconv.Itoa(n)
	}
	f.control, f.Set, f.Input = (*writer).scale, true, "radio"
	chosen := b.value(f.Name)
	for i := range n {
		value := plain.Number(from + float64(i)*step)
		label := b.inWords(value)
		f.Options = append(f.Options, option{Name: f.Name, Value: value, Label: label, Chosen: chosen == value})
	}
}

// choices makes the options of a block in the order that it asks for.
func (b *builder) choices(f *field, block *schema.Block, p *schema.Properties) {
	posted := b.posted(f.Name)
	for i, c := range b.ordered(block, p) {
		o := option{
			Name: f.Name, Value: input.Picked + c.ID, Label: c.Label,
			Chosen: slices.Contains(posted, input.Picked+c.ID),
		}
		if block.Type == schema.TypePictureChoice || len(c.Image) > 0 {
			o.Image = b.picture(c.Image, c.Alt)
		}
		if o.Label == "" {
			o.Label = cmp.Or(c.Alt, c.ID)
		}
		if p.ColorOption && c.Color != "" {
			if color, ok := css.Color(c.Color); ok {
				o.Color = "c" + strconv.Itoa(b.index[block.ID]) + "-" + strconv.Itoa(i)
				b.view.Theme.AddRule("."+o.Color, "background:"+color)
			}
		}
		o.Badge = badge(p.BadgeType, i)
		f.Options = append(f.Options, o)
	}
	if block.Type == schema.TypePictureChoice && !p.ShowLabels && !slices.ContainsFunc(f.Options, func(o option) bool { return o.Image == nil }) {
		f.Classes += " unlabelled"
	}
	if p.OtherOption {
		f.OtherName = input.Other + block.ID
		f.OtherText = b.value(f.OtherName)
		f.Other = &option{
			Name: f.Name, Value: input.PickedOther, Label: cmp.Or(p.OtherText, b.c.words.Get("other")),
			Chosen: slices.Contains(posted, input.PickedOther), Badge: badge(p.BadgeType, len(f.Options)),
		}
	}
}

// badge is the mark in front of the choice with an index.
func badge(kind string, i int) string {
	switch {
	case kind == "letter" && i < 26:
		return string(rune('A' + i))
	case kind == "letter" || kind == "number":
		return strconv.Itoa(i + 1)
	}
	return ""
}

// ordered returns the choices as given, in the order of the alphabet, or mixed: in the
// same way for one visit, so that going back changes nothing.
func (b *builder) ordered(block *schema.Block, p *schema.Properties) []schema.Choice {
	list := slices.Clone(block.Choices)
	switch {
	case p.Randomize:
		mixed := fnv.New64a()
		_, _ = mixed.Write([]byte(b.c.visit.Key + "\x00" + block.ID))
		random := rand.New(rand.NewPCG(mixed.Sum64(), 1)) //nolint:gosec // the order of choices is no secret
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	case p.AlphaOrder:
		by := collate.New(language.Make(b.c.words.Tag), collate.IgnoreCase)
		slices.SortStableFunc(list, func(x, y schema.Choice) int { return by.CompareString(x.Label, y.Label) })
	}
	return list
}

// maxPlaces is how many choices of a ranking have a list of all places. Where there are
// more, a place is a number to type. The definition's limit of cells knows it as well.
const maxPlaces = 40

func (b *builder) ranking(f *field, block *schema.Block, p *schema.Properties) {
	choices := b.ordered(block, p)
	for i, c := range choices {
		name := input.Sub(input.Rank, c.ID, block.ID)
		o := option{ID: f.ID + "-" + strconv.Itoa(i), Name: name, Label: cmp.Or(c.Label, c.ID), Value: b.value(name)}
		f.Options = append(f.Options, o)
	}
	// What was ordered already is shown in its order.
	slices.SortStableFunc(f.Options, func(x, y option) int { return cmp.Compare(place(x.Value), place(y.Value)) })
}

func place(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return math.MaxInt
}

func (b *builder) matrix(f *field, block *schema.Block) {
	for _, c := range block.MatrixColumns {
		f.Columns = append(f.Columns, option{Value: input.Picked + c.ID, Label: cmp.Or(c.Label, c.ID)})
	}
	if n := len(f.Columns); n > 0 && n <= 12 {
		f.Classes += " of" + strconv.Itoa(n)
	}
	if brief(f.Columns) {
		f.Classes += " brief"
	}
	for i, r := range block.MatrixRows {
		name := input.Sub(input.Row, r.ID, block.ID)
		f.Rows = append(f.Rows, row{f.ID + "-r" + strconv.Itoa(i), name, cmp.Or(r.Label, r.ID), b.posted(name)})
	}
}

// brief reports whether the columns of a matrix stand side by side on a phone: they are
// few, and no word of their labels is wider than a column.
func brief(columns []option) bool {
	return len(columns) <= 5 && !slices.ContainsFunc(columns, func(c option) bool {
		return utf8.RuneCountInString(c.Label) > 24 ||
			slices.ContainsFunc(strings.Fields(c.Label), func(word string) bool { return utf8.RuneCountInString(word) > 9 })
	})
}

// chosenBounds are the fewest and the most choices, 0 where there is no bound.
func chosenBounds(p *schema.Properties) (low, high int) {
	if p.MinVal && p.Min != nil {
		low = int(math.Ceil(*p.Min))
	}
	if p.MaxVal && p.Max != nil {
		high = int(math.Floor(*p.Max))
	}
	if n := formblock.Positive(p.Limit); n > 0 && (high == 0 || n < high) {
		high = n
	}
	return max(low, 0), max(high, 0)
}

// countHelp says how many choices are asked for.
func (b *builder) countHelp(p *schema.Properties) string {
	low, high := chosenBounds(p)
	kind := cmp.Or(words.Bounds(low > 0, high > 0), "any")
	if low > 0 && low == high {
		kind = "exactly"
	}
	return b.c.words.Get("help.choose_"+kind, "min", low, "max", high)
}
