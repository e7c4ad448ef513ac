package handler

import (
	"github.com/formsvc/formsvc/internal/apierror"
	"github.com/formsvc/formsvc/internal/cursor"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

func (q *query) parsePage(list cursor.List) (storage.Page, error) {
	page := storage.Page{Limit: q.parseLimit()}
	text, ok := q.getUnique("cursor")
	if !ok {
		return page, q.err()
	}
	after, err := cursor.Decode(list, text)
	if err != nil {
		q.addViolation("cursor", schema.CodeBadFormat, "is not a valid cursor of this list")
		if len(q.violations) == 1 {
			e := *apierror.ErrInvalidCursor
			e.Details = q.violations
			return page, &e
		}
	}
	page.After = &after
	return page, q.err()
}

// writePage reads records and sends them as a list response, with a cursor if there is a next page.
func writePage[T any](c *call, q *query, list cursor.List, read func(storage.Page) ([]T, error),
	position func(*T) storage.Position, writeItem func(*jsontree.Writer, *T),
) error {
	page, err := q.parsePage(list)
	if err != nil {
		return err
	}
	most := page.Limit
	page.Limit++ // If the storage returns this extra record, there is another page.
	records, err := read(page)
	if err != nil {
		return err
	}
	return c.sendObject(func(w *jsontree.Writer) {
		writeItems(w, min(len(records), most), func(w *jsontree.Writer, i int) { writeItem(w, &records[i]) })
		more := len(records) > most
		var last storage.Position
		if more {
			last = position(&records[most-1])
		}
		w.Name("page").Raw(appendPageEnd(nil, list, more, last))
	})
}

func appendPageEnd(b []byte, list cursor.List, more bool, last storage.Position) []byte {
	if !more {
		return append(b, `{"has_more":false,"next_cursor":null}`...)
	}
	b = append(b, `{"has_more":true,"next_cursor":"`...)
	b = append(b, cursor.Encode(list, last)...) // The cursor contains only letters, digits, - and _.
	return append(b, `"}`...)
}
