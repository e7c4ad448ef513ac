package servicetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
)

type rawMap = map[string]json.RawMessage

// rawItems returns the items of stored answers by ID.
func rawItems(t *testing.T, answers json.RawMessage) map[string]string {
	t.Helper()
	var list []json.RawMessage
	expect.NoError(t, json.Unmarshal(answers, &list))
	items := map[string]string{}
	for _, raw := range list {
		var item struct{ Field struct{ ID string } }
		expect.NoError(t, json.Unmarshal(raw, &item))
		items[item.Field.ID] = string(raw)
	}
	expect.That(t, len(items) == len(list), "an answer is there twice: %s", answers)
	return items
}

// fullSubmission has an answer to each block of importForm.
func fullSubmission(t *testing.T, b *servicetest.Bundle, form formsvc.ID) formsvc.Submission {
	t.Helper()
	return expect.Must(b.Submit(t.Context(), formsvc.SubmitParams{
		FormID: form, Hidden: map[string]string{"ref": "mail"}, CompletionTime: 12.5, IdempotencyKey: "once",
		Metadata: formsvc.Metadata{Country: "NL"},
		Answers: rawMap{
			"text": json.RawMessage(`"plain \u00e9 <b>"`), "nps": json.RawMessage("9"), "one": json.RawMessage(`{"other":"Möhre"}`), "many": json.RawMessage(`["b","a"]`),
			"rank": json.RawMessage(`["b","a"]`), "grid": json.RawMessage(`{"r":["x","y"],"s":["y"]}`), "when": json.RawMessage(`"2026-11-20T10:00:00+02:00"`),
			"who": json.RawMessage(`{"firstName":"Ann","email":"ann@example.com"}`), "agree": json.RawMessage("true"),
		},
		HostAnswers: rawMap{
			"file":   json.RawMessage(`[{"id":"f","name":"a.pdf","url":"https://files.example/f","size":3,"mime_type":"application/pdf"}]`),
			"pay":    json.RawMessage(`{"amount":"5.00","currency":"EUR","status":"paid","gateway":"g"}`),
			"secret": json.RawMessage(`"hush"`),
		},
	}))
}

// An update changes only what it names, and every other answer keeps its bytes, also if the form has changed since.
func TestAnUpdateKeepsOtherAnswers(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form := importForm(b)
		client := b.As(b.User.ID)
		s := fullSubmission(t, b, form)
		before := rawItems(t, s.Answers)
		expect.That(t, s.Revision == 1 && s.ChangedAt.IsZero(), "a new submission has %+v", s)

		// Labels, a legal text and choices change, a block is deleted, and another gets a new type.
		const rank = `{"id":"rank","type":"ranking","label":"Rank","choices":[{"id":"a","label":"A"},{"id":"b","label":"B"}]},`
		blocks := strings.NewReplacer(rank, "", `"label":"Text"`, `"label":"New"`, `The [terms]`, `New [terms]`, `"label":"B"`, `"label":"Bee"`,
			`"id":"when","type":"date"`, `"id":"when","type":"short_text"`, `,"properties":{"showTimePicker":true}`, ``).Replace(importedForm)
		b.Change(form, formsvc.Definition{Blocks: json.RawMessage(blocks)})
		b.Publish(form)
		got := expect.Must(client.UpdateSubmission(t.Context(), form, s.ID, formsvc.SubmissionChange{Answers: rawMap{"nps": json.RawMessage("3")}}, formsvc.IfRevision(1)))
		after := rawItems(t, got.Answers)
		want := map[string]string{}
		for id, raw := range before {
			want[id] = raw
		}
		want["nps"] = strings.Replace(before["nps"], `"value":9`, `"value":3`, 1)
		want["score"] = strings.Replace(before["score"], "9", "3", 1)
		diff := cmp.Diff(want, after)
		expect.That(t, diff == "", "answers after the update (-want +got):\n%s", diff)
		expect.That(t, got.Revision == 2 && !got.ChangedAt.IsZero() && got.SubmittedAt.Equal(s.SubmittedAt) && string(got.Metadata) == string(s.Metadata) &&
			string(got.Hidden) == string(s.Hidden) && got.CompletionTime == s.CompletionTime, "the update changed more: %+v", got)
		expect.Same(t, got, expect.Must(client.Submission(t.Context(), form, s.ID)), "the stored submission")

		// The read-only answer to the deleted block cannot be named.
		_, err := client.UpdateSubmission(t.Context(), form, s.ID, formsvc.SubmissionChange{Answers: rawMap{"rank": json.RawMessage(`["a","b"]`)}})
		expect.That(t, violationCodes(err) == "/answers/rank UNKNOWN_FIELD", "a change of a deleted block: %v", err)

		// Answers are removed with null, hidden fields with an empty text, and a host's answer only by the host.
		for _, id := range []string{"pay", "file"} {
			_, err := client.UpdateSubmission(t.Context(), form, s.ID, formsvc.SubmissionChange{Answers: rawMap{id: json.RawMessage(`"x"`)}})
			expect.That(t, strings.HasPrefix(violationCodes(err), "/answers/"+id+" NOT_ALLOWED"), "a respondent's %s: %v", id, err)
		}
		got = expect.Must(client.UpdateSubmission(t.Context(), form, s.ID, formsvc.SubmissionChange{
			Answers: rawMap{"text": json.RawMessage("null"), "secret": json.RawMessage(`"forged"`), "when": json.RawMessage(`"soon"`)}, HostAnswers: rawMap{"secret": json.RawMessage("null")}, Hidden: map[string]string{"ref": ""},
		}))
		after = rawItems(t, got.Answers)
		for _, id := range []string{"text", "secret", "ref"} {
			expect.That(t, after[id] == "", "%s is not removed: %s", id, after[id])
		}
		expect.That(t, strings.Contains(after["when"], "soon") && after["pay"] == before["pay"] && after["agree"] == before["agree"] && string(got.Hidden) == "{}", "answers: %s, hidden: %s", got.Answers, got.Hidden)

		states := expect.Must(client.SubmissionHistory(t.Context(), form, s.ID))
		expect.Require(t, len(states) == 2, "%d earlier states", len(states))
		expect.That(t, string(states[1].Answers) == string(s.Answers) && string(states[1].Hidden) == string(s.Hidden) && states[1].Revision == 1 &&
			states[1].FormRevision == s.FormRevision && states[1].ReplacedBy == b.User.ID, "the first state: %s at %d", states[1].Answers, states[1].Revision)
		again := expect.Must(b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, IdempotencyKey: "once"}))
		expect.Same(t, got, again, "the repeated submission")
	})
}

