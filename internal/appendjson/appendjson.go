// Package appendjson appends JSON to a byte slice without reflection.
package appendjson

import (
	"encoding/hex"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/formsvc/formsvc/storage"
)

// String appends s as a JSON string. What is not valid UTF-8 becomes U+FFFD.
// U+2028 and U+2029 are escaped, so that the text is also safe in a script.
func String(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			b = appendEscape(b, c)
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(append(b, s[start:i]...), `\ufffd`...)
		case r == '\u2028' || r == '\u2029':
			b = append(append(b, s[start:i]...), `\u202`...)
			b = append(b, '8'+byte(r-'\u2028'))
		default:
			i += n
			continue
		}
		i += n
		start = i
	}
	return append(append(b, s[start:]...), '"')
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	const digits = "0123456789abcdef"
	return append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
}

// ID appends id as a JSON string.
func ID(b []byte, id storage.ID) []byte {
	b = append(b, '"')
	b = hex.AppendEncode(b, id[:])
	return append(b, '"')
}

// Time appends t as a JSON string in UTC and whole seconds, for example
// "2026-11-20T08:33:01Z".
func Time(b []byte, t time.Time) []byte {
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, time.RFC3339) // has no fraction, and Z for UTC
	return append(b, '"')
}

// Number appends f as a JSON number in its shortest form without an exponent
// where that is short. What JSON cannot express (NaN, infinities) becomes 0.
func Number(b []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(b, '0')
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(b, f, format, -1, 64)
}
