package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// Answers to a form's unique field are stored in unique_answers. Submit adds the row for a new submission while it
// holds the answer's lock. The backfill adds the rows for earlier submissions in batches, ordered by ID, and stores its
// position in unique_progress. The backfill misses no submission, because a change to the field holds the form's
// exclusive lock. All earlier submissions are therefore stored when the backfill starts. Later submissions add their
// own rows or are rejected because of their revision. Each batch also holds the form's exclusive lock, so that none of
// its submissions is deleted in the meantime, and no submission is in progress when the last batch completes the
// backfill. A batch is valid for one pass, and each restart begins a new pass.

// restartProgress restarts the backfill if the form already has a row in unique_progress.
const restartProgress = `ON CONFLICT (form_id) DO UPDATE SET round = DEFAULT, entered_to = '', piece_at = clock_timestamp()`

// restartForOtherRules is part of the WITH list of submit and updateSubmission. While processes of two releases run, a
// submission can use a different rules version than the form. The backfill then restarts with the newer version.
const restartForOtherRules = `other AS (
	UPDATE formsvc.forms f SET unique_rules = GREATEST(f.unique_rules, $16::bigint), duplicates_covered = false
	FROM stored
	WHERE $9::bytea IS NOT NULL AND f.id = $1::bytea AND f.unique_block = $15::text AND f.unique_rules <> $16::bigint
	RETURNING f.id
), anew AS (
	INSERT INTO formsvc.unique_progress (form_id) SELECT other.id FROM other
	` + restartProgress + `
)`

// noSubmissions is the condition that the form f has no submissions and therefore needs no backfill.
const noSubmissions = `(SELECT s.id FROM formsvc.submissions s WHERE s.form_id = f.id LIMIT 1) IS NULL`

// changeUniqueField is part of the WITH list of updateForm, which holds the form's lock. It starts the backfill for a
// new field and ends the backfill for the old one.
const changeUniqueField = `begun AS (
	INSERT INTO formsvc.unique_progress (form_id)
	SELECT c.id FROM changed c, verdict v WHERE v.another_field AND c.unique_block <> '' AND NOT c.duplicates_covered
	` + restartProgress + `
), ended AS (
	DELETE FROM formsvc.unique_progress p USING changed c, verdict v
	WHERE p.form_id = c.id AND v.another_field AND (c.unique_block = '' OR c.duplicates_covered)
)`

// restartForNewerRules restarts the backfill of some forms whose rules version is below $1. It holds each form's lock,
// so no submission with older rules is in progress. It leaves locked forms to the next call.
const restartForNewerRules = `
WITH older AS MATERIALIZED (
	SELECT f.id FROM (
		SELECT f.id FROM formsvc.forms f
		WHERE f.unique_block <> '' AND f.revision > 0 AND f.unique_rules < $1::bigint AND f.purged_at IS NULL
		ORDER BY f.unique_rules
		LIMIT 100
	) f
	WHERE pg_try_advisory_xact_lock(` + lockKeyOfForm + `)
), raised AS (
	UPDATE formsvc.forms f SET unique_rules = $1::bigint, duplicates_covered = false
	WHERE f.id = ANY (ARRAY(SELECT o.id FROM older o))
	RETURNING f.id
)
INSERT INTO formsvc.unique_progress (form_id) SELECT r.id FROM raised r
` + restartProgress

// pendingBackfill reads the next batch of the form that has waited longest. It sums json_bytes, so that it does not
// read answers beyond the batch's limit. It skips answers that are already indexed.
const pendingBackfill = `
WITH next AS MATERIALIZED (
	SELECT p.form_id, p.round, p.entered_to, f.unique_block, f.unique_rules
	FROM formsvc.unique_progress p JOIN formsvc.forms f ON f.id = p.form_id
	WHERE f.unique_rules = $1::bigint AND ` + formNotTrashed + `
	ORDER BY p.piece_at
	LIMIT 1
), piece AS MATERIALIZED (
	SELECT s.id, row_number() OVER by_id AS number, sum(s.json_bytes) OVER by_id AS bytes
	FROM (
		SELECT s.id, s.json_bytes FROM formsvc.submissions s
		WHERE s.form_id = (SELECT n.form_id FROM next n) AND s.id > (SELECT n.entered_to FROM next n)
		ORDER BY s.id
		LIMIT (SELECT $2::bigint)
	) s
	WINDOW by_id AS (ORDER BY s.id ROWS UNBOUNDED PRECEDING)
)
SELECT n.form_id, n.round, n.entered_to, n.unique_block, n.unique_rules,
	(SELECT count(*) FROM piece) = $2::bigint OR EXISTS (SELECT FROM piece p WHERE p.number > 1 AND p.bytes > $3::bigint),
	p.id, CASE WHEN (
		SELECT true FROM formsvc.unique_answers u
		WHERE u.form_id = n.form_id AND u.submission_id = p.id AND u.block_id = n.unique_block AND u.rules = n.unique_rules LIMIT 1
	) IS NULL THEN (SELECT s.answers FROM formsvc.submissions s WHERE s.form_id = n.form_id AND s.id = p.id) END
FROM next n LEFT JOIN piece p ON p.number = 1 OR p.bytes <= $3::bigint
ORDER BY p.id`

