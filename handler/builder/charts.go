package builder

import (
	"cmp"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/schema"
)

const (
	maxMarks      = 24 // bars in a chart, rows and columns in a grid
	maxTableRows  = 1000
	maxLabel      = 90 // characters
	maxScaleSteps = 101
	maxDays       = 31 // bars for days, months or years
)

// mark is a bar or cell in a chart, and a row in the chart's table. Value is what a filter for its answers compares: a
// choice ID, a Boolean, a day, a number, or the first and the last number of a range. It is nil if there is no such filter.
type mark struct {
	Label string  `json:"label"`
	Count int64   `json:"count"`
	Share float64 `json:"share"`          // in percent
	Place float64 `json:"place,omitzero"` // mean rank in a ranking, starting at 1
	Value any     `json:"value,omitempty"`
	kind  string  // additional CSS class for NPS
}

// table holds a chart's numbers. Only a matrix row's table has a label. More is the number of omitted rows. SVG is
// escaped, so it is safe to insert into the page. Columns reports whether the chart has vertical columns.
type table struct {
	Label   string `json:"label,omitempty"`
	Rows    []mark `json:"rows"`
	More    int    `json:"more,omitempty"`
	SVG     string `json:"svg,omitempty"`
	Columns bool   `json:"columns,omitempty"`
}

type statistic struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// chartRenderer renders charts in one language. Widths are percentages, because a chart is as wide as the page allows.
// The text size is the same in all charts. CSS classes set the colors.
type chartRenderer struct {
	words   map[string]string
	printer *message.Printer
	regions display.Namer // if nil, the charts show codes
}

func newChartRenderer(tag string, words map[string]string) chartRenderer {
	parsed := language.Make(tag)
	return chartRenderer{words, message.NewPrinter(parsed), display.Regions(parsed)}
}

// renderBlock returns the statistics, and tables with charts, for a block's answers. scale lists a scale block's values.
// The first table of a matrix has the chart of all its rows.
func (a chartRenderer) renderBlock(b *formsvc.BlockSummary, scale []float64) (tables []table, figures []statistic) {
	switch {
	case len(b.Rows) > 0:
		for _, row := range b.Rows {
			marks := a.choiceMarks(b, row.Choices)
			all := int64(0)
			for _, m := range marks {
				all += m.Count
			}
			tables = append(tables, newTable(cmp.Or(row.Label, row.ID), setShares(marks, all)))
		}
		tables[0].SVG = a.renderGrid(b.Label, tables)
		return tables, nil
	case b.Type == schema.TypeRanking:
		marks := setShares(a.choiceMarks(b, b.Choices), b.Answered)
		slices.SortStableFunc(marks, func(x, y mark) int {
			return cmp.Or(-cmp.Compare(min(x.Count, 1), min(y.Count, 1)), cmp.Compare(x.Place, y.Place))
		})
		return []table{newBars(b.Label, marks, func(m mark) (float64, string) {
			if m.Count == 0 {
				return 0, "–"
			}
			return 100 * (float64(len(marks)) + 1 - m.Place) / float64(len(marks)), "⌀ " + a.formatNumber(m.Place, 1)
		})}, nil
	case len(b.Choices) > 0:
		marks := a.choiceMarks(b, b.Choices)
		if b.Other > 0 {
			marks = append(marks, mark{Label: a.words["results.other"], Count: b.Other})
		}
		if len(marks) > maxMarks || b.Type == schema.TypeCountry || b.Type == schema.TypePayment {
			slices.SortStableFunc(marks, func(x, y mark) int { return cmp.Compare(y.Count, x.Count) })
		}
		if b.Uncounted > 0 {
			marks = append(marks, mark{Label: a.words["results.rest"], Count: b.Uncounted})
		}
		return []table{newBars(b.Label, setShares(marks, b.Answered), a.shareSize)}, nil
	case b.Numbers != nil:
		n := b.Numbers
		figures = []statistic{{"mean", n.Mean}, {"median", n.Median}, {"standard_deviation", n.StdDev}, {"min", n.Min}, {"max", n.Max}}
		marks := setShares(a.binMarks(n.Histogram, scale), n.Count)
		if b.NPS != nil {
			groups := setShares([]mark{
				{Label: a.words["results.promoters"], Count: b.NPS.Promoters, kind: "good", Value: []float64{9, 10}},
				{Label: a.words["results.passives"], Count: b.NPS.Passives, kind: "fair", Value: []float64{7, 8}},
				{Label: a.words["results.detractors"], Count: b.NPS.Detractors, kind: "bad", Value: []float64{0, 6}},
			}, n.Count)
			figures = slices.Insert(figures, 0, statistic{"nps", b.NPS.Score})
			tables = []table{newBars(b.Label, groups, a.shareSize)}
		}
		return append(tables, a.newColumns(b.Label, marks)), figures
	case len(b.Days) > 0:
		return []table{a.newDays(b.Label, b.Days)}, nil
	}
	marks := setShares([]mark{
		{Label: a.words["results.answered"], Count: b.Answered}, {Label: a.words["results.unanswered"], Count: b.Skipped},
	}, b.Answered+b.Skipped)
	answered := newTable("", marks)
	answered.SVG = renderBars(b.Label, marks[:1], a.shareSize)
	return []table{answered}, nil
}

