package memory

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/storage"
)

// documents maps kinds and keys to a form's documents. A document's value is replaced, never modified.
type documents map[[2]string]storage.Document

// PutDocument implements [storage.DocumentStore].
func (s *Store) PutDocument(ctx context.Context, actor storage.Actor, formID storage.ID, c storage.DocumentChange) (storage.Document, error) {
	changes := []storage.DocumentChange{c}
	return withRecordResult(ctx, s, s.findForm(actor, formID), []any{changes}, func(f *form) (storage.Document, error) {
		if err := f.documents.apply(&f.rec, changes); err != nil {
			return storage.Document{}, err
		}
		return cloneDocument(f.documents[documentKey(c)]), nil
	})
}

func documentKey(c storage.DocumentChange) [2]string { return [2]string{c.Kind, c.Key} }

func cloneDocument(doc storage.Document) storage.Document {
	doc.Value = bytes.Clone(doc.Value)
	return doc
}

// apply applies either all of the changes to the form's documents or none.
func (d documents) apply(rec *storage.Form, changes []storage.DocumentChange) error {
	for _, c := range changes {
		if old := d[documentKey(c)].Revision; len(c.IfRevision) > 0 && !slices.Contains(c.IfRevision, old) {
			return &storage.RevisionError{Current: old, Kind: c.Kind}
		}
	}
	for _, c := range changes {
		doc, there := d[documentKey(c)]
		if c.Public && (there || c.Value != nil) {
			rec.DocumentsRevision++
		}
		if c.Value == nil {
			delete(d, documentKey(c))
			continue
		}
		if !there {
			doc.Kind, doc.Key, doc.CreatedAt, doc.Revision = c.Kind, c.Key, toUTC(c.At), max(c.InitialRevision, 1)-1
		}
		doc.Value, doc.By, doc.UpdatedAt, doc.Revision = bytes.Clone(c.Value), c.By, toUTC(c.At), doc.Revision+1
		d[documentKey(c)] = doc
	}
	for _, c := range changes {
		if c.Value != nil {
			d.enforceRetention(c.Kind, c.Retention, changes)
		}
	}
	return nil
}

// enforceRetention removes documents of a kind that exceed its limits, except for the documents in changes.
func (d documents) enforceRetention(kind string, bound storage.Retention, changes []storage.DocumentChange) {
	count, size := 0, 0
	for _, written := range []bool{true, false} {
		for _, doc := range d.ofKind(kind) {
			at := [2]string{kind, doc.Key}
			if written != slices.ContainsFunc(changes, func(c storage.DocumentChange) bool { return documentKey(c) == at }) {
				continue
			}
			count, size = count+1, size+len(doc.Value)
			if !written && (bound.Count > 0 && count > bound.Count || bound.Bytes > 0 && size > bound.Bytes) {
				delete(d, at)
			}
		}
	}
}

func (d documents) ofKind(kind string) []storage.Document {
	found := slices.Collect(maps.Values(d))
	found = slices.DeleteFunc(found, func(doc storage.Document) bool { return doc.Kind != kind })
	slices.SortFunc(found, func(a, b storage.Document) int { return strings.Compare(b.Key, a.Key) })
	return found
}

// Document implements [storage.DocumentStore].
func (s *Store) Document(ctx context.Context, actor storage.Actor, formID storage.ID, kind, key string) (storage.Document, error) {
	return withRecordResult(ctx, s, s.findForm(actor, formID), nil, func(f *form) (storage.Document, error) {
		if doc, there := f.documents[[2]string{kind, key}]; there {
			return cloneDocument(doc), nil
		}
		return storage.Document{}, storage.ErrNotFound
	})
}

// Documents implements [storage.DocumentStore].
func (s *Store) Documents(ctx context.Context, actor storage.Actor, formID storage.ID, q storage.DocumentQuery) (found []storage.Document, more bool, err error) {
	err = withRecord(ctx, s, s.findForm(actor, formID), []any{q.Kind, q.Below}, func(f *form) error {
		for _, doc := range f.documents.ofKind(q.Kind) {
			if q.Below != nil && doc.Key >= *q.Below {
				continue
			}
			if len(found) >= q.Limit {
				more = len(found) > 0
				return nil
			}
			doc.Value = nil
			found = append(found, doc)
		}
		return nil
	})
	return found, more, err
}

// FormsWithDocument implements [storage.DocumentStore].
func (s *Store) FormsWithDocument(ctx context.Context, actor storage.Actor, kind string, forms []storage.ID) ([]storage.ID, error) {
	return withLockResult(ctx, s, []any{kind}, func() ([]storage.ID, error) {
		found := map[storage.ID]bool{}
		for _, id := range forms {
			if f := s.visibleForm(actor, id); f != nil && len(f.documents.ofKind(kind)) > 0 {
				found[id] = true
			}
		}
		return slices.Collect(maps.Keys(found)), nil
	})
}
