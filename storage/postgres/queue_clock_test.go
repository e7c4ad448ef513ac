package postgres

import (
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/storage"
)

// broughtBack sweeps twice, and returns what the first sweep brought back. The second one has
// nothing more to do.
func broughtBack(t *testing.T, s *Store) int {
	t.Helper()
	n := sweepAll(t, s, storage.SweepParams{Now: time.Now(), Max: 100}).BroughtBack
	if again := sweepAll(t, s, storage.SweepParams{Now: time.Now(), Max: 100}).BroughtBack; again > 0 {
		t.Errorf("another sweep brings %d rows back", again)
	}
	return n
}

// failsOnce claims what is due and lets it fail, with a retry in 10 s and a pause of 30 s.
func failsOnce(t *testing.T, s *Store) {
	t.Helper()
	p := everything()
	p.Lease = 30 * time.Second
	claimed, _, err := s.ClaimDeliveries(t.Context(), p)
	if err != nil || len(claimed) != 1 {
		t.Fatalf("%d deliveries are claimed (%v), want 1", len(claimed), err)
	}
	r := ended(claimed[0], 1)
	r.Delivery.Success, r.RetryIn, r.Standing = false, 10*time.Second, storage.Standing{Succeeded: true, Failures: 1}
	r.PauseFor, r.PauseReason = 30*time.Second, storage.PauseRetryAfter
	finish(t, s, r)
}

// The clock of the database is set back by an hour after a webhook has failed once. A sweep
// later it gets its deliveries when its pause is over.
func TestTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	const hour = "1 hour"
	before := s.On(clockAt(pool, hour))
	clock := func(text string) {
		execute(t, pool, s, `ALTER TABLE formsvc.deliveries ALTER queued_at SET DEFAULT `+text)
		execute(t, pool, s, `ALTER TABLE formsvc.arrivals ALTER at SET DEFAULT `+text)
	}
	clock(timeAt("statement_timestamp()", hour))
	mustSubmit(t, s, response(1))
	failsOnce(t, before)
	mustSubmit(t, s, response(2))

	clock("statement_timestamp()")
	mustSubmit(t, s, response(3))
	over := s.On(clockAt(pool, "40 seconds")) // the pause
	for range 3 {
		if n := claimEach(t, over); n > 0 {
			t.Fatalf("%d deliveries are claimed before the sweep: the test sees nothing", n)
		}
	}
	if n := broughtBack(t, s); n == 0 {
		t.Error("the sweep brings nothing back")
	}
	if n := claimEach(t, s); n > 0 {
		t.Errorf("%d deliveries are claimed before the pause is over", n)
	}
	if n := claimEach(t, over); n != 3 {
		t.Errorf("%d deliveries are claimed when the pause is over, want 3", n)
	}
}

