package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
)

// recorder keeps every statement that a pool runs, written for the schema formsvc, with the
// arguments of its first runs and of each other shape: those of one may be refused, as a test wants.
type recorder struct {
	mu         sync.Mutex
	statements map[string][][]any
}

// trace is an option of a pool.
func (r *recorder) trace(c *pgxpool.Config) {
	r.statements = map[string][][]any{}
	c.ConnConfig.Tracer = r
}

// of returns the statements of a call, which is the only one on the pool.
func (r *recorder) of(t testing.TB, call func() error) map[string][][]any {
	t.Helper()
	clear(r.statements)
	must(t, call())
	return maps.Clone(r.statements)
}

var ofASchema = regexp.MustCompile(`"[a-z0-9_]+"\.`)

func (r *recorder) keep(text string, args []any) {
	text = ofASchema.ReplaceAllString(text, "formsvc.")
	if !strings.Contains(text, "formsvc.") { // begin, commit, set_config
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	shape := shapeOf(args)
	if runs := r.statements[text]; len(runs) < 8 || !slices.ContainsFunc(runs, func(run []any) bool { return shapeOf(run) == shape }) {
		r.statements[text] = append(runs, kept(args))
	}
}

// kept copies arguments that are pointers: what they point to is the caller's to change afterwards.
func kept(args []any) []any {
	args = slices.Clone(args)
	for i, arg := range args {
		if v := reflect.ValueOf(arg); v.Kind() == reflect.Pointer && !v.IsNil() {
			copied := reflect.New(v.Type().Elem())
			copied.Elem().Set(v.Elem())
			args[i] = copied.Interface()
		}
	}
	return args
}

// shapeOf says which arguments are null, and the value of those that are true or false: what a
// plan for the arguments can leave parts of a statement out for.
func shapeOf(args []any) string {
	shape := make([]byte, len(args))
	for i, arg := range args {
		v := reflect.ValueOf(arg)
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		switch {
		case !v.IsValid(), v.Kind() == reflect.Slice && v.IsNil():
			shape[i] = '0'
		case v.Kind() == reflect.Bool && v.Bool():
			shape[i] = 't'
		case v.Kind() == reflect.Bool:
			shape[i] = 'f'
		default:
			shape[i] = '.'
		}
	}
	return string(shape)
}

func (r *recorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	r.keep(q.SQL, q.Args)
	return ctx
}

func (*recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (r *recorder) TraceBatchStart(ctx context.Context, _ *pgx.Conn, b pgx.TraceBatchStartData) context.Context {
	for _, q := range b.Batch.QueuedQueries {
		r.keep(q.SQL, q.Arguments)
	}
	return ctx
}

func (*recorder) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (*recorder) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// filled returns a schema with many records.
func filled(t testing.TB, pool *pgxpool.Pool, size pgseed.Size) string {
	t.Helper()
	return filledFrom(t, pool, migrations(t, "up"), size)
}

func filledFrom(t testing.TB, pool *pgxpool.Pool, up string, size pgseed.Size) string {
	t.Helper()
	schema := pgtest.Schema(t)
	createTablesFrom(t, pool, schema, up)
	must(t, pgseed.Fill(t.Context(), pool, schema, size))
	return schema
}

// planNode is a node of a plan as EXPLAIN (FORMAT JSON) tells it.
type planNode struct {
	Kind      string     `json:"Node Type"`
	Relation  string     `json:"Relation Name"`
	Index     string     `json:"Index Name"`
	IndexCond string     `json:"Index Cond"`
	Cost      float64    `json:"Total Cost"`
	Hit       int64      `json:"Shared Hit Blocks"`
	Read      int64      `json:"Shared Read Blocks"`
	Rows      float64    `json:"Actual Rows"`
	Loops     float64    `json:"Actual Loops"`
	Plans     []planNode `json:"Plans"`
}

// each calls f for the node and all below it, and says whether they are read no
// further than to a LIMIT.
func (n *planNode) each(limited bool, f func(n *planNode, limited bool)) {
	f(n, limited)
	limited = n.Kind == "Limit" || limited && n.Kind != "Sort" && n.Kind != "Aggregate"
	for i := range n.Plans {
		n.Plans[i].each(limited, f)
	}
}

func explained(raw []byte) (planNode, error) {
	var plans []struct{ Plan planNode }
	if err := json.Unmarshal(raw, &plans); err != nil {
		return planNode{}, err
	}
	return plans[0].Plan, nil
}

// tiny tables have one row or two, so reading all of them is right.
var tiny = []string{"formsvc_version", "upkeep"}

// fault tells what is wrong with a plan, or nothing.
//
// Of tables that are not known to be large a sequential scan is right.
func (n *planNode) fault(known bool) error {
	var faults []error
	n.each(false, func(n *planNode, limited bool) {
		switch {
		case slices.Contains(tiny, n.Relation):
		case n.Kind == "Seq Scan" && strings.HasPrefix(n.Relation, "arrivals"): // it is read to be emptied
		case n.Kind == "Seq Scan" && known:
			faults = append(faults, fmt.Errorf("a sequential scan of %s", n.Relation))
		case n.Index == "forms_trashed_at": // a page that is as large as the trash
		case n.Index == "workspaces_to_tidy": // those that were deleted since the last sweep
		case n.Index == "workspaces_purged": // those that are about to go
		case strings.Contains(n.Kind, "Index") && n.IndexCond == "" && !limited:
			faults = append(faults, fmt.Errorf("a scan of the whole index %s", n.Index))
		}
	})
	// Above this cost, which is the default of jit_above_cost, the server compiles
	// the statement, which takes longer than to run it.
	if n.Cost > 100_000 {
		faults = append(faults, fmt.Errorf("a cost of %.0f", n.Cost))
	}
	return errors.Join(faults...)
}

var placeholder = regexp.MustCompile(`\$(\d+)`)

// placeholders returns how many arguments the statement takes, or an error when
// a number is left out.
func placeholders(text string) (int, error) {
	numbers := map[string]bool{}
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		numbers[m[1]] = true
	}
	for i := range len(numbers) {
		if !numbers[fmt.Sprint(i+1)] {
			return 0, fmt.Errorf("$%d is missing among %v", i+1, slices.Sorted(maps.Keys(numbers)))
		}
	}
	return len(numbers), nil
}

// noStatementScansATable plans every statement twice: with its arguments, as it is the first
// times, and without them, as a prepared statement is after a while.
func noStatementScansATable(t *testing.T, statements map[string][][]any) {
	if len(statements) < 50 {
		t.Fatalf("%d statements were recorded", len(statements))
	}
	pool := pgtest.Pool(t)
	size := pgseed.Size{
		Forms: 2500, Submissions: 25_000, AnswerBytes: 100, Webhooks: 3000, Deliveries: 10_000, Attempts: 10_000, Partials: 10_000, Others: 2500, Minutes: 2500,
	}
	t.Run("tables", func(t *testing.T) { noneScansATable(t, pool, filled(t, pool, size), true, statements) })
	t.Run("new tables", func(t *testing.T) { // of which the planner knows nothing, as while they are filled
		schema := pgtest.Schema(t)
		createTablesFrom(t, pool, schema, migrations(t, "up"))
		noneScansATable(t, pool, schema, false, statements)
	})
	t.Run("partitions", func(t *testing.T) { // each about as large as a table above
		size.Webhooks, size.Deliveries, size.Attempts = 4*size.Webhooks, 4*size.Deliveries, 4*size.Attempts
		size.Partials, size.Others, size.Minutes = 4*size.Partials, 4*size.Others, 4*size.Minutes
		noneScansATable(t, pool, filledFrom(t, pool, inAllPartitions(t), size), true, statements)
	})
}

func noneScansATable(t *testing.T, pool *pgxpool.Pool, schema string, known bool, statements map[string][][]any) {
	for text, runs := range statements {
		t.Run(firstWords(text), func(t *testing.T) {
			if text == queueStats {
				t.Skip("it reads every pending delivery, and says so")
			}
			n, err := placeholders(text)
			if err != nil {
				t.Error(err)
			} else if n != len(runs[0]) {
				t.Errorf("%d placeholders, %d arguments", n, len(runs[0]))
			}
			here := strings.ReplaceAll(text, "formsvc.", pgx.Identifier{schema}.Sanitize()+".")
			for what, explain := range map[string]func(context.Context, *pgxpool.Pool, string, [][]any) (planNode, error){
				"with its arguments": explainCustom, "as a generic plan": explainGeneric,
			} {
				plan, err := explain(t.Context(), pool, here, runs)
				if err != nil {
					t.Errorf("EXPLAIN %s: %v", what, err)
				} else if err := plan.fault(known); err != nil {
					t.Errorf("the plan %s has %v", what, err)
				}
			}
			if t.Failed() {
				t.Log(text)
			}
		})
	}
}

func firstWords(text string) string {
	words := strings.Fields(text)
	return strings.Join(words[:min(len(words), 12)], " ")
}

func explainCustom(ctx context.Context, pool *pgxpool.Pool, text string, runs [][]any) (planNode, error) {
	var err error
	for _, args := range runs {
		var raw []byte
		args = append([]any{pgx.QueryExecModeExec}, args...)
		if err = pool.QueryRow(ctx, "EXPLAIN (FORMAT JSON) "+text, args...).Scan(&raw); err == nil {
			return explained(raw)
		}
	}
	return planNode{}, err
}

func explainGeneric(ctx context.Context, pool *pgxpool.Pool, text string, runs [][]any) (planNode, error) {
	var raw []byte
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL plan_cache_mode = force_generic_plan"); err != nil {
			return err
		}
		if _, err := tx.Prepare(ctx, "to_explain", text); err != nil {
			return err
		}
		nulls := ""
		if n := len(runs[0]); n > 0 {
			nulls = "(NULL" + strings.Repeat(", NULL", n-1) + ")"
		}
		if err := tx.QueryRow(ctx, "EXPLAIN (FORMAT JSON) EXECUTE to_explain"+nulls, pgx.QueryExecModeExec).Scan(&raw); err != nil {
			return err
		}
		return tx.Conn().Deallocate(ctx, "to_explain")
	})
	if err != nil {
		return planNode{}, err
	}
	return explained(raw)
}
