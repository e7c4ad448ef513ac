// Package kinds has the kinds of answers, one file for each: what its [Rule] accepts and
// stores, a sample of it, why no answer may ever be accepted, and what is the same answer.
// A new type of answers is a file here and a row in rules.
//
// The documentation of package schema says what is accepted and stored, by block type, and
// when two answers are the same.
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
// Package schema says what that is for each type.
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
