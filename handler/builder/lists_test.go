package builder_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/builder"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage/memory"
)

// tenants offers 30 choices with the query in their labels.
type tenants struct{}

func (tenants) Choices(_ context.Context, q formsvc.ChoiceQuery) (list []schema.Choice, err error) {
	for i := range 30 {
		list = append(list, schema.Choice{ID: fmt.Sprint(i), Label: fmt.Sprintf("%s %q %q %q", q.Workspace, q.By, q.Respondent, q.Search)})
	}
	return list, nil
}

func (tenants) Labels(context.Context, []string, formsvc.ChoiceQuery) (map[string]string, error) {
	return nil, nil
}

// The page lists the host's lists and checks by title, and only a form's users see a preview of 20 choices.
func TestListsAndChecksOfTheHost(t *testing.T) {
	t.Parallel()
	check := func(context.Context, formsvc.CheckInput) (string, error) { return "", nil }
	s := newHost(t, memory.New(), builder.Config{}, formsvc.WithChoices("t", "Tenants & co", tenants{}), formsvc.WithCheck("c", "A check", check))
	_, page := s.do("ann", http.MethodGet, "/forms/", "")
	for _, want := range []string{`&#34;lists&#34;:[{&#34;name&#34;:&#34;t&#34;,&#34;title&#34;:&#34;Tenants \u0026 co&#34;}]`, `&#34;checks&#34;:[{&#34;name&#34;:&#34;c&#34;,&#34;title&#34;:&#34;A check&#34;}]`} {
		expect.That(t, strings.Contains(page, want), "%s is not in %s", want, page)
	}
	form := s.form("ann", oneQuestion)
	path := "/forms/-/builder/forms/" + form.ID.String() + "/choices?list="
	answer, body := s.do("ann", http.MethodGet, path+"t", "")
	expect.That(t, answer.StatusCode == http.StatusOK && strings.Count(body, `{"id"`) == 20, "a preview: %d %s", answer.StatusCode, body)
	expect.That(t, strings.Contains(body, form.WorkspaceID.String()+` \"\" \"\" \"\"`), "the query: %s", body)
	for user, status := range map[string]int{"bob": http.StatusNotFound, "": http.StatusUnauthorized} {
		answer, body := s.do(user, http.MethodGet, path+"t", "")
		expect.That(t, answer.StatusCode == status && !strings.Contains(body, "items"), "%q: %d %s", user, answer.StatusCode, body)
	}
	answer, body = s.do("ann", http.MethodGet, path+"x", "")
	expect.That(t, answer.StatusCode == http.StatusServiceUnavailable && strings.Contains(body, "UNAVAILABLE"), "another list: %d %s", answer.StatusCode, body)
}
