package definition

import (
	"bytes"
	"cmp"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/textclean"
	"github.com/formsvc/formsvc/internal/validation"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
)

// Validator checks request bodies. It has no state: safe for concurrent use.
//
// Every method returns a *[jsontree.SyntaxError] for a body that is not acceptable JSON
// (400) and a *[schema.Error] for a body that breaks rules (422). A body of white space
// only counts as missing, which is a *schema.Error.
type Validator struct {
	limits schema.Limits
	zone   *time.Location
}

// NewValidator returns checks with limits whose zero fields mean their defaults; a
// negative one is an error. The zone is the zone of calendar days; nil is UTC.
func NewValidator(l schema.Limits, zone *time.Location) (*Validator, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	return &Validator{limits: l.WithDefaults(), zone: cmp.Or(zone, time.UTC)}, nil
}

// The schemas of request bodies.
var (
	workspaceWriteSchema = validation.Component("WorkspaceWrite")
	formCreateSchema     = validation.Component("FormCreate")
	formUpdateSchema     = validation.Component("FormUpdate")
	blockCreateSchema    = validation.Component("BlockCreate")
	blocksReplaceSchema  = validation.Component("BlocksReplace")
	blockWriteSchema     = validation.Component("BlockWrite")
	webhookCreateSchema  = validation.Component("WebhookCreate")
	webhookUpdateSchema  = validation.Component("WebhookUpdate")
	// A patch is checked as the block that it makes, with the place in the patch as the path of a
	// violation. Before that only the types of its members count.
	blockUpdateSchema = validation.Outline("BlockUpdate", 2)
)

// Workspace checks a WorkspaceWrite (operations createWorkspace and
// updateWorkspace) and returns the name as [textclean.CleanName] does.
func (w *Validator) Workspace(body []byte) (name string, err error) {
	r, err := readAndCheck(body, workspaceWriteSchema, (*request).cleanName)
	if err != nil {
		return "", err
	}
	defer r.tree.Release()
	return strings.Clone(r.root.Member("name").Text()), nil
}

// CheckBlockID checks the block id of a path: 1 to 200 characters. The
// *[schema.Error] has the path "path:blockId".
func (w *Validator) CheckBlockID(id string) error {
	switch n := utf8.RuneCountInString(id); {
	case n < 1:
		return violation.New("path:blockId", schema.CodeTooShort, "must have at least 1 character")
	case n > 200:
		return violation.New("path:blockId", schema.CodeTooLong, "must have at most 200 characters")
	}
	return nil
}

// request is a body on its way through the checks.
type request struct {
	validation.Check
	tree *jsontree.Tree
	root jsontree.Node
}

// read parses a body and reports values that no part of it may contain.
func read(body []byte) (*request, error) {
	if len(bytes.Trim(body, " \t\r\n")) == 0 {
		return nil, violation.New("", schema.CodeRequired, "a JSON body is required")
	}
	tree, err := jsontree.Parse(body, jsontree.BodyLimits)
	if err != nil {
		return nil, err
	}
	r := &request{tree: tree, root: tree.Root()}
	nuls := 0
	r.reportNUL(r.root, &nuls)
	return r, nil
}

// readAndCheck reads a body and holds it against its schema, after the rules have looked at it.
// The edits are ready to be applied.
func readAndCheck(body []byte, s *validation.Schema, rules func(*request)) (*request, error) {
	r, err := read(body)
	if err != nil {
		return nil, err
	}
	rules(r)
	if err = r.Validate(r.root, s); err == nil {
		err = r.Violations.Err()
	}
	if err != nil {
		r.tree.Release()
		return nil, err
	}
	jsontree.SortEdits(r.Edits)
	return r, nil
}

// reportNUL reports the strings and names with U+0000, as many as an Error carries.
func (r *request) reportNUL(n jsontree.Node, found *int) {
	if !n.HasNUL() || *found >= schema.MaxViolations {
		return
	}
	if n.Kind() == jsontree.String && strings.IndexByte(n.Text(), 0) >= 0 {
		*found++
		r.Add(n, schema.CodeBadFormat, violation.MessageNUL)
	}
	if strings.IndexByte(n.Name(), 0) >= 0 {
		*found++
		r.Add(n, schema.CodeBadFormat, violation.MessageNUL)
	}
	for _, child := range n.All() {
		r.reportNUL(child, found)
	}
}

// name removes what nobody sees from the member name, before its length is checked, and
// refuses a name that cannot be seen or reads as another name.
func (r *request) cleanName() {
	name := r.root.Member("name")
	if name.Kind() == jsontree.String {
		name.SetText(textclean.CleanName(name.Text()))
	}
	switch text := name.Text(); {
	case text == "" || name.HasNUL():
	case textclean.IsBlank(text):
		r.Add(name, schema.CodeTooShort, "must have a visible character")
	case textclean.IsMisleading(text):
		r.Add(name, schema.CodeBadFormat, violation.MessageMisleading)
	}
}

// text returns a member that is a string, nil when there is none. It is a copy, so
// that keeping it does not keep the body.
func (r *request) text(name string) *string {
	n := r.root.Member(name)
	if n.Kind() != jsontree.String {
		return nil
	}
	return new(strings.Clone(n.Text()))
}

var errNotStored = errors.New("not a value that this package stored")
