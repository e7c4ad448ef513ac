// Package secrets encrypts the signing secrets of webhooks for the storage.
package secrets

import (
	"crypto/cipher"
	"crypto/rand"
	"fmt"
	"slices"

	"github.com/formsvc/formsvc/storage"
)

// First byte of a stored secret. What follows is the secret itself, or a nonce
// and the sealed secret.
const (
	formatPlain     = 0
	formatEncrypted = 1
)

// Encrypter turns signing secrets into what is stored and back. A nil *Sealer
// stores them as they are. It is safe for concurrent use when its AEADs are, as
// those of the standard library.
type Encrypter struct {
	current     cipher.AEAD
	decrypters  []cipher.AEAD // current first
	rejectPlain bool          // what is stored as it is does not open
}

// New returns a Sealer that seals with current and opens what current or one
// of previous sealed, and also what was stored before there was a key. To
// change the key, make the old one previous; [Encrypter.Reencrypt] then seals with the new
// one what the old one sealed. A nil current stores secrets as they are. Nonces are
// random and of the AEAD's own size.
//
// It returns an error when a previous AEAD is nil.
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

// EncryptedOnly returns a copy of s that does not open what is stored as it is.
func (s *Encrypter) EncryptedOnly() *Encrypter {
	only := *s
	only.rejectPlain = true
	return &only
}

// Seal returns what to store as the webhook's secret. The result is bound to the
// webhook: copied to another one it does not open. No secret is nil.
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
	rand.Read(nonce)                                                 // never fails, says its documentation
	return s.current.Seal(sealed, nonce, []byte(secret), webhook[:]) // #nosec G407 -- the nonce is random
}

// Open returns the secret that was stored for the webhook, "" when there is
// none. It returns [storage.ErrSecret] when that cannot be told; a caller must not take
// that for "no secret".
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
			// The box is copied: the delivery's bytes are read only.
			secret, err := aead.Open(nil, nonce, slices.Clone(box), webhook[:])
			if err == nil && len(secret) > 0 {
				return string(secret), nil
			}
		}
	}
	return "", storage.ErrSecret
}

// Reseal returns a stored secret as [Encrypter.Encrypt] would store it now, or nil when it
// is stored so already: sealed with the current AEAD or, without one, as it is. It
// returns [storage.ErrSecret] when the secret cannot be opened.
func (s *Encrypter) Reencrypt(webhook storage.ID, stored []byte) ([]byte, error) {
	secret, err := s.Decrypt(webhook, stored)
	if err != nil || secret == "" {
		return nil, err
	}
	var current Encrypter // opens what is stored as it should be, and nothing else
	if s != nil && s.current != nil {
		current = Encrypter{decrypters: s.decrypters[:1], rejectPlain: true}
	}
	if _, err := current.Decrypt(webhook, stored); err == nil {
		return nil, nil
	}
	return s.Encrypt(webhook, secret), nil
}
