package secrets

import (
	"encoding/base64"
	"strings"
)

// Key returns the key with which a secret signs as the Standard Webhooks specification says:
// what follows "whsec_", decoded from base64, and of a secret that begins otherwise its
// bytes. It reports false when what follows is not base64 or is empty.
func Key(secret string) (key []byte, ok bool) {
	encoded, standard := strings.CutPrefix(secret, "whsec_")
	if !standard {
		return []byte(secret), true
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	return key, err == nil && len(key) > 0 && !strings.ContainsAny(encoded, "\r\n") // which it passes over
}
