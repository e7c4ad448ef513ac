package storagetest

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// badUpdates is a store whose UpdateSubmission is changed: before gets the call, and after its result.
type badUpdates struct {
	storage.Storage
	before  func(*storage.SubmissionUpdate)
	after   func(*storage.Submission)
	history func([]storage.SubmissionState) []storage.SubmissionState
}

func (m badUpdates) UpdateSubmission(ctx context.Context, actor storage.Actor, u storage.SubmissionUpdate) (storage.Submission, error) {
	if m.before != nil {
		m.before(&u)
	}
	s, err := m.Storage.UpdateSubmission(ctx, actor, u)
	if m.after != nil {
		m.after(&s)
	}
	return s, err
}

func (m badUpdates) SubmissionHistory(ctx context.Context, actor storage.Actor, form, id storage.ID) ([]storage.SubmissionState, error) {
	states, err := m.Storage.SubmissionHistory(ctx, actor, form, id)
	if m.history != nil {
		states = m.history(states)
	}
	return states, err
}

// updatesAnyRevision updates whatever the revision.
type updatesAnyRevision struct{ storage.Storage }

func (m updatesAnyRevision) UpdateSubmission(ctx context.Context, actor storage.Actor, u storage.SubmissionUpdate) (storage.Submission, error) {
	for {
		s, err := m.Submission(ctx, actor, u.FormID, u.ID)
		if err != nil {
			return storage.Submission{}, err
		}
		u.IfRevision = s.Revision
		s, err = m.Storage.UpdateSubmission(ctx, actor, u)
		if e, ok := err.(*storage.RevisionError); !ok || e.Kind == "" { //nolint:errorlint // of this package
			return s, err
		}
	}
}

func updateMutants() []mutant {
	updates := func(before func(*storage.SubmissionUpdate)) wrapper {
		return func(s storage.Storage) storage.Storage { return badUpdates{Storage: s, before: before} }
	}
	const group = "submission_updates/"
	return []mutant{
		{"forgets the unique answer of an update", []string{group + "unique", group + "other_rules", group + "order"},
			updates(func(u *storage.SubmissionUpdate) { u.UniqueAnswer = nil })},
		{"forgets who changed a submission", []string{group + "history"}, updates(func(u *storage.SubmissionUpdate) { u.By = storage.ID{} })},
		{"forgets that the respondent changed a submission", []string{group + "history"}, updates(func(u *storage.SubmissionUpdate) { u.ByRespondent = false })},
		{"queues no event of an update", []string{group + "event", group + "event_removal"}, updates(func(u *storage.SubmissionUpdate) { u.Event = storage.Event{} })},
		{"queues an event of an update with the original's type", []string{group + "event"}, updates(func(u *storage.SubmissionUpdate) { u.Event.Type = "form.response.completed" })},
		{"sends updates to every webhook", []string{group + "event"}, func(s storage.Storage) storage.Storage { return updatesForWebhooks{s} }},
		{"keeps the hidden fields", []string{group + "stored"}, updates(func(u *storage.SubmissionUpdate) { u.Hidden = jsonText(`{"ref":"mail"}`) })},
		{"updates at any time", []string{group + "invalid_values"}, updates(func(u *storage.SubmissionUpdate) { u.At = at(time.Hour) })},
		{"returns no time of the change", []string{group + "stored"}, func(s storage.Storage) storage.Storage {
			return badUpdates{Storage: s, after: func(sub *storage.Submission) { sub.ChangedAt = time.Time{} }}
		}},
		{"returns one earlier state", []string{group + "history", group + "concurrent_updates"}, func(s storage.Storage) storage.Storage {
			return badUpdates{Storage: s, history: func(states []storage.SubmissionState) []storage.SubmissionState { return states[:min(1, len(states))] }}
		}},
		{"updates at any revision", []string{group + "order", group + "concurrent_updates"}, func(s storage.Storage) storage.Storage { return updatesAnyRevision{s} }},
		{"lets everyone update", []string{group + "isolation"}, func(s storage.Storage) storage.Storage { return updatesForAll{s} }},
	}
}

type updatesForAll struct{ storage.Storage }

func (m updatesForAll) UpdateSubmission(ctx context.Context, _ storage.Actor, u storage.SubmissionUpdate) (storage.Submission, error) {
	return m.Storage.UpdateSubmission(ctx, storage.AsHost(), u)
}

// updatesForWebhooks sends the events of updates to webhooks that do not ask for them.
type updatesForWebhooks struct{ storage.Storage }

func (m updatesForWebhooks) CreateWebhook(ctx context.Context, actor storage.Actor, n storage.NewWebhook) error {
	n.Webhook.Updates = true
	return m.Storage.CreateWebhook(ctx, actor, n)
}
