package formpage_test

import (
	"context"
	"fmt"
	"html/template"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

func newService() *formsvc.Service {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	return svc
}

func Example() {
	pages, err := formpage.New(newService(), formpage.Config{
		Secret: []byte(os.Getenv("PAGE_SECRET")), // the same for all processes
	})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/f/", pages) // /f/{public_id}
}

// A form's editor gets a link that shows the draft for an hour. The host has asked
// already whether this user may see the form: the link itself is the permission.
func ExampleHandler_PreviewPath() {
	pages, err := formpage.New(newService(), formpage.Config{Secret: []byte("one secret for all processes")})
	if err != nil {
		log.Fatal(err)
	}
	form, err := storage.ParseID("64b7f0c2a1d3e4f5a6b7c8d9")
	if err != nil {
		log.Fatal(err)
	}
	path, err := pages.PreviewPath(form, time.Now().Add(time.Hour))
	if err != nil {
		log.Fatal(err)
	}
	link := "https://forms.example" + path
	fmt.Println(link[:len("https://forms.example/f/-/preview/")])
	// Output: https://forms.example/f/-/preview/
}

// A layout of the host's own around the form. Its style sheet comes from the same origin,
// so the policy allows it.
func ExampleConfig_layout() {
	layout := template.Must(template.New("layout").Parse(`<!doctype html>
<html lang="{{.Language}}" dir="{{.Direction}}">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}} – Acme</title>
<link rel="stylesheet" href="/acme.css">
{{.Head}}
</head>
<body>
<header><a href="/">Acme</a></header>
{{.Body}}
</body>
</html>`))
	_, err := formpage.New(newService(), formpage.Config{Layout: layout})
	if err != nil {
		log.Fatal(err)
	}
}

// Other words, and a language that the package does not have. What is missing is that of
// the nearest language, else English.
func ExampleConfig_words() {
	_, err := formpage.New(newService(), formpage.Config{
		Words: map[string]map[string]string{
			"en": {"submit": "Send it off", "done.title": "Got it."},
			"sv": {"submit": "Skicka", "next": "OK", "back": "Tillbaka", "yes": "Ja", "no": "Nej"},
		},
		Language: func(r *http.Request, form formsvc.PublicForm) string {
			if strings.HasPrefix(form.Name, "[sv] ") {
				return "sv"
			}
			return "" // the visitor's own
		},
	})
	if err != nil {
		log.Fatal(err)
	}
}

// sums is a captcha of the host's own: its script asks for a sum and adds an input with
// the answer.
type sums struct{}

func (sums) Widget() formpage.Widget {
	return formpage.Widget{Script: "https://sums.example/widget.js", Class: "sum", Input: "sum", Sources: []string{"https://sums.example"}}
}

func (sums) Verify(_ context.Context, token, _ string) (bool, error) { return token == "4", nil }

func ExampleVerifier() {
	_, err := formpage.New(newService(), formpage.Config{
		Verifiers: map[string]formpage.Verifier{
			"turnstile": formpage.Turnstile(formpage.CaptchaKeys{SiteKey: "…", Secret: os.Getenv("TURNSTILE_SECRET")}),
			"hcaptcha":  sums{}, // forms that ask for hcaptcha get this one
		},
	})
	if err != nil {
		log.Fatal(err)
	}
}

// bucket is the host's object store.
type bucket interface {
	Put(ctx context.Context, key, mediaType string, body io.Reader) (size int64, err error)
	Get(ctx context.Context, key string) (io.ReadCloser, schema.File, error)
}

// uploads keeps files in a bucket. Put must keep nothing when reading the body fails.
type uploads struct {
	bucket bucket
	newKey func() string
}

func (u uploads) Save(ctx context.Context, up formpage.Upload) (schema.File, error) {
	key := u.newKey()
	size, err := u.bucket.Put(ctx, key, up.MIMEType, up.Body)
	return schema.File{ID: key, Name: up.Name, URL: "https://app.example/files/" + key, MIMEType: up.MIMEType, Size: size}, err
}

func (u uploads) Open(ctx context.Context, id string) (io.ReadCloser, schema.File, error) {
	return u.bucket.Get(ctx, id)
}

func ExampleFiles() {
	var files formpage.FileStore = uploads{}
	pages, err := formpage.New(newService(), formpage.Config{Files: files})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/f/", pages)
	mux.Handle("GET /files/", formpage.FileHandler(files)) // behind the host's own sign-in
}

// Files of a directory that nobody sent with a response go once a day.
func ExampleDir_Sweep() {
	path, err := os.MkdirTemp("", "files") // a host has its own
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(path) }()
	files, err := formpage.NewDir(path, "https://app.example/files/")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = files.Close() }()
	removed, err := files.Sweep(context.Background(), time.Now().AddDate(0, 0, -8))
	fmt.Println(removed, err)
	// Output: 0 <nil>
}

// At start, a host learns which of its forms ask for something that it does not give.
func ExampleHandler_Lacks() {
	pages, err := formpage.New(newService(), formpage.Config{})
	if err != nil {
		log.Fatal(err)
	}
	form := formsvc.PublicForm{Name: "Jobs", Blocks: []schema.Block{{ID: "cv", Type: schema.TypeFileUpload}}}
	for _, lack := range pages.Lacks(form) {
		fmt.Println(form.Name+":", lack)
	}
	// Output: Jobs: block "cv" asks for files: there is no Config.Files
}
