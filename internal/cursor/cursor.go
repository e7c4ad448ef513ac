// Package cursor encodes and decodes the opaque page cursors of the API. A cursor is URL-safe text with a version byte,
// a position and a digest of the position and the list. So a cursor is invalid if it was changed, or if it belongs to
// another list, user or filter. The digest needs no secret key, because a position reveals only the previous page's
// contents, and each request checks access again.
package cursor

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// ErrInvalid is returned for a cursor that is not valid for the list.
var ErrInvalid = errors.New("cursor: invalid")

const (
	version    = 1
	digestSize = 11 // makes the cursor 32 bytes long
	size       = 1 + 8 + 12 + digestSize
)

var encoding = base64.RawURLEncoding.Strict()

// List identifies the list that a cursor belongs to.
type List struct {
	Name    string     // includes the parent's ID, if any
	Owner   storage.ID // the user, not the API key, because keys rotate
	Filters string     // in a canonical form
}

// Encode returns a cursor for the records after the position p in the list l.
func Encode(l List, p storage.Position) string {
	var raw [size]byte
	raw[0] = version
	binary.BigEndian.PutUint64(raw[1:9], uint64(p.Time.UnixMicro())) // #nosec G115 -- the bits, read back as int64
	copy(raw[9:21], p.ID[:])
	digest := l.digestPosition(raw[:21])
	copy(raw[21:], digest[:digestSize])
	return encoding.EncodeToString(raw[:])
}

// Decode returns the position in a cursor for the list l, or [ErrInvalid].
func Decode(l List, s string) (storage.Position, error) {
	if len(s) != encoding.EncodedLen(size) {
		return storage.Position{}, ErrInvalid
	}
	var raw [size]byte
	if _, err := encoding.Decode(raw[:], []byte(s)); err != nil || raw[0] != version {
		return storage.Position{}, ErrInvalid
	}
	digest := l.digestPosition(raw[:21])
	if string(raw[21:]) != string(digest[:digestSize]) {
		return storage.Position{}, ErrInvalid
	}
	micros := int64(binary.BigEndian.Uint64(raw[1:9])) // #nosec G115 -- the bits, written from an int64
	at := time.UnixMicro(micros).UTC()
	// The times of records always have RFC 3339 years, and some stores cannot compare other times.
	if year := at.Year(); year < 0 || year > 9999 {
		return storage.Position{}, ErrInvalid
	}
	return storage.Position{Time: at, ID: storage.ID(raw[9:21])}, nil
}

func (l List) digestPosition(position []byte) [sha256.Size]byte {
	b := make([]byte, 0, 128)
	b = append(b, position...)
	b = append(b, l.Owner[:]...)
	// The length prefix ensures that different lists have different bytes.
	b = binary.BigEndian.AppendUint32(b, uint32(len(l.Name))) // #nosec G115 -- far below 4 GiB
	b = append(b, l.Name...)
	b = append(b, l.Filters...)
	return sha256.Sum256(b)
}
