package servicetest_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
)

// manyWebhooks is a storage whose list of webhooks is long, and may fail after some
// of them.
type manyWebhooks struct {
	storage.Storage
	total     int
	failAfter int // 0: never
	served    atomic.Int64
	reads     atomic.Int64
	running   atomic.Int64
}

func (s *manyWebhooks) Webhooks(_ context.Context, _ storage.Actor, page storage.Page) ([]storage.Webhook, error) {
	s.reads.Add(1)
	s.running.Add(1)
	defer s.running.Add(-1)
	next := s.total
	if page.After != nil {
		next = int(binary.BigEndian.Uint32(page.After.ID[8:])) - 1
	}
	var found []storage.Webhook
	for ; next > 0 && len(found) < page.Limit; next-- {
		w := storage.Webhook{URL: "https://example.com/" + strings.Repeat("u", 1000), CreatedAt: time.Unix(1_700_000_000, 0).UTC(), UpdatedAt: time.Unix(1_700_000_000, 0).UTC()}
		binary.BigEndian.PutUint32(w.ID[8:], uint32(next))
		found = append(found, w)
	}
	if s.failAfter > 0 && s.served.Load() >= int64(s.failAfter) {
		return nil, errors.New("the storage went away")
	}
	s.served.Add(int64(len(found)))
	return found, nil
}

func TestTheListOfWebhooksIsWholeHoweverLongItIs(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 999, 1000, 1001, 2000, 2345} {
		b := servicetest.Setup(t, formsvc.WithoutRateLimit())
		store := &manyWebhooks{Storage: b.Store, total: n}
		svc := servicetest.New(t, store, formsvc.WithoutRateLimit())
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			w := httptest.NewRecorder()
			servicetest.Serve(t, svc, w, b.Request(method, "/webhooks", ""))
			if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
				t.Fatalf("%d webhooks: %d %v", n, w.Code, w.Header())
			}
			if method == http.MethodHead {
				if w.Body.Len() != 0 {
					t.Errorf("HEAD has a body of %d bytes", w.Body.Len())
				}
				continue
			}
			var list struct{ Items []struct{ ID formsvc.ID } }
			if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
				t.Fatalf("%d webhooks: %v", n, err)
			}
			seen := map[formsvc.ID]bool{}
			for _, item := range list.Items {
				seen[item.ID] = true
			}
			if reads := store.reads.Swap(0); len(list.Items) != n || len(seen) != n || reads != int64(n/1000+1) {
				t.Errorf("%d items with %d ids after %d reads, want %d, a thousand in a read", len(list.Items), len(seen), reads, n)
			}
		}
	}
}

// A failure before the first byte is an answer; one in the middle ends the
// connection, so that the client cannot take the part for the whole.
func TestAListThatFailsInTheMiddleNeverLooksWhole(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t, formsvc.WithoutRateLimit())
	for _, failAfter := range []int{100, 300, 12_000} {
		store := &manyWebhooks{Storage: b.Store, total: 20_000, failAfter: failAfter}
		server := httptest.NewServer(servicetest.New(t, store, formsvc.WithoutRateLimit()))
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/v1/webhooks", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-API-Key", b.Key)
		answer, err := server.Client().Do(r)
		if err == nil {
			body, readErr := io.ReadAll(answer.Body)
			answer.Body.Close()
			if readErr == nil || json.Valid(body) {
				t.Errorf("after %d: %d bytes, valid %v, error %v; want a connection that ended", failAfter, len(body), json.Valid(body), readErr)
			}
		}
		server.Close()
	}
	first := servicetest.New(t, failingWebhooks{b.Store}, formsvc.WithoutRateLimit())
	if code := servicetest.Get(t, first, "/v1/webhooks", b.Key); code != http.StatusInternalServerError {
		t.Errorf("a failure of the first page: %d, want 500", code)
	}
}

type failingWebhooks struct{ storage.Storage }

func (failingWebhooks) Webhooks(context.Context, storage.Actor, storage.Page) ([]storage.Webhook, error) {
	return nil, errors.New("the storage went away")
}

// While a client does not read, no more than two pages are read from the storage, and
// nothing of the storage is held.
func TestASlowClientHoldsNothingOfTheStorage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := servicetest.Setup(t, formsvc.WithoutRateLimit())
		store := &manyWebhooks{Storage: b.Store, total: 1_000_000}
		svc, err := formsvc.New(formsvc.WithStorage(store), formsvc.WithoutRateLimit())
		if err != nil {
			t.Fatal(err)
		}
		p, stop := servePipes(t, svc)
		conn := p.dial()
		if _, err := io.WriteString(conn, "GET /v1/webhooks HTTP/1.1\r\nHost: x\r\nX-API-Key: "+b.Key+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReaderSize(conn, 16).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if served, running := store.served.Load(), store.running.Load(); served > 2000 || running != 0 {
			t.Errorf("%d webhooks were read and %d reads are under way while the client sleeps", served, running)
		}
		conn.Close()
		stop()
		if err := svc.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