func violationCodes(err error) string {
	var invalid *formsvc.Error
	if !errors.As(err, &invalid) {
		return fmt.Sprint(err)
	}
	var list []string
	for _, v := range invalid.Violations {
		list = append(list, v.Path+" "+v.Code)
	}
	return strings.Join(list, ", ")
}

// The current form decides about an update, also for drafts and closed and full forms.
func TestTheCurrentFormDecidesAboutAnUpdate(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		const blocks = `[{"id":"kind","type":"single_choice","label":"Kind","choices":[{"id":"a","label":"A"},{"id":"b","label":"B"}]},
			{"id":"why","type":"short_text","label":"Why","properties":{"rule":{"show":{"==":[{"var":"answers.kind"},"a"]}}}},
			{"id":"pay","type":"payment","label":"Pay","properties":{"rule":{"show":{"==":[{"var":"answers.kind"},"a"]}}}},
			{"id":"group","type":"group","properties":{"rule":{"show":{"==":[{"var":"answers.kind"},"a"]}}},"children":[{"id":"file","type":"file_upload"},{"id":"sign","type":"signature"}]},
			{"id":"mail","type":"email","label":"Mail"}]`
		form := b.Form(blocks, `{"duplicateField":"mail","responseLimit":2}`)
		b.Publish(form)
		client := b.AsHost()
		submit := func(mail string) formsvc.Submission {
			return expect.Must(b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: rawMap{
				"kind": json.RawMessage(`"a"`), "why": json.RawMessage(`"so"`), "mail": json.RawMessage(`"` + mail + `"`),
			}, HostAnswers: rawMap{
				"pay":  json.RawMessage(`{"amount":"5.00","currency":"EUR","status":"paid","gateway":"g"}`),
				"file": json.RawMessage(`[{"id":"f","name":"a.pdf","url":"https://files.example/f","size":3,"mime_type":"application/pdf"}]`),
				"sign": json.RawMessage(`{"id":"s","name":"a.png","url":"https://files.example/s","size":3,"mime_type":"image/png"}`),
			}}))
		}
		ann, bob := submit("ann@example.com"), submit("bob@example.com")
		change := func(s formsvc.Submission, answers rawMap, conditions ...formsvc.Precondition) (formsvc.Submission, error) {
			return client.UpdateSubmission(t.Context(), form, s.ID, formsvc.SubmissionChange{Answers: answers}, conditions...)
		}
		_, err := change(ann, rawMap{"mail": json.RawMessage(`"BOB@example.com"`)})
		expect.Error(t, "another submission's answer", err, formsvc.ErrDuplicate)
		_, err = change(ann, rawMap{"kind": json.RawMessage(`"c"`), "mail": json.RawMessage(`"x"`), "unknown": json.RawMessage("1")})
		expect.That(t, violationCodes(err) == "/answers/kind NOT_A_CHOICE, /answers/mail BAD_FORMAT, /answers/unknown UNKNOWN_FIELD", "violations: %v", err)
		_, err = change(ann, nil, formsvc.IfRevision(7))
		var stale *formsvc.RevisionError
		expect.That(t, errors.As(err, &stale) && stale.Kind == "submission" && stale.Current == 1, "a stale revision: %v", err)

		// The path drops an answer and files, but not a payment.
		got := expect.Must(change(ann, rawMap{"kind": json.RawMessage(`"b"`), "pay": json.RawMessage("null")}))
		items := rawItems(t, got.Answers)
		expect.That(t, items["why"]+items["file"]+items["sign"] == "" && items["pay"] == rawItems(t, ann.Answers)["pay"], "answers: %s", got.Answers)

		// Bob's answer is free after a change, and a new rule applies to all answers.
		expect.Must(change(bob, rawMap{"mail": json.RawMessage(`"bobby@example.com"`)}))
		got = expect.Must(change(ann, rawMap{"mail": json.RawMessage(`"bob@example.com"`)}))
		b.Change(form, formsvc.Definition{
			Blocks:   json.RawMessage(strings.Replace(blocks, `"label":"Mail"}`, `"label":"Mail"},{"id":"new","type":"short_text","label":"New","required":true}`, 1)),
			Settings: json.RawMessage(`{"duplicateField":"mail","responseLimit":2,"closed":true}`),
		})
		_, err = change(got, rawMap{"kind": json.RawMessage(`"a"`)})
		expect.That(t, violationCodes(err) == "/answers/new REQUIRED", "a question that is new: %v", err)
		got = expect.Must(change(got, rawMap{"new": json.RawMessage(`"yes"`)})) // closed and full
		draft := "draft"
		expect.Must(client.UpdateForm(t.Context(), form, formsvc.FormUpdate{Status: &draft}))
		got = expect.Must(change(got, rawMap{"new": json.RawMessage(`"no"`)}, formsvc.IfRevision(got.Revision)))
		expect.That(t, got.Revision == 5, "the revision is %d", got.Revision)
	})
}

