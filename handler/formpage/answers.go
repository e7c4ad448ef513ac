package formpage

import (
	"encoding/json"
	"net/url"
	"time"

	"golang.org/x/text/language"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/formdata"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
)

// ParsedAnswers holds a respondent's answers, in the format that [formsvc.SubmitParams] uses.
type ParsedAnswers struct {
	Answers map[string]json.RawMessage // By block ID. Unanswered blocks are absent.
	Hidden  map[string]string          // By name. It can contain undeclared fields, which Submit drops.
	// Unmatched lists input for blocks that are missing, hidden, or have changed their type, sorted by name.
	Unmatched []UnmatchedInput
}

// UnmatchedInput is text that a respondent entered for a block that cannot accept it.
type UnmatchedInput struct{ Block, Text string }

// ParseAnswers parses the values that a page served by [Handler] posts. A host can also use it for its own pages if
// their inputs have these names:
//
//	a.{block}           text, number, true or false, date, time, country
//	a.{block}           legal: true or false; the inputs of [Handler] append a digest of the text
//	a.{block}           choices: "id:" and the choice's ID, or "other"; repeat for several choices
//	o.{block}           the text of "other"; without a.{block}, it also selects "other"
//	r.{row}.{block}     matrix: like choices
//	k.{choice}.{block}  ranking: the choice's position, starting at 1
//	p.{part}.{block}    address, contact_info: a part, such as firstName
//	y. m. d.{block}     a date in three inputs
//	t. z.{block}        a date's time and its UTC offset ("+02:00"; defaults to UTC; "none" if the time
//	                    does not exist in the respondent's time zone)
//	c.{input}           the country of an input's phone number, such as "FR" in c.a.{block} or
//	                    c.p.phone.{block}; defaults to the block's defaultCountry
//	h.{name}            a hidden field
//	lang                the number format's language and region, as a tag: "1,500" is 1.5 in "de" and "es-ES",
//	                    1500 in "en", "es-MX" and "de-CH"
//
// Rows, choices and parts are escaped as in a query, with dots as %2E. Text that a block does not accept is returned
// unchanged, so that Submit reports the violation. ParseAnswers never returns answers to file_upload, signature and
// payment blocks, because only the host can provide them.
func ParseAnswers(form formsvc.PublicForm, values url.Values) ParsedAnswers {
	comma := words.HasDecimalComma(language.Make(values.Get(input.Language)))
	parsed, _ := formdata.ParseAnswers(form.Blocks, values, formdata.Options{Comma: comma, Zone: time.UTC})
	given := ParsedAnswers{Answers: parsed.Answers, Hidden: parsed.Hidden}
	for _, u := range parsed.Unmatched {
		given.Unmatched = append(given.Unmatched, UnmatchedInput(u))
	}
	return given
}
