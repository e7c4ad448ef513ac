package field

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

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/htmlwriter"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/theme"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/schema"
)

func (f *Field) useRadioButtons() {
	f.control, f.Fieldset, f.Input = (*writer).writeChoices, true, "radio"
}

func (b *builder) addFixedOptions(f *Field, pairs ...string) {
	chosen := b.useValue(f.Name)
	for pair := range slices.Chunk(pairs, 2) {
		value, label := pair[0], pair[len(pair)-1]
		f.Options = append(f.Options, Option{Name: f.Name, Value: value, Label: label, Chosen: chosen == value})
	}
}

func (b *builder) addChoices(f *Field, block *schema.Block, p *schema.Properties) {
	posted := b.useValues(f.Name)
	for i, c := range b.orderChoices(block, p) {
		o := Option{
			Name: f.Name, Value: input.ChoicePrefix + c.ID, Label: c.Label,
			Chosen: slices.Contains(posted, input.ChoicePrefix+c.ID),
		}
		if block.Type == schema.TypePictureChoice || len(c.Image) > 0 {
			o.Image = b.allowPicture(c.Image, c.Alt)
		}
		if o.Label == "" {
			o.Label = cmp.Or(c.Alt, c.ID)
		}
		if p.ColorOption && c.Color != "" {
			if color, ok := theme.ParseColor(c.Color); ok {
				o.Color = "c" + strconv.Itoa(b.index[block.ID]) + "-" + strconv.Itoa(i)
				b.Theme.AddRule("."+o.Color, "background:"+color)
			}
		}
		o.Badge = choiceBadge(p.BadgeType, i)
		f.Options = append(f.Options, o)
	}
	if block.Type == schema.TypePictureChoice && !p.ShowLabels && len(f.Options) > 0 && !slices.ContainsFunc(f.Options, func(o Option) bool { return o.Image == nil }) {
		f.Classes += " unlabelled"
	}
	if p.OtherOption {
		f.OtherName = input.Other + block.ID
		f.OtherText, f.Interpretation = b.useValue(f.OtherName), b.Interpretations[f.OtherName].Text
		f.Other = &Option{
			Name: f.Name, Value: input.OtherChoice, Label: cmp.Or(p.OtherText, b.Words.Get("other")),
			Chosen: slices.Contains(posted, input.OtherChoice), Badge: choiceBadge(p.BadgeType, len(f.Options)),
		}
	}
}

func choiceBadge(kind string, i int) string {
	switch {
	case kind == "letter" && i < 26:
		return string(rune('A' + i))
	case kind == "letter" || kind == "number":
		return strconv.Itoa(i + 1)
	}
	return ""
}

// orderChoices returns the choices in the configured order. A random order stays the same throughout a visit.
func (b *builder) orderChoices(block *schema.Block, p *schema.Properties) []schema.Choice {
	list := slices.Clone(block.Choices)
	if l, ok := b.Lists[block.ID]; ok {
		list = slices.Clone(l.Choices)
		if l.Search {
			return list
		}
	}
	switch {
	case p.Randomize:
		mixed := fnv.New64a()
		_, _ = mixed.Write([]byte(b.Visit + "\x00" + block.ID))
		random := rand.New(rand.NewPCG(mixed.Sum64(), 1)) //nolint:gosec // The order is not a secret.
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	case p.AlphaOrder:
		by := collate.New(language.Make(b.Words.Tag), collate.IgnoreCase)
		slices.SortStableFunc(list, func(x, y schema.Choice) int { return by.CompareString(x.Label, y.Label) })
	}
	return list
}

func (b *builder) selectionCountHelp(p *schema.Properties) string {
	low, high := 0, 0 // The minimum and maximum. Zero means no limit.
	if p.MinVal && p.Min != nil {
		low = max(int(math.Ceil(*p.Min)), 0)
	}
	if p.MaxVal && p.Max != nil {
		high = int(math.Floor(*p.Max))
	}
	if n := formblock.PositiveOrZero(p.Limit); n > 0 && (high == 0 || n < high) {
		high = n
	}
	high = max(high, 0)
	kind := cmp.Or(words.BoundsSuffix(low > 0, high > 0), "any")
	if low > 0 && low == high {
		kind = "exactly"
	}
	return b.Words.Get("help.choose_"+kind, "min", low, "max", high)
}

func (p *writer) writeSelect(f *Field) {
	p.Put(`<select name="%i"`, f.Name)
	p.PutIf(!f.Fieldset, ` id="%i"`, f.ID)
	p.PutIf(f.Fieldset, ` aria-label="%s"`, f.Label)
	p.PutIf(f.Autocomplete != "", ` autocomplete="%i"`, f.Autocomplete)
	p.PutIf(f.Required, " required")
	p.writeARIA(f)
	p.Put(`><option value="">%s</option>`, cmp.Or(f.Placeholder, p.words.Get("choose")))
	p.WriteMarkup(f.Countries)
	for _, o := range htmlwriter.EachFitting(p.Writer, f.Options) {
		p.writeOption(o)
	}
	if f.Other != nil {
		p.writeOption(f.Other)
	}
	p.Put("</select>")
	p.writeDateParts(f)
	p.writeOtherText(f)
}

