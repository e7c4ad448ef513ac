package postgres

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"pgregory.net/rapid"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// A member that a record gets is kept, and changed: no statement forgets it.
func TestEveryMemberOfAFormIsKept(t *testing.T) {
	t.Parallel()
	s, _ := testStore(t)
	f := anyOf(reflect.TypeFor[storage.Form]()).Interface().(storage.Form)
	f.WorkspaceID, f.Revision, f.Type, f.Status = storage.ID{1}, 1, "SINGLE", storage.StatusPublished
	f.TrashedAt, f.LimitReached, f.DocumentsRevision = time.Time{}, false, 0 // set by the store, as DuplicateCheckReady is
	must(t, s.CreateWorkspace(t.Context(), storage.Workspace{ID: f.WorkspaceID, PublicID: "w"}, 0))
	must(t, s.CreateForm(t.Context(), storage.AsHost(), f))
	got, err := s.Form(t.Context(), storage.AsHost(), f.ID)
	if diff := cmp.Diff(f, got); err != nil || diff != "" {
		t.Errorf("Form = %v; it differs:\n%s", err, diff)
	}

	changes := reflect.TypeFor[storage.FormChange]()
	for i := range changes.NumField() {
		name := changes.Field(i).Name
		if name == "IfRevision" || name == "At" || name == "Documents" { // not what is changed of the form
			continue
		}
		c := storage.FormChange{At: f.UpdatedAt}
		reflect.ValueOf(&c).Elem().Field(i).Set(anyOf(changes.Field(i).Type))
		switch name {
		case "Name":
			*c.Name = "another"
		case "Type":
			*c.Type = "MULTI"
		case "Status":
			*c.Status = storage.StatusDraft
		case "WorkspaceID":
			*c.WorkspaceID = storage.ID{2}
			must(t, s.CreateWorkspace(t.Context(), storage.Workspace{ID: storage.ID{2}, PublicID: "w2"}, 0))
		case "Definition":
			c.Definition.Theme = json.RawMessage(`{}`)
		case "Acceptance":
			c.Acceptance.Closed = false
		}
		before := got.Revision
		if got, err = s.UpdateForm(t.Context(), storage.AsHost(), f.ID, c); err != nil || got.Revision != before+1 {
			t.Errorf("a change of %s makes revision %d out of %d (%v)", name, got.Revision, before, err)
		}
	}
}

