package answertype

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc/internal/calendar"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/violation"
)

// ComparedValues holds the values that a condition compares an answer with.
type ComparedValues struct {
	Texts                []string
	Numbers              []float64
	Lists                [][]any
	Parts                []string // parts that the condition reads, such as "length" or a matrix row
	Substrings           []string // strings that the condition looks for in the answer
	Ordered, OrderedText bool     // the condition uses < or >; OrderedText: with a string
}

// Coverage says which conditions [Candidates] covers. If no candidate meets a covered condition, no answer does.
type Coverage int

// Coverage values. CoversCompared covers only comparisons with the values in ComparedValues.
const (
	CoversNothing Coverage = iota
	CoversCompared
	CoversAll
)

func coverageIf(compared bool) Coverage {
	if compared {
		return CoversCompared
	}
	return CoversNothing
}

const maxCandidates = 2000

// Candidates returns unchecked answers that are equal or close to the compared values and to the rule's limits.
func Candidates(r Rule, c ComparedValues) ([]any, Coverage) {
	list, coverage := candidatesByType(r, c)
	switch r.(type) {
	case textRule, clockRule, dateRule, PhoneRule, formatRule:
		if len(c.Parts) > 0 {
			coverage = CoversNothing // the condition reads the length of a string
		}
	}
	return list[:min(len(list), maxCandidates)], coverage
}

func candidatesByType(r Rule, c ComparedValues) ([]any, Coverage) {
	switch t := r.(type) {
	case booleanRule:
		return []any{true, false}, CoversAll
	case numberRule:
		return t.candidates(c), CoversCompared
	case textRule:
		return toAnySlice(c.texts()), c.textCoverage(t.max)
	case clockRule:
		return toAnySlice(c.timesOfDay()), coverageIf(c.noSubstringFits("0123456789:", t.length))
	case dateRule:
		if t.hasTime {
			return toAnySlice(t.candidates(c)), coverageIf(c.noSubstringFits("0123456789-:TZ", len(time.RFC3339)))
		}
		return toAnySlice(t.candidates(c)), coverageIf(t.allowedDates != nil || c.noSubstringFits("0123456789-", len(time.DateOnly)))
	case PhoneRule:
		return append(toAnySlice(c.Texts), parseSample(r)), coverageIf(!c.OrderedText && c.noSubstringFits("+0123456789", maxPhone))
	case countryCode:
		return toAnySlice(Countries()), CoversAll
	case formatRule: // email and website
		return append(toAnySlice(c.formatTexts()), parseSample(r)), coverageIf(!c.OrderedText && len(c.Substrings) <= 2)
	case paymentRule:
		return c.partCandidates(parseSample(r), func(name string) ([]any, Coverage) {
			if name == "currency" && t.currency != "" {
				return []any{t.currency}, CoversAll
			}
			return append(toAnySlice(c.Texts), toAnySlice(c.numberTexts())...), coverageIf(len(c.Substrings) == 0 && !c.OrderedText)
		})
	case interface {
		candidates(ComparedValues) ([]any, Coverage)
	}:
		return t.candidates(c)
	}
	return []any{parseSample(r)}, coverageIf(len(c.Parts) == 0)
}

