package formpage

import (
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"time"

	"github.com/sethvargo/go-limiter"

	"github.com/formsvc/formsvc"
)

// Config configures the form pages. The zero value is valid.
type Config struct {
	// BasePath is the unescaped path where the handler is mounted, without a trailing slash. Defaults to "/f". The
	// handler strips it from the request path if it is still there, so http.StripPrefix also works.
	BasePath string

	// Secret signs the links of previews and edits, and each page's state: when the page was opened, its idempotency key,
	// its stored files and its partial submission. All of a host's processes must use the same secret of at least 16
	// bytes. If Secret is nil, these links are disabled, and each process generates its own secret and logs this once. If
	// a respondent then submits a page from another process or from before a restart, the page is shown again with the
	// input and must be submitted again. An empty non-nil secret is an error, because its environment variable is
	// probably not set.
	Secret Secret
	// PreviousSecrets are other secrets whose signatures are accepted. To rotate the secret, first list the new secret
	// here in all processes. Then make it the Secret and list the old secret here. Remove the old secret once eight
	// days have passed and its preview links have expired. This way, no page has to be submitted twice.
	PreviousSecrets Secrets

	// Layout is the document around a form, executed with a [Document]. [New] executes it once to validate it.
	// Defaults to a plain page.
	Layout *template.Template
	// LayoutData returns a request's data for Layout, such as the name of the signed-in user, the active item of a
	// navigation or a CSRF token. The layout uses it as {{.Data}}. It is called for each page, also for messages and
	// previews. It must be fast and safe for concurrent use. [New] does not call it: it executes the layout with nil
	// Data, and ignores an error. Defaults to nil Data.
	LayoutData func(r *http.Request) any

	// Language returns the language tag for a page. If Language is nil or returns "", the page uses its lang parameter,
	// the Accept-Language header, or English, in this order. The tag's region determines the number format. If it has
	// none, the region of the respondent's first language is used, provided that the languages are the same.
	Language func(r *http.Request, form formsvc.PublicForm) string
	// Translations adds languages and overrides texts, by language tag and then by key. The keys are in the files in
	// handler/formpage/internal/words/texts. Missing texts are shown in English.
	Translations map[string]map[string]string

	// Brand is shown below forms whose settings.branding is true. If zero, nothing is shown.
	Brand Link

	// Location is the time zone for date limits. It also applies to a date with a time if the browser sends no time
	// zone, because sending it requires JavaScript. Defaults to the service's TimeZone.
	Location *time.Location

	// FrameAncestors are the origins whose pages may show a form in a frame, written as Content-Security-Policy
	// sources. Defaults to 'self'.
	FrameAncestors []string

	// AllowedOrigins are the origins whose pages may use form.json, path, choices, submit, view and start, such as
	// "https://app.example", or "*" for all. Their requests to these routes never include cookies. A listed origin may
	// also post the form page itself, and browsers may include cookies in such a post. Defaults to the request's host.
	// If a proxy changes the Host header, list the origin that browsers use. Requests from other origins are rejected,
	// even from the same site and from the "null" origin of a sandboxed frame.
	AllowedOrigins []string

	// MinFillTime is the minimum time between opening a page and submitting the form. A form submitted earlier is shown
	// again with the input. Defaults to 2 s. A negative value means no minimum, which is useful in tests.
	MinFillTime time.Duration

	// Partials selects whether pages save partial submissions, so that respondents can continue later. If zero, nothing
	// is saved before the form is submitted. The storage must support partial submissions. A visit creates at most one,
	// and a form stores at most 10,000. Beyond that limit, a new one replaces the newest partial submission that was
	// saved only once and has no link. If there is none, it replaces the least recently saved one. If the form has a
	// captcha, its users see a partial submission only if the visit solved it.
	Partials Partials

	// ClientIP returns the respondent's address for Limiter, such as r.RemoteAddr, or a header that the host's proxy
	// sets. For X-Forwarded-For, return strings.Join(r.Header.Values("X-Forwarded-For"), ","): only the last address of a
	// list counts, because clients can send the others. A port is ignored. Behind a proxy, RemoteAddr is the same for
	// everyone. Requests for which ClientIP returns "" are not limited. ClientIP and Limiter must be set together.
	ClientIP func(*http.Request) string
	// Limiter limits how many requests an address can make that store a submission or files, or call a Verifier. Each
	// such request takes one token. Views, starts, searches in lists of choices, new partial submissions, saves, and
	// opened links each have a separate budget of the same size. When a budget is used up, they are not counted or saved,
	// and the page says if it could not save. The handler never closes the limiter, and its keys start with
	// "formsvc:page:". If the limiter fails or does not respond within [ratelimit.StoreTimeout], the request is allowed
	// and the error is logged. If Limiter is nil, [Handler.MissingFeatures] reports forms with files, a captcha or
	// partial submissions.
	Limiter limiter.Store

	// Verifiers verify the challenges of captcha blocks, by captchaType: "turnstile", "hcaptcha" or "recaptcha". A
	// captcha block without a verifier is logged. It is not shown and checks nothing.
	Verifiers map[string]Verifier

	// Files stores the files for file_upload and signature blocks. If nil, these blocks accept no files.
	Files FileStore
	// MaxFileSize is the maximum file size in bytes. It applies to all blocks, even if their maxFileSize is larger.
	// Defaults to the service's limit. For a block with maxFileSize, the service's limit applies too.
	MaxFileSize int64
	// MaxVisitFiles is the maximum total size of the files that a visit uploads before its submission is stored, in
	// bytes. Removed files count too, and each file counts as 4 KiB larger than it is. Defaults to 32 MiB, or to
	// MaxFileSize if that is larger. A negative value means no limit. Each process counts separately. To limit all
	// visits together, see [Dir.MaxUnsubmitted].
	MaxVisitFiles int64

	// Submit runs in place of [formsvc.Service.Submit], which is passed as next. It can call next, or store the
	// submission in another way, such as in the host's transaction ([formsvc.Service.WithStorage]). If nil, next is
	// called directly. The ending shows the submission that Submit returns. If its ID is zero, the ending shows the
	// submission that next has stored. If there is none, it inserts no answers and has no link to edit them.
	//
	// If Submit returns an error, the submission is rejected and the page is shown again with its input:
	//
	//   - For the host's own [*formsvc.Error], the page shows each violation's Message unchanged, whatever its Code.
	//     The message appears next to the block in Field, or above the form if Field is empty. If Message is empty, the
	//     page uses its own text for the Code. A check's message from the service inserts its values here too.
	//   - For an error from next, possibly wrapped, the page shows a text in its language. It also does so for
	//     formsvc.ErrClosed, ErrNotFound and ErrDuplicate from any function.
	//   - Any other error is logged, and the page says that the response could not be saved.
	//
	// The respondent can then submit the page again, possibly with the same IdempotencyKey. Submit must therefore
	// reject a submission before storing it, or within its transaction. If a lost connection could hide that its
	// transaction was committed, the error must match [formsvc.ErrOutcomeUnknown].
	//
	// After an error or a panic, a [FileRetainer] releases the submission's files, so that [Dir.Sweep] deletes them later.
	// They stay if the error, or the last error of next, matches formsvc.ErrOutcomeUnknown or ErrUnavailable, if next has
	// returned no error, or if the form has a submission with the page's IdempotencyKey.
	Submit func(ctx context.Context, r formsvc.SubmitParams, next func(context.Context, formsvc.SubmitParams) (formsvc.Submission, error)) (formsvc.Submission, error)

	// HostAnswers returns answers that only the host can provide, such as to a payment. It is called for every page
	// that is opened, submitted or saved, except for previews, because rules may use these answers. It must be fast and
	// have no side effects. After an error, the page is shown again and nothing is stored. Defaults to none.
	HostAnswers func(r *http.Request, form formsvc.PublicForm) (map[string]json.RawMessage, error)

	// Respondent returns the host's ID of the person who is answering, such as the ID of the signed-in user, and the name
	// to show. The page says who is answering. If displayName is empty, it shows the ID. An empty id means that no one is
	// signed in. See [formsvc.SubmitParams] for valid IDs. It is called for every page that is opened, submitted or saved,
	// and for requests to form.json, path, choices and submit. It is not called for previews and anonymous forms. If it
	// returns an error, nothing is stored, the status is 503, and a posted page is shown again with the input. If nil,
	// there are no respondents.
	//
	// A page belongs to the respondent who opened it. If another respondent or another site posts it, nothing is stored,
	// and the page asks for confirmation. A respondent who opens a form again continues an open partial submission.
	Respondent func(r *http.Request, form formsvc.PublicForm) (id, displayName string, err error)
	// SignIn handles requests without a respondent for forms that require one, after the button "Sign in" was pressed,
	// typically by redirecting to the sign-in page. The request has the URL of the form page, to which the host can return.
	// If nil, the page says that signing in is required and has no button.
	SignIn http.Handler

	// Country returns the respondent's country for the submission's metadata. If nil, no country is stored.
	Country func(*http.Request) string

	// MaxBody is the maximum size of the text that a page can submit, in bytes. Defaults to 1 MiB. If a body is larger,
	// the page is shown again with the part that was read.
	MaxBody int64

	// Logger logs errors and warnings for the host. If nil, they are discarded.
	Logger *slog.Logger
	// Clock returns the current time, for tests. Defaults to time.Now.
	Clock func() time.Time
}

// Link is a piece of text with an optional URL.
type Link struct{ Text, URL string }

// Format implements [fmt.Formatter]. It prints no fields, because package fmt would also print the secrets inside them.
func (c Config) Format(f fmt.State, _ rune) { writeRedacted(f, "formpage.Config") }

// Document is the data passed to [Config.Layout].
type Document struct {
	Language  string // a language tag, for the lang attribute
	Direction string // "ltr" or "rtl", for the dir attribute
	Title     string
	// Head belongs in the head element and Body in the body element, once each.
	Head, Body template.HTML
	// Nonce is the nonce that the response's Content-Security-Policy requires on style and script elements. Files that
	// the layout loads from the page's origin don't need it.
	Nonce string
	Form  formsvc.PublicForm // zero if the URL matches no form
	Data  any                // the result of [Config.LayoutData]
}
