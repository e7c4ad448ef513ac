package servicetest_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// export is an export as text.
func export(b *servicetest.Bundle, form formsvc.ID, e formsvc.Export) string {
	b.T.Helper()
	var out bytes.Buffer
	if err := b.As(b.User.ID).Export(b.T.Context(), &out, form, e); err != nil {
		b.T.Fatal(err)
	}
	return out.String()
}

// table reads a CSV into one map a line, from the column's name to the cell, without the
// empty cells and those of every table.
func table(t *testing.T, text string) (header []string, lines []map[string]string) {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	header = records[0]
	for _, r := range records[1:] {
		line := map[string]string{}
		for i, name := range header {
			if r[i] != "" && name != "submission_id" && name != "submitted_at" && name != "completion_time" {
				line[name] = r[i]
			}
		}
		lines = append(lines, line)
	}
	return header, lines
}

func TestACSVHasAColumnForEveryValue(t *testing.T) {
	t.Parallel()
	for name, store := range servicetest.Stores(t) {
		b := servicetest.SetupOn(t, store)
		form := everyTypeForm(b)
		r := everyAnswer(form)
		r.CompletionTime = 31.5
		r.Metadata = formsvc.Metadata{Country: "NL", Device: "phone", UserAgent: "=agent", UTM: map[string]string{"source": "news"}}
		stored, err := b.Submit(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		common := map[string]string{
			"text": "'=1+1", "long": "a\nb", "email": "ada@example.com", "phone": "+442083661177", "site": "https://example.com/",
			"number": "-1.5", "rating": "4", "scale": "7", "nps": "9", "yes": "true", "legal": "false", "one": "'-2",
			"day": "2026-02-28", "moment": "2026-02-28T10:30:00Z", "time": "08:33",
			"address/address": "1 High Street", "address/city": "Utrecht", "address/country": "NL",
			"contact/firstName": "Ada", "contact/phone": "+442083661177", "country": "NL",
			"sign/name": "sig.png", "sign/url": "https://files.example.com/sig",
			"pay/amount": "10.00", "pay/currency": "EUR", "pay/status": "paid", "pay/gateway": "bank", "pay/reference": "r1",
			"ref":              "'@home",
			"metadata/country": "NL", "metadata/device": "phone", "metadata/user_agent": "'=agent", "metadata/utm/source": "news",
		}
		joined := map[string]string{
			"drop": "Beet", "many": "Apple; Corn; dill; mint", "picture": "Apple", "pictures": "Beet", "rank": "Beet; Apple",
			"grid/z": "Good", "grid/y": "Bad", "grids/z": "Good; Bad",
			"files/name": "one.pdf; two.pdf", "files/url": "https://files.example.com/one; https://files.example.com/two",
		}
		for _, c := range []struct {
			name string
			e    formsvc.Export
			want map[string]string // beside common
		}{
			{"default", formsvc.Export{}, joined},
			{"ids", formsvc.Export{ChoiceIDs: true}, with(joined, map[string]string{
				"drop": "b", "many": "a; c; dill; mint", "picture": "a", "pictures": "b", "rank": "b; a", "grid/z": "good", "grid/y": "bad", "grids/z": "good; bad",
			})},
			{"kept", formsvc.Export{KeepFormulas: true}, with(joined, map[string]string{
				"text": "=1+1", "one": "-2", "ref": "@home", "metadata/user_agent": "=agent",
			})},
			{"spread", formsvc.Export{Spread: true}, map[string]string{
				"drop": "Beet", "many/a": "Apple", "many/c": "Corn", "many/other": "dill; mint", "picture": "Apple", "pictures/b": "Beet",
				"rank/a": "2", "rank/b": "1", "grid/z": "Good", "grid/y": "Bad", "grids/z": "Good; Bad",
				"files/1/name": "one.pdf", "files/2/name": "two.pdf", "files/1/url": "https://files.example.com/one", "files/2/url": "https://files.example.com/two",
			}},
		} {
			text := export(b, form, c.e)
			header, lines := table(t, text)
			if want := with(common, c.want); len(lines) != 1 || !cmp.Equal(lines[0], want) {
				t.Errorf("%s, %s: %s", name, c.name, cmp.Diff(want, lines[0]))
			}
			if strings.Contains(strings.ReplaceAll(text, "a\nb", ""), "\n\n") || strings.Count(text, "\r\n") != 2 || !strings.HasPrefix(text, "submission_id,submitted_at,\"text\",\"long\",") {
				t.Errorf("%s, %s: the lines are %q", name, c.name, text)
			}
			// What nobody answered has a column too, and what is not asked has none.
			for _, column := range []string{"address/zip", "contact/lastName", "metadata/utm/term"} {
				if !slices.Contains(header, column) {
					t.Errorf("%s, %s: no column %s", name, c.name, column)
				}
			}
			for _, column := range []string{"address/firstName", "end", "group", "end/"} {
				if slices.Contains(header, column) {
					t.Errorf("%s, %s: a column %s", name, c.name, column)
				}
			}
		}
		records, err := csv.NewReader(strings.NewReader(export(b, form, formsvc.Export{}))).ReadAll()
		if err != nil || records[1][0] != stored.ID.String() || records[1][1] != stored.SubmittedAt.Format(time.RFC3339) || records[1][len(records[1])-9] != "31.5" {
			t.Errorf("%s: %q, %v", name, records[1], err)
		}
		if text := export(b, form, formsvc.Export{BOM: true}); !strings.HasPrefix(text, "\ufeffsubmission_id,") {
			t.Errorf("%s: begins with %q", name, text[:20])
		}
		if header, _ := table(t, export(b, form, formsvc.Export{Labels: true, Spread: true})); !slices.Contains(header, "Many: Corn") || !slices.Contains(header, "Grid: First") ||
			!slices.Contains(header, "Recommend") || !slices.Contains(header, "Address: city") || !slices.Contains(header, "ref") {
			t.Errorf("%s: labels %q", name, header)
		}
	}
}

func with(list ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, m := range list {
		maps.Copy(all, m)
	}
	return all
}

// What the form no longer has keeps its columns, and the names of columns are not those
// of labels or places.
func TestColumnsOutliveTheirBlocks(t *testing.T) {
	t.Parallel()
	for name, store := range servicetest.Stores(t) {
		b := servicetest.SetupOn(t, store)
		c := b.As(b.User.ID)
		form := b.Form(`[{"id":"a","type":"short_text","label":"A"},{"id":"m","type":"multiple_choice","label":"M","choices":[{"id":"x","label":"X"},{"id":"y","label":"Y"}]},
			{"id":"submitted_at","type":"short_text","label":"When"},{"id":"g","type":"matrix","label":"G","matrix_rows":[{"id":"r","label":"R"}],"matrix_columns":[{"id":"k","label":"K"}]}]`, `{}`)
		if _, err := b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("a", `"1"`, "m", `["x","y"]`, "submitted_at", `"never"`, "g", `{"r":"k"}`)}); err != nil {
			t.Fatal(err)
		}
		_, err := c.UpdateForm(t.Context(), form, formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: json.RawMessage(
			`[{"id":"m","type":"multiple_choice","label":"=M","choices":[{"id":"y","label":"Why"}]},{"id":"new","type":"short_text","label":"=M"}]`)}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("m", `["y"]`, "new", `"2"`)}); err != nil {
			t.Fatal(err)
		}
		header, lines := table(t, export(b, form, formsvc.Export{Spread: true}))
		wantHeader := []string{"submission_id", "submitted_at", "m/y", "m/x", "new", "a", "submitted_at (2)", "g/r"}
		want := []map[string]string{{"m/y": "Why", "new": "2"}, {"a": "1", "m/x": "X", "m/y": "Y", "submitted_at (2)": "never", "g/r": "K"}}
		if !cmp.Equal(header[:len(wantHeader)], wantHeader) || !cmp.Equal(lines, want) {
			t.Errorf("%s: %q, %v", name, header, lines)
		}
		if header, _ := table(t, export(b, form, formsvc.Export{Labels: true})); !cmp.Equal(header[2:7], []string{"'=M [m]", "'=M [new]", "A", "When", "G: r"}) {
			t.Errorf("%s: labels %q", name, header)
		}
	}
}

