package formsvc

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/export"
	"github.com/formsvc/formsvc/internal/filter"
	"github.com/formsvc/formsvc/internal/intake"
	"github.com/formsvc/formsvc/internal/objectid"
	"github.com/formsvc/formsvc/internal/summary"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// clientPageSize is the number of records that a list reads at a time. It is small because a loop may end early.
const clientPageSize = 100

// iteratePages returns an iterator over the records of all pages that read returns. position returns a record's
// position, after which the next page starts. If refused is not nil, the iterator yields only this error.
func iteratePages[T any](ctx context.Context, refused error, q Query, read func(page storage.Page) (found []T, more bool, err error), position func(*T) storage.Position) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		if refused != nil {
			yield(zero, refused)
			return
		}
		page, remaining := storage.Page{Limit: clientPageSize, After: q.After}, q.Limit
		for {
			if q.Limit > 0 {
				page.Limit = min(clientPageSize, remaining)
			}
			found, more, err := read(page)
			if err != nil {
				yield(zero, err)
				return
			}
			for i := range found {
				if err := ctx.Err(); err != nil {
					yield(zero, err)
					return
				}
				if !yield(found[i], nil) {
					return
				}
			}
			remaining -= len(found)
			if !more || len(found) == 0 || q.Limit > 0 && remaining <= 0 {
				return
			}
			last := position(&found[len(found)-1])
			page.After = &last
		}
	}
}

// newCorePrecondition combines conditions into one core.Precondition.
func newCorePrecondition(conditions []Precondition) (p core.Precondition) {
	for _, c := range conditions {
		if c.revision != 0 {
			p.Set, p.Revisions = true, append(p.Revisions, c.revision)
		}
	}
	return p
}

// RejectedURLError means that the [webhooks.Guard] rejects the URL of a webhook. It contains the reason, and wraps an
// *[Error]. Find it with errors.As and a *RejectedURLError. For a receiver on the same machine in development, set
// [webhooks.Config.AllowedNetworks] ([WithWebhookConfig]). See [schema.RejectedURLError].
type RejectedURLError = schema.RejectedURLError

// ErrBlockExists means that the form already has a block with this ID.
var ErrBlockExists = schema.ErrBlockExists

// With returns a client that has only the given scopes, as if it used an API key. A method whose scope is missing
// returns [ErrInsufficientScope], also for [Service.AsHost]. The client's working copies and [Client.ServeHTTP] check
// the same scopes. A second call can only remove scopes. Without arguments, the client has no scopes.
//
// Methods that the HTTP API lacks require the following scopes. Summaries, exports and lists of partial submissions
// require submissions:read. DeletePartial requires submissions:write. SubmissionTotals requires analytics:read.
// Versions, and all changes to a working copy, require forms:write.
func (c Client) With(scopes ...Scope) Client {
	c.core() // panics for a zero Client
	kept := make([]Scope, 0, len(scopes))
	for _, s := range scopes {
		if c.require(s) == nil {
			kept = append(kept, s)
		}
	}
	c.scopes = kept
	return c
}

// require returns ErrInsufficientScope if the client lacks a scope.
func (c Client) require(s Scope) error {
	if c.scopes != nil && !slices.Contains(c.scopes, s) {
		return fmt.Errorf("%w %s", ErrInsufficientScope, s)
	}
	return nil
}

// allowed returns the scopes that the client can use.
func (c Client) allowed() []Scope {
	if c.scopes == nil {
		return Scopes()
	}
	return c.scopes
}

// get returns the result of read, or an error if the client lacks the scope.
func get[T any](c Client, s Scope, read func() (T, error)) (value T, err error) {
	if err = c.require(s); err == nil {
		value, err = read()
	}
	return value, err
}

// run calls do, or returns an error if the client lacks the scope.
func (c Client) run(s Scope, do func() error) error {
	if err := c.require(s); err != nil {
		return err
	}
	return do()
}

// runOperation is core.RunOperation for a client with the scope.
func runOperation[T any](c Client, s Scope, b *core.Body, operation func(body []byte) (T, error)) (T, error) {
	return get(c, s, func() (T, error) { return core.RunOperation(c.core(), b, operation) })
}

// Workspaces lists the accessible workspaces, newest first.
func (c Client) Workspaces(ctx context.Context, q Query) iter.Seq2[Workspace, error] {
	return iteratePages(ctx, c.require(storage.ScopeWorkspacesRead), q, func(page storage.Page) ([]Workspace, bool, error) {
		found, err := c.core().Storage.Workspaces(ctx, c.actor, page)
		return found, len(found) == page.Limit, err
	}, func(w *Workspace) storage.Position { return storage.Position{Time: w.CreatedAt, ID: w.ID} })
}

// Workspace returns one workspace.
func (c Client) Workspace(ctx context.Context, id ID) (Workspace, error) {
	return get(c, storage.ScopeWorkspacesRead, func() (Workspace, error) { return c.core().Storage.Workspace(ctx, c.actor, id) })
}

// CreateWorkspace creates a workspace. It returns [ErrLimitReached] if the owner already has Limits.Workspaces
// workspaces.
func (c Client) CreateWorkspace(ctx context.Context, n WorkspaceCreate) (Workspace, error) {
	b := core.NewBody().Text("name", n.Name)
	user, isUser := c.actor.User()
	switch {
	case isUser && n.Owner.IsZero():
		n.Owner = user
	case n.Owner.IsZero():
		b.AddViolation("/owner", schema.CodeRequired, "is required")
	case !c.actor.Host() && n.Owner != user:
		return Workspace{}, ErrNotOwner
	}
	return runOperation(c, storage.ScopeWorkspacesWrite, b, func(body []byte) (Workspace, error) {
		return c.core().CreateWorkspace(ctx, n.Owner, body)
	})
}

// RenameWorkspace renames a workspace. Only its owner can rename it.
func (c Client) RenameWorkspace(ctx context.Context, id ID, name string) (Workspace, error) {
	return runOperation(c, storage.ScopeWorkspacesWrite, core.NewBody().Text("name", name), func(body []byte) (Workspace, error) {
		return c.core().UpdateWorkspace(ctx, c.actor, id, body)
	})
}

// DeleteWorkspace deletes a workspace and moves its forms to the trash. Only its owner can delete it.
func (c Client) DeleteWorkspace(ctx context.Context, id ID) error {
	return c.run(storage.ScopeWorkspacesWrite, func() error { return c.core().DeleteWorkspace(ctx, c.actor, id) })
}

// Forms lists forms without their definitions, newest first.
func (c Client) Forms(ctx context.Context, q FormQuery) iter.Seq2[Form, error] {
	return iteratePages(ctx, c.require(storage.ScopeFormsRead), Query{Limit: q.Limit}, func(page storage.Page) ([]Form, bool, error) {
		found, err := c.core().Storage.Forms(ctx, c.actor, storage.FormsParams{WorkspaceID: q.Workspace, Page: page})
		return found, len(found) == page.Limit, err
	}, func(f *Form) storage.Position { return storage.Position{Time: f.CreatedAt, ID: f.ID} })
}

