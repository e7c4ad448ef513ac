package memory

import (
	"bytes"
	"encoding/json"
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
	panic("memory: a value of a type that nobody checks")
}