func TestNDJSONHasTheItemsOfTheAPI(t *testing.T) {
	t.Parallel()
	for name, store := range servicetest.Stores(t) {
		b := servicetest.SetupOn(t, store)
		form := everyTypeForm(b)
		for range 3 {
			if _, err := b.Submit(t.Context(), everyAnswer(form)); err != nil {
				t.Fatal(err)
			}
		}
		var page struct{ Items []json.RawMessage }
		b.Do(http.MethodGet, "/forms/"+form.String()+"/submissions", "", &page)
		var want strings.Builder
		for _, item := range page.Items {
			want.Write(item)
			want.WriteByte('\n')
		}
		if got := export(b, form, formsvc.Export{Format: formsvc.NDJSON}); got != want.String() || len(page.Items) != 3 {
			t.Errorf("%s: %s\nwant %s", name, got, want.String())
		}
	}
}

func TestExportsThatAreRefused(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	b := servicetest.Setup(t)
	form := b.Form(servicetest.TextBlock, `{}`)
	c := b.As(b.User.ID)
	var faults *schema.Error
	for _, e := range []formsvc.Export{{Format: "xlsx"}, {Separator: '|'}, {Since: start, Until: start.Add(-1)}} {
		if err := c.Export(t.Context(), io.Discard, form, e); !errors.As(err, &faults) {
			t.Errorf("%+v: %v", e, err)
		}
	}
	if err := b.As(formsvc.UserIDFrom("stranger")).Export(t.Context(), io.Discard, form, formsvc.Export{}); !errors.Is(err, formsvc.ErrNotFound) {
		t.Errorf("a stranger: %v, want ErrNotFound", err)
	}
}

