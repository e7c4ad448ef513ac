package postgres

import (
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/formsvc/formsvc/storage"
)

// scopesArg is the argument for a text[].
func scopesArg(scopes []storage.Scope) []string {
	out := make([]string, len(scopes))
	for i, scope := range scopes {
		out[i] = string(scope)
	}
	return out
}

// scopesColumn scans a text[]. Every request reads the scopes of its key, so the
// known ones are not allocated.
type scopesColumn []storage.Scope

// SetDimensions implements [pgtype.ArraySetter].
func (c *scopesColumn) SetDimensions(dimensions []pgtype.ArrayDimension) error {
	*c = nil
	if len(dimensions) > 0 {
		*c = make(scopesColumn, dimensions[0].Length)
	}
	return nil
}

// ScanIndex implements [pgtype.ArraySetter].
func (c *scopesColumn) ScanIndex(i int) any { return (*scopeElement)(&(*c)[i]) }

// ScanIndexType implements [pgtype.ArraySetter].
func (c *scopesColumn) ScanIndexType() any { return new(scopeElement) }

type scopeElement storage.Scope

var knownScopes = storage.Scopes()

// ScanBytes implements [pgtype.BytesScanner].
func (e *scopeElement) ScanBytes(b []byte) error {
	if i := slices.IndexFunc(knownScopes, func(s storage.Scope) bool { return string(s) == string(b) }); i >= 0 {
		*e = scopeElement(knownScopes[i])
		return nil
	}
	*e = scopeElement(b)
	return nil
}
