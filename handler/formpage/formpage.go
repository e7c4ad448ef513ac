package formpage

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/sethvargo/go-limiter"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// What the page and the service exchange.
type (
	// PublicForm is a published form, as Service.PublicForm returns it.
	PublicForm = core.PublicForm
	// Response is what the page submits.
	Response = core.Response
	// Metadata is what is known about where a response came from.
	Metadata = core.Metadata
	// Path is the way through a form for the answers that were given so far.
	Path = core.Path
	// PathBlock is one block on a [Path].
	PathBlock = core.PathBlock
)

// Service is what the page needs of a *formsvc.Service.
type Service interface {
	PublicForm(ctx context.Context, publicID string) (PublicForm, error)
	Path(ctx context.Context, form storage.ID, answers map[string]json.RawMessage, hidden map[string]string) (Path, error)
	Submit(ctx context.Context, r Response) (storage.Submission, error)
	RecordView(ctx context.Context, form storage.ID) error
	RecordStart(ctx context.Context, form storage.ID) error
}

// Config is how the pages are served. The zero value works.
type Config struct {
	// BasePath is where the handler is mounted, without a slash at the end; default
	// "/f". It is removed from the path of a request when it is there, so the handler
	// works below http.StripPrefix too. All links of a page are relative.
	BasePath string

	// Secret signs the links of previews, and what a page carries from one request to the
	// next: the time when it was opened, its idempotency key, and stored files. All
	// processes of a host need the same one, of at least 16 bytes. Without it previews are
	// off, and each process makes a secret of its own, which is logged once when it
	// matters: a page that another process made, or this one before it was started anew,
	// comes back filled in and has to be sent again.
	Secret []byte

	// Layout is the document around a form, executed with a [Document]. Default: a
	// plain page. See the example.
	Layout *template.Template

	// Language chooses the language of a page. Nil, and "": the page's lang parameter,
	// else the visitor's Accept-Language, else English.
	Language func(r *http.Request, form PublicForm) string
	// Words adds languages and changes words: by language tag, then by key. The keys
	// are in the files of the directory words. What is missing is English.
	Words map[string]map[string]string

	// Brand is shown at the foot of forms whose settings.branding is true. Zero: none.
	Brand Link

	// Location is the time zone of a date with a time when the browser does not send
	// its own, which takes JavaScript. Default UTC.
	Location *time.Location

	// FrameAncestors are the origins whose pages may show a form in a frame, as
	// sources of a Content-Security-Policy. Default: 'self'.
	FrameAncestors []string

	// AllowedOrigins are the origins whose pages may use form.json, path and submit, such
	// as "https://app.example", or "*" for all. Cookies are never part of it. Default:
	// none but the handler's own.
	AllowedOrigins []string

	// MinFillTime is how long a person takes at least between opening a page and
	// sending it. Sent earlier, the form is shown again, filled in. Default 2 s;
	// negative: none.
	MinFillTime time.Duration

	// Address returns what identifies a visitor's address to Limiter, such as
	// r.RemoteAddr without the port, or the header that the host's proxy sets. Both
	// are given or neither: behind a proxy, RemoteAddr is that of everybody. "" is not
	// limited.
	Address func(*http.Request) string
	// Limiter bounds how often an address may send a page. It is never closed by the
	// handler, and its keys are prefixed "formsvc:page:". A limiter that fails lets
	// visitors pass, and is logged.
	Limiter limiter.Store

	// Verifiers check the challenges of captcha blocks, by captchaType: "turnstile",
	// "hcaptcha" or "recaptcha". A block without its verifier shows nothing, holds nobody
	// up, and is logged.
	Verifiers map[string]Verifier

	// Files takes the files of file_upload and signature blocks. Nil: these blocks say
	// that the page takes none.
	Files Files
	// MaxFileSize is how many bytes one file may have; default 10 MiB, the default of the
	// service's Limits.FileSize. It holds for every block, maxFileSize or not.
	MaxFileSize int64

	// HostAnswers returns answers that only the host can give, such as a payment's,
	// when a form is sent. Nil: none.
	HostAnswers func(r *http.Request, form PublicForm) (map[string]json.RawMessage, error)
	// Country returns the visitor's country for the response's metadata. Nil: none.
	Country func(*http.Request) string

	// MaxBody is how many bytes of text a page may send; default 1 MiB. What is larger
	// comes back as the page, with what was read of it.
	MaxBody int64

	// Logger gets what visitors are not told. Default: discards.
	Logger *slog.Logger
	// Clock is for tests. Default time.Now.
	Clock func() time.Time
}

