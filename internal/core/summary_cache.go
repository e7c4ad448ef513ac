package core

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/formsvc/formsvc/internal/calendar"
	"github.com/formsvc/formsvc/internal/filter"
	"github.com/formsvc/formsvc/internal/summary"
	"github.com/formsvc/formsvc/storage"
)

// Memory limits for all cached forms together and for one cached form.
const (
	maxCacheBytes = 64 << 20
	maxFormBytes  = 32 << 20
)

const (
	// settleDelay is the maximum time from a submission's time until it is stored, except for imports.
	settleDelay        = 2 * time.Minute
	submissionsPerPage = 1000
	countTimeSlice     = 200 * time.Millisecond // how long one caller counts while other callers wait
	// recentTimeLimit is for submissions that are not cached. A summary with a time limit is incomplete until the rest of
	// them can be cached.
	recentTimeLimit = time.Second
	// After maxRestarts interrupted counts, a count continues despite changes. Otherwise, it would never finish
	// during an import or purge.
	maxRestarts  = 5
	maxPastTexts = 100 // maximum number of newest texts per block that are cached for a past day
)

// summaryKey identifies a form's summary with a filter.
type summaryKey struct {
	form   storage.ID
	filter string
}

// cachedSummary caches a form's counts by day, so that a summary reads only new submissions. Each use first checks with
// the storage that the counts are still valid.
type cachedSummary struct {
	mu           sync.Mutex
	removed      int64     // value of SubmissionsRemoved when the spans were counted
	countedUntil time.Time // a whole minute; later submissions are not cached
	// checks detect late submissions by counting the submissions before countedUntil and before a UTC midnight. Funnels
	// have minute buckets only for two days, so after that only the second check is exact.
	checks   [2]funnelCheck
	spans    []*span        // newest first, without overlaps
	past     []*span        // spans of past days
	sum      *summary.Tally // sum of the spans in past
	restarts int            // how many counts were interrupted because spans were dropped
}

type funnelCheck struct {
	before      time.Time
	submissions int64
}

// span holds the counts of submissions with from <= SubmittedAt < to. It covers one day, or several to save memory.
type span struct {
	from, to    time.Time // a zero from means no limit
	first, last time.Time // times of the first and last submission; zero if there are none
	// after is the position of the last counted submission if the count stopped there. Submissions of the same time can
	// follow, so from is then a microsecond after first.
	after *storage.Position
	tally *summary.Tally
	size  int // size in bytes, or 0 if unknown
}

// SummaryParams selects submissions in the same way as storage.SubmissionsParams.
type SummaryParams struct {
	Form         storage.ID
	Since, Until time.Time
	Within       time.Duration         // approximate time limit; zero means no limit
	New          func() *summary.Tally // returns an empty tally for the form
	Filter       *filter.Filter        // nil counts all submissions
}

// Summary counts a form's submissions. If it does not finish within p.Within, done is false and the next call continues
// the count.
func (c *Core) Summary(ctx context.Context, actor storage.Actor, p SummaryParams) (t *summary.Tally, done bool, err error) {
	if err := CheckTimeRange(p.Since, p.Until); err != nil {
		return nil, false, err
	}
	from, to := roundUpSince(p.Since), time.Time{}
	if !p.Until.IsZero() {
		to = p.Until.Truncate(time.Microsecond).Add(time.Microsecond)
	}
	f, key := new(cachedSummary), summaryKey{p.Form, p.Filter.Key()}
	if c.summaries != nil {
		if cached, ok := c.summaries.Get(key); ok {
			f = cached
		}
	}
	for {
		t = p.New()
		done, size, cacheable, err := f.countInto(submissionReader{Core: c, ctx: ctx, actor: actor, form: p.Form, filter: p.Filter}, from, to, p.Within, t)
		cacheable = cacheable && c.summaries != nil
		if cacheable {
			c.summaries.Put(key, f, size)
		}
		if err != nil || done || cacheable && p.Within > 0 {
			return t, done, err
		}
	}
}

