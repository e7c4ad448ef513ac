// Package identity compares two answers by their meaning, for duplicate checks and for conditions on
// stored submissions.
package identity

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// Rules is the version of the rules by which answers are compared; package schema says in words
// which answers are the same. The version rises with every change that gives some stored value
// another identity: identities of two versions cannot be compared.
const Rules = 1

// digest is the digest that the storage compares instead of a value; nil when the value is
// never compared.
func digest(typ string, value jsontree.Node) []byte {
	identity, ok := answertype.Identity(typ, value)
	if !ok {
		return nil
	}
	sum := sha256.Sum256(identity)
	return sum[:]
}

// Unique is Answers.Unique for a value as it is stored.
func Unique(typ string, value []byte) []byte {
	return jsontree.Inspect(value, storedLimits, func(n jsontree.Node) []byte { return digest(typ, n) })
}

// storedLimits are beyond what is stored: labels are copied into it, so that it may have
// more values than a body.
var storedLimits = jsontree.Limits{Values: 100 * jsontree.MaxValues}

// Stored returns what Answers.Unique is for a stored list of answers and the block that is to
// be unique. nil: the block has no answer that is compared.
func Stored(list json.RawMessage, block string) []byte {
	return jsontree.Inspect(list, storedLimits, func(answers jsontree.Node) []byte {
		for _, item := range answers.All() {
			field := item.Member("field")
			typ := field.Member("type").Text()
			if k, _ := schema.LookupBlockType(typ); k.IsCompared() && field.Member("id").Text() == block {
				return digest(typ, item.Member("value"))
			}
		}
		return nil
	})
}
