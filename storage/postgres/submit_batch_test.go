package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
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

// responseTo returns a response to the form with this number.
func responseTo(form, number int) storage.NewSubmission {
	n := response(number)
	n.Submission.FormID = pgseed.ID(pgseed.Form, form)
	return n
}

// hold takes the lock of a form in a transaction that is not the store's, as a host
// does with a change of the form. It returns what ends the transaction.
func hold(t *testing.T, s *Store, form int) (release func()) {
	t.Helper()
	tx, err := pgtest.Pool(t, pgtest.MaxConns(1)).Begin(t.Context())
	must(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	must(t, errorOf(tx.Exec(t.Context(), lockExclusive, s.lockKey(lockForms, pgseed.ID(pgseed.Form, form)))))
	return func() {
		t.Helper()
		must(t, tx.Commit(t.Context()))
	}
}

// waitingFor counts the sessions that wait for the form's lock.
func waitingFor(t *testing.T, pool *pgxpool.Pool, s *Store, form int) int {
	t.Helper()
	var n int
	err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
		AND (classid::bigint << 32 | objid::bigint) = $1::bigint`, s.lockKey(lockForms, pgseed.ID(pgseed.Form, form))).Scan(&n)
	must(t, err)
	return n
}

// inFlight are calls of Submit that have not returned yet.
type inFlight struct {
	group sync.WaitGroup
	mu    sync.Mutex
	errs  map[int]error
}

func (f *inFlight) submit(ctx context.Context, s *Store, number int, n storage.NewSubmission) {
	f.group.Go(func() {
		_, _, err := s.Submit(ctx, n)
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.errs == nil {
			f.errs = map[int]error{}
		}
		f.errs[number] = err
	})
}

func (f *inFlight) returned() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.errs)
}

// allStored waits for the calls, which all succeed.
func (f *inFlight) allStored(t *testing.T) {
	t.Helper()
	f.group.Wait()
	for number, err := range f.errs {
		if err != nil {
			t.Errorf("Submit %d: %v", number, err)
		}
	}
}

// queued waits until so many responses to the form wait for a write of their own form.
func queued(t *testing.T, s *Store, form, want int) {
	t.Helper()
	queuedAs(t, s, pgseed.ID(pgseed.Form, form), want)
}

// queuedForAny waits until so many responses wait for a write of any form.
func queuedForAny(t *testing.T, s *Store, want int) {
	t.Helper()
	queuedAs(t, s, storage.ID{}, want)
}

func queuedAs(t *testing.T, s *Store, key storage.ID, want int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d responses wait", want), func() bool {
		g := &s.submitBatches.batched
		g.mu.Lock()
		defer g.mu.Unlock()
		l := g.queues[key]
		// The write under way has taken one response, or returns all of them to the queue while the
		// lock is held.
		return l != nil && (len(l.waiting) == want || len(l.waiting)+len(l.write.items) == want+1)
	})
}

// stuck begins a write of a form, which waits for the form's lock: that is held.
func stuck(t *testing.T, f *inFlight, pool *pgxpool.Pool, s *Store, number int, n storage.NewSubmission) {
	t.Helper()
	f.submit(t.Context(), s, number, n)
	eventually(t, "a write waits for the form", func() bool { return waitingFor(t, pool, s, 0) == 1 })
}

func TestResponsesThatComeDuringAWriteAreStoredInOneTransaction(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	release := hold(t, s, 0)
	var calls inFlight
	stuck(t, &calls, pool, s, 0, response(0))
	for i := range 40 {
		calls.submit(t.Context(), s, 10+i, response(10+i))
	}
	queued(t, s, 0, 40)
	release()
	calls.allStored(t)
	var rows, events, deliveries, transactions int
	err := pool.QueryRow(t.Context(), s.db.RewriteSQL(`SELECT count(*), count(DISTINCT xmin::text),
			(SELECT count(*) FROM formsvc.events), (SELECT count(*) FROM formsvc.deliveries)
		FROM formsvc.submissions`)).Scan(&rows, &transactions, &events, &deliveries)
	must(t, err)
	const want = 1 + 40
	if rows != want || events != want || deliveries != want || transactions > 2 { // the first may return for the others
		t.Errorf("%d responses, %d events and %d deliveries in %d transactions, want %d of each in 2 at most",
			rows, events, deliveries, transactions, want)
	}
	funnel, err := s.Funnel(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Form, 0), storage.Window{})
	if err != nil || funnel.Submissions != want {
		t.Errorf("the funnel counts %d, %v", funnel.Submissions, err)
	}
}

// Each response of a group has its own outcome.
func TestABadResponseDoesNotKeepTheOthersFromBeingStored(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t, pgtest.MaxConns(6)) // two of them for what waits for its form
	earlier := response(1000)
	earlier.IdempotencyKey, earlier.UniqueAnswer = "taken", []byte("taken")
	mustSubmit(t, s, earlier)
	for name, spoil := range map[string]struct {
		change func(*storage.NewSubmission)
		want   error
	}{
		"not JSON":          {func(n *storage.NewSubmission) { n.Submission.Answers = json.RawMessage(`{`) }, storage.ErrInvalidValue},
		"a zero byte":       {func(n *storage.NewSubmission) { n.IdempotencyKey = "a\x00b" }, storage.ErrInvalidValue},
		"not UTF-8":         {func(n *storage.NewSubmission) { n.IdempotencyKey = "\xff" }, storage.ErrInvalidValue},
		"a taken event":     {func(n *storage.NewSubmission) { n.Event.ID = earlier.Event.ID }, storage.ErrConflict},
		"a taken id":        {func(n *storage.NewSubmission) { n.Submission.ID = earlier.Submission.ID }, storage.ErrConflict},
		"a taken answer":    {func(n *storage.NewSubmission) { n.UniqueAnswer = []byte("taken") }, storage.ErrDuplicate},
		"an old revision":   {func(n *storage.NewSubmission) { n.FormRevision = 77 }, storage.ErrRevisionMismatch},
		"a repeated submit": {func(n *storage.NewSubmission) { n.IdempotencyKey = "taken" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			release := hold(t, s, 0)
			var calls inFlight
			base := 10_000 + 100*len(name)
			stuck(t, &calls, pool, s, 0, response(base))
			bad := response(base + 20)
			spoil.change(&bad)
			calls.submit(t.Context(), s, 20, bad)
			switch name {
			case "a zero byte", "not UTF-8": // refused before it waits
			case "not JSON": // it waits alone, because the server refuses the group of any form
				eventually(t, "it waits too", func() bool { return waitingFor(t, pool, s, 0) == 2 })
			default:
				queued(t, s, 0, 1)
			}
			for i := range 10 {
				calls.submit(t.Context(), s, 30+i, response(base+30+i))
			}
			release()
			calls.group.Wait()
			for number, err := range calls.errs {
				if number == 20 && !errors.Is(err, spoil.want) {
					t.Errorf("the bad one: %v, want %v", err, spoil.want)
				}
				if number != 20 && err != nil {
					t.Errorf("Submit %d: %v", number, err)
				}
			}
		})
	}
}

// Nobody is told that a response is stored before it is: when the commit fails, all
// of the group learn it, and nothing of it is there.
func TestNothingIsAcknowledgedBeforeItsCommit(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	execute(t, pool, s, `
		CREATE FUNCTION formsvc.refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no commit''; END';
		CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON formsvc.submissions DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION formsvc.refuse()`, pgx.QueryExecModeSimpleProtocol)
	release := hold(t, s, 0)
	var calls inFlight
	stuck(t, &calls, pool, s, 0, response(0))
	for i := range 10 {
		calls.submit(t.Context(), s, 10+i, response(10+i))
	}
	queued(t, s, 0, 10)
	release()
	calls.group.Wait()
	for number, err := range calls.errs {
		if err == nil {
			t.Errorf("Submit %d was acknowledged", number)
		}
	}
	wantRows(t, pool, s, 0, "submissions")
}

// A host's transaction has stored a response with an idempotency key, and takes its
// time to commit. Only a response with the same key waits for it.
func TestAKeyInAnOpenTransactionDelaysNoOtherResponse(t *testing.T) {
	t.Parallel()
	for name, same := range map[string]func(*storage.NewSubmission){
		"key":    func(n *storage.NewSubmission) { n.IdempotencyKey = "once" },
		"answer": func(n *storage.NewSubmission) { n.UniqueAnswer = []byte("once") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := seeded(t)
			tx := begin(t, pgtest.Pool(t))
			first := response(1)
			same(&first)
			mustSubmit(t, s.On(tx), first)
			var calls inFlight
			again := response(2)
			same(&again)
			calls.submit(t.Context(), s, 2, again)
			for i := range 50 {
				mustSubmit(t, s, response(10+i))
			}
			if calls.returned() != 0 {
				t.Error("a response with the same value did not wait for the open transaction")
			}
			must(t, tx.Commit(t.Context()))
			calls.group.Wait()
			want := error(nil) // the first one, replayed
			if name == "answer" {
				want = storage.ErrDuplicate
			}
			if !errors.Is(calls.errs[2], want) {
				t.Errorf("Submit = %v, want %v", calls.errs[2], want)
			}
		})
	}
}

// lockWaits is a tracer that stops each batch whose lock was held before the store learns of it.
// Until then the write has its responses: otherwise it returns them after 50 ms, and a test that
// looks later than that sees another state.
type lockWaits struct {
	hostTracer
	stopped   chan struct{} // gets a value for each batch
	continues chan struct{} // is closed when no batch is stopped any longer
}

func (l *lockWaits) TraceBatchEnd(_ context.Context, _ *pgx.Conn, end pgx.TraceBatchEndData) {
	if conn.IsLockHeld(end.Err) {
		select {
		case l.stopped <- struct{}{}:
		case <-l.continues:
		}
		<-l.continues
	}
}

func TestACallerWhoLeavesLearnsWhetherTheResponseMayBeStored(t *testing.T) {
	t.Parallel()
	held := &lockWaits{stopped: make(chan struct{}), continues: make(chan struct{})}
	s, pool := seeded(t, func(c *pgxpool.Config) { c.ConnConfig.Tracer = held })
	goOn := sync.OnceFunc(func() { close(held.continues) })
	t.Cleanup(goOn)
	release := hold(t, s, 0)
	var calls inFlight
	begun, leaveBegun := context.WithCancel(t.Context())
	calls.submit(begun, s, 0, response(0))
	<-held.stopped // the write has waited for the form
	waits, leaveWaiting := context.WithCancel(t.Context())
	calls.submit(waits, s, 10, response(10))
	queued(t, s, 0, 1)
	calls.submit(t.Context(), s, 11, response(11))
	queued(t, s, 0, 2)

	// First the one that waits: when the other leaves, its write ends, and the next one
	// takes all that wait.
	leaveWaiting()
	eventually(t, "the one that waits has left", func() bool { return calls.returned() == 1 })
	leaveBegun()
	eventually(t, "both have left", func() bool { return calls.returned() == 2 })
	goOn()
	if err := calls.errs[0]; !errors.Is(err, context.Canceled) || !errors.Is(err, storage.ErrOutcomeUnknown) {
		t.Errorf("Submit of what is being stored = %v", err)
	}
	if err := calls.errs[10]; !errors.Is(err, context.Canceled) || errors.Is(err, storage.ErrOutcomeUnknown) {
		t.Errorf("Submit of what waits = %v", err)
	}
	release()
	calls.group.Wait()
	if err := calls.errs[11]; err != nil {
		t.Errorf("Submit of who stayed = %v", err)
	}
	if _, err := s.Submission(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Form, 0), response(10).Submission.ID); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("what waited was stored: %v", err)
	}
	eventually(t, "the connections are back", func() bool { return pool.Stat().AcquiredConns() == 0 })
}

// Without a connection nothing is begun: the caller's error says that nothing is
// stored.
func TestACallerWhoLeavesWithoutAConnection(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t, pgtest.MaxConns(1))
	conn, err := pool.Acquire(t.Context())
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var calls inFlight
	calls.submit(ctx, s, 0, response(0))
	queuedForAny(t, s, 1)
	cancel()
	calls.group.Wait()
	if err := calls.errs[0]; !errors.Is(err, context.Canceled) || errors.Is(err, storage.ErrOutcomeUnknown) {
		t.Errorf("Submit = %v", err)
	}
	conn.Release()
	eventually(t, "nothing is left", s.submitBatches.batched.isIdle)
	wantRows(t, pool, s, 0, "submissions")
}

// The answer to a commit is lost: every response of the group may be stored.
func TestALostCommitOfAGroup(t *testing.T) {
	t.Parallel()
	direct, pool := seeded(t)
	p := newProxy(t)
	s := New(pgtest.Pool(t, p.through), WithSchema(direct.db.Schema))
	mustSubmit(t, s, response(0))
	p.cut.Store(true)
	if _, _, err := s.Submit(t.Context(), response(1)); !errors.Is(err, storage.ErrOutcomeUnknown) {
		t.Errorf("Submit = %v", err)
	}
	<-p.found
	wantRows(t, pool, direct, 2, "submissions")
}

// bigOnes is how many responses of 2 MiB arrive at once.
const bigOnes = 32

// submitMemory bounds what storing takes beside the responses themselves: a copy of
// each, which is the store's own, and what the connections of one form send: encoding
// and sending grow their buffers by doubling. A further part is that of the last attempt that
// went back for its lock.
const submitMemory = bigOnes*2<<20 + 7*(submitBytes+2<<20)

func TestBigResponsesAtOnceStayWithinABound(t *testing.T) {
	if testing.Short() {
		t.Skip("what is in memory at once depends on what else the machine does")
	}
	s, pool := seeded(t, pgtest.MaxConns(8))
	s = New(pool, WithSchema(s.db.Schema), WithTimeout(5*time.Minute)) // a busy machine copies slowly
	// Each has one mebibyte of answers, and as much of an event.
	big := json.RawMessage(`["` + strings.Repeat("x", 1<<20) + `"]`)
	responses := make([]storage.NewSubmission, bigOnes)
	for i := range responses {
		responses[i] = response(i)
		responses[i].Submission.Answers, responses[i].Event.Body = slices.Clone(big), slices.Clone(big)
	}
	release := hold(t, s, 0) // so that all are there at once
	alive := func() uint64 { // without what others allocate after the collection
		runtime.GC()
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		return live[0].Value.Uint64()
	}
	before := alive()
	var calls inFlight
	for i, n := range responses {
		calls.submit(t.Context(), s, i, n)
	}
	eventually(t, "all are there", func() bool {
		return waitingFor(t, pool, s, 0) == 1 && s.submitBatches.batched.waitFor(pgseed.ID(pgseed.Form, 0)) == bigOnes-1
	})
	var peak atomic.Uint64
	watch := func() {
		now := alive()
		peak.Store(max(peak.Load(), now-min(now, before)))
	}
	watch()
	release()
	for calls.returned() < len(responses) {
		watch()
	}
	calls.allStored(t)
	wantRows(t, pool, s, len(responses), "submissions")
	t.Logf("peak %.1f MiB beside the responses' own %d MiB, bound %d MiB", float64(peak.Load())/(1<<20), 2*len(responses), submitMemory>>20)
	if peak.Load() > submitMemory {
		t.Errorf("storing took %d bytes at its peak, want at most %d", peak.Load(), submitMemory)
	}
	runtime.KeepAlive(responses)
}

// storedTogether holds the form, submits responses that have to wait for each other,
// and returns their errors and how many transactions stored them.
func storedTogether(t *testing.T, s *Store, pool *pgxpool.Pool, group []storage.NewSubmission) (errs map[int]error, transactions int) {
	t.Helper()
	release := hold(t, s, 0)
	var calls inFlight
	base := 50_000
	stuck(t, &calls, pool, s, -1, response(base))
	for i, n := range group {
		calls.submit(t.Context(), s, i, n)
		queued(t, s, 0, i+1)
	}
	release()
	calls.group.Wait()
	var ids [][]byte
	for _, n := range group {
		ids = append(ids, n.Submission.ID[:])
	}
	err := pool.QueryRow(t.Context(), s.db.RewriteSQL(`SELECT count(DISTINCT xmin::text) FROM formsvc.submissions WHERE id = ANY ($1::bytea[])`), ids).Scan(&transactions)
	must(t, err)
	return calls.errs, transactions
}

// The responses of a form with a limit are stored together too, once one of them has
// shown that they are counted, and no more than the limit allows.
func TestResponsesOfALimitedFormAreStoredTogether(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	const limit = 2 + 20
	if _, err := s.UpdateForm(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Form, 0),
		storage.FormChange{At: pgseed.Start(), Acceptance: &storage.AcceptanceRules{ResponseLimit: limit}}); err != nil {
		t.Fatal(err)
	}
	mustSubmit(t, s, atRevision(response(1), 2))
	release := hold(t, s, 0)
	var calls inFlight
	stuck(t, &calls, pool, s, 0, atRevision(response(50), 2))
	for i := range 30 {
		calls.submit(t.Context(), s, 10+i, atRevision(response(100+i), 2))
	}
	queued(t, s, 0, 30)
	release()
	calls.group.Wait()
	full := 0
	for number, err := range calls.errs {
		switch {
		case errors.Is(err, storage.ErrLimitReached):
			full++
		case err != nil:
			t.Errorf("Submit %d: %v", number, err)
		}
	}
	var rows, transactions int
	must(t, pool.QueryRow(t.Context(), s.db.RewriteSQL(`SELECT count(*), count(DISTINCT xmin::text) FROM formsvc.submissions`)).Scan(&rows, &transactions))
	// The response that waited for the lock is stored by itself, or with the others after a while.
	if rows != limit || full != 10 || transactions < 2 || transactions > 3 {
		t.Errorf("%d responses are stored in %d transactions and %d refused, want %d, 2 or 3, and 10", rows, transactions, full, limit)
	}
}

func atRevision(n storage.NewSubmission, revision int64) storage.NewSubmission {
	n.FormRevision = revision
	return n
}

// When responses in one group have the same key, answer or id, one of them is stored,
// and all other responses of the group are still stored together.
func TestARepetitionWithinAGroup(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		same func(n *storage.NewSubmission)
		want error
	}{
		"key":    {func(n *storage.NewSubmission) { n.IdempotencyKey = "once" }, nil},
		"answer": {func(n *storage.NewSubmission) { n.UniqueAnswer = []byte("once") }, storage.ErrDuplicate},
		"id":     {func(n *storage.NewSubmission) { n.Submission.ID = response(60_000).Submission.ID }, storage.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			s = patient(s, pool)
			group := make([]storage.NewSubmission, 20)
			for i := range group {
				group[i] = response(i)
				if i%10 == 0 {
					test.same(&group[i])
				}
			}
			errs, transactions := storedTogether(t, s, pool, group)
			for number, err := range errs {
				want := error(nil)
				if number == 10 {
					want = test.want
				}
				if !errors.Is(err, want) {
					t.Errorf("Submit %d: %v, want %v", number, err, want)
				}
			}
			if n := count(t, pool, s, "submissions"); n != len(group) || transactions > 2 { // an attempt may have taken only some of them
				t.Errorf("%d responses are stored, the group's in %d transactions", n, transactions)
			}
		})
	}
}

// patient returns a store on the same tables whose calls do not end while a test that holds a lock
// arranges them.
func patient(s *Store, pool *pgxpool.Pool) *Store {
	return New(pool, WithSchema(s.db.Schema), WithTimeout(time.Minute))
}