// Each time that lies ahead is brought back, also where nothing else of its row shows by how
// much: then it is farther ahead than any wait of its kind.
func TestTimesThatLieAheadAreBroughtBack(t *testing.T) {
	t.Parallel()
	const (
		alone   = `UPDATE formsvc.deliveries SET queued_at = queued_at - interval '2 minutes'`
		turn    = `UPDATE formsvc.destinations SET next_at = next_at + `
		arrival = `UPDATE formsvc.arrivals SET at = at + `
		lease   = `UPDATE formsvc.deliveries SET leased_until = leased_until + `
		due     = `UPDATE formsvc.deliveries SET due_at = due_at + `
		queued  = `UPDATE formsvc.deliveries SET queued_at = queued_at + `
		pause   = `UPDATE formsvc.destinations SET paused_until = paused_until + `
		failed  = `UPDATE formsvc.destinations SET failing_since = failing_since + interval '1 hour', failed_at = failed_at + interval '1 hour'`
		ready   = `UPDATE formsvc.deliveries SET due_at = NULL`
		hour    = `interval '1 hour'`
		years   = `interval '3 years'`
	)
	woken := func(t *testing.T, s *Store) {
		if _, _, err := s.ClaimDeliveries(t.Context(), storage.ClaimParams{}); err != nil {
			t.Fatal(err)
		}
	}
	leased := func(t *testing.T, s *Store) {
		p := everything()
		p.Lease = 30 * time.Second
		if claimed, _, err := s.ClaimDeliveries(t.Context(), p); err != nil || len(claimed) != 1 {
			t.Fatalf("%d deliveries are claimed (%v), want 1", len(claimed), err)
		}
	}
	for name, c := range map[string]struct {
		state func(*testing.T, *Store)
		ahead []string
	}{
		"an arrival":                 {nil, []string{arrival + hour}},
		"an arrival, by years":       {nil, []string{arrival + years}},
		"a turn":                     {woken, []string{alone, turn + hour}},
		"a turn, by years":           {woken, []string{alone, turn + years}},
		"a turn and its delivery":    {woken, []string{queued + hour, turn + hour}},
		"a lease":                    {leased, []string{queued + hour, lease + hour, turn + hour}},
		"a lease alone, by years":    {leased, []string{alone, lease + years, turn + years}},
		"an attempt":                 {failsOnce, []string{queued + hour, due + hour}},
		"an attempt alone, by years": {failsOnce, []string{due + years}},
		"a pause":                    {failsOnce, []string{ready, failed, pause + hour, turn + hour}},
		"a pause alone, by years":    {failsOnce, []string{ready, pause + years}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			mustSubmit(t, s, response(1))
			if c.state != nil {
				c.state(t, s)
			}
			for _, text := range c.ahead {
				execute(t, pool, s, text)
			}
			if c.ahead[0] == ready { // the attempt waits for the end of the pause
				execute(t, pool, s, `INSERT INTO formsvc.arrivals (webhook_id) SELECT d.webhook_id FROM formsvc.deliveries d`)
			}
			over := s.On(clockAt(pool, "40 seconds")) // leases and pauses
			if n := claimEach(t, over); n > 0 {
				t.Fatal("the delivery is claimed before the sweep: the test sees nothing")
			}
			if n := broughtBack(t, s); n == 0 {
				t.Error("the sweep brings nothing back")
			}
			if n := claimEach(t, over); n != 1 {
				t.Errorf("%d deliveries are claimed after the sweep, want 1", n)
			}
		})
	}
}

// The longest waits that there are stay as they are.
func TestLegalWaitsAreNotBroughtBack(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a pause of a day":      `UPDATE formsvc.destinations SET paused_until = now() + interval '1 day', next_at = now() + interval '1 day'`,
		"an attempt in 60 days": `UPDATE formsvc.deliveries SET due_at = now() + interval '60 days'`,
		"a lease of two hours": `WITH x AS (UPDATE formsvc.destinations SET next_at = now() + interval '2 hours')
			UPDATE formsvc.deliveries SET due_at = NULL, leased_until = now() + interval '2 hours'`,
		"a first delivery for a webhook that waits for the end of a lease": `UPDATE formsvc.destinations
			SET next_at = now() + interval '2 hours', paused_until = NULL, pause_reason = NULL`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			mustSubmit(t, s, response(1))
			failsOnce(t, s)
			execute(t, pool, s, text)
			mustSubmit(t, s, response(2))
			if n := broughtBack(t, s); n != 0 {
				t.Errorf("the sweep brings %d rows back", n)
			}
		})
	}
}

// A sweep waits for nobody: what somebody holds is for the next one.
func TestASweepOfTimesWaitsForNobody(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	mustSubmit(t, s, response(1))
	failsOnce(t, s)
	mustSubmit(t, s, response(2))
	execute(t, pool, s, `UPDATE formsvc.arrivals SET at = at + interval '1 hour'`)
	execute(t, pool, s, `UPDATE formsvc.deliveries SET due_at = due_at + interval '1 year'`)
	execute(t, pool, s, `UPDATE formsvc.destinations SET paused_until = paused_until + interval '1 year'`)
	tx, err := pool.Begin(t.Context())
	must(t, err)
	for _, table := range []string{"arrivals", "deliveries", "destinations"} {
		execute(t, tx, s, `SELECT FROM formsvc.`+table+` FOR UPDATE`)
	}
	if n := broughtBack(t, s); n != 0 {
		t.Errorf("the sweep brings %d rows back that somebody holds", n)
	}
	must(t, tx.Rollback(t.Context()))
	if n := broughtBack(t, s); n != 3 {
		t.Errorf("the sweep brings %d rows back, want 3", n)
	}
	if n := count(t, pool, s, "destinations WHERE webhook_id = '\\x"+pgseed.ID(pgseed.Webhook, 0).String()+"' AND paused_until > now() + interval '1 day'"); n != 0 {
		t.Error("the pause is as long as before")
	}
}
