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

// clientPage is how many records a list reads at a time, for a loop that may end early.
const clientPage = 100

// list yields the records of all pages, newest first, size a page. Records that come or
// go meanwhile make it neither repeat nor skip one that is there throughout. An error, that of an
// ended context too, is yielded as the last pair; no record follows the end of a context.
func list[T any](ctx context.Context, q Query, size int, read func(page storage.Page) (found []T, more bool, err error), at func(*T) storage.Position) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		page, left := storage.Page{Limit: size, After: q.After}, q.Limit
		for {
			if q.Limit > 0 {
				page.Limit = min(size, left)
			}
			found, more, err := read(page)
			if err != nil {
				yield(none, err)
				return
			}
			for i := range found {
				if err := ctx.Err(); err != nil {
					yield(none, err)
					return
				}
				if !yield(found[i], nil) {
					return
				}
			}
			left -= len(found)
			if !more || len(found) == 0 || q.Limit > 0 && left <= 0 {
				return
			}
			last := at(&found[len(found)-1])
			page.After = &last
		}
	}
}

// precondition turns conditions into the precondition of a write of the core.
func precondition(conditions []Precondition) (p core.Precondition) {
	for _, c := range conditions {
		if c.revision != 0 {
			p.Set, p.Revisions = true, append(p.Revisions, c.revision)
		}
	}
	return p
}

// RejectedURLError says why nothing may be sent to the URL of a webhook: the [webhooks.Guard]
// refuses it. Find it with errors.As and a *RejectedURLError. An *[Error] is found in it as
// well, so a handler that knows that one needs no case for this. In development
// [webhooks.Config.AllowedNetworks] ([WithWebhookConfig]) allows a receiver on the same machine.
// Methods and fields: [schema.RejectedURLError].
type RejectedURLError = schema.RejectedURLError

// ErrBlockExists means that the form already has a block with this id.
var ErrBlockExists = schema.ErrBlockExists

// Workspaces lists the accessible workspaces, newest first.
func (c Client) Workspaces(ctx context.Context, q Query) iter.Seq2[Workspace, error] {
	return list(ctx, q, clientPage, func(page storage.Page) ([]Workspace, bool, error) {
		found, err := c.core().Storage.Workspaces(ctx, c.actor, page)
		return found, len(found) == page.Limit, err
	}, func(w *Workspace) storage.Position { return storage.Position{Time: w.CreatedAt, ID: w.ID} })
}

// Workspace returns one workspace.
func (c Client) Workspace(ctx context.Context, id ID) (Workspace, error) {
	return c.core().Storage.Workspace(ctx, c.actor, id)
}

// CreateWorkspace makes a workspace. It returns [ErrLimitReached] when the owner has as
// many as are allowed (Limits.Workspaces).
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

// RenameWorkspace gives a workspace another name. Only the owner may.
func (c Client) RenameWorkspace(ctx context.Context, id ID, name string) (Workspace, error) {
	return core.RunOperation(c.core(), core.NewBody().Text("name", name), func(body []byte) (Workspace, error) {
		return c.core().UpdateWorkspace(ctx, c.actor, id, body)
	})
}

// DeleteWorkspace removes a workspace and moves its forms to the trash. Only the
// owner may.
func (c Client) DeleteWorkspace(ctx context.Context, id ID) error {
	return c.core().DeleteWorkspace(ctx, c.actor, id)
}

// Forms lists forms without their definitions, newest first.
func (c Client) Forms(ctx context.Context, q FormQuery) iter.Seq2[Form, error] {
	return list(ctx, Query{Limit: q.Limit}, clientPage, func(page storage.Page) ([]Form, bool, error) {
		found, err := c.core().Storage.Forms(ctx, c.actor, storage.FormsParams{WorkspaceID: q.Workspace, Page: page})
		return found, len(found) == page.Limit, err
	}, func(f *Form) storage.Position { return storage.Position{Time: f.CreatedAt, ID: f.ID} })
}

// Form returns one form with its definition.
func (c Client) Form(ctx context.Context, id ID) (Form, error) {
	return ownForm(c.core().Storage.Form(ctx, c.actor, id))
}

// ownForm gives the caller bytes of its own: a storage may hand out the same to everybody.
func ownForm(f Form, err error) (Form, error) {
	for _, section := range f.Sections() {
		*section.Value = bytes.Clone(*section.Value)
	}
	if err != nil {
		return Form{}, err
	}
	return f, nil
}

