// Command orm is a shop on database/sql, gorm or bun. It stores an order and the submission of its form in
// one transaction, so that both are stored or neither.
//
//	go run . -database-url postgres://localhost/shop
//
// Read shop.go first: it shares one connection pool. sql.go, gorm.go and bun.go show the same transaction in
// three ways.
//
// The command is a separate module, so that other hosts do not depend on gorm and bun.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

func main() {
	database := flag.String("database-url", os.Getenv("DATABASE_URL"), "URL of the shop's PostgreSQL database")
	flag.Parse()
	if err := run(context.Background(), *database); err != nil {
		fmt.Fprintln(os.Stderr, "orm:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, database string) error {
	pool, err := pgxpool.New(ctx, database)
	if err != nil {
		return err
	}
	defer pool.Close()
	s, err := open(ctx, pool, "formsvc")
	if err != nil {
		return err
	}
	defer s.close(ctx)
	for _, way := range s.ways() {
		customer := fmt.Sprintf("Ann, who came %s by %s", time.Now().Format(time.DateTime), way.name)
		fmt.Println(way.name)
		fmt.Println("  an order (nil: it is stored):", s.place(ctx, way, customer, "9"))
		fmt.Println("  a score of 11, which the form refuses:", s.place(ctx, way, "Bob", "11"))
		fmt.Println("  a customer that the table has already:", s.place(ctx, way, customer, "8"))
	}
	return nil
}
