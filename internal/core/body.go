package core

import (
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Body builds a request body for a Go caller. Values that JSON cannot represent become violations, which
// [RunOperation] returns.
type Body struct {
	w          jsontree.Writer
	violations []error
}

// NewBody returns a body that contains an empty object.
func NewBody() *Body {
	b := new(Body)
	b.w.Object()
	return b
}

// Text adds a string.
func (b *Body) Text(name, value string) *Body {
	if !utf8.ValidString(value) {
		b.AddViolation("/"+name, schema.CodeBadFormat, "is not valid UTF-8")
	}
	b.w.Name(name).String(value)
	return b
}

// OptionalText adds a string unless it is nil.
func (b *Body) OptionalText(name string, value *string) *Body {
	if value != nil {
		b.Text(name, *value)
	}
	return b
}

// ID adds a required record ID.
func (b *Body) ID(name string, id storage.ID) *Body {
	if id.IsZero() {
		b.AddViolation("/"+name, schema.CodeRequired, "is required")
	}
	b.w.Name(name).String(id.String())
	return b
}

// Bool adds a boolean.
func (b *Body) Bool(name string, value bool) { b.w.Name(name).Bool(value) }

// Null adds null.
func (b *Body) Null(name string) { b.w.Name(name).Null() }

// JSON adds a JSON value unless it is nil.
func (b *Body) JSON(name string, value json.RawMessage) *Body {
	b.addJSON("", name, value)
	return b
}

func (b *Body) addJSON(path, name string, value json.RawMessage) {
	switch {
	case value == nil:
	case !json.Valid(value):
		b.AddViolation(path+"/"+name, schema.CodeBadFormat, "is not valid JSON")
	default:
		b.w.Name(name).Raw(value)
	}
}

// Definition adds the non-nil sections of d.
func (b *Body) Definition(d storage.Definition) *Body {
	if !d.HasSections() {
		return b
	}
	b.w.Name("definition").Object()
	for _, section := range d.Sections() {
		b.addJSON("/definition", section.Name, *section.Value)
	}
	b.w.EndObject()
	return b
}

// AddViolation adds a violation.
func (b *Body) AddViolation(path, code, message string) {
	b.violations = append(b.violations, violation.New(path, code, message))
}

func convertSyntaxError(err error) error {
	if syntax, ok := errors.AsType[*jsontree.SyntaxError](err); ok {
		return violation.New("", schema.CodeBadFormat, "is not valid JSON: "+syntax.Reason)
	}
	return err
}

// RunOperation calls operation with the body. If the body has violations or is too large, it returns an error without
// calling operation. On error, it returns the zero value.
func RunOperation[T any](c *Core, b *Body, operation func(body []byte) (T, error)) (T, error) {
	var none T
	b.w.EndObject()
	if int64(b.w.Len()) > c.Limits.Body {
		b.AddViolation("", schema.CodeTooLong, "must have at most "+strconv.FormatInt(c.Limits.Body, 10)+" bytes")
	}
	if err := violation.Join(b.violations...); err != nil {
		return none, err
	}
	v, err := operation(b.w.Bytes())
	if err = convertSyntaxError(err); err != nil {
		return none, err
	}
	return v, nil
}
