package docs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"
)

type contents struct {
	*document
	Title, HomeURL, Server, Path string
	Groups                       []group
	Headers                      []entry           // Of responses.
	Messages                     map[string]string // An example message for each error code.
	key                          string
}

type group struct {
	tag
	Operations []operation
}

// entry is a schema field, a parameter or a header.
type entry struct {
	ID, Name, In, Rules string
	Needed              bool
	Schema              node
}

func newContents(d *document, path string, o Options) *contents {
	c := &contents{
		document: d, Title: cmp.Or(o.Title, d.Info.Title), HomeURL: o.HomeURL, Path: path,
		Messages: map[string]string{}, key: cmp.Or(o.Key, "YOUR_API_KEY"),
	}
	if len(d.Servers) > 0 {
		c.Server = strings.TrimSuffix(d.Servers[0].URL, "/")
	}
	const events = "Events"
	all := append(d.operationsWithTag(d.Paths, ""), d.operationsWithTag(d.Webhooks, events)...)
	headerNames := map[string]string{} // Each component's header name.
	for _, op := range all {
		for _, r := range op.Responses {
			for _, h := range r.Value.Headers {
				headerNames[lastPart(h.Value.Ref)] = h.Name
			}
			for _, e := range r.Value.Content.JSON.All() {
				var body struct{ Code, Message string }
				if json.Unmarshal(e.Value, &body) == nil {
					c.Messages[body.Code] = cmp.Or(c.Messages[body.Code], body.Message)
				}
			}
		}
	}
	for _, t := range append(d.Tags, tag{events, "Requests that the service sends to webhooks."}) {
		of := slices.DeleteFunc(slices.Clone(all), func(op operation) bool { return !slices.Contains(op.Tags, t.Name) })
		if len(of) > 0 {
			c.Groups = append(c.Groups, group{t, of})
		}
	}
	for _, h := range d.Components.Headers {
		e := c.parameterEntry("header", h.Name, h.Value)
		e.Name = headerNames[h.Name]
		c.Headers = append(c.Headers, e)
	}
	return c
}

// operationsWithTag returns the operations in paths. It resolves references and adds each path's parameters to its
// operations. If tag is set, the operations are webhook events.
func (d *document) operationsWithTag(paths ordered[pathItem], tag string) []operation {
	var all []operation
	for _, path := range paths {
		item := path.Value
		for i, op := range []*operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op == nil {
				continue
			}
			op.Method, op.Path = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}[i], path.Name
			if tag != "" {
				op.Event, op.Tags = true, []string{tag}
			}
			op.Parameters = slices.Concat(item.Parameters, op.Parameters)
			for i, p := range op.Parameters {
				op.Parameters[i] = resolveRef(p, p.Ref, d.Components.Parameters)
			}
			for i, r := range op.Responses {
				op.Responses[i].Value = resolveRef(r.Value, r.Value.Ref, d.Components.Responses)
			}
			all = append(all, *op)
		}
	}
	return all
}

// Scope returns the scope that the key needs, or "" if any key is sufficient or no key is needed.
func (op operation) Scope() string {
	if len(op.Security) == 0 {
		return ""
	}
	return strings.Join(op.Security[0].APIKey, ", ")
}

func (c content) All() []example {
	var all []example
	if c.Example != nil {
		all = append(all, example{"Example", c.Example})
	}
	for _, e := range c.Examples {
		all = append(all, e.Value)
	}
	return all
}

func (e example) JSON() string {
	var out bytes.Buffer
	if json.Indent(&out, e.Value, "", "  ") != nil {
		return string(e.Value)
	}
	return out.String()
}

func (c *contents) templateFuncs() template.FuncMap {
	return template.FuncMap{
		"prose": renderProse, "inline": renderInline, "last": lastPart, "type": typeHTML, "rules": describeConstraints, "words": formatValues,
		"css":        func() template.CSS { return template.CSS(pageCSS) }, //nolint:gosec // of this package
		"js":         func() template.JS { return template.JS(pageJS) },    //nolint:gosec // of this package
		"samples":    c.requestSamples,
		"members":    c.fieldEntries,
		"parameters": c.parameterEntries,
		"target":     func(n node) node { return resolveRef(n, n.Ref, c.Components.Schemas) },
		"branches":   func(n node) []node { return slices.Concat(n.AnyOf, n.OneOf) },
	}
}

