package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/lab/ledger"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
)

// A backup is taken under load, and later the machines of the database and of the service are
// lost. A restore to a point in time has every response that was acknowledged before it, and
// deliveries go on. Where less of the log is replayed, the ledger says so.
func TestARestoreHasWhatWasAcknowledgedBefore(t *testing.T) {
	t.Parallel()
	d := loseAll(t)
	t.Run("to the point", func(t *testing.T) { d.goOn(t, d.restore(t, d.point)) })
	t.Run("a second early", func(t *testing.T) {
		if found := d.missing(t, d.restore(t, d.point.Add(-time.Second))); !slices.Contains(found, ledger.LostSubmission) {
			t.Errorf("found %q, want %q", found, ledger.LostSubmission)
		}
	})
	t.Run("without the segment of the point", func(t *testing.T) {
		noError(t, os.Remove(filepath.Join(d.server.Archive(), d.segment)))
		_, err := d.server.Restore(until(d.point))
		if err == nil || !strings.Contains(err.Error(), "recovery ended before configured recovery target was reached") {
			t.Errorf("a restore to a point that the archive does not reach = %v", err)
		}
		if found := d.missing(t, d.restore(t, time.Time{})); !slices.Contains(found, ledger.LostSubmission) {
			t.Errorf("at the end of the archive: found %q, want %q", found, ledger.LostSubmission)
		}
	})
}

// disaster is a deployment that is lost under load: the backup and the archive of its server, and
// what those outside know.
type disaster struct {
	server   *pgtest.Server
	receiver *ledger.Receiver
	db       *database // as it was
	load     *load
	point    time.Time // by the database's clock
	segment  string    // of the log, with the point
	// What came before the point of the acknowledgements and of the requests to the receiver.
	acknowledged, received int
}

// requests is how many the one process has under way, so that it keeps up with the load: then
// much of what waits at the point is sent by the time of the disaster, and again afterwards.
const requests = 4 * defaultInFlight

func loseAll(t *testing.T) *disaster {
	t.Helper()
	d := &disaster{server: pgtest.NewServer(t, pgtest.Config{Archive: true})}
	var err error
	if d.receiver, err = ledger.StartReceiver("127.0.0.1:0", 1, refused, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.receiver.Close(); err != nil {
			t.Error(err)
		}
	})
	urls := make([]string, destinations)
	for number := range urls {
		urls[number] = d.receiver.WebhookURL(number)
	}
	if d.db, err = prepare(t.Context(), pgtest.PoolAt(t, d.server.URL()), "soak", urls); err != nil {
		t.Fatal(err)
	}
	fleet := d.fleet(t, d.server)
	d.load = newLoad(fleet.urls)
	_, abandon := d.load.begin(t)
	ask := func(query string, into ...any) {
		t.Helper()
		noError(t, d.db.pool.QueryRow(t.Context(), query).Scan(into...))
	}

	d.load.more(t, 100)
	d.server.Backup()
	var backed time.Time
	for ask(`SELECT clock_timestamp()`, &backed); d.point.Sub(backed) < 1500*time.Millisecond; { // a second early is after it, too
		d.load.more(t, 10)
		ask(`SELECT clock_timestamp()`, &d.point)
	}
	received, _ := d.receiver.Log()
	d.received, d.acknowledged = len(received), d.load.count()
	ask(`SELECT clock_timestamp(), pg_walfile_name(pg_current_wal_lsn())`, &d.point, &d.segment)
	d.load.more(t, 100)
	for after := d.load.count(); !d.sentAfter(after); { // not stored before the point, and delivered
		d.load.more(t, 1)
	}
	ask(`SELECT pg_walfile_name(pg_switch_wal())`, new(string))
	for archived := false; !archived; {
		d.load.more(t, 1)
		ask(`SELECT COALESCE(last_archived_wal >= '`+d.segment+`', false) FROM pg_stat_archiver`, &archived)
	}

	d.server.Kill()
	if err := fleet.kill([]int{0}); err != nil {
		t.Error(err)
	}
	abandon()
	return d
}

// sentAfter reports whether the receiver has a response that was acknowledged after the first n.
func (d *disaster) sentAfter(n int) bool {
	later := map[string]bool{}
	d.load.note(func() {
		for _, a := range d.load.acknowledged[n:] {
			later[a.Submission] = true
		}
	})
	received, _ := d.receiver.Log()
	return slices.ContainsFunc(received, func(got ledger.Reception) bool { return later[got.Submission] })
}

