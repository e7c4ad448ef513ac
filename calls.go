package formsvc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/formsvc/formsvc/internal/intake"
	"github.com/formsvc/formsvc/internal/keyring"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// PublicForm returns a published form by its public ID. If the form is closed, Closed is set. It returns [ErrNotFound]
// if there is no such form, or if the form is a draft or in the trash.
func (s *Service) PublicForm(ctx context.Context, publicID string) (PublicForm, error) {
	return s.publicForm(s.intake.Published(ctx, publicID))
}

// PreviewForm returns the current state of a form by its ID, draft or published, with its warnings (see
// [Service.Warnings]). If the form has a working copy, it returns the working copy. It returns [ErrNotFound] if there
// is no such form, or if the form is in the trash. It does not check access, so the host decides who can see a draft.
func (s *Service) PreviewForm(ctx context.Context, id ID) (PublicForm, schema.Warnings, error) {
	f, known, err := s.intake.On(s.core.ForWorkingCopies()).Form(ctx, id)
	if errors.Is(err, ErrUnsupported) {
		f, known, err = s.intake.Form(ctx, id)
	}
	p, err := s.publicForm(f, known, err)
	if err != nil {
		return PublicForm{}, nil, err
	}
	warnings, err := s.Warnings(f.Definition)
	if err != nil {
		return PublicForm{}, nil, fmt.Errorf("formsvc: form %s: %w", f.ID, err)
	}
	return p, warnings, nil
}

// publicForm returns the parts of a form that a page needs.
func (s *Service) publicForm(f Form, known *intake.CompiledForm, err error) (PublicForm, error) {
	if err != nil {
		return PublicForm{}, err
	}
	return PublicForm{
		ID: f.ID, PublicID: f.PublicID, Name: f.Name, Type: f.Type,
		Closed:        f.IsClosed(s.core.Clock()),
		ClosedMessage: known.Settings.ClosedMessage,
		Definition:    f.Definition,
		Blocks:        known.Blocks, Settings: known.Settings, Theme: known.Theme,
		compiled: known,
	}, nil
}

// Submit checks a submission and stores it. In the same atomic step it updates the funnel, checks the response limit
// and duplicates, and queues a delivery for each enabled webhook of the form. The form must be published, and
// settings.closed must be off.
//
// Errors: an [*Error] that lists all violations; [ErrNotFound] if the form does not exist, is a draft or is in the
// trash; [ErrClosed] if it accepts no more submissions; [ErrDuplicate] if the form already has this answer to
// settings.duplicateField; [ErrIdempotencyKeyReused], see SubmitParams.StrictIdempotency. After [ErrOutcomeUnknown] the
// submission may or may not be stored. In this case, repeat the call with the same IdempotencyKey.
//
// With SubmittedAt, the host imports an old submission. It is checked against the current form. It counts in lists, in
// the metrics of its time, towards the response limit and as a duplicate. No event is queued unless Deliver is set.
// settings.closeAt is compared with SubmittedAt, but settings.closed and a reached limit still return [ErrClosed].
// Therefore, import first and close the form afterwards.
func (s *Service) Submit(ctx context.Context, r SubmitParams) (Submission, error) {
	return s.intake.Submit(ctx, &intake.SubmitParams{
		FormID: r.FormID, Metadata: intake.Metadata(r.Metadata),
		Input:          intake.Input{Answers: r.Answers, HostAnswers: r.HostAnswers, Hidden: r.Hidden},
		CompletionTime: r.CompletionTime, IdempotencyKey: r.IdempotencyKey, OneContent: r.StrictIdempotency,
		Partial: r.Partial, SubmittedAt: r.SubmittedAt, Deliver: r.Deliver,
	})
}

