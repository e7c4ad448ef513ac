package jsontree

import (
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. It replaces each invalid UTF-8 byte with U+FFFD.
func AppendString(b []byte, s string) []byte {
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
		if r == utf8.RuneError && n == 1 {
			b = append(append(b, s[start:i]...), `\ufffd`...)
			start = i + n
		}
		i += n
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
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// AppendTime appends t as a JSON string in the format of [FormatTime].
func AppendTime(b []byte, t time.Time) []byte {
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, time.RFC3339)
	return append(b, '"')
}

// AppendFloat appends f in its shortest form, without an exponent if the result is short. NaN, infinities and -0 become
// 0.
func AppendFloat(b []byte, f float64) []byte {
	if f == 0 || math.IsNaN(f) || math.IsInf(f, 0) {
		return append(b, '0')
	}
	// Most numbers have at most three decimals. Up to 15 digits always identify a float64, so these numbers do not need a
	// search for the shortest form.
	if thousandth := math.Round(f * 1000); math.Abs(thousandth) < 1e15 && thousandth/1000 == f {
		return appendThousandths(b, int64(thousandth))
	}
	format := byte('f')
	if abs := math.Abs(f); abs < 1e-6 || abs >= 1e21 {
		format = 'e'
	}
	return strconv.AppendFloat(b, f, format, -1, 64)
}

func appendThousandths(b []byte, n int64) []byte {
	if n < 0 {
		b, n = append(b, '-'), -n
	}
	b = strconv.AppendInt(b, n/1000, 10)
	rest := n % 1000
	if rest == 0 {
		return b
	}
	b = append(b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
	for b[len(b)-1] == '0' {
		b = b[:len(b)-1]
	}
	return b
}

// appendComma appends a comma unless the next value is the first in an array, object or field, or in the whole text.
// last is the byte before b, or 0.
func appendComma(b []byte, last byte) []byte {
	if len(b) > 0 {
		last = b[len(b)-1]
	}
	switch last {
	case 0, '[', '{', ':':
		return b
	}
	return append(b, ',')
}
