// Package kinds has the kinds of answers, one file for each: what its [Rule] accepts and
// stores, a sample of it, why no answer may ever be accepted, and what is the same answer.
// A new type of answers is a file here and a row in rules.
//
// Accepted and stored, by block type:
//
//   - short_text, long_text: a string, stored in NFC with line feeds for line ends and
//     without white space at its ends, then of at most maxChars characters or, where
//     that is not set, 10,000 and 100,000. short_text is one line. FF, VT, U+2028 and
//     U+2029 are line ends, in one line a space. Other control characters but tab and
//     line feed are refused, and so are bidirectional overrides and embeddings that are
//     not balanced (U+202A to U+202E); those that are balanced are dropped. Other
//     invisible characters stay.
//   - email: one address of at most 254 characters: the part before the @ as it was
//     sent, the domain mapped by the lookup profile of IDNA and stored in Unicode and
//     lower case. "Ann <ann@example.com>" and "mailto:ann@example.com" are read as their
//     address, and a full-width @ as one.
//   - phone: a number that is valid by the data of libphonenumber, stored in E.164. A
//     national number only where the block's defaultCountry says whose. A number with
//     an extension is refused, as E.164 would lose it.
//   - website: an http or https URL of at most 2,048 characters, without credentials;
//     https:// is added when the scheme is missing. Its host is a domain as in an
//     email address, stored in the same form, or an address of the public internet.
//   - number, rating, opinion_scale, nps: a JSON number, or a string that holds one.
//     The digits stay as they were sent, without trailing zeros of a fraction; an
//     exponent is written out where it is short, and a fraction is rounded to what a
//     float64 holds. What is stored is what is compared with the bounds. opinion_scale goes from 1 to 10 in
//     steps of 1 where from, to and scaleStep are not set.
//   - yes_no, legal: true or false, or the strings "true" or "false". A legal block
//     that is required, or has legalStopFurther, is REQUIRED when it is false.
//   - single_choice, dropdown, picture_choice: a choice's id, or an object with it
//     as id, stored as {"id","label"} with the label of the form. With otherOption
//     {"other": text} too, a short text; a blank one chooses nothing.
//   - multiple_choice, and picture_choice with multiSelection: an array of those, or
//     one of them, stored as an array in the order of the definition, other last.
//   - ranking: an array of all choices, each once, the order is the answer.
//   - matrix: an object of a choice for each row id, with multiSelection an array.
//     Rows may be left out unless the block is required.
//   - date: YYYY-MM-DD; with showTimePicker an RFC 3339 time, stored in whole seconds
//     with the offset that was sent. afterDate and beforeDate are the first and the last
//     day that can be chosen. They, specificDates and disabledDays are calendar days of
//     Service.TimeZone; the day of an answer with a time is the one that it is written
//     with.
//   - time: HH:MM; with showSeconds HH:MM:SS, where missing seconds are 00.
//   - country: an ISO 3166-1 alpha-2 code, or an alpha-3 one, stored as the former.
//   - address, contact_info: an object of strings of one line, at most 1,000
//     characters each; email, phone and country as above. Parts that are required must
//     be there once one is.
//   - file_upload: an array of {"id","name","url","mime_type","size"}, or one such
//     object, at most 100. signature: one such object, a picture. The name has no path,
//     the type is one of allowedFiles.
//   - payment: {"amount","currency","status","gateway","reference"}; the amount is
//     a decimal string or a number, stored as a string. Amount and currency are those
//     that the block names. currency and gateway may be left out where it does,
//     reference always. A required payment has the status "paid".
package kinds

