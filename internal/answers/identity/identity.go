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

// Rules is the version of the rules that compare answers. Package schema documents which answers are equivalent.
// Increase Rules with every change to the identity of a stored value, because identities from different versions
// cannot be compared.
const Rules = 1

// digestAnswer returns the hash that the store compares, or nil if values of this type cannot be compared.
func digestAnswer(typ string, value jsontree.Node) []byte {
	identity, ok := answertype.Identity(typ, value)
	if !ok {
		return nil
	}
	sum := sha256.Sum256(identity)
	return sum[:]
}

// UniqueDigest returns Answers.Unique for a stored value.
func UniqueDigest(typ string, value []byte) []byte {
	return jsontree.Inspect(value, storedLimits, func(n jsontree.Node) []byte { return digestAnswer(typ, n) })
}

// storedLimits is higher than the limits for a request body, because stored answers also contain labels.
var storedLimits = jsontree.Limits{Values: 100 * jsontree.MaxValues}

// StoredDigest returns Answers.Unique for a stored list of answers and the ID of a block. It returns nil if the list
// has no comparable answer to the block.
func StoredDigest(list json.RawMessage, block string) []byte {
	return jsontree.Inspect(list, storedLimits, func(answers jsontree.Node) []byte {
		for _, item := range answers.All() {
			field := item.Member("field")
			typ := field.Member("type").Text()
			if k, _ := schema.LookupBlockType(typ); k.IsCompared() && field.Member("id").Text() == block {
				return digestAnswer(typ, item.Member("value"))
			}
		}
		return nil
	})
}
