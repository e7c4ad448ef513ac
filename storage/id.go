package storage

import (
	"encoding/hex"
	"errors"
)

// ID names a record: 12 bytes in the layout of an ObjectId (4 bytes seconds,
// 5 bytes random per process, 3 bytes counter). The zero ID names nothing.
// IDs are comparable and order by their bytes.
type ID [12]byte

var errID = errors.New("storage: an id is 24 hexadecimal digits")

// ParseID reads 24 hexadecimal digits of either case.
func ParseID(s string) (ID, error) {
	var id ID
	if len(s) != 2*len(id) {
		return ID{}, errID
	}
	for i := range id {
		hi, lo := hexDigit(s[2*i]), hexDigit(s[2*i+1])
		if hi > 15 || lo > 15 {
			return ID{}, errID
		}
		id[i] = hi<<4 | lo
	}
	return id, nil
}

func hexDigit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 0xff
}

// String returns 24 lower-case hexadecimal digits.
func (id ID) String() string {
	return hex.EncodeToString(id[:])
}

// IsZero reports whether id is the zero ID.
func (id ID) IsZero() bool { return id == ID{} }

// MarshalText returns what String returns.
func (id ID) MarshalText() ([]byte, error) {
	return hex.AppendEncode(make([]byte, 0, 2*len(id)), id[:]), nil
}

// UnmarshalText reads what [ParseID] reads.
func (id *ID) UnmarshalText(b []byte) error {
	parsed, err := ParseID(string(b))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}
