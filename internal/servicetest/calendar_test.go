package servicetest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones of the tests, wherever they run

	"pgregory.net/rapid"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
)

// zones have whole and changing offsets, on both sides of UTC and of the date line. In
// each of them clocks change near one of the days that the tests choose.
var zones = []string{"Asia/Tokyo", "America/New_York", "Europe/Berlin", "Pacific/Auckland"}

func location(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// calendarBlocks are a form whose owner chose the days of June 10 to 20, no Sunday, and
// three single days on which clocks change, as the function at writes the days.
func calendarBlocks(at func(day string) string) string {
	bounds := `"afterDate":"` + at("2026-06-10") + `","beforeDate":"` + at("2026-06-20") + `","disabledDays":1`
	single := `"specificDates":["` + at("2026-03-08") + `","` + at("2026-03-29") + `","` + at("2026-09-27") + `"]`
	return `[{"id":"span","type":"date","properties":{` + bounds + `}},
		{"id":"span_time","type":"date","properties":{"showTimePicker":true,` + bounds + `}},
		{"id":"single","type":"date","properties":{` + single + `}},
		{"id":"single_time","type":"date","properties":{"showTimePicker":true,` + single + `}}]`
}

// checkCalendar submits the days around those that calendarBlocks chose. A time counts
// by the day that it is written with, whatever its offset.
func checkCalendar(t *testing.T, b *servicetest.Bundle, form formsvc.ID) {
	t.Helper()
	for _, c := range []struct {
		block, day string
		ok         bool
	}{
		{"span", "2026-06-09", false}, {"span", "2026-06-10", true}, {"span", "2026-06-14", false}, {"span", "2026-06-15", true},
		{"span", "2026-06-20", true}, {"span", "2026-06-21", false}, {"span", "2026-06-22", false},
		{"single", "2026-03-07", false}, {"single", "2026-03-08", true}, {"single", "2026-03-09", false}, {"single", "2026-03-28", false},
		{"single", "2026-03-29", true}, {"single", "2026-03-30", false}, {"single", "2026-09-26", false}, {"single", "2026-09-27", true}, {"single", "2026-09-28", false},
	} {
		answers := map[string][]string{c.block: {`"` + c.day + `"`}}
		for _, clock := range []string{"T00:00:00Z", "T23:59:59+09:00", "T00:00:00-04:00", "T23:59:59-05:00", "T00:30:00+13:00", "T12:00:00+02:00"} {
			answers[c.block+"_time"] = append(answers[c.block+"_time"], `"`+c.day+clock+`"`)
		}
		for block, values := range answers {
			for _, value := range values {
				_, err := b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: map[string]json.RawMessage{block: json.RawMessage(value)}})
				var refused *formsvc.Error
				if c.ok && err != nil || !c.ok && !errors.As(err, &refused) {
					t.Errorf("%s of %s: %v, want accepted: %t", value, block, err, c.ok)
				}
			}
		}
	}
}

// Owners send the days in UTC, as those of the service's zone, or with the offset of their own zone.
func TestDaysMeanTheDaysOfTheirZone(t *testing.T) {
	t.Parallel()
	for _, service := range append([]string{"UTC"}, zones...) {
		t.Run("a service in "+service, func(t *testing.T) {
			t.Parallel()
			home := location(t, service)
			b := servicetest.Setup(t, formsvc.WithTimeZone(home))
			for owner, zone := range map[string]*time.Location{"UTC": home, zones[0]: location(t, zones[0]), zones[1]: location(t, zones[1])} {
				for _, clock := range []string{"00:00:00", "09:30:00", "23:59:59"} {
					form := b.Form(calendarBlocks(func(day string) string {
						at, err := time.ParseInLocation(time.DateTime, day+" "+clock, zone)
						if err != nil {
							t.Fatal(err)
						}
						if owner == "UTC" {
							at = at.UTC()
						}
						return at.Format(time.RFC3339)
					}), `{}`)
					checkCalendar(t, b, form)
					var read struct {
						Items []struct{ Properties struct{ AfterDate string } }
					}
					b.Do(http.MethodGet, "/forms/"+form.String()+"/blocks", "", &read)
					want := time.Date(2026, 6, 10, 0, 0, 0, 0, home).UTC().Format(time.RFC3339)
					if got := read.Items[0].Properties.AfterDate; owner != "UTC" && got != want {
						t.Errorf("an owner in %s reads %s, want the start of the day in the service's zone, %s", owner, got, want)
					}
				}
			}
		})
	}
}

// What is read and put back unchanged changes nothing: not a byte, so not a day.
func TestReadingAndPuttingBackKeepsTheDays(t *testing.T) {
	t.Parallel()
	bundles := make(map[string]*servicetest.Bundle)
	for _, name := range append([]string{"UTC", "Africa/Cairo", "Pacific/Chatham", "America/Sao_Paulo", "Pacific/Apia"}, zones...) {
		bundles[name] = servicetest.Setup(t, formsvc.WithTimeZone(location(t, name)), formsvc.WithoutRateLimit())
	}
	rapid.Check(t, func(r *rapid.T) {
		names := rapid.SampledFrom([]string{"UTC", "Africa/Cairo", "Pacific/Chatham", "America/Sao_Paulo", "Pacific/Apia", "Asia/Tokyo", "America/New_York", "Europe/Berlin", "Pacific/Auckland"})
		b := bundles[names.Draw(r, "zone")]
		bound := rapid.Custom(func(r *rapid.T) string {
			at := time.Unix(rapid.Int64Range(-60_000_000_000, 250_000_000_000).Draw(r, "time"), 0).UTC()
			offset := rapid.SampledFrom([]string{"Z", "+00:00", "-00:00", "+09:00", "-04:00", "+13:45", "-11:30", "+14:00"}).Draw(r, "offset")
			return `"` + at.Format("2006-01-02T15:04:05") + offset + `"`
		})
		block := fmt.Sprintf(`{"id":"a","type":"date","properties":{"afterDate":%s,"beforeDate":%s,"specificDates":[%s]}}`,
			bound.Draw(r, "after"), bound.Draw(r, "before"), strings.Join(rapid.SliceOfN(bound, 0, 3).Draw(r, "single"), ","))
		form := "/forms/" + b.Form("["+block+"]", `{}`).String()
		first := b.Do(http.MethodGet, form+"/blocks", "", nil)
		var read struct{ Items json.RawMessage }
		if err := json.Unmarshal(first.Body.Bytes(), &read); err != nil {
			r.Fatalf("%s: %v", first.Body, err)
		}
		only := strings.TrimSuffix(strings.TrimPrefix(string(read.Items), "["), "]")
		for _, write := range []struct{ method, path, body string }{
			{http.MethodPut, form + "/blocks", `{"blocks":` + string(read.Items) + `}`},
			{http.MethodPatch, form, `{"definition":{"blocks":` + string(read.Items) + `}}`},
			{http.MethodPatch, form + "/blocks/a", `{"block":` + only + `}`},
		} {
			if w := b.Do(write.method, write.path, write.body, nil); w.Code != http.StatusOK {
				r.Fatalf("%s %s: %d %s", write.method, write.body, w.Code, w.Body)
			}
			again := b.Do(http.MethodGet, form+"/blocks", "", nil)
			if again.Body.String() != first.Body.String() || again.Header().Get("ETag") != first.Header().Get("ETag") {
				r.Fatalf("%s %s changes %s to %s", write.method, write.path, first.Body, again.Body)
			}
		}
	})
}
