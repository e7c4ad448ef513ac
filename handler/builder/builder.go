// Package builder serves the builder: pages in which a host's users create forms, read results and manage webhooks. All
// pages share one base path.
//
//	pages, err := formpage.New(svc, formpage.Config{Secret: secret})
//	owners, err := builder.New(svc, builder.Config{User: signedIn, Pages: pages})
//	mux.Handle("/f/", pages)
//	mux.Handle("/forms/", owners)
//
// A user has the same access as with [formsvc.Service.As]. Browsers never receive an API key. Users who are not signed
// in are redirected to the host's sign-in page. The builder rejects changes sent from pages on other origins.
//
// # Links
//
// [Handler.FormPath], [Handler.ResultsPath] and [Handler.SubmissionPath] return paths for links from the host's pages.
//
// # Roles
//
// [Config.Scopes] returns what a user can do in a workspace or with a form. The scopes are those of API keys, and the same
// table checks them. The pages omit what a user cannot do, and the editor is read-only without forms:write. A mount
// with the scopes forms:read and submissions:read is a read-only report.
//
// [Config.Offer] limits what users can add to forms.
//
// # Concurrent edits
//
// Users edit a draft directly. For a published form, they edit a working copy ([formsvc.Client.WorkingCopy]), which
// respondents see only after it is published. The editor saves while the user types. If several users edit different
// parts of a form, it merges their changes. If they edit the same part, it shows both versions.
//
// # Forms from untrusted authors
//
// A form can contain pictures, framed pages from other hosts and custom CSS, so its author can make it look like the
// builder. If the builder's users do not trust each other, serve [Config.Pages] on a separate origin, such as
// https://forms.example next to https://app.example, and set [Config.PublicURL]. On a shared origin, no page can frame
// the builder unless [Config.FrameAncestors] lists its origin, and a form cannot frame pages from its own host.
//
// # Browsers
//
// The builder requires JavaScript and a browser from 2022 or later. It sends a strict Content-Security-Policy and loads
// nothing from other hosts.
package builder

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/definition"
	"github.com/formsvc/formsvc/internal/layout"
	"github.com/formsvc/formsvc/internal/requestid"
)

