package schema

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Sample returns made-up answers to all blocks and hidden fields, for a test
// event. They keep the form's rules and are the same at every call; a block whose
// rules no sample keeps is left out. Unique is nil.
func (f *Form) Sample() Answers {
	var found violations // of samples that are left out
	w := f.newWriter(AnswerInput{})
	r := report{found: &found}
	for i := range f.blocks {
		if b := &f.blocks[i]; b.rule != nil {
			w.answer(b, json.RawMessage(b.rule.sample()), &r)
		}
	}
	for i := range f.hidden {
		w.hiddenField(&f.hidden[i], "sample", &found)
	}
	return w.answers()
}

func quoted(s string) string { return string(appendQuoted(nil, s)) }

func (t textRule) sample() string {
	const text = "Sample answer"
	return quoted(text[:min(len(text), t.max)])
}

func (t givenRule) sample() string { return quoted(t.example) }

func (emailRule) sample() string { return `"ada@example.com"` }

func (websiteRule) sample() string { return `"https://example.com/"` }

func (t numberRule) sample() string {
	switch {
	case !math.IsInf(t.least, -1) && t.most >= t.least:
		// The middle of a scale, the least of what has no end.
		num := t.least
		if t.step > 0 {
			num += math.Floor((t.most-t.least)/t.step/2) * t.step
		} else if t.whole {
			num = math.Ceil((t.least + t.most) / 2)
		}
		return formatFloat(num)
	case t.most < 42:
		return formatFloat(t.most)
	default:
		return "42"
	}
}

func (yesNoRule) sample() string { return "true" }

func (legalRule) sample() string { return "true" }

// first returns the ids of the first n choices as an array.
func (c *choices) first(n int) string {
	list := []byte{'['}
	for _, id := range c.ids[:min(n, len(c.ids))] {
		list = appendQuoted(separate(list), id)
	}
	return string(append(list, ']'))
}

func (t choiceRule) sample() string {
	if len(t.ids) > 0 {
		return quoted(t.ids[0])
	}
	if t.other {
		return `{"other":"Sample answer"}`
	}
	return "null"
}

func (t multipleRule) sample() string {
	count := int(min(math.Ceil(max(t.least, 1)), float64(len(t.ids))))
	return t.first(count)
}

func (t rankingRule) sample() string { return t.first(len(t.ids)) }

func (t matrixRule) sample() string {
	if len(t.columns.ids) == 0 {
		return "null"
	}
	object := []byte{'{'}
	for _, row := range t.rows.ids {
		object = append(appendQuoted(separate(object), row), ':')
		object = appendQuoted(object, t.columns.ids[0])
	}
	return string(append(object, '}'))
}

// sample tries the dates that the form names, then a week.
func (t dateRule) sample() string {
	var tries []string
	for date := range t.only {
		if t.clock {
			date += "T10:30:00Z"
		}
		tries = append(tries, date)
	}
	slices.Sort(tries)
	for days := range 7 {
		tries = append(tries, t.show(t.example.AddDate(0, 0, days)))
	}
	for _, try := range tries {
		var found violations
		n := node{kind: kindString, text: try}
		if t.check(nil, &n, &report{found: &found}); found.err() == nil {
			return quoted(try)
		}
	}
	return "null"
}

func (t timeRule) sample() string { return `"10:30"` }

func (t contactRule) sample() string {
	object := []byte{'{'}
	for _, p := range t.parts {
		if !p.hide {
			object = append(appendQuoted(separate(object), p.name), ':')
			object = appendQuoted(object, p.example)
		}
	}
	return string(append(object, '}'))
}

// sample names a file that the block allows.
func (t fileRule) sample() string {
	name, mediaType := "sample.pdf", "application/pdf"
	if len(t.allowed) > 0 && !t.allows(name, mediaType) {
		switch first := t.allowed[0]; {
		case strings.HasPrefix(first, "."):
			name, mediaType = "sample"+first, "application/octet-stream"
		default:
			name, mediaType = "sample", strings.Replace(first, "/*", "/sample", 1)
		}
	}
	size := int64(1024)
	if t.max > 0 {
		size = min(size, t.max)
	}
	return `{"id":"sample","name":` + quoted(name) + `,"url":"https://example.com/sample","mime_type":` +
		quoted(mediaType) + `,"size":` + strconv.FormatInt(size, 10) + `}`
}

func (t filesRule) sample() string { return t.file.sample() }

func (t paymentRule) sample() string {
	payment := paymentRule{amount: "10.00", currency: "EUR", gateway: "sample"}
	if isDecimal(t.amount) {
		payment.amount = t.amount
	}
	if isCurrency(strings.ToUpper(t.currency)) {
		payment.currency = t.currency
	}
	if t.gateway != "" {
		payment.gateway = t.gateway
	}
	return `{"amount":` + quoted(payment.amount) + `,"currency":` + quoted(payment.currency) +
		`,"status":"paid","gateway":` + quoted(payment.gateway) + `,"reference":"sample"}`
}