// CreateForm makes a form.
func (c Client) CreateForm(ctx context.Context, n FormCreate) (Form, error) {
	b := core.NewBody().ID("workspace_id", n.Workspace).Text("name", n.Name)
	if n.Type != "" {
		b.Text("type", n.Type)
	}
	return ownForm(core.RunOperation(c.core(), b.Definition(n.Definition), func(body []byte) (Form, error) {
		return c.core().CreateForm(ctx, c.actor, body)
	}))
}

// UpdateForm changes a form and returns it as it is then.
func (c Client) UpdateForm(ctx context.Context, id ID, u FormUpdate) (Form, error) {
	b := core.NewBody().Optional("name", u.Name).Optional("type", u.Type).Optional("status", u.Status)
	if u.Workspace != nil {
		b.Text("workspace_id", u.Workspace.String())
	}
	return ownForm(core.RunOperation(c.core(), b.Definition(u.Definition), func(body []byte) (Form, error) {
		return c.core().UpdateForm(ctx, c.actor, core.Target{ID: id}, body, precondition([]Precondition{IfRevision(u.IfRevision)}))
	}))
}

// PublishForm sets a form's status to published: it takes responses from then on, unless
// it is closed.
func (c Client) PublishForm(ctx context.Context, id ID) (Form, error) {
	status := storage.StatusPublished
	return c.UpdateForm(ctx, id, FormUpdate{Status: &status})
}

// TrashForm moves a form to the trash.
func (c Client) TrashForm(ctx context.Context, id ID, conditions ...Precondition) error {
	return c.core().TrashForm(ctx, c.actor, id, precondition(conditions))
}

// Blocks returns the top-level blocks of a form.
func (c Client) Blocks(ctx context.Context, form ID) (StoredBlocks, error) {
	return ownBlocks(c.core().Storage.Form(ctx, c.actor, form))
}

// ownBlocks does so for all blocks of a form.
func ownBlocks(f Form, err error) (StoredBlocks, error) {
	if err != nil {
		return StoredBlocks{}, err
	}
	return StoredBlocks{JSON: bytes.Clone(f.Blocks), Revision: f.Revision}, nil
}

// Block returns one top-level block of a form.
func (c Client) Block(ctx context.Context, form ID, id string) (StoredBlock, error) {
	return ownBlock(c.core().Block(ctx, c.actor, core.Target{ID: form}, id))
}

// ownBlock gives the caller bytes of its own, as ownForm does.
func ownBlock(b core.Block, err error) (StoredBlock, error) {
	if err != nil {
		return StoredBlock{}, err
	}
	b.JSON = bytes.Clone(b.JSON)
	return StoredBlock(b), nil
}

// CreateBlock appends a block, given as JSON; json.Marshal of a [schema.Block] will do.
// It returns [ErrBlockExists] when the form has one with its id.
func (c Client) CreateBlock(ctx context.Context, form ID, block json.RawMessage, conditions ...Precondition) (StoredBlock, error) {
	return ownBlock(core.RunOperation(c.core(), core.NewBody().JSON("block", block), func(body []byte) (core.Block, error) {
		return c.core().CreateBlock(ctx, c.actor, core.Target{ID: form}, body, precondition(conditions))
	}))
}

// ReplaceBlocks replaces all blocks of a form, or puts them in another order. A block
// without a type keeps its type.
func (c Client) ReplaceBlocks(ctx context.Context, form ID, blocks json.RawMessage, conditions ...Precondition) (StoredBlocks, error) {
	return ownBlocks(core.RunOperation(c.core(), core.NewBody().JSON("blocks", blocks), func(body []byte) (Form, error) {
		return c.core().ReplaceBlocks(ctx, c.actor, core.Target{ID: form}, body, precondition(conditions))
	}))
}

// UpdateBlock applies a merge patch (RFC 7396) to one top-level block.
func (c Client) UpdateBlock(ctx context.Context, form ID, id string, patch json.RawMessage, conditions ...Precondition) (StoredBlock, error) {
	return ownBlock(core.RunOperation(c.core(), core.NewBody().JSON("block", patch), func(body []byte) (core.Block, error) {
		return c.core().UpdateBlock(ctx, c.actor, core.Target{ID: form}, id, body, precondition(conditions))
	}))
}

// DeleteBlock removes one top-level block with all blocks inside it, and returns the
// form's new revision.
func (c Client) DeleteBlock(ctx context.Context, form ID, id string, conditions ...Precondition) (revision int64, err error) {
	return c.core().DeleteBlock(ctx, c.actor, core.Target{ID: form}, id, precondition(conditions))
}

