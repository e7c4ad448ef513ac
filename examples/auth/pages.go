package main

import (
	"bytes"
	_ "embed"
	"errors"
	"html/template"
	"net/http"
	"time"

	"github.com/formsvc/formsvc"
)

//go:embed pages.html
var pagesHTML string

var pages = template.Must(template.New("").Parse(pagesHTML))

// render writes a page; the template runs into a buffer first, so that a fault in it
// leaves no half page.
func (h *host) render(w http.ResponseWriter, status int, name string, data any) {
	var page bytes.Buffer
	if err := pages.ExecuteTemplate(&page, name, data); err != nil {
		h.fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'")
	w.Header().Set("Cache-Control", "no-store") // the page shows a new key once
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes()) // the reader may be gone; there is nobody to tell
}

func (h *host) fail(w http.ResponseWriter, err error) {
	h.logger.Error("failed to render page", "error", err)
	http.Error(w, "Something went wrong.", http.StatusInternalServerError)
}

// signedIn returns the account of the request's session. Without one it sends the
// browser to the login page and returns false.
func (h *host) signedIn(w http.ResponseWriter, r *http.Request) (account, bool) {
	a, err := h.accounts.current(r)
	if err == nil {
		return a, true
	}
	if !errors.Is(err, http.ErrNoCookie) && !errors.Is(err, errNoSession) {
		h.fail(w, err)
		return account{}, false
	}
	http.Redirect(w, r, "/login", http.StatusSeeOther)
	return account{}, false
}

func (h *host) showLogin(w http.ResponseWriter, _ *http.Request) {
	h.render(w, http.StatusOK, "login", "")
}

func (h *host) login(w http.ResponseWriter, r *http.Request) {
	token, err := h.accounts.signIn(r.Context(), r.PostFormValue("email"), r.PostFormValue("password"))
	if errors.Is(err, errPassword) {
		h.render(w, http.StatusUnauthorized, "login", "The email address or password is incorrect.")
		return
	}
	if err != nil {
		h.fail(w, err)
		return
	}
	// A real product is served by TLS and sets Secure always.
	http.SetCookie(w, &http.Cookie{
		Name: sessionCookie, Value: token, Path: "/", MaxAge: int(sessionLifetime.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: r.TLS != nil,
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (h *host) logout(w http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie(sessionCookie); err == nil {
		if err := h.accounts.signOut(r.Context(), c.Value); err != nil {
			h.fail(w, err)
			return
		}
	}
	http.SetCookie(w, &http.Cookie{Name: sessionCookie, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: r.TLS != nil})
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// keysPage has the data of the page of API keys.
type keysPage struct {
	Account account
	Keys    []keyView
	Scopes  []formsvc.Scope
	Secret  string // of a key that was made just now
	Fault   string
}

type keyView struct {
	formsvc.Key
	State  string
	Active bool
}

func (h *host) showKeys(w http.ResponseWriter, r *http.Request) {
	if a, ok := h.signedIn(w, r); ok {
		h.keys(w, r, http.StatusOK, keysPage{Account: a})
	}
}

// keys shows the page of API keys.
func (h *host) keys(w http.ResponseWriter, r *http.Request, status int, page keysPage) {
	list, err := h.service.Keys(r.Context(), page.Account.user().ID)
	if err != nil {
		h.fail(w, err)
		return
	}
	now := h.accounts.now()
	for _, k := range list {
		view := keyView{Key: k, State: "active"}
		switch {
		case !k.RevokedAt.IsZero():
			view.State = "revoked"
		case !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt):
			view.State = "expired"
		default:
			view.Active = true
		}
		page.Keys = append(page.Keys, view)
	}
	page.Scopes = formsvc.Scopes()
	h.render(w, status, "keys", page)
}

func (h *host) createKey(w http.ResponseWriter, r *http.Request) {
	a, ok := h.signedIn(w, r)
	if !ok {
		return
	}
	if err := r.ParseForm(); err != nil {
		http.Error(w, "The form data could not be read.", http.StatusBadRequest)
		return
	}
	request := formsvc.KeyRequest{User: a.user(), Name: r.PostForm.Get("name")}
	for _, scope := range r.PostForm["scope"] {
		request.Scopes = append(request.Scopes, formsvc.Scope(scope))
	}
	if r.PostForm.Get("expires") == "90" {
		expires := h.accounts.now().Add(90 * 24 * time.Hour)
		request.ExpiresAt = &expires
	}
	issued, err := h.service.CreateKey(r.Context(), request)
	switch {
	case errors.Is(err, formsvc.ErrLimitReached):
		h.keys(w, r, http.StatusConflict, keysPage{Account: a, Fault: "You have reached the maximum number of keys. Revoke a key first."})
	case request.Name == "" || len(request.Scopes) == 0:
		h.keys(w, r, http.StatusUnprocessableEntity, keysPage{Account: a, Fault: "A key needs a name and at least one scope."})
	case err != nil:
		h.fail(w, err)
	default:
		h.keys(w, r, http.StatusCreated, keysPage{Account: a, Secret: issued.Secret})
	}
}

func (h *host) revokeKey(w http.ResponseWriter, r *http.Request) {
	a, ok := h.signedIn(w, r)
	if !ok {
		return
	}
	var id formsvc.ID
	err := id.UnmarshalText([]byte(r.PathValue("id")))
	if err == nil {
		err = h.service.RevokeKey(r.Context(), a.user().ID, id) // only the user's own
	}
	if err != nil {
		http.NotFound(w, r)
		return
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}
