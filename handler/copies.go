package handler

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/storage"
)

// onlyFor makes a handler serve an actor who is known, and one form or, with the zero id, all.
type onlyFor struct {
	who  storage.Actor
	form storage.ID
}

// For implements [httpapi.API].
func (h *api) For(who storage.Actor) http.Handler {
	copied := h.on(h.core, nil)
	copied.only = &onlyFor{who: who}
	return copied
}

// WorkingCopy implements [httpapi.API].
func (h *api) WorkingCopy(c *core.Core, who storage.Actor, form storage.ID) http.Handler {
	copied := h.on(c, nil)
	copied.only, copied.operations = &onlyFor{who, form}, h.contents
	return copied
}

// links has the links of an answer begin where the request came to: path is the part of it that
// names the operation.
func (*onlyFor) links(c *call, path string) {
	if sent, err := url.ParseRequestURI(c.r.RequestURI); err == nil {
		if below, ok := strings.CutSuffix(sent.EscapedPath(), path); ok { // else the host rewrites paths
			c.below = below
		}
	}
}
