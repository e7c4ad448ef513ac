package main

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	gormpostgres "gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage/postgres"
)

// order is a row of the shop's own. A formsvc.ID is text in database/sql.
type order struct {
	ID       int64      `bun:",pk,autoincrement"`
	Customer string     `gorm:"unique"`
	Response formsvc.ID `gorm:"type:text" bun:"type:text"`
}

type shop struct {
	db    *sql.DB // on the connections of the pool that store uses
	gorm  *gorm.DB
	bun   *bun.DB
	store *postgres.Store
	forms *formsvc.Service
	form  formsvc.ID // what customers are asked
}

// open makes everything on one pool. Its MaxConns is the limit for all, and an order takes one
// connection. gorm.Open and sql.Open("pgx", …) with an address would be a second pool, whose
// connections come on top; the transactions are the same then.
func open(ctx context.Context, pool *pgxpool.Pool, schema string) (*shop, error) {
	s := &shop{db: stdlib.OpenDBFromPool(pool)}
	var err error
	dialect, silent := gormpostgres.New(gormpostgres.Config{Conn: s.db}), &gorm.Config{Logger: logger.Discard}
	if s.gorm, err = gorm.Open(dialect, silent); err != nil {
		return nil, err
	}
	s.bun = bun.NewDB(s.db, pgdialect.New())
	if err := s.gorm.WithContext(ctx).AutoMigrate(&order{}); err != nil {
		return nil, err
	}
	if err := postgres.Migrate(ctx, pool, postgres.WithSchema(schema)); err != nil {
		return nil, err
	}
	s.store = postgres.New(pool, postgres.WithSchema(schema))
	if s.forms, err = formsvc.New(formsvc.WithStorage(s.store)); err != nil {
		return nil, err
	}
	owner := s.forms.As(formsvc.UserIDFrom("the shop"))
	workspace, err := owner.CreateWorkspace(ctx, formsvc.WorkspaceCreate{Name: "Shop"})
	if err != nil {
		return nil, err
	}
	form, err := owner.CreateForm(ctx, formsvc.FormCreate{Workspace: workspace.ID, Name: "Order", Definition: formsvc.Definition{
		Blocks: json.RawMessage(`[{"id": "score", "type": "nps", "label": "Would you recommend us?"}]`),
	}})
	if err != nil {
		return nil, err
	}
	s.form = form.ID
	_, err = owner.PublishForm(ctx, form.ID)
	return s, err
}

// close leaves the pool to whoever made it.
func (s *shop) close(ctx context.Context) {
	_ = s.forms.Close(ctx) // no view and no key is pending
	_ = s.db.Close()       // gives nothing back: between two calls it has no connection
}

// way stores an order with the response, or neither.
type way struct {
	name  string
	store func(context.Context, *order, formsvc.SubmitParams) error
}

func (s *shop) ways() []way {
	return []way{{"database/sql", s.storeSQL}, {"gorm", s.storeGorm}, {"bun", s.storeBun}}
}

// place stores an order of a customer who answers the form.
func (s *shop) place(ctx context.Context, way way, customer, score string) error {
	err := way.store(ctx, &order{Customer: customer}, formsvc.SubmitParams{
		FormID: s.form, Answers: map[string]json.RawMessage{"score": json.RawMessage(score)},
	})
	if err == nil {
		s.forms.Dispatcher().Wake() // after the commit; it sends the webhooks where it runs
	}
	return err
}

// respond stores the response in the transaction that has begun on conn, and notes it in o.
func (s *shop) respond(ctx context.Context, conn *sql.Conn, o *order, r formsvc.SubmitParams) error {
	return s.store.InSQLTx(ctx, conn, func(store *postgres.Store) error {
		stored, err := s.forms.WithStorage(store).Submit(ctx, r)
		o.Response = stored.ID
		return err
	})
}
