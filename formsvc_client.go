package formsvc

import (
	"context"
	"iter"

	"github.com/formsvc/formsvc/internal/core"
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
		found, err := c.core().Storage.Workspaces(ctx, c.who, page)
		return found, len(found) == page.Limit, err
	}, func(w *Workspace) storage.Position { return storage.Position{Time: w.CreatedAt, ID: w.ID} })
}

// Workspace returns one workspace.
func (c Client) Workspace(ctx context.Context, id ID) (Workspace, error) {
	return c.core().Storage.Workspace(ctx, c.who, id)
}

// CreateWorkspace makes a workspace. It returns [ErrLimitReached] when the owner has as
// many as are allowed (Limits.Workspaces).
func (c Client) CreateWorkspace(ctx context.Context, n WorkspaceCreate) (Workspace, error) {
	b := core.NewBody().Text("name", n.Name)
	user, isUser := c.who.User()
	switch {
	case isUser && n.Owner.IsZero():
		n.Owner = user
	case n.Owner.IsZero():
		b.Fault("/owner", schema.CodeRequired, "is required")
	case !c.who.Host() && n.Owner != user:
		return Workspace{}, ErrNotOwner
	}
	return core.Write(c.core(), b, func(body []byte) (Workspace, error) {
		return c.core().CreateWorkspace(ctx, n.Owner, body)
	})
}

// RenameWorkspace gives a workspace another name. Only the owner may.
func (c Client) RenameWorkspace(ctx context.Context, id ID, name string) (Workspace, error) {
	return core.Write(c.core(), core.NewBody().Text("name", name), func(body []byte) (Workspace, error) {
		return c.core().UpdateWorkspace(ctx, c.who, id, body)
	})
}

// DeleteWorkspace removes a workspace and moves its forms to the trash. Only the
// owner may.
func (c Client) DeleteWorkspace(ctx context.Context, id ID) error {
	return c.core().DeleteWorkspace(ctx, c.who, id)
}