// Form returns one form with its definition.
func (c Client) Form(ctx context.Context, id ID) (Form, error) {
	return cloneForm(get(c, storage.ScopeFormsRead, func() (Form, error) { return c.core().Storage.Form(ctx, c.actor, id) }))
}

// cloneForm returns f with copies of its sections, because a storage may return the same bytes to several callers.
func cloneForm(f Form, err error) (Form, error) {
	for _, section := range f.Sections() {
		*section.Value = bytes.Clone(*section.Value)
	}
	if err != nil {
		return Form{}, err
	}
	return f, nil
}

// CreateForm creates a form as a draft.
func (c Client) CreateForm(ctx context.Context, n FormCreate) (Form, error) {
	b := n.body()
	if n.PublicID != "" {
		b.AddViolation("/public_id", schema.CodeNotAllowed, "is accepted only by EnsureForm")
	}
	return cloneForm(runOperation(c, storage.ScopeFormsWrite, b, func(body []byte) (Form, error) {
		return c.core().CreateForm(ctx, c.actor, body)
	}))
}

func (n *FormCreate) body() *core.Body {
	b := core.NewBody().ID("workspace_id", n.Workspace).Text("name", n.Name)
	if n.Type != "" {
		b.Text("type", n.Type)
	}
	return b.Definition(n.Definition)
}

// EnsureForm creates and publishes the form with the ID n.PublicID, or updates it. A host can call it in each process at
// startup, to manage a form in its source code. Only the client of [Service.AsHost] can call it. [Service.ParseForm]
// reads n from a file.
//
// EnsureForm updates the form only if its workspace, name, type, definition and status are those that the last call
// stored, and it has no working copy. Otherwise someone edited the form. EnsureForm then changes nothing and returns the
// form as Edited, unless there is the option [Overwrite]. An update publishes the form immediately, and the replaced
// state becomes a version ([Client.Versions]). If the form already equals n, nothing is written to it and its revision
// does not change. To adopt edits, store them in n: a form that equals n is no longer edited.
//
// Concurrent calls, also of several processes, create one form. If they have different definitions, the last one wins.
// Warnings about the form ([Service.Warnings]) are logged.
//
// EnsureForm returns [ErrConflict] if the public ID belongs to a form in the trash or to a form of another workspace. It
// returns [ErrNotFound] if the workspace does not exist, and [ErrUnsupported] if the storage does not support documents.
// If n is invalid, the error is an [*Error] with all violations, and nothing changes.
func (c Client) EnsureForm(ctx context.Context, n FormCreate, options ...EnsureOption) (EnsuredForm, error) {
	b := n.body()
	switch {
	case !c.actor.Host():
		b.AddViolation("/public_id", schema.CodeNotAllowed, "can be chosen only by the client of Service.AsHost")
	case !objectid.IsPublicID(n.PublicID):
		b.AddViolation("/public_id", schema.CodeBadFormat, "must have 1 to 64 letters, digits, - and _, and start with a letter or digit")
	}
	overwrite := slices.Contains(options, Overwrite())
	return runOperation(c, storage.ScopeFormsWrite, b, func(body []byte) (EnsuredForm, error) {
		f, edited, err := c.core().EnsureForm(ctx, n.PublicID, body, overwrite)
		f, err = cloneForm(f, err)
		return EnsuredForm{f, edited}, err
	})
}

// UpdateForm changes a form and returns the changed form.
func (c Client) UpdateForm(ctx context.Context, id ID, u FormUpdate) (Form, error) {
	b := core.NewBody().OptionalText("name", u.Name).OptionalText("type", u.Type).OptionalText("status", u.Status)
	if u.Workspace != nil {
		b.Text("workspace_id", u.Workspace.String())
	}
	return cloneForm(runOperation(c, storage.ScopeFormsWrite, b.Definition(u.Definition), func(body []byte) (Form, error) {
		return c.core().UpdateForm(ctx, c.actor, core.Target{ID: id}, body, newCorePrecondition([]Precondition{IfRevision(u.IfRevision)}))
	}))
}

// PublishForm sets a form's status to published. The form then accepts submissions, unless it is closed.
func (c Client) PublishForm(ctx context.Context, id ID) (Form, error) {
	status := storage.StatusPublished
	return c.UpdateForm(ctx, id, FormUpdate{Status: &status})
}

// TrashForm moves a form to the trash.
func (c Client) TrashForm(ctx context.Context, id ID, conditions ...Precondition) error {
	return c.run(storage.ScopeFormsWrite, func() error { return c.core().TrashForm(ctx, c.actor, id, newCorePrecondition(conditions)) })
}

// Blocks returns the top-level blocks of a form.
func (c Client) Blocks(ctx context.Context, form ID) (StoredBlocks, error) {
	return cloneBlocks(get(c, storage.ScopeFormsRead, func() (Form, error) { return c.core().Storage.Form(ctx, c.actor, form) }))
}

// cloneBlocks copies a form's blocks, because a storage may return the same bytes to several callers.
func cloneBlocks(f Form, err error) (StoredBlocks, error) {
	if err != nil {
		return StoredBlocks{}, err
	}
	return StoredBlocks{JSON: bytes.Clone(f.Blocks), Revision: f.Revision}, nil
}

// Block returns one top-level block of a form.
func (c Client) Block(ctx context.Context, form ID, id string) (StoredBlock, error) {
	return cloneBlock(get(c, storage.ScopeFormsRead, func() (StoredBlock, error) { return c.core().Block(ctx, c.actor, core.Target{ID: form}, id) }))
}

// cloneBlock copies a block, because a storage may return the same bytes to several callers.
func cloneBlock(b StoredBlock, err error) (StoredBlock, error) {
	if err != nil {
		return StoredBlock{}, err
	}
	b.JSON = bytes.Clone(b.JSON)
	return b, nil
}

// CreateBlock appends a block to a form. The JSON can be a [schema.Block] encoded with json.Marshal. CreateBlock
// returns [ErrBlockExists] if the form already has a block with the same ID.
func (c Client) CreateBlock(ctx context.Context, form ID, block json.RawMessage, conditions ...Precondition) (StoredBlock, error) {
	return cloneBlock(runOperation(c, storage.ScopeFormsWrite, core.NewBody().JSON("block", block), func(body []byte) (StoredBlock, error) {
		return c.core().CreateBlock(ctx, c.actor, core.Target{ID: form}, body, newCorePrecondition(conditions))
	}))
}

