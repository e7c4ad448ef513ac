package main

import (
	"context"
	"errors"
	"slices"

	"github.com/formsvc/formsvc/storage"
)

const documentColumns = `kind, key, revision, user, created, updated`

func documentFields(d *storage.Document) []any {
	return []any{&d.Kind, &d.Key, &d.Revision, &d.By, at(&d.CreatedAt), at(&d.UpdatedAt)}
}

func (t *tx) document(form storage.ID, kind, key string) (d storage.Document, err error) {
	err = t.one(`SELECT `+documentColumns+`, value FROM documents WHERE form = ? AND kind = ? AND key = ?`,
		[]any{form, kind, key}, append(documentFields(&d), &d.Value)...)
	if err != nil {
		return storage.Document{}, err
	}
	return d, nil
}

// changeDocuments makes the changes, or returns an error after which the transaction has to
// end.
func (t *tx) changeDocuments(form storage.ID, changes []storage.DocumentChange) error {
	for _, c := range changes {
		old, err := t.document(form, c.Kind, c.Key)
		there := err == nil
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		if len(c.IfRevision) > 0 && !slices.Contains(c.IfRevision, old.Revision) {
			return &storage.RevisionError{Current: old.Revision, Kind: c.Kind}
		}
		if c.Public && (there || c.Value != nil) {
			if _, err := t.exec(`UPDATE forms SET beside = beside + 1 WHERE id = ?`, form); err != nil {
				return err
			}
		}
		if c.Value == nil {
			_, err = t.exec(`DELETE FROM documents WHERE form = ? AND kind = ? AND key = ?`, form, c.Kind, c.Key)
		} else {
			_, err = t.exec(`INSERT INTO documents (form, `+documentColumns+`, value) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7)
				ON CONFLICT DO UPDATE SET revision = revision + 1, user = excluded.user, updated = excluded.updated, value = excluded.value`,
				form, c.Kind, c.Key, max(c.First, 1), c.By, c.At, []byte(c.Value))
		}
		if err != nil {
			return err
		}
	}
	for _, c := range changes {
		if err := t.keepDocuments(form, c, changes); err != nil {
			return err
		}
	}
	return nil
}

// keepDocuments bounds the kind of c, but for what the changes wrote.
func (t *tx) keepDocuments(form storage.ID, c storage.DocumentChange, changes []storage.DocumentChange) error {
	if c.Value == nil || c.Keep == (storage.KeepOfKind{}) {
		return nil
	}
	type sized struct {
		key  string
		size int
	}
	others, err := all(t, func(row scanner) (d sized, err error) {
		err = row.Scan(&d.key, &d.size)
		return d, err
	}, `SELECT key, length(value) FROM documents WHERE form = ? AND kind = ? ORDER BY key DESC`, form, c.Kind)
	if err != nil {
		return err
	}
	count, size := 0, 0
	others = slices.DeleteFunc(others, func(d sized) bool {
		written := slices.ContainsFunc(changes, func(o storage.DocumentChange) bool { return o.Kind == c.Kind && o.Key == d.key })
		if written {
			count, size = count+1, size+d.size
		}
		return written
	})
	for _, d := range others {
		count, size = count+1, size+d.size
		if c.Keep.Count > 0 && count > c.Keep.Count || c.Keep.Bytes > 0 && size > c.Keep.Bytes {
			if _, err := t.exec(`DELETE FROM documents WHERE form = ? AND kind = ? AND key = ?`, form, c.Kind, d.key); err != nil {
				return err
			}
		}
	}
	return nil
}

// PutDocument implements [storage.DocumentStore].
func (s *Store) PutDocument(ctx context.Context, who storage.Actor, form storage.ID, c storage.DocumentChange) (d storage.Document, err error) {
	changes := []storage.DocumentChange{c}
	if !storage.ValidDocuments(changes) {
		return d, storage.ErrInvalidValue
	}
	err = s.write(ctx, func(tx *tx) error {
		if err := tx.formIsVisible(who, form); err != nil {
			return err
		}
		if err := tx.changeDocuments(form, changes); err != nil || c.Value == nil {
			return err
		}
		d, err = tx.document(form, c.Kind, c.Key)
		return err
	})
	if err != nil {
		return storage.Document{}, err
	}
	return d, nil
}

// Document implements [storage.DocumentStore].
func (s *Store) Document(ctx context.Context, who storage.Actor, form storage.ID, kind, key string) (d storage.Document, err error) {
	err = s.read(ctx, func(tx *tx) error {
		if err := tx.formIsVisible(who, form); err != nil {
			return err
		}
		d, err = tx.document(form, kind, key)
		return err
	})
	return d, err
}

// Documents implements [storage.DocumentStore].
func (s *Store) Documents(ctx context.Context, who storage.Actor, form storage.ID, q storage.DocumentQuery) (found []storage.Document, more bool, err error) {
	if err := check(q.Kind, q.Below); err != nil {
		return nil, false, err
	}
	limit := max(q.Limit, 0)
	err = s.read(ctx, func(tx *tx) error {
		if err := tx.formIsVisible(who, form); err != nil {
			return err
		}
		found, err = all(tx, func(row scanner) (d storage.Document, err error) {
			err = row.Scan(documentFields(&d)...)
			return d, err
		}, `SELECT `+documentColumns+` FROM documents WHERE form = ?1 AND kind = ?2 AND (?3 IS NULL OR key < ?3) ORDER BY key DESC LIMIT ?4`,
			form, q.Kind, q.Below, limit+1)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	n := min(limit, len(found))
	return found[:n], n > 0 && n < len(found), nil
}
