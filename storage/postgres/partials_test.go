package postgres

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
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
)

// half is a new half response of a form, saved at the second of its number.
func half(form, number int) storage.SavePartialParams {
	at := pgseed.Start().Add(time.Duration(number) * time.Second)
	p := storage.SavePartialParams{New: true, Partial: storage.Partial{
		ID: pgseed.ID(pgseed.Partial, number), FormID: pgseed.ID(pgseed.Form, form), SavedAt: at, EndsAt: at.AddDate(0, 0, 30),
		Answers: json.RawMessage(`{"q":1}`), Hidden: json.RawMessage(`{}`), Metadata: json.RawMessage(`{}`),
	}}
	binary.BigEndian.PutUint64(p.Token[:], uint64(number)+1)
	return p
}

// later is the save of a half response that is there, at the second of a number.
func later(p storage.SavePartialParams, number int) storage.SavePartialParams {
	p.New, p.Partial.SavedAt = false, pgseed.Start().Add(time.Duration(number)*time.Second)
	return p
}

func keep(t *testing.T, s *Store, p storage.SavePartialParams) {
	t.Helper()
	if _, err := s.SavePartial(t.Context(), p); err != nil {
		t.Fatalf("SavePartial: %v", err)
	}
}

// open are the numbers of the half responses of a form that are not submitted, newest first.
func open(t *testing.T, s *Store, form int) (numbers []int) {
	t.Helper()
	_, err := s.Partials(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Form, form), storage.PartialQuery{Now: pgseed.Start(), Page: storage.Page{Limit: 1 << 20}},
		func(p *storage.Partial) error {
			numbers = append(numbers, int(binary.BigEndian.Uint32(p.ID[8:])))
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return numbers
}

func isEmptied(t *testing.T, s *Store, p storage.SavePartialParams, by storage.NewSubmission) {
	t.Helper()
	got, err := s.Partial(t.Context(), p.Partial.FormID, p.Token, p.Partial.SavedAt)
	if err != nil || got.Answers != nil || got.SubmissionID != by.Submission.ID {
		t.Errorf("Partial after Submit = %+v, %v", got, err)
	}
}

func begin(t *testing.T, pool *pgxpool.Pool) pgx.Tx {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	return tx
}

// A response without a token pays nothing for half responses, alone, in a group or in a host's
// transaction; one with a token pays in the same round trip.
func TestAResponseWithoutATokenKnowsNoHalfResponses(t *testing.T) {
	t.Parallel()
	seen := &recorder{}
	s, pool := seeded(t, seen.trace)
	keep(t, s, half(0, 1))
	ways := map[string]func(storage.NewSubmission) error{
		"in a group": func(n storage.NewSubmission) error {
			_, _, err := s.Submit(t.Context(), n)
			return err
		},
		"alone": func(n storage.NewSubmission) error {
			_, err := s.submitAlone(t.Context(), n)
			return err
		},
		"in a transaction": func(n storage.NewSubmission) error {
			return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
				_, _, err := s.On(tx).Submit(t.Context(), n)
				return err
			})
		},
	}
	number := 0
	for name, submit := range ways {
		for _, token := range [][32]byte{{}, {9}} {
			number++
			n := response(number)
			n.Partial = token
			named := 0
			for text := range seen.of(t, func() error { return submit(n) }) {
				named += strings.Count(text, "partials")
			}
			if (named > 0) != (token != [32]byte{}) {
				t.Errorf("%s, with the token %x: the table is named %d times", name, token[:1], named)
			}
		}
	}
	for how, text := range storingTexts {
		if how.partial != strings.Contains(text, "partial") {
			t.Errorf("%+v: %s", how, text)
		}
	}
}

