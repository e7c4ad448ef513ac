package definition

import (
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/validation"
	"github.com/formsvc/formsvc/internal/weburl"
	"github.com/formsvc/formsvc/schema"
)

// checkURL checks the address of a page in a member of an object.
func checkURL(c *validation.Check, object jsontree.Node, name string) {
	checkAddress(c, object.Member(name), weburl.IsPlain, "")
}

// checkLink is checkURL for a member that may have a mailto or tel URL too.
func checkLink(c *validation.Check, object jsontree.Node, name string) {
	checkAddress(c, object.Member(name), isLink, ", or a mailto or tel URL")
}

// checkAddress checks an address. An empty one means unset, and a value that is not a string
// is a fault of another kind, found by the walk.
func checkAddress(c *validation.Check, n jsontree.Node, allowed func(string) bool, others string) {
	if text := n.Text(); n.Kind() == jsontree.String && text != "" && !allowed(text) {
		c.Add(n, schema.CodeBadFormat, "must be an absolute http or https URL without a user name"+others)
	}
}

func isLink(s string) bool {
	u, ok := weburl.Parse(s)
	return ok && (weburl.IsPlain(s) || !weburl.IsWeb(u))
}
