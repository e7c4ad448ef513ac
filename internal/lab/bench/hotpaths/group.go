package main

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// The bare group commit: two writers store what has come in meanwhile, each in one
// statement. Nobody can leave, nothing is bounded, and one bad row fails all.

const writers = 2

type waiting struct {
	row  row
	done chan error
}

// inGroups returns a handler's store that writes many rows at once.
func inGroups(write func(*database) func(context.Context, []*waiting) error) func(*database) func(context.Context, row) error {
	return func(db *database) func(context.Context, row) error {
		writeAll := write(db)
		var mu sync.Mutex
		var queue []*waiting
		busy := 0
		work := func() {
			for {
				mu.Lock()
				all := queue
				queue = nil
				if len(all) == 0 {
					busy--
					mu.Unlock()
					return
				}
				mu.Unlock()
				err := writeAll(context.Background(), all)
				for _, w := range all {
					w.done <- err
				}
			}
		}
		return func(_ context.Context, n row) error {
			w := &waiting{n, make(chan error, 1)}
			mu.Lock()
			queue = append(queue, w)
			if busy < writers {
				busy++
				go work()
			}
			mu.Unlock()
			return <-w.done
		}
	}
}

// columns are the rows as arrays.
type columns struct {
	ids, events, forms [][]byte
	times              []time.Time
	answers            []json.RawMessage
	bodies             [][]byte
}

func columnsOf(all []*waiting) (c columns) {
	for _, w := range all {
		c.ids, c.events, c.forms = append(c.ids, w.row.id), append(c.events, w.row.event), append(c.forms, w.row.form)
		c.times, c.answers, c.bodies = append(c.times, w.row.at), append(c.answers, w.row.answers), append(c.bodies, w.row.body)
	}
	return c
}

// twoRows writes a response and its outbox entry.
func twoRows(db *database) func(context.Context, []*waiting) error {
	text := db.sql(`WITH s AS (
			INSERT INTO formsvc.bare_submissions SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::timestamptz[], $4::json[])
		) INSERT INTO formsvc.bare_outbox SELECT * FROM unnest($5::bytea[], $1::bytea[], $3::timestamptz[], $6::bytea[])`)
	return func(ctx context.Context, all []*waiting) error {
		c := columnsOf(all)
		_, err := db.pool.Exec(ctx, text, c.ids, c.forms, c.times, c.answers, c.events, c.bodies)
		return err
	}
}

// sameRows writes what formsvc writes, without any of its checks.
func sameRows(db *database) func(context.Context, []*waiting) error {
	text := db.sql(`WITH given AS MATERIALIZED (
			SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::timestamptz[], $4::json[], $5::bytea[], $6::bytea[])
				AS g (id, form_id, at, answers, event_id, body)
		), s AS (
			INSERT INTO formsvc.same_submissions SELECT g.form_id, g.id, g.at, 12.5, g.answers, '{}', '{}' FROM given g
		), e AS (
			INSERT INTO formsvc.same_events SELECT g.event_id, g.form_id, g.id, 'form.response.completed', g.body FROM given g
		), d AS (
			INSERT INTO formsvc.same_deliveries SELECT g.form_id, g.event_id, g.at FROM given g
		) INSERT INTO formsvc.same_funnel SELECT g.form_id, g.at, count(*) FROM given g GROUP BY 1, 2`)
	return func(ctx context.Context, all []*waiting) error {
		c := columnsOf(all)
		_, err := db.pool.Exec(ctx, text, c.ids, c.forms, c.times, c.answers, c.events, c.bodies)
		return err
	}
}
