package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// view is what the template walks through.
type view struct {
	Title, Version, Summary, Description string
	Server, Path, HomeURL                string
	Groups                               []group
	Codes                                []codeView
	Common                               []memberView // request headers of every operation
	Headers                              []memberView
	Schemas                              []schemaView
}

type group struct {
	Name, Description string
	Operations        []operationView
}

type operationView struct {
	ID, Method, Path, Summary, Description string
	Scope                                  string // "": any valid key
	Public, Event                          bool
	Parameters                             []memberView
	Common                                 []headerLink // request headers that every operation takes
	Body                                   *messageView
	Answers                                []messageView
	Samples                                []sample
}

type messageView struct {
	Status, Description, More string

	Codes    []string
	Headers  []headerLink
	Schema   *schemaView
	Examples []example
}

// headerLink is the name of a response header and that of its description.
type headerLink struct{ Name, Ref string }

type example struct{ Summary, JSON string }

type codeView struct {
	Code    string
	Status  int
	Message string
}

// typeView is a type in words, in parts of which some are links.
type typeView []typePart

type typePart struct{ Text, Ref string }

// schemaView is a schema.
type schemaView struct {
	Name        string
	Description string
	Type        typeView
	Rules       string
	Values      []string
	Members     []memberView
	Union       []typeView
	Map         typeView // of the members that are not named
	Open        bool
}

// memberView is a member of a schema, a parameter, or a header.
type memberView struct {
	ID, Name, In string
	Required     bool
	Description  string
	Type         typeView
	Rules        string
	Values       []string
	Types        []string    // x-block-types
	Inner        *schemaView // unfolds
}

// builder makes the view of a document.
type builder struct {
	*document
	server string
	key    string
}

func newView(d *document, path string, o Options) view {
	b := builder{d, "", o.Key}
	if b.key == "" {
		b.key = "YOUR_API_KEY"
	}
	if len(d.Servers) > 0 {
		b.server = strings.TrimSuffix(d.Servers[0].URL, "/")
	}
	v := view{
		Title: d.Info.Title, Version: d.Info.Version, Summary: d.Info.Summary, Description: d.Info.Description,
		Server: b.server, Path: path, HomeURL: o.HomeURL, Codes: b.codes(),
	}
	if o.Title != "" {
		v.Title = o.Title
	}
	for _, tag := range d.Tags {
		v.Groups = append(v.Groups, group{Name: tag.Name, Description: tag.Description})
	}
	v.Groups = append(v.Groups, group{Name: "Events", Description: "What the service sends to webhooks."})
	for _, path := range d.Paths {
		b.addOperations(&v, path.Name, path.Value, "")
	}
	for _, event := range d.Webhooks {
		b.addOperations(&v, event.Name, event.Value, "Events")
	}
	for _, p := range d.Components.Parameters {
		if b.common(p.Name) {
			m := b.parameter("request", p.Name, p.Value)
			m.Name = p.Value.Name
			v.Common = append(v.Common, m)
		}
	}
	for _, h := range d.Components.Headers {
		m := b.parameter("header", h.Name, h.Value)
		m.Name, m.In = b.headerName(h.Name), ""
		v.Headers = append(v.Headers, m)
	}
	for _, s := range d.Components.Schemas {
		v.Schemas = append(v.Schemas, b.schema(s.Name, s.Value, 1))
	}
	return v
}

