// Package builder serves the builder: pages in which a host's users create forms, read results and
// manage webhooks. All pages are below one path.
//
//	pages, err := formpage.New(svc, formpage.Config{Secret: secret})
//	owners, err := builder.New(svc, builder.Config{User: signedIn, Pages: pages})
//	mux.Handle("/f/", pages)
//	mux.Handle("/forms/", owners)
//
// A user has the same access as with [formsvc.Service.As]: to the workspaces that the user owns or is
// a member of. Browsers never receive an API key. Users who are not signed in are redirected to the
// host's sign-in page. The builder rejects changes from pages of another origin.
//
// # Concurrent edits
//
// Users edit a draft directly. For a published form they edit its working copy
// ([formsvc.Client.WorkingCopy]), so respondents see no changes until a user publishes the copy. The
// editor saves while the user types. Each save depends on the content that the editor has loaded. Edits of
// different parts are merged. For edits of the same part, the editor shows both.
//
// # Forms from untrusted authors
//
// A form can contain pictures, framed pages of other hosts, and custom CSS. An author can therefore make a
// form look like the builder. If users of the builder do not trust each other, serve [Config.Pages] on a
// separate origin, such as https://forms.example next to https://app.example, and set
// [Config.PublicURL]. The canvas and the assets of the builder stay on its own origin. On a shared origin,
// these limits apply: no page can frame the builder unless [Config.FrameAncestors] lists it, and a form
// cannot frame pages of its own host.
//
// # Browsers
//
// The builder requires JavaScript and a browser from 2022 or later. It sends a strict
// Content-Security-Policy and loads nothing from other hosts. The package contains its script and style
// sheet.
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

// Config says how the pages belong to the host. The zero value of each field but User and Pages is
// usable.
type Config struct {
	// BasePath is where the handler is mounted, without a slash at the end; default "/forms". It is
	// removed from the path of a request when it is there, so the handler works below
	// http.StripPrefix too, and behind a proxy that takes a prefix away: the page's addresses are relative.
	BasePath string

	// User returns the id of the user who is signed in, see [formsvc.UserIDFrom]. It is asked for each
	// request. An error, or the zero id, means that nobody is. Required.
	User func(r *http.Request) (formsvc.ID, error)
	// SignIn leads to the host's sign-in: it answers a page's request of somebody who is not signed in.
	// Requests of the page's script get 401 instead, and the page says that its user was signed out. Nil: a page
	// with the status 401.
	SignIn http.Handler

	// Pages draws the forms in the editor, and has previews and public links. Required, with a Secret.
	Pages *formpage.Handler
	// PublicURL is what public links begin with, before the path of Pages, such as
	// https://forms.example. Default: what the browser has in its address.
	PublicURL string

	// AllowedOrigins are the origins whose pages may change something, such as "https://app.example". The
	// handler's own is the host of the request: behind a proxy that changes the Host header, list the one
	// that visitors see, which browsers tell of plain http only by its address. Default: the handler's own.
	AllowedOrigins []string

	// FrameAncestors are the origins whose pages may show the builder in a frame, as sources of a
	// Content-Security-Policy, such as "https://crm.example". A page that shows it can lay something over
	// it and have its user press what the user does not see. Default: none.
	FrameAncestors []string

	// Limits bound what one user may ask. The zero value has a default for each limit.
	Limits Limits

	// Name is the product's, in the title and at the top of each page. Default "Forms". HomeURL is where it
	// leads; default: the list of forms.
	Name, HomeURL string
	// Accent is the color of buttons and marks, as #rrggbb; default: a blue. Where it could not be seen or
	// read, as a dark one on dark pages, its nearest tone that can is taken.
	Accent string
	// Background is the color of the page, as #rrggbb. It decides whether the pages are light or dark,
	// and must be light or dark enough for their texts. Default: light or dark, as the visitor's browser
	// prefers.
	Background string
	// Font is the font of all texts, as CSS has it in font-family: "Inter, sans-serif". A font that
	// browsers do not have is for Layout to load, from the page's origin. Default: that of the visitor's
	// system.
	Font string
	// Theme is the theme of new forms that are created without one, as the definition of a form has it:
	// {"colors":{"primary":"#7a3e9d"}}. Default: none.
	Theme json.RawMessage
	// Layout is the document around the pages, executed with a [Document]: once by [New], to find its
	// faults, and for each page. The pages fill the width of their element; the editor fills the window
	// below what stands above it. Default: a plain page.
	Layout *template.Template

	// Language chooses the language of a page by its tag. Nil, and "": the first of the visitor's
	// Accept-Language that there is, else English.
	Language func(r *http.Request) string
	// Words adds languages and changes words: by language tag, then by key. The keys are those of the files
	// in handler/builder/words, as in "editor.add". What is missing is English. Those that begin with
	// "errors." are what the service refuses or warns of, by its code; {message} in them is its English sentence.
	Translations map[string]map[string]string

	// Logger gets what users are not told. Default: discards.
	Logger *slog.Logger
}

