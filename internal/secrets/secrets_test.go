package secrets

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/storage"
)

func gcm(t *testing.T, key byte) cipher.AEAD {
	t.Helper()
	block, err := aes.NewCipher(bytes.Repeat([]byte{key}, 32))
	expect.NoError(t, err)
	aead, err := cipher.NewGCM(block)
	expect.NoError(t, err)
	return aead
}

func secretsWith(t *testing.T, current cipher.AEAD, previous ...cipher.AEAD) *Encrypter {
	t.Helper()
	s, err := New(current, previous...)
	expect.NoError(t, err)
	return s
}

func TestSecretsSurviveARotation(t *testing.T) {
	id, secret := storage.ID{1}, "0123456789abcdef"
	var none *Encrypter
	plain := none.Encrypt(id, secret)
	old := secretsWith(t, gcm(t, 1)).Encrypt(id, secret)
	expect.That(t, !bytes.Contains(old, []byte(secret)), "the sealed bytes contain the secret")
	again := secretsWith(t, gcm(t, 1)).Encrypt(id, secret)
	expect.That(t, !bytes.Equal(old, again), "sealed twice gives the same bytes: the nonce repeats")
	rotated := secretsWith(t, gcm(t, 2), gcm(t, 1))
	current := rotated.Encrypt(id, secret)
	for name, sealed := range map[string][]byte{"plain": plain, "old key": old, "new key": current} {
		before := bytes.Clone(sealed)
		got, err := rotated.Decrypt(id, sealed)
		expect.That(t, err == nil && got == secret, "%s: %q, %v", name, got, err)
		expect.That(t, bytes.Equal(before, sealed), "%s: Open changed the bytes it was given", name)
	}
	expect.Returns(t, secret, "without a current key the old one opens")(secretsWith(t, nil, gcm(t, 1)).Decrypt(id, old))
	expect.Returns(t, secret, "without keys")(secretsWith(t, nil).Decrypt(id, plain))
}

func TestSecretsRefuse(t *testing.T) {
	id := storage.ID{1}
	s := secretsWith(t, gcm(t, 1))
	sealed := s.Encrypt(id, "0123456789abcdef")
	altered := bytes.Clone(sealed)
	altered[len(altered)-1] ^= 1
	unknown := bytes.Clone(sealed)
	unknown[0] = 9
	var none *Encrypter
	for name, open := range map[string]func() (string, error){
		"another webhook":    func() (string, error) { return s.Decrypt(storage.ID{2}, sealed) },
		"another key":        func() (string, error) { return secretsWith(t, gcm(t, 2)).Decrypt(id, sealed) },
		"no key":             func() (string, error) { return none.Decrypt(id, sealed) },
		"altered bytes":      func() (string, error) { return s.Decrypt(id, altered) },
		"an unknown version": func() (string, error) { return s.Decrypt(id, unknown) },
		"a version alone":    func() (string, error) { return s.Decrypt(id, sealed[:1]) },
		"a cut nonce":        func() (string, error) { return s.Decrypt(id, sealed[:5]) },
		"plain and empty":    func() (string, error) { return s.Decrypt(id, []byte{0}) },
	} {
		got, err := open()
		expect.That(t, got == "" && errors.Is(err, storage.ErrSecret), "%s: %q, %v, want ErrSecret", name, got, err)
	}
	expect.That(t, expect.ErrorOf(New(gcm(t, 1), nil)) != nil, "a nil previous AEAD is accepted")
}

func TestNoSecretStaysNone(t *testing.T) {
	s := secretsWith(t, gcm(t, 1))
	sealed := s.Encrypt(storage.ID{1}, "")
	expect.That(t, sealed == nil, "Seal of nothing is %v, want nil", sealed)
	expect.Returns(t, "", "Open of nothing")(s.Decrypt(storage.ID{1}, nil))
}

func TestResealedSecretsNeedTheCurrentKeyOnly(t *testing.T) {
	id, secret := storage.ID{1}, "0123456789abcdef"
	var none *Encrypter
	seal := func(s *Encrypter) []byte { return s.Encrypt(id, secret) }
	plain, old, current := seal(none), seal(secretsWith(t, gcm(t, 1))), seal(secretsWith(t, gcm(t, 2)))
	rotating := secretsWith(t, gcm(t, 2), gcm(t, 1))
	for name, c := range map[string]struct {
		secrets *Encrypter
		stored  []byte
		changes bool
		opener  *Encrypter // what must open the result
	}{
		"sealed with the old key":       {rotating, old, true, secretsWith(t, gcm(t, 2))},
		"plain":                         {rotating, plain, true, secretsWith(t, gcm(t, 2))},
		"sealed with the current key":   {rotating, current, false, nil},
		"sealed, without a current key": {secretsWith(t, nil, gcm(t, 1)), old, true, none},
		"plain, without a current key":  {secretsWith(t, nil, gcm(t, 1)), plain, false, nil},
		"plain, without keys":           {none, plain, false, nil},
		"no secret":                     {rotating, nil, false, nil},
	} {
		got, err := c.secrets.Reencrypt(id, c.stored)
		if err != nil || (got != nil) != c.changes {
			t.Errorf("%s: %v, %v", name, got, err)
			continue
		}
		if !c.changes {
			continue
		}
		expect.Returns(t, secret, "%s: opens to", name)(c.opener.Decrypt(id, got))
	}
	expect.Error(t, "with a key that does not open it", expect.ErrorOf(secretsWith(t, gcm(t, 3)).Reencrypt(id, old)), storage.ErrSecret)
}

func TestPlainSecretsAreRefused(t *testing.T) {
	id, secret := storage.ID{1}, "0123456789abcdef"
	var none *Encrypter
	lenient := secretsWith(t, gcm(t, 2), gcm(t, 1))
	s := lenient.EncryptedOnly()
	plain := none.Encrypt(id, secret)
	got, err := s.Decrypt(id, plain)
	expect.That(t, got == "" && errors.Is(err, storage.ErrSecret), "a plain secret opens to %q, %v; want ErrSecret", got, err)
	resealed, err := s.Reencrypt(id, plain)
	expect.That(t, resealed == nil && errors.Is(err, storage.ErrSecret), "a plain secret is sealed anew: %v, %v; want ErrSecret", resealed, err)
	for name, sealed := range map[string][]byte{"current": s.Encrypt(id, secret), "previous": secretsWith(t, gcm(t, 1)).Encrypt(id, secret)} {
		expect.Returns(t, secret, "sealed with the %s key", name)(s.Decrypt(id, sealed))
	}
	expect.Returns(t, "", "no secret")(s.Decrypt(id, nil))
	expect.Returns(t, secret, "the one it is a copy of opens a plain secret to")(lenient.Decrypt(id, plain))
}
