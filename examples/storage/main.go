// Command storage wraps a storage of formsvc: one decorator that keeps an audit of
// responses and logs slow calls, without the service knowing of it.
package main

import (
	"context"
	"log"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// audited is a storage around another one. Embedding the interface passes every
// method through, also those that later versions add; only what matters here is
// written out. A storage from scratch embeds storage.Unimplemented instead and is
// proved by package storage/storagetest.
type audited struct {
	storage.Storage

	logger *slog.Logger
	slow   time.Duration
	now    func() time.Time
}

// Submit writes one audit line for every response that was really stored: not for
// one that was refused, and not for a repeated one, which is there already.
func (a audited) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	defer a.watch(ctx, "Submit")()
	stored, replayed, err := a.Storage.Submit(ctx, n)
	if err == nil && !replayed {
		a.logger.InfoContext(ctx, "response stored", "form", stored.FormID, "submission", stored.ID)
	}
	return stored, replayed, err // the error as it is: the service compares with errors.Is
}

// Submissions is the read that can be slow.
func (a audited) Submissions(ctx context.Context, who storage.Actor, form storage.ID, q storage.SubmissionQuery) (storage.SubmissionPage, error) {
	defer a.watch(ctx, "Submissions")()
	return a.Storage.Submissions(ctx, who, form, q)
}

// watch starts a clock; what it returns stops it and logs a call that took long.
func (a audited) watch(ctx context.Context, call string) func() {
	start := a.now()
	return func() {
		if took := a.now().Sub(start); took >= a.slow {
			a.logger.WarnContext(ctx, "slow storage call", "call", call, "took", took)
		}
	}
}

func main() {
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	store := audited{Storage: memory.New(), logger: logger, slow: 50 * time.Millisecond, now: time.Now}
	service, err := formsvc.New(formsvc.WithStorage(store), formsvc.WithLogger(logger))
	if err != nil {
		log.Fatal(err)
	}
	// No Dispatcher runs, so webhooks wait: examples/mount has one, and an orderly end.
	server := &http.Server{Addr: "127.0.0.1:8080", Handler: service, ReadHeaderTimeout: 5 * time.Second}
	log.Fatal(server.ListenAndServe())
}