// Warnings returns the warnings of a stored form, see [Service.Warnings].
func (c Client) Warnings(ctx context.Context, form ID) (schema.Warnings, error) {
	f, err := c.Form(ctx, form)
	if err != nil {
		return nil, err
	}
	return c.s.Warnings(f.Definition)
}

// EditorForm returns a form for its editors, as formpage.Handler.Canvas takes it: the working copy if there
// is one, else the form, with the name and the sections of unsaved in place of the stored ones. Of
// unsaved it reads nothing else, and changes nothing.
//
// Unsaved content may break any rule but those about sizes, which are the ones of a write: beyond them the
// error is an [*Error]. What does not fit the type of a field is left out.
func (c Client) EditorForm(ctx context.Context, id ID, unsaved FormUpdate) (PublicForm, error) {
	form, err := c.WorkingCopy(id).Form(ctx)
	if errors.Is(err, ErrUnsupported) {
		form, err = c.Form(ctx, id)
	}
	if err != nil {
		return PublicForm{}, err
	}
	d, u := &form.Definition, &unsaved.Definition
	body := core.NewBody().Optional("name", unsaved.Name).Definition(*u)
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
	for i, block := range blocks { // an unreadable block does not affect the others
		decodeValid(block, &p.Blocks[i])
	}
	decodeValid(d.Settings, &p.Settings)
	decodeValid(d.Theme, &p.Theme)
	p.ClosedMessage = p.Settings.ClosedMessage
	return p, nil
}

// decodeValid reads of a JSON value what fits.
func decodeValid(raw json.RawMessage, into any) { _ = json.Unmarshal(raw, into) }

// ServeHTTP serves the API as the client's user, with all operations, bodies, answers and errors of
// [Service.ServeHTTP], for pages of the host's own product such as handler/builder's.
//
// It asks for no key or scope and limits nothing: the host, which knows who is signed in, takes the
// Client of that user, and refuses requests from foreign pages. The host strips what stands before
// the operation's path, as in /workspaces. Links in answers begin where the request came to.
// [Service.AsHost] has no user: GET /me has the zero id there, and a workspace cannot be made.
func (c Client) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.core() // of a zero Client it panics
	c.s.handler.For(c.actor).ServeHTTP(w, r)
}

// FormsWithWorkingCopy returns those of the forms that have a [WorkingCopy], which are those with
// unpublished changes, in one look and in any order. It leaves out forms that are not accessible. It
// returns [ErrUnsupported] if the storage keeps no working copies.
func (c Client) FormsWithWorkingCopy(ctx context.Context, forms ...ID) ([]ID, error) {
	return c.core().FormsWithWorkingCopy(ctx, c.actor, forms)
}

// WorkingCopy returns the working copy of a form: what its editors write that no respondent
// sees yet.
//
// A form has at most one, for all its editors. The first change makes it, from the form as it is
// then, and a change back to what the form is removes it; without one, the form is read. Its calls are those of the form, with the same rules and
// for the same users, and conditions ([IfRevision]) are on a revision of its own. The form may
// be changed meanwhile, by the API too: [WorkingCopy.Publish] puts both together. What shows the
// copy are previews ([Service.PreviewForm]) and warnings.
//
// On a storage without documents each call is [ErrUnsupported].
func (c Client) WorkingCopy(form ID) WorkingCopy {
	copies := c.core().ForWorkingCopies()
	on := *c.s
	on.core = copies
	return WorkingCopy{of: c, on: Client{&on, c.actor}, form: form}
}

// Form returns the form with the name, the definition and the revision of the copy. The rest
// is the form's.
func (w WorkingCopy) Form(ctx context.Context) (Form, error) { return w.on.Form(ctx, w.form) }

// UpdateForm changes the copy as [Client.UpdateForm] changes a form. It has a name and a
// definition; Status and Workspace are faults.
func (w WorkingCopy) UpdateForm(ctx context.Context, u FormUpdate) (Form, error) {
	return w.on.UpdateForm(ctx, w.form, u)
}

// Blocks is [Client.Blocks] of the copy.
func (w WorkingCopy) Blocks(ctx context.Context) (StoredBlocks, error) {
	return w.on.Blocks(ctx, w.form)
}

// Block is [Client.Block] of the copy.
func (w WorkingCopy) Block(ctx context.Context, id string) (StoredBlock, error) {
	return w.on.Block(ctx, w.form, id)
}

