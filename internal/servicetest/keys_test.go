package servicetest_test

import (
	"bytes"
	"context"
	"crypto/cipher"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/secrets"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/postgres"
	"github.com/formsvc/formsvc/webhooks"
)

func TestKeyFormat(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t, formsvc.WithKeyPrefix("acme"))
	format := regexp.MustCompile(`^acme_live_[0-9A-Za-z]{49}$`)
	expect.Require(t, format.MatchString(b.Key), "the key %q is not of the form %s", b.Key, format)
	keys := expect.Must(b.Keys(t.Context(), b.User.ID))
	if got, want := keys[0].Prefix, b.Key[:len("acme_live_")+6]; got != want {
		t.Errorf("the display prefix is %q, want %q", got, want)
	}
}

// countingStore counts look-ups of keys.
type countingStore struct {
	*memory.Store
	lookups atomic.Int64
	touches atomic.Int64
}

func (s *countingStore) KeyByHash(ctx context.Context, hash [32]byte) (storage.Key, storage.User, error) {
	s.lookups.Add(1)
	return s.Store.KeyByHash(ctx, hash)
}

func (s *countingStore) TouchKeys(ctx context.Context, used map[storage.ID]time.Time) error {
	s.touches.Add(1)
	return s.Store.TouchKeys(ctx, used)
}

func TestAMistypedKeyIsRefusedWithoutALookUp(t *testing.T) {
	t.Parallel()
	store := &countingStore{Store: memory.New()}
	svc := expect.Must(formsvc.New(formsvc.WithStorage(store)))
	issued := expect.Must(svc.CreateKey(t.Context(), formsvc.KeyRequest{User: formsvc.User{ID: storage.ID{1}}, Name: "k", Scopes: storage.Scopes()}))
	code := servicetest.Get(t, svc, "/v1/me", issued.Secret)
	expect.Require(t, code == http.StatusOK && store.lookups.Load() == 1, "the key itself: %d after %d look-ups", code, store.lookups.Load())
	for i := range issued.Secret {
		other := byte('x')
		if issued.Secret[i] == other {
			other = 'y'
		}
		mistyped := issued.Secret[:i] + string(other) + issued.Secret[i+1:]
		expect.Equal(t, servicetest.Get(t, svc, "/v1/me", mistyped), http.StatusUnauthorized, "with character %d mistyped", i)
	}
	for _, key := range []string{"fs_live_", issued.Secret[:30], issued.Secret + "0", strings.ToLower(issued.Secret), "fs_live_" + strings.Repeat("0", 49)} {
		expect.Equal(t, servicetest.Get(t, svc, "/v1/me", key), http.StatusUnauthorized, "%q", key)
	}
	n := store.lookups.Load()
	expect.That(t, n == 1, "%d look-ups, want only the first", n)
	check(t, svc.Close(t.Context()))
}

func TestEveryFaultOfAKeyRequestIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	past := time.Now().Add(-time.Minute)
	for name, store := range servicetest.Stores(t) {
		b := servicetest.SetupOn(t, store)
		_, err := b.CreateKey(t.Context(), formsvc.KeyRequest{
			User: formsvc.User{Name: strings.Repeat("é", 201), Email: "a\x00@example.com"},
			Name: " ", Scopes: []formsvc.Scope{"forms:read", "forms:eat"}, ExpiresAt: &past,
		})
		const want = "/expires_at OUT_OF_RANGE, /name TOO_SHORT, /scopes/1 NOT_ALLOWED, /user/email BAD_FORMAT, /user/id REQUIRED, /user/name TOO_LONG"
		expect.Equal(t, violations(err), want, "%s: faults", name)

		longest := formsvc.User{ID: formsvc.UserIDFrom("long"), Name: strings.Repeat("é", 200), Email: strings.Repeat("e", 254)}
		issued, err := b.CreateKey(t.Context(), formsvc.KeyRequest{User: longest, Name: "k", Scopes: storage.Scopes()})
		expect.Require(t, err == nil, "%s: the longest name and e-mail: %v", name, err)
		expect.Equal(t, servicetest.Get(t, b, "/v1/me", issued.Secret), http.StatusOK, "%s", name)
		longest.Email += "e"
		_, err = b.CreateKey(t.Context(), formsvc.KeyRequest{User: longest, Name: "k", Scopes: storage.Scopes()})
		refused(t, err, "%s: an e-mail of 255 characters", name)
	}
}

