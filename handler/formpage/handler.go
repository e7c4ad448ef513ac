package formpage

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/ratelimit"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Handler serves the pages of all published forms of a service. It is safe for
// concurrent use. Make one with [New].
type Handler struct {
	service Service
	config  Config
	signer  signer
	words   catalogue
	logger  *slog.Logger
	clock   func() time.Time

	serviceFile int64 // how large a file the service takes, 0: it does not say

	sources cache[storage.ID, *source]
	warned  cache[string, bool] // form ids with what Lacks says of them, which was logged
	counted cache[string, bool] // visits whose view or start was counted here

	limiter  *ratelimit.Limiter // nil: no limit
	unsentMu sync.Mutex
	unsent   cache[string, *atomic.Int64] // bytes by visit, see visitFiles

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

// ServeHTTP serves {base}/{public id} and what belongs to it.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	publicID, rest, _ := strings.Cut(h.below(r.URL.Path), "/")
	if publicID == assetDir {
		if token, ok := strings.CutPrefix(rest, previewDir); ok {
			h.servePreview(w, r, token)
			return
		}
		if _, there := assets[rest]; !there || !answersMethod(w, r, "GET, HEAD, OPTIONS") {
			serveAsset(w, r, rest)
		}
		return
	}
	handle, methods := h.route(rest)
	if isShared(rest) && h.shared(w, r, methods) {
		return
	}
	message := h.message
	if isJSON(rest) {
		message = h.messageJSON
	}
	switch {
	case handle == nil:
		message(w, r, formsvc.PublicForm{}, http.StatusNotFound, "missing.title", "missing.text")
		return
	case !allows(methods, r.Method) && r.Method != http.MethodOptions && isJSON(rest):
		w.Header().Set("Allow", methods)
		message(w, r, formsvc.PublicForm{}, http.StatusMethodNotAllowed, "broken.title", "unreadable.text")
		return
	case answersMethod(w, r, methods):
		return
	case rest != "" && h.foreign(r, true):
		message(w, r, formsvc.PublicForm{}, http.StatusForbidden, "foreign.text", "foreign.text")
		return
	}
	form, err := h.service.PublicForm(r.Context(), publicID)
	switch {
	case errors.Is(err, storage.ErrNotFound) && rest == "" && r.Method == http.MethodPost && h.gone(w, r, publicID):
	case errors.Is(err, storage.ErrNotFound):
		message(w, r, formsvc.PublicForm{}, http.StatusNotFound, "missing.title", "missing.text")
	case err != nil:
		h.logger.ErrorContext(r.Context(), "a form was not read", "error", err)
		w.Header().Set("Retry-After", "1")
		message(w, r, formsvc.PublicForm{}, http.StatusServiceUnavailable, "broken.title", "broken.text")
	default:
		handle(w, r, form)
	}
}

type formHandler func(w http.ResponseWriter, r *http.Request, form formsvc.PublicForm)

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

// isJSON reports whether a route answers in JSON.
func isJSON(rest string) bool { return rest == "form.json" || rest == "path" || rest == "submit" }

// answersMethod answers OPTIONS, and a method that is not among methods. It reports whether
// it did.
func answersMethod(w http.ResponseWriter, r *http.Request, methods string) bool {
	if r.Method != http.MethodOptions && allows(methods, r.Method) {
		return false
	}
	w.Header().Set("Allow", methods)
	if r.Method != http.MethodOptions {
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return true
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}

func allows(methods, method string) bool {
	for m := range strings.SplitSeq(methods, ", ") {
		if m == method {
			return true
		}
	}
	return false
}

func (h *Handler) page(w http.ResponseWriter, r *http.Request, form formsvc.PublicForm) {
	c := h.newCall(w, r, form)
	switch {
	case h.foreign(r, false):
		c.refuseForeign()
	case r.Method == http.MethodPost:
		c.post()
	case form.Closed:
		c.closed()
	default:
		c.open()
	}
}

// open shows the first page.
func (c *call) open() {
	c.visit = newVisit(c.form, c.now)
	c.values = prefilled(c.form, c.query(), c.words)
	if c.preview != nil {
		c.countSent(false)
	}
	path, err := c.path(c.given())
	if err != nil {
		c.failed(err, schema.Path{}, 0)
		return
	}
	c.showPath(http.StatusOK, path, 0, nil)
}

// closed says that a form takes no more responses, in the author's words where there
// are some. What was typed is shown, to be copied: it is nowhere else.
func (c *call) closed() {
	text := c.form.ClosedMessage
	if strings.TrimSpace(text) == "" {
		text = c.words.get("closed.text")
	}
	view := c.view("message")
	view.Title, view.Text, view.Lost = c.words.get("closed.title"), text, view.lost(c.typed())
	view.LostFiles = c.words.list(c.lostFiles())
	c.render(http.StatusGone, view, newPolicy())
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

// message shows a page of the handler's own words.
func (h *Handler) message(w http.ResponseWriter, r *http.Request, form formsvc.PublicForm, status int, title, text string) {
	c := h.newCall(w, r, form)
	c.showMessage(status, c.words.get(title), c.words.get(text))
}

// done shows the ending that a response reached, and leads on from it. Without a token of
// a response, or with an old one, it shows the page's own thanks alone.
func (h *Handler) done(w http.ResponseWriter, r *http.Request, form formsvc.PublicForm) {
	c := h.newCall(w, r, form)
	if sent, ok := h.signer.openDated(purposeDone, form, r.URL.Query().Get(ctrlSent), c.now); ok {
		c.showEnding(c.ending(sent.Key), c.redirect())
		return
	}
	c.showEnding(c.ending(""), "")
}

// ending is the ending with an id, or one in the page's words.
func (c *call) ending(id string) schema.Block {
	ending := schema.Block{Type: schema.TypeEnding}
	for _, b := range c.form.Blocks {
		if b.Type == schema.TypeEnding && b.ID == id && !properties(&b).Hide {
			ending = b
		}
	}
	if ending.Label == "" {
		ending.Label = c.words.get("done.title")
		if ending.Description == "" {
			ending.Description = c.words.get("done.text")
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