func (b builder) addOperations(v *view, path string, item pathItem, name string) {
	for _, m := range []struct {
		name string
		*operation
	}{{"GET", item.Get}, {"POST", item.Post}, {"PUT", item.Put}, {"PATCH", item.Patch}, {"DELETE", item.Delete}} {
		if m.operation == nil {
			continue
		}
		op := operationView{
			ID: m.OperationID, Method: m.name, Path: path, Summary: m.Summary, Description: m.Description,
			Public: len(m.Security) == 0, Event: name != "",
		}
		if !op.Public {
			op.Scope = strings.Join(m.Security[0]["ApiKey"], ", ")
		}
		var parameters []parameter
		for _, p := range slices.Concat(item.Parameters, m.Parameters) {
			name := lastPart(p.Ref)
			p = resolve(p, p.Ref, b.Components.Parameters)
			parameters = append(parameters, p)
			if b.common(name) {
				op.Common = append(op.Common, headerLink{p.Name, name})
				continue
			}
			op.Parameters = append(op.Parameters, b.parameter(op.ID, p.Name, p))
		}
		slices.SortStableFunc(op.Parameters, func(x, y memberView) int { return place(x.In) - place(y.In) })
		if m.RequestBody != nil {
			body := b.message("", *m.RequestBody)
			op.Body = &body
		}
		for _, r := range m.Responses {
			op.Answers = append(op.Answers, b.message(r.Name, resolve(r.Value, r.Value.Ref, b.Components.Responses)))
		}
		if !op.Event {
			op.Samples = b.samples(op, parameters)
		}
		tag := name
		if tag == "" && len(m.Tags) > 0 {
			tag = m.Tags[0]
		}
		for i := range v.Groups {
			if v.Groups[i].Name == tag {
				v.Groups[i].Operations = append(v.Groups[i].Operations, op)
			}
		}
	}
}

// common reports whether every path takes a parameter, which then is described once.
func (b builder) common(component string) bool {
	for _, path := range b.Paths {
		if !slices.ContainsFunc(path.Value.Parameters, func(p parameter) bool { return component != "" && lastPart(p.Ref) == component }) {
			return false
		}
	}
	return true
}

// headerName is how a described header is called in responses.
func (b builder) headerName(component string) string {
	for _, r := range b.Components.Responses {
		for _, h := range r.Value.Headers {
			if lastPart(h.Value.Ref) == component {
				return h.Name
			}
		}
	}
	for _, path := range b.Paths {
		for _, op := range []*operation{path.Value.Get, path.Value.Post, path.Value.Put, path.Value.Patch, path.Value.Delete} {
			if op == nil {
				continue
			}
			for _, r := range op.Responses {
				for _, h := range r.Value.Headers {
					if lastPart(h.Value.Ref) == component {
						return h.Name
					}
				}
			}
		}
	}
	return component
}

// place orders parameters: those of the path first, headers last.
func place(in string) int { return slices.Index([]string{"path", "query", "header"}, in) }

func (b builder) parameter(owner, name string, p parameter) memberView {
	m := b.member(owner, name, p.Schema, p.Required, 0)
	m.In, m.Description = p.In, p.Description
	return m
}

func (b builder) message(status string, m message) messageView {
	out := messageView{Status: status, Description: m.Description, Codes: m.Codes}
	if status == "default" { // it is the same each time, and long
		out.Description, out.More, _ = strings.Cut(m.Description, ": ")
	}
	for _, h := range m.Headers {
		out.Headers = append(out.Headers, headerLink{h.Name, lastPart(h.Value.Ref)})
	}
	content, ok := m.Content["application/json"]
	if !ok {
		return out
	}
	target := content.Schema
	s := b.schema(lastPart(target.Ref), resolve(target, target.Ref, b.Components.Schemas), 1)
	if len(m.Codes) > 0 {
		s.Members = nil // the same each time: a link will do
	}
	for i := range s.Members {
		s.Members[i].ID = "" // that is where the schema itself stands
	}
	out.Schema = &s
	if content.Example != nil {
		out.Examples = append(out.Examples, example{"Example", indent(content.Example)})
	}
	for _, e := range content.Examples {
		out.Examples = append(out.Examples, example{e.Value.Summary, indent(e.Value.Value)})
	}
	return out
}

