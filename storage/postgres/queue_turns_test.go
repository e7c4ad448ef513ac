package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// What deal must keep to, whatever the room: no bound is exceeded, none is left unused that
// somebody could use, the first delivery of each goes in the order of the turns, and nobody
// gets two more than another one who could have had more.
func TestRoomIsDividedFairly(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4000) {
		random := rand.New(rand.NewPCG(seed, 1))
		room, hosts := random.IntN(30), []string{"a.example", "b.example", "c.example"}
		names, turns := map[string]int{}, make([]turn, random.IntN(20))
		for _, host := range hosts {
			names[host] = 1 + random.IntN(19)
		}
		for i := range turns {
			turns[i] = turn{room: random.IntN(8), ClaimedDelivery: storage.ClaimedDelivery{Host: hosts[random.IntN(3)]}}
		}
		deal(turns, storage.Pool{Room: room, Hosts: names})
		used := map[string]int{}
		for i, one := range turns {
			used[one.Host] += one.part
			if one.part > one.room {
				t.Fatalf("seed %d: turn %d got %d, of %d", seed, i, one.part, one.room)
			}
			for k, other := range turns {
				if other.Host != one.Host || one.part == one.room {
					continue
				}
				if other.part > one.part+1 {
					t.Fatalf("seed %d: turn %d got %d and turn %d got %d", seed, k, other.part, i, one.part)
				}
				if k > i && one.part == 0 && other.part > 0 {
					t.Fatalf("seed %d: turn %d was passed over for turn %d", seed, i, k)
				}
			}
		}
		for host, most := range names {
			if used[host] > most {
				t.Fatalf("seed %d: a host name gave %d of %d", seed, used[host], most)
			}
		}
		all := used[hosts[0]] + used[hosts[1]] + used[hosts[2]]
		if all > room {
			t.Fatalf("seed %d: the pool gave %d of %d", seed, all, room)
		}
		for i, one := range turns {
			if one.part < one.room && all < room && used[one.Host] < names[one.Host] {
				t.Fatalf("seed %d: turn %d got %d of %d, and there was room", seed, i, one.part, one.room)
			}
		}
	}
}

// backlogs returns a store with webhooks that have as many deliveries each, and parameters
// that claim for all of them.
func backlogs(t *testing.T, webhooks, each int) (*Store, *pgxpool.Pool, storage.ClaimParams) {
	t.Helper()
	s, pool := testStore(t)
	size := pgseed.Size{Forms: webhooks, AnswerBytes: 100, Webhooks: webhooks, Deliveries: webhooks * each}
	must(t, pgseed.Fill(t.Context(), pool, s.db.Schema, size))
	p := everything()
	for i := range webhooks {
		p.Webhooks[pgseed.ID(pgseed.Webhook, i)] = 1000
	}
	for more := true; more; { // all have a turn
		var err error
		if _, more, err = s.ClaimDeliveries(t.Context(), storage.ClaimParams{}); err != nil {
			t.Fatal(err)
		}
	}
	return s, pool, p
}

// Where a claim has bytes for one delivery only, webhooks take turns all the same.
func TestBytesAreSharedInTurns(t *testing.T) {
	t.Parallel()
	s, _, p := backlogs(t, 2, 20)
	p.MaxBytes = 1
	served := map[storage.ID]int{}
	for range 20 {
		claimed, _, err := s.ClaimDeliveries(t.Context(), p)
		if err != nil || len(claimed) != 1 {
			t.Fatalf("%d deliveries are claimed (%v), want 1", len(claimed), err)
		}
		served[claimed[0].Lease.WebhookID]++
	}
	for hook, n := range served {
		if n != 10 {
			t.Errorf("webhook %s was served %d times of 20", hook, n)
		}
	}
}

// Webhooks that have a turn and nothing to send take the room of a claim. It says that
// another one may bring more: nobody behind them waits for a poll.
func TestAClaimThatRoomWasWastedInSaysSo(t *testing.T) {
	t.Parallel()
	s, pool, p := backlogs(t, 12, 1)
	execute(t, pool, s, `DELETE FROM formsvc.deliveries d
		WHERE d.webhook_id <> (SELECT x.webhook_id FROM formsvc.destinations x ORDER BY x.next_at DESC, x.webhook_id DESC LIMIT 1)`)
	execute(t, pool, s, `UPDATE formsvc.destinations x SET next_at = now() - CASE
		WHEN EXISTS (SELECT FROM formsvc.deliveries d WHERE d.webhook_id = x.webhook_id) THEN interval '1 second' ELSE interval '2 seconds' END`)
	p.Others.Room = 3
	for claims := 1; ; claims++ {
		claimed, more, err := s.ClaimDeliveries(t.Context(), p)
		must(t, err)
		if len(claimed) == 1 {
			break
		}
		if !more || claims == 12 {
			t.Fatalf("claim %d brings nothing, and says that more: %v", claims, more)
		}
	}
}

