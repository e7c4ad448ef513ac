package postgres

import (
	"context"
	"fmt"
	"os"
	"sort"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// What removes or counts much, at size, and how long responses wait meanwhile. It
// measures and asserts no time, takes about three minutes and wants fsync:
//
//	FORMSVC_TEST_AT_SIZE=1 go run ./internal/lab/pgtest/with -fsync go test ./storage/postgres -run AtSize -v
func TestWaitsAtSize(t *testing.T) {
	if os.Getenv("FORMSVC_TEST_AT_SIZE") == "" {
		t.Skip("FORMSVC_TEST_AT_SIZE is not set")
	}
	const submissions, forms = 2_000_000, 49_000
	pool := pgtest.Pool(t, pgtest.MaxConns(20), func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["statement_timeout"] = "5s"
	})
	schema := pgtest.Schema(t)
	createTables(t, pool, schema)
	s := New(pool, WithSchema(schema))
	if err := pgseed.Fill(t.Context(), pool, schema, pgseed.Size{Forms: 3, AnswerBytes: 100, Webhooks: 1}); err != nil {
		t.Fatal(err)
	}
	other := elsewhere(t, s)
	big := pgseed.ID(pgseed.Form, 0)
	for from := 1; from <= submissions; from += 50_000 {
		if _, err := pool.Exec(t.Context(), s.db.SQL(`
			INSERT INTO formsvc.submissions (form_id, id, submitted_at, completion_time, answers, metadata, hidden, form_revision, json_bytes)
			SELECT $1::bytea, '\x01020304'::bytea || int8send(i), now(), 1, '[{"field":{"id":"q"},"value":"x"}]', '{}', '{}', 1, 40
			FROM generate_series($2::integer, $2::integer + 49999) i`), pgx.QueryExecModeExec, big[:], from); err != nil {
			t.Fatal(err)
		}
	}
	number := 10_000
	var mu sync.Mutex
	next := func(form storage.ID, revision int64) storage.NewSubmission {
		mu.Lock()
		defer mu.Unlock()
		number++
		n := response(number)
		n.Submission.FormID, n.FormRevision = form, revision
		return n
	}
	measureWaits := func(what string, same bool, do func() error) {
		t.Helper()
		ctx, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		waits := map[string][]time.Duration{}
		submit := func(name string, form storage.ID) {
			group.Go(func() {
				var all []time.Duration
				for ctx.Err() == nil {
					began := time.Now()
					if err := submitAt(context.WithoutCancel(ctx), s, next(form, 1)); err != nil && same {
						t.Errorf("%s: %v", name, err)
						return
					}
					all = append(all, time.Since(began))
					time.Sleep(2 * time.Millisecond) // about as often as people press a button
				}
				mu.Lock()
				defer mu.Unlock()
				waits[name] = all
			})
		}
		submit("another form", other.ID)
		if same {
			submit("the same form", big)
		}
		time.Sleep(200 * time.Millisecond)
		began := time.Now()
		err := do()
		took := time.Since(began)
		stop()
		group.Wait()
		line := fmt.Sprintf("%s took %s (error %v)", what, took.Round(time.Millisecond), err)
		for name, all := range waits {
			sort.Slice(all, func(i, k int) bool { return all[i] < all[k] })
			line += fmt.Sprintf("; %d submits to %s: median %s, longest %s", len(all), name,
				all[len(all)/2].Round(10*time.Microsecond), all[len(all)-1].Round(100*time.Microsecond))
		}
		t.Log(line)
	}
	host, at := storage.AsHost(), pgseed.Start()
	measureWaits("nothing, for 5 s", true, func() error { time.Sleep(5 * time.Second); return nil })
	measureWaits("a response limit on 2,000,000 submissions", true, func() error {
		_, err := s.UpdateForm(t.Context(), host, big, storage.FormChange{Gate: &storage.Gate{ResponseLimit: 1 << 40}, At: at})
		return err
	})
	if err := s.TrashForm(t.Context(), host, big, storage.TrashParams{At: at}); err != nil {
		t.Fatal(err)
	}
	calls := 0
	measureWaits("a purge of 2,000,000 submissions in pieces of 1,000", false, func() error {
		for {
			swept, err := s.Sweep(t.Context(), storage.SweepParams{TrashBefore: at.Add(time.Second), Max: 1000})
			if calls++; err != nil || !swept.More {
				return err
			}
		}
	})
	t.Logf("%d sweeps", calls)
	manyAtOnce(t, pool, s, forms)
	measureWaits("DeleteWorkspace of 49,000 forms", false, func() error {
		return s.DeleteWorkspace(t.Context(), host, pgseed.ID(pgseed.Workspace, 0), at)
	})
	measureWaits("tidying up after it in pieces of 1,000", false, func() error {
		for {
			swept, err := s.Sweep(t.Context(), storage.SweepParams{Max: 1000})
			if err != nil || !swept.More {
				return err
			}
		}
	})
}

func manyAtOnce(t *testing.T, pool *pgxpool.Pool, s *Store, n int) {
	t.Helper()
	workspace := pgseed.ID(pgseed.Workspace, 0)
	if _, err := pool.Exec(t.Context(), s.db.SQL(`
		INSERT INTO formsvc.forms (id, public_id, workspace_id, name, type, status, revision, closed, response_limit,
			created_at, updated_at, format, blocks, settings, theme, variables, hidden_fields)
		SELECT '\x01020304'::bytea || int8send(i), 'many' || i, $1, 'F', 'SINGLE', 'published', 1, false, 0,
			now(), now(), 1, '[]', '{}', '{}', '{}', '[]' FROM generate_series(1, $2::integer) i`), pgx.QueryExecModeExec, workspace[:], n); err != nil {
		t.Fatal(err)
	}
}
