package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage"
)

// submits store one response of ten answers and what follows from it, durably, to
// one popular form with one webhook, or to any of several such forms.
func submits() suite {
	return suite{
		concurrency: "1,16,64",
		prepare:     prepareSubmits,
		alternatives: []alternative{
			{"transaction", openBare(inTransaction)},
			{"one CTE", openBare(inOneStatement)},
			{"group commit", openBare(inGroups(twoRows))},
			{"group of the same rows", openBare(inGroups(sameRows))},
			{"formsvc", openSubmit(questions, "plain", 1, false)},
			{"formsvc, key", openSubmit(questions, "plain", 1, true)},
			{"formsvc, limit", openSubmit(questions, "limited", 1, false)},
			{"formsvc, unique answer", openSubmit(questions, "unique", 1, false)},
			{"5 forms", openSubmit(questions, "plain", 5, false)},
			{"50 forms", openSubmit(questions, "plain", 50, false)},
			{"50 forms and keys", openSubmit(questions, "plain", 50, true)},
			{"500 forms", openSubmit(questions, "plain", mostForms, false)},
			{"half-way", openHalf(questions, 1)},
			{"50 forms half-way", openHalf(questions, 50)},
		},
	}
}

// bareTables are what a handler without a library would have: a table of responses
// and an outbox; and the four tables that formsvc writes, with their indexes.
const bareTables = `
CREATE TABLE formsvc.bare_submissions (id bytea PRIMARY KEY, form_id bytea NOT NULL, submitted_at timestamptz NOT NULL, answers json NOT NULL);
CREATE TABLE formsvc.bare_outbox (id bytea PRIMARY KEY, submission_id bytea NOT NULL, due_at timestamptz NOT NULL, body bytea NOT NULL);
CREATE TABLE formsvc.same_submissions (form_id bytea, id bytea, submitted_at timestamptz NOT NULL, completion_time float8 NOT NULL,
	answers json NOT NULL, metadata json NOT NULL, hidden json NOT NULL, PRIMARY KEY (form_id, id));
CREATE INDEX ON formsvc.same_submissions (form_id, submitted_at DESC, id DESC);
CREATE TABLE formsvc.same_events (id bytea PRIMARY KEY, form_id bytea NOT NULL, submission_id bytea NOT NULL, type text NOT NULL, body bytea NOT NULL);
CREATE TABLE formsvc.same_deliveries (webhook_id bytea, event_id bytea, due_at timestamptz NOT NULL, PRIMARY KEY (event_id, webhook_id));
CREATE INDEX ON formsvc.same_deliveries (webhook_id, due_at, event_id);
CREATE TABLE formsvc.same_funnel (form_id bytea NOT NULL, at timestamptz NOT NULL, submissions bigint NOT NULL);
CREATE INDEX ON formsvc.same_funnel (form_id, at)`

const questions = 10

// mostForms is how many plain forms there are.
const mostForms = 500

func question(i int) string { return fmt.Sprintf("q%d", i) }

func prepareSubmits(ctx context.Context, db *database, _ options) error {
	if err := db.run(ctx, factsTable); err != nil {
		return err
	}
	if err := db.run(ctx, bareTables); err != nil {
		return err
	}
	service, err := newService(db.store())
	if err != nil {
		return err
	}
	defer func() { _ = service.Close(ctx) }()
	owner, err := newOwner(ctx, service)
	if err != nil {
		return err
	}
	blocks := make([]map[string]any, questions)
	for i := range blocks {
		blocks[i] = map[string]any{"id": question(i), "type": "short_text", "label": fmt.Sprintf("Question number %d", i)}
	}
	for _, kind := range []struct {
		name     string
		forms    int
		settings map[string]any
	}{
		{"plain", mostForms, map[string]any{}},
		{"limited", 1, map[string]any{"responseLimit": 1_000_000_000}},
		{"unique", 1, map[string]any{"duplicateField": question(0)}},
	} {
		for i := range kind.forms {
			form, err := owner.publish(ctx, map[string]any{"blocks": blocks, "settings": kind.settings}, true)
			if err != nil {
				return err
			}
			if err := db.note(ctx, numbered(kind.name, i), form.String()); err != nil {
				return err
			}
		}
	}
	return nil
}

// numbered is the name of the form with this number, of a kind.
func numbered(kind string, i int) string { return fmt.Sprintf("%s %d", kind, i) }

// response is the body of a request.
type response struct {
	Answers map[string]json.RawMessage `json:"answers"`
}

// submitRequest has answers to so many questions.
func submitRequest(questions int) (*http.Request, error) {
	answers := make([]string, questions)
	for i := range answers {
		answers[i] = fmt.Sprintf(`%q:"%s is an answer of some length"`, question(i), placeholder)
	}
	r, err := http.NewRequest(http.MethodPost, "http://localhost/submit", strings.NewReader(`{"answers":{`+strings.Join(answers, ",")+`}}`)) //nolint:noctx // it is written, not sent
	if err == nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, err
}

// accept is a handler that decodes a response and stores it. It answers with the id.
func accept(store func(ctx context.Context, body []byte, in response) (id string, err error)) http.Handler {
	router := chi.NewRouter()
	router.Post("/submit", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		var in response
		if err == nil {
			err = json.Unmarshal(body, &in)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		id, err := store(r.Context(), body, in)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, id)
	})
	return router
}

// openSubmit stores each response, of so many answers, to one of so many forms of a kind, picked
// at random.
func openSubmit(questions int, kind string, spread int, withKey bool) func(context.Context, *database) (served, error) {
	return func(ctx context.Context, db *database) (served, error) {
		return openSubmitOn(ctx, db, db.store(), questions, kind, spread, withKey)
	}
}