import (
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// kind is what the answers to the blocks of one type are.
type kind struct {
	// rule makes what checks the answers of a block, whose properties are not nil.
	rule  func(b *schema.Block, from Service) Rule
	host  bool  // the answer comes from the host
	shape Shape // of a stored answer, to rules
	// identity is that of a stored answer, see identityOf. nil: answers are never compared.
	identity func(stored jsontree.Node) ([]byte, bool)
	// word: a stored answer is one word, which a condition can name although answers are
	// never compared.
	word bool
}

// kinds are the block types that take an answer.
var kinds = map[string]kind{
	schema.TypeShortText: {rule: newShortText, identity: textual(folded)},
	schema.TypeLongText:  {rule: newLongText, identity: textual(folded)},
	schema.TypeEmail:     {rule: always(emailRule{}), identity: textual(emailIdentity)},
	schema.TypeWebsite:   {rule: always(websiteRule{}), identity: textual(websiteIdentity)},
	schema.TypePhone:     {rule: newPhone, identity: textual(phoneIdentity)},
	schema.TypeCountry:   {rule: always(countryRule{}), word: true},
	schema.TypeDate:      {rule: newDate, shape: AsMoment, identity: textual(unchanged)},
	schema.TypeTime:      {rule: newTime, identity: textual(unchanged)},

	schema.TypeNumber:       {rule: newNumber, identity: numberIdentity},
	schema.TypeRating:       {rule: newRating, identity: numberIdentity},
	schema.TypeOpinionScale: {rule: newScale, identity: numberIdentity},
	schema.TypeNPS:          {rule: always(numberRule{least: 0, most: 10, whole: true}), identity: numberIdentity},

	schema.TypeYesNo: {rule: always(yesNoRule{}), word: true},
	schema.TypeLegal: {rule: newLegal, word: true},

	schema.TypeSingleChoice:   {rule: newChoice, shape: AsChoices, identity: choicesIdentity},
	schema.TypeDropdown:       {rule: newChoice, shape: AsChoices, identity: choicesIdentity},
	schema.TypeMultipleChoice: {rule: newMultiple, shape: AsChoices, identity: choicesIdentity},
	schema.TypePictureChoice:  {rule: newPictures, shape: AsChoices, identity: choicesIdentity},
	schema.TypeRanking:        {rule: newRanking, shape: AsChoices, identity: rankingIdentity},
	schema.TypeMatrix:         {rule: newMatrix, shape: AsMatrix},

	schema.TypeAddress:     {rule: newContact},
	schema.TypeContactInfo: {rule: newContact},

	schema.TypeFileUpload: {rule: newFiles, host: true},
	schema.TypeSignature:  {rule: newSignature, host: true},
	schema.TypePayment:    {rule: newPayment, host: true},
}

// always is for a type whose rule does not depend on the block.
func always(r Rule) func(*schema.Block, Service) Rule {
	return func(*schema.Block, Service) Rule { return r }
}

// New returns what checks the answers to a block, whose properties are not nil; nil when
// blocks of its type take no answer.
func New(b *schema.Block, from Service) Rule {
	if k := kinds[b.Type]; k.rule != nil {
		return k.rule(b, from)
	}
	return nil
}

// IsHost reports whether answers to blocks of a type come from the host.
func IsHost(typ string) bool { return kinds[typ].host }

// ShapeOf is how rules see the answers to blocks of a type.
func ShapeOf(typ string) Shape { return kinds[typ].shape }

// IsWord reports whether a stored answer of a type is one word, which a condition can name
// although answers are never compared.
func IsWord(typ string) bool { return kinds[typ].word }

// Identity returns what two stored values have in common exactly when they mean the
// same, from the stored type and the stored value alone: the form may have changed
// since. Values of types that are never compared have none.
//
//   - short_text, long_text: NFKC, case-folded, white space collapsed
//   - email: case-folded, with the domain in its ASCII form
//   - phone: E.164
//   - website: the host in lower case, without scheme, default port and one slash at
//     the end of the path; path and query exactly
//   - number, rating, opinion_scale, nps: the value, however its digits are written
//   - single_choice, dropdown, picture_choice, multiple_choice, ranking: the ids of the
//     choices, of other the text; the order counts in a ranking only
//   - date, time: as stored
//
// Texts are compared with each other whatever their types, so that a block that becomes
// an email block knows the addresses from before whose domains are ASCII.
func Identity(typ string, value jsontree.Node) (identity []byte, ok bool) {
	if !IsCompared(typ) {
		return nil, false
	}
	return kinds[typ].identity(value)
}

// IsCompared reports whether answers to blocks of a type are ever the same.
func IsCompared(typ string) bool { return kinds[typ].identity != nil }
