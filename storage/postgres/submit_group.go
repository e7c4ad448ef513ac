package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/storage"
)

// storing is the beginning of two statements that store those responses of one form
// that have no conflict. They return the ids; why another response is not stored is
// determined by the statement submit. They wait for no other transaction but a piece of
// a count: a response with an idempotency key or a unique answer that another
// transaction is about to store is left out, because both take the value's lock.
const storing = `
WITH form AS (
	SELECT f.response_limit - COALESCE((SELECT l.submission_count FROM formsvc.form_limits l WHERE l.form_id = f.id), 0) AS room,
		f.response_limit, f.revision, f.counted
	FROM formsvc.forms f
	WHERE f.id = $1::bytea AND ` + formThere + ` AND f.status = 'published'
), hooks AS MATERIALIZED (
	SELECT w.id FROM formsvc.webhooks w WHERE w.form_id = $1::bytea AND w.enabled
), given AS MATERIALIZED (
	SELECT g.*
	FROM form, unnest($2::bytea[], $3::bigint[], $4::timestamptz[], $5::float8[], $6::json[], $7::json[], $8::json[],
			$9::text[], $10::bytea[], $11::bigint[], $12::bigint[], $13::bytea[], $14::text[], $15::bytea[], $16::integer[]) WITH ORDINALITY
		AS g (id, revision, submitted_at, completion_time, answers, metadata, hidden,
			idempotency_key, unique_answer, key_lock, answer_lock, event_id, event_type, event_body, json_bytes, place)
	WHERE g.revision = form.revision
		AND (form.response_limit = 0 OR g.place <= form.room)
		AND (g.key_lock = 0 OR pg_try_advisory_xact_lock(g.key_lock))
		AND (g.answer_lock = 0 OR pg_try_advisory_xact_lock(g.answer_lock))
), stored AS (
	INSERT INTO formsvc.submissions (form_id, id, submitted_at, completion_time,
		answers, metadata, hidden, form_revision, json_bytes, idempotency_key, unique_answer, event_id)
	SELECT $1::bytea, g.id, g.submitted_at, g.completion_time,
		g.answers, g.metadata, g.hidden, g.revision, g.json_bytes, NULLIF(g.idempotency_key, ''), g.unique_answer,
		CASE WHEN EXISTS (SELECT FROM hooks) THEN g.event_id END
	FROM given g
	ON CONFLICT DO NOTHING
	RETURNING id, submitted_at, event_id
), taken AS (
	UPDATE formsvc.form_limits l SET submission_count = l.submission_count + (SELECT count(*) FROM unnest(responses.ids) AS response (id) WHERE ` + isCounted + `)
	FROM form, (SELECT array_agg(s.id) AS ids FROM stored s) responses
	WHERE l.form_id = $1::bytea AND form.counted
), counted AS (
	INSERT INTO formsvc.funnel_log (form_id, at, views, starts, submissions)
	SELECT $1::bytea, s.submitted_at, 0, 0, count(*) FROM stored s GROUP BY s.submitted_at
), told AS (
	INSERT INTO formsvc.events (id, form_id, submission_id, type, body, refs)
	SELECT g.event_id, $1::bytea, g.id, g.event_type, g.event_body, (SELECT count(*) FROM hooks)
	FROM given g JOIN stored s ON s.id = g.id AND s.event_id = g.event_id
), `

// storeResponses leaves all deliveries to be claimed.
const storeResponses = storing + `queued AS (
	INSERT INTO formsvc.deliveries (webhook_id, event_id, token, size)
	SELECT hooks.id, g.event_id, 0, octet_length(g.event_body)
	FROM hooks, given g JOIN stored s ON s.id = g.id AND s.event_id = g.event_id
	RETURNING 1
)` + storedRows

// storedRows have a place for the columns of leased deliveries.
const storedRows = `
SELECT s.id, EXISTS (SELECT FROM queued), NULL::bytea, NULL::bigint, NULL::integer, NULL::integer,
	NULL::bytea, NULL::bytea, NULL, NULL, NULL::bytea, NULL::bytea, NULL::boolean, NULL::integer, NULL::integer, NULL::timestamptz
FROM stored s`

