package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"time"
	"unicode/utf8"

	"github.com/formsvc/formsvc/storage"
)

// sinceYear1 is 1970 in microseconds since the zero time.
var sinceYear1 = -time.Time{}.UnixMicro()

// micros returns a time as it is stored.
func micros(t time.Time) int64 { return t.UnixMicro() + sinceYear1 }

// stored scans a time.
type stored struct{ to *time.Time }

func at(to *time.Time) stored { return stored{to} }

func (s stored) Scan(src any) error {
	n, ok := src.(int64)
	if !ok {
		return errors.New("a time is an integer")
	}
	*s.to = time.UnixMicro(n - sinceYear1).UTC()
	return nil
}

// encode makes SQL values of ids and times. A storage.ID by itself would become text.
func encode(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case storage.ID:
			out[i] = v[:]
		case time.Time:
			out[i] = micros(v)
		default:
			out[i] = v
		}
	}
	return out
}

// bytesOf returns b as a value that is not null.
func bytesOf(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// secret returns a secret as callers know it: an empty one is none.
func secret(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// start returns the position that a page comes after, in the order (time, id).
func start(page storage.Page) (int64, []byte) {
	if page.After == nil {
		return math.MaxInt64, []byte{}
	}
	return micros(page.After.Time), page.After.ID[:]
}

// check returns ErrInvalidValue when one of the values is text or a time that the
// contract does not allow.
func check(values ...any) error {
	for _, value := range values {
		if !valid(value) {
			return storage.ErrInvalidValue
		}
	}
	return nil
}

func valid(value any) bool {
	switch v := value.(type) {
	case string:
		return storage.ValidText(v)
	case *string:
		return v == nil || storage.ValidText(*v)
	case json.RawMessage:
		return bytes.IndexByte(v, 0) < 0 && utf8.Valid(v)
	case []storage.Scope:
		for _, scope := range v {
			if !storage.ValidText(string(scope)) {
				return false
			}
		}
		return true
	case time.Time:
		return storage.ValidTime(v)
	case storage.Page:
		return v.After == nil || storage.ValidTime(v.After.Time)
	case storage.Definition:
		return check(v.Blocks, v.Settings, v.Theme, v.Variables, v.HiddenFields) == nil
	}
	panic("a value of a type that nobody checks")
}
