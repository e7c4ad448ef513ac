package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// Every change to documents locks the form's row, so that its conditions and limits hold and no purge runs
// concurrently. lockForDocuments is a separate statement, so that the next statement sees all documents that were
// committed before the lock was taken.
const lockForDocuments = `
SELECT 1 FROM formsvc.forms f
WHERE f.id = $1::bytea AND ` + formAccess + `
FOR NO KEY UPDATE OF f`

// requestedChanges is part of a WITH list. It selects the requested changes with the current revisions of their
// documents, and the first change whose condition does not hold.
const requestedChanges = `asked AS MATERIALIZED (
	SELECT c.*, d.revision
	FROM unnest((SELECT $a::text[]), (SELECT $b::text[]), (SELECT $c::json[]), (SELECT $d::text[]), (SELECT $e::bytea[]),
		(SELECT $f::timestamptz[]), (SELECT $g::boolean[]), (SELECT $h::bigint[]), (SELECT $i::bigint[]), (SELECT $j::bigint[]))
		WITH ORDINALITY AS c (kind, key, value, accepted, user_id, at, public, keep_count, keep_bytes, first, place)
	LEFT JOIN LATERAL (
		SELECT d.revision FROM formsvc.documents d WHERE d.form_id = $1::bytea AND d.kind = c.kind AND d.key = c.key LIMIT 1
	) d ON true
), refused AS MATERIALIZED (
	SELECT a.place, COALESCE(a.revision, 0) AS current FROM asked a
	WHERE a.accepted <> '{}' AND COALESCE(a.revision, 0) <> ALL (a.accepted::bigint[])
	ORDER BY a.place LIMIT 1
)`

// documentsRevisionIncrement is the amount by which the changes increase the form's documents revision.
const documentsRevisionIncrement = `(SELECT count(*) FROM asked a WHERE a.public AND (a.value IS NOT NULL OR a.revision IS NOT NULL))`

// applyDocumentChanges is part of a WITH list. It applies the changes to the form in target, if any. It changes no row
// twice, because retention never removes a document that was just written.
const applyDocumentChanges = `written AS (
	INSERT INTO formsvc.documents AS d (form_id, kind, key, revision, user_id, created_at, updated_at, value_bytes, value)
	SELECT t.id, a.kind, a.key, a.first, a.user_id, a.at, a.at, octet_length(a.value::text), a.value
	FROM target t, asked a
	WHERE a.value IS NOT NULL
	ON CONFLICT (form_id, kind, key) DO UPDATE SET revision = d.revision + 1, user_id = excluded.user_id,
		updated_at = excluded.updated_at, value_bytes = excluded.value_bytes, value = excluded.value
	RETURNING d.revision, d.created_at, d.updated_at
), removed AS (
	DELETE FROM formsvc.documents d USING target t, asked a
	WHERE a.value IS NULL AND d.form_id = t.id AND d.kind = a.kind AND d.key = a.key
), bounded AS MATERIALIZED (
	SELECT t.id AS form_id, a.kind, count(*) AS n, sum(octet_length(a.value::text)) AS size,
		min(a.keep_count) FILTER (WHERE a.keep_count > 0) AS keep_count, min(a.keep_bytes) FILTER (WHERE a.keep_bytes > 0) AS keep_bytes
	FROM target t, asked a
	WHERE a.value IS NOT NULL
	GROUP BY t.id, a.kind
	HAVING max(a.keep_count) > 0 OR max(a.keep_bytes) > 0
), surplus AS MATERIALIZED ( -- only keys, because joining the deletion directly would read the values
	SELECT b.form_id, b.kind, o.key
	FROM bounded b
	CROSS JOIN LATERAL (
		SELECT o.key, b.n + row_number() OVER downwards AS n, b.size + sum(o.value_bytes) OVER downwards AS size
		FROM formsvc.documents o
		WHERE o.form_id = b.form_id AND o.kind = b.kind AND o.key <> ALL (ARRAY(SELECT a.key FROM asked a WHERE a.kind = b.kind))
		WINDOW downwards AS (ORDER BY o.key DESC)
	) o
	WHERE o.n > b.keep_count OR o.size > b.keep_bytes
), dropped_documents AS (
	DELETE FROM formsvc.documents d USING surplus s
	WHERE d.form_id = s.form_id AND d.kind = s.kind AND d.key = s.key
)`

func numberPlaceholders(text string, first int) string {
	for i := range 10 {
		text = strings.ReplaceAll(text, fmt.Sprintf("$%c", 'a'+i), fmt.Sprintf("$%d", first+i))
	}
	return text
}

func documentArgs(changes []storage.DocumentChange) []any {
	type change = *storage.DocumentChange
	return []any{
		conn.ColumnArg(changes, func(c change) string { return c.Kind }),
		conn.ColumnArg(changes, func(c change) string { return c.Key }),
		conn.ColumnArg(changes, func(c change) json.RawMessage { return c.Value }),
		conn.ColumnArg(changes, func(c change) string {
			return "{" + strings.Trim(strings.ReplaceAll(fmt.Sprint(c.IfRevision), " ", ","), "[]") + "}"
		}),
		conn.ColumnArg(changes, func(c change) []byte { return conn.IDArg(c.By) }),
		conn.ColumnArg(changes, func(c change) time.Time { return c.At.UTC() }),
		conn.ColumnArg(changes, func(c change) bool { return c.Public }),
		conn.ColumnArg(changes, func(c change) int64 { return int64(c.Retention.Count) }),
		conn.ColumnArg(changes, func(c change) int64 { return int64(c.Retention.Bytes) }),
		conn.ColumnArg(changes, func(c change) int64 { return max(c.InitialRevision, 1) }),
	}
}

