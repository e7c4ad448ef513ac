package servicetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/batching"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

const summaryForm = `[
	{"id":"text","type":"short_text","label":"Text"},
	{"id":"group","type":"group","children":[{"id":"nps","type":"nps","label":"Recommend"}]},
	{"id":"number","type":"number","label":"Number"},
	{"id":"yes","type":"yes_no","label":"Yes"},
	{"id":"one","type":"single_choice","label":"One","choices":[{"id":"a","label":"A"},{"id":"b","label":"B"},{"id":"never","label":"Never"}],"properties":{"otherOption":true}},
	{"id":"many","type":"multiple_choice","label":"Many","choices":[{"id":"a","label":"A"},{"id":"b","label":"B"},{"id":"c","label":"C"}]},
	{"id":"rank","type":"ranking","label":"Rank","choices":[{"id":"a","label":"A"},{"id":"b","label":"B"},{"id":"c","label":"C"}]},
	{"id":"grid","type":"matrix","label":"Grid","matrix_rows":[{"id":"r","label":"R"},{"id":"s","label":"S"}],"matrix_columns":[{"id":"x","label":"X"},{"id":"y","label":"Y"}],"properties":{"multiSelection":true}},
	{"id":"day","type":"date","label":"Day"},
	{"id":"country","type":"country","label":"Country"},
	{"id":"gone","type":"single_choice","label":"Gone","choices":[{"id":"a","label":"A"},{"id":"b","label":"B"}]},
	{"id":"end","type":"ending"}]`

// randomAnswers are answers to summaryForm, each of which may be left out.
func randomAnswers(r *rand.Rand) map[string]json.RawMessage {
	given := map[string]any{
		"text":    "x",
		"nps":     r.IntN(11),
		"number":  float64(r.IntN(4000)-2000) / 8,
		"yes":     r.IntN(2) == 0,
		"one":     []any{"a", "b", map[string]string{"other": "mine"}}[r.IntN(3)],
		"many":    [][]string{{"a"}, {"a", "b"}, {"c"}, {"a", "b", "c"}}[r.IntN(4)],
		"rank":    [][]string{{"a", "b", "c"}, {"c", "a", "b"}, {"b", "a", "c"}}[r.IntN(3)],
		"grid":    []map[string][]string{{"r": {"x"}}, {"r": {"x", "y"}, "s": {"y"}}, {"s": {"x"}}}[r.IntN(3)],
		"day":     fmt.Sprintf("2026-11-%02d", 1+r.IntN(9)),
		"country": []string{"NL", "BE", "DE"}[r.IntN(3)],
		"gone":    []string{"a", "b"}[r.IntN(2)],
	}
	answers := map[string]json.RawMessage{}
	for id, value := range given {
		if r.IntN(4) > 0 {
			answers[id], _ = json.Marshal(value)
		}
	}
	return answers
}

