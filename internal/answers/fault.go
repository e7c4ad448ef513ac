package answers

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc/schema"
)

// fault is what is wrong with an answer: a code, a sentence for the respondent, and
// the parameters of [schema.CodeParams], from which a page makes the sentence in its
// own language.
type fault struct {
	code, message string
	params        map[string]any
}

// The zero fault stands for none.
func (f fault) found() bool { return f.code != "" }

var (
	faultRequired    = fault{code: schema.CodeRequired, message: "an answer is required"}
	faultNotAccepted = fault{code: schema.CodeRequired, message: "must be accepted"}
	faultNotPaid     = fault{code: schema.CodeRequired, message: "must be paid"}
	faultMissing     = fault{code: schema.CodeRequired, message: "must be given"}
	faultNotAChoice  = fault{code: schema.CodeNotAChoice, message: "must be one of the choices"}
	faultNotARow     = fault{code: schema.CodeNotAChoice, message: "must be one of the rows"}
	faultChosenTwice = fault{code: schema.CodeDuplicate, message: "must not be chosen more than once"}
	faultRankedTwice = fault{code: schema.CodeDuplicate, message: "must not be ranked more than once"}
	faultNoBlock     = fault{code: schema.CodeUnknownField, message: "the form has no such question"}
	faultNoPart      = fault{code: schema.CodeUnknownField, message: "is not part of an address or contact"}
	faultNoMember    = fault{code: schema.CodeUnknownField, message: "is not known here"}
)

func wrongType(expected, message string) fault {
	return fault{schema.CodeWrongType, message, map[string]any{"type": expected}}
}

// Wrong types that more than one rule reports.
func notText() fault   { return wrongType("string", "must be text") }
func notNumber() fault { return wrongType("number", "must be a number") }
func notChoice() fault { return wrongType("choice", "must be one of the choices") }

func badFormat(expected, message string) fault {
	return fault{schema.CodeBadFormat, message, map[string]any{"format": expected}}
}

// Bad formats that more than one rule reports.
func notPlainText() fault { return badFormat("text", "must not contain control characters") }
func notOneLine() fault   { return badFormat("line", "must be one line of text") }
func notURL() fault {
	return badFormat("url", "must be the address of a website, such as https://example.com")
}
func notJSON() fault { return badFormat("json", "could not be read") }

// mostAllowed is the longest list of what is allowed that a fault carries.
const mostAllowed = schema.MaxViolations

// notAllowed has a list of what is allowed unless that would be long, or is nothing
// that a list could say.
func notAllowed(reason, message string, allowed ...string) fault {
	f := fault{schema.CodeNotAllowed, message, map[string]any{"reason": reason}}
	if len(allowed) > 0 && len(allowed) <= mostAllowed {
		f.params["allowed"] = allowed
	}
	return f
}

// tooLong is for a text of more than limit characters.
func tooLong(limit int) fault {
	return fault{schema.CodeTooLong, "must have at most " + counted(limit, "character"), map[string]any{"limit": limit, "unit": "characters"}}
}

// tooSlow is for an answer that is beyond maxSlow, with those before it.
func tooSlow() fault {
	return fault{
		schema.CodeTooLong, "the answers have too many characters that take long to check",
		map[string]any{"limit": maxSlow, "unit": "bytes"},
	}
}

// answersTooLong is for answers of more than limit bytes together.
func answersTooLong(limit int) fault {
	return fault{
		schema.CodeTooLong, "the answers, with the labels of what was chosen, would take more than " + counted(limit, "byte"),
		map[string]any{"limit": limit, "unit": "bytes"},
	}
}

// tooManySteps is for answers that make the form's rules take too long.
func tooManySteps() fault {
	return fault{
		schema.CodeTooMany, "the form's rules would take too long with these answers",
		map[string]any{"max": ruleSteps, "unit": "steps"},
	}
}

func tooManyChoices(most int) fault {
	return fault{schema.CodeTooMany, "choose at most " + spelled(most), map[string]any{"max": most, "unit": "choices"}}
}

func tooFewChoices(least int) fault {
	return fault{schema.CodeTooFew, "choose at least " + spelled(least), map[string]any{"min": least, "unit": "choices"}}
}