// ReplaceBlocks replaces or reorders all blocks of a form. A block without a type keeps its stored type.
func (c Client) ReplaceBlocks(ctx context.Context, form ID, blocks json.RawMessage, conditions ...Precondition) (StoredBlocks, error) {
	return cloneBlocks(runOperation(c, storage.ScopeFormsWrite, core.NewBody().JSON("blocks", blocks), func(body []byte) (Form, error) {
		return c.core().ReplaceBlocks(ctx, c.actor, core.Target{ID: form}, body, newCorePrecondition(conditions))
	}))
}

// UpdateBlock applies a merge patch (RFC 7396) to one top-level block.
func (c Client) UpdateBlock(ctx context.Context, form ID, id string, patch json.RawMessage, conditions ...Precondition) (StoredBlock, error) {
	return cloneBlock(runOperation(c, storage.ScopeFormsWrite, core.NewBody().JSON("block", patch), func(body []byte) (StoredBlock, error) {
		return c.core().UpdateBlock(ctx, c.actor, core.Target{ID: form}, id, body, newCorePrecondition(conditions))
	}))
}

// DeleteBlock removes one top-level block with its children, and returns the form's new revision.
func (c Client) DeleteBlock(ctx context.Context, form ID, id string, conditions ...Precondition) (revision int64, err error) {
	return get(c, storage.ScopeFormsWrite, func() (int64, error) {
		return c.core().DeleteBlock(ctx, c.actor, core.Target{ID: form}, id, newCorePrecondition(conditions))
	})
}

// Warnings returns the warnings for a stored form, see [Service.Warnings].
func (c Client) Warnings(ctx context.Context, form ID) (schema.Warnings, error) {
	f, err := c.Form(ctx, form)
	if err != nil {
		return nil, err
	}
	return c.core().Warnings(f.Definition, f.Type)
}

// EditorForm returns the working copy of a form, or the form if there is none. The name and the sections in unsaved
// replace the stored values. The other fields of unsaved are ignored, and nothing is stored. formpage.Handler.Canvas
// renders the result in an editor. Unsaved content can violate any rule except the size limits. If it exceeds a size
// limit, EditorForm returns an [*Error]. It omits values of the wrong type.
func (c Client) EditorForm(ctx context.Context, id ID, unsaved FormUpdate) (PublicForm, error) {
	form, err := c.WorkingCopy(id).Form(ctx)
	if errors.Is(err, ErrUnsupported) {
		form, err = c.Form(ctx, id)
	}
	if err != nil {
		return PublicForm{}, err
	}
	d, u := &form.Definition, &unsaved.Definition
	body := core.NewBody().OptionalText("name", unsaved.Name).Definition(*u)
	if _, err := core.RunOperation(c.core(), body, func(body []byte) (struct{}, error) { return struct{}{}, c.core().CheckSizes(body) }); err != nil {
		return PublicForm{}, err
	}
	if unsaved.Name != nil {
		form.Name = *unsaved.Name
	}
	u.Format = d.Format
	d.Apply(*u)
	p := PublicForm{ID: form.ID, PublicID: form.PublicID, Name: form.Name, Type: form.Type, Closed: form.IsClosed(c.core().Clock()), Definition: *d}
	var blocks []json.RawMessage
	decodeValid(d.Blocks, &blocks)
	p.Blocks = make([]schema.Block, len(blocks))
	for i, block := range blocks { // decode each block separately, because an invalid value would stop decoding a list
		decodeValid(block, &p.Blocks[i])
	}
	decodeValid(d.Settings, &p.Settings)
	decodeValid(d.Theme, &p.Theme)
	p.ClosedMessage = p.Settings.ClosedMessage
	return p, nil
}

// decodeValid decodes the valid parts of a JSON value and ignores errors.
func decodeValid(raw json.RawMessage, into any) { _ = json.Unmarshal(raw, into) }

// ServeHTTP serves all operations of the HTTP API for the client's user. The host's own pages, such as handler/builder,
// use it. It requires no key and has no rate limit. It checks scopes only after [Client.With].
//
// The host must identify the signed-in user, use this user's Client, and reject requests from other sites. It must also
// strip everything before the operation's path (such as /workspaces) from the URL path. Links in responses start with
// the stripped part. With [Service.AsHost], GET /me returns the zero ID, and no workspace can be created.
func (c Client) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.core() // panics for a zero Client
	actor := c.actor
	if actor.Local() { // local webhooks do not exist in the HTTP API
		actor = storage.AsHost()
	}
	c.s.handler.For(actor, c.allowed()).ServeHTTP(w, r)
}

// FormsWithWorkingCopy makes one query and returns the accessible forms that have a working copy, in any order. It
// returns [ErrUnsupported] if the storage does not support working copies.
func (c Client) FormsWithWorkingCopy(ctx context.Context, forms ...ID) ([]ID, error) {
	return get(c, storage.ScopeFormsRead, func() ([]ID, error) { return c.core().FormsWithWorkingCopy(ctx, c.actor, forms) })
}

// WorkingCopy returns the working copy of a form, which contains unpublished changes. A form has at most one working
// copy, which all editors of the form share. The first change creates it from the form. If a change makes the working
// copy equal to the form, the working copy is deleted. If there is no working copy, reads return the form.
//
// The methods of a WorkingCopy follow the same rules and permissions as the Client methods for forms. Conditions
// ([IfRevision]) use the working copy's own revision. The form itself can still be changed, and [WorkingCopy.Publish]
// merges these changes into the result. [Service.PreviewForm] shows the working copy. If the storage does not support
// documents, each method returns [ErrUnsupported].
func (c Client) WorkingCopy(form ID) WorkingCopy {
	copies := c.core().ForWorkingCopies()
	copied := *c.s
	copied.core = copies
	return WorkingCopy{formClient: c, copyClient: Client{&copied, c.actor, c.scopes}, form: form}
}

// Form returns the form with the name, the type, the definition and the revision of the working copy.
func (w WorkingCopy) Form(ctx context.Context) (Form, error) { return w.copyClient.Form(ctx, w.form) }

// UpdateForm changes the working copy as [Client.UpdateForm] changes a form. It rejects Status and Workspace, because a
// working copy has only a name, a type and a definition.
func (w WorkingCopy) UpdateForm(ctx context.Context, u FormUpdate) (Form, error) {
	return w.copyClient.UpdateForm(ctx, w.form, u)
}

// Blocks is like [Client.Blocks], but for the working copy.
func (w WorkingCopy) Blocks(ctx context.Context) (StoredBlocks, error) {
	return w.copyClient.Blocks(ctx, w.form)
}

// Block is like [Client.Block], but for the working copy.
func (w WorkingCopy) Block(ctx context.Context, id string) (StoredBlock, error) {
	return w.copyClient.Block(ctx, w.form, id)
}

