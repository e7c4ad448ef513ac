package postgres

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/Masterminds/squirrel"
	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

const formHeadColumns = formBaseColumns + `, ` + limitReachedColumn + `, ` + formTimeColumns

const formBaseColumns = `f.id, f.public_id, f.workspace_id, f.name, f.type, f.status, f.revision,
	f.closed, f.open_at, f.close_at, f.response_limit, f.unique_block, f.unique_rules, f.duplicates_covered, f.beside`

const formTimeColumns = `f.created_at, f.updated_at, f.trashed_at`

const limitReachedColumn = `CASE WHEN f.response_limit > 0 THEN
		(SELECT l.submission_count >= f.response_limit FROM formsvc.form_limits l WHERE l.form_id = f.id) END`

const formSectionColumns = `f.format, f.blocks, f.settings, f.theme, f.variables, f.hidden_fields`

const formColumns = formHeadColumns + `, ` + formSectionColumns

// formColumnsWithoutLimit omits the subquery for LimitReached, because it makes statements an eighth slower even for
// forms without a limit. For forms with a limit, readLimitReached reads LimitReached.
const formColumnsWithoutLimit = formBaseColumns + `, NULL::boolean, ` + formTimeColumns + `, ` + formSectionColumns

const limitReachedByID = `
SELECT l.submission_count >= $2::bigint FROM formsvc.form_limits l WHERE l.form_id = $1::bytea`

// readLimitReached sets LimitReached in a form that was read with formColumnsWithoutLimit.
func (s *Store) readLimitReached(ctx context.Context, f *storage.Form) error {
	if f.Acceptance.ResponseLimit <= 0 {
		return nil
	}
	err := s.db.QueryRow(ctx, limitReachedByID, conn.RowScanner(&f.LimitReached), f.ID[:], f.Acceptance.ResponseLimit)
	return conn.TranslateNoRow(err, nil) // the limit was removed in the meantime
}

// appendHeadTargets appends the targets for formHeadColumns. A row of nulls becomes the zero Form.
func appendHeadTargets(to []any, f *storage.Form) []any {
	return append(to,
		&f.ID, &f.PublicID, &f.WorkspaceID, &f.Name, &f.Type, &f.Status,
		&f.Revision, &f.Acceptance.Closed, &f.Acceptance.OpenAt, &f.Acceptance.CloseAt, &f.Acceptance.ResponseLimit,
		&f.Acceptance.Unique.Block, &f.Acceptance.Unique.Rules, &f.DuplicateCheckReady, &f.DocumentsRevision, &f.LimitReached,
		&f.CreatedAt, &f.UpdatedAt, &f.TrashedAt)
}

// appendFormTargets appends the targets for formColumns. The definition is borrowed until detachDefinition.
func appendFormTargets(to []any, f *storage.Form) []any {
	d := &f.Definition
	return append(appendHeadTargets(to, f), &d.Format,
		&d.Blocks, &d.Settings, &d.Theme, &d.Variables, &d.HiddenFields)
}

// scanForm scans the first columns into the targets in before, and then the version of the form's row and
// formColumnsWithoutLimit. If the form's columns are null, the form does not exist.
func (s *Store) scanForm(rows pgx.Rows, before []any, f *storage.Form) error {
	var version rowVersion
	if err := conn.Scan(rows, appendFormTargets(append(before, &version), f)...); err != nil {
		*f = storage.Form{} // drops the borrowed definition
		return err
	}
	if version != 0 {
		s.cache.remember(f, version)
	}
	return nil
}

