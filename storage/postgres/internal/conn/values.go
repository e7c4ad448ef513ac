package conn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/formsvc/formsvc/storage"
)

// idColumn scans a bytea into an ID. Null becomes the zero ID.
type idColumn storage.ID

func (c *idColumn) ScanBytes(b []byte) error {
	switch len(b) {
	case 0:
		*c = idColumn{}
	case len(c):
		copy(c[:], b)
	default:
		return fmt.Errorf("postgres: an ID has %d bytes instead of 12", len(b))
	}
	return nil
}

// timeColumn scans a timestamptz in UTC. Null becomes the zero time.
type timeColumn time.Time

func (c *timeColumn) ScanTimestamptz(v pgtype.Timestamptz) error {
	if v.InfinityModifier != pgtype.Finite {
		return fmt.Errorf("postgres: unsupported time %s", v.InfinityModifier)
	}
	*c = timeColumn{}
	if v.Valid {
		*c = timeColumn(v.Time.UTC())
	}
	return nil
}

// borrowedColumn scans json or bytea without copying. The bytes belong to the connection and are valid until the next
// row. CopyBorrowed copies them.
type borrowedColumn json.RawMessage

func (c *borrowedColumn) ScanBytes(b []byte) error {
	*c = b
	return nil
}

// bytesColumn scans a bytea. An empty value becomes nil.
type bytesColumn []byte

func (c *bytesColumn) ScanBytes(b []byte) error {
	*c = append([]byte(nil), b...)
	return nil
}

// These types scan null as the zero value.
type (
	sizeColumn   int
	boolColumn   bool
	microsColumn time.Duration
)

func (c *sizeColumn) ScanInt64(v pgtype.Int8) error {
	*c = sizeColumn(v.Int64)
	return nil
}

func (c *boolColumn) ScanBool(v pgtype.Bool) error {
	*c = boolColumn(v.Bool)
	return nil
}

func (c *microsColumn) ScanInt64(v pgtype.Int8) error {
	*c = microsColumn(time.Duration(v.Int64) * time.Microsecond)
	return nil
}

// ScanTargets replaces pointers to values with targets for pgx. Null becomes the zero value, times are in UTC,
// durations are stored in microseconds, and a json.RawMessage is borrowed. Other pointers stay as they are.
func ScanTargets(into ...any) []any {
	for i, v := range into {
		switch v := v.(type) {
		case *storage.ID:
			into[i] = (*idColumn)(v)
		case *time.Time:
			into[i] = (*timeColumn)(v)
		case *time.Duration:
			into[i] = (*microsColumn)(v)
		case *json.RawMessage:
			into[i] = (*borrowedColumn)(v)
		case *[]byte:
			into[i] = (*bytesColumn)(v)
		case *string:
			into[i] = (*zeronull.Text)(v)
		case *int64:
			into[i] = (*zeronull.Int8)(v)
		case *int:
			into[i] = (*sizeColumn)(v)
		case *float64:
			into[i] = (*zeronull.Float8)(v)
		case *bool:
			into[i] = (*boolColumn)(v)
		}
	}
	return into
}

// Scan scans a row into [ScanTargets].
func Scan(row pgx.CollectableRow, into ...any) error { return row.Scan(ScanTargets(into...)...) }

// RowScanner returns a function that scans a row into [ScanTargets]. A nil target skips its column.
func RowScanner(into ...any) func(pgx.Rows) error {
	return func(row pgx.Rows) error { return Scan(row, into...) }
}

// CopyBorrowed replaces borrowed values with copies, using one allocation. Nil values stay nil.
func CopyBorrowed(parts ...*json.RawMessage) {
	a := Arena(make([]byte, 0, sizeOfParts(parts)))
	a.CopyBorrowed(parts...)
}

func sizeOfParts(parts []*json.RawMessage) (n int) {
	for _, p := range parts {
		n += len(*p)
	}
	return n
}

// Arena contains the values of several records, so that many rows need only one allocation. Retaining one record
// retains the whole block of memory.
type Arena []byte

const arenaBlock = 64 << 10

// CopyBorrowed replaces borrowed values with copies in the arena. Earlier copies are unchanged.
func (a *Arena) CopyBorrowed(parts ...*json.RawMessage) {
	if n := sizeOfParts(parts); n > cap(*a)-len(*a) {
		*a = make([]byte, 0, max(n, arenaBlock))
	}
	for _, p := range parts {
		if *p == nil {
			continue
		}
		start := len(*a)
		*a = append(*a, *p...)
		*p = json.RawMessage((*a)[start:len(*a):len(*a)])
	}
}

// TimeArg returns the statement argument for a time. A zero time becomes null.
func TimeArg(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// IDArg returns the statement argument for an ID. A zero ID becomes null.
func IDArg(id storage.ID) []byte {
	if id.IsZero() {
		return nil
	}
	return id[:]
}

// IDsArg returns the statement argument for a list of IDs.
func IDsArg(ids []storage.ID) [][]byte {
	return ColumnArg(ids, func(id *storage.ID) []byte { return id[:] })
}

// IDPointerArg returns the statement argument for an ID. A nil pointer becomes null.
func IDPointerArg(id *storage.ID) []byte {
	if id == nil {
		return nil
	}
	return append([]byte(nil), id[:]...)
}

// CheckArgs returns an error for text and times that package storage does not allow. The server rejects most of these
// too, but its error would abort a host's transaction. pgx's simple protocol truncates a statement at a zero byte.
func CheckArgs(args []any) error {
	for _, arg := range args {
		if !isValidArg(arg) {
			return fmt.Errorf("%w: text must be UTF-8 without U+0000, and times must be in the years 1 to 9999", storage.ErrInvalidValue)
		}
	}
	return nil
}

func isValidArg(arg any) bool {
	switch v := arg.(type) {
	case string:
		return storage.ValidText(v)
	case *string:
		return v == nil || storage.ValidText(*v)
	case []string:
		return !slices.ContainsFunc(v, func(s string) bool { return !storage.ValidText(s) })
	case json.RawMessage:
		return bytes.IndexByte(v, 0) < 0 && utf8.Valid(v)
	case time.Time:
		return storage.ValidTime(v)
	case *time.Time:
		return v == nil || storage.ValidTime(*v)
	case []time.Time:
		return !slices.ContainsFunc(v, func(t time.Time) bool { return !storage.ValidTime(t) })
	}
	return true
}

// StoredTime returns t as the server would return it, in UTC and with microsecond precision.
func StoredTime(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// TextArg returns the statement argument for text. Empty text becomes null.
func TextArg(v string) *string {
	if v == "" {
		return nil
	}
	return &v
}

// MicrosArg returns the statement argument for a duration in microseconds. It returns 0 for negative durations and at
// least 1 for positive durations.
func MicrosArg(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return max(1, d.Microseconds())
}

// ColumnArg returns the statement argument for one column of rows, an array with one value per row.
func ColumnArg[R, T any](rows []R, value func(*R) T) []T {
	all := make([]T, len(rows))
	for i := range rows {
		all[i] = value(&rows[i])
	}
	return all
}

// ObjectArg returns the statement argument for a map: a JSON object in which the statement looks up values.
func ObjectArg[K comparable, V int | int64](m map[K]V) json.RawMessage {
	raw, _ := json.Marshal(m) //nolint:errchkjson // never fails for strings and numbers
	return raw
}

// ListArg returns the statement argument for a list of byte slices or numbers. Nil becomes an empty list.
func ListArg[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
