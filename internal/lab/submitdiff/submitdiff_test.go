package submitdiff

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/ledger"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres"
)

var (
	testSteps = flag.Int("submitdiff.steps", 2*roundSteps, "how many operations to compare")
	firstSeed = flag.Uint64("submitdiff.seed", 1, "the seed of the first round")
	roundsDir = flag.String("submitdiff.rounds", "", "a directory: rounds that it has are compared, others are written to it")
)

const (
	roundSteps = 1000
	callers    = 16
	ownForms   = 2 // of each caller
	poolSize   = 8
	mostShown  = 20
)

// round runs a round in new tables that have a fault, or none. It returns a line for each result and
// each row that must be the same in every run, and what must never be.
func round(t *testing.T, seed uint64, steps int, fault string) (lines, broken []string) {
	t.Helper()
	schema, pool := pgtest.Schema(t), pgtest.Pool(t, pgtest.MaxConns(poolSize))
	noError(t, postgres.Migrate(t.Context(), pool, postgres.WithSchema(schema)))
	_, err := pool.Exec(t.Context(), in(schema, fault), pgx.QueryExecModeSimpleProtocol)
	noError(t, err)
	all := newCallers(t, postgres.New(pool, postgres.WithSchema(schema)), seed)
	var group sync.WaitGroup
	for _, c := range all {
		group.Go(func() {
			for c.step = range steps / callers {
				c.act(t.Context())
			}
		})
	}
	group.Wait()
	for _, c := range all {
		lines = append(lines, c.results...)
	}
	return append(lines, rowLines(t, pool, schema)...), brokenInvariants(t, pool, schema, all)
}

// newCallers makes the callers of a round, and all forms.
func newCallers(t *testing.T, store *postgres.Store, seed uint64) (all []*caller) {
	t.Helper()
	ctx := t.Context()
	for i := range 2 {
		noError(t, store.CreateWorkspace(ctx, storage.Workspace{
			ID: user(i), PublicID: fmt.Sprint("w", i), OwnerID: user(i), CreatedAt: begin, UpdatedAt: begin,
		}, 0))
	}
	var common []*form
	for i := range sharedForms {
		var gate storage.AcceptanceRules
		switch i {
		case limitedForm:
			gate.ResponseLimit = sharedLimit
		case uniqueForm:
			gate.Unique = storage.UniqueField{Block: "q1", Rules: 1}
		}
		common = append(common, newForm(sharedFormID(i), i, gate))
	}
	made := common
	for i := range callers {
		c := &caller{store: store, number: i, shared: common, faulty: seed%2 == 1, random: rand.New(rand.NewPCG(seed, uint64(i)))}
		for range ownForms {
			c.forms = append(c.forms, newForm(c.newID(own), i, c.gate()))
		}
		all, made = append(all, c), append(made, c.forms...)
	}
	for _, f := range made {
		noError(t, store.CreateForm(ctx, storage.AsHost(), f.Form))
		noError(t, store.CreateWebhook(ctx, storage.AsHost(), newWebhook(f, f.webhooks[0])))
	}
	return all
}

// serverNumbered are the tables that storing a submission reads or writes, with the columns whose
// numbers the server gives out in the order of the writes.
var serverNumbered = map[string][]string{
	"forms": {}, "form_limits": {}, "submissions": {}, "unique_answers": {}, "unique_progress": {"round"}, "funnel_log": {"id"},
	"webhooks": {}, "destinations": {}, "events": {}, "deliveries": {"token"}, "arrivals": {"id"}, "attempts": {}, "partials": {},
}

// oneForSeveral are tables in which a batch may have one row for several submissions of a form.
var oneForSeveral = map[string]bool{"funnel_log": true, "arrivals": true}

var serverTime = regexp.MustCompile(`"20(2[5-9]|[3-9]\d)-\d\d-\d\dT[^"]*"`)

// rowLines returns the rows of all forms that one caller used, and how many the others have.
func rowLines(t *testing.T, pool *pgxpool.Pool, schema string) (lines []string) {
	t.Helper()
	for table, numbered := range serverNumbered {
		common := 0
		for _, row := range query[string](t, pool, schema, "SELECT (jsonb_strip_nulls(to_jsonb(t)) - $1::text[])::text FROM formsvc."+table+" t", numbered) {
			if strings.Contains(row, `\\xffffffff`) {
				common++
			} else {
				lines = append(lines, table+" "+serverTime.ReplaceAllString(row, `"a time of the server"`))
			}
		}
		if !oneForSeveral[table] {
			lines = append(lines, fmt.Sprint(table, " of shared forms: ", common))
		}
	}
	return lines
}

// neverThere counts what must never be, whatever the order of the writes.
var neverThere = map[string]string{
	"events whose references are miscounted": `SELECT count(*) FROM formsvc.events e
		WHERE e.refs <> (SELECT count(*) FROM formsvc.deliveries d WHERE d.event_id = e.id)
			+ (SELECT count(*) FROM formsvc.attempts a WHERE a.event_id = e.id AND a.next_attempt_at IS NULL)`,
	"forms whose submissions are miscounted": `SELECT count(*) FROM formsvc.form_limits l WHERE l.count_at IS NULL
		AND l.submission_count <> (SELECT count(*) FROM formsvc.submissions s WHERE s.form_id = l.form_id)`,
	"partial submissions that keep answers": `SELECT count(*) FROM formsvc.partials p WHERE p.submission_id IS NOT NULL AND p.answers IS NOT NULL`,
	"submissions to shared forms that the funnel does not count": `SELECT count(*) - (
		SELECT COALESCE(sum(submissions), 0) FROM formsvc.funnel_log WHERE get_byte(form_id, 0) = 255)
		FROM formsvc.submissions WHERE get_byte(form_id, 0) = 255`,
}

