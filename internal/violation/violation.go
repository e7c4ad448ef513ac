// Package violation collects the violations in a request body, sorted and up to a limit. It also contains shared
// messages.
package violation

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/schema"
)

// collectLimit is the number of violations after which checks stop, so that a body with 100,000 violations costs no
// more than a small one. It is higher than [schema.MaxViolations], so that a [schema.Error] usually contains the first
// violations by path.
const collectLimit = 16 * schema.MaxViolations

// List collects violations. The zero value is ready to use.
type List struct {
	OnlySizes bool // accept only exceeded limits and unknown names

	list []schema.Violation
}

// CanAdd reports whether the list would add a violation with this code. Callers check this before they build the path.
func (l *List) CanAdd(code string) bool {
	return !l.IsFull() && (!l.OnlySizes || code == schema.CodeTooMany || code == schema.CodeTooLong || code == schema.CodeUnknownField)
}

// IsFull reports whether the list ignores all further violations, in which case callers can stop.
func (l *List) IsFull() bool { return len(l.list) >= collectLimit }

// Add adds a violation without parameters.
func (l *List) Add(path, code, message string) {
	l.AddViolation(schema.Violation{Path: path, Code: code, Message: message})
}

// AddViolation adds a violation.
func (l *List) AddViolation(v schema.Violation) {
	if l.CanAdd(v.Code) {
		l.list = append(l.list, v)
	}
}

// Err returns a *[schema.Error] with the violations sorted and without duplicates, or nil if the list is empty.
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
	// Clone again so that the rest of the list can be garbage collected.
	return &schema.Error{Violations: slices.Clone(list[:min(len(list), schema.MaxViolations)])}
}

// New returns an error with one violation. params are pairs of names and values; see [schema.CodeParams].
func New(path, code, message string, params ...any) error {
	v := schema.Violation{Path: path, Code: code, Message: message}
	for i := 0; i+1 < len(params); i += 2 {
		if v.Params == nil {
			v.Params = make(map[string]any)
		}
		v.Params[params[i].(string)] = params[i+1] //nolint:forcetypeassert // callers pass constant names
	}
	return &schema.Error{Violations: []schema.Violation{v}}
}

// Join combines the violations of several errors into one *[schema.Error]. It skips nil errors and returns nil if all
// errors are nil. If an error has another type, Join returns the first such error unchanged.
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
