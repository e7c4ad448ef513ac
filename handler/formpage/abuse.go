package formpage

import (
	"context"
	"net/http"
	"time"
)

// limiterPatience is how long a limiter may take. One that hangs lets visitors pass.
const limiterPatience = 250 * time.Millisecond

// What an address is charged for, each with a budget of its own.
const (
	chargeStored = "" // what is stored, or asked of a captcha's service
	// What the funnel counts is charged by the names of the events.
)

// allowed reports whether the visitor's address may do one more thing of a kind. A request
// is charged once for all that it stores.
func (c *call) allowed() bool {
	if !c.charged {
		c.charged, c.limited = true, !c.h.allowed(c.r, chargeStored)
	}
	return !c.limited
}

// allowed charges the visitor's address.
func (h *Handler) allowed(r *http.Request, kind string) bool {
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
		_, _, _, ok, err := h.config.Limiter.Take(ctx, "formsvc:page:"+kind+address)
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
