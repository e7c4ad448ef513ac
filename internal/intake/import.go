package intake

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/timeout"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// ImportParams controls how a submission is imported. Package formsvc documents its fields.
type ImportParams struct {
	FormID           storage.ID
	Lenient, Deliver bool
	HostAnswers      bool // whether to accept answers that only the host may give

	repeating bool // whether the previous line was stored before, so that this line probably was too
}

// importedLine is a line of an NDJSON export. The form and the status are ignored.
type importedLine struct {
	ID             string
	IdempotencyKey string
	SubmittedAt    time.Time
	CompletionTime float64
	Respondent     string

	metadata, answers json.RawMessage
	list              []schema.Answer // the decoded answers
	marked            bool            // whether the metadata has "imported": true
}

// key returns the idempotency key of a line.
func (in *importedLine) key() string {
	if in.IdempotencyKey == "" && in.ID != "" {
		return "import:" + in.ID
	}
	return in.IdempotencyKey
}

const (
	// maxImportLine limits a line. It allows submissions of the largest size with their labels.
	maxImportLine = 8 << 20
	// maxRefused limits the refused lines of a report. An import of another format refuses all lines.
	maxRefused = 10_000
)

var errTooManyRefused = violation.New("", schema.CodeTooMany, "the import ended, because more than "+violation.FormatCount(maxRefused, "line")+" were refused")

// Import stores the submissions of an NDJSON export. It calls progress after each 1,000 lines and at the end. It
// continues after a refused line, and stops at any other error. The report is valid in any case.
func (i Intake) Import(ctx context.Context, p ImportParams, lines io.Reader, progress func(schema.ImportReport) error) (report schema.ImportReport, err error) {
	scanner := bufio.NewScanner(lines)
	scanner.Buffer(nil, maxImportLine)
	first := true
	for number := int64(1); scanner.Scan(); number++ {
		if err := ctx.Err(); err != nil {
			return report, err
		}
		line := bytes.TrimSpace(scanner.Bytes())
		if number == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if first && len(line) > 0 && line[0] != '{' && bytes.IndexByte(line, 0) < 0 && !json.Valid(line) { // UTF-16 has its own error
			return report, violation.New("", schema.CodeBadFormat, fmt.Sprintf("must be NDJSON, with one JSON object per line, as in an NDJSON export. Other formats such as CSV cannot be imported. The first line is %.100q", line))
		}
		first = first && len(line) == 0
		if len(line) > 0 && !bytes.HasPrefix(line, completionLine) {
			replayed, err := i.importLine(ctx, p, line)
			p.repeating = replayed
			switch {
			case isRefusal(err) && len(report.Refused) == maxRefused:
				return report, errTooManyRefused
			case isRefusal(err):
				report.Refused = append(report.Refused, schema.RefusedLine{Line: number, Err: err})
			case err != nil:
				return report, err
			case replayed:
				report.Repeated++
			default:
				report.Imported++
			}
		}
		if number%1000 == 0 {
			if err := progress(report); err != nil {
				return report, err
			}
		}
	}
	if errors.Is(scanner.Err(), bufio.ErrTooLong) {
		return report, violation.New("", schema.CodeTooLong, "a line has more than 8 MiB")
	}
	return report, errors.Join(scanner.Err(), progress(report))
}

// completionLine is the start of the last line of an export.
var completionLine = []byte(`{"complete":`)

// isRefusal reports whether an error concerns only the line that was imported.
func isRefusal(err error) bool {
	_, broken := errors.AsType[*schema.Error](err)
	return broken || errors.Is(err, storage.ErrDuplicate)
}

// importLine stores a submission with its answers, metadata and time as they are. replayed reports whether it was
// imported before. Unlike Submit, it accepts submissions to closed forms.
func (i Intake) importLine(ctx context.Context, p ImportParams, line []byte) (replayed bool, err error) {
	ctx = timeout.WithBudget(ctx)
	tree, err := jsontree.Parse(line, jsontree.BodyLimits)
	if err != nil {
		return false, violation.New("", schema.CodeBadFormat, "must be valid JSON: "+err.Error())
	}
	in, err := parseLine(tree.Root())
	tree.Release()
	if err != nil {
		return false, err
	}
	for range core.MaxConflictRetries {
		_, form, err := i.Form(ctx, p.FormID)
		if err != nil {
			return false, err
		}
		if form.Status != storage.StatusPublished {
			return false, ErrDraft
		}
		if err := checkLine(form, p, in, i.core.Clock()); err != nil {
			return false, err
		}
		n, replayed, err := i.newImport(ctx, form, p, in)
		if err != nil || replayed {
			return replayed, err
		}
		_, replayed, err = i.storeSubmission(ctx, n)
		if errors.Is(err, storage.ErrLimitReached) {
			return false, violation.New("", schema.CodeTooMany, "the form has as many submissions as its response limit allows")
		}
		if !errors.Is(err, storage.ErrRevisionMismatch) {
			return replayed, err
		}
	}
	return false, storage.ErrUnavailable
}

