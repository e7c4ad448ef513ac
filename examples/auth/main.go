// Command auth serves the API to users who are signed in to the host: the host's own
// session tokens take the place of API keys.
package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// claims are what the host's tokens say.
type claims struct {
	Session string    `json:"sid"`
	Subject string    `json:"sub"` // the host's user id, in whatever form
	Name    string    `json:"name"`
	Role    string    `json:"role"` // "editor" or "reader"
	Expires time.Time `json:"exp"`
}

// sessions issues and resolves tokens: the claims in base64, a dot, and their HMAC.
// It is a [formsvc.KeyResolver]. Its bytes are the secret that signs.
type sessions []byte

func (s sessions) issue(c claims) string {
	payload, _ := json.Marshal(c) // strings and a time of this century: cannot fail
	text := base64.RawURLEncoding.EncodeToString(payload)
	return text + "." + base64.RawURLEncoding.EncodeToString(s.sign(text))
}

// ResolveKey is called for every request. A real host also looks here whether the
// session was revoked; an error of that look-up, returned as it is, becomes a 503.
func (s sessions) ResolveKey(_ context.Context, token string) (formsvc.Principal, error) {
	text, mark, _ := strings.Cut(token, ".")
	given, err := base64.RawURLEncoding.DecodeString(mark)
	if err != nil || !hmac.Equal(given, s.sign(text)) {
		return formsvc.Principal{}, formsvc.ErrInvalidKey
	}
	var c claims
	payload, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(payload, &c) != nil || !time.Now().Before(c.Expires) {
		return formsvc.Principal{}, formsvc.ErrInvalidKey
	}
	scopes := []formsvc.Scope{storage.ScopeWorkspacesRead, storage.ScopeFormsRead, storage.ScopeSubmissionsRead}
	if c.Role == "editor" {
		scopes = storage.Scopes()
	}
	// The key's id counts calls; the user's id is the same for all sessions of a user.
	user := formsvc.UserIDFrom(c.Subject)
	return formsvc.Principal{KeyID: c.Session, UserID: user, Name: c.Name, Scopes: scopes}, nil
}

func (s sessions) sign(text string) []byte {
	mac := hmac.New(sha256.New, s)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

func main() {
	s := sessions("read this from your configuration")
	// Tokens come as "Authorization: Bearer …"; formsvc.WithCredential reads other places.
	service, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithKeyResolver(s))
	if err != nil {
		log.Fatal(err)
	}
	token := s.issue(claims{Session: "s1", Subject: "user-42", Name: "Ann", Role: "editor", Expires: time.Now().Add(time.Hour)})
	fmt.Printf("curl -sS 'http://127.0.0.1:8080/v1/me' -H 'Authorization: Bearer %s'\n", token)
	// No Dispatcher runs, so webhooks wait: examples/mount has one, and an orderly end.
	log.Fatal((&http.Server{Addr: "127.0.0.1:8080", Handler: service, ReadHeaderTimeout: 5 * time.Second}).ListenAndServe())
}
