package definition

import (
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/validation"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
)

// checkSettings checks definition.settings. Like all checks of sections, it ignores values of the wrong type.
func (r *request) checkSettings(settings jsontree.Node, l schema.Limits) {
	for _, name := range []string{"closedMessage", "submitLabel"} {
		if n := settings.Member(name); n.Kind() == jsontree.String && violation.LongerThan(n.Text(), l.Text) {
			r.Add(n, schema.CodeTooLong, violation.TooLongMessage(l.Text))
		}
	}
	checkLink(&r.Check, settings, "redirectUrl")
	checkURL(&r.Check, settings.Member("cover").Member("image"), "url")
}

func (r *request) checkTheme(theme jsontree.Node, l schema.Limits) {
	checkURL(&r.Check, theme.Member("logo"), "url")
	checkURL(&r.Check, theme.Member("background").Member("image"), "url")
	if css := theme.Member("customCss"); css.Kind() == jsontree.String && len(css.Text()) > l.CustomCSS {
		r.Add(css, schema.CodeTooLong, "must have at most "+violation.FormatCount(l.CustomCSS, "byte"))
	}
}

// checkHiddenFields checks that names are unique and differ from block IDs and rule variables, because stored answers
// contain all of them by name.
func checkHiddenFields(c *validation.Check, list jsontree.Node, ids, variables map[string]bool) {
	seen := make(map[string]bool, list.Len())
	for _, name := range list.All() {
		if name.Kind() != jsontree.String {
			continue
		}
		switch text := name.Text(); {
		case seen[text]:
			c.Add(name, schema.CodeDuplicate, "must be unique")
		case ids[text]:
			c.Add(name, schema.CodeDuplicate, "must differ from the IDs of blocks")
		case variables[text]:
			c.Add(name, schema.CodeDuplicate, "must differ from variables that rules set")
		}
		seen[name.Text()] = true
	}
}

func namesOf(variables []jsontree.Node) map[string]bool {
	names := make(map[string]bool, len(variables))
	for _, variable := range variables {
		names[variable.Name()] = true
	}
	return names
}
