package servicetest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage/postgres"
)

// What a host sees: a form over HTTP at concurrency 16, beside a bare handler that
// reads one bytea by its key on the same server.
func BenchmarkPostgresGetForm(b *testing.B) {
	schema := pgtest.Schema(b)
	pool := pgtest.Pool(b, pgtest.MaxConns(16))
	if err := postgres.Migrate(b.Context(), pool, postgres.WithSchema(schema)); err != nil {
		b.Fatal(err)
	}
	s := servicetest.SetupOn(b, postgres.New(pool, postgres.WithSchema(schema)), formsvc.WithRateLimit(1<<40, 1<<40))
	form := s.Form(benchBlocks(20), `{}`)
	path := "/forms/" + form.String()
	body := s.Do(http.MethodGet, path, "", nil).Body.Bytes()

	if _, err := pool.Exec(b.Context(), `CREATE TABLE `+schema+`.bare (id text PRIMARY KEY, body bytea NOT NULL)`); err != nil {
		b.Fatal(err)
	}
	if _, err := pool.Exec(b.Context(), `INSERT INTO `+schema+`.bare VALUES ($1, $2)`, form.String(), body); err != nil {
		b.Fatal(err)
	}
	bare := chi.NewRouter()
	bare.Get("/v1/forms/{formId}", func(w http.ResponseWriter, r *http.Request) {
		var found []byte
		if err := pool.QueryRow(r.Context(), `SELECT body FROM `+schema+`.bare WHERE id = $1`, chi.URLParam(r, "formId")).Scan(&found); err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(found)
	})

	for _, alternative := range []struct {
		name    string
		handler http.Handler
	}{{"formsvc", s}, {"bare", bare}} {
		b.Run(alternative.name, func(b *testing.B) {
			server := httptest.NewServer(alternative.handler)
			defer server.Close()
			client := server.Client()
			client.Transport.(*http.Transport).MaxIdleConnsPerHost = 16
			b.SetParallelism(8) // of 2 processors: 16 at a time
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, server.URL+"/v1"+path, nil)
					if err != nil {
						b.Error(err)
						return
					}
					r.Header.Set("X-API-Key", s.Key)
					response, err := client.Do(r)
					if err != nil {
						b.Error(err)
						return
					}
					n, err := io.Copy(io.Discard, response.Body)
					response.Body.Close()
					if err != nil || n != int64(len(body)) {
						b.Errorf("%d bytes, %v; want %d", n, err, len(body))
						return
					}
				}
			})
		})
	}
}
