package timeout

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

func left(ctx context.Context) time.Duration {
	end, _ := ctx.Deadline()
	return time.Until(end)
}

func TestCallsShareOneTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := WithBudget(t.Context())
		for _, want := range []time.Duration{10 * time.Second, 6 * time.Second, 2 * time.Second} {
			time.Sleep(time.Hour) // between the calls
			call, end := WithTimeout(WithBudget(ctx), 10*time.Second)
			expect.Equal(t, left(call), want, "a call")
			time.Sleep(4 * time.Second)
			end()
		}
		call, end := WithTimeout(ctx, 10*time.Second)
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
			call, end := WithTimeout(t.Context(), time.Second)
			expect.Equal(t, left(call), time.Second, "a call")
			time.Sleep(time.Minute)
			end()
		}
	})
}