// Arrivals of webhooks that somebody holds do not keep others waiting.
func TestArrivalsOfHeldWebhooksKeepNobodyWaiting(t *testing.T) {
	t.Parallel()
	s, pool, p := backlogs(t, 2, 1)
	held, other := pgseed.ID(pgseed.Webhook, 0), pgseed.ID(pgseed.Webhook, 1)
	execute(t, pool, s, `UPDATE formsvc.destinations SET next_at = NULL`)
	execute(t, pool, s, `INSERT INTO formsvc.arrivals (at, webhook_id)
		SELECT now() - interval '2 seconds', $1::bytea FROM generate_series(1, $2::integer)
		UNION ALL SELECT now() - interval '1 second', $3::bytea`, held[:], 2*wakeAtOnce, other[:])
	tx := begin(t, pool)
	execute(t, tx, s, `SELECT FROM formsvc.destinations WHERE webhook_id = $1 FOR UPDATE`, held[:])
	for claims := 1; ; claims++ {
		claimed, more, err := s.ClaimDeliveries(t.Context(), p)
		must(t, err)
		if len(claimed) == 1 && claimed[0].Lease.WebhookID == other {
			break
		}
		if claims == 4 {
			t.Fatal("the other webhook is not served")
		}
		if more {
			t.Error("a claim that woke nobody says that another one brings more")
		}
	}
}

// turnsOf are the arguments with which a claim looks at the turns of the last pool.
func turnsOf(p storage.ClaimParams, without [][]byte, since any) []any {
	return []any{conn.ObjectArg(p.Webhooks), int64(1), int64(2), int64(10), conn.ObjectArg(p.Others.Hosts), without, since, conn.ObjectArg(p.Generations)}
}

// Many webhooks of a host name, or of a workspace, that may have nothing come before another
// one. The first claim passes over them: it reads their rows, and locks and writes none.
func TestWhoMayHaveNothingIsPassedOver(t *testing.T) {
	t.Parallel()
	const webhooks = 1000
	for name, elsewhere := range map[string]string{
		"a host name": `UPDATE formsvc.destinations SET host = CASE WHEN webhook_id = $1 THEN host ELSE 'one.example' END`,
		"a workspace": `WITH elsewhere AS (INSERT INTO formsvc.workspaces (id, public_id, owner_id, name, created_at, updated_at)
				SELECT '\x0102030405060708090a0b0c', 'elsewhere', w.owner_id, 'w', w.created_at, w.created_at FROM formsvc.workspaces w LIMIT 1 RETURNING id)
			UPDATE formsvc.forms f SET workspace_id = (SELECT id FROM elsewhere) WHERE f.id = (SELECT w.form_id FROM formsvc.webhooks w WHERE w.id = $1)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool, p := backlogs(t, webhooks, 1)
			other := pgseed.ID(pgseed.Webhook, webhooks-1)
			execute(t, pool, s, elsewhere, other[:])
			execute(t, pool, s, `UPDATE formsvc.destinations SET next_at = next_at - CASE WHEN webhook_id = $1 THEN interval '0' ELSE interval '1 second' END`, other[:])
			execute(t, pool, s, `ANALYZE formsvc.destinations`)
			p.Others = storage.Pool{Room: 10}
			without := [][]byte{}
			if name == "a host name" {
				p.Others.Hosts = map[string]int{"one.example": 0}
			} else {
				var workspace storage.ID
				if err := pool.QueryRow(t.Context(), s.db.SQL(`SELECT w.workspace_id FROM formsvc.webhooks w WHERE w.id <> $1 LIMIT 1`), other[:]).Scan(&workspace); err != nil {
					t.Fatal(err)
				}
				p.Others.Without, without = []storage.ID{workspace}, append(without, workspace[:])
			}
			n, err := buffers(t.Context(), pool, s.db.SQL(dueTurns), turnsOf(p, without, ever), true)
			if err != nil || n > 4*webhooks {
				t.Errorf("a claim beside %d that may have nothing reads %d pages (%v)", webhooks-1, n, err)
			}
			claimed, _, err := s.ClaimDeliveries(t.Context(), p)
			if err != nil || len(claimed) != 1 || claimed[0].Lease.WebhookID != other {
				t.Fatalf("%d deliveries are claimed, want that of the other webhook (%v)", len(claimed), err)
			}
		})
	}
}

// A claim that is given up between its statements leases nothing, and what it locked is
// free.
func TestAClaimThatIsCancelledLeasesNothing(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]string{
		"before it takes arrivals":    "WITH come AS",
		"before it locks webhooks":    "x.pool = $3",
		"before it leases deliveries": "WITH found AS",
		"before it gives new turns":   ".destinations x SET\n\tnext_at = CASE t.turn",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			mustSubmit(t, s, response(1))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, _, err := s.On(edited{pool, func(text string) string {
				if strings.Contains(text, part) {
					cancel()
				}
				return text
			}}).ClaimDeliveries(ctx, everything())
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("ClaimDeliveries = %v", err)
			}
			eventually(t, "everything can be claimed", func() bool {
				got, _, err := s.ClaimDeliveries(t.Context(), everything())
				return err == nil && len(got) == 1
			})
		})
	}
}

// In a host's transaction whose statements all see what was there when it began, a claim
// is refused rather than that it forgets what came since.
func TestAClaimInATransactionWithOneSnapshot(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	queueAndWake(t, s, 1)
	tx, err := pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	must(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	execute(t, tx, s, `SELECT count(*) FROM formsvc.destinations`)
	queueAndWake(t, s, 2)
	if got, _, err := s.On(tx).ClaimDeliveries(t.Context(), everything()); !errors.Is(err, storage.ErrUnavailable) {
		t.Fatalf("ClaimDeliveries = %d deliveries, %v", len(got), err)
	}
	must(t, tx.Rollback(t.Context()))
	if n := len(claimAll(t, s)); n != 2 {
		t.Errorf("%d deliveries are claimed afterwards, want 2", n)
	}
}
