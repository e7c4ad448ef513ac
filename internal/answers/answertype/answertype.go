// Package answertype implements the rules for each kind of answer, one file per kind. A [Rule] validates and
// normalizes an answer, creates a sample, finds properties that allow no answer, and compares answers. Package schema
// documents which answers each block type accepts and stores, and contains the table of block types.
//
// To add a kind of answer, add a file and an entry in newRules.
package answertype

import (
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

var newRules = map[string]func(b *schema.Block, from ServiceConfig) Rule{
	schema.TypeShortText: newText,
	schema.TypeLongText:  newText,
	schema.TypeEmail:     fixedRule(emailRule),
	schema.TypeWebsite:   fixedRule(websiteRule),
	schema.TypePhone:     newPhone,
	schema.TypeCountry:   fixedRule(countryRule),
	schema.TypeDate:      newDate,
	schema.TypeTime:      newTime,

	schema.TypeNumber:       newNumber,
	schema.TypeRating:       newScale,
	schema.TypeOpinionScale: newScale,
	schema.TypeNPS:          newScale,

	schema.TypeYesNo: newBoolean,
	schema.TypeLegal: newBoolean,

	schema.TypeSingleChoice:   newChoice,
	schema.TypeDropdown:       newChoice,
	schema.TypeMultipleChoice: newMultiple,
	schema.TypePictureChoice:  newPictures,
	schema.TypeRanking:        newRanking,
	schema.TypeMatrix:         newMatrix,

	schema.TypeAddress:     newContact,
	schema.TypeContactInfo: newContact,

	schema.TypeFileUpload: newFiles,
	schema.TypeSignature:  newSignature,
	schema.TypePayment:    newPayment,
}

func fixedRule(r Rule) func(*schema.Block, ServiceConfig) Rule {
	return func(*schema.Block, ServiceConfig) Rule { return r }
}

// NewRule returns the rule for a block's answers, or nil if the block type takes no answer. b.Properties must not be
// nil.
func NewRule(b *schema.Block, from ServiceConfig) Rule {
	if rule := newRules[b.Type]; rule != nil {
		return fromList(b, rule(b, from))
	}
	return nil
}

var identities = map[schema.Comparison]func(stored jsontree.Node) ([]byte, bool){
	schema.CompareText:    textIdentity(foldText),
	schema.CompareEmail:   textIdentity(emailIdentity),
	schema.ComparePhone:   textIdentity(phoneIdentity),
	schema.CompareWebsite: textIdentity(websiteIdentity),
	schema.CompareNumber:  numberIdentity,
	schema.CompareChoices: selectionIdentity(false),
	schema.CompareRanking: selectionIdentity(true),
	schema.CompareStored:  textIdentity(unchanged),
}

// Identity returns bytes that are the same for two stored values if and only if the values are equivalent. It uses only
// the stored type and value, because the form may have changed. ok is false if values of the type cannot be compared.
//
// The bytes do not include the type, so if a short_text block becomes an email block, old ASCII email addresses still
// match new ones.
func Identity(typ string, stored jsontree.Node) (identity []byte, ok bool) {
	k, _ := schema.LookupBlockType(typ)
	if of := identities[k.Comparison]; of != nil {
		return of(stored)
	}
	return nil, false
}
