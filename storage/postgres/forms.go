package postgres

import (
	"context"

	"github.com/Masterminds/squirrel"
	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
)

// formHead is a form without its definition.
const formHead = formGate + `, ` + formFull + `, ` + formTimes

const formGate = `f.id, f.public_id, f.workspace_id, f.name, f.type, f.status, f.revision,
	f.closed, f.close_at, f.response_limit`

const formTimes = `f.created_at, f.updated_at, f.trashed_at`

const formFull = `CASE WHEN f.response_limit > 0 THEN
		(SELECT l.taken >= f.response_limit FROM formsvc.form_limits l WHERE l.form_id = f.id) END`

const formSections = `f.format, f.blocks, f.settings, f.theme, f.variables, f.hidden_fields`

const formColumns = formHead + `, ` + formSections

// formColumnsFast are formColumns without an answer to whether the form is full:
// asking for it costs the statement an eighth more, also for the many forms that
// have no limit. For the others fillIn asks.
const formColumnsFast = formGate + `, NULL::boolean, ` + formTimes + `, ` + formSections

const fullByID = `
SELECT l.taken >= $2::bigint FROM formsvc.form_limits l WHERE l.form_id = $1::bytea`

// fillIn sets Full of a form that was read as formColumnsFast.
func (s *Store) fillIn(ctx context.Context, f *storage.Form) error {
	if f.Gate.ResponseLimit <= 0 {
		return nil
	}
	err := s.queryRow(ctx, fullByID, func(rows pgx.Rows) error {
		return scanRow(rows, scanBool(&f.Full))
	}, f.ID[:], f.Gate.ResponseLimit)
	return noRow(err, nil) // the limit is gone in the meantime
}

// appendHead appends what takes formHead. A row of nulls is the zero Form.
func appendHead(to []any, f *storage.Form) []any {
	return append(to,
		scanID(&f.ID), scanText(&f.PublicID), scanID(&f.WorkspaceID), scanText(&f.Name), scanText(&f.Type), scanText(&f.Status),
		scanInt(&f.Revision), scanBool(&f.Gate.Closed), scanTime(&f.Gate.CloseAt), scanInt(&f.Gate.ResponseLimit), scanBool(&f.Full),
		scanTime(&f.CreatedAt), scanTime(&f.UpdatedAt), scanTime(&f.TrashedAt))
}

// appendForm appends what takes formColumns. The definition is borrowed until
// ownDefinition.
func appendForm(to []any, f *storage.Form) []any {
	d := &f.Definition
	return append(appendHead(to, f), scanSize(&d.Format),
		scanBorrowed(&d.Blocks), scanBorrowed(&d.Settings), scanBorrowed(&d.Theme), scanBorrowed(&d.Variables), scanBorrowed(&d.HiddenFields))
}

func ownDefinition(d *storage.Definition) {
	own(&d.Blocks, &d.Settings, &d.Theme, &d.Variables, &d.HiddenFields)
}

func scanForm(rows pgx.Rows) (f storage.Form, err error) {
	if err := scanRow(rows, appendForm(make([]any, 0, 20), &f)...); err != nil {
		return storage.Form{}, err
	}
	ownDefinition(&f.Definition)
	return f, nil
}

// The row of the workspace is locked against being deleted before the form is in
// it.
const createForm = `
WITH target AS (
	SELECT w.id FROM formsvc.workspaces w
	WHERE w.id = $1::bytea AND w.deleted_at IS NULL AND ` + workspaceAccess + `
	FOR SHARE OF w
), made AS (
	INSERT INTO formsvc.forms (id, public_id, workspace_id, name, type, status, revision,
		closed, close_at, response_limit, created_at, updated_at,
		format, blocks, settings, theme, variables, hidden_fields)
	SELECT $3::bytea, $4::text, target.id, $5::text, $6::text, $7::text, 1,
		$8::boolean, $9::timestamptz, $10::bigint, $11::timestamptz, $12::timestamptz,
		$13::bigint, $14::json, $15::json, $16::json, $17::json, $18::json
	FROM target
	ON CONFLICT DO NOTHING
	RETURNING id
), counter AS (
	INSERT INTO formsvc.form_limits (form_id, taken) SELECT made.id, 0 FROM made WHERE $10::bigint > 0
)
SELECT EXISTS (SELECT 1 FROM made) FROM target`

// CreateForm implements [storage.FormStore].
func (s *Store) CreateForm(ctx context.Context, who storage.Actor, f storage.Form) error {
	return s.write(ctx, func(ctx context.Context) error {
		var made bool
		d := f.Definition
		err := s.queryRow(ctx, createForm, func(rows pgx.Rows) error { return rows.Scan(&made) },
			f.WorkspaceID[:], userArg(who), f.ID[:], f.PublicID, f.Name, f.Type, f.Status,
			f.Gate.Closed, timeArg(f.Gate.CloseAt), f.Gate.ResponseLimit, f.CreatedAt.UTC(), f.UpdatedAt.UTC(),
			int64(d.Format), jsonArg(d.Blocks), jsonArg(d.Settings), jsonArg(d.Theme), jsonArg(d.Variables), jsonArg(d.HiddenFields))
		if err == nil && !made {
			return storage.ErrConflict
		}
		return noRow(err, storage.ErrNotFound)
	})
}

