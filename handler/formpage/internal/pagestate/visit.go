// Package pagestate defines the state that pages carry from one request to the next in signed tokens.
package pagestate

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Signer creates and verifies tokens. A token is valid for only one purpose.
type Signer struct {
	Secret   []byte
	Previous [][]byte // Previous secrets, whose tokens are still accepted.
}

func mac(secret []byte, purpose, payload string) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte("formsvc formpage " + purpose + "\x00" + payload))
	return m.Sum(nil)
}

// Sign returns v as signed JSON. The result is safe to use in URLs and inputs.
func (s Signer) Sign(purpose string, v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "" // Cannot happen, because v contains only strings and numbers.
	}
	payload := base64.RawURLEncoding.EncodeToString(raw)
	return payload + "." + base64.RawURLEncoding.EncodeToString(mac(s.Secret, purpose, payload))
}

// OpenToken decodes a token into v and reports whether its signature is valid.
func (s Signer) OpenToken(purpose, token string, v any) bool {
	payload, signature, _ := strings.Cut(token, ".")
	given, err := base64.RawURLEncoding.Strict().DecodeString(signature)
	right := func(secret []byte) bool { return hmac.Equal(given, mac(secret, purpose, payload)) }
	if err != nil || !right(s.Secret) && !slices.ContainsFunc(s.Previous, right) {
		return false
	}
	raw, err := base64.RawURLEncoding.DecodeString(payload)
	return err == nil && json.Unmarshal(raw, v) == nil
}

// Token purposes.
const (
	PurposeVisit       = "visit"
	PurposeFile        = "file"
	PurposeDone        = "done" // A stored submission. Key is the ending's ID.
	PurposeProof       = "captcha"
	PurposePreview     = "preview"
	PurposePreviewFile = "preview file"
	PurposePartial     = "half response"
	PurposeEdit        = "edit"
	PurposeEdited      = "edited" // The stored answers that an edit's page knows, as a PartialState.
)

// Visit is a respondent's visit to a form, from the first page to the last.
type Visit struct {
	Form            string  `json:"f"`
	Opened          int64   `json:"t"`           // Unix milliseconds.
	Key             string  `json:"k"`           // The idempotency key. With the same key, a second click returns the first result.
	Submission      string  `json:"s,omitempty"` // The stored submission, in a token with PurposeDone.
	Respondent      string  `json:"w,omitempty"` // The digest of the respondent's ID, or "" if there is none.
	PreviousSeconds float64 `json:"b,omitempty"` // Seconds that the respondent spent in previous visits.
}

// NewVisit returns a visit to a form that starts now.
func NewVisit(form string, now time.Time) Visit {
	return Visit{Form: form, Opened: now.UnixMilli(), Key: rand.Text()}
}

// DigestRespondent returns a digest of a respondent's ID, or "" if there is none.
func DigestRespondent(id string) string {
	if id == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(id))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// Age returns how long ago the visit started.
func (v Visit) Age(now time.Time) time.Duration { return now.Sub(time.UnixMilli(v.Opened)) }

// MaxAge is how long a page can be submitted after it was opened. After that, the respondent must submit it twice.
const MaxAge = 7 * 24 * time.Hour

// OpenVisit verifies a visit's token for a purpose. If the token is for another form, it returns an empty visit.
func (s Signer) OpenVisit(purpose, form, token string, now time.Time) (v Visit, ok bool) {
	if !s.OpenToken(purpose, token, &v) || v.Form != form {
		return Visit{}, false
	}
	age := v.Age(now)
	return v, age < MaxAge && age > -time.Minute // The clocks of processes may differ slightly.
}