// A process forgets a cached form when the form, the access to the form or the key
// changes, whoever made the change.
func TestARememberedFormIsTheFormAsItIs(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t, pgtest.Mode(mode))
			form, owner := pgseed.ID(pgseed.Form, 0), pgseed.ID(pgseed.User, 0)
			ask := func() *storage.Form {
				t.Helper()
				got, err := s.FormForKey(t.Context(), storage.FormForKeyParams{
					Hash: pgseed.KeyHash(0), Form: form, Scope: storage.ScopeFormsRead, At: pgseed.Start(),
				})
				if err != nil || got.User.ID != owner {
					t.Fatalf("FormForKey = %v, %v", got.User, err)
				}
				return got.Form
			}
			do := func(statement string) {
				t.Helper()
				execute(t, pool, s, statement, pgx.QueryExecModeSimpleProtocol)
			}
			if first, second := ask(), ask(); first == nil || !reflect.DeepEqual(first, second) {
				t.Fatalf("the form is %v and then %v", first, second)
			}
			if _, ok := s.cache.keys.Get(pgseed.KeyHash(0)); !ok {
				t.Fatal("the key is not remembered")
			}
			name := "another name"
			other := New(pgtest.Pool(t), WithSchema(s.db.Schema))
			must(t, errorOf(other.UpdateForm(t.Context(), storage.As(owner), form, storage.FormChange{At: pgseed.Start(), Name: &name})))
			if got := ask(); got.Name != name {
				t.Errorf("after a change by another process the name is %q", got.Name)
			}
			do(`UPDATE formsvc.forms SET name = 'by hand' WHERE id = '\x` + form.String() + `'`)
			if got := ask(); got.Name != "by hand" {
				t.Errorf("after a change by hand the name is %q", got.Name)
			}
			must(t, putVersion(other, func(c *storage.DocumentChange) { c.Public = true }))
			if got := ask(); got.DocumentsRevision != 1 {
				t.Errorf("after a change of a public document Beside is %d", got.DocumentsRevision)
			}
			limit := storage.FormChange{At: pgseed.Start(), Acceptance: &storage.AcceptanceRules{ResponseLimit: 1}}
			changed, err := other.UpdateForm(t.Context(), storage.As(owner), form, limit)
			must(t, err)
			if got := ask(); got.LimitReached {
				t.Error("the form is full before its first response")
			}
			mustSubmit(t, other, atRevision(response(1), changed.Revision))
			if got := ask(); !got.LimitReached {
				t.Error("the form is not full after the last response that it takes")
			}
			for _, step := range []struct{ change, back string }{
				{
					`CREATE TABLE formsvc.kept AS SELECT * FROM formsvc.workspace_users; DELETE FROM formsvc.workspace_users`,
					`INSERT INTO formsvc.workspace_users SELECT * FROM formsvc.kept`,
				},
				{`UPDATE formsvc.forms SET trashed_at = now()`, `UPDATE formsvc.forms SET trashed_at = NULL`},
				{`UPDATE formsvc.api_keys SET revoked_at = now()`, `UPDATE formsvc.api_keys SET revoked_at = NULL`},
				{`UPDATE formsvc.api_keys SET scopes = '{}'`, `UPDATE formsvc.api_keys SET scopes = '{forms:read}'`},
			} {
				do(step.change)
				if got := ask(); got != nil {
					t.Errorf("after %s the form is still there", step.change)
				}
				do(step.back)
				if got := ask(); got == nil {
					t.Errorf("after %s the form is not there", step.back)
				}
			}
		})
	}
}

// A key is handed out as it is, and its scopes as the caller's own.
func TestARememberedKeyIsTheKeyAsItIs(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	params := storage.FormForKeyParams{Hash: pgseed.KeyHash(0), Form: pgseed.ID(pgseed.Form, 0), At: pgseed.Start()}
	for _, change := range []string{
		`name = 'x'`, `user_name = 'Bob'`, `user_email = 'bob@example.com'`, `scopes = '{forms:write,forms:read}'`,
		`last_used_at = '2026-01-02T00:00:00Z'`, `expires_at = '2100-01-01T00:00:00Z'`,
	} {
		run(t, pool, s.db.RewriteSQL(`UPDATE formsvc.api_keys SET `+change), pgx.QueryExecModeSimpleProtocol)
		wantKey, wantUser, err := s.KeyByHash(t.Context(), params.Hash)
		must(t, err)
		for range 3 {
			got, err := s.FormForKey(t.Context(), params)
			if err != nil || got.Form == nil || !reflect.DeepEqual(got.Key, wantKey) || got.User != wantUser {
				t.Fatalf("after %s: %+v, %+v, %v; want %+v, %+v", change, got.Key, got.User, err, wantKey, wantUser)
			}
			clear(got.Key.Scopes)
		}
	}
	// It expires without a change of its row.
	params.At = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	if got, err := s.FormForKey(t.Context(), params); err != nil || got.Form != nil {
		t.Errorf("for a key that has expired: %v, %v", got.Form, err)
	}
}

// A transaction reads what it has written, and leaves nothing of it behind.
func TestATransactionRemembersNoForm(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	form, name := pgseed.ID(pgseed.Form, 0), "never committed"
	params := storage.FormForKeyParams{Hash: pgseed.KeyHash(0), Form: form, At: pgseed.Start()}
	before, err := s.FormForKey(t.Context(), params)
	must(t, err)
	tx := begin(t, pool)
	on := s.On(tx)
	must(t, errorOf(on.UpdateForm(t.Context(), storage.AsHost(), form, storage.FormChange{At: pgseed.Start(), Name: &name})))
	if got, err := on.FormForKey(t.Context(), params); err != nil || got.Form.Name != name {
		t.Errorf("in the transaction: %v, %v", got.Form, err)
	}
	must(t, tx.Rollback(t.Context()))
	if got, err := s.FormForKey(t.Context(), params); err != nil || got.Form.Name != before.Form.Name {
		t.Errorf("after the rollback: %v, %v", got.Form, err)
	}
}