// fleet starts a process on a server.
func (d *disaster) fleet(t *testing.T, server *pgtest.Server) *fleet {
	t.Helper()
	p := quick(plan{})
	f := &fleet{log: logFile(t), config: serverConfig{
		Database: server.URL(), Schema: d.db.schema, Forms: d.db.forms, Timeout: p.timeout, Lease: p.lease, InFlight: requests,
	}}
	t.Cleanup(func() {
		if err := f.stop(); err != nil {
			t.Error(err)
		}
	})
	noError(t, f.start())
	return f
}

// begin runs the load. stop ends it when all is acknowledged, and abandon at once.
func (l *load) begin(t *testing.T) (stop, abandon func()) {
	ctx, cancel := context.WithCancel(t.Context())
	stopped, end := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.run(ctx, stopped, defaultWorkers, 1, nil)
	}()
	return func() { end(); <-done; cancel() }, func() { cancel(); <-done; end() }
}

// more waits for so many more acknowledgements.
func (l *load) more(t *testing.T, n int) {
	t.Helper()
	for want := l.count() + n; l.count() < want; {
		select {
		case <-l.progress:
		case <-time.After(2 * requestTimeout):
			t.Fatal("nothing is acknowledged any more")
		}
	}
}

func (l *load) count() (n int) {
	l.note(func() { n = len(l.acknowledged) })
	return n
}

// until says up to where the log is replayed.
func until(point time.Time) map[string]string {
	return map[string]string{"recovery_target_time": point.UTC().Format("2006-01-02 15:04:05.000000+00")}
}

// restore restores to a point in time; the zero one is the end of the archive.
func (d *disaster) restore(t *testing.T, point time.Time) *pgtest.Server {
	t.Helper()
	target := until(point)
	if point.IsZero() {
		target = nil
	}
	return must(d.server.Restore(target))
}

func (d *disaster) on(t *testing.T, server *pgtest.Server) *database {
	t.Helper()
	return &database{pool: pgtest.PoolAt(t, server.URL()), schema: d.db.schema, forms: d.db.forms}
}

// missing compares what was acknowledged before the point with what is restored.
func (d *disaster) missing(t *testing.T, server *pgtest.Server) []string {
	t.Helper()
	stored := must(d.on(t, server).submissions(t.Context()))
	return ledger.Kinds(ledger.Ledger{Acknowledged: d.load.acknowledged[:d.acknowledged], Stored: stored}.CheckSubmissions())
}

// goOn runs the service on the restored server and checks everything.
func (d *disaster) goOn(t *testing.T, server *pgtest.Server) {
	t.Helper()
	db := d.on(t, server)
	waiting := must(db.pending(t.Context()))
	received, _ := d.receiver.Log()
	lost := len(received) // and what comes from here on is sent by the restored service
	fleet := d.fleet(t, server)
	load := newLoad(fleet.urls)
	load.name = "restored, "
	stop, _ := load.begin(t)
	load.more(t, 100)
	stop()
	must(drain(t.Context(), db, time.Minute))
	noError(t, fleet.stop())

	r := result{plan: plan{inFlight: requests}, kills: 1}
	noError(t, r.compare(t.Context(), db, d.receiver))
	l := &r.ledger
	stored := map[string]bool{}
	for _, s := range l.Stored {
		stored[s.ID] = true
	}
	// What was acknowledged after the point may be there or not; its events may have been sent.
	afterwards := slices.DeleteFunc(slices.Clone(d.load.acknowledged[d.acknowledged:]), func(a ledger.Acknowledgement) bool { return !stored[a.Submission] })
	gone := len(d.load.acknowledged) - d.acknowledged - len(afterwards)
	l.Acknowledged = slices.Concat(d.load.acknowledged[:d.acknowledged], afterwards, load.acknowledged)
	l.Unanswered = load.unanswered
	// What was accepted in the time that is lost is sent again, once.
	for i, got := range l.Received[:lost] {
		if i >= d.received && got.Accepted && stored[got.Submission] {
			l.MaxDuplicates++
		}
	}
	ghosts := 0
	l.Received = slices.DeleteFunc(slices.Clone(l.Received), func(got ledger.Reception) bool {
		ghost := !stored[got.Submission]
		if ghost {
			ghosts++
		}
		return ghost
	})
	found := l.Check()
	for _, f := range found[:min(10, len(found))] {
		t.Error(f)
	}
	if gone == 0 || ghosts == 0 {
		t.Errorf("%d responses from after the point are gone, with %d requests: the restore went beyond it", gone, ghosts)
	}
	t.Logf("%d acknowledged before the point, %d after it are gone (with %d requests), %d deliveries waited, %d accepted again",
		d.acknowledged, gone, ghosts, waiting, l.Duplicates())
}
