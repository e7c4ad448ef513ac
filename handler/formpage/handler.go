package formpage

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/host"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/static"
	"github.com/formsvc/formsvc/handler/formpage/internal/visit"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/internal/cache"
	"github.com/formsvc/formsvc/ratelimit"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Handler serves the pages of all published forms of a service. It is safe for
// concurrent use. Make one with [New].
type Handler struct {
	service Service
	config  Config
	signer  visit.Signer
	words   words.Catalogue
	logger  *slog.Logger
	clock   func() time.Time

	host host.Host // what the Config gives

	sources cache.Cache[storage.ID, *source]
	warned  cache.Cache[string, struct{}] // form ids with what Lacks says of them, which was logged
	counted cache.Cache[string, struct{}] // visits whose view or start was counted here

	limiter  *ratelimit.Limiter // nil: no limit
	unsentMu sync.Mutex
	unsent   cache.Cache[string, *atomic.Int64] // bytes by visit, see visitFiles

	ownSecret sync.Once // logs that there is no shared secret
}

// below is the path below the base path, whether or not the host has taken that off
// already. An id may begin as the base path does.
func (h *Handler) below(path string) string {
	if rest, ok := strings.CutPrefix(path, h.config.BasePath+"/"); ok {
		return rest
	}
	return strings.TrimPrefix(path, "/")
}

// route is what serves the rest of a path below a form.
type route struct {
	serve   func(c *call)
	methods string
	json    bool // its refusals are JSON
	shared  bool // other origins may use it, where the host allows them
}

var routes = map[string]route{
	"":          {(*call).page, "GET, HEAD, POST, OPTIONS", false, false},
	"done":      {(*call).done, "GET, HEAD, OPTIONS", false, false},
	"view":      {func(c *call) { c.beacon(viewed) }, "POST, OPTIONS", false, true},
	"start":     {func(c *call) { c.beacon(started) }, "POST, OPTIONS", false, true},
	"form.json": {(*call).formJSON, "GET, HEAD, OPTIONS", true, true},
	"path":      {(*call).pathJSON, "POST, OPTIONS", true, true},
	"submit":    {(*call).submitJSON, "POST, OPTIONS", true, true},
}

// ServeHTTP serves {base}/{public id} and what belongs to it.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	publicID, rest, _ := strings.Cut(h.below(r.URL.Path), "/")
	if publicID == static.Dir {
		if token, ok := strings.CutPrefix(rest, previewDir); ok {
			h.servePreview(w, r, token)
			return
		}
		if !static.Has(rest) || !answersMethod(w, r, "GET, HEAD, OPTIONS") {
			static.Serve(w, r, rest)
		}
		return
	}
	route, known := routes[rest]
	if route.shared && h.shared(w, r, route.methods) {
		return
	}
	switch {
	case !known:
		h.say(w, r, false, http.StatusNotFound, "missing.title", "missing.text")
		return
	case route.json && r.Method != http.MethodOptions && !allows(route.methods, r.Method):
		w.Header().Set("Allow", route.methods)
		h.say(w, r, true, http.StatusMethodNotAllowed, "broken.title", "unreadable.text")
		return
	case answersMethod(w, r, route.methods):
		return
	case rest != "" && h.foreign(r, true):
		h.say(w, r, route.json, http.StatusForbidden, "foreign.text", "foreign.text")
		return
	}
	form, err := h.service.PublicForm(r.Context(), publicID)
	switch {
	case err == nil:
		route.serve(h.newCall(w, r, form))
	case errors.Is(err, storage.ErrNotFound) && rest == "" && r.Method == http.MethodPost && h.gone(w, r, publicID):
	default:
		h.unread(w, r, route.json, err)
	}
}

// unread answers that there is no form, or that it could not be read.
func (h *Handler) unread(w http.ResponseWriter, r *http.Request, inJSON bool, err error) {
	if errors.Is(err, storage.ErrNotFound) {
		h.say(w, r, inJSON, http.StatusNotFound, "missing.title", "missing.text")
		return
	}
	h.logger.ErrorContext(r.Context(), "a form was not read", "error", err)
	w.Header().Set("Retry-After", "1")
	h.say(w, r, inJSON, http.StatusServiceUnavailable, "broken.title", "broken.text")
}

// answersMethod answers OPTIONS, and a method that is not among methods. It reports whether
// it did.
func answersMethod(w http.ResponseWriter, r *http.Request, methods string) bool {
	switch {
	case r.Method == http.MethodOptions:
		w.Header().Set("Allow", methods)
		w.WriteHeader(http.StatusNoContent)
	case allows(methods, r.Method):
		return false
	default:
		w.Header().Set("Allow", methods)
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
	}
	return true
}

