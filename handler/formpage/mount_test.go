package formpage_test

import (
	"bytes"
	"html/template"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/handler/formpage"
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
		if err != nil {
			t.Fatal(err)
		}
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
		if fault == "" && err != nil || fault != "" && (err == nil || !strings.Contains(err.Error(), fault)) {
			t.Errorf("%s: %v, want %q", text, err, fault)
		}
	}
}