// checkLine checks everything but the rules of the form.
func checkLine(form *CompiledForm, p ImportParams, in *importedLine, clock time.Time) error {
	err := violation.Join(checkSubmittedAt(in.SubmittedAt, clock), checkSeconds("/completion_time", in.CompletionTime), checkIdempotencyKey(in.key()), core.CheckRespondent(in.Respondent))
	if err == nil && !p.HostAnswers {
		err = checkForged(form.answers, in.list, in.Respondent)
	}
	return err
}

// newImport checks the answers by the rules that the form has now. replayed reports whether the submission was stored
// before. It then depends neither on the rules nor on the host.
func (i Intake) newImport(ctx context.Context, form *CompiledForm, p ImportParams, in *importedLine) (n storage.NewSubmission, replayed bool, err error) {
	at, metadata, checked := in.SubmittedAt.UTC().Truncate(time.Second), in.metadata, encodeStored(in.answers, in.list)
	given := form.answers.StoredInput(in.list, at)
	today, err := form.answers.Check(given)
	asks := err == nil && form.answers.AsksHost()
	if p.repeating || asks || err != nil && !p.Lenient { // hasKey takes less time than to repeat the submission
		if replayed, err := i.hasKey(ctx, form.ID, in.key()); replayed || err != nil {
			return n, replayed, err
		}
	}
	if asks {
		today, err = form.checkWithHost(ctx, given, in.Respondent, today)
	}
	if form.Settings.Anonymous {
		var m Metadata
		_ = json.Unmarshal(metadata, &m) // parseLine has checked it
		if metadata = form.encodeMetadata(m); in.marked {
			metadata = markImported(metadata)
		}
	}
	checked.Ending = today.Ending
	switch {
	case err == nil:
		checked.Unique = today.Unique
	case !p.Lenient || !isRefusal(err):
		return n, false, err
	case !in.marked:
		metadata = markImported(metadata)
	}
	in.Respondent = form.knownRespondent(in.Respondent)
	n = storage.NewSubmission{
		Submission: storage.Submission{
			ID: i.core.NewID(i.core.Now()), FormID: form.ID, SubmittedAt: at, CompletionTime: in.CompletionTime,
			Answers: checked.List, Metadata: metadata, Hidden: checked.Hidden, Respondent: in.Respondent, Ending: checked.Ending,
		},
		OnePerRespondent: form.Settings.OnePerRespondent && in.Respondent != "",

		FormRevision: form.Revision, IdempotencyKey: in.key(), UniqueAnswer: checked.Unique,
		UniqueField: storage.UniqueField{Block: form.Acceptance.Unique.Block, Rules: answers.IdentityRules},
	}
	if p.Deliver {
		event := i.core.NewID(i.core.Now())
		n.Event = storage.Event{ID: event, Type: eventResponseCompleted, Body: i.encodeEvent(event, n.Submission, checked), Details: form.eventDetails("")}
	}
	return n, false, nil
}

