package formpage

import (
	"errors"
	"net/http"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/static"
	"github.com/formsvc/formsvc/internal/gzipped"
	"github.com/formsvc/formsvc/internal/timeout"
	"github.com/formsvc/formsvc/storage"
)

type route struct {
	serve    func(c *call)
	methods  string
	json     bool // whether to report errors as JSON
	cors     bool // whether allowed origins can use the route
	partials bool // whether the route exists only with Config.Partials
}

var routes = map[string]route{
	"":          {(*call).servePage, pageMethods, false, false, false},
	"done":      {(*call).serveDone, readMethods, false, false, false},
	"view":      {func(c *call) { c.serveBeacon(viewEvent) }, "POST, OPTIONS", false, true, false},
	"start":     {func(c *call) { c.serveBeacon(startEvent) }, "POST, OPTIONS", false, true, false},
	"form.json": {(*call).serveFormJSON, readMethods, true, true, false},
	"choices":   {(*call).serveChoicesJSON, "POST, OPTIONS", true, true, false},
	"path":      {(*call).servePathJSON, "POST, OPTIONS", true, true, false},
	"submit":    {(*call).serveSubmitJSON, "POST, OPTIONS", true, true, false},
	"later":     {func(c *call) { c.showLinkPage(http.StatusOK, "") }, readMethods, false, false, true},
}

// maxDepth is the maximum number of slashes in a path below the base path, as in -/preview/{token}/done.
const maxDepth = 3

// ServeHTTP serves {base}/{public id} and the paths below it. Compressing pages that contain values from the URL is
// safe, because attackers cannot guess the pages' secrets from their compressed size. Each page has a new visit token
// and a new nonce, and cross-origin posts are rejected. A page that contains a respondent's data and values from the URL is
// not compressed.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	below := h.pathBelowBase(r.URL.Path)
	if strings.Count(below, "/") > maxDepth { // limits the number of "../" in a page's links
		http.NotFound(w, r)
		return
	}
	publicID, rest, _ := strings.Cut(below, "/")
	serve := func(w http.ResponseWriter) { h.serveForm(w, r, publicID, rest) }
	preview, isPreview := strings.CutPrefix(rest, previewDir)
	edit, isEdit := strings.CutPrefix(rest, editDir)
	switch {
	case publicID != static.Dir:
	case isPreview:
		serve = func(w http.ResponseWriter) { h.servePreview(w, r, preview) }
	case isEdit:
		serve = func(w http.ResponseWriter) { h.serveEdit(w, r, edit) }
	default:
		if file, there := static.Files[rest]; !there {
			http.NotFound(w, r)
		} else if !h.handleMethod(w, r, readMethods, false) {
			file.ServeHTTP(w, r)
		}
		return
	}
	pages := gzipped.NewWriter(w, r)
	serve(pages)
	pages.Close()
}

func (h *Handler) serveForm(w http.ResponseWriter, r *http.Request, publicID, rest string) {
	route, known := routes[rest]
	known = known && (!route.partials || h.config.Partials != 0)
	if route.cors && h.handleCORS(w, r, route.methods) {
		return
	}
	switch {
	case !known:
		h.warnIfMisplaced(r, true)
		h.showError(w, r, false, http.StatusNotFound, "not_found.title", "not_found.text")
		return
	case h.handleMethod(w, r, route.methods, route.json):
		return
	case rest != "" && h.isCrossOrigin(r, route.cors):
		h.showError(w, r, route.json, http.StatusForbidden, "cross_site.text", "cross_site.text")
		return
	}
	r = r.WithContext(timeout.WithBudget(r.Context()))
	form, err := h.service.PublicForm(r.Context(), publicID)
	switch {
	case err == nil:
		route.serve(h.newCall(w, r, form))
	case rest == "" && r.Method == http.MethodPost && h.tryServeUnavailable(w, r, publicID, err):
	default:
		if errors.Is(err, storage.ErrNotFound) {
			h.warnIfMisplaced(r, false)
		}
		h.showReadError(w, r, route.json, err)
	}
}

// warnIfMisplaced logs the first request for an unknown form outside the base path, because the handler is probably
// mounted elsewhere. If the host has stripped a prefix, only a request for an unknown path below a form is logged.
func (h *Handler) warnIfMisplaced(r *http.Request, unknownPart bool) {
	at, _, _ := strings.Cut(r.RequestURI, "?")
	stripped := at != "" && at != r.URL.EscapedPath()
	if strings.HasPrefix(r.URL.Path, h.config.BasePath+"/") || stripped && !unknownPart {
		return
	}
	h.misplacedOnce.Do(func() {
		h.config.Logger.WarnContext(r.Context(), "request path is outside the form pages' path: check formpage.Config.BasePath",
			"path", r.URL.Path, "base_path", h.config.BasePath)
	})
}
