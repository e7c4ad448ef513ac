package definition

import (
	"github.com/formsvc/formsvc/internal/jsonshape"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/weburl"
	"github.com/formsvc/formsvc/schema"
)

// schemes says which schemes an address in a definition may have.
type schemes uint8

const (
	webOnly      schemes = iota // http, https
	webOrContact                // also mailto and tel
)

// checkURL checks the address in a member of an object. An empty one means unset,
// and a value that is not a string is a fault of another kind, found by the walk.
func checkURL(c *jsonshape.Check, object jsontree.Node, name string, allowed schemes) {
	n := object.Member(name)
	if n.Kind() != jsontree.String || isAddress(n.Text(), allowed) {
		return
	}
	message := "must be an absolute http or https URL without a user name"
	if allowed == webOrContact {
		message = "must be an absolute http or https URL without a user name, or a mailto or tel URL"
	}
	c.Add(n, schema.CodeBadFormat, message)
}

// isAddress reports whether an address of a definition is unset or may be used.
func isAddress(s string, allowed schemes) bool {
	if s == "" {
		return true
	}
	u, ok := weburl.Parse(s)
	return ok && (weburl.IsPlain(s) || allowed == webOrContact && !weburl.IsWeb(u))
}
