package main

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/formsvc/formsvc/storage"
)

const submissionColumns = `id, form, revision, submitted, completion_time, answers, metadata, hidden`

func scanSubmission(row scanner) (s storage.Submission, err error) {
	err = row.Scan(&s.ID, &s.FormID, &s.FormRevision, at(&s.SubmittedAt), &s.CompletionTime, &s.Answers, &s.Metadata, &s.Hidden)
	return s, err
}

// submission returns the first submission that meets the condition, or ErrNotFound.
func (t *tx) submission(condition string, args ...any) (storage.Submission, error) {
	found, err := all(t, scanSubmission, `SELECT `+submissionColumns+` FROM submissions WHERE `+condition+` LIMIT 1`, args...)
	if err == nil && len(found) == 0 {
		err = storage.ErrNotFound
	}
	if err != nil {
		return storage.Submission{}, err
	}
	return found[0], nil
}

// Submit implements [storage.SubmissionStore]. It leases nothing for n.HandOver, and
// tells it only that there is something to claim.
func (s *Store) Submit(ctx context.Context, n storage.NewSubmission) (sub storage.Submission, replayed bool, err error) {
	if err := check(n.Submission.Answers, n.Submission.Metadata, n.Submission.Hidden,
		n.UniqueField.Block, n.IdempotencyKey, n.Event.Type, n.Submission.SubmittedAt); err != nil {
		return sub, false, err
	}
	if n.HandOver != nil {
		n.HandOver.Reserve(n.Submission.FormID)
		defer func() { n.HandOver.HandOver(nil, err == nil && !replayed) }()
	}
	err = s.write(ctx, func(tx *tx) error {
		sub, replayed, err = tx.submit(n, s.now())
		return err
	})
	if err != nil {
		return storage.Submission{}, false, err
	}
	return sub, replayed, nil
}

