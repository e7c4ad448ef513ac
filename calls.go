package formsvc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/formsvc/formsvc/internal/hostdata"
	"github.com/formsvc/formsvc/internal/intake"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// PublicForm returns a published form by its public ID. It returns [ErrNotFound] if the form does not exist, is a draft
// or is in the trash. For a closed form, Closed is set.
func (s *Service) PublicForm(ctx context.Context, publicID string) (PublicForm, error) {
	return s.newPublicForm(s.intake.PublishedForm(ctx, publicID))
}

// PreviewForm returns a form and its warnings (see [Service.Warnings]) by the form's ID, even if the form is a
// draft. If the form has a working copy, PreviewForm returns the working copy. It returns [ErrNotFound] if the form does not
// exist or is in the trash. The host must check that the user may see the form.
func (s *Service) PreviewForm(ctx context.Context, id ID) (PublicForm, schema.Warnings, error) {
	f, compiled, err := s.intake.InHostTransaction(s.core.ForWorkingCopies()).Form(ctx, id)
	if errors.Is(err, ErrUnsupported) {
		f, compiled, err = s.intake.Form(ctx, id)
	}
	p, err := s.newPublicForm(f, compiled, err)
	if err != nil {
		return PublicForm{}, nil, err
	}
	warnings, err := s.core.Warnings(f.Definition, f.Type)
	if err != nil {
		return PublicForm{}, nil, fmt.Errorf("formsvc: form %s: %w", f.ID, err)
	}
	return p, warnings, nil
}

func (s *Service) newPublicForm(f Form, compiled *intake.CompiledForm, err error) (PublicForm, error) {
	if err != nil {
		return PublicForm{}, err
	}
	return PublicForm{
		ID: f.ID, PublicID: f.PublicID, Name: f.Name, Type: f.Type,
		Closed:        f.IsClosed(s.core.Clock()),
		ClosedMessage: compiled.Settings.ClosedMessage,
		OpensAt:       f.OpensAt(s.core.Clock()),
		UpdatedAt:     f.UpdatedAt,
		Definition:    f.Definition,
		Blocks:        compiled.Blocks, Settings: compiled.Settings, Theme: compiled.Theme,
		compiled: compiled,
	}, nil
}

// Submit validates and stores a submission. In the same transaction, it updates the funnel, checks the response limit,
// rejects duplicates, and queues a delivery for each enabled webhook of the form.
//
// Submit returns an [*Error] that lists all violations; [ErrNotFound] if the form does not exist, is a draft or is in
// the trash; [ErrClosed] if it accepts no more submissions; [ErrDuplicate] if the form already has this answer to
// settings.duplicateField; an [*AnsweredError] if r.Respondent has already submitted a form with
// settings.onePerRespondent; [ErrUnsupported] if the storage does not support respondents; or, only with
// r.StrictIdempotency, [ErrIdempotencyKeyReused]. After [ErrOutcomeUnknown], repeat the call with the same
// IdempotencyKey, because the submission may or may not be stored.
//
// To import an old submission, set SubmittedAt. The submission is checked against the current form. The metrics count
// it at SubmittedAt. It also counts toward the response limit, and the duplicate check includes it. No event is queued
// unless Deliver is set. settings.openAt and closeAt are compared with SubmittedAt. If settings.closed is set or the limit
// is reached, Submit still returns [ErrClosed]. Therefore, import all submissions before you close the form.
func (s *Service) Submit(ctx context.Context, r SubmitParams) (Submission, error) {
	return s.intake.Submit(ctx, &intake.SubmitParams{
		FormID: r.FormID, Metadata: intake.Metadata(r.Metadata), Language: r.Language,
		Input:          intake.Input{Answers: r.Answers, HostAnswers: r.HostAnswers, Hidden: r.Hidden, LegalTexts: r.LegalTexts},
		CompletionTime: r.CompletionTime, IdempotencyKey: r.IdempotencyKey, OneContent: r.StrictIdempotency,
		Respondent: r.Respondent, Partial: r.Partial, SubmittedAt: r.SubmittedAt, Deliver: r.Deliver,
	})
}