// Config configures the builder. User and Pages are required.
type Config struct {
	// BasePath is the path where the handler is mounted, without a trailing slash. Defaults to "/forms". The handler
	// strips it from the request path if it is still there, so http.StripPrefix or a proxy can strip it first.
	BasePath string

	// User returns the signed-in user's ID, see [formsvc.UserIDFrom]. It is called for each request. An error or a zero
	// ID means that no user is signed in. User is required.
	User func(r *http.Request) (formsvc.ID, error)
	// Scopes returns the signed-in user's scopes for one workspace or form. The builder refuses everything else with a
	// 403, as the API does for a key with these scopes, and its pages omit it. Scopes can only restrict the user's
	// access. It is called at least once for each request and must be safe for concurrent use. An error is logged and
	// results in a 503. If Scopes is nil, users have all scopes.
	//
	// A request about a form has both IDs. If the user cannot access the form, workspace is zero, and the request fails in
	// any case. A request about a workspace, its list of forms or a new form in it has only workspace. Moving a form calls
	// Scopes for both workspaces, and a scope is granted only if both results contain it. Both IDs are zero for the list
	// of workspaces, new workspaces, and lists across workspaces (GET /forms without workspace_id, and GET /webhooks).
	// The scopes for a form should include those for its workspace, because the list of forms uses the latter for its
	// buttons.
	//
	// Besides the operations of the API, the builder requires these scopes: forms:write to publish, to change working
	// copies, and for versions and the trash; submissions:read for results, partial submissions and exports;
	// analytics:read for the funnel. Deleting permanently also requires that the user owns the workspace.
	Scopes func(r *http.Request, workspace, form formsvc.ID) ([]formsvc.Scope, error)
	// SignIn handles page requests without a signed-in user, typically by redirecting to the sign-in page. Requests
	// from the page's script get a 401 instead. Defaults to a page with status 401.
	SignIn http.Handler

	// Pages renders forms in the editor and serves previews and public links. It is required, needs a Secret, and must
	// have been created with the same service.
	Pages *formpage.Handler
	// PublicURL is the origin of public links, such as https://forms.example. Defaults to the origin that the user's
	// browser is using.
	PublicURL string

	// AllowedOrigins are the origins whose pages may change data, such as "https://app.example". Defaults to the
	// request's host. If a proxy changes the Host header, list the origin that browsers use.
	AllowedOrigins []string

	// FrameAncestors are the origins whose pages may show the builder in a frame, written as Content-Security-Policy
	// sources, such as "https://crm.example". Such a page can trick users into clicking on things that they do not see.
	// Defaults to none.
	FrameAncestors []string

	// Limits limits each user's requests.
	Limits Limits

	// Name is the product name, shown in each page's title and header. Defaults to "Forms". The name links to HomeURL,
	// which defaults to the list of forms.
	Name, HomeURL string
	// Accent is the color of buttons and highlights, as #rrggbb. Defaults to blue. If its contrast is too low, the
	// builder uses the nearest readable shade.
	Accent string
	// Background is the page's background color, as #rrggbb. Its contrast with dark or with light text must be high
	// enough, which also determines the color scheme. Defaults to the scheme that the user's browser prefers, so a
	// product with only a light scheme should set it, such as to "#ffffff". Accent, Theme and Layout do not change it.
	Background string
	// Font is the font for all text, as a value for the CSS property font-family: "Inter, sans-serif". If it is a web
	// font, Layout must load it from the page's origin. Defaults to the system font.
	Font string
	// Offer limits what users can add to forms: block types, settings, templates and the theme. Defaults to everything.
	Offer Offer
	// Theme is the theme for new blank forms, as in a form definition: {"colors":{"primary":"#7a3e9d"}}. Defaults to
	// none.
	Theme json.RawMessage
	// Layout is the document around the pages, executed with a [Document]. [New] executes it once to validate
	// it. A page is as wide as its parent element, and the editor is also as tall as the window. Defaults to a plain page.
	Layout *template.Template
	// LayoutData returns a request's data for Layout, such as the name of the signed-in user, the active item of a
	// navigation or a CSRF token. The layout uses it as {{.Data}}. It is called for each page. It must be fast and safe
	// for concurrent use. [New] does not call it: it executes the layout with nil Data, and ignores an error. Defaults to
	// nil Data.
	LayoutData func(r *http.Request) any

	// Language returns the language tag for a page. If Language is nil or returns "", the builder uses the first
	// supported language in the Accept-Language header, or English.
	Language func(r *http.Request) string
	// Translations adds languages and overrides texts, by language tag and then by key. The keys, such as "editor.add",
	// are in the files in handler/builder/words. Missing texts are shown in English. A key that starts with "errors."
	// is for an error or warning code. Its text can contain {message}, the English message.
	Translations map[string]map[string]string

	// Logger logs errors and warnings for the host. If nil, they are discarded.
	Logger *slog.Logger
}

// Handler serves the pages. It is safe for concurrent use. It keeps no state except each user's request count, see
// [Limits]. Create it with [New], and call Close when the host shuts down.
type Handler struct {
	service *formsvc.Service
	config  Config
	words   map[string]map[string]string // by language, then by key
	assets  assets
	origins *http.CrossOriginProtection
	routes  *http.ServeMux

	limiters      limiters
	slots         userSlots
	misplacedOnce sync.Once // Logs only the first page request outside the base path.
	// These slots limit work that needs a lot of memory for a few milliseconds. All users share the slots.
	renderSlots, compareSlots semaphore
}

