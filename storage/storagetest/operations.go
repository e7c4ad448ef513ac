package storagetest

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// operation is one valid call of one method against a furnished world. The
// cases of the groups isolation and contexts go through the table below.
type operation struct {
	method string // as in Go
	name   string // as in the names of cases
	call   func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error
}

// errNothing is what an operation that lists answers when the list does not
// hold the world's record.
var errNothing = errors.New("the list does not hold the record")

// actorOperations are the methods that are told on whose behalf they act.
func actorOperations() []operation {
	page := storage.Page{Limit: 1000}
	return []operation{
		{"Workspace", "workspace", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			_, err := s.Workspace(ctx, actor, w.workspace.ID)
			return err
		}},
		{"Workspaces", "workspaces", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			list, err := s.Workspaces(ctx, actor, page)
			return contains(list, workspaceID, w.workspace.ID, err)
		}},
		{"UpdateWorkspace", "update_workspace", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			_, err := s.UpdateWorkspace(ctx, actor, w.workspace.ID, storage.WorkspaceChange{Name: ptr("changed"), At: w.now})
			return err
		}},
		{"DeleteWorkspace", "delete_workspace", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			return s.DeleteWorkspace(ctx, actor, w.workspace.ID, w.now)
		}},
		{"CreateForm", "create_form", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			f := w.form
			f.ID, f.PublicID = newID(), text("f")
			return s.CreateForm(ctx, actor, f)
		}},
		{"Form", "form", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			_, err := s.Form(ctx, actor, w.form.ID)
			return err
		}},
		{"Forms", "forms", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			list, err := s.Forms(ctx, actor, storage.FormsParams{Page: page})
			return contains(list, formID, w.form.ID, err)
		}},
		{"Forms", "forms_of_workspace", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			_, err := s.Forms(ctx, actor, storage.FormsParams{WorkspaceID: w.workspace.ID, Page: page})
			return err
		}},
		{"Forms", "forms_in_trash", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			list, err := s.Forms(ctx, actor, storage.FormsParams{Trashed: true, Page: page})
			return contains(list, formID, w.trashed.ID, err)
		}},
		{"UpdateForm", "update_form", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			_, err := s.UpdateForm(ctx, actor, w.form.ID, storage.FormChange{
				Name: ptr("changed"), WorkspaceID: &w.workspace.ID, At: w.now,
				Definition: storage.Definition{Theme: json.RawMessage(`{}`), Format: 2},
			})
			return err
		}},
		{"TrashForm", "trash_form", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			return s.TrashForm(ctx, actor, w.form.ID, storage.TrashParams{At: w.now})
		}},
		{"Submission", "submission", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			_, err := s.Submission(ctx, actor, w.form.ID, w.first.Submission.ID)
			return err
		}},
		{"Submissions", "submissions", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			list, err := storage.ListSubmissions(ctx, s, actor, w.form.ID, storage.SubmissionsParams{Page: page})
			if errors.Is(contains(list.Submissions, submissionID, w.first.Submission.ID, err), errNothing) {
				return errors.New("the list is empty where ErrNotFound or submissions are due")
			}
			return err
		}},
		{"DeleteSubmission", "delete_submission", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			return s.DeleteSubmission(ctx, actor, w.form.ID, w.first.Submission.ID)
		}},
		{"SubmissionsRemoved", "submissions_removed", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			_, err := s.SubmissionsRemoved(ctx, actor, w.form.ID)
			return err
		}},
		{"SubmissionTotals", "submission_totals", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			totals, err := s.SubmissionTotals(ctx, actor, []storage.ID{w.form.ID})
			if _, ok := totals[w.form.ID]; err == nil && !ok {
				return errNothing
			}
			return err
		}},
		{"Funnel", "funnel", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			_, err := s.Funnel(ctx, actor, w.form.ID, storage.Window{})
			return err
		}},
		{"CreateWebhook", "create_webhook", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			hook := w.webhook
			hook.ID = newID()
			return s.CreateWebhook(ctx, actor, storage.NewWebhook{Webhook: hook})
		}},
		{"Webhook", "webhook", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			_, err := s.Webhook(ctx, actor, w.webhook.ID)
			return err
		}},
		{"Webhooks", "webhooks", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			list, err := s.Webhooks(ctx, actor, page)
			return contains(list, webhookID, w.webhook.ID, err)
		}},
		{"FormWebhooks", "form_webhooks", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			list, err := s.FormWebhooks(ctx, actor, w.form.ID)
			return contains(list, webhookID, w.webhook.ID, err)
		}},
		{"UpdateWebhook", "update_webhook", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			_, err := s.UpdateWebhook(ctx, actor, w.webhook.ID, storage.WebhookChange{URL: ptr("https://example.org/"), At: w.now})
			return err
		}},
		{"DeleteWebhook", "delete_webhook", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			return s.DeleteWebhook(ctx, actor, w.webhook.ID)
		}},
		{"Deliveries", "deliveries", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			_, err := s.Deliveries(ctx, actor, w.webhook.ID, 100)
			return err
		}},
	}
}

