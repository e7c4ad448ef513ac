package intake

import (
	"context"

	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/storage"
)

const eventResponseCompleted = "form.response.completed"

// encodeEvent returns the request body that all attempts send. Test events have no submission ID.
func encodeEvent(event storage.ID, s storage.Submission, a answers.Answers) []byte {
	w := jsontree.NewWriter(make([]byte, 0, 256+len(a.ByField)+len(s.Hidden)+len(a.Variables)+len(a.Consents)+len(s.Metadata)))
	w.Object()
	w.Name("id").Hex(event[:])
	w.Name("response").Object()
	w.Name("formId").Hex(s.FormID[:])
	w.Name("answers").Raw(a.ByField)
	if !s.ID.IsZero() {
		w.Name("submissionId").Hex(s.ID[:])
	}
	w.Name("submittedAt").Time(s.SubmittedAt)
	w.Name("hidden").Raw(s.Hidden)
	w.Name("variables").Raw(a.Variables)
	w.Name("consents").Raw(a.Consents)
	w.Name("metadata").Raw(s.Metadata)
	w.Name("completionTime").Float(s.CompletionTime)
	w.EndObject()
	w.EndObject()
	return w.Bytes()
}

// sampleMetadata sets every field, so that a test event has the fields of a real event.
var sampleMetadata = Metadata{Country: "NL", Device: "desktop", UserAgent: "Mozilla/5.0", UTM: map[string]string{
	"campaign": "sample", "content": "sample", "medium": "sample", "source": "sample", "term": "sample",
}}

// SendTestEvent sends a test event with sample answers to a webhook. If a test event is already pending, that event
// becomes due.
func (i Intake) SendTestEvent(ctx context.Context, webhookID storage.ID) error {
	w, err := i.core.Storage.Webhook(ctx, storage.AsHost(), webhookID)
	if err != nil {
		return err
	}
	_, form, err := i.Form(ctx, w.FormID)
	if err != nil {
		return err
	}
	now := i.core.Now()
	sample := form.answers.Sample()
	event := i.core.NewID(now)
	body := encodeEvent(event, storage.Submission{
		FormID: w.FormID, SubmittedAt: now, Hidden: sample.Hidden, Metadata: encodeMetadata(sampleMetadata), CompletionTime: 60,
	}, sample)
	return i.core.Storage.Enqueue(ctx, webhookID, storage.Event{ID: event, Type: eventResponseCompleted, Body: body, Single: true})
}
