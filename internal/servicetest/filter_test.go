package servicetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/schema"
)

func collectIDs(t *testing.T, c formsvc.Client, form formsvc.ID, q formsvc.SubmissionQuery) (ids []formsvc.ID) {
	t.Helper()
	for s, err := range c.Submissions(t.Context(), form, q) {
		expect.NoError(t, err)
		ids = append(ids, s.ID)
	}
	return ids
}

// A filter selects the same submissions in lists, pages, summaries and exports.
func TestFiltersSelectTheSameEverywhere(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form, selectedForm := b.Form(summaryForm, `{}`), b.Form(summaryForm, `{}`)
		client := b.As(b.User.ID)
		random := rand.New(rand.NewPCG(1, 49))
		low, both := schema.When("nps").Below(7), schema.When("nps").Below(7).And(schema.When("one").Is("a").Not())
		var want []formsvc.ID
		for i := range 400 {
			answers := randomAnswers(random)
			answers["text"] = json.RawMessage(`"` + []string{"Delivery was SLOW", "fine", "Délivery, again"}[i%3] + `"`)
			at := time.Date(2026, 1, 1, 0, i, 0, 0, time.UTC)
			s := expect.Must(b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: answers, SubmittedAt: at}))
			var nps float64
			_ = json.Unmarshal(answers["nps"], &nps)
			if answers["nps"] != nil && nps < 7 && string(answers["one"]) != `"a"` && i%3 != 1 {
				want = append(want, s.ID)
				_, err := b.Submit(t.Context(), formsvc.SubmitParams{FormID: selectedForm, Answers: answers, SubmittedAt: at})
				expect.NoError(t, err)
			}
		}
		slices.Reverse(want)
		q := formsvc.SubmissionQuery{Where: both, Text: "delivery"}
		got := collectIDs(t, client, form, q)
		expect.Equal(t, cmp.Diff(got, want), "", "the list")
		expect.That(t, len(want) > 20, "%d are selected", len(want))
		expect.Equal(t, len(collectIDs(t, client, form, formsvc.SubmissionQuery{})), 400, "all")
		limited := q
		limited.Limit = 7
		expect.Equal(t, cmp.Diff(collectIDs(t, client, form, limited), want[:7]), "", "the first")

		// Pages that read for a nanosecond advance by at least one submission.
		var paged []formsvc.ID
		var read int64
		for next := q; ; {
			page := expect.Must(client.SubmissionPage(t.Context(), form, next, time.Nanosecond))
			for _, s := range page.Submissions {
				paged = append(paged, s.ID)
			}
			if read += page.Read; page.Next == nil {
				break
			}
			next.After = page.Next
		}
		expect.Equal(t, cmp.Diff(paged, want), "", "the pages")
		expect.Equal(t, read, 400, "read")

		summary := expect.Must(client.Summary(t.Context(), form, q))
		byHand := expect.Must(client.Summary(t.Context(), selectedForm, formsvc.SubmissionQuery{}))
		expect.Equal(t, summary.Read, 400, "the submissions read for a summary")
		ignored := cmp.Options{cmpopts.IgnoreFields(formsvc.TextCount{}, "Submission"), cmpopts.EquateApprox(1e-9, 1e-9)} // sums of parts are rounded
		summary.Read, byHand.Read = 0, 0
		expect.Equal(t, cmp.Diff(summary, byHand, ignored), "", "the summary")
		again := expect.Must(client.Summary(t.Context(), form, q))
		again.Read = 0
		expect.Equal(t, cmp.Diff(again, summary, ignored), "", "the summary from the cache")
		other := expect.Must(client.Summary(t.Context(), form, formsvc.SubmissionQuery{Where: low}))
		unfiltered := expect.Must(client.Summary(t.Context(), form, formsvc.SubmissionQuery{}))
		expect.That(t, other.Submissions > summary.Submissions && unfiltered.Submissions == 400, "%d and %d with other filters", other.Submissions, unfiltered.Submissions)

		var file bytes.Buffer
		expect.NoError(t, client.Export(t.Context(), &file, form, formsvc.Export{Format: formsvc.NDJSON, Where: both, Text: "delivery"}))
		lines := strings.Split(strings.TrimSpace(file.String()), "\n")
		for i, line := range lines {
			expect.That(t, strings.Contains(line, want[min(i, len(want)-1)].String()), "line %d is %.80s", i, line)
		}
		expect.Equal(t, len(lines), len(want), "exported lines")

		// A deleted submission leaves filtered summaries, too.
		expect.NoError(t, client.DeleteSubmission(t.Context(), form, want[0]))
		expect.Equal(t, expect.Must(client.Summary(t.Context(), form, q)).Submissions, int64(len(want)-1), "after a deletion")

		// Others see nothing.
		stranger := b.As(formsvc.UserIDFrom("stranger"))
		_, err := stranger.SubmissionPage(t.Context(), form, q, 0)
		expect.That(t, errors.Is(err, formsvc.ErrNotFound), "a stranger's page: %v", err)
		_, err = stranger.Summary(t.Context(), form, q)
		expect.That(t, errors.Is(err, formsvc.ErrNotFound), "a stranger's summary: %v", err)
	})
}

