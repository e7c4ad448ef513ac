package postgres

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// storing is a kind of statement that stores those responses that have no conflict, when
// the statement before it had the lock of their form. It returns their ids; the statement
// submit determines why another response is not stored. It waits for no other transaction
// but a piece of a count: a response with an idempotency key or a unique answer that
// another transaction is about to store is left out, because both take the value's lock.
// So is one whose unique answer is of another field than the form's gate has, and one whose
// half response somebody holds.
//
// A statement has only what its responses need, because each part of it costs even
// when it has nothing to do.
type storing struct {
	one     bool // the arguments are the values of one response, not arrays
	several bool // the responses are to several forms
	checked bool // all are of one form, which may have a limit, and may have unique answers
	leased  bool // some deliveries are leased
	partial bool // some were begun with a half response
}

// responseColumns are the arguments. The rest come in checked statements only, and
// partialColumn after all in those with half responses.
var (
	responseColumns = []responseColumn{
		column("form_id", "bytea", formOf),
		column("id", "bytea", func(r *responseRow) []byte { return r.n.Submission.ID[:] }),
		column("revision", "bigint", func(r *responseRow) int64 { return r.n.FormRevision }),
		column("submitted_at", "timestamptz", func(r *responseRow) time.Time { return r.n.Submission.SubmittedAt.UTC() }),
		column("completion_time", "float8", func(r *responseRow) float64 { return r.n.Submission.CompletionTime }),
		column("answers", "json", func(r *responseRow) json.RawMessage { return r.n.Submission.Answers }),
		column("metadata", "json", func(r *responseRow) json.RawMessage { return r.n.Submission.Metadata }),
		column("hidden", "json", func(r *responseRow) json.RawMessage { return r.n.Submission.Hidden }),
		column("json_bytes", "integer", func(r *responseRow) int { return jsonBytes(&r.n.Submission) }),
		column("idempotency_key", "text", func(r *responseRow) string { return r.n.IdempotencyKey }),
		column("key_lock", "bigint", func(r *responseRow) int64 { return r.keyLock }),
		column("event_id", "bytea", func(r *responseRow) []byte { return conn.IDArg(r.n.Event.ID) }),
		column("event_type", "text", func(r *responseRow) string { return r.n.Event.Type }),
		column("event_body", "bytea", func(r *responseRow) []byte { return conn.ListArg(r.n.Event.Body) }),
	}
	checkedColumns = append(responseColumns[:len(responseColumns):len(responseColumns)],
		column("unique_answer", "bytea", func(r *responseRow) []byte { return r.n.UniqueAnswer }),
		column("answer_lock", "bigint", func(r *responseRow) int64 { return r.answerLock }),
		column("unique_block", "text", func(r *responseRow) string { return r.n.UniqueField.Block }),
		column("unique_rules", "bigint", func(r *responseRow) int64 { return int64(r.n.UniqueField.Rules) }))
	partialColumn = column("partial", "bytea", func(r *responseRow) []byte { return tokenArg(&r.n.Partial) })
)

type responseColumn struct {
	name, sqlType string
	one           func(*responseRow) any  // the value of a response
	all           func([]responseRow) any // an array with the value of each
}

func formOf(r *responseRow) []byte { return r.n.Submission.FormID[:] }

func column[T any](name, sqlType string, value func(*responseRow) T) responseColumn {
	return responseColumn{
		name, sqlType,
		func(r *responseRow) any { return value(r) },
		func(rows []responseRow) any { return conn.Column(rows, value) },
	}
}

func (how storing) columns() []responseColumn {
	columns := responseColumns
	if how.checked {
		columns = checkedColumns
	}
	if how.partial {
		columns = append(columns[:len(columns):len(columns)], partialColumn)
	}
	return columns
}

// storingTexts are the statements, by the work that they do.
var storingTexts = func() map[storing]string {
	all := map[storing]string{}
	for i := range 32 {
		how := storing{one: i&1 != 0, several: i&2 != 0, checked: i&4 != 0, leased: i&8 != 0, partial: i&16 != 0}
		all[how] = how.build()
	}
	return all
}()

func (how storing) text() string { return storingTexts[how] }

