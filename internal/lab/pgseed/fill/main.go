// Fill migrates a schema and fills it with as many records as a busy service
// has: 1,000,000 submissions of one form and 10,000 forms in one workspace.
//
//	go run ./internal/lab/pgseed/fill -database-url postgres://… -schema bench
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/storage/postgres"
)

func main() {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("fill", flag.ContinueOnError)
	url := flags.String("database-url", "", "connection string of the database")
	schema := flags.String("schema", postgres.DefaultSchema, "schema to make; its tables have to be empty")
	size := pgseed.Size{}
	flags.IntVar(&size.Forms, "forms", 10_000, "forms in one workspace")
	flags.IntVar(&size.Submissions, "submissions", 1_000_000, "submissions of one form")
	flags.IntVar(&size.AnswerBytes, "answer-bytes", 1000, "size of the answers of a submission")
	flags.IntVar(&size.Webhooks, "webhooks", 1000, "webhooks")
	flags.IntVar(&size.Deliveries, "deliveries", 20_000, "pending deliveries")
	flags.IntVar(&size.Attempts, "attempts", 100_000, "attempts in the histories of the webhooks")
	flags.IntVar(&size.Others, "others", 10_000, "other users with a key, a workspace and a form each")
	flags.IntVar(&size.Minutes, "minutes", 2_880, "minutes in the form's funnel")
	if err := flags.Parse(args); err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, *url)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := postgres.Migrate(ctx, pool, postgres.WithSchema(*schema)); err != nil {
		return err
	}
	return pgseed.Fill(ctx, pool, *schema, size)
}