func newBars(label string, marks []mark, size markSize) table {
	t := newTable("", marks)
	t.SVG = renderBars(label, marks, size)
	return t
}

func (a chartRenderer) newColumns(label string, marks []mark) table {
	t := newTable("", marks)
	t.SVG, t.Columns = a.renderColumns(label, marks), true
	return t
}

// newDays returns a table with a chart of counts by day, or by a longer period if there are many days.
func (a chartRenderer) newDays(label string, days []formsvc.DayCount) table {
	all := int64(0)
	for _, d := range days {
		all += d.Count
	}
	return a.newColumns(label, setShares(dayMarks(days), all))
}

// newOutcomes returns a table with a chart of the endings that submissions reached.
func (a chartRenderer) newOutcomes(endings []formsvc.ChoiceCount) table {
	all := int64(0)
	marks := make([]mark, len(endings))
	for i, e := range endings {
		marks[i] = mark{Label: cmp.Or(e.Label, e.ID), Count: e.Count, Value: e.ID}
		all += e.Count
	}
	return newBars(a.words["results.outcomes"], setShares(marks, all), a.shareSize)
}

func newTable(label string, marks []mark) table {
	shown := marks[:min(len(marks), maxTableRows)]
	return table{Label: label, Rows: shown, More: len(marks) - len(shown)}
}

func setShares(marks []mark, of int64) []mark {
	for i := range marks {
		marks[i].Share = 100 * float64(marks[i].Count) / float64(max(of, 1))
	}
	return marks
}

func (a chartRenderer) choiceMarks(b *formsvc.BlockSummary, choices []formsvc.ChoiceCount) []mark {
	marks := make([]mark, len(choices))
	for i, c := range choices {
		label, value := cmp.Or(c.Label, c.ID), any(c.ID)
		switch {
		case c.Label != "":
		case b.Type == schema.TypeYesNo || b.Type == schema.TypeLegal:
			value = c.ID == "true"
			label = cmp.Or(a.words["results."+c.ID], label) // results.true and results.false
		case b.Type == schema.TypeCountry && a.regions != nil:
			if region, err := language.ParseRegion(c.ID); err == nil {
				label = cmp.Or(a.regions.Name(region), label)
			}
		}
		marks[i] = mark{Label: label, Count: c.Count, Place: c.MeanPosition, Value: value}
	}
	return marks
}

// binMarks returns a histogram's marks. A scale has a mark for every value, even if no one chose it.
func (a chartRenderer) binMarks(bins []formsvc.Bin, scale []float64) (marks []mark) {
	if slices.ContainsFunc(bins, func(b formsvc.Bin) bool { return b.From != b.To }) {
		for _, b := range bins {
			label, value := a.formatNumber(b.From, 6), any(b.From)
			if b.From != b.To {
				if value = nil; b.From == math.Trunc(b.From) && b.To == math.Trunc(b.To) { // otherwise, a bin excludes To
					value = []float64{b.From, b.To}
				}
				digits := min(max(1-int(math.Floor(math.Log10(b.To-b.From))), 0), 15) // enough to tell From and To apart
				label = a.formatNumber(b.From, digits) + " – " + a.formatNumber(b.To, digits)
			}
			marks = append(marks, mark{Label: label, Count: b.Count, Value: value})
		}
		return marks
	}
	counts, values := map[float64]int64{}, slices.Clone(scale)
	for _, b := range bins {
		counts[b.From] += b.Count
		values = append(values, b.From)
	}
	slices.Sort(values)
	for _, value := range slices.Compact(values) {
		marks = append(marks, mark{Label: a.formatNumber(value, 6), Count: counts[value], Value: value})
	}
	return marks
}

// dayUnits are the periods that days are grouped by. digits is the length of a date prefix; first completes the date.
var dayUnits = []struct {
	digits              int
	first, mark         string
	years, months, days int
}{
	{10, "", "", 0, 0, 1}, {7, "-01", "", 0, 1, 0}, {4, "-01-01", "", 1, 0, 0},
	{3, "0-01-01", "x", 10, 0, 0}, {2, "00-01-01", "xx", 100, 0, 0}, {1, "000-01-01", "xxx", 1000, 0, 0},
}

