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

// ErrSignature is what [Verify] returns for a signature that does not belong to
// the body.
var ErrSignature = errors.New("webhooks: signature does not match")

const signaturePrefix = "sha256="

// Sign returns the signature of a request body: "sha256=" and the lower-case
// hexadecimal HMAC-SHA-256 of the exact bytes, keyed with the bytes of secret.
// Its results never change.
func Sign(secret string, body []byte) string {
	var text [len(signaturePrefix) + 2*sha256.Size]byte
	return string(hex.AppendEncode(append(text[:0], signaturePrefix...), computeMAC(secret, body)))
}

// Verify returns nil when signature, the value of the Service-Signature header, is the
// signature that [Sign] makes, and [ErrSignature] otherwise. The hexadecimal digits may
// be of either case. The time it takes does not depend on where signatures differ. An
// empty secret verifies nothing: it would accept what anybody can sign.
//
// Receivers must pass the body as it came, before any decoding.
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

// signStandard returns the signature of the Standard Webhooks specification over id,
// timestamp and body.
func signStandard(secret, id, timestamp string, body []byte) string {
	key, ok := secrets.SigningKey(secret)
	if !ok { // the service refuses such a secret, and a storage may have one all the same
		key = []byte(secret)
	}
	mac := hmac.New(sha256.New, key)
	_, _ = io.WriteString(mac, id+"."+timestamp+".") // never fails, says its documentation
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func computeMAC(secret string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body) // never fails, says its documentation
	return mac.Sum(nil)
}
