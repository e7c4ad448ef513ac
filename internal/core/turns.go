package core

import (
	"context"
	"sync"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// turns let the editors of a form write one after the other within this process, from a
// lost race until nobody waits. They only save the work that lost races waste: the
// revision still decides what is written, between processes too.
type turns struct {
	mu    sync.Mutex
	lines map[storage.ID]*line
}

// line is the editors of one form.
type line struct {
	turn    chan struct{} // is full while somebody has the turn; who waits gets it in order
	editors int           // who has the turn, or waits for it
}

// patience is how long an editor waits before it writes without its turn. The one who has
// the turn may wait for a connection that is dead; a change of 50 blocks takes 1 to 5 ms.
const patience = time.Second

// turn is what one editor of a form has of the turns. The host's transactions have none:
// they hold the form until their commit, so an editor with the turn may wait for them.
type turn struct {
	turns *turns // nil: the editor never waits
	form  storage.ID
	end   func() // nil: it is not this editor's turn
}

// wait waits for the editor's turn when there is a reason to: it lost a race, or others
// wait already. It reports whether it waited.
func (t *turn) wait(ctx context.Context, lost bool) (waited bool, err error) {
	if t.turns == nil || t.end != nil {
		return false, nil
	}
	l := t.turns.join(t.form, lost)
	if l == nil {
		return false, nil
	}
	select {
	case l.turn <- struct{}{}:
		end := sync.OnceFunc(func() {
			<-l.turn
			t.turns.leave(t.form, l)
		})
		stop := context.AfterFunc(ctx, end) // also when the storage does not return in time
		t.end = func() { stop(); end() }
	case <-time.After(patience):
		t.turns.leave(t.form, l)
	case <-ctx.Done():
		t.turns.leave(t.form, l)
		return true, ctx.Err()
	}
	return true, nil
}

// done ends the editor's turn, if it has one.
func (t *turn) done() {
	if t.end != nil {
		t.end()
	}
}

// join adds an editor to the line of a form. Where there is none, it makes one or returns
// nil.
func (t *turns) join(form storage.ID, makeOne bool) *line {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[form]
	if l == nil {
		if !makeOne {
			return nil
		}
		l = &line{turn: make(chan struct{}, 1)}
		t.lines[form] = l
	}
	l.editors++
	return l
}

// leave takes an editor out of its line. The last one takes the line away.
func (t *turns) leave(form storage.ID, l *line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.editors--; l.editors == 0 {
		delete(t.lines, form)
	}
}