// pageReads counts the reads of forms by their public ids. The first ends when it is let go.
type pageReads struct {
	begun atomic.Int64
	goOn  chan struct{}
}

type readOfPage struct{}

func (r *pageReads) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if strings.Contains(q.SQL, "f.public_id = $1") {
		return context.WithValue(ctx, readOfPage{}, r.begun.Add(1))
	}
	return ctx
}

func (r *pageReads) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	if ctx.Value(readOfPage{}) == int64(1) {
		<-r.goOn
	}
}

// Who asks for a form while it is being read gets it from a read that begins later, which is one
// for all of them, so that nobody sees less than was stored before the call. Who leaves takes
// nobody along.
func TestPagesOfAFormShareTheNextRead(t *testing.T) {
	t.Parallel()
	reads := &pageReads{goOn: make(chan struct{})}
	s, _ := seeded(t, func(c *pgxpool.Config) { c.ConnConfig.Tracer = reads }, pgtest.MaxConns(4))
	form, err := s.Form(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Form, 0))
	must(t, err)
	type answer struct {
		name string
		err  error
	}
	ask := func(ctx context.Context) <-chan answer {
		got := make(chan answer, 1)
		go func() {
			f, err := s.FormByPublicID(ctx, form.PublicID)
			got <- answer{f.Name, err}
		}()
		return got
	}
	first := ask(t.Context())
	eventually(t, "the first read has begun", func() bool { return reads.begun.Load() == 1 })
	name := "changed meanwhile"
	must(t, errorOf(s.UpdateForm(t.Context(), storage.AsHost(), form.ID, storage.FormChange{At: form.UpdatedAt, Name: &name})))
	leaving, leave := context.WithCancel(t.Context())
	left := ask(leaving)
	var others []<-chan answer
	for range 20 {
		others = append(others, ask(t.Context()))
	}
	eventually(t, "21 wait", func() bool { return s.formReader.waitFor(form.PublicID) == 21 })
	leave()
	if got := <-left; !errors.Is(got.err, context.Canceled) {
		t.Errorf("who left has %v", got)
	}
	close(reads.goOn)
	if got := <-first; got.err != nil || got.name != form.Name {
		t.Errorf("the first has %v, want the form before its change", got)
	}
	for _, other := range others {
		if got := <-other; got.err != nil || got.name != name {
			t.Fatalf("who came after the change has %v", got)
		}
	}
	if n := reads.begun.Load(); n != 2 {
		t.Errorf("%d reads, want 2", n)
	}
}

// randomly is response with an id that comes anywhere in the order of ids.
func randomly(number int) storage.NewSubmission {
	n := response(number)
	rand.Read(n.Submission.ID[:])
	rand.Read(n.Event.ID[:])
	return n
}

// submitAt stores a response at whatever revision the form has.
func submitAt(ctx context.Context, s *Store, n storage.NewSubmission) error {
	for {
		_, _, err := s.Submit(ctx, n)
		var mismatch *storage.RevisionError
		if !errors.As(err, &mismatch) {
			return err
		}
		n.FormRevision = mismatch.Current
	}
}

func taken(t *testing.T, s *Store) (n int64) {
	t.Helper()
	must(t, s.db.DB.QueryRow(t.Context(), s.db.RewriteSQL("SELECT submission_count FROM formsvc.form_limits")).Scan(&n))
	return n
}