func openSubmitOn(ctx context.Context, db *database, store storage.Storage, questions int, kind string, spread int, withKey bool) (served, error) {
	request, err := submitRequest(questions)
	if err != nil {
		return served{}, err
	}
	service, err := newService(store)
	if err != nil {
		return served{}, err
	}
	forms := make([]formsvc.ID, spread)
	for i := range forms {
		if forms[i], err = db.form(ctx, numbered(kind, i)); err != nil {
			return served{}, err
		}
	}
	handler := accept(func(ctx context.Context, _ []byte, in response) (string, error) {
		r := formsvc.SubmitParams{FormID: forms[mathrand.IntN(spread)], Answers: in.Answers, CompletionTime: 12.5}
		if withKey {
			r.IdempotencyKey = string(in.Answers[question(0)][1 : 1+len(placeholder)])
		}
		stored, err := service.Submit(ctx, r)
		return stored.ID.String(), err
	})
	return served{handler, request, func() error { return service.Close(context.WithoutCancel(ctx)) }}, nil
}

// openHalf stores responses to plain forms that were each begun with a half response of the
// same size.
func openHalf(questions, spread int) func(context.Context, *database) (served, error) {
	return func(ctx context.Context, db *database) (served, error) {
		store := &halves{Storage: db.store(), left: map[formsvc.ID]*atomic.Int64{}}
		for i := range spread {
			form, err := db.form(ctx, numbered("plain", i))
			if err != nil {
				return served{}, err
			}
			if _, err := db.pool.Exec(ctx, db.sql(makeHalves), form[:], mostHalves/spread, spread,
				`{"`+strings.Repeat(`question":"0123456789abcdef is an answer of some length","`, questions)+`":0}`); err != nil {
				return served{}, err
			}
			store.left[form] = &atomic.Int64{}
			store.left[form].Store(int64(mostHalves / spread))
		}
		if err := db.run(ctx, "ANALYZE formsvc.partials"); err != nil {
			return served{}, err
		}
		store.spread = spread
		return openSubmitOn(ctx, db, store, questions, "plain", spread, false)
	}
}

// mostHalves is how many responses a process can take: each has a half response of its own.
const mostHalves = 100_000

// makeHalves makes half responses whose tokens are digests of the form, the number of forms and
// their own number.
const makeHalves = `INSERT INTO formsvc.partials (token, form_id, id, revision, answers, hidden, metadata, block, seconds, shared, created_at, saved_at, ends_at)
	SELECT sha256(convert_to(encode($1::bytea, 'hex') || ' ' || $3::bigint || ' ' || n, 'UTF8')), $1,
		substr(sha256(convert_to($3::bigint || ' ' || n, 'UTF8')), 1, 12), 2, $4, '{}', '{}', 'q9', 12.5, false, now(), now(), now() + interval '30 days'
	FROM generate_series(1, $2::bigint) AS n`

// halves gives each response the token of a half response.
type halves struct {
	storage.Storage
	spread int
	left   map[formsvc.ID]*atomic.Int64
}

func (s *halves) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	form := n.Submission.FormID
	number := s.left[form].Add(-1) + 1
	if number < 1 {
		return storage.Submission{}, false, errors.New("no half response is left")
	}
	n.Partial = sha256.Sum256(fmt.Appendf(nil, "%s %d %d", form, s.spread, number))
	return s.Storage.Submit(ctx, n)
}

// row is what the bare handlers store.
type row struct {
	id, event, form []byte
	at              time.Time
	answers         []byte
	body            []byte
}

func newRow(form, body []byte, in response) row {
	ids := make([]byte, 24)
	_, _ = rand.Read(ids) // never fails
	list, _ := json.Marshal(in.Answers)
	return row{id: ids[:12], event: ids[12:], form: form, at: time.Now().UTC().Truncate(time.Second), answers: list, body: body}
}

func openBare(store func(*database) func(context.Context, row) error) func(context.Context, *database) (served, error) {
	return func(ctx context.Context, db *database) (served, error) {
		request, err := submitRequest(questions)
		if err != nil {
			return served{}, err
		}
		form, err := db.form(ctx, numbered("plain", 0))
		if err != nil {
			return served{}, err
		}
		do := store(db)
		handler := accept(func(ctx context.Context, body []byte, in response) (string, error) {
			n := newRow(form[:], body, in)
			return fmt.Sprintf("%x", n.id), do(ctx, n)
		})
		return served{handler, request, nil}, nil
	}
}

// inTransaction is what most handlers do.
func inTransaction(db *database) func(context.Context, row) error {
	submission := db.sql(`INSERT INTO formsvc.bare_submissions VALUES ($1, $2, $3, $4)`)
	outbox := db.sql(`INSERT INTO formsvc.bare_outbox VALUES ($1, $2, $3, $4)`)
	return func(ctx context.Context, n row) error {
		return pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, submission, n.id, n.form, n.at, json.RawMessage(n.answers)); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, outbox, n.event, n.id, n.at, n.body)
			return err
		})
	}
}

func inOneStatement(db *database) func(context.Context, row) error {
	text := db.sql(`WITH s AS (INSERT INTO formsvc.bare_submissions VALUES ($1, $2, $3, $4) RETURNING id)
		INSERT INTO formsvc.bare_outbox SELECT $5, s.id, $3, $6 FROM s`)
	return func(ctx context.Context, n row) error {
		_, err := db.pool.Exec(ctx, text, n.id, n.form, n.at, json.RawMessage(n.answers), n.event, n.body)
		return err
	}
}
