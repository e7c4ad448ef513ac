package memory

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/formsvc/formsvc/storage"
)

// check returns ErrInvalidValue when one of the values is text or a time that the
// contract does not allow. It knows the types that the methods pass to it.
func check(values ...any) error {
	for _, value := range values {
		if !valid(value) {
			return storage.ErrInvalidValue
		}
	}
	return nil
}

// mark is a time that says by being set that something happened.
type mark time.Time

func valid(value any) bool {
	switch v := value.(type) {
	case string:
		return storage.ValidText(v)
	case *string:
		return v == nil || storage.ValidText(*v)
	case json.RawMessage:
		return bytes.IndexByte(v, 0) < 0 && utf8.Valid(v)
	case []storage.Scope:
		return !slices.ContainsFunc(v, func(scope storage.Scope) bool { return !storage.ValidText(string(scope)) })
	case time.Time:
		return storage.ValidTime(v)
	case map[storage.ID]time.Time:
		for _, t := range v {
			if !storage.ValidTime(t) {
				return false
			}
		}
		return true
	case mark:
		return !time.Time(v).IsZero() && storage.ValidTime(time.Time(v))
	case storage.Page:
		return v.After == nil || storage.ValidTime(v.After.Time)
	case *storage.Gate:
		return v == nil || check(v.CloseAt, v.Unique.Block) == nil
	case storage.Definition:
		return check(v.Blocks, v.Settings, v.Theme, v.Variables, v.HiddenFields) == nil
	}
	panic("memory: a value of a type that nobody checks")
}

// utc returns t as the store keeps it: in UTC and without a reading of the
// monotonic clock, so that equal times compare equal with ==.
func utc(t time.Time) time.Time { return t.Round(0).UTC() }
