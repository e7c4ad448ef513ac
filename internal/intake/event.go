package intake

import (
	"context"
	"errors"

	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

const (
	eventResponseCompleted = "form.response.completed"
	eventResponseUpdated   = "form.response.updated"
)

// encodeEvent returns the request body that all attempts send. Test events have no submission ID. Only events of changed
// submissions have a type, because the specification fixes the fields of the others.
func (i Intake) encodeEvent(event storage.ID, s storage.Submission, a answers.Answers) []byte {
	w := jsontree.NewWriter(make([]byte, 0, 256+len(a.ByField)+len(s.Hidden)+len(a.Variables)+len(a.Consents)+len(s.Metadata)))
	w.Object()
	w.Name("id").Hex(event[:])
	if s.Revision > 1 {
		w.Name("type").String(eventResponseUpdated)
	}
	w.Name("response").Object()
	w.Name("formId").Hex(s.FormID[:])
	w.Name("answers").Raw(a.ByField)
	if !s.ID.IsZero() {
		w.Name("submissionId").Hex(s.ID[:])
	}
	if i.includeRespondent && s.Respondent != "" {
		w.Name("respondent").String(s.Respondent)
	}
	w.Name("submittedAt").Time(s.SubmittedAt)
	w.Name("hidden").Raw(s.Hidden)
	w.Name("variables").Raw(a.Variables)
	w.Name("consents").Raw(a.Consents)
	w.Name("metadata").Raw(s.Metadata)
	w.Name("completionTime").Float(s.CompletionTime)
	if s.Revision > 1 {
		w.Name("revision").Int(s.Revision)
		w.Name("changedAt").Time(s.ChangedAt)
	}
	w.EndObject()
	w.EndObject()
	return w.Bytes()
}

// EncodeStoredEvent returns the body of an event about a stored submission, without the respondent and form details.
func EncodeStoredEvent(event storage.ID, s storage.Submission) ([]byte, error) {
	list, err := schema.DecodeAnswers(s.Answers)
	return Intake{}.encodeEvent(event, s, encodeStored(s.Answers, list)), err
}

// eventDetails returns the end of an event's body for webhooks that ask for the form's details. It replaces the last two
// bytes of the body. An empty language is omitted. Callers must not change the result.
func (k *CompiledForm) eventDetails(language string) []byte {
	if details, ok := k.details.Get(language); ok {
		return details
	}
	w := jsontree.NewWriter(make([]byte, 0, 64+len(k.Name)+len(k.questions)))
	w.Object()
	w.Name("formName").String(k.Name)
	if language != "" {
		w.Name("language").String(language)
	}
	w.Name("questions").Raw(k.questions)
	w.EndObject()
	w.EndObject()
	details := w.Bytes()
	details[0] = ','
	k.details.Put(language, details, len(details))
	return details
}

// encodeQuestions returns the label and type of each question by block ID, in form order.
func encodeQuestions(blocks []schema.Block) []byte {
	var w jsontree.Writer
	w.Object()
	var add func(blocks []schema.Block)
	add = func(blocks []schema.Block) {
		for i := range blocks {
			b := &blocks[i]
			if known, _ := schema.LookupBlockType(b.Type); known.TakesAnswer() {
				w.Name(b.ID).Object()
				w.Name("label").String(b.PlainLabel())
				w.Name("type").String(b.Type)
				w.EndObject()
			}
			add(b.Children)
		}
	}
	add(blocks)
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
	if errors.Is(err, storage.ErrNotFound) {
		w, err = i.core.Storage.Webhook(ctx, storage.AsLocal(), webhookID)
	}
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
	body := i.encodeEvent(event, storage.Submission{
		FormID: w.FormID, SubmittedAt: now, Hidden: sample.Hidden, Metadata: form.encodeMetadata(sampleMetadata), CompletionTime: 60, Respondent: "sample",
	}, sample)
	e := storage.Event{ID: event, Type: eventResponseCompleted, Body: body, Details: form.eventDetails("en"), Single: true}
	e.Body, e.Details = e.BodyFor(w.FormDetails), nil
	return i.core.Storage.Enqueue(ctx, webhookID, e)
}
