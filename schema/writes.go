package schema

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"
)

// Writes checks request bodies against the description and against the rules
// beside it. It has no state: safe for concurrent use.
//
// Every method returns a *[SyntaxError] for a body that is no acceptable JSON
// (400) and an *[Error] for one that breaks rules (422). A body of white space
// only counts as missing, which is an *Error.
type Writes struct {
	limits Limits

	workspace, formCreate, formUpdate        *shape
	blockCreate, blocksReplace, blockUpdate  *shape
	webhookCreate, webhookUpdate, blockWrite *shape
}

// NewWrites compiles the request schemas of the description ([OpenAPI]). Zero
// fields of l mean their defaults; a negative one is an error.
func NewWrites(l Limits) (*Writes, error) {
	return newWrites(OpenAPI(), l)
}

func newWrites(document []byte, l Limits) (*Writes, error) {
	l = l.WithDefaults()
	if min(l.Blocks, l.AllBlocks, l.Nesting, l.Choices, l.CustomCSS, l.Text) < 0 || l.FileSize < 0 {
		return nil, errors.New("schema: a limit is negative")
	}
	w := &Writes{limits: l}
	components := map[string]**shape{
		"WorkspaceWrite": &w.workspace,
		"FormCreate":     &w.formCreate,
		"FormUpdate":     &w.formUpdate,
		"BlockCreate":    &w.blockCreate,
		"BlocksReplace":  &w.blocksReplace,
		"BlockUpdate":    &w.blockUpdate,
		"BlockWrite":     &w.blockWrite,
		"WebhookCreate":  &w.webhookCreate,
		"WebhookUpdate":  &w.webhookUpdate,
	}
	d, err := readDescription(document)
	if err != nil {
		return nil, err
	}
	known := make(shapes)
	for name, target := range components {
		s, err := d.component(name)
		if err != nil {
			return nil, err
		}
		*target = known.of(s)
	}
	return w, nil
}

// Workspace checks a WorkspaceWrite (operations createWorkspace and
// updateWorkspace) and returns the name without the white space around it.
func (w *Writes) Workspace(body []byte) (name string, err error) {
	r, err := read(body)
	if err != nil {
		return "", err
	}
	r.trimName()
	r.walk(r.root, w.workspace, &r.place)
	if err := r.found.err(); err != nil {
		return "", err
	}
	return strings.Clone(r.root.member("name").text), nil
}

// CheckBlockID checks the block id of a path: 1 to 200 characters. The *[Error]
// has the path "path:blockId".
func (w *Writes) CheckBlockID(id string) error {
	var found violations
	switch n := utf8.RuneCountInString(id); {
	case n < 1:
		found.add("path:blockId", CodeTooShort, "must have at least 1 character")
	case n > 200:
		found.add("path:blockId", CodeTooLong, "must have at most 200 characters")
	}
	return found.err()
}

// request is a body on its way through the checks.
type request struct {
	check
	raw   []byte
	root  *node
	place place // of the body itself
}

// read parses a body and reports what no part of it may contain.
func read(body []byte) (*request, error) {
	if len(bytes.Trim(body, " \t\r\n")) == 0 {
		return nil, &Error{Violations: []Violation{{Code: CodeRequired, Message: "a JSON body is required"}}}
	}
	root, err := parse(body)
	if err != nil {
		return nil, err
	}
	r := &request{raw: body, root: root, place: place{index: -1}}
	r.noNUL(root, &r.place)
	return r, nil
}

// trimName takes the white space off the member name, before its length is
// checked.
func (r *request) trimName() {
	if name := r.root.member("name"); name != nil {
		name.text = strings.TrimSpace(name.text)
	}
}

// text returns a member that is a string, nil when there is none. It is a copy, so
// that keeping it does not keep the body.
func (r *request) text(name string) *string {
	n := r.root.member(name)
	if n == nil || n.kind != kindString {
		return nil
	}
	s := strings.Clone(n.text)
	return &s
}
