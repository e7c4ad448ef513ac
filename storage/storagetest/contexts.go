package storagetest

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// contextCases has one case for each method. The case of
// FormForKey is in a group of its own, which a store may skip.
func contextCases() []Case {
	var cases []Case
	for _, op := range append(actorOperations(), hostOperations()...) {
		cases = append(cases, contextCase(op.name, op))
	}
	return cases
}

func contextCase(name string, op operation) Case {
	return Case{
		Name:  name,
		About: op.method + " with a context that has ended fails with the context's error and leaves the data as it was.",
		run:   func(b *bundle) { endedContext(b, op) },
	}
}

func endedContext(b *bundle, op operation) {
	w := b.furnish()
	canceled, cancel := context.WithCancel(b.Context())
	cancel()
	late, cancel := context.WithDeadline(b.Context(), time.Now().Add(-time.Second))
	defer cancel()
	b.unchanged(op.method+" with a context that has ended", func() {
		b.is(op.call(canceled, b.store, w, storage.AsHost()), context.Canceled, "%s with a canceled context", op.method)
		b.is(op.call(late, b.store, w, storage.AsHost()), context.DeadlineExceeded, "%s after its context's deadline", op.method)
	})
	// The same call has to work now: a lease that the failed call took or dropped
	// shows here, as does a call that would have failed anyway.
	b.ok(op.call(b.Context(), b.store, w, storage.AsHost()), "%s with a valid context, after calls with ended contexts", op.method)
}