// dayMarks returns a mark for each day or, if there are too many days, for each month, year, decade and so on.
func dayMarks(days []formsvc.DayCount) (marks []mark) {
	for _, u := range dayUnits {
		counts := map[string]int64{}
		for _, d := range days {
			counts[d.Day[:u.digits]] += d.Count
		}
		last := days[len(days)-1].Day[:u.digits]
		at, _ := time.Parse(time.DateOnly, days[0].Day[:u.digits]+u.first) // stored days are valid
		for marks = nil; len(marks) <= maxDays; at = at.AddDate(u.years, u.months, u.days) {
			key := at.Format(time.DateOnly)[:u.digits]
			if key > last || at.Year() > 9999 {
				return marks
			}
			made := mark{Label: key + u.mark, Count: counts[key]}
			if u.days == 1 {
				made.Value = key
			}
			marks = append(marks, made)
		}
	}
	return marks
}

// scaleValues returns a scale block's values. It returns nil for other blocks and for very long scales.
func scaleValues(b *schema.Block) (values []float64) {
	k, _ := schema.LookupBlockType(b.Type)
	s, p := k.Scale, cmp.Or(b.Properties, &schema.Properties{})
	if b.Type == schema.TypeOpinionScale {
		s.From, s.Step = *cmp.Or(p.From, &s.From), *cmp.Or(p.ScaleStep, &s.Step)
	}
	if b.Type != schema.TypeNPS {
		s.To = *cmp.Or(p.To, &s.To)
	}
	if steps := (s.To - s.From) / s.Step; s.Step > 0 && steps < maxScaleSteps {
		for i := 0.0; i <= steps+1e-9; i++ {
			values = append(values, math.Round((s.From+i*s.Step)*1e9)/1e9)
		}
	}
	return values
}

func (a chartRenderer) formatNumber(n float64, digits int) string {
	return a.printer.Sprint(number.Decimal(n, number.MaxFractionDigits(digits)))
}

func (a chartRenderer) shareSize(m mark) (width float64, text string) {
	return m.Share, a.formatNumber(float64(m.Count), 0) + " · " + a.printer.Sprint(number.Percent(m.Share/100, number.MaxFractionDigits(0)))
}

func shortLabel(label string) string {
	return truncate(strings.Join(strings.Fields(label), " "), maxLabel)
}