// CreateBlock is [Client.CreateBlock] in the copy.
func (w WorkingCopy) CreateBlock(ctx context.Context, block json.RawMessage, conditions ...Precondition) (StoredBlock, error) {
	return w.on.CreateBlock(ctx, w.form, block, conditions...)
}

// ReplaceBlocks is [Client.ReplaceBlocks] of the copy.
func (w WorkingCopy) ReplaceBlocks(ctx context.Context, blocks json.RawMessage, conditions ...Precondition) (StoredBlocks, error) {
	return w.on.ReplaceBlocks(ctx, w.form, blocks, conditions...)
}

// UpdateBlock is [Client.UpdateBlock] in the copy.
func (w WorkingCopy) UpdateBlock(ctx context.Context, id string, patch json.RawMessage, conditions ...Precondition) (StoredBlock, error) {
	return w.on.UpdateBlock(ctx, w.form, id, patch, conditions...)
}

// DeleteBlock is [Client.DeleteBlock] in the copy.
func (w WorkingCopy) DeleteBlock(ctx context.Context, id string, conditions ...Precondition) (revision int64, err error) {
	return w.on.DeleteBlock(ctx, w.form, id, conditions...)
}

// Warnings returns the warnings of the copy, see [Service.Warnings].
func (w WorkingCopy) Warnings(ctx context.Context) (schema.Warnings, error) {
	return w.on.Warnings(ctx, w.form)
}

// Publish puts the copy in force and removes it: in one step the form gets its name and its
// definition, the status published, and, if it was published, a version of what it replaces
// ([Client.Versions]).
// Whoever opens the form sees the state before or after.
//
// What was changed in the form since the copy was made stays. The two are compared by name, by
// section of the definition, by member of the settings and by block: a part that one of them
// changed is taken from there, and blocks have the order of the copy, where one that only the
// form has follows the one that it follows there. A part that both changed, and not alike, is a
// conflict: Publish changes nothing and returns a [*ConflictError], until p.Take says for each
// which one is wanted. Parts are compared as they are written, and an order of blocks that only the
// form has is lost. The result passes every rule of a write, or the error is a [*schema.Error].
//
// A form without a copy is published as it is. Publish that loses a race with another
// change runs again.
func (w WorkingCopy) Publish(ctx context.Context, p PublishOptions) (Form, error) {
	return ownForm(w.of.core().Publish(ctx, w.of.actor, w.form, precondition([]Precondition{IfRevision(p.IfRevision)}), p.Resolutions, p.DryRun))
}

// Discard removes the copy with everything in it. Without one it does nothing.
func (w WorkingCopy) Discard(ctx context.Context, conditions ...Precondition) error {
	return w.of.core().Discard(ctx, w.of.actor, w.form, precondition(conditions))
}

// ServeHTTP serves the copy to an editor in a browser, as the API serves the form: GET and PATCH
// of /forms/{formId}, GET of its /questions, and the operations on its /blocks, with their
// bodies, answers and ETags. Other paths, and other forms, are 404. A PATCH of the form takes name
// and definition.
//
// It asks for no key and limits nothing: the host, which knows who is signed in, takes the
// Client of that user, refuses requests from foreign pages, and strips what stands before /forms/.
// Links in answers begin where the request came to; the one to submissions leads nowhere.
func (w WorkingCopy) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.of.s.handler.WorkingCopy(w.on.core(), w.of.actor, w.form).ServeHTTP(rw, r)
}

// Versions lists the earlier states of a form that were published, newest first, without their
// content. A version is kept of the state that a change of the name or the definition replaces
// while the form is published, or that is made a draft, in the step that does so: each time by
// [WorkingCopy.Publish] and [Client.RestoreVersion], and by any other write unless a version was
// kept less than ten minutes before. The newest 100 stay ([WithVersions]), within 32 MiB a form.
//
// On a storage without documents no versions are kept, and these calls are [ErrUnsupported].
func (c Client) Versions(ctx context.Context, form ID) iter.Seq2[FormVersion, error] {
	return c.core().VersionList(ctx, c.actor, form)
}

// Version returns the version of a form that was at a revision, with its content, or
// [ErrNotFound]. Two are compared with [schema.Diff].
func (c Client) Version(ctx context.Context, form ID, revision int64) (FormVersion, error) {
	return c.core().Version(ctx, c.actor, form, revision)
}

// RestoreVersion gives a form the name, the type and the definition of a version again, as a new revision
// with the same rules as any write, and keeps a version of what it replaces when that is
// published. The status, and a working copy, stay. It returns [ErrNotFound] when there is no such version.
func (c Client) RestoreVersion(ctx context.Context, form ID, revision int64, r RestoreOptions) (Form, error) {
	return ownForm(c.core().RestoreVersion(ctx, c.actor, form, revision, precondition([]Precondition{IfRevision(r.IfRevision)})))
}