// Link is a text that leads somewhere.
type Link struct{ Text, URL string }

// Handler serves the pages of all published forms of a service. It is safe for
// concurrent use. Make one with [New].
type Handler struct {
	service Service
	config  Config
	signer  signer
	words   catalogue
	logger  *slog.Logger
	clock   func() time.Time

	sheets cache[storage.ID, sheet]
	firsts cache[firstKey, firstPage]

	ownSecret sync.Once // logs that there is no shared secret
	warned    sync.Map  // form ids and faults that were logged
}

// New returns the handler of the pages of svc, a *formsvc.Service. It reports every
// fault of the configuration at once.
func New(svc Service, config Config) (*Handler, error) {
	var faults []error
	if svc == nil {
		faults = append(faults, errors.New("a service is required"))
	}
	if n := len(config.Secret); n > 0 && n < 16 {
		faults = append(faults, fmt.Errorf("the Secret has %d bytes, which is less than 16", n))
	}
	if (config.Address == nil) != (config.Limiter == nil) {
		faults = append(faults, errors.New("the fields Address and Limiter are given together or not at all"))
	}
	if config.MaxBody < 0 || config.MaxFileSize < 0 {
		faults = append(faults, errors.New("a negative MaxBody or MaxFileSize"))
	}
	for _, source := range config.FrameAncestors {
		if strings.ContainsAny(source, " ;,\r\n") || source == "" {
			faults = append(faults, fmt.Errorf("in FrameAncestors, %q is not a source", source))
		}
	}
	words, err := newCatalogue(config.Words)
	if err != nil {
		faults = append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("formpage: %w", err)
	}

	h := &Handler{service: svc, config: config, words: words, logger: config.Logger, clock: config.Clock}
	if h.config.BasePath == "" {
		h.config.BasePath = "/f"
	}
	if h.config.MinFillTime == 0 {
		h.config.MinFillTime = 2 * time.Second
	}
	if h.config.MaxBody == 0 {
		h.config.MaxBody = 1 << 20
	}
	if h.config.MaxFileSize == 0 {
		h.config.MaxFileSize = 10 << 20
	}
	if h.config.Location == nil {
		h.config.Location = time.UTC
	}
	if h.config.Layout == nil {
		h.config.Layout = defaultLayout
	}
	if h.logger == nil {
		h.logger = slog.New(slog.DiscardHandler)
	}
	if h.clock == nil {
		h.clock = time.Now
	}
	h.signer = signer{secret: config.Secret}
	if len(config.Secret) == 0 {
		h.signer.secret = []byte(rand.Text())
	}
	return h, nil
}

// below is the path below the base path, whether or not the host has taken that off
// already. An id may begin as the base path does.
func (h *Handler) below(path string) string {
	if rest, ok := strings.CutPrefix(path, h.config.BasePath+"/"); ok {
		return rest
	}
	return strings.TrimPrefix(path, "/")
}

// ServeHTTP serves {base}/{public id} and what belongs to it.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	publicID, rest, _ := strings.Cut(h.below(r.URL.Path), "/")
	if publicID == assetDir {
		if token, ok := strings.CutPrefix(rest, previewDir); ok {
			h.servePreview(w, r, token)
			return
		}
		serveAsset(w, r, rest)
		return
	}
	handle, methods := h.route(rest)
	if isShared(rest) && h.shared(w, r, methods) {
		return
	}
	switch {
	case handle == nil:
		h.message(w, r, PublicForm{}, http.StatusNotFound, "missing.title", "missing.text")
		return
	case r.Method == http.MethodOptions || !allows(methods, r.Method):
		w.Header().Set("Allow", methods)
		if r.Method != http.MethodOptions {
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
			return
		}
		w.WriteHeader(http.StatusNoContent)
		return
	}
	form, err := h.service.PublicForm(r.Context(), publicID)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		h.message(w, r, PublicForm{}, http.StatusNotFound, "missing.title", "missing.text")
	case err != nil:
		h.logger.ErrorContext(r.Context(), "a form was not read", "error", err)
		w.Header().Set("Retry-After", "1")
		h.message(w, r, PublicForm{}, http.StatusServiceUnavailable, "broken.title", "broken.text")
	default:
		handle(w, r, form)
	}
}

