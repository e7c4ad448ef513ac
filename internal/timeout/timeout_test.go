package timeout

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func left(ctx context.Context) time.Duration {
	end, _ := ctx.Deadline()
	return time.Until(end)
}

func TestCallsShareOneTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := Share(t.Context())
		for _, want := range []time.Duration{10 * time.Second, 6 * time.Second, 2 * time.Second} {
			time.Sleep(time.Hour) // between the calls
			call, end := Start(Share(ctx), 10*time.Second)
			if got := left(call); got != want {
				t.Errorf("a call has %v, want %v", got, want)
			}
			time.Sleep(4 * time.Second)
			end()
		}
		call, end := Start(ctx, 10*time.Second)
		defer end()
		if !errors.Is(call.Err(), context.DeadlineExceeded) {
			t.Errorf("after 12 seconds of waiting: %v", call.Err())
		}
	})
}

func TestACallAloneHasItsOwnTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for range 2 {
			call, end := Start(t.Context(), time.Second)
			if got := left(call); got != time.Second {
				t.Errorf("a call has %v", got)
			}
			time.Sleep(time.Minute)
			end()
		}
	})
}