// The commit of a save waits for no disk, and nothing else that the connection does is without
// that wait: neither the next transaction, nor one of the host's in which something is saved.
func TestOnlyTheSaveIsUnsynchronised(t *testing.T) {
	t.Parallel()
	for name, mode := range queryModes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var trips int
			s, pool := seeded(t, pgtest.Mode(mode), pgtest.MaxConns(1), func(c *pgxpool.Config) {
				dial := c.ConnConfig.DialFunc
				c.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
					conn, err := dial(ctx, network, addr)
					return &roundTrips{Conn: conn, mu: &mu, n: &trips}, err
				}
			})
			if _, err := pool.Exec(t.Context(), s.db.SQL(`
				CREATE FUNCTION formsvc.tell() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.block = current_setting(''synchronous_commit''); RETURN NEW; END';
				CREATE TRIGGER tell BEFORE INSERT OR UPDATE ON formsvc.partials FOR EACH ROW EXECUTE FUNCTION formsvc.tell()`),
				pgx.QueryExecModeSimpleProtocol); err != nil {
				t.Fatal(err)
			}
			synchronised := func(s *Store, p storage.SavePartialParams) string {
				t.Helper()
				keep(t, s, p)
				got, err := s.Partial(t.Context(), p.Partial.FormID, p.Token, p.Partial.SavedAt)
				if err != nil {
					t.Fatal(err)
				}
				return got.Block
			}
			for number := range 3 {
				p := half(0, number)
				for _, p := range []storage.SavePartialParams{p, later(p, number)} {
					mu.Lock()
					trips = 0
					mu.Unlock()
					keep(t, s, p)
					mu.Lock()
					if trips != 1 && (number > 0 || mode != pgx.QueryExecModeCacheStatement) { // the first one prepares its statements
						t.Errorf("a save, new %v, made %d round trips", p.New, trips)
					}
					mu.Unlock()
				}
			}
			p := half(0, 10)
			for _, p := range []storage.SavePartialParams{p, later(p, 11)} {
				if got := synchronised(s, p); got != "off" {
					t.Errorf("synchronous_commit of a save, new %v, is %s", p.New, got)
				}
			}
			tx := begin(t, pool)
			p = half(0, 12)
			for _, p := range []storage.SavePartialParams{p, later(p, 13)} {
				if got := synchronised(s.On(tx), p); got != "on" {
					t.Errorf("synchronous_commit in a host's transaction, new %v, is %s", p.New, got)
				}
			}
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			var after string
			if err := pool.QueryRow(t.Context(), "SHOW synchronous_commit").Scan(&after); err != nil || after != "on" {
				t.Errorf("synchronous_commit of the connection afterwards: %s, %v", after, err)
			}
		})
	}
}

// Somebody holds a half response. Only the response that was begun with it waits, and it holds
// nothing meanwhile that others wait for: neither a form that takes its responses one by one.
func TestAGroupWaitsForNoHalfResponse(t *testing.T) {
	t.Parallel()
	for _, limit := range []int64{0, 1000} {
		t.Run(fmt.Sprint("limit ", limit), func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t, pgtest.MaxConns(6)) // two of them for what waits for its form
			revision := int64(1)
			if limit > 0 {
				revision++
				if _, err := s.UpdateForm(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Form, 0), storage.FormChange{Gate: &storage.Gate{ResponseLimit: limit}}); err != nil {
					t.Fatal(err)
				}
			}
			for number := range 20 {
				keep(t, s, half(0, number))
			}
			with := func(number int) storage.NewSubmission {
				n := response(number)
				n.FormRevision, n.Partial = revision, half(0, number).Token
				return n
			}
			tx := begin(t, pool)
			keep(t, s.On(tx), later(half(0, 0), 100))
			var calls inFlight
			calls.submit(t.Context(), s, 0, with(0))
			eventually(t, "the response waits for its half response", func() bool { return waited(t, pool, tx) })
			for number := 1; number < 20; number++ {
				if _, _, err := s.Submit(t.Context(), with(number)); err != nil {
					t.Fatal(err)
				}
				isEmptied(t, s, half(0, number), with(number))
			}
			if calls.returned() != 0 {
				t.Error("the response did not wait for the save of its half response")
			}
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			calls.group.Wait()
			if err := calls.errs[0]; err != nil {
				t.Errorf("Submit = %v", err)
			}
			isEmptied(t, s, half(0, 0), with(0))
		})
	}
}

