package formpage

import (
	"encoding/json"
	"slices"
	"strings"
)

// commaLanguages write a decimal comma.
var commaLanguages = []string{"de", "fr", "es", "pt", "it", "nl", "pl"}

// parseNumber reads a number as people of a language write it and returns its JSON
// literal. Signs between groups of digits are dropped: spaces and apostrophes
// everywhere, points where the comma is decimal, else commas.
func parseNumber(text, language string) (literal string, ok bool) {
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
	decimal, group := ".", ","
	if base, _, _ := strings.Cut(language, "-"); slices.Contains(commaLanguages, base) {
		decimal, group = ",", "."
	}
	switch points, commas := strings.Count(text, decimal), strings.Count(text, group); {
	case commas == 0:
	case points == 0 && commas == 1 && !isGroup(text, group):
		decimal, group = group, decimal // one sign, and not where a group ends: 1.5 in German
	case points > 1 || !isGroup(text, group):
		return "", false
	}
	text = strings.ReplaceAll(text, group, "")
	text = strings.Replace(text, decimal, ".", 1)
	text = strings.TrimPrefix(text, "+")
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "-.") {
		text = strings.Replace(text, ".", "0.", 1)
	}
	text = strings.TrimSuffix(text, ".")
	negative := strings.HasPrefix(text, "-")
	digits := strings.TrimLeft(strings.TrimPrefix(text, "-"), "0")
	if digits == "" || digits[0] < '0' || digits[0] > '9' {
		digits = "0" + digits
	}
	if negative {
		digits = "-" + digits
	}
	for _, c := range strings.TrimPrefix(digits, "-") {
		if (c < '0' || c > '9') && c != '.' {
			return "", false
		}
	}
	if text == "" || text == "-" || !json.Valid([]byte(digits)) {
		return "", false
	}
	return digits, true
}

// isGroup reports whether the sign stands between groups of three digits only.
func isGroup(text, sign string) bool {
	whole := strings.TrimLeft(text, "+-")
	if i := strings.IndexFunc(whole, func(c rune) bool { return (c < '0' || c > '9') && string(c) != sign }); i >= 0 {
		whole = whole[:i]
	}
	parts := strings.Split(whole, sign)
	if len(parts[0]) == 0 || len(parts[0]) > 3 {
		return false
	}
	for _, p := range parts[1:] {
		if len(p) != 3 {
			return false
		}
	}
	return true
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
