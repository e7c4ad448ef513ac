package conn

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func TestACallIsTriedAgainUntilItWorks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		began := time.Now()
		err := (&Conn{DB: nothing{}}).Write(t.Context(), func(context.Context) error {
			if tries++; tries < maxAttempts {
				return reportedBy("40001")
			}
			return nil
		})
		if err != nil || tries != maxAttempts {
			t.Errorf("%d tries, %v", tries, err)
		}
		// 10, 20 and 40 ms, or down to a half of that.
		if took := time.Since(began); took < 35*time.Millisecond || took > 70*time.Millisecond {
			t.Errorf("the pauses took %v", took)
		}
	})
}

func TestAContextEndsThePauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		tries := 0
		began := time.Now()
		err := (&Conn{DB: nothing{}}).Read(ctx, func(context.Context) error {
			tries++
			return reportedBy("40001")
		})
		if tries != 1 || time.Since(began) != time.Millisecond {
			t.Errorf("%d tries in %v", tries, time.Since(began))
		}
		if !errors.Is(err, context.DeadlineExceeded) || SQLState(err) != "40001" {
			t.Errorf("error %v", err)
		}
	})
}

func TestAContextThatHasEndedStopsTheCallBeforeItBegins(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range map[string]func(*Conn, context.Context, func(context.Context) error) error{
		"read": (*Conn).Read, "write": (*Conn).Write,
	} {
		err := call(&Conn{DB: nothing{}}, ctx, func(context.Context) error {
			t.Errorf("%s began", name)
			return nil
		})
		if !errors.Is(err, context.Canceled) || errors.Is(err, storage.ErrOutcomeUnknown) {
			t.Errorf("%s = %v", name, err)
		}
	}
}

// The server may have made the change that was canceled.
func TestAChangeThatIsCancelledOnTheWay(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	err := (&Conn{DB: nothing{}}).Write(ctx, func(context.Context) error {
		cancel()
		return io.ErrUnexpectedEOF
	})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, storage.ErrOutcomeUnknown) {
		t.Errorf("write = %v", err)
	}

	ctx, cancel = context.WithCancel(t.Context())
	err = (&Conn{DB: nothing{}}).Write(ctx, func(context.Context) error {
		cancel()
		return reportedBy("57014")
	})
	if !errors.Is(err, context.Canceled) || errors.Is(err, storage.ErrOutcomeUnknown) {
		t.Errorf("write that the server gave up = %v", err)
	}
}

func TestPausesAreNotTheSameForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := map[time.Duration]bool{}
		for range 10 {
			began := time.Now()
			sleepRandomly(t.Context(), firstPause)
			seen[time.Since(began)] = true
		}
		if len(seen) < 2 {
			t.Errorf("pauses: %v", seen)
		}
	})
}
