package postgres

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

const manyHalves = `
INSERT INTO formsvc.partials (token, form_id, id, revision, answers, hidden, metadata, block, seconds, shared, created_at, saved_at, ends_at)
SELECT sha256(int8send(n)), $1, substr(sha256(int8send(n)), 1, 12), 1, json_build_object('q', repeat(md5(n::text), 15)), '{}', '{}', 'q', 12.5, true,
	$2::timestamptz + n * interval '1 second', $2::timestamptz + n * interval '1 second', $2::timestamptz + interval '10 years'
FROM generate_series(1, $3::bigint) AS n`

// JSON texts of 300 kB that do not become small when they are stored.
const manyVersions = `
INSERT INTO formsvc.documents (form_id, kind, key, revision, created_at, updated_at, value_bytes, value)
SELECT $1, 'version', lpad(n::text, 16, '0'), 1, $2::timestamptz, $2::timestamptz, 300000,
	to_json((SELECT string_agg(md5(n::text || part::text), '') FROM generate_series(1, 9375) AS part))
FROM generate_series(2, 100) AS n` // the first one is there

// Pages of half responses of a form that has many, and the list of 100 versions of 300 kB: they take
// as much as what they return. Buffers are pages of 8 kB, as EXPLAIN counts them. The variable says
// how many half responses there are; 1,000,000 take 1 GB of disk.
//
//	FORMSVC_TEST_HALVES=1000000 go run ./internal/lab/pgtest/with -fsync -- go test ./storage/postgres -run - -bench ListsBesideAForm
func BenchmarkListsBesideAForm(b *testing.B) {
	most, err := strconv.Atoi(cmp.Or(os.Getenv("FORMSVC_TEST_HALVES"), "10000"))
	if err != nil {
		b.Fatal(err)
	}
	form, user := pgseed.ID(pgseed.Form, 0), storage.As(pgseed.ID(pgseed.User, 0))
	seen := &recorder{}
	pool := pgtest.Pool(b, seen.trace)
	run := func(name, schema string, call func(*Store) error) {
		b.Run(name, func(b *testing.B) {
			cost, s := costOf(b, pool, seen, schema, call), New(pool, WithSchema(schema))
			for b.Loop() {
				if err := call(s); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cost.buffers), "buffers")
			b.ReportMetric(float64(cost.rows), "rows")
		})
	}
	for _, halves := range []int{1000, most} {
		schema := filled(b, pool, pgseed.Size{Forms: 1000, AnswerBytes: 100})
		s := New(pool, WithSchema(schema))
		if _, err := pool.Exec(b.Context(), s.db.SQL(manyHalves), form[:], pgseed.Start(), halves); err != nil {
			b.Fatal(err)
		}
		if _, err := pool.Exec(b.Context(), "VACUUM ANALYZE "+schema+".partials"); err != nil {
			b.Fatal(err)
		}
		middle := &storage.Position{Time: pgseed.Start().Add(time.Duration(halves/2) * time.Second)}
		for name, after := range map[string]*storage.Position{"the first 100": nil, "100 from the middle": middle} {
			run(fmt.Sprintf("%s of %d half responses", name, halves), schema, func(s *Store) error {
				n := 0
				more, err := s.Partials(b.Context(), user, form, storage.PartialQuery{Now: pgseed.Start(), Page: storage.Page{After: after, Limit: 100}},
					func(*storage.Partial) error { n++; return nil })
				if err == nil && (n != 100 || !more) {
					err = fmt.Errorf("%d, more %t", n, more)
				}
				return err
			})
		}
		if halves != most {
			continue
		}
		if _, err := pool.Exec(b.Context(), s.db.SQL(manyVersions), form[:], pgseed.Start()); err != nil {
			b.Fatal(err)
		}
		run("100 versions of 300 kB", schema, func(s *Store) error {
			found, more, err := s.Documents(b.Context(), user, form, storage.DocumentQuery{Kind: "version", Limit: 100})
			if err == nil && (len(found) != 100 || more) {
				err = fmt.Errorf("%d, more %t", len(found), more)
			}
			return err
		})
	}
}
