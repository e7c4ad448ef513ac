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
	// removes it from the request path if present, so it also works below http.StripPrefix. All links of a page are
	// relative.
	BasePath string

	// Secret signs the links of previews, and what a page carries from one request to the
	// next: the time when it was opened, its idempotency key, stored files, the token of what it
	// saves half-way. All processes of a host need the same one, of at least 16 bytes. One that
	// is empty and not nil is an error, as it is that of an environment variable which is not
	// set. With nil previews are off, and each process makes a secret of its own, which is logged
	// once when it matters. A page that another process made, or the same process before a
	// restart, comes back filled in and has to be sent again.
	Secret Secret
	// PreviousSecrets are other secrets whose signatures are accepted. Nothing is signed with them. To change the
	// secret so that no page has to be submitted twice, first list the new secret here in all processes. Then make it
	// the Secret and list the old secret here. Remove the old secret after eight days, when its pages can no longer
	// be submitted, or later for preview links.
	PreviousSecrets Secrets

	// Layout is the document around a form, executed with a [Document]. [New] executes it once to validate it.
	// Defaults to a plain page. See the example.
	Layout *template.Template

	// Language chooses the language of a page, as a tag. Nil, and "": the page's lang
	// parameter, else the visitor's Accept-Language, else English. Numbers are read and
	// written as in the tag's region, "es-MX" not as "es-ES". A tag without a region has
	// the region of the visitor's first language, if the language is the same.
	Language func(r *http.Request, form formsvc.PublicForm) string
	// Words adds languages and changes words: by language tag, then by key. The keys
	// are in the files of handler/formpage/internal/words/texts. What is missing is English.
	Translations map[string]map[string]string

	// Brand is shown below forms whose settings.branding is true. A zero value shows nothing.
	Brand Link

	// Location is the time zone for the bounds of a date. A date with a time is also in
	// this zone when the browser does not send its own zone, for which it needs JavaScript.
	// Default: the service's TimeZone.
	Location *time.Location

	// FrameAncestors are the origins whose pages can show a form in a frame, as sources of a Content-Security-Policy.
	// Defaults to 'self'.
	FrameAncestors []string

	// AllowedOrigins are the origins whose pages may use form.json, path and submit, such
	// as "https://app.example", or "*" for all. Cookies are never part of it. Those that
	// are named may also send the form's page itself, to which browsers may add cookies.
	// Default: none but the handler's own.
	//
	// All other requests are refused that come from another origin by Sec-Fetch-Site or
	// Origin, also from the same site. The origin "null" is refused too: it is that of
	// frames with the attribute sandbox but without allow-same-origin. The handler's own is
	// the host of the request: behind a proxy that changes the Host header, list the one
	// that visitors see.
	AllowedOrigins []string

	// MinFillTime is the minimum time between opening a page and submitting the form. If a form is submitted earlier,
	// it is shown again with the input. Defaults to 2 s. A negative value means no minimum, for example in tests.
	MinFillTime time.Duration

	// Partials lets respondents go on later: their pages save what is filled in. Zero: nothing
	// is saved before the form is sent. The storage has to keep half responses. A visit creates at most one, and a form keeps 10,000. A new one
	// then replaces the newest that was saved once and whose link the respondent did not take, or
	// else the oldest by its last save. If the form has a captcha, its owners see only those
	// of visits that solved one.
	Partials Partials

	// ClientIP returns what identifies a visitor's address to Limiter, such as
	// r.RemoteAddr without the port, or the header that the host's proxy sets. Both
	// are given or neither: behind a proxy, RemoteAddr is that of everybody. "" is not
	// limited.
	ClientIP func(*http.Request) string
	// Limiter bounds how many requests of an address are taken that store a response or
	// files, or ask a Verifier. Each takes one token, however many files it has; steps from
	// page to page are free. Views, starts, half responses that are begun, and saves of these
	// with looks for them, have a budget of the same size each. Beyond it they are not counted
	// or saved, and the page says that it is not. The handler never closes the limiter, and its keys are prefixed
	// "formsvc:page:". One that fails, or has not answered within [ratelimit.StoreTimeout], lets
	// visitors pass, and is logged. Without it a page with files or a captcha, or that saves
	// half responses, is listed by [Handler.MissingFeatures].
	Limiter limiter.Store

	// Verifiers check the challenges of captcha blocks, by captchaType: "turnstile",
	// "hcaptcha" or "recaptcha". A block without its verifier shows nothing, holds nobody
	// up, and is logged.
	Verifiers map[string]Verifier

	// Files stores the files of file_upload and signature blocks. If nil, these blocks say that the page accepts no
	// files.
	Files FileStore
	// MaxFileSize is the maximum size of a file in bytes, whatever the block says. Defaults to the limit of the
	// service. For a block with maxFileSize, the limit of the service also applies.
	MaxFileSize int64
	// MaxVisitFiles is how many bytes of files a visit may send before its response is
	// stored. Files that the visitor takes back count as well, and each file counts 4 KiB
	// more. 0: 32 MiB, or MaxFileSize if that is larger. Negative: no bound. Each process
	// counts what it has taken: behind several, a visit may reach the bound at each. What
	// all visits may send together is for Files to say, see [Dir.MaxUnsubmitted].
	MaxVisitFiles int64

	// Submit wraps how a response is stored: it calls next, which is [formsvc.Service.Submit], or
	// stores it in another way, such as in a transaction of the host's ([formsvc.Service.WithStorage]).
	// If nil, next is called directly.
	//
	// An error that Submit returns refuses the response, and the page comes back filled in:
	//
	//   - An [*formsvc.Error] of the host's own shows the Message of each violation as it is,
	//     whatever its Code: next to the block of the violation's Field, or above the form if Field
	//     is empty. A violation without a Message is worded by its Code.
	//   - An error of next, which may be wrapped, is worded in the page's language.
	//   - So are formsvc.ErrClosed, ErrNotFound and ErrDuplicate, whoever returns them.
	//   - Any other error is logged, and the page says that the response could not be saved.
	//
	// The respondent corrects the answers and sends the page again, with the same IdempotencyKey. So
	// refuse a response before it is stored, or in its transaction.
	Submit func(ctx context.Context, r formsvc.SubmitParams, next func(context.Context, formsvc.SubmitParams) (formsvc.Submission, error)) (formsvc.Submission, error)

	// HostAnswers returns answers that only the host can give, such as a payment's. It is
	// asked for every page that is opened, sent or saved, but a preview's: rules may read these
	// answers. So it is quick and changes nothing. With an error the page comes back, and
	// nothing is stored. Nil: none.
	HostAnswers func(r *http.Request, form formsvc.PublicForm) (map[string]json.RawMessage, error)
	// Country returns the respondent's country for the metadata of the submission. If nil, no country is stored.
	Country func(*http.Request) string

	// MaxBody is the maximum size of the text that a page can submit, in bytes. Defaults to 1 MiB. For a larger body,
	// the page returns with the part that was read.
	MaxBody int64

	// Logger receives errors and warnings for the host. If nil, they are discarded.
	Logger *slog.Logger
	// Clock returns the current time, for tests. Defaults to time.Now.
	Clock func() time.Time
}

// Link is a text with a link.
type Link struct{ Text, URL string }

// Format implements [fmt.Formatter]: a Config prints nothing of what it holds, because package
// fmt passes over the methods of what is in a value that it cannot print.
func (c Config) Format(f fmt.State, _ rune) { redact(f, "formpage.Config") }

// Document is what [Config.Layout] is executed with.
type Document struct {
	Language  string // a language tag, for the attribute lang
	Direction string // "ltr" or "rtl", for the attribute dir
	Title     string
	// Head belongs into the head, Body into the body, once each.
	Head, Body template.HTML
	// Nonce is the nonce that the Content-Security-Policy of the response allows for
	// elements style and script. A layout's own files from the page's origin need none.
	Nonce string
	Form  formsvc.PublicForm // zero when there is no form at the address
}