// createForm locks the workspace, so that it cannot be deleted before the form is created. It runs under the shared lock
// of the zero form, so that it sees every webhook for all forms.
const createForm = `
WITH target AS (
	SELECT w.id FROM formsvc.workspaces w
	WHERE w.id = $1::bytea AND ` + workspaceAccess + `
	FOR SHARE OF w
), form AS (
	INSERT INTO formsvc.forms (id, public_id, workspace_id, name, type, status, revision,
		closed, open_at, close_at, response_limit, counted, unique_block, unique_rules, duplicates_covered, created_at, updated_at,
		format, blocks, settings, theme, variables, hidden_fields)
	SELECT $3::bytea, $4::text, target.id, $5::text, $6::text, $7::text, 1,
		$8::boolean, $21::timestamptz, $9::timestamptz, $10::bigint, $10::bigint > 0, $19::text, $20::bigint, $19::text <> '', $11::timestamptz, $12::timestamptz,
		$13::bigint, $14::json, $15::json, $16::json, $17::json, $18::json
	FROM target
	ON CONFLICT DO NOTHING
	RETURNING id, workspace_id
), counter AS (
	INSERT INTO formsvc.form_limits (form_id, submission_count) SELECT form.id, 0 FROM form WHERE $10::bigint > 0
), t AS (
	SELECT * FROM formsvc.webhooks t WHERE t.form_id = ` + allForms + `
), ` + copyForForms + `
SELECT EXISTS (SELECT 1 FROM form) FROM target`

// CreateForm implements [storage.FormStore].
func (s *Store) CreateForm(ctx context.Context, actor storage.Actor, f storage.Form) error {
	var made bool
	d := f.Definition
	err := s.db.Change(ctx, s.sharedFormLockStatement(storage.ID{}), conn.NewStatement(createForm, f.WorkspaceID[:], userArg(actor), f.ID[:], f.PublicID, f.Name, f.Type, f.Status,
		f.Acceptance.Closed, conn.TimeArg(f.Acceptance.CloseAt), f.Acceptance.ResponseLimit, f.CreatedAt.UTC(), f.UpdatedAt.UTC(),
		int64(d.Format), d.Blocks, d.Settings, d.Theme, d.Variables, d.HiddenFields,
		f.Acceptance.Unique.Block, int64(f.Acceptance.Unique.Rules), conn.TimeArg(f.Acceptance.OpenAt)).ScanInto(&made))
	if err == nil && !made {
		return storage.ErrConflict
	}
	return err
}

const formByID = `
SELECT f.xmin, ` + formColumnsWithoutLimit + `
FROM formsvc.forms f
WHERE f.id = $1::bytea AND ` + formAccess

const formByPublicID = `
SELECT f.xmin, ` + formColumnsWithoutLimit + `
FROM formsvc.forms f
WHERE f.public_id = $1::text AND ` + formNotTrashed

// Form implements [storage.FormStore].
func (s *Store) Form(ctx context.Context, actor storage.Actor, id storage.ID) (storage.Form, error) {
	return s.readForm(ctx, formByID, id[:], userArg(actor))
}

// FormByPublicID implements [storage.FormStore]. On a pool, calls that arrive while the same form is being read share
// the next read. That read starts when the current one ends, so each call sees all data stored before the call. The
// read does not use the values of ctx.
func (s *Store) FormByPublicID(ctx context.Context, publicID string) (storage.Form, error) {
	if !storage.ValidText(publicID) {
		return storage.Form{}, conn.NotFoundError(ctx)
	}
	if s.formReader == nil {
		return s.readForm(ctx, formByPublicID, publicID)
	}
	timedOut, end := s.newTimeoutTimer(ctx)
	defer end()
	read, _, err := s.formReader.addAndWait(ctx, timedOut, publicID, struct{}{}, 0)
	if err != nil {
		return storage.Form{}, abandonedError(ctx, err, false)
	}
	return read.form, read.err
}

// formReader reads a form by its public ID, once for all callers that wait for the same form.
type formReader = batcher[string, struct{}, formReadResult]

type formReadResult struct {
	form storage.Form
	err  error
}

func (s *Store) newFormReader() *formReader {
	var all formReader
	all.write = func(ctx context.Context, publicID string, takeItems func() []struct{}, _ func()) []formReadResult {
		runtime.Gosched() // let other callers join, as in writeWithConnection
		callers := len(takeItems())
		var read formReadResult
		read.form, read.err = s.readForm(ctx, formByPublicID, publicID)
		return slices.Repeat([]formReadResult{read}, callers)
	}
	return &all
}

