package pgtest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/formsvc/formsvc/internal/lab/dialguard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(dialguard.Guard(m)) }

// A recorder is a test whose end and whose failures a test can look at.
type recorder struct {
	name     string
	ctx      context.Context
	cancel   context.CancelFunc
	cleanups []func()

	mu      sync.Mutex
	errors  []string
	fatal   string
	skipped string
}

// record runs a test to its end, cleanups included.
func record(t *testing.T, name string, test func(TB)) *recorder {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := &recorder{name: name, ctx: ctx, cancel: cancel}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		test(r)
	}()
	<-ended
	r.cancel()
	for _, cleanup := range slices.Backward(r.cleanups) {
		cleanup()
	}
	return r
}

func (r *recorder) Helper()                  {}
func (r *recorder) Name() string             { return r.name }
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Cleanup(f func())         { r.cleanups = append(r.cleanups, f) }

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.fatal = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Skipf(format string, args ...any) {
	r.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// must returns a value that is there unless the test is broken.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// noError ends a test at an error.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
