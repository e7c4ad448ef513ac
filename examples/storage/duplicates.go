package main

import (
	"context"
	"errors"
	"math"

	"github.com/formsvc/formsvc/storage"
)

// enterAnew begins entering for the form's unique field, if there is anything to enter.
func (t *tx) enterAnew(form storage.ID) error {
	_, err := t.exec(`UPDATE forms SET unique_round = unique_round + 1, unique_to = iif(unique_block <> ''
			AND EXISTS (SELECT 1 FROM submissions WHERE form = ?1), x'', NULL)
		WHERE id = ?1`, form)
	return err
}

// compareBy begins entering anew, by the newer rules, when the form's field is compared
// by other rules than the form's.
func (t *tx) compareBy(form storage.ID, field storage.UniqueField) error {
	n, err := t.exec(`UPDATE forms SET unique_rules = max(unique_rules, ?3)
		WHERE id = ?1 AND unique_block = ?2 AND unique_rules <> ?3`, form, field.Block, field.Rules)
	if err == nil && n > 0 {
		err = t.enterAnew(form)
	}
	return err
}

// enter makes an entry, unless the submission has one.
func (t *tx) enter(form storage.ID, field storage.UniqueField, answer storage.EnteredAnswer) error {
	_, err := t.exec(`INSERT INTO unique_answers (form, submission, block, rules, digest) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		form, answer.Submission, field.Block, field.Rules, bytesOf(answer.Digest))
	return err
}

// NotEntered implements [storage.DuplicateStore].
func (s *Store) NotEntered(ctx context.Context, p storage.NotEnteredParams) (out storage.NotEntered, err error) {
	if p.Max < 1 {
		return out, ctx.Err()
	}
	limit := min(p.Max, math.MaxInt32)
	err = s.write(ctx, func(tx *tx) error {
		older, err := all(tx, func(row scanner) (f storage.Form, err error) {
			err = row.Scan(&f.ID, &f.Gate.Unique.Block)
			return f, err
		}, `SELECT id, unique_block FROM forms WHERE unique_block <> '' AND unique_rules < ?`, p.Rules)
		if err != nil {
			return err
		}
		for _, f := range older {
			if err := tx.compareBy(f.ID, storage.UniqueField{Block: f.Gate.Unique.Block, Rules: p.Rules}); err != nil {
				return err
			}
		}
		at := &out.Place
		err = tx.one(`SELECT id, unique_block, unique_rules, unique_round, unique_to FROM forms f
			WHERE `+live+` AND unique_rules = ? AND unique_to IS NOT NULL ORDER BY unique_turn LIMIT 1`,
			[]any{p.Rules}, &at.Form, &at.Field.Block, &at.Field.Rules, &at.Round, (*idOrNone)(&at.From))
		if errors.Is(err, storage.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		type size struct {
			id    storage.ID
			bytes int
		}
		sizes, err := all(tx, func(row scanner) (n size, err error) {
			err = row.Scan(&n.id, &n.bytes)
			return n, err
		}, `SELECT id, ifnull(length(answers), 0) FROM submissions WHERE form = ? AND id > ? ORDER BY id LIMIT ?`, at.Form, from(at.From), limit+1)
		if err != nil {
			return err
		}
		bytes := make([]int, min(len(sizes), limit))
		for i := range bytes {
			bytes[i] = sizes[i].bytes
		}
		fit := fitting(bytes, p.MaxBytes)
		if fit < len(sizes) {
			at.To = sizes[fit-1].id
		}
		out.Submissions, err = all(tx, func(row scanner) (a storage.SubmissionAnswers, err error) {
			err = row.Scan(&a.ID, &a.Answers)
			return a, err
		}, `SELECT id, answers FROM submissions WHERE form = ? AND id > ? ORDER BY id LIMIT ?`, at.Form, from(at.From), fit)
		return err
	})
	if err != nil {
		return storage.NotEntered{}, err
	}
	return out, nil
}

// EnterAnswers implements [storage.DuplicateStore].
func (s *Store) EnterAnswers(ctx context.Context, at storage.EntryPlace, entered []storage.EnteredAnswer) error {
	return s.write(ctx, func(tx *tx) error {
		var to any // null: the form is covered
		if !at.To.IsZero() {
			to = at.To
		}
		n, err := tx.exec(`UPDATE forms AS f SET unique_to = ?, unique_turn = (SELECT max(unique_turn) + 1 FROM forms)
			WHERE `+live+` AND id = ? AND unique_round = ? AND unique_to = ?`, to, at.Form, at.Round, from(at.From))
		if err != nil || n == 0 {
			return err
		}
		for _, answer := range entered {
			there, err := tx.exists(`SELECT 1 FROM submissions WHERE form = ? AND id = ?`, at.Form, answer.Submission)
			if err == nil && there {
				err = tx.enter(at.Form, at.Field, answer)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// from is the id that a piece comes after, as it is stored.
func from(id storage.ID) []byte {
	if id.IsZero() {
		return []byte{}
	}
	return id[:]
}

// idOrNone scans such an id.
type idOrNone storage.ID

func (id *idOrNone) Scan(src any) error {
	b, _ := src.([]byte)
	*id = idOrNone{}
	copy(id[:], b)
	return nil
}