// tryForms takes the locks of those forms of the responses that nobody holds or waits for,
// and leaves these forms to the statement after it, in a setting that ends with the
// transaction. It is a statement of its own because the snapshot of the statement that
// stores must not be older than the locks. The name of the setting is not rewritten for
// another schema: no dot follows "formsvc".
const tryForms = `
SELECT set_config('formsvc_responses.locked', COALESCE(array_agg(f.id), '{}')::text, true), ` + conn.LockTimeoutSet + `
FROM unnest($1::bytea[], $2::bigint[]) AS f (id, lock) WHERE pg_try_advisory_xact_lock_shared(f.lock)`

// tryForm is tryForms for one form, which leaves whether the lock was had: a third of what
// the arrays cost.
const tryForm = `
SELECT set_config('formsvc_responses.locked', pg_try_advisory_xact_lock_shared($1::bigint)::text, true), ` + conn.LockTimeoutSet

// Whether a value is there is a scalar subquery: with EXISTS the planner may hash all
// responses of the form instead.
func (how storing) build() string {
	table, _, _ := how.hooks()
	return `
WITH form AS MATERIALIZED (
	SELECT f.id, f.revision, ARRAY(SELECT w.id FROM formsvc.webhooks w WHERE w.form_id = f.id AND w.enabled) AS hooks` + when(how.checked, `,
		f.unique_block, f.unique_rules, f.response_limit, f.counted,
		f.response_limit - COALESCE((SELECT l.submission_count FROM formsvc.form_limits l WHERE l.form_id = f.id), 0) AS room`) + `
	FROM formsvc.forms f
	WHERE ` + how.forms() + ` AND ` + formThere + ` AND f.status = 'published'
` + table + `), given AS MATERIALIZED (
	SELECT g.*, CASE WHEN g.event_id IS NOT NULL THEN form.hooks ELSE '{}' END AS hooks
	FROM form JOIN (` + how.source() + `) g ON g.form_id = form.id
	WHERE g.revision = form.revision
		AND (g.key_lock = 0 OR pg_try_advisory_xact_lock(g.key_lock) AND (
			SELECT true FROM formsvc.submissions s WHERE s.form_id = form.id AND s.idempotency_key = g.idempotency_key) IS NULL)` + when(how.checked, `
		AND (form.response_limit = 0 OR g.place <= form.room)
		AND (g.answer_lock = 0 OR g.unique_block = form.unique_block AND g.unique_rules = form.unique_rules
			AND pg_try_advisory_xact_lock(g.answer_lock) AND (
				SELECT true FROM formsvc.unique_answers u
				WHERE u.form_id = form.id AND u.digest = g.unique_answer AND u.block_id = g.unique_block AND u.rules = g.unique_rules LIMIT 1) IS NULL)`) + when(how.partial, `
		AND (g.partial IS NULL OR (SELECT true FROM formsvc.partials p WHERE `+partialOfResponse+` FOR NO KEY UPDATE SKIP LOCKED) IS NOT NULL
			OR (SELECT true FROM formsvc.partials p WHERE `+partialOfResponse+`) IS NULL)`) + `
), stored AS (
	INSERT INTO formsvc.submissions (form_id, id, submitted_at, completion_time,
		answers, metadata, hidden, form_revision, json_bytes, idempotency_key, event_id)
	SELECT g.form_id, g.id, g.submitted_at, g.completion_time,
		g.answers, g.metadata, g.hidden, g.revision, g.json_bytes, NULLIF(g.idempotency_key, ''),
		CASE WHEN g.hooks <> '{}' THEN g.event_id END
	FROM given g` + when(how.checked, `
), entered AS (
	INSERT INTO formsvc.unique_answers (form_id, digest, block_id, rules, copy, submission_id)
	SELECT g.form_id, g.unique_answer, g.unique_block, g.unique_rules, 0, g.id FROM given g WHERE g.answer_lock <> 0
), taken AS (
	UPDATE formsvc.form_limits l SET submission_count = l.submission_count + (SELECT count(*) FROM unnest(responses.ids) AS response (id) WHERE `+isCounted+`)
	FROM form, (SELECT array_agg(g.id) AS ids FROM given g) responses
	WHERE l.form_id = form.id AND form.counted`) + when(how.partial, `
), emptied AS (
	UPDATE formsvc.partials p SET `+partialEmptied+` FROM given g
	WHERE `+partialOfResponse) + `
), counted AS (
	INSERT INTO formsvc.funnel_log (form_id, at, views, starts, submissions)
	` + how.counts() + `
), told AS (
	INSERT INTO formsvc.events (id, form_id, submission_id, type, body, refs)
	SELECT g.event_id, g.form_id, g.id, g.event_type, g.event_body, cardinality(g.hooks) FROM given g WHERE g.hooks <> '{}'
)` + how.deliveries()
}

