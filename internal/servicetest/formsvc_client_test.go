package servicetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/schema"
)

// Lists page by themselves: a zero query lists everything, a limit ends the list, and
// the loop may end it as well.
func TestListsOfTheClientPageByThemselves(t *testing.T) {
	t.Parallel()
	for name, store := range servicetest.Stores(t) {
		const count = 257 // three pages
		b := servicetest.SetupOn(t, store, formsvc.WithoutRateLimit(), formsvc.WithLimits(formsvc.Limits{Workspaces: 300}))
		c := b.As(b.User.ID)
		form := b.Form(servicetest.TextBlock, `{}`)
		var want []formsvc.ID
		for i := range count {
			s, err := b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", fmt.Sprintf(`"%d"`, i))})
			if err != nil {
				t.Fatal(err)
			}
			want = append([]formsvc.ID{s.ID}, want...)
		}
		collect := func(q formsvc.SubmissionQuery, until int) (got []formsvc.ID) {
			for s, err := range c.Submissions(t.Context(), form, q) {
				if err != nil {
					t.Fatal(err)
				}
				if got = append(got, s.ID); len(got) == until {
					break
				}
			}
			return got
		}
		for _, k := range []struct{ limit, until, want int }{{0, 0, count}, {-1, 0, count}, {1, 0, 1}, {100, 0, 100}, {101, 0, 101}, {1000, 0, count}, {0, 150, 150}} {
			if got := collect(formsvc.SubmissionQuery{Limit: k.limit}, k.until); fmt.Sprint(got) != fmt.Sprint(want[:k.want]) {
				t.Errorf("%s: with the limit %d, ended after %d: %d records, want the newest %d", name, k.limit, k.until, len(got), k.want)
			}
		}

		// The context ends a list in the middle, with its error.
		ctx, cancel := context.WithCancel(t.Context())
		seen, last := 0, error(nil)
		for _, err := range c.Submissions(ctx, form, formsvc.SubmissionQuery{}) {
			if last = err; err == nil {
				seen++
			}
			cancel()
		}
		if seen != 1 || !errors.Is(last, context.Canceled) {
			t.Errorf("%s: %d records and then %v, want one and context.Canceled", name, seen, last)
		}
		cancel()
		for _, err := range b.As(formsvc.UserIDFrom("stranger")).Submissions(t.Context(), form, formsvc.SubmissionQuery{}) {
			if !errors.Is(err, formsvc.ErrNotFound) {
				t.Errorf("%s: a stranger sees %v, want ErrNotFound", name, err)
			}
		}
	}
}

// What cannot be said over HTTP is refused here as well.
func TestWhatOnlyGoCanSayIsChecked(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(servicetest.TextBlock, `{}`)
	c := b.As(b.User.ID)
	name := func(err error) string {
		var faults *schema.Error
		if !errors.As(err, &faults) {
			return fmt.Sprint(err)
		}
		var list []string
		for _, v := range faults.Violations {
			list = append(list, v.Path+" "+v.Code)
		}
		return strings.Join(list, ", ")
	}
	update := func(u formsvc.FormUpdate) error {
		_, err := c.UpdateForm(t.Context(), form, u)
		return err
	}
	text := "\xff"
	for want, err := range map[string]error{
		"/name BAD_FORMAT":              update(formsvc.FormUpdate{Name: &text}),
		"/definition/blocks BAD_FORMAT": update(formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: json.RawMessage(`[],"settings":{}`)}}),
		" TOO_LONG":                     update(formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: json.RawMessage("[" + strings.Repeat(" ", 1<<20) + "]")}}),
		" BAD_FORMAT":                   update(formsvc.FormUpdate{Definition: formsvc.Definition{Settings: json.RawMessage(`{"closed":true,"closed":false}`)}}),
		" TOO_FEW":                      update(formsvc.FormUpdate{}),
	} {
		if got := name(err); got != want {
			t.Errorf("faults %q, want %q", got, want)
		}
	}
	if _, err := c.CreateWorkspace(t.Context(), formsvc.WorkspaceCreate{Name: "x", Owner: formsvc.UserIDFrom("other")}); !errors.Is(err, formsvc.ErrNotOwner) {
		t.Errorf("a workspace for another user: %v, want ErrNotOwner", err)
	}
	if _, err := b.AsHost().CreateWorkspace(t.Context(), formsvc.WorkspaceCreate{Name: ""}); name(err) != "/name TOO_SHORT" && name(err) != "/owner REQUIRED" {
		t.Errorf("a workspace of nobody: %v", err)
	}
	for range b.As(formsvc.ID{}).Forms(t.Context(), formsvc.FormQuery{}) {
		t.Error("nobody sees a form")
	}
	if w, err := b.AsHost().CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: form, URL: "http://127.0.0.1/"}); name(err) != "/url NOT_ALLOWED" || w != (formsvc.Webhook{}) {
		t.Errorf("a private URL: %+v, %v", w, err)
	}
}

func TestWhatANewRecordBelongsToIsRequired(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	_, formErr := b.AsHost().CreateForm(t.Context(), formsvc.FormCreate{Name: "F"})
	_, hookErr := b.AsHost().CreateWebhook(t.Context(), formsvc.WebhookCreate{URL: "https://example.com/"})
	for path, err := range map[string]error{"/workspace_id": formErr, "/form_id": hookErr} {
		var faults *schema.Error
		if !errors.As(err, &faults) || len(faults.Violations) != 1 || faults.Violations[0].Path != path || faults.Violations[0].Code != schema.CodeRequired {
			t.Errorf("%s: %v", path, err)
		}
	}
}
