package answers

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

// costly are bodies of about 1 MiB that cost as much as a response can: by name, the
// blocks of the form and the JSON of its answers.
func costly() map[string]struct{ blocks, answers string } {
	const size = 1 << 20
	some := func(count int, members, value string) struct{ blocks, answers string } {
		var blocks, answers []string
		for i := range count {
			blocks = append(blocks, fmt.Sprintf(`{"id":"b%d",%s}`, i, members))
			answers = append(answers, fmt.Sprintf(`"b%d":%s`, i, value))
		}
		return struct{ blocks, answers string }{"[" + strings.Join(blocks, ",") + "]", "{" + strings.Join(answers, ",") + "}"}
	}
	// each makes as many blocks of a type as there are answers of that size in a body.
	each := func(members, value string) struct{ blocks, answers string } {
		return some(min(2000, max(1, size/(len(value)+10))), members, value)
	}
	text := func(unit string, characters int) string {
		return `"` + strings.Repeat(unit, characters/len([]rune(unit))) + `"`
	}
	const long, short, email, phone, site = `"type":"long_text"`, `"type":"short_text"`, `"type":"email"`, `"type":"phone"`, `"type":"website"`
	idn := strings.Repeat(strings.Repeat("\u00fc", 20)+".", 11) + "example"
	return map[string]struct{ blocks, answers string }{
		"ASCII":                      each(long, text("x", 99_000)),
		"Arabic":                     each(long, text("\u0645", 99_000)),
		"letters with marks":         each(long, text("a\u0301", 190_000)),
		"marks without letters":      each(long, text("\u0301", 99_000)),
		"marks in the wrong order":   each(long, text("\u0316\u0301\u0327\u0345", 99_000)),
		"Jamo":                       each(long, text("\u1100\u1161\u11a8", 99_000)),
		"what becomes longer":        each(long, text("\U0001d160", 99_000)),
		"one text of marks":          each(long, text("\u0301", size/2)),
		"many short texts of marks":  each(short, text("a\u0301", 400)),
		"invisible characters":       each(long, text("\u200b", 99_000)),
		"carriage returns":           each(long, text(`a\r`, 297_000)),
		"refused control characters": each(short, text("a", 5000)[:5000]+`\u0007"`),
		"a long phone number":        each(phone, text("1", size)),
		"Chinese addresses":          each(email, `"\u7528\u6237@\u4f8b\u5b50.\u5e7f\u544a"`),
		"300 phone numbers":          some(300, phone, `"+442079460018"`), // more are beyond the allowance: see Check
		"phone numbers in brackets":  each(phone, `"`+strings.Repeat("(", 60)+`123"`),
		"addresses of many labels":   each(email, `"a@`+idn+`"`),
		"punycode":                   each(email, `"a@xn--`+strings.Repeat("a", 57)+"."+strings.Repeat("xn--mnchen-3ya.", 12)+`example"`),
		"one long address":           each(email, `"a@`+strings.Repeat("\u00fc", size/2)+`"`),
		"websites of many labels":    each(site, `"https://`+idn+`/"`),
		"a website of percent signs": each(site, `"https://example.com/`+strings.Repeat("%41", 600)+`"`),
		"invalid files":              each(`"type":"file_upload","properties":{"multipleFiles":true}`, "["+strings.Repeat(`1,`, 90_000)+"1]"),
		"unknown parts":              each(`"type":"address"`, "{"+strings.TrimSuffix(strings.Repeat(`"#":"x",`, 1), ",")+"}"),
		"choices":                    each(`"type":"multiple_choice","choices":[{"id":"a"},{"id":"b"}]`, `["a","b"]`),
		"numbers":                    each(`"type":"number"`, `"`+strings.Repeat("9", 60)+`"`),
		"dates":                      each(`"type":"date","properties":{"showTimePicker":true}`, `"2026-11-20T08:30:00+09:00"`),
	}
}