func tooFewRanked(all int) fault {
	return fault{schema.CodeTooFew, "must rank every choice", map[string]any{"min": all, "unit": "choices"}}
}

func tooManyFiles(most int) fault {
	message := "at most one file can be given"
	if most != 1 {
		message = "at most " + spelled(most) + " files can be given"
	}
	return fault{schema.CodeTooMany, message, map[string]any{"max": most, "unit": "files"}}
}

// outOfRange is for a number. An infinite bound is none.
func outOfRange(least, most float64) fault {
	f := fault{code: schema.CodeOutOfRange, params: make(map[string]any)}
	if !math.IsInf(least, -1) {
		f.params["min"] = number(least)
	}
	if !math.IsInf(most, 1) {
		f.params["max"] = number(most)
	}
	switch {
	case math.IsInf(least, -1):
		f.message = "must be at most " + grouped(most)
	case math.IsInf(most, 1):
		f.message = "must be at least " + grouped(least)
	default:
		f.message = "must be between " + grouped(least) + " and " + grouped(most)
	}
	return f
}

// offStep is for a number between two steps of a scale.
func offStep(t numberRule) fault {
	f := outOfRange(t.least, t.most)
	f.params["step"] = number(t.step)
	values := []string{grouped(t.least)}
	for steps := 1.0; steps <= 2; steps++ {
		if next := t.stepAt(steps); next <= t.most {
			values = append(values, grouped(next))
		}
	}
	f.message = "must be one of the values on the scale: " + strings.Join(values, ", ")
	if t.stepAt(3) <= t.most {
		f.message += " and so on"
	}
	return f
}

// badSize is for a file of more bytes than max, or fewer than none.
func badSize(most int64) fault {
	message := "must be at most " + bytesText(most)
	return fault{schema.CodeOutOfRange, message, map[string]any{"min": number(0), "max": number(float64(most)), "unit": "bytes"}}
}

// outOfDays is for a date. A zero day is no bound.
func outOfDays(first, last time.Time) fault {
	f := fault{code: schema.CodeOutOfRange, params: make(map[string]any)}
	if !first.IsZero() {
		f.params["min"] = first.Format(time.DateOnly)
	}
	if !last.IsZero() {
		f.params["max"] = last.Format(time.DateOnly)
	}
	const layout = "2 January 2006"
	switch {
	case first.IsZero():
		f.message = "must be on or before " + last.Format(layout)
	case last.IsZero():
		f.message = "must be on or after " + first.Format(layout)
	default:
		f.message = "must be between " + first.Format(layout) + " and " + last.Format(layout)
	}
	return f
}

// readable is the format of a number without exponent, as long as people can read
// it that way. It has no negative zero.
func readable(f float64) string {
	if abs := math.Abs(f); abs >= 1e21 || abs < 1e-15 && abs > 0 {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	return strconv.FormatFloat(f+0, 'f', -1, 64)
}

// number is a number as a parameter.
func number(f float64) json.Number { return json.Number(readable(f)) }

// grouped writes a number for people: 1,000,000.5, and 1.5 × 10^21.
func grouped(f float64) string {
	text := readable(f)
	if mantissa, power, ok := strings.Cut(text, "e"); ok {
		exponent, _ := strconv.Atoi(power) // FormatFloat wrote it
		return mantissa + " × 10^" + strconv.Itoa(exponent)
	}
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	whole, fraction, hasFraction := strings.Cut(text, ".")
	for at := len(whole) - 3; at > 0; at -= 3 {
		whole = whole[:at] + "," + whole[at:]
	}
	if hasFraction {
		fraction = "." + fraction
	}
	return sign + whole + fraction
}

// counted writes a count with its noun: 1 character, 10,000 characters.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(float64(n)) + " " + noun + "s"
}

// spelled writes a count as people do in a sentence: one, nine, 10.
func spelled(n int) string {
	words := [...]string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}
	if n >= 0 && n < len(words) {
		return words[n]
	}
	return grouped(float64(n))
}

// bytesText writes a size in the largest unit that needs no fraction.
func bytesText(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"kB", 1 << 10}} {
		if n >= unit.size && n%unit.size == 0 {
			return grouped(float64(n/unit.size)) + " " + unit.name
		}
	}
	return grouped(float64(n)) + " bytes"
}
