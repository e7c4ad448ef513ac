package main

import (
	"context"

	"github.com/formsvc/formsvc/storage"
)

// Sweep implements [storage.Storage]. A purged form is marked first, which makes it
// disappear, and loses its rows piece by piece;
// its webhooks, which are few, go at once. Bodies of events need no sweeping.
func (s *Store) Sweep(ctx context.Context, p storage.SweepParams) (swept storage.Swept, err error) {
	if err := check(p.Now, p.TrashBefore, p.KeysBefore); err != nil || p.Max < 1 {
		if err == nil {
			err = ctx.Err()
		}
		return swept, err
	}
	clock := floorDiv(s.now().Unix(), 60)
	if p.Removals {
		clock = 0 // no minute is old
	}
	var going []storage.Submission
	err = s.read(ctx, func(tx *tx) (err error) {
		going, err = all(tx, scanSubmission, `SELECT `+submissionColumns+` FROM submissions
			WHERE form IN (SELECT id FROM forms WHERE trashed > 0 AND purged) LIMIT ?`, p.Max)
		return err
	})
	if err == nil {
		err = beforeDelete(ctx, p.BeforeDelete, going)
	}
	if err != nil {
		return storage.Swept{}, err
	}
	err = s.write(ctx, func(tx *tx) error {
		if !p.Removals {
			if err := tx.noteWork("maintained", s.now()); err != nil {
				return err
			}
		}
		for _, sub := range going {
			if _, err := tx.exec(`DELETE FROM submissions WHERE form = ? AND id = ?`, sub.FormID, sub.ID); err != nil {
				return err
			}
		}
		// The order matters: rows that a form refers to go last.
		for _, step := range []struct {
			count *int
			query string
			bound any  // ?2
			other bool // is not the removal of a form
		}{
			{&swept.Forms, `UPDATE forms SET purged = 1 WHERE rowid IN
				(SELECT rowid FROM forms WHERE trashed > 0 AND trashed < ?2 AND NOT purged ORDER BY trashed LIMIT ?1)`, p.TrashBefore, false},
			{nil, `DELETE FROM webhooks WHERE form IN (SELECT id FROM forms WHERE trashed > 0 AND purged)`, nil, false},
			{nil, `DELETE FROM unique_answers WHERE (form, submission, block, rules) IN (SELECT form, submission, block, rules FROM unique_answers
				WHERE form IN (SELECT id FROM forms WHERE trashed > 0 AND purged) LIMIT ?1)`, nil, false},
			{nil, `DELETE FROM funnel_days WHERE rowid IN (SELECT rowid FROM funnel_days
				WHERE form IN (SELECT id FROM forms WHERE trashed > 0 AND purged) LIMIT ?1)`, nil, false},
			{nil, `DELETE FROM documents WHERE rowid IN (SELECT rowid FROM documents
				WHERE form IN (SELECT id FROM forms WHERE trashed > 0 AND purged) LIMIT ?1)`, nil, false},
			// Rows of purged forms, and old rows.
			{nil, `DELETE FROM funnel_minutes WHERE rowid IN (SELECT m.rowid FROM funnel_minutes m
				WHERE m.form IN (SELECT id FROM forms WHERE trashed > 0 AND purged)
				OR m.at < min(?2, (SELECT max(x.at) FROM funnel_minutes x WHERE x.form = m.form)) - ?3 LIMIT ?1)`, clock, false},
			{nil, `DELETE FROM forms WHERE trashed > 0 AND purged
				AND NOT EXISTS (SELECT 1 FROM submissions WHERE form = forms.id)
				AND NOT EXISTS (SELECT 1 FROM unique_answers WHERE form = forms.id)
				AND NOT EXISTS (SELECT 1 FROM documents WHERE form = forms.id)
				AND NOT EXISTS (SELECT 1 FROM funnel_days WHERE form = forms.id)
				AND NOT EXISTS (SELECT 1 FROM funnel_minutes WHERE form = forms.id)`, nil, false},
			{&swept.Secrets, `UPDATE webhooks SET old_secret = iif(old_secret_until <= ?2, x'', old_secret),
				older_secret = iif(older_secret_until <= ?2, x'', older_secret) WHERE rowid IN (SELECT rowid FROM webhooks
				WHERE length(old_secret) > 0 AND old_secret_until <= ?2 OR length(older_secret) > 0 AND older_secret_until <= ?2 LIMIT ?1)`,
				p.Now, true},
			{&swept.Keys, `DELETE FROM keys WHERE rowid IN (SELECT rowid FROM keys
				WHERE revoked > 0 AND revoked < ?2 OR expires > 0 AND expires < ?2 LIMIT ?1)`, p.KeysBefore, true},
		} {
			if p.Removals && step.other {
				continue
			}
			n, err := tx.exec(step.query, p.Max, step.bound, minutesKept)
			if err != nil {
				return err
			}
			if step.count != nil {
				*step.count = n
			}
			swept.More = swept.More || n >= p.Max
		}
		swept.More = swept.More || swept.Forms > 0 || len(going) == p.Max // whose submissions nobody was told of yet
		return nil
	})
	if err != nil {
		return storage.Swept{}, err
	}
	return swept, nil
}
