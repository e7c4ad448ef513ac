package formpage

import (
	"context"
	"net/http"
	"time"
)

// limiterPatience is how long a limiter may take. One that hangs lets visitors pass.
const limiterPatience = 250 * time.Millisecond

// allowed reports whether the visitor's address may send one more page.
func (h *Handler) allowed(r *http.Request) bool {
	if h.config.Limiter == nil {
		return true
	}
	address := h.config.Address(r)
	if address == "" {
		return true
	}
	ctx, cancel := context.WithTimeout(r.Context(), limiterPatience)
	defer cancel()
	type verdict struct {
		ok  bool
		err error
	}
	// A store may not heed its context.
	answer := make(chan verdict, 1)
	go func() {
		_, _, _, ok, err := h.config.Limiter.Take(ctx, "formsvc:page:"+address)
		answer <- verdict{ok, err}
	}()
	select {
	case v := <-answer:
		if v.err != nil {
			h.logger.WarnContext(r.Context(), "the limiter of the pages failed", "error", v.err)
			return true
		}
		return v.ok
	case <-ctx.Done():
		h.logger.WarnContext(r.Context(), "the limiter of the pages did not answer in time")
		return true
	}
}
