package secrets

import (
	"encoding/base64"
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/formsvc/formsvc/internal/visible"
)

// standardPattern finds a secret of the Standard Webhooks specification in what was pasted: with
// other characters around it, in capitals or with another sign in place of the underscore.
var standardPattern = regexp.MustCompile(`(?i)whsec[^0-9a-z]`)

// InvalidReason says why a secret is none that a receiver will have as well, which no signature would
// fit. It is empty for all others. Only secrets that look like those of the Standard Webhooks
// specification have a form.
func InvalidReason(secret string) string {
	shown := strings.Map(func(c rune) rune {
		if visible.Hides(string(c)) {
			return -1
		}
		return c
	}, norm.NFKC.String(secret))
	if _, ok := SigningKey(secret); !ok {
		return "must have only standard base64 with padding after whsec_"
	}
	if !strings.HasPrefix(secret, "whsec_") && standardPattern.MatchString(shown) {
		return "resembles a whsec_ secret, and must start with exactly whsec_"
	}
	return ""
}

// SigningKey returns the key with which a secret signs as the Standard Webhooks specification says:
// what follows "whsec_", decoded from base64, and of a secret that begins otherwise its
// bytes. It reports false when what follows is not base64 or is empty.
func SigningKey(secret string) (key []byte, ok bool) {
	encoded, standard := strings.CutPrefix(secret, "whsec_")
	if !standard {
		return []byte(secret), true
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	return key, err == nil && len(key) > 0 && !strings.ContainsAny(encoded, "\r\n") // which it passes over
}
