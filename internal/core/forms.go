package core

import (
	"context"
	"errors"

	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/internal/definition"
	"github.com/formsvc/formsvc/internal/objectid"
	"github.com/formsvc/formsvc/internal/timeout"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Target identifies the form of an operation.
type Target struct {
	ID   storage.ID
	Read bool // the form was already read with the API key; a nil Form means that it is not accessible
	Form *storage.Form
}

// Form returns t's form, reading it if necessary.
func (c *Core) Form(ctx context.Context, actor storage.Actor, t Target) (*storage.Form, error) {
	if t.Read {
		if t.Form == nil {
			return nil, storage.ErrNotFound
		}
		return t.Form, nil
	}
	f, err := c.Storage.Form(ctx, actor, t.ID)
	if err != nil {
		return nil, err
	}
	return &f, nil
}

// CreateForm creates a draft.
func (c *Core) CreateForm(ctx context.Context, actor storage.Actor, body []byte) (storage.Form, error) {
	w, err := c.validator.ParseFormCreate(body)
	if err != nil {
		return storage.Form{}, err
	}
	f, err := c.newForm(w)
	if err != nil {
		return storage.Form{}, err
	}
	if c.CheckContent != nil {
		if err := c.CheckContent(storage.FormContent{}, f.FormContent); err != nil {
			return storage.Form{}, err
		}
	}
	err = c.Storage.CreateForm(ctx, actor, f)
	if errors.Is(err, storage.ErrConflict) { // the host may have chosen the same public ID for another form
		f.ID, f.PublicID = c.NewID(f.CreatedAt), objectid.NewPublicID()
		err = c.Storage.CreateForm(ctx, actor, f)
	}
	return f, err
}

// newForm returns a new draft with the content of w. Without a workspace in w, the form has none.
func (c *Core) newForm(w definition.FormWrite) (storage.Form, error) {
	sections, err := c.validator.NewDefinition(w)
	if err != nil {
		return storage.Form{}, err
	}
	now := c.Now()
	f := storage.Form{
		ID:          c.NewID(now),
		PublicID:    objectid.NewPublicID(),
		FormContent: storage.FormContent{Name: *w.Name, Type: "SINGLE", Definition: sections},
		Status:      storage.StatusDraft,
		Revision:    1,
		CreatedAt:   now,
		UpdatedAt:   now,
	}
	if w.WorkspaceID != nil {
		if f.WorkspaceID, err = storage.ParseID(*w.WorkspaceID); err != nil {
			return storage.Form{}, storage.ErrNotFound
		}
	}
	if w.Type != nil {
		f.Type = *w.Type
	}
	if w.Acceptance != nil {
		f.Acceptance = *withIdentityRules(w.Acceptance)
	}
	return f, nil
}

// UpdateForm changes a form.
func (c *Core) UpdateForm(ctx context.Context, actor storage.Actor, t Target, body []byte, condition Precondition) (storage.Form, error) {
	ctx = timeout.WithBudget(ctx)
	w, err := c.validator.ParseFormUpdate(body)
	if err != nil {
		return storage.Form{}, err
	}
	if c.forWorkingCopies {
		if err := rejectFormOnlyFields(w.Status, w.WorkspaceID); err != nil {
			return storage.Form{}, err
		}
	}
	change := storage.FormChange{Name: w.Name, Type: w.Type, Status: w.Status, Acceptance: withIdentityRules(w.Acceptance), At: c.Now()}
	if w.WorkspaceID != nil {
		workspace, err := storage.ParseID(*w.WorkspaceID)
		if err != nil {
			return storage.Form{}, storage.ErrNotFound
		}
		change.WorkspaceID = &workspace
	}
	if !w.HasSections() && !c.mayReplaceVersion(change) {
		change.IfRevision = condition.OnlyRevisions()
		return c.Storage.UpdateForm(ctx, actor, t.ID, change)
	}
	// The checks need the stored form. For example, a block without a type keeps its stored type, and there is a size
	// limit for the whole form.
	return c.updateWithRetry(ctx, actor, t, condition, func(stored *storage.Form) (_ storage.FormChange, err error) {
		if change.WorkspaceID != nil {
			if err := c.checkMove(ctx, actor, stored.WorkspaceID, *change.WorkspaceID); err != nil {
				return change, err
			}
		}
		change.Definition, err = c.validator.ChangeDefinition(w, stored.Definition)
		return change, err
	})
}

// CheckSizes checks the sizes in an update without storing it; see [definition.Validator.CheckSizes].
func (c *Core) CheckSizes(body []byte) error { return c.validator.CheckSizes(body) }

// mayReplaceVersion reports whether a change without sections may create a version or change a working copy. If so, the
// caller must read the stored form.
func (c *Core) mayReplaceVersion(change storage.FormChange) bool {
	return c.forWorkingCopies || c.Versions > 0 && (change.Name != nil || change.Type != nil || change.Status != nil && *change.Status != storage.StatusPublished)
}

func withIdentityRules(g *storage.AcceptanceRules) *storage.AcceptanceRules {
	if g == nil || g.Unique.Block == "" {
		return g
	}
	with := *g
	with.Unique.Rules = answers.IdentityRules
	return &with
}

// checkMove returns the first error that the storage would return for moving a form between workspaces.
func (c *Core) checkMove(ctx context.Context, actor storage.Actor, from, to storage.ID) error {
	if _, err := c.Storage.Workspace(ctx, actor, to); err != nil || from == to {
		return err
	}
	left, err := c.Storage.Workspace(ctx, actor, from)
	if user, ok := actor.User(); err == nil && ok && left.OwnerID != user {
		return storage.ErrNotOwner
	}
	return err
}

// AnswerSource returns the source for compiling a definition.
func (c *Core) AnswerSource(d storage.Definition) answers.Source {
	return answers.Source{Definition: d, Limits: c.Limits, TimeZone: c.TimeZone}
}

// Warnings returns the parts of a definition that make it unanswerable or have no effect. layout is SINGLE, MULTI or
// unknown.
func (c *Core) Warnings(d storage.Definition, layout string) (schema.Warnings, error) {
	from := c.AnswerSource(d)
	from.Layout, from.Lists, from.Checks = layout, c.Host.Lists.Names(), c.Host.Checks.Names()
	return answers.FindWarnings(from)
}

// TrashForm moves a form to the trash.
func (c *Core) TrashForm(ctx context.Context, actor storage.Actor, id storage.ID, condition Precondition) error {
	return c.Storage.TrashForm(ctx, actor, id, storage.TrashParams{At: c.Now(), IfRevision: condition.OnlyRevisions()})
}

// MaxConflictRetries limits how often the service retries a call after concurrent changes to the form. A retry only
// happens if another change succeeded.
const MaxConflictRetries = 100

// updateWithRetry reads the form, computes a change, and writes it if the revision is still the same. After a
// concurrent change, it waits for the form's lock and tries again, unless there is a precondition.
func (c *Core) updateWithRetry(ctx context.Context, actor storage.Actor, t Target, condition Precondition,
	compute func(*storage.Form) (storage.FormChange, error),
) (storage.Form, error) {
	if t.Read && t.Form == nil {
		return storage.Form{}, storage.ErrNotFound // callers without access must not wait for the lock
	}
	ctx = timeout.WithBudget(ctx)
	var releaseLock func()
	for race := range MaxConflictRetries {
		if releaseLock == nil {
			var err error
			if releaseLock, err = c.formLocks.acquire(ctx, t.ID, race > 0); err != nil {
				return storage.Form{}, err
			}
			if releaseLock != nil {
				defer releaseLock()
				t = Target{ID: t.ID} // read the form again
			}
		}
		stored, err := c.Form(ctx, actor, t)
		if err != nil {
			return storage.Form{}, err
		}
		change, err := compute(stored)
		if err == nil && c.CheckContent != nil {
			before := contentOf(stored)
			err = c.CheckContent(before, applyChange(before, &change))
		}
		switch { // report access errors first, then the precondition, then other errors
		case errors.Is(err, storage.ErrNotFound), errors.Is(err, storage.ErrNotOwner):
			return storage.Form{}, err
		case !condition.Holds(stored.Revision):
			return storage.Form{}, &storage.RevisionError{Current: stored.Revision}
		case err != nil:
			return storage.Form{}, err
		}
		change.IfRevision = []int64{stored.Revision}
		if change.Documents == nil {
			if err := c.addVersion(ctx, actor, stored, &change, false); err != nil {
				return storage.Form{}, err
			}
		}
		updated, err := c.Storage.UpdateForm(ctx, actor, t.ID, change)
		if !errors.Is(err, storage.ErrRevisionMismatch) {
			return updated, err
		}
	}
	return storage.Form{}, storage.ErrUnavailable
}
