package schema

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// What follows reads stored JSON without a reflected walk: summaries and exports read
// the answers of a million responses, for which encoding/json takes ten times as long. It
// relies on JSON that was checked when it was written, and never fails on other than with
// errStored.
var errStored = errors.New("schema: not the JSON that is stored")

// stored is one value in its text.
type stored string

// kind is the first byte of the value, 0 of none.
func (v stored) kind() byte {
	if v == "" {
		return 0
	}
	return v[0]
}

// each calls do for every element of an array or member of an object, in order. The name
// is that of a member.
func (v stored) each(do func(name string, value stored) error) error {
	object := v.kind() == '{'
	if !object && v.kind() != '[' {
		return errStored
	}
	rest := string(v[1:])
	for first := true; ; first = false {
		rest = space(rest)
		if rest == "" {
			return errStored
		}
		switch c := rest[0]; {
		case c == ']' && !object, c == '}' && object:
			return nil
		case first:
		case c == ',':
			rest = space(rest[1:])
		default:
			return errStored
		}
		name := ""
		if object {
			n := end(rest)
			var err error
			if name, err = stored(rest[:n]).text(); err != nil {
				return err
			}
			if rest = space(rest[n:]); rest == "" || rest[0] != ':' {
				return errStored
			}
			rest = space(rest[1:])
		}
		n := end(rest)
		if n == 0 {
			return errStored
		}
		if err := do(name, stored(rest[:n])); err != nil {
			return err
		}
		rest = rest[n:]
	}
}

func space(s string) string { return strings.TrimLeft(s, " \t\r\n") }

// end returns where the value that s begins with ends, 0 when there is none.
func end(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
			if i >= len(s) {
				return 0
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i
			}
			if depth == 0 {
				return i + 1
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	if depth > 0 {
		return 0
	}
	return len(s)
}

// text reads a string; null is an empty one.
func (v stored) text() (string, error) {
	switch {
	case v == "null":
		return "", nil
	case v.kind() != '"' || len(v) < 2:
		return "", errStored
	case strings.IndexByte(string(v), '\\') < 0:
		return string(v[1 : len(v)-1]), nil
	}
	var text string
	if json.Unmarshal([]byte(v), &text) != nil {
		return "", errStored
	}
	return text, nil
}

// number reads a number.
func (v stored) number() (float64, error) {
	if k := v.kind(); k != '-' && (k < '0' || '9' < k) {
		return 0, errStored
	}
	x, err := strconv.ParseFloat(string(v), 64)
	if err != nil {
		return 0, errStored
	}
	return x, nil
}

// texts reads the members of an object whose values are strings into the places that
// into returns for their names; nil is none. It reports whether any had one.
func (v stored) texts(into func(name string) *string) (found bool, err error) {
	err = v.each(func(name string, value stored) error {
		place := into(name)
		if place == nil {
			return nil
		}
		found = true
		*place, err = value.text()
		return err
	})
	return found, err
}