func TestExpiryAndRevocationTakeEffectWithTheNextRequest(t *testing.T) {
	t.Parallel()
	now := servicetest.NewClock(time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC))
	b := servicetest.Setup(t, formsvc.WithClock(now.Now))
	wants := func(what, key string, want int) {
		t.Helper()
		expect.Equal(t, servicetest.Get(t, b, "/v1/me", key), want, "%s", what)
	}
	soon := now.Now().Add(time.Hour)
	short := expect.Must(b.CreateKey(t.Context(), formsvc.KeyRequest{User: b.User, Name: "short", Scopes: storage.Scopes(), ExpiresAt: &soon}))
	now.Advance(time.Hour - time.Second)
	wants("a second before it expires", short.Secret, http.StatusOK)
	now.Advance(time.Second)
	wants("when it expires", short.Secret, http.StatusUnauthorized)

	all := expect.Must(b.Keys(t.Context(), b.User.ID))[1]
	expect.Error(t, "revoking another user's key", b.RevokeKey(t.Context(), formsvc.UserIDFrom("mallory"), all.ID), formsvc.ErrNotFound)
	wants("before it is revoked", b.Key, http.StatusOK)
	expect.NoError(t, b.RevokeKey(t.Context(), b.User.ID, all.ID))
	wants("when it is revoked", b.Key, http.StatusUnauthorized)
}

func TestLastUseIsWrittenOutsideTheRequestAtMostOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &countingStore{Store: memory.New()}
		svc := expect.Must(formsvc.New(formsvc.WithStorage(store), formsvc.WithoutRateLimit()))
		user := formsvc.User{ID: storage.ID{1}}
		issued := expect.Must(svc.CreateKey(t.Context(), formsvc.KeyRequest{User: user, Name: "k", Scopes: storage.Scopes()}))
		lastUsed := func() time.Time {
			keys := expect.Must(svc.Keys(t.Context(), user.ID))
			return keys[0].LastUsedAt
		}
		for minute := range 3 {
			for range 30 {
				code := servicetest.Get(t, svc, "/v1/me", issued.Secret)
				expect.Require(t, code == http.StatusOK, "%d", code)
				synctest.Wait()
				time.Sleep(time.Second)
			}
			got := store.touches.Load()
			expect.Require(t, got == int64(minute+1), "after %d minutes of use: %d writes", minute+1, got)
			time.Sleep(30 * time.Second)
		}
		age := time.Since(lastUsed())
		expect.That(t, age == time.Minute, "the last use is %v ago, want that of the last write, a minute ago", age)

		// Close waits for the write of the last use.
		servicetest.Get(t, svc, "/v1/me", issued.Secret)
		expect.NoError(t, svc.Close(t.Context()))
		age = time.Since(lastUsed())
		expect.That(t, age == 0, "after Close the last use is %v ago, want now", age)
		servicetest.Get(t, svc, "/v1/me", issued.Secret)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		got := store.touches.Load()
		expect.That(t, got == 4, "%d writes, want none after Close", got)
	})
}

func TestUserIDsAreFrozen(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"":                                     "e3b0c44298fc1c149afbf4c8",
		"1":                                    "6b86b273ff34fce19d6b804e",
		"ann":                                  "49915e0d7d4b402e3017d010",
		"9b2f3c1e-7d7e-4a51-8d0a-3c0f6b1f2a11": "f70bee8e1aeaa1d4e2d6fd56",
	} {
		expect.Equal(t, formsvc.UserIDFrom(host).String(), want, "UserIDFrom(%q)", host)
	}
}

