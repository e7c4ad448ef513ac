package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// deadlocks counts the statements that the server ended as victims of a deadlock:
// the store tries them again, so that nobody else sees them.
type deadlocks struct{ atomic.Int64 }

func (d *deadlocks) note(err error) {
	if conn.SQLState(err) == "40P01" {
		d.Add(1)
	}
}

func (d *deadlocks) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (d *deadlocks) TraceQueryEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	d.note(data.Err)
}
func (d *deadlocks) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}
func (d *deadlocks) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	d.note(data.Err)
}
func (d *deadlocks) TraceBatchEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	d.note(data.Err)
}

// crowd is a service on which everything happens at once.
type crowd struct {
	*Store
	t *testing.T

	attempts, webhooks atomic.Int64
	mu                 sync.Mutex
	hooks              []storage.ID // by form; one may be gone
}

// The sizes of a crowd.
const (
	crowdForms = 3
	crowdHooks = 6
	crowdEvent = "form.test" // the type of those that belong to no response
)

// Dispatchers whose leases run out, and whoever ends deliveries, take the same rows
// at the same time. No two of them wait for each other, and nothing is forgotten.
func TestWhoeverFinishesAndEndsDeliveriesAtOnce(t *testing.T) {
	t.Parallel()
	var victims deadlocks
	s, pool := testStore(t, pgtest.MaxConns(12), func(c *pgxpool.Config) { c.ConnConfig.Tracer = &victims })
	must(t, pgseed.Fill(t.Context(), pool, s.db.Schema, pgseed.Size{Forms: crowdForms, AnswerBytes: 100, Webhooks: crowdHooks}))
	c := &crowd{Store: s, t: t, hooks: make([]storage.ID, crowdHooks)}
	for i := range c.hooks {
		c.hooks[i] = pgseed.ID(pgseed.Webhook, i)
	}
	c.webhooks.Store(crowdHooks)

	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 100 {
				c.submit(worker*100 + i)
			}
		})
		all.Go(func() {
			for range 60 {
				c.dispatch(time.Millisecond)
			}
		})
	}
	for _, disturb := range []func(){c.cut, c.deleteSubmission, c.disable, c.trash, c.redeliver, c.redeliver, c.enqueue, c.replace, c.expire} {
		all.Go(func() {
			for range 40 {
				disturb()
			}
		})
	}
	all.Wait()
	eventually(t, "nothing is pending any more", func() bool {
		c.dispatch(time.Hour)
		return count(t, pool, s, "deliveries") == 0
	})

	referencesAreCounted(t, pool, s)
	if n := victims.Load(); n > 0 {
		t.Errorf("%d deadlocks", n)
	}
	for what, text := range map[string]string{
		"attempts without their webhook":   `SELECT count(*) FROM formsvc.attempts a WHERE NOT EXISTS (SELECT FROM formsvc.webhooks w WHERE w.id = a.webhook_id)`,
		"deliveries without their webhook": `SELECT count(*) FROM formsvc.deliveries d WHERE NOT EXISTS (SELECT FROM formsvc.webhooks w WHERE w.id = d.webhook_id)`,
	} {
		var n int
		if err := pool.QueryRow(t.Context(), s.db.RewriteSQL(text)).Scan(&n); err != nil || n > 0 {
			t.Errorf("%d %s (%v)", n, what, err)
		}
	}
}

// allow fails the test for an error that the calls at the same time do not
// explain.
func (c *crowd) allow(what string, err error) {
	if err != nil && !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, storage.ErrConflict) {
		c.t.Errorf("%s: %v", what, err)
	}
}

func (c *crowd) hook() (place int, id storage.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	place = rand.N(len(c.hooks))
	return place, c.hooks[place]
}

func (c *crowd) submit(number int) {
	n := response(number)
	n.Submission.FormID = pgseed.ID(pgseed.Form, number%crowdForms)
	_, _, err := c.Submit(c.t.Context(), n)
	c.allow("Submit", err)
}

