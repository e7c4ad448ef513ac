package postgres

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
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
	must(t, err)
	return numbers
}

func isEmptied(t *testing.T, s *Store, p storage.SavePartialParams, by storage.NewSubmission) {
	t.Helper()
	got, err := s.Partial(t.Context(), p.Partial.FormID, p.Token, p.Partial.SavedAt)
	if err != nil || got.Answers != nil || got.SubmissionID != by.Submission.ID {
		t.Errorf("Partial after Submit = %+v, %v", got, err)
	}
}

// The commit of a save waits for no disk, and nothing else that the connection does is without
// that wait: neither the next transaction, nor one of the host's in which something is saved.
func TestOnlyTheSaveIsUnsynchronised(t *testing.T) {
	t.Parallel()
	for name, mode := range queryModes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t, pgtest.Mode(mode), pgtest.MaxConns(1))
			if _, err := pool.Exec(t.Context(), s.db.RewriteSQL(`
				CREATE FUNCTION formsvc.tell() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.block = current_setting(''synchronous_commit''); RETURN NEW; END';
				CREATE TRIGGER tell BEFORE INSERT OR UPDATE ON formsvc.partials FOR EACH ROW EXECUTE FUNCTION formsvc.tell()`),
				pgx.QueryExecModeSimpleProtocol); err != nil {
				t.Fatal(err)
			}
			synchronized := func(s *Store, p storage.SavePartialParams) string {
				t.Helper()
				keep(t, s, p)
				got, err := s.Partial(t.Context(), p.Partial.FormID, p.Token, p.Partial.SavedAt)
				must(t, err)
				return got.Block
			}
			p := half(0, 10)
			for _, p := range []storage.SavePartialParams{p, later(p, 11)} {
				if got := synchronized(s, p); got != "off" {
					t.Errorf("synchronous_commit of a save, new %v, is %s", p.New, got)
				}
			}
			tx := begin(t, pool)
			p = half(0, 12)
			for _, p := range []storage.SavePartialParams{p, later(p, 13)} {
				if got := synchronized(s.On(tx), p); got != "on" {
					t.Errorf("synchronous_commit in a host's transaction, new %v, is %s", p.New, got)
				}
			}
			must(t, tx.Commit(t.Context()))
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
				if _, err := s.UpdateForm(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Form, 0), storage.FormChange{Acceptance: &storage.AcceptanceRules{ResponseLimit: limit}}); err != nil {
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
				mustSubmit(t, s, with(number))
				isEmptied(t, s, half(0, number), with(number))
			}
			if calls.returned() != 0 {
				t.Error("the response did not wait for the save of its half response")
			}
			must(t, tx.Commit(t.Context()))
			calls.group.Wait()
			wantError(t, "Submit", calls.errs[0], nil)
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
			out, err := s.submitBatch(t.Context(), storage.ID{}, group)
			must(t, err)
			for number := range out {
				expect(t, out[number].stored, "response %d is not stored", number)
			}
			for number := range 10 {
				isEmptied(t, s, half(form(number), number), group[number])
			}
			if got := open(t, s, form(11)); !slices.Equal(got, []int{11}) {
				t.Errorf("%v are not submitted", got)
			}
			wantRows(t, pool, s, 11, "partials WHERE submission_id IS NOT NULL")
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
			must(t, test.change(s.On(tx)))
			fresh := half(0, 20)
			fresh.Max = most
			done := waits(t, pool, tx, func() error { return errorOf(s.SavePartial(context.WithoutCancel(t.Context()), fresh)) })
			keep(t, s, later(half(0, 0), 2))
			must(t, tx.Commit(t.Context()))
			must(t, <-done)
			if got := open(t, s, 0); !slices.Equal(got, test.want) {
				t.Errorf("%v are there, want %v", got, test.want)
			}
		})
	}
}

