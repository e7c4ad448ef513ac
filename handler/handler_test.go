package handler

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func contextWith(r *http.Request, rctx *chi.Context) context.Context {
	return context.WithValue(r.Context(), chi.RouteCtxKey, rctx)
}

func TestIfMatch(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]precondition{
		`*`:                             {set: true, any: true},
		` * `:                           {set: true, any: true},
		etag(7):                         {set: true, revisions: []int64{7}},
		etag(7) + `, "x"`:               {set: true, revisions: []int64{7}},
		`"a,b",` + etag(40):             {set: true, revisions: []int64{40}},
		`W/` + etag(7):                  {set: true},
		`r7`:                            {set: true},
		`"r7`:                           {set: true},
		`"r07"`:                         {set: true}, // the same number, but not the tag that was given out
		`"r-1"`:                         {set: true, revisions: []int64{-1}},
		`*, ` + etag(7):                 {set: true}, // malformed: the star stands alone
		`r7, ` + etag(7):                {set: true},
		`W/` + etag(7) + `, ` + etag(8): {set: true, revisions: []int64{8}},
		`"a b", ` + etag(7):             {set: true},
		``:                              {set: true},
		`,,,`:                           {set: true},
		etag(1) + `,` + etag(2):         {set: true, revisions: []int64{1, 2}},
	} {
		c := &call{r: &http.Request{Header: http.Header{"If-Match": {header}}}}
		if diff := cmp.Diff(want, c.ifMatch(), cmp.AllowUnexported(precondition{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", header, diff)
		}
	}
	c := &call{r: &http.Request{Header: http.Header{"If-Match": {etag(1), etag(2)}}}}
	if got := c.ifMatch(); !got.holds(1) || !got.holds(2) || got.holds(3) {
		t.Errorf("two headers: %+v", got)
	}
	c = &call{r: &http.Request{}}
	if got := c.ifMatch(); got.set || !got.holds(5) || got.onlyRevisions() != nil {
		t.Errorf("no header: %+v", got)
	}
}

func TestRevisionTokensReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		revision := rapid.Int64Min(1).Draw(t, "revision")
		c := &call{r: &http.Request{Header: http.Header{"If-Match": {etag(revision)}}}}
		if got := c.ifMatch(); !got.holds(revision) || got.holds(revision-1) {
			t.Fatalf("%s: %+v", etag(revision), got)
		}
	})
}

func TestWindows(t *testing.T) {
	t.Parallel()
	day := func(s string) time.Time {
		d, err := time.Parse("2006-01-02 15:04", s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, c := range []struct{ now, period, from, to string }{
		{"2026-11-20 08:33", "today", "2026-11-20 00:00", ""},
		{"2026-11-20 08:33", "yesterday", "2026-11-19 00:00", "2026-11-20 00:00"},
		{"2026-11-20 08:33", "24h", "2026-11-19 08:33", ""},
		{"2026-11-20 08:33", "7d", "2026-11-14 00:00", ""},
		{"2026-11-20 08:33", "30d", "2026-10-22 00:00", ""},
		{"2026-11-20 08:33", "3m", "2026-08-20 00:00", ""},
		{"2026-11-20 08:33", "12m", "2025-11-20 00:00", ""},
		{"2026-11-20 08:33", "all", "", ""},
		{"2026-01-01 00:00", "yesterday", "2025-12-31 00:00", "2026-01-01 00:00"},
		{"2026-05-31 12:00", "3m", "2026-02-28 00:00", ""},
		{"2024-05-31 12:00", "3m", "2024-02-29 00:00", ""},
		{"2026-08-31 12:00", "6m", "2026-02-28 00:00", ""},
		{"2028-02-29 12:00", "12m", "2027-02-28 00:00", ""},
		{"2026-01-31 12:00", "3m", "2025-10-31 00:00", ""},
	} {
		// A clock in another zone means the same instant.
		now := day(c.now).Add(30 * time.Second).In(time.FixedZone("", -11*3600))
		from, to, ok := window(c.period, now)
		want := [2]time.Time{}
		for i, s := range []string{c.from, c.to} {
			if s != "" {
				want[i] = day(s)
			}
		}
		if !ok || !from.Equal(want[0]) || !to.Equal(want[1]) {
			t.Errorf("%s at %s: %v to %v, want %v to %v", c.period, c.now, from, to, want[0], want[1])
		}
	}
	for _, period := range []string{"", "1d", "ALL", "30d "} {
		if _, _, ok := window(period, day("2026-11-20 08:33")); ok {
			t.Errorf("the period %q is accepted", period)
		}
	}
}

func TestCompletionRate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		submissions, starts int64
		want                float64
	}{{0, 0, 0}, {5, 0, 0}, {1, 3, 33.33}, {2, 3, 66.67}, {3, 3, 100}, {9, 3, 300}, {1, 7, 14.29}} {
		if got := completionRate(c.submissions, c.starts); got != c.want {
			t.Errorf("%d of %d: %v, want %v", c.submissions, c.starts, got, c.want)
		}
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	made := map[string]bool{}
	for _, values := range [][]string{nil, {""}, {"a b"}, {"a\n"}, {"é"}, {string(make([]byte, 101))}, {"a", "b"}} {
		id := requestID(&http.Request{Header: http.Header{"X-Request-Id": values}})
		if !validRequestID(id) || made[id] {
			t.Errorf("%q gives %q", values, id)
		}
		made[id] = true
	}
	const given = "A.b_c-9"
	if got := requestID(&http.Request{Header: http.Header{"X-Request-Id": {given}}}); got != given {
		t.Errorf("%q became %q", given, got)
	}
}

func TestCredential(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		header http.Header
		want   string
	}{
		{http.Header{}, ""},
		{http.Header{"X-Api-Key": {"k"}}, "k"},
		{http.Header{"X-Api-Key": {"k", "k"}}, ""},
		{http.Header{"X-Api-Key": {""}, "Authorization": {"Bearer t"}}, ""},
		{http.Header{"X-Api-Key": {"k"}, "Authorization": {"Bearer t"}}, "k"},
		{http.Header{"Authorization": {"Bearer t"}}, "t"},
		{http.Header{"Authorization": {"bearer  t "}}, "t"},
		{http.Header{"Authorization": {"Basic dTpw"}}, ""},
		{http.Header{"Authorization": {"Basic dTpw", "Bearer t"}}, "t"},
		{http.Header{"Authorization": {"Bearer t", "Bearer u"}}, ""},
		{http.Header{"Authorization": {"Bearer"}}, ""},
	} {
		if got := Credential(&http.Request{Header: c.header}); got != c.want {
			t.Errorf("%v: %q, want %q", c.header, got, c.want)
		}
	}
}

func TestAcceptableMedia(t *testing.T) {
	t.Parallel()
	for media, want := range map[string]bool{
		"application/json": true, "application/json; charset=utf-8": true, "Application/JSON": true,
		"application/merge-patch+json": true, "application/vnd.acme+json;v=1": true,
		"text/json": false, "text/plain": false, "": false, "application/json+xml": false, "json": false, "image/svg+json": false,
	} {
		if got := acceptableMedia(http.Header{"Content-Type": {media}}); got != want {
			t.Errorf("%q: %v, want %v", media, got, want)
		}
	}
	for _, h := range []http.Header{{}, {"Content-Type": {"application/json", "text/html"}}, {"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}} {
		if acceptableMedia(h) {
			t.Errorf("%v is accepted", h)
		}
	}
}
