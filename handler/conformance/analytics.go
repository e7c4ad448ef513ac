package conformance

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

func analyticsCases() []testCase {
	return []testCase{
		{"analytics/empty", "A form without events has zeros in every period, and the response contains the applied period, 30d by default.", nil, analyticsEmpty},
		{"analytics/funnel", "Views, starts and submissions are counted, and the rate is the percentage of submissions per start, with two decimals and without a limit.", needs(NeedsSubmit, NeedsRecordView, NeedsRecordStart), analyticsFunnel},
		{"analytics/today", "An event that occurs now counts for today and not for yesterday, by UTC days.", needs(NeedsSubmit, NeedsRecordStart, NeedsRecordView), analyticsToday},
		{"analytics/periods", "An event counts in the periods that contain its time, and in no other.", needs(NeedsAdvance, NeedsRecordStart), analyticsPeriods},
		{"analytics/lifetime", "Lifetime counters are added only for period=all, which is then marked as estimated.", needs(NeedsSetLifetimeCounters, NeedsRecordStart), analyticsLifetime},
	}
}

func analyticsEmpty(s *session) {
	c := s.caller()
	path := "/forms/" + c.form(c.workspace()) + "/analytics/metrics"
	r := c.get(path).want(http.StatusOK)
	r.same("the metrics", r.object(), metrics("30d", 0, 0, 0, 0))
	for _, period := range periods() {
		r := c.get(path + "?period=" + period).want(http.StatusOK)
		r.same("the metrics", r.object(), metrics(period, 0, 0, 0, 0))
	}
}

func analyticsFunnel(s *session) {
	c := s.caller()
	id := c.form(c.workspace(), "definition", question())
	c.publish(id)
	path := "/forms/" + id + "/analytics/metrics"
	check := func(views, starts, submissions int, rate float64) {
		// Yesterday, and today around midnight, are left out: the clock decides there.
		for _, period := range []string{"7d", "24h", "30d", "3m", "6m", "12m", "all"} {
			r := c.get(path + "?period=" + period).want(http.StatusOK)
			r.same("the metrics", r.object(), metrics(period, views, starts, submissions, rate))
		}
	}
	submission := s.submit(Response{Form: id})
	check(0, 0, 1, 0)
	s.must("RecordStart", s.target.RecordStart(s.ctx, id))
	check(0, 1, 1, 100)
	s.submit(Response{Form: id})
	check(0, 1, 2, 200)
	for range 4 {
		s.must("RecordView", s.target.RecordView(s.ctx, id))
	}
	for range 5 {
		s.must("RecordStart", s.target.RecordStart(s.ctx, id))
	}
	check(4, 6, 2, 33.33)
	c.delete("/forms/" + id + "/submissions/" + submission).want(http.StatusNoContent)
	check(4, 6, 2, 33.33) // deleting does not rewrite the funnel
}

func analyticsToday(s *session) {
	c := s.caller()
	for range 3 {
		id := c.form(c.workspace(), "definition", question())
		c.publish(id)
		path := "/forms/" + id
		s.must("RecordView", s.target.RecordView(s.ctx, id))
		for range 3 {
			s.must("RecordStart", s.target.RecordStart(s.ctx, id))
		}
		first := s.submit(Response{Form: id})
		second := s.submit(Response{Form: id})
		today := c.get(path + "/analytics/metrics?period=today").want(http.StatusOK)
		yesterday := c.get(path + "/analytics/metrics?period=yesterday").want(http.StatusOK)
		last := c.submit(Response{Form: id})
		// Three responses of one day tell that no midnight of the service came between.
		day := func(submission string) string {
			at, _, _ := strings.Cut(text(c.get(path+"/submissions/"+submission).want(http.StatusOK).object(), "submitted_at"), "T")
			return at
		}
		made, _, _ := strings.Cut(text(c.get(path).want(http.StatusOK).object(), "created_at"), "T")
		if day(first) != made || day(second) != made || day(last) != made {
			continue
		}
		today.same("the metrics", today.object(), metrics("today", 1, 3, 2, 66.67))
		yesterday.same("the metrics", yesterday.object(), metrics("yesterday", 0, 0, 0, 0))
		return
	}
	s.errorf("records that were created together repeatedly had times of different days")
}

func analyticsLifetime(s *session) {
	c := s.caller()
	id := c.form(c.workspace())
	path := "/forms/" + id + "/analytics/metrics"
	s.must("RecordStart", s.target.RecordStart(s.ctx, id))
	s.must("SetLifetimeCounters", s.target.SetLifetimeCounters(s.ctx, id, 10, 3, 1))
	r := c.get(path + "?period=all").want(http.StatusOK)
	want := metrics("all", 10, 4, 1, 25)
	want["estimated"] = true
	r.same("the metrics", r.object(), want)
	r = c.get(path + "?period=7d").want(http.StatusOK)
	r.same("the metrics", r.object(), metrics("7d", 0, 1, 0, 0))
}

func periods() []string {
	return []string{"today", "yesterday", "24h", "7d", "30d", "3m", "6m", "12m", "all"}
}

func metrics(period string, views, starts, submissions int, rate float64) object {
	return object{"period": period, "estimated": false, "views": views, "starts": starts, "submissions": submissions, "completion_rate": rate}
}

func analyticsPeriods(s *session) {
	c := s.caller()
	id := c.form(c.workspace())
	path := "/forms/" + id + "/analytics/metrics"
	s.must("RecordStart", s.target.RecordStart(s.ctx, id))
	const day = 24 * time.Hour
	for _, period := range []string{"24h", "7d", "30d", "3m", "6m", "12m", "all"} {
		r := c.get(path + "?period=" + period).want(http.StatusOK)
		r.same("the metrics", r.object(), metrics(period, 0, 1, 0, 0))
	}
	// Events of one day count for it until midnight in UTC, and for yesterday during the next day.
	s.must("Advance", s.target.Advance(s.ctx, day))
	other := c.get(path + "?period=today").want(http.StatusOK)
	other.same("the metrics", other.object(), metrics("today", 0, 0, 0, 0))
	other = c.get(path + "?period=yesterday").want(http.StatusOK)
	other.same("the metrics", other.object(), metrics("yesterday", 0, 1, 0, 0))
	s.must("Advance", s.target.Advance(s.ctx, day))
	passed := 2 * day
	for _, period := range []string{"today", "yesterday"} {
		other = c.get(path + "?period=" + period).want(http.StatusOK)
		other.same("the metrics", other.object(), metrics(period, 0, 0, 0, 0))
	}
	for _, x := range []struct {
		after time.Duration
		in    string // the periods that the event is in by then, of those that no midnight decides
	}{
		{2 * day, "7d 30d 3m 6m 12m all"},
		{10 * day, "30d 3m 6m 12m all"},
		{40 * day, "3m 6m 12m all"},
		{400 * day, "all"},
	} {
		s.must("Advance", s.target.Advance(s.ctx, x.after-passed))
		passed = x.after
		for _, period := range []string{"24h", "7d", "30d", "3m", "6m", "12m", "all"} {
			starts := 0
			if slices.Contains(strings.Fields(x.in), period) {
				starts = 1
			}
			r := c.get(path + "?period=" + period).want(http.StatusOK)
			r.same("the metrics", r.object(), metrics(period, 0, starts, 0, 0))
		}
	}
}
