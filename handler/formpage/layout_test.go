package formpage_test

import (
	"html/template"
	"net/url"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

// The layout of a host that gives none is what this template makes.
func TestThePlainLayoutIsATemplatesWork(t *testing.T) {
	t.Parallel()
	layout := template.Must(template.New("").Parse(`<!doctype html>
<html lang="{{.Language}}" dir="{{.Direction}}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
{{.Head}}
</head>
<body>
{{.Body}}
</body>
</html>
`))
	s := newSite(t, formpage.Config{Secret: secret})
	form := s.form("MULTI", every, `{"showTitle":true}`, "")
	name := `</title><script>"x" & 'y'`
	must(s.service.AsHost().UpdateForm(t.Context(), form.ID, formsvc.FormUpdate{Name: &name}))
	with := must(formpage.New(s.service, formpage.Config{Secret: secret, Clock: s.clock, Layout: layout}))
	_, _, state := visitRequest{form: form}.ask(s.pages)
	s.wait(time.Minute)
	for _, v := range []visitRequest{
		{form: form}, {form: form, language: "ar"}, {form: form, query: url.Values{"short": {`"><script>`}, "ref": {"<i>"}, "embed": {"1"}}},
		{form: form, values: url.Values{"state": {state}, "go": {"next"}}},
	} {
		if plain, templated := differ(s.pages, with, v); plain != templated {
			t.Errorf("%+v:\n%s\nby a template:\n%s", v, plain, templated)
		}
	}
}
