package postgres

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// Outcomes of an update, in the order of the checks.
const (
	changeStored = iota
	changeOutdated
	changeFormOutdated
	changeDuplicate
)

// updateSubmission runs under the form's exclusive lock, so no submission, removal or backfill of the form is in
// progress. It needs no other lock, and sees all entries in unique_answers. A submission waits only for the short time
// of this transaction. The statement restarts the current batch of the backfill, whose digests can be those of the old
// answers.
var updateSubmission = `
WITH seen AS MATERIALIZED (
	SELECT s.revision, s.form_revision, s.answers, s.hidden, f.revision AS current,
		EXISTS (
			SELECT FROM formsvc.unique_answers u
			WHERE u.submission_id = $3::bytea AND u.form_id = $1::bytea AND u.digest = $9::bytea AND u.block_id = $13::text AND u.rules = $14::bigint) AS entered
	FROM formsvc.submissions s JOIN formsvc.forms f ON f.id = s.form_id
	WHERE s.form_id = $1::bytea AND s.id = $3::bytea AND ` + formAccess + `
), verdict AS MATERIALIZED (
	SELECT seen.*, CASE
		WHEN seen.revision <> $4::bigint THEN 1
		WHEN seen.current <> $5::bigint THEN 2
		WHEN NOT seen.entered AND EXISTS (
			SELECT FROM formsvc.unique_answers u
			WHERE u.form_id = $1::bytea AND u.digest = $9::bytea AND u.block_id = $13::text AND u.rules = $14::bigint) THEN 3
		ELSE 0
	END AS code
	FROM seen
), stored AS (
	UPDATE formsvc.submissions s SET answers = $6::json, hidden = $7::json, ending = $15::text, form_revision = $5::bigint,
		json_bytes = $8::integer + octet_length(s.metadata::text), revision = s.revision + 1, changed_at = $10::timestamptz
	FROM verdict v
	WHERE v.code = 0 AND s.form_id = $1::bytea AND s.id = $3::bytea
	RETURNING s.*
), recorded AS (
	INSERT INTO formsvc.submission_history (form_id, submission_id, revision, form_revision, answers, hidden, replaced_at, replaced_by, by_respondent)
	SELECT $1::bytea, $3::bytea, v.revision, v.form_revision, v.answers, v.hidden, $10::timestamptz, $11::bytea, $16::boolean FROM verdict v, stored
), dropped AS (
	DELETE FROM formsvc.submission_history h USING stored
	WHERE h.form_id = $1::bytea AND h.submission_id = $3::bytea AND h.revision < stored.revision - $12::bigint
), freed AS (
	DELETE FROM formsvc.unique_answers u USING stored
	WHERE u.submission_id = $3::bytea AND u.form_id = $1::bytea AND (u.digest, u.block_id, u.rules) IS DISTINCT FROM ($9::bytea, $13::text, $14::bigint)
), entered AS (
	INSERT INTO formsvc.unique_answers (form_id, digest, block_id, rules, copy, submission_id)
	SELECT $1::bytea, $9::bytea, $13::text, $14::bigint, 0, $3::bytea FROM verdict v, stored WHERE $9::bytea IS NOT NULL AND NOT v.entered
), ` + strings.NewReplacer("$15", "$13", "$16", "$14").Replace(restartForOtherRules) + `, repeated AS (
	UPDATE formsvc.unique_progress p SET round = DEFAULT FROM stored
	WHERE p.form_id = $1::bytea AND NOT EXISTS (SELECT FROM other)
), counted AS (
	INSERT INTO formsvc.form_removals AS r (form_id, removed) SELECT $1::bytea, 1 FROM stored
	ON CONFLICT (form_id) DO UPDATE SET removed = r.removed + 1
), hooks AS MATERIALIZED (
	SELECT w.id, w.form_details FROM formsvc.webhooks w, stored WHERE $17::bytea IS NOT NULL AND w.form_id = $1::bytea AND w.enabled AND w.updates
), told AS (
	INSERT INTO formsvc.events (id, form_id, submission_id, type, body, refs, details, detailed, of_change)
	SELECT $17::bytea, $1::bytea, $3::bytea, $18::text, $19::bytea, h.refs, CASE WHEN h.detailed IS NOT NULL THEN $20::bytea END, h.detailed, true
	FROM (SELECT count(*) AS refs, array_agg(hooks.id) FILTER (WHERE hooks.form_details) AS detailed FROM hooks HAVING count(*) > 0) h
), queued AS (
	INSERT INTO formsvc.deliveries (webhook_id, event_id, token, size)
	SELECT hooks.id, $17::bytea, 0, octet_length($19::bytea) + COALESCE(octet_length($20::bytea), 0) FROM hooks
), arrived AS (
	INSERT INTO formsvc.arrivals (webhook_id) SELECT hooks.id FROM hooks
)
SELECT v.code, v.revision, v.current, ` + submissionColumns + `
FROM verdict v LEFT JOIN stored s ON true`

