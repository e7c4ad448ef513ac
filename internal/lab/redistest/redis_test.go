package redistest

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/sethvargo/go-limiter"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// redisStore lets replicas share one limit: a limiter.Store over redis_rate. Only
// Take is called by the service.
type redisStore struct {
	limiter.Store
	rate  *redis_rate.Limiter
	limit redis_rate.Limit
}

func (s redisStore) Take(ctx context.Context, key string) (tokens, remaining, reset uint64, ok bool, err error) {
	r, err := s.rate.Allow(ctx, key, s.limit)
	if err != nil {
		return 0, 0, 0, false, err
	}
	wait := r.ResetAfter
	if r.Allowed == 0 {
		wait = r.RetryAfter
	}
	return uint64(r.Limit.Rate), uint64(r.Remaining), uint64(time.Now().Add(wait).UnixNano()), r.Allowed > 0, nil
}

// redisServer starts a Redis of the test's own and returns its address.
func redisServer(t *testing.T) (address string, process *os.Process) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("FORMSVC_TEST_REQUIRE_CLIENTS") != "" {
			t.Fatal(err)
		}
		t.Skipf("%v (make clients installs it)", err)
	}
	address = filepath.Join(t.TempDir(), "redis") // a socket: a free port may not be free when Redis begins
	command := exec.Command(path, "--port", "0", "--unixsocket", address, "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGCONT)
		_ = command.Process.Kill()
		_ = command.Wait() // it was killed
	})
	client := redis.NewClient(&redis.Options{Addr: address})
	defer client.Close()
	for deadline := time.Now().Add(time.Minute); client.Ping(t.Context()).Err() != nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("redis does not answer")
		}
	}
	return address, command.Process
}

// lockedLog is a log that may be read while it is written.
type lockedLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A Redis that hangs holds each call up for 250 ms at most, and is logged when it
// begins and when it ends.
func TestARedisThatHangsDoesNotHangTheAPI(t *testing.T) {
	address, process := redisServer(t)
	client := redis.NewClient(&redis.Options{Addr: address}) // with its defaults, which wait for seconds
	defer client.Close()
	log := &lockedLog{}
	svc, err := formsvc.New(
		formsvc.WithStorage(memory.New()),
		formsvc.WithLimiter(redisStore{rate: redis_rate.NewLimiter(client), limit: redis_rate.PerHour(50)}),
		formsvc.WithLogger(slog.New(slog.NewTextHandler(log, nil))),
	)
	if err != nil {
		t.Fatal(err)
	}
	issued, err := svc.CreateKey(t.Context(), formsvc.KeyRequest{User: formsvc.User{ID: formsvc.UserIDFrom("ann")}, Name: "k", Scopes: storage.Scopes()})
	if err != nil {
		t.Fatal(err)
	}
	call := func() (int, time.Duration, http.Header) {
		r := httptest.NewRequest(http.MethodGet, "/v1/me", nil)
		r.Header.Set("X-API-Key", issued.Secret)
		w := httptest.NewRecorder()
		start := time.Now()
		svc.ServeHTTP(w, r)
		return w.Code, time.Since(start), w.Header()
	}

	// counted calls until Redis has answered in time: on a busy machine the first connection may take too long.
	deadline := time.Now().Add(time.Minute)
	counted := func() (code, uncounted int) {
		t.Helper()
		for ; ; uncounted++ {
			code, _, header := call()
			if header.Get("RateLimit") != "" {
				return code, uncounted
			}
			if code != http.StatusOK || time.Now().After(deadline) {
				t.Fatalf("Redis runs, and a call is not counted: %d %v\n%s", code, header, log)
			}
		}
	}
	if code, _ := counted(); code != http.StatusOK {
		t.Fatalf("%d", code)
	}
	before := log.String() // the log is about the outage from here on
	logged := func() string { return strings.TrimPrefix(log.String(), before) }

	if err := process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var slowest time.Duration
	var mu sync.Mutex
	for range 40 {
		wg.Go(func() {
			code, took, _ := call()
			mu.Lock()
			defer mu.Unlock()
			slowest = max(slowest, took)
			if code != http.StatusOK {
				t.Errorf("while Redis hangs: %d, want 200", code)
			}
		})
	}
	wg.Wait()
	t.Logf("the slowest of 40 calls beside a stopped Redis took %v", slowest)
	if slowest > 4*time.Second { // go-redis by itself takes 5 to 10
		t.Errorf("a call took %v", slowest)
	}
	if got := strings.Count(logged(), "rate limiter"); got != 1 {
		t.Errorf("%d lines of the log while it hangs, want 1:\n%s", got, log)
	}

	if err := process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	deadline = time.Now().Add(time.Minute)
	for !strings.Contains(logged(), "rate limiter recovered") {
		if time.Now().After(deadline) {
			t.Fatalf("it never works again:\n%s", log)
		}
		call()
	}
	// The limit holds again. What a busy machine lets pass uncounted is an outage of its own.
	outages := 1
	for range 60 {
		code, uncounted := counted()
		outages += min(uncounted, 1)
		if code == http.StatusTooManyRequests {
			if got := strings.Count(logged(), "rate limiter"); got != 2*outages {
				t.Errorf("%d lines of the log, want %d:\n%s", got, 2*outages, log)
			}
			return
		}
	}
	t.Error("the limit does not hold after Redis works again")
}