// filterBlocks are the blocks of random forms.
var filterBlocks = map[string]string{
	"text":  `{"id":"text","type":"short_text","label":"Text"}`,
	"nps":   `{"id":"nps","type":"nps","label":"NPS"}`,
	"one":   `{"id":"one","type":"single_choice","label":"One","choices":[{"id":"a","label":"Apple"},{"id":"b","label":"Beet"}],"properties":{"otherOption":true}}`,
	"many":  `{"id":"many","type":"multiple_choice","label":"Many","choices":[{"id":"a","label":"Apple"},{"id":"c","label":"Corn"}],"properties":{"otherOption":true}}`,
	"day":   `{"id":"day","type":"date","label":"Day"}`,
	"at":    `{"id":"at","type":"date","label":"At","properties":{"showTimePicker":true}}`,
	"file":  `{"id":"file","type":"file_upload","label":"File"}`,
	"who":   `{"id":"who","type":"contact_info","label":"Who"}`,
	"grid":  `{"id":"grid","type":"matrix","label":"Grid","matrix_rows":[{"id":"r","label":"R"}],"matrix_columns":[{"id":"x","label":"X"},{"id":"y","label":"Y"}]}`,
	"agree": `{"id":"agree","type":"legal","label":"Agree"}`,
}

// filterAnswers are answers to filterBlocks. No two blocks have a text in common.
var filterAnswers = map[string][]string{
	"text": {`"Delivery was SLOW"`, `"Délivery, again"`, `"fine"`}, "nps": {"0", "6", "7", "10"}, "one": {`"a"`, `"b"`, `{"other":"Möhre"}`},
	"many": {`["a"]`, `["a","c"]`, `["c",{"other":"Dill"}]`}, "day": {`"2026-11-20"`, `"2026-01-02"`}, "at": {`"2026-10-20T10:00:00Z"`, `"2026-10-21T01:00:00+02:00"`},
	"file": {`[{"id":"f","name":"invoice.pdf","url":"https://files.example/f","size":3,"mime_type":"application/pdf"}]`}, "who": {`{"firstName":"José"}`, `{"firstName":"Ann","city":"Zürich"}`},
	"grid": {`{"r":"x"}`, `{"r":"y"}`}, "agree": {"true", "false"},
}