func allows(methods, method string) bool {
	return slices.Contains(strings.Split(methods, ", "), method)
}

// page serves the form itself.
func (c *call) page() {
	switch {
	case c.h.foreign(c.r, false):
		c.refuseForeign()
	case c.r.Method == http.MethodPost:
		c.post()
	case c.form.Closed:
		c.closed()
	default:
		c.open()
	}
}

// open shows the first page.
func (c *call) open() {
	c.visit = visit.New(c.form.ID.String(), c.now)
	c.values = prefilled(c.form, c.query(), c.words)
	if c.preview != nil {
		c.countSent()
	}
	c.readAnswers()
	if err := c.findPath(); err != nil {
		c.failed(err)
		return
	}
	c.showStep(http.StatusOK, 0, nil)
}

// closed says that a form takes no more responses, in the author's words where there
// are some.
func (c *call) closed() {
	text := c.form.ClosedMessage
	if strings.TrimSpace(text) == "" {
		text = c.words.Get("closed.text")
	}
	c.handBack(http.StatusGone, "closed.title", text, c.lostFiles())
}

// handBack shows a message, and what was typed and the names of files, to be copied: they are
// nowhere else.
func (c *call) handBack(status int, title, text string, files []string) {
	view := c.view("message")
	view.Title, view.Text = c.words.Get(title), text
	view.Lost, view.LostFiles = view.lost(c.typed()), c.words.List(files)
	c.render(status, view, new(policy.Policy))
}

// typed is the text that the page brought, with the labels of its blocks.
func (c *call) typed() []Unplaced {
	r := answerReader{values: c.values, used: map[string]bool{}}
	r.unplaced()
	var list []Unplaced
	for _, u := range r.given.Unplaced {
		if b := c.block(u.Block); b != nil {
			switch b.Type {
			case schema.TypeYesNo, schema.TypeLegal, schema.TypeRating, schema.TypeOpinionScale, schema.TypeNPS, schema.TypeCountry:
				continue // was chosen
			}
			u.Block = cmp.Or(b.Label, u.Block)
		}
		list = append(list, u)
	}
	return list
}

// say answers with the handler's own words, where there is no form.
func (h *Handler) say(w http.ResponseWriter, r *http.Request, inJSON bool, status int, title, text string) {
	c := h.newCall(w, r, formsvc.PublicForm{})
	if !inJSON {
		c.showMessage(status, c.words.Get(title), c.words.Get(text))
		return
	}
	code := map[int]string{http.StatusNotFound: "NOT_FOUND", http.StatusMethodNotAllowed: "METHOD_NOT_ALLOWED", http.StatusForbidden: "FOREIGN_ORIGIN"}[status]
	writeJSON(w, status, jsonError{Code: cmp.Or(code, "UNAVAILABLE"), Message: c.words.Get(title)})
}

// done shows the ending that a response reached, and leads on from it. Without a token of
// a response, or with an old one, it shows the page's own thanks alone.
func (c *call) done() {
	if sent, ok := c.h.signer.OpenVisit(visit.PurposeDone, c.form.ID.String(), c.r.URL.Query().Get(input.Sent), c.now); ok {
		c.showEnding(c.ending(sent.Key), c.redirect())
		return
	}
	c.showEnding(c.ending(""), "")
}

// ending is the ending with an id, or one in the page's words.
func (c *call) ending(id string) schema.Block {
	ending := schema.Block{Type: schema.TypeEnding}
	for _, b := range c.form.Blocks {
		if b.Type == schema.TypeEnding && b.ID == id && !formblock.Properties(&b).Hide {
			ending = b
		}
	}
	if ending.Label == "" {
		ending.Label = c.words.Get("done.title")
		if ending.Description == "" {
			ending.Description = c.words.Get("done.text")
		}
	}
	return ending
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

// Languages returns the tags of the languages that pages can be shown in, English
// first.
func (h *Handler) Languages() []string { return h.words.Tags() }

// language chooses the words of a page: the host's choice, the address's, the
// visitor's.
func (h *Handler) language(r *http.Request, form formsvc.PublicForm) *words.Words {
	wish := ""
	if h.config.Language != nil {
		wish = h.config.Language(r, form)
	}
	query, _ := pairs(r.URL.RawQuery, spareInputs)
	return h.words.Choose(cmp.Or(wish, query.Get(input.Language)), r.Header.Get("Accept-Language"))
}
