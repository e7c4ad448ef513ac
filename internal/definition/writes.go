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

// Validator checks request bodies. It is stateless and safe for concurrent use. Methods return a
// *[jsontree.SyntaxError] for invalid JSON (400), and a *[schema.Error] for a body that is empty or violates rules
// (422).
type Validator struct {
	limits schema.Limits
	zone   *time.Location
}

// NewValidator returns a Validator, or an error if a limit is negative. Zero limits mean the defaults. zone determines
// calendar days and defaults to UTC.
func NewValidator(l schema.Limits, zone *time.Location) (*Validator, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	return &Validator{limits: l.WithDefaults(), zone: cmp.Or(zone, time.UTC)}, nil
}

var (
	workspaceWriteSchema = validation.ComponentSchema("WorkspaceWrite")
	formCreateSchema     = validation.ComponentSchema("FormCreate")
	formUpdateSchema     = validation.ComponentSchema("FormUpdate")
	blockCreateSchema    = validation.ComponentSchema("BlockCreate")
	blocksReplaceSchema  = validation.ComponentSchema("BlocksReplace")
	blockWriteSchema     = validation.ComponentSchema("BlockWrite")
	webhookCreateSchema  = validation.ComponentSchema("WebhookCreate")
	webhookUpdateSchema  = validation.ComponentSchema("WebhookUpdate")
	// The schema for a patch checks only types. Apply checks the resulting block and reports violations at their position
	// in the patch.
	blockUpdateSchema = validation.ComponentOutline("BlockUpdate", 2)
)

// ParseWorkspaceName checks a WorkspaceWrite and returns the name, normalized by [textclean.CleanName].
func (w *Validator) ParseWorkspaceName(body []byte) (name string, err error) {
	r, err := readAndCheck(body, workspaceWriteSchema, (*request).cleanAndCheckName)
	if err != nil {
		return "", err
	}
	defer r.tree.Release()
	return strings.Clone(r.root.Member("name").Text()), nil
}

// CheckBlockID checks a block ID in a URL path, which must have 1 to 200 characters. The violation in the
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

type request struct {
	validation.Check
	tree *jsontree.Tree
	root jsontree.Node
}

// parseBody parses a body and reports values that are never allowed.
func parseBody(body []byte) (*request, error) {
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

// readAndCheck parses a body and checks it against the rules and the schema s. It sorts the resulting edits.
func readAndCheck(body []byte, s *validation.Schema, rules func(*request)) (*request, error) {
	r, err := parseBody(body)
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

// reportNUL reports strings and names that contain U+0000, up to the limit of a schema.Error.
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

// cleanAndCheckName removes invisible characters from the name before its length is checked. It rejects names that are
// invisible or could imitate another name.
func (r *request) cleanAndCheckName() {
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

// textMember returns a copy of a string field, or nil if it is missing. Unlike the original, the copy does not keep the
// whole body in memory.
func (r *request) textMember(name string) *string {
	n := r.root.Member(name)
	if n.Kind() != jsontree.String {
		return nil
	}
	return new(strings.Clone(n.Text()))
}

var errNotStored = errors.New("not in the stored JSON format")