// DecodeAnswers returns the answers of a stored response in the order of the form, hidden
// fields and variables last. Those that the respondent left out are absent.
func DecodeAnswers(s Submission) ([]Answer, error) {
	answers, err := schema.DecodeAnswers(s.Answers)
	if err != nil {
		return nil, fmt.Errorf("formsvc: submission %s: %w", s.ID, err)
	}
	return answers, nil
}

// DecodeForm returns the definition of a form as [Client.Form] returns it. Lists have
// forms without their definitions: to decode one of those is an error.
func DecodeForm(f Form) (content FormValues, err error) {
	d := f.Definition
	if d.Blocks == nil && d.Settings == nil && d.Theme == nil {
		return FormValues{}, fmt.Errorf("formsvc: form %s has no definition because it comes from a list: read it with Client.Form", f.ID)
	}
	var faults [5]error
	content.Blocks, faults[0] = schema.DecodeBlocks(d.Blocks)
	content.Settings, faults[1] = schema.DecodeSettings(d.Settings)
	content.Theme, faults[2] = schema.DecodeTheme(d.Theme)
	if len(d.Variables) > 0 {
		faults[3] = json.Unmarshal(d.Variables, &content.Variables)
	}
	if len(d.HiddenFields) > 0 {
		faults[4] = json.Unmarshal(d.HiddenFields, &content.HiddenFields)
	}
	if err := cmp.Or(faults[:]...); err != nil {
		return FormValues{}, fmt.Errorf("formsvc: form %s: %w", f.ID, err)
	}
	return content, nil
}

// Submissions lists the responses to a form, newest first. It holds one page in memory
// and nothing of the storage between two of them.
func (c Client) Submissions(ctx context.Context, form ID, q SubmissionQuery) iter.Seq2[Submission, error] {
	return c.submissions(ctx, form, q, clientPage)
}

// submissions is Submissions with size responses a page.
func (c Client) submissions(ctx context.Context, form ID, q SubmissionQuery, size int) iter.Seq2[Submission, error] {
	return list(ctx, Query{Limit: q.Limit}, size, func(page storage.Page) ([]Submission, bool, error) {
		found, err := c.core().Submissions(ctx, c.actor, form, storage.SubmissionsParams{Since: q.Since, Until: q.Until, Page: page})
		return found.Submissions, found.More, err
	}, func(s *Submission) storage.Position { return storage.Position{Time: s.SubmittedAt, ID: s.ID} })
}

// Submission returns one response to a form.
func (c Client) Submission(ctx context.Context, form, id ID) (Submission, error) {
	return c.core().Storage.Submission(ctx, c.actor, form, id)
}

// DeleteSubmission removes one response for good and ends its pending deliveries.
func (c Client) DeleteSubmission(ctx context.Context, form, id ID) error {
	return c.core().DeleteSubmission(ctx, c.actor, form, id)
}

// Partials lists the half responses to a form that are neither submitted nor over, those first
// that were saved last. What respondents brought, from the answers to the block and the seconds,
// is there only where they were told that the form's owners can read it
// ([PartialSubmission].Share). If the form has a captcha that respondents see, the list leaves out
// those without a solved one ([PartialSubmission].CaptchaSolved), for the host too. One that is saved
// during the loop moves to the front, and may be missed. The list is read in pages, and with
// Query.After it reads nothing that comes before. It returns [ErrUnsupported] with a storage
// that keeps none.
func (c Client) Partials(ctx context.Context, form ID, q Query) iter.Seq2[Partial, error] {
	now := c.core().Clock()
	return list(ctx, q, clientPage, func(page storage.Page) ([]Partial, bool, error) {
		return c.core().Partials(ctx, c.actor, form, now, page)
	}, func(p *Partial) storage.Position { return storage.Position{Time: p.SavedAt, ID: p.ID} })
}

// DeletePartial removes one half response to a form for good.
func (c Client) DeletePartial(ctx context.Context, form, id ID) error {
	return c.core().DeletePartial(ctx, c.actor, form, id)
}

