package formpage

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/formdata"
	"github.com/formsvc/formsvc/handler/formpage/internal/host"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/pagestate"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/render"
	"github.com/formsvc/formsvc/handler/formpage/internal/theme"
	"github.com/formsvc/formsvc/handler/formpage/internal/upload"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/internal/cache"
	"github.com/formsvc/formsvc/internal/layout"
	"github.com/formsvc/formsvc/ratelimit"
	"github.com/formsvc/formsvc/storage"
)

// Handler serves the pages for all of a service's published forms. It is safe for concurrent use. Create it with
// [New].
type Handler struct {
	service *formsvc.Service
	config  Config
	base    string // the escaped Config.BasePath
	signer  pagestate.Signer
	words   words.Catalog

	host host.Host // the features that the host provides
	site render.Site

	forms         cache.Cache[storage.ID, *cachedForm]
	warned        cache.Cache[string, struct{}] // missing features that were already logged, by form ID
	countedVisits cache.Cache[string, struct{}] // visits whose view or start was already counted

	limiter *ratelimit.Limiter // if nil, requests are unlimited
	usageMu sync.Mutex
	usage   cache.Cache[string, *atomic.Int64] // by visit, see visitUsage

	ownSecretOnce sync.Once // used by warnIfNoSecret
	misplacedOnce sync.Once // used by warnIfMisplaced
	noAddressOnce sync.Once // used by takeLimiterToken
}

