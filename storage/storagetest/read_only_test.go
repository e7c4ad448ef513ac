package storagetest

import (
	"context"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// Whoever writes to what a store returned is found, whichever method it was of, and nobody
// else is.
func TestReadOnlyFindsWhoWrites(t *testing.T) {
	t.Parallel()
	reads := map[string]func(b *bundle, s storage.Storage, w *world) (storage.Form, error){
		"Form": func(b *bundle, s storage.Storage, w *world) (storage.Form, error) {
			return s.Form(b.Context(), storage.AsHost(), w.form.ID)
		},
		"FormByPublicID": func(b *bundle, s storage.Storage, w *world) (storage.Form, error) {
			return s.FormByPublicID(b.Context(), w.form.PublicID)
		},
		"UpdateForm": func(b *bundle, s storage.Storage, w *world) (storage.Form, error) {
			return s.UpdateForm(b.Context(), storage.AsHost(), w.form.ID, storage.FormChange{Name: ptr("another"), At: w.now})
		},
		"FormForKey": func(b *bundle, s storage.Storage, w *world) (storage.Form, error) {
			got, err := s.FormForKey(b.Context(), storage.FormForKeyParams{Hash: w.hash, Form: w.form.ID, At: at(0)})
			if err == nil && got.Form == nil {
				err = storage.ErrNotFound
			}
			if err != nil {
				return storage.Form{}, err
			}
			return *got.Form, nil
		},
	}
	callers := map[string]struct {
		write func(d storage.Definition)
		found string // the section
	}{
		"reads":            {func(d storage.Definition) { _ = string(d.Blocks) }, ""},
		"copies":           {func(d storage.Definition) { _ = append(d.Blocks[:len(d.Blocks):len(d.Blocks)], 'x') }, ""},
		"writes blocks":    {func(d storage.Definition) { d.Blocks[1] = 'x' }, "blocks"},
		"writes settings":  {func(d storage.Definition) { clear(d.Settings) }, "settings"},
		"writes the theme": {func(d storage.Definition) { copy(d.Theme, "[]") }, "theme"},
		"appends":          {func(d storage.Definition) { _ = append(d.Variables, 'x') }, "variables"},
		"writes hidden":    {func(d storage.Definition) { spoil(d.HiddenFields) }, "hidden_fields"},
	}
	for method, read := range reads {
		for name, caller := range callers {
			t.Run(method+"/"+name, func(t *testing.T) {
				t.Parallel()
				r := &recorder{context: t.Context}
				b := &bundle{reporter: r, store: memory.New()}
				w := b.furnish()
				var seen definitions
				f, err := read(b, readOnly{roomy{b.store}, &seen}, w)
				if err != nil || r.Failed() {
					t.Fatal(err, r.log)
				}
				caller.write(f.Definition)
				seen.check(r.Errorf)
				log := strings.Join(r.log, "\n")
				if found := strings.HasPrefix(log, caller.found+" of a definition that "+method+" returned"); found != r.Failed() || r.Failed() != (caller.found != "") || len(r.log) > 1 {
					t.Errorf("it reports: %s", log)
				}
			})
		}
	}
}

// roomy returns definitions with room behind each section.
type roomy struct{ storage.Storage }

func withRoom(f storage.Form, err error) (storage.Form, error) {
	d := &f.Definition
	for _, raw := range []*[]byte{(*[]byte)(&d.Blocks), (*[]byte)(&d.Settings), (*[]byte)(&d.Theme), (*[]byte)(&d.Variables), (*[]byte)(&d.HiddenFields)} {
		*raw = append(make([]byte, 0, len(*raw)+8), *raw...)
	}
	return f, err
}

func (s roomy) Form(ctx context.Context, who storage.Actor, id storage.ID) (storage.Form, error) {
	return withRoom(s.Storage.Form(ctx, who, id))
}

func (s roomy) FormByPublicID(ctx context.Context, publicID string) (storage.Form, error) {
	return withRoom(s.Storage.FormByPublicID(ctx, publicID))
}

func (s roomy) UpdateForm(ctx context.Context, who storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	return withRoom(s.Storage.UpdateForm(ctx, who, id, c))
}

func (s roomy) FormForKey(ctx context.Context, p storage.FormForKeyParams) (storage.FormForKey, error) {
	got, err := s.Storage.FormForKey(ctx, p)
	if got.Form != nil {
		*got.Form, err = withRoom(*got.Form, err)
	}
	return got, err
}