// storeAndLease leases the deliveries that $17 to $19 grant, of webhooks with an empty
// lane and without a pause, and returns a row for each of them. It is a statement of
// its own because reading the lanes makes a response that comes alone dearer.
const storeAndLease = storing + `granted AS MATERIALIZED (
	SELECT h.webhook_id, h.event_id, h.lease
	FROM unnest($17::bytea[], $18::bytea[], $19::bigint[]) AS h (webhook_id, event_id, lease)
	CROSS JOIN LATERAL (
		SELECT FROM formsvc.destinations x
		WHERE x.webhook_id = h.webhook_id AND x.next_at IS NULL
			AND (x.paused_until IS NULL OR x.paused_until <= statement_timestamp())
		LIMIT 1) x
	WHERE h.webhook_id IN (SELECT hooks.id FROM hooks)
), queued AS (
	INSERT INTO formsvc.deliveries (webhook_id, event_id, token, size)
	SELECT hooks.id, g.event_id, 0, octet_length(g.event_body)
	FROM hooks, given g JOIN stored s ON s.id = g.id AND s.event_id = g.event_id
	WHERE (hooks.id, g.event_id) NOT IN (SELECT h.webhook_id, h.event_id FROM granted h)
	RETURNING 1
), leased AS (
	INSERT INTO formsvc.deliveries AS d (webhook_id, event_id, ready_at, size)
	SELECT h.webhook_id, g.event_id, statement_timestamp() + h.lease * interval '1 microsecond', octet_length(g.event_body)
	FROM granted h JOIN given g ON g.event_id = h.event_id JOIN stored s ON s.id = g.id AND s.event_id = g.event_id
	RETURNING d.webhook_id, d.event_id, d.token, d.attempt, d.size
), known AS (
	SELECT ` + knownOfLane + `
	FROM (SELECT DISTINCT l.webhook_id FROM leased l) l
	CROSS JOIN LATERAL (SELECT * FROM formsvc.webhooks w WHERE w.id = l.webhook_id LIMIT 1) w
	CROSS JOIN LATERAL (SELECT * FROM formsvc.destinations x WHERE x.webhook_id = l.webhook_id LIMIT 1) x
)` + storedRows + `
UNION ALL
SELECT NULL, false, ` + leasedColumns

// submits are the responses that a process stores at one time, by form.
type submits struct {
	// together stores what nothing speaks against, many responses at once. alone
	// finds out about the others, one after another, so that a form whose lock is
	// held keeps few connections.
	together groups[storage.ID, storage.NewSubmission, submitted]
	alone    groups[storage.ID, storage.NewSubmission, submitted]
}

const (
	// submitWriters is how many transactions of a form store responses at one time.
	submitWriters = 2
	// submitRows and submitBytes bound one of them.
	submitRows  = 128
	submitBytes = 1 << 20
)

func (s *Store) newSubmits(pool acquirer) *submits {
	var all submits
	all.together.writers, all.together.items, all.together.bytes = submitWriters, submitRows, submitBytes
	all.together.write = func(ctx context.Context, form storage.ID, take func() []storage.NewSubmission) []submitted {
		return s.withConnection(ctx, pool, take, func(ctx context.Context, on *Store, taken []storage.NewSubmission) ([]submitted, error) {
			return on.submitTogether(ctx, form, taken)
		})
	}
	all.alone.writers, all.alone.items = 1, 1
	all.alone.write = func(ctx context.Context, _ storage.ID, take func() []storage.NewSubmission) []submitted {
		return s.withConnection(ctx, pool, take, func(ctx context.Context, on *Store, taken []storage.NewSubmission) ([]submitted, error) {
			out, err := on.submitAlone(ctx, taken[0])
			return []submitted{out}, err
		})
	}
	return &all
}

// acquirer is a pool of connections.
type acquirer interface {
	Acquire(ctx context.Context) (*pgxpool.Conn, error)
}

// withConnection takes responses as soon as there is a connection, and does
// something with them on it, again when that fails for a passing reason.
func (s *Store) withConnection(ctx context.Context, pool acquirer, take func() []storage.NewSubmission,
	do func(context.Context, *Store, []storage.NewSubmission) ([]submitted, error),
) []submitted {
	var taken []storage.NewSubmission
	var out []submitted
	err := s.write(ctx, func(ctx context.Context) error {
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		if taken == nil {
			taken = take()
		}
		if len(taken) > 0 {
			out, err = do(ctx, s.On(conn), taken)
		}
		return err
	})
	if err == nil {
		return out
	}
	if taken == nil {
		taken = take()
	}
	out = make([]submitted, len(taken))
	for i := range out {
		out[i].err = err
	}
	return out
}

