package textclean

import (
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

func TestIsBlank(t *testing.T) {
	for _, s := range []string{
		"", " ", "\t\r\n", "\u00a0", "\u2003", "\u3000", "\u200b", "\ufeff", "\u2060", "\u200c\u200d", "\u00ad", "\u034f", "\u061c", "\u180e", "\u115f\u1160",
		"\u17b4", "\u2800", "\u3164", "\uffa0", "\u202e", "\u2066\u2069", "\ufe0f", "\U000e0001\U000e0020", "\U000e0100", "\U0001d173", "\x00\x1f\x7f\u0085", "\u2028",
	} {
		expect.That(t, IsBlank(s), "%+q can be seen", s)
		expect.That(t, !IsBlank(s+"a"), "%+q before a letter is blank", s)
	}
	for _, s := range []string{"a", "!", "é", "日", "\u0600", "\u06dd", "\ufffd", "\ufffc", "\u0301", "😀", "-", "\u2063x", "\U00013430"} {
		expect.That(t, !IsBlank(s), "%+q is blank", s)
	}
}

func TestName(t *testing.T) {
	for in, want := range map[string]string{
		" a\u200bb\u00ad ":                "ab",
		"\u200b \ufeffName\u2060\n":       "Name",
		"می\u200cشود":                     "می\u200cشود",
		"👩\u200d👧 ❤\ufe0f":                "👩\u200d👧 ❤\ufe0f",
		"葛\U000e0100":                     "葛\U000e0100",
		"🏴\U000e0067\U000e0062\U000e007f": "🏴\U000e0067\U000e0062\U000e007f",
		"a\U000e0067\U000e0062\U000e007f": "a",
		"🏴a\U000e0067":                    "🏴a",
		"\U000e0001x\u3164\u115f":         "x",
		"a\u202eb\u2066\u200e":            "a\u202eb\u2066\u200e", // Misleads
		"a\u00a0b\u3000c":                 "a\u00a0b\u3000c",
		"a\x00\ab":                        "a\x00\ab",
		"\u200b":                          "",
	} {
		expect.Equal(t, CleanName(in), want, "%+q becomes", in)
	}
}

func TestTrim(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "",
		"\u200b \ufeff":                      "",
		"a\a":                                "a\a",
		"a b":                                "a b",
		"\u202a+31 20\u202c":                 "+31 20",
		"\u00a0\u200b\tx\u200cy\u2028\u00ad": "x\u200cy",
	} {
		expect.Equal(t, Trim(in), want, "%+q becomes", in)
	}
}
