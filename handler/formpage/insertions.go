package formpage

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/internal/insertion"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// insertions has the values that the texts of a page insert. The zero value has none.
type insertions struct {
	byName    map[string]string
	answers   map[string]schema.Answer // by source and ID
	variables map[string]any           // the initial values
	hidden    []string
}

// insertedValue returns the value of an insertion by its name, or "".
func (c *call) insertedValue(name string) string {
	value, known := c.insertions.byName[name]
	if known {
		return value
	}
	if c.insertions.byName == nil {
		c.readInsertions()
	}
	if r, ok := insertion.Resolve(name, c.canInsert); ok {
		c.Inserted = append(c.Inserted, r)
		// A long answer can be inserted many times, so it is shortened once.
		value = schema.ParseText("{{today}}", schema.Insertions).Insert(func(string) string { return c.formatInsertion(r) })
	}
	c.insertions.byName[name] = value
	return value
}

// readInsertions decodes the values of the form and its answers.
func (c *call) readInsertions() {
	in := insertions{byName: map[string]string{}, answers: map[string]schema.Answer{}}
	_ = json.Unmarshal(c.Form.Definition.Variables, &in.variables) // the service has compiled both
	_ = json.Unmarshal(c.Form.Definition.HiddenFields, &in.hidden)
	raw := c.Path.Answers
	if !c.shown.IsZero() {
		submission, err := c.h.service.AsHost().Submission(c.r.Context(), c.Form.ID, c.shown)
		if err != nil && !errors.Is(err, storage.ErrNotFound) { // deleted
			c.h.config.Logger.ErrorContext(c.r.Context(), "failed to read submission for ending", "form", c.Form.ID, "error", err)
		}
		raw = submission.Answers
	}
	answers, _ := schema.DecodeAnswers(raw)
	for _, a := range answers {
		source := insertion.Answers
		switch a.Type {
		case schema.TypeHidden:
			source = insertion.Hidden
		case schema.TypeVariable:
			source = insertion.Variables
		}
		in.answers[source+"."+a.ID] = a
	}
	c.insertions = in
}

// canInsert reports whether the form has the source of an insertion, see [insertion.Resolve].
func (c *call) canInsert(source, id string) bool {
	switch source {
	case insertion.Variables:
		_, ok := c.insertions.variables[id]
		return ok
	case insertion.Hidden:
		return slices.Contains(c.insertions.hidden, id)
	}
	return c.Index.Find(id) != nil
}

// formatInsertion formats a value for the respondent.
func (c *call) formatInsertion(r insertion.Reference) string {
	answer, answered := c.insertions.answers[r.Source+"."+r.ID]
	switch {
	case r.Source == insertion.Today:
		return c.Words.FormatDate(c.now.In(c.h.config.Location).Format(time.DateOnly))
	case !answered && r.Source == insertion.Variables:
		if number, ok := c.insertions.variables[r.ID].(float64); ok {
			return c.Words.Decimal(number, r.Decimals)
		}
		text, _ := c.insertions.variables[r.ID].(string)
		return text
	case !answered, r.Source == insertion.Answers && c.isHidden(r.ID):
		return ""
	}
	contact, ok := answer.Value.(schema.Contact)
	switch {
	case ok:
		return c.formatContact(contact, r.Part)
	case r.Part != "":
		return ""
	}
	if text, ok := c.selectedLabel(r.ID); ok && r.Source == insertion.Answers {
		return text
	}
	return c.formatAnswer(answer, r.Decimals)
}

func (c *call) formatAnswer(answer schema.Answer, decimals int) string {
	switch v := answer.Value.(type) {
	case schema.String:
		if answer.Type == schema.TypeCountry {
			return c.Words.CountryName(string(v))
		}
		return string(v)
	case schema.Number:
		return c.Words.Decimal(float64(v), decimals)
	case schema.Bool:
		words := map[string][2]string{schema.TypeYesNo: {"no", "yes"}, schema.TypeLegal: {"legal.refuse", "legal.accept"}}[answer.Type]
		if v {
			return c.Words.Get(words[1])
		}
		return c.Words.Get(words[0])
	case schema.Date:
		text := c.Words.FormatDate(v.Time.Format(time.DateOnly))
		if v.HasTime {
			text += v.Time.Format(" 15:04")
		}
		return text
	case schema.Picks:
		labels := make([]string, len(v))
		for i, pick := range v {
			labels[i] = pick.String()
		}
		return c.Words.JoinList(labels)
	}
	return ""
}

func (c *call) formatContact(v schema.Contact, part string) string {
	if v.Country != "" {
		v.Country = c.Words.CountryName(v.Country)
	}
	var list []string
	for _, p := range v.Parts() {
		if p.Text != "" && (part == "" || part == p.Name) {
			list = append(list, p.Text)
		}
	}
	return c.Words.JoinList(list)
}

func (c *call) isHidden(id string) bool {
	for b, hidden := range formblock.Walk(c.Form.Blocks) {
		if b.ID == id {
			return hidden
		}
	}
	return true
}
