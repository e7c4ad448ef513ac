package handler

import (
	"github.com/formsvc/formsvc/internal/appendjson"
	"github.com/formsvc/formsvc/internal/cursor"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// page reads limit and cursor for a list. It asks for one record more than the
// caller does: whether it is there tells has_more.
func (q *query) page(list cursor.List) (storage.Page, error) {
	page := storage.Page{Limit: q.limit() + 1}
	text, ok := q.get("cursor")
	if !ok {
		return page, q.err()
	}
	after, err := cursor.Decode(list, text)
	if err != nil {
		q.reject("cursor", schema.CodeBadFormat, "is not a cursor of this list")
		if len(q.violations) == 1 {
			e := *errInvalidCursor
			e.details = q.violations
			return page, &e
		}
	}
	page.After = &after
	return page, q.err()
}

// writePage writes a list response: the records that were asked for, and the
// cursor of the next page when there was one more.
func writePage[T any](c *call, list cursor.List, page storage.Page, records []T,
	position func(*T) storage.Position, appendItem func([]byte, *T) []byte,
) error {
	more := len(records) == page.Limit
	if more {
		records = records[:len(records)-1]
	}
	return c.body(200, func(b []byte) []byte {
		b = append(b, `{"items":[`...)
		for i := range records {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendItem(b, &records[i])
		}
		b = append(b, `],"page":{"has_more":`...)
		if !more {
			return append(b, `false,"next_cursor":null}}`...)
		}
		last := position(&records[len(records)-1])
		b = append(b, `true,"next_cursor":`...)
		b = appendjson.String(b, cursor.Encode(list, last))
		return append(b, `}}`...)
	})
}
