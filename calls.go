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

// PublicForm returns a published form by its public id. It returns [ErrNotFound]
// when there is none, or it is a draft or in the trash. A closed form is returned
// with Closed set.
func (s *Service) PublicForm(ctx context.Context, publicID string) (PublicForm, error) {
	return s.publicForm(s.intake.Published(ctx, publicID))
}

// PreviewForm returns a form by its id as it is stored now, draft or published, with its
// warnings: see [Service.Warnings]. Of a form with a working copy it is the copy. It returns
// [ErrNotFound] when there is none, or it is in the trash. It checks no access: a draft is shown
// to whom the host allows it.
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

// page returns the parts of a form that a page needs.
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

// Submit checks a response and stores it. The funnel count, the response limit, the
// duplicate check and one queued delivery for each enabled webhook of the form belong
// to the same atomic step. The form must be published and settings.closed off.
//
// Errors: an [*Error] that lists every fault; [ErrNotFound] when the form
// does not exist, is a draft (as the error's text says) or is in the trash; [ErrClosed] when it takes no
// more responses; [ErrDuplicate] when the answer to settings.duplicateField is
// not new; [ErrIdempotencyKeyReused], see Response.StrictIdempotency. After [ErrOutcomeUnknown] the
// response may or may not be stored: repeat the call with the same IdempotencyKey.
//
// With SubmittedAt, the host imports an old response. It is checked against the form as
// it is now and counts in lists, in the metrics of its time, against the response limit
// and among the duplicates. It queues no event unless Deliver is set. Whether the form is
// closed by settings.closeAt is judged at that time. In all else an import is a response
// like any other: a draft is [ErrNotFound], and settings.closed or a limit that is
// reached is [ErrClosed]. So import first, and close the form afterwards.
func (s *Service) Submit(ctx context.Context, r SubmitParams) (Submission, error) {
	return s.intake.Submit(ctx, &intake.SubmitParams{
		FormID: r.FormID, Metadata: intake.Metadata(r.Metadata),
		Input:          intake.Input{Answers: r.Answers, HostAnswers: r.HostAnswers, Hidden: r.Hidden},
		CompletionTime: r.CompletionTime, IdempotencyKey: r.IdempotencyKey, OneContent: r.StrictIdempotency,
		Partial: r.Partial, SubmittedAt: r.SubmittedAt, Deliver: r.Deliver,
	})
}

// SavePartial saves a response half-way, and returns the token by which it is found again.
// Whoever has the token can read and change what is saved, so it goes to the respondent alone.
// Without a token in r a new half response is made, with one it is replaced as a whole.
//
// Answers are kept as they were sent; [Service.Submit] is what checks them. Some are not kept, and dropped has the sorted ids of their blocks: the form has no such block, or one that
// takes no answer, a captcha, one that is off the path, or one that only the host can answer; or
// the answer is no JSON that the API would read. Answers that only the host can give lead the
// way all the same, as for [Service.Path], and the respondent gives them again.
//
// A half response ends 30 days after its last save, at the end of the day in the service's
// zone ([WithTimeZone]). A form keeps 10,000 at a time: one more replaces the newest that was
// saved once and has no LinkIssued, or else the oldest by its last save. A visit creates at
// most one (see Visit), but a stranger can begin any number of visits. So a host limits how many
// an address creates. Several processes that create some at the same time can exceed the 10,000
// by 128 each. They are in no list of responses, export, webhook, metric or limit. Their last
// second may be lost when the database crashes. See [Client.Partials].
//
// A new one is at revision 1, and each save raises that by one. With r.Revision, saves of two
// devices do not overwrite each other: the second is a [*RevisionError] of the Kind "partial",
// and its device reads what the first one saved. Without it the last save wins. A save without
// a Token whose Visit has created one already changes nothing: it returns that one's token with
// a *RevisionError, or ErrAlreadySubmitted when it was submitted.
//
// Errors: an [*Error] when the answers and hidden fields take more than Limits.Partial, when
// Submit would refuse a hidden field, the metadata or the seconds, or when the form's rules
// would take too long; [ErrNotFound] when the form does not exist, is a draft or in the trash, and when the
// token is none, that of another form, or over; [ErrClosed], whatever the token; [ErrAlreadySubmitted];
// [ErrUnsupported].
func (s *Service) SavePartial(ctx context.Context, r PartialSubmission) (token string, dropped []string, err error) {
	p := Partial{
		FormID: r.FormID, Revision: r.Revision, Block: r.Block, Seconds: r.Seconds, Shared: r.ShareWithOwner,
		Verified: r.CaptchaSolved, LinkIssued: r.LinkIssued,
	}
	return s.intake.SavePartial(ctx, r.Token, r.Visit, p, intake.Input{Answers: r.Answers, Hidden: r.Hidden}, intake.Metadata(r.Metadata))
}

