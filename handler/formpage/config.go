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
	// BasePath is the path where the handler is mounted, without a trailing slash. Defaults to "/f". The handler
	// removes it from the request path if present, so it also works below http.StripPrefix.
	BasePath string

	// Secret signs preview links and the state of a page: when it was opened, its idempotency key, stored files and its
	// partial submission. All processes of a host must use the same secret of at least 16 bytes. If nil, previews are
	// disabled, and each process generates its own secret and logs this once. A page from another process, or from
	// before a restart, is then shown again with its input and must be submitted again. An empty secret is an error,
	// because its environment variable is probably not set.
	Secret Secret
	// PreviousSecrets are other secrets whose signatures are accepted. To change the secret, first list the new secret
	// here in all processes. Then make it the Secret and list the old secret here. Remove the old secret after eight
	// days and after its preview links have expired. No page then has to be submitted twice.
	PreviousSecrets Secrets

	// Layout is the document around a form, executed with a [Document]. [New] executes it once to validate it. Defaults
	// to a plain page.
	Layout *template.Template

	// Language returns the language tag of a page. If it is nil or returns "", the page uses its lang parameter, the
	// Accept-Language header, or English, in this order. Numbers have the format of the tag's region. If the tag has
	// none, the region of the respondent's first language is used if the languages are the same.
	Language func(r *http.Request, form formsvc.PublicForm) string
	// Translations adds languages and changes texts, by language tag and then by key. The files in
	// handler/formpage/internal/words/texts contain the keys. Missing texts are in English.
	Translations map[string]map[string]string

	// Brand is shown below forms whose settings.branding is true. A zero value shows nothing.
	Brand Link

	// Location is the time zone for the limits of dates. It is also used for a date with a time if the browser sends no
	// time zone, which requires JavaScript. Defaults to the service's TimeZone.
	Location *time.Location

	// FrameAncestors are the origins whose pages can show a form in a frame, as sources of a Content-Security-Policy.
	// Defaults to 'self'.
	FrameAncestors []string

	// AllowedOrigins are the origins whose pages can use form.json, path, submit, view and start, such as
	// "https://app.example", or "*" for all. These requests never contain cookies. A listed origin can also post the
	// form page itself, for which browsers may add cookies. Defaults to the host of the request. If a proxy changes the
	// Host header, list the origin that browsers use. Requests from other origins are rejected, even from the same site
	// and from the origin "null" of a sandboxed frame.
	AllowedOrigins []string

	// MinFillTime is the minimum time between opening a page and submitting the form. If a form is submitted earlier,
	// it is shown again with the input. Defaults to 2 s. A negative value means no minimum, for example in tests.
	MinFillTime time.Duration

	// Partials selects whether pages save partial submissions, so that respondents can continue later. A zero value
	// saves nothing before the form is submitted. The storage must support partial submissions. A visit creates at most
	// one, and a form stores at most 10,000. A new one then replaces the newest partial submission that was saved only
	// once and has no link. If there is none, it replaces the one that was saved longest ago. If the form has a
	// captcha, its users see only partial submissions of visits that solved it.
	Partials Partials

	// ClientIP returns a respondent's address for Limiter, such as r.RemoteAddr without the port, or a header that the
	// host's proxy sets. Behind a proxy, RemoteAddr is the same for everyone. Requests with "" are not limited.
	// ClientIP and Limiter must be set together.
	ClientIP func(*http.Request) string
	// Limiter limits the requests of an address that store a submission or files, or call a Verifier. Each request
	// takes one token. Views, starts, new partial submissions, saves, and opened links each have a separate budget of
	// the same size. Beyond it they are not counted or saved, and the page says that it did not save. The handler never
	// closes the limiter, and its keys start with "formsvc:page:". If the limiter fails, or does not respond within
	// [ratelimit.StoreTimeout], the request is allowed and the error is logged. Without a Limiter,
	// [Handler.MissingFeatures] reports forms with files, a captcha or partial submissions.
	Limiter limiter.Store

	// Verifiers check the challenges of captcha blocks, by captchaType: "turnstile", "hcaptcha" or "recaptcha". A block
	// without a verifier is not shown, checks nothing, and is logged.
	Verifiers map[string]Verifier

	// Files stores the files of file_upload and signature blocks. If nil, these blocks accept no files.
	Files FileStore
	// MaxFileSize is the maximum size of a file in bytes. Blocks cannot exceed it. Defaults to the limit of the
	// service. For a block with maxFileSize, the limit of the service also applies.
	MaxFileSize int64
	// MaxVisitFiles is the maximum size of all files of a visit before its submission is stored, in bytes. Removed
	// files count as well, and each file counts 4 KiB more. Defaults to 32 MiB, or to MaxFileSize if that is larger. A
	// negative value means no limit. Each process counts separately. To limit the files of all visits, see
	// [Dir.MaxUnsubmitted].
	MaxVisitFiles int64

	// Submit wraps the storing of a submission. It calls next, which is [formsvc.Service.Submit], or stores the
	// submission in another way, such as in the host's transaction ([formsvc.Service.WithStorage]). If nil, next is
	// called directly.
	//
	// If Submit returns an error, the submission is rejected and the page is shown again with its input:
	//
	//   - For an [*formsvc.Error] of the host, the page shows the Message of each violation unchanged, whatever its
	//     Code. The message is next to the block in Field, or above the form if Field is empty. Without a Message, the
	//     page uses its own text for the Code.
	//   - For an error of next, which may be wrapped, the page uses a text in its language. The same applies to
	//     formsvc.ErrClosed, ErrNotFound and ErrDuplicate from any function.
	//   - Any other error is logged, and the page says that the response could not be saved.
	//
	// The respondent can then submit the page again, possibly with the same IdempotencyKey. Submit must therefore
	// reject a submission before it is stored, or in its transaction.
	Submit func(ctx context.Context, r formsvc.SubmitParams, next func(context.Context, formsvc.SubmitParams) (formsvc.Submission, error)) (formsvc.Submission, error)

	// HostAnswers returns answers that only the host can give, such as to a payment. It is called for every page that
	// is opened, submitted or saved, except previews, because rules may read these answers. It must be fast and change
	// nothing. After an error, the page is shown again and nothing is stored. Defaults to none.
	HostAnswers func(r *http.Request, form formsvc.PublicForm) (map[string]json.RawMessage, error)
	// Country returns the respondent's country for the metadata of the submission. If nil, no country is stored.
	Country func(*http.Request) string

	// MaxBody is the maximum size of the text that a page can submit, in bytes. Defaults to 1 MiB. If a body is larger,
	// the page is shown again with the part that was read.
	MaxBody int64

	// Logger receives errors and warnings for the host. If nil, they are discarded.
	Logger *slog.Logger
	// Clock returns the current time, for tests. Defaults to time.Now.
	Clock func() time.Time
}

// Link is a text with a link.
type Link struct{ Text, URL string }

// Format implements [fmt.Formatter]. It prints no fields, because package fmt would print the secrets inside them.
func (c Config) Format(f fmt.State, _ rune) { redact(f, "formpage.Config") }

// Document is the data for [Config.Layout].
type Document struct {
	Language  string // a language tag, for the attribute lang
	Direction string // "ltr" or "rtl", for the attribute dir
	Title     string
	// Head belongs in the head element and Body in the body element, once each.
	Head, Body template.HTML
	// Nonce is the nonce in the response's Content-Security-Policy for style and script elements. Files of the layout
	// from the page's origin do not need it.
	Nonce string
	Form  formsvc.PublicForm // zero if the URL has no form
}
