package formsvc_test

import (
	"context"
	"crypto/cipher"
	"encoding/json"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/sethvargo/go-limiter"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/webhooks"
)

// Hosts compile against these. A change here breaks them.
var (
	_ func(...formsvc.Option) (*formsvc.Service, error) = formsvc.New
	_ http.Handler                                      = (*formsvc.Service)(nil)

	_ interface {
		Dispatcher() *webhooks.Dispatcher
		Using(storage.Storage) *formsvc.Service
		Close(context.Context) error

		CreateKey(context.Context, formsvc.KeyRequest) (formsvc.IssuedKey, error)
		Keys(context.Context, formsvc.ID) ([]formsvc.Key, error)
		RevokeKey(ctx context.Context, userID, keyID formsvc.ID) error
		CreateWorkspace(ctx context.Context, owner formsvc.ID, name string) (formsvc.Workspace, error)
		AddMember(ctx context.Context, workspaceID, userID formsvc.ID) error
		RemoveMember(ctx context.Context, workspaceID, userID formsvc.ID) error
		Members(ctx context.Context, workspaceID formsvc.ID) ([]formsvc.ID, error)
		TransferWorkspace(ctx context.Context, workspaceID, newOwner formsvc.ID) error
		PublicForm(ctx context.Context, publicID string) (formsvc.PublicForm, error)
		RecordView(ctx context.Context, formID formsvc.ID) error
		RecordStart(ctx context.Context, formID formsvc.ID) error
		Submit(context.Context, formsvc.Response) (formsvc.Submission, error)
		SetLifetimeCounters(ctx context.Context, formID formsvc.ID, c formsvc.Counters) error
		TrashedForms(ctx context.Context, workspaceID formsvc.ID) ([]formsvc.Form, error)
		RestoreForm(ctx context.Context, formID, into formsvc.ID) error
		PurgeTrash(ctx context.Context, olderThan time.Time) (int, error)
		PurgeForm(ctx context.Context, id formsvc.ID) error
		DeleteUser(ctx context.Context, user formsvc.ID) error
		EraseRespondent(ctx context.Context, form formsvc.ID, answers map[string]string) (int, error)
		PurgeSubmissions(ctx context.Context, olderThan time.Time, form formsvc.ID) (int, error)
		Redeliver(ctx context.Context, webhookID, deliveryID formsvc.ID) error
		SendTestEvent(ctx context.Context, webhookID formsvc.ID) error
		ResealSecrets(context.Context) (int, error)
		ResolveKey(ctx context.Context, key string) (formsvc.Principal, error)
		As(user formsvc.ID) formsvc.Client
		AsHost() formsvc.Client
		ExportHandler() http.Handler
	} = (*formsvc.Service)(nil)

	_ interface {
		Workspaces(context.Context, formsvc.Query) iter.Seq2[formsvc.Workspace, error]
		Workspace(context.Context, formsvc.ID) (formsvc.Workspace, error)
		CreateWorkspace(context.Context, formsvc.WorkspaceCreate) (formsvc.Workspace, error)
		RenameWorkspace(ctx context.Context, id formsvc.ID, name string) (formsvc.Workspace, error)
		DeleteWorkspace(context.Context, formsvc.ID) error

		Forms(context.Context, formsvc.FormQuery) iter.Seq2[formsvc.Form, error]
		Form(context.Context, formsvc.ID) (formsvc.Form, error)
		CreateForm(context.Context, formsvc.FormCreate) (formsvc.Form, error)
		UpdateForm(context.Context, formsvc.ID, formsvc.FormUpdate) (formsvc.Form, error)
		PublishForm(context.Context, formsvc.ID) (formsvc.Form, error)
		TrashForm(ctx context.Context, id formsvc.ID, conditions ...formsvc.Condition) error

		Blocks(context.Context, formsvc.ID) (formsvc.StoredBlocks, error)
		Block(ctx context.Context, form formsvc.ID, id string) (formsvc.StoredBlock, error)
		CreateBlock(ctx context.Context, form formsvc.ID, block json.RawMessage, conditions ...formsvc.Condition) (formsvc.StoredBlock, error)
		ReplaceBlocks(ctx context.Context, form formsvc.ID, blocks json.RawMessage, conditions ...formsvc.Condition) (formsvc.StoredBlocks, error)
		UpdateBlock(ctx context.Context, form formsvc.ID, id string, patch json.RawMessage, conditions ...formsvc.Condition) (formsvc.StoredBlock, error)
		DeleteBlock(ctx context.Context, form formsvc.ID, id string, conditions ...formsvc.Condition) (revision int64, err error)

		Submissions(context.Context, formsvc.ID, formsvc.SubmissionQuery) iter.Seq2[formsvc.Submission, error]
		Submission(ctx context.Context, form, id formsvc.ID) (formsvc.Submission, error)
		DeleteSubmission(ctx context.Context, form, id formsvc.ID) error
		Metrics(ctx context.Context, form formsvc.ID, period formsvc.Period) (formsvc.Metrics, error)
		Export(ctx context.Context, w io.Writer, form formsvc.ID, e formsvc.Export) error
		Summary(context.Context, formsvc.ID, formsvc.SubmissionQuery) (formsvc.Summary, error)

		Webhooks(context.Context, formsvc.Query) iter.Seq2[formsvc.Webhook, error]
		Webhook(context.Context, formsvc.ID) (formsvc.Webhook, error)
		CreateWebhook(context.Context, formsvc.WebhookCreate) (formsvc.Webhook, error)
		UpdateWebhook(context.Context, formsvc.ID, formsvc.WebhookUpdate) (formsvc.Webhook, error)
		DeleteWebhook(context.Context, formsvc.ID) error
		Deliveries(context.Context, formsvc.ID) ([]formsvc.Delivery, error)
	} = formsvc.Client{}

	_ = formsvc.KeyRequest{User: formsvc.User{}, Name: "", Scopes: []formsvc.Scope{}, ExpiresAt: (*time.Time)(nil)}
	_ = formsvc.IssuedKey{Key: formsvc.Key{}, Secret: ""}
	_ = formsvc.Response{
		FormID: formsvc.ID{}, Answers: map[string]json.RawMessage{}, HostAnswers: map[string]json.RawMessage{},
		Hidden: map[string]string{}, Metadata: formsvc.Metadata{Country: "", Device: "", UserAgent: "", UTM: map[string]string{}},
		CompletionTime: float64(0), IdempotencyKey: "",
	}
	_ = formsvc.PublicForm{
		ID: formsvc.ID{}, PublicID: "", Name: "", Type: "", Closed: false, ClosedMessage: "",
		Definition: storage.Definition{}, Blocks: []schema.Block{}, Settings: schema.Settings{}, Theme: schema.Theme{},
	}

	_ func(string) formsvc.ID = formsvc.UserIDFrom

	_ func(formsvc.Submission) ([]formsvc.Answer, error) = formsvc.DecodeAnswers
	_ func(formsvc.Form) (formsvc.FormContent, error)    = formsvc.DecodeForm

	_ = []error{formsvc.ErrInvalidKey, formsvc.ErrNotFound, formsvc.ErrConflict, formsvc.ErrDuplicate, formsvc.ErrLimitReached, formsvc.ErrClosed, formsvc.ErrUnavailable, formsvc.ErrOutcomeUnknown}

	_ func(string) (formsvc.ID, error) = formsvc.ParseID
	_                                  = []formsvc.Scope{formsvc.ScopeFormsRead, formsvc.ScopeSubmissionsRead}
	_                                  = []string{formsvc.StatusDraft, formsvc.StatusPublished}

	_ func(storage.Storage) formsvc.Option                     = formsvc.WithStorage
	_ func(context.Context, string) (formsvc.Principal, error) = (*formsvc.Service)(nil).ResolveKey

	_ func(formsvc.KeyResolver) formsvc.Option         = formsvc.WithKeyResolver
	_ func(func(*http.Request) string) formsvc.Option  = formsvc.WithCredential
	_ func(string) formsvc.Option                      = formsvc.WithBasePath
	_ func(string) formsvc.Option                      = formsvc.WithBaseURL
	_ func(func(*http.Request) string) formsvc.Option  = formsvc.WithBaseURLFunc
	_ func(string) formsvc.Option                      = formsvc.WithKeyPrefix
	_ func(uint64, time.Duration) formsvc.Option       = formsvc.WithRateLimit
	_ func(limiter.Store) formsvc.Option               = formsvc.WithLimiter
	_ func() formsvc.Option                            = formsvc.WithoutRateLimit
	_ func(webhooks.Config) formsvc.Option             = formsvc.WithWebhookConfig
	_ func(cipher.AEAD, ...cipher.AEAD) formsvc.Option = formsvc.WithSecretCipher
	_ func(formsvc.Limits) formsvc.Option              = formsvc.WithLimits
	_ func(*time.Location) formsvc.Option              = formsvc.WithTimeZone
	_ func(*slog.Logger) formsvc.Option                = formsvc.WithLogger
	_ func(func() time.Time) formsvc.Option            = formsvc.WithClock

	_ = formsvc.Principal{KeyID: "", UserID: storage.ID{}, Name: "", Email: "", Scopes: []formsvc.Scope{}}
	_ = handler.Limits{FileSize: int64(0)}
	_ = webhooks.Config{
		Timeout: time.Duration(0), Retry: webhooks.RetryPolicy{}, InFlight: 0, InFlightWebhook: 0, HeaderPrefix: "", UserAgent: "",
		AllowedNetworks: []netip.Prefix{}, Resolver: webhooks.Resolver(nil), Observer: webhooks.Observer(nil),
	}
	_ func(context.Context) error                        = (*webhooks.Dispatcher)(nil).Run
	_ func()                                             = (*webhooks.Dispatcher)(nil).Wake
	_ func(secret string, body []byte) string            = webhooks.Sign
	_ func(secret string, body []byte, sig string) error = webhooks.Verify
	_                                                    = schema.Error{Violations: []schema.Violation{{Path: "", Field: "", Code: "", Message: "", Params: map[string]any{}}}}
	_ error                                              = (*formsvc.Error)(nil)
)
