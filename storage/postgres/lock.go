package postgres

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// What a lock is about. Locks of different kinds do not meet.
type lockKind string

const (
	// lockForms keeps responses apart from the changes that no response may overlap.
	// Responses take the lock shared, so they never wait for each other, and no row is
	// locked or written for it.
	lockForms lockKind = "form"
	// lockFunnels is held while counts are moved between the tables of the funnel.
	lockFunnels lockKind = "funnel"
	// lockOwners makes workspaces of one owner one by one, for their limit.
	lockOwners lockKind = "owner"
	// lockKeys makes keys of one user one by one, for their limit.
	lockKeys lockKind = "keys"
	// lockValues is about an idempotency key or a unique answer of a form: of two
	// responses with the same value, the second waits for the first.
	lockValues lockKind = "value"
	// lockPartials makes new half responses of a form one by one, for their bound.
	lockPartials lockKind = "partial"
	// lockRequestedDeliveries makes deliveries that somebody asks for one by one, by webhook.
	lockRequestedDeliveries lockKind = "probes"
)

const (
	lockExclusive = `SELECT pg_advisory_xact_lock($1::bigint)`
	lockShared    = `SELECT pg_advisory_xact_lock_shared($1::bigint)`
)

// lock takes an exclusive lock; it ends with the transaction. No transaction of
// this package waits for the locks of two forms. The lock of a form is taken after
// the rows of workspaces and before all other rows.
func (s *Store) lock(kind lockKind, id storage.ID) conn.Statement {
	return conn.Run(lockExclusive, s.lockKey(kind, id)).ForRecord(id[:])
}

// lockForm takes the exclusive lock of a form.
func (s *Store) lockForm(id storage.ID) conn.Statement { return s.lock(lockForms, id) }

// lockFormShared takes the lock of a form that responses take.
func (s *Store) lockFormShared(id storage.ID) conn.Statement {
	return conn.Run(lockShared, s.lockKey(lockForms, id)).ForRecord(id[:])
}

// lockKey is the last eight bytes of the id, which differ between ids, mixed with the
// salt of the kind. In SQL it is lockKeyOfForm.
func (s *Store) lockKey(kind lockKind, id storage.ID) int64 {
	return int64(binary.BigEndian.Uint64(id[4:])) ^ s.lockSalt(kind) // the bits count, not the number
}

// lockKeyOfForm is lockKey in SQL for the form f, with the salt in $2.
const lockKeyOfForm = `(('x' || encode(substr(f.id, 5), 'hex'))::bit(64)::bigint # $2::bigint)`

func (s *Store) lockSalt(kind lockKind) int64 { return s.db.LockSalt(string(kind)) }

// lockSubmissionValues takes the locks of an idempotency key and of a unique
// answer. 0 is none.
const lockSubmissionValues = `
SELECT pg_advisory_xact_lock(v.lock) FROM unnest($1::bigint[]) AS v (lock) WHERE v.lock <> 0 ORDER BY v.lock`

// lockSubmissionValues takes the locks, if there are any, that keep responses with the same
// idempotency key or unique answer apart. storing takes them too, but does not wait.
func (s *Store) lockSubmissionValues(n storage.NewSubmission) []conn.Statement {
	key, answer := s.valueLockKeys(&n)
	if key == 0 && answer == 0 {
		return nil
	}
	return []conn.Statement{conn.Run(lockSubmissionValues, []int64{key, answer})}
}

// valueLockKeys are the locks of a response's idempotency key and unique answer; 0: there is
// none.
func (s *Store) valueLockKeys(n *storage.NewSubmission) (key, answer int64) {
	if n.IdempotencyKey != "" {
		key = s.valueLockKey(n.Submission.FormID, 'k', []byte(n.IdempotencyKey))
	}
	if n.UniqueAnswer != nil {
		answer = s.valueLockKey(n.Submission.FormID, 'a', n.UniqueAnswer)
	}
	return key, answer
}

func (s *Store) valueLockKey(form storage.ID, kind byte, value []byte) int64 {
	h := fnv.New64a()
	_, _ = h.Write(form[:]) // never fails
	_, _ = h.Write([]byte{kind})
	_, _ = h.Write(value)
	return cmp.Or(int64(h.Sum64())^s.lockSalt(lockValues), 1) // the bits count, not the number
}
