package postgres

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// scanRow is rows.Scan for the columns of this package, without looking up for
// every value how it is to be scanned. What it does not know, such as the text
// format of the simple protocol, goes the usual way.
func scanRow(rows pgx.Rows, targets ...any) error {
	fields, values := rows.FieldDescriptions(), rows.RawValues()
	if len(fields) != len(targets) || len(values) != len(targets) {
		return fmt.Errorf("postgres: %d columns for %d targets", len(values), len(targets))
	}
	for i, target := range targets {
		f := &fields[i]
		if scanKnown(target, f.DataTypeOID, f.Format == pgx.BinaryFormatCode, values[i]) {
			continue
		}
		if err := rows.Conn().TypeMap().Scan(f.DataTypeOID, f.Format, values[i], target); err != nil {
			return fmt.Errorf("postgres: column %s: %w", f.Name, err)
		}
	}
	return nil
}

// scanKnown reports whether it has scanned the value.
func scanKnown(target any, oid uint32, binaryFormat bool, src []byte) bool {
	switch c := target.(type) {
	case *textColumn:
		if oid != pgtype.TextOID {
			return false
		}
		*c = textColumn(src)
	case *borrowedColumn:
		if oid != pgtype.JSONOID && (oid != pgtype.ByteaOID || !binaryFormat) {
			return false
		}
		*c = src
	case *idColumn:
		if oid != pgtype.ByteaOID || !binaryFormat {
			return false
		}
		return c.ScanBytes(src) == nil
	case *timeColumn:
		if oid != pgtype.TimestamptzOID || !binaryFormat {
			return false
		}
		return c.scanBinary(src)
	case *intColumn:
		n, ok := binaryInt(oid, binaryFormat, src)
		*c = intColumn(n)
		return ok
	case *sizeColumn:
		n, ok := binaryInt(oid, binaryFormat, src)
		*c = sizeColumn(n)
		return ok
	case *floatColumn:
		if oid != pgtype.Float8OID || !binaryFormat || len(src) != 8 {
			return false
		}
		*c = floatColumn(math.Float64frombits(binary.BigEndian.Uint64(src)))
	case *boolColumn:
		if oid != pgtype.BoolOID || !binaryFormat {
			return false
		}
		*c = len(src) == 1 && src[0] == 1
	case *rowVersion:
		if oid != pgtype.XIDOID || !binaryFormat || len(src) != 4 && src != nil {
			return false
		}
		*c = 0
		if src != nil {
			*c = rowVersion(binary.BigEndian.Uint32(src))
		}
	case *scopesColumn:
		return oid == pgtype.TextArrayOID && binaryFormat && c.scanBinary(src)
	default:
		return false
	}
	return true
}

// binaryInt reads an integer of eight or four bytes; null is zero.
func binaryInt(oid uint32, binaryFormat bool, src []byte) (int64, bool) {
	switch {
	case !binaryFormat:
		return 0, false
	case src == nil:
		return 0, true
	case oid == pgtype.Int8OID && len(src) == 8:
		return int64(binary.BigEndian.Uint64(src)), true // the bits count
	case oid == pgtype.Int4OID && len(src) == 4:
		return int64(int32(binary.BigEndian.Uint32(src))), true // the bits count
	}
	return 0, false
}

// year2000 is where PostgreSQL counts its microseconds from, in Unix time.
const year2000 = 946_684_800

// scanBinary leaves infinite times to the usual way, which refuses them.
func (c *timeColumn) scanBinary(src []byte) bool {
	if src == nil {
		*c = timeColumn{}
		return true
	}
	if len(src) != 8 {
		return false
	}
	micros := int64(binary.BigEndian.Uint64(src)) // the bits count
	if micros == math.MaxInt64 || micros == math.MinInt64 {
		return false
	}
	*c = timeColumn(time.Unix(year2000+micros/1_000_000, micros%1_000_000*1000).UTC())
	return true
}
