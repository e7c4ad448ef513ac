package main

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/schema"
)

// directory offers the product's customers as choices in forms, and checks customer numbers. If each tenant of a
// product has its own customers, the queries also compare q.Workspace.
type directory struct{ pool *pgxpool.Pool }

func (d directory) migrate(ctx context.Context) error {
	_, err := d.pool.Exec(ctx, `
		CREATE TABLE IF NOT EXISTS customers (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL);
		INSERT INTO customers (name) SELECT 'Customer ' || to_char(n, 'FM00000') FROM generate_series(1, 10000) n
			WHERE NOT EXISTS (SELECT FROM customers)`)
	return err
}

// Choices implements [formsvc.ChoiceSource].
func (d directory) Choices(ctx context.Context, q formsvc.ChoiceQuery) ([]schema.Choice, error) {
	rows, _ := d.pool.Query(ctx, `SELECT id::text, name FROM customers WHERE strpos(lower(name), lower($1)) > 0 ORDER BY name, id LIMIT $2`, q.Search, q.Limit)
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c schema.Choice, err error) {
		return c, row.Scan(&c.ID, &c.Label)
	})
}

// Labels implements [formsvc.ChoiceSource].
func (d directory) Labels(ctx context.Context, ids []string, _ formsvc.ChoiceQuery) (map[string]string, error) {
	labels := map[string]string{}
	rows, _ := d.pool.Query(ctx, `SELECT id::text, name FROM customers WHERE id::text = ANY($1)`, ids)
	var id, name string
	_, err := pgx.ForEachRow(rows, []any{&id, &name}, func() error {
		labels[id] = name
		return nil
	})
	return labels, err
}

// checkNumber is a check of answers: see [formsvc.WithCheck].
func (d directory) checkNumber(ctx context.Context, in formsvc.CheckInput) (message string, err error) {
	labels, err := d.Labels(ctx, []string{in.Answer.String()}, formsvc.ChoiceQuery{})
	if err == nil && len(labels) == 0 {
		message = "We have no customer with this number."
	}
	return message, err
}