func (s *Store) readForm(ctx context.Context, text string, args ...any) (f storage.Form, err error) {
	err = s.db.Read(ctx, func(ctx context.Context) error {
		err := s.db.QueryRow(ctx, text, func(rows pgx.Rows) error {
			return s.scanForm(rows, make([]any, 0, 25), &f)
		}, args...)
		if err != nil {
			return conn.TranslateNoRow(err, storage.ErrNotFound)
		}
		return s.readLimitReached(ctx, &f)
	})
	return f, err
}

// formListTexts contains the statements that list either the forms in the trash or all other forms.
type formListTexts struct{ forUser, forUserInWorkspace, forHost, forHostInWorkspace string }

const (
	liveForms    = "f.trashed_at IS NULL"
	trashedForms = "f.trashed_at IS NOT NULL AND f.purged_at IS NULL"
)

// inAccessibleWorkspace takes the workspace's ID from the access check, so that nothing is read without access.
const inAccessibleWorkspace = `f.workspace_id = (
			SELECT a.workspace_id FROM formsvc.workspace_users a WHERE a.user_id = $4::bytea AND a.workspace_id = $5::bytea)`

var formLists = sync.OnceValue(func() (lists struct{ live, trash formListTexts }) {
	live := listSource{"formsvc.forms f", "f", formHeadColumns, liveForms}
	all := listSource{"formsvc.forms f", "f", formHeadColumns, liveForms + notInDeletedWorkspace("f")}
	lists.live = formListTexts{
		mustBuildSQL(live.selectForUser()), mustBuildSQL(live.selectWhere(inAccessibleWorkspace)),
		mustBuildSQL(all.selectForHost()), mustBuildSQL(all.selectWhere("f.workspace_id = $4::bytea")),
	}
	trash := listSource{"formsvc.forms f", "f", formHeadColumns, trashedForms}
	lists.trash = formListTexts{
		mustBuildSQL(trash.selectForUser()), mustBuildSQL(trash.selectWhere(inAccessibleWorkspace)),
		mustBuildSQL(selectHostTrash("f.id > ''", "true")), mustBuildSQL(selectHostTrash("f.workspace_id = $4::bytea", "o.id = $4::bytea")),
	}
	return lists
})

// Forms implements [storage.FormStore].
func (s *Store) Forms(ctx context.Context, actor storage.Actor, q storage.FormsParams) ([]storage.Form, error) {
	lists, args := formLists().live, pageArgs(q.Page)
	if q.Trashed {
		lists = formLists().trash
	}
	one := !q.WorkspaceID.IsZero()
	var text string
	switch {
	case actor.Host() && one:
		text, args = lists.forHostInWorkspace, append(args, q.WorkspaceID[:])
	case actor.Host():
		text = lists.forHost
	case one:
		text, args = lists.forUserInWorkspace, append(args, userArg(actor), q.WorkspaceID[:])
	default:
		text, args = lists.forUser, append(args, userArg(actor))
	}
	var found []storage.Form
	err := s.db.Read(ctx, func(ctx context.Context) (err error) {
		found, err = conn.Collect(ctx, &s.db, text, headTargets, args...)
		if err != nil || len(found) > 0 || !one || actor.Host() {
			return err
		}
		err = s.db.QueryRow(ctx, workspaceExists, conn.RowScanner(nil), q.WorkspaceID[:], userArg(actor))
		return conn.TranslateNoRow(err, storage.ErrNotFound)
	})
	return found, err
}

func headTargets(f *storage.Form) []any { return appendHeadTargets(make([]any, 0, 18), f) }

// notInDeletedWorkspace is the condition that a form or webhook is not in a deleted workspace. The host's lists need
// it, because the host has access without workspace_users. A statement reads the deleted workspaces once. There are
// only a few deleted workspaces, because sweeps remove them. COALESCE hides the condition from the planner, which would
// estimate that no forms remain if one workspace has nearly all of them.
func notInDeletedWorkspace(alias string) string {
	return ` AND COALESCE(` + alias + `.workspace_id <> ALL (ARRAY(
	SELECT o.id FROM formsvc.workspaces o WHERE o.deleted_at IS NOT NULL AND NOT o.tidied)), true)`
}

