package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"strings"

	"github.com/formsvc/formsvc/internal/secrets"
)

// ErrSignature is returned by [Verify] if the signature does not match the body.
var ErrSignature = errors.New("webhooks: signature does not match")

const signaturePrefix = "sha256="

// Sign returns the signature of a request body: "sha256=" and the lowercase hexadecimal HMAC-SHA-256 of the exact
// bytes, with the bytes of secret as the key. The format will not change.
func Sign(secret string, body []byte) string {
	var text [len(signaturePrefix) + 2*sha256.Size]byte
	return string(hex.AppendEncode(append(text[:0], signaturePrefix...), computeMAC(secret, body)))
}

// Verify returns nil if signature (the value of the Service-Signature header) is the signature of body. Otherwise, it
// returns [ErrSignature]. body must contain the received bytes before any decoding. Hexadecimal digits can have either
// case. The comparison takes constant time. Verification with an empty secret always fails, because anyone could sign
// with an empty secret.
func Verify(secret string, body []byte, signature string) error {
	digits, ok := strings.CutPrefix(signature, signaturePrefix)
	if secret == "" || !ok || len(digits) != 2*sha256.Size {
		return ErrSignature
	}
	given, err := hex.DecodeString(digits)
	if err != nil || !hmac.Equal(given, computeMAC(secret, body)) {
		return ErrSignature
	}
	return nil
}

// signStandard returns the signature for id, timestamp and body that the Standard Webhooks specification defines.
func signStandard(secret, id, timestamp string, body []byte) string {
	key, ok := secrets.SigningKey(secret)
	if !ok { // the service rejects such a secret, but a storage may already contain one
		key = []byte(secret)
	}
	mac := hmac.New(sha256.New, key)
	_, _ = io.WriteString(mac, id+"."+timestamp+".") // never fails
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func computeMAC(secret string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body) // never fails
	return mac.Sum(nil)
}
