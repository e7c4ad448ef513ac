package main

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/storage"
)

const webhookColumns = `w.id, w.form, w.url, w.enabled, w.secret <> x'', w.created, w.updated`

func scanWebhook(row scanner) (w storage.Webhook, err error) {
	err = row.Scan(&w.ID, &w.FormID, &w.URL, &w.Enabled, &w.HasSecret, at(&w.CreatedAt), at(&w.UpdatedAt))
	return w, err
}

// webhook returns a webhook that the actor sees, or ErrNotFound.
func (t *tx) webhook(who storage.Actor, id storage.ID) (storage.Webhook, error) {
	found, err := all(t, scanWebhook, `SELECT `+webhookColumns+` FROM webhooks w JOIN forms f ON f.id = w.form
		WHERE `+visible+` AND w.id = ?3`, whom(who, id)...)
	if err == nil && len(found) == 0 {
		err = storage.ErrNotFound
	}
	if err != nil {
		return storage.Webhook{}, err
	}
	return found[0], nil
}

// CreateWebhook implements [storage.WebhookStore].
func (s *Store) CreateWebhook(ctx context.Context, who storage.Actor, n storage.NewWebhook) error {
	w := n.Webhook
	if err := check(w.URL, w.CreatedAt, w.UpdatedAt); err != nil {
		return err
	}
	return s.write(ctx, func(tx *tx) error {
		if err := tx.formIsVisible(who, w.FormID); err != nil {
			return err
		}
		var webhooks int
		if err := tx.one(`SELECT count(*) FROM webhooks WHERE form = ?`, []any{w.FormID}, &webhooks); err != nil {
			return err
		}
		if n.Max > 0 && webhooks >= n.Max {
			return storage.ErrLimitReached
		}
		return added(tx.exec(`INSERT INTO webhooks (id, form, url, host, enabled, secret, created, updated)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			w.ID, w.FormID, w.URL, storage.HostName(w.URL), w.Enabled, bytesOf(n.Secret), w.CreatedAt, w.UpdatedAt))
	})
}

// Webhook implements [storage.WebhookStore].
func (s *Store) Webhook(ctx context.Context, who storage.Actor, id storage.ID) (w storage.Webhook, err error) {
	err = s.read(ctx, func(tx *tx) error {
		w, err = tx.webhook(who, id)
		return err
	})
	return w, err
}

// Webhooks implements [storage.WebhookStore].
func (s *Store) Webhooks(ctx context.Context, who storage.Actor, page storage.Page) (found []storage.Webhook, err error) {
	if err := check(page); err != nil {
		return nil, err
	}
	err = s.read(ctx, func(tx *tx) error {
		time, id := start(page)
		found, err = all(tx, scanWebhook, `SELECT `+webhookColumns+` FROM webhooks w JOIN forms f ON f.id = w.form
			WHERE `+visible+` AND (w.created, w.id) < (?3, ?4)
			ORDER BY w.created DESC, w.id DESC LIMIT ?5`, whom(who, time, id, max(page.Limit, 0))...)
		return err
	})
	return found, err
}

// UpdateWebhook implements [storage.WebhookStore].
func (s *Store) UpdateWebhook(ctx context.Context, who storage.Actor, id storage.ID, c storage.WebhookChange) (w storage.Webhook, err error) {
	if err := check(c.URL, c.At); err != nil {
		return w, err
	}
	err = s.write(ctx, func(tx *tx) error {
		if w, err = tx.webhook(who, id); err != nil {
			return err
		}
		if c.URL != nil && *c.URL != w.URL {
			if err := tx.renew(id, *c.URL); err != nil {
				return err
			}
		}
		if c.URL != nil || c.Enabled != nil {
			if err := tx.hastenOne(id, s.now()); err != nil {
				return err
			}
		}
		if c.Enabled != nil && *c.Enabled && !w.Enabled {
			if _, err := tx.exec(`UPDATE webhooks SET paused_until = 0, pause_reason = '' WHERE id = ?`, id); err != nil {
				return err
			}
		}
		if c.Enabled != nil && !*c.Enabled {
			if _, err := tx.exec(`DELETE FROM deliveries WHERE webhook = ?`, id); err != nil {
				return err
			}
		}
		if c.Secret != nil {
			if err := tx.changeSecret(id, bytesOf(*c.Secret), c.At); err != nil {
				return err
			}
		}
		set(&w.Enabled, c.Enabled)
		if _, err := tx.exec(`UPDATE webhooks SET enabled = ?, updated = ? WHERE id = ?`, w.Enabled, c.At, id); err != nil {
			return err
		}
		w, err = tx.webhook(storage.AsHost(), id)
		return err
	})
	if err != nil {
		return storage.Webhook{}, err
	}
	return w, nil
}

// renew forgets the destination: it is another one now, and results of leases up to
// the last one are about the old one.
func (t *tx) renew(id storage.ID, url string) error {
	_, err := t.exec(`UPDATE webhooks SET url = ?, host = ?, succeeded = 0, slow_for = 0, failures = 0,
			failing_since = 0, failed = 0, paused_until = 0, pause_reason = '', url_token = (SELECT last FROM tokens)
		WHERE id = ?`, url, storage.HostName(url), id)
	return err
}

// changeSecret keeps the secret that a different one replaces, and the one before while that
// is known. One that is removed is forgotten: nothing is signed any more.
func (t *tx) changeSecret(id storage.ID, to []byte, at time.Time) error {
	if len(to) == 0 {
		_, err := t.exec(`UPDATE webhooks SET secret = ?, old_secret = x'', older_secret = x'' WHERE id = ?`, to, id)
		return err
	}
	_, err := t.exec(`UPDATE webhooks SET older_secret = iif(old_secret_until > ?4, old_secret, x''), older_secret_until = old_secret_until,
			old_secret = secret, old_secret_until = ?1, secret = ?2 WHERE id = ?3 AND secret <> ?2`,
		at.Add(storage.OldSecretKept), to, id, at)
	return err
}

// DeleteWebhook implements [storage.WebhookStore].
func (s *Store) DeleteWebhook(ctx context.Context, who storage.Actor, id storage.ID) error {
	return s.write(ctx, func(tx *tx) error {
		if _, err := tx.webhook(who, id); err != nil {
			return err
		}
		_, err := tx.exec(`DELETE FROM webhooks WHERE id = ?`, id)
		return err
	})
}

// Secrets implements [storage.WebhookStore].
func (s *Store) Secrets(ctx context.Context, after storage.ID, limit int) (found []storage.StoredSecret, err error) {
	err = s.read(ctx, func(tx *tx) error {
		found, err = all(tx, func(row scanner) (out storage.StoredSecret, err error) {
			err = row.Scan(&out.WebhookID, &out.Secret, &out.OldSecret, &out.OlderSecret)
			out.OldSecret, out.OlderSecret = secret(out.OldSecret), secret(out.OlderSecret)
			return out, err
		}, `SELECT id, secret, old_secret, older_secret FROM webhooks WHERE id > ? AND length(secret) > 0 ORDER BY id LIMIT ?`, after, max(limit, 0))
		return err
	})
	return found, err
}

// ReplaceSecrets implements [storage.WebhookStore].
func (s *Store) ReplaceSecrets(ctx context.Context, replacements []storage.SecretReplacement) (replaced int, err error) {
	err = s.write(ctx, func(tx *tx) error {
		for _, r := range replacements {
			n, err := tx.exec(`UPDATE webhooks SET secret = CASE secret WHEN ?3 THEN ?1 ELSE secret END,
					old_secret = CASE old_secret WHEN ?3 THEN ?1 ELSE old_secret END,
					older_secret = CASE older_secret WHEN ?3 THEN ?1 ELSE older_secret END
				WHERE id = ?2 AND ?3 IN (secret, old_secret, older_secret) AND length(?3) > 0`,
				bytesOf(r.To), r.WebhookID, bytesOf(r.From))
			if err != nil {
				return err
			}
			replaced += n
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return replaced, nil
}

// Deliveries implements [storage.WebhookStore].
func (s *Store) Deliveries(ctx context.Context, who storage.Actor, webhook storage.ID, limit int) (found []storage.Delivery, err error) {
	err = s.read(ctx, func(tx *tx) error {
		if _, err := tx.webhook(who, webhook); err != nil {
			return err
		}
		found, err = all(tx, func(row scanner) (a storage.Delivery, err error) {
			err = row.Scan(&a.WebhookID, &a.ID, &a.EventID, &a.EventType, &a.SubmissionID, &a.Attempt, &a.Status,
				&a.Success, &a.Error, &a.Duration, at(&a.CreatedAt), at(&a.NextAttemptAt))
			return a, err
		}, `SELECT `+attemptColumns+` FROM attempts WHERE webhook = ? ORDER BY created DESC, id DESC LIMIT ?`, webhook, max(limit, 0))
		return err
	})
	return found, err
}

const attemptColumns = `webhook, id, event, type, submission, attempt, status, success, error, duration, created, next`

// record adds an attempt, once, and keeps the newest ones of its kind.
func (t *tx) record(a storage.Delivery, summary bool) error {
	_, err := t.exec(`INSERT INTO attempts (`+attemptColumns+`, summary) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO NOTHING`,
		a.WebhookID, a.ID, a.EventID, a.EventType, a.SubmissionID, a.Attempt, a.Status,
		a.Success, a.Error, int64(a.Duration), a.CreatedAt, a.NextAttemptAt, summary)
	if err != nil {
		return err
	}
	kept := storage.HistoryKept
	if summary {
		kept = storage.ExpiredKept
	}
	_, err = t.exec(`DELETE FROM attempts WHERE rowid IN
		(SELECT rowid FROM attempts WHERE webhook = ? AND summary = ? ORDER BY created DESC, id DESC LIMIT -1 OFFSET ?)`,
		a.WebhookID, summary, kept)
	return err
}