// countInto validates the cache, counts missing submissions for about the duration within or countTimeSlice, and adds
// all counts to t. size is the new size of the cache in bytes. cacheable is false if the storage cannot validate the
// cache.
func (f *cachedSummary) countInto(r submissionReader, from, to time.Time, within time.Duration, t *summary.Tally) (done bool, size int, cacheable bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	removed, err := r.Storage.SubmissionsRemoved(r.ctx, r.actor, r.form)
	cacheable = !errors.Is(err, storage.ErrUnimplemented)
	if err != nil && cacheable {
		return false, 0, cacheable, err
	}
	if f.restarts < maxRestarts {
		if err := f.dropStaleSpans(r, removed); err != nil {
			return false, 0, cacheable, err
		}
	}
	done = true
	if to.IsZero() || to.After(f.countedUntil) { // recent submissions are not cached
		recent := r
		if cacheable && within > 0 {
			recent.end = time.Now().Add(max(within, recentTimeLimit))
		}
		err := recent.addSubmissions(latest(from, f.countedUntil), to, t)
		if done = !errors.Is(err, errTimeUp); err != nil && done {
			return false, 0, cacheable, err
		}
		to = f.countedUntil
	}
	end := time.Now().Add(cmp.Or(within, countTimeSlice))
	for _, g := range f.findGaps(from, to) {
		found, whole, err := r.countSpans(g, end)
		if err == nil {
			err = f.insertSpans(r, found)
		}
		if err != nil {
			return false, 0, cacheable, err
		}
		if !whole {
			done = false
			break
		}
	}
	var past []*span
	today := r.startOfDay(f.countedUntil)
	for _, s := range f.spans {
		switch {
		case s.tally.Read == 0 || s.last.Before(from) || !s.first.Before(to):
		case s.first.Before(from) || !s.last.Before(to):
			err = errors.Join(f.mergePast(t, past), r.addSubmissions(latest(from, s.from), earliest(to, s.to), t))
			past = nil
		case s.last.Before(today):
			past = append(past, s)
		default:
			err = t.Merge(s.tally)
		}
		if err != nil {
			return false, 0, cacheable, err
		}
	}
	if !done && len(past) > 0 { // the next call adds to the oldest day
		last := len(past) - 1
		err = errors.Join(f.mergePast(t, past[:last]), t.Merge(past[last].tally))
	} else {
		err = f.mergePast(t, past)
	}
	if err != nil {
		return false, 0, cacheable, err
	}
	size, err = f.shrink()
	if done {
		f.restarts = 0
	}
	return done, size, cacheable, err
}

// mergePast adds past days to t. It caches their sum for the next summary of the same period.
func (f *cachedSummary) mergePast(t *summary.Tally, past []*span) error {
	if len(past) == 0 {
		return nil
	}
	if len(f.past) == 0 || len(past) < len(f.past) || !slices.Equal(past[:len(f.past)], f.past) {
		f.past, f.sum = nil, summary.New(nil, nil, nil)
	}
	for _, s := range past[len(f.past):] {
		if err := f.sum.Merge(s.tally); err != nil {
			f.past = nil
			return err
		}
	}
	f.past = past
	return t.Merge(f.sum)
}

// dropStaleSpans drops spans whose submissions have changed. It counts submissions before it compares the counts, so
// that the next check detects submissions that arrive in the meantime.
func (f *cachedSummary) dropStaleSpans(r submissionReader, removed int64) error {
	until := latest(f.countedUntil, r.Clock().Add(-settleDelay).UTC().Truncate(time.Minute))
	now := [2]funnelCheck{{before: until}, {before: until.Truncate(24 * time.Hour)}}
	for i := range now {
		if err := r.readSubmissionCount(&now[i]); err != nil {
			return err
		}
	}
	known := len(f.spans)
	if removed != f.removed {
		f.spans = nil
	}
	for i, old := range f.checks {
		if len(f.spans) == 0 {
			break
		}
		is := now[i]
		if !is.before.Equal(old.before) {
			is.before = old.before
			if err := r.readSubmissionCount(&is); err != nil {
				return err
			}
		}
		if is.submissions == old.submissions {
			break
		}
		if i == 0 {
			f.dropSince(f.checks[1].before)
		} else {
			f.spans = nil
		}
	}
	if len(f.spans) < known {
		f.restarts++
	}
	f.removed, f.countedUntil, f.checks = removed, until, now
	return nil
}

// dropSince drops spans that contain submissions since the time at, and ends the remaining spans at that time.
func (f *cachedSummary) dropSince(at time.Time) {
	f.spans = slices.DeleteFunc(f.spans, func(s *span) bool {
		if s.to.After(at) {
			s.to = at
			return !s.last.Before(at) || !s.from.Before(at)
		}
		return false
	})
}

// gap is a period whose submissions are not counted, except for those up to the position after.
type gap struct {
	from, to time.Time
	after    *storage.Position
}

func (f *cachedSummary) findGaps(from, to time.Time) (gaps []gap) {
	var after *storage.Position
	for _, s := range f.spans {
		if s.to.Before(to) && from.Before(to) {
			gaps = append(gaps, gap{latest(from, s.to), to, after})
		}
		if !to.Before(s.from) {
			to, after = s.from, s.after
		}
		if s.from.IsZero() {
			return gaps
		}
	}
	if from.Before(to) {
		gaps = append(gaps, gap{from, to, after})
	}
	return gaps
}

// insertSpans adds spans and joins spans of the same day. Only today's span keeps all texts.
func (f *cachedSummary) insertSpans(r submissionReader, found []*span) error {
	f.spans = append(f.spans, found...)
	slices.SortFunc(f.spans, func(a, b *span) int { return b.to.Compare(a.to) })
	for i := 0; i+1 < len(f.spans); {
		newer, older := f.spans[i], f.spans[i+1]
		if !newer.from.Equal(older.to) || !newer.last.IsZero() && !older.last.IsZero() && !r.startOfDay(newer.first).Equal(r.startOfDay(older.last)) {
			i++
		} else if err := f.joinOlder(i); err != nil {
			return err
		}
	}
	for _, s := range f.spans {
		if s.size == 0 && s.last.Before(r.startOfDay(f.countedUntil)) {
			s.size = s.tally.Compact(maxPastTexts)
		} else if s.size == 0 {
			s.size = s.tally.Compact(summary.MaxTexts)
		}
	}
	return nil
}