const formByID = `
SELECT ` + formColumnsFast + `
FROM formsvc.forms f
WHERE f.id = $1::bytea AND f.trashed_at IS NULL AND ` + formAccess

const formByPublicID = `
SELECT ` + formColumnsFast + `
FROM formsvc.forms f
WHERE f.public_id = $1::text AND f.trashed_at IS NULL`

// Form implements [storage.FormStore].
func (s *Store) Form(ctx context.Context, who storage.Actor, id storage.ID) (storage.Form, error) {
	return s.oneForm(ctx, formByID, id[:], userArg(who))
}

// FormByPublicID implements [storage.FormStore].
func (s *Store) FormByPublicID(ctx context.Context, publicID string) (storage.Form, error) {
	return s.oneForm(ctx, formByPublicID, publicID)
}

func (s *Store) oneForm(ctx context.Context, text string, args ...any) (f storage.Form, err error) {
	err = s.read(ctx, func(ctx context.Context) error {
		err := s.queryRow(ctx, text, func(rows pgx.Rows) (err error) {
			f, err = scanForm(rows)
			return err
		}, args...)
		if err != nil {
			return noRow(err, storage.ErrNotFound)
		}
		return s.fillIn(ctx, &f)
	})
	return f, err
}

// formLists are the lists of forms, first those that are not in the trash and then
// those that are.
var formLists = [...]struct{ ofUser, ofUsersWorkspace, ofHost, ofWorkspace func() string }{
	listsOf(shelf{"formsvc.forms", "f", formHead, "f.trashed_at IS NULL"}),
	listsOf(shelf{"formsvc.forms", "f", formHead, "f.trashed_at IS NOT NULL"}),
}

func listsOf(forms shelf) (l struct{ ofUser, ofUsersWorkspace, ofHost, ofWorkspace func() string }) {
	l.ofUser = built(forms.ofUser)
	l.ofUsersWorkspace = built(func() squirrel.SelectBuilder {
		// The workspace's id comes out of the access check, so that without access
		// nothing is read.
		return forms.of(`f.workspace_id = (
			SELECT a.workspace_id FROM formsvc.workspace_users a WHERE a.user_id = $4::bytea AND a.workspace_id = $5::bytea)`)
	})
	l.ofHost = built(forms.ofHost)
	l.ofWorkspace = built(func() squirrel.SelectBuilder { return forms.of("f.workspace_id = $4::bytea") })
	return l
}