// SavePartial creates a partial submission, or replaces the partial submission that r.Token identifies, and returns its
// token. Anyone with the token can read and change the partial submission, so only the respondent should receive it.
//
// Answers are stored as they were sent, and [Service.Submit] checks them later. An answer is not stored if it is not
// valid JSON for the API, or if its block is unknown, accepts no answer, is a captcha, is not on the path or can only
// be answered by the host. The result dropped lists the IDs of these blocks in sorted order. The host's answers still
// determine the path, as in [Service.Path], so pass them in each call.
//
// A partial submission expires 30 days after its last save, at the end of the day in the service's time zone
// ([WithTimeZone]). A form can have 10,000 partial submissions, and up to 128 more per process if processes create them
// concurrently. At this limit, a new partial submission replaces the newest partial submission that was saved only once
// and without LinkIssued or Respondent. If there is none, it replaces the partial submission that was saved least
// recently. Anyone can create any number of partial submissions, so the host should limit them by IP address. Partial
// submissions do not appear in submissions, exports, webhooks or metrics, and do not count toward the response limit.
// If the database crashes, the saves of the last second may be lost.
//
// The first revision is 1, and each save increments it. If r.Revision is set but is not the current revision,
// SavePartial returns a [*RevisionError] with the Kind "partial", so that two devices cannot overwrite each other's
// saves. Without r.Revision, the last save wins. If a save has no Token and its Visit has already created a partial
// submission, nothing changes. The call then returns the existing token with a *RevisionError, or with
// ErrAlreadySubmitted if that partial submission was submitted.
//
// With r.Respondent, SavePartial saves the respondent's only open partial submission to the form, and the token is
// empty. r.Revision must be the revision that [Service.RespondentPartial] returned, plus the number of saves since
// then, or 0 to begin a partial submission. If the respondent has already begun one, for example on another device,
// SavePartial returns a *RevisionError, and nothing changes. [Service.Submit] with the respondent closes it.
//
// SavePartial returns an [*Error] if the answers and hidden fields exceed Limits.Partial, if Submit would reject a
// hidden field, the metadata or the seconds, or if the form's rules are too expensive. It returns [ErrNotFound] if the
// form does not exist, is a draft or is in the trash, or if the token is invalid, expired or belongs to another form.
// For a closed form, it returns [ErrClosed], even if the token is invalid. Other errors are [ErrAlreadySubmitted] and
// [ErrUnsupported].
func (s *Service) SavePartial(ctx context.Context, r PartialSubmission) (token string, dropped []string, err error) {
	p := Partial{
		FormID: r.FormID, Revision: r.Revision, Block: r.Block, Seconds: r.Seconds, Shared: r.ShareWithOwner,
		Verified: r.CaptchaSolved, LinkIssued: r.LinkIssued, Respondent: r.Respondent,
	}
	return s.intake.SavePartial(ctx, r.Token, r.Visit, p, intake.Input{Answers: r.Answers, Hidden: r.Hidden}, intake.Metadata(r.Metadata))
}

// ResumePartial returns the partial submission that token identifies, even if the form is closed. The form may have
// changed since the last save, so call [Service.Path] to find the answers that still apply.
//
// After [Service.Submit] was called with the token, ResumePartial returns [ErrAlreadySubmitted] until the partial
// submission expires, and a result with the SubmissionID but without answers. It returns [ErrNotFound] in the same
// cases as SavePartial, and can also return [ErrUnsupported].
func (s *Service) ResumePartial(ctx context.Context, formID ID, token string) (PartialSubmission, error) {
	return s.resumePartial(ctx, formID, token, "")
}

func (s *Service) resumePartial(ctx context.Context, formID ID, token, respondent string) (PartialSubmission, error) {
	p, in, m, err := s.intake.ResumePartial(ctx, formID, token, respondent)
	if p.ID.IsZero() {
		return PartialSubmission{}, err
	}
	return PartialSubmission{
		FormID: formID, Token: token, Answers: in.Answers, Hidden: in.Hidden, Metadata: Metadata(m),
		Block: p.Block, Seconds: p.Seconds, Revision: p.Revision, ShareWithOwner: p.Shared,
		SavedAt: p.SavedAt, EndsAt: p.EndsAt, SubmissionID: p.SubmissionID, Respondent: p.Respondent,
	}, err
}

// DeletePartial permanently deletes the partial submission that token identifies. An unknown token is not an error. It
// returns [ErrNotFound] if the form does not exist. It can also return [ErrUnsupported].
func (s *Service) DeletePartial(ctx context.Context, formID ID, token string) error {
	return s.intake.DeletePartial(ctx, formID, token, "")
}

