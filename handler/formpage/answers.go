package formpage

import (
	"encoding/json"
	"net/url"
	"time"

	"golang.org/x/text/language"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/read"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
)

// ParsedAnswers contains the answers of a respondent, as [formsvc.SubmitParams] contains them.
type ParsedAnswers struct {
	// Answers are the answers by block ID, in the format of Submit. Unanswered blocks are absent.
	Answers map[string]json.RawMessage
	// Hidden are the hidden fields by name, declared or not. Submit drops undeclared fields.
	Hidden map[string]string
	// Unmatched is the input for blocks that the form no longer contains, hides, or has with another type of answer,
	// sorted by name. No answer contains it.
	Unmatched []UnmatchedInput
}

// UnmatchedInput is text that a respondent typed for a block that cannot take it.
type UnmatchedInput struct{ Block, Text string }

// ParseAnswers reads the values that a form of [Handler] posts, by the names of its inputs.
// A host with a page of its own that names its inputs in the same way uses it too:
//
//	a.{block}           text, number, true or false, date, time, country
//	a.{block}           choices: "id:" and the choice's id, or "other", any number of times
//	o.{block}           the text of "other"; alone it means that "other" was chosen
//	r.{row}.{block}     matrix: as a choice
//	k.{choice}.{block}  ranking: the place of the choice, from 1
//	p.{part}.{block}    address, contact_info: one part, such as firstName
//	y. m. d.{block}     a date in three inputs
//	t. z.{block}        the time of a date, and its offset ("+02:00"; absent: UTC; "none" if
//	                    the respondent's clocks skip that time)
//	c.{input}           the country of the phone number in an input, such as "FR" in
//	                    c.a.{block} or c.p.phone.{block}; absent: the block's defaultCountry
//	h.{name}            a hidden field
//	lang                the language and region that numbers are written in, as a tag:
//	                    "1,500" is 1.5 in "de" and "es-ES", 1500 in "en", "es-MX" and "de-CH"
//
// Row, choice and part are escaped as in a query, and their dots are %2E. Text that a
// block does not take is passed on as it is, so that Submit names the fault. Answers of
// file_upload, signature and payment are the host's and never made here.
func ParseAnswers(form formsvc.PublicForm, values url.Values) ParsedAnswers {
	comma := words.HasDecimalComma(language.Make(values.Get(input.Language)))
	read, _ := read.ParseAnswers(form.Blocks, values, read.Options{Comma: comma, Zone: time.UTC})
	given := ParsedAnswers{Answers: read.Answers, Hidden: read.Hidden}
	for _, u := range read.Unmatched {
		given.Unmatched = append(given.Unmatched, UnmatchedInput(u))
	}
	return given
}
