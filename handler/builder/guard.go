package builder

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/cache"
	"github.com/formsvc/formsvc/ratelimit"
)

// Limits holds the limits that apply to each user. Each process counts separately. Zero fields use the defaults, and
// negative values mean no limit. A request that exceeds a limit gets a 429 with Retry-After.
type Limits struct {
	Requests   int // per minute, except for scripts and styles; defaults to 600
	TestEvents int // test events per minute; defaults to 10

	// These limits apply to concurrent work and default to 2. Renders and summaries wait up to 10 seconds for a slot.
	Renders   int // forms being rendered in the editor, and versions being compared
	Summaries int // and lists with a filter; one summary or list with a filter runs at a time
	Exports   int
}

type limiters struct{ requests, tests *ratelimit.Limiter }

func newLimiters(l Limits) (made limiters, err error) {
	perMinute := func(most int) *ratelimit.Limiter {
		if most < 0 {
			return nil
		}
		limiter, e := ratelimit.New(uint64(most), time.Minute)
		err = errors.Join(err, e)
		return limiter
	}
	return limiters{perMinute(cmp.Or(l.Requests, 600)), perMinute(cmp.Or(l.TestEvents, 10))}, err
}

// setFramePolicy sets which pages can show the response in a frame: the pages that the host lists and, for a canvas,
// the editor. Error responses need the policy too, because otherwise the editor could not reload the canvas.
func (h *Handler) setFramePolicy(w http.ResponseWriter, canvas bool) {
	sources, option := h.config.FrameAncestors, "DENY"
	if canvas {
		sources, option = append([]string{"'self'"}, sources...), "SAMEORIGIN"
	}
	w.Header().Set("Content-Security-Policy", "frame-ancestors "+cmp.Or(strings.Join(sources, " "), "'none'"))
	if len(h.config.FrameAncestors) == 0 {
		w.Header().Set("X-Frame-Options", option)
	}
}

// Close closes the rate limiters. Call it after all requests have ended. It is safe to call more than once.
func (h *Handler) Close(ctx context.Context) error {
	var err error
	for _, l := range []*ratelimit.Limiter{h.limiters.requests, h.limiters.tests} {
		if l != nil {
			err = errors.Join(err, l.Close(ctx))
		}
	}
	return err
}

func (h *Handler) allowRequest(w http.ResponseWriter, r *http.Request, l *ratelimit.Limiter, user string) bool {
	if l == nil {
		return true
	}
	result, err := l.Take(r.Context(), user)
	if err != nil || result.Allowed { // an error means that the request has ended or the handler is closed
		return true
	}
	writeTooManyRequests(w, result.RetryAfter(), "You sent too many requests in the last minute. Try again after the time in the Retry-After header.")
	return false
}

func writeTooManyRequests(w http.ResponseWriter, retryAfter, message string) {
	w.Header().Set("Retry-After", retryAfter)
	writeError(w, http.StatusTooManyRequests, "RATE_LIMITED", message)
}

type workKind string

const (
	renders   workKind = "renders"
	summaries workKind = "summaries"
	filtered  workKind = "filtered reads"
	exports   workKind = "exports"
)

const (
	maxWait        = 10 * time.Second
	maxRenders     = 1 // a render takes milliseconds and up to 25 MB
	maxComparisons = 1 // comparing a 4 MiB form takes 70 MB
)

type semaphore chan struct{}

// acquire waits for a free slot. It returns false if the request is canceled first.
func (t semaphore) acquire(r *http.Request) bool {
	select {
	case t <- struct{}{}:
		return true
	case <-r.Context().Done():
		return false
	}
}

func (t semaphore) release() { <-t }

type workKey struct {
	user formsvc.ID
	kind workKind
}

// userSlots holds a semaphore for each user and kind of work.
type userSlots struct {
	mu   sync.Mutex
	pool cache.Cache[workKey, semaphore]
}

func (s *userSlots) get(key workKey, most int) semaphore {
	s.mu.Lock()
	defer s.mu.Unlock()
	slots, ok := s.pool.Get(key)
	if !ok {
		slots = make(semaphore, most)
		s.pool.Put(key, slots, 0)
	}
	return slots
}

// acquireSlot reserves a slot and returns a function that releases it. If no slot becomes free in time, it responds
// with 429. Exports do not wait, because the export in progress can take a long time.
func (h *Handler) acquireSlot(w http.ResponseWriter, r *http.Request, user formsvc.ID, kind workKind) (end func(), ok bool) {
	l := h.config.Limits
	most := cmp.Or(map[workKind]int{renders: l.Renders, summaries: l.Summaries, filtered: cmp.Or(min(l.Summaries, 1), 1), exports: l.Exports}[kind], 2)
	if most < 0 {
		return func() {}, true
	}
	slots := h.slots.get(workKey{user, kind}, most)
	select {
	case slots <- struct{}{}:
		return slots.release, true
	default:
	}
	retryAfter := "10"
	if kind != exports {
		retryAfter = "1"
		timer := time.NewTimer(maxWait)
		defer timer.Stop()
		select {
		case slots <- struct{}{}:
			return slots.release, true
		case <-timer.C:
		case <-r.Context().Done():
		}
	}
	writeTooManyRequests(w, retryAfter, "You have reached the maximum number of concurrent "+string(kind)+". Try again after the time in the Retry-After header.")
	return nil, false
}

// compareHandler returns a jsonHandler for work that needs a render slot and a lot of memory.
func (h *Handler) compareHandler(do func(*http.Request) (any, error)) http.HandlerFunc {
	next := h.jsonHandler(do)
	return h.withSlot(renders, func(w http.ResponseWriter, r *http.Request) {
		if h.compareSlots.acquire(r) {
			defer h.compareSlots.release()
			next(w, r)
		}
	})
}

func (h *Handler) withSlot(kind workKind, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if end, ok := h.acquireSlot(w, r, signedInUser(r).user, kind); ok {
			defer end()
			next(w, r)
		}
	}
}
