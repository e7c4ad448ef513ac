// Package input defines the names of a page's inputs.
package input

import (
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
)

// The prefixes of input names. A name ends with the block ID, because block IDs can contain any character.
const (
	Answer         = "a." // The answer. For a choice, the value is ChoicePrefix and the ID, or OtherChoice.
	Other          = "o." // The respondent's own text in addition to the choices.
	Row            = "r." // Followed by a row's ID: a row in a matrix.
	Rank           = "k." // Followed by a choice's ID: its position in a ranking, starting at 1.
	Part           = "p." // Followed by a part's name: a part of an address or contact.
	Day            = "d." // The day, if a date has three inputs.
	Month          = "m."
	Year           = "y."
	Time           = "t." // The time that belongs to a date.
	Zone           = "z." // The browser's UTC offset at that time.
	CallingCountry = "c." // Followed by the name of a phone input: the number's country.
	Upload         = "u." // A file to upload.
	File           = "f." // The signed record of a stored file.
	Remove         = "x." // The ID of a stored file to remove.
	Search         = "q." // The text that a list of choices is searched for.
	Searched       = "s." // The text that the page has shown results for.
	Hidden         = "h." // Followed by a hidden field's name.
	UTM            = "utm_"
)

// The names of the page's own inputs.
const (
	State               = "state"     // Signed: the form, the opening time and the idempotency key.
	At                  = "at"        // The form page that was submitted.
	Previous            = "after"     // The form page before it.
	Action              = "go"        // A button's action, see the Action constants.
	Language            = "lang"      // The language and region for number formats.
	InterpretationShown = "shown"     // An input, and the interpretation that the page has shown for it.
	Seen                = "seen"      // The blocks on the page.
	LostShown           = "lost"      // Whether unmatched answers were shown.
	Viewed              = "viewed"    // Whether the view was counted.
	Started             = "started"   // Whether the start was counted.
	Seconds             = "took"      // Seconds since the first input, measured by the browser.
	Honeypot            = "more_info" // Invisible to people, so only bots fill it in.
	Embed               = "embed"     // Whether the page is shown in a frame.
	Ending              = "ending"    // The ending, in a preview's URL.
	Sent                = "sent"      // Signed, in an ending's URL: the submission was stored.
	Proof               = "proof"     // Signed: this visit has solved the captcha.
	Partial             = "half"      // Signed: the partial submission that was saved, see pagestate.PartialState.
	Clear               = "clear"     // The value of a clear button: the input whose selection it clears.
	SignIn              = "sign-in"   // Whether a page's URL leads to the host's sign-in page.
	Link                = "link"      // The token in a link to a partial submission.
)

// NoSuchTime is the value of Zone for times skipped by a change to daylight saving time.
const NoSuchTime = "none"

// Button actions. Without an action, the next page opens.
const (
	ActionBack   = "back"
	ActionStay   = "stay"   // Update the page for the answers and show it again.
	ActionSubmit = "submit" // Submit an edit before the last page.
	ActionUpload = "upload" // Store the selected files and show the page again.

	ActionSave     = "save"   // Save the partial submission and show the page again.
	ActionShowLink = "later"  // Save the partial submission and show a link to it.
	ActionDelete   = "forget" // Delete the partial submission.
	ActionResume   = "resume" // Resume the partial submission from a link.
)

// The ID in a posted choice has a prefix, so that it never equals OtherChoice.
const (
	ChoicePrefix = "id:"
	OtherChoice  = "other"
)

// digestLength is the length of the digest in a value of [Consent].
const digestLength = 22

// Consent returns the value of a legal block's input, for an answer to a text. It contains a digest, so that a posted
// page shows which text the respondent has seen. An owner cannot find two texts with the same digest.
func Consent(answer, text string) string {
	sum := sha256.Sum256([]byte(text))
	return answer + "." + base64.RawURLEncoding.EncodeToString(sum[:16])
}

// CutConsent returns the answer in a value of [Consent], and whether the value can be one.
func CutConsent(value string) (answer string, ok bool) {
	answer, digest, _ := strings.Cut(value, ".")
	if len(digest) != digestLength || answer != "true" && answer != "false" {
		return value, false
	}
	return answer, true
}

var answerPrefixes = []string{Answer, Other, Row, Rank, Part, Day, Month, Year, Time, Zone, CallingCountry, File}

// SubName returns the name of an input for one of a block's rows, choices or parts.
func SubName(prefix, sub, id string) string {
	return prefix + strings.ReplaceAll(url.QueryEscape(sub), ".", "%2E") + "." + id
}

// BlockID returns the ID of the block that an input belongs to, or "" if there is none.
func BlockID(name string) string {
	prefix, id, _ := strings.Cut(name, ".")
	switch prefix += "."; {
	case !slices.Contains(answerPrefixes, prefix):
		return ""
	case prefix == CallingCountry:
		return BlockID(id)
	case prefix == Row || prefix == Rank || prefix == Part:
		_, id, _ = strings.Cut(id, ".")
	}
	return id
}

// IsAnswer reports whether an input belongs to a block.
func IsAnswer(name string) bool {
	return slices.ContainsFunc(answerPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
