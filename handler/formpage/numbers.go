package formpage

import (
	"encoding/json"
	"regexp"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"
)

// writesComma reports whether a language has a decimal comma.
func writesComma(t language.Tag) bool {
	return strings.Contains(message.NewPrinter(t).Sprint(number.Decimal(1.5)), ",")
}

// isNumber reports whether text is a number in JSON.
func isNumber(text string) bool {
	return text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text))
}

// A number with its decimal sign as a point, and its groups' as a comma. Nobody begins a
// group with a zero.
var (
	groupedNumber = regexp.MustCompile(`^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$`)
	plainDecimal  = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)$`)
)

// parseNumber reads a number as people of a language write it and returns its JSON
// literal. Spaces and apostrophes between groups of digits are dropped everywhere. Of
// points and commas, the last one is the decimal sign where both are there; one alone is
// what the language says, or the decimal sign where no group of three digits follows it.
// What can be neither is not a number: better asked for again than stored as another one.
// The page's rules.js reads numbers in the same way.
func parseNumber(text string, comma bool) (literal string, ok bool) {
	text = asciiDigits(strings.TrimSpace(text))
	text = strings.Map(func(c rune) rune {
		switch c {
		case ' ', '\u00a0', '\u202f', '\u2009', '\'', '’', '٬':
			return -1
		case '٫':
			return '.'
		case '−':
			return '-'
		}
		return c
	}, text)
	if point, sign := strings.LastIndexByte(text, '.'), strings.LastIndexByte(text, ','); point >= 0 && sign >= 0 {
		comma = sign > point
	}
	if comma {
		text = strings.Map(func(c rune) rune {
			switch c {
			case '.':
				return ','
			case ',':
				return '.'
			}
			return c
		}, text)
	}
	switch {
	case groupedNumber.MatchString(text):
		text = strings.ReplaceAll(text, ",", "")
	case strings.Count(text, ",") == 1:
		text = strings.Replace(text, ",", ".", 1) // a second point is refused below
	}
	if !plainDecimal.MatchString(text) {
		return "", false
	}
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign = "-"
	}
	whole, fraction, _ := strings.Cut(strings.TrimLeft(text, "+-"), ".")
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return sign + whole, true
}

// asciiDigits replaces the digits of Arabic, Persian and full-width writing.
func asciiDigits(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= '٠' && c <= '٩':
			return '0' + c - '٠'
		case c >= '۰' && c <= '۹':
			return '0' + c - '۰'
		case c >= '０' && c <= '９':
			return '0' + c - '０'
		}
		return c
	}, text)
}