// submitted is what became of a response: it is stored, it replays an earlier one,
// an error says why neither, or none of these is known.
type submitted struct {
	stored, replayed bool
	submission       storage.Submission // when replayed
	err              error
}

func (r submitted) known() bool { return r.stored || r.replayed || r.err != nil }

// submitTogether stores those responses of a form that have no conflict. When one of
// them makes the statement fail, nothing is known of any.
func (s *Store) submitTogether(ctx context.Context, form storage.ID, taken []storage.NewSubmission) ([]submitted, error) {
	b := &pgx.Batch{}
	s.queue(b, lockForSubmit, form[:], s.lockKey(lockForms, form))
	hands := reserve(form, taken)
	if args := s.responseArgs(form, taken); len(hands.webhooks) == 0 {
		s.queue(b, storeResponses, args...)
	} else {
		s.queue(b, storeAndLease, append(args, hands.webhooks, hands.events, hands.leases)...)
	}
	places, events := make(map[storage.ID]int, len(taken)), make(map[storage.ID]int, len(taken))
	for i := range taken {
		if _, again := places[taken[i].Submission.ID]; !again {
			places[taken[i].Submission.ID] = i
		}
		events[taken[i].Event.ID] = i
	}
	out := make([]submitted, len(taken))
	err := s.send(ctx, b, func(rows pgx.Rows) error {
		_, err := collectRows(rows, func(rows pgx.Rows) (none struct{}, err error) {
			var id storage.ID
			var others bool
			var d storage.Delivery
			var size int
			if err := scanRow(rows, append([]any{scanID(&id), scanBool(&others)}, leasedTargets(&d, &size)...)...); err != nil {
				return none, err
			}
			if d.Attempt == 0 {
				out[places[id]].stored = true
				hands.others = hands.others || others
				return none, nil
			}
			of := events[d.Lease.EventID]
			d.SubmissionID, d.EventType, d.Body = taken[of].Submission.ID, taken[of].Event.Type, taken[of].Event.Body
			hands.leased[of] = append(hands.leased[of], d)
			return none, nil
		})
		return err
	})
	hands.handOver(taken, err == nil)
	if v := judge(err); err != nil && !s.inTx && (v == invalid || v == refused) && ctx.Err() == nil {
		return make([]submitted, len(taken)), nil
	}
	return out, err
}

// hands are the deliveries of a group that its callers send without a claim: what
// they grant, and what was leased for each response.
type hands struct {
	webhooks, events [][]byte
	leases           []int64
	leased           [][]storage.Delivery
	others           bool
}

func reserve(form storage.ID, group []storage.NewSubmission) *hands {
	h := &hands{leased: make([][]storage.Delivery, len(group))}
	for i := range group {
		if group[i].HandOver == nil {
			continue
		}
		webhooks, lease := group[i].HandOver.Reserve(form)
		for _, w := range webhooks {
			h.webhooks = append(h.webhooks, w[:])
			h.events = append(h.events, group[i].Event.ID[:])
			h.leases = append(h.leases, lease.Microseconds())
		}
	}
	return h
}

// handOver follows the commit.
func (h *hands) handOver(group []storage.NewSubmission, committed bool) {
	for i := range group {
		switch {
		case group[i].HandOver == nil:
		case committed:
			group[i].HandOver.HandOver(h.leased[i], h.others)
		default:
			group[i].HandOver.HandOver(nil, false)
		}
	}
}

