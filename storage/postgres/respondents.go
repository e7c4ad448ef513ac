package postgres

import (
	"context"

	"github.com/formsvc/formsvc/storage"
)

// RespondentSubmissions implements [storage.RespondentStore].
func (s *Store) RespondentSubmissions(ctx context.Context, q storage.SubmissionsParams, each func(*storage.Submission) error) (more bool, err error) {
	if q.Respondent == "" || q.Page.Limit < 1 {
		return false, ctx.Err()
	}
	return s.listSubmissions(ctx, storage.AsHost(), storage.ID{}, q, &respondentPage, each)
}

// respondentSubmissions selects a respondent's submissions to one form that is not purged.
const respondentSubmissions = `
WITH form AS MATERIALIZED (
	SELECT s.form_id AS id FROM formsvc.submissions s
	WHERE s.respondent = $1::text AND (SELECT true FROM formsvc.forms f WHERE f.id = s.form_id AND ` + notPurged + `)
	LIMIT 1
)
SELECT s.form_id, s.id, CASE WHEN $3::boolean THEN s.answers END, s.revision
FROM formsvc.submissions s
WHERE s.form_id = (SELECT form.id FROM form) AND s.respondent = $1::text AND s.form_revision > 0
LIMIT (SELECT $2::bigint)`

// deleteRespondentPartials locks the rows in order, so that concurrent calls do not deadlock.
const deleteRespondentPartials = `
DELETE FROM formsvc.partials p WHERE p.token = ANY (ARRAY(
	SELECT o.token FROM formsvc.partials o
	WHERE o.respondent = $1::text
	ORDER BY o.token
	LIMIT (SELECT $2::bigint)
	FOR UPDATE))`

// EraseRespondent implements [storage.RespondentStore]. Each call erases submissions to one form.
func (s *Store) EraseRespondent(ctx context.Context, p storage.EraseRespondentParams) (out storage.ErasedRespondent, err error) {
	if p.Respondent == "" || p.Max < 1 {
		return out, ctx.Err()
	}
	if out.Partials, err = s.db.ChangeRows(ctx, deleteRespondentPartials, p.Respondent, int64(p.Max)); err != nil {
		return out, err
	}
	forms, ids, err := s.callBeforeDelete(ctx, p.BeforeDelete, p.Max, respondentSubmissions, p.Respondent)
	if err == nil && len(ids) > 0 {
		out.Submissions, err = s.removeSubmissions(ctx, removalByHost, forms[0], nil, ids, false)
	}
	out.More = err == nil && (len(ids) > 0 || out.Partials == p.Max)
	return out, err
}