// secretsOf opens all secrets of a storage with one cipher alone.
func secretsOf(t *testing.T, store storage.Storage, with cipher.AEAD) map[storage.ID]string {
	t.Helper()
	opener := expect.Must(secrets.New(with))
	found := map[storage.ID]string{}
	var after storage.ID
	for {
		page := expect.Must(store.Secrets(t.Context(), after, 100))
		if len(page) == 0 {
			return found
		}
		for _, s := range page {
			after = s.WebhookID
			expect.That(t, s.Secret[0] != 0, "webhook %s: the secret is stored as it is", s.WebhookID)
			secret, err := opener.Decrypt(s.WebhookID, s.Secret)
			expect.That(t, err == nil, "webhook %s: %v", s.WebhookID, err)
			found[s.WebhookID] = secret
			expect.Error(t, fmt.Sprintf("webhook %s, the secret before", s.WebhookID), expect.ErrorOf(opener.Decrypt(s.WebhookID, s.OldSecret)), nil)
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
			status(t, b.Do("PATCH", "/webhooks/"+first.String(), `{"signing_secret":"changed in the meantime"}`, nil), 200, "a change in the meantime")
		}
		rotating := servicetest.New(t, changing, formsvc.WithSecretCipher(newer, older))
		expect.Returns(t, count, "%s: sealed anew, one of them as the secret before", name)(rotating.ReencryptSecrets(t.Context()))
		expect.Returns(t, 1, "%s: sealed anew the second time, the one that was changed", name)(rotating.ReencryptSecrets(t.Context()))
		expect.Returns(t, 0, "%s: sealed anew the third time", name)(rotating.ReencryptSecrets(t.Context()))
		got := secretsOf(t, store, newer)
		expect.That(t, len(got) == count, "%s: %d secrets, want %d", name, len(got), count)
		for id, secret := range want {
			if got[id] != secret {
				t.Errorf("%s: webhook %s has the secret %q, want %q", name, id, got[id], secret)
			}
		}

		// Without the cipher that sealed them, nothing is lost and the error says so.
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		stranger := servicetest.New(t, store, formsvc.WithSecretCipher(aead(t, 's')))
		n, err := stranger.ReencryptSecrets(ctx)
		expect.That(t, n == 0 && errors.Is(err, formsvc.ErrSecret), "%s: %d, %v; want ErrSecret", name, n, err)
		cancel()
		n, err = rotating.ReencryptSecrets(ctx)
		expect.That(t, n == 0 && errors.Is(err, context.Canceled), "%s: with a canceled context: %d, %v", name, n, err)
		got = secretsOf(t, store, newer)
		expect.That(t, len(got) == count, "%s: %d secrets afterwards, want %d", name, len(got), count)
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
		if n, err := strict.ReencryptSecrets(t.Context()); n != 0 || !errors.Is(err, formsvc.ErrSecret) || !strings.Contains(err.Error(), bad.String()) {
			t.Errorf("%d sealed, %v; want ErrSecret and the webhook's id", n, err)
		}
		expect.Must(strict.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers("name", `"x"`)}))
		servicetest.Dispatch(t, strict)
		got := <-requests
		check(t, webhooks.Verify(servicetest.Secret, []byte(got.Body), got.Header.Get("Service-Signature")))
		if line := <-log; !strings.Contains(line, "postponed") || !strings.Contains(line, bad.String()) {
			t.Errorf("the log has %s, want that the deliveries of %s are postponed", line, bad)
		}
		expect.That(t, len(stolen) == 0, "something was sent for the webhook with the plain secret")

		// Sealed, its deliveries go out.
		expect.Returns(t, 1, "sealed")(servicetest.New(t, b.Store, cipher).ReencryptSecrets(t.Context()))
		expect.Returns(t, 0, "when all are sealed")(strict.ReencryptSecrets(t.Context()))
		expect.NoError(t, strict.SendTestEvent(t.Context(), bad))
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
			w := b.Do("PATCH", "/webhooks/"+id.String(), `{"signing_secret":"the second secret"}`, nil)
			expect.Require(t, w.Code == 200, "%s: %d %s", name, w.Code, w.Body)
		}
		stored, err := store.Secrets(t.Context(), storage.ID{}, 10)
		expect.Require(t, err == nil && len(stored) == 1, "%s: %d secrets, %v", name, len(stored), err)
		opener := expect.Must(secrets.New(cipher))
		for _, s := range []struct {
			stored []byte
			want   string
		}{{stored[0].Secret, "the second secret"}, {stored[0].OldSecret, "the first secret"}} {
			expect.Returns(t, s.want, "%s: a secret", name)(opener.Decrypt(id, s.stored))
		}
	}
}

