package servicetest_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
)

// A mistyped path is not taken for a form that is somebody else's.
func TestAPathWithoutAnOperationLeadsToTheDescription(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t, formsvc.WithBaseURL("https://example.com/api"))
	const leads = "GET https://example.com/api/v1/openapi.json lists them."
	for path, want := range map[string]bool{"/form": true, "/me/": true, "/forms/1": false, "/forms/65a1f0c2d4e5b6a7980c1d02": false} {
		if w := b.Do(http.MethodGet, path, "", nil); w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), leads) != want {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// The digest of a cursor is no secret, so a caller can write one for any time.
func TestCursorsAtTheEndsOfTimeAreInvalid(t *testing.T) {
	t.Parallel()
	for name, store := range servicetest.Stores(t) {
		b := servicetest.SetupOn(t, store)
		form := b.Form(servicetest.TextBlock, `{}`)
		for path, list := range map[string]string{
			"/workspaces": "workspaces",
			"/forms":      "forms",
			"/forms/" + form.String() + "/submissions": "submissions " + form.String(),
		} {
			filters := ""
			if strings.HasPrefix(list, "submissions") {
				filters = "0001-01-01T00:00:00Z 0001-01-01T00:00:00Z"
			}
			for _, micros := range []int64{math.MinInt64, math.MaxInt64, -1 << 62, 1 << 62, 253_402_300_800_000_000} {
				w := b.Do(http.MethodGet, path+"?cursor="+forgedCursor(list, b.User.ID, filters, micros), "", nil)
				if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "INVALID_CURSOR") {
					t.Errorf("%s: %s at %d: %d %s", name, path, micros, w.Code, w.Body)
				}
			}
			// The forgery itself is good: a time that can be compared with is accepted.
			if w := b.Do(http.MethodGet, path+"?cursor="+forgedCursor(list, b.User.ID, filters, 1_700_000_000_000_000), "", nil); w.Code != http.StatusOK {
				t.Errorf("%s: %s at an ordinary time: %d %s", name, path, w.Code, w.Body)
			}
		}
	}
}

// forgedCursor writes a cursor as package cursor does.
func forgedCursor(list string, owner formsvc.ID, filters string, micros int64) string {
	raw := binary.BigEndian.AppendUint64([]byte{1}, uint64(micros))
	raw = append(raw, make([]byte, 12)...)
	digested := append(append([]byte(nil), raw...), owner[:]...)
	digested = binary.BigEndian.AppendUint32(digested, uint32(len(list)))
	digested = append(append(digested, list...), filters...)
	digest := sha256.Sum256(digested)
	return base64.RawURLEncoding.EncodeToString(append(raw, digest[:11]...))
}

func TestAPublicIDThatNoStoreCanHaveIsNotFound(t *testing.T) {
	t.Parallel()
	for name, store := range servicetest.Stores(t) {
		b := servicetest.SetupOn(t, store)
		for _, id := range []string{"", "a\x00bcdefghijk", "\xff\xfebcdefghij", strings.Repeat("a", 12), strings.Repeat("a", 1<<20)} {
			if _, err := b.PublicForm(t.Context(), id); !errors.Is(err, formsvc.ErrNotFound) {
				t.Errorf("%s: %.20q: %v, want ErrNotFound", name, id, err)
			}
		}
	}
}
