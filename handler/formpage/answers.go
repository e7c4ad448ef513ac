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

// ParsedAnswers contains the answers of a respondent, as in [formsvc.SubmitParams].
type ParsedAnswers struct {
	Answers map[string]json.RawMessage // By block ID. Unanswered blocks are absent.
	Hidden  map[string]string          // By name, including undeclared fields, which Submit drops.
	// Unmatched is input for blocks that are missing, hidden, or of another type than before, sorted by name.
	Unmatched []UnmatchedInput
}

// UnmatchedInput is text that a respondent entered for a block that does not accept it.
type UnmatchedInput struct{ Block, Text string }

// ParseAnswers parses the values that a page of [Handler] posts. A host can also use it for its own pages if their
// inputs have these names:
//
//	a.{block}           text, number, true or false, date, time, country
//	a.{block}           choices: "id:" and the choice's ID, or "other"; repeated for several choices
//	o.{block}           the text of "other"; without a.{block}, it also selects "other"
//	r.{row}.{block}     matrix: like choices
//	k.{choice}.{block}  ranking: the position of the choice, from 1
//	p.{part}.{block}    address, contact_info: a part, such as firstName
//	y. m. d.{block}     a date in three inputs
//	t. z.{block}        the time of a date and its UTC offset ("+02:00"; defaults to UTC; "none" if the
//	                    respondent's clock skips this time)
//	c.{input}           the country of the phone number in an input, such as "FR" in c.a.{block} or
//	                    c.p.phone.{block}; defaults to the block's defaultCountry
//	h.{name}            a hidden field
//	lang                the language and region of numbers, as a tag: "1,500" is 1.5 in "de" and "es-ES",
//	                    1500 in "en", "es-MX" and "de-CH"
//
// Rows, choices and parts are escaped as in a query, with dots as %2E. Text that a block does not accept is returned
// unchanged, so that Submit reports the violation. ParseAnswers never returns answers to file_upload, signature and
// payment, because only the host can give them.
func ParseAnswers(form formsvc.PublicForm, values url.Values) ParsedAnswers {
	comma := words.HasDecimalComma(language.Make(values.Get(input.Language)))
	parsed, _ := formdata.ParseAnswers(form.Blocks, values, formdata.Options{Comma: comma, Zone: time.UTC})
	given := ParsedAnswers{Answers: parsed.Answers, Hidden: parsed.Hidden}
	for _, u := range parsed.Unmatched {
		given.Unmatched = append(given.Unmatched, UnmatchedInput(u))
	}
	return given
}