// Responses of one group that were begun with half responses, with others' or with none.
func TestAGroupEmptiesItsHalfResponses(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]func(number int) int{
		"one form": func(int) int { return 0 }, "several forms": func(number int) int { return number % 3 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			for number := range 12 {
				keep(t, s, half(form(number), number))
			}
			group := make([]storage.NewSubmission, 0, 24)
			for number := range 24 {
				n := responseTo(form(number), number)
				if number < 12 {
					n.Partial = half(0, number).Token
				}
				group = append(group, n)
			}
			group[11].Partial = half(0, 10).Token // of the response before it, too, which may be to another form
			group[12].Partial = [32]byte{99}
			if form(13) != form(11) {
				group[13].Partial = half(0, 11).Token
			}
			out, err := s.submitTogether(t.Context(), storage.ID{}, group)
			if err != nil {
				t.Fatal(err)
			}
			for number := range out {
				if !out[number].stored {
					t.Errorf("response %d is not stored", number)
				}
			}
			for number := range 10 {
				isEmptied(t, s, half(form(number), number), group[number])
			}
			if got := open(t, s, form(11)); !slices.Equal(got, []int{11}) {
				t.Errorf("%v are not submitted", got)
			}
			if n := count(t, pool, s, "partials WHERE submission_id IS NOT NULL"); n != 11 {
				t.Errorf("%d are submitted", n)
			}
		})
	}
}

// The partial submission that a new one would replace changes at that moment: it then no longer counts as
// saved once, or does not count at all. A change of another partial submission does not wait.
func TestANewHalfResponseReplacesTheOneOfTheMoment(t *testing.T) {
	t.Parallel()
	const most = 3
	for name, test := range map[string]struct {
		change func(*Store) error
		want   []int
	}{
		"it is saved": {func(s *Store) error {
			_, err := s.SavePartial(context.Background(), later(half(0, 2), 10))
			return err
		}, []int{20, 2, 0}},
		"it is submitted": {func(s *Store) error {
			n := response(0)
			n.Partial = half(0, 2).Token
			_, _, err := s.Submit(context.Background(), n)
			return err
		}, []int{20, 0, 1}},
		"it is deleted": {func(s *Store) error {
			_, _, err := s.DeletePartials(context.Background(), storage.AsHost(), pgseed.ID(pgseed.Form, 0), storage.DeletePartialsParams{Token: half(0, 2).Token, Max: 1})
			return err
		}, []int{20, 0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			for number := range most {
				keep(t, s, half(0, number))
			}
			tx := begin(t, pool)
			if err := test.change(s.On(tx)); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() {
				fresh := half(0, 20)
				fresh.Max = most
				_, err := s.SavePartial(context.WithoutCancel(t.Context()), fresh)
				done <- err
			}()
			eventually(t, "the new one waits for the one that it replaces", func() bool { return waited(t, pool, tx) })
			keep(t, s, later(half(0, 0), 2))
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if got := open(t, s, 0); !slices.Equal(got, test.want) {
				t.Errorf("%v are there, want %v", got, test.want)
			}
		})
	}
}

// A flood of new partial submissions from two processes: neither exceeds the limit by more than the room
// that the other one had counted, and in the end nothing exceeds it. Another one of the flood then
// replaces the newest of the flood. Those of other forms are all there, and so is the one of the form that is
// saved later than all others, again and again.
func TestAFloodStaysWithinTheBound(t *testing.T) {
	t.Parallel()
	const callers, each, most = 64, 20, 30
	s, pool := seeded(t, pgtest.MaxConns(8))
	second := New(pgtest.Pool(t, pgtest.MaxConns(8)), WithSchema(s.db.Schema))
	for number := range most {
		keep(t, s, half(1, 1_000_000+number))
	}
	var next atomic.Int64
	kept := half(0, 0)
	keep(t, s, kept)
	keep(t, s, later(kept, 10*callers*each))
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	defer stop()
	var beside sync.WaitGroup
	beside.Go(func() { // as a respondent's page does
		for ctx.Err() == nil {
			if _, err := second.SavePartial(context.WithoutCancel(ctx), later(kept, int(next.Load())+10*callers*each)); err != nil {
				t.Errorf("a save of what was just saved: %v", err)
				return
			}
		}
	})
	beside.Go(func() {
		for ctx.Err() == nil {
			if n := len(open(t, s, 0)); n > 2*most {
				t.Errorf("%d are there", n)
				return
			}
		}
	})
	var flood sync.WaitGroup
	for caller := range callers {
		flood.Go(func() {
			of := []*Store{s, second}[caller%2]
			for range each {
				p := half(0, int(next.Add(1)))
				p.Max = most
				if _, err := of.SavePartial(context.WithoutCancel(ctx), p); err != nil {
					t.Errorf("SavePartial = %v", err)
				}
			}
		})
	}
	flood.Wait()
	stop()
	beside.Wait()
	if n := len(open(t, s, 0)); n != most {
		t.Errorf("%d are there after the flood", n)
	}
	want := open(t, s, 0)
	for range most {
		p := half(0, int(next.Add(1)))
		p.Max = most
		keep(t, s, p)
		want[1] = int(next.Load())
	}
	if got := open(t, s, 0); !slices.Equal(got, want) || want[0] != 0 {
		t.Errorf("%v are there in the end, want %v", got, want)
	}
	if n := len(open(t, s, 1)); n != most {
		t.Errorf("%d of another form are there", n)
	}
	if n := count(t, pool, s, "partials"); n != 2*most {
		t.Errorf("%d rows", n)
	}
}