// partialOfResponse is the condition that p is the half response that the response g was begun
// with, and partialEmptied what becomes of it. No index but that of the token serves the
// conditions behind IS TRUE.
const (
	partialOfResponse = `p.token = g.partial AND (p.form_id = g.form_id AND p.open AND p.ends_at > g.submitted_at) IS TRUE`
	partialEmptied    = `submission_id = g.id, answers = NULL, hidden = NULL, metadata = NULL, block = '', seconds = 0`
)

// when is a part of a text that only some need.
func when(needed bool, text string) string {
	if needed {
		return text
	}
	return ""
}

// forms is the condition that f is a form whose responses the statement stores: one whose
// lock tryForms had and that does not count its responses, or the form of a checked
// statement, before which the lock was waited for. The planner does not look into the
// subquery.
func (how storing) forms() string {
	if how.several {
		return "f.id = ANY ((SELECT current_setting('formsvc_responses.locked')::bytea[])::bytea[]) AND NOT f.counted"
	}
	form := "f.id = ($1::bytea[])[1]"
	if how.one {
		form = "f.id = $1::bytea"
	}
	if how.checked {
		return form
	}
	return form + " AND current_setting('formsvc_responses.locked')::boolean AND NOT f.counted"
}

// hooks are the rows of each response with each webhook of its form, and each webhook once.
// Webhooks of one form are a table: an array is taken apart anew for each response.
func (how storing) hooks() (table, rows, each string) {
	if how.several {
		rows = "given g CROSS JOIN unnest(g.hooks) AS hook (id)"
		return "", rows, "SELECT DISTINCT hook.id FROM " + rows
	}
	table = "), hooks AS MATERIALIZED (SELECT unnest(form.hooks) AS id FROM form\n"
	return table, "hooks hook JOIN given g ON g.hooks <> '{}'", "SELECT hook.id FROM hooks hook WHERE EXISTS (SELECT FROM given g WHERE g.hooks <> '{}')"
}

// source is the table of the responses. An array's length is known to a plan that is
// made for its values alone, and such a plan, made anew each time, would look cheaper
// than the one for all: the planner does not look into a subquery.
func (how storing) source() string {
	if how.one {
		return "SELECT " + how.each(func(place string, c responseColumn) string {
			return place + "::" + c.sqlType + " AS " + c.name
		}) + ", 1 AS place"
	}
	return "SELECT * FROM unnest(" + how.each(func(place string, c responseColumn) string {
		return "(SELECT " + place + "::" + c.sqlType + "[])"
	}) + ") WITH ORDINALITY AS r (" + how.each(func(_ string, c responseColumn) string {
		return c.name
	}) + ", place)"
}

func (how storing) each(column func(place string, c responseColumn) string) string {
	var all []string
	for i, c := range how.columns() {
		all = append(all, column("$"+strconv.Itoa(i+1), c))
	}
	return strings.Join(all, ", ")
}

// counts are the rows of the funnel's log.
func (how storing) counts() string {
	if how.one {
		return "SELECT g.form_id, g.submitted_at, 0, 0, 1 FROM given g"
	}
	return "SELECT g.form_id, min(g.submitted_at), 0, 0, count(*) FROM given g GROUP BY g.form_id, date_trunc('minute', g.submitted_at, 'UTC')"
}

