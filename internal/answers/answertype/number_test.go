package answertype

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/formsvc/formsvc/internal/jsontree"
)

// A number keeps its value when it is normalised, to the last digit when it has
// no exponent.
func TestCanonicalNumberKeepsTheValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		literal := rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?`).Draw(t, "literal")
		tree, err := jsontree.Parse([]byte(literal), jsontree.BodyLimits)
		if err != nil {
			t.Fatalf("%s: %v", literal, err)
		}
		canonical := canonicalNumber(tree.Root().Text(), tree.Root().Float())
		want, _ := new(big.Rat).SetString(literal)
		got, ok := new(big.Rat).SetString(canonical)
		if !ok || got.Cmp(want) != 0 || len(canonical) > len(literal) {
			t.Fatalf("%s became %s", literal, canonical)
		}
	})
}
