package servicetest_test

import (
	"context"
	"crypto/cipher"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/secrets"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/webhooks"
)

// secretsOf opens all secrets of a storage with one cipher alone.
func secretsOf(t *testing.T, store storage.Storage, with cipher.AEAD) map[storage.ID]string {
	t.Helper()
	opener, err := secrets.New(with)
	if err != nil {
		t.Fatal(err)
	}
	found := map[storage.ID]string{}
	var after storage.ID
	for {
		page, err := store.Secrets(t.Context(), after, 100)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return found
		}
		for _, s := range page {
			after = s.WebhookID
			if s.Secret[0] == 0 {
				t.Errorf("webhook %s: the secret is stored as it is", s.WebhookID)
			}
			secret, err := opener.Open(s.WebhookID, s.Secret)
			if err != nil {
				t.Errorf("webhook %s: %v", s.WebhookID, err)
			}
			found[s.WebhookID] = secret
			if _, err := opener.Open(s.WebhookID, s.OldSecret); err != nil {
				t.Errorf("webhook %s, the secret before: %v", s.WebhookID, err)
			}
		}
	}
}

// changesSecrets changes the secret of one webhook between the read and the write of
// the first piece.
type changesSecrets struct {
	storage.Storage
	once   sync.Once
	change func()
}

func (s *changesSecrets) Secrets(ctx context.Context, after storage.ID, limit int) ([]storage.StoredSecret, error) {
	found, err := s.Storage.Secrets(ctx, after, limit)
	s.once.Do(s.change)
	return found, err
}

func TestAnOldCipherCanBeRetired(t *testing.T) {
	t.Parallel()
	for name, store := range servicetest.Stores(t) {
		const count = 1100 // more than two pieces
		older, newer := aead(t, 'o'), aead(t, 'n')
		plain := servicetest.SetupOn(t, store, servicetest.Loopback(), formsvc.WithLimits(formsvc.Limits{Webhooks: 2000}), formsvc.WithoutRateLimit())
		limits := formsvc.WithLimits(formsvc.Limits{Webhooks: 2000})
		sealing := servicetest.New(t, store, servicetest.Loopback(), limits, formsvc.WithoutRateLimit(), formsvc.WithSecretCipher(older))
		kept, trashed := plain.Form(servicetest.TextBlock, `{}`), plain.Form(servicetest.TextBlock, `{}`)
		want := map[storage.ID]string{}
		create := func(b *servicetest.Bundle, form formsvc.ID) formsvc.ID {
			secret := fmt.Sprintf("secret number %06d", len(want))
			id := b.Webhook(form, "http://127.0.0.1:8099/", secret)
			want[id] = secret
			return id
		}
		b := &servicetest.Bundle{Service: sealing, T: t, Store: store, User: plain.User, Key: plain.Key, Workspace: plain.Workspace}
		first := create(b, kept) // in the first piece
		for range count - 3 {
			create(b, kept)
		}
		create(b, trashed)
		create(plain, kept)
		b.Do("DELETE", "/forms/"+trashed.String(), "", nil)

		// One secret is changed by a caller while another process seals.
		changing := &changesSecrets{Storage: store}
		changing.change = func() {
			want[first] = "changed in the meantime"
			if w := b.Do("PATCH", "/webhooks/"+first.String(), `{"signing_secret":"changed in the meantime"}`, nil); w.Code != 200 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
		rotating := servicetest.New(t, changing, formsvc.WithSecretCipher(newer, older))
		if n, err := rotating.ResealSecrets(t.Context()); err != nil || n != count {
			t.Errorf("%s: %d sealed anew, %v; want %d, one of them as the secret before", name, n, err, count)
		}
		if n, err := rotating.ResealSecrets(t.Context()); err != nil || n != 1 {
			t.Errorf("%s: %d sealed anew the second time, %v; want the one that was changed", name, n, err)
		}
		if n, err := rotating.ResealSecrets(t.Context()); err != nil || n != 0 {
			t.Errorf("%s: %d sealed anew the third time, %v; want none", name, n, err)
		}
		got := secretsOf(t, store, newer)
		if len(got) != count {
			t.Errorf("%s: %d secrets, want %d", name, len(got), count)
		}
		for id, secret := range want {
			if got[id] != secret {
				t.Errorf("%s: webhook %s has the secret %q, want %q", name, id, got[id], secret)
			}
		}

		// Without the cipher that sealed them, nothing is lost and the error says so.
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		stranger := servicetest.New(t, store, formsvc.WithSecretCipher(aead(t, 's')))
		if n, err := stranger.ResealSecrets(ctx); n != 0 || !errors.Is(err, formsvc.ErrSecret) {
			t.Errorf("%s: %d, %v; want ErrSecret", name, n, err)
		}
		cancel()
		if n, err := rotating.ResealSecrets(ctx); n != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: with a cancelled context: %d, %v", name, n, err)
		}
		if got := secretsOf(t, store, newer); len(got) != count {
			t.Errorf("%s: %d secrets afterwards, want %d", name, len(got), count)
		}
	}
}