// Forms implements [storage.FormStore].
func (s *Store) Forms(ctx context.Context, who storage.Actor, q storage.FormQuery) ([]storage.Form, error) {
	lists, args := &formLists[0], pageArgs(q.Page)
	if q.Trashed {
		lists = &formLists[1]
	}
	one := !q.WorkspaceID.IsZero()
	var text string
	switch {
	case who.Host() && one:
		text, args = lists.ofWorkspace(), append(args, q.WorkspaceID[:])
	case who.Host():
		text = lists.ofHost()
	case one:
		text, args = lists.ofUsersWorkspace(), append(args, userArg(who), q.WorkspaceID[:])
	default:
		text, args = lists.ofUser(), append(args, userArg(who))
	}
	var found []storage.Form
	err := s.read(ctx, func(ctx context.Context) (err error) {
		found, err = collect(ctx, s, text, scanHead, args...)
		if err != nil || len(found) > 0 || !one || who.Host() {
			return err
		}
		err = s.queryRow(ctx, workspaceIsThere, func(pgx.Rows) error { return nil }, q.WorkspaceID[:], userArg(who))
		return noRow(err, storage.ErrNotFound)
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

func scanHead(rows pgx.Rows) (f storage.Form, err error) {
	err = scanRow(rows, appendHead(make([]any, 0, 14), &f)...)
	return f, err
}

// lockTarget keeps the workspace that a form moves to from being deleted
// meanwhile.
const lockTarget = `SELECT 1 FROM formsvc.workspaces w WHERE w.id = $1::bytea FOR SHARE`

// updateForm changes the form or tells its revision. The sections that stay are
// not sent and not written again.
const updateForm = `
WITH seen AS (
	SELECT f.id, f.revision FROM formsvc.forms f
	WHERE f.id = $1::bytea AND f.trashed_at IS NULL AND ` + formAccess + `
		AND ($3::bytea IS NULL OR EXISTS (
			SELECT 1 FROM formsvc.workspaces w
			WHERE w.id = $3::bytea AND w.deleted_at IS NULL AND ` + workspaceAccess + `))
	FOR NO KEY UPDATE OF f
), changed AS (
	UPDATE formsvc.forms f SET
		workspace_id = COALESCE($3::bytea, f.workspace_id),
		name = COALESCE($6::text, f.name),
		status = COALESCE($7::text, f.status),
		revision = f.revision + 1,
		closed = COALESCE($8::boolean, f.closed),
		close_at = CASE WHEN $8::boolean IS NULL THEN f.close_at ELSE $9::timestamptz END,
		response_limit = COALESCE($10::bigint, f.response_limit),
		updated_at = $5::timestamptz,
		format = COALESCE($11::bigint, f.format),
		blocks = COALESCE($12::json, f.blocks),
		settings = COALESCE($13::json, f.settings),
		theme = COALESCE($14::json, f.theme),
		variables = COALESCE($15::json, f.variables),
		hidden_fields = COALESCE($16::json, f.hidden_fields)
	FROM seen
	WHERE f.id = seen.id AND (cardinality($4::bigint[]) = 0 OR seen.revision = ANY($4::bigint[]))
	RETURNING f.*
)`

const updateFormOnly = updateForm + `
SELECT seen.revision, f.id IS NOT NULL, ` + formColumns + `
FROM seen LEFT JOIN changed f ON true`

// A new limit begins with a count, and only then: while there is a limit, its
// row is kept.
const updateFormAndGate = updateForm + `, counted AS (
	INSERT INTO formsvc.form_limits AS l (form_id, taken)
	SELECT f.id, (SELECT count(*) FROM formsvc.submissions s WHERE s.form_id = f.id)
	FROM changed f
	WHERE f.response_limit > 0 AND NOT EXISTS (SELECT 1 FROM formsvc.form_limits l WHERE l.form_id = f.id)
	RETURNING l.form_id, l.taken
), dropped AS (
	DELETE FROM formsvc.form_limits l USING changed f WHERE l.form_id = f.id AND f.response_limit = 0
)
SELECT seen.revision, f.id IS NOT NULL, ` + formColumns + `,
	(SELECT c.taken >= f.response_limit FROM counted c WHERE c.form_id = f.id)
FROM seen LEFT JOIN changed f ON true`

// UpdateForm implements [storage.FormStore]. A change of the gate waits for the
// responses in flight and keeps new ones waiting, so that they meet the old limit
// or the new one.
func (s *Store) UpdateForm(ctx context.Context, who storage.Actor, id storage.ID, c storage.FormChange) (f storage.Form, err error) {
	err = s.write(ctx, func(ctx context.Context) error {
		args := updateFormArgs(who, id, c)
		var current int64
		var changed, full bool
		f = storage.Form{}
		targets := appendForm([]any{scanInt(&current), scanBool(&changed)}, &f)
		scan := func(rows pgx.Rows) error {
			if err := scanRow(rows, targets...); err != nil {
				return err
			}
			f.Full = f.Full || full
			ownDefinition(&f.Definition)
			return nil
		}

		b := &pgx.Batch{}
		if c.WorkspaceID != nil {
			s.queue(b, lockTarget, idArgOf(c.WorkspaceID))
		}
		text := updateFormOnly
		if c.Gate != nil {
			s.lockForm(b, id)
			text, targets = updateFormAndGate, append(targets, scanBool(&full))
		}
		var err error
		if b.Len() == 0 {
			err = s.queryRow(ctx, text, scan, args...)
		} else {
			s.queue(b, text, args...)
			err = s.sendRow(ctx, b, scan)
		}
		if err == nil && !changed {
			return &storage.RevisionError{Current: current}
		}
		return noRow(err, storage.ErrNotFound)
	})
	if err != nil {
		return storage.Form{}, err
	}
	return f, nil
}

func updateFormArgs(who storage.Actor, id storage.ID, c storage.FormChange) []any {
	var closed *bool
	var limit, format *int64
	gate := storage.Gate{}
	if c.Gate != nil {
		gate = *c.Gate
		closed, limit = &gate.Closed, &gate.ResponseLimit
	}
	d := c.Definition
	if d.Blocks != nil || d.Settings != nil || d.Theme != nil || d.Variables != nil || d.HiddenFields != nil {
		n := int64(d.Format)
		format = &n
	}
	revisions := c.IfRevision
	if revisions == nil {
		revisions = []int64{}
	}
	return []any{
		id[:], userArg(who), idArgOf(c.WorkspaceID), revisions, c.At.UTC(), c.Name, c.Status,
		closed, timeArg(gate.CloseAt), limit, format,
		jsonArg(d.Blocks), jsonArg(d.Settings), jsonArg(d.Theme), jsonArg(d.Variables), jsonArg(d.HiddenFields),
	}
}
