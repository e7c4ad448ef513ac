// Package input defines the names of a page's inputs.
package input

import (
	"net/url"
	"slices"
	"strings"
)

// The names of the inputs. Block ids are chosen by callers and may hold anything, so
// they stand last, after a prefix that says what the input is for.
const (
	Answer         = "a." // the answer; of a choice: Picked and the choice's id, or OtherChoice
	Other          = "o." // the respondent's own text beside the choices
	Row            = "r." // + row: a row of a matrix
	Rank           = "k." // + choice: its place in a ranking, from 1
	Part           = "p." // + part: a part of an address or contact
	Day            = "d." // a date in three inputs
	Month          = "m."
	Year           = "y."
	Time           = "t." // the time of a date
	Zone           = "z." // the offset of that time, as the browser knows it
	CallingCountry = "c." // + name of an input with a phone number: the country of the number
	Upload         = "u." // a file that is being sent
	File           = "f." // a file that was stored: its record, signed
	Remove         = "x." // a stored file that is to go: its id
	Hidden         = "h." // a hidden field, followed by its name
	UTM            = "utm_"
)

// The page's own inputs.
const (
	State        = "state"     // signed: form, time of opening, idempotency key
	At           = "at"        // which page of the form was sent
	Action       = "go"        // the action of a button: see the Go constants
	Language     = "lang"      // the language and region that numbers are written in
	ReadingShown = "shown"     // an input and how its text is read, which the page said
	Seen         = "seen"      // blocks that were on the page
	LostShown    = "lost"      // answers without a place were shown
	Viewed       = "viewed"    // the view was counted
	Started      = "started"   // the start was counted
	Seconds      = "took"      // seconds since the first input, as the browser counts
	Honeypot     = "more_info" // nobody sees it; who fills it in is a program
	Embed        = "embed"     // the page is shown in a frame
	Ending       = "ending"    // of the address of a preview's ending: its block
	Sent         = "sent"      // of an ending's address: signed, a response is stored
	Proof        = "proof"     // signed: this visit solved its captcha
	Partial      = "half"      // signed: the half response that the page saves, see visit.Half
	Clear        = "clear"     // of a button: the input whose choice it takes back
	Link         = "link"      // of the page that a link to a half response leads to: its token
)

// NoSuchTime is the value of Zone for a time that the respondent's clocks skip.
const NoSuchTime = "none"

// What the button that was pressed asks for; "next", or none, is the next page.
const (
	ActionBack   = "back"
	ActionStay   = "stay"   // the same page, with the blocks that the answers call for
	ActionUpload = "upload" // store the files that were chosen and stay

	ActionSave     = "save"   // save the half response and stay
	ActionShowLink = "later"  // the same, and show the link to it
	ActionDelete   = "forget" // remove it
	ActionResume   = "resume" // go on with the one that a link leads to
)

// A choice is posted with a prefix, so that no id can be mistaken for OtherChoice.
const (
	ChoicePrefix = "id:"
	OtherChoice  = "other"
)

// answerPrefixes are the prefixes of inputs that belong to a block.
var answerPrefixes = []string{Answer, Other, Row, Rank, Part, Day, Month, Year, Time, Zone, CallingCountry, File}

// SubName names an input for one row, choice or part of a block.
func SubName(prefix, sub, id string) string {
	return prefix + strings.ReplaceAll(url.QueryEscape(sub), ".", "%2E") + "." + id
}

// Block returns the block that an input belongs to, "" when it belongs to none.
func Block(name string) string {
	prefix, id, _ := strings.Cut(name, ".")
	switch prefix += "."; {
	case !slices.Contains(answerPrefixes, prefix):
		return ""
	case prefix == CallingCountry:
		return Block(id)
	case prefix == Row || prefix == Rank || prefix == Part:
		_, id, _ = strings.Cut(id, ".")
	}
	return id
}

// IsAnswer reports whether an input of this name belongs to a block.
func IsAnswer(name string) bool {
	return slices.ContainsFunc(answerPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