// responseArgs are the arguments of storing: an array for each column.
func (s *Store) responseArgs(form storage.ID, group []storage.NewSubmission) []any {
	n := len(group)
	ids, events, bodies, answers := make([][]byte, n), make([][]byte, n), make([][]byte, n), make([][]byte, n)
	list, metadata, hidden := make([]json.RawMessage, n), make([]json.RawMessage, n), make([]json.RawMessage, n)
	revisions, keyLocks, answerLocks := make([]int64, n), make([]int64, n), make([]int64, n)
	submitted := make([]time.Time, n)
	keys, types := make([]string, n), make([]string, n)
	took, sizes := make([]float64, n), make([]int, n)
	for i := range group {
		r, sub := &group[i], &group[i].Submission
		ids[i], revisions[i], submitted[i], took[i] = sub.ID[:], r.FormRevision, sub.SubmittedAt.UTC(), sub.CompletionTime
		list[i], metadata[i], hidden[i], sizes[i] = sub.Answers, sub.Metadata, sub.Hidden, jsonBytes(sub)
		keys[i], answers[i] = r.IdempotencyKey, r.UniqueAnswer
		keyLocks[i], answerLocks[i] = s.lockOfKey(form, r.IdempotencyKey), s.lockOfAnswer(form, r.UniqueAnswer)
		events[i], types[i], bodies[i] = r.Event.ID[:], r.Event.Type, bytesArg(r.Event.Body)
	}
	return []any{
		form[:], ids, revisions, submitted, took, list, metadata, hidden,
		keys, answers, keyLocks, answerLocks, events, types, bodies, sizes,
	}
}

// submit stores a response together with others of its form, or else alone.
func (all *submits) submit(ctx context.Context, n storage.NewSubmission) (submitted, error) {
	out, begun, err := all.together.do(ctx, n.Submission.FormID, n, sizeOf(n))
	if err == nil && !out.known() {
		out, begun, err = all.alone.do(ctx, n.Submission.FormID, n, 0)
	}
	if err != nil && begun {
		err = fmt.Errorf("%w: %w", err, storage.ErrOutcomeUnknown)
	}
	return out, err
}

// sizeOf is about how many bytes a response has.
func sizeOf(n storage.NewSubmission) int {
	return jsonBytes(&n.Submission) + len(n.Event.Body)
}

// jsonBytes is how many bytes the three sections of a response have.
func jsonBytes(s *storage.Submission) int { return len(s.Answers) + len(s.Metadata) + len(s.Hidden) }

// ownResponse returns a response that shares no bytes with n.
func ownResponse(n storage.NewSubmission) storage.NewSubmission {
	own(&n.Submission.Answers, &n.Submission.Metadata, &n.Submission.Hidden, (*json.RawMessage)(&n.Event.Body), (*json.RawMessage)(&n.UniqueAnswer))
	return n
}

// checkResponse finds what cannot be stored before it is part of a group.
func checkResponse(n storage.NewSubmission) error {
	return checkArgs([]any{
		n.Submission.Answers, n.Submission.Metadata, n.Submission.Hidden, n.IdempotencyKey, n.Event.Type, n.Submission.SubmittedAt,
	})
}

// lockValuesOfResponse takes the locks of an idempotency key and of a unique
// answer. 0 is none.
const lockValuesOfResponse = `
SELECT pg_advisory_xact_lock(v.lock) FROM unnest($1::bigint[]) AS v (lock) WHERE v.lock <> 0 ORDER BY v.lock`

// queueValueLocks queues the locks that keep responses with the same idempotency
// key or unique answer apart. storing takes them too, but does not wait.
func (s *Store) queueValueLocks(b *pgx.Batch, n storage.NewSubmission) {
	form := n.Submission.FormID
	locks := []int64{s.lockOfKey(form, n.IdempotencyKey), s.lockOfAnswer(form, n.UniqueAnswer)}
	if slices.Sort(locks); locks[1] != 0 || locks[0] != 0 {
		s.queue(b, lockValuesOfResponse, locks)
	}
}

// lockOfKey is the lock of an idempotency key of a form; 0: there is none.
func (s *Store) lockOfKey(form storage.ID, key string) int64 {
	if key == "" {
		return 0
	}
	return s.lockOfValue(form, 'k', []byte(key))
}

// lockOfAnswer is the lock of a unique answer of a form; 0: there is none.
func (s *Store) lockOfAnswer(form storage.ID, answer []byte) int64 {
	if answer == nil {
		return 0
	}
	return s.lockOfValue(form, 'a', answer)
}

func (s *Store) lockOfValue(form storage.ID, kind byte, value []byte) int64 {
	h := fnv.New64a()
	_, _ = h.Write(form[:]) // never fails
	_, _ = h.Write([]byte{kind})
	_, _ = h.Write(value)
	lock := int64(h.Sum64()) ^ s.lockSalt(lockValues) // the bits count, not the number
	if lock == 0 {
		return 1
	}
	return lock
}