func truncate(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// cell is a bar or a label with its position. Y is in pixels from the top, and X is in percent from the left.
type cell struct {
	Label, Figure, Kind, Anchor string
	X, Middle, Width, Opacity   float64
	At                          float64 // horizontal position of the label below a column
	Y, Height                   int
}

// chart is the data for a chart template. Text describes the chart for screen readers.
type chart struct {
	Text   string
	Height int
	Cells  []cell
}

var chartTemplates = template.Must(template.New("").Parse(`
{{- define "begin"}}<svg class="chart" role="img" width="100%" height="{{.Height}}"><title>{{.Text}}</title>{{end}}
{{- define "bars"}}{{template "begin" .}}{{range .Cells}}<svg y="{{.Y}}" width="100%" height="46">` +
	`<svg width="74%" height="24"><text class="chart-text" y="17">{{.Label}}</text></svg><text class="chart-figure" x="100%" y="17" text-anchor="end">{{.Figure}}</text>` +
	`<rect class="chart-track" y="25" width="100%" height="10" rx="5"/>{{if .Width}}<rect class="chart-bar {{.Kind}}" y="25" width="{{.Width}}%" height="10" rx="5"/>{{end}}</svg>{{end}}</svg>{{end}}
{{- define "columns"}}{{template "begin" .}}{{range .Cells}}{{if .Height}}<rect class="chart-bar" x="{{.X}}%" y="{{.Y}}" width="{{.Width}}%" height="{{.Height}}" rx="3"/>{{end}}` +
	`{{if .Figure}}<text class="chart-figure" x="{{.Middle}}%" y="{{.Y}}" dy="-5" text-anchor="middle">{{.Figure}}</text>{{end}}` +
	`{{if .Label}}<text class="chart-text" x="{{.At}}%" y="170" text-anchor="{{.Anchor}}">{{.Label}}</text>{{end}}{{end}}<rect class="chart-line" y="150" width="100%" height="1"/></svg>{{end}}
{{- define "grid"}}{{template "begin" .}}{{range .Cells}}{{if .Label}}<svg x="{{.X}}%" y="{{.Y}}" width="{{.Width}}%" height="24"><text class="chart-text" y="17">{{.Label}}</text></svg>{{else}}` +
	`<rect class="chart-track" x="{{.X}}%" y="{{.Y}}" width="{{.Width}}%" height="30" rx="4"/><rect class="chart-bar" x="{{.X}}%" y="{{.Y}}" width="{{.Width}}%" height="30" rx="4" fill-opacity="{{.Opacity}}"/>` +
	`{{if .Figure}}<text class="chart-figure" x="{{.Middle}}%" y="{{.Y}}" dy="20" text-anchor="middle">{{.Figure}}</text>{{end}}{{end}}{{end}}</svg>{{end}}`))

func executeChart(shape string, p chart) string {
	var b strings.Builder
	if err := chartTemplates.ExecuteTemplate(&b, shape, p); err != nil {
		return "" // the table contains the numbers
	}
	return b.String()
}

func describeChart(label string, marks []mark, size markSize) string {
	said := make([]string, 0, maxMarks)
	for _, m := range marks[:min(len(marks), maxMarks)] {
		_, figure := size(m)
		said = append(said, shortLabel(m.Label)+" "+figure)
	}
	return shortLabel(label) + ": " + strings.Join(said, ", ")
}

// markSize returns the length of a mark's bar in percent and the text next to it.
type markSize func(mark) (width float64, figure string)

func renderBars(label string, marks []mark, size markSize) string {
	drawn := marks[:min(len(marks), maxMarks)]
	p := chart{Text: describeChart(label, drawn, size), Height: 46 * len(drawn)}
	for i, m := range drawn {
		width, figure := size(m)
		p.Cells = append(p.Cells, cell{Label: shortLabel(m.Label), Figure: figure, Kind: m.kind, Width: round(min(width, 100)), Y: 46 * i})
	}
	return executeChart("bars", p)
}

// renderColumns renders vertical columns. If there are many columns, only some of them are labeled.
func (a chartRenderer) renderColumns(label string, marks []mark) string {
	p := chart{Text: describeChart(label, marks, a.shareSize), Height: 178}
	most, longest := int64(1), 1
	for _, m := range marks {
		most, longest = max(most, m.Count), max(longest, len([]rune(m.Label)))
	}
	width := 100 / float64(len(marks))
	every := max(1, (len(marks)*(longest+(longest+2)/3)+35)/36) // about 36 characters fit on one line on a phone
	for i, m := range marks {
		height := max(int(128*m.Count/most), int(min(2*m.Count, 2)))
		c := cell{X: round((float64(i) + 0.08) * width), Middle: round((float64(i) + 0.5) * width), Width: round(width * 0.84), Y: 150 - height, Height: height, Anchor: "middle"}
		if len(marks) <= 12 && m.Count > 0 {
			c.Figure = a.formatNumber(float64(m.Count), 0)
		}
		if i%every == 0 {
			c.Label, c.At = shortLabel(m.Label), c.Middle
		}
		switch { // a label at the left or right edge must not be centered
		case every > 1 && i == 0:
			c.Anchor, c.At = "start", c.X
		case every > 1 && i+every >= len(marks):
			c.Anchor, c.At = "end", c.X+c.Width
		}
		p.Cells = append(p.Cells, c)
	}
	return executeChart("columns", p)
}

// renderGrid renders a matrix as a grid. The more often a cell was chosen, the darker it is.
func (a chartRenderer) renderGrid(label string, rows []table) string {
	drawn := rows[:min(len(rows), maxMarks)]
	said := make([]string, len(drawn))
	columns := 1
	for i, row := range drawn {
		said[i] = describeChart(row.Label, row.Rows, a.shareSize)
		columns = max(columns, min(len(row.Rows), maxMarks))
	}
	p := chart{Text: shortLabel(label) + ": " + strings.Join(said, "; "), Height: 28 + 64*len(drawn)}
	width := 100 / float64(columns)
	for i, row := range drawn {
		p.Cells = append(p.Cells, cell{Label: shortLabel(row.Label), Width: 100, Y: 28 + 64*i})
		for j, m := range row.Rows[:min(len(row.Rows), columns)] {
			c := cell{X: round(float64(j) * width), Middle: round((float64(j) + 0.49) * width), Width: round(width * 0.98), Y: 52 + 64*i, Opacity: round(m.Share / 100 * 0.55)}
			if columns <= 10 {
				c.Figure = a.formatNumber(float64(m.Count), 0)
			}
			p.Cells = append(p.Cells, c)
			if i == 0 {
				p.Cells = append(p.Cells, cell{Label: shortLabel(m.Label), X: c.X, Width: c.Width})
			}
		}
	}
	return executeChart("grid", p)
}

func round(n float64) float64 { return math.Round(n*100) / 100 }