// CreateBlock is like [Client.CreateBlock], but for the working copy.
func (w WorkingCopy) CreateBlock(ctx context.Context, block json.RawMessage, conditions ...Precondition) (StoredBlock, error) {
	return w.copyClient.CreateBlock(ctx, w.form, block, conditions...)
}

// ReplaceBlocks is like [Client.ReplaceBlocks], but for the working copy.
func (w WorkingCopy) ReplaceBlocks(ctx context.Context, blocks json.RawMessage, conditions ...Precondition) (StoredBlocks, error) {
	return w.copyClient.ReplaceBlocks(ctx, w.form, blocks, conditions...)
}

// UpdateBlock is like [Client.UpdateBlock], but for the working copy.
func (w WorkingCopy) UpdateBlock(ctx context.Context, id string, patch json.RawMessage, conditions ...Precondition) (StoredBlock, error) {
	return w.copyClient.UpdateBlock(ctx, w.form, id, patch, conditions...)
}

// DeleteBlock is like [Client.DeleteBlock], but for the working copy.
func (w WorkingCopy) DeleteBlock(ctx context.Context, id string, conditions ...Precondition) (revision int64, err error) {
	return w.copyClient.DeleteBlock(ctx, w.form, id, conditions...)
}

// Warnings returns the warnings for the working copy, see [Service.Warnings].
func (w WorkingCopy) Warnings(ctx context.Context) (schema.Warnings, error) {
	return w.copyClient.Warnings(ctx, w.form)
}

// Publish atomically copies the name, the type and the definition from the working copy to the form, publishes the
// form, and deletes the working copy. If the form was already published, its old state becomes a version
// ([Client.Versions]).
//
// Publish also merges changes that were made to the form since the working copy was created. It merges by part: the
// name, the type, each setting, each block, and each other section. If only one side changed a part, that change is
// used. If both sides changed a part differently, Publish changes nothing and returns a [*ConflictError] until
// p.Resolutions selects a side for each conflict. Parts are compared byte by byte. Blocks follow the order of the
// working copy, even if only the form was reordered. A block that exists only in the form stays after its predecessor.
// If the result violates a rule for writes, the error is a [*schema.Error]. Without a working copy, the form is
// published as is.
func (w WorkingCopy) Publish(ctx context.Context, p PublishOptions) (Form, error) {
	return cloneForm(get(w.formClient, storage.ScopeFormsWrite, func() (Form, error) {
		return w.formClient.core().Publish(ctx, w.formClient.actor, w.form, newCorePrecondition([]Precondition{IfRevision(p.IfRevision)}), p.Resolutions, p.DryRun)
	}))
}

// Discard deletes the working copy, if there is one.
func (w WorkingCopy) Discard(ctx context.Context, conditions ...Precondition) error {
	return w.formClient.run(storage.ScopeFormsWrite, func() error {
		return w.formClient.core().Discard(ctx, w.formClient.actor, w.form, newCorePrecondition(conditions))
	})
}

// ServeHTTP serves the working copy to an editor in a browser, with the API's operations on the form: GET and PATCH of
// /forms/{formId}, GET of its /questions, and the operations on its /blocks. A PATCH of the form accepts the name and
// the definition. Requests for other paths and forms return 404. The host has the same duties as for
// [Client.ServeHTTP]. The link to submissions in its responses does not work.
func (w WorkingCopy) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.formClient.s.handler.WorkingCopy(w.copyClient.core(), w.formClient.actor, w.form, w.formClient.allowed()).ServeHTTP(rw, r)
}

// Versions lists the earlier published states of a form, newest first, without their content. A version is created when
// the name or the definition of a published form changes, or when the form becomes a draft. [WorkingCopy.Publish] and
// [Client.RestoreVersion] always create a version. Other writes create a version only if the newest version is at least
// ten minutes old. A form has at most 100 versions ([WithVersions]) of 32 MiB in total. If the storage does not support
// documents, the error is [ErrUnsupported].
func (c Client) Versions(ctx context.Context, form ID) iter.Seq2[FormVersion, error] {
	return func(yield func(FormVersion, error) bool) {
		if err := c.require(storage.ScopeFormsWrite); err != nil {
			yield(FormVersion{}, err)
			return
		}
		c.core().VersionList(ctx, c.actor, form)(yield)
	}
}

// Version returns one version of a form with its content, or [ErrNotFound]. [schema.Diff] compares two versions.
func (c Client) Version(ctx context.Context, form ID, revision int64) (FormVersion, error) {
	return get(c, storage.ScopeFormsWrite, func() (FormVersion, error) { return c.core().Version(ctx, c.actor, form, revision) })
}

// RestoreVersion replaces the name, the type and the definition of a form with those of a version. The same rules apply
// as for any write. If the form is published, its replaced state becomes a version. The status and the working copy do
// not change. It returns [ErrNotFound] if the version does not exist.
func (c Client) RestoreVersion(ctx context.Context, form ID, revision int64, r RestoreOptions) (Form, error) {
	return cloneForm(get(c, storage.ScopeFormsWrite, func() (Form, error) {
		return c.core().RestoreVersion(ctx, c.actor, form, revision, newCorePrecondition([]Precondition{IfRevision(r.IfRevision)}))
	}))
}

// DecodeAnswers returns the answers of a stored submission in the order of the form, then hidden fields and variables.
// It omits unanswered blocks.
func DecodeAnswers(s Submission) ([]Answer, error) {
	answers, err := schema.DecodeAnswers(s.Answers)
	if err != nil {
		return nil, fmt.Errorf("formsvc: submission %s: %w", s.ID, err)
	}
	return answers, nil
}

// DecodeForm decodes the definition of a form. It fails for a form from a list, because lists omit definitions.
func DecodeForm(f Form) (content FormValues, err error) {
	d := f.Definition
	if d.Blocks == nil && d.Settings == nil && d.Theme == nil {
		return FormValues{}, fmt.Errorf("formsvc: form %s has no definition because it comes from a list: read it with Client.Form", f.ID)
	}
	var errs [5]error
	content.Blocks, errs[0] = schema.DecodeBlocks(d.Blocks)
	content.Settings, errs[1] = schema.DecodeSettings(d.Settings)
	content.Theme, errs[2] = schema.DecodeTheme(d.Theme)
	content.Variables, errs[3] = schema.DecodeVariables(d.Variables)
	content.HiddenFields, errs[4] = schema.DecodeHiddenFields(d.HiddenFields)
	if err := cmp.Or(errs[:]...); err != nil {
		return FormValues{}, fmt.Errorf("formsvc: form %s: %w", f.ID, err)
	}
	return content, nil
}

