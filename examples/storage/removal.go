package main

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// remove removes a submission with its answers that are taken, and its events with their
// deliveries.
func (t *tx) remove(form, id storage.ID) (there bool, err error) {
	n, err := t.exec(`DELETE FROM submissions WHERE form = ? AND id = ?`, form, id)
	if err != nil || n == 0 {
		return false, err
	}
	if _, err := t.exec(`DELETE FROM unique_answers WHERE form = ? AND submission = ?`, form, id); err != nil {
		return false, err
	}
	_, err = t.exec(`DELETE FROM events WHERE form = ? AND submission = ?`, form, id)
	return true, err
}

// free frees the place of a submission that was removed.
func (t *tx) free(form storage.ID) error {
	_, err := t.exec(`UPDATE forms SET responses = responses - 1 WHERE id = ?`, form)
	return err
}

// DeleteUser implements [storage.RemovalStore].
func (s *Store) DeleteUser(ctx context.Context, user storage.ID, at time.Time) error {
	if at.IsZero() || !storage.ValidTime(at) {
		return storage.ErrInvalidValue
	}
	return s.write(ctx, func(tx *tx) error {
		owned, err := all(tx, scanID, `SELECT id FROM workspaces WHERE owner = ?`, user)
		if err != nil {
			return err
		}
		for _, id := range owned {
			if err := tx.deleteWorkspace(id, user, at); err != nil {
				return err
			}
		}
		for _, query := range []string{
			`UPDATE forms SET purged = 1 WHERE owner = ?`,
			`DELETE FROM members WHERE user = ?`,
			`DELETE FROM keys WHERE user = ?`,
			`DELETE FROM users WHERE id = ?`,
		} {
			if _, err := tx.exec(query, user); err != nil {
				return err
			}
		}
		return nil
	})
}

// PurgeForm implements [storage.RemovalStore].
func (s *Store) PurgeForm(ctx context.Context, id storage.ID) error {
	return s.write(ctx, func(tx *tx) error {
		n, err := tx.exec(`UPDATE forms SET purged = 1 WHERE id = ? AND trashed > 0 AND NOT purged`, id)
		if err == nil && n == 0 {
			err = storage.ErrNotFound
		}
		return err
	})
}

// EraseSubmissions implements [storage.RemovalStore].
func (s *Store) EraseSubmissions(ctx context.Context, form storage.ID, ids []storage.ID) (n int, err error) {
	err = s.write(ctx, func(tx *tx) error {
		n = 0
		for _, id := range ids {
			there, err := tx.remove(form, id)
			if err == nil && there {
				n++
				err = tx.free(form)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// PurgeSubmissions implements [storage.RemovalStore]. forms.responses goes on counting
// what it removes.
func (s *Store) PurgeSubmissions(ctx context.Context, p storage.PurgeSubmissionsParams) (out storage.PurgedSubmissions, err error) {
	if err := check(p.Before); err != nil || p.Max < 1 {
		return out, err
	}
	var old []storage.Submission
	err = s.read(ctx, func(tx *tx) error {
		for _, form := range p.Forms {
			found, err := all(tx, scanSubmission, `SELECT `+submissionColumns+` FROM submissions WHERE form = ? AND submitted < ? ORDER BY submitted, id LIMIT ?`,
				form, p.Before, p.Max-len(old))
			if err != nil {
				return err
			}
			old = append(old, found...)
		}
		return nil
	})
	if err == nil {
		err = beforeDelete(ctx, p.BeforeDelete, old)
	}
	if err != nil {
		return storage.PurgedSubmissions{}, err
	}
	err = s.write(ctx, func(tx *tx) error {
		for _, sub := range old {
			there, err := tx.remove(sub.FormID, sub.ID)
			if err != nil {
				return err
			}
			if there {
				out.Submissions++
			}
		}
		out.More = len(old) == p.Max
		return nil
	})
	if err != nil {
		return storage.PurgedSubmissions{}, err
	}
	return out, nil
}

// beforeDelete calls a hook with submissions. No transaction is open in the meantime.
func beforeDelete(ctx context.Context, hook storage.BeforeDelete, going []storage.Submission) error {
	if hook == nil || len(going) == 0 {
		return nil
	}
	return hook(ctx, going)
}
