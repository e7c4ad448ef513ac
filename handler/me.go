package handler

import (
	"slices"

	"github.com/formsvc/formsvc/internal/jsontree"
)

func getMe(c *call) error {
	p := c.principal
	scopes := slices.Clone(p.Scopes)
	slices.Sort(scopes)
	return c.sendObject(func(w *jsontree.Writer) {
		w.Name("id").Hex(p.UserID[:])
		w.Name("name").String(p.Name)
		w.Name("email").String(p.Email)
		w.Name("scopes").Array()
		for _, s := range slices.Compact(scopes) {
			if s.Valid() {
				w.String(string(s))
			}
		}
		w.EndArray()
	})
}