// filterByHand are conditions and texts on one block, with the answers that they select.
var filterByHand = []struct {
	block    string
	q        formsvc.SubmissionQuery
	selected []string
}{
	{"text", formsvc.SubmissionQuery{Text: "delivery"}, []string{`"Delivery was SLOW"`, `"Délivery, again"`}},
	{"one", formsvc.SubmissionQuery{Text: "MOHRE"}, []string{`{"other":"Möhre"}`}},
	{"file", formsvc.SubmissionQuery{Text: "Invoice"}, []string{filterAnswers["file"][0]}},
	{"day", formsvc.SubmissionQuery{Text: "2026-11"}, []string{`"2026-11-20"`}},
	{"who", formsvc.SubmissionQuery{Text: "zurich"}, []string{`{"firstName":"Ann","city":"Zürich"}`}},
	{"nps", formsvc.SubmissionQuery{Where: schema.When("nps").Below(7)}, []string{"0", "6"}},
	{"nps", formsvc.SubmissionQuery{Where: schema.When("nps").NotAnswered()}, []string{""}},
	{"one", formsvc.SubmissionQuery{Where: schema.When("one").Is("a")}, []string{`"a"`}},
	{"one", formsvc.SubmissionQuery{Where: schema.When("one").Part("other").Answered()}, []string{`{"other":"Möhre"}`}},
	{"many", formsvc.SubmissionQuery{Where: schema.When("many").Includes("c")}, []string{`["a","c"]`, `["c",{"other":"Dill"}]`}},
	{"day", formsvc.SubmissionQuery{Where: schema.When("day").After("2026-06-01")}, []string{`"2026-11-20"`}},
	{"at", formsvc.SubmissionQuery{Where: schema.When("at").After("2026-10-20T12:00:00Z")}, []string{`"2026-10-21T01:00:00+02:00"`}},
	{"file", formsvc.SubmissionQuery{Where: schema.When("file").Answered()}, []string{filterAnswers["file"][0]}},
	{"who", formsvc.SubmissionQuery{Where: schema.When("who").Part("firstName").Is("José")}, []string{`{"firstName":"José"}`}},
	{"grid", formsvc.SubmissionQuery{Where: schema.When("grid").Part("r").Is("x").Not()}, []string{`{"r":"y"}`, ""}},
	{"agree", formsvc.SubmissionQuery{Where: schema.When("agree").IsNo()}, []string{"false"}},
}

// The summary of a filter is that of a form with only the selected submissions, on random forms with groups, and also
// after submissions were changed.
func TestFilteredSummariesEqualFilteringByHand(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		random, selected := rand.New(rand.NewPCG(2, 49)), 0
		for range 6 {
			var blocks []string
			var has []string
			for _, id := range slices.Sorted(maps.Keys(filterBlocks)) {
				if random.IntN(5) == 0 {
					continue
				}
				block := filterBlocks[id]
				for range random.IntN(2) {
					block = fmt.Sprintf(`{"id":"group %s","type":"group","label":"G","children":[%s]}`, id, block)
				}
				blocks, has = append(blocks, block), append(has, id)
			}
			random.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
			definition := "[" + strings.Join(blocks, ",") + "]"
			form := b.Form(definition, `{}`)
			var all []formsvc.SubmitParams
			for i := range 40 {
				p := formsvc.SubmitParams{FormID: form, SubmittedAt: time.Date(2026, 1, 1+i/9, 0, i/3, 0, 0, time.UTC), Answers: map[string]json.RawMessage{}, HostAnswers: map[string]json.RawMessage{}}
				answer := func(id string, none string) {
					raw, to := none, p.Answers
					if list := filterAnswers[id]; random.IntN(4) > 0 {
						raw = list[random.IntN(len(list))]
					}
					if id == "file" {
						to = p.HostAnswers
					}
					if delete(to, id); raw != "" {
						to[id] = json.RawMessage(raw)
					}
				}
				for _, id := range has {
					answer(id, "")
				}
				s := expect.Must(b.Submit(t.Context(), p))
				for range random.IntN(3) { // the summary of the next query must not use the counts before the change
					id := has[random.IntN(len(has))]
					answer(id, "null")
					change := formsvc.SubmissionChange{Answers: p.Answers}
					if id == "file" {
						change = formsvc.SubmissionChange{HostAnswers: p.HostAnswers}
					}
					expect.Must(b.AsHost().UpdateSubmission(t.Context(), form, s.ID, change))
					maps.DeleteFunc(p.Answers, func(_ string, raw json.RawMessage) bool { return string(raw) == "null" })
					maps.DeleteFunc(p.HostAnswers, func(_ string, raw json.RawMessage) bool { return string(raw) == "null" })
				}
				all = append(all, p)
			}
			for range 5 {
				one, other := filterByHand[random.IntN(len(filterByHand))], filterByHand[random.IntN(len(filterByHand))]
				if !slices.Contains(has, one.block) || !slices.Contains(has, other.block) || one.q.Text != "" && other.q.Text != "" {
					continue
				}
				q, either := one.q, random.IntN(2) == 0 && one.q.Text == "" && other.q.Text == ""
				switch {
				case either:
					q.Where = one.q.Where.Or(other.q.Where)
				case one.q.Where.IsZero():
					q.Where = other.q.Where
				case other.q.Where.IsZero():
					q.Text = other.q.Text
				default:
					q.Where = one.q.Where.And(other.q.Where)
				}
				byHand := b.Form(definition, `{}`)
				for _, p := range all {
					holds := func(block string, selected []string) bool {
						return slices.Contains(selected, string(p.Answers[block])+string(p.HostAnswers[block]))
					}
					first, second := holds(one.block, one.selected), holds(other.block, other.selected)
					if first && second || either && (first || second) {
						p.FormID = byHand
						expect.Must(b.Submit(t.Context(), p))
						selected++
					}
				}
				got, want := expect.Must(b.AsHost().Summary(t.Context(), form, q)), expect.Must(b.AsHost().Summary(t.Context(), byHand, formsvc.SubmissionQuery{}))
				got.Read, want.Read = 0, 0
				ignored := cmp.Options{cmpopts.IgnoreFields(formsvc.TextCount{}, "Submission"), cmpopts.EquateApprox(1e-9, 1e-9), cmpopts.EquateEmpty()}
				expect.Require(t, cmp.Diff(got, want, ignored) == "", "%s and %s, either %t: %s", expect.Must(json.Marshal(one.q)), expect.Must(json.Marshal(other.q)), either, cmp.Diff(got, want, ignored))
			}
		}
		expect.That(t, selected > 50, "%d are selected", selected)
	})
}

