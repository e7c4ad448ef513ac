// Package secrets encrypts the signing secrets of webhooks for storage.
package secrets

import (
	"crypto/cipher"
	"crypto/rand"
	"fmt"
	"slices"

	"github.com/formsvc/formsvc/storage"
)

// The first byte of a stored secret is its format. The secret itself follows, or a nonce and the encrypted secret.
const (
	formatPlain     = 0
	formatEncrypted = 1
)

// Encrypter encrypts and decrypts stored signing secrets. A nil *Encrypter leaves secrets unencrypted. An Encrypter is
// safe for concurrent use if its AEADs are, as the standard library's are.
type Encrypter struct {
	current     cipher.AEAD
	decrypters  []cipher.AEAD // the current cipher first
	rejectPlain bool          // reject unencrypted secrets
}

// New returns an Encrypter that encrypts with current and decrypts with current and previous. It also reads unencrypted
// secrets. To change the key, pass the old one as previous and use [Encrypter.Reencrypt]. If current is nil, secrets
// are stored unencrypted. Nonces are random and have the AEAD's nonce size. New returns an error if a previous AEAD is
// nil.
func New(current cipher.AEAD, previous ...cipher.AEAD) (*Encrypter, error) {
	s := &Encrypter{current: current}
	if current != nil {
		s.decrypters = append(s.decrypters, current)
	}
	for i, aead := range previous {
		if aead == nil {
			return nil, fmt.Errorf("previous AEAD %d is nil", i)
		}
		s.decrypters = append(s.decrypters, aead)
	}
	return s, nil
}

// EncryptedOnly returns a copy of s that rejects unencrypted secrets.
func (s *Encrypter) EncryptedOnly() *Encrypter {
	only := *s
	only.rejectPlain = true
	return &only
}

// Encrypt returns a webhook's secret in the stored format. Only Decrypt with the same webhook can decrypt it. It
// returns nil for an empty secret.
func (s *Encrypter) Encrypt(webhook storage.ID, secret string) []byte {
	if secret == "" {
		return nil
	}
	if s == nil || s.current == nil {
		return append([]byte{formatPlain}, secret...)
	}
	sealed := make([]byte, 1+s.current.NonceSize(), 1+s.current.NonceSize()+len(secret)+s.current.Overhead())
	sealed[0] = formatEncrypted
	nonce := sealed[1:]
	rand.Read(nonce)                                                 // never fails
	return s.current.Seal(sealed, nonce, []byte(secret), webhook[:]) // #nosec G407 -- the nonce is random
}

// Decrypt returns the webhook's secret, or "" if there is none. If it cannot decrypt the secret, it returns
// [storage.ErrSecret], which callers must not treat as a missing secret.
func (s *Encrypter) Decrypt(webhook storage.ID, sealed []byte) (string, error) {
	if len(sealed) == 0 {
		return "", nil
	}
	version, rest := sealed[0], sealed[1:]
	switch {
	case version == formatPlain && len(rest) > 0 && (s == nil || !s.rejectPlain):
		return string(rest), nil
	case version == formatEncrypted && s != nil:
		for _, aead := range s.decrypters {
			if len(rest) < aead.NonceSize() {
				continue
			}
			nonce, box := rest[:aead.NonceSize()], rest[aead.NonceSize():]
			// Copy the encrypted secret, because the delivery's bytes are read-only.
			secret, err := aead.Open(nil, nonce, slices.Clone(box), webhook[:])
			if err == nil && len(secret) > 0 {
				return string(secret), nil
			}
		}
	}
	return "", storage.ErrSecret
}

// Reencrypt returns a stored secret as [Encrypter.Encrypt] would now store it, or nil if it need not change. It returns
// [storage.ErrSecret] if the secret cannot be decrypted.
func (s *Encrypter) Reencrypt(webhook storage.ID, stored []byte) ([]byte, error) {
	secret, err := s.Decrypt(webhook, stored)
	if err != nil || secret == "" {
		return nil, err
	}
	var current Encrypter // decrypts only secrets in the expected format
	if s != nil && s.current != nil {
		current = Encrypter{decrypters: s.decrypters[:1], rejectPlain: true}
	}
	if _, err := current.Decrypt(webhook, stored); err == nil {
		return nil, nil
	}
	return s.Encrypt(webhook, secret), nil
}