// ResumePartial returns what was saved with a token, to go on with. The form may have changed
// since, so [Service.Path] says what of it counts now. A closed form's can be read.
//
// After [Service.Submit] with the token the error is [ErrAlreadySubmitted], until the half response ends.
// What is returned with it has nothing of the answers, and the SubmissionID that leads to the
// form's ending. Other errors: [ErrNotFound] as for SavePartial; [ErrUnsupported].
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

// DeletePartial removes a half response for good, for the respondent who has its token. A token
// of none is no error. It returns [ErrNotFound] when there is no such form, and [ErrUnsupported].
func (s *Service) DeletePartial(ctx context.Context, formID ID, token string) error {
	return s.intake.DeletePartial(ctx, formID, token)
}

// Path returns the way through a form for answers that may be incomplete: which
// blocks a page shows, which of them must be answered, which ending follows, and the
// variables. [Service.Submit] walks the same path, so an answer to a block that is
// not on it is dropped.
//
// The answers are the respondent's and the host's. An answer to a block that only the host
// can answer counts as the host's: a payment, a file, a signature, or a block with
// properties.hide. The path is that of a Submit with the same answer in HostAnswers. A
// host that passes on a respondent's answers leaves out such answers. A form that is a
// draft or closed has paths too.
//
// Errors: [ErrNotFound] when there is no such form; an [*Error] when its rules
// would take too long. What is wrong with an answer is not an error here, see
// Path.Violations.
func (s *Service) Path(ctx context.Context, formID ID, answers map[string]json.RawMessage, hidden map[string]string) (Path, error) {
	// Read, never cached: nothing would show that a cached form is out of date.
	_, known, err := s.intake.Form(ctx, formID)
	if err != nil {
		return Path{}, err
	}
	return known.Path(answers, hidden)
}

// IssuedKey is a new key. Secret is the whole key; it is shown here once and cannot be
// had again. Printed or logged, an IssuedKey shows the key's prefix only, and its JSON
// is without the Secret. A host that sends a key to its owner sends the member Secret
// itself. Inside an unexported field of another struct, and for the verbs %p and %w (go
// vet reports those), package fmt asks no method: nothing hides the Secret there.
type IssuedKey struct {
	Key    Key
	Secret string `json:"-"`
}

// String names the key without its secret.
func (k IssuedKey) String() string { return k.Key.Prefix + secretMask }

// Format prints String, whatever the verb.
func (k IssuedKey) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), k.String())
}

