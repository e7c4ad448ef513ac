package field

import (
	"cmp"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"github.com/formsvc/formsvc/handler/formpage/internal/css"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/pen"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/schema"
)

// buttons draws a field with options as buttons.
func (f *Field) buttons() { f.control, f.Set, f.Input = (*writer).choices, true, "radio" }

// fixed makes options of values and labels in turn.
func (b *builder) fixed(f *Field, pairs ...string) {
	chosen := b.value(f.Name)
	for pair := range slices.Chunk(pairs, 2) {
		value, label := pair[0], pair[len(pair)-1]
		f.Options = append(f.Options, Option{Name: f.Name, Value: value, Label: label, Chosen: chosen == value})
	}
}

// choices makes the options of a block in the order that it asks for.
func (b *builder) choices(f *Field, block *schema.Block, p *schema.Properties) {
	posted := b.posted(f.Name)
	for i, c := range b.ordered(block, p) {
		o := Option{
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
				b.Theme.AddRule("."+o.Color, "background:"+color)
			}
		}
		o.Badge = badge(p.BadgeType, i)
		f.Options = append(f.Options, o)
	}
	if block.Type == schema.TypePictureChoice && !p.ShowLabels && !slices.ContainsFunc(f.Options, func(o Option) bool { return o.Image == nil }) {
		f.Classes += " unlabelled"
	}
	if p.OtherOption {
		f.OtherName = input.Other + block.ID
		f.OtherText = b.value(f.OtherName)
		f.Other = &Option{
			Name: f.Name, Value: input.PickedOther, Label: cmp.Or(p.OtherText, b.Words.Get("other")),
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
		_, _ = mixed.Write([]byte(b.Visit + "\x00" + block.ID))
		random := rand.New(rand.NewPCG(mixed.Sum64(), 1)) //nolint:gosec // the order of choices is no secret
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	case p.AlphaOrder:
		by := collate.New(language.Make(b.Words.Tag), collate.IgnoreCase)
		slices.SortStableFunc(list, func(x, y schema.Choice) int { return by.CompareString(x.Label, y.Label) })
	}
	return list
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
	return b.Words.Get("help.choose_"+kind, "min", low, "max", high)
}

// list writes options to choose from in a list.
func (p *writer) list(f *Field) {
	p.Put(`<select id="%i" name="%i"`, f.ID, f.Name)
	p.When(f.Complete != "", ` autocomplete="%i"`, f.Complete)
	p.When(f.Required, " required")
	p.aria(f)
	p.Put(`><option value="">%s</option>`, cmp.Or(f.Placeholder, p.words.Get("choose")))
	p.Markup(f.Countries)
	for _, o := range pen.Each(p.Pen, f.Options) {
		p.listed(o)
	}
	if f.Other != nil {
		p.listed(f.Other)
	}
	p.Put("</select>")
	p.dateParts(f)
	p.otherText(f)
}

func (p *writer) choices(f *Field) {
	for _, o := range pen.Each(p.Pen, f.Options) {
		p.choice(f.Input, o)
		p.Put("\n")
	}
	if f.Other != nil {
		p.Put(`<div class="opt-other">`)
		p.choice(f.Input, f.Other)
		p.otherText(f)
		p.Put("</div>")
	}
	p.dateParts(f)
}