// Submissions lists the submissions to a form, newest first. It holds one page in memory, and no storage connection
// between pages.
func (c Client) Submissions(ctx context.Context, form ID, q SubmissionQuery) iter.Seq2[Submission, error] {
	return iteratePages(ctx, c.require(storage.ScopeSubmissionsRead), Query{Limit: q.Limit, After: q.After}, func(page storage.Page) ([]Submission, bool, error) {
		if q.Where.IsZero() && q.Text == "" {
			found, err := c.core().Submissions(ctx, c.actor, form, storage.SubmissionsParams{Since: q.Since, Until: q.Until, Respondent: q.Respondent, Page: page})
			return found.Submissions, found.More, err
		}
		next := q
		next.After, next.Limit = page.After, page.Limit
		found, err := c.SubmissionPage(ctx, form, next, 0)
		return found.Submissions, found.Next != nil, err
	}, submissionPosition)
}

// SubmissionPage returns the next submissions that q selects, newest first: at most q.Limit, or 100 if q.Limit is below
// 1. If a filter selects few submissions, reading can take long. It then returns what it found after about the duration
// within, which can be nothing, and the next call continues at Next. It holds a storage connection only while it reads
// 1,000 submissions. If within is 0, there is no time limit.
func (c Client) SubmissionPage(ctx context.Context, form ID, q SubmissionQuery, within time.Duration) (SubmissionPage, error) {
	f, err := get(c, storage.ScopeSubmissionsRead, func() (Form, error) { return c.core().Storage.Form(ctx, c.actor, form) })
	if err != nil {
		return SubmissionPage{}, err
	}
	selected, err := c.newFilter(f.Definition, q.Where, q.Text)
	if err != nil {
		return SubmissionPage{}, err
	}
	if q.Limit < 1 {
		q.Limit = clientPageSize
	}
	page, err := c.core().FindSubmissions(ctx, c.actor, form, core.SubmissionSearch{
		Since: q.Since, Until: q.Until, After: q.After, Limit: q.Limit, Within: within, Respondent: q.Respondent, Filter: selected,
	})
	return SubmissionPage(page), err
}

// newFilter returns the filter for a form's submissions, or nil if it would select all.
func (c Client) newFilter(d storage.Definition, where Condition, text string) (*filter.Filter, error) {
	var logic json.RawMessage
	if !where.IsZero() {
		var err error
		if logic, err = json.Marshal(where); err != nil {
			return nil, fmt.Errorf("formsvc: encode a condition: %w", err)
		}
	}
	return filter.New(d, logic, text, c.core().Clock().In(c.core().TimeZone))
}

func submissionPosition(s *Submission) storage.Position {
	return storage.Position{Time: s.SubmittedAt, ID: s.ID}
}

// Submission returns one submission to a form.
func (c Client) Submission(ctx context.Context, form, id ID) (Submission, error) {
	return get(c, storage.ScopeSubmissionsRead, func() (Submission, error) { return c.core().Storage.Submission(ctx, c.actor, form, id) })
}

// SubmissionForm returns a submission and its form as [Client.UpdateSubmission] checks it: as the form is now, without its
// working copy, even if it is a draft. The operator today of the form's rules is the day of SubmittedAt. A page that
// changes the submission uses the form's Path, Choices and CheckBlocks, and [PublicForm.StoredAnswers].
func (c Client) SubmissionForm(ctx context.Context, form, id ID) (PublicForm, Submission, error) {
	s, err := c.Submission(ctx, form, id)
	if err != nil {
		return PublicForm{}, Submission{}, err
	}
	f, compiled, err := c.s.intake.Form(ctx, form)
	if err != nil {
		return PublicForm{}, Submission{}, err
	}
	if compiled, err = compiled.ForChanges(&s); err != nil {
		return PublicForm{}, Submission{}, err
	}
	p, err := c.s.newPublicForm(f, compiled, nil)
	return p, s, err
}

// UpdateSubmission changes the answers and hidden fields of one submission and returns it. The current form decides
// about all answers, as in [Service.Submit]: if the submission breaks a rule that the form has now, the error is an
// [*Error] with all violations. Drafts and closed forms can be corrected too. The host's lists and checks decide only
// about changes: stored choices stay if neither they nor the value of By change. A check ([WithCheck]) can reject an
// unchanged answer only if it accepts the stored submission, because it can read other answers that change.
//
// A value in c replaces the stored value, and null or an empty text removes it. All other answers stay as they are, byte
// for byte, unless the rules now skip their block. Answers to blocks that were deleted or have another type now stay
// too, and cannot change. Answers that only the host can give, such as payments and files, change only through
// HostAnswers. A payment stays even if the rules now skip its block. Variables are computed again. The operator today is
// the day of SubmittedAt.
//
// SubmittedAt, the metadata, the response limit and the metrics do not change. ChangedAt is set and Revision is
// incremented. The state before the change is retained: see [Client.SubmissionHistory]. Events that were sent or queued
// keep their content. Webhooks with [WebhookCreate].Updates get the event form.response.updated, which the same step
// queues. Lists that poll with Since do not see the change. A replaced file remains as long as
// an earlier state refers to it; see [WithFiles].
//
// With [IfRevision], the error is a [*RevisionError] with the Kind "submission" if the submission has another revision.
// Without it, concurrent changes are applied one after another. Other errors are [ErrNotFound], [ErrDuplicate] and
// [ErrUnsupported]. The method requires the scopes submissions:read and submissions:write.
func (c Client) UpdateSubmission(ctx context.Context, form, id ID, change SubmissionChange, conditions ...Precondition) (Submission, error) {
	if err := c.require(storage.ScopeSubmissionsRead); err != nil {
		return Submission{}, err
	}
	return get(c, storage.ScopeSubmissionsWrite, func() (Submission, error) {
		c.core() // panics for a zero Client
		return c.s.intake.Update(ctx, c.actor, &intake.UpdateParams{
			FormID: form, ID: id, ByRespondent: change.ByRespondent, Precondition: newCorePrecondition(conditions), Input: intake.Input{
				Answers: change.Answers, HostAnswers: change.HostAnswers, Hidden: change.Hidden, LegalTexts: change.LegalTexts,
			},
		})
	})
}

// SubmissionHistory returns the newest 20 earlier states of a submission, newest first. They are deleted, erased and
// purged with the submission. It returns [ErrUnsupported] if the storage cannot change submissions.
func (c Client) SubmissionHistory(ctx context.Context, form, id ID) ([]SubmissionState, error) {
	return get(c, storage.ScopeSubmissionsRead, func() ([]SubmissionState, error) {
		states, err := c.core().Storage.SubmissionHistory(ctx, c.actor, form, id)
		return states, core.TranslateUnimplemented(err)
	})
}

// DeleteSubmission permanently deletes one submission and ends its pending deliveries.
func (c Client) DeleteSubmission(ctx context.Context, form, id ID) error {
	return c.run(storage.ScopeSubmissionsWrite, func() error { return c.core().DeleteSubmission(ctx, c.actor, form, id) })
}