// BenchmarkCostlyResponses compares with what a response may cost: five times what
// json.Unmarshal of the same body does, and 5 ms. More than 1 in of-allowance is too
// much.
func BenchmarkCostlyResponses(b *testing.B) {
	for name, c := range costly() {
		b.Run(name, func(b *testing.B) {
			f := compileTestForm(b, c.blocks, "", "")
			var in Input
			raw := make(map[string]json.RawMessage)
			expect.NoError(b, json.Unmarshal([]byte(c.answers), &raw))
			for i := range f.form.Blocks {
				if f.form.Blocks[i].Host {
					in.HostAnswers = raw
				} else {
					in.Answers = raw
				}
			}
			decoding := time.Duration(1 << 62)
			for range 5 {
				var v any
				start := time.Now()
				expect.NoError(b, json.Unmarshal([]byte(c.answers), &v))
				decoding = min(decoding, time.Since(start))
			}
			checking := time.Duration(1 << 62)
			for b.Loop() {
				start := time.Now()
				_, _ = f.Check(in)
				checking = min(checking, time.Since(start))
			}
			b.ReportMetric(float64(checking)/float64(5*decoding+5*time.Millisecond), "of-allowance")
			b.ReportMetric(float64(checking)/float64(decoding), "of-unmarshal")
		})
	}
}

// What a costly response allocates is in proportion to its body. Not parallel: what
// other tests allocate would count.
func TestCostlyResponsesAllocateInProportion(t *testing.T) {
	bodies := costly()
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		c := bodies[name]
		f := compileTestForm(t, c.blocks, "", "")
		raw := make(map[string]json.RawMessage)
		expect.NoError(t, json.Unmarshal([]byte(c.answers), &raw))
		in := Input{Answers: raw}
		if f.form.Blocks[0].Host {
			in = Input{HostAnswers: raw}
		}
		bytes := allocated(func() {
			got, err := f.Check(in)
			checkOutcome(t, got, err)
		})
		most := uint64(20*len(c.answers) + 4<<20)
		if raceDetector && strings.Contains(name, "phone") {
			most += 256 << 20
		}
		expect.That(t, bytes <= most, "%s: %d bytes of answers allocate %d, want at most %d", name, len(c.answers), bytes, most)
	}
}

// The budget of slow text is that of a response, and what is in NFC takes none of it.
func TestSlowTextHasABudget(t *testing.T) {
	f := compileTestForm(t, `[{"id":"a","type":"long_text"},{"id":"b","type":"long_text"},{"id":"c","type":"email"}]`, "", "")
	marks := func(bytes int) string { return `"` + strings.Repeat("e\u0301", bytes/2) + `"` }
	const maxSlow = 64 << 10
	const address = `"\u00fc@\u00fc.example"` // 13 bytes
	for name, c := range map[string]struct {
		in   Input
		want string
	}{
		"as much as there is":     {Input{Answers: raws("a", marks(maxSlow))}, ""},
		"a character more":        {Input{Answers: raws("a", marks(maxSlow+2))}, "/answers/a TOO_LONG"},
		"two answers":             {Input{Answers: raws("a", marks(maxSlow/2), "b", marks(maxSlow/2))}, ""},
		"two answers, more":       {Input{Answers: raws("a", marks(maxSlow/2), "b", marks(maxSlow/2+2))}, "/answers/b TOO_LONG"},
		"an address after a text": {Input{Answers: raws("a", marks(maxSlow-12), "c", address)}, "/answers/c TOO_LONG"},
		"an address with room":    {Input{Answers: raws("a", marks(maxSlow-14), "c", address)}, ""},
		"an ASCII address":        {Input{Answers: raws("a", marks(maxSlow), "c", `"u@u.example"`)}, ""},
		"text in NFC":             {Input{Answers: raws("a", `"`+strings.Repeat("é", 100_000)+`"`, "b", `"`+strings.Repeat("é", 100_000)+`"`)}, ""},
	} {
		expect.Equal(t, answerFaults(t, expect.ErrorOf(f.Check(c.in))), c.want, "%s", name)
	}
}