const submissionHistory = `
SELECT h.revision, h.form_revision, h.answers, h.hidden, h.replaced_at, h.replaced_by, COALESCE(h.by_respondent, false)
FROM formsvc.forms f
JOIN formsvc.submissions s ON s.form_id = f.id
LEFT JOIN formsvc.submission_history h ON h.form_id = s.form_id AND h.submission_id = s.id
WHERE f.id = $1::bytea AND s.id = $3::bytea AND ` + formAccess + `
ORDER BY h.revision DESC`

// UpdateSubmission implements [storage.SubmissionUpdateStore].
func (s *Store) UpdateSubmission(ctx context.Context, actor storage.Actor, u storage.SubmissionUpdate) (storage.Submission, error) {
	if u.At.IsZero() {
		return storage.Submission{}, storage.ErrInvalidValue
	}
	sub := storage.Submission{FormID: u.FormID}
	var code int
	var revision, current int64
	err := s.db.Change(ctx, s.formLockStatement(u.FormID), conn.NewStatement(updateSubmission,
		u.FormID[:], userArg(actor), u.ID[:], u.IfRevision, u.FormRevision, u.Answers, u.Hidden, len(u.Answers)+len(u.Hidden), u.UniqueAnswer,
		u.At.UTC(), conn.IDArg(u.By), int64(storage.MaxSubmissionStates), u.UniqueField.Block, int64(u.UniqueField.Rules), conn.TextArg(u.Ending), u.ByRespondent,
		conn.IDArg(u.Event.ID), u.Event.Type, conn.ListArg(u.Event.Body), u.Event.Details,
	).ReadRow(func(rows pgx.Rows) error { return scanSubmission(rows, &sub, &code, &revision, &current) }))
	switch {
	case err != nil:
	case code == changeOutdated:
		err = &storage.RevisionError{Current: revision, Kind: "submission"}
	case code == changeFormOutdated:
		err = &storage.RevisionError{Current: current}
	case code == changeDuplicate:
		err = storage.ErrDuplicate
	}
	if err != nil {
		return storage.Submission{}, err
	}
	return sub, nil
}

// SubmissionHistory implements [storage.SubmissionUpdateStore].
func (s *Store) SubmissionHistory(ctx context.Context, actor storage.Actor, form, id storage.ID) ([]storage.SubmissionState, error) {
	states, err := conn.ReadAll(ctx, &s.db, func(h *storage.SubmissionState) []any {
		return []any{&h.Revision, &h.FormRevision, (*[]byte)(&h.Answers), (*[]byte)(&h.Hidden), &h.ReplacedAt, &h.ReplacedBy, &h.ReplacedByRespondent}
	}, submissionHistory, form[:], userArg(actor), id[:])
	switch {
	case err != nil:
		return nil, err
	case len(states) == 0:
		return nil, storage.ErrNotFound
	case states[0].Revision == 0: // the submission has no earlier states
		return nil, nil
	}
	return states, nil
}