// A summary contains an update immediately, metrics and other forms' users do not see it.
func TestSummariesSeeUpdates(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form := b.Form(`[{"id":"nps","type":"nps","label":"NPS"}]`, `{}`)
		b.Publish(form)
		old := time.Now().Add(-72 * time.Hour).Truncate(time.Second) // counted in the cache
		s := expect.Must(b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, SubmittedAt: old, Answers: rawMap{"nps": json.RawMessage("10")}}))
		promoters := func() int64 {
			return expect.Must(b.AsHost().Summary(t.Context(), form, formsvc.SubmissionQuery{})).Blocks[0].NPS.Promoters
		}
		for range 2 { // the second time from the cache
			expect.Equal(t, promoters(), 1, "the promoters before the update")
		}
		expect.Must(b.AsHost().UpdateSubmission(t.Context(), form, s.ID, formsvc.SubmissionChange{Answers: rawMap{"nps": json.RawMessage("0")}}))
		expect.That(t, promoters() == 0, "the summary has the answer before the update")
		m := expect.Must(b.AsHost().Metrics(t.Context(), form, formsvc.PeriodAll))
		expect.That(t, m.Submissions == 1, "metrics: %+v", m)
		states := expect.Must(b.AsHost().SubmissionHistory(t.Context(), form, s.ID))
		expect.That(t, len(states) == 1 && states[0].ReplacedBy.IsZero() && !states[0].ReplacedByRespondent, "the host's change: %+v", states)
		byRespondent := formsvc.SubmissionChange{ByRespondent: true}
		expect.Must(b.AsHost().UpdateSubmission(t.Context(), form, s.ID, byRespondent))
		states = expect.Must(b.AsHost().SubmissionHistory(t.Context(), form, s.ID))
		expect.That(t, len(states) == 2 && states[0].ReplacedByRespondent && states[0].ReplacedBy.IsZero(), "the respondent's change: %+v", states)
		for name, client := range map[string]formsvc.Client{"a user": b.As(b.User.ID), "a stranger": b.As(formsvc.UserIDFrom("other"))} {
			_, err := client.UpdateSubmission(t.Context(), form, s.ID, byRespondent)
			expect.That(t, violationCodes(err) == "/by_respondent NOT_ALLOWED", "a change by the respondent from %s: %v", name, err)
		}
		expect.That(t, len(expect.Must(b.AsHost().SubmissionHistory(t.Context(), form, s.ID))) == 2, "a refused change is in the history")
		stranger := b.As(formsvc.UserIDFrom("stranger"))
		_, err := stranger.UpdateSubmission(t.Context(), form, s.ID, formsvc.SubmissionChange{})
		expect.Error(t, "a stranger's update", err, formsvc.ErrNotFound)
		_, err = stranger.SubmissionHistory(t.Context(), form, s.ID)
		expect.Error(t, "a stranger's history", err, formsvc.ErrNotFound)
	})
}

