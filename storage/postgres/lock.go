package postgres

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// lockKind is the purpose of a lock. Locks of different kinds are independent.
type lockKind string

const (
	// lockForms separates submissions from changes of the form. Submissions share the lock, so they neither wait for
	// each other nor write a row for it.
	lockForms lockKind = "form"
	// lockFunnels is held while counts move between the tables of the funnel.
	lockFunnels lockKind = "funnel"
	// lockOwners serializes the creation of an owner's workspaces, for their limit.
	lockOwners lockKind = "owner"
	// lockKeys serializes the creation of a user's keys, for their limit.
	lockKeys lockKind = "keys"
	// lockValues is for an idempotency key or a unique answer of a form. A second submission with the value waits for
	// the first.
	lockValues lockKind = "value"
	// lockPartials serializes the creation of a form's partial submissions, for their limit.
	lockPartials lockKind = "partial"
	// lockRequestedDeliveries serializes the requested deliveries of a webhook.
	lockRequestedDeliveries lockKind = "probes"
)

const (
	lockExclusive = `SELECT pg_advisory_xact_lock($1::bigint)`
	lockShared    = `SELECT pg_advisory_xact_lock_shared($1::bigint)`
)

// lock takes an exclusive lock until the end of the transaction. No transaction of this package waits for the locks
// of two forms. Rows of workspaces are locked before a form's lock, and all other rows after it.
func (s *Store) lock(kind lockKind, id storage.ID) conn.Statement {
	return conn.Run(lockExclusive, s.lockKey(kind, id)).ForRecord(id[:])
}

func (s *Store) lockForm(id storage.ID) conn.Statement { return s.lock(lockForms, id) }

func (s *Store) lockFormShared(id storage.ID) conn.Statement {
	return conn.Run(lockShared, s.lockKey(lockForms, id)).ForRecord(id[:])
}

// lockKey combines the last eight bytes of the ID, which differ between IDs, with the salt of the kind. lockKeyOfForm
// is the SQL for it.
func (s *Store) lockKey(kind lockKind, id storage.ID) int64 {
	return int64(binary.BigEndian.Uint64(id[4:])) ^ s.lockSalt(kind) // an overflow does not matter
}

// lockKeyOfForm is lockKey in SQL for the form f, with the salt in $2.
const lockKeyOfForm = `(('x' || encode(substr(f.id, 5), 'hex'))::bit(64)::bigint # $2::bigint)`

func (s *Store) lockSalt(kind lockKind) int64 { return s.db.LockSalt(string(kind)) }

// lockSubmissionValues takes the locks of an idempotency key and a unique answer. It ignores zero keys.
const lockSubmissionValues = `
SELECT pg_advisory_xact_lock(v.lock) FROM unnest($1::bigint[]) AS v (lock) WHERE v.lock <> 0 ORDER BY v.lock`

// lockSubmissionValues waits for the locks of a submission's values. submissionsForForm takes them without waiting.
func (s *Store) lockSubmissionValues(n storage.NewSubmission) []conn.Statement {
	key, answer := s.valueLockKeys(&n)
	if key == 0 && answer == 0 {
		return nil
	}
	return []conn.Statement{conn.Run(lockSubmissionValues, []int64{key, answer})}
}

// valueLockKeys returns the lock keys of a submission's idempotency key and unique answer, or zero for missing
// values.
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
	return cmp.Or(int64(h.Sum64())^s.lockSalt(lockValues), 1) // an overflow does not matter
}
