package formpage

import (
	"net/url"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/schema"
)

// The names of the inputs. Block ids are chosen by callers and may hold anything, so
// they stand last, after a prefix that says what the input is for.
const (
	nameAnswer = "a." // the answer; of a choice: pickedPrefix and the choice's id, or pickedOther
	nameOther  = "o." // the respondent's own text beside the choices
	nameRow    = "r." // + row: a row of a matrix
	nameRank   = "k." // + choice: its place in a ranking, from 1
	namePart   = "p." // + part: a part of an address or contact
	nameDay    = "d." // a date in three inputs
	nameMonth  = "m."
	nameYear   = "y."
	nameTime   = "t." // the time of a date
	nameZone   = "z." // the offset of that time, as the browser knows it
	nameWhose  = "c." // + name of an input with a phone number: the country of the number
	nameUpload = "u." // a file that is being sent
	nameFile   = "f." // a file that was stored: its record, signed
	nameRemove = "x." // a stored file that is to go: its id
	nameHidden = "h." // a hidden field, followed by its name
	nameUTM    = "utm_"
)

// The page's own inputs.
const (
	ctrlState    = "state"     // signed: form, time of opening, idempotency key
	ctrlAt       = "at"        // which page of the form was sent
	ctrlGo       = "go"        // what is to be done: see the go constants
	ctrlLanguage = "lang"      // the language and region that numbers are written in
	ctrlShown    = "shown"     // an input and how its text is read, which the page said
	ctrlSeen     = "seen"      // blocks that were on the page
	ctrlLost     = "lost"      // answers without a place were shown
	ctrlViewed   = "viewed"    // the view was counted
	ctrlStarted  = "started"   // the start was counted
	ctrlTook     = "took"      // seconds since the first input, as the browser counts
	ctrlTrap     = "more_info" // nobody sees it; who fills it in is a program
	ctrlEmbed    = "embed"     // the page is shown in a frame
	ctrlEnding   = "ending"    // of the address of a preview's ending: its block
	ctrlSent     = "sent"      // of an ending's address: signed, a response is stored
)

// What the button that was pressed asks for.
const (
	goNext   = "next"
	goBack   = "back"
	goStay   = "stay"   // the same page, with the blocks that the answers call for
	goUpload = "upload" // store the files that were chosen and stay
)

// A choice is posted with a prefix, so that no id can be mistaken for pickedOther.
const (
	pickedPrefix = "id:"
	pickedOther  = "other"
)

// answerPrefixes are those of inputs that belong to a block.
var answerPrefixes = []string{
	nameAnswer, nameOther, nameRow, nameRank, namePart, nameDay, nameMonth, nameYear, nameTime, nameZone, nameWhose, nameFile,
}

// subName names an input for one row, choice or part of a block.
func subName(prefix, sub, id string) string {
	return prefix + strings.ReplaceAll(url.QueryEscape(sub), ".", "%2E") + "." + id
}

// isAnswer reports whether an input's name is one of a block.
func isAnswer(name string) bool {
	return slices.ContainsFunc(answerPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// takesAnswer reports whether a respondent answers blocks of a type.
func takesAnswer(kind string) bool { return (&schema.Block{Type: kind}).TakesAnswer() }