func (f *cachedSummary) joinOlder(i int) error {
	older := f.spans[i+1]
	joined := *f.spans[i] // a new span, because f.past may contain the old one
	s := &joined
	f.spans = slices.Delete(f.spans, i+1, i+2)
	f.spans[i] = s
	s.from, s.after, s.size = older.from, older.after, 0
	if s.last.IsZero() {
		s.last = older.last
	}
	if !older.last.IsZero() {
		s.first = older.first
	}
	return s.tally.Merge(older.tally)
}

// shrink joins the oldest days until the form's cache fits into the memory limit. A summary that starts or ends inside
// a joined span must read its submissions again.
func (f *cachedSummary) shrink() (size int, err error) {
	for _, s := range f.spans {
		size += s.size
	}
	for n := len(f.spans); size > maxFormBytes && n > 1; n = len(f.spans) {
		newer, oldest := f.spans[n-2], f.spans[n-1]
		size -= newer.size + oldest.size
		if !newer.from.Equal(oldest.to) { // the submissions between the two spans are not yet counted
			f.spans = f.spans[:n-1]
		} else if err := f.joinOlder(n - 2); err != nil {
			return 0, err
		} else {
			joined := f.spans[n-2]
			joined.size = joined.tally.Compact(maxPastTexts)
			if k := len(f.past); k > 1 && f.past[k-2] == newer && f.past[k-1] == oldest { // the sum stays the same
				f.past = append(f.past[:k-2], joined)
			}
			newer = joined
		}
		size += newer.size
	}
	return size, nil
}

type submissionReader struct {
	*Core
	ctx   context.Context
	actor storage.Actor
	form  storage.ID

	filter *filter.Filter
	end    time.Time // when addSubmissions returns errTimeUp; zero means never
}

func (r submissionReader) startOfDay(t time.Time) time.Time {
	return calendar.StartOfDay(t.In(r.TimeZone), r.TimeZone)
}

func (r submissionReader) readSubmissionCount(check *funnelCheck) error {
	funnel, err := r.Storage.Funnel(r.ctx, r.actor, r.form, storage.Window{To: check.before})
	check.submissions = funnel.Submissions
	return err
}

// eachSubmission reads the submissions of a gap, newest first. Zero times mean no limit.
func (r submissionReader) eachSubmission(g gap, do func(*storage.Submission) error) error {
	q := storage.SubmissionsParams{Since: g.from, MaxBytes: MaxPageBytes, SummaryOnly: true, Page: storage.Page{Limit: submissionsPerPage, After: g.after}}
	if !g.to.IsZero() {
		q.Until = g.to.Add(-time.Microsecond) // stores have microsecond precision
	}
	for more := true; more; {
		var err error
		more, err = r.Storage.Submissions(r.ctx, r.actor, r.form, q, func(s *storage.Submission) error {
			q.Page.After = &storage.Position{Time: s.SubmittedAt, ID: s.ID}
			if err := r.ctx.Err(); err != nil {
				return err
			}
			return do(s)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// addSubmissions adds the submissions with from <= SubmittedAt < to to a tally.
func (r submissionReader) addSubmissions(from, to time.Time, t *summary.Tally) error {
	return r.eachSubmission(gap{from: from, to: to}, func(s *storage.Submission) error {
		if !r.end.IsZero() && time.Now().After(r.end) {
			return errTimeUp
		}
		return t.AddStored(s, r.filter, r.TimeZone)
	})
}

var errTimeUp = errors.New("the time limit for counting was reached")

// countSpans counts the submissions of a gap by day, newest first. It stops after the time end, but counts at least one
// submission. whole is false if it stopped early.
func (r submissionReader) countSpans(g gap, end time.Time) (found []*span, whole bool, err error) {
	var s *span
	var last *storage.Position
	add := func(day, to time.Time) {
		s = &span{from: r.startOfDay(day), to: to, tally: summary.New(nil, nil, nil)}
		found = append(found, s)
	}
	if g.after != nil { // the rest of its day, which can be empty
		add(g.after.Time, g.to)
	}
	err = r.eachSubmission(g, func(sub *storage.Submission) error {
		at := sub.SubmittedAt
		switch {
		case last != nil && time.Now().After(end):
			return errTimeUp
		case s == nil:
			add(at, g.to)
		case at.Before(s.from):
			add(at, s.from)
		}
		last = &storage.Position{Time: at, ID: sub.ID}
		s.first, s.last = at, cmp.Or(s.last, at)
		return s.tally.AddStored(sub, r.filter, r.TimeZone)
	})
	switch {
	case errors.Is(err, errTimeUp):
		s.from, s.after = s.first.Add(time.Microsecond), last
		return found, false, nil
	case err != nil:
		return nil, false, err
	case s == nil:
		add(g.to, g.to)
	}
	s.from = g.from
	return found, true, nil
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

func earliest(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }
