package schema

// The rules of the sections beside blocks. As with blocks, a member that is
// missing or of another type is skipped here.

// settings checks definition.settings.
func (c *check) settings(settings *node, at *place) {
	c.url(settings, "redirectUrl", webOrContact, at)
	if cover := settings.member("cover"); cover != nil {
		here := at.member("cover")
		c.imageURL(cover, "image", &here)
	}
}

// theme checks definition.theme.
func (c *check) theme(theme *node, l Limits, at *place) {
	c.imageURL(theme, "logo", at)
	if background := theme.member("background"); background != nil {
		here := at.member("background")
		c.imageURL(background, "image", &here)
	}
	if css := theme.member("customCss"); css != nil && css.kind == kindString && len(css.text) > l.CustomCSS {
		c.addIn(at, "customCss", CodeTooLong, "must have at most "+count(l.CustomCSS, "byte"))
	}
}

// hiddenFields checks that no name is there twice or, as the answers are kept
// beside those of the blocks, is the id of a block.
func (c *check) hiddenFields(list *node, ids map[string]struct{}, at *place) {
	seen := make(map[string]struct{}, len(list.items))
	for i := range list.items {
		name := &list.items[i]
		if name.kind != kindString {
			continue
		}
		here := at.item(i)
		if _, twice := seen[name.text]; twice {
			c.add(&here, CodeDuplicate, "must be unique")
		} else if _, taken := ids[name.text]; taken {
			c.add(&here, CodeDuplicate, "must differ from the ids of the blocks")
		}
		seen[name.text] = struct{}{}
	}
}

// noNUL reports the strings and names with U+0000, as many as an Error carries.
func (c *check) noNUL(n *node, at *place) {
	if !n.nul || c.nuls >= MaxViolations {
		return
	}
	if n.kind == kindString {
		c.nuls++
		c.add(at, CodeBadFormat, messageNUL)
	}
	for i := range n.items {
		here := at.item(i)
		if n.kind == kindObject {
			here = at.member(n.names[i])
			if hasNUL(n.names[i]) {
				c.nuls++
				c.add(&here, CodeBadFormat, messageNUL)
			}
		}
		c.noNUL(&n.items[i], &here)
	}
}
