package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/schema"
)

// newDocs renders the API description once. It is the document that the service
// serves at /v1/openapi.json, made readable without anything from elsewhere.
func newDocs() (http.Handler, error) {
	var d document
	if err := json.Unmarshal(schema.OpenAPI(), &d); err != nil { //nolint:musttag // the members are named like the fields
		return nil, fmt.Errorf("API description: %w", err)
	}
	var page bytes.Buffer
	if err := pages.ExecuteTemplate(&page, "docs.html", d.view()); err != nil {
		return nil, fmt.Errorf("API description: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'self'")
		_, _ = w.Write(page.Bytes()) // the reader may be gone; there is nobody to tell
	}), nil
}

// document is as much of an OpenAPI 3.1 document as the page shows.
type document struct {
	Info       struct{ Title, Version, Description string }
	Tags       []struct{ Name, Description string }
	Paths      ordered[pathItem]
	Webhooks   ordered[pathItem]
	Components struct {
		Parameters ordered[parameter]
		Responses  ordered[message]
		Schemas    ordered[node]
	}
}

type pathItem struct {
	Parameters                    []parameter
	Get, Post, Put, Patch, Delete *operation
}

type operation struct {
	OperationID, Summary, Description string
	Tags                              []string
	Security                          []map[string][]string
	Parameters                        []parameter
	RequestBody                       *message
	Responses                         ordered[message]
}

type parameter struct {
	Ref         string `json:"$ref"`
	Name, In    string
	Description string
	Required    bool
	Schema      node
}

// message is a request body or a response.
type message struct {
	Ref         string `json:"$ref"`
	Description string
	Content     map[string]struct {
		Schema   node
		Example  json.RawMessage
		Examples ordered[struct {
			Summary string
			Value   json.RawMessage
		}]
	}
}

// node is a schema.
type node struct {
	Ref         string `json:"$ref"`
	Type        any    // a string or a list of them
	Format      string
	Description string
	Properties  ordered[node]
	Required    []string
	Items       *node
	Enum        []any
	AnyOf       []node

	Default, Minimum, Maximum, MinLength, MaxLength any
}

// The rest turns the document into what the template walks through.

type docsView struct {
	Title, Version, Description string
	Groups                      []docsGroup
	Schemas                     ordered[node]
}

type docsGroup struct {
	Name, Description string
	Operations        []docsOperation
}

type docsOperation struct {
	Method, Path string
	Scope        string // empty: any valid key
	Public       bool   // no key
	*operation
	Parameters []parameter
	Body       *docsMessage
	Answers    []docsMessage
}

type docsMessage struct {
	Status, Description string
	Schema              *node
	Members             *node // of a request body: the schema itself
	Examples            []docsExample
}

type docsExample struct{ Summary, JSON string }

func (d document) view() docsView {
	v := docsView{Title: d.Info.Title, Version: d.Info.Version, Description: d.Info.Description, Schemas: d.Components.Schemas}
	for _, tag := range d.Tags {
		v.Groups = append(v.Groups, docsGroup{Name: tag.Name, Description: tag.Description})
	}
	v.Groups = append(v.Groups, docsGroup{Name: "Events", Description: "What the service sends to webhooks."})
	for _, path := range d.Paths {
		d.addOperations(&v, path.Name, path.Value, "")
	}
	for _, event := range d.Webhooks {
		d.addOperations(&v, event.Name, event.Value, "Events")
	}
	return v
}