// Partials lists the partial submissions to a form that are neither submitted nor expired, latest save first. It
// includes their content only if [PartialSubmission].ShareWithOwner is set. If the form has a captcha, it lists only
// partial submissions with [PartialSubmission].CaptchaSolved, even for the host. It may miss partial submissions that
// are saved during the loop. It returns [ErrUnsupported] if the storage does not support partial submissions.
func (c Client) Partials(ctx context.Context, form ID, q Query) iter.Seq2[Partial, error] {
	now := c.core().Clock()
	return iteratePages(ctx, c.require(storage.ScopeSubmissionsRead), q, func(page storage.Page) ([]Partial, bool, error) {
		return c.core().Partials(ctx, c.actor, form, now, page)
	}, func(p *Partial) storage.Position { return storage.Position{Time: p.SavedAt, ID: p.ID} })
}

// DeletePartial permanently deletes one partial submission to a form.
func (c Client) DeletePartial(ctx context.Context, form, id ID) error {
	return c.run(storage.ScopeSubmissionsWrite, func() error { return c.core().DeletePartial(ctx, c.actor, form, id) })
}

// Summary counts the answers in the submissions that q selects. Its memory use grows with the numbers of blocks and
// choices, and with up to 10,000 days or removed choices per block, but not with the number of submissions. All numbers
// are finite. It returns a [*schema.Error] if the submissions have more than 16,384 different fields.
//
// The service caches the counts of each day in its time zone ([WithTimeZone]), so that another call reads only new
// submissions. The cache uses up to 64 MiB for all forms and 32 MiB for one. After any process changes, deletes, erases,
// purges or imports a submission, Summary counts everything again. Nothing is cached if q has a Limit or a Respondent, if
// [Service.WithStorage] returned the service, or if the storage does not support SubmissionsRemoved.
func (c Client) Summary(ctx context.Context, form ID, q SubmissionQuery) (Summary, error) {
	return c.SummaryWithin(ctx, form, q, 0)
}

// SummaryWithin is like [Client.Summary], but with an approximate time limit. It counts the newest submissions first.
// If the result is Incomplete, another call continues the count.
func (c Client) SummaryWithin(ctx context.Context, form ID, q SubmissionQuery, within time.Duration) (Summary, error) {
	f, err := get(c, storage.ScopeSubmissionsRead, func() (Form, error) { return c.core().Storage.Form(ctx, c.actor, form) })
	if err != nil {
		return Summary{}, err
	}
	content, err := DecodeForm(f)
	if err != nil {
		return Summary{}, err
	}
	selected, err := c.newFilter(f.Definition, q.Where, q.Text)
	if err != nil {
		return Summary{}, err
	}
	empty := func() *summary.Tally { return summary.New(content.Blocks, content.HiddenFields, content.Variables) }
	if q.Limit > 0 || q.Respondent != "" {
		t := empty()
		q.After = nil
		for s, err := range c.Submissions(ctx, form, q) {
			if err == nil {
				err = t.AddStored(&s, nil, c.core().TimeZone)
			}
			if err != nil {
				return Summary{}, err
			}
		}
		return convertSummary(t), nil
	}
	t, done, err := c.core().Summary(ctx, c.actor, core.SummaryParams{Form: form, Since: q.Since, Until: q.Until, Within: within, New: empty, Filter: selected})
	if err != nil {
		return Summary{}, err
	}
	s := convertSummary(t)
	s.Incomplete = !done
	return s, nil
}

// maxListCounts limits the choices of a block whose choices come from the host.
const maxListCounts = 50

func convertSummary(t *summary.Tally) Summary {
	s := Summary{Submissions: t.Responses, Read: t.Read, Days: convertDays(t.Days), Endings: t.Endings.Counts()}
	if n := len(t.Seconds); n > 0 {
		s.CompletionTime = slices.Sorted(slices.Values(t.Seconds))[n/2]
	}
	for _, b := range t.Blocks {
		block := BlockSummary{
			ID: b.ID, Type: b.Type, Label: b.Label, Deleted: b.Deleted, Answered: b.Answered, Skipped: t.Responses - b.Answered,
			Choices: b.Choices.Counts(), Other: b.Other, NPS: b.NPS, Uncounted: b.Uncounted,
		}
		if n := maxListCounts; b.FromList && len(block.Choices) > n {
			slices.SortStableFunc(block.Choices, func(a, b ChoiceCount) int { return cmp.Compare(b.Count, a.Count) })
			for _, c := range block.Choices[n:] {
				block.Uncounted += c.Count
			}
			block.Choices = block.Choices[:n]
		}
		for other := b.OtherType; other != nil; other = other.OtherType {
			block.OtherTypes = append(block.OtherTypes, TypeCount{other.Type, other.Answered})
			block.Skipped -= other.Answered
		}
		for _, text := range b.Texts.List {
			block.Texts = append(block.Texts, TextCount{text.Text, text.Count, text.Submission})
		}
		for _, r := range b.Rows {
			block.Rows = append(block.Rows, RowSummary{ID: r.ID, Label: r.Label, Choices: r.Choices.Counts()})
		}
		if n := &b.Numbers; n.Count > 0 {
			block.Numbers = &NumberSummary{
				Count: n.Count, Min: n.Min, Max: n.Max, Mean: n.Mean(), StdDev: n.StdDev(), Median: n.Median(), Exact: n.Exact(),
				Histogram: n.Histogram(summary.MaxBins),
			}
		}
		block.Days = convertDays(b.Days)
		s.Blocks = append(s.Blocks, block)
	}
	return s
}

func convertDays(days summary.ChoiceCounts) (list []DayCount) {
	for _, day := range days.Counts() {
		list = append(list, DayCount{Day: day.ID, Count: day.Count})
	}
	slices.SortFunc(list, func(a, b DayCount) int { return strings.Compare(a.Day, b.Day) })
	return list
}

// Period is a time period for [Metrics]. Its days are in UTC.
type Period = schema.Period

// These are the periods of [Client.Metrics]. All except PeriodYesterday end now.
const (
	PeriodToday     = schema.PeriodToday
	PeriodYesterday = schema.PeriodYesterday
	Period24h       = schema.Period24h // the last 24 hours
	Period7d        = schema.Period7d  // today and the previous 6 days
	Period30d       = schema.Period30d // today and the previous 29 days
	Period3m        = schema.Period3m  // since the same day 3 months ago
	Period6m        = schema.Period6m
	Period12m       = schema.Period12m
	PeriodAll       = schema.PeriodAll // includes the totals set by [Service.SetLifetimeCounters]
)

// PeriodQuery returns a query for a period, for use with [Client.Submissions] and [Client.Summary]. Its days are in the
// service's time zone ([WithTimeZone]), unlike the days of [Client.Metrics].
func (s *Service) PeriodQuery(period Period) (SubmissionQuery, error) {
	since, until, err := s.core.PeriodQuery(period)
	return SubmissionQuery{Since: since, Until: until}, err
}

