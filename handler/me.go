package handler

import (
	"slices"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/storage"
)

func getMe(c *call) error {
	p := c.principal
	return c.body(func(w *jsontree.Writer) {
		w.Object()
		w.Name("id").Hex(p.UserID[:])
		w.Name("name").String(p.Name)
		w.Name("email").String(p.Email)
		w.Name("scopes").Array()
		for _, s := range effective(p.Scopes) {
			w.String(string(s))
		}
		w.EndArray()
		w.EndObject()
	})
}

// effective returns the known scopes of a set, sorted, once each.
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
