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

const concealed = "[secret]"

func conceal(f fmt.State, text string) { _, _ = io.WriteString(f, text) }

// Format implements [fmt.Formatter].
func (Secret) Format(f fmt.State, _ rune) { conceal(f, concealed) }

// MarshalText implements [encoding.TextMarshaler], for JSON and for logs.
func (Secret) MarshalText() ([]byte, error) { return []byte(concealed), nil }

// Format implements [fmt.Formatter].
func (Secrets) Format(f fmt.State, _ rune) { conceal(f, concealed) }

// MarshalText implements [encoding.TextMarshaler], for JSON and for logs.
func (Secrets) MarshalText() ([]byte, error) { return []byte(concealed), nil }

// Format implements [fmt.Formatter]: the keys print without the Secret.
func (k CaptchaKeys) Format(f fmt.State, _ rune) { conceal(f, k.text()) }

// MarshalText implements [encoding.TextMarshaler], for JSON and for logs, as Format does.
func (k CaptchaKeys) MarshalText() ([]byte, error) { return []byte(k.text()), nil }

func (k CaptchaKeys) text() string { return "{" + k.SiteKey + " " + concealed + "}" }

func (v siteVerifier) Format(f fmt.State, _ rune) { conceal(f, v.keys.text()) }

// Format implements [fmt.Formatter]: a Config prints nothing of what it holds, because package
// fmt passes over the methods of what is in a value that it cannot print.
func (c Config) Format(f fmt.State, _ rune) { conceal(f, "formpage.Config") }

// Format implements [fmt.Formatter]: a Handler prints nothing of its Config.
func (h *Handler) Format(f fmt.State, _ rune) { conceal(f, "formpage.Handler") }
