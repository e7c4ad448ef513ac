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
	// lockForms is taken in shared mode by submissions and in exclusive mode by changes to the form. Submissions
	// therefore do not wait for each other, and write no row to lock the form.
	lockForms lockKind = "form"
	// lockFunnels lets only one transaction at a time move counts between the funnel's tables.
	lockFunnels lockKind = "funnel"
	// lockOwners, lockKeys and lockPartials serialize the creation of an owner's workspaces, a user's keys and a form's
	// partial submissions, so that their limits hold.
	lockOwners lockKind = "owner"
	lockKeys   lockKind = "keys"
	// lockValues locks an idempotency key, a unique answer or a respondent, so that another submission with the same
	// value waits.
	lockValues   lockKind = "value"
	lockPartials lockKind = "partial"
	// lockRequestedDeliveries serializes requests for a webhook's deliveries.
	lockRequestedDeliveries lockKind = "probes"
)

const (
	lockExclusive = `SELECT pg_advisory_xact_lock($1::bigint)`
	lockShared    = `SELECT pg_advisory_xact_lock_shared($1::bigint)`
)

// lockStatement returns a statement that takes an exclusive lock until the end of the transaction. To avoid deadlocks,
// no transaction waits for the locks of two forms. Workspace rows are locked before a form's lock is taken, and all
// other rows afterwards.
func (s *Store) lockStatement(kind lockKind, id storage.ID) conn.Statement {
	return conn.NewStatement(lockExclusive, s.lockKey(kind, id)).ForRecord(id[:])
}

func (s *Store) formLockStatement(id storage.ID) conn.Statement {
	return s.lockStatement(lockForms, id)
}

func (s *Store) sharedFormLockStatement(id storage.ID) conn.Statement {
	return conn.NewStatement(lockShared, s.lockKey(lockForms, id)).ForRecord(id[:])
}

// lockKey combines the last eight bytes of id, which differ between IDs, with the salt for kind.
func (s *Store) lockKey(kind lockKind, id storage.ID) int64 {
	return int64(binary.BigEndian.Uint64(id[4:])) ^ s.lockSalt(kind) // an overflow does not matter
}

// lockKeyOfForm is lockKey in SQL for the form f, with the salt in $2.
const lockKeyOfForm = `(('x' || encode(substr(f.id, 5), 'hex'))::bit(64)::bigint # $2::bigint)`

func (s *Store) lockSalt(kind lockKind) int64 { return s.db.LockSalt(string(kind)) }

// lockSubmissionValues ignores zero keys.
const lockSubmissionValues = `
SELECT pg_advisory_xact_lock(v.lock) FROM unnest($1::bigint[]) AS v (lock) WHERE v.lock <> 0 ORDER BY v.lock`

// valueLockStatements returns the statement that waits for the locks on a submission's values, if it has any.
// submissionsForForm takes them without waiting.
func (s *Store) valueLockStatements(n storage.NewSubmission) []conn.Statement {
	key, answer := s.valueLockKeys(&n)
	respondent := int64(0)
	if n.OnePerRespondent {
		respondent = s.valueLockKey(n.Submission.FormID, 'r', []byte(n.Submission.Respondent))
	}
	if key == 0 && answer == 0 && respondent == 0 {
		return nil
	}
	return []conn.Statement{conn.NewStatement(lockSubmissionValues, []int64{key, answer, respondent})}
}

// valueLockKeys returns the lock keys for a submission's idempotency key and unique answer, or 0 for a missing value.
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
