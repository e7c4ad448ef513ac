package servicetest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/schema"
)

// legalBlocks is the blocks of a form with a consent, "terms", and a text, "name".
func legalBlocks(text string) string {
	return `[{"id":"terms","type":"legal","label":"Terms","properties":{"legalText":` + string(expect.Must(json.Marshal(text))) + `}},{"id":"name","type":"short_text"}]`
}

// The text that was accepted is read from the stored answer, whatever becomes of the form.
func TestConsentsAreRecorded(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form, other := b.Form(legalBlocks("First **text**, [more](https://example.com/1)"), `{}`), b.Form(legalBlocks("Another tenant's"), `{}`)
		url, requests := servicetest.Receiver(t)
		b.Webhook(form, url, servicetest.Secret)
		b.Dispatch()
		const first, second = "First text, more (https://example.com/1)", "Second text"
		submit := func(accepted string, seen map[string]string) (formsvc.Submission, error) {
			return b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers("terms", accepted), LegalTexts: seen})
		}
		check := func(accepted, text, consents string) {
			t.Helper()
			s := expect.Must(submit(accepted, nil))
			list := expect.Must(formsvc.DecodeAnswers(s))
			expect.That(t, len(list) == 1 && list[0].LegalText == text, "Submit returned %+v, want the text %q", list, text)
			var event struct {
				Response struct{ Consents json.RawMessage }
			}
			expect.NoError(t, json.Unmarshal([]byte((<-requests).Body), &event))
			expect.Equal(t, string(event.Response.Consents), consents, "the consents of the event")
		}
		check(`true`, first, `{"terms":"`+first+`"}`)
		check(`false`, first, `{}`)
		b.Change(form, formsvc.Definition{Blocks: json.RawMessage(legalBlocks(second))})
		check(`true`, second, `{"terms":"`+second+`"}`)
		_, err := submit(`true`, map[string]string{"terms": "First **text**, [more](https://example.com/1)"})
		expect.Equal(t, violations(err), "/answers/terms NOT_ALLOWED", "the consent to a text that has changed")
		expect.Must(submit(`true`, map[string]string{"terms": second}))
		expect.Must(b.Answer(other, "terms", `true`))

		b.Change(form, formsvc.Definition{Blocks: json.RawMessage(servicetest.TextBlock)})
		var csv, ndjson bytes.Buffer
		expect.NoError(t, b.AsHost().Export(t.Context(), &csv, form, formsvc.Export{}))
		expect.NoError(t, b.AsHost().Export(t.Context(), &ndjson, form, formsvc.Export{Format: formsvc.NDJSON}))
		header, _, _ := strings.Cut(csv.String(), "\r\n")
		expect.That(t, strings.Contains(header, `"name","terms","terms/text",`), "the header is %s", header)
		for cells, n := range map[string]int{`,true,"` + first + `",`: 1, `,false,"` + first + `",`: 1, `,true,"` + second + `",`: 2, "Another": 0} {
			expect.Equal(t, strings.Count(csv.String(), cells), n, cells)
		}
		for field, n := range map[string]int{`"text":"` + first + `"}`: 2, `"text":"` + second + `"}`: 2, "Another": 0} {
			expect.Equal(t, strings.Count(ndjson.String(), field), n, field)
		}
		expect.Error(t, "another user", b.As(formsvc.UserIDFrom("stranger")).Export(t.Context(), &csv, form, formsvc.Export{}), formsvc.ErrNotFound)
	})
}

// While an owner edits the text, no submission is stored with another text than its respondent has seen.
func TestConsentsWhileTheTextChanges(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form := b.Form(legalBlocks("text 0"), `{}`)
		public := expect.Must(b.AsHost().Form(t.Context(), form)).PublicID
		var all sync.WaitGroup
		var mu sync.Mutex
		seen, stop := map[formsvc.ID]string{}, make(chan struct{})
		var refused int
		for range 4 {
			all.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					page, err := b.PublicForm(t.Context(), public)
					if err != nil {
						t.Error(err)
						return
					}
					text := page.Blocks[0].Properties.LegalText
					s, err := b.Submit(t.Context(), formsvc.SubmitParams{
						FormID: form, Answers: servicetest.Answers("terms", `true`), LegalTexts: map[string]string{"terms": text},
					})
					mu.Lock()
					if err == nil {
						seen[s.ID] = text
					} else if refused++; !errors.As(err, new(*schema.Error)) {
						t.Error(err)
					}
					mu.Unlock()
				}
			})
		}
		for i := range 40 {
			b.Change(form, formsvc.Definition{Blocks: json.RawMessage(legalBlocks(fmt.Sprintf("text %d", i+1)))})
			servicetest.WaitFor(t, "a submission between two edits", func() bool {
				mu.Lock()
				defer mu.Unlock()
				return len(seen)+refused > i
			})
		}
		close(stop)
		all.Wait()
		stored := 0
		for s, err := range b.AsHost().Submissions(t.Context(), form, formsvc.SubmissionQuery{}) {
			expect.NoError(t, err)
			answers := expect.Must(formsvc.DecodeAnswers(s))
			expect.Equal(t, answers[0].LegalText, seen[s.ID], s.ID.String())
			stored++
		}
		expect.Equal(t, stored, len(seen), "stored submissions (refused: %d)", refused)
	})
}