// Summary counts the answers to a form, in one pass over the responses of q, newest
// first. Its memory grows with the blocks and choices, and up to 10,000 days or gone
// choices a block, not with the responses. All numbers in it are finite. Where respondents
// give up it cannot say: only whole responses are counted. It returns a
// [*schema.Error] when the responses have more than 16,384 different fields.
//
// The service keeps the counts by days of its time zone ([WithTimeZone]), up to 64 MiB for all forms
// and 32 MiB for one, so that another call reads only what is new. It counts everything again when a
// response was deleted, erased, purged or imported since, in any process. A q with a Limit, a
// service from Using, and a storage without SubmissionsRemoved read all responses each time.
func (c Client) Summary(ctx context.Context, form ID, q SubmissionQuery) (Summary, error) {
	return c.SummaryWithin(ctx, form, q, 0)
}

// SummaryWithin is Summary for a page that shows something soon: it counts for about so long, the
// newest responses first. While the result is Unfinished, another call continues.
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
		for s, err := range c.submissions(ctx, form, q, export.PageSize) {
			if err == nil {
				err = t.AddStored(&s)
			}
			if err != nil {
				return Summary{}, err
			}
		}
		return summaryOf(t), nil
	}
	t, done, err := c.core().Summary(ctx, c.actor, core.SummaryParams{Form: form, Since: q.Since, Until: q.Until, Within: within, New: empty})
	if err != nil {
		return Summary{}, err
	}
	s := summaryOf(t)
	s.Incomplete = !done
	return s, nil
}

// summaryOf is a tally as it is returned.
func summaryOf(t *summary.Tally) Summary {
	s := Summary{Submissions: t.Responses}
	if n := len(t.Seconds); n > 0 {
		s.CompletionTime = slices.Sorted(slices.Values(t.Seconds))[n/2]
	}
	for _, b := range t.Blocks {
		to := BlockSummary{
			ID: b.ID, Type: b.Type, Label: b.Label, Deleted: b.Deleted, Answered: b.Answered, Skipped: t.Responses - b.Answered,
			Choices: choiceCounts(b.Choices), Other: b.Other, NPS: (*NPSSummary)(b.NPS), Uncounted: b.Uncounted,
		}
		for other := b.OtherType; other != nil; other = other.OtherType {
			to.OtherTypes = append(to.OtherTypes, TypeCount{other.Type, other.Answered})
			to.Skipped -= other.Answered
		}
		for _, text := range b.Texts.List {
			to.Texts = append(to.Texts, TextCount{text.Text, text.Count, text.Submission})
		}
		for _, r := range b.Rows {
			to.Rows = append(to.Rows, RowSummary{ID: r.ID, Label: r.Label, Choices: choiceCounts(r.Choices)})
		}
		if n := &b.Numbers; n.Count > 0 {
			to.Numbers = &NumberSummary{
				Count: n.Count, Min: n.Min, Max: n.Max, Mean: n.Mean(), StdDev: n.StdDev(), Median: n.Median(), Exact: n.Exact(),
			}
			for _, bin := range n.Histogram(summary.MaxBins) {
				to.Numbers.Histogram = append(to.Numbers.Histogram, Bin(bin))
			}
		}
		for _, day := range b.Days.Counts() {
			to.Days = append(to.Days, DayCount{Day: day.ID, Count: day.Count})
		}
		slices.SortFunc(to.Days, func(a, b DayCount) int { return strings.Compare(a.Day, b.Day) })
		s.Blocks = append(s.Blocks, to)
	}
	return s
}

func choiceCounts(choices summary.ChoiceCounts) (list []ChoiceCount) {
	for _, c := range choices.Counts() {
		list = append(list, ChoiceCount(c))
	}
	return list
}

// Period is a time that [Metrics] are of. Days are those of UTC.
type Period = schema.Period

// The periods. All but yesterday end now.
const (
	PeriodToday     = schema.PeriodToday
	PeriodYesterday = schema.PeriodYesterday
	Period24h       = schema.Period24h // 24 hours
	Period7d        = schema.Period7d  // today and the 6 days before
	Period30d       = schema.Period30d // today and the 29 days before
	Period3m        = schema.Period3m  // since the same day 3 months ago
	Period6m        = schema.Period6m
	Period12m       = schema.Period12m
	PeriodAll       = schema.PeriodAll // with those of [Service.SetLifetimeCounters]
)

// During returns the time of a period for [Client.Submissions], [Client.Summary] and [Client.Export].
// Its days are those of the service's time zone ([WithTimeZone]), unlike those of [Client.Metrics].
func (s *Service) PeriodQuery(period Period) (SubmissionQuery, error) {
	since, until, err := s.core.PeriodQuery(period)
	return SubmissionQuery{Since: since, Until: until}, err
}

