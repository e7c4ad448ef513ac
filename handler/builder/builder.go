// Package builder serves the pages in which the users of a host make forms and read what came
// in: the list of forms, the editor, results and webhooks, below one path.
//
//	pages, err := formpage.New(svc, formpage.Config{Secret: secret})
//	owners, err := builder.New(svc, builder.Config{User: signedIn, Pages: pages})
//	mux.Handle("/f/", pages)
//	mux.Handle("/forms/", owners)
//
// A user sees and changes what [formsvc.Service.As] lets the user: the workspaces that the user owns
// or is a member of. No API key reaches a browser. Whoever is not signed in is led to the host's
// sign-in; requests from pages of another origin that would change something are refused.
//
// # What a form's editors share
//
// A draft is edited itself. Of a published form the working copy is edited
// ([formsvc.Client.WorkingCopy]), so respondents see what was published until somebody publishes
// the copy. What is typed is saved as it is typed, each write conditional on what its editor has
// read: edits of different parts are both kept, and of the same part both are shown.
//
// # In the browser
//
// The page needs a browser of the years since 2022 with JavaScript. It works below the strict
// Content-Security-Policy that it is sent with, and asks no other host for anything. Its script and
// its style are part of the package.
package builder

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
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

	// Name is the product's, in the title and at the top of each page. Default "Forms". HomeURL is where it
	// leads; default: the list of forms.
	Name, HomeURL string
	// Accent is the colour of buttons and marks, as #rrggbb; default: a blue. Text on it is black or
	// white, whichever is easier to read.
	Accent string
	// Layout is the document around the pages, executed with a [Document]. Default: a plain page.
	Layout *template.Template

	// Language chooses the language of a page by its tag. Nil, and "": the first of the visitor's
	// Accept-Language that there is, else English.
	Language func(r *http.Request) string
	// Words adds languages and changes words: by language tag, then by key. The keys are those of the files
	// in handler/builder/words, as in "editor.add". What is missing is English. Those that begin with
	// "faults." are what the service refuses or warns of, by its code; {message} in them is its English sentence.
	Words map[string]map[string]string

	// Logger gets what users are not told. Default: discards.
	Logger *slog.Logger
}

// Handler serves the pages. It is safe for concurrent use. A user may have two exports at a time,
// since each holds a connection of the storage; beside their number it keeps nothing between two requests.
// Make one with [New].
type Handler struct {
	service *formsvc.Service
	config  Config
	words   map[string]map[string]string // by language, then by key
	origins *http.CrossOriginProtection
	door    *http.ServeMux

	exporting sync.Mutex
	exports   map[formsvc.Client]int // under way, by the client of their user
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
	must(svc != nil, "a service is required")
	must(config.User != nil, "the field User is required")
	must(config.Pages != nil, "the field Pages is required")
	if config.Pages != nil {
		_, err := config.Pages.PreviewPath(formsvc.ID{}, time.Now().Add(time.Hour))
		must(!errors.Is(err, formpage.ErrNoPreview), "the field Pages: %w", err)
	}
	must(base != "/" && base[0] == '/' && path.Clean(base) == base, "the BasePath %q does not begin with a slash, or has one at its end", base)
	public, err := url.Parse(config.PublicURL)
	must(err == nil && (config.PublicURL == "" || public.Host != "" && !strings.HasSuffix(config.PublicURL, "/")), "the PublicURL %q is not an address such as https://forms.example", config.PublicURL)
	must(config.Accent == "" || isColor(config.Accent), "the Accent %q is not a colour such as #2255cc", config.Accent)
	words, err := loadWords(config.Words)
	origins := http.NewCrossOriginProtection()
	for _, origin := range config.AllowedOrigins {
		err := origins.AddTrustedOrigin(origin)
		must(err == nil, "in AllowedOrigins: %w", err)
	}
	if err := errors.Join(append(faults, err)...); err != nil {
		return nil, fmt.Errorf("builder: %w", err)
	}
	config.BasePath = (&url.URL{Path: base}).EscapedPath()
	config.Name = cmp.Or(config.Name, "Forms")
	config.Logger = cmp.Or(config.Logger, slog.New(slog.DiscardHandler))
	h := &Handler{service: svc, config: config, words: words, origins: origins, exports: map[formsvc.Client]int{}}
	h.door = h.doors()
	return h, nil
}

// Below the base path, "-" is no form: what the page's script asks for.
const (
	assetsPath = "/-/assets/"
	apiPath    = "/-/v1"
	copyPath   = "/-/copy/" // {form}, then a path of the API
	doorPath   = "/-/door"
	canvasPath = "/-/canvas/" // {form}
)

// ServeHTTP serves one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	below := strings.TrimPrefix(r.URL.EscapedPath(), h.config.BasePath)
	if below == "" {
		// Relative, whatever stands before it: the last part of the path that was asked for. It may be one that
		// a visitor chose and the host strips, such as http:x.
		asked, _, _ := strings.Cut(cmp.Or(r.RequestURI, h.config.BasePath), "?")
		w.Header().Set("Location", "./"+path.Base(asked)+"/")
		w.WriteHeader(http.StatusMovedPermanently)
		return
	}
	if name, ok := strings.CutPrefix(below, assetsPath); ok {
		serveAsset(w, r, name)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	script := strings.HasPrefix(below, "/-/")
	if err := h.origins.Check(r); err != nil {
		h.config.Logger.WarnContext(r.Context(), "a request of another origin was refused", "origin", r.Header.Get("Origin"), "host", r.Host)
		refuse(w, http.StatusForbidden, "FOREIGN_ORIGIN", "The request comes from a page of another origin.")
		return
	}
	user, err := h.config.User(r)
	switch {
	case (err != nil || user.IsZero()) && script:
		refuse(w, http.StatusUnauthorized, "SIGNED_OUT", "Nobody is signed in.")
		return
	case err != nil || user.IsZero():
		h.signIn(w, r)
		return
	case !script:
		h.page(w, r, user, below)
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
		h.canvas(w, r, client, name)
		return
	}
	if rest, ok := strings.CutPrefix(below, doorPath); ok && path.Clean(rest) == rest { // the mux leads away from any other
		serveAt(h.door, w, r.WithContext(withClient(r.Context(), client)), rest)
		return
	}
	refuse(w, http.StatusNotFound, "NOT_FOUND", "There is no such path.")
}

// serveAt serves a request at another path, which is escaped.
func serveAt(to http.Handler, w http.ResponseWriter, r *http.Request, at string) {
	u := *r.URL
	plain, err := url.PathUnescape(at)
	if err != nil {
		refuse(w, http.StatusNotFound, "NOT_FOUND", "There is no such path.")
		return
	}
	u.Path, u.RawPath = plain, at
	moved := *r
	moved.URL = &u
	to.ServeHTTP(w, &moved)
}

func isColor(s string) bool {
	return len(s) == 7 && s[0] == '#' && strings.Trim(strings.ToLower(s[1:]), "0123456789abcdef") == ""
}
