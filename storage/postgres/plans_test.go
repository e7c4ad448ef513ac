package postgres

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
)

// The server makes a plan for the arguments of each of a statement's first five runs. If the
// plan for any arguments does not cost more, by its reckoning, it stays with that; otherwise
// it plans anew for ever.
const firstPlans, planRuns = 5, 20

// everyStatementKeepsOnePlan runs the statements again and again on one connection: with each
// shape of arguments that was recorded, and as the host where they are for an actor, or for who
// else is null.
func everyStatementKeepsOnePlan(t *testing.T, statements map[string][][]any) {
	pool := pgtest.Pool(t, pgtest.MaxConns(1))
	t.Run("new tables", func(t *testing.T) {
		schema := pgtest.Schema(t)
		createTablesFrom(t, pool, schema, migrations(t, "up"))
		eachKeepsOnePlan(t, pool, schema, statements)
	})
	t.Run("tables", func(t *testing.T) {
		eachKeepsOnePlan(t, pool, filled(t, pool, pgseed.Size{
			Forms: 2500, Submissions: 25_000, AnswerBytes: 100, Webhooks: 3000, Deliveries: 10_000, Attempts: 10_000, Partials: 10_000, Others: 2500, Minutes: 2500,
		}), statements)
	})
}

// mayBeNull finds the user of a statement, who is null for the host, and its like.
var mayBeNull = regexp.MustCompile(`\$(\d+)::bytea\)? IS NULL`)

func eachKeepsOnePlan(t *testing.T, pool *pgxpool.Pool, schema string, statements map[string][][]any) {
	hosts := 0
	for text, runs := range statements {
		here := strings.ReplaceAll(text, "formsvc.", pgx.Identifier{schema}.Sanitize()+".")
		of := map[string][]any{}
		for _, args := range runs {
			if shape := shapeOf(args); of[shape] == nil {
				of[shape] = args
				// A limit of one, and times before and after all that is stored, make the plan for
				// the arguments as cheap as it can be.
				of[shape+" early"], of[shape+" late"] = extreme(args, time.Unix(0, 0)), extreme(args, time.Unix(1<<33, 0))
			}
		}
		actor := false
		for _, m := range mayBeNull.FindAllStringSubmatch(text, -1) {
			n, _ := strconv.Atoi(m[1])
			args := slices.Clone(runs[0])
			args[n-1] = []byte(nil)
			of["with null for "+m[0]] = args
			actor = true
		}
		if actor {
			hosts++
		}
		planned := false
		for who, args := range of {
			custom, generic, err := plansOf(t.Context(), pool, here, args)
			if err == nil && custom+generic == 0 {
				continue // an argument, like a zero byte in a text, was refused before there was a plan
			}
			planned = true
			if err != nil || custom+generic != planRuns || custom > firstPlans {
				t.Errorf("%s, %s: %d plans for the arguments and %d for any, %v\n%s", firstWords(text), who, custom, generic, err, text)
			}
		}
		if !planned {
			t.Errorf("%s was never planned\n%s", firstWords(text), text)
		}
	}
	if hosts < 15 {
		t.Errorf("%d statements are for an actor", hosts)
	}
}

// extreme returns arguments with every number one, and every time the same.
func extreme(args []any, at time.Time) []any {
	args = slices.Clone(args)
	for i, arg := range args {
		switch arg.(type) {
		case int64:
			args[i] = int64(1)
		case time.Time:
			args[i] = at
		}
	}
	return args
}

// plansOf runs a statement planRuns times, each in a transaction that is rolled back, and
// returns how often it was planned for its arguments and how often not.
func plansOf(ctx context.Context, pool *pgxpool.Pool, text string, args []any) (custom, generic int, err error) {
	const name = "run_often"
	for range planRuns {
		tx, err := pool.Begin(ctx)
		if err != nil {
			return 0, 0, err
		}
		if _, err := tx.Prepare(ctx, name, text); err != nil { // it is there after the first time
			return 0, 0, err
		}
		_, _ = tx.Exec(ctx, name, args...) // what it refuses, it has planned
		if err := tx.Rollback(ctx); err != nil {
			return 0, 0, err
		}
	}
	tx, err := pool.Begin(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if err = tx.QueryRow(ctx, "SELECT custom_plans, generic_plans FROM pg_prepared_statements WHERE name = $1", name).Scan(&custom, &generic); err == nil {
		err = tx.Conn().Deallocate(ctx, name)
	}
	return custom, generic, err
}
