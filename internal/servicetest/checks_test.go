package servicetest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage/memory"
)

// checkedBlocks is a block whose answer must not be in the past, and a group whose numbers must rise.
const checkedBlocks = `[
	{"id":"day","type":"date","label":"Day","properties":{"rule":{"check":[{"if":{"<":[{"days":[{"today":[]},{"var":"answers.day"}]},0]},"say":"In the **past**."}]}}},
	{"id":"range","type":"group","label":"Range","properties":{"rule":{"check":[{"if":{">=":[{"var":"answers.least"},{"var":"answers.most"}]},"say":"Too small."}]}},"children":[
		{"id":"least","type":"number","label":"Least"},
		{"id":"most","type":"number","label":"Most","properties":{"rule":{"check":[{"if":{"!=":[{"round":{"var":"answers.most"}},{"var":"answers.most"}]},"say":"A whole number."}]}}}]}]`

// A refused submission is not stored, and a stored one is found again on a later day.
func TestChecksOfSubmissions(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("east", 10*60*60)
	evening := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC) // the 21st in the zone
	onEachWithClock(t, evening, func(t *testing.T, b *servicetest.Bundle, clock *servicetest.Clock) {
		ctx := t.Context()
		form := b.Form(checkedBlocks, `{}`)
		answers := func(day string) map[string]json.RawMessage { return servicetest.Answers("day", `"`+day+`"`) }
		_, err := b.Submit(ctx, formsvc.SubmitParams{FormID: form, Answers: answers("2026-11-20")})
		refused, ok := errors.AsType[*schema.Error](err)
		expect.Require(t, ok, "yesterday: %v", err)
		want := []schema.Violation{{Path: "/answers/day", Field: "day", Code: schema.CodeCheckFailed, Message: "In the past.", Params: map[string]any{"say": "In the **past**."}}}
		expect.Same(t, want, refused.Violations, "violations")
		path := expect.Must(b.Path(ctx, form, answers("2026-11-20"), nil))
		expect.Same(t, want, path.Violations, "violations of the path")
		expect.Equal(t, b.Submissions(form), 0, "submissions")

		for pairs, want := range map[string]string{
			`"least",3,"most",2`:   "/answers/range CHECK_FAILED",
			`"least",3,"most",2.5`: "/answers/most CHECK_FAILED",
			`"least",3,"most",4`:   "<nil>",
			`"least",3`:            "<nil>",
		} {
			parts := strings.Split(strings.ReplaceAll(pairs, `"`, ""), ",")
			_, err := b.Submit(ctx, formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers(parts...)})
			expect.Equal(t, violations(err), want, "%s", pairs)
		}

		params := formsvc.SubmitParams{FormID: form, Answers: answers("2026-11-21"), IdempotencyKey: "key", StrictIdempotency: true}
		first := expect.Must(b.Submit(ctx, params))
		token, dropped, err := b.SavePartial(ctx, formsvc.PartialSubmission{FormID: form, Answers: answers("1999-01-01")})
		expect.That(t, err == nil && token != "" && len(dropped) == 0, "a partial submission is checked: %q %v", dropped, err)
		clock.Advance(48 * time.Hour)
		again, err := b.Submit(ctx, params)
		expect.That(t, err == nil && again.ID == first.ID, "the same submission on a later day: %v", err)
		params.Answers = answers("2026-11-22")
		expect.Equal(t, violations(expect.ErrorOf(b.Submit(ctx, params))), "/answers/day CHECK_FAILED", "another submission with the key")

		imported := formsvc.SubmitParams{FormID: form, Answers: answers("2019-03-02"), SubmittedAt: time.Date(2019, 3, 1, 15, 0, 0, 0, time.UTC)}
		check(t, expect.ErrorOf(b.Submit(ctx, imported)))
		imported.Answers = answers("2019-03-01")
		expect.Equal(t, violations(expect.ErrorOf(b.Submit(ctx, imported))), "/answers/day CHECK_FAILED", "imported of the day before")
	}, formsvc.WithTimeZone(zone))
}