// pagesOf is a storage with n responses that are made while they are read, so that none
// of them is in memory otherwise. before is called for every page.
type pagesOf struct {
	storage.Storage
	n       int
	answers func(i int) string
	before  func(page int) error
	page    atomic.Int64
}

func (p *pagesOf) Submissions(ctx context.Context, _ storage.Actor, form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (bool, error) {
	number := int(p.page.Add(1))
	if p.before != nil {
		if err := p.before(number); err != nil {
			return false, err
		}
	}
	first := 0
	if q.Page.After != nil {
		first = int(q.Page.After.ID[9])<<16 + int(q.Page.After.ID[10])<<8 + int(q.Page.After.ID[11]) + 1
	}
	for i := first; i < min(p.n, first+q.Page.Limit); i++ {
		if err := each(&storage.Submission{
			ID: storage.ID{9: byte(i >> 16), 10: byte(i >> 8), 11: byte(i)}, FormID: form, SubmittedAt: time.Unix(1_800_000_000, 0),
			Answers: json.RawMessage(p.answers(i)), Metadata: json.RawMessage(`{}`), Hidden: json.RawMessage(`{}`),
		}); err != nil {
			return false, err
		}
	}
	return first+q.Page.Limit < p.n, ctx.Err()
}

func nameAnswer(i int) string {
	return fmt.Sprintf(`[{"field":{"id":"name","type":"short_text","label":"Name"},"value":"%d"}]`, i)
}

// A page at a time is in memory, whatever the number of responses. (Not parallel: the
// heap is everybody's. `make bench-exports` has the figures for a million.)
func TestAnExportHoldsOnePage(t *testing.T) { //nolint:paralleltest
	const count, bytesEach = 10_000, 1000
	text := strings.Repeat("x", bytesEach)
	var least, most uint64
	store := &pagesOf{Storage: memory.New(), n: count, answers: func(i int) string {
		return fmt.Sprintf(`[{"field":{"id":"name","type":"short_text","label":"Name"},"value":"%d%s"}]`, i, text)
	}}
	store.before = func(page int) error {
		if page%10 == 0 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			least, most = min(least, m.HeapAlloc), max(most, m.HeapAlloc)
		}
		return nil
	}
	b := servicetest.SetupOn(t, store)
	form := b.Form(servicetest.TextBlock, `{}`)
	for name, run := range map[string]func() error{
		"CSV": func() error { return b.AsHost().Export(t.Context(), io.Discard, form, formsvc.Export{}) },
		"NDJSON": func() error {
			return b.AsHost().Export(t.Context(), io.Discard, form, formsvc.Export{Format: formsvc.NDJSON})
		},
		"summary": func() error {
			_, err := b.AsHost().Summary(t.Context(), form, formsvc.SubmissionQuery{})
			return err
		},
	} {
		least, most = math.MaxUint64, 0
		if err := run(); err != nil {
			t.Fatal(err)
		}
		if most-least > count*bytesEach/10 || most == 0 {
			t.Errorf("%s: the heap goes from %d to %d bytes for %d bytes of answers", name, least, most, count*bytesEach)
		}
	}
}