// The bound is looked at in the index, also when nearly all half responses are of one form and
// none of their pages was vacuumed: then the planner knows nothing better than to read the table.
func TestTheBoundReadsNoTable(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	s := New(pool, WithSchema(filled(t, pool, pgseed.Size{Forms: 3, Partials: 12_000, AnswerBytes: 500})))
	execute(t, pool, s, `UPDATE formsvc.partials SET shared = NOT shared; ANALYZE formsvc.partials`, pgx.QueryExecModeSimpleProtocol)
	p := half(0, 0)
	args := createPartialArgs(p.Partial.FormID, []storage.SavePartialParams{p}, 10_000)
	args = append(args, int64(0), []string{""})
	for what, explain := range map[string]func(context.Context, *pgxpool.Pool, string, [][]any) (planNode, error){
		"with its arguments": explainCustom, "as a generic plan": explainGeneric,
	} {
		plan, err := explain(t.Context(), pool, s.db.RewriteSQL(createPartials), [][]any{args})
		must(t, err)
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
	execute(t, pool, s, `UPDATE formsvc.forms SET trashed_at = now(), purged_at = now() WHERE id = $1`, bytesOf(pgseed.ID(pgseed.Form, 0)))
	purge := func(want int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		for more := true; more; {
			var err error
			if more, err = s.removePurgedForms(ctx, storage.SweepParams{Max: 100}, nil); err != nil {
				t.Fatal(err)
			}
		}
		wantRows(t, pool, s, want, "partials")
	}
	purge(1)
	must(t, tx.Commit(t.Context()))
	purge(0)
	wantRows(t, pool, s, 2, "forms")
}

func bytesOf(id storage.ID) []byte { return id[:] }

// Many that come while one waits are stored by one statement, within the limit, except one that the
// server refuses. A form that is purged at that moment is not found.
func TestNewPartialsAreStoredTogether(t *testing.T) {
	t.Parallel()
	for name, most := range map[string]int{"without a limit": 0, "with room": 50, "with room for some": 12, "full": 2, "of a form that is purged": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			s = patient(s, pool)
			keep(t, s, half(0, 0))
			keep(t, s, later(half(0, 0), 1)) // saved twice
			link := half(0, 2)
			link.Partial.LinkIssued = true
			keep(t, s, link)
			tx := begin(t, pool)
			must(t, s.On(tx).sendPartialSave(t.Context(), s.lockStatement(lockPartials, pgseed.ID(pgseed.Form, 0))))
			var calls sync.WaitGroup
			fresh := func(number int) {
				p := half(0, number)
				p.Max, p.Partial.LinkIssued = most, number == 15
				want := map[bool]error{true: storage.ErrNotFound}[most < 0]
				if number == 30 {
					p.Partial.Answers, want = json.RawMessage(`no JSON`), storage.ErrInvalidValue
				}
				calls.Go(func() {
					if _, err := s.SavePartial(context.WithoutCancel(t.Context()), p); !errors.Is(err, want) {
						t.Errorf("SavePartial %d = %v, want %v", number, err, want)
					}
				})
			}
			fresh(10)
			eventually(t, "the first waits", func() bool { return waited(t, pool, tx) })
			for number := 11; number < 40; number++ {
				fresh(number)
			}
			eventually(t, "30 wait", func() bool { return s.partialBatches.heldFor(pgseed.ID(pgseed.Form, 0)) == 30 })
			if most < 0 {
				execute(t, tx, s, `DELETE FROM formsvc.forms WHERE id = $1`, bytesOf(pgseed.ID(pgseed.Form, 0)))
			}
			must(t, tx.Commit(t.Context()))
			calls.Wait()
			if most < 0 {
				return
			}
			got, want := open(t, s, 0), 31
			if most > 0 {
				want = min(want, most)
			}
			if len(got) != want || !slices.Contains(got, 15) || most > 2 && (!slices.Contains(got, 0) || !slices.Contains(got, 2)) {
				t.Errorf("%d are there, want %d: %v", len(got), want, got)
			}
		})
	}
}