// notInPurgedWorkspace is like notInDeletedWorkspace, but for purged workspaces.
const notInPurgedWorkspace = ` AND COALESCE(f.workspace_id <> ALL (ARRAY(SELECT o.id FROM formsvc.workspaces o WHERE o.purged)), true)`

// formListColumns are formHeadColumns without trashed_at.
const formListColumns = formBaseColumns + `, f.created_at, f.updated_at`

// selectHostTrash lists the trash for the host: forms whose own rows are in the trash, and forms in deleted workspaces
// that no sweep has updated yet. The parameter forms is a condition on the form f, and the parameter workspaces is a
// condition on the deleted workspace o.
func selectHostTrash(forms, workspaces string) squirrel.SelectBuilder {
	trash := listSource{"formsvc.forms f", "f", formListColumns + ", f.trashed_at", trashedForms + notInPurgedWorkspace}
	rest, args, err := squirrel.Select(formListColumns, "o.deleted_at AS trashed_at").
		From("formsvc.workspaces o").
		JoinClause(joinLateral(listSource{"formsvc.forms f", "f", "", liveForms}.selectPage("f.*", "f.workspace_id = o.id", pageLimit), "f")).
		Where("o.deleted_at IS NOT NULL AND NOT o.tidied AND NOT o.purged").
		Where(workspaces).ToSql()
	if err != nil {
		panic(err) // as in mustBuildSQL
	}
	both := squirrel.Select(formListColumns, "f.trashed_at").FromSelect(trash.selectWhere(forms), "f").Suffix("UNION ALL "+rest, args...)
	return trash.orderByNewest(squirrel.Select(formHeadColumns).FromSelect(both, "f"), pageLimit)
}

// lockTargetWorkspace prevents the deletion of the workspace that a form moves to.
const lockTargetWorkspace = `SELECT 1 FROM formsvc.workspaces w WHERE w.id = $1::bytea FOR SHARE`

// lockWebhooksOfForm runs before a move locks the form's row, because a move also updates the form's webhooks.
const lockWebhooksOfForm = `SELECT 1 FROM formsvc.webhooks w WHERE w.form_id = $1::bytea ORDER BY w.id FOR NO KEY UPDATE`

// Outcomes of updateForm, in the order of the checks.
const (
	updateDone = iota
	updateNoTarget
	updateNotOwner
	updateRevision
	updateUncounted        // the submissions must be counted for the new limit
	updateUnchanged        // nothing would change
	updateDocumentRevision // plus the index of the change whose condition does not hold
)

// updateForm changes the form, or returns the outcome that prevented the change. Unchanged sections are neither sent
// nor written. updateFormDocuments also writes documents, and runs after lockForDocuments.
var (
	updateForm          = buildUpdateForm(documentClauses{conflictCode: "0", currentRevision: "v.revision"})
	updateFormDocuments = numberPlaceholders(buildUpdateForm(documentClauses{
		requested:       requestedChanges + ", ",
		conflictCode:    fmt.Sprint("COALESCE((SELECT r.place + ", updateDocumentRevision-1, " FROM refused r), 0)"),
		assignment:      "beside = f.beside + " + documentsRevisionIncrement + ",",
		writes:          ", target AS (SELECT c.id FROM changed c), " + applyDocumentChanges,
		currentRevision: fmt.Sprint("CASE WHEN v.code < ", updateDocumentRevision, " THEN v.revision ELSE (SELECT r.current FROM refused r) END"),
	}), 21)
)

type documentClauses struct{ requested, conflictCode, assignment, writes, currentRevision string }

