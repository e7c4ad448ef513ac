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
	"github.com/formsvc/formsvc/internal/summary"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// clientPageSize is the number of records that a list reads at a time. It is small because a loop may end early.
const clientPageSize = 100

// iteratePages returns an iterator over the records of all pages that read returns. position returns a record's
// position, after which the next page starts.
func iteratePages[T any](ctx context.Context, q Query, size int, read func(page storage.Page) (found []T, more bool, err error), position func(*T) storage.Position) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		page, remaining := storage.Page{Limit: size, After: q.After}, q.Limit
		for {
			if q.Limit > 0 {
				page.Limit = min(size, remaining)
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

// Workspaces lists the accessible workspaces, newest first.
func (c Client) Workspaces(ctx context.Context, q Query) iter.Seq2[Workspace, error] {
	return iteratePages(ctx, q, clientPageSize, func(page storage.Page) ([]Workspace, bool, error) {
		found, err := c.core().Storage.Workspaces(ctx, c.actor, page)
		return found, len(found) == page.Limit, err
	}, func(w *Workspace) storage.Position { return storage.Position{Time: w.CreatedAt, ID: w.ID} })
}

// Workspace returns one workspace.
func (c Client) Workspace(ctx context.Context, id ID) (Workspace, error) {
	return c.core().Storage.Workspace(ctx, c.actor, id)
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
	return core.RunOperation(c.core(), b, func(body []byte) (Workspace, error) {
		return c.core().CreateWorkspace(ctx, n.Owner, body)
	})
}

// RenameWorkspace renames a workspace. Only its owner can rename it.
func (c Client) RenameWorkspace(ctx context.Context, id ID, name string) (Workspace, error) {
	return core.RunOperation(c.core(), core.NewBody().Text("name", name), func(body []byte) (Workspace, error) {
		return c.core().UpdateWorkspace(ctx, c.actor, id, body)
	})
}

// DeleteWorkspace deletes a workspace and moves its forms to the trash. Only its owner can delete it.
func (c Client) DeleteWorkspace(ctx context.Context, id ID) error {
	return c.core().DeleteWorkspace(ctx, c.actor, id)
}

// Forms lists forms without their definitions, newest first.
func (c Client) Forms(ctx context.Context, q FormQuery) iter.Seq2[Form, error] {
	return iteratePages(ctx, Query{Limit: q.Limit}, clientPageSize, func(page storage.Page) ([]Form, bool, error) {
		found, err := c.core().Storage.Forms(ctx, c.actor, storage.FormsParams{WorkspaceID: q.Workspace, Page: page})
		return found, len(found) == page.Limit, err
	}, func(f *Form) storage.Position { return storage.Position{Time: f.CreatedAt, ID: f.ID} })
}

// Form returns one form with its definition.
func (c Client) Form(ctx context.Context, id ID) (Form, error) {
	return cloneForm(c.core().Storage.Form(ctx, c.actor, id))
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

// CreateForm creates a form.
func (c Client) CreateForm(ctx context.Context, n FormCreate) (Form, error) {
	b := core.NewBody().ID("workspace_id", n.Workspace).Text("name", n.Name)
	if n.Type != "" {
		b.Text("type", n.Type)
	}
	return cloneForm(core.RunOperation(c.core(), b.Definition(n.Definition), func(body []byte) (Form, error) {
		return c.core().CreateForm(ctx, c.actor, body)
	}))
}

// UpdateForm changes a form and returns the changed form.
func (c Client) UpdateForm(ctx context.Context, id ID, u FormUpdate) (Form, error) {
	b := core.NewBody().OptionalText("name", u.Name).OptionalText("type", u.Type).OptionalText("status", u.Status)
	if u.Workspace != nil {
		b.Text("workspace_id", u.Workspace.String())
	}
	return cloneForm(core.RunOperation(c.core(), b.Definition(u.Definition), func(body []byte) (Form, error) {
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
	return c.core().TrashForm(ctx, c.actor, id, newCorePrecondition(conditions))
}

// Blocks returns the top-level blocks of a form.
func (c Client) Blocks(ctx context.Context, form ID) (StoredBlocks, error) {
	return cloneBlocks(c.core().Storage.Form(ctx, c.actor, form))
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
	return cloneBlock(c.core().Block(ctx, c.actor, core.Target{ID: form}, id))
}

// cloneBlock copies a block, because a storage may return the same bytes to several callers.
func cloneBlock(b core.Block, err error) (StoredBlock, error) {
	if err != nil {
		return StoredBlock{}, err
	}
	b.JSON = bytes.Clone(b.JSON)
	return StoredBlock(b), nil
}

// CreateBlock appends a block to a form. The JSON can be a [schema.Block] encoded with json.Marshal. CreateBlock
// returns [ErrBlockExists] if the form already has a block with the same ID.
func (c Client) CreateBlock(ctx context.Context, form ID, block json.RawMessage, conditions ...Precondition) (StoredBlock, error) {
	return cloneBlock(core.RunOperation(c.core(), core.NewBody().JSON("block", block), func(body []byte) (core.Block, error) {
		return c.core().CreateBlock(ctx, c.actor, core.Target{ID: form}, body, newCorePrecondition(conditions))
	}))
}

// ReplaceBlocks replaces or reorders all blocks of a form. A block without a type keeps its stored type.
func (c Client) ReplaceBlocks(ctx context.Context, form ID, blocks json.RawMessage, conditions ...Precondition) (StoredBlocks, error) {
	return cloneBlocks(core.RunOperation(c.core(), core.NewBody().JSON("blocks", blocks), func(body []byte) (Form, error) {
		return c.core().ReplaceBlocks(ctx, c.actor, core.Target{ID: form}, body, newCorePrecondition(conditions))
	}))
}

// UpdateBlock applies a merge patch (RFC 7396) to one top-level block.
func (c Client) UpdateBlock(ctx context.Context, form ID, id string, patch json.RawMessage, conditions ...Precondition) (StoredBlock, error) {
	return cloneBlock(core.RunOperation(c.core(), core.NewBody().JSON("block", patch), func(body []byte) (core.Block, error) {
		return c.core().UpdateBlock(ctx, c.actor, core.Target{ID: form}, id, body, newCorePrecondition(conditions))
	}))
}

// DeleteBlock removes one top-level block with its children, and returns the form's new revision.
func (c Client) DeleteBlock(ctx context.Context, form ID, id string, conditions ...Precondition) (revision int64, err error) {
	return c.core().DeleteBlock(ctx, c.actor, core.Target{ID: form}, id, newCorePrecondition(conditions))
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
// use it. It requires no key or scope, and has no rate limit.
//
// The host must identify the signed-in user, use this user's Client, and reject requests from other sites. It must also
// strip everything before the operation's path (such as /workspaces) from the URL path. Links in responses start with
// the stripped part. With [Service.AsHost], GET /me returns the zero ID, and no workspace can be created.
func (c Client) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.core() // panics for a zero Client
	c.s.handler.For(c.actor).ServeHTTP(w, r)
}

// FormsWithWorkingCopy makes one query and returns the accessible forms that have a working copy, in any order. It
// returns [ErrUnsupported] if the storage does not support working copies.
func (c Client) FormsWithWorkingCopy(ctx context.Context, forms ...ID) ([]ID, error) {
	return c.core().FormsWithWorkingCopy(ctx, c.actor, forms)
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
	return WorkingCopy{formClient: c, copyClient: Client{&copied, c.actor}, form: form}
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
	return cloneForm(w.formClient.core().Publish(ctx, w.formClient.actor, w.form, newCorePrecondition([]Precondition{IfRevision(p.IfRevision)}), p.Resolutions, p.DryRun))
}

// Discard deletes the working copy, if there is one.
func (w WorkingCopy) Discard(ctx context.Context, conditions ...Precondition) error {
	return w.formClient.core().Discard(ctx, w.formClient.actor, w.form, newCorePrecondition(conditions))
}

// ServeHTTP serves the working copy to an editor in a browser, with the API's operations on the form: GET and PATCH of
// /forms/{formId}, GET of its /questions, and the operations on its /blocks. A PATCH of the form accepts the name and
// the definition. Requests for other paths and forms return 404. The host has the same duties as for
// [Client.ServeHTTP]. The link to submissions in its responses does not work.
func (w WorkingCopy) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.formClient.s.handler.WorkingCopy(w.copyClient.core(), w.formClient.actor, w.form).ServeHTTP(rw, r)
}

// Versions lists the earlier published states of a form, newest first, without their content. A version is created when
// the name or the definition of a published form changes, or when the form becomes a draft. [WorkingCopy.Publish] and
// [Client.RestoreVersion] always create a version. Other writes create a version only if the newest version is at least
// ten minutes old. A form has at most 100 versions ([WithVersions]) of 32 MiB in total. If the storage does not support
// documents, the error is [ErrUnsupported].
func (c Client) Versions(ctx context.Context, form ID) iter.Seq2[FormVersion, error] {
	return c.core().VersionList(ctx, c.actor, form)
}

// Version returns one version of a form with its content, or [ErrNotFound]. [schema.Diff] compares two versions.
func (c Client) Version(ctx context.Context, form ID, revision int64) (FormVersion, error) {
	return c.core().Version(ctx, c.actor, form, revision)
}

// RestoreVersion replaces the name, the type and the definition of a form with those of a version. The same rules apply
// as for any write. If the form is published, its replaced state becomes a version. The status and the working copy do
// not change. It returns [ErrNotFound] if the version does not exist.
func (c Client) RestoreVersion(ctx context.Context, form ID, revision int64, r RestoreOptions) (Form, error) {
	return cloneForm(c.core().RestoreVersion(ctx, c.actor, form, revision, newCorePrecondition([]Precondition{IfRevision(r.IfRevision)})))
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
	if len(d.Variables) > 0 {
		errs[3] = json.Unmarshal(d.Variables, &content.Variables)
	}
	if len(d.HiddenFields) > 0 {
		errs[4] = json.Unmarshal(d.HiddenFields, &content.HiddenFields)
	}
	if err := cmp.Or(errs[:]...); err != nil {
		return FormValues{}, fmt.Errorf("formsvc: form %s: %w", f.ID, err)
	}
	return content, nil
}

// Submissions lists the submissions to a form, newest first. It holds one page in memory, and no storage connection
// between pages.
func (c Client) Submissions(ctx context.Context, form ID, q SubmissionQuery) iter.Seq2[Submission, error] {
	return c.iterateSubmissions(ctx, form, q, clientPageSize)
}

// iterateSubmissions is like Submissions, but with a page size.
func (c Client) iterateSubmissions(ctx context.Context, form ID, q SubmissionQuery, size int) iter.Seq2[Submission, error] {
	return iteratePages(ctx, Query{Limit: q.Limit}, size, func(page storage.Page) ([]Submission, bool, error) {
		found, err := c.core().Submissions(ctx, c.actor, form, storage.SubmissionsParams{Since: q.Since, Until: q.Until, Page: page})
		return found.Submissions, found.More, err
	}, func(s *Submission) storage.Position { return storage.Position{Time: s.SubmittedAt, ID: s.ID} })
}

// Submission returns one submission to a form.
func (c Client) Submission(ctx context.Context, form, id ID) (Submission, error) {
	return c.core().Storage.Submission(ctx, c.actor, form, id)
}

// DeleteSubmission permanently deletes one submission and ends its pending deliveries.
func (c Client) DeleteSubmission(ctx context.Context, form, id ID) error {
	return c.core().DeleteSubmission(ctx, c.actor, form, id)
}

// Partials lists the partial submissions to a form that are neither submitted nor expired, latest save first. It
// includes their content only if [PartialSubmission].ShareWithOwner is set. If the form has a captcha, it lists only
// partial submissions with [PartialSubmission].CaptchaSolved, even for the host. It may miss partial submissions that
// are saved during the loop. It returns [ErrUnsupported] if the storage does not support partial submissions.
func (c Client) Partials(ctx context.Context, form ID, q Query) iter.Seq2[Partial, error] {
	now := c.core().Clock()
	return iteratePages(ctx, q, clientPageSize, func(page storage.Page) ([]Partial, bool, error) {
		return c.core().Partials(ctx, c.actor, form, now, page)
	}, func(p *Partial) storage.Position { return storage.Position{Time: p.SavedAt, ID: p.ID} })
}

// DeletePartial permanently deletes one partial submission to a form.
func (c Client) DeletePartial(ctx context.Context, form, id ID) error {
	return c.core().DeletePartial(ctx, c.actor, form, id)
}

// Summary counts the answers in the submissions that q selects. Its memory use grows with the numbers of blocks and
// choices, and with up to 10,000 days or removed choices per block, but not with the number of submissions. All numbers
// are finite. It returns a [*schema.Error] if the submissions have more than 16,384 different fields.
//
// The service caches the counts of each day in its time zone ([WithTimeZone]), so that another call reads only new
// submissions. The cache uses up to 64 MiB for all forms and 32 MiB for one. After any process deletes, erases, purges
// or imports a submission, Summary counts everything again. Nothing is cached if q has a Limit, if
// [Service.WithStorage] returned the service, or if the storage does not support SubmissionsRemoved.
func (c Client) Summary(ctx context.Context, form ID, q SubmissionQuery) (Summary, error) {
	return c.SummaryWithin(ctx, form, q, 0)
}

// SummaryWithin is like [Client.Summary], but with an approximate time limit. It counts the newest submissions first.
// If the result is Incomplete, another call continues the count.
func (c Client) SummaryWithin(ctx context.Context, form ID, q SubmissionQuery, within time.Duration) (Summary, error) {
	f, err := c.core().Storage.Form(ctx, c.actor, form)
	if err != nil {
		return Summary{}, err
	}
	content, err := DecodeForm(f)
	if err != nil {
		return Summary{}, err
	}
	empty := func() *summary.Tally { return summary.New(content.Blocks, content.HiddenFields, content.Variables) }
	if q.Limit > 0 {
		t := empty()
		for s, err := range c.iterateSubmissions(ctx, form, q, export.PageSize) {
			if err == nil {
				err = t.AddStored(&s)
			}
			if err != nil {
				return Summary{}, err
			}
		}
		return convertSummary(t), nil
	}
	t, done, err := c.core().Summary(ctx, c.actor, core.SummaryParams{Form: form, Since: q.Since, Until: q.Until, Within: within, New: empty})
	if err != nil {
		return Summary{}, err
	}
	s := convertSummary(t)
	s.Incomplete = !done
	return s, nil
}

func convertSummary(t *summary.Tally) Summary {
	s := Summary{Submissions: t.Responses}
	if n := len(t.Seconds); n > 0 {
		s.CompletionTime = slices.Sorted(slices.Values(t.Seconds))[n/2]
	}
	for _, b := range t.Blocks {
		block := BlockSummary{
			ID: b.ID, Type: b.Type, Label: b.Label, Deleted: b.Deleted, Answered: b.Answered, Skipped: t.Responses - b.Answered,
			Choices: convertChoiceCounts(b.Choices), Other: b.Other, NPS: (*NPSSummary)(b.NPS), Uncounted: b.Uncounted,
		}
		for other := b.OtherType; other != nil; other = other.OtherType {
			block.OtherTypes = append(block.OtherTypes, TypeCount{other.Type, other.Answered})
			block.Skipped -= other.Answered
		}
		for _, text := range b.Texts.List {
			block.Texts = append(block.Texts, TextCount{text.Text, text.Count, text.Submission})
		}
		for _, r := range b.Rows {
			block.Rows = append(block.Rows, RowSummary{ID: r.ID, Label: r.Label, Choices: convertChoiceCounts(r.Choices)})
		}
		if n := &b.Numbers; n.Count > 0 {
			block.Numbers = &NumberSummary{
				Count: n.Count, Min: n.Min, Max: n.Max, Mean: n.Mean(), StdDev: n.StdDev(), Median: n.Median(), Exact: n.Exact(),
			}
			for _, bin := range n.Histogram(summary.MaxBins) {
				block.Numbers.Histogram = append(block.Numbers.Histogram, Bin(bin))
			}
		}
		for _, day := range b.Days.Counts() {
			block.Days = append(block.Days, DayCount{Day: day.ID, Count: day.Count})
		}
		slices.SortFunc(block.Days, func(a, b DayCount) int { return strings.Compare(a.Day, b.Day) })
		s.Blocks = append(s.Blocks, block)
	}
	return s
}

func convertChoiceCounts(choices summary.ChoiceCounts) (list []ChoiceCount) {
	for _, c := range choices.Counts() {
		list = append(list, ChoiceCount(c))
	}
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

// Metrics describes the funnel of a form in a period. Estimated reports whether it includes the totals set by
// [Service.SetLifetimeCounters]. CompletionRate is Submissions as a percentage of Starts with two decimals. It is 0 if
// there are no starts.
type Metrics struct {
	Period                     Period
	Estimated                  bool
	Views, Starts, Submissions int64
	CompletionRate             float64
}

// Metrics returns the metrics of a period. An empty period means [Period30d].
func (c Client) Metrics(ctx context.Context, form ID, period Period) (Metrics, error) {
	if period == "" {
		period = core.DefaultPeriod
	}
	m, err := c.core().Metrics(ctx, c.actor, form, period)
	return Metrics(m), err
}

// SubmissionTotals makes one query and returns the number of submissions to each form, as in Metrics for [PeriodAll].
// It omits forms that are not accessible.
func (c Client) SubmissionTotals(ctx context.Context, forms ...ID) (map[ID]int64, error) {
	return c.core().Storage.SubmissionTotals(ctx, c.actor, forms)
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
//   - completion_time (in seconds), metadata/country, metadata/device, metadata/user_agent, metadata/utm/campaign,
//     metadata/utm/content, metadata/utm/medium, metadata/utm/source and metadata/utm/term, always.
//
// Unanswered blocks have empty cells. With SplitColumns, an “Other” answer is in the column id/other. For a choice
// whose ID is "other" or starts with "choice:", the column has the prefix "choice:", as in id/choice:other. If a column
// name is already used, for example because a block has the ID submitted_at, " (2)", " (3)" and so on is appended.
//
// Spreadsheet programs interpret a cell as a formula if it starts with =, +, -, @, a tab or a carriage return. The
// export inserts an apostrophe (') before such text, even if the text already has leading apostrophes. To restore the
// original text, remove one apostrophe from each cell in which one of these characters follows the leading apostrophes.
// Answers to number, date and phone blocks are not changed.
//
// LibreOffice detects commas, semicolons and tabs by default. If the decimal separator is a comma, Excel splits only at
// semicolons or tabs. In this case, set Separator to match. Otherwise, columns are split in the wrong places.
type Export struct {
	Format ExportFormat // CSV or NDJSON. Defaults to CSV.
	// Since and Until are the earliest and the latest SubmittedAt, inclusive. A zero value means no limit.
	Since, Until time.Time

	// The following fields apply only to CSV.

	Separator rune // ',', ';' or a tab. Defaults to ','.
	ChoiceIDs bool // Whether to write choice IDs instead of labels.
	// SplitColumns controls whether a block with several choices or files has a column for each choice (id/choice ID)
	// and file (id/1/name, id/1/url, id/2/name …). A choice's cell contains the choice, or its position in a ranking.
	// Otherwise one cell contains all values, separated by "; ".
	SplitColumns bool
	Labels       bool // Whether the header contains labels instead of IDs. If labels are equal, [id] is appended.
	BOM          bool // Whether to start with a byte order mark, which some programs need to detect UTF-8.
	// AllowFormulas omits the apostrophe before text that a program could interpret as a formula.
	AllowFormulas bool
	// CompletionLine applies to both formats. It adds a last line that proves that the file is complete and contains
	// the number of submissions: {"complete":true,"submissions":12} in NDJSON, and complete,12 in CSV.
	CompletionLine bool
}

// Export writes the submissions to a form, newest first. If it returns no error, the file is complete. A submission
// that arrives during the export may be missing. Export returns a [*schema.Error] if e is invalid, or if a CSV would
// have more than 16,384 columns.
//
// Export holds one page of at most 16 MiB in memory, and no storage connection while it writes a page. For CSV, it
// reads all submissions twice, because the first pass finds the columns. It writes nothing before the first pass ends.
// w must not be the response writer of [http.TimeoutHandler], which buffers the whole export in memory.
func (c Client) Export(ctx context.Context, w io.Writer, form ID, e Export) error {
	o := export.Options(e)
	if err := o.Normalize(); err != nil {
		return err
	}
	f, err := c.core().Storage.Form(ctx, c.actor, form)
	if err != nil {
		return err
	}
	return export.Write(ctx, w, f.Definition, o, func(ctx context.Context, q storage.SubmissionsParams) (storage.SubmissionPage, error) {
		return c.core().Submissions(ctx, c.actor, form, q)
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
	return iteratePages(ctx, q, clientPageSize, func(page storage.Page) ([]Webhook, bool, error) {
		found, err := c.core().Storage.Webhooks(ctx, c.actor, page)
		return found, len(found) == page.Limit, err
	}, func(w *Webhook) storage.Position { return storage.Position{Time: w.CreatedAt, ID: w.ID} })
}

// FormWebhooks returns the webhooks of one form, newest first.
func (c Client) FormWebhooks(ctx context.Context, form ID) ([]Webhook, error) {
	return c.core().Storage.FormWebhooks(ctx, c.actor, form)
}

// PausedWebhooks lists the accessible webhooks that are paused, ordered by FailingSince, newest first. A pause ends
// with the first successful request. [Service.SendTestEvent], [Service.Redeliver] and a new URL trigger a request.
func (c Client) PausedWebhooks(ctx context.Context, q Query) iter.Seq2[PausedWebhook, error] {
	return iteratePages(ctx, q, clientPageSize, func(page storage.Page) ([]PausedWebhook, bool, error) {
		found, err := c.core().Storage.PausedWebhooks(ctx, c.actor, page)
		return found, len(found) == page.Limit, err
	}, func(p *PausedWebhook) storage.Position {
		return storage.Position{Time: p.FailingSince, ID: p.WebhookID}
	})
}

// Webhook returns one webhook.
func (c Client) Webhook(ctx context.Context, id ID) (Webhook, error) {
	return c.core().Storage.Webhook(ctx, c.actor, id)
}

// CreateWebhook creates a webhook. It returns a [*RejectedURLError] if the URL is not allowed, and a [*schema.Error] if
// the form already has Limits.Webhooks webhooks.
func (c Client) CreateWebhook(ctx context.Context, n WebhookCreate) (Webhook, error) {
	b := core.NewBody().ID("form_id", n.Form).Text("url", n.URL)
	if n.Disabled {
		b.Bool("enabled", false)
	}
	if n.SigningSecret != "" {
		b.Text("signing_secret", n.SigningSecret)
	}
	return core.RunOperation(c.core(), b, func(body []byte) (Webhook, error) {
		return c.core().CreateWebhook(ctx, c.actor, body)
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
	return core.RunOperation(c.core(), b, func(body []byte) (Webhook, error) {
		return c.core().UpdateWebhook(ctx, c.actor, id, body)
	})
}

// DeleteWebhook deletes a webhook, its pending deliveries and its history.
func (c Client) DeleteWebhook(ctx context.Context, id ID) error {
	return c.core().Storage.DeleteWebhook(ctx, c.actor, id)
}

// Deliveries returns the latest delivery attempts for a webhook (at most 100), newest first.
func (c Client) Deliveries(ctx context.Context, webhook ID) ([]Delivery, error) {
	return c.core().Storage.Deliveries(ctx, c.actor, webhook, core.ShownDeliveries)
}