// SavePartial saves a partial submission and returns its token. Anyone with the token can read and change the partial
// submission, so only the respondent should receive it. Without a Token in r, it creates a partial submission. With a
// Token, it replaces the whole partial submission.
//
// Answers are stored as they were sent, and [Service.Submit] checks them later. Some answers are not stored, and
// dropped contains the sorted IDs of their blocks. These are answers that are not valid JSON for the API, and answers
// to blocks that are unknown, take no answer, are a captcha, are not on the path, or can only be answered by the host.
// Answers from the host still determine the path, as for [Service.Path], and must be given again.
//
// A partial submission expires 30 days after its last save, at the end of the day in the service's time zone
// ([WithTimeZone]). A form can have 10,000 of them. If there are more, the newest that was saved only once and has no
// LinkIssued is replaced, or otherwise the one with the oldest save. Each Visit creates at most one, but a stranger can
// start any number of visits, so the host should limit them by IP address. Processes that create partial submissions
// concurrently can exceed the limit by 128 each. Partial submissions do not appear in submissions, exports, webhooks,
// metrics or limits. If the database crashes, the saves of the last second may be lost. See [Client.Partials].
//
// The first revision is 1, and each save increments it. With r.Revision, two devices cannot overwrite each other's
// saves: the second save returns a [*RevisionError] of the Kind "partial", and its device can read the first save.
// Without r.Revision the last save wins. If a save has no Token and its Visit has already created a partial submission,
// nothing changes. The call then returns the existing token with a *RevisionError, or with ErrAlreadySubmitted if it
// was submitted.
//
// Errors: an [*Error] if the answers and hidden fields exceed Limits.Partial, if Submit would reject a hidden field,
// the metadata or the seconds, or if the form's rules are too expensive; [ErrNotFound] if the form does not exist, is a
// draft or is in the trash, or if the token is invalid, expired or belongs to another form; [ErrClosed], whatever the
// token; [ErrAlreadySubmitted]; [ErrUnsupported].
func (s *Service) SavePartial(ctx context.Context, r PartialSubmission) (token string, dropped []string, err error) {
	p := Partial{
		FormID: r.FormID, Revision: r.Revision, Block: r.Block, Seconds: r.Seconds, Shared: r.ShareWithOwner,
		Verified: r.CaptchaSolved, LinkIssued: r.LinkIssued,
	}
	return s.intake.SavePartial(ctx, r.Token, r.Visit, p, intake.Input{Answers: r.Answers, Hidden: r.Hidden}, intake.Metadata(r.Metadata))
}

// ResumePartial returns the partial submission with a token. The form may have changed since the last save, so call
// [Service.Path] to find the answers that still count. It also works for a closed form.
//
// After [Service.Submit] with the token, it returns [ErrAlreadySubmitted] until the partial submission expires. The
// result then contains no answers, but the SubmissionID, with which a page can show the form's ending. Other errors:
// [ErrNotFound] as for SavePartial; [ErrUnsupported].
func (s *Service) ResumePartial(ctx context.Context, formID ID, token string) (PartialSubmission, error) {
	p, in, m, err := s.intake.ResumePartial(ctx, formID, token)
	if p.ID.IsZero() {
		return PartialSubmission{}, err
	}
	return PartialSubmission{
		FormID: formID, Token: token, Answers: in.Answers, Hidden: in.Hidden, Metadata: Metadata(m),
		Block: p.Block, Seconds: p.Seconds, Revision: p.Revision, ShareWithOwner: p.Shared,
		SavedAt: p.SavedAt, EndsAt: p.EndsAt, SubmissionID: p.SubmissionID,
	}, err
}

// DeletePartial permanently deletes a partial submission, for the respondent who has its token. An unknown token is not
// an error. It returns [ErrNotFound] if there is no such form, and [ErrUnsupported].
func (s *Service) DeletePartial(ctx context.Context, formID ID, token string) error {
	return s.intake.DeletePartial(ctx, formID, token)
}

// Path returns the path through a form for answers that may be incomplete: the blocks to show, the blocks that must be
// answered, the ending and the variables. [Service.Submit] computes the same path and drops answers to other blocks.
//
// The answers include the host's answers: to payments, files and signatures, and to blocks with properties.hide. The
// path is the same as for a Submit with these answers in HostAnswers. A host that passes on a respondent's answers must
// remove such answers first. Drafts and closed forms have paths too.
//
// It returns [ErrNotFound] if there is no such form, and an [*Error] if its rules are too expensive. Invalid answers
// are not an error here, see Path.Violations.
func (s *Service) Path(ctx context.Context, formID ID, answers map[string]json.RawMessage, hidden map[string]string) (Path, error) {
	// Always read the stored form, because a caller cannot notice that a cached form is out of date.
	_, known, err := s.intake.Form(ctx, formID)
	if err != nil {
		return Path{}, err
	}
	return known.Path(answers, hidden)
}