// brokenInvariants returns what is wrong, whoever came first at the shared forms.
func brokenInvariants(t *testing.T, pool *pgxpool.Pool, schema string, all []*caller) (broken []string) {
	t.Helper()
	for what, text := range neverThere {
		if n := query[int](t, pool, schema, text)[0]; n != 0 {
			broken = append(broken, fmt.Sprint(n, " ", what))
		}
	}
	var books ledger.Ledger
	attempts := 0
	for _, c := range all {
		books.Acknowledged = append(books.Acknowledged, c.acks...)
		attempts += c.limited
	}
	limited := 0
	for _, s := range query[[]string](t, pool, schema, `SELECT ARRAY[encode(id, 'hex'), answers->0->>'value', encode(form_id, 'hex')]
		FROM formsvc.submissions WHERE get_byte(form_id, 0) = 255`) {
		books.Stored = append(books.Stored, ledger.Submission{ID: s[0], Key: s[1]})
		if s[2] == sharedFormID(limitedForm).String() {
			limited++
		}
	}
	for _, finding := range books.CheckSubmissions() {
		broken = append(broken, finding.String())
	}
	if want := min(attempts, sharedLimit); limited != want {
		broken = append(broken, fmt.Sprintf("a form with a response limit has %d submissions, want %d", limited, want))
	}
	return broken
}

func in(schema, text string) string {
	return strings.ReplaceAll(text, "formsvc.", pgx.Identifier{schema}.Sanitize()+".")
}

func query[T any](t *testing.T, pool *pgxpool.Pool, schema, text string, args ...any) []T {
	t.Helper()
	rows, err := pool.Query(t.Context(), in(schema, text), args...)
	noError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[T])
	noError(t, err)
	return all
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func soundRound(t *testing.T, seed uint64) []string {
	t.Helper()
	lines, broken := round(t, seed, roundSteps, "")
	if len(broken) > 0 {
		t.Fatalf("seed %d: %s", seed, strings.Join(broken, "\n"))
	}
	return lines
}

func TestNoDifference(t *testing.T) {
	for done, seed := 0, *firstSeed; done < *testSteps; done, seed = done+roundSteps, seed+1 {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			lines := soundRound(t, seed)
			var want []string
			if *roundsDir == "" {
				want = soundRound(t, seed)
			} else {
				want = writtenRound(t, filepath.Join(*roundsDir, strconv.FormatUint(seed, 10)), lines)
			}
			if found := differences(want, lines); len(found) > 0 {
				t.Fatalf("%s", strings.Join(found, "\n"))
			}
		})
	}
}

// writtenRound returns the lines of a file, or makes it.
func writtenRound(t *testing.T, file string, lines []string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		noError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600))
		t.Skip("nothing is compared: the round is written")
	}
	noError(t, err)
	return strings.Split(string(text), "\n")
}

// differences returns the first lines that only one of two rounds has.
func differences(want, got []string) (found []string) {
	extra := map[string]int{} // how many more of a line got has
	for _, line := range want {
		extra[line]--
	}
	for _, line := range got {
		extra[line]++
	}
	for line, n := range extra {
		if n != 0 {
			found = append(found, fmt.Sprintf("%+d %s", n, line))
		}
	}
	slices.Sort(found)
	return found[:min(len(found), mostShown)]
}

// TestFaultsAreFound plants faults as triggers, so that no fault depends on the text of a statement.
func TestFaultsAreFound(t *testing.T) {
	const steps = 800
	without := map[uint64][]string{}
	for seed := range uint64(2) {
		without[seed], _ = round(t, seed, steps, "")
	}
	for name, fault := range map[string]struct {
		table, condition, change string
		seed                     uint64
	}{
		"a unique answer is not entered":  {table: "unique_answers", condition: "get_byte(NEW.digest, 0) < 40", change: "RETURN NULL"},
		"a partial submission stays open": {table: "partials", condition: "NEW.submission_id IS NOT NULL", change: "RETURN NULL"},
		"a delivery is not queued":        {table: "deliveries", condition: "get_byte(NEW.event_id, 11) < 20", change: "RETURN NULL"},
		"a lease is for another URL":      {table: "deliveries", condition: "NEW.token <> 0", change: "NEW.generation = NEW.generation + 1"},
		"an idempotency key is forgotten": {table: "submissions", condition: "get_byte(NEW.form_id, 0) = 255", change: "NEW.idempotency_key = NULL", seed: 1},
		"a submission is not counted": {
			table: "form_limits", change: "RETURN NULL",
			condition: "TG_OP = 'UPDATE' AND OLD.count_at IS NULL AND NEW.count_at IS NULL AND NEW.submission_count = 2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			lines, broken := round(t, fault.seed, steps, `
				CREATE FUNCTION formsvc.fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
					IF `+fault.condition+` THEN `+fault.change+`; END IF;
					RETURN NEW;
				END $$;
				CREATE TRIGGER fault BEFORE INSERT OR UPDATE ON formsvc.`+fault.table+` FOR EACH ROW EXECUTE FUNCTION formsvc.fault()`)
			if len(broken)+len(differences(without[fault.seed], lines)) == 0 {
				t.Error("the fault is not found")
			}
		})
	}
}
