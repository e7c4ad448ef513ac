package handler

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/storage"
)

// onlyForm makes a handler serve one form, for an actor that is known.
type onlyForm struct {
	who  storage.Actor
	form storage.ID
}

// WorkingCopy is wiring for package formsvc, without promise before v1. It serves the operations on
// the content of one form for an actor, without a key, a scope or a limit. c is a Core of
// [core.Core.Copies].
func (h *Handler) WorkingCopy(c *core.Core, who storage.Actor, form storage.ID) http.Handler {
	copied := h.on(c, nil)
	copied.only, copied.operations = &onlyForm{who, form}, h.contents
	return copied
}

// links has the links of an answer begin where the request came to: path is the part of it that
// names the operation.
func (*onlyForm) links(c *call, path string) {
	if sent, err := url.ParseRequestURI(c.r.RequestURI); err == nil {
		if below, ok := strings.CutSuffix(sent.EscapedPath(), path); ok { // else the host rewrites paths
			c.below = below
		}
	}
}