// Metrics are the figures of a form's funnel over a period.
type Metrics struct {
	Period Period
	// Estimated says that the lifetime counters of [Service.SetLifetimeCounters] are part
	// of the figures.
	Estimated                  bool
	Views, Starts, Submissions int64
	// CompletionRate is Submissions in percent of Starts, with two decimals; 0 when
	// nobody started.
	CompletionRate float64
}

// Metrics returns the figures of a period. "" is [Period30d].
func (c Client) Metrics(ctx context.Context, form ID, period Period) (Metrics, error) {
	if period == "" {
		period = core.DefaultPeriod
	}
	m, err := c.core().Metrics(ctx, c.actor, form, period)
	return Metrics(m), err
}

// SubmissionTotals returns how many responses ever came in to each of the forms, as Metrics has
// them for [PeriodAll], in one look. It leaves out forms that are not accessible.
func (c Client) SubmissionTotals(ctx context.Context, forms ...ID) (map[ID]int64, error) {
	return c.core().Storage.SubmissionTotals(ctx, c.actor, forms)
}

// ExportFormat is how responses are written.
type ExportFormat = schema.ExportFormat

// The formats of an [Export].
const (
	CSV    = schema.CSV
	NDJSON = schema.NDJSON
)

// Export says how responses are exported. The zero value is a CSV of all of them.
//
// NDJSON has one response a line, exactly as the API lists it.
//
// CSV is as RFC 4180 has it, in UTF-8, with a header and one line a response. Every text
// of a form or a respondent is quoted; numbers, dates and ids of responses are not, nor are the
// names of the columns that every file has. The columns in their order:
//
//   - submission_id and submitted_at, in every file.
//   - One for each block that answers, named by its id, in the order of the form; then the
//     hidden fields and variables; then blocks that are gone from the form but stand in
//     responses. A value with parts has a column for each, named id/part: the rows of a matrix
//     by their ids, the parts of an address or contact, a file's name and url, a payment's
//     amount, currency, status, gateway and reference.
//   - completion_time (in seconds), metadata/country, metadata/device, metadata/user_agent,
//     metadata/utm/campaign, metadata/utm/content, metadata/utm/medium, metadata/utm/source and
//     metadata/utm/term, in every file, also where all of their cells are empty.
//
// An unanswered block is an empty cell.
//
// A respondent's own text in a column by choice is in id/other. A choice whose id is
// "other" or begins with "choice:" has the column id/choice:other or the like. A file in
// a column of its own has id/1/name and id/1/url, the next one id/2/name. A name that is
// taken already, such as that of a block with the id submitted_at, gets " (2)", " (3)"
// and so on.
//
// A spreadsheet program takes a cell for a formula when it begins with =, +, -, @, a tab
// or a carriage return. Such a cell gets an apostrophe (') in front, and so does one with
// such a character after apostrophes: whoever removes one apostrophe from every cell that
// has = + - @ tab or CR after its apostrophes has the responses again. Answers of number,
// date and phone blocks are never changed.
//
// Programs that split at commas, semicolons and tabs alike, as LibreOffice does unless
// told otherwise, read the same cells. A program that splits at semicolons or tabs but
// not at commas, as Excel does where the comma is the decimal sign, sees no quotes at the
// start of a cell. Such a program needs a file with that Separator: without it, columns
// and apostrophes are wrong.
type Export struct {
	Format ExportFormat // CSV (the default) or NDJSON
	// Since and Until bound SubmittedAt; both are included. Zero: no bound.
	Since, Until time.Time

	// The rest is about CSV alone.

	Separator rune // ',' (the default), ';' or a tab: what the program that reads the file splits at
	ChoiceIDs bool // choices as ids. Default: as the labels that they had when chosen
	// SplitColumns: one column per choice (id/choice id, id/other) and per file (id/1/name)
	// where several may be given. A cell has the choice, in a ranking its place. Default:
	// one cell, the values separated by "; ". The rows of a matrix always have their own.
	SplitColumns bool
	Labels       bool // the header has the labels of blocks, followed by [id] where two are alike. Default: ids
	BOM          bool // begin with a byte order mark, by which some programs know UTF-8
	// AllowFormulas leaves out the apostrophe in front of text that a program could take
	// for a formula.
	AllowFormulas bool
	// CompletionLine ends the file with a line that proves that it is complete and has the number of
	// submissions: {"complete":true,"submissions":12} in NDJSON, and complete,12 in CSV.
	CompletionLine bool
}