// PendingBackfill implements [storage.DuplicateStore].
func (s *Store) PendingBackfill(ctx context.Context, p storage.PendingBackfillParams) (storage.PendingBackfill, error) {
	if err := ctx.Err(); err != nil || p.Max < 1 {
		return storage.PendingBackfill{}, err
	}
	most := int64(1) << 62
	if p.MaxBytes > 0 {
		most = int64(p.MaxBytes)
	}
	var out storage.PendingBackfill
	err := s.db.Write(ctx, func(ctx context.Context) error {
		out = storage.PendingBackfill{}
		more, at := false, &out.Cursor
		var sub storage.SubmissionAnswers
		var values conn.Arena
		row := []any{&at.Form, &at.Pass, &at.From, &at.Field.Block, &at.Field.Rules, &more, &sub.ID, &sub.Answers}
		err := s.db.SendWrite(ctx, conn.NewStatement(restartForNewerRules, int64(p.Rules), s.lockSalt(lockForms)),
			conn.NewStatement(pendingBackfill, int64(p.Rules), int64(p.Max), most).ReadEach(func(rows pgx.Rows) error {
				return conn.EachRow(rows, row, func() {
					if sub.Answers != nil {
						values.CopyBorrowed(&sub.Answers)
						out.Submissions = append(out.Submissions, sub)
					}
				})
			}))
		if more {
			at.To = sub.ID // from the last row
		}
		return err
	})
	return out, err
}

// backfillAnswers indexes the submissions $2 with the digests $3, for the block $4 and the rules $5, unless they are
// already indexed. Then it advances to the next batch. It runs under the form's lock. The first row for an answer has
// copy 0, which later submissions check, and further rows get the next numbers. Rows are looked up one by one with
// an index, because the planner would assume for a join that the table is empty, and compare all rows.
const backfillAnswers = `
WITH place AS MATERIALIZED (
	SELECT p.form_id
	FROM formsvc.unique_progress p JOIN formsvc.forms f ON f.id = p.form_id
	WHERE p.form_id = $1::bytea AND p.round = $6::bigint AND p.entered_to = $7::bytea AND ` + formNotTrashed + `
), given AS MATERIALIZED (
	SELECT g.id, g.digest, row_number() OVER (PARTITION BY g.digest ORDER BY g.id) AS number
	FROM place, unnest((SELECT $2::bytea[]), (SELECT $3::bytea[])) AS g (id, digest)
	WHERE (SELECT true FROM formsvc.submissions s WHERE s.form_id = $1::bytea AND s.id = g.id LIMIT 1)
		AND (
			SELECT true FROM formsvc.unique_answers u
			WHERE u.form_id = $1::bytea AND u.submission_id = g.id AND u.block_id = $4::text AND u.rules = $5::bigint LIMIT 1) IS NULL
), entered AS (
	INSERT INTO formsvc.unique_answers (form_id, digest, block_id, rules, copy, submission_id)
	SELECT $1::bytea, g.digest, $4::text, $5::bigint, g.number + COALESCE((
			SELECT u.copy FROM formsvc.unique_answers u
			WHERE u.form_id = $1::bytea AND u.digest = g.digest AND u.block_id = $4::text AND u.rules = $5::bigint
			ORDER BY u.copy DESC LIMIT 1), -1), g.id
	FROM given g
), moved AS (
	UPDATE formsvc.unique_progress p SET entered_to = $8::bytea, piece_at = clock_timestamp()
	FROM place
	WHERE p.form_id = place.form_id AND $8::bytea IS NOT NULL
), ended AS (
	DELETE FROM formsvc.unique_progress p USING place
	WHERE p.form_id = place.form_id AND $8::bytea IS NULL
)
UPDATE formsvc.forms f SET duplicates_covered = true
FROM place
WHERE f.id = place.form_id AND $8::bytea IS NULL`

// BackfillAnswers implements [storage.DuplicateStore].
func (s *Store) BackfillAnswers(ctx context.Context, at storage.BackfillCursor, digests []storage.AnswerDigest) error {
	ids := conn.ColumnArg(digests, func(e *storage.AnswerDigest) []byte { return e.Submission[:] })
	values := conn.ColumnArg(digests, func(e *storage.AnswerDigest) []byte { return conn.ListArg(e.Digest) })
	from := at.From[:]
	if at.From.IsZero() {
		from = []byte{}
	}
	return s.db.Change(ctx, s.formLockStatement(at.Form),
		conn.NewStatement(backfillAnswers, at.Form[:], ids, values, at.Field.Block, int64(at.Field.Rules), at.Pass, from, conn.IDArg(at.To)))
}