// lines is a log whose lines are read while it is written.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

func TestPlainSecretsCanBeRefused(t *testing.T) {
	t.Parallel()
	if _, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithoutPlainSecrets()); err == nil || !strings.Contains(err.Error(), "WithSecretCipher") {
		t.Errorf("without a cipher: %v, want an error that names WithSecretCipher", err)
	}
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		cipher := formsvc.WithSecretCipher(aead(t, 'k'))
		url, requests := servicetest.Receiver(t)
		planted, stolen := servicetest.Receiver(t)
		form := b.Form(servicetest.TextBlock, `{}`)
		bad := b.Webhook(form, planted, servicetest.Secret)
		log := make(lines, 100)
		strict := servicetest.New(t, b.Store, servicetest.Loopback(), formsvc.WithoutRateLimit(), formsvc.WithoutPlainSecrets(), cipher,
			formsvc.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
		sealing := &servicetest.Bundle{Service: strict, T: t, Store: b.Store, User: b.User, Key: b.Key, Workspace: b.Workspace}
		sealing.Webhook(form, url, servicetest.Secret)
		if n, err := strict.ResealSecrets(t.Context()); n != 0 || !errors.Is(err, formsvc.ErrSecret) || !strings.Contains(err.Error(), bad.String()) {
			t.Errorf("%d sealed, %v; want ErrSecret and the webhook's id", n, err)
		}
		if _, err := strict.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", `"x"`)}); err != nil {
			t.Fatal(err)
		}
		servicetest.Dispatch(t, strict)
		got := <-requests
		if err := webhooks.Verify(servicetest.Secret, []byte(got.Body), got.Header.Get("Service-Signature")); err != nil {
			t.Error(err)
		}
		if line := <-log; !strings.Contains(line, "put off") || !strings.Contains(line, bad.String()) {
			t.Errorf("the log has %s, want that the deliveries of %s are put off", line, bad)
		}
		if len(stolen) > 0 {
			t.Error("something was sent for the webhook with the plain secret")
		}

		// Sealed, its deliveries go out.
		if n, err := servicetest.New(t, b.Store, cipher).ResealSecrets(t.Context()); n != 1 || err != nil {
			t.Errorf("%d sealed, %v", n, err)
		}
		if n, err := strict.ResealSecrets(t.Context()); n != 0 || err != nil {
			t.Errorf("when all are sealed: %d, %v", n, err)
		}
		if err := strict.SendTestEvent(t.Context(), bad); err != nil {
			t.Fatal(err)
		}
		if got := <-stolen; webhooks.Verify(servicetest.Secret, []byte(got.Body), got.Header.Get("Service-Signature")) != nil {
			t.Error("what is sent then has no valid signature")
		}
	})
}

// A client that repeats its PATCH does not end the day of the secret before, though no
// two sealed secrets are alike.
func TestARepeatedSecretIsNoChange(t *testing.T) {
	t.Parallel()
	for name, store := range servicetest.Stores(t) {
		cipher := aead(t, 'k')
		b := servicetest.SetupOn(t, store, servicetest.Loopback(), formsvc.WithSecretCipher(cipher))
		id := b.Webhook(b.Form(servicetest.TextBlock, `{}`), "http://127.0.0.1:8099/", "the first secret")
		for range 3 {
			if w := b.Do("PATCH", "/webhooks/"+id.String(), `{"signing_secret":"the second secret"}`, nil); w.Code != 200 {
				t.Fatalf("%s: %d %s", name, w.Code, w.Body)
			}
		}
		stored, err := store.Secrets(t.Context(), storage.ID{}, 10)
		if err != nil || len(stored) != 1 {
			t.Fatalf("%s: %d secrets, %v", name, len(stored), err)
		}
		opener, err := secrets.New(cipher)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []struct {
			stored []byte
			want   string
		}{{stored[0].Secret, "the second secret"}, {stored[0].OldSecret, "the first secret"}} {
			if got, err := opener.Open(id, s.stored); err != nil || got != s.want {
				t.Errorf("%s: %q (%v), want %q", name, got, err, s.want)
			}
		}
	}
}