// An invalid check is a violation through HTTP and Go, also in a working copy, and changes nothing.
func TestInvalidChecksAreRejected(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		ctx, c := t.Context(), b.As(b.User.ID)
		form := b.Form(checkedBlocks, `{}`)
		const rule = `"properties":{"rule":{"check":[{"if":{"match":[{"var":"answers.q"},"("]},"say":"x"},{"if":{"nope":1}}]}}`
		const block = `{"id":"q","type":"short_text",` + rule + `}`
		under := func(at string) string {
			at += "/properties/rule/check/"
			return at + "0/if/match/1 BAD_FORMAT, " + at + "1/if BAD_FORMAT, " + at + "1/say REQUIRED"
		}
		before := expect.Must(c.Form(ctx, form))
		blocks := formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: json.RawMessage("[" + block + "]")}}
		copied := c.WorkingCopy(form)
		expect.Equal(t, violations(expect.ErrorOf(c.UpdateForm(ctx, form, blocks))), under("/definition/blocks/0"), "a form")
		expect.Equal(t, violations(expect.ErrorOf(copied.UpdateForm(ctx, blocks))), under("/definition/blocks/0"), "a working copy")
		expect.Equal(t, violations(expect.ErrorOf(c.ReplaceBlocks(ctx, form, json.RawMessage("["+block+"]")))), under("/blocks/0"), "all blocks")
		expect.Equal(t, violations(expect.ErrorOf(c.CreateBlock(ctx, form, json.RawMessage(block)))), under("/block"), "a block")
		patch := json.RawMessage("{" + rule + "}")
		expect.Equal(t, violations(expect.ErrorOf(c.UpdateBlock(ctx, form, "day", patch))), under("/block"), "a patch")
		expect.Equal(t, violations(expect.ErrorOf(copied.UpdateBlock(ctx, "day", patch))), under("/block"), "a patch of the copy")
		_, err := c.CreateForm(ctx, formsvc.FormCreate{Workspace: before.WorkspaceID, Name: "F", Definition: blocks.Definition})
		expect.Equal(t, violations(err), under("/definition/blocks/0"), "a new form")
		var refusal struct {
			Details []struct{ Path, Code string }
		}
		w := b.Do(http.MethodPatch, "/forms/"+form.String()+"/blocks/day", `{"block":{`+rule+`}}`, &refusal)
		status(t, w, http.StatusUnprocessableEntity, "a patch through HTTP")
		var list []string
		for _, d := range refusal.Details {
			list = append(list, d.Path+" "+d.Code)
		}
		expect.Equal(t, strings.Join(list, ", "), under("/block"), "a patch through HTTP")
		after := expect.Must(c.Form(ctx, form))
		expect.Equal(t, after.Revision, before.Revision, "the form's revision")
		// Valid checks are stored as they were sent.
		const valid = `{"id":"q","type":"short_text","label":"Q","properties":{"rule":{"check":[{"say":"x", "if":{"match":[{"var":"answers.q"},"a\u002b"]},"note":1}]}}}`
		created := expect.Must(c.CreateBlock(ctx, form, json.RawMessage(valid)))
		expect.Equal(t, string(created.JSON), valid, "a stored block")
	})
}

// BenchmarkSubmitWithChecks compares three ways to submit ten answers in turns: to a bare service, to a service whose lists
// and checks the form does not use, and to a form with ten checks.
func BenchmarkSubmitWithChecks(b *testing.B) {
	checks := []string{
		`{"!":{"match":[{"var":"answers.q0"},"[A-Z]{3}[0-9]+"]}}`, `{"!":{"match":[{"var":"answers.q1"},"[0-9]{4} ?[A-Z]{2}"]}}`,
		`{"<":[{"length":{"var":"answers.q2"}},3]}`, `{">":[{"length":{"var":"answers.q3"}},100]}`, `{"!=":[{"round":{"var":"answers.q4"}},{"var":"answers.q4"}]}`,
		`{"<":[{"var":"answers.q5"},{"var":"answers.q4"}]}`, `{"<":[{"days":[{"today":[]},{"var":"answers.q6"}]},0]}`, `{"<":[{"var":"answers.q7"},{"var":"answers.q6"}]}`,
		`{"==":[{"var":"answers.q8"},{"var":"answers.q0"}]}`, `{"in":["x",{"var":"answers.q9"}]}`,
	}
	types := []string{"short_text", "short_text", "long_text", "long_text", "number", "number", "date", "date", "short_text", "long_text"}
	answers := servicetest.Answers("q0", `"ABC123"`, "q1", `"1234 AB"`, "q2", `"some words"`, "q3", `"more words"`, "q4", "5", "q5", "7", "q6", `"9026-11-20"`, "q7", `"9026-11-21"`, "q8", `"y"`, "q9", `"z"`)
	var submits [3]func() error
	for i, options := range [][]formsvc.Option{nil, hostOptions(&rooms{}), nil} {
		var blocks []string
		for k, typ := range types {
			rule := ""
			if i == 2 {
				rule = `,"properties":{"rule":{"check":[{"if":` + checks[k] + `,"say":"Please change this."}]}}`
			}
			blocks = append(blocks, fmt.Sprintf(`{"id":"q%d","type":%q,"label":"Question %d"%s}`, k, typ, k, rule))
		}
		bundle := servicetest.SetupOn(b, memory.New(), options...)
		form := bundle.Form("["+strings.Join(blocks, ",")+"]", `{}`)
		submits[i] = func() error {
			return expect.ErrorOf(bundle.Submit(b.Context(), formsvc.SubmitParams{FormID: form, Answers: answers}))
		}
	}
	var least [3]time.Duration // for 100 submissions, because other work on the machine only adds time
	for b.Loop() {
		for i, submit := range submits {
			began := time.Now()
			for range 100 {
				expect.NoError(b, submit())
			}
			if spent := time.Since(began); least[i] == 0 || spent < least[i] {
				least[i] = spent
			}
		}
	}
	b.ReportMetric(float64(least[1])/float64(least[0]), "unused/bare")
	b.ReportMetric(float64(least[2])/float64(least[0]), "checks/bare")
}
