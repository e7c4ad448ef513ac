package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/storage"
)

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
	must(t, s.db.DB.QueryRow(t.Context(), s.db.SQL("SELECT submission_count FROM formsvc.form_limits")).Scan(&n))
	return n
}

// A limit counts each response once, whatever comes and goes while it is counted.
func TestALimitIsCountedWhileResponsesComeAndGo(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	s.countedMost = 7
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
			if err := s.DeleteSubmission(t.Context(), host, form, id); err != nil {
				t.Error(err)
			}
		}
	})
	for range 2 { // two changes share one count
		group.Go(func() {
			f, err := s.UpdateForm(t.Context(), host, form, storage.FormChange{Gate: &storage.Gate{ResponseLimit: 1 << 40}, At: pgseed.Start()})
			if err != nil || f.Gate.ResponseLimit != 1<<40 {
				t.Error(f.Gate, err)
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
	counting.countedMost = 5
	counting.db = counting.db.On(&between{DB: pool, f: func(piece int) {
		pieces = piece
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if _, _, err := s.Submit(ctx, randomly(100+piece)); err != nil { // at the old revision
			t.Errorf("Submit before piece %d: %v", piece, err)
		}
		if _, _, err := s.Submit(ctx, responseTo(1, 200+piece)); err != nil {
			t.Errorf("Submit to another form before piece %d: %v", piece, err)
		}
		if f, err := s.Form(ctx, storage.AsHost(), form); err != nil || f.Revision != 1 || f.Gate.ResponseLimit != 0 {
			t.Errorf("the form before piece %d: %+v, %v", piece, f.Gate, err)
		}
	}})
	limit := int64(20 + 4)
	f, err := counting.UpdateForm(t.Context(), storage.AsHost(), form, storage.FormChange{Gate: &storage.Gate{ResponseLimit: limit}, At: pgseed.Start()})
	if err != nil || pieces < 4 {
		t.Fatalf("%d pieces, %v", pieces, err)
	}
	stored := int64(20 + pieces)
	if f.Full != (stored >= limit) || taken(t, s) != stored {
		t.Errorf("full %v, %d taken, want %d of %d", f.Full, taken(t, s), stored, limit)
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
	change := storage.FormChange{Gate: &storage.Gate{ResponseLimit: 3}, At: pgseed.Start()}
	stop := func() int {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		pieces := 0
		stopping := *s
		stopping.countedMost = 5
		stopping.db = stopping.db.On(&between{DB: pool, f: func(piece int) {
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
	if f, err := s.Form(t.Context(), host, form); err != nil || f.Revision != 1 || f.Gate.ResponseLimit != 0 || f.Full {
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
	if f, err := s.UpdateForm(t.Context(), host, form, change); err != nil || !f.Full || taken(t, s) != 20 {
		t.Errorf("full %v, %d taken, %v", f.Full, taken(t, s), err)
	}
	// A limit that is in force is not dropped, however long ago it was counted.
	if n := sweepAll(t, s, storage.SweepParams{Max: 100}); n.Forms != 0 || count(t, pool, s, "form_limits") != 1 {
		t.Error("the count of a limit is dropped")
	}
}