func buildUpdateForm(with documentClauses) string {
	return `
WITH seen AS MATERIALIZED (
	SELECT f.* FROM formsvc.forms f
	WHERE f.id = $1::bytea AND ` + formAccess + `
	FOR NO KEY UPDATE OF f
), ` + with.requested + `verdict AS MATERIALIZED (
	SELECT s.id, s.revision, s.response_limit, COALESCE($17::text <> s.unique_block, false) AS another_field, CASE
		WHEN $3::bytea IS NOT NULL AND NOT EXISTS (
			SELECT FROM formsvc.workspaces w WHERE w.id = $3::bytea AND ` + workspaceAccess + `) THEN 1
		WHEN $3::bytea <> s.workspace_id AND $2::bytea IS NOT NULL AND NOT EXISTS (
			SELECT FROM formsvc.workspaces w WHERE w.id = s.workspace_id AND w.owner_id = $2::bytea) THEN 2
		WHEN cardinality($4::bigint[]) > 0 AND s.revision <> ALL ($4::bigint[]) THEN 3
		WHEN $10::bigint > 0 AND NOT EXISTS (
			SELECT FROM formsvc.form_limits l WHERE l.form_id = s.id AND l.counted_to IS NULL) THEN 4
		WHEN COALESCE($3::bytea, s.workspace_id) = s.workspace_id
			AND COALESCE($6::text, s.name) = s.name AND COALESCE($7::text, s.status) = s.status
			AND COALESCE($19::text, s.type) = s.type
			AND ($8::boolean IS NULL OR
				(s.closed, s.open_at, s.close_at, s.response_limit, s.unique_block) IS NOT DISTINCT FROM
				($8::boolean, $20::timestamptz, $9::timestamptz, $10::bigint, $17::text))
			AND COALESCE($11::bigint, s.format) = s.format
			AND ($12::json IS NULL OR $12::json::text = s.blocks::text)
			AND ($13::json IS NULL OR $13::json::text = s.settings::text)
			AND ($14::json IS NULL OR $14::json::text = s.theme::text)
			AND ($15::json IS NULL OR $15::json::text = s.variables::text)
			AND ($16::json IS NULL OR $16::json::text = s.hidden_fields::text) THEN 5
		ELSE ` + with.conflictCode + `
	END AS code
	FROM seen s
), changed AS (
	UPDATE formsvc.forms f SET
		workspace_id = COALESCE($3::bytea, f.workspace_id),
		name = COALESCE($6::text, f.name),
		type = COALESCE($19::text, f.type),
		status = COALESCE($7::text, f.status),
		revision = f.revision + 1,
		closed = COALESCE($8::boolean, f.closed),
		open_at = CASE WHEN $8::boolean IS NULL THEN f.open_at ELSE $20::timestamptz END,
		close_at = CASE WHEN $8::boolean IS NULL THEN f.close_at ELSE $9::timestamptz END,
		response_limit = COALESCE($10::bigint, f.response_limit),
		counted = CASE WHEN $10::bigint = 0 AND f.response_limit > 0 THEN false ELSE f.counted END,
		unique_block = COALESCE($17::text, f.unique_block),
		unique_rules = CASE WHEN v.another_field THEN $18::bigint ELSE f.unique_rules END,
		duplicates_covered = CASE WHEN v.another_field THEN $17::text <> '' AND ` + noSubmissions + ` ELSE f.duplicates_covered END,
		updated_at = $5::timestamptz,` + with.assignment + `
		format = COALESCE($11::bigint, f.format),
		blocks = COALESCE($12::json, f.blocks),
		settings = COALESCE($13::json, f.settings),
		theme = COALESCE($14::json, f.theme),
		variables = COALESCE($15::json, f.variables),
		hidden_fields = COALESCE($16::json, f.hidden_fields)
	FROM verdict v
	WHERE f.id = v.id AND v.code = 0
	RETURNING f.*
), ` + changeUniqueField + `, dropped AS (
	DELETE FROM formsvc.form_limits l USING verdict v
	WHERE l.form_id = v.id AND v.code = 0 AND v.response_limit > 0 AND $10::bigint = 0
), in_force AS (
	UPDATE formsvc.form_limits l SET count_at = NULL
	FROM verdict v
	WHERE l.form_id = v.id AND v.code = 0 AND $10::bigint > 0 AND l.count_at IS NOT NULL
)` + with.writes + `
SELECT v.code, ` + with.currentRevision + `, ` + formColumns + `
FROM verdict v
LEFT JOIN (SELECT * FROM changed UNION ALL SELECT s.* FROM seen s, verdict v WHERE v.code = 5) f ON true`
}

