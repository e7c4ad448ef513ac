package memory

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/storage"
)

// documents are those beside a form, by kind and key. Their values are replaced, never
// changed.
type documents map[[2]string]storage.Document

// PutDocument implements [storage.DocumentStore].
func (s *Store) PutDocument(ctx context.Context, who storage.Actor, form storage.ID, c storage.DocumentChange) (storage.Document, error) {
	f, err := s.lockForm(ctx, who, form, []storage.DocumentChange{c})
	if err != nil {
		return storage.Document{}, err
	}
	defer s.mu.Unlock()
	return put(&f.rec, f.documents, c)
}

// put makes a change of the documents beside rec.
func put(rec *storage.Form, d documents, c storage.DocumentChange) (storage.Document, error) {
	place := [2]string{c.Kind, c.Key}
	doc, there := d[place]
	if len(c.IfRevision) > 0 && !slices.Contains(c.IfRevision, doc.Revision) {
		return storage.Document{}, &storage.RevisionError{Current: doc.Revision, Kind: c.Kind}
	}
	if c.Public && (there || c.Value != nil) {
		rec.Beside++
	}
	if c.Value == nil {
		delete(d, place)
		return storage.Document{}, nil
	}
	if !there {
		doc.Kind, doc.Key, doc.CreatedAt, doc.Revision = c.Kind, c.Key, utc(c.At), max(c.First, 1)-1
	}
	doc.Value, doc.By, doc.UpdatedAt = bytes.Clone(c.Value), c.By, utc(c.At)
	doc.Revision++
	d[place] = doc
	count, size := 1, len(doc.Value)
	for _, other := range d.of(c.Kind) {
		if other.Key == c.Key {
			continue
		}
		count, size = count+1, size+len(other.Value)
		if c.Keep.Count > 0 && count > c.Keep.Count || c.Keep.Bytes > 0 && size > c.Keep.Bytes {
			delete(d, [2]string{c.Kind, other.Key})
		}
	}
	return own(doc), nil
}

// of returns the documents of a kind, the one with the highest key first.
func (d documents) of(kind string) []storage.Document {
	found := slices.Collect(maps.Values(d))
	found = slices.DeleteFunc(found, func(doc storage.Document) bool { return doc.Kind != kind })
	slices.SortFunc(found, func(a, b storage.Document) int { return strings.Compare(b.Key, a.Key) })
	return found
}

func own(doc storage.Document) storage.Document {
	doc.Value = bytes.Clone(doc.Value)
	return doc
}

// Document implements [storage.DocumentStore].
func (s *Store) Document(ctx context.Context, who storage.Actor, form storage.ID, kind, key string) (storage.Document, error) {
	f, err := s.lockForm(ctx, who, form)
	if err != nil {
		return storage.Document{}, err
	}
	defer s.mu.Unlock()
	if doc, there := f.documents[[2]string{kind, key}]; there {
		return own(doc), nil
	}
	return storage.Document{}, storage.ErrNotFound
}

// Documents implements [storage.DocumentStore].
func (s *Store) Documents(ctx context.Context, who storage.Actor, form storage.ID, q storage.DocumentQuery) ([]storage.Document, bool, error) {
	f, err := s.lockForm(ctx, who, form, q.Below)
	if err != nil {
		return nil, false, err
	}
	defer s.mu.Unlock()
	found := slices.DeleteFunc(f.documents.of(q.Kind), func(doc storage.Document) bool { return q.Below != nil && doc.Key >= *q.Below })
	for i := range found {
		found[i].Value = nil
	}
	n := max(0, min(q.Limit, len(found)))
	return found[:n:n], n > 0 && n < len(found), nil
}
