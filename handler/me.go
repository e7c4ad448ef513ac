package handler

import (
	"slices"

	"github.com/formsvc/formsvc/internal/appendjson"
	"github.com/formsvc/formsvc/storage"
)

func getMe(c *call) error {
	p := c.principal
	return c.body(200, func(b []byte) []byte {
		b = append(b, `{"id":`...)
		b = appendjson.ID(b, p.UserID)
		b = append(b, `,"name":`...)
		b = appendjson.String(b, p.Name)
		b = append(b, `,"email":`...)
		b = appendjson.String(b, p.Email)
		b = append(b, `,"scopes":[`...)
		for i, s := range effective(p.Scopes) {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendjson.String(b, string(s))
		}
		return append(b, `]}`...)
	})
}

// effective is what a set of scopes amounts to: the known ones, sorted, once each.
func effective(scopes []storage.Scope) []storage.Scope {
	var known []storage.Scope
	for _, s := range scopes {
		if s.Valid() {
			known = append(known, s)
		}
	}
	slices.Sort(known)
	return slices.Compact(known)
}
