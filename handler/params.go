package handler

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc/internal/apierror"
	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// query parses query parameters and collects violations. If a parameter is repeated, all of its values must be equal.
// Unknown parameters are ignored.
type query struct {
	values     url.Values
	violations []schema.Violation
}

func (c *call) parseQuery() *query {
	if c.r.URL.RawQuery == "" {
		return &query{}
	}
	values, err := url.ParseQuery(c.r.URL.RawQuery)
	q := &query{values: values}
	if err != nil {
		// If a malformed filter were ignored, the list would contain more records than requested.
		q.violations = []schema.Violation{{Path: "query", Code: schema.CodeBadFormat, Message: "is not a well-formed query string"}}
	}
	return q
}

func (q *query) getUnique(name string) (string, bool) {
	for _, other := range q.values[name] {
		if other != q.values.Get(name) {
			q.addViolation(name, schema.CodeDuplicate, "must not be repeated with different values")
			break
		}
	}
	return q.values.Get(name), q.values.Has(name)
}

func (q *query) addViolation(name, code, message string) {
	q.violations = append(q.violations, schema.Violation{Path: "query:" + name, Code: code, Message: message})
}

func (q *query) addErrorViolations(err error) {
	if broken, ok := errors.AsType[*schema.Error](err); ok {
		q.violations = append(q.violations, broken.Violations...)
	}
}

func (q *query) err() error {
	if len(q.violations) == 0 {
		return nil
	}
	slices.SortFunc(q.violations, func(a, b schema.Violation) int { return strings.Compare(a.Path, b.Path) })
	return apierror.NewValidationError(q.violations...)
}

const (
	defaultPageSize = 20
	maxPageSize     = 100
)

// parseLimit parses the page size, which must be from 1 to 100. Defaults to 20.
func (q *query) parseLimit() int {
	s, ok := q.getUnique("limit")
	if !ok {
		return defaultPageSize
	}
	n, err := strconv.Atoi(s)
	switch {
	case err != nil && strings.Trim(strings.TrimPrefix(s, "-"), "0123456789") != "", s == "", s == "-":
		q.addViolation("limit", schema.CodeWrongType, "must be an integer")
	case err != nil, n < 1, n > maxPageSize:
		q.addViolation("limit", schema.CodeOutOfRange, "must be between 1 and 100")
	}
	return n
}

// parseTimeRange parses since and until. Both default to the zero time. Records store whole seconds, so if since has a
// fraction, records from that second are excluded.
func (q *query) parseTimeRange() (since, until time.Time) {
	since, fraction := q.parseTime("since")
	until, _ = q.parseTime("until")
	q.addErrorViolations(core.CheckTimeRange(since, until))
	if fraction {
		since = since.Add(time.Microsecond)
	}
	if until.IsZero() && q.values.Has("until") { // A zero time would mean that there is no limit.
		until = until.Add(time.Microsecond)
	}
	return since, until
}

// parseTime parses an RFC 3339 time and truncates it to whole seconds. It returns the zero time if the parameter is
// missing.
func (q *query) parseTime(name string) (t time.Time, fraction bool) {
	s, given := q.getUnique(name)
	if !given {
		return time.Time{}, false
	}
	t, fraction, ok := jsontree.ParseQueryTime(s)
	if !ok {
		q.addViolation(name, schema.CodeBadFormat, "must be a time such as 2026-11-20T08:33:01Z")
	}
	return t, fraction
}

func (q *query) parseID(name string) (id storage.ID, given bool) {
	s, given := q.getUnique(name)
	if !given {
		return id, false
	}
	id, err := storage.ParseID(s)
	if err != nil {
		q.addViolation(name, schema.CodeBadFormat, "must be 24 hexadecimal digits")
	}
	return id, true
}
