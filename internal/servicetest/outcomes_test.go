package servicetest_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/schema"
)

const outcomesForm = `[{"id":"age","type":"number","label":"Age","properties":{"rule":{"next":[{"if":{"<":[{"var":"answers.age"},18]},"to":"no"},{"if":{">":[{"var":"answers.age"},99]},"to":"end"}]}}},
	{"id":"why","type":"short_text","label":"Why?"},{"id":"thanks","type":"ending","label":"**Thank** you"},{"id":"no","type":"ending","label":"Rejected"},{"id":"never","type":"ending","label":"Never"}]`

// A submission stores the ending that it reached, and a summary counts endings and days in the service's time zone.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form, none := b.Form(outcomesForm, `{}`), b.Form(`[{"id":"age","type":"number"}]`, `{}`)
		client := b.As(b.User.ID)
		at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
		var last formsvc.Submission
		for i, c := range []struct{ age, ending string }{{"17", "no"}, {"18", "thanks"}, {"100", "thanks"}, {"", "thanks"}} {
			answers := map[string]json.RawMessage{}
			if c.age != "" {
				answers["age"] = json.RawMessage(c.age)
			}
			for range i + 1 {
				last = expect.Must(b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: answers, SubmittedAt: at.AddDate(0, 0, i)}))
				expect.Equal(t, last.Ending, c.ending, "the ending with the age %s", c.age)
			}
		}
		expect.Equal(t, expect.Must(client.Submission(t.Context(), form, last.ID)).Ending, "thanks", "the stored ending")
		ending := expect.Must(b.Submit(t.Context(), formsvc.SubmitParams{FormID: none, Answers: map[string]json.RawMessage{"age": json.RawMessage("3")}})).Ending
		expect.Equal(t, ending, "", "without endings")
		expect.Equal(t, len(expect.Must(client.Summary(t.Context(), none, formsvc.SubmissionQuery{})).Endings), 0, "endings that are counted")

		minors := formsvc.SubmissionQuery{Where: schema.When("age").Below(18)}
		for range 2 { // counted, and from the cache
			for _, c := range []struct {
				q          formsvc.SubmissionQuery
				thanks, no int64
				days       []formsvc.DayCount
			}{
				{formsvc.SubmissionQuery{}, 9, 1, []formsvc.DayCount{{Day: "2026-01-01", Count: 1}, {Day: "2026-01-02", Count: 2}, {Day: "2026-01-03", Count: 3}, {Day: "2026-01-04", Count: 4}}},
				{formsvc.SubmissionQuery{Limit: 4, After: &formsvc.Position{Time: at}}, 4, 0, []formsvc.DayCount{{Day: "2026-01-04", Count: 4}}},
				{minors, 0, 1, []formsvc.DayCount{{Day: "2026-01-01", Count: 1}}},
				{formsvc.SubmissionQuery{Where: schema.WhenEnding().Is("no")}, 0, 1, []formsvc.DayCount{{Day: "2026-01-01", Count: 1}}},
				{formsvc.SubmissionQuery{Where: schema.WhenEnding().OneOf("no", "deleted").Not().And(schema.When("age").AtLeast(100))}, 3, 0, []formsvc.DayCount{{Day: "2026-01-03", Count: 3}}},
			} {
				got := expect.Must(client.Summary(t.Context(), form, c.q))
				expect.Equal(t, cmp.Diff(got.Days, c.days), "", "the days")
				want := []formsvc.ChoiceCount{{ID: "thanks", Label: "Thank you", Count: c.thanks}, {ID: "no", Label: "Rejected", Count: c.no}, {ID: "never", Label: "Never"}}
				expect.Equal(t, cmp.Diff(got.Endings, want), "", "the endings")
			}
		}
		var file bytes.Buffer
		expect.NoError(t, client.Export(t.Context(), &file, form, formsvc.Export{}))
		expect.Equal(t, strings.Count(file.String(), `,"thanks",`), 9, "rows with the ending")

		// A removed ending keeps its count.
		changed := strings.Replace(outcomesForm, `{"id":"no","type":"ending","label":"Rejected"},`, "", 1)
		changed = strings.Replace(changed, `"to":"no"`, `"to":"never"`, 1)
		_, err := client.UpdateForm(t.Context(), form, formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: json.RawMessage(changed)}})
		expect.NoError(t, err)
		got := expect.Must(client.Summary(t.Context(), form, formsvc.SubmissionQuery{})).Endings
		want := []formsvc.ChoiceCount{{ID: "thanks", Label: "Thank you", Count: 9}, {ID: "never", Label: "Never"}, {ID: "no", Count: 1}}
		expect.Equal(t, cmp.Diff(got, want), "", "the endings")
		page := expect.Must(client.SubmissionPage(t.Context(), form, formsvc.SubmissionQuery{Where: schema.WhenEnding().Is("no")}, 0))
		expect.Equal(t, len(page.Submissions), 1, "submissions with a removed ending")
		file.Reset()
		expect.NoError(t, client.Export(t.Context(), &file, form, formsvc.Export{Where: schema.WhenEnding().IsNot("no")}))
		expect.Equal(t, strings.Count(file.String(), "\n"), 10, "lines without a removed ending")
	})
}
