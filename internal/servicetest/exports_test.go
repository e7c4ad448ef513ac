package servicetest_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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
