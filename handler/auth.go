package handler

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/formsvc/formsvc/storage"
)

// Credential takes the key out of a request (specification, "Authentication"):
// X-API-Key when it is present, else Authorization when its scheme is Bearer. It
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
// checks the scope of the operation.
func (c *call) authenticate() error {
	key := c.h.config.Credential(c.r)
	if key == "" {
		return errInvalidAPIKey
	}
	if err := c.resolve(key); err != nil {
		return err
	}
	if c.principal.UserID.IsZero() || c.principal.KeyID == "" {
		return errors.New("the key resolver returned a principal without a user or key id")
	}
	if err := c.takeToken(); err != nil {
		return err
	}
	if c.op.scope != "" && !c.principal.Has(c.op.scope) {
		return errInsufficientScope.with("The API key lacks the scope " + string(c.op.scope) + ".")
	}
	return nil
}

// resolve asks whose key it is, together with the form of the path when the
// operation wants it and the resolver can.
func (c *call) resolve(key string) error {
	var err error
	if together, ok := c.h.config.Resolver.(FormResolver); ok && c.op.readsForm {
		if form, malformed := c.idParam("formId"); malformed == nil {
			c.principal, c.form, err = together.FormForKey(c.ctx(), key, form, c.op.scope)
			c.formKnown = err == nil
			if !errors.Is(err, storage.ErrUnimplemented) {
				return c.resolveError(err)
			}
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

// takeToken counts the call against the key's limit. A limiter that fails lets
// the call pass: the limit protects the service, it must not take it down.
func (c *call) takeToken() error {
	if c.h.config.Limiter == nil {
		return nil
	}
	result, err := c.h.config.Limiter.Take(c.ctx(), c.principal.KeyID)
	if err != nil {
		c.log(slog.LevelWarn, "the rate limiter failed; the call passes", err)
		return nil
	}
	h := c.w.Header()
	// The draft's names as they are written in the description.
	h["Ratelimit-Policy"] = []string{result.Policy()}
	h["Ratelimit"] = []string{result.Header()}
	if !result.Allowed {
		h["Retry-After"] = []string{result.RetryAfter()}
		return errRateLimited
	}
	return nil
}
