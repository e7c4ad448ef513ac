package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// forms read one form of 20 blocks.
func forms() suite {
	return suite{
		concurrency: "16",
		prepare:     prepareForm,
		alternatives: []alternative{
			{"bytea by key", openBytea},
			{"formsvc on PostgreSQL", openForm},
			{"constant with headers", openConstant},
			{"formsvc in memory", openMemory},
		},
	}
}

// twentyBlocks are of the kinds that forms mostly have.
func twentyBlocks() []json.RawMessage {
	blocks := make([]json.RawMessage, 20)
	for i := range blocks {
		blocks[i] = json.RawMessage([]string{
			fmt.Sprintf(`{"id":"q%d","type":"short_text","label":"Question number %d","description":"What you would like to tell us","required":false,"properties":{"maxChars":200,"placeholderText":"Type here"}}`, i, i),
			fmt.Sprintf(`{"id":"q%d","type":"single_choice","label":"Question number %d","choices":[{"id":"a","label":"Never"},{"id":"b","label":"Sometimes"},{"id":"c","label":"Always"}],"properties":{"otherOption":true,"randomize":false}}`, i, i),
			fmt.Sprintf(`{"id":"q%d","type":"opinion_scale","label":"Question number %d","properties":{"from":0,"to":10,"scaleStep":1,"firstLabel":"Not at all","thirdLabel":"Very much"}}`, i, i),
			fmt.Sprintf(`{"id":"q%d","type":"number","label":"Question number %d","properties":{"min":0,"max":120,"minVal":true,"maxVal":true}}`, i, i),
		}[i%4])
	}
	return blocks
}

