package webhooks

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"testing"

	"github.com/formsvc/formsvc/internal/secrets"
)

func gcm(t *testing.T, key byte) cipher.AEAD {
	t.Helper()
	block, err := aes.NewCipher(bytes.Repeat([]byte{key}, 32))
	must(t, err)
	aead, err := cipher.NewGCM(block)
	must(t, err)
	return aead
}

func secretsWith(t *testing.T, current cipher.AEAD, previous ...cipher.AEAD) *secrets.Sealer {
	t.Helper()
	s, err := secrets.New(current, previous...)
	must(t, err)
	return s
}
