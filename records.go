package formsvc

import (
	"fmt"
	"log/slog"
	"time"
)

// KeyRequest asks for an API key.
type KeyRequest struct {
	// User owns the key. User.ID is required. Name (at most 200 characters) and Email
	// (at most 254) are what GET /me shows; they replace what an earlier key of the
	// user brought, also when they are empty.
	User User
	// Name tells the user's keys apart. 1 to 120 characters, none of them a control
	// character or one that turns the direction of text.
	Name string
	// Scopes are what the key may do. At least one.
	Scopes []Scope
	// ExpiresAt ends the key. Nil: never.
	ExpiresAt *time.Time
}

// IssuedKey is a new key. Secret is the whole key; it is shown here once and
// cannot be had again. Printed or logged, an IssuedKey shows the key's prefix only, and
// its JSON is without the Secret: a host that sends a key to its owner sends that member
// by its name. Inside an unexported field of another struct, and for the verbs %p and %w
// (go vet reports those), package fmt asks no method: nothing hides the Secret there.
type IssuedKey struct {
	Key    Key
	Secret string `json:"-"`
}

// String names the key without its secret.
func (k IssuedKey) String() string { return k.Key.Prefix + secretMask }

// Format prints String, whatever the verb.
func (k IssuedKey) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), k.String())
}

// LogValue logs the key without its secret.
func (k IssuedKey) LogValue() slog.Value { return slog.StringValue(k.String()) }