// writeClearButton writes a button that clears a selection. The style sheet shows it only while a choice is selected.
func (p *writer) writeClearButton(f *Field, name, label string) {
	p.PutIf(f.Input == "radio" && !f.Required, `<button class="fs-clear" name="clear" value="%i">%s<span class="vh">: %s</span></button>`, name, p.words.Get("clear"), label)
}

func (p *writer) writeChoices(f *Field) {
	for _, o := range htmlwriter.EachFitting(p.Writer, f.Options) {
		p.writeChoice(f.Input, o)
		p.Put("\n")
	}
	if f.Other != nil {
		p.Put(`<div class="opt-other">`)
		p.writeChoice(f.Input, f.Other)
		p.writeOtherText(f)
		p.Put("</div>")
	}
	p.writeDateParts(f)
}

func (b *builder) addRanking(f *Field, block *schema.Block, p *schema.Properties) {
	choices := b.orderChoices(block, p)
	for i, c := range choices {
		name := input.SubName(input.Rank, c.ID, block.ID)
		o := Option{ID: f.ID + "-" + strconv.Itoa(i), Name: name, Label: cmp.Or(c.Label, c.ID), Value: b.useValue(name)}
		f.Options = append(f.Options, o)
	}
	slices.SortStableFunc(f.Options, func(x, y Option) int { return cmp.Compare(parseRank(x.Value), parseRank(y.Value)) })
}

func parseRank(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return math.MaxInt
}

func (p *writer) writeRanking(f *Field) {
	p.Put(`<ol class="ranking">`)
	most := formblock.MaxRenderedChoices(schema.TypeRanking) // Longer rankings use number inputs instead of dropdowns.
	for _, o := range htmlwriter.EachFitting(p.Writer, f.Options) {
		p.Put(`<li data-label="%s"><span class="grip" aria-hidden="true"></span>`, o.Label)
		if len(f.Options) > most {
			p.Put(`<input id="%i" name="%i" value="%v" inputmode="numeric" autocomplete="off" aria-label="`, o.ID, o.Name, o.Value)
			p.PutSentence(p.words.Get("ranking.position"), "label", o.Label)
			p.Put(`">`)
		} else {
			p.Put(`<select id="%i" name="%i" aria-label="`, o.ID, o.Name)
			p.PutSentence(p.words.Get("ranking.position"), "label", o.Label)
			p.Put(`"><option value="">–</option>`)
			for n := range f.Options {
				place := strconv.Itoa(n + 1)
				p.writeOption(&Option{Value: place, Label: p.words.FormatNumber(place), Chosen: o.Value == place})
			}
			p.Put("</select>")
		}
		p.Put(`<span class="lbl">%s</span><span class="moves" hidden>`, o.Label)
		p.writeMoveButton("-1", "move_up", "M6 15l6-6 6 6", o.Label)
		p.writeMoveButton("1", "move_down", "M6 9l6 6 6-6", o.Label)
		p.Put("</span></li>")
	}
	p.Put(`</ol><button type="button" class="fs-button quiet" data-ranked hidden>%s</button>`, p.words.Get("ranking.keep"))
}

func (p *writer) writeMoveButton(by, word, drawing, label string) {
	p.Put(`<button type="button" data-move="%i" aria-label="`, by)
	p.PutSentence(p.words.Get(word), "label", label)
	p.Put(`"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="%i"/></svg></button>`, drawing)
}

func (b *builder) addMatrix(f *Field, block *schema.Block) {
	for _, c := range block.MatrixColumns {
		f.Options = append(f.Options, Option{Value: input.ChoicePrefix + c.ID, Label: cmp.Or(c.Label, c.ID)})
	}
	if n := len(f.Options); n > 0 && n <= 12 {
		f.Classes += " of" + strconv.Itoa(n)
	}
	if fitsPhone(f.Options) {
		f.Classes += " brief"
	}
	for i, r := range block.MatrixRows {
		name := input.SubName(input.Row, r.ID, block.ID)
		f.Rows = append(f.Rows, Row{f.ID + "-r" + strconv.Itoa(i), name, cmp.Or(r.Label, r.ID), b.useValues(name)})
	}
}

// fitsPhone reports whether a matrix's columns fit on a phone: there are at most five, and their words are short.
func fitsPhone(columns []Option) bool {
	return len(columns) <= 5 && !slices.ContainsFunc(columns, func(c Option) bool {
		return utf8.RuneCountInString(c.Label) > 24 ||
			slices.ContainsFunc(strings.Fields(c.Label), func(word string) bool { return utf8.RuneCountInString(word) > 9 })
	})
}

func (p *writer) writeMatrix(f *Field) {
	p.Put(`<div class="matrix"><div class="m-head" aria-hidden="true"><span></span>`)
	for _, column := range htmlwriter.EachFitting(p.Writer, f.Options) {
		p.Put("<span>%s</span>", column.Label)
	}
	p.Put("</div>")
	for _, r := range htmlwriter.EachFitting(p.Writer, f.Rows) {
		p.Put(`<fieldset class="m-row" id="%i"><legend>%s</legend>`, r.ID, r.Label)
		for _, column := range htmlwriter.EachFitting(p.Writer, f.Options) {
			p.writeChoice(f.Input, &Option{Name: r.Name, Value: column.Value, Label: column.Label, Chosen: slices.Contains(r.Chosen, column.Value)})
		}
		p.writeClearButton(f, r.Name, r.Label)
		p.Put("</fieldset>")
	}
	p.Put("</div>")
}
