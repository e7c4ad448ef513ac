package formpage

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
)

// signer makes and opens the tokens that a page carries. A token is bound to its
// purpose, so that one kind is never taken for another.
type signer struct {
	secret []byte
	former [][]byte // tokens that were made with these are good as well
}

func mac(secret []byte, purpose, payload string) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte("formsvc formpage " + purpose + "\x00" + payload))
	return m.Sum(nil)
}

// sign returns v as JSON with a signature: text for URLs and inputs.
func (s signer) sign(purpose string, v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "" // what is signed here is made of strings and numbers
	}
	payload := base64.RawURLEncoding.EncodeToString(raw)
	return payload + "." + base64.RawURLEncoding.EncodeToString(mac(s.secret, purpose, payload))
}

// open reads a token into v, and reports whether its signature is right.
func (s signer) open(purpose, token string, v any) bool {
	payload, signature, _ := strings.Cut(token, ".")
	given, err := base64.RawURLEncoding.Strict().DecodeString(signature)
	right := func(secret []byte) bool { return hmac.Equal(given, mac(secret, purpose, payload)) }
	if err != nil || !right(s.secret) && !slices.ContainsFunc(s.former, right) {
		return false
	}
	raw, err := base64.RawURLEncoding.DecodeString(payload)
	return err == nil && json.Unmarshal(raw, v) == nil
}

const (
	purposeVisit       = "visit"
	purposeFile        = "file"
	purposeDone        = "done" // a response is stored: a visit whose Key is the ending
	purposePreview     = "preview"
	purposePreviewFile = "preview file"
)

// visit is one respondent's way through a form, from the first page to the end. It
// travels in the page, signed: nothing is kept here.
type visit struct {
	Form   string `json:"f"`
	Opened int64  `json:"t"` // Unix milliseconds
	Key    string `json:"k"` // the idempotency key: a second click finds the first result
}

func newVisit(form formsvc.PublicForm, now time.Time) visit {
	return visit{Form: form.ID.String(), Opened: now.UnixMilli(), Key: rand.Text()}
}

// maxVisit is how long an opened page can be sent. Who takes longer has to press the
// button again.
const maxVisit = 7 * 24 * time.Hour

// openVisit reads the visit of a posted page.
func (s signer) openVisit(form formsvc.PublicForm, token string, now time.Time) (v visit, ok bool) {
	return s.openDated(purposeVisit, form, token, now)
}

// openDated reads a visit that was signed for a purpose. One of another form is empty.
func (s signer) openDated(purpose string, form formsvc.PublicForm, token string, now time.Time) (v visit, ok bool) {
	if !s.open(purpose, token, &v) || v.Form != form.ID.String() {
		return visit{}, false
	}
	age := now.Sub(time.UnixMilli(v.Opened))
	return v, age < maxVisit && age > -time.Minute // clocks of several processes differ a little
}