// dispatch claims some deliveries and settles them in any order, some of them
// twice.
func (c *crowd) dispatch(lease time.Duration) {
	ctx := c.t.Context()
	claimed, _, err := c.ClaimDeliveries(ctx, storage.ClaimParams{
		Lease: lease, Fast: storage.Pool{MaxDeliveries: 12, PerHost: 5}, Slow: storage.Pool{MaxDeliveries: 12, PerHost: 5}, NewOrFailing: storage.Pool{MaxDeliveries: 12, PerHost: 5}, PerWebhook: 1 + rand.N(8),
	})
	c.allow("ClaimDeliveries", err)
	done := make([]storage.Result, 0, len(claimed))
	for _, d := range claimed {
		number := int(c.attempts.Add(1))
		r := ended(d, number)
		switch kind := rand.N(8); {
		case lease > time.Minute: // the last ones
		case kind == 0:
			r.Delivery = nil
		case kind < 3:
			r.Delivery.Success, r.RetryIn = false, time.Nanosecond
			r.Health.Failures = 1
			if kind == 2 {
				r.PauseFor = time.Millisecond
			}
		}
		done = append(done, r)
	}
	rand.Shuffle(len(done), func(i, j int) { done[i], done[j] = done[j], done[i] })
	for _, batch := range [][]storage.Result{done, done[:len(done)/3]} {
		_, err := c.FinishDeliveries(ctx, batch)
		for held := new(storage.BlockedResultsError); errors.As(err, &held); {
			batch = slices.DeleteFunc(slices.Clone(batch), func(r storage.Result) bool { return !slices.Contains(held.Leases, r.Lease) })
			_, err = c.FinishDeliveries(ctx, batch)
		}
		c.allow("FinishDeliveries", err)
	}
}

func (c *crowd) deleteSubmission() {
	number := rand.N(400)
	form := pgseed.ID(pgseed.Form, number%crowdForms)
	c.allow("DeleteSubmission", c.DeleteSubmission(c.t.Context(), storage.AsHost(), form, pgseed.ID(pgseed.Submission, number)))
}

func (c *crowd) disable() {
	_, id := c.hook()
	for _, enabled := range []bool{false, true} {
		_, err := c.UpdateWebhook(c.t.Context(), storage.AsHost(), id, storage.WebhookChange{Enabled: &enabled, At: time.Now()})
		c.allow("UpdateWebhook", err)
	}
}

func (c *crowd) trash() {
	form := pgseed.ID(pgseed.Form, rand.N(crowdForms))
	c.allow("TrashForm", c.TrashForm(c.t.Context(), storage.AsHost(), form, storage.TrashParams{At: time.Now()}))
	c.allow("RestoreForm", c.RestoreForm(c.t.Context(), form, storage.ID{}, time.Now()))
}

func (c *crowd) redeliver() {
	_, id := c.hook()
	attempts, err := c.Deliveries(c.t.Context(), storage.AsHost(), id, 100)
	c.allow("Attempts", err)
	for _, a := range attempts {
		if a.EventType == crowdEvent { // such events are new when they are queued, but for this test
			continue
		}
		c.allow("Redeliver", c.Redeliver(c.t.Context(), id, a.ID))
	}
}

// enqueue queues one of a few events, most of which are known.
func (c *crowd) enqueue() {
	_, id := c.hook()
	e := storage.Event{ID: pgseed.ID(pgseed.Event, 1000+rand.N(20)), Type: crowdEvent, Body: []byte(`{}`)}
	c.allow("Enqueue", c.Enqueue(c.t.Context(), id, e))
}

// replace deletes a webhook and makes a new one in its place.
func (c *crowd) replace() {
	place, id := c.hook()
	c.allow("DeleteWebhook", c.DeleteWebhook(c.t.Context(), storage.AsHost(), id))
	w := storage.Webhook{
		ID: pgseed.ID(pgseed.Webhook, int(c.webhooks.Add(1))), FormID: pgseed.ID(pgseed.Form, place%crowdForms),
		URL: "https://example.com/", Enabled: true, CreatedAt: time.Now(), UpdatedAt: time.Now(),
	}
	c.allow("CreateWebhook", c.CreateWebhook(c.t.Context(), storage.AsHost(), storage.NewWebhook{Webhook: w}))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hooks[place] = w.ID
}

// cut leaves the newest of each history.
func (c *crowd) cut() {
	_, id := c.hook()
	c.allow("cutHistories", c.truncateHistories(c.t.Context(), id))
}

func (c *crowd) expire() {
	_, err := c.ExpireDeliveries(c.t.Context(), storage.ExpireParams{
		MaxAge: 5 * time.Millisecond, Max: 50, At: time.Now(), NewID: func() (id storage.ID) {
			return pgseed.ID(pgseed.Attempt, 1_000_000+int(c.attempts.Add(1)))
		},
	})
	c.allow("ExpireDeliveries", err)
}
