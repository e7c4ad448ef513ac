package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/formsvc/formsvc"
)

// webhookLists read 110 webhooks, beside the same items in one read.
func webhookLists() suite {
	return suite{
		concurrency: "16",
		prepare:     prepareWebhooks,
		alternatives: []alternative{
			{"stored items", openStoredWebhooks},
			{"formsvc webhooks", openWebhooks},
		},
	}
}

const (
	listed     = 110 // webhooks
	eachListed = 11  // of a form
)

func prepareWebhooks(ctx context.Context, db *database, _ options) error {
	if err := db.run(ctx, factsTable+`; CREATE TABLE formsvc.bare_webhooks (list text NOT NULL, n integer NOT NULL, item bytea NOT NULL, PRIMARY KEY (list, n))`); err != nil {
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
	host := service.AsHost()
	for range listed / eachListed {
		form, err := host.CreateForm(ctx, formsvc.FormCreate{Workspace: owner.workspace, Name: "Form"})
		for i := 0; err == nil && i < eachListed; i++ {
			_, err = host.CreateWebhook(ctx, formsvc.WebhookCreate{Form: form.ID, URL: fmt.Sprintf("http://127.0.0.1:8080/hook/%d", i)})
		}
		if err != nil {
			return err
		}
	}
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(read(ctx, service, owner.key, "/v1/webhooks"), &list); err != nil {
		return err
	}
	if len(list.Items) != listed {
		return fmt.Errorf("%d webhooks are listed", len(list.Items))
	}
	for i, item := range list.Items {
		if _, err := db.pool.Exec(ctx, db.sql(`INSERT INTO formsvc.bare_webhooks VALUES ('all', $1, $2)`), i, []byte(item)); err != nil {
			return err
		}
	}
	return errorOf(db.run(ctx, `VACUUM ANALYZE`), db.note(ctx, "key", owner.key))
}

func openWebhooks(ctx context.Context, db *database) (served, error) {
	key, err := db.fact(ctx, "key")
	if err != nil {
		return served{}, err
	}
	request, err := get("/v1/webhooks", key)
	if err != nil {
		return served{}, err
	}
	service, err := newService(db.store())
	if err != nil {
		return served{}, err
	}
	return served{service, request, func() error { return service.Close(context.WithoutCancel(ctx)) }}, nil
}

// openStoredWebhooks joins items that are stored as they are sent.
func openStoredWebhooks(_ context.Context, db *database) (served, error) {
	request, err := get("/v1/webhooks", "")
	if err != nil {
		return served{}, err
	}
	text := db.sql(`SELECT item FROM formsvc.bare_webhooks WHERE list = $1 ORDER BY n LIMIT 1001`)
	return served{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rows, err := db.pool.Query(r.Context(), text, "all")
		var items [][]byte
		for err == nil && rows.Next() {
			items = append(items, bytes.Clone(rows.RawValues()[0]))
		}
		if err == nil {
			err = rows.Err()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		writeJSON(w, fmt.Appendf(nil, `{"items":[%s]}`, bytes.Join(items, []byte(","))))
	}), request, nil}, nil
}
