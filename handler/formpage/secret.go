package formpage

import (
	"fmt"
	"io"
)

// Secret is a signing key. Package fmt, logs and JSON print it as [secret]. It can still leak if it is in an unexported
// field of one of the host's types, because package fmt does not call Format for unexported fields.
type Secret []byte

// Secrets is a list of secrets. Like a [Secret], it is printed as [secret].
type Secrets [][]byte

const redacted = "[secret]"

func writeRedacted(f fmt.State, text string) { _, _ = io.WriteString(f, text) }

// Format implements [fmt.Formatter].
func (Secret) Format(f fmt.State, _ rune) { writeRedacted(f, redacted) }

// MarshalText implements [encoding.TextMarshaler], for JSON and logs.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Format implements [fmt.Formatter].
func (Secrets) Format(f fmt.State, _ rune) { writeRedacted(f, redacted) }

// MarshalText implements [encoding.TextMarshaler], for JSON and logs.
func (Secrets) MarshalText() ([]byte, error) { return []byte(redacted), nil }