// naiveSummary counts what was submitted, straight from the JSON, for the form without
// its block "gone".
func naiveSummary(t *testing.T, all []map[string]json.RawMessage) formsvc.Summary {
	t.Helper()
	each := func(id string) (values []any) {
		for _, answers := range all {
			if raw, ok := answers[id]; ok {
				var v any
				expect.NoError(t, json.Unmarshal(raw, &v))
				values = append(values, v)
			}
		}
		return values
	}
	total := int64(len(all))
	block := func(id, kind, label string) formsvc.BlockSummary {
		n := int64(len(each(id)))
		return formsvc.BlockSummary{ID: id, Type: kind, Label: label, Answered: n, Skipped: total - n}
	}
	count := func(values []any, want any) (n int64) {
		for _, v := range values {
			if list, ok := v.([]any); ok && slices.Contains(list, want) {
				n++
			} else if !ok && fmt.Sprint(v) == fmt.Sprint(want) {
				n++
			}
		}
		return n
	}
	choices := func(values []any, ids ...string) (list []formsvc.ChoiceCount) {
		for _, id := range ids {
			label := map[string]string{"a": "A", "b": "B", "c": "C", "x": "X", "y": "Y", "never": "Never"}[id]
			list = append(list, formsvc.ChoiceCount{ID: id, Label: label, Count: count(values, id)})
		}
		return list
	}
	numbers := func(id string) *formsvc.NumberSummary {
		var list []float64
		for _, v := range each(id) {
			list = append(list, v.(float64))
		}
		if len(list) == 0 {
			return nil
		}
		slices.Sort(list)
		s := &formsvc.NumberSummary{Count: int64(len(list)), Min: list[0], Max: list[len(list)-1], Exact: true}
		for _, x := range list {
			s.Mean += x / float64(len(list))
		}
		for _, x := range list {
			s.StdDev += (x - s.Mean) * (x - s.Mean) / float64(len(list))
		}
		s.StdDev = math.Sqrt(s.StdDev)
		s.Median = (list[(len(list)-1)/2] + list[len(list)/2]) / 2
		distinct := slices.Compact(slices.Clone(list))
		if len(distinct) <= 20 {
			for _, x := range distinct {
				s.Histogram = append(s.Histogram, formsvc.Bin{From: x, To: x, Count: count(each(id), x)})
			}
			return s
		}
		width := (s.Max - s.Min) / 20
		for i := range 20 {
			bin := formsvc.Bin{From: s.Min + float64(i)*width, To: s.Min + float64(i+1)*width}
			if i == 19 {
				bin.To = s.Max
			}
			for _, x := range list {
				if bin.From <= x && (x < bin.To || i == 19) {
					bin.Count++
				}
			}
			s.Histogram = append(s.Histogram, bin)
		}
		return s
	}

	text := block("text", "short_text", "Text")
	nps := block("nps", "nps", "Recommend")
	nps.Numbers = numbers("nps")
	if n := nps.Answered; n > 0 {
		nps.NPS = new(formsvc.NPSSummary)
		for _, v := range each("nps") {
			switch x := v.(float64); {
			case x >= 9:
				nps.NPS.Promoters++
			case x >= 7:
				nps.NPS.Passives++
			default:
				nps.NPS.Detractors++
			}
		}
		nps.NPS.Score = float64(nps.NPS.Promoters-nps.NPS.Detractors) / float64(n) * 100
	}
	number := block("number", "number", "Number")
	number.Numbers = numbers("number")
	yes := block("yes", "yes_no", "Yes")
	yes.Choices = choices(each("yes"), "true", "false")
	one := block("one", "single_choice", "One")
	one.Choices = choices(each("one"), "a", "b", "never")
	one.Other = one.Answered - one.Choices[0].Count - one.Choices[1].Count
	many := block("many", "multiple_choice", "Many")
	many.Choices = choices(each("many"), "a", "b", "c")
	rank := block("rank", "ranking", "Rank")
	rank.Choices = choices(each("rank"), "a", "b", "c")
	for i := range rank.Choices {
		for _, v := range each("rank") {
			place := slices.Index(v.([]any), any(rank.Choices[i].ID)) + 1
			rank.Choices[i].MeanPosition += float64(place) / float64(rank.Answered)
		}
	}
	grid := block("grid", "matrix", "Grid")
	for _, row := range []string{"r", "s"} {
		var cells []any
		for _, v := range each("grid") {
			if chosen, ok := v.(map[string]any)[row]; ok {
				cells = append(cells, chosen)
			}
		}
		grid.Rows = append(grid.Rows, formsvc.RowSummary{ID: row, Label: map[string]string{"r": "R", "s": "S"}[row], Choices: choices(cells, "x", "y")})
	}
	day := block("day", "date", "Day")
	for d := 1; d <= 9; d++ {
		text := fmt.Sprintf("2026-11-%02d", d)
		if n := count(each("day"), text); n > 0 {
			day.Days = append(day.Days, formsvc.DayCount{Day: text, Count: n})
		}
	}
	country := block("country", "country", "Country")
	for _, code := range []string{"BE", "DE", "NL"} {
		if n := count(each("country"), code); n > 0 {
			country.Choices = append(country.Choices, formsvc.ChoiceCount{ID: code, Count: n})
		}
	}
	if text.Answered > 0 {
		text.Texts = []formsvc.TextCount{{Text: "x", Count: text.Answered}}
	}
	if one.Other > 0 {
		one.Texts = []formsvc.TextCount{{Text: "mine", Count: one.Other}}
	}
	s := formsvc.Summary{Submissions: total, Read: total, Blocks: []formsvc.BlockSummary{text, nps, number, yes, one, many, rank, grid, day, country}}
	s.Endings = []formsvc.ChoiceCount{{ID: "end", Count: total}}
	if total > 0 {
		s.Days = []formsvc.DayCount{{Day: "2026-11-20", Count: total}}
	}
	if gone := block("gone", "single_choice", "Gone"); gone.Answered > 0 {
		gone.Deleted = true
		for _, id := range []string{"a", "b"} {
			if n := count(each("gone"), id); n > 0 {
				gone.Choices = append(gone.Choices, formsvc.ChoiceCount{ID: id, Label: map[string]string{"a": "A", "b": "B"}[id], Count: n})
			}
		}
		s.Blocks = append(s.Blocks, gone)
	}
	return s
}