// Metrics describes the funnel of a form in a period. See [schema.Metrics].
type Metrics = schema.Metrics

// Metrics returns the metrics of a period. An empty period means [Period30d].
func (c Client) Metrics(ctx context.Context, form ID, period Period) (Metrics, error) {
	if period == "" {
		period = core.DefaultPeriod
	}
	return get(c, storage.ScopeAnalyticsRead, func() (Metrics, error) { return c.core().Metrics(ctx, c.actor, form, period) })
}

// SubmissionTotals makes one query and returns the number of submissions to each form, as in Metrics for [PeriodAll].
// It omits forms that are not accessible.
func (c Client) SubmissionTotals(ctx context.Context, forms ...ID) (map[ID]int64, error) {
	return get(c, storage.ScopeAnalyticsRead, func() (map[ID]int64, error) { return c.core().Storage.SubmissionTotals(ctx, c.actor, forms) })
}

// ExportFormat is the file format of an export.
type ExportFormat = schema.ExportFormat

// These are the formats of an [Export].
const (
	CSV    = schema.CSV
	NDJSON = schema.NDJSON
)

// Export selects the submissions and the format of an export. The zero value exports all submissions as CSV.
//
// NDJSON has one submission per line, in the format of the API. CSV follows RFC 4180 in UTF-8, with a header and one
// line per submission. Text from forms and respondents is quoted. Numbers, dates, submission IDs and the names of fixed
// columns are not quoted. The columns are:
//
//   - submission_id and submitted_at, always.
//   - One column for each block with answers, named after its ID, in the order of the form, then hidden fields,
//     variables, and removed blocks with answers. A value with parts has a column for each part, named id/part: matrix
//     rows by ID, parts of an address or contact, the name and url of a file, and the amount, currency, status, gateway
//     and reference of a payment. Next to a legal block, id/text has the text that the respondent accepted or declined.
//   - completion_time (in seconds), ending (the ID of the ending that was reached), metadata/country, metadata/device,
//     metadata/user_agent, metadata/utm/campaign, metadata/utm/content, metadata/utm/medium, metadata/utm/source and
//     metadata/utm/term, always.
//
// A choice has its current label, or the label at the time of the answer if it was removed or comes from a host's
// list ([WithChoices]). NDJSON always has the label at the time of the answer. Unanswered blocks have empty cells.
// With SplitColumns, an “Other” answer is in the column id/other. For a choice whose ID is "other" or starts with
// "choice:", the column has the prefix "choice:", as in id/choice:other. If a column name is already used, for
// example because a block has the ID submitted_at, " (2)", " (3)" and so on is appended.
//
// Spreadsheet programs interpret a cell as a formula if it starts with =, +, -, @, a tab or a carriage return. The
// export inserts an apostrophe (') before such text, even if the text already has leading apostrophes. To restore the
// original text, remove one apostrophe from each cell in which one of these characters follows the leading apostrophes.
// Answers to number, date and phone blocks are not changed.
//
// LibreOffice detects commas, semicolons and tabs by default. If the decimal separator is a comma, Excel splits only at
// semicolons or tabs. In this case, set Separator to match. Otherwise, columns are split in the wrong places.
type Export = schema.Export

// Export writes the submissions to a form, newest first. If it returns no error, the file is complete. A submission
// that arrives during the export may be missing. Export returns a [*schema.Error] if e is invalid, or if a CSV would
// have more than 16,384 columns.
//
// Export holds one page of at most 16 MiB in memory, and no storage connection while it writes a page. For CSV, it
// reads all submissions twice, because the first pass finds the columns. It writes nothing before the first pass ends.
// w must not be the response writer of [http.TimeoutHandler], which buffers the whole export in memory.
func (c Client) Export(ctx context.Context, w io.Writer, form ID, e Export) error {
	o := export.Options{Export: e}
	if err := o.Normalize(); err != nil {
		return err
	}
	f, err := get(c, storage.ScopeSubmissionsRead, func() (Form, error) { return c.core().Storage.Form(ctx, c.actor, form) })
	if err != nil {
		return err
	}
	if o.Filter, err = c.newFilter(f.Definition, e.Where, e.Text); err != nil {
		return err
	}
	o.States = func(ctx context.Context, id ID) ([]SubmissionState, error) {
		return c.core().Storage.SubmissionHistory(ctx, c.actor, form, id)
	}
	return export.Write(ctx, w, f.Definition, o, func(ctx context.Context, q storage.SubmissionsParams) (storage.SubmissionPage, error) {
		return c.core().Submissions(ctx, c.actor, form, q)
	})
}

// Import stores the submissions of an NDJSON export in a published form, which can be closed. If the form is a draft,
// the error is an [ErrNotFound] that says so. Import assigns new IDs. Each line needs submitted_at and answers. The
// metrics count the submissions at their times.
//
// Answers, hidden fields, metadata and times are checked, but stored as they are. Unlike [Service.Submit], Import does
// not convert values: a phone number without its country code remains so in the API, exports and webhooks. Therefore,
// send the formats in which package schema says that answers are stored. Hidden fields and variables that the form does
// not declare are stored too. Fields of a line that are not in an export are ignored. Unknown fields of an answer or of
// the metadata are refused.
//
// A line is stored once: its idempotency key is its field idempotency_key, or import: and its id. So an import that
// ended early can run again from its beginning. A line without either is stored by every import. A
// submission that was changed is stored as a new one, without its revision and earlier states.
//
// A line that is invalid, duplicates a unique answer, exceeds the form's response limit or breaks its rules is refused,
// and the import continues: see [ImportReport]. The rules include the host's lists and checks, as in Submit. A list or
// check that fails ends the import. A line that is already stored is not checked again. After 10,000 refused lines, or
// if the first line is not JSON, the import ends with an *[Error]. Any other error also ends it. The report is valid in
// any case. A line can have at most 8 MiB. Each line has its own storage timeout, and only ctx limits the whole import.
//
// Import accepts answers that only the host may give, and the field respondent of [SubmitParams], unlike
// [Service.ImportHandler]. Files are not copied: the answers refer to the same files.
func (c Client) Import(ctx context.Context, form ID, lines io.Reader, o Import) (ImportReport, error) {
	if err := c.require(storage.ScopeFormsWrite); err != nil {
		return ImportReport{}, err
	}
	return get(c, storage.ScopeSubmissionsWrite, func() (ImportReport, error) {
		if _, err := c.core().Storage.Form(ctx, c.actor, form); err != nil {
			return ImportReport{}, err
		}
		if o.Progress == nil {
			o.Progress = func(ImportReport) error { return nil }
		}
		return c.s.intake.Import(ctx, intake.ImportParams{FormID: form, Lenient: o.Lenient, Deliver: o.Deliver, HostAnswers: true}, lines, o.Progress)
	})
}

