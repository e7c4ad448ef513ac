package formpage

import (
	"fmt"
	"io"
)

// Secret is a key. It is used as a []byte, and prints as [secret] whatever the verb, in logs
// and as JSON; what prints the unexported fields of a host's own types goes round that.
type Secret []byte

// Secrets are several. They print as a [Secret] does.
type Secrets [][]byte

const redacted = "[secret]"

func redact(f fmt.State, text string) { _, _ = io.WriteString(f, text) }

// Format implements [fmt.Formatter].
func (Secret) Format(f fmt.State, _ rune) { redact(f, redacted) }

// MarshalText implements [encoding.TextMarshaler], for JSON and for logs.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Format implements [fmt.Formatter].
func (Secrets) Format(f fmt.State, _ rune) { redact(f, redacted) }

// MarshalText implements [encoding.TextMarshaler], for JSON and for logs.
func (Secrets) MarshalText() ([]byte, error) { return []byte(redacted), nil }