// New returns a Handler for svc. If the configuration is invalid, the returned error contains all problems.
func New(svc *formsvc.Service, config Config) (*Handler, error) {
	var errs []error
	must := func(holds bool, format string, args ...any) {
		if !holds {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	base := cmp.Or(config.BasePath, "/forms")
	must(svc != nil, "the service is nil")
	must(config.User != nil, "Config.User is required")
	must(config.Pages != nil, "Config.Pages is required")
	if config.Pages != nil {
		_, err := config.Pages.PreviewPath(formsvc.ID{}, time.Now().Add(time.Hour))
		must(!errors.Is(err, formpage.ErrNoSecret), "Config.Pages: %w", err)
		must(svc == nil || config.Pages.Service().Dispatcher() == svc.Dispatcher(), "Config.Pages belongs to another service")
	}
	must(base != "/" && base[0] == '/' && path.Clean(base) == base, "Config.BasePath %q must start with a slash and must not end with a slash", base)
	public, err := url.Parse(config.PublicURL)
	must(err == nil && (config.PublicURL == "" || public.Host != "" && !strings.HasSuffix(config.PublicURL, "/")), "Config.PublicURL %q is not a URL such as https://forms.example", config.PublicURL)
	must(config.Accent == "" || isHexColor(config.Accent), "Config.Accent %q is not a color such as #2255cc", config.Accent)
	must(config.Background == "" || isHexColor(config.Background), "Config.Background %q is not a color such as #faf7f2", config.Background)
	must(!isHexColor(config.Background) || schemeForBackground(config.Background) != "", "Config.Background %q is neither light nor dark enough for readable text", config.Background)
	if config.Theme != nil && svc != nil {
		writes, err := definition.NewValidator(svc.Limits(), svc.TimeZone())
		if err == nil {
			_, err = writes.ParseFormUpdate(fmt.Appendf(nil, `{"definition":{"theme":%s}}`, config.Theme))
		}
		must(err == nil, "Config.Theme: %w", err)
	}
	err = config.Offer.check()
	must(err == nil, "%w", err)
	if config.Layout != nil {
		err := layout.Check(config.LayoutData != nil, func(out io.Writer, head, body template.HTML) error {
			return config.Layout.Execute(out, Document{Language: "en", Title: "Forms", Head: head, Body: body, Nonce: "nonce"})
		})
		must(err == nil, "%w", err)
	}
	must(len(config.FrameAncestors) < 2 || !slices.Contains(config.FrameAncestors, "'none'"), "Config.FrameAncestors has other sources next to 'none'")
	for _, source := range config.FrameAncestors {
		must(source != "" && !strings.ContainsAny(source, " ;,\r\n"), "Config.FrameAncestors: %q is not a valid source", source)
	}
	words, err := loadWords(config.Translations)
	origins := http.NewCrossOriginProtection()
	for _, origin := range config.AllowedOrigins {
		err := origins.AddTrustedOrigin(origin)
		must(err == nil, "Config.AllowedOrigins: %w", err)
	}
	limiters, limitErr := newLimiters(config.Limits)
	if err := errors.Join(append(errs, err, limitErr)...); err != nil {
		return nil, fmt.Errorf("builder: %w", err)
	}
	config.BasePath = (&url.URL{Path: base}).EscapedPath()
	config.Name = cmp.Or(config.Name, "Forms")
	config.Logger = cmp.Or(config.Logger, slog.New(slog.DiscardHandler))
	h := &Handler{service: svc, config: config, words: words, assets: newAssets(words), origins: origins, limiters: limiters,
		renderSlots: make(semaphore, maxRenders), compareSlots: make(semaphore, maxComparisons)}
	if !reflect.ValueOf(config.Offer).IsZero() {
		h.service = svc.WithFormCheck(h.checkOffer)
	}
	h.routes = h.newRoutes()
	return h, nil
}

// The page's script uses these paths. No form has the ID "-".
const (
	assetsPath = "/-/assets/"
	apiPath    = "/-/v1"
	copyPath   = "/-/copy/" // {form}, then an API path
	routesPath = "/-/builder"
	canvasPath = "/-/canvas/" // {form}
)

// ServeHTTP serves one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked, _, _ := strings.Cut(cmp.Or(r.RequestURI, h.config.BasePath), "?")
	below := h.pathBelowBase(r.URL.EscapedPath(), asked)
	w.Header().Set(requestid.Header, requestid.FromRequestOrNew(r))
	h.setFramePolicy(w, strings.HasPrefix(below, canvasPath))
	if len(below) > maxPath || below == "" && len(asked) > maxPath || strings.Count(below, "/") > maxDepth {
		writeError(w, http.StatusNotFound, "NOT_FOUND", "The path does not exist.")
		return
	}
	if below == "" {
		// Use only the last path segment. If the host strips a prefix, the rest of the path can begin with http:, which a
		// browser would take for another host.
		w.Header().Set("Location", "./"+path.Base(asked)+"/")
		w.WriteHeader(http.StatusMovedPermanently)
		return
	}
	if name, ok := strings.CutPrefix(below, assetsPath); ok {
		h.assets.serve(w, r, name)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	script := strings.HasPrefix(below, "/-/")
	if err := h.origins.Check(r); err != nil {
		h.config.Logger.WarnContext(r.Context(), "rejected request from another origin: check Config.AllowedOrigins", "origin", r.Header.Get("Origin"), "host", r.Host)
		writeError(w, http.StatusForbidden, "FOREIGN_ORIGIN", "Requests from pages of other origins are not allowed. If this page is on the builder's own origin, add the origin to AllowedOrigins.")
		return
	}
	user, err := h.config.User(r)
	switch {
	case (err != nil || user.IsZero()) && script:
		writeError(w, http.StatusUnauthorized, "SIGNED_OUT", "You are not signed in. Sign in and try again.")
		return
	case err != nil || user.IsZero():
		h.serveSignIn(w, r)
		return
	case !h.allowRequest(w, r, h.limiters.requests, user.String()):
		return
	case !script && h.warnIfMisplaced(r, below):
		http.NotFound(w, r)
		return
	}
	granted, about, err := h.readScopes(r, user, below)
	switch {
	case errors.Is(err, errUnknownPath) && script:
		writeError(w, http.StatusNotFound, "NOT_FOUND", "The path does not exist.")
		return
	case err != nil && !errors.Is(err, errUnknownPath):
		h.handleError(w, r, err)
		return
	case !script:
		h.servePage(w, r, user, below, about, granted)
		return
	}
	client := h.service.As(user).With(granted...)
	if rest, ok := strings.CutPrefix(below, apiPath); ok {
		serveAtPath(client, w, r, rest)
		return
	}
	if rest, ok := strings.CutPrefix(below, copyPath); ok {
		name, rest, _ := strings.Cut(rest, "/")
		form, _ := formsvc.ParseID(name) // a malformed ID results in the zero ID, which no form has
		serveAtPath(client.WorkingCopy(form), w, r, "/"+rest)
		return
	}
	if name, ok := strings.CutPrefix(below, canvasPath); ok {
		h.serveCanvas(w, r, user, client, name)
		return
	}
	if rest, ok := strings.CutPrefix(below, routesPath); ok && path.Clean(rest) == rest { // the mux would redirect other paths
		serveAtPath(h.routes, w, r.WithContext(context.WithValue(r.Context(), signedInKey{}, signedIn{user, h.service.As(user), granted})), rest)
		return
	}
	writeError(w, http.StatusNotFound, "NOT_FOUND", "The path does not exist.")
}

// maxPath and maxDepth limit the bytes and slashes in a path. A block ID has up to 200 characters of 12 escaped bytes.
const (
	maxPath  = 4096
	maxDepth = 10
)

// pathBelowBase returns the path below the base path, with a leading slash, or "" for the base path itself. The host
// may have stripped the base path together with the slash. The original path, asked, then shows whether there was one.
func (h *Handler) pathBelowBase(at, asked string) string {
	if rest, ok := strings.CutPrefix(at, h.config.BasePath); ok && (rest == "" || rest[0] == '/') {
		return rest
	}
	if !strings.HasPrefix(at, "/") && (at != "" || strings.HasSuffix(asked, "/")) {
		return "/" + at
	}
	return at
}

var pagePaths = regexp.MustCompile(`^/(w/.*|[0-9a-f]{24}(/.*)?)?$`)

// warnIfMisplaced reports whether a page request is outside the base path, which the host may have stripped. It logs a
// warning for the first such request, because a wrong BasePath makes every page empty.
func (h *Handler) warnIfMisplaced(r *http.Request, below string) bool {
	if strings.HasPrefix(r.URL.EscapedPath(), h.config.BasePath+"/") || pagePaths.MatchString(below) {
		return false
	}
	h.misplacedOnce.Do(func() {
		h.config.Logger.WarnContext(r.Context(), "request path is outside the builder's path: check Config.BasePath",
			"path", r.URL.Path, "base_path", h.config.BasePath)
	})
	return true
}

func serveAtPath(to http.Handler, w http.ResponseWriter, r *http.Request, at string) {
	u := *r.URL
	plain, err := url.PathUnescape(at)
	if err != nil {
		writeError(w, http.StatusNotFound, "NOT_FOUND", "The path does not exist.")
		return
	}
	u.Path, u.RawPath = plain, at
	moved := *r
	moved.URL = &u
	to.ServeHTTP(w, &moved)
}
