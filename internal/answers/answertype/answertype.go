// Package answertype contains the rules for each kind of answer, with one file per kind. A [Rule] validates
// and normalizes an answer, creates a sample, finds properties that allow no answer, and compares
// answers. Package schema documents which answers each block type accepts and stores, and
// contains the table of block types.
//
// To add a kind of answer, add a file here and a row in rules.
package answertype

import (
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// newRules make what checks the answers of a block, by its type. The block has properties.
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

// always is for a type whose rule does not depend on the block.
func fixedRule(r Rule) func(*schema.Block, ServiceConfig) Rule {
	return func(*schema.Block, ServiceConfig) Rule { return r }
}

// New returns what checks the answers to a block, which has properties; nil when blocks of its
// type take no answer.
func New(b *schema.Block, from ServiceConfig) Rule {
	if rule := newRules[b.Type]; rule != nil {
		return rule(b, from)
	}
	return nil
}

// identities make the identity of a stored answer.
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

// Identity returns what two stored values have in common exactly when they mean the same, from
// the stored type and the stored value alone: the form may have changed since. Values of types
// that are never compared have no identity.
//
// Texts are compared with each other whatever their types, so that a block that becomes
// an email block knows the addresses from before whose domains are ASCII.
func Identity(typ string, stored jsontree.Node) (identity []byte, ok bool) {
	k, _ := schema.LookupBlockType(typ)
	if of := identities[k.Comparison]; of != nil {
		return of(stored)
	}
	return nil, false
}
