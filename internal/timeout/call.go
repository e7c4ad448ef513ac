package timeout

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// Call calls a function of the host, which can hang, panic or ignore its context. It returns when f returns or ctx
// ends. f holds a slot of slots until it returns, so that the number of goroutines is limited.
func Call[T any](ctx context.Context, slots chan struct{}, f func(context.Context) (T, error)) (value T, err error) {
	type result struct {
		value T
		err   error
	}
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return value, fmt.Errorf("too many earlier calls have not returned: %w", context.Cause(ctx))
	}
	done := make(chan result, 1)
	go func() {
		r := result{err: errors.New("the call exited without a result")}
		defer func() {
			if p := recover(); p != nil {
				r.err = fmt.Errorf("the call panicked: %v\n%s", p, debug.Stack())
			}
			<-slots
			done <- r
		}()
		r.value, r.err = f(ctx)
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return value, context.Cause(ctx)
	}
}
