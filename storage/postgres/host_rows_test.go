package postgres

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/storage"
)

// Rows of a host that refer to submissions with ON DELETE CASCADE are removed with them, whatever
// removes the submissions, with whole tables and with partitioned ones.
func TestRowsOfHostsAreRemovedWithTheirSubmissions(t *testing.T) {
	t.Parallel()
	for _, partitioned := range []bool{false, true} {
		t.Run(map[bool]string{false: "whole tables", true: "partitions"}[partitioned], func(t *testing.T) {
			t.Parallel()
			s, pool := testStore(t)
			if partitioned {
				if _, err := pool.Exec(t.Context(), partitionsSQL(t, s.db.Schema), pgx.QueryExecModeSimpleProtocol); err != nil {
					t.Fatal(err)
				}
			}
			must(t, pgseed.Fill(t.Context(), pool, s.db.Schema, pgseed.Size{Forms: 3, AnswerBytes: 100, Webhooks: 1}))
			run := func(text string, args ...any) {
				t.Helper()
				execute(t, pool, s, text, args...)
			}
			run(`CREATE TABLE formsvc.shop_orders (
				form_id bytea, submission_id bytea, note text,
				FOREIGN KEY (form_id, submission_id) REFERENCES formsvc.submissions (form_id, id) ON DELETE CASCADE)`)
			run(`CREATE INDEX ON formsvc.shop_orders (form_id, submission_id)`)
			form := pgseed.ID(pgseed.Form, 0)
			for i := 1; i <= 5; i++ {
				// In one transaction, as a host does.
				tx, err := pool.Begin(t.Context())
				must(t, err)
				n := response(i)
				mustSubmit(t, s.On(tx), n)
				execute(t, tx, s, `INSERT INTO formsvc.shop_orders VALUES ($1, $2, 'x')`, form[:], n.Submission.ID[:])
				must(t, tx.Commit(t.Context()))
			}
			left := func(want int, after string, err error) {
				t.Helper()
				if n := count(t, pool, s, "shop_orders"); err != nil || n != want {
					t.Errorf("%d rows of the host are left after %s, want %d; %v", n, after, want, err)
				}
			}
			left(5, "five submissions", nil)
			left(4, "DeleteSubmission", s.DeleteSubmission(t.Context(), storage.AsHost(), form, response(1).Submission.ID))
			_, err := s.EraseSubmissions(t.Context(), form, []storage.ID{response(2).Submission.ID})
			left(3, "EraseSubmissions", err)
			_, err = s.PurgeSubmissions(t.Context(), storage.PurgeSubmissionsParams{Forms: []storage.ID{form}, Before: response(4).Submission.SubmittedAt, Max: 100})
			left(2, "PurgeSubmissions", err)
			must(t, s.TrashForm(t.Context(), storage.AsHost(), form, storage.TrashParams{At: pgseed.Start().Add(time.Hour)}))
			left(2, "TrashForm", s.PurgeForm(t.Context(), form))
			for more := true; more && err == nil; {
				var swept storage.Swept
				swept, err = s.Sweep(t.Context(), storage.SweepParams{Now: pgseed.Start(), Removals: true, Max: 100})
				more = swept.More
			}
			left(0, "the sweep of a purged form", err)
		})
	}
}