// WebhookCreate describes a new webhook. If you print, log or encode it as JSON, the signing secret appears as "…",
// with the exceptions that [IssuedKey] lists.
type WebhookCreate struct {
	Form     ID     // Required.
	URL      string // Required. An http or https URL with a public address, or an address in webhooks.Config.AllowedNetworks.
	Disabled bool   // Whether to create the webhook disabled.
	// SigningSecret must have at least 16 characters. If empty, deliveries are not signed.
	SigningSecret string
	// FormDetails adds formName, language and questions to the response in the webhook's events. The HTTP API does not
	// show or change it. It applies to submissions that are stored later. Defaults to false.
	FormDetails bool
	// Updates makes the webhook also get form.response.updated, the event of [Client.UpdateSubmission]. The HTTP API does
	// not show or change it. It applies to later changes. Defaults to false.
	Updates bool
}

// secretMask replaces a secret in printed values.
const secretMask = "…"

// maskedWebhook is WebhookCreate without its methods, so that fmt and json do not call them again.
type maskedWebhook WebhookCreate

func (n WebhookCreate) masked() maskedWebhook {
	if n.SigningSecret != "" {
		n.SigningSecret = secretMask
	}
	return maskedWebhook(n)
}

// Format prints n without its secret.
func (n WebhookCreate) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), n.masked())
}

// MarshalJSON encodes n without its secret.
func (n WebhookCreate) MarshalJSON() ([]byte, error) { return json.Marshal(n.masked()) }

// WebhookUpdate contains changes to a webhook. Nil fields leave the stored value unchanged, and at least one field must
// be set. The signing secret does not appear if you print, log or encode a WebhookUpdate as JSON.
type WebhookUpdate struct {
	URL           *string // Pending deliveries are sent to the new URL.
	Enabled       *bool   // If false, pending deliveries end.
	SigningSecret *string // A pointer to "" removes the secret.
	FormDetails   *bool   // Whether later events have the form's details; see WebhookCreate.
	Updates       *bool   // Whether the webhook gets events of later changes; see WebhookCreate.
}

// MarshalJSON encodes u without its secret. Package fmt prints only the pointer to the secret.
func (u WebhookUpdate) MarshalJSON() ([]byte, error) {
	type shown WebhookUpdate
	if u.SigningSecret != nil && *u.SigningSecret != "" {
		mask := secretMask
		u.SigningSecret = &mask
	}
	return json.Marshal(shown(u))
}

// Webhooks lists the webhooks of all accessible forms, newest first.
func (c Client) Webhooks(ctx context.Context, q Query) iter.Seq2[Webhook, error] {
	return iteratePages(ctx, c.require(storage.ScopeWebhooksRead), q, func(page storage.Page) ([]Webhook, bool, error) {
		found, err := c.core().Storage.Webhooks(ctx, c.actor, page)
		return found, len(found) == page.Limit, err
	}, func(w *Webhook) storage.Position { return storage.Position{Time: w.CreatedAt, ID: w.ID} })
}

// FormWebhooks returns the webhooks of one form, newest first.
func (c Client) FormWebhooks(ctx context.Context, form ID) ([]Webhook, error) {
	return get(c, storage.ScopeWebhooksRead, func() ([]Webhook, error) { return c.core().Storage.FormWebhooks(ctx, c.actor, form) })
}

// PausedWebhooks lists the accessible webhooks that are paused, ordered by FailingSince, newest first. A pause ends
// with the first successful request. [Service.SendTestEvent], [Service.Redeliver] and a new URL trigger a request.
func (c Client) PausedWebhooks(ctx context.Context, q Query) iter.Seq2[PausedWebhook, error] {
	return iteratePages(ctx, c.require(storage.ScopeWebhooksRead), q, func(page storage.Page) ([]PausedWebhook, bool, error) {
		found, err := c.core().Storage.PausedWebhooks(ctx, c.actor, page)
		return found, len(found) == page.Limit, err
	}, func(p *PausedWebhook) storage.Position {
		return storage.Position{Time: p.FailingSince, ID: p.WebhookID}
	})
}

// Webhook returns one webhook.
func (c Client) Webhook(ctx context.Context, id ID) (Webhook, error) {
	return get(c, storage.ScopeWebhooksRead, func() (Webhook, error) { return c.core().Storage.Webhook(ctx, c.actor, id) })
}

// CreateWebhook creates a webhook. It returns a [*RejectedURLError] if the URL is not allowed, and a [*schema.Error] if
// the form already has Limits.Webhooks webhooks.
func (c Client) CreateWebhook(ctx context.Context, n WebhookCreate) (Webhook, error) {
	b := core.NewBody()
	if c.actor.Local() {
		b.Text("form_id", n.Form.String()) // zero for all forms
	} else {
		b.ID("form_id", n.Form)
	}
	b.Text("url", n.URL)
	if n.Disabled {
		b.Bool("enabled", false)
	}
	if n.SigningSecret != "" {
		b.Text("signing_secret", n.SigningSecret)
	}
	return runOperation(c, storage.ScopeWebhooksWrite, b, func(body []byte) (Webhook, error) {
		return c.core().CreateWebhook(ctx, c.actor, body, n.FormDetails, n.Updates)
	})
}

// UpdateWebhook changes a webhook and returns the changed webhook. It returns a [*RejectedURLError] if the new URL is
// not allowed.
func (c Client) UpdateWebhook(ctx context.Context, id ID, u WebhookUpdate) (Webhook, error) {
	b := core.NewBody().OptionalText("url", u.URL)
	if u.Enabled != nil {
		b.Bool("enabled", *u.Enabled)
	}
	if u.SigningSecret != nil && *u.SigningSecret == "" {
		b.Null("signing_secret")
	} else {
		b.OptionalText("signing_secret", u.SigningSecret)
	}
	return runOperation(c, storage.ScopeWebhooksWrite, b, func(body []byte) (Webhook, error) {
		return c.core().UpdateWebhook(ctx, c.actor, id, body, u.FormDetails, u.Updates)
	})
}

// DeleteWebhook deletes a webhook, its pending deliveries and its history.
func (c Client) DeleteWebhook(ctx context.Context, id ID) error {
	return c.run(storage.ScopeWebhooksWrite, func() error { return c.core().DeleteWebhook(ctx, c.actor, id) })
}

// Deliveries returns the latest delivery attempts for a webhook (at most 100), newest first.
func (c Client) Deliveries(ctx context.Context, webhook ID) ([]Delivery, error) {
	return get(c, storage.ScopeWebhooksRead, func() ([]Delivery, error) {
		return c.core().Storage.Deliveries(ctx, c.actor, webhook, core.ShownDeliveries)
	})
}