var putDocument = numberPlaceholders(`
WITH seen AS MATERIALIZED (
	SELECT f.id FROM formsvc.forms f WHERE f.id = $1::bytea AND `+formAccess+`
), `+requestedChanges+`, target AS MATERIALIZED (
	SELECT s.id FROM seen s WHERE NOT EXISTS (SELECT FROM refused)
), raised AS (
	UPDATE formsvc.forms f SET beside = f.beside + `+documentsRevisionIncrement+`
	FROM target t
	WHERE f.id = t.id AND `+documentsRevisionIncrement+` > 0
), `+applyDocumentChanges+`
SELECT r.place IS NULL, r.current, w.revision, w.created_at, w.updated_at
FROM seen s LEFT JOIN refused r ON true LEFT JOIN written w ON true`, 3)

// PutDocument implements [storage.DocumentStore].
func (s *Store) PutDocument(ctx context.Context, actor storage.Actor, form storage.ID, c storage.DocumentChange) (storage.Document, error) {
	changes := []storage.DocumentChange{c}
	if err := checkDocuments(ctx, changes); err != nil {
		return storage.Document{}, err
	}
	var holds bool
	var current int64
	doc := storage.Document{Kind: c.Kind, Key: c.Key, Value: bytes.Clone(c.Value), By: c.By}
	err := s.db.Change(ctx, conn.NewStatement(lockForDocuments, form[:], userArg(actor)),
		conn.NewStatement(putDocument, append([]any{form[:], userArg(actor)}, documentArgs(changes)...)...).
			ScanInto(&holds, &current, &doc.Revision, &doc.CreatedAt, &doc.UpdatedAt))
	switch {
	case err != nil:
		return storage.Document{}, err
	case !holds:
		return storage.Document{}, &storage.RevisionError{Current: current, Kind: c.Kind}
	case c.Value == nil:
		return storage.Document{}, nil
	}
	return doc, nil
}

func checkDocuments(ctx context.Context, changes []storage.DocumentChange) error {
	if err := ctx.Err(); err != nil || storage.ValidDocuments(changes) {
		return err
	}
	return fmt.Errorf("%w: a document has an invalid kind, key, value or time, or is changed twice", storage.ErrInvalidValue)
}

const documentColumns = `d.kind, d.key, d.revision, d.user_id, d.created_at, d.updated_at`

func documentTargets(d *storage.Document) []any {
	return []any{&d.Kind, &d.Key, &d.Revision, &d.By, &d.CreatedAt, &d.UpdatedAt, (*[]byte)(&d.Value)}
}

const documentByKey = `
SELECT ` + documentColumns + `, d.value
FROM formsvc.forms f
JOIN formsvc.documents d ON d.form_id = f.id
WHERE f.id = $1::bytea AND ` + formAccess + ` AND d.form_id = $1::bytea AND d.kind = $3::text AND d.key = $4::text`

// Document implements [storage.DocumentStore].
func (s *Store) Document(ctx context.Context, actor storage.Actor, form storage.ID, kind, key string) (storage.Document, error) {
	if !storage.ValidText(kind) || !storage.ValidText(key) {
		return storage.Document{}, conn.NotFoundError(ctx)
	}
	return conn.ReadOne(ctx, &s.db, documentTargets, documentByKey, form[:], userArg(actor), kind, key)
}

// documentsOfKind returns a row of nulls if the form has no document of the kind.
const documentsOfKind = `
SELECT ` + documentColumns + `, NULL::json
FROM formsvc.forms f
LEFT JOIN LATERAL (
	SELECT ` + documentColumns + ` FROM formsvc.documents d
	WHERE d.form_id = $1::bytea AND d.kind = $3::text AND d.key < (SELECT $4::text)
	ORDER BY d.key DESC
	LIMIT (SELECT $5::bigint)
) d ON true
WHERE f.id = $1::bytea AND ` + formAccess + `
ORDER BY d.key DESC`

var highestKey = strings.Repeat("\U0010ffff", 51)

// Documents implements [storage.DocumentStore].
func (s *Store) Documents(ctx context.Context, actor storage.Actor, form storage.ID, q storage.DocumentQuery) (found []storage.Document, more bool, err error) {
	below := highestKey
	if q.Below != nil {
		below = *q.Below
	}
	found, err = conn.ReadAll(ctx, &s.db, documentTargets, documentsOfKind,
		form[:], userArg(actor), q.Kind, below, int64(max(q.Limit, 0))+1)
	if err != nil {
		return nil, false, err
	}
	return trimPage(found, q.Limit, func(d *storage.Document) bool { return d.Revision > 0 })
}

const formsWithDocument = `
SELECT f.id
FROM formsvc.forms f
WHERE f.id = ANY ((SELECT $1::bytea[])::bytea[]) AND ` + formAccess + `
	AND EXISTS (SELECT FROM formsvc.documents d WHERE d.form_id = f.id AND d.kind = $3::text)`

// FormsWithDocument implements [storage.DocumentStore].
func (s *Store) FormsWithDocument(ctx context.Context, actor storage.Actor, kind string, forms []storage.ID) ([]storage.ID, error) {
	return conn.ReadAll(ctx, &s.db, func(id *storage.ID) []any { return []any{id} }, formsWithDocument, conn.IDsArg(forms), userArg(actor), kind)
}
