package memory

import "github.com/formsvc/formsvc/storage"

// shelf holds what the lists of one workspace go through.
type shelf struct {
	forms    index[*form]
	trash    index[*form]
	webhooks index[*webhook] // of the forms that are not in the trash
	// owner is who owned the workspace when it was deleted. Zero: it is there.
	owner storage.ID
}

// shelvesOf returns the shelves of all workspaces that the actor sees.
func (s *Store) shelvesOf(who storage.Actor) []*shelf {
	if who.Host() {
		return []*shelf{&s.everything}
	}
	id, ok := who.User()
	u := s.users[id]
	if !ok || u == nil {
		return nil
	}
	out := make([]*shelf, 0, len(u.workspaces.items))
	for _, w := range u.workspaces.items {
		if sh := s.shelves[w.rec.ID]; sh != nil {
			out = append(out, sh)
		}
	}
	return out
}

// shelvesFor returns the shelves that a list of forms goes through. A zero
// workspace stands for all accessible ones.
func (s *Store) shelvesFor(who storage.Actor, workspace storage.ID) ([]*shelf, error) {
	if workspace.IsZero() {
		return s.shelvesOf(who), nil
	}
	if !who.Host() && !sees(who, s.workspaces[workspace]) {
		return nil, storage.ErrNotFound
	}
	if sh := s.shelves[workspace]; sh != nil {
		return []*shelf{sh}, nil
	}
	return nil, nil
}

// list puts f and its webhooks on the shelves where its record says that they
// belong.
func (s *Store) list(f *form) {
	own := s.shelves[f.rec.WorkspaceID]
	if own == nil {
		own = new(shelf)
		s.shelves[f.rec.WorkspaceID] = own
	}
	for _, sh := range [...]*shelf{&s.everything, own} {
		if f.trashed() {
			sh.trash.add(f)
			continue
		}
		sh.forms.add(f)
		for _, w := range f.webhooks.items {
			sh.webhooks.add(w)
		}
	}
}

// unlist undoes list.
func (s *Store) unlist(f *form) {
	own := s.shelves[f.rec.WorkspaceID]
	for _, sh := range [...]*shelf{&s.everything, own} {
		if f.trashed() {
			sh.trash.remove(f)
			continue
		}
		sh.forms.remove(f)
		for _, w := range f.webhooks.items {
			sh.webhooks.remove(w)
		}
	}
	if len(own.forms.items)+len(own.trash.items) == 0 {
		delete(s.shelves, f.rec.WorkspaceID)
	}
}

// replace gives f a new record and moves it to other shelves when the record
// says so.
func (s *Store) replace(f *form, rec *storage.Form) {
	if rec.WorkspaceID == f.rec.WorkspaceID && rec.TrashedAt.IsZero() == f.rec.TrashedAt.IsZero() {
		f.rec = rec
		return
	}
	s.unlist(f)
	f.rec = rec
	s.list(f)
}
