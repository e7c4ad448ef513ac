package postgres

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// storing is a kind of statement that stores those responses of one form that have no
// conflict. It returns their ids; the statement submit determines why another response
// is not stored. It waits for no other transaction but a piece of a count: a response
// with an idempotency key or a unique answer that another transaction is about to store
// is left out, because both take the value's lock. So is one whose unique answer is of
// another field than the form's gate has.
//
// A statement has only what its responses need, because each part of it costs even
// when it has nothing to do.
type storing struct {
	one     bool // the arguments are the values of one response, not arrays
	checked bool // some responses have a unique answer or no event, or the form counts them
	leased  bool // some deliveries are leased
}

// responseColumns are the arguments from $2 on. The rest come in checked statements
// only.
var (
	responseColumns = []responseColumn{
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
)

type responseColumn struct {
	name, sqlType string
	one           func(*responseRow) any  // the value of a response
	all           func([]responseRow) any // an array with the value of each
}

func column[T any](name, sqlType string, value func(*responseRow) T) responseColumn {
	return responseColumn{
		name, sqlType,
		func(r *responseRow) any { return value(r) },
		func(rows []responseRow) any { return conn.Column(rows, value) },
	}
}

func (how storing) columns() []responseColumn {
	if how.checked {
		return checkedColumns
	}
	return responseColumns
}

// storingTexts are the statements, by the work that they do.
var storingTexts = func() map[storing]string {
	all := map[storing]string{}
	for i := range 8 {
		how := storing{i&1 != 0, i&2 != 0, i&4 != 0}
		all[how] = how.build()
	}
	return all
}()

func (how storing) text() string { return storingTexts[how] }

// Whether a value is there is a scalar subquery: with EXISTS the planner may hash all
// responses of the form instead.
func (how storing) build() string {
	uncounted := " AND NOT f.counted"
	if how.checked {
		uncounted = ""
	}
	return `
WITH form AS (
	SELECT f.revision` + how.ifChecked(`, f.unique_block, f.unique_rules, f.response_limit, f.counted,
		f.response_limit - COALESCE((SELECT l.submission_count FROM formsvc.form_limits l WHERE l.form_id = f.id), 0) AS room`) + `
	FROM formsvc.forms f
	WHERE f.id = $1::bytea AND ` + formThere + ` AND f.status = 'published'` + uncounted + `
), hooks AS MATERIALIZED (
	SELECT w.id FROM formsvc.webhooks w WHERE w.form_id = $1::bytea AND w.enabled
), given AS MATERIALIZED (
	SELECT g.*, (SELECT count(*) FROM hooks) AS refs
	FROM form, (` + how.source() + `) g
	WHERE g.revision = form.revision
		AND (g.key_lock = 0 OR pg_try_advisory_xact_lock(g.key_lock) AND (
			SELECT true FROM formsvc.submissions s WHERE s.form_id = $1::bytea AND s.idempotency_key = g.idempotency_key) IS NULL)` + how.ifChecked(`
		AND (form.response_limit = 0 OR g.place <= form.room)
		AND (g.answer_lock = 0 OR g.unique_block = form.unique_block AND g.unique_rules = form.unique_rules
			AND pg_try_advisory_xact_lock(g.answer_lock) AND (
				SELECT true FROM formsvc.unique_answers u
				WHERE u.form_id = $1::bytea AND u.digest = g.unique_answer AND u.block_id = g.unique_block AND u.rules = g.unique_rules LIMIT 1) IS NULL)`) + `
), stored AS (
	INSERT INTO formsvc.submissions (form_id, id, submitted_at, completion_time,
		answers, metadata, hidden, form_revision, json_bytes, idempotency_key, event_id)
	SELECT $1::bytea, g.id, g.submitted_at, g.completion_time,
		g.answers, g.metadata, g.hidden, g.revision, g.json_bytes, NULLIF(g.idempotency_key, ''),
		CASE WHEN g.refs > 0 THEN g.event_id END
	FROM given g` + how.ifChecked(`
), entered AS (
	INSERT INTO formsvc.unique_answers (form_id, digest, block_id, rules, copy, submission_id)
	SELECT $1::bytea, g.unique_answer, g.unique_block, g.unique_rules, 0, g.id FROM given g WHERE g.answer_lock <> 0
), taken AS (
	UPDATE formsvc.form_limits l SET submission_count = l.submission_count + (SELECT count(*) FROM unnest(responses.ids) AS response (id) WHERE `+isCounted+`)
	FROM form, (SELECT array_agg(g.id) AS ids FROM given g) responses
	WHERE l.form_id = $1::bytea AND form.counted`) + `
), counted AS (
	INSERT INTO formsvc.funnel_log (form_id, at, views, starts, submissions)
	` + how.counts() + `
), told AS (
	INSERT INTO formsvc.events (id, form_id, submission_id, type, body, refs)
	SELECT g.event_id, $1::bytea, g.id, g.event_type, g.event_body, g.refs FROM given g WHERE g.refs > 0` + how.ifChecked(" AND g.event_id IS NOT NULL") + `
)` + how.deliveries()
}

func (how storing) ifChecked(text string) string {
	if how.checked {
		return text
	}
	return ""
}

// source is the table of the responses. An array's length is known to a plan that is
// made for its values alone, and such a plan, made anew each time, would look cheaper
// than the one for all: a limit that the planner does not know makes them equal.
func (how storing) source() string {
	if how.one {
		return "SELECT " + how.each(func(place string, c responseColumn) string {
			return place + "::" + c.sqlType + " AS " + c.name
		}) + ", 1 AS place"
	}
	return "SELECT * FROM unnest(" + how.each(func(place string, c responseColumn) string {
		return place + "::" + c.sqlType + "[]"
	}) + ") WITH ORDINALITY AS r (" + how.each(func(_ string, c responseColumn) string {
		return c.name
	}) + ", place) LIMIT (SELECT cardinality($2::bytea[]))"
}

func (how storing) each(column func(place string, c responseColumn) string) string {
	var all []string
	for i, c := range how.columns() {
		all = append(all, column("$"+strconv.Itoa(i+2), c))
	}
	return strings.Join(all, ", ")
}

// counts are the rows of the funnel's log.
func (how storing) counts() string {
	if how.one {
		return "SELECT $1::bytea, g.submitted_at, 0, 0, 1 FROM given g"
	}
	return "SELECT $1::bytea, g.submitted_at, 0, 0, count(*) FROM given g GROUP BY g.submitted_at"
}

// deliveries is the end of the statement. All deliveries are left to be claimed, or those
// that the last three arguments grant are leased, when their webhook has no turn now and no
// pause. Then the stored responses come first, the leased deliveries next, and the state of
// the webhooks last.
func (how storing) deliveries() string {
	if !how.leased {
		return `, queued AS (
	INSERT INTO formsvc.deliveries (webhook_id, event_id, token, size)
	SELECT hooks.id, g.event_id, 0, octet_length(g.event_body)
	FROM hooks, given g` + how.ifChecked(" WHERE g.event_id IS NOT NULL") + `
), arrived AS (
	INSERT INTO formsvc.arrivals (webhook_id)
	SELECT hooks.id FROM hooks WHERE EXISTS (SELECT FROM given g` + how.ifChecked(" WHERE g.event_id IS NOT NULL") + `)
)
SELECT g.id, g.refs > 0 FROM given g`
	}
	var granted [3]string
	for i := range granted {
		granted[i] = "$" + strconv.Itoa(len(how.columns())+2+i)
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
	SELECT hooks.id, g.event_id, h.until, h.until,
		CASE WHEN h.until IS NULL THEN 0 ELSE nextval('formsvc.delivery_tokens') END, octet_length(g.event_body), COALESCE(h.generation, 0)
	FROM hooks CROSS JOIN given g LEFT JOIN granted h ON h.webhook_id = hooks.id AND g.event_id = ANY (h.events)` + how.ifChecked(`
	WHERE g.event_id IS NOT NULL`) + `
	RETURNING d.webhook_id, d.event_id, d.token, d.attempt
), arrived AS (
	INSERT INTO formsvc.arrivals (webhook_id) SELECT DISTINCT q.webhook_id FROM queued q WHERE q.token = 0
)
SELECT g.id, EXISTS (SELECT FROM queued q WHERE q.token = 0), NULL::bytea, NULL::bigint, NULL::integer,
	NULL::bytea, NULL::bytea, NULL, NULL, NULL::bytea, NULL::bytea, NULL::bytea,
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
// first response. places has their places in the group, by id. checked says whether any
// response needs a checked statement.
func (s *Store) rowsOf(group []storage.NewSubmission) (rows []responseRow, places map[storage.ID]int, checked bool) {
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
		for _, lock := range []int64{r.keyLock, r.answerLock} {
			if lock != 0 {
				values[lock] = true
			}
		}
		checked = checked || r.answerLock != 0 || n.Event.ID.IsZero()
		rows = append(rows, r)
	}
	return rows, places, checked
}

// args are the arguments for a form and its responses.
func (how storing) args(form []byte, rows []responseRow) []any {
	args := append(make([]any, 0, 1+len(checkedColumns)+3), form)
	for _, c := range how.columns() {
		if how.one {
			args = append(args, c.one(&rows[0]))
		} else {
			args = append(args, c.all(rows))
		}
	}
	return args
}