// A summary is what a naive count of the submitted answers is, on both storages and over
// any period.
func TestASummaryIsANaiveCount(t *testing.T) {
	t.Parallel()
	for name, store := range servicetest.Stores(t) {
		for seed := range uint64(4) {
			r := rand.New(rand.NewPCG(seed, 7))
			start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
			now := servicetest.NewClock(start)
			b := servicetest.SetupOn(t, store, formsvc.WithClock(now.Now))
			form := b.Form(summaryForm, `{}`)
			var all []map[string]json.RawMessage
			for range []int{0, 1, 7, 60}[seed] {
				answers := randomAnswers(r)
				expect.Must(b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: answers}))
				all = append(all, answers)
				now.Advance(time.Minute)
			}
			c := b.As(b.User.ID)
			expect.Must(c.DeleteBlock(t.Context(), form, "gone"))
			first, last := 0, len(all)
			for _, q := range []formsvc.SubmissionQuery{{}, {Since: start.Add(5 * time.Minute), Until: start.Add(30 * time.Minute)}, {Limit: 3}} {
				switch {
				case q.Limit > 0:
					first = max(0, len(all)-q.Limit)
					last = len(all)
				case !q.Since.IsZero():
					first, last = min(5, len(all)), min(31, len(all))
				}
				got := expect.Must(c.Summary(t.Context(), form, q))
				want := naiveSummary(t, all[first:last])
				options := cmp.Options{
					cmpopts.EquateApprox(1e-9, 1e-9),
					cmpopts.IgnoreFields(formsvc.TextCount{}, "Submission"),
					cmpopts.SortSlices(func(a, b formsvc.ChoiceCount) bool { return a.ID < b.ID }),
				}
				expect.Equal(t, cmp.Diff(want, got, options), "", "%s, seed %d, %+v", name, seed, q)
			}
		}
	}
}

// However different the values are, a summary keeps a bounded number of them.
func TestASummaryIsBounded(t *testing.T) {
	t.Parallel()
	store := &pagesOf{Storage: memory.New(), n: 20_000, answers: func(i int) string {
		return fmt.Sprintf(`[{"field":{"id":"name","type":"single_choice"},"value":{"id":"c%d","label":"x"}},
			{"field":{"id":"day","type":"date"},"value":"%s"},{"field":{"id":"n","type":"number"},"value":%d.5}]`,
			i, time.Unix(int64(i)*86400, 0).UTC().Format(time.DateOnly), i)
	}}
	b := servicetest.SetupOn(t, store)
	form := b.Form(`[{"id":"name","type":"single_choice"}]`, `{}`)
	s := expect.Must(b.AsHost().Summary(t.Context(), form, formsvc.SubmissionQuery{}))
	name, day, n := s.Blocks[0], s.Blocks[1], s.Blocks[2]
	if len(name.Choices) != 10_000 || name.Uncounted != 10_000 || len(day.Days) != 10_000 || day.Uncounted != 10_000 || name.Deleted || !day.Deleted || name.Answered != 20_000 {
		t.Errorf("%d choices and %d more, %d days and %d more", len(name.Choices), name.Uncounted, len(day.Days), day.Uncounted)
	}
	expect.That(t, !n.Numbers.Exact && math.Abs(n.Numbers.Median-10_000) <= 100 && n.Numbers.Max == 19_999.5, "%+v", n.Numbers)

	store.answers = func(i int) string { return fmt.Sprintf(`[{"field":{"id":"f%d","type":"short_text"},"value":"x"}]`, i) }
	refused(t, expect.ErrorOf(b.AsHost().Summary(t.Context(), form, formsvc.SubmissionQuery{})), "20,000 fields")
	store.before = func(page int) error { return errDown }
	expect.Error(t, "without its storage", expect.ErrorOf(b.AsHost().Summary(t.Context(), form, formsvc.SubmissionQuery{})), errDown)
	expect.Error(t, "for a stranger", expect.ErrorOf(b.As(formsvc.UserIDFrom("stranger")).Summary(t.Context(), form, formsvc.SubmissionQuery{})), formsvc.ErrNotFound)
}

// countedLists remembers what the funnel was asked to count, each list as one call.
type countedLists struct {
	storage.Storage
	mu    sync.Mutex
	lists [][]storage.FunnelCount
	fail  func(ctx context.Context) error // nil: it counts
}

func (s *countedLists) CountFunnel(ctx context.Context, counts []storage.FunnelCount) error {
	s.mu.Lock()
	s.lists = append(s.lists, counts)
	s.mu.Unlock()
	if s.fail != nil {
		return s.fail(ctx)
	}
	return s.Storage.CountFunnel(ctx, counts)
}

func (s *countedLists) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lists)
}

func visited(t *testing.T, svc *formsvc.Service, form formsvc.ID, period formsvc.Period, views, starts int64) {
	t.Helper()
	m, err := svc.AsHost().Metrics(t.Context(), form, period)
	expect.That(t, err == nil && m.Views == views && m.Starts == starts,
		"%s: %d views and %d starts, want %d and %d; %v", period, m.Views, m.Starts, views, starts, err)
}

