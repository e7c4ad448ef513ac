package definition

import (
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/validation"
	"github.com/formsvc/formsvc/internal/weburl"
	"github.com/formsvc/formsvc/schema"
)

func checkURL(c *validation.Check, object jsontree.Node, name string) {
	checkAddress(c, object.Member(name), weburl.IsPlainWebURL, "")
}

// checkLink is like checkURL but also allows mailto and tel URLs.
func checkLink(c *validation.Check, object jsontree.Node, name string) {
	checkAddress(c, object.Member(name), weburl.IsLink, ", or a mailto or tel URL")
}

// checkAddress checks a URL. It allows an empty URL, which means no URL, and ignores values that are not strings,
// because the schemas report them.
func checkAddress(c *validation.Check, n jsontree.Node, allowed func(string) bool, others string) {
	if text := n.Text(); n.Kind() == jsontree.String && text != "" && !allowed(text) {
		c.Add(n, schema.CodeBadFormat, "must be an absolute http or https URL without a user name"+others)
	}
}
