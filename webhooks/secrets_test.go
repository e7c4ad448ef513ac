package webhooks

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func gcm(t *testing.T, key byte) cipher.AEAD {
	t.Helper()
	block, err := aes.NewCipher(bytes.Repeat([]byte{key}, 32))
	must(t, err)
	aead, err := cipher.NewGCM(block)
	must(t, err)
	return aead
}

func secretsWith(t *testing.T, current cipher.AEAD, previous ...cipher.AEAD) *Secrets {
	t.Helper()
	s, err := NewSecrets(current, previous...)
	must(t, err)
	return s
}

func TestSecretsSurviveARotation(t *testing.T) {
	t.Parallel()
	id, secret := storage.ID{1}, "0123456789abcdef"
	var none *Secrets
	plain, err := none.Seal(id, secret)
	must(t, err)
	old, err := secretsWith(t, gcm(t, 1)).Seal(id, secret)
	must(t, err)
	if bytes.Contains(old, []byte(secret)) {
		t.Error("the sealed bytes contain the secret")
	}
	again, err := secretsWith(t, gcm(t, 1)).Seal(id, secret)
	must(t, err)
	if bytes.Equal(old, again) {
		t.Error("sealed twice gives the same bytes: the nonce repeats")
	}
	rotated := secretsWith(t, gcm(t, 2), gcm(t, 1))
	current, err := rotated.Seal(id, secret)
	must(t, err)
	for name, sealed := range map[string][]byte{"plain": plain, "old key": old, "new key": current} {
		before := bytes.Clone(sealed)
		got, err := rotated.Open(id, sealed)
		if err != nil || got != secret {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if !bytes.Equal(before, sealed) {
			t.Errorf("%s: Open changed the bytes it was given", name)
		}
	}
	if got, err := secretsWith(t, nil, gcm(t, 1)).Open(id, old); err != nil || got != secret {
		t.Errorf("without a current key the old one opens %q, %v", got, err)
	}
	if got, err := secretsWith(t, nil).Open(id, plain); err != nil || got != secret {
		t.Errorf("without keys: %q, %v", got, err)
	}
}

func TestSecretsRefuse(t *testing.T) {
	t.Parallel()
	id := storage.ID{1}
	s := secretsWith(t, gcm(t, 1))
	sealed, err := s.Seal(id, "0123456789abcdef")
	must(t, err)
	altered := bytes.Clone(sealed)
	altered[len(altered)-1] ^= 1
	unknown := bytes.Clone(sealed)
	unknown[0] = 9
	var none *Secrets
	for name, open := range map[string]func() (string, error){
		"another webhook":    func() (string, error) { return s.Open(storage.ID{2}, sealed) },
		"another key":        func() (string, error) { return secretsWith(t, gcm(t, 2)).Open(id, sealed) },
		"no key":             func() (string, error) { return none.Open(id, sealed) },
		"altered bytes":      func() (string, error) { return s.Open(id, altered) },
		"an unknown version": func() (string, error) { return s.Open(id, unknown) },
		"a version alone":    func() (string, error) { return s.Open(id, sealed[:1]) },
		"a cut nonce":        func() (string, error) { return s.Open(id, sealed[:5]) },
		"plain and empty":    func() (string, error) { return s.Open(id, []byte{0}) },
	} {
		if got, err := open(); got != "" || !errors.Is(err, ErrSecret) {
			t.Errorf("%s: %q, %v, want ErrSecret", name, got, err)
		}
	}
	if _, err := NewSecrets(gcm(t, 1), nil); err == nil {
		t.Error("a nil previous AEAD is accepted")
	}
}

func TestNoSecretStaysNone(t *testing.T) {
	t.Parallel()
	s := secretsWith(t, gcm(t, 1))
	sealed, err := s.Seal(storage.ID{1}, "")
	if sealed != nil || err != nil {
		t.Errorf("Seal of nothing is %v, %v, want nil", sealed, err)
	}
	if got, err := s.Open(storage.ID{1}, nil); got != "" || err != nil {
		t.Errorf("Open of nothing is %q, %v", got, err)
	}
}

func TestResealedSecretsNeedTheCurrentKeyOnly(t *testing.T) {
	t.Parallel()
	id, secret := storage.ID{1}, "0123456789abcdef"
	var none *Secrets
	seal := func(s *Secrets) []byte {
		sealed, err := s.Seal(id, secret)
		must(t, err)
		return sealed
	}
	plain, old, current := seal(none), seal(secretsWith(t, gcm(t, 1))), seal(secretsWith(t, gcm(t, 2)))
	rotating := secretsWith(t, gcm(t, 2), gcm(t, 1))
	for name, c := range map[string]struct {
		secrets *Secrets
		stored  []byte
		changes bool
		opener  *Secrets // what must open the result
	}{
		"sealed with the old key":       {rotating, old, true, secretsWith(t, gcm(t, 2))},
		"plain":                         {rotating, plain, true, secretsWith(t, gcm(t, 2))},
		"sealed with the current key":   {rotating, current, false, nil},
		"sealed, without a current key": {secretsWith(t, nil, gcm(t, 1)), old, true, none},
		"plain, without a current key":  {secretsWith(t, nil, gcm(t, 1)), plain, false, nil},
		"plain, without keys":           {none, plain, false, nil},
		"no secret":                     {rotating, nil, false, nil},
	} {
		got, err := c.secrets.Reseal(id, c.stored)
		if err != nil || (got != nil) != c.changes {
			t.Errorf("%s: %v, %v", name, got, err)
			continue
		}
		if !c.changes {
			continue
		}
		if opened, err := c.opener.Open(id, got); err != nil || opened != secret {
			t.Errorf("%s: opens to %q, %v", name, opened, err)
		}
	}
	if _, err := secretsWith(t, gcm(t, 3)).Reseal(id, old); !errors.Is(err, ErrSecret) {
		t.Errorf("with a key that does not open it: %v, want ErrSecret", err)
	}
}

// One line says that a webhook's secret cannot be opened, however many deliveries wait
// for it, and one that it can be again.
func TestASecretThatCannotBeOpenedIsReportedOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) { return reply(200), nil }))
		id := b.webhook(hook, []byte{secretSealed, 1, 2, 3})
		for range 10 {
			b.event(id, "x")
		}
		b.run()
		time.Sleep(10 * time.Minute)
		count := func(text string) int { return strings.Count(b.log.String(), text) }
		if got := count(`"level":"ERROR"`); got != 1 || count("put off") != 1 {
			t.Errorf("%d errors are logged, want 1:\n%s", got, b.log)
		}
		plain := []byte("\x00secret")
		_, err := b.store.UpdateWebhook(t.Context(), storage.AsHost(), id, storage.WebhookChange{Secret: &plain, At: time.Now()})
		must(t, err)
		time.Sleep(10 * time.Minute)
		if len(b.attempts(id)) != 10 || count("go on") != 1 {
			t.Errorf("%d attempts and %d lines say that it can be opened again, want 10 and 1", len(b.attempts(id)), count("go on"))
		}
	})
}