// hostOperations are the methods that act for nobody in particular. They ignore
// the actor.
func hostOperations() []operation {
	return []operation{
		{"CreateWorkspace", "create_workspace", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			ws := w.workspace
			ws.ID, ws.PublicID = newID(), text("w")
			return s.CreateWorkspace(ctx, ws, 0)
		}},
		{"SetMember", "set_member", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			return s.SetMember(ctx, w.workspace.ID, w.stranger, true)
		}},
		{"Members", "members", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			_, err := s.Members(ctx, w.workspace.ID)
			return err
		}},
		{"FormByPublicID", "form_by_public_id", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			_, err := s.FormByPublicID(ctx, w.form.PublicID)
			return err
		}},
		{"RestoreForm", "restore_form", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			return s.RestoreForm(ctx, w.trashed.ID, storage.ID{}, w.now)
		}},
		{"Submit", "submit", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			_, _, err := s.Submit(ctx, submissionAt(w.form, w.now))
			return err
		}},
		{"SubmissionByKey", "submission_by_key", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			_, err := s.SubmissionByKey(ctx, w.form.ID, w.first.IdempotencyKey)
			return err
		}},
		{"PendingBackfill", "not_entered", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			got, err := s.PendingBackfill(ctx, storage.PendingBackfillParams{Rules: 2, Max: 10})
			if err == nil && len(got.Submissions) == 0 {
				return errors.New("nothing is due")
			}
			return err
		}},
		{"BackfillAnswers", "enter_answers", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			return s.BackfillAnswers(ctx, storage.BackfillCursor{Form: w.form.ID, Field: fieldOne}, nil)
		}},
		{"DeleteUser", "delete_user", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			return s.DeleteUser(ctx, w.stranger, w.now)
		}},
		{"PurgeForm", "purge_form", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			return s.PurgeForm(ctx, w.trashed.ID)
		}},
		{"EraseSubmissions", "erase_submissions", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			n, err := s.EraseSubmissions(ctx, w.form.ID, []storage.ID{w.first.Submission.ID})
			if err == nil && n != 1 {
				return errors.New("the submission was not erased")
			}
			return err
		}},
		{"PurgeSubmissions", "purge_submissions", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			got, err := s.PurgeSubmissions(ctx, storage.PurgeSubmissionsParams{Forms: []storage.ID{w.form.ID}, Before: w.now, Max: 1})
			if err == nil && got.Submissions != 1 {
				return errors.New("no submission was purged")
			}
			return err
		}},
		{"CountFunnel", "count_funnel", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			return s.CountFunnel(ctx, counted(w.form.ID, at(0), storage.Counters{Views: 1}))
		}},
		{"SetLifetimeCounters", "set_lifetime_counters", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			return s.SetLifetimeCounters(ctx, w.form.ID, storage.Counters{Views: 77})
		}},
		{"Secrets", "secrets", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			list, err := s.Secrets(ctx, storage.ID{}, 100)
			return contains(list, func(stored storage.StoredSecret) storage.ID { return stored.WebhookID }, w.webhook.ID, err)
		}},
		{"ReplaceSecrets", "replace_secrets", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			n, err := s.ReplaceSecrets(ctx, []storage.SecretReplacement{{WebhookID: w.webhook.ID, From: secretOf(w.webhook), To: []byte("sealed anew")}})
			if err == nil && n != 1 {
				return errors.New("the secret was not replaced")
			}
			return err
		}},
		{"Enqueue", "enqueue", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			return s.Enqueue(ctx, w.webhook.ID, newEvent())
		}},
		{"Redeliver", "redeliver", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			return s.Redeliver(ctx, w.webhook.ID, w.attempt.ID)
		}},
		{"RedeliverFailed", "redeliver_failed", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			return s.RedeliverFailed(ctx, w.webhook.ID, w.attempt.ID)
		}},
		{"ClaimDeliveries", "claim_deliveries", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			list, _, err := s.ClaimDeliveries(ctx, storage.ClaimParams{
				Lease: time.Hour, NewOrFailing: storage.Pool{MaxDeliveries: everyRecord}, PerWebhook: 1,
			})
			return contains(list, eventID, w.waiting.Event.ID, err)
		}},
		{"FinishDeliveries", "finish_deliveries", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			fenced, err := s.FinishDeliveries(ctx, []storage.Result{ended(w.claimed, w.now)})
			if len(fenced) > 0 {
				return errors.New("the lease is fenced, though it still holds")
			}
			return err
		}},
		{"ExpireDeliveries", "expire_deliveries", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			_, err := s.ExpireDeliveries(ctx, storage.ExpireParams{Max: 100, At: w.now, NewID: newID})
			return err
		}},
		{"PausedWebhooks", "paused_webhooks", func(ctx context.Context, s storage.Storage, _ *world, _ storage.Actor) error {
			_, err := s.PausedWebhooks(ctx, storage.AsHost(), storage.Page{Limit: 10})
			return err
		}},
		{"QueueStats", "queue_stats", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			_, err := s.QueueStats(ctx)
			return err
		}},
		{"MaintenanceStatus", "upkeep", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			_, err := s.MaintenanceStatus(ctx)
			return err
		}},
		{"CreateKey", "create_key", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			k := w.key
			k.ID = newID()
			return s.CreateKey(ctx, storage.NewKey{User: storage.User{ID: w.owner, Name: "changed"}, Key: k, Hash: [32]byte{1}, Max: 0})
		}},
		{"KeyByHash", "key_by_hash", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			_, _, err := s.KeyByHash(ctx, w.hash)
			return err
		}},
		{"Keys", "keys", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			list, err := s.Keys(ctx, w.owner)
			return contains(list, keyID, w.key.ID, err)
		}},
		{"RevokeKey", "revoke_key", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			return s.RevokeKey(ctx, w.owner, w.key.ID, w.now)
		}},
		{"TouchKeys", "touch_keys", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			return s.TouchKeys(ctx, map[storage.ID]time.Time{w.key.ID: w.now})
		}},
		{"Sweep", "sweep", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
			forms, keys := 0, 0
			for {
				got, err := s.Sweep(ctx, storage.SweepParams{Now: w.now, TrashBefore: w.now, KeysBefore: w.now, Max: 100})
				forms += got.Forms
				keys += got.Keys
				if err != nil {
					return err
				}
				if !got.More {
					break
				}
			}
			if forms != 1 || keys != 1 {
				return errors.New("sweeps did not remove the trashed form and the expired key")
			}
			return nil
		}},
	}
}

// formForKeyOperation stands apart because a store need not have the method.
func formForKeyOperation() operation {
	return operation{"FormForKey", "form_for_key", func(ctx context.Context, s storage.Storage, w *world, _ storage.Actor) error {
		_, err := s.FormForKey(ctx, storage.FormForKeyParams{Hash: w.hash, Form: w.form.ID, At: w.now})
		return err
	}}
}

// contains turns a list without the record into errNothing.
func contains[V any](list []V, id func(V) storage.ID, want storage.ID, err error) error {
	if err != nil {
		return err
	}
	for _, v := range list {
		if id(v) == want {
			return nil
		}
	}
	return errNothing
}
