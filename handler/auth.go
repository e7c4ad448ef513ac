package handler

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/formsvc/formsvc/storage"
)

// Credential takes the key out of a request: X-API-Key when it is present, else Authorization when its scheme is Bearer. It
// returns "" when there is none, or when a header that should be there once is
// there twice. A key in the URL is never looked at.
func Credential(r *http.Request) string {
	if keys, ok := r.Header["X-Api-Key"]; ok {
		if len(keys) != 1 {
			return ""
		}
		return keys[0]
	}
	token := ""
	for _, value := range r.Header["Authorization"] {
		scheme, rest, _ := strings.Cut(value, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			continue
		}
		if token != "" {
			return ""
		}
		token = strings.TrimSpace(rest)
	}
	return token
}

// authenticate finds the principal, counts the call against its key's limit and
// checks the scope of the operation. What an answer costs follows the same order: a
// key over its limit or without the scope reads no form.
func (c *call) authenticate() error {
	key := c.h.config.Credential(c.r)
	if key == "" {
		return errInvalidAPIKey
	}
	form, together := c.formToRead()
	var early token
	if together != nil && c.h.config.Limiter != nil {
		// The limit is asked before the form is read, so before the key's id is known
		// for certain. A key that was not seen here before takes two steps.
		if id := together.RememberedID(key); id != "" {
			early = c.take(id)
		}
		if early.keyID == "" || !early.allowed() {
			together = nil
		}
	}
	if err := c.resolve(key, form, together); err != nil {
		return err
	}
	if c.principal.UserID.IsZero() || c.principal.KeyID == "" {
		return errors.New("the key resolver returned a principal without a user or key id")
	}
	if early.keyID != c.principal.KeyID {
		early = c.take(c.principal.KeyID)
	}
	if err := c.spend(early); err != nil {
		return err
	}
	if c.op.scope != "" && !c.principal.Has(c.op.scope) {
		return errInsufficientScope.with("The API key lacks the scope " + string(c.op.scope) + ".")
	}
	return nil
}

// formToRead returns the form of the path and the resolver that can read it
// together with the key, or nil when the operation needs no form or the resolver cannot
// read one.
func (c *call) formToRead() (storage.ID, FormResolver) {
	together, ok := c.h.config.Resolver.(FormResolver)
	if !ok || !c.op.readsForm {
		return storage.ID{}, nil
	}
	form, err := c.idParam("formId")
	if err != nil {
		return storage.ID{}, nil
	}
	return form, together
}

// resolve asks whose key it is, together with the form when together is set.
func (c *call) resolve(key string, form storage.ID, together FormResolver) error {
	var err error
	if together != nil {
		c.principal, c.form, err = together.FormForKey(c.ctx(), key, form, c.op.scope)
		c.formKnown = err == nil
		if !errors.Is(err, storage.ErrUnimplemented) {
			return c.resolveError(err)
		}
	}
	c.principal, err = c.h.config.Resolver.ResolveKey(c.ctx(), key)
	return c.resolveError(err)
}

func (c *call) resolveError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrInvalidKey):
		return errInvalidAPIKey
	case errors.Is(err, context.Canceled):
		return err
	default:
		c.log(slog.LevelError, "the key resolver failed", err)
		return errUnavailable
	}
}