// IssuedKey is a new API key. Secret is the whole key, and cannot be retrieved again. If you print or log an IssuedKey,
// only the key's prefix appears, and its JSON contains no Secret. To send the key to its owner, send the field Secret.
// The secret is not hidden if the IssuedKey is in an unexported field of another struct, or for the verbs %p and %w (go
// vet reports them).
type IssuedKey struct {
	Key    Key
	Secret string `json:"-"`
}

// String returns the key's prefix, without the secret.
func (k IssuedKey) String() string { return k.Key.Prefix + secretMask }

// Format prints String for every verb.
func (k IssuedKey) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), k.String())
}

// LogValue returns the key's prefix, without the secret.
func (k IssuedKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// CreateKey creates an API key. It returns a [*schema.Error] that lists all violations of the request, and
// [ErrLimitReached] if the user already has 20 active keys, even if calls run concurrently. If the host sets a
// [KeyResolver], that resolver must accept the key, see [Service.ResolveKey].
func (s *Service) CreateKey(ctx context.Context, r KeyRequest) (IssuedKey, error) {
	key, secret, err := s.keys.Create(ctx, keyring.Request(r), s.core.Now(), s.core.NewID)
	if err != nil {
		return IssuedKey{}, err
	}
	return IssuedKey{Key: key, Secret: secret}, nil
}

// Keys lists a user's keys, newest first. Revoked and expired keys are listed for 90 days.
func (s *Service) Keys(ctx context.Context, userID ID) ([]Key, error) {
	return s.core.Storage.Keys(ctx, userID)
}

// ResolveKey returns the principal of a key that [Service.CreateKey] created, or [ErrInvalidKey]. A host's
// [KeyResolver] that checks sessions calls it for all other credentials.
func (s *Service) ResolveKey(ctx context.Context, key string) (Principal, error) {
	return s.keys.ResolveKey(ctx, key)
}

// RevokeKey revokes a key from the next request on. It returns [ErrNotFound] if the user has no such key. Revoking a
// key twice is not an error.
func (s *Service) RevokeKey(ctx context.Context, userID, keyID ID) error {
	return s.core.Storage.RevokeKey(ctx, userID, keyID, s.core.Now())
}

// Maintain does a limited part of the maintenance, which takes about a second at most. It backfills answers for the
// duplicate check, aggregates counts for the metrics, and removes keys that ended 90 days ago and unused event bodies.
// It also completes deletions and purges of other processes. All processes can call it concurrently.
//
// A running [webhooks.Dispatcher] does this about once a minute. A deployment without a dispatcher should call Maintain
// as often. Without maintenance nothing is lost, but metrics become slow and deleted data still occupies storage. The
// host purges the trash itself: see [Service.PurgeTrash].
//
// An error concerns one kind of work. The other work was still done.
func (s *Service) Maintain(ctx context.Context) error { return s.core.Maintain(ctx) }

// These are the errors of [Service.Check] in addition to the errors of the storage.
var (
	// ErrNoDispatcher means that deliveries have been due for five minutes, and that no process has run a dispatcher in
	// that time.
	ErrNoDispatcher = schema.ErrNoDispatcher
	// ErrNoMaintenance means that no process has done maintenance for a day.
	ErrNoMaintenance = schema.ErrNoMaintenance
)

// Check reports all problems of the deployment, each on a line that says what to do: the version of the tables, the
// privileges and settings of the database role, the dispatcher ([ErrNoDispatcher]) and maintenance
// ([ErrNoMaintenance]). It returns nil if there are no problems.
//
// Call it at startup, and in a health check about once a minute. If the error is [ErrUnavailable], the service cannot
// work now. With any other error the service accepts requests, but an operator must act. ErrNoDispatcher and
// ErrNoMaintenance concern all processes. After an outage of all processes, Check may report them until the new
// dispatcher has run for two minutes.
//
// A process whose deliveries are not sent also logs ErrNoDispatcher, at most every five minutes. If a host's own
// storage does not support the check, the error is [storage.ErrUnimplemented].
func (s *Service) Check(ctx context.Context) error { return s.core.Check(ctx) }

// ErrSecret means that no cipher of [WithSecretCipher] can decrypt a signing secret.
var ErrSecret = storage.ErrSecret

// ReencryptSecrets encrypts all signing secrets with the current cipher of [WithSecretCipher], including replaced
// secrets that still sign for a day, and returns the number of changed secrets. If it returns no error, the previous
// ciphers are no longer needed. Without a current cipher, it decrypts the secrets.
//
// It works in batches of 500 webhooks. You can repeat it after an error or a canceled context, from any process, while
// webhooks are changed and sent. A secret that cannot be decrypted does not change, and the error is [ErrSecret] with
// the ID of its webhook. The other secrets are still encrypted.
func (s *Service) ReencryptSecrets(ctx context.Context) (int, error) {
	return s.core.ReencryptSecrets(ctx)
}

// TrashedForms lists the forms of a workspace that are in the trash, newest first by creation time, without their
// definitions. The workspace itself may be deleted, because this moves its forms to the trash. For the zero ID, it
// returns [ErrNotFound].
func (s *Service) TrashedForms(ctx context.Context, workspaceID ID) ([]Form, error) {
	return s.core.TrashedForms(ctx, workspaceID)
}

// RestoreForm restores a form from the trash, with all of its data. If into is zero, the form returns to its previous
// workspace. It returns [ErrNotFound] if the form is not in the trash, and [ErrConflict] if the workspace no longer
// exists.
func (s *Service) RestoreForm(ctx context.Context, formID, into ID) error {
	return s.core.Storage.RestoreForm(ctx, formID, into, s.core.Now())
}

// PurgeForm permanently removes a form that is in the trash, with its submissions, webhooks and metrics. If it returns
// nil, no row of the form remains, as for [Service.PurgeTrash]. It returns [ErrNotFound] if the form is not in the
// trash.
func (s *Service) PurgeForm(ctx context.Context, formID ID) error {
	return s.core.PurgeForm(ctx, formID)
}

// PurgeTrash permanently removes the forms that were moved to the trash before olderThan, with their submissions,
// webhooks and metrics, and returns the number of forms. Forms are purged only if the host calls it, for example after
// 30 days. The zero time is an error.
//
// Forms are inaccessible as soon as they are counted. Their rows are removed in batches, so that no request waits and
// statement_timeout is not exceeded. If the call returns no error, no row remains. After an error, a canceled context
// or a crash, the next call or [Service.Maintain] removes the rest.
func (s *Service) PurgeTrash(ctx context.Context, olderThan time.Time) (int, error) {
	return s.core.PurgeTrash(ctx, olderThan)
}

// PurgeSubmissions permanently removes the submissions to one form from before olderThan, and returns their number. The
// form can be in the trash. Idempotency keys, pending deliveries and event bodies are removed with them. Partial
// submissions whose last save was before olderThan are removed too, but not counted.
//
// Their answers to settings.duplicateField can be submitted again. Purged submissions still count towards
// settings.responseLimit, unlike deleted and erased submissions. The metrics do not change. Submissions are purged only
// if the host calls it. The zero time and the zero ID are errors.
//
// It works in batches, so that no request waits. After an error, a canceled context or a crash, repeat the call.
// Deliveries that a dispatcher has already claimed may still be sent. For an unknown form, it returns 0 and no error.
func (s *Service) PurgeSubmissions(ctx context.Context, olderThan time.Time, formID ID) (int, error) {
	return s.core.PurgeSubmissions(ctx, olderThan, formID)
}

// PurgeAllSubmissions is like [Service.PurgeSubmissions] for all forms of all users, including forms in the trash.
func (s *Service) PurgeAllSubmissions(ctx context.Context, olderThan time.Time) (int, error) {
	return s.core.PurgeAllSubmissions(ctx, olderThan)
}

// DeleteUser permanently removes all data of a user: API keys with the user's name and email, memberships, and the
// workspaces that the user owns with all their forms, submissions, webhooks and metrics, including forms in the trash.
// It does not change other users' data, or forms that the user created in workspaces of others. To keep a workspace,
// transfer it first: see [Service.TransferWorkspace].
//
// The data is inaccessible as soon as the first transaction commits. The rows are removed in batches, and if the call
// returns no error, no row remains. The call waits for concurrent submissions to these forms, and for a dispatcher or a
// [Service.Maintain] that removes rows concurrently. After an error, a canceled context or a crash, repeat the call, or
// Maintain removes the rest. An unknown user is not an error, but the zero ID is. Deliveries that a dispatcher has
// already claimed may still be sent. PostgreSQL reuses the space of removed rows after the next VACUUM. Its write-ahead
// log and backups may still contain them.
func (s *Service) DeleteUser(ctx context.Context, user ID) error { return s.core.DeleteUser(ctx, user) }

// EraseRespondent permanently removes the submissions to a form that have all given answers, and returns their number.
// It also removes their idempotency keys, pending deliveries, event bodies and answer digests. They no longer count
// towards settings.responseLimit, and their answers to settings.duplicateField can be submitted again. The metrics do
// not change.
//
// The keys of wanted are block IDs, names of hidden fields, or "block/part" for a part of an address or contact
// ("contact/email"). Answers are compared by meaning, as for duplicates: Ann@Example.com equals ann@example.com. Hidden
// fields are compared exactly, because they often contain the host's IDs. A choice is identified by its ID, or an
// “Other” answer by its text. In a list of choices it must be the only choice. A phone number needs its country code
// (+49…), unless the block has a defaultCountry.
//
// An [*Error] means that the conditions cannot match, and that nothing was removed. This is the case if there are no
// conditions, if a value is empty, if neither the form nor a submission has the name, or if the name identifies an
// answer that is never compared (a variable, matrix, file, signature, payment or whole contact). Blocks that were
// removed from the form can still be named. A result of 0 means that no submission matched, for example because a value
// is misspelled.
//
// It searches one form. The example searches all forms of a user, for all fields that may contain the person's answers.
// Receivers of webhooks are not notified, so the host must inform them.
//
// Partial submissions ([Service.SavePartial]) are removed too, but not counted. Their invalid answers are compared as
// they were sent. A partial submission that is saved concurrently may be missed.
//
// It reads all submissions and removes them in batches. After an error, the result is the number of removed
// submissions. Repeat the call for the rest, and for submissions that arrived in the meantime. Deliveries that a
// dispatcher has already claimed may still be sent. It returns [ErrNotFound] if the form does not exist or is in the
// trash. In this case, restore or purge it.
func (s *Service) EraseRespondent(ctx context.Context, formID ID, wanted map[string]string) (int, error) {
	return s.core.EraseRespondent(ctx, formID, wanted)
}

// CreateWorkspace creates a workspace for an owner. The name is trimmed and must have 1 to 120 characters. If it
// contains control characters or bidirectional control characters, the error is a [*schema.Error]. It returns
// [ErrLimitReached] if the owner has the maximum number of workspaces (Limits.Workspaces).
func (s *Service) CreateWorkspace(ctx context.Context, owner ID, name string) (Workspace, error) {
	return s.AsHost().CreateWorkspace(ctx, WorkspaceCreate{Name: name, Owner: owner})
}

// AddMember gives a user access to a workspace. Only its owner can rename or delete the workspace itself. Adding a
// member twice is not an error. It returns [ErrNotFound] if there is no such workspace.
func (s *Service) AddMember(ctx context.Context, workspaceID, userID ID) error {
	return s.core.AddMember(ctx, workspaceID, userID)
}

// RemoveMember removes a member from a workspace. It is not an error if the user is not a member. It returns
// [ErrNotFound] if there is no such workspace, and [ErrConflict] for its owner: see [Service.TransferWorkspace].
func (s *Service) RemoveMember(ctx context.Context, workspaceID, userID ID) error {
	return s.core.Storage.SetMember(ctx, workspaceID, userID, false)
}

// Members lists the members of a workspace in ascending order, without the owner. It returns [ErrNotFound] if there is
// no such workspace.
func (s *Service) Members(ctx context.Context, workspaceID ID) ([]ID, error) {
	return s.core.Storage.Members(ctx, workspaceID)
}

// TransferWorkspace gives a workspace to another owner. The previous owner becomes a member. It returns [ErrNotFound]
// if there is no such workspace. The new owner may exceed Limits.Workspaces, which only applies to creating workspaces.
func (s *Service) TransferWorkspace(ctx context.Context, workspaceID, newOwner ID) error {
	return s.core.TransferWorkspace(ctx, workspaceID, newOwner)
}

// RecordView counts one view of a form. For an unknown form or a form in the trash, it does nothing. It returns
// immediately, and the views of this process are stored together within 250 ms. A process that is killed loses the
// views that are not stored. [Service.Close] stores them. The metrics of this process include a view immediately, and
// the metrics of other processes after it is stored.
//
// If the storage fails, the error is logged, and after [ErrUnavailable] the views are stored later. After Close, and
// while 10,000 views and starts wait, each call stores its own view and returns the error. The same applies to
// [Service.WithStorage], whose views are part of the host's transaction.
func (s *Service) RecordView(ctx context.Context, formID ID) error {
	return s.core.CountVisit(ctx, formID, storage.Counters{Views: 1})
}

// RecordStart counts one respondent who started to fill in a form, as [Service.RecordView] counts a view.
func (s *Service) RecordStart(ctx context.Context, formID ID) error {
	return s.core.CountVisit(ctx, formID, storage.Counters{Starts: 1})
}

// SetLifetimeCounters sets the totals that an imported form had before. They are added to the metrics of the period
// "all", which are then marked as estimated. If all counters are zero, it removes the totals. It returns [ErrNotFound]
// if there is no such form.
func (s *Service) SetLifetimeCounters(ctx context.Context, formID ID, c Counters) error {
	return s.core.SetLifetimeCounters(ctx, formID, c)
}

// Warnings finds the parts of a definition that make it unanswerable or have no effect: limits that exclude all values,
// required questions without choices, jumps without a target, invalid logic. Writes accept all of them. Nil sections
// are empty. Days are in the zone of [WithTimeZone].
//
// The properties of a question determine whether it can be answered. The order of the blocks and their jumps determine
// whether a block can be reached and whether any submission is accepted. To test a condition, the service evaluates it
// with answers at and next to the values, choices and limits that it compares. Conditions of different blocks are
// treated as independent. Therefore, all warnings are correct, but some problems are missed, such as conditions of
// several blocks that exclude each other.
//
// An error means that the API would reject a section.
func (s *Service) Warnings(d Definition) (schema.Warnings, error) { return s.core.Warnings(d) }

// Redeliver sends the event of an earlier delivery again, with the same bytes and a new series of attempts. deliveryID
// is an ID from GET /webhooks/{webhookId}/deliveries. It returns [ErrNotFound] if there is no such delivery or its
// submission was deleted, and [ErrConflict] if the webhook is disabled.
func (s *Service) Redeliver(ctx context.Context, webhookID, deliveryID ID) error {
	return s.wakeDispatcher(ctx, s.core.Storage.Redeliver(ctx, webhookID, deliveryID))
}

// RedeliverFailed calls [Service.Redeliver] for each delivery of a webhook that ended without success since a time, and
// returns the number of queued deliveries. These are deliveries that failed finally or expired, or whose webhook was
// disabled after a failed attempt. since is compared with the time of the last attempt. The zero time means all
// retained deliveries.
//
// It processes the newest 100 attempts, which GET /webhooks/{webhookId}/deliveries returns, and the summaries of
// expired deliveries. One summary contains all deliveries that expired together. Pending deliveries do not change, and
// deliveries whose submission was deleted are skipped. If a later success of an expired delivery is no longer retained,
// the event is sent once more.
//
// Each delivery is queued in its own step. If it returns an error or ctx ends, the number says how many deliveries were
// queued. Repeat the call for the rest. A repeated or concurrent call does not queue a delivery twice. It returns
// [ErrNotFound] if there is no such webhook, and [ErrConflict] if there are deliveries to send but the webhook is
// disabled.
func (s *Service) RedeliverFailed(ctx context.Context, webhookID ID, since time.Time) (int, error) {
	n, err := s.core.RedeliverFailed(ctx, webhookID, since)
	if n > 0 {
		_ = s.wakeDispatcher(ctx, nil)
	}
	return n, err
}

// SendTestEvent queues an event for one webhook, with sample answers to the form's blocks. The event has no
// submissionId, but is signed, logged and retried like any other. A webhook has at most one pending test event. If
// there is one, it becomes due immediately, and no other is queued. It returns [ErrNotFound] if there is no such
// webhook, and [ErrConflict] if it is disabled.
func (s *Service) SendTestEvent(ctx context.Context, webhookID ID) error {
	return s.wakeDispatcher(ctx, s.intake.SendTestEvent(ctx, webhookID))
}

// wakeDispatcher wakes the dispatcher after a delivery was queued, or warns that no dispatcher runs.
func (s *Service) wakeDispatcher(ctx context.Context, err error) error {
	if err == nil && !s.inHostTransaction {
		s.dispatcher.Wake()
	}
	if err == nil {
		s.core.WarnIfNotDispatched(ctx)
	}
	return err
}
