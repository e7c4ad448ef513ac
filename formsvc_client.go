package formsvc

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strconv"
	"unicode/utf8"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/faults"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Client does in Go what the API does over HTTP, with the same rules and the same calls
// of the storage. [Service.As] and [Service.AsHost] make one; it costs nothing and is
// safe for concurrent use.
//
// Errors, beside those of the storage: a [*schema.Error] that lists every fault of what
// was given, with the paths that the API names; [ErrNotFound] for what does not exist, is
// in the trash or is not accessible to the user; [ErrNotOwner]; a [*RevisionError].
//
// A list is an iterator that reads page by page while the loop goes on, and holds nothing
// of the storage in between. A loop may end early; another one over the same iterator
// begins anew. The first error, also that of a context which has ended, comes with a zero
// record and is the last pair. Records that come or go meanwhile make a list neither repeat
// nor skip one that is there throughout.
type Client struct {
	s   *Service
	who storage.Actor
}

// As returns a client for what a user may see and change: the workspaces that the user
// owns or is a member of, and what is in them. The zero ID sees nothing.
func (s *Service) As(user ID) Client { return Client{s, storage.As(user)} }

// AsHost returns a client that sees and may change everything.
func (s *Service) AsHost() Client { return Client{s, storage.AsHost()} }

func (c Client) core() *core.Core { return c.s.core }

// Query selects records of a list. The zero value selects all.
type Query struct {
	// Limit ends the list after so many records. Below 1: no limit.
	Limit int
}

// clientPage is how many records a list reads at a time, for a loop that may end early.
const clientPage = 100

// list yields the records of all pages, newest first, size a page. Records that come or
// go meanwhile make it neither repeat nor skip one that is there throughout. An error, that of an
// ended context too, is yielded as the last pair; no record follows the end of a context.
func list[T any](ctx context.Context, limit, size int, read func(page storage.Page) (found []T, more bool, err error), at func(*T) storage.Position) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		page, left := storage.Page{Limit: size}, limit
		for {
			if limit > 0 {
				page.Limit = min(size, left)
			}
			found, more, err := read(page)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for i := range found {
				if err := ctx.Err(); err != nil {
					var none T
					yield(none, err)
					return
				}
				if !yield(found[i], nil) {
					return
				}
			}
			left -= len(found)
			if !more || len(found) == 0 || limit > 0 && left <= 0 {
				return
			}
			last := at(&found[len(found)-1])
			page.After = &last
		}
	}
}

// body writes what the API would be sent, for the rules that are about it.
type body struct {
	w      jsontree.Writer
	faults []error
}

func newBody() *body {
	b := new(body)
	b.w.Object()
	return b
}

// text adds a member. path is where it stands in the body.
func (b *body) text(path, name, value string) {
	if !utf8.ValidString(value) {
		b.faults = append(b.faults, faults.One(path+"/"+name, schema.CodeBadFormat, "is not valid UTF-8"))
	}
	b.w.Name(name).String(value)
}

// id adds the id of a record, which must be given.
func (b *body) id(name string, id ID) {
	if id.IsZero() {
		b.faults = append(b.faults, faults.One("/"+name, schema.CodeRequired, "is required"))
	}
	b.w.Name(name).String(id.String())
}

func (b *body) optional(name string, value *string) {
	if value != nil {
		b.text("", name, *value)
	}
}

// raw adds a member that is JSON already; nil is left out.
func (b *body) raw(path, name string, value json.RawMessage) {
	switch {
	case value == nil:
	case !json.Valid(value):
		b.faults = append(b.faults, faults.One(path+"/"+name, schema.CodeBadFormat, "is not JSON"))
	default:
		b.w.Name(name).Raw(value)
	}
}

// definition adds the sections that are set.
func (b *body) definition(d Definition) {
	if d.Blocks == nil && d.Settings == nil && d.Theme == nil && d.Variables == nil && d.HiddenFields == nil {
		return
	}
	b.w.Name("definition").Object()
	for _, section := range []struct {
		name  string
		value json.RawMessage
	}{{"blocks", d.Blocks}, {"settings", d.Settings}, {"theme", d.Theme}, {"variables", d.Variables}, {"hidden_fields", d.HiddenFields}} {
		b.raw("/definition", section.name, section.value)
	}
	b.w.EndObject()
}

