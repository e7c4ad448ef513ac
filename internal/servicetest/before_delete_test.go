package servicetest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres"
)

// beforeDelete notes which submissions are about to be removed.
type beforeDelete struct {
	mu    sync.Mutex
	seen  map[formsvc.ID][]formsvc.ID // by form
	fault error
}

func (h *beforeDelete) call(_ context.Context, form formsvc.ID, submissions []formsvc.ID) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen == nil {
		h.seen = map[formsvc.ID][]formsvc.ID{}
	}
	h.seen[form] = append(h.seen[form], submissions...)
	return h.fault
}

func (h *beforeDelete) since() map[formsvc.ID][]formsvc.ID {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := h.seen
	h.seen = nil
	return seen
}

// Whatever removes submissions for good, the host receives their ids before, and again after an
// error, in both storages.
func TestBeforeDelete(t *testing.T) {
	t.Parallel()
	for name, remove := range removals {
		for kind, store := range servicetest.Stores(t) {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				ctx, hook := t.Context(), &beforeDelete{fault: errors.New("the rows of the host cannot be removed")}
				b := servicetest.SetupOn(t, store, formsvc.WithBeforeDelete(hook.call), formsvc.WithoutRateLimit())
				kept, _ := respond(t, b, b.Form(fileBlocks, `{}`), "kept")
				form := tenantForm(t, b)
				gone, _ := respond(t, b, form.ID, "gone")
				if err := remove(ctx, b, form, gone); err == nil {
					t.Error("no error, though the host's rows are there")
				}
				if got := hook.since(); !slices.Contains(got[form.ID], gone.ID) {
					t.Errorf("received %v, want %v", got, gone.ID)
				}
				hook.fault = nil
				if err := remove(ctx, b, form, gone); err != nil {
					t.Error(err)
				}
				if got := hook.since(); !slices.Contains(got[form.ID], gone.ID) || len(got) != 1 {
					t.Errorf("after an error, received %v, want %v", got, gone.ID)
				}
				if _, err := b.Store.Submission(ctx, storage.AsHost(), form.ID, gone.ID); !errors.Is(err, storage.ErrNotFound) {
					t.Errorf("the submission is there: %v", err)
				}
				if _, err := b.Store.Submission(ctx, storage.AsHost(), kept.FormID, kept.ID); err != nil {
					t.Errorf("a submission to another form: %v", err)
				}
			})
		}
	}
}

// In a host's transaction the host receives the ids before the commit, and again after a rollback.
func TestBeforeDeleteInAHostsTransaction(t *testing.T) {
	t.Parallel()
	schema, pool := pgtest.Schema(t), pgtest.Pool(t, pgtest.MaxConns(4))
	store := servicetest.Migrated(t, pool, postgres.WithSchema(schema))
	hook := &beforeDelete{}
	b := servicetest.SetupOn(t, store, formsvc.WithBeforeDelete(hook.call), formsvc.WithoutRateLimit())
	form := tenantForm(t, b)
	sub, _ := respond(t, b, form.ID, "gone")
	for _, commits := range []bool{false, true} {
		err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			if err := b.Using(store.On(tx)).AsHost().DeleteSubmission(t.Context(), form.ID, sub.ID); err != nil {
				return err
			}
			if got := hook.since(); !slices.Equal(got[form.ID], []formsvc.ID{sub.ID}) {
				t.Errorf("before the end of the transaction, received %v", got)
			}
			if !commits {
				return errors.New("rolled back")
			}
			return nil
		})
		if commits != (err == nil) {
			t.Error(err)
		}
	}
}