// RespondentPartial returns the open partial submission that was saved with the respondent, even if the form is closed.
// It returns [ErrNotFound] if there is none. See [Service.ResumePartial].
func (s *Service) RespondentPartial(ctx context.Context, formID ID, respondent string) (PartialSubmission, error) {
	if respondent == "" {
		return PartialSubmission{}, ErrNotFound
	}
	return s.resumePartial(ctx, formID, "", respondent)
}

// DeleteRespondentPartial is like [Service.DeletePartial], but for the partial submission of a respondent.
func (s *Service) DeleteRespondentPartial(ctx context.Context, formID ID, respondent string) error {
	return s.intake.DeletePartial(ctx, formID, "", respondent)
}

// RespondentSubmission returns the newest submission of a respondent to a form. It returns [ErrNotFound] if there is
// none, or if the form does not exist. It can be used to find out whether the respondent can submit a form with
// settings.onePerRespondent, because it is a lookup in an index.
func (s *Service) RespondentSubmission(ctx context.Context, formID ID, respondent string) (Submission, error) {
	return s.core.RespondentSubmission(ctx, formID, respondent)
}

// SubmissionsOf lists the submissions of a respondent to all forms outside the trash, newest first: those with this
// SubmitParams.Respondent. The forms can belong to different users, so check which of them the caller may see. If
// respondent is empty or invalid, it returns an [*Error]. It returns [ErrUnsupported] if the storage does not support
// respondents.
func (s *Service) SubmissionsOf(ctx context.Context, respondent string, q Query) iter.Seq2[Submission, error] {
	return iteratePages(ctx, nil, q, func(page storage.Page) ([]Submission, bool, error) {
		return s.core.RespondentSubmissions(ctx, respondent, page)
	}, submissionPosition)
}

// EraseRespondentData permanently removes all submissions of a respondent and returns their number. It also removes the
// respondent's partial submissions, which it does not count. The forms can be in the trash. As
// [Service.EraseRespondent] does, it removes everything that belongs to a submission, and does not change the metrics.
//
// It works in batches. After an error, a canceled context or a crash, repeat the call to remove the remaining
// submissions and those that arrived in the meantime. If respondent is empty or invalid, it returns an [*Error] and
// removes nothing. It returns [ErrUnsupported] if the storage does not support respondents.
//
// To give the respondent a copy first, use [Service.SubmissionsOf] and [Client.SubmissionHistory]. Restore forms from
// the trash before that, because SubmissionsOf does not list their submissions. If other respondents have chosen this
// person in a list of the host ([WithChoices]), their answers still contain the person's ID and label.
func (s *Service) EraseRespondentData(ctx context.Context, respondent string) (int, error) {
	return s.core.EraseRespondentData(ctx, respondent)
}

// Path returns the path through a form for the given answers, which can be incomplete. The result contains the blocks
// to show, which of them are required, the ending and the variables. The form can be a draft or closed.
// [Service.Submit] computes the same path and discards answers to blocks that are not on it. Path returns [ErrNotFound]
// if the form does not exist, and an [*Error] if its rules are too expensive. Path.Violations lists invalid answers.
//
// answers must include the host's answers (SubmitParams.HostAnswers). Before a host passes a respondent's answers to
// Path, it must remove answers to payment, file_upload and signature blocks, and to blocks with properties.hide.
func (s *Service) Path(ctx context.Context, formID ID, answers map[string]json.RawMessage, hidden map[string]string) (Path, error) {
	// Read the form from the storage, because a caller cannot tell that a cached form is outdated.
	_, compiled, err := s.intake.Form(ctx, formID)
	if err != nil {
		return Path{}, err
	}
	return compiled.Path(answers, hidden)
}

// IssuedKey is a new API key. Secret is the whole key, which cannot be retrieved again. If you print or log an
// IssuedKey or encode it as JSON, Secret does not appear. To show it once, encode Secret itself: see the example of
// [Service.CreateKey]. The exceptions are the verbs %p and %w, which go vet reports, and an IssuedKey in an unexported
// field of another struct.
type IssuedKey struct {
	Key    Key
	Secret string `json:"-"`
}

// String returns the key's prefix, without the secret.
func (k IssuedKey) String() string { return k.Key.Prefix + secretMask }

// Format prints the result of String for every verb.
func (k IssuedKey) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), k.String())
}

