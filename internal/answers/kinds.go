package answers

import (
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// kind is what the answers to the blocks of one type are.
type kind struct {
	// rule makes what checks the answers of a block, whose properties are not nil.
	rule  func(b *schema.Block, from service) rule
	host  bool  // the answer comes from the host
	shape shape // of a stored answer, to rules
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
	schema.TypeDate:      {rule: newDate, shape: asMoment, identity: textual(unchanged)},
	schema.TypeTime:      {rule: newTime, identity: textual(unchanged)},

	schema.TypeNumber:       {rule: newNumber, identity: numberIdentity},
	schema.TypeRating:       {rule: newRating, identity: numberIdentity},
	schema.TypeOpinionScale: {rule: newScale, identity: numberIdentity},
	schema.TypeNPS:          {rule: always(numberRule{least: 0, most: 10, whole: true}), identity: numberIdentity},

	schema.TypeYesNo: {rule: always(yesNoRule{}), word: true},
	schema.TypeLegal: {rule: newLegal, word: true},

	schema.TypeSingleChoice:   {rule: newChoice, shape: asChoices, identity: choicesIdentity},
	schema.TypeDropdown:       {rule: newChoice, shape: asChoices, identity: choicesIdentity},
	schema.TypeMultipleChoice: {rule: newMultiple, shape: asChoices, identity: choicesIdentity},
	schema.TypePictureChoice:  {rule: newPictures, shape: asChoices, identity: choicesIdentity},
	schema.TypeRanking:        {rule: newRanking, shape: asChoices, identity: rankingIdentity},
	schema.TypeMatrix:         {rule: newMatrix, shape: asMatrix},

	schema.TypeAddress:     {rule: newContact},
	schema.TypeContactInfo: {rule: newContact},

	schema.TypeFileUpload: {rule: newFiles, host: true},
	schema.TypeSignature:  {rule: newSignature, host: true},
	schema.TypePayment:    {rule: newPayment, host: true},
}

// always is for a type whose rule does not depend on the block.
func always(r rule) func(*schema.Block, service) rule {
	return func(*schema.Block, service) rule { return r }
}

// newRule returns what checks the answers to a block, whose properties are not nil; nil when
// blocks of its type take no answer.
func newRule(b *schema.Block, from service) rule {
	if k := kinds[b.Type]; k.rule != nil {
		return k.rule(b, from)
	}
	return nil
}