// Concurrent changes without a condition are all applied; with one, exactly one is.
func TestConcurrentUpdates(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		ids := []string{"a", "b", "c", "d"}
		var blocks []string
		for _, id := range ids {
			blocks = append(blocks, fmt.Sprintf(`{"id":%q,"type":"short_text","label":"Q"}`, id))
		}
		form := b.Form("["+strings.Join(blocks, ",")+"]", `{}`)
		b.Publish(form)
		s := expect.Must(b.Submit(t.Context(), formsvc.SubmitParams{FormID: form}))
		together := func(conditions ...formsvc.Precondition) (errs []error) {
			var wg sync.WaitGroup
			errs = make([]error, len(ids))
			for i, id := range ids {
				wg.Go(func() {
					_, errs[i] = b.AsHost().UpdateSubmission(context.WithoutCancel(t.Context()), form, s.ID, formsvc.SubmissionChange{Answers: rawMap{id: json.RawMessage(`"x"`)}}, conditions...)
				})
			}
			wg.Wait()
			return errs
		}
		for _, err := range together() {
			expect.NoError(t, err)
		}
		got := expect.Must(b.AsHost().Submission(t.Context(), form, s.ID))
		expect.That(t, len(rawItems(t, got.Answers)) == len(ids) && got.Revision == 5, "after concurrent changes: %s at %d", got.Answers, got.Revision)
		errs := together(formsvc.IfRevision(5))
		failed := slices.DeleteFunc(errs, func(err error) bool { return err == nil })
		expect.That(t, len(failed) == len(ids)-1, "%d of %d updates failed", len(failed), len(ids))
		for _, err := range failed {
			expect.Error(t, "an update at an earlier revision", err, storage.ErrRevisionMismatch)
		}
	})
}

