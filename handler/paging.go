package handler

import (
	"github.com/formsvc/formsvc/internal/cursor"
	"github.com/formsvc/formsvc/internal/jsontree"
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
	position func(*T) storage.Position, writeItem func(*jsontree.Writer, *T),
) error {
	more := len(records) == page.Limit
	if more {
		records = records[:len(records)-1]
	}
	return c.body(200, func(w *jsontree.Writer) {
		w.Object()
		w.Name("items").Array()
		for i := range records {
			writeItem(w, &records[i])
		}
		w.EndArray()
		w.Name("page").Object()
		w.Name("has_more").Bool(more)
		if w.Name("next_cursor"); more {
			w.String(cursor.Encode(list, position(&records[len(records)-1])))
		} else {
			w.Null()
		}
		w.EndObject()
		w.EndObject()
	})
}
