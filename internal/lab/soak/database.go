package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/ledger"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres"
	"github.com/formsvc/formsvc/webhooks"
)

// database is what the checks read, past the service.
type database struct {
	pool   *pgxpool.Pool
	schema string
	forms  []formsvc.ID
	// written has a form for each kind of write besides submissions.
	written map[string]formsvc.ID
}

// spread is how many forms the responses are to: some of those that come at the same time are
// to one form, and most are not.
const spread = 12

// prepare makes the tables, the forms, and a webhook of each form for each URL.
func prepare(ctx context.Context, pool *pgxpool.Pool, schema string, urls []string) (*database, error) {
	if err := postgres.Migrate(ctx, pool, postgres.WithSchema(schema)); err != nil {
		return nil, err
	}
	svc, err := formsvc.New(
		formsvc.WithStorage(postgres.New(pool, postgres.WithSchema(schema))),
		formsvc.WithoutRateLimit(),
		formsvc.WithWebhookConfig(webhooks.Config{AllowedNetworks: loopback()}),
	)
	if err != nil {
		return nil, err
	}
	user := formsvc.User{ID: formsvc.UserIDFrom("soak"), Name: "Soak"}
	key, err := svc.CreateKey(ctx, formsvc.KeyRequest{User: user, Name: "all", Scopes: storage.Scopes()})
	if err != nil {
		return nil, err
	}
	workspace, err := svc.CreateWorkspace(ctx, user.ID, "Soak")
	if err != nil {
		return nil, err
	}
	api := client{ctx, svc, key.Secret}
	d := &database{pool: pool, schema: schema, written: map[string]formsvc.ID{}}
	for range spread {
		form, err := api.form(workspace.ID, urls)
		if err != nil {
			return nil, err
		}
		d.forms = append(d.forms, form)
	}
	for _, kind := range writeKinds {
		form, err := api.form(workspace.ID, nil)
		if err != nil {
			return nil, err
		}
		d.written[kind] = form
	}
	return d, svc.Close(ctx)
}

// form makes a published form, and a webhook for each URL.
func (c client) form(workspace formsvc.ID, urls []string) (formsvc.ID, error) {
	form, err := c.call(http.MethodPost, "/v1/forms", `{"workspace_id":"`+workspace.String()+`","name":"Soak","definition":{"blocks":[
		{"id":"`+ledger.Block+`","type":"short_text","label":"Key","required":true}]}}`)
	if err == nil {
		_, err = c.call(http.MethodPatch, "/v1/forms/"+form.String(), `{"status":"published"}`)
	}
	for number, url := range urls {
		body := `{"form_id":"` + form.String() + `","url":"` + url + `","signing_secret":"` + ledger.Secret(number) + `"}`
		if err == nil {
			_, err = c.call(http.MethodPost, "/v1/webhooks", body)
		}
	}
	return form, err
}

// client calls the API without a network.
type client struct {
	ctx context.Context //nolint:containedctx // of one prepare
	svc http.Handler
	key string
}

func (c client) call(method, path, body string) (formsvc.ID, error) {
	r := httptest.NewRequestWithContext(c.ctx, method, path, strings.NewReader(body))
	r.Header.Set("X-API-Key", c.key)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	c.svc.ServeHTTP(w, r)
	var made struct{ ID formsvc.ID }
	if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || w.Code >= http.StatusMultipleChoices {
		return formsvc.ID{}, fmt.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	return made.ID, nil
}

func (d *database) sql(text string) string {
	return strings.ReplaceAll(text, "formsvc.", pgx.Identifier{d.schema}.Sanitize()+".")
}

// pending counts the deliveries in the queue.
func (d *database) pending(ctx context.Context) (n int, err error) {
	err = d.pool.QueryRow(ctx, d.sql(`SELECT count(*) FROM formsvc.deliveries`)).Scan(&n)
	return n, err
}

// left describes the deliveries in the queue, and what each waits for.
func (d *database) left(ctx context.Context) ([]string, error) {
	rows, err := d.pool.Query(ctx, d.sql(`SELECT format('%s to webhook %s, attempt %s: leased for %s, due in %s, its webhook''s turn is in %s, arrivals: %s',
			encode(d.event_id, 'hex'), encode(d.webhook_id, 'hex'), d.attempt, d.leased_until - now(), d.due_at - now(), x.next_at - now(),
			(SELECT count(*) FROM formsvc.arrivals a WHERE a.webhook_id = d.webhook_id))
		FROM formsvc.deliveries d LEFT JOIN formsvc.destinations x ON x.webhook_id = d.webhook_id ORDER BY d.event_id, d.webhook_id`))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// submissions returns all that is stored of the forms.
func (d *database) submissions(ctx context.Context) ([]ledger.Submission, error) {
	rows, err := d.pool.Query(ctx, d.sql(`SELECT id, COALESCE(idempotency_key, ''), event_id FROM formsvc.submissions WHERE form_id = ANY ($1) ORDER BY id`), d.formIDs())
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (ledger.Submission, error) {
		var s ledger.Submission
		var id, event []byte
		err := row.Scan(&id, &s.Key, &event)
		s.ID, s.Event = hex.EncodeToString(id), hex.EncodeToString(event)
		return s, err
	})
}

func (d *database) formIDs() (ids [][]byte) {
	for _, f := range d.forms {
		ids = append(ids, f[:])
	}
	return ids
}

// counted is the number of submissions in the forms' funnels.
func (d *database) counted(ctx context.Context) (n int64, err error) {
	store := postgres.New(d.pool, postgres.WithSchema(d.schema))
	for _, form := range d.forms {
		funnel, err := store.Funnel(ctx, storage.AsHost(), form, storage.Window{})
		if err != nil {
			return 0, err
		}
		n += funnel.Submissions
	}
	return n, nil
}
