// Package violation collects the violations in a body, sorted and up to a limit. It also contains the
// messages that several checks share.
package violation

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/schema"
)

// collectLimit is the number of faults after which the search for more ends. It
// is more than a [schema.Error] carries, so that the first by path are among them
// whenever a body has not many more; and it is bounded, so that a hostile body
// with 100,000 faults costs no more than a small one.
const collectLimit = 16 * schema.MaxViolations

// List collects faults. The zero value is ready.
type List struct {
	// OnlySizes has the list take only faults of what is too large, or has a name that nothing
	// counted. All other faults are dropped before they fill the list.
	OnlySizes bool

	list []schema.Violation
}

// Takes reports whether a fault with this code would be added: callers ask before they make its path.
func (l *List) Accepts(code string) bool {
	return !l.Full() && (!l.OnlySizes || code == schema.CodeTooMany || code == schema.CodeTooLong || code == schema.CodeUnknownField)
}

// Full reports that nothing more is taken, so that there is no use in looking
// further, or in making a path.
func (l *List) Full() bool { return len(l.list) >= collectLimit }

// Add adds a fault of a request.
func (l *List) Add(path, code, message string) {
	l.Put(schema.Violation{Path: path, Code: code, Message: message})
}

// Put adds a fault.
func (l *List) Put(v schema.Violation) {
	if l.Accepts(v.Code) {
		l.list = append(l.list, v)
	}
}

// Err returns nil when nothing was added, else a *[schema.Error]. It is sorted, without
// repetitions of the same code at the same place.
func (l *List) Err() error {
	if len(l.list) == 0 {
		return nil
	}
	list := slices.Clone(l.list)
	slices.SortStableFunc(list, func(a, b schema.Violation) int {
		return cmp.Or(
			strings.Compare(a.Path, b.Path),
			strings.Compare(a.Code, b.Code),
			strings.Compare(a.Field, b.Field),
		)
	})
	list = slices.CompactFunc(list, func(a, b schema.Violation) bool {
		return a.Path == b.Path && a.Code == b.Code && a.Field == b.Field
	})
	// A copy again: otherwise the rest of the text would be kept in memory.
	return &schema.Error{Violations: slices.Clone(list[:min(len(list), schema.MaxViolations)])}
}

// New is an error of one fault. The params are each a name and a value: see
// [schema.CodeParams].
func New(path, code, message string, params ...any) error {
	v := schema.Violation{Path: path, Code: code, Message: message}
	for i := 0; i+1 < len(params); i += 2 {
		if v.Params == nil {
			v.Params = make(map[string]any)
		}
		v.Params[params[i].(string)] = params[i+1] //nolint:forcetypeassert // the callers write the names
	}
	return &schema.Error{Violations: []schema.Violation{v}}
}

// Join makes one *[schema.Error] of several, sorted and cut as any: for checks of one
// request that are made in different places. It skips nil, and returns nil when all
// errors are nil. Any other error is not a list of faults and wins: the first of them
// is returned as it is.
func Join(errs ...error) error {
	var all List
	for _, err := range errs {
		if broken, ok := errors.AsType[*schema.Error](err); ok {
			all.list = append(all.list, broken.Violations...)
		} else if err != nil {
			return err
		}
	}
	return all.Err()
}
