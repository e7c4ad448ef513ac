package answers

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/formsvc/formsvc/internal/jsontree"
)

// IdentityRules is the version of the rules below. It rises with every change that
// gives some stored value another identity: identities of two versions cannot be
// compared.
const IdentityRules = 1

// identityOf returns what two stored values have in common exactly when they mean the
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
func identityOf(typ string, value jsontree.Node) (identity []byte, ok bool) {
	if !IsCompared(typ) {
		return nil, false
	}
	return kinds[typ].identity(value)
}

// IsCompared reports whether answers to blocks of a type are ever the same.
func IsCompared(typ string) bool { return kinds[typ].identity != nil }

// digest is what the storage compares instead of a value.
func digest(identity []byte) []byte {
	sum := sha256.Sum256(identity)
	return sum[:]
}

// uniqueDigest is Answers.Unique for what a rule wrote.
func uniqueDigest(typ string, value []byte) []byte {
	tree, err := jsontree.Parse(value, storedBounds)
	if err != nil {
		return nil
	}
	defer tree.Release()
	if identity, ok := identityOf(typ, tree.Root()); ok {
		return digest(identity)
	}
	return nil
}

// storedBounds are beyond what is stored: labels are copied into it, so that it may have
// more values than a body.
var storedBounds = jsontree.Bounds{Values: 100 * jsontree.MaxValues}

// StoredUnique returns what [Answers.Unique] is for a stored list of answers and the
// block that is to be unique. nil: the block has no answer that is compared.
func StoredUnique(list json.RawMessage, block string) []byte {
	tree, err := jsontree.Parse(list, storedBounds)
	if err != nil {
		return nil
	}
	defer tree.Release()
	for _, item := range tree.Root().All() {
		field := item.Member("field")
		if typ := field.Member("type").Text(); field.Member("id").Text() == block && IsCompared(typ) {
			if identity, ok := identityOf(typ, item.Member("value")); ok {
				return digest(identity)
			}
			return nil
		}
	}
	return nil
}
