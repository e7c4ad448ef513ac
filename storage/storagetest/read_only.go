package storagetest

import (
	"context"
	"sync"
	"testing"

	"github.com/formsvc/formsvc/storage"
)

// ReadOnly returns s for a test of code that reads forms. At the end of the test it reports
// each definition that s returned and that somebody has written to since, be it s or the
// code that is tested: a definition is read only, because many callers may have the same
// bytes. [Run] does this in every case. An append that has room writes too.
func ReadOnly(t testing.TB, s storage.Storage) storage.Storage {
	t.Helper()
	var seen definitions
	t.Cleanup(func() { seen.check(t.Errorf) })
	return readOnly{s, &seen}
}

// definitions are the sections that a store returned, with the room behind them.
type definitions struct {
	mu   sync.Mutex
	seen map[place]section
}

// place is where a section begins, and how long it is with the room behind it.
type place struct {
	first *byte
	size  int
}

type section struct {
	method, name, was string
	is                []byte
}

// add remembers a definition as it is now.
func (s *definitions) add(method string, d *storage.Definition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[place]section{}
	}
	for _, given := range d.Sections() {
		raw := []byte(*given.Value)[:cap(*given.Value)]
		if len(raw) == 0 {
			continue
		}
		at := place{&raw[0], len(raw)}
		if _, there := s.seen[at]; !there {
			s.seen[at] = section{method, given.Name, string(raw), raw}
		}
	}
}

// check reports what has changed.
func (s *definitions) check(report func(format string, args ...any)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.seen {
		if string(v.is) != v.was {
			report("%s of a definition that %s returned was %q and is now %q: a caller or the store modified read-only bytes", v.name, v.method, v.was, v.is)
		}
	}
}

// readOnly adds every definition that a store returns to seen.
type readOnly struct {
	storage.Storage
	seen *definitions
}

func (s readOnly) Form(ctx context.Context, actor storage.Actor, id storage.ID) (storage.Form, error) {
	f, err := s.Storage.Form(ctx, actor, id)
	s.seen.add("Form", &f.Definition)
	return f, err
}

func (s readOnly) FormByPublicID(ctx context.Context, publicID string) (storage.Form, error) {
	f, err := s.Storage.FormByPublicID(ctx, publicID)
	s.seen.add("FormByPublicID", &f.Definition)
	return f, err
}

func (s readOnly) UpdateForm(ctx context.Context, actor storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	f, err := s.Storage.UpdateForm(ctx, actor, id, c)
	s.seen.add("UpdateForm", &f.Definition)
	return f, err
}

func (s readOnly) FormForKey(ctx context.Context, p storage.FormForKeyParams) (storage.FormForKey, error) {
	got, err := s.Storage.FormForKey(ctx, p)
	if got.Form != nil {
		s.seen.add("FormForKey", &got.Form.Definition)
	}
	return got, err
}