// While somebody keeps a form from getting new half responses, those who would make them have one
// connection of the pool together. One of them that the server refuses costs the others nothing.
func TestNewHalfResponsesOfAFormWaitTogether(t *testing.T) {
	t.Parallel()
	s, _ := seeded(t, pgtest.MaxConns(4))
	other := pgtest.Pool(t)
	keep(t, s, half(0, 0))
	tx := begin(t, other)
	keep(t, s.On(tx), half(0, 1))
	var calls sync.WaitGroup
	var failed atomic.Int64
	begun := make(chan struct{}, 41)
	fresh := func(number int, edit func(*storage.SavePartialParams)) {
		p := half(0, number)
		edit(&p)
		calls.Go(func() {
			begun <- struct{}{}
			_, err := s.SavePartial(context.WithoutCancel(t.Context()), p)
			if err != nil {
				failed.Add(1)
			}
			if bad := p.Partial.Answers[0] != '{'; bad != errors.Is(err, storage.ErrInvalidValue) || !bad && err != nil {
				t.Errorf("SavePartial %d = %v", number, err)
			}
		})
	}
	fresh(2, func(*storage.SavePartialParams) {})
	eventually(t, "the first waits for the transaction", func() bool { return waited(t, other, tx) })
	for number := 10; number < 50; number++ {
		fresh(number, func(p *storage.SavePartialParams) {
			if number == 30 {
				p.Partial.Answers = json.RawMessage(`no JSON`)
			}
		})
	}
	eventually(t, "40 wait", func() bool {
		g := &s.submits.partials
		g.mu.Lock()
		defer g.mu.Unlock()
		l := g.lines[pgseed.ID(pgseed.Form, 0)]
		return l != nil && len(l.waiting) == 40
	})
	for number := range 20 {
		keep(t, s, half(1, 100+number))
		keep(t, s, later(half(0, 0), number))
		if _, _, err := s.Submit(t.Context(), response(number)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	calls.Wait()
	if got := open(t, s, 0); len(got) != 42 || failed.Load() != 1 {
		t.Errorf("%d are there, %d were refused", len(got), failed.Load())
	}
}

// The bound is looked at in the index, also when nearly all half responses are of one form and
// none of their pages was vacuumed: then the planner knows nothing better than to read the table.
func TestTheBoundReadsNoTable(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	s := New(pool, WithSchema(filled(t, pool, pgseed.Size{Forms: 3, Partials: 12_000, AnswerBytes: 500})))
	if _, err := pool.Exec(t.Context(), s.db.SQL(`UPDATE formsvc.partials SET shared = NOT shared; ANALYZE formsvc.partials`), pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	p := half(0, 0)
	args := newPartialArgs(p.Partial.FormID, []storage.SavePartialParams{p}, 10_000)
	args = append(args, int64(0))
	for what, explain := range map[string]func(context.Context, *pgxpool.Pool, string, [][]any) (planNode, error){
		"with its arguments": explainCustom, "as a generic plan": explainGeneric,
	} {
		plan, err := explain(t.Context(), pool, s.db.SQL(newPartials), [][]any{args})
		if err != nil {
			t.Fatal(err)
		}
		plan.each(false, func(n *planNode, _ bool) {
			if n.Relation == "partials" && (n.Kind == "Seq Scan" || n.Kind == "Bitmap Heap Scan") {
				t.Errorf("%s it has a %s", what, n.Kind)
			}
		})
	}
}

// A purge passes over a half response that somebody holds, and its form with it.
func TestPurgingWaitsForNoHalfResponse(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	keep(t, s, half(0, 0))
	keep(t, s, half(0, 1))
	tx := begin(t, pool)
	keep(t, s.On(tx), later(half(0, 0), 10))
	if _, err := pool.Exec(t.Context(), s.db.SQL(`UPDATE formsvc.forms SET trashed_at = now(), purged_at = now() WHERE id = $1`), bytesOf(pgseed.ID(pgseed.Form, 0))); err != nil {
		t.Fatal(err)
	}
	purge := func(want int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		for more := true; more; {
			var err error
			if more, err = s.removePurged(ctx, storage.SweepParams{Max: 100}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if n := count(t, pool, s, "partials"); n != want {
			t.Errorf("%d half responses are left, want %d", n, want)
		}
	}
	purge(1)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	purge(0)
	if n := count(t, pool, s, "forms"); n != 2 {
		t.Errorf("%d forms are left", n)
	}
}

// The foreign key deletes the partial submissions of a deleted form.
func TestAFormTakesItsHalfResponsesAlong(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	keep(t, s, half(1, 0))
	keep(t, s, half(2, 1))
	if _, err := pool.Exec(t.Context(), s.db.SQL(`DELETE FROM formsvc.forms WHERE id = $1`), bytesOf(pgseed.ID(pgseed.Form, 1))); err != nil {
		t.Fatal(err)
	}
	if n := count(t, pool, s, "partials"); n != 1 {
		t.Errorf("%d half responses are left", n)
	}
}

func bytesOf(id storage.ID) []byte { return id[:] }

// Many that come while one waits are stored by one statement, within the limit, and a form that is
// purged at that moment is not found.
func TestNewPartialsAreStoredTogether(t *testing.T) {
	t.Parallel()
	for name, most := range map[string]int{"without a limit": 0, "with room": 50, "with room for some": 12, "full": 2, "of a form that is purged": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			keep(t, s, half(0, 0))
			keep(t, s, later(half(0, 0), 1)) // saved twice
			link := half(0, 2)
			link.Partial.LinkTaken = true
			keep(t, s, link)
			tx := begin(t, pool)
			if err := s.On(tx).savePartial(t.Context(), s.lock(lockPartials, pgseed.ID(pgseed.Form, 0))); err != nil {
				t.Fatal(err)
			}
			var calls sync.WaitGroup
			fresh := func(number int) {
				p := half(0, number)
				p.Max, p.Partial.LinkTaken = most, number == 15
				calls.Go(func() {
					_, err := s.SavePartial(context.WithoutCancel(t.Context()), p)
					if want := map[bool]error{true: storage.ErrNotFound}[most < 0]; !errors.Is(err, want) {
						t.Errorf("SavePartial %d = %v, want %v", number, err, want)
					}
				})
			}
			fresh(10)
			eventually(t, "the first waits", func() bool { return waited(t, pool, tx) })
			for number := 11; number < 40; number++ {
				fresh(number)
			}
			eventually(t, "29 wait", func() bool {
				g := &s.submits.partials
				g.mu.Lock()
				defer g.mu.Unlock()
				l := g.lines[pgseed.ID(pgseed.Form, 0)]
				return l != nil && len(l.waiting) == 29
			})
			if most < 0 {
				if _, err := tx.Exec(t.Context(), s.db.SQL(`DELETE FROM formsvc.forms WHERE id = $1`), bytesOf(pgseed.ID(pgseed.Form, 0))); err != nil {
					t.Fatal(err)
				}
			}
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			calls.Wait()
			if most < 0 {
				return
			}
			got, want := open(t, s, 0), 32
			if most > 0 {
				want = min(want, most)
			}
			if len(got) != want || !slices.Contains(got, 15) || most > 2 && (!slices.Contains(got, 0) || !slices.Contains(got, 2)) {
				t.Errorf("%d are there, want %d: %v", len(got), want, got)
			}
		})
	}
}