type formHandler func(w http.ResponseWriter, r *http.Request, form PublicForm)

// route returns what serves the rest of a path below a form, and the methods it takes.
func (h *Handler) route(rest string) (formHandler, string) {
	switch rest {
	case "":
		return h.page, "GET, HEAD, POST, OPTIONS"
	case "done":
		return h.done, "GET, HEAD, OPTIONS"
	case "view":
		return h.viewed, "POST, OPTIONS"
	case "start":
		return h.started, "POST, OPTIONS"
	case "form.json":
		return h.formJSON, "GET, HEAD, OPTIONS"
	case "path":
		return h.pathJSON, "POST, OPTIONS"
	case "submit":
		return h.submitJSON, "POST, OPTIONS"
	}
	return nil, ""
}

// isShared reports whether other origins may use a route, where the host allows them.
func isShared(rest string) bool {
	switch rest {
	case "form.json", "path", "submit", "view", "start":
		return true
	}
	return false
}

func allows(methods, method string) bool {
	for m := range strings.SplitSeq(methods, ", ") {
		if m == method {
			return true
		}
	}
	return false
}

func (h *Handler) page(w http.ResponseWriter, r *http.Request, form PublicForm) {
	c := h.newCall(w, r, form)
	switch {
	case r.Method == http.MethodPost:
		c.post()
	case form.Closed:
		h.closed(w, r, form)
	default:
		c.open()
	}
}

// open shows the first page.
func (c *call) open() {
	c.visit = newVisit(c.form, c.now)
	c.values = prefilled(c.form, c.r.URL.Query(), c.words.tag)
	if c.preview != nil {
		c.count()
	}
	path, err := c.path(c.given())
	if err != nil {
		c.failed(err, Path{}, 0)
		return
	}
	if c.r.URL.RawQuery != "" || c.preview != nil || !c.h.sameForAll(c.form.Blocks) {
		c.showPath(http.StatusOK, path, 0, nil)
		return
	}
	page, there := c.first(path)
	if !there {
		view, policy := c.pathView(path, 0, nil)
		if page, err = c.draw(view, policy); err != nil {
			c.notRendered(err)
			return
		}
		c.keepFirst(path, page)
	}
	c.send(http.StatusOK, page)
}

// closed says that a form takes no more responses, in the author's words where there
// are some.
func (h *Handler) closed(w http.ResponseWriter, r *http.Request, form PublicForm) {
	c := h.newCall(w, r, form)
	text := form.ClosedMessage
	if strings.TrimSpace(text) == "" {
		text = c.words.get("closed.text")
	}
	c.showMessage(http.StatusGone, c.words.get("closed.title"), text)
}

// message shows a page of the handler's own words.
func (h *Handler) message(w http.ResponseWriter, r *http.Request, form PublicForm, status int, title, text string) {
	c := h.newCall(w, r, form)
	c.showMessage(status, c.words.get(title), c.words.get(text))
}

// done shows the ending that a response reached.
func (h *Handler) done(w http.ResponseWriter, r *http.Request, form PublicForm) {
	h.newCall(w, r, form).done()
}

func (c *call) done() {
	ending := schema.Block{Type: schema.TypeEnding}
	for _, b := range c.form.Blocks {
		if b.Type == schema.TypeEnding && b.ID == c.r.URL.Query().Get("ending") && !properties(&b).Hide {
			ending = b
		}
	}
	if ending.Label == "" {
		ending.Label = c.words.get("done.title")
		if ending.Description == "" {
			ending.Description = c.words.get("done.text")
		}
	}
	c.showEnding(ending)
}

// viewed and started count for a page that runs in a browser. What it sends is signed,
// so only who was shown the form counts.
func (h *Handler) viewed(w http.ResponseWriter, r *http.Request, form PublicForm) {
	h.beacon(w, r, form, h.service.RecordView)
}

