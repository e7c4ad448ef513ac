package postgres

import (
	"encoding/binary"
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

// scanBinary reads the array as the server sends it in binary: the number of
// dimensions, whether there are nulls, the type of the elements, the length and
// the lower bound of the one dimension, then each element, preceded by its length.
func (c *scopesColumn) scanBinary(src []byte) bool {
	const header = 5 * 4
	if len(src) < header || binary.BigEndian.Uint32(src) != 1 {
		return false // empty arrays have no dimension
	}
	length := binary.BigEndian.Uint32(src[12:])
	src = src[header:]
	if uint64(length) > uint64(len(src)) {
		return false
	}
	out := make(scopesColumn, length)
	for i := range out {
		if len(src) < 4 || uint64(binary.BigEndian.Uint32(src)) > uint64(len(src)-4) {
			return false // a null, among others
		}
		end := 4 + binary.BigEndian.Uint32(src)
		_ = (*scopeElement)(&out[i]).ScanBytes(src[4:end]) // never fails
		src = src[end:]
	}
	*c = out
	return true
}

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