func (t *tx) submit(n storage.NewSubmission, clock time.Time) (stored storage.Submission, replayed bool, err error) {
	sub, form := n.Submission, n.Submission.FormID
	var revision int64
	var status string
	var full, taken bool
	err = t.one(`SELECT revision, status, response_limit > 0 AND responses >= response_limit
		FROM forms f WHERE `+live+` AND id = ?`, []any{form}, &revision, &status, &full)
	if err != nil {
		return stored, false, err
	}
	var key any // null: none
	if n.IdempotencyKey != "" {
		key = n.IdempotencyKey
		if stored, err = t.submission(`form = ? AND idempotency_key = ?`, form, key); !errors.Is(err, storage.ErrNotFound) {
			return stored, err == nil, err
		}
	}
	if n.UniqueAnswer != nil {
		if taken, err = t.exists(`SELECT 1 FROM unique_answers WHERE form = ? AND digest = ? AND block = ? AND rules = ?`,
			form, n.UniqueAnswer, n.UniqueField.Block, n.UniqueField.Rules); err != nil {
			return stored, false, err
		}
	}
	switch {
	case n.FormRevision != revision:
		return stored, false, &storage.RevisionError{Current: revision}
	case status != storage.StatusPublished:
		return stored, false, storage.ErrNotFound
	case full:
		return stored, false, storage.ErrLimitReached
	case taken:
		return stored, false, storage.ErrDuplicate
	}

	err = added(t.exec(`INSERT INTO submissions (`+submissionColumns+`, idempotency_key)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		sub.ID, form, revision, sub.SubmittedAt, sub.CompletionTime,
		[]byte(sub.Answers), []byte(sub.Metadata), []byte(sub.Hidden), key))
	if err != nil {
		return stored, false, err
	}
	if n.UniqueAnswer != nil {
		if err := t.enter(form, n.UniqueField, storage.EnteredAnswer{Submission: sub.ID, Digest: n.UniqueAnswer}); err != nil {
			return stored, false, err
		}
		if err := t.compareBy(form, n.UniqueField); err != nil {
			return stored, false, err
		}
	}
	if _, err := t.exec(`UPDATE forms SET responses = responses + 1 WHERE id = ?`, form); err != nil {
		return stored, false, err
	}
	if err := t.count(form, sub.SubmittedAt, storage.Counters{Submissions: 1}); err != nil {
		return stored, false, err
	}
	if err := t.announce(form, sub.ID, n.Event, clock); err != nil {
		return stored, false, err
	}
	stored, err = t.submission(`form = ? AND id = ?`, form, sub.ID)
	return stored, false, err
}

// announce queues an event for every enabled webhook of a form, if there is any.
func (t *tx) announce(form, submission storage.ID, e storage.Event, clock time.Time) error {
	if e.ID.IsZero() {
		return nil
	}
	webhooks, err := all(t, scanID, `SELECT id FROM webhooks WHERE form = ? AND enabled`, form)
	if err != nil || len(webhooks) == 0 {
		return err
	}
	if err := t.addEvent(e, form, submission); err != nil {
		return err
	}
	for _, webhook := range webhooks {
		if err := t.queue(webhook, e.ID, ordinary, clock); err != nil {
			return err
		}
	}
	return nil
}

// SubmissionByKey implements [storage.SubmissionStore].
func (s *Store) SubmissionByKey(ctx context.Context, form storage.ID, idempotencyKey string) (sub storage.Submission, err error) {
	err = s.read(ctx, func(tx *tx) error {
		if err := tx.formIsVisible(storage.AsHost(), form); err != nil {
			return err
		}
		sub, err = tx.submission(`form = ? AND idempotency_key = ?`, form, idempotencyKey)
		return err
	})
	return sub, err
}

// Submission implements [storage.SubmissionStore].
func (s *Store) Submission(ctx context.Context, who storage.Actor, form, id storage.ID) (sub storage.Submission, err error) {
	err = s.read(ctx, func(tx *tx) error {
		if err := tx.formIsVisible(who, form); err != nil {
			return err
		}
		sub, err = tx.submission(`form = ? AND id = ?`, form, id)
		return err
	})
	return sub, err
}

// Submissions implements [storage.SubmissionStore].
func (s *Store) Submissions(ctx context.Context, who storage.Actor, form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (more bool, err error) {
	if err := check(q.Since, q.Until, q.Page); err != nil {
		return false, err
	}
	limit := min(max(q.Page.Limit, 0), math.MaxInt32)
	since, until := micros(q.Since), micros(q.Until)
	if q.Until.IsZero() {
		until, _ = start(storage.Page{})
	}
	var found []storage.Submission
	err = s.read(ctx, func(tx *tx) error {
		if err := tx.formIsVisible(who, form); err != nil {
			return err
		}
		// The sizes of the records are read first, and then the records that fit: a
		// record that is left out is never in memory.
		time, id := start(q.Page)
		const from = ` FROM submissions WHERE form = ?1 AND submitted BETWEEN ?2 AND ?3 AND (submitted, id) < (?4, ?5)
			ORDER BY submitted DESC, id DESC LIMIT ?6`
		sizes, err := all(tx, func(row scanner) (n int, err error) {
			err = row.Scan(&n)
			return n, err
		}, `SELECT ifnull(length(answers), 0) + ifnull(length(metadata), 0) + ifnull(length(hidden), 0)`+from,
			form, since, until, time, id, limit+1)
		if err != nil || limit == 0 {
			return err
		}
		fit := fitting(sizes[:min(len(sizes), limit)], q.MaxBytes)
		more = fit < len(sizes)
		found, err = all(tx, scanSubmission, `SELECT `+submissionColumns+from, form, since, until, time, id, fit)
		return err
	})
	// They are lent when the transaction is over, which each could hold up.
	for i := range found {
		if err == nil {
			err = each(&found[i])
		}
	}
	return more, err
}

// fitting returns how many of the sizes, from the first on, are most bytes or less
// together: one at least, if there is any. Below 1 there is no bound.
func fitting(sizes []int, most int) int {
	sum := 0
	for i, size := range sizes {
		sum += size
		if most > 0 && i > 0 && sum > most {
			return i
		}
	}
	return len(sizes)
}

// DeleteSubmission implements [storage.SubmissionStore].
func (s *Store) DeleteSubmission(ctx context.Context, who storage.Actor, form, id storage.ID) error {
	return s.write(ctx, func(tx *tx) error {
		if err := tx.formIsVisible(who, form); err != nil {
			return err
		}
		there, err := tx.remove(form, id)
		if err == nil && !there {
			err = storage.ErrNotFound
		}
		if err != nil {
			return err
		}
		return tx.free(form)
	})
}