func (h *Handler) started(w http.ResponseWriter, r *http.Request, form PublicForm) {
	h.beacon(w, r, form, h.service.RecordStart)
}

func (h *Handler) beacon(w http.ResponseWriter, r *http.Request, form PublicForm, record func(context.Context, storage.ID) error) {
	r.Body = http.MaxBytesReader(w, r.Body, 4096)
	if _, ok := h.signer.openVisit(form, r.FormValue(ctrlState), h.clock()); !ok || form.Closed {
		http.Error(w, "not a page of this form", http.StatusForbidden)
		return
	}
	if !h.allowed(r) {
		http.Error(w, http.StatusText(http.StatusTooManyRequests), http.StatusTooManyRequests)
		return
	}
	if err := record(r.Context(), form.ID); err != nil {
		h.logger.WarnContext(r.Context(), "a visit was not counted", "form", form.ID, "error", err)
	}
	w.WriteHeader(http.StatusNoContent)
}

// warnSecret logs once that there is no secret that all processes share.
func (h *Handler) warnSecret() {
	if len(h.config.Secret) > 0 {
		return
	}
	h.ownSecret.Do(func() {
		h.logger.Warn("formpage.Config.Secret is not set: previews are off, and a page that another process made has to be sent twice")
	})
}

// warnOnce logs a fault of a form one time.
func (h *Handler) warnOnce(form *PublicForm, text string, args ...any) {
	if _, there := h.warned.LoadOrStore(form.ID.String()+text, true); !there {
		h.logger.Warn(text, append([]any{"form", form.ID}, args...)...)
	}
}

// write sends a page. The template has run already: a fault in the middle of it must
// not leave half a page with status 200.
func write(w http.ResponseWriter, status int, page *bytes.Buffer) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Referrer-Policy", "strict-origin-when-cross-origin")
	w.WriteHeader(status)
	_, _ = page.WriteTo(w) // the visitor may be gone
}

// prefilled makes inputs of a link's query: hidden fields and campaign parameters by
// name, answers by block id. A choice is named by its id or its label.
func prefilled(form PublicForm, query url.Values, language string) url.Values {
	values := url.Values{ctrlLanguage: {language}}
	for name, given := range query {
		values[nameHidden+name] = given[:1]
		if strings.HasPrefix(name, nameUTM) { // which may be a hidden field as well
			values[name] = given[:1]
		}
	}
	prefill(form.Blocks, query, values)
	if query.Has(ctrlEmbed) {
		values.Set(ctrlEmbed, "1")
	}
	return values
}

func prefill(blocks []schema.Block, query, values url.Values) {
	for i := range blocks {
		b := &blocks[i]
		prefill(b.Children, query, values)
		given := query[b.ID]
		if len(given) == 0 || properties(b).Hide {
			continue
		}
		switch b.Type {
		case schema.TypeSingleChoice, schema.TypeDropdown, schema.TypeMultipleChoice, schema.TypePictureChoice:
			for _, text := range given {
				prefillChoice(b, text, values)
			}
		case schema.TypeMatrix, schema.TypeRanking, schema.TypeAddress, schema.TypeContactInfo,
			schema.TypeFileUpload, schema.TypeSignature, schema.TypePayment:
			// A query has one value a name.
		case schema.TypeDate:
			day, clock, _ := strings.Cut(given[0], "T")
			values.Set(nameAnswer+b.ID, day)
			if len(clock) >= 5 && properties(b).ShowTimePicker {
				values.Set(nameTime+b.ID, clock[:5])
			}
		default:
			if takesAnswer(b.Type) {
				values.Set(nameAnswer+b.ID, given[0])
			}
		}
	}
}

func prefillChoice(b *schema.Block, text string, values url.Values) {
	for _, c := range b.Choices {
		if c.ID == text || strings.EqualFold(strings.TrimSpace(c.Label), strings.TrimSpace(text)) {
			values.Add(nameAnswer+b.ID, pickedPrefix+c.ID)
			return
		}
	}
	if properties(b).OtherOption {
		values.Add(nameAnswer+b.ID, pickedOther)
		values.Set(nameOther+b.ID, text)
	}
}