// LogValue logs the key without its secret.
func (k IssuedKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// CreateKey makes an API key. It returns a [*schema.Error] that lists every fault of
// the request, and [ErrLimitReached] when the user holds 20 active, unexpired keys
// already, also when several calls run at once. A service with a [KeyResolver] of the
// host's accepts the key only when that resolver does, see [Service.ResolveKey].
func (s *Service) CreateKey(ctx context.Context, r KeyRequest) (IssuedKey, error) {
	key, secret, err := s.keys.Create(ctx, keyring.Request(r), s.core.Now(), s.core.NewID)
	if err != nil {
		return IssuedKey{}, err
	}
	return IssuedKey{Key: key, Secret: secret}, nil
}

// Keys lists a user's keys, newest first, revoked and expired ones included until
// 90 days after their end.
func (s *Service) Keys(ctx context.Context, userID ID) ([]Key, error) {
	return s.core.Storage.Keys(ctx, userID)
}

// ResolveKey returns the principal of a key that [Service.CreateKey] made, or
// [ErrInvalidKey]. A host's [KeyResolver] that knows login sessions passes everything
// else on to it.
func (s *Service) ResolveKey(ctx context.Context, key string) (Principal, error) {
	return s.keys.ResolveKey(ctx, key)
}

// RevokeKey ends a key; it takes effect with the next request. It returns
// [ErrNotFound] when the user has no such key. Revoking twice is not an error.
func (s *Service) RevokeKey(ctx context.Context, userID, keyID ID) error {
	return s.core.Storage.RevokeKey(ctx, userID, keyID, s.core.Now())
}

// Maintain does one bounded piece of the maintenance. It enters the answers of
// responses from before settings.duplicateField was set, and sums up counts for the
// metrics. It removes keys that ended 90 days ago and bodies of events that nothing
// refers to. It also finishes deletions and purges that another process began. It takes
// about a second at most and may run in every process at once.
//
// A running [webhooks.Dispatcher] does all of this about once a minute. A deployment
// without one calls Maintain as often. Nothing is lost without maintenance, but figures
// become slow to read, and deleted data goes on taking room. The trash is the host's:
// see [Service.PurgeTrash].
//
// An error is about one kind of work, and the others were done all the same.
func (s *Service) Maintain(ctx context.Context) error { return s.core.Maintain(ctx) }

// What [Service.Check] reports beside the errors of the storage.
var (
	// ErrNoDispatcher: deliveries have been due for five minutes, and no process has run a
	// dispatcher for as long.
	ErrNoDispatcher = schema.ErrNoDispatcher
	// ErrNoMaintenance: no process has done maintenance for a day.
	ErrNoMaintenance = schema.ErrNoMaintenance
)

// Check reports everything at once that the deployment lacks, a line each with what to do:
// tables of the right version, the rights and settings of the role, a dispatcher
// ([ErrNoDispatcher]) and maintenance ([ErrNoMaintenance]) in any process. Nil: nothing.
//
// A program prints it when it starts, and a health check asks for it, each minute or so.
// With an error that is [ErrUnavailable] the service cannot work now; with any other one it
// takes requests, and an operator has something to do. The last two are about all processes
// and the time until now: after an outage of all of them a program that has only just
// started reports what its own dispatcher puts right within two minutes.
//
// A process whose deliveries wait logs ErrNoDispatcher as well, at most every five minutes.
// A storage of the host's that cannot tell is a [storage.ErrUnimplemented].
func (s *Service) Check(ctx context.Context) error { return s.core.Check(ctx) }

// ErrSecret means that a signing secret cannot be opened with the ciphers of WithSecretCipher.
var ErrSecret = storage.ErrSecret

// ReencryptSecrets seals with the current cipher of [WithSecretCipher] every signing
// secret that is stored otherwise, and returns how many. These include secrets that
// were replaced and still sign for a day. When it returns without an error, no secret
// needs one of the previous ciphers any more. Without a current cipher, secrets are
// stored as they are again.
//
// It works in pieces of 500 webhooks and may be called again after an error or a
// cancelled context, from any process and while webhooks are changed and sent. A secret
// that cannot be opened stays as it is: the error is [ErrSecret] and names its webhook, and
// the other secrets are sealed all the same.
func (s *Service) ReencryptSecrets(ctx context.Context) (int, error) {
	return s.core.ReencryptSecrets(ctx)
}

// TrashedForms lists the forms of a workspace that are in the trash, newest first
// by when they were made, without their definitions. The workspace itself may be
// gone: deleting it moves its forms to the trash. The zero ID is [ErrNotFound].
func (s *Service) TrashedForms(ctx context.Context, workspaceID ID) ([]Form, error) {
	return s.core.TrashedForms(ctx, workspaceID)
}

// RestoreForm takes a form out of the trash with everything that is its own. A
// zero into puts it where it was. It returns [ErrNotFound] when the form is not
// in the trash, and [ErrConflict] when the workspace is gone.
func (s *Service) RestoreForm(ctx context.Context, formID, into ID) error {
	return s.core.Storage.RestoreForm(ctx, formID, into, s.core.Now())
}

// PurgeForm removes one form for good that is in the trash, with its responses, webhooks
// and metrics, as [Service.PurgeTrash] does: when it returns nil, no row is left. It
// returns [ErrNotFound] when the form is not in the trash.
func (s *Service) PurgeForm(ctx context.Context, formID ID) error {
	return s.core.PurgeForm(ctx, formID)
}

// PurgeTrash removes for good the forms that went to the trash before olderThan,
// with their submissions, webhooks and metrics, and returns how many. Nothing is
// purged unless the host calls it; 30 days is a good age. The zero time is an error.
//
// The forms are gone as soon as they are counted. Their rows are removed in pieces,
// so that nobody waits for it and a statement_timeout does no harm; when the call
// returns without an error, none is left. After an error,
// a cancelled context or the end of the process the rest is left for the next call
// and for [Service.Maintain].
func (s *Service) PurgeTrash(ctx context.Context, olderThan time.Time) (int, error) {
	return s.core.PurgeTrash(ctx, olderThan)
}

// PurgeSubmissions removes for good the responses that were submitted before olderThan,
// and returns how many: those to one form, which may be in the trash. Idempotency keys,
// pending deliveries and the bodies of events go with them. So do half responses that were
// saved last before olderThan, which are not in the number.
//
// Its answer to settings.duplicateField is free again. A response that is purged for its
// age still counts against settings.responseLimit; a deleted or erased response does not.
// The metrics stay. Nothing is purged unless the host calls it; the zero time and the zero
// ID are errors.
//
// It works in pieces, so that nobody waits for it. After an error, a cancelled context or
// the end of the process, repeat the call. What a dispatcher has claimed already may
// still be sent. For an unknown form it returns 0 and no error.
func (s *Service) PurgeSubmissions(ctx context.Context, olderThan time.Time, formID ID) (int, error) {
	return s.core.PurgeSubmissions(ctx, olderThan, formID)
}

// PurgeAllSubmissions does what [Service.PurgeSubmissions] does for all forms of all
// users, those in the trash too.
func (s *Service) PurgeAllSubmissions(ctx context.Context, olderThan time.Time) (int, error) {
	return s.core.PurgeAllSubmissions(ctx, olderThan)
}

// DeleteUser removes everything of a user for good: API keys with the name and e-mail
// address in them, memberships, and the workspaces that the user owns. With a workspace
// go all its forms, also those in the trash, and their responses, webhooks and metrics.
// Nothing of anybody else is touched, nor are forms that the user made in workspaces of
// others. To keep a workspace, hand it over first: see [Service.TransferWorkspace].
//
// Once its first transaction has committed, nobody sees any of it; its rows are removed
// in pieces. When the call returns without an error, no row is left. For that it waits
// for responses to those forms that are being stored, and for a dispatcher or a
// [Service.Maintain] that removes rows at the same time. After an error, a cancelled
// context or the end of the process the call may be repeated, and without that Maintain
// removes the rest. An unknown user is not an error, the zero ID is. What a dispatcher
// has claimed already may still be sent. PostgreSQL frees the room of removed rows with
// its next VACUUM, and keeps them in its write-ahead log and in backups for as long as
// those are kept.
func (s *Service) DeleteUser(ctx context.Context, user ID) error { return s.core.DeleteUser(ctx, user) }

// EraseRespondent removes for good the responses to a form that have every one of the
// given answers, and returns how many. It also removes their idempotency keys, pending
// deliveries, bodies of events and digests of answers. Their places against
// settings.responseLimit and their answers to settings.duplicateField are free again;
// the metrics stay.
//
// Answers are named by block id, by the name of a hidden field, or as "block/part" for a
// part of an address or contact ("contact/email"). They are compared by meaning, as
// duplicates are: Ann@Example.com is ann@example.com. A hidden field, which often has an id
// of the host's, is compared letter by letter. A choice is named by its id or, of
// other, by the text; where several can be chosen, it has to be the only one. A phone
// number needs the code of its country (+49…), unless the block has a defaultCountry.
//
// An [*Error] says that the conditions cannot mean anybody, and nothing was
// removed: there are none; a value is empty; a name is neither that of a block or hidden
// field of the form nor that of any response to it, so that blocks which the form had
// before can still be named; or a name is that of a variable, a matrix, a file, a signature,
// a payment or a whole contact, which are never compared. Otherwise 0 means that no response
// matched: there is none, or the value is misspelt.
//
// It looks at one form. The example goes through all forms of a user, with the names of all
// answers that may be the person's. Receivers of webhooks have what they were sent and are not
// told: that is for the host to do.
//
// Half responses ([Service.SavePartial]) go too, and are not in the number: they are removed and
// not counted, since nobody submitted them. An answer that Submit would refuse is compared as it
// was sent. One that is saved again meanwhile may be missed.
//
// It reads all responses to the form and removes them in pieces. After an error the
// number says how many are removed; repeat the call for the rest, and for responses that
// came meanwhile. What a dispatcher has claimed already may still be sent. It returns
// [ErrNotFound] when the form does not exist or is in the trash: restore it first, or
// purge it.
func (s *Service) EraseRespondent(ctx context.Context, formID ID, wanted map[string]string) (int, error) {
	return s.core.EraseRespondent(ctx, formID, wanted)
}

// CreateWorkspace makes a workspace for an owner. The name is trimmed and must have 1
// to 120 characters. A name with control characters or characters that turn the
// direction of text is a [*schema.Error]. It returns [ErrLimitReached] when the owner
// has as many workspaces as are allowed (Limits.Workspaces).
func (s *Service) CreateWorkspace(ctx context.Context, owner ID, name string) (Workspace, error) {
	return s.AsHost().CreateWorkspace(ctx, WorkspaceCreate{Name: name, Owner: owner})
}

// AddMember lets a user see and use a workspace. Only its owner may change or
// delete the workspace itself. Adding twice is not an error. It returns [ErrNotFound]
// when there is no such workspace.
func (s *Service) AddMember(ctx context.Context, workspaceID, userID ID) error {
	return s.core.AddMember(ctx, workspaceID, userID)
}

// RemoveMember ends a membership. Removing somebody who is not a member is not an error. It
// returns [ErrNotFound] when there is no such workspace, and [ErrConflict] for
// its owner: see [Service.TransferWorkspace].
func (s *Service) RemoveMember(ctx context.Context, workspaceID, userID ID) error {
	return s.core.Storage.SetMember(ctx, workspaceID, userID, false)
}

// Members lists a workspace's members in ascending order, without the owner. It
// returns [ErrNotFound] when there is no such workspace.
func (s *Service) Members(ctx context.Context, workspaceID ID) ([]ID, error) {
	return s.core.Storage.Members(ctx, workspaceID)
}

// TransferWorkspace makes another user the owner; the previous one becomes a
// member. It returns [ErrNotFound] when there is no such workspace. The new owner
// may come to have more workspaces than Limits.Workspaces, which bounds making
// them only.
func (s *Service) TransferWorkspace(ctx context.Context, workspaceID, newOwner ID) error {
	return s.core.TransferWorkspace(ctx, workspaceID, newOwner)
}

// RecordView counts one view of a form now; for an unknown form, or one in the trash, it does
// nothing. It returns at once: what this process counts is stored together within 250 ms, and
// a process that is killed loses those at most. Its own metrics have each view at once, those
// of other processes when it is stored; [Service.Close] stores the last ones.
//
// What the storage cannot take is logged, and stored later where the error is an
// [ErrUnavailable]. While 10,000 views and starts wait, and after Close, each call stores its
// own and returns its error. So does that of [Service.WithStorage], in the host's transaction.
func (s *Service) RecordView(ctx context.Context, formID ID) error {
	return s.core.CountVisit(ctx, formID, storage.Counters{Views: 1})
}

// RecordStart counts one respondent who began to fill in a form, as [Service.RecordView]
// counts a view.
func (s *Service) RecordStart(ctx context.Context, formID ID) error {
	return s.core.CountVisit(ctx, formID, storage.Counters{Starts: 1})
}

// SetLifetimeCounters sets totals from before the form's events were counted one
// by one, for a form that was brought from elsewhere. They are added to the
// metrics of the period "all", which then are marked as estimated. All zero
// removes them. It returns [ErrNotFound] when there is no such form.
func (s *Service) SetLifetimeCounters(ctx context.Context, formID ID, c Counters) error {
	return s.core.SetLifetimeCounters(ctx, formID, c)
}

// Warnings returns the parts of a definition that make it unanswerable or have no
// effect: bounds that leave nothing, a required question without choices, jumps that
// lead nowhere, unreadable logic. A write refuses none of that. Sections that are nil
// are empty. Days are those of [WithTimeZone].
//
// Whether a question can be answered follows from its own bounds. Whether a block is ever
// reached, and whether any response is accepted, follows from the order of the blocks and
// their jumps. A condition is tried with answers at and next to the values, choices and
// limits that it is compared with. Conditions of different blocks count as independent of
// each other. So no warning is wrong, and a form whose conditions exclude each other in
// several blocks has none for that.
//
// An error means that the API would refuse a section.
func (s *Service) Warnings(d Definition) (schema.Warnings, error) { return s.core.Warnings(d) }

// Redeliver sends the event of an earlier delivery again, from its first attempt
// and with the same bytes. deliveryID is the id of a summary of GET
// /webhooks/{webhookId}/deliveries. It returns [ErrNotFound] when there is no such
// delivery or its submission was deleted, and [ErrConflict] when the webhook is
// disabled.
func (s *Service) Redeliver(ctx context.Context, webhookID, deliveryID ID) error {
	return s.wakeDispatcher(ctx, s.core.Storage.Redeliver(ctx, webhookID, deliveryID))
}

// RedeliverFailed does what [Service.Redeliver] does for each delivery of a webhook that ended
// without success since a time: it was given up or expired, or the webhook was disabled after
// a failed attempt. The time is that of its last attempt; the zero time means all that is
// kept. It returns how many deliveries it queued.
//
// It finds what GET /webhooks/{webhookId}/deliveries shows, the newest 100 attempts, and the
// summaries of expired deliveries, of which one stands for all that expired together. A
// delivery that is still waiting is not hastened, and one whose submission was deleted is
// passed over. Of an expired delivery whose later success is not kept any more the event is
// sent once more.
//
// Each delivery is a step of its own. With an error, or when ctx ends, the number says how many
// are queued: repeat the call for the rest. A second call, also at the same time, queues
// none of them twice. It returns [ErrNotFound] when there is no such webhook, and
// [ErrConflict] when there is something to send and the webhook is disabled.
func (s *Service) RedeliverFailed(ctx context.Context, webhookID ID, since time.Time) (int, error) {
	n, err := s.core.RedeliverFailed(ctx, webhookID, since)
	if n > 0 {
		_ = s.wakeDispatcher(ctx, nil)
	}
	return n, err
}

// SendTestEvent queues an event for one webhook with sample answers made from the
// blocks of its form. It has no submissionId, and is signed, logged and tried
// again like any other. A webhook waits for one test event at most: while one is pending,
// no other is queued, and the pending one becomes due now. It returns [ErrNotFound] when there
// is no such webhook, and [ErrConflict] when it is disabled.
func (s *Service) SendTestEvent(ctx context.Context, webhookID ID) error {
	return s.wakeDispatcher(ctx, s.intake.SendTestEvent(ctx, webhookID))
}

// queued is called after something was queued.
func (s *Service) wakeDispatcher(ctx context.Context, err error) error {
	if err == nil && !s.inHostTransaction {
		s.dispatcher.Wake()
	}
	if err == nil {
		s.core.WarnIfNotDispatched(ctx)
	}
	return err
}
