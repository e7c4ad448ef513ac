package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
)

// The pool has one connection, so whatever takes a second one fails.
func TestAnOrderAndItsResponseAreOneTransaction(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	own, forms := pgtest.Schema(t), pgtest.Schema(t)
	pool := pgtest.Pool(t, pgtest.MaxConns(1), func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["search_path"] = own })
	if _, err := pool.Exec(ctx, "CREATE SCHEMA "+own); err != nil {
		t.Fatal(err)
	}
	s, err := open(ctx, pool, forms)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close(ctx)
	for i, way := range s.ways() {
		want := int64(i + 1)
		if err := s.place(ctx, way, way.name, "9"); err != nil {
			t.Errorf("%s: an order: %v", way.name, err)
		}
		var refused *formsvc.Error
		if err := s.place(ctx, way, "another", "11"); !errors.As(err, &refused) {
			t.Errorf("%s: the form refuses the response: %v", way.name, err)
		}
		var unique *pgconn.PgError
		if err := s.place(ctx, way, way.name, "8"); !errors.As(err, &unique) || unique.Code != "23505" {
			t.Errorf("%s: the table refuses the order: %v", way.name, err)
		}
		if orders, responses := count(t, s); orders != want || responses != want {
			t.Errorf("%s: %d orders and %d responses, want %d of each", way.name, orders, responses, want)
		}
		var o order
		if err := s.gorm.Where("customer = ?", way.name).Take(&o).Error; err != nil {
			t.Fatal(err)
		}
		if r, err := s.forms.AsHost().Submission(ctx, s.form, o.Response); err != nil || r.ID != o.Response {
			t.Errorf("%s: the order's response: %v", way.name, err)
		}
	}
	if n := pool.Stat().AcquiredConns(); n != 0 {
		t.Errorf("%d connections are not given back", n)
	}
}

func count(t *testing.T, s *shop) (orders, responses int64) {
	t.Helper()
	if err := s.gorm.Model(&order{}).Count(&orders).Error; err != nil {
		t.Fatal(err)
	}
	for _, err := range s.forms.AsHost().Submissions(t.Context(), s.form, formsvc.SubmissionQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		responses++
	}
	return orders, responses
}