// fieldEntries returns a schema's fields. If owner is empty, they have no anchors.
func (c *contents) fieldEntries(owner string, n node) []entry {
	var all []entry
	for _, p := range n.Properties {
		all = append(all, c.newEntry(owner, p.Name, p.Value, slices.Contains(n.Required, p.Name)))
	}
	return all
}

func (c *contents) parameterEntries(op operation) []entry {
	var all []entry
	for _, in := range []string{"path", "query", "header"} {
		for _, p := range op.Parameters {
			if p.In == in {
				all = append(all, c.parameterEntry(op.OperationID, p.Name, p))
			}
		}
	}
	return all
}

func (c *contents) parameterEntry(owner, name string, p parameter) entry {
	e := c.newEntry(owner, name, p.Schema, p.Required)
	e.In, e.Schema.Description = p.In, p.Description
	return e
}

func (c *contents) newEntry(owner, name string, n node, needed bool) entry {
	e := entry{Name: name, Rules: describeConstraints(n), Needed: needed, Schema: n}
	if owner != "" {
		e.ID = owner + "-" + name
	}
	if n.Ref != "" {
		target := resolveRef(n, n.Ref, c.Components.Schemas)
		target.Pattern = "" // The schema itself has the pattern.
		e.Rules = cmp.Or(e.Rules, describeConstraints(target))
		e.Schema.Description = cmp.Or(n.Description, target.Description)
		e.Schema.Enum, e.Schema.OpenEnum = target.Enum, target.OpenEnum
	}
	return e
}

// typeHTML describes a schema's type as HTML, with links to other schemas.
func typeHTML(n node) template.HTML {
	var text string
	switch branches := slices.Concat(n.AnyOf, n.OneOf); {
	case n.Ref != "":
		name := html.EscapeString(lastPart(n.Ref))
		text = `<a href="#schema-` + name + `">` + name + "</a>"
	case n.Items != nil:
		text = "array of " + string(typeHTML(*n.Items))
		if slices.Contains(typeNames(n), "null") {
			text += " or null"
		}
	case len(branches) > 0:
		all := make([]string, len(branches))
		for i, branch := range branches {
			all[i] = string(typeHTML(branch))
		}
		text = strings.Join(all, " or ")
	case n.Additional.Schema != nil:
		text = "map of " + string(typeHTML(*n.Additional.Schema))
	default:
		text = cmp.Or(strings.Join(typeNames(n), " or "), "any JSON")
		if n.Format != "" {
			text += " · " + n.Format
		}
		text = html.EscapeString(text)
	}
	return template.HTML(text) //nolint:gosec // each part is escaped
}

func typeNames(n node) []string {
	switch t := n.Type.(type) {
	case string:
		return []string{t}
	case []any:
		return formatValues(t)
	}
	return nil
}

func formatValues(list []any) []string {
	var out []string
	for _, v := range list {
		if v == nil {
			v = "null"
		}
		out = append(out, fmt.Sprint(v))
	}
	return out
}

func describeConstraints(n node) string {
	var out []string
	span := func(from, to any, unit string) {
		switch {
		case from != nil && to != nil:
			out = append(out, fmt.Sprintf("%v to %v%s", from, to, unit))
		case from != nil:
			out = append(out, fmt.Sprintf("at least %v%s", from, unit))
		case to != nil:
			out = append(out, fmt.Sprintf("at most %v%s", to, unit))
		}
	}
	if n.MinLength == 1.0 && n.MaxLength == nil {
		out = append(out, "not empty")
	} else {
		span(n.MinLength, n.MaxLength, " characters")
	}
	if to, ok := n.Maximum.(float64); !ok || to < 1<<53-1 { // ignore the general limit on integers
		span(n.Minimum, n.Maximum, "")
	}
	span(n.MinItems, n.MaxItems, " items")
	span(n.MinProperties, nil, " member")
	if n.Default != nil {
		out = append(out, fmt.Sprintf("default %v", n.Default))
	}
	if n.Pattern != "" && len(n.Pattern) < 40 {
		out = append(out, "matches "+n.Pattern)
	}
	return strings.Join(out, ", ")
}
