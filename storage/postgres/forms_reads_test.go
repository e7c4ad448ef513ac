package postgres

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

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
	if _, err := s.UpdateForm(t.Context(), storage.AsHost(), form.ID, storage.FormChange{At: form.UpdatedAt, Name: &name}); err != nil {
		t.Fatal(err)
	}
	leaving, leave := context.WithCancel(t.Context())
	left := ask(leaving)
	var others []<-chan answer
	for range 20 {
		others = append(others, ask(t.Context()))
	}
	eventually(t, "21 wait", func() bool {
		g := &s.submits.pages
		g.mu.Lock()
		defer g.mu.Unlock()
		l := g.lines[form.PublicID]
		return l != nil && len(l.waiting) == 21
	})
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
