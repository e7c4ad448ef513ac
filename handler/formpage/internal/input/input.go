// Package input defines the names of a page's inputs.
package input

import (
	"net/url"
	"slices"
	"strings"
)

// These are the names of the inputs. A name ends with the block ID, because block IDs can contain any characters.
const (
	Answer         = "a." // The answer. For a choice, the value is ChoicePrefix and the ID, or OtherChoice.
	Other          = "o." // The respondent's own text in addition to the choices.
	Row            = "r." // Followed by the ID of a row: a row of a matrix.
	Rank           = "k." // Followed by the ID of a choice: its position in a ranking, from 1.
	Part           = "p." // Followed by the name of a part: a part of an address or contact.
	Day            = "d." // The day of a date in three inputs.
	Month          = "m."
	Year           = "y."
	Time           = "t." // The time of a date.
	Zone           = "z." // The UTC offset of that time from the browser.
	CallingCountry = "c." // Followed by the name of a phone input: the country of the number.
	Upload         = "u." // A file to upload.
	File           = "f." // The signed record of a stored file.
	Remove         = "x." // The ID of a stored file to remove.
	Hidden         = "h." // Followed by the name of a hidden field.
	UTM            = "utm_"
)

// These are the names of the page's own inputs.
const (
	State               = "state"     // Signed: the form, the opening time and the idempotency key.
	At                  = "at"        // The submitted page of the form.
	Action              = "go"        // The action of a button, see the Action constants.
	Language            = "lang"      // The language and region of number formats.
	InterpretationShown = "shown"     // An input and the interpretation that the page has shown.
	Seen                = "seen"      // The blocks on the page.
	LostShown           = "lost"      // Whether unmatched answers were shown.
	Viewed              = "viewed"    // Whether the view was counted.
	Started             = "started"   // Whether the start was counted.
	Seconds             = "took"      // The seconds since the first input, measured by the browser.
	Honeypot            = "more_info" // Invisible to people, so only programs fill it in.
	Embed               = "embed"     // Whether the page is shown in a frame.
	Ending              = "ending"    // The ending in the URL of a preview.
	Sent                = "sent"      // Signed, in the URL of an ending: the submission is stored.
	Proof               = "proof"     // Signed: this visit has solved the captcha.
	Partial             = "half"      // Signed: the saved partial submission, see pagestate.PartialState.
	Clear               = "clear"     // The value of a button: the input whose choice it clears.
	Link                = "link"      // The token of a link to a partial submission.
)

// NoSuchTime is the value of Zone for a time that a change to daylight saving time skips.
const NoSuchTime = "none"

// These are the actions of buttons. The default action opens the next page.
const (
	ActionBack   = "back"
	ActionStay   = "stay"   // Show the same page, updated for the answers.
	ActionUpload = "upload" // Store the selected files and show the same page.

	ActionSave     = "save"   // Save the partial submission and show the same page.
	ActionShowLink = "later"  // Save the partial submission and show a link to it.
	ActionDelete   = "forget" // Delete the partial submission.
	ActionResume   = "resume" // Resume the partial submission of a link.
)

// A posted choice has a prefix, so that its ID never equals OtherChoice.
const (
	ChoicePrefix = "id:"
	OtherChoice  = "other"
)

var answerPrefixes = []string{Answer, Other, Row, Rank, Part, Day, Month, Year, Time, Zone, CallingCountry, File}

// SubName returns the name of an input for a row, choice or part of a block.
func SubName(prefix, sub, id string) string {
	return prefix + strings.ReplaceAll(url.QueryEscape(sub), ".", "%2E") + "." + id
}

// Block returns the ID of the block that an input belongs to, or "".
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

// IsAnswer reports whether an input belongs to a block.
func IsAnswer(name string) bool {
	return slices.ContainsFunc(answerPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