func prepareForm(ctx context.Context, db *database, _ options) error {
	if err := db.run(ctx, factsTable+`; CREATE TABLE formsvc.bare_forms (id text PRIMARY KEY, body bytea NOT NULL)`); err != nil {
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
	form, err := owner.publish(ctx, map[string]any{"blocks": twentyBlocks()}, false)
	if err != nil {
		return err
	}
	body := read(ctx, service, owner.key, "/v1/forms/"+form.String())
	if _, err := db.pool.Exec(ctx, db.sql(`INSERT INTO formsvc.bare_forms VALUES ($1, $2)`), form.String(), body); err != nil {
		return err
	}
	if err := db.run(ctx, `VACUUM ANALYZE formsvc.forms`); err != nil {
		return err
	}
	return errorOf(db.note(ctx, "form", form.String()), db.note(ctx, "key", owner.key))
}

func errorOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// read returns the body of a GET that is made in this process.
func read(ctx context.Context, h http.Handler, key, path string) []byte {
	w := answer(ctx, h, key, path)
	return w.Body.Bytes()
}

func answer(ctx context.Context, h http.Handler, key, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	r.Header.Set("X-API-Key", key)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func get(path, key string) (*http.Request, error) {
	r, err := http.NewRequest(http.MethodGet, "http://localhost"+path, nil) //nolint:noctx // it is written, not sent
	if err == nil {
		r.Header.Set("X-API-Key", key)
	}
	return r, err
}

// formRequest is the request that all alternatives get.
func formRequest(ctx context.Context, db *database) (*http.Request, error) {
	form, err := db.fact(ctx, "form")
	if err != nil {
		return nil, err
	}
	key, err := db.fact(ctx, "key")
	if err != nil {
		return nil, err
	}
	return get("/v1/forms/"+form, key)
}

func openForm(ctx context.Context, db *database) (served, error) {
	request, err := formRequest(ctx, db)
	if err != nil {
		return served{}, err
	}
	service, err := newService(db.store())
	if err != nil {
		return served{}, err
	}
	return served{service, request, func() error { return service.Close(context.WithoutCancel(ctx)) }}, nil
}

// openBytea passes on the finished answer, which is found by its key.
func openBytea(ctx context.Context, db *database) (served, error) {
	request, err := formRequest(ctx, db)
	if err != nil {
		return served{}, err
	}
	return served{passOn(db, "/v1/forms/{id}", `SELECT body FROM formsvc.bare_forms WHERE id = $1`, "application/json"), request, nil}, nil
}

// passOn writes the value that a statement finds by the last part of the path.
func passOn(db *database, pattern, text, contentType string) http.Handler {
	text = db.sql(text)
	router := chi.NewRouter()
	router.Get(pattern, func(w http.ResponseWriter, r *http.Request) {
		var body []byte
		if err := db.pool.QueryRow(r.Context(), text, chi.URLParam(r, "id")).Scan(&body); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		write(w, contentType, body)
	})
	return router
}

func writeJSON(w http.ResponseWriter, body []byte) {
	write(w, "application/json", body)
}

func write(w http.ResponseWriter, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

// memoryForm is a service in memory with the form, and its answer to the request.
func memoryForm(ctx context.Context) (*formsvc.Service, *http.Request, *httptest.ResponseRecorder, error) {
	service, err := newService(memory.New())
	if err != nil {
		return nil, nil, nil, err
	}
	owner, err := newOwner(ctx, service)
	if err != nil {
		return nil, nil, nil, err
	}
	form, err := owner.publish(ctx, map[string]any{"blocks": twentyBlocks()}, false)
	if err != nil {
		return nil, nil, nil, err
	}
	path := "/v1/forms/" + form.String()
	request, err := get(path, owner.key)
	return service, request, answer(ctx, service, owner.key, path), err
}

func openMemory(ctx context.Context, _ *database) (served, error) {
	service, request, _, err := memoryForm(ctx)
	if err != nil {
		return served{}, err
	}
	return served{service, request, func() error { return service.Close(context.WithoutCancel(ctx)) }}, nil
}

// openConstant writes the same bytes each time, with the headers of the service's response.
func openConstant(ctx context.Context, _ *database) (served, error) {
	service, request, recorded, err := memoryForm(ctx)
	if err != nil {
		return served{}, err
	}
	body, headers := bytes.Clone(recorded.Body.Bytes()), recorded.Header().Clone()
	router := chi.NewRouter()
	router.Get("/v1/forms/{formId}", func(w http.ResponseWriter, _ *http.Request) {
		maps.Copy(w.Header(), headers)
		writeJSON(w, body)
	})
	return served{router, request, func() error { return service.Close(context.WithoutCancel(ctx)) }}, nil
}

// pages read 100 responses, the newest and the last that a list has.
func pages() suite {
	return suite{
		concurrency: "16",
		prepare:     preparePages,
		alternatives: []alternative{
			{"encoded items first", openItems("first")},
			{"formsvc first page", openPage("first")},
			{"encoded items last", openItems("last")},
			{"formsvc last page", openPage("last")},
		},
	}
}

const pageSize = 100

// preparePages fills a form, and a table that has each item as it is sent.
func preparePages(ctx context.Context, db *database, o options) error {
	if err := pgseed.Fill(ctx, db.pool, db.schema, pgseed.Size{Forms: 1, Submissions: o.rows, AnswerBytes: 1100}); err != nil {
		return err
	}
	if err := db.run(ctx, factsTable+`;
		CREATE TABLE formsvc.bare_items (form_id bytea NOT NULL, at timestamptz NOT NULL, id bytea NOT NULL, item bytea NOT NULL);
		INSERT INTO formsvc.bare_items SELECT s.form_id, s.submitted_at, s.id, convert_to(
			'{"id":"' || encode(s.id, 'hex') || '","form_id":"' || encode(s.form_id, 'hex') || '","status":"completed","submitted_at":"'
			|| to_char(s.submitted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') || '","metadata":' || s.metadata || ',"answers":' || s.answers
			|| ',"completion_time":' || s.completion_time || '}', 'UTF8') FROM formsvc.submissions s;
		CREATE INDEX ON formsvc.bare_items (form_id, at DESC, id DESC)`); err != nil {
		return err
	}
	if err := db.run(ctx, `VACUUM ANALYZE formsvc.bare_items`); err != nil {
		return err
	}
	service, err := newService(db.store())
	if err != nil {
		return err
	}
	defer func() { _ = service.Close(ctx) }()
	key, err := service.CreateKey(ctx, formsvc.KeyRequest{User: formsvc.User{ID: pgseed.ID(pgseed.User, 0)}, Name: "all", Scopes: storage.Scopes()})
	if err != nil {
		return err
	}
	// The last page is found in the way that a client finds it, but in bigger steps:
	// the time of the last responses is known.
	first := "/v1/forms/" + pgseed.ID(pgseed.Form, 0).String() + "/submissions?limit=" + strconv.Itoa(pageSize)
	last := first + "&until=" + pgseed.Start().Add((pageSize-1)*time.Second).Format(time.RFC3339)
	return errorOf(db.note(ctx, "key", key.Secret), db.note(ctx, "first", first), db.note(ctx, "last", last))
}

func pageRequest(ctx context.Context, db *database, which string) (*http.Request, error) {
	path, err := db.fact(ctx, which)
	if err != nil {
		return nil, err
	}
	key, err := db.fact(ctx, "key")
	if err != nil {
		return nil, err
	}
	return get(path, key)
}

func openPage(which string) func(context.Context, *database) (served, error) {
	return func(ctx context.Context, db *database) (served, error) {
		request, err := pageRequest(ctx, db, which)
		if err != nil {
			return served{}, err
		}
		service, err := newService(db.store())
		if err != nil {
			return served{}, err
		}
		return served{service, request, func() error { return service.Close(context.WithoutCancel(ctx)) }}, nil
	}
}

// openItems joins items that are stored as they are sent.
func openItems(which string) func(context.Context, *database) (served, error) {
	return func(ctx context.Context, db *database) (served, error) {
		request, err := pageRequest(ctx, db, which)
		if err != nil {
			return served{}, err
		}
		form := pgseed.ID(pgseed.Form, 0)
		until := time.Now().AddDate(100, 0, 0)
		if which == "last" {
			until = pgseed.Start().Add(pageSize * time.Second)
		}
		text := db.sql(`SELECT item FROM formsvc.bare_items WHERE form_id = $1 AND (at, id) < ($2, '') ORDER BY at DESC, id DESC LIMIT $3`)
		router := chi.NewRouter()
		router.Get("/v1/forms/{formId}/submissions", func(w http.ResponseWriter, r *http.Request) {
			rows, err := db.pool.Query(r.Context(), text, form[:], until, pageSize+1)
			body := make([]byte, 0, 160<<10)
			body = append(body, `{"items":[`...)
			for n := 0; err == nil && rows.Next(); n++ {
				if n == pageSize {
					continue
				}
				if n > 0 {
					body = append(body, ',')
				}
				body = append(body, rows.RawValues()[0]...)
			}
			if err == nil {
				err = rows.Err()
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			writeJSON(w, append(body, `]}`...))
		})
		return served{router, request, nil}, nil
	}
}