// Views and starts of all forms within a quarter of a second are one call of the store, each
// with its form and its time.
func TestVisitsAreWrittenTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &countedLists{Storage: memory.New()}
		now := servicetest.NewClock(time.Date(2026, 11, 20, 23, 59, 59, 0, time.UTC))
		b := servicetest.SetupOn(t, store, formsvc.WithClock(now.Now))
		form, other := b.Form(servicetest.TextBlock, `{}`), b.Form(servicetest.TextBlock, `{}`)
		visit := func(of formsvc.ID) {
			expect.NoError(t, errors.Join(b.RecordView(t.Context(), of), b.RecordStart(t.Context(), of)))
		}
		visit(form)
		visit(storage.ID{1}) // there is none
		now.Advance(2 * time.Second)
		visit(form)
		visit(other)
		expect.Equal(t, store.calls(), 0, "writes at once")
		time.Sleep(batching.Delay)
		synctest.Wait()
		if n := store.calls(); n != 1 || len(store.lists[0]) != 8 {
			t.Errorf("%d writes, the first of %d counts, want one of 8", n, len(store.lists[0]))
		}
		visited(t, b.Service, form, formsvc.PeriodYesterday, 1, 1)
		visited(t, b.Service, form, formsvc.PeriodToday, 1, 1)
		visited(t, b.Service, other, formsvc.PeriodAll, 1, 1)

		visit(form) // counts for the metrics of this process before it is written
		visited(t, b.Service, form, formsvc.PeriodAll, 3, 3)
		visit(form)
		check(t, b.Close(t.Context()))
		expect.Equal(t, store.calls(), 3, "writes after Metrics and Close")
		visit(form) // one by one from now on
		expect.Equal(t, store.calls(), 5, "writes after Close and a visit")
		visited(t, b.Service, form, formsvc.PeriodAll, 5, 5)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		expect.Error(t, "a view with a canceled context", b.RecordView(ctx, form), context.Canceled)
		visited(t, b.Service, form, formsvc.PeriodAll, 5, 5)
	})
}

// A view waits for no store, and metrics no longer than their context; nor does a store that
// cannot count keep them from being read.
func TestAStoreThatDoesNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &countedLists{Storage: memory.New(), fail: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		b := servicetest.SetupOn(t, store)
		form := b.Form(servicetest.TextBlock, `{}`)
		start := time.Now()
		for range 100 {
			expect.NoError(t, b.RecordView(t.Context(), form))
			time.Sleep(batching.Delay)
		}
		took := time.Since(start)
		expect.That(t, took == 100*batching.Delay, "100 views in %v: they waited", took-100*batching.Delay)
		n := store.calls()
		expect.That(t, n <= 3, "%d writes at once of a store that hangs", n)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		if _, err := b.AsHost().Metrics(ctx, form, formsvc.PeriodAll); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > time.Second {
			t.Errorf("metrics for a second, of a store that hangs: %v after %v", err, time.Since(start))
		}
		start = time.Now() // a write is under way for ten seconds, and another one waits
		if _, err := b.AsHost().Metrics(t.Context(), form, formsvc.PeriodAll); err != nil || time.Since(start) > 2*time.Second {
			t.Errorf("metrics of a store that cannot count: %v after %v, want what it has after two seconds", err, time.Since(start))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		store.fail = func(context.Context) error { return errors.New("refused") }
		check(t, b.RecordView(t.Context(), form))
		visited(t, b.Service, form, formsvc.PeriodAll, 0, 0)
		check(t, b.RecordView(t.Context(), form))
		err := b.Close(t.Context())
		expect.That(t, err != nil && err.Error() == "refused", "Close, of a store that refuses views: %v", err)
	})
}

// In a host's transaction a view is part of it, and its metrics wait for no other connection.
func TestVisitsInAHostsTransaction(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t, pgtest.Config{})
	pool := pgtest.PoolAt(t, server.URL(), pgtest.MaxConns(1))
	store := servicetest.Migrated(t, pool)
	b := servicetest.SetupOn(t, store)
	form := b.Form(servicetest.TextBlock, `{}`)
	rolledBack := errors.New("rolled back")
	for i, end := range []error{rolledBack, nil} {
		err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			if err := b.RecordStart(t.Context(), form); err != nil { // of the service, beside it
				return err
			}
			inTx := b.WithStorage(store.On(tx))
			if err := errors.Join(inTx.RecordView(t.Context(), form), inTx.RecordView(t.Context(), storage.ID{1})); err != nil {
				return err
			}
			m, err := inTx.AsHost().Metrics(t.Context(), form, formsvc.PeriodAll)
			expect.That(t, m.Views == 1, "in the transaction: %d views, %v", m.Views, err)
			return errors.Join(end, err)
		})
		expect.Require(t, errors.Is(err, end), "%v", err)
		visited(t, b.Service, form, formsvc.PeriodAll, int64(i), int64(i+1))
	}
}