// Handler serves the pages. It is safe for concurrent use. Between two requests it keeps only counts of what
// users asked, see [Limits]. Make one with [New]; Close it when the host stops.
type Handler struct {
	service *formsvc.Service
	config  Config
	words   map[string]map[string]string // by language, then by key
	assets  assets
	origins *http.CrossOriginProtection
	routes  *http.ServeMux

	limiters limiters
	slots    userSlots
	// Logs the first request of a page at another path than the base path.
	misplacedOnce sync.Once
	// Of all users together, since they take much memory for a few milliseconds.
	renderSlots, compareSlots semaphore
}

// New returns the pages of svc. It reports every fault of the configuration at once, and starts
// nothing.
func New(svc *formsvc.Service, config Config) (*Handler, error) {
	var faults []error
	must := func(holds bool, format string, args ...any) {
		if !holds {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	base := cmp.Or(config.BasePath, "/forms")
	must(svc != nil, "the service is nil")
	must(config.User != nil, "Config.User is required")
	must(config.Pages != nil, "Config.Pages is required")
	if config.Pages != nil {
		_, err := config.Pages.PreviewPath(formsvc.ID{}, time.Now().Add(time.Hour))
		must(!errors.Is(err, formpage.ErrNoPreview), "Config.Pages: %w", err)
	}
	must(base != "/" && base[0] == '/' && path.Clean(base) == base, "Config.BasePath %q must start with a slash and must not end with a slash", base)
	public, err := url.Parse(config.PublicURL)
	must(err == nil && (config.PublicURL == "" || public.Host != "" && !strings.HasSuffix(config.PublicURL, "/")), "Config.PublicURL %q is not a URL such as https://forms.example", config.PublicURL)
	must(config.Accent == "" || isColor(config.Accent), "Config.Accent %q is not a color such as #2255cc", config.Accent)
	must(config.Background == "" || isColor(config.Background), "Config.Background %q is not a color such as #faf7f2", config.Background)
	must(!isColor(config.Background) || schemeName(config.Background) != "", "Config.Background %q is neither light nor dark enough for readable text", config.Background)
	if config.Theme != nil && svc != nil {
		writes, err := definition.NewWrites(svc.Limits(), svc.TimeZone())
		if err == nil {
			_, err = writes.FormUpdate(fmt.Appendf(nil, `{"definition":{"theme":%s}}`, config.Theme))
		}
		must(err == nil, "Config.Theme: %w", err)
	}
	if config.Layout != nil {
		err := layout.Check(func(out io.Writer, head, body template.HTML) error {
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
	if err := errors.Join(append(faults, err, limitErr)...); err != nil {
		return nil, fmt.Errorf("builder: %w", err)
	}
	config.BasePath = (&url.URL{Path: base}).EscapedPath()
	config.Name = cmp.Or(config.Name, "Forms")
	config.Logger = cmp.Or(config.Logger, slog.New(slog.DiscardHandler))
	h := &Handler{service: svc, config: config, words: words, assets: newAssets(words), origins: origins, limiters: limiters,
		slots: userSlots{inUse: map[workKey]*slotPool{}}, renderSlots: make(semaphore, maxRenders), compareSlots: make(semaphore, maxComparisons)}
	h.routes = h.newRoutes()
	return h, nil
}

// Below the base path, "-" is no form: what the page's script asks for.
const (
	assetsPath = "/-/assets/"
	apiPath    = "/-/v1"
	copyPath   = "/-/copy/" // {form}, then a path of the API
	routesPath = "/-/door"
	canvasPath = "/-/canvas/" // {form}
)

// ServeHTTP serves one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked, _, _ := strings.Cut(cmp.Or(r.RequestURI, h.config.BasePath), "?")
	below := h.pathBelowBase(r.URL.EscapedPath(), asked)
	w.Header().Set(requestid.Header, requestid.Of(r))
	h.setFramePolicy(w, strings.HasPrefix(below, canvasPath))
	if len(below) > maxPath || below == "" && len(asked) > maxPath || strings.Count(below, "/") > maxDepth {
		writeError(w, http.StatusNotFound, "NOT_FOUND", "The path does not exist.")
		return
	}
	if below == "" {
		// Relative, whatever stands before it: the last part of the path that was asked for. It may be one that
		// a visitor chose and the host strips, such as http:x.
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
		h.config.Logger.WarnContext(r.Context(), "rejected request from another origin", "origin", r.Header.Get("Origin"), "host", r.Host)
		writeError(w, http.StatusForbidden, "FOREIGN_ORIGIN", "Requests from pages of other origins are not allowed.")
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
	case !script && h.isMisplaced(r, below):
		http.NotFound(w, r)
		return
	case !script:
		h.servePage(w, r, user, below)
		return
	}
	client := h.service.As(user)
	if rest, ok := strings.CutPrefix(below, apiPath); ok {
		serveAt(client, w, r, rest)
		return
	}
	if rest, ok := strings.CutPrefix(below, copyPath); ok {
		name, rest, _ := strings.Cut(rest, "/")
		form, _ := formsvc.ParseID(name) // the zero id is no form
		serveAt(client.WorkingCopy(form), w, r, "/"+rest)
		return
	}
	if name, ok := strings.CutPrefix(below, canvasPath); ok {
		h.serveCanvas(w, r, client, name)
		return
	}
	if rest, ok := strings.CutPrefix(below, routesPath); ok && path.Clean(rest) == rest { // the mux leads away from any other
		serveAt(h.routes, w, r.WithContext(context.WithValue(r.Context(), signedInKey{}, signedIn{user, client})), rest)
		return
	}
	writeError(w, http.StatusNotFound, "NOT_FOUND", "The path does not exist.")
}

// No path of a page or of what its script asks for is longer than maxPath bytes, or has more slashes than
// maxDepth. An id of a block has up to 200 characters, each of up to twelve bytes when it is escaped.
const (
	maxPath  = 4096
	maxDepth = 10
)

// below is the path below the base path, with its slash; "" for the base path itself. The host may have taken
// the base path away, and the slash with it: then asked, the path as it was sent, says whether there was one.
func (h *Handler) pathBelowBase(at, asked string) string {
	if rest, ok := strings.CutPrefix(at, h.config.BasePath); ok && (rest == "" || rest[0] == '/') {
		return rest
	}
	if !strings.HasPrefix(at, "/") && (at != "" || strings.HasSuffix(asked, "/")) {
		return "/" + at
	}
	return at
}

// pagePaths are the paths of the pages, below the base path.
var pagePaths = regexp.MustCompile(`^/(w/.*|[0-9a-f]{24}(/.*)?)?$`)

// misplaced reports whether a request of a page came at another path than the base path, and has none
// of a page that the host took the base path from. It logs the first one: the handler is likely mounted
// at another path than BasePath says, and every page would be empty.
func (h *Handler) isMisplaced(r *http.Request, below string) bool {
	if strings.HasPrefix(r.URL.EscapedPath(), h.config.BasePath+"/") || pagePaths.MatchString(below) {
		return false
	}
	h.misplacedOnce.Do(func() {
		h.config.Logger.WarnContext(r.Context(), "request path is outside the builder's path: check Config.BasePath",
			"path", r.URL.Path, "base_path", h.config.BasePath)
	})
	return true
}

// serveAt serves a request at another path, which is escaped.
func serveAt(to http.Handler, w http.ResponseWriter, r *http.Request, at string) {
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
