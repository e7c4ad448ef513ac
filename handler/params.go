package handler

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// query reads query parameters and collects their faults. Unknown parameters are
// ignored; of a repeated one the first counts.
type query struct {
	values     url.Values
	violations []schema.Violation
}

func (c *call) query() *query {
	if c.r.URL.RawQuery == "" {
		return &query{}
	}
	values, err := url.ParseQuery(c.r.URL.RawQuery)
	q := &query{values: values}
	if err != nil {
		// Dropped, a filter would widen the answer.
		q.violations = []schema.Violation{{Path: "query", Code: schema.CodeBadFormat, Message: "is not a well-formed query"}}
	}
	return q
}

func (q *query) get(name string) (string, bool) {
	return q.values.Get(name), q.values.Has(name)
}

func (q *query) reject(name, code, message string) {
	q.violations = append(q.violations, schema.Violation{Path: "query:" + name, Code: code, Message: message})
}

// fault adds the fault of a parameter by a rule that is not about HTTP. nil adds
// nothing.
func (q *query) fault(err error) {
	if broken, ok := errors.AsType[*schema.Error](err); ok {
		q.violations = append(q.violations, broken.Violations...)
	}
}

func (q *query) err() error {
	if len(q.violations) == 0 {
		return nil
	}
	slices.SortFunc(q.violations, func(a, b schema.Violation) int { return strings.Compare(a.Path, b.Path) })
	return invalid(q.violations...)
}

const (
	defaultPageSize = 20
	maxPageSize     = 100
)

// limit reads the page size: 1 to 100, 20 when absent.
func (q *query) limit() int {
	s, ok := q.get("limit")
	if !ok {
		return defaultPageSize
	}
	n, err := strconv.Atoi(s)
	switch {
	case err != nil && strings.Trim(strings.TrimPrefix(s, "-"), "0123456789") != "", s == "", s == "-":
		q.reject("limit", schema.CodeWrongType, "must be an integer")
	case err != nil, n < 1, n > maxPageSize:
		q.reject("limit", schema.CodeOutOfRange, "must be between 1 and 100")
	}
	return n
}

// time reads an RFC 3339 time; zero when absent.
func (q *query) time(name string) time.Time {
	s, ok := q.get(name)
	if !ok {
		return time.Time{}
	}
	// A plus sign that was not escaped arrives as a space.
	t, ok := jsontree.ParseTime(strings.Replace(s, " ", "+", 1))
	if !ok {
		q.reject(name, schema.CodeBadFormat, "must be a time such as 2026-11-20T08:33:01Z")
	}
	return t
}

// id reads an id, and reports whether it was given.
func (q *query) id(name string) (id storage.ID, given bool) {
	s, given := q.get(name)
	if !given {
		return id, false
	}
	id, err := storage.ParseID(s)
	if err != nil {
		q.reject(name, schema.CodeBadFormat, "must be 24 hexadecimal digits")
	}
	return id, true
}