// LogValue returns the value of String.
func (k IssuedKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// CreateKey creates an API key. It returns a [*schema.Error] that lists all violations of the request, and
// [ErrLimitReached] if the user already has 20 active keys. If the host sets a [KeyResolver], the resolver must call
// [Service.ResolveKey] to accept the key.
func (s *Service) CreateKey(ctx context.Context, r KeyRequest) (IssuedKey, error) {
	key, secret, err := s.keys.Create(ctx, r, s.core.Now(), s.core.NewID)
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
// [KeyResolver] calls it for credentials that are not the host's own.
func (s *Service) ResolveKey(ctx context.Context, key string) (Principal, error) {
	s.calledResolveKey.Store(true)
	return s.keys.ResolveKey(ctx, key)
}

// RevokeKey revokes a key, starting with the next request. It returns [ErrNotFound] if the user has no such key.
// Revoking a key twice is not an error.
func (s *Service) RevokeKey(ctx context.Context, userID, keyID ID) error {
	return s.core.Storage.RevokeKey(ctx, userID, keyID, s.core.Now())
}

// Maintain runs pending maintenance tasks for at most about a second. It backfills answers for the duplicate check,
// aggregates counts for the metrics, removes unused event bodies and keys that expired or were revoked 90 days ago, and
// completes deletions and purges that other processes started. If one of these tasks fails, Maintain still runs the
// others and returns the error. Several processes can call it concurrently.
//
// A running [webhooks.Dispatcher] calls Maintain about once a minute. If no dispatcher is running, the host should call
// it about once a minute. If no process calls Maintain, no data is lost, but metrics become slow and deleted data still
// occupies storage. Maintain does not purge the trash: see [Service.PurgeTrash].
func (s *Service) Maintain(ctx context.Context) error { return s.core.Maintain(ctx) }

// [Service.Check] returns these errors in addition to the storage's errors.
var (
	// ErrNoDispatcher means that deliveries have been due for five minutes but no dispatcher is running.
	ErrNoDispatcher = schema.ErrNoDispatcher
	// ErrNoMaintenance means that no process has run maintenance for a day.
	ErrNoMaintenance = schema.ErrNoMaintenance
)

// Check returns an error that describes all problems of the deployment. Each problem is on its own line, which says how
// to fix it. Check verifies the table version and the database role's privileges and settings, that a dispatcher is
// running ([ErrNoDispatcher]), and that maintenance is running ([ErrNoMaintenance]). If a host's own storage does not
// support Check, the error is [storage.ErrUnimplemented].
//
// Call it at startup, and in a health check about once a minute. If the error is [ErrUnavailable], the service is
// unavailable. After any other error it still accepts requests, but an operator must act. ErrNoDispatcher and
// ErrNoMaintenance mean that no process at all runs a dispatcher or maintenance. After an outage of all processes,
// Check may report these two errors until a new dispatcher has run for two minutes. A process whose deliveries are not
// sent logs ErrNoDispatcher at most every five minutes. If no dispatcher has ever run, the first webhook that a process
// creates is logged too.
func (s *Service) Check(ctx context.Context) error { return s.core.Check(ctx) }

// ErrSecret means that no cipher of [WithSecretCipher] can decrypt a signing secret.
var ErrSecret = storage.ErrSecret

// ReencryptSecrets encrypts all signing secrets with the current cipher of [WithSecretCipher], including replaced
// secrets, which still sign deliveries for a day, and returns the number of changed secrets. Without a current cipher,
// it decrypts them. If it returns no error, the previous ciphers are no longer needed.
//
// ReencryptSecrets works in batches of 500 webhooks. After an error or a canceled context, call it again from any
// process, even while webhooks are being changed or deliveries are being sent. If a secret cannot be decrypted, it does
// not change, and the error is [ErrSecret] with the ID of its webhook. ReencryptSecrets still encrypts all other
// secrets.
func (s *Service) ReencryptSecrets(ctx context.Context) (int, error) {
	return s.core.ReencryptSecrets(ctx)
}

// TrashedForms lists the forms in the trash that belong to a workspace, ordered by creation time, newest first, without
// their definitions. The workspace may have been deleted. If workspaceID is zero, TrashedForms returns [ErrNotFound].
func (s *Service) TrashedForms(ctx context.Context, workspaceID ID) ([]Form, error) {
	return s.core.TrashedForms(ctx, workspaceID)
}

// RestoreForm restores a form from the trash into a workspace, with all of its data. If workspaceID is zero, the form
// returns to its previous workspace. It returns [ErrNotFound] if the form is not in the trash, and [ErrConflict] if the
// workspace no longer exists.
func (s *Service) RestoreForm(ctx context.Context, formID, workspaceID ID) error {
	return s.core.Storage.RestoreForm(ctx, formID, workspaceID, s.core.Now())
}

// PurgeForm is like [Service.PurgeTrash], but for one form. It returns [ErrNotFound] if the form is not in the trash.
func (s *Service) PurgeForm(ctx context.Context, formID ID) error {
	return s.core.PurgeForm(ctx, formID)
}

// PurgeTrash permanently removes the forms that were moved to the trash before olderThan, with their submissions,
// webhooks and metrics, and returns the number of removed forms. Forms remain in the trash until the host purges them,
// for example after 30 days. It returns an error if olderThan is zero. The forms become inaccessible immediately. Their
// rows are removed in batches, so that no request waits and statement_timeout is not exceeded. If the call returns no
// error, no row remains. After an error, a cancellation or a crash, the next call or [Service.Maintain] removes the
// remaining rows.
func (s *Service) PurgeTrash(ctx context.Context, olderThan time.Time) (int, error) {
	return s.core.PurgeTrash(ctx, olderThan)
}

// PurgeSubmissions permanently removes the submissions to a form that were submitted before olderThan, with their
// idempotency keys, pending deliveries and event bodies, and returns the number of removed submissions. It also removes
// partial submissions whose last save was before olderThan. The form can be in the trash. If the form is unknown, the
// result is 0. It returns an error if olderThan or formID is zero.
//
// The purged answers to settings.duplicateField can be submitted again. Purged submissions still count toward
// settings.responseLimit, unlike deleted and erased submissions. The metrics do not change. Submissions are removed in
// batches, so that no request waits. After an error, a canceled context or a crash, repeat the call. Deliveries that a
// dispatcher has already claimed may still be sent.
func (s *Service) PurgeSubmissions(ctx context.Context, olderThan time.Time, formID ID) (int, error) {
	return s.core.PurgeSubmissions(ctx, olderThan, formID)
}

// PurgeAllSubmissions is like [Service.PurgeSubmissions], but for all forms of all users, including forms in the trash.
func (s *Service) PurgeAllSubmissions(ctx context.Context, olderThan time.Time) (int, error) {
	return s.core.PurgeAllSubmissions(ctx, olderThan)
}

// DeleteUser permanently removes all data of a user: API keys with the user's name and email, memberships, and the
// user's workspaces with all their forms, submissions, webhooks and metrics, including forms in the trash. Forms that
// the user created in other users' workspaces remain. To retain a workspace, transfer it first: see
// [Service.TransferWorkspace]. An unknown user is not an error, but the zero ID is.
//
// The data is inaccessible after the first transaction. The rows are removed in batches. If the call returns no error,
// no row remains. After an error, a canceled context or a crash, the next call or [Service.Maintain] removes the
// remaining rows. The call waits for concurrent submissions to these forms, and for other processes that remove rows.
// Deliveries that a dispatcher has already claimed may still be sent. PostgreSQL overwrites removed rows only after the
// next VACUUM, and its write-ahead log and backups may still contain them.
func (s *Service) DeleteUser(ctx context.Context, user ID) error { return s.core.DeleteUser(ctx, user) }

// EraseRespondent permanently removes the submissions to a form that contain all answers in wanted, and returns the
// number of removed submissions. It also removes their idempotency keys, pending deliveries, event bodies and answer
// digests. Removed submissions no longer count toward settings.responseLimit, and their answers to
// settings.duplicateField can be submitted again. The metrics do not change.
//
// The keys of wanted are block IDs, names of hidden fields, or "block/part" for a part of an address or contact
// ("contact/email"). Answers are compared as in the duplicate check, so Ann@Example.com equals ann@example.com. Hidden
// fields are compared exactly, because they often contain the host's IDs. The value for a choice is its ID, or the text
// of an “Other” answer. An answer with several choices never matches. A phone number needs its country code (+49…),
// unless the block has a defaultCountry.
//
// An [*Error] means that nothing can match and nothing was removed: wanted is empty, a value is empty, neither the form
// nor a submission has the key, or its answers are never compared (a variable, matrix, file, signature, payment or
// whole contact). A key can refer to a block that was removed from the form. EraseRespondent returns [ErrNotFound] if
// the form does not exist or is in the trash. A result of 0 means that nothing matched, for example because a value is
// misspelled.
//
// A submission that was changed also matches if an earlier state has the answers (see [Client.SubmissionHistory]).
// Matching partial submissions are also removed, but not counted. Their invalid answers are compared as they were sent.
// EraseRespondent may miss a partial submission that is saved concurrently.
//
// EraseRespondent reads all submissions and removes matches in batches. After an error, the result is the number of
// removed submissions. Repeat the call to remove the remaining submissions and those that arrived in the meantime.
// Deliveries that a dispatcher has already claimed may still be sent. The host must inform webhook receivers. The
// example searches all of a user's forms.
//
// To give the person a copy first, use [Service.FindRespondent]. A condition in [Export].Where finds fewer submissions,
// because it compares exactly and ignores earlier states. If other respondents have chosen the person in a list of the
// host ([WithChoices]), their answers still contain the person's ID and label.
func (s *Service) EraseRespondent(ctx context.Context, formID ID, wanted map[string]string) (int, error) {
	return s.core.EraseRespondent(ctx, formID, wanted)
}

// FindRespondent lists the submissions to a form that [Service.EraseRespondent] with the same arguments would remove,
// newest first, and returns the same errors. It matches answers and earlier states in the same way. The earlier states
// themselves are in [Client.SubmissionHistory]. Partial submissions are not listed. It reads all submissions to the form.
func (s *Service) FindRespondent(ctx context.Context, formID ID, wanted map[string]string) iter.Seq2[Submission, error] {
	return func(yield func(Submission, error) bool) {
		ended := false
		err := s.core.FindRespondent(ctx, formID, wanted, func(found []Submission) error {
			for _, submission := range found {
				if ended = !yield(submission, nil); ended {
					return context.Canceled
				}
			}
			return nil
		})
		if err != nil && !ended {
			yield(Submission{}, err)
		}
	}
}

// ParseForm reads a form from the JSON that the builder downloads: an object with a name, and optionally a type and a
// definition. It applies the same rules as [Client.CreateForm]. If the form is invalid or has unknown fields, the error
// is an [*Error] with all violations. Set Workspace and PublicID of the result for [Client.EnsureForm].
func (s *Service) ParseForm(data []byte) (FormCreate, error) {
	f, err := s.core.ParseForm(data)
	return FormCreate{Name: f.Name, Type: f.Type, Definition: f.Definition}, err
}

// CreateWorkspace creates a workspace for an owner, like [Client.CreateWorkspace].
func (s *Service) CreateWorkspace(ctx context.Context, owner ID, name string) (Workspace, error) {
	return s.AsHost().CreateWorkspace(ctx, WorkspaceCreate{Name: name, Owner: owner})
}

// AddMember gives a user access to a workspace. Only the workspace's owner can rename or delete it. Adding a member
// twice is not an error. AddMember returns [ErrNotFound] if the workspace does not exist.
func (s *Service) AddMember(ctx context.Context, workspaceID, userID ID) error {
	return s.core.AddMember(ctx, workspaceID, userID)
}

// RemoveMember removes a member from a workspace. If the user is not a member, it does nothing. It returns
// [ErrNotFound] if the workspace does not exist, and [ErrConflict] if the user is the workspace's owner.
func (s *Service) RemoveMember(ctx context.Context, workspaceID, userID ID) error {
	return s.core.Storage.SetMember(ctx, workspaceID, userID, false)
}

// Members lists the members of a workspace, except the owner, in ascending order. If the workspace does not exist, it
// returns [ErrNotFound].
func (s *Service) Members(ctx context.Context, workspaceID ID) ([]ID, error) {
	return s.core.Storage.Members(ctx, workspaceID)
}

// TransferWorkspace makes newOwner the owner of a workspace, even if newOwner then exceeds Limits.Workspaces. The
// previous owner becomes a member. It returns [ErrNotFound] if the workspace does not exist.
func (s *Service) TransferWorkspace(ctx context.Context, workspaceID, newOwner ID) error {
	return s.core.TransferWorkspace(ctx, workspaceID, newOwner)
}

// RecordView counts one view of a form. If the form is unknown or in the trash, nothing is counted. RecordView returns
// immediately. The process stores its views in batches, within 250 ms or in [Service.Close]. If the process is killed,
// views that are not yet stored are lost. The metrics of other processes include a view after it is stored.
//
// If the storage fails, the error is logged. If the error is [ErrUnavailable], the views are stored later. After Close,
// while 10,000 views and starts are waiting, and on a service that [Service.WithStorage] returned, each call stores its
// own view and returns any error.
func (s *Service) RecordView(ctx context.Context, formID ID) error {
	return s.core.CountVisit(ctx, formID, storage.Counters{Views: 1})
}

// RecordStart counts one respondent who started to fill in a form, in the same way as [Service.RecordView].
func (s *Service) RecordStart(ctx context.Context, formID ID) error {
	return s.core.CountVisit(ctx, formID, storage.Counters{Starts: 1})
}

// SetLifetimeCounters sets the totals that an imported form had before the import. They are added to the metrics of
// [PeriodAll], which are then marked as Estimated. If all counters are zero, it removes the totals. It returns
// [ErrNotFound] if the form does not exist.
func (s *Service) SetLifetimeCounters(ctx context.Context, formID ID, c Counters) error {
	return s.core.SetLifetimeCounters(ctx, formID, c)
}

// Warnings finds the parts of a definition that make a form unanswerable or have no effect: limits that exclude all
// values, required questions without choices, jumps without a target, invalid logic. Definitions with warnings can
// still be stored. A nil section is treated as empty. Days are in the time zone set by [WithTimeZone]. Warnings returns
// an error if the API would reject a section.
//
// To test a condition, the service evaluates it with answers equal to and next to the values, choices and limits in the
// condition. It treats the conditions of different blocks as independent. All warnings are therefore correct, but some
// problems are not found, such as conditions of several blocks that exclude each other.
//
// The type of the form determines which answers are known on a page. Warnings assumes the type MULTI, and
// [Client.Warnings] uses the type of the stored form.
func (s *Service) Warnings(d Definition) (schema.Warnings, error) { return s.core.Warnings(d, "") }

// Redeliver sends the event of an earlier delivery again, with the same bytes and a new series of attempts. deliveryID
// is the ID of a [Delivery]. It returns [ErrNotFound] if the delivery does not exist or its submission was deleted, and
// [ErrConflict] if the webhook is disabled.
func (s *Service) Redeliver(ctx context.Context, webhookID, deliveryID ID) error {
	return s.wakeDispatcher(ctx, s.core.Storage.Redeliver(ctx, webhookID, deliveryID))
}

// RedeliverFailed calls [Service.Redeliver] for a webhook's deliveries that failed permanently, expired, or ended
// because the webhook was disabled after a failed attempt. It returns the number of queued deliveries. It selects
// deliveries whose last attempt was not before since. If since is zero, it selects all retained deliveries.
//
// RedeliverFailed searches the newest 100 attempts, which [Client.Deliveries] returns, and all expired deliveries.
// Pending deliveries do not change, and deliveries whose submission was deleted are skipped. If an expired delivery
// succeeded later but the record of this success was removed, the delivery is sent again.
//
// Each delivery is queued separately. After an error, the result is the number of queued deliveries. Repeat the call to
// queue the rest. A repeated or concurrent call does not queue a delivery twice. It returns [ErrNotFound] if the
// webhook does not exist, and [ErrConflict] if there are deliveries to send but the webhook is disabled.
func (s *Service) RedeliverFailed(ctx context.Context, webhookID ID, since time.Time) (int, error) {
	n, err := s.core.RedeliverFailed(ctx, webhookID, since)
	if n > 0 {
		_ = s.wakeDispatcher(ctx, nil)
	}
	return n, err
}

// SendTestEvent queues an event for one webhook, with sample answers to the form's blocks. The event has no
// submissionId, but is signed, logged and retried like other events. If a test event for the webhook is already
// pending, that event becomes due immediately instead. SendTestEvent returns [ErrNotFound] if the webhook does not
// exist, and [ErrConflict] if the webhook is disabled.
func (s *Service) SendTestEvent(ctx context.Context, webhookID ID) error {
	return s.wakeDispatcher(ctx, s.intake.SendTestEvent(ctx, webhookID))
}

// wakeDispatcher wakes the dispatcher after a delivery is queued, and logs a warning if no dispatcher is running.
func (s *Service) wakeDispatcher(ctx context.Context, err error) error {
	if err == nil && !s.inHostTransaction {
		s.dispatcher.Wake()
	}
	if err == nil {
		s.core.WarnIfNotDispatched(ctx)
	}
	return err
}

// ChoiceLists returns the lists of [WithChoices] in the order of the options.
func (s *Service) ChoiceLists() []NamedItem { return s.core.Host.Lists.Names() }

// AnswerChecks returns the checks of [WithCheck] in the order of the options.
func (s *Service) AnswerChecks() []NamedItem { return s.core.Host.Checks.Names() }

// Choices returns at most q.Limit choices of a list, for example as a preview. It returns [ErrUnavailable] if the list
// does not exist or its source fails.
func (s *Service) Choices(ctx context.Context, list string, q ChoiceQuery) ([]schema.Choice, error) {
	ctx, cancel := context.WithTimeout(ctx, hostdata.Timeout)
	defer cancel()
	return s.core.Host.GetChoices(ctx, list, q)
}

// Answering is the state of a respondent's answers, which may be incomplete. Answers include the host's answers.
type Answering struct {
	Answers    map[string]json.RawMessage
	Hidden     map[string]string
	Respondent string
}

func (a Answering) input() intake.Input { return intake.Input{Answers: a.Answers, Hidden: a.Hidden} }

// Choices returns at most limit choices that contain search, from the list of a block on the path. selected contains
// the choices in the block's answer that the list offers. If limit is 0, only they are returned. Choices returns
// [ErrNotFound] if the block is not on the path or has no list, and [ErrUnavailable] if the list does not exist or its
// source fails.
func (f PublicForm) Choices(ctx context.Context, block string, a Answering, search string, limit int) (offered, selected []schema.Choice, err error) {
	if f.compiled == nil {
		return nil, nil, ErrNotFound
	}
	return f.compiled.Choices(ctx, a.input(), a.Respondent, block, search, limit)
}

// CheckBlocks returns the violations in the answers to some blocks, including the host's choices and checks. If the form
// has no such choices and checks, it returns nil. It does not report missing answers. If a block has another violation,
// the checks do not run. It returns [ErrUnavailable] if a list or check does not exist or fails.
func (f PublicForm) CheckBlocks(ctx context.Context, blocks []string, a Answering) ([]schema.Violation, error) {
	if f.compiled == nil {
		return nil, ErrNotFound
	}
	return f.compiled.CheckBlocks(ctx, a.input(), a.Respondent, blocks)
}

// LocalWebhooks returns a client like [Service.AsHost], except that its methods for webhooks manage only the host's
// local webhooks. The URL of a local webhook is "local:" and the name of a handler in [webhooks.Config].Local, which
// receives the events in the same process. A name has 1 to 64 letters, digits, dots, hyphens and underscores. A
// process need not have a handler for it, but a new webhook without one is logged. The deliveries follow the rules of
// all webhooks: they have the same queue, attempts, log and pauses. [Service.Redeliver], [Service.RedeliverFailed] and
// [Service.SendTestEvent] accept local webhooks.
//
// Only this client returns and changes local webhooks. For the HTTP API, including [Client.ServeHTTP] of this client, the
// builder and other clients, they do not exist, and their URLs are not allowed. They do not count toward Limits.Webhooks.
// Except for PausedWebhooks, the client also returns webhooks of forms in the trash.
//
// A webhook with a zero Form is for all forms. It gets no deliveries itself. Instead, the service creates a webhook for
// each form, including forms in the trash and every form that is created later. These webhooks have AllForms set to the
// ID of the webhook for all forms. Each has its own log, attempts and pauses, so that errors of one form do not delay
// other forms. You can also change or delete one of them. A webhook for all forms cannot have a signing secret.
// FormWebhooks returns these webhooks for a zero ID, and nothing for a form that does not exist.
//
// Creating a webhook for all forms takes a short time for each existing form. Changing or deleting it also changes or
// deletes the webhooks that were created for it, one after another. After an error, repeat the call for the rest.
func (s *Service) LocalWebhooks() Client {
	copied, local := *s, *s.core
	local.URLs = localURLChecker{s.localHandlers, s.core.Log}
	copied.core = &local
	return Client{s: &copied, actor: storage.AsLocal()}
}
