package handler

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/storage"
)

// fixedActor makes a handler serve one actor without an API key. If form is zero, it serves all of the actor's forms.
type fixedActor struct {
	actor  storage.Actor
	scopes []storage.Scope
	form   storage.ID
}

// For implements [httpapi.API].
func (h *api) For(actor storage.Actor, scopes []storage.Scope) http.Handler {
	copied := h.withCore(h.core, nil)
	copied.fixed = &fixedActor{actor: actor, scopes: scopes}
	return copied
}

// WorkingCopy implements [httpapi.API].
func (h *api) WorkingCopy(c *core.Core, actor storage.Actor, form storage.ID, scopes []storage.Scope) http.Handler {
	copied := h.withCore(c, nil)
	copied.fixed, copied.operations = &fixedActor{actor, scopes, form}, h.contentOperations
	return copied
}

// setRequestBase sets the prefix of the response's links: the request's URL path with path trimmed from its end.
func (*fixedActor) setRequestBase(c *call, path string) {
	if sent, err := url.ParseRequestURI(c.r.RequestURI); err == nil {
		if below, ok := strings.CutSuffix(sent.EscapedPath(), path); ok { // Otherwise, the host rewrites paths.
			c.requestBase = below
		}
	}
}
