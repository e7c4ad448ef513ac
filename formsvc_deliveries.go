package formsvc

import (
	"context"
	"errors"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/webhooks"
)

// Redeliver sends the event of an earlier delivery again, from its first attempt
// and with the same bytes. deliveryID is the id of a summary of GET
// /webhooks/{webhookId}/deliveries. It returns [ErrNotFound] when there is no such
// delivery or its submission was deleted, and [ErrConflict] when the webhook is
// disabled.
func (s *Service) Redeliver(ctx context.Context, webhookID, deliveryID ID) error {
	return s.queued(s.storage.Redeliver(ctx, webhookID, deliveryID))
}

// SendTestEvent queues an event for one webhook with sample answers made from the
// blocks of its form. It has no submissionId, and is signed, logged and tried
// again like any other. It returns [ErrNotFound] when there is no such webhook,
// and [ErrConflict] when it is disabled.
func (s *Service) SendTestEvent(ctx context.Context, webhookID ID) error {
	w, err := s.storage.Webhook(ctx, storage.AsHost(), webhookID)
	if err != nil {
		return err
	}
	form, err := s.readForm(ctx, w.FormID)
	if err != nil {
		return err
	}
	now := s.now()
	sample := form.answers.Sample()
	event := s.ids.New(now)
	body := eventBody(event, Submission{
		FormID: w.FormID, SubmittedAt: now, Hidden: sample.Hidden, Metadata: encodeMetadata(Metadata{}),
	}, sample)
	return s.queued(s.storage.Enqueue(ctx, webhookID, storage.Event{ID: event, Type: eventResponseCompleted, Body: body}))
}

// destinations lets the handler ask the webhook guard about URLs.
type destinations struct{ guard *webhooks.Guard }

func (d destinations) CheckURL(raw string) error { return rejection(d.guard.CheckURL(raw)) }

func (d destinations) CheckHost(ctx context.Context, raw string) error {
	return rejection(d.guard.CheckHost(ctx, raw))
}

func rejection(err error) error {
	var refused *webhooks.URLError
	if errors.As(err, &refused) {
		return &core.RejectedURLError{Reason: refused.Reason}
	}
	return err
}

// queued wakes the dispatcher after something was queued.
func (s *Service) queued(err error) error {
	if err == nil && !s.borrowed {
		s.dispatcher.Wake()
	}
	return err
}