// UpdateForm implements [storage.FormStore]. A change to the acceptance rules waits for submissions in progress and
// blocks new ones, so that each submission sees either the old or the new rules. Before UpdateForm sets the first
// response limit on a form, it counts the submissions (see countSubmissions). The count does not check the revision, so
// UpdateForm repeats it until no other change interferes.
func (s *Store) UpdateForm(ctx context.Context, actor storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	if err := checkDocuments(ctx, c.Documents); err != nil {
		return storage.Form{}, err
	}
	for {
		f, code, err := s.updateForm(ctx, actor, id, c)
		if err != nil || code != updateUncounted {
			return f, err
		}
		if err := s.countSubmissions(ctx, id); err != nil {
			return storage.Form{}, err
		}
	}
}

func (s *Store) updateForm(ctx context.Context, actor storage.Actor, id storage.ID, c storage.FormChange) (f storage.Form, code int, err error) {
	var batch []conn.Statement
	if c.WorkspaceID != nil {
		batch = append(batch, conn.NewStatement(lockTargetWorkspace, conn.IDPointerArg(c.WorkspaceID)))
	}
	if c.Acceptance != nil {
		batch = append(batch, s.formLockStatement(id))
	}
	if c.WorkspaceID != nil {
		batch = append(batch, conn.NewStatement(lockWebhooksOfForm, id[:]))
	}
	text, args := updateForm, updateFormArgs(actor, id, c)
	if len(c.Documents) > 0 {
		batch = append(batch, conn.NewStatement(lockForDocuments, id[:], userArg(actor)))
		text, args = updateFormDocuments, append(args, documentArgs(c.Documents)...)
	}
	var current int64
	err = s.db.Change(ctx, append(batch, conn.NewStatement(text, args...).ReadRow(func(rows pgx.Rows) error {
		err := conn.Scan(rows, appendFormTargets([]any{&code, &current}, &f)...)
		detachDefinition(&f.Definition)
		return err
	}))...)
	switch {
	case err != nil:
		return storage.Form{}, 0, err
	case code == updateNoTarget:
		return storage.Form{}, 0, storage.ErrNotFound
	case code == updateNotOwner:
		return storage.Form{}, 0, storage.ErrNotOwner
	case code == updateRevision:
		return storage.Form{}, 0, &storage.RevisionError{Current: current}
	case code >= updateDocumentRevision:
		return storage.Form{}, 0, &storage.RevisionError{Current: current, Kind: c.Documents[code-updateDocumentRevision].Kind}
	}
	return f, code, nil
}

func updateFormArgs(actor storage.Actor, id storage.ID, c storage.FormChange) []any {
	var closed *bool
	var openAt, closeAt *time.Time
	var limit *int64
	var unique *string
	var rules, format *int
	if g := c.Acceptance; g != nil {
		closed, openAt, closeAt, limit = &g.Closed, conn.TimeArg(g.OpenAt), conn.TimeArg(g.CloseAt), &g.ResponseLimit
		unique, rules = &g.Unique.Block, &g.Unique.Rules
	}
	d := &c.Definition
	if d.HasSections() {
		format = &d.Format
	}
	return []any{
		id[:], userArg(actor), conn.IDPointerArg(c.WorkspaceID), conn.ListArg(c.IfRevision), c.At.UTC(), c.Name, c.Status,
		closed, closeAt, limit, format,
		d.Blocks, d.Settings, d.Theme, d.Variables, d.HiddenFields,
		unique, rules, c.Type, openAt,
	}
}