// An export shows changes if it is asked for them, and an import reads it.
func TestAnExportShowsChanges(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form := b.Form(`[{"id":"revision","type":"short_text","label":"Q"}]`, `{}`)
		b.Publish(form)
		at := time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)
		submit := func(i int, respondent string) formsvc.Submission {
			return expect.Must(b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, SubmittedAt: at.Add(time.Duration(i) * time.Hour), Respondent: respondent, Answers: rawMap{"revision": json.RawMessage(`"a"`)}}))
		}
		old, changed := submit(0, "ann"), submit(1, "bob")
		changed = expect.Must(b.AsHost().UpdateSubmission(t.Context(), form, changed.ID, formsvc.SubmissionChange{Answers: rawMap{"revision": json.RawMessage(`"b"`)}}))
		when := changed.ChangedAt.Format("2006-01-02T15:04:05Z")
		export := func(e formsvc.Export) string {
			var file strings.Builder
			expect.NoError(t, b.AsHost().Export(t.Context(), &file, form, e))
			return file.String()
		}
		csv := export(formsvc.Export{Changes: true, Respondent: true})
		want := "submission_id,submitted_at,respondent,revision,changed_at,\"revision (2)\""
		expect.That(t, strings.HasPrefix(csv, want), "CSV: %s", csv)
		expect.That(t, strings.Contains(csv, `"bob",2,`+when+`,"b",`) && strings.Contains(csv, `"ann",1,,"a",`), "CSV: %s", csv)
		lines := export(formsvc.Export{Format: formsvc.NDJSON, Changes: true})
		expect.That(t, strings.Contains(lines, `"revision":2,"changed_at":"`+when+`"}`) && strings.Contains(lines, `"revision":1}`), "NDJSON: %s", lines)
		expect.That(t, !strings.Contains(export(formsvc.Export{Format: formsvc.NDJSON}), "changed_at"), "an export shows changes unasked")
		report := importInto(t, b, form, lines, formsvc.Import{})
		expect.That(t, report.Imported == 2 && len(report.Refused) == 0, "the import: %+v", report)
		// The history has what SubmissionHistory returns, and an import reads over it.
		expect.Must(b.AsHost().UpdateSubmission(t.Context(), form, changed.ID, formsvc.SubmissionChange{Answers: rawMap{"revision": json.RawMessage(`"c"`)}, ByRespondent: true}))
		expect.Must(b.As(b.User.ID).UpdateSubmission(t.Context(), form, changed.ID, formsvc.SubmissionChange{Answers: rawMap{"revision": json.RawMessage(`"d"`)}}))
		lines = export(formsvc.Export{Format: formsvc.NDJSON, History: true})
		var states []string
		for i, s := range expect.Must(b.AsHost().SubmissionHistory(t.Context(), form, changed.ID)) {
			by := map[bool]string{true: fmt.Sprintf(`,"replaced_by":%q`, s.ReplacedBy)}[i == 0]
			states = append(states, fmt.Sprintf(`{"revision":%d,"replaced_at":%q%s,"replaced_by_respondent":%t,"answers":%s}`, 3-i, s.ReplacedAt.Format("2006-01-02T15:04:05Z"), by, i == 1, s.Answers))
		}
		expect.That(t, len(states) == 3 && strings.Contains(lines, `,"history":[`+strings.Join(states, ",")+"]}\n"), "the history: %s\nwant %s", lines, states)
		expect.Equal(t, strings.Count(lines, "history"), 1, "submissions with a history")
		query := "/" + form.String() + ".ndjson?changes=true&history=true"
		served := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, query, nil)
		r.Header.Set("X-API-Key", b.Key)
		b.ExportHandler().ServeHTTP(served, r)
		expect.Equal(t, served.Body.String(), export(formsvc.Export{Format: formsvc.NDJSON, History: true, Changes: true}), "the export over HTTP")
		r.URL.Path = "/" + form.String() + ".csv"
		served = httptest.NewRecorder()
		b.ExportHandler().ServeHTTP(served, r)
		expect.That(t, served.Code == http.StatusUnprocessableEntity && strings.Contains(served.Body.String(), "query:history"), "a CSV with a history: %d %s", served.Code, served.Body)
		err := b.AsHost().Export(t.Context(), io.Discard, form, formsvc.Export{History: true})
		expect.Equal(t, violationCodes(err), "/history NOT_ALLOWED", "a CSV with a history")
		report = importInto(t, b, form, lines, formsvc.Import{})
		expect.That(t, report.Repeated+report.Imported == 4 && len(report.Refused) == 0, "the import of a history: %+v", report)
		for s, err := range b.AsHost().Submissions(t.Context(), form, formsvc.SubmissionQuery{}) {
			expect.NoError(t, err)
			expect.That(t, s.ID == changed.ID || s.Revision == 1, "an imported submission has the revision %d", s.Revision)
		}
		expect.That(t, old.Revision == 1, "a new submission has the revision %d", old.Revision)
	})
}

// An earlier state is erased with its submission, also if only the earlier state has the respondent's answer.
func TestEarlierStatesAreErased(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form := b.Form(`[{"id":"mail","type":"email","label":"Mail"},{"id":"text","type":"short_text","label":"Text"}]`, `{}`)
		b.Publish(form)
		submit := func(mail string) formsvc.Submission {
			return expect.Must(b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: rawMap{"mail": json.RawMessage(`"` + mail + `"`)}}))
		}
		change := func(s formsvc.Submission, id, value string) {
			expect.Must(b.AsHost().UpdateSubmission(t.Context(), form, s.ID, formsvc.SubmissionChange{Answers: rawMap{id: json.RawMessage(value)}}))
		}
		moved, changed, other := submit("ann@example.com"), submit("ann@example.com"), submit("bob@example.com")
		change(moved, "mail", `"new@example.com"`)
		change(changed, "text", `"x"`)
		change(other, "text", `"ann@example.com"`)
		var listed []formsvc.ID
		for s, err := range b.FindRespondent(t.Context(), form, map[string]string{"mail": "Ann@example.com"}) {
			expect.NoError(t, err)
			listed = append(listed, s.ID)
		}
		expect.Same(t, []formsvc.ID{changed.ID, moved.ID}, listed, "found")
		n := expect.Must(b.EraseRespondent(t.Context(), form, map[string]string{"mail": "Ann@example.com"}))
		expect.That(t, n == 2, "%d submissions were erased", n)
		for _, id := range []formsvc.ID{moved.ID, changed.ID} {
			_, err := b.AsHost().SubmissionHistory(t.Context(), form, id)
			expect.Error(t, "the history of an erased submission", err, formsvc.ErrNotFound)
		}
		expect.That(t, len(expect.Must(b.AsHost().SubmissionHistory(t.Context(), form, other.ID))) == 1, "another submission has no history")
	})
}