// New returns a Handler for svc's forms. If the configuration is invalid, the returned error contains all problems.
func New(svc *formsvc.Service, config Config) (*Handler, error) {
	var errs []error
	must := func(holds bool, format string, args ...any) {
		if !holds {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	must(svc != nil, "the service is nil")
	must(config.Secret == nil || len(config.Secret) >= 16, "Config.Secret has %d bytes, but at least 16 are required (if nil, each process generates its own)", len(config.Secret))
	for _, former := range config.PreviousSecrets {
		must(len(former) >= 16, "a secret in Config.PreviousSecrets has %d bytes, but at least 16 are required", len(former))
	}
	must((config.ClientIP == nil) == (config.Limiter == nil), "Config.ClientIP and Limiter must be set together")
	must(config.MaxBody >= 0 && config.MaxFileSize >= 0, "Config.MaxBody and MaxFileSize must not be negative")
	base := cmp.Or(config.BasePath, "/f")
	must(base != "/" && base[0] == '/' && path.Clean(base) == base, "Config.BasePath %q must start with a slash and must not end with a slash", base)
	for _, origin := range config.AllowedOrigins {
		must(origin == "*" || policy.ParseOrigin(origin) == origin, "Config.AllowedOrigins: %q is not an origin such as https://app.example", origin)
	}
	must(config.Partials >= 0 && config.Partials <= ResumeAndShow, "Config.Partials has an unknown value")
	for kind, v := range config.Verifiers {
		known := kind == "turnstile" || kind == "hcaptcha" || kind == "recaptcha"
		must(known && v != nil, "Config.Verifiers: %q is not turnstile, hcaptcha or recaptcha, or its verifier is nil", kind)
	}
	must(len(config.FrameAncestors) < 2 || !slices.Contains(config.FrameAncestors, "'none'"), "Config.FrameAncestors has other sources next to 'none'")
	for _, source := range config.FrameAncestors {
		must(source != "" && !strings.ContainsAny(source, " ;,\r\n"), "Config.FrameAncestors: %q is not a valid source", source)
	}
	if config.Layout != nil {
		err := layout.Check(config.LayoutData != nil, func(out io.Writer, head, body template.HTML) error {
			return config.Layout.Execute(out, Document{Language: "en", Direction: "ltr", Title: "Form", Head: head, Body: body, Nonce: "nonce"})
		})
		must(err == nil, "%w", err)
	}
	catalog, err := words.NewCatalog(config.Translations)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, fmt.Errorf("formpage: %w", err)
	}

	config.BasePath = base
	config.MinFillTime = cmp.Or(config.MinFillTime, 2*time.Second)
	config.MaxBody = cmp.Or(config.MaxBody, 1<<20)
	config.Logger = cmp.Or(config.Logger, slog.New(slog.DiscardHandler))
	if config.Clock == nil {
		config.Clock = time.Now
	}
	if config.ClientIP == nil {
		config.ClientIP = func(*http.Request) string { return "" }
	}
	config.Location = cmp.Or(config.Location, svc.TimeZone())
	h := &Handler{service: svc, base: (&url.URL{Path: base}).EscapedPath(), words: catalog}
	serviceFile := svc.Limits().FileSize
	config.MaxFileSize = cmp.Or(config.MaxFileSize, serviceFile)
	config.MaxVisitFiles = cmp.Or(config.MaxVisitFiles, max(32<<20, config.MaxFileSize+upload.FileCost))
	if config.Limiter != nil {
		h.limiter = ratelimit.NewWithStore(config.Limiter)
	}
	h.signer = pagestate.Signer{Secret: config.Secret, Previous: config.PreviousSecrets}
	if config.Secret == nil {
		h.signer.Secret = []byte(rand.Text())
	}
	if config.Files != nil && config.Limiter == nil {
		config.Logger.Warn("formpage.Config.Files is set but Limiter is not, so one address can send any number of files")
	}
	h.config, h.site = config, render.Site{Brand: config.Brand, FrameAncestors: config.FrameAncestors}
	if config.Layout != nil {
		h.site.Layout = func(out io.Writer, d render.Document) error { return config.Layout.Execute(out, Document(d)) }
	}
	h.host = host.Host{
		Files: config.Files != nil, Payments: config.HostAnswers != nil, Respondents: config.Respondent != nil, HasLimiter: h.limiter != nil, Partials: config.Partials != 0, Location: config.Location,
		MaxFile: config.MaxFileSize, ServiceFile: serviceFile, MaxVisit: config.MaxVisitFiles,
		Captcha: func(kind string) *host.Widget {
			v := config.Verifiers[kind]
			if v == nil {
				return nil
			}
			return new(host.Widget(v.Widget()))
		},
	}
	return h, nil
}

// Languages returns the tags of the supported languages, English first.
func (h *Handler) Languages() []string { return h.words.Tags() }

// MissingFeatures returns the features that a form needs but the Config does not provide: a verifier for a CAPTCHA, a
// file store, an answer to a required payment, or a limiter for files and CAPTCHAs. Respondents see the form without
// these features. Call it for each form when the host starts, or when a form is published. The handler also logs them
// when a form page is first requested, and previews show them.
func (h *Handler) MissingFeatures(form formsvc.PublicForm) []string {
	var list []string
	for _, l := range h.host.MissingFeatures(form.Blocks, &form.Settings) {
		list = append(list, l.Text)
	}
	return list
}

// Service returns the service whose forms the pages show.
func (h *Handler) Service() *formsvc.Service { return h.service }

// warnMissingFeatures logs each of a form's missing features once while the form is cached.
func (h *Handler) warnMissingFeatures(ctx context.Context, form *formsvc.PublicForm) {
	for _, l := range h.host.MissingFeatures(form.Blocks, &form.Settings) {
		key := form.ID.String() + l.Text
		if _, logged := h.warned.Put(key, struct{}{}, len(key)); !logged {
			h.config.Logger.WarnContext(ctx, "form needs features that formpage.Config does not provide", "form", form.ID, "lacks", l.Text)
		}
	}
}

// chooseWords returns the texts in the language selected by the host, the URL or the browser, in this order.
func (h *Handler) chooseWords(r *http.Request, form formsvc.PublicForm) *words.Words {
	wish := ""
	if h.config.Language != nil {
		wish = h.config.Language(r, form)
	}
	query, _ := formdata.ParseQuery(r.URL.RawQuery, formdata.ExtraInputs)
	return h.words.Choose(cmp.Or(wish, query.Get(input.Language)), r.Header.Get("Accept-Language"))
}

func (h *Handler) warnIfNoSecret() {
	if h.config.Secret != nil {
		return
	}
	h.ownSecretOnce.Do(func() {
		h.config.Logger.Warn("formpage.Config.Secret is not set: links to previews and edits are disabled, and respondents must submit a page again if another process created it")
	})
}

// Format implements [fmt.Formatter]. It prints nothing from the Config.
func (h *Handler) Format(f fmt.State, _ rune) { writeRedacted(f, "formpage.Handler") }

// pathBelowBase strips the base path if the path starts with it. A form's ID can start like the base path.
func (h *Handler) pathBelowBase(path string) string {
	if rest, ok := strings.CutPrefix(path, h.config.BasePath+"/"); ok {
		return rest
	}
	return strings.TrimPrefix(path, "/")
}

// cachedForm holds a form's parsed style sheet, and its definition for tryServeUnavailable. An entry is used only if
// its definition equals that of the service's form, so it is never outdated.
type cachedForm struct {
	publicID   string
	definition storage.Definition // shared with the service
	theme      theme.Theme
	former     json.RawMessage // the blocks before the last change, for their labels
}

func (c *call) loadCachedForm() *cachedForm {
	f := c.Form
	old, ok := c.h.forms.Get(f.ID)
	if ok && old.publicID == f.PublicID && old.definition.Equal(&f.Definition) {
		return old
	}
	c.h.warnMissingFeatures(c.r.Context(), f)
	s := &cachedForm{publicID: f.PublicID, definition: f.Definition, theme: theme.New(&f.Theme, &f.Settings)}
	if ok {
		s.former = old.definition.Blocks
	}
	if f.PublicID != "" && c.Preview == nil && c.edit == nil { // the page has a form, and is neither a preview nor an edit, which can show drafts
		d := &s.definition
		c.h.forms.Put(f.ID, s, d.Size()+len(d.Theme)+len(d.Settings)+len(s.theme.Custom)+len(s.former))
	}
	return s
}