// deliveries is the end of the statement. All deliveries are left to be claimed, or those
// that the last three arguments grant are leased, when their webhook has no turn now and no
// pause. Then the stored responses come first, the leased deliveries next, and the state of
// the webhooks last.
func (how storing) deliveries() string {
	_, rows, each := how.hooks()
	if !how.leased {
		return `, queued AS (
	INSERT INTO formsvc.deliveries (webhook_id, event_id, token, size)
	SELECT hook.id, g.event_id, 0, octet_length(g.event_body) FROM ` + rows + `
), arrived AS (
	INSERT INTO formsvc.arrivals (webhook_id) ` + each + `
)
SELECT g.id, g.hooks <> '{}' FROM given g`
	}
	var granted [3]string
	for i := range granted {
		granted[i] = "$" + strconv.Itoa(len(how.columns())+1+i)
	}
	return `, granted AS MATERIALIZED (
	SELECT h.*, statement_timestamp() + h.lease * interval '1 microsecond' AS until, x.generation
	FROM (
		SELECT h.webhook_id, array_agg(h.event_id) AS events, max(h.lease) AS lease
		FROM (
			SELECT * FROM unnest(` + granted[0] + `::bytea[], ` + granted[1] + `::bytea[], ` + granted[2] + `::bigint[]) AS h (webhook_id, event_id, lease)
			LIMIT (SELECT cardinality(` + granted[0] + `::bytea[]))
		) h
		GROUP BY h.webhook_id
	) h
	CROSS JOIN LATERAL (
		SELECT x.generation FROM formsvc.destinations x
		WHERE x.webhook_id = h.webhook_id AND (x.next_at IS NULL OR x.next_at > statement_timestamp())
			AND (x.paused_until IS NULL OR x.paused_until <= statement_timestamp())
		LIMIT 1) x
), queued AS (
	INSERT INTO formsvc.deliveries AS d (webhook_id, event_id, due_at, leased_until, token, size, generation)
	SELECT hook.id, g.event_id, h.until, h.until,
		CASE WHEN h.until IS NULL THEN 0 ELSE nextval('formsvc.delivery_tokens') END, octet_length(g.event_body), COALESCE(h.generation, 0)
	FROM ` + rows + ` LEFT JOIN granted h ON h.webhook_id = hook.id AND g.event_id = ANY (h.events)
	RETURNING d.webhook_id, d.event_id, d.token, d.attempt
), arrived AS (
	INSERT INTO formsvc.arrivals (webhook_id) SELECT DISTINCT q.webhook_id FROM queued q WHERE q.token = 0
)
SELECT g.id, EXISTS (SELECT FROM queued q WHERE q.token = 0), NULL::bytea, NULL::bigint, NULL::integer,
	NULL::bytea, NULL::bytea, NULL::bytea, NULL, NULL, NULL::bytea, NULL::bytea,
	NULL::boolean, NULL::integer, NULL::integer, NULL::bigint, NULL::bigint, NULL::bigint, NULL, NULL::integer
FROM given g
UNION ALL
SELECT NULL, false, q.event_id, q.token, q.attempt, q.webhook_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM queued q WHERE q.token <> 0
UNION ALL
SELECT NULL, false, NULL, NULL, NULL, ` + knownColumns + `
FROM granted h
CROSS JOIN LATERAL (SELECT * FROM formsvc.webhooks w WHERE w.id = h.webhook_id LIMIT 1) w
CROSS JOIN LATERAL (SELECT * FROM formsvc.destinations x WHERE x.webhook_id = h.webhook_id LIMIT 1) x`
}

// responseRow is a response of a group that the statement gets.
type responseRow struct {
	n                   *storage.NewSubmission
	keyLock, answerLock int64 // 0: none
}

// rowsOf returns the responses of a group without those that repeat an id, an
// idempotency key or a unique answer of the group: the statement would not see the
// first response. places has their places in the group, by id.
func (s *Store) rowsOf(group []storage.NewSubmission) (rows []responseRow, places map[storage.ID]int) {
	rows, places = make([]responseRow, 0, len(group)), make(map[storage.ID]int, len(group))
	values := map[int64]bool{}
	for i := range group {
		n := &group[i]
		r := responseRow{n: n}
		r.keyLock, r.answerLock = s.valueLocks(n)
		if _, again := places[n.Submission.ID]; again || values[r.keyLock] || values[r.answerLock] {
			continue
		}
		places[n.Submission.ID] = i
		values[r.keyLock], values[r.answerLock] = r.keyLock != 0, r.answerLock != 0
		rows = append(rows, r)
	}
	return rows, places
}

func (how storing) args(rows []responseRow) []any {
	args := make([]any, 0, len(checkedColumns)+4)
	for _, c := range how.columns() {
		if how.one {
			args = append(args, c.one(&rows[0]))
		} else {
			args = append(args, c.all(rows))
		}
	}
	return args
}