func (d document) addOperations(v *docsView, path string, item pathItem, group string) {
	for _, m := range []struct {
		name string
		*operation
	}{{"GET", item.Get}, {"POST", item.Post}, {"PUT", item.Put}, {"PATCH", item.Patch}, {"DELETE", item.Delete}} {
		if m.operation == nil {
			continue
		}
		op := docsOperation{Method: m.name, Path: path, operation: m.operation, Public: len(m.Security) == 0}
		if !op.Public {
			op.Scope = strings.Join(m.Security[0]["ApiKey"], ", ")
		}
		for _, p := range slices.Concat(item.Parameters, m.Parameters) {
			op.Parameters = append(op.Parameters, resolve(p, p.Ref, d.Components.Parameters))
		}
		if m.RequestBody != nil {
			body := newDocsMessage("", *m.RequestBody)
			if body.Schema != nil {
				members := resolve(*body.Schema, body.Schema.Ref, d.Components.Schemas)
				body.Members = &members
			}
			op.Body = &body
		}
		for _, r := range m.Responses {
			op.Answers = append(op.Answers, newDocsMessage(r.Name, resolve(r.Value, r.Value.Ref, d.Components.Responses)))
		}
		tag := group
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

// resolve follows a reference into the components.
func resolve[T any](value T, ref string, components ordered[T]) T {
	for _, c := range components {
		if ref != "" && c.Name == lastPart(ref) {
			return c.Value
		}
	}
	return value
}

func newDocsMessage(status string, m message) docsMessage {
	out := docsMessage{Status: status, Description: m.Description}
	content, ok := m.Content["application/json"]
	if !ok {
		return out
	}
	out.Schema = &content.Schema
	if content.Example != nil {
		out.Examples = append(out.Examples, docsExample{"Example", indent(content.Example)})
	}
	for _, e := range content.Examples {
		out.Examples = append(out.Examples, docsExample{e.Value.Summary, indent(e.Value.Value)})
	}
	return out
}

// RefName is the name of the schema that a node refers to, or nothing.
func (n node) RefName() string { return lastPart(n.Ref) }

// TypeText is the type in words, for a node that is no reference.
func (n node) TypeText() string {
	var text string
	switch t := n.Type.(type) {
	case string:
		text = t
	case []any:
		text = strings.Join(texts(t), " or ")
	default:
		text = "any"
	}
	if n.Format != "" {
		text += " · " + n.Format
	}
	return text
}

// Rules are the limits in words.
func (n node) Rules() string {
	var rules []string
	span := func(from, to any, unit string) {
		switch {
		case from != nil && to != nil:
			rules = append(rules, fmt.Sprintf("%v to %v%s", from, to, unit))
		case from != nil:
			rules = append(rules, fmt.Sprintf("at least %v%s", from, unit))
		case to != nil:
			rules = append(rules, fmt.Sprintf("at most %v%s", to, unit))
		}
	}
	if n.MinLength == 1.0 && n.MaxLength == nil {
		rules = append(rules, "not empty")
	} else {
		span(n.MinLength, n.MaxLength, " characters")
	}
	if to, ok := n.Maximum.(float64); !ok || to < 1<<53-1 { // the bound of every integer tells nothing
		span(n.Minimum, n.Maximum, "")
	}
	if n.Default != nil {
		rules = append(rules, fmt.Sprintf("default %v", n.Default))
	}
	return strings.Join(rules, ", ")
}

// Values are those of an enumeration.
func (n node) Values() []string { return texts(n.Enum) }

// Requires says whether a member must be there.
func (n node) Requires(name string) bool { return slices.Contains(n.Required, name) }

func texts(values []any) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = fmt.Sprint(v)
	}
	return out
}

func lastPart(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

func indent(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}

// ordered is a JSON object whose members keep their order.
type ordered[T any] []member[T]

type member[T any] struct {
	Name  string
	Value T
}

// UnmarshalJSON reads member after member.
func (o *ordered[T]) UnmarshalJSON(raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil { // the opening brace
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		m := member[T]{Name: fmt.Sprint(name)}
		if err := dec.Decode(&m.Value); err != nil {
			return err
		}
		*o = append(*o, m)
	}
	return nil
}

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	blankRow = regexp.MustCompile(`\n\s*\n`)
)

// inline renders one line of text with `code` in it. Everything is escaped before
// any tag is added.
func inline(text string) template.HTML {
	return template.HTML(codeSpan.ReplaceAllString(html.EscapeString(text), "<code>$1</code>"))
}

// prose renders the little Markdown that descriptions use: paragraphs, headings,
// lists and `code`.
func prose(text string) template.HTML {
	var out strings.Builder
	for _, part := range blankRow.Split(strings.TrimSpace(text), -1) {
		part = string(inline(part))
		switch {
		case part == "":
		case strings.HasPrefix(part, "## "):
			out.WriteString("<h3>" + part[3:] + "</h3>")
		case strings.HasPrefix(part, "- "):
			items := strings.Split(part[2:], "\n- ")
			out.WriteString("<ul><li>" + strings.Join(items, "</li><li>") + "</li></ul>")
		default:
			out.WriteString("<p>" + part + "</p>")
		}
	}
	return template.HTML(out.String())
}
