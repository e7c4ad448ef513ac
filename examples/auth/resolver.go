package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc"
)

const (
	sessionCookie = "product_session"
	// sessionMark begins a credential that came out of the cookie. No API key begins
	// like this.
	sessionMark = "session:"
)

// credential takes an API key out of the usual headers, and without one the session
// out of the product's cookie.
func credential(r *http.Request) string {
	if key := formsvc.Credential(r); key != "" {
		return key
	}
	if c, err := r.Cookie(sessionCookie); err == nil && c.Value != "" {
		return sessionMark + c.Value
	}
	return ""
}

// resolver knows the product's sessions, and passes everything else on to the
// service's own keys.
type resolver struct {
	accounts *accounts
	service  *formsvc.Service // set when there is one
}

// ResolveKey implements [formsvc.KeyResolver].
func (r *resolver) ResolveKey(ctx context.Context, credential string) (formsvc.Principal, error) {
	token, ok := strings.CutPrefix(credential, sessionMark)
	if !ok {
		return r.service.ResolveKey(ctx, credential)
	}
	a, err := r.accounts.session(ctx, token)
	if errors.Is(err, errNoSession) {
		return formsvc.Principal{}, formsvc.ErrInvalidKey
	}
	if err != nil {
		return formsvc.Principal{}, err // answered with 503
	}
	digest := sha256.Sum256([]byte(token))
	return formsvc.Principal{
		KeyID:  "session-" + hex.EncodeToString(digest[:8]), // the rate limit counts by it
		UserID: a.user().ID,
		Name:   a.Name,
		Email:  a.Email,
		Scopes: formsvc.Scopes(), // a signed-in user has all scopes of the product
	}, nil
}

// user is the account as formsvc knows it: a stable id made of the integer.
func (a account) user() formsvc.User {
	return formsvc.User{ID: formsvc.UserIDFrom(strconv.FormatInt(a.ID, 10)), Name: a.Name, Email: a.Email}
}