// Export writes the responses to a form, newest first. It holds a page of them in memory,
// at most 16 MiB, however many there are, and nothing of the storage while w takes a page.
// On a Service from Using, the host's transaction stays open meanwhile. A CSV reads all
// responses twice, because the first pass finds its columns; nothing is written before that.
//
// A response that comes in meanwhile may or may not be written. Without an error the
// stream is whole. A [*schema.Error] lists the faults of e, or says that a CSV would
// have more than 16,384 columns.
//
// If w is the response writer of [http.TimeoutHandler], the whole export is buffered in memory
// until it is complete. Serve exports outside of it.
func (c Client) Export(ctx context.Context, w io.Writer, form ID, e Export) error {
	o := export.Options(e)
	if err := o.Check(); err != nil {
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

// WebhookCreate is a webhook to make. Printed, logged or as JSON it shows "…" for a signing
// secret; the comment of [IssuedKey] says how a secret may still be shown.
type WebhookCreate struct {
	Form     ID     // required
	URL      string // required: http or https, to a public address (webhooks.Config.AllowedNetworks allows others, in development 127.0.0.1/32)
	Disabled bool   // nothing is sent before it is enabled
	// SigningSecret has at least 16 characters. Empty: deliveries are not signed.
	SigningSecret string
}

// secretMask stands for a secret where something is printed.
const secretMask = "…"

// maskedWebhook is a WebhookCreate as it is printed.
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

// MarshalJSON writes n without its secret.
func (n WebhookCreate) MarshalJSON() ([]byte, error) { return json.Marshal(n.masked()) }

// WebhookUpdate says what to change of a webhook. A member that is nil leaves its value
// unchanged; at least one member must be set. Printed, logged or as JSON it shows no
// signing secret, as [WebhookCreate].
type WebhookUpdate struct {
	URL     *string // as of WebhookCreate; pending deliveries go to the new URL
	Enabled *bool   // false ends the pending deliveries
	// SigningSecret replaces the secret; a pointer to "" removes it.
	SigningSecret *string
}

// MarshalJSON writes u without its secret. Package fmt prints only where that stands.
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
	return list(ctx, q, clientPage, func(page storage.Page) ([]Webhook, bool, error) {
		found, err := c.core().Storage.Webhooks(ctx, c.actor, page)
		return found, len(found) == page.Limit, err
	}, func(w *Webhook) storage.Position { return storage.Position{Time: w.CreatedAt, ID: w.ID} })
}

// FormWebhooks returns the webhooks of one form, newest first.
func (c Client) FormWebhooks(ctx context.Context, form ID) ([]Webhook, error) {
	return c.core().Storage.FormWebhooks(ctx, c.actor, form)
}

// PausedWebhooks lists the accessible webhooks that are paused, those first that failed
// last. A pause ends with the first request that succeeds: [Service.SendTestEvent] and
// [Service.Redeliver] send one at once, and so does a new URL.
func (c Client) PausedWebhooks(ctx context.Context, q Query) iter.Seq2[PausedWebhook, error] {
	return list(ctx, q, clientPage, func(page storage.Page) ([]PausedWebhook, bool, error) {
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

// CreateWebhook makes a webhook. A URL to which nothing may be sent is a
// [*RejectedURLError]. A form has Limits.Webhooks at most; one more is a [*schema.Error].
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

// UpdateWebhook changes a webhook and returns it as it is then. Errors as for
// CreateWebhook.
func (c Client) UpdateWebhook(ctx context.Context, id ID, u WebhookUpdate) (Webhook, error) {
	b := core.NewBody().Optional("url", u.URL)
	if u.Enabled != nil {
		b.Bool("enabled", *u.Enabled)
	}
	if u.SigningSecret != nil && *u.SigningSecret == "" {
		b.Null("signing_secret")
	} else {
		b.Optional("signing_secret", u.SigningSecret)
	}
	return core.RunOperation(c.core(), b, func(body []byte) (Webhook, error) {
		return c.core().UpdateWebhook(ctx, c.actor, id, body)
	})
}

// DeleteWebhook removes a webhook, its pending deliveries and its history.
func (c Client) DeleteWebhook(ctx context.Context, id ID) error {
	return c.core().Storage.DeleteWebhook(ctx, c.actor, id)
}

// Deliveries returns the summaries of a webhook's latest attempts, newest first, at most
// 100.
func (c Client) Deliveries(ctx context.Context, webhook ID) ([]Delivery, error) {
	return c.core().Storage.Deliveries(ctx, c.actor, webhook, core.ShownDeliveries)
}
