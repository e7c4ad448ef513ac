package servicetest_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage/postgres"
)

// Editors of one form of 50 blocks, each of which changes a block of its own again and
// again. Services with pools of their own are to the database what processes are. Without
// turns, 16 editors made 110 changes a second where one alone made 819, and some got 503.
func BenchmarkPostgresEditorsOfOneForm(b *testing.B) {
	for _, c := range []struct {
		name              string
		services, editors int
	}{{"1", 1, 1}, {"16", 1, 16}, {"16in2services", 2, 16}} {
		b.Run(c.name, func(b *testing.B) {
			schema := postgres.WithSchema(pgtest.Schema(b))
			unlimited := formsvc.WithRateLimit(1<<40, 1<<40)
			s := servicetest.SetupOn(b, servicetest.Migrated(b, pgtest.Pool(b, pgtest.MaxConns(16)), schema), unlimited)
			services := []*formsvc.Service{s.Service}
			for len(services) < c.services {
				services = append(services, servicetest.New(b, postgres.New(pgtest.Pool(b, pgtest.MaxConns(16)), schema), unlimited))
			}
			form := s.Form(benchBlocks(50), `{}`)

			var made, slowest atomic.Int64
			var editing sync.WaitGroup
			b.ResetTimer()
			for editor := range c.editors {
				path := fmt.Sprintf("/forms/%s/blocks/q%d", form, editor)
				editing.Go(func() {
					for n := made.Add(1); n <= int64(b.N); n = made.Add(1) {
						began := time.Now()
						w := &discard{header: http.Header{}}
						services[editor%c.services].ServeHTTP(w, s.Request(http.MethodPatch, path, fmt.Sprintf(`{"block":{"label":"Text %d"}}`, n)))
						if w.status != http.StatusOK {
							b.Errorf("editor %d: status %d", editor, w.status)
						}
						took := time.Since(began).Nanoseconds()
						for was := slowest.Load(); took > was && !slowest.CompareAndSwap(was, took); was = slowest.Load() {
						}
					}
				})
			}
			editing.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "changes/s")
			b.ReportMetric(float64(slowest.Load())/1e6, "slowest-ms")
		})
	}
}