func toAnySlice(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

func parseSample(r Rule) any {
	return jsontree.Inspect([]byte(r.Sample()), ParseLimits, jsontree.Node.Value)
}

// noSubstringFits reports whether every substring is too long for the answer or contains characters outside the
// alphabet.
func (c ComparedValues) noSubstringFits(alphabet string, maxLength int) bool {
	return !slices.ContainsFunc(c.Substrings, func(substring string) bool {
		return len(substring) <= maxLength && strings.Trim(substring, alphabet) == ""
	})
}

// formatTexts returns email addresses and URLs that contain the compared strings.
func (c ComparedValues) formatTexts() (list []string) {
	for _, text := range c.withOverlaps() {
		for _, before := range []string{"", "a", "a@", "a@a", "https://", "https://a", "https://example.com/", "https"} {
			for _, after := range []string{"", "a", ".com", "om", "example.com", "@example.com", "a@example.com"} {
				list = append(list, before+text+after)
			}
		}
	}
	return append(slices.Clone(c.Texts), list...)
}

// numbersAround returns the compared numbers, the limits, the midpoints between all of these, and a number beyond each
// end.
func (c ComparedValues) numbersAround(limits ...float64) []float64 {
	all := []float64{0, 1} // null and false compare as 0, true as 1
	for _, n := range append(slices.Clone(c.Numbers), limits...) {
		if !math.IsInf(n, 0) {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	points := append(slices.Clone(c.Numbers), all[0]-1, all[len(all)-1]+1)
	for i, n := range all {
		points = append(points, n)
		if i > 0 {
			points = append(points, all[i-1]+(n-all[i-1])/2)
		}
	}
	return points
}

func (c ComparedValues) wholeNumbersAround(limits ...float64) []int {
	var counts []int
	for _, n := range c.numbersAround(limits...) {
		counts = append(counts, int(math.Floor(n)), int(math.Ceil(n)))
	}
	slices.Sort(counts)
	return slices.Compact(counts)
}

func (c ComparedValues) numberTexts() []string {
	var texts []string
	for _, n := range c.numbersAround() {
		texts = append(texts, formatFloat(n), formatFloat(math.Floor(n)), formatFloat(math.Ceil(n)))
	}
	return texts
}

func (t numberRule) candidates(c ComparedValues) (list []any) {
	step := t.step
	if t.whole {
		step = 1
	}
	for _, n := range c.numbersAround(t.minimum, t.maximum) {
		if step == 0 {
			list = append(list, n)
			continue
		}
		steps := (n - t.minimum) / step
		for _, at := range []float64{math.Round(steps), math.Floor(steps), math.Ceil(steps)} {
			on := t
			on.step = step
			list = append(list, on.valueAtStep(at))
		}
	}
	return list
}

// texts returns strings that equal, contain, sort before and sort after the compared strings.
func (c ComparedValues) texts() []string {
	list := c.withOverlaps()
	for _, text := range c.Texts {
		list = append(list, text+"x", text+" x", text+"!", "x"+text, "!"+text, "~"+text)
	}
	list = append(list, strings.Join(c.Texts, ""), "x", "!", "~", "\U0010ffff", "9", "9e9", "-9e9")
	return append(list, c.numberTexts()...)
}

// withOverlaps returns the compared strings, and strings that contain two of the substrings.
func (c ComparedValues) withOverlaps() []string {
	list := append(slices.Clone(c.Texts), c.Substrings...)
	for i, substring := range c.Substrings {
		for _, other := range c.Substrings[:i] {
			list = append(list, joinOverlapping(substring, other), joinOverlapping(other, substring))
		}
	}
	return list
}

// joinOverlapping returns the shortest string that starts with a and also contains b.
func joinOverlapping(a, b string) string {
	if strings.Contains(a, b) {
		return a
	}
	for shared := min(len(a), len(b)); shared > 0; shared-- {
		if strings.HasSuffix(a, b[:shared]) {
			return a + b[shared:]
		}
	}
	return a + b
}

// textCoverage returns the Coverage of the candidates from c.texts for answers of up to maxLength characters.
func (c ComparedValues) textCoverage(maxLength int) Coverage {
	substrings := slices.DeleteFunc(slices.Clone(c.Substrings), func(substring string) bool { return violation.LongerThan(substring, maxLength) })
	tight := len(substrings) > 2 && violation.LongerThan(strings.Join(c.Texts, ""), maxLength)
	return coverageIf((len(substrings) == 0 || !c.Ordered && !tight) && (!c.OrderedText || len(c.Numbers) == 0))
}

func (c ComparedValues) timesOfDay() []string {
	list := []string{"00:00", "00:00:01", "12:00", "23:59", "23:59:59"}
	for _, text := range c.Texts {
		for _, suffix := range []string{"", ":00", ":00:00"} {
			at, err := time.Parse(time.TimeOnly, text+suffix)
			for _, by := range []time.Duration{0, time.Second, time.Minute, -time.Second, -time.Minute} {
				if err == nil {
					clock := at.Add(by).Format(time.TimeOnly)
					list = append(list, clock, clock[:len("15:04")])
				}
			}
		}
	}
	return list
}

// candidates returns days close to the limits and to the compared days. It adds whole weeks, so that the result
// includes weekdays that are not disabled.
func (t dateRule) candidates(c ComparedValues) (list []string) {
	middle := []time.Time{t.example, t.first, t.last, time.Date(firstYear, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}
	for _, text := range c.Texts {
		for _, suffix := range []string{"", "-01", "-01-01"} {
			if day, err := time.Parse(time.DateOnly, text+suffix); err == nil {
				middle = append(middle, day)
			}
		}
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			for _, by := range []time.Duration{0, time.Second, -time.Second} {
				list = append(list, withExtremeOffsets(at.Add(by))...)
			}
			middle = append(middle, calendar.UTCDay(at))
		}
	}
	for date := range t.allowedDates {
		if day, err := time.Parse(time.DateOnly, date); err == nil {
			middle = append(middle, day)
		}
	}
	distance := 1
	if t.disabled != 0 {
		distance = 7
	}
	for _, day := range middle {
		for days := -distance; days <= distance; days++ {
			at := day.AddDate(0, 0, days)
			if !t.hasTime {
				list = append(list, at.Format(time.DateOnly))
				continue
			}
			for _, clock := range []string{"T00:00:00", "T12:00:00", "T23:59:59"} {
				for _, zone := range []string{"Z", "+23:59", "-23:59"} {
					list = append(list, at.Format(time.DateOnly)+clock+zone)
				}
			}
		}
	}
	return list
}

func withExtremeOffsets(at time.Time) []string {
	const maxOffset = 23*60*60 + 59*60
	var list []string
	for _, offset := range []int{0, maxOffset, -maxOffset} {
		list = append(list, at.In(time.FixedZone("", offset)).Format(time.RFC3339))
	}
	return list
}

func (t choiceRule) candidates(c ComparedValues) ([]any, Coverage) {
	var list []any
	for _, id := range t.ids {
		list = append(list, map[string]any{"id": id}) // not the bare ID, because a blank string is not an answer
	}
	if !t.other {
		return list, CoversAll
	}
	texts, coverage := []string{"x"}, CoversCompared
	if len(c.Parts) > 0 {
		texts, coverage = c.texts(), c.textCoverage(MaxShortText)
	}
	if slices.ContainsFunc(c.Parts, func(part string) bool { return part != "other" }) {
		coverage = CoversNothing
	}
	for _, text := range texts {
		list = append(list, map[string]any{"other": text})
	}
	return list, coverage
}

const maxPermuted = 5

// splitNamed separates the choices that the condition names from the rest. If there are only a few choices, it treats
// them all as named.
func (c ComparedValues) splitNamed(ids []string) (named, others []any) {
	for _, id := range ids {
		in := func(list []any) bool { return slices.Contains(list, any(id)) }
		if len(ids) <= maxPermuted || slices.Contains(c.Texts, id) || slices.ContainsFunc(c.Lists, in) {
			named = append(named, id)
		} else {
			others = append(others, id)
		}
	}
	return named, others
}

// candidates returns all sets of the named choices, each with every relevant number of other choices.
func (t multipleRule) candidates(c ComparedValues) (list []any, coverage Coverage) {
	named, others := c.splitNamed(t.ids)
	if t.other {
		others = append(others, map[string]any{"other": "x"})
	}
	sizes := []int{0, 1, t.minCount}
	if slices.Contains(c.Parts, "length") {
		sizes = append(sizes, c.wholeNumbersAround(float64(t.minCount), float64(min(t.maxCount, len(t.ids))))...)
	}
	coverage = coverageIf(!c.Ordered && !slices.ContainsFunc(c.Parts, func(part string) bool { return part != "length" }))
	if len(others) == 0 {
		coverage = CoversAll
	}
	if len(named) > maxPermuted+1 {
		named, coverage = named[:maxPermuted+1], CoversNothing
	}
	for set := range 1 << len(named) {
		var chosen []any
		for i, id := range named {
			if set>>i&1 == 1 {
				chosen = append(chosen, id)
			}
		}
		list = append(list, chosen)
		for _, size := range sizes {
			if more := size - len(chosen); more > 0 && more <= len(others) {
				list = append(list, append(slices.Clone(chosen), others[:more]...))
			}
		}
	}
	return list, coverage
}

// candidates returns all orders of up to maxPermuted choices. With more choices, it returns the compared lists, and
// orders that move each choice to the index that the condition reads.
func (t rankingRule) candidates(c ComparedValues) (list []any, coverage Coverage) {
	all := toAnySlice(t.ids)
	if len(all) <= maxPermuted {
		return permutations(all), CoversAll
	}
	list = append(list, all)
	for _, order := range c.Lists {
		list = append(list, order)
	}
	for _, part := range c.Parts {
		place, err := strconv.Atoi(part)
		for i := range all {
			if err == nil && place >= 0 && place < len(all) {
				order := slices.Clone(all)
				order[place], order[i] = order[i], order[place]
				list = append(list, order)
			}
		}
	}
	return list, coverageIf(len(c.Parts) <= 1)
}

func permutations(items []any) (list []any) {
	if len(items) < 2 {
		return []any{items}
	}
	for i, first := range items {
		for _, rest := range permutations(slices.Delete(slices.Clone(items), i, i+1)) {
			list = append(list, append([]any{first}, rest.([]any)...)) //nolint:forcetypeassert // permutations returns slices
		}
	}
	return list
}

// candidates returns answers with all values of the rows that the condition reads, with and without the other rows.
func (t matrixRule) candidates(c ComparedValues) ([]any, Coverage) {
	rest := make(map[string]any)
	if len(t.columns.ids) > 0 {
		for _, row := range t.rows.ids {
			rest[row] = t.columns.ids[0]
		}
	}
	values, coverage := toAnySlice(t.columns.ids), CoversAll
	if t.multiple {
		parts := c
		parts.Parts = []string{"length"}
		values, coverage = multipleRule{choices: t.columns, maxCount: math.MaxInt32}.candidates(parts)
	}
	row := func(string) ([]any, Coverage) { return values, coverage }
	var rows []string
	for _, part := range c.Parts { // r.length is the length of row r
		name, _, _ := strings.Cut(part, ".")
		for _, id := range []string{part, name} {
			if _, ok := t.rows.index[id]; ok {
				rows = append(rows, id)
				break
			}
		}
	}
	c.Parts = rows
	some, _ := c.partCandidates(map[string]any{}, row)
	filled, coverage := c.partCandidates(rest, row)
	return append(some, filled...), coverage
}

func (t filesRule) candidates(c ComparedValues) (list []any, coverage Coverage) {
	for _, count := range c.wholeNumbersAround(1, float64(t.maxCount)) {
		if count > 0 && count <= t.maxCount {
			list = append(list, slices.Repeat([]any{parseSample(t)}, count))
		}
	}
	return list, coverageIf(!slices.ContainsFunc(c.Parts, func(part string) bool { return part != "length" }))
}

func (t contactRule) candidates(c ComparedValues) ([]any, Coverage) {
	return c.partCandidates(parseSample(t), func(name string) ([]any, Coverage) {
		for _, p := range t.parts {
			if p.name == name && !p.hide {
				c.Parts = nil
				return Candidates(p.rule, c)
			}
		}
		return nil, CoversAll
	})
}

// partCandidates returns copies of object in which each part that the condition reads takes every value or is missing.
func (c ComparedValues) partCandidates(object any, values func(name string) ([]any, Coverage)) ([]any, Coverage) {
	whole, ok := object.(map[string]any)
	if !ok {
		return nil, CoversNothing
	}
	list, coverage := []any{whole}, CoversAll
	for _, name := range slices.Compact(slices.Sorted(slices.Values(c.Parts))) {
		of, covered := values(name)
		coverage = min(coverage, covered)
		var made []any
		for _, object := range list {
			for _, value := range append(slices.Clip(of), nil) {
				with := maps.Clone(object.(map[string]any)) //nolint:forcetypeassert // checked above
				with[name] = value
				made = append(made, with)
			}
		}
		if list = made; len(list) > maxCandidates {
			return list[:maxCandidates], CoversNothing
		}
	}
	return list, coverage
}

// HiddenCandidates returns the [Candidates] for a hidden field.
func HiddenCandidates(c ComparedValues) ([]any, Coverage) {
	texts := slices.DeleteFunc(c.texts(), func(text string) bool { return text == "" || CheckHiddenText(text).IsSet() })
	return toAnySlice(texts), c.textCoverage(MaxShortText)
}

// VariableCandidates returns the [Candidates] for a variable.
func VariableCandidates(c ComparedValues) (list []any, coverage Coverage) {
	for _, n := range c.numbersAround() {
		list = append(list, n)
	}
	return append(list, toAnySlice(c.texts())...), c.textCoverage(MaxShortText)
}
