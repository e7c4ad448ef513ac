package servicetest_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

func TestKeyFormat(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t, formsvc.WithKeyPrefix("acme"))
	format := regexp.MustCompile(`^acme_live_[0-9A-Za-z]{49}$`)
	if !format.MatchString(b.Key) {
		t.Fatalf("the key %q is not of the form %s", b.Key, format)
	}
	keys, err := b.Keys(t.Context(), b.User.ID)
	if err != nil {
		t.Fatal(err)
	}
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
	svc, err := formsvc.New(formsvc.WithStorage(store))
	if err != nil {
		t.Fatal(err)
	}
	issued, err := svc.CreateKey(t.Context(), formsvc.KeyRequest{User: formsvc.User{ID: storage.ID{1}}, Name: "k", Scopes: storage.Scopes()})
	if err != nil {
		t.Fatal(err)
	}
	if code := servicetest.Get(t, svc, "/v1/me", issued.Secret); code != http.StatusOK || store.lookups.Load() != 1 {
		t.Fatalf("the key itself: %d after %d look-ups", code, store.lookups.Load())
	}
	for i := range issued.Secret {
		other := byte('x')
		if issued.Secret[i] == other {
			other = 'y'
		}
		mistyped := issued.Secret[:i] + string(other) + issued.Secret[i+1:]
		if code := servicetest.Get(t, svc, "/v1/me", mistyped); code != http.StatusUnauthorized {
			t.Errorf("with character %d mistyped: %d", i, code)
		}
	}
	for _, key := range []string{"fs_live_", issued.Secret[:30], issued.Secret + "0", strings.ToLower(issued.Secret), "fs_live_" + strings.Repeat("0", 49)} {
		if code := servicetest.Get(t, svc, "/v1/me", key); code != http.StatusUnauthorized {
			t.Errorf("%q: %d", key, code)
		}
	}
	if n := store.lookups.Load(); n != 1 {
		t.Errorf("%d look-ups, want only the first", n)
	}
	if err := svc.Close(t.Context()); err != nil {
		t.Error(err)
	}
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
		var faults *schema.Error
		if !errors.As(err, &faults) {
			t.Fatalf("%s: %v, want a *schema.Error", name, err)
		}
		var got []string
		for _, v := range faults.Violations {
			got = append(got, v.Path+" "+v.Code)
		}
		want := []string{"/expires_at OUT_OF_RANGE", "/name TOO_SHORT", "/scopes/1 NOT_ALLOWED", "/user/email BAD_FORMAT", "/user/id REQUIRED", "/user/name TOO_LONG"}
		if !slices.Equal(got, want) {
			t.Errorf("%s: faults %q, want %q", name, got, want)
		}

		longest := formsvc.User{ID: formsvc.UserIDFrom("long"), Name: strings.Repeat("é", 200), Email: strings.Repeat("e", 254)}
		issued, err := b.CreateKey(t.Context(), formsvc.KeyRequest{User: longest, Name: "k", Scopes: storage.Scopes()})
		if err != nil {
			t.Fatalf("%s: the longest name and e-mail: %v", name, err)
		}
		if code := servicetest.Get(t, b, "/v1/me", issued.Secret); code != http.StatusOK {
			t.Errorf("%s: %d", name, code)
		}
		longest.Email += "e"
		if _, err := b.CreateKey(t.Context(), formsvc.KeyRequest{User: longest, Name: "k", Scopes: storage.Scopes()}); !errors.As(err, &faults) {
			t.Errorf("%s: an e-mail of 255 characters: %v, want a *schema.Error", name, err)
		}
	}
}

func TestLastUseIsWrittenOutsideTheRequestAtMostOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &countingStore{Store: memory.New()}
		svc, err := formsvc.New(formsvc.WithStorage(store), formsvc.WithoutRateLimit())
		if err != nil {
			t.Fatal(err)
		}
		user := formsvc.User{ID: storage.ID{1}}
		issued, err := svc.CreateKey(t.Context(), formsvc.KeyRequest{User: user, Name: "k", Scopes: storage.Scopes()})
		if err != nil {
			t.Fatal(err)
		}
		lastUsed := func() time.Time {
			keys, err := svc.Keys(t.Context(), user.ID)
			if err != nil {
				t.Fatal(err)
			}
			return keys[0].LastUsedAt
		}
		for minute := range 3 {
			for range 30 {
				if code := servicetest.Get(t, svc, "/v1/me", issued.Secret); code != http.StatusOK {
					t.Fatalf("%d", code)
				}
				synctest.Wait()
				time.Sleep(time.Second)
			}
			if got := store.touches.Load(); got != int64(minute+1) {
				t.Fatalf("after %d minutes of use: %d writes", minute+1, got)
			}
			time.Sleep(30 * time.Second)
		}
		if age := time.Since(lastUsed()); age != time.Minute {
			t.Errorf("the last use is %v ago, want that of the last write, a minute ago", age)
		}

		// Close waits for the write of the last use.
		servicetest.Get(t, svc, "/v1/me", issued.Secret)
		if err := svc.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if age := time.Since(lastUsed()); age != 0 {
			t.Errorf("after Close the last use is %v ago, want now", age)
		}
		servicetest.Get(t, svc, "/v1/me", issued.Secret)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := store.touches.Load(); got != 4 {
			t.Errorf("%d writes, want none after Close", got)
		}
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
		if got := formsvc.UserIDFrom(host).String(); got != want {
			t.Errorf("UserIDFrom(%q) is %s, want %s", host, got, want)
		}
	}
}
