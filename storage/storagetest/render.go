package storagetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// render writes a record, or a list of records, one member a line. Two values
// render alike when the contract holds them for equal: times to the
// microsecond, JSON by its tokens, a nil list like an empty one. A time that is
// not in UTC shows it.
func render(v any) string {
	var out strings.Builder
	renderInto(&out, "", reflect.ValueOf(v))
	return strings.TrimSuffix(out.String(), "\n")
}

func renderInto(out *strings.Builder, name string, v reflect.Value) {
	line := func(format string, args ...any) {
		fmt.Fprintf(out, "%s: %s\n", strings.TrimPrefix(name, "."), fmt.Sprintf(format, args...))
	}
	if !v.IsValid() {
		line("none")
		return
	}
	switch x := v.Interface().(type) {
	case time.Time:
		line("%s", renderTime(x))
		return
	case storage.ID:
		line("%s", x)
		return
	case json.RawMessage:
		line("%s", renderJSON(x))
		return
	case []byte:
		line("%q", x)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			line("none")
			return
		}
		renderInto(out, name, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				renderInto(out, name+"."+f.Name, v.Field(i))
			}
		}
	case reflect.Slice:
		line("%d items", v.Len())
		for i := range v.Len() {
			renderInto(out, name+"["+strconv.Itoa(i)+"]", v.Index(i))
		}
	case reflect.String:
		line("%q", v.String())
	default:
		line("%v", v.Interface())
	}
}

func renderTime(t time.Time) string {
	if t.IsZero() {
		return "no time"
	}
	s := t.UTC().Truncate(time.Microsecond).Format("2006-01-02T15:04:05.000000Z")
	if t.Location() != time.UTC {
		s += " (not in UTC but in " + t.Location().String() + ")"
	}
	return s
}

// renderJSON writes the tokens of one JSON value: members in their order,
// number literals as they are, strings by their characters, no white space.
func renderJSON(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "no value"
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var tokens []string
	for {
		tok, err := dec.Token()
		switch {
		case errors.Is(err, io.EOF):
			return strings.Join(tokens, " ")
		case err != nil:
			return fmt.Sprintf("not JSON: %q", raw)
		}
		switch x := tok.(type) {
		case string:
			tokens = append(tokens, strconv.Quote(x))
		case nil:
			tokens = append(tokens, "null")
		default: // a delimiter, a json.Number or a boolean
			tokens = append(tokens, fmt.Sprint(x))
		}
	}
}