// hasKey reports whether the form has a submission with the idempotency key.
func (i Intake) hasKey(ctx context.Context, form storage.ID, key string) (bool, error) {
	if key == "" {
		return false, nil
	}
	_, err := i.core.Storage.SubmissionByKey(ctx, form, key)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// parseLine parses a line, whose answers and metadata must have exactly the format that the API describes.
func parseLine(n jsontree.Node) (*importedLine, error) {
	if n.Kind() != jsontree.Object || n.HasNUL() {
		return nil, violation.New("", schema.CodeBadFormat, "must be a submission in the format of an NDJSON export")
	}
	in := new(importedLine)
	var found violation.List
	for _, field := range []struct {
		name, want string
		to         any
	}{
		{"id", "text", &in.ID}, {"idempotency_key", "text", &in.IdempotencyKey}, {"respondent", "text", &in.Respondent},
		{"completion_time", "a number", &in.CompletionTime},
	} {
		if given := n.Member(field.name); given.Exists() && json.Unmarshal([]byte(given.Raw()), field.to) != nil {
			found.Add("/"+field.name, schema.CodeBadFormat, "must be "+field.want)
		}
	}
	for _, name := range []string{"submitted_at", "answers"} {
		if !n.Member(name).Exists() {
			found.Add("/"+name, schema.CodeRequired, "is required")
		}
	}
	at, ok := jsontree.ParseTime(n.Member("submitted_at").Text())
	if n.Member("submitted_at").Exists() && !ok {
		found.Add("/submitted_at", schema.CodeBadFormat, "must be a time such as 2026-11-20T08:33:01Z")
	}
	in.SubmittedAt, in.metadata = at, json.RawMessage("{}")
	if given := n.Member("answers"); given.Exists() {
		in.answers = json.RawMessage(given.Raw())
	}
	if given := n.Member("metadata"); given.Exists() {
		in.metadata, in.marked = json.RawMessage(given.Raw()), given.Member("imported").Exists()
		if !isMetadata(given) {
			found.Add("/metadata", schema.CodeBadFormat, "must be an object with country, device, user_agent and utm")
		}
	}
	var m Metadata
	_ = json.Unmarshal(in.metadata, &m)
	seen, items := make(map[string]bool), n.Member("answers")
	if items.Kind() != jsontree.Array {
		items = jsontree.Node{} // DecodeAnswers reports it
	}
	for index, item := range items.All() {
		at, id := "/answers/"+strconv.Itoa(index), item.Member("field").Member("id").Text()
		checkAnswer(&found, at, item)
		if id != "" && seen[id] {
			found.Add(at+"/field/id", schema.CodeDuplicate, "must be different from the other answers")
		}
		seen[id] = true
	}
	if err := violation.Join(found.Err(), checkMetadata(m)); err != nil {
		return nil, err
	}
	list, err := schema.DecodeAnswers(in.answers)
	if err != nil {
		return nil, violation.New("/answers", schema.CodeBadFormat, "must be a list of answers in the format of an NDJSON export")
	}
	in.list = list
	return in, nil
}

// checkAnswer reports missing and malformed parts of a stored answer at a path.
func checkAnswer(found *violation.List, at string, item jsontree.Node) {
	field, whole := item.Member("field"), true
	answerType := field.Member("type").Text()
	require := func(path string, given bool) {
		if whole = whole && given; !given {
			found.Add(at+path, schema.CodeRequired, "is required")
		}
	}
	require("/field/id", field.Member("id").Text() != "")
	require("/field/type", field.Member("type").Text() != "")
	require("/field/label", field.Member("label").Exists())
	require("/value", item.Member("value").Exists())
	switch {
	case !whole:
	case !hasFields(item, 2, "field", "value"):
		found.Add(at, schema.CodeUnknownField, "must have no fields except field and value")
	case !hasTexts(field, 3, "id", "type", "label", "text"):
		found.Add(at+"/field", schema.CodeBadFormat, "must be an object with the texts id, type and label, and for consents text")
	case !isStored(answerType, item.Member("value")):
		found.Add(at+"/value", schema.CodeBadFormat, "must have the format of a stored answer of the type "+strconv.Quote(answerType))
	}
}

// encodeStored returns stored answers in all formats, without a change.
func encodeStored(raw json.RawMessage, list []schema.Answer) answers.Answers {
	var byField, hidden, variables, consents jsontree.Writer
	all := []*jsontree.Writer{&byField, &hidden, &variables, &consents}
	for _, w := range all {
		w.Object()
	}
	for _, a := range list {
		to := &byField
		switch a.Type {
		case schema.TypeHidden:
			hidden.Name(a.ID).Raw(a.JSON)
		case schema.TypeVariable:
			to = &variables
		}
		to.Name(a.ID).Raw(a.JSON)
		if a.LegalText != "" && a.Value == schema.Bool(true) {
			consents.Name(a.ID).String(a.LegalText)
		}
	}
	for _, w := range all {
		w.EndObject()
	}
	if raw == nil {
		raw = json.RawMessage("[]")
	}
	return answers.Answers{List: raw, ByField: byField.Bytes(), Hidden: hidden.Bytes(), Variables: variables.Bytes(), Consents: consents.Bytes()}
}

// checkForged reports what only the host may state. An API key could otherwise forge a payment.
func checkForged(form answers.Form, list []schema.Answer, respondent string) error {
	var found violation.List
	if respondent != "" {
		found.Add("/respondent", schema.CodeNotAllowed, "only the host can import this")
	}
	for index := range list {
		if form.IsFromHost(&list[index]) {
			found.Add("/answers/"+strconv.Itoa(index), schema.CodeNotAllowed, "only the host can import this answer")
		}
	}
	return found.Err()
}

// markImported adds "imported": true to metadata without it.
func markImported(metadata json.RawMessage) json.RawMessage {
	body := bytes.TrimSpace(metadata)
	body = bytes.TrimSpace(body[:len(body)-1]) // without the brace
	if len(body) == 1 {
		return json.RawMessage(`{"imported":true}`)
	}
	return append(bytes.Clone(body), `,"imported":true}`...)
}