func TestUnknownBlocksInFiltersAreErrors(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form := b.Form(summaryForm, `{}`)
		q := formsvc.SubmissionQuery{Where: schema.When("nobody").Is("x")}
		c := b.As(b.User.ID)
		_, page := c.SubmissionPage(t.Context(), form, q, 0)
		_, summary := c.Summary(t.Context(), form, q)
		export := c.Export(t.Context(), &bytes.Buffer{}, form, formsvc.Export{Where: q.Where})
		var list error
		for _, err := range c.Submissions(t.Context(), form, q) {
			list = err
		}
		for name, err := range map[string]error{"a page": page, "a summary": summary, "an export": export, "a list": list} {
			broken, ok := errors.AsType[*formsvc.Error](err)
			expect.That(t, ok && broken.Violations[0].Path == "/where" && broken.Violations[0].Code == schema.CodeUnknownField, "%s: %v", name, err)
		}
	})
}

func TestFilteredExportsOverHTTP(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(summaryForm, `{}`)
	for _, text := range []string{"Ann", "Bob"} {
		expect.Must(b.Answer(form, "text", `"`+text+`"`, "nps", "3"))
	}
	get := func(query string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/exports/"+form.String()+".ndjson?"+query, nil)
		r.Header.Set("X-API-Key", b.Key)
		b.ExportHandler().ServeHTTP(w, r)
		return w
	}
	where := url.Values{"where": {`{"==":[{"var":"answers.text"},"Ann"]}`}}.Encode()
	for query, lines := range map[string]int{where: 1, "text=bo": 1, "text=": 2, where + "&text=bob": 0, "text=a": 1} {
		w := get(query)
		expect.Equal(t, w.Code, http.StatusOK, query)
		expect.Equal(t, strings.Count(w.Body.String(), "\n"), lines, query)
	}
	for query, want := range map[string]string{
		"where=%7B&since=x": `"path":"query:since"`, "where=": `"path":"query:where"`, "where=%7B%22var%22%3A%22answers.x%22%7D": `"UNKNOWN_FIELD"`,
		"text=a&text=b": `"DUPLICATE"`, "text=" + strings.Repeat("x", 201): `"path":"query:text"`,
	} {
		w := get(query)
		expect.That(t, w.Code == http.StatusUnprocessableEntity || w.Code == http.StatusBadRequest, "%s: %d", query, w.Code)
		expect.That(t, strings.Contains(w.Body.String(), want), "%s: %s", query, w.Body)
	}
}

func TestAFilteredReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(summaryForm, `{}`)
	expect.Must(b.Answer(form, "text", `"x"`))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.As(b.User.ID).SubmissionPage(ctx, form, formsvc.SubmissionQuery{Text: "x"}, 0)
	expect.That(t, errors.Is(err, context.Canceled), "%v", err)
}
