package formpage_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// The first request that comes at another path than BasePath says is logged, with both.
func TestAWrongMountIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := newSite(t, formpage.Config{Secret: secret, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	id := s.form("MULTI", every, "", "").PublicID
	for name, c := range map[string]struct {
		path   string
		strip  string
		logged bool
	}{
		"another prefix":            {"/forms/" + id, "", true},
		"a longer prefix":           {"/app/f/" + id, "", true},
		"another prefix, its style": {"/forms/-/page.css", "", true},
		"what is left of a strip":   {"/app/forms/" + id, "/app", true},
		"the base path":             {"/f/" + id, "", false},
		"no form":                   {"/f/unknown", "", false},
		"stripped":                  {"/app/" + id, "/app", false},
		"stripped, no form":         {"/app/unknown", "/app", false},
	} {
		log.Reset()
		pages, err := formpage.New(s.service, formpage.Config{Secret: secret, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		expect.NoError(t, err)
		for range 2 {
			http.StripPrefix(c.strip, pages).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, c.path, nil))
		}
		want := map[bool]int{true: 1}[c.logged]
		if strings.Count(log.String(), "base_path=/f") != want || strings.Count(log.String(), " path="+strings.TrimPrefix(c.path, c.strip)) != want {
			t.Errorf("%s: %s", name, log.String())
		}
	}
}

func TestALayoutIsTriedOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Secret: secret})
	for text, fault := range map[string]string{
		"{{.Head}}{{.Body}}": "",
		"{{with .Form.Name}}{{.}}{{end}}{{.Head}}{{.Body}}": "",
		"{{.Body}}": "{{.Head}} 0 times",
		"{{.Head}}{{if .Form.Name}}{{.Body}}{{end}}":           "{{.Body}} 0 times",
		"{{.Head}}{{.Body}}{{.Body}}":                          "{{.Body}} 2 times",
		"{{.Head}}{{.Body}}{{.Form.Owner}}":                    "Owner",
		"{{.Head}}{{.Body}}{{template \"navigation\" .}}":      "navigation",
		"{{.Head}}<script>{{.Nonce}}</script><p>{{.Body}}</p>": "",
	} {
		_, err := formpage.New(s.service, formpage.Config{Secret: secret, Layout: template.Must(template.New("").Parse(text))})
		expect.That(t, (fault != "" || err == nil) && (fault == "" || err != nil && strings.Contains(err.Error(), fault)),
			"%s: %v, want %q", text, err, fault)
	}
}

// The layout's data is that of each request, also of messages, previews and pages that come back, and New does not ask for it.
func TestALayoutHasDataOfTheRequest(t *testing.T) {
	t.Parallel()
	layout := template.Must(template.New("").Parse(`<title>{{.Title}}</title>{{.Head}}<b>{{.Data.Name}} {{.Data.Path}}</b>{{.Body}}`))
	type data struct{ Name, Path string }
	s := newSite(t, formpage.Config{Secret: secret, Layout: layout, LayoutData: func(r *http.Request) any {
		return data{r.Header.Get("Name"), r.URL.Path} // panics if there is no request
	}})
	form := s.form("MULTI", every, "", "")
	preview := expect.Must(s.pages.PreviewPath(form.ID, s.clock().Add(time.Hour)))
	for _, path := range []string{"/f/" + form.PublicID, "/f/" + form.PublicID + "?short=1", "/f/nothing", preview} {
		for method, body := range map[string]string{http.MethodGet: "", http.MethodPost: "go=next"} {
			p := s.send(method, s.server.URL+path, body, "Name", "Ann <i>")
			at, query, _ := strings.Cut(path, "?")
			expect.That(t, strings.Contains(p.raw, "<b>Ann &lt;i&gt; "+at+"</b>"), "%s %s: %d %.300s", method, path, p.status, p.raw)
			expect.That(t, strings.Contains(p.header.Get("Cache-Control"), "no-transform") == (query != ""), "%s %s: %v", method, path, p.header)
		}
	}
	for text, fault := range map[string]string{"{{.Head}}{{.Data.User.Name}}{{.Body}}": "", "{{.Head}}{{with .Data}}{{.Name}}{{end}}": "{{.Body}} 0 times"} {
		_, err := formpage.New(s.service, formpage.Config{Layout: template.Must(template.New("").Parse(text)), LayoutData: func(*http.Request) any { return nil }})
		expect.That(t, (fault != "" || err == nil) && (fault == "" || err != nil && strings.Contains(err.Error(), fault)), "%s: %v", text, err)
	}
}

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
	expect.Must(s.service.AsHost().UpdateForm(t.Context(), form.ID, formsvc.FormUpdate{Name: &name}))
	with := expect.Must(formpage.New(s.service, formpage.Config{Secret: secret, Clock: s.clock, Layout: layout}))
	_, _, state := visitRequest{form: form}.ask(s.pages)
	s.wait(time.Minute)
	for _, v := range []visitRequest{
		{form: form}, {form: form, language: "ar"}, {form: form, query: url.Values{"short": {`"><script>`}, "ref": {"<i>"}, "embed": {"1"}}},
		{form: form, values: url.Values{"state": {state}, "go": {"next"}}},
	} {
		plain, templated := differ(s.pages, with, v)
		expect.That(t, plain == templated, "%+v:\n%s\nby a template:\n%s", v, plain, templated)
	}
}

// Nothing that holds a secret of the pages prints it: as text, as numbers or in base64.
func TestSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	key := []byte("kkkkkkkkkkkkkkkkkkkk")
	keys := formpage.CaptchaKeys{SiteKey: "site", Secret: string(key)}
	config := formpage.Config{Secret: key, PreviousSecrets: [][]byte{key}, Verifiers: map[string]formpage.Verifier{"turnstile": formpage.Turnstile(keys)}}
	pages := expect.Must(formpage.New(newService(), config))
	type nested struct {
		Config any
		List   []any
	}
	values := []any{config.Secret, config.PreviousSecrets, keys, &keys, config, &config, pages, formpage.Turnstile(keys), formpage.HCaptcha(keys)}
	for _, v := range values {
		for _, v := range []any{v, nested{v, []any{v}}, &nested{v, nil}, map[string]any{"k": v}} {
			var out bytes.Buffer
			for _, verb := range []string{"%v", "%+v", "%#v", "%d", "%s", "%q", "%x", "%X", "% x", "%c", "%U", "%b", "%o"} {
				fmt.Fprintf(&out, verb+"\n", v)
			}
			fmt.Fprintln(&out, v)
			for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
				slog.New(h).Info("x", "v", v, slog.Group("g", "v", v))
			}
			if raw, err := json.Marshal(v); err == nil { // a Config has functions, which are no JSON
				out.Write(raw)
			}
			text := strings.ToLower(out.String())
			for _, shown := range []string{"kkkk", "k k k", "107 107", "6b6b", "6b 6b", "0x6b, 0x6b", "a2tr", "1101011 1101011", "153 153", "u+006b u+006b"} {
				expect.That(t, !strings.Contains(text, shown), "%T prints %q: %s", v, shown, text[:min(len(text), 2000)])
			}
		}
	}
	expect.Equal(t, fmt.Sprintf("%v %v", keys, config.PreviousSecrets), "{site [secret]} [secret]", "printed")
}
