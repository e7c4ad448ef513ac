package servicetest_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
)

// What programs send as times, and what they send twice, is understood or refused in the same
// way by the list and by the export.
func TestQueriesOfPrograms(t *testing.T) {
	t.Parallel()
	clock := servicetest.NewClock(time.Date(2026, 11, 20, 8, 33, 1, 0, time.UTC))
	b := servicetest.Setup(t, formsvc.WithClock(clock.Now), formsvc.WithoutRateLimit())
	form := b.Form(servicetest.TextBlock, `{}`)
	if _, err := b.Answer(form, "name", `"only-answer"`); err != nil {
		t.Fatal(err)
	}
	const found, empty, refused = 1, 0, -1
	for query, want := range map[string]int{
		"since=0001-01-01T00:00:00Z":                                found,
		"until=0001-01-01T00:00:00Z":                                empty,
		"since=0001-01-01T00:00:00Z&until=0001-01-01T00:00:00Z":     empty,
		"since=2026-11-20T08:33:01Z":                                found,
		"since=2026-11-20T08:33:01.000Z":                            found,
		"since=2026-11-20T08:33:01.5Z":                              empty,
		"since=2026-11-20T08:33:01.0000001Z":                        empty,
		"since=2026-11-20T08:33:00.5Z&until=2026-11-20T08:33:01.2":  refused,
		"since=2026-11-20T08:33:00.5Z&until=2026-11-20T08:33:01.2Z": found,
		"since=2026-11-20T08:33:01.7Z&until=2026-11-20T08:33:01.9Z": empty,
		"since=9999-12-31T23:59:59.9Z":                              empty,
		"since=" + url.QueryEscape("2026-11-20T09:33:01+0100"):      found,
		"since=2026-11-20T09:33:01+0100":                            found,
		"since=2026-11-20T09:33:02%2B01":                            empty,
		"until=2026-11-20T03:03:00-0530":                            empty,
		"since=2026-11-20T08:33:01Z&since=2026-11-20T08:33:01Z":     found,
		"since=2026-11-20T08:33:01Z&since=2026-11-21T08:33:01Z":     refused,
		"until=2026-11-20T08:33:01Z&since=&until=x":                 refused,
		"x=1&x=2": found,
	} {
		list := b.Do(http.MethodGet, "/forms/"+form.String()+"/submissions?"+query, "", nil)
		r := b.Request(http.MethodGet, "/exports/"+form.String()+".ndjson?"+query, "")
		export := httptest.NewRecorder()
		b.ExportHandler().ServeHTTP(export, r)
		for name, w := range map[string]*httptest.ResponseRecorder{"list": list, "export": export} {
			got := refused
			if w.Code == http.StatusOK {
				got = strings.Count(w.Body.String(), "only-answer")
			} else if w.Code != http.StatusUnprocessableEntity {
				t.Errorf("%s with %s: %d %s", name, query, w.Code, w.Body)
			}
			if got != want {
				t.Errorf("%s with %s: %d responses, want %d: %s", name, query, got, want, w.Body)
			}
		}
	}
	for _, path := range []string{"/forms?limit=1&limit=2", "/forms?workspace_id=" + form.String() + "&workspace_id=x", "/workspaces?cursor=a&cursor=b", "/forms/" + form.String() + "/analytics/metrics?period=7d&period=30d"} {
		if w := b.Do(http.MethodGet, path, "", nil); w.Code != 422 || !strings.Contains(w.Body.String(), "more than once") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	n := 0
	for _, err := range b.AsHost().Submissions(t.Context(), form, formsvc.SubmissionQuery{Since: clock.Now().Add(time.Nanosecond)}) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != 0 {
		t.Error("Client.Submissions includes a response from before Since")
	}

	w := b.Do(http.MethodPatch, "/forms/"+form.String(), `{"definition":{"settings":{"closeAt":"0001-01-01T00:00:00Z"}}}`, nil)
	if w.Code != 422 || !strings.Contains(w.Body.String(), "0001-01-01T00:00:01Z") {
		t.Errorf("closeAt in the first second: %d %s", w.Code, w.Body)
	}
	for _, body := range []string{"\ufeff{}", "\xff\xfe{\x00}\x00"} {
		if w := b.Do(http.MethodPatch, "/forms/"+form.String(), body, nil); w.Code != 400 || !strings.Contains(w.Body.String(), "byte order mark") {
			t.Errorf("%q: %d %s", body, w.Code, w.Body)
		}
	}
}