// end returns the body, within the size that a request's may have.
func (c Client) end(b *body) ([]byte, error) {
	b.w.EndObject()
	if limit := c.core().Limits.Body; int64(b.w.Len()) > limit {
		b.faults = append(b.faults, faults.One("", schema.CodeTooLong, "takes more than "+strconv.FormatInt(limit, 10)+" bytes"))
	}
	return b.w.Bytes(), faults.Join(b.faults...)
}

// told makes the errors of core those of the Go calls.
func told(err error) error {
	var syntax *jsontree.SyntaxError
	if errors.As(err, &syntax) {
		return faults.One("", schema.CodeBadFormat, "is not acceptable JSON: "+syntax.Reason)
	}
	return err
}

// Condition is what a change of a form depends on, see [IfRevision].
type Condition struct{ revision int64 }

// IfRevision makes a change conditional: the form's revision must be this one, else the
// error is a [*RevisionError]. Of several conditions one must hold. 0 is no condition.
func IfRevision(revision int64) Condition { return Condition{revision} }

// precondition is what a write of the core takes.
func precondition(conditions []Condition) (p core.Precondition) {
	for _, c := range conditions {
		if c.revision != 0 {
			p.Set, p.Revisions = true, append(p.Revisions, c.revision)
		}
	}
	return p
}

// WorkspaceCreate is a workspace to make.
type WorkspaceCreate struct {
	Name string // 1 to 120 characters without the white space around it, none of control or direction
	// Owner is required for AsHost. For As it is the user; anybody else is ErrNotOwner.
	Owner ID
}

// Workspaces lists the accessible workspaces, newest first.
func (c Client) Workspaces(ctx context.Context, q Query) iter.Seq2[Workspace, error] {
	return list(ctx, q.Limit, clientPage, func(page storage.Page) ([]Workspace, bool, error) {
		found, err := c.s.storage.Workspaces(ctx, c.who, page)
		return found, len(found) == page.Limit, err
	}, func(w *Workspace) storage.Position { return storage.Position{Time: w.CreatedAt, ID: w.ID} })
}

// Workspace returns one workspace.
func (c Client) Workspace(ctx context.Context, id ID) (Workspace, error) {
	return c.s.storage.Workspace(ctx, c.who, id)
}

// CreateWorkspace makes a workspace. It returns [ErrLimitReached] when the owner has as
// many as are allowed (Limits.Workspaces).
func (c Client) CreateWorkspace(ctx context.Context, n WorkspaceCreate) (Workspace, error) {
	b := newBody()
	b.text("", "name", n.Name)
	user, isUser := c.who.User()
	switch {
	case isUser && n.Owner.IsZero():
		n.Owner = user
	case n.Owner.IsZero():
		b.faults = append(b.faults, faults.One("/owner", schema.CodeRequired, "is required"))
	case !c.who.Host() && n.Owner != user:
		return Workspace{}, ErrNotOwner
	}
	text, err := c.end(b)
	if err != nil {
		return Workspace{}, err
	}
	w, err := c.core().CreateWorkspace(ctx, n.Owner, text)
	return orNone(w, err)
}

// RenameWorkspace gives a workspace another name. Only the owner may.
func (c Client) RenameWorkspace(ctx context.Context, id ID, name string) (Workspace, error) {
	b := newBody()
	b.text("", "name", name)
	text, err := c.end(b)
	if err != nil {
		return Workspace{}, err
	}
	w, err := c.core().UpdateWorkspace(ctx, c.who, id, text)
	return orNone(w, err)
}

// DeleteWorkspace removes a workspace and moves its forms to the trash. Only the
// owner may.
func (c Client) DeleteWorkspace(ctx context.Context, id ID) error {
	return c.core().DeleteWorkspace(ctx, c.who, id)
}

// orNone returns the zero value beside an error.
func orNone[T any](v T, err error) (T, error) {
	if err != nil {
		var none T
		return none, told(err)
	}
	return v, nil
}
