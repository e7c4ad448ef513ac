package postgres

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// The bodies of a claim are read in part, and then the server fails. Each delivery can be
// claimed again at once.
func TestAClaimThatCannotReadEveryBodyReleasesAll(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	for i := range 3 {
		mustSubmit(t, s, response(i))
	}
	all := claimAll(t, s)
	if len(all) != 3 {
		t.Fatalf("claimed %d deliveries, want 3", len(all))
	}
	if _, err := s.FinishDeliveries(t.Context(), conn.Column(all, func(d *storage.ClaimedDelivery) storage.Result { return storage.Result{Lease: d.Lease} })); err != nil {
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
		execute(t, pool, s, text)
	}
	if got, _, err := s.ClaimDeliveries(t.Context(), everything()); err == nil || conn.SQLState(err) != "22012" {
		t.Fatalf("ClaimDeliveries = %d deliveries, %v; want a division by zero", len(got), err)
	}
	for _, text := range []string{`DROP VIEW formsvc.events`, `ALTER TABLE formsvc.bodies RENAME TO events`} {
		execute(t, pool, s, text)
	}
	if n := len(claimAll(t, s)); n != 3 {
		t.Errorf("claimed %d deliveries afterwards, want 3", n)
	}
}

// withALostEvent returns a store with three deliveries, one of which has lost its event.
func withALostEvent(t *testing.T) (*Store, *pgxpool.Pool, storage.ID) {
	t.Helper()
	s, pool := seeded(t)
	for i := range 3 {
		mustSubmit(t, s, response(i))
	}
	lost := pgseed.ID(pgseed.Event, 1)
	execute(t, pool, s, `DELETE FROM formsvc.events WHERE id = $1`, lost[:])
	return s, pool, lost
}

// Nothing of ours removes an event and leaves its delivery. One that is there all the same
// ends with the claim that finds it; the others of the claim are delivered.
func TestADeliveryWithoutItsEventEnds(t *testing.T) {
	t.Parallel()
	s, pool, lost := withALostEvent(t)
	var log bytes.Buffer
	s.log = slog.New(slog.NewTextHandler(&log, nil))
	if got := claimAll(t, s); len(got) != 2 || got[0].Lease.EventID == lost || got[1].Lease.EventID == lost {
		t.Errorf("claimed %d deliveries, want the two that have their events", len(got))
	}
	wantRows(t, pool, s, 2, "deliveries")
	if !strings.Contains(log.String(), "deliveries=1") {
		t.Errorf("the log says %q, want that one delivery was ended", log.String())
	}
}

// faulty is a DB on which statements that have this part fail for so many times.
type faulty struct {
	DB
	part string
	left atomic.Int64
}

func (f *faulty) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	for _, q := range b.QueuedQueries {
		if strings.Contains(q.SQL, f.part) && f.left.Add(-1) >= 0 {
			return failedBatch{}
		}
	}
	return f.DB.SendBatch(ctx, b)
}

// failedBatch is the results of a batch whose first statement fails.
type failedBatch struct{ pgx.BatchResults }

func (failedBatch) Exec() (pgconn.CommandTag, error) {
	return pgconn.CommandTag{}, &pgconn.PgError{Code: "40001"}
}
func (failedBatch) Close() error { return nil }

// The statement that ends deliveries without their event fails in a way that passes: it is
// tried again, and reported as such a fault when that does not help.
func TestAPassingFaultWhileDeliveriesWithoutTheirEventEnd(t *testing.T) {
	t.Parallel()
	for faults, want := range map[int64]error{1: nil, 1000: storage.ErrUnavailable} {
		s, pool, _ := withALostEvent(t)
		db := &faulty{DB: pool, part: "AS l (webhook_id, event_id)"}
		db.left.Store(faults)
		if _, _, err := s.On(db).ClaimDeliveries(t.Context(), everything()); !errors.Is(err, want) {
			t.Errorf("%d faults: error %v, want %v", faults, err, want)
		}
	}
}

// The first try of a claim has more than it brings, and is lost at its end. Somebody else
// claims everything before the second try, which has nothing.
func TestAClaimThatIsTriedAgainForgetsTheFirstTry(t *testing.T) {
	t.Parallel()
	s, pool, p := backlogs(t, 2, 1)
	p.Quick.Room, p.Slow.Room, p.Others.Room = 0, 0, 1
	execute(t, pool, s, `CREATE FUNCTION formsvc.fail() RETURNS boolean LANGUAGE plpgsql VOLATILE AS
		'BEGIN RAISE EXCEPTION SQLSTATE ''40001''; END'`)
	tries := 0
	at := s.On(edited{pool, func(text string) string {
		switch {
		case strings.Contains(text, "x.pool = $3"):
			if tries++; tries == 2 {
				if others := len(claimAll(t, s)); others != 2 {
					t.Errorf("somebody else claims %d deliveries, want both", others)
				}
			}
		case tries == 1:
			return strings.Replace(text, "t.turn <> ''", s.db.SQL("formsvc.fail() AND t.turn <> ''"), 1)
		}
		return text
	}})
	if got, more, err := at.ClaimDeliveries(t.Context(), p); err != nil || len(got) > 0 || more || tries < 2 {
		t.Errorf("%d deliveries, more %v, error %v after %d tries; want nothing after 2", len(got), more, err, tries)
	}
}