// texts are the lines of a server's log that have no parameters of statements.
func texts(log string) string {
	var kept []string
	for line := range strings.Lines(log) {
		if !strings.Contains(strings.ToLower(line), "detail:  parameters: ") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// With log_statement = all the server logs every statement with its parameters.
func TestSigningSecretsStayOutOfTheServersLog(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t, pgtest.Config{NoSync: true, Settings: map[string]string{"log_statement": "all"}})
	servicetest.Migrated(t, pgtest.PoolAt(t, server.URL()))
	// The secret may stand in the log as it is or, as bytea is written, in hexadecimal.
	in := func(log, secret string) bool {
		return strings.Contains(log, secret) || strings.Contains(log, hex.EncodeToString([]byte(secret)))
	}
	cipher := formsvc.WithSecretCipher(aead(t, 'k'))
	for mode, name := range map[pgx.QueryExecMode]string{
		pgx.QueryExecModeCacheStatement: "cache statement", pgx.QueryExecModeCacheDescribe: "cache describe",
		pgx.QueryExecModeDescribeExec: "describe exec", pgx.QueryExecModeExec: "exec", pgx.QueryExecModeSimpleProtocol: "simple protocol",
	} {
		open := func(settings string) *servicetest.Bundle {
			pool := pgtest.PoolAt(t, server.URL(), pgtest.Mode(mode), func(c *pgxpool.Config) {
				c.ConnConfig.RuntimeParams["log_parameter_max_length"] = settings
			})
			return servicetest.SetupOn(t, postgres.New(pool), servicetest.Loopback())
		}
		secret := func(what string) string { return fmt.Sprintf("secret of %s in %s mode", what, name) }
		patch := func(b *servicetest.Bundle, id formsvc.ID, secret string) {
			t.Helper()
			w := b.Do("PATCH", "/webhooks/"+id.String(), fmt.Sprintf(`{"signing_secret":%q}`, secret), nil)
			expect.Require(t, w.Code == 200, "%s: %d %s", name, w.Code, w.Body)
		}

		// Sealed, on a server that logs all parameters. That it does shows the first secret,
		// which is stored as it is.
		plain := open("-1")
		form := plain.Form(servicetest.TextBlock, `{}`)
		shown := plain.Webhook(form, "http://127.0.0.1:8099/", secret("one"))
		log := server.Log()
		expect.That(t, in(log, secret("one")), "%s: the log has no parameters:\n%s", name, log)
		expect.That(t, mode == pgx.QueryExecModeSimpleProtocol || !in(texts(log), secret("one")),
			"%s: a secret stands in the text of a statement", name)
		logged := len(log)
		sealing := servicetest.New(t, plain.Store, servicetest.Loopback(), cipher)
		n, err := sealing.ReencryptSecrets(t.Context())
		expect.That(t, err == nil && n != 0, "%s: %d sealed, %v", name, n, err)
		sealed := &servicetest.Bundle{Service: sealing, T: t, Store: plain.Store, User: plain.User, Key: plain.Key, Workspace: plain.Workspace}
		patch(sealed, sealed.Webhook(form, "http://127.0.0.1:8099/", secret("two")), secret("three"))
		patch(sealed, shown, secret("four"))
		for _, what := range []string{"one", "two", "three", "four"} {
			expect.That(t, !in(server.Log()[logged:], secret(what)), "%s: the log has the sealed secret %s", name, what)
		}

		// Not sealed, on a server that logs no parameters.
		if mode == pgx.QueryExecModeSimpleProtocol {
			continue // it writes values into the text, as package storage/postgres says
		}
		bare := open("0")
		patch(bare, bare.Webhook(bare.Form(servicetest.TextBlock, `{}`), "http://127.0.0.1:8099/", secret("five")), secret("six"))
		for _, what := range []string{"five", "six"} {
			expect.That(t, !in(server.Log(), secret(what)), "%s: the log has the secret %s, though parameters are not logged", name, what)
		}
	}
}

// Whatever holds a secret shows none of it, wherever it stands in what is printed,
// logged or made JSON of.
func TestNoSecretIsPrinted(t *testing.T) {
	t.Parallel()
	const secret = "s3cret-that-nobody-reads"
	given := secret
	key := formsvc.IssuedKey{Key: formsvc.Key{Prefix: "fs_live_ab12", Name: "named"}, Secret: secret}
	hook := formsvc.WebhookCreate{URL: "https://named.example/", SigningSecret: secret}
	update := formsvc.WebhookUpdate{SigningSecret: &given}
	for name, v := range map[string]any{
		"a key": key, "a webhook": hook, "an update": update, "pointers": []any{&key, &hook, &update},
		"a struct": struct {
			Key    formsvc.IssuedKey
			Hook   *formsvc.WebhookCreate
			Update formsvc.WebhookUpdate
		}{key, &hook, update},
		"slices": struct {
			Keys  []formsvc.IssuedKey
			Hooks [1]formsvc.WebhookCreate
		}{[]formsvc.IssuedKey{key}, [1]formsvc.WebhookCreate{hook}},
		"maps":     map[string]any{"key": map[string]formsvc.IssuedKey{"": key}, "hooks": map[string]*formsvc.WebhookCreate{"": &hook}},
		"embedded": struct{ formsvc.WebhookCreate }{hook},
	} {
		check := func(how, text string) {
			t.Helper()
			if lower := strings.ToLower(text); strings.Contains(lower, secret) || strings.Contains(lower, hex.EncodeToString([]byte(secret))) {
				t.Errorf("%s, %s: the secret is shown: %s", name, how, text)
			}
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%d", "%s", "%q", "%x", "%X", "%+q", "%40v", "%t"} {
			check(verb, fmt.Sprintf(verb, v))
		}
		text := expect.Must(json.Marshal(v))
		check("JSON", string(text))
		for how, handler := range map[string]func(io.Writer, *slog.HandlerOptions) slog.Handler{
			"slog's text": func(w io.Writer, o *slog.HandlerOptions) slog.Handler { return slog.NewTextHandler(w, o) },
			"slog's JSON": func(w io.Writer, o *slog.HandlerOptions) slog.Handler { return slog.NewJSONHandler(w, o) },
		} {
			var out bytes.Buffer
			slog.New(handler(&out, nil)).Info("x", "error", v, slog.Group("reason", "key", v))
			check(how, out.String())
		}
	}

	// What is no secret is there, and what was given stays as it was.
	for text, want := range map[string]string{
		fmt.Sprint(key): "fs_live_ab12…", fmt.Sprintf("%#v", key): "fs_live_ab12…",
		fmt.Sprintf("%+v", hook): "https://named.example/", fmt.Sprintf("%v", &hook): "…",
	} {
		expect.That(t, strings.Contains(text, want), "%q is not in %q", want, text)
	}
	for want, v := range map[string]any{
		`{"Key":{"ID":"000000000000000000000000"`: key, `"SigningSecret":"…"`: hook,
		`"SigningSecret":""`: formsvc.WebhookCreate{}, `{"URL":null,"Enabled":null,"SigningSecret":"…","FormDetails":null,"Updates":null}`: update,
	} {
		if text, err := json.Marshal(v); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s, %v; want %s", text, err, want)
		}
	}
	expect.That(t, key.Secret == secret && hook.SigningSecret == secret && *update.SigningSecret == secret, "printing changed a value")
	var read formsvc.WebhookCreate
	err := json.Unmarshal([]byte(`{"SigningSecret":"`+secret+`"}`), &read)
	expect.That(t, err == nil && read.SigningSecret == secret, "a signing secret is not read from JSON: %v", err)
}
