package storage

import (
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
)

// ID identifies a record. It has 12 bytes in the layout of a MongoDB ObjectId: 4 bytes of seconds, 5 random bytes per
// process and a 3-byte counter. The zero ID identifies nothing. IDs are comparable and ordered by their bytes.
//
// A host can store IDs in its own columns. With pgx, directly or through database/sql, an ID is stored as 12 bytes in a
// bytea column and as 24 digits in a text column, and can be read from both. Other drivers, and pgx's exec and simple
// protocol modes, do not know the column type and write 24 digits, so pass id[:] to store bytes. Scan a nullable column
// into a *ID or a sql.Null[ID].
type ID [12]byte

var errID = errors.New("storage: an ID must have 24 hexadecimal digits")

// ParseID parses 24 hexadecimal digits in upper or lower case.
func ParseID(s string) (ID, error) {
	var id ID
	if len(s) != 2*len(id) {
		return ID{}, errID
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil {
		return ID{}, errID
	}
	return id, nil
}

// String returns 24 lower-case hexadecimal digits.
func (id ID) String() string {
	return hex.EncodeToString(id[:])
}

// IsZero reports whether id is the zero ID.
func (id ID) IsZero() bool { return id == ID{} }

// MarshalText implements [encoding.TextMarshaler]. It returns the same text as String.
func (id ID) MarshalText() ([]byte, error) {
	return hex.AppendEncode(make([]byte, 0, 2*len(id)), id[:]), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler]. It accepts the same text as [ParseID].
func (id *ID) UnmarshalText(b []byte) error {
	parsed, err := ParseID(string(b))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// Value implements [driver.Valuer]. It returns 24 lower-case hexadecimal digits.
func (id ID) Value() (driver.Value, error) { return id.String(), nil }

// BytesValue returns the 12 bytes of the ID. pgx calls it for bytea columns.
func (id ID) BytesValue() ([]byte, error) { return id[:], nil }

// Scan implements [database/sql.Scanner]. It accepts 12 bytes, 24 hexadecimal digits, and PostgreSQL's text format for
// bytea, in which the digits follow \x.
func (id *ID) Scan(src any) error {
	var text string
	switch v := src.(type) {
	case []byte:
		if len(v) == len(id) {
			*id = ID(v)
			return nil
		}
		text = string(v)
	case string:
		text = v
	case nil:
		return errors.New("storage: cannot scan null into an ID: use *ID or sql.Null[ID]")
	default:
		return fmt.Errorf("storage: cannot scan %T into an ID", src)
	}
	if len(text) == 2+2*len(id) && text[:2] == `\x` {
		text = text[2:]
	}
	return id.UnmarshalText([]byte(text))
}