// A limit counts each response once, whatever comes and goes while it is counted.
func TestALimitIsCountedWhileResponsesComeAndGo(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	s.countBatchSize = 7
	form, host := pgseed.ID(pgseed.Form, 0), storage.AsHost()
	var there []storage.ID
	for i := range 150 {
		n := randomly(i)
		mustSubmit(t, s, n)
		there = append(there, n.Submission.ID)
	}
	var group sync.WaitGroup
	var counted atomic.Bool
	for w := range 4 {
		group.Go(func() {
			for i := 0; i < 20 || !counted.Load(); i++ {
				if err := submitAt(t.Context(), s, randomly(1000*(w+1)+i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Go(func() {
		for _, id := range there[:100] {
			check(t, s.DeleteSubmission(t.Context(), host, form, id))
		}
	})
	for range 2 { // two changes share one count
		group.Go(func() {
			f, err := s.UpdateForm(t.Context(), host, form, storage.FormChange{Acceptance: &storage.AcceptanceRules{ResponseLimit: 1 << 40}, At: pgseed.Start()})
			if err != nil || f.Acceptance.ResponseLimit != 1<<40 {
				t.Error(f.Acceptance, err)
			}
			counted.Store(true)
		})
	}
	group.Wait()
	if got, want := taken(t, s), int64(count(t, pool, s, "submissions")); got != want {
		t.Errorf("%d are counted, %d are there", got, want)
	}
}

// between calls f before each batch that counts a piece.
type between struct {
	DB
	f func(piece int)
	n int
}

func (b *between) SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults {
	for _, q := range batch.QueuedQueries {
		if strings.Contains(q.SQL, "counted_to = (SELECT e.id") {
			b.n++
			b.f(b.n)
		}
	}
	return b.DB.SendBatch(ctx, batch)
}

// Between two pieces of a count nothing is locked, and the limit is not there before
// the count is.
func TestResponsesPassBetweenThePiecesOfACount(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	for i := range 20 {
		mustSubmit(t, s, randomly(i))
	}
	form := pgseed.ID(pgseed.Form, 0)
	pieces := 0
	counting := *s
	counting.countBatchSize = 5
	counting.db = counting.db.WithDB(&between{DB: pool, f: func(piece int) {
		pieces = piece
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if _, _, err := s.Submit(ctx, randomly(100+piece)); err != nil { // at the old revision
			t.Errorf("Submit before piece %d: %v", piece, err)
		}
		if _, _, err := s.Submit(ctx, responseTo(1, 200+piece)); err != nil {
			t.Errorf("Submit to another form before piece %d: %v", piece, err)
		}
		if f, err := s.Form(ctx, storage.AsHost(), form); err != nil || f.Revision != 1 || f.Acceptance.ResponseLimit != 0 {
			t.Errorf("the form before piece %d: %+v, %v", piece, f.Acceptance, err)
		}
	}})
	limit := int64(20 + 4)
	f, err := counting.UpdateForm(t.Context(), storage.AsHost(), form, storage.FormChange{Acceptance: &storage.AcceptanceRules{ResponseLimit: limit}, At: pgseed.Start()})
	if err != nil || pieces < 4 {
		t.Fatalf("%d pieces, %v", pieces, err)
	}
	stored := int64(20 + pieces)
	if f.LimitReached != (stored >= limit) || taken(t, s) != stored {
		t.Errorf("full %v, %d taken, want %d of %d", f.LimitReached, taken(t, s), stored, limit)
	}
	if err := submitAt(t.Context(), s, randomly(300)); (stored >= limit) != errors.Is(err, storage.ErrLimitReached) {
		t.Errorf("Submit afterwards: %v", err)
	}
}

// A count that ends early leaves the form as it was, is taken up where it ended by
// the next change, and is dropped when none comes.
func TestACountThatEndsEarly(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	for i := range 20 {
		mustSubmit(t, s, randomly(i))
	}
	form, host := pgseed.ID(pgseed.Form, 0), storage.AsHost()
	change := storage.FormChange{Acceptance: &storage.AcceptanceRules{ResponseLimit: 3}, At: pgseed.Start()}
	stop := func() int {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		pieces := 0
		stopping := *s
		stopping.countBatchSize = 5
		stopping.db = stopping.db.WithDB(&between{DB: pool, f: func(piece int) {
			if pieces = piece; piece == 3 {
				cancel()
			}
		}})
		if _, err := stopping.UpdateForm(ctx, host, form, change); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		return pieces
	}
	stop()
	if f, err := s.Form(t.Context(), host, form); err != nil || f.Revision != 1 || f.Acceptance.ResponseLimit != 0 || f.LimitReached {
		t.Errorf("%+v, %v", f, err)
	}
	if n := taken(t, s); n != 10 {
		t.Errorf("%d are counted after two pieces of 5", n)
	}
	sweepAll(t, s, storage.SweepParams{Max: 100})
	wantRows(t, pool, s, 1, "form_limits")
	execute(t, pool, s, "UPDATE formsvc.form_limits SET count_at = count_at - interval '2 hours'")
	sweepAll(t, s, storage.SweepParams{Max: 100})
	wantRows(t, pool, s, 0, "form_limits")
	stop()
	if f, err := s.UpdateForm(t.Context(), host, form, change); err != nil || !f.LimitReached || taken(t, s) != 20 {
		t.Errorf("full %v, %d taken, %v", f.LimitReached, taken(t, s), err)
	}
	// A limit that is in force is not dropped, however long ago it was counted.
	if n := sweepAll(t, s, storage.SweepParams{Max: 100}); n.Forms != 0 || count(t, pool, s, "form_limits") != 1 {
		t.Error("the count of a limit is dropped")
	}
}

// counted is one count.
func counted(form storage.ID, at time.Time, c storage.Counters) []storage.FunnelCount {
	return []storage.FunnelCount{{Form: form, At: at, Counters: c}}
}

// The parts of a window are the window, each minute once.
func TestPartition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		minute := func(name string) time.Time {
			n := rapid.Int64Range(-5*24*60, 5*24*60).Draw(t, name)
			if n == 0 {
				return time.Time{}
			}
			return time.Unix(n*60, 0).UTC()
		}
		all := storage.Window{From: minute("from"), To: minute("to")}
		p := splitWindow(all)
		contains := func(w storage.Window, at time.Time, open bool) bool {
			return (open && w.From.IsZero() || !at.Before(w.From)) && (open && w.To.IsZero() || at.Before(w.To))
		}
		at := time.Unix(rapid.Int64Range(-6*24*60, 6*24*60).Draw(t, "at")*60, 0).UTC()
		n := 0
		year, month, day := at.Date()
		if contains(p.days, time.Date(year, month, day, 0, 0, 0, 0, time.UTC), true) {
			n++
		}
		if contains(p.head, at, false) {
			n++
		}
		if contains(p.tail, at, false) {
			n++
		}
		want := 0
		if contains(all, at, true) {
			want = 1
		}
		if n != want {
			t.Fatalf("%v is %d times in the parts of %+v: %+v", at, n, all, p)
		}
	})
}

// Folding changes where counts are, not what they add up to, and keeps minutes
// for two days.
func TestFold(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	form, host := pgseed.ID(pgseed.Form, 0), storage.AsHost()
	start := pgseed.Start()
	times := []time.Time{start, start.Add(time.Minute), start.Add(30 * time.Hour), start.Add(72 * time.Hour), start.Add(72*time.Hour + 59*time.Second)}
	for _, at := range times {
		must(t, s.CountFunnel(t.Context(), counted(form, at, storage.Counters{Views: 1, Starts: 2, Submissions: 3})))
	}
	check := func(when string, from, to time.Time, want int64) {
		t.Helper()
		got, err := s.Funnel(t.Context(), host, form, storage.Window{From: from, To: to})
		if err != nil || got.Counters != (storage.Counters{Views: want, Starts: 2 * want, Submissions: 3 * want}) {
			t.Errorf("%s: %+v, %v; want %d views", when, got, err, want)
		}
	}
	for range 2 {
		check("all time", time.Time{}, time.Time{}, 5)
		check("the first day", start, start.Add(day), 2)
		check("a minute", start.Add(72*time.Hour), start.Add(72*time.Hour+time.Minute), 2)
		check("since a time of day", start.Add(30*time.Hour), time.Time{}, 3)
		must(t, errorOf(s.foldForm(t.Context(), form)))
	}
	wantRows(t, pool, s, 0, "funnel_log")
	wantRows(t, pool, s, 2, "funnel_minutes")
	must(t, s.CountFunnel(t.Context(), counted(form, start, storage.Counters{Views: 1, Starts: 2, Submissions: 3})))
	must(t, errorOf(s.foldForm(t.Context(), form)))
	check("a day of the past, counted late", start, start.Add(day), 3)
	wantRows(t, pool, s, 2, "funnel_minutes")
}

// Counts of a host's transaction are folded like all others, and a log that has become
// long is folded by a read; a fault of that is logged and is not the read's.
func TestALongLogIsFoldedByARead(t *testing.T) {
	t.Parallel()
	owner, pool := seeded(t)
	form, host := pgseed.ID(pgseed.Form, 0), storage.AsHost()
	fill := func(rows int) {
		t.Helper()
		execute(t, pool, owner, `
			INSERT INTO formsvc.funnel_log (form_id, at, views, starts, submissions)
			SELECT $1::bytea, $2::timestamptz, 1, 0, 0 FROM generate_series(1, $3::integer)`, pgx.QueryExecModeExec, form[:], pgseed.Start(), rows)
	}
	read := func(s *Store, want int64) {
		t.Helper()
		if got, err := s.Funnel(t.Context(), host, form, storage.Window{}); err != nil || got.Views != want {
			t.Errorf("%d views, want %d (%v)", got.Views, want, err)
		}
	}
	var log bytes.Buffer
	s := New(pool, WithSchema(owner.db.Schema), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	fill(longLogRows)
	read(s, longLogRows)
	wantRows(t, pool, s, longLogRows, "funnel_log")
	fill(1)
	read(s, longLogRows+1)
	if n := count(t, pool, s, "funnel_log"); n != 0 || log.Len() > 0 {
		t.Errorf("%d rows are left of a long log\n%s", n, &log)
	}
	read(s, longLogRows+1)

	execute(t, pool, s, "ALTER TABLE formsvc.funnel_days ADD CHECK (views <= 0) NOT VALID")
	fill(longLogRows + 1)
	read(s, 2*longLogRows+2)
	if !strings.Contains(log.String(), "failed to combine a form's views") || !strings.Contains(log.String(), form.String()) {
		t.Errorf("the log says %q", &log)
	}
	if _, err := s.Sweep(t.Context(), storage.SweepParams{Max: 100}); err == nil {
		var more error
		for range sweepSteps { // the step that folds is one of them
			_, err := s.Sweep(t.Context(), storage.SweepParams{Max: 100})
			more = errors.Join(more, err)
		}
		expect(t, more != nil, "sweeps report no fault")
	}
}

// Folding takes turns: forms whose log goes on growing do not keep it from the others.
func TestFoldingGoesRoundTheForms(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	counts := func(form, n int) {
		for range n {
			must(t, s.CountFunnel(t.Context(), counted(pgseed.ID(pgseed.Form, form), pgseed.Start(), storage.Counters{Views: 1})))
		}
	}
	counts(0, 10)
	counts(2, 10)
	p := storage.SweepParams{Max: 10}
	for range 2 * len(sweepSteps) {
		counts(0, 10) // the first form is never done
		must(t, errorOf(s.foldCounts(t.Context(), p, &storage.SweepResult{})))
	}
	last := pgseed.ID(pgseed.Form, 2)
	var left int
	if err := pool.QueryRow(t.Context(), s.db.RewriteSQL("SELECT count(*) FROM formsvc.funnel_log WHERE form_id = $1"), last[:]).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d counts of the last form are not folded (%v)", left, err)
	}
}
