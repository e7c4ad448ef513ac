package formpage

import (
	"fmt"
	"io"
)

// Secret is a signing key. Package fmt, logs and JSON show it as [secret]. Code that prints unexported fields of the
// host's own types can still reveal it.
type Secret []byte

// Secrets is a list of secrets. It is shown like a [Secret].
type Secrets [][]byte

const redacted = "[secret]"

func redact(f fmt.State, text string) { _, _ = io.WriteString(f, text) }

// Format implements [fmt.Formatter].
func (Secret) Format(f fmt.State, _ rune) { redact(f, redacted) }

// MarshalText implements [encoding.TextMarshaler], for JSON and logs.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Format implements [fmt.Formatter].
func (Secrets) Format(f fmt.State, _ rune) { redact(f, redacted) }

// MarshalText implements [encoding.TextMarshaler], for JSON and logs.
func (Secrets) MarshalText() ([]byte, error) { return []byte(redacted), nil }
