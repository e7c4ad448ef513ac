package secrets

import (
	"encoding/base64"
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/formsvc/formsvc/internal/textclean"
)

// standardPattern finds a Standard Webhooks secret in pasted text, even after other characters, in capitals, or with
// another character instead of the underscore.
var standardPattern = regexp.MustCompile(`(?i)whsec[^0-9a-z]`)

// InvalidReason returns why a secret is invalid, or "" if it is valid. It requires a format only for secrets that
// resemble Standard Webhooks secrets, because a receiver would derive a different key from an invalid secret.
func InvalidReason(secret string) string {
	shown := strings.Map(func(c rune) rune {
		if textclean.HasInvisible(string(c)) {
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

// SigningKey returns the signing key for a secret under the Standard Webhooks specification: the decoded base64 after
// "whsec_", or the secret's bytes if it does not have that prefix. ok is false if the base64 is invalid or empty.
func SigningKey(secret string) (key []byte, ok bool) {
	encoded, standard := strings.CutPrefix(secret, "whsec_")
	if !standard {
		return []byte(secret), true
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	return key, err == nil && len(key) > 0 && !strings.ContainsAny(encoded, "\r\n") // DecodeString ignores line breaks
}
