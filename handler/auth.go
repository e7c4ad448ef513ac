package handler

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/formsvc/formsvc/internal/apierror"
	"github.com/formsvc/formsvc/storage"
)

// Credential returns the API key sent with a request: the X-API-Key header if present, otherwise the Bearer token in
// the Authorization header. It returns "" if the header is empty or repeated. Keys in the URL are ignored.
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

// authenticate resolves the API key, counts the request against the key's rate limit and checks the scope. If one of
// these checks fails, authenticate reads nothing else.
func (c *call) authenticate() error {
	key := c.h.config.Credential(c.r)
	if key == "" {
		return apierror.ErrInvalidAPIKey
	}
	early, err := c.resolveKey(key)
	if err != nil {
		return err
	}
	if c.principal.UserID.IsZero() || c.principal.KeyID == "" {
		return errors.New("key resolver returned a principal without user ID or key ID")
	}
	if early.keyID != c.principal.KeyID {
		early = c.takeLimiterToken(c.principal.KeyID)
	}
	if err := c.applyLimit(early); err != nil {
		return err
	}
	return c.checkScope()
}

func (c *call) checkScope() error {
	if c.op.scope == "" || c.principal.Has(c.op.scope) {
		return nil
	}
	return apierror.ErrInsufficientScope.WithMessage("The scope " + string(c.op.scope) + " is missing.")
}

// resolveKey resolves the API key. If this process has seen the key before, resolveKey checks the rate limit first and
// then reads the key and the form in one statement. Otherwise, it reads only the key.
func (c *call) resolveKey(key string) (early limitResult, err error) {
	together, ok := c.h.keys.(formKeyResolver)
	if ok && c.op.readsForm {
		if id := together.CachedKeyID(key); id != "" {
			if early = c.takeLimiterToken(id); early.allowed() {
				owner, form, err := together.FormForKey(c.ctx(), key, c.pathID("formId"), c.op.scope)
				// The operation itself reports values that the storage cannot compare, after the other checks.
				if !errors.Is(err, storage.ErrUnimplemented) && !errors.Is(err, storage.ErrInvalidValue) {
					c.principal, c.form, c.formRead = owner, form, err == nil
					return early, c.convertResolveError(err)
				}
			}
		}
	}
	c.principal, err = c.h.keys.ResolveKey(c.ctx(), key)
	return early, c.convertResolveError(err)
}

func (c *call) convertResolveError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrInvalidKey):
		return apierror.ErrInvalidAPIKey
	case errors.Is(err, context.Canceled) && c.ctx().Err() != nil: // The resolver may also cancel its own contexts.
		return err
	default:
		c.logRequest(slog.LevelError, "key resolver failed: for an unknown credential, return ErrInvalidKey", slog.Any("error", err))
		return apierror.ErrUnavailable
	}
}
