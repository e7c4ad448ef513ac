package pgtest

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

func TestAConnectionThatIsNotReleasedFailsItsTest(t *testing.T) {
	t.Parallel()
	pool := must(pgxpool.New(t.Context(), URL(t)))
	held := must(pool.Acquire(t.Context()))
	r := record(t, "a test", func(r TB) { closePool(r, pool, 10*time.Millisecond) })
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "1 of its connections") {
		t.Errorf("errors = %q", r.errors)
	}
	held.Release()
}
