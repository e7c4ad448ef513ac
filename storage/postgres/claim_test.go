package postgres

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/pgseed"
	"github.com/formsvc/formsvc/storage"
)

// The bodies of a claim are read in part, and then the server fails. Each delivery can be
// claimed again at once.
func TestAClaimThatCannotReadEveryBodyReleasesAll(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	for i := range 3 {
		if _, _, err := s.Submit(t.Context(), response(i)); err != nil {
			t.Fatal(err)
		}
	}
	all := claimAll(t, s)
	if len(all) != 3 {
		t.Fatalf("claimed %d deliveries, want 3", len(all))
	}
	if _, err := s.FinishDeliveries(t.Context(), column(all, func(d *storage.Delivery) storage.Result { return storage.Result{Lease: d.Lease} })); err != nil {
		t.Fatal(err)
	}
	unreadable := hex.EncodeToString(all[0].Lease.EventID[:])
	for _, text := range []string{
		`ALTER TABLE formsvc.events RENAME TO bodies`,
		// The other rows come first.
		`CREATE VIEW formsvc.events AS
		SELECT e.ctid, e.id, e.form_id, e.submission_id, e.type, e.refs,
			CASE WHEN e.id = '\x` + unreadable + `' THEN convert_to((1 / (0 * octet_length(e.body)))::text, 'UTF8') ELSE e.body END AS body
		FROM (SELECT e.ctid, e.* FROM formsvc.bodies e ORDER BY e.id = '\x` + unreadable + `' OFFSET 0) e`,
		// A release changes no event, but the server wants to know how.
		`CREATE FUNCTION formsvc.nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`,
		`CREATE TRIGGER nothing INSTEAD OF UPDATE OR DELETE ON formsvc.events FOR EACH ROW EXECUTE FUNCTION formsvc.nothing()`,
	} {
		if _, err := pool.Exec(t.Context(), s.sql(text)); err != nil {
			t.Fatal(err)
		}
	}
	if got, _, err := s.ClaimDeliveries(t.Context(), everything()); err == nil || sqlState(err) != "22012" {
		t.Fatalf("ClaimDeliveries = %d deliveries, %v; want a division by zero", len(got), err)
	}
	for _, text := range []string{`DROP VIEW formsvc.events`, `ALTER TABLE formsvc.bodies RENAME TO events`} {
		if _, err := pool.Exec(t.Context(), s.sql(text)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(claimAll(t, s)); n != 3 {
		t.Errorf("claimed %d deliveries afterwards, want 3", n)
	}
}

// Nothing of ours removes an event and leaves its delivery. One that is there all the same
// ends with the claim that finds it; the others of the claim are delivered.
func TestADeliveryWithoutItsEventEnds(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	var log bytes.Buffer
	s.log = slog.New(slog.NewTextHandler(&log, nil))
	for i := range 3 {
		if _, _, err := s.Submit(t.Context(), response(i)); err != nil {
			t.Fatal(err)
		}
	}
	lost := pgseed.ID(pgseed.Event, 1)
	if _, err := pool.Exec(t.Context(), s.sql(`DELETE FROM formsvc.events WHERE id = $1`), lost[:]); err != nil {
		t.Fatal(err)
	}
	if got := claimAll(t, s); len(got) != 2 || got[0].Lease.EventID == lost || got[1].Lease.EventID == lost {
		t.Errorf("claimed %d deliveries, want the two that have their events", len(got))
	}
	if n := count(t, pool, s, "deliveries"); n != 2 {
		t.Errorf("%d deliveries are pending, want the two that are under a lease", n)
	}
	if !strings.Contains(log.String(), "deliveries=1") {
		t.Errorf("the log says %q, want that one delivery was ended", log.String())
	}
}

// A claim that fails learns nothing of the size of the queue: the plans stay those of the
// size that is known.
func TestAClaimThatFailsKeepsTheSizeOfTheQueue(t *testing.T) {
	t.Parallel()
	s, _ := seeded(t)
	s.noteSizes(1<<30, 1<<30)
	want := s.sized("", true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.ClaimDeliveries(ctx, storage.ClaimParams{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("ClaimDeliveries = %v", err)
	}
	if got := s.sized("", true); got != want {
		t.Errorf("the size of the queue is%s after a claim that failed, want%s", got, want)
	}
}