// codes lists the error codes with a message that they come with.
func (b builder) codes() []codeView {
	var out []codeView
	for _, c := range b.Codes {
		view := codeView{Code: c.Name, Status: c.Value}
		for _, r := range b.Components.Responses {
			for _, e := range r.Value.Content["application/json"].Examples {
				var body struct{ Code, Message string }
				if json.Unmarshal(e.Value.Value, &body) == nil && body.Code == c.Name && view.Message == "" {
					view.Message = body.Message
				}
			}
		}
		out = append(out, view)
	}
	return out
}

// maxUnfolded is how many members a schema may have to be unfolded inside of another
// one: larger ones are links.
const maxUnfolded = 30

// schema is the view of a schema, with inner ones unfolded some levels deep.
func (b builder) schema(name string, n node, depth int) schemaView {
	s := schemaView{
		Name: name, Description: n.Description, Type: b.typeOf(n), Rules: rules(n), Values: values(n.Enum), Open: n.Additional.open,
	}
	for _, p := range n.Properties {
		s.Members = append(s.Members, b.member(name, p.Name, p.Value, slices.Contains(n.Required, p.Name), depth))
	}
	for _, branch := range slices.Concat(n.AnyOf, n.OneOf) {
		s.Union = append(s.Union, b.typeOf(branch))
	}
	if n.Additional.schema != nil {
		s.Map = b.typeOf(*n.Additional.schema)
	}
	return s
}

func (b builder) member(owner, name string, n node, required bool, depth int) memberView {
	m := memberView{
		Name: name, Required: required, Description: n.Description, Type: b.typeOf(n), Rules: rules(n), Values: values(n.Enum), Types: n.BlockTypes,
	}
	if owner != "" {
		m.ID = owner + "-" + name
	}
	target := n
	if n.Ref != "" {
		target = resolve(n, n.Ref, b.Components.Schemas)
		target.Pattern = "" // the schema itself has it
		if m.Description == "" {
			m.Description = target.Description
		}
		if m.Rules == "" {
			m.Rules = rules(target)
		}
		if len(m.Values) == 0 {
			m.Values = values(target.Enum)
		}
	}
	if n.Items != nil {
		target = resolve(*n.Items, n.Items.Ref, b.Components.Schemas)
	}
	if depth > 0 && len(target.Properties) > 0 && len(target.Properties) <= maxUnfolded && lastPart(n.Ref) != owner {
		inner := b.schema("", target, depth-1)
		inner.Description = ""
		m.Inner = &inner
	}
	return m
}

// typeOf is a type in words.
func (b builder) typeOf(n node) typeView {
	switch branches := slices.Concat(n.AnyOf, n.OneOf); {
	case n.Ref != "":
		name := lastPart(n.Ref)
		return typeView{{Text: name, Ref: name}}
	case n.Items != nil:
		out := append(typeView{{Text: "array of "}}, b.typeOf(*n.Items)...)
		if slices.Contains(types(n), "null") {
			out = append(out, typePart{Text: " or null"})
		}
		return out
	case len(branches) > 0:
		var out typeView
		for i, branch := range branches {
			if i > 0 {
				out = append(out, typePart{Text: " or "})
			}
			out = append(out, b.typeOf(branch)...)
		}
		return out
	case n.Additional.schema != nil:
		return append(typeView{{Text: "map of "}}, b.typeOf(*n.Additional.schema)...)
	}
	text := strings.Join(types(n), " or ")
	if text == "" {
		text = "any JSON"
	}
	if n.Format != "" {
		text += " · " + n.Format
	}
	return typeView{{Text: text}}
}

func types(n node) []string {
	switch t := n.Type.(type) {
	case string:
		return []string{t}
	case []any:
		return values(t)
	}
	return nil
}

// rules are the limits in words.
func rules(n node) string {
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
	if to, ok := n.Maximum.(float64); !ok || to < 1<<53-1 { // the bound of every integer says nothing
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

func values(list []any) []string {
	var out []string
	for _, v := range list {
		if v == nil {
			v = "null"
		}
		out = append(out, fmt.Sprint(v))
	}
	return out
}

func indent(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}
