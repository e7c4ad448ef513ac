package formpage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/html"

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
	secret := os.Getenv("PAGE_SECRET") // the same for all processes, such as from openssl rand -hex 32
	if secret == "" {
		log.Println("PAGE_SECRET is not set")
		return
	}
	pages, err := formpage.New(newService(), formpage.Config{Secret: []byte(secret)})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/f/", pages) // /f/{public_id}
}

// A test of the host's own sends a page as a browser without JavaScript does.
func Example_testsOfAHost() {
	ctx, svc := context.Background(), newService()
	ann := svc.As(formsvc.UserIDFrom("ann"))
	workspace, err := ann.CreateWorkspace(ctx, formsvc.WorkspaceCreate{Name: "Customers"})
	if err != nil {
		log.Fatal(err)
	}
	form, err := ann.CreateForm(ctx, formsvc.FormCreate{Workspace: workspace.ID, Name: "Feedback", Type: "MULTI", Definition: formsvc.Definition{
		Blocks: []byte(`[{"id":"email","type":"email","required":true},{"id":"score","type":"nps"}]`),
	}})
	if err != nil {
		log.Fatal(err)
	}
	if form, err = ann.PublishForm(ctx, form.ID); err != nil {
		log.Fatal(err)
	}
	pages, err := formpage.New(svc, formpage.Config{MinFillTime: -1}) // a test does not wait
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(pages)
	defer server.Close()
	client := server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

	address := server.URL + "/f/" + form.PublicID
	for _, email := range []string{"ann", "ann@example.com"} {
		page, err := client.Get(address)
		if err != nil {
			log.Fatal(err)
		}
		document, err := html.Parse(page.Body) // golang.org/x/net/html
		_ = page.Body.Close()
		if err != nil {
			log.Fatal(err)
		}
		inputs := url.Values{} // all but what nobody has checked; some have one name
		for n := range document.Descendants() {
			attributes := map[string]string{}
			for _, a := range n.Attr {
				attributes[a.Key] = a.Val
			}
			if n.Data == "input" && attributes["type"] != "radio" && attributes["type"] != "checkbox" {
				inputs.Add(attributes["name"], attributes["value"])
			}
		}
		inputs.Set("a.email", email)
		inputs.Set("a.score", "9")
		sent, err := client.PostForm(address, inputs)
		if err != nil {
			log.Fatal(err)
		}
		_ = sent.Body.Close()
		fmt.Println(sent.StatusCode, strings.Contains(sent.Header.Get("Location"), "/done?"))
	}
	// Output:
	// 422 false
	// 303 true
}

// The host refuses some responses and hears of those that are stored.
func ExampleConfig_submit() {
	pages, err := formpage.New(newService(), formpage.Config{
		Submit: func(ctx context.Context, r formsvc.SubmitParams, next func(context.Context, formsvc.SubmitParams) (formsvc.Submission, error)) (formsvc.Submission, error) {
			if string(r.Answers["code"]) != `"SPRING"` {
				return formsvc.Submission{}, &formsvc.Error{Violations: []schema.Violation{
					{Field: "code", Code: "UNKNOWN_CODE", Message: "We don't know this code."}, // shown next to the question
				}}
			}
			submission, err := next(ctx, r)
			if err == nil {
				log.Println("a response:", submission.ID)
			}
			return submission, err
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	http.Handle("/f/", pages)
}

// Respondents go on later, and owners see how far they came.
func ExamplePartials() {
	pages, err := formpage.New(newService(), formpage.Config{Partials: formpage.ResumeAndShow})
	if err != nil {
		log.Fatal(err)
	}
	http.Handle("/f/", pages)
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

// An editor of the host's own shows a form in a frame, and draws a block anew while somebody types.
// The host mails a respondent a link to correct the answers.
func ExampleHandler_EditPath() {
	ctx, svc := context.Background(), newService()
	workspace, err := svc.CreateWorkspace(ctx, formsvc.UserIDFrom("ann"), "Customers")
	if err != nil {
		log.Fatal(err)
	}
	form, err := svc.AsHost().CreateForm(ctx, formsvc.FormCreate{Workspace: workspace.ID, Name: "Feedback", Definition: formsvc.Definition{
		Blocks: []byte(`[{"id":"name","type":"short_text","label":"Name"}]`),
	}})
	if err != nil {
		log.Fatal(err)
	}
	if form, err = svc.AsHost().PublishForm(ctx, form.ID); err != nil {
		log.Fatal(err)
	}
	submission, err := svc.Submit(ctx, formsvc.SubmitParams{FormID: form.ID, Answers: map[string]json.RawMessage{"name": json.RawMessage(`"Ada"`)}})
	if err != nil {
		log.Fatal(err)
	}
	pages, err := formpage.New(svc, formpage.Config{Secret: []byte("a secret of the host")})
	if err != nil {
		log.Fatal(err)
	}
	path, err := pages.EditPath(form.ID, submission.ID, time.Now().Add(48*time.Hour))
	if err != nil {
		log.Fatal(err)
	}
	page := httptest.NewRecorder()
	pages.ServeHTTP(page, httptest.NewRequest(http.MethodGet, path, nil)) // https://forms.example + path is the link
	fmt.Println(page.Code, strings.Contains(page.Body.String(), `value="Ada"`))
	// Output: 200 true
}

// A user of the host corrects a submission, and its history names this user.
func ExampleHandler_EditPathFor() {
	pages, err := formpage.New(newService(), formpage.Config{Secret: []byte("a secret of the host")})
	if err != nil {
		log.Fatal(err)
	}
	edit := func(w http.ResponseWriter, r *http.Request, user, form, submission formsvc.ID) { // for a signed-in user
		path, err := pages.EditPathFor(user, form, submission, time.Now().Add(time.Hour))
		if err != nil {
			http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
			return
		}
		http.Redirect(w, r, path, http.StatusSeeOther)
	}
	_ = edit
}

func ExampleHandler_Canvas() {
	pages, err := formpage.New(newService(), formpage.Config{})
	if err != nil {
		log.Fatal(err)
	}
	form := formsvc.PublicForm{Type: "MULTI", Name: "Pets", Blocks: []schema.Block{{ID: "pet", Type: schema.TypeYesNo, Label: "Do you have a pet?"}}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /canvas", func(w http.ResponseWriter, r *http.Request) { pages.Canvas(w, r, form) })
	mux.HandleFunc("POST /canvas", func(w http.ResponseWriter, r *http.Request) {
		form.Blocks[0].Label = r.FormValue("label")
		parts, err := pages.CanvasParts(r, form)
		if err != nil {
			http.Error(w, "the form cannot be drawn", http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, parts.Blocks[0].HTML)
	})
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/canvas?label=Do+you+have+a+cat%3F", nil))
	fmt.Println(strings.Contains(answer.Body.String(), "Do you have a cat?"))
	// Output: true
}

// Where a form is, for a mail or a QR code.
func ExampleHandler_Service() {
	pages, err := formpage.New(newService(), formpage.Config{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = pages.Service().PublicForm(context.Background(), "unknown")
	fmt.Println(err)
	// Output: storage: not found
}

func ExampleHandler_Path() {
	pages, err := formpage.New(newService(), formpage.Config{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("https://forms.example" + pages.Path("Ax7Q2mNcPe"))
	// Output: https://forms.example/f/Ax7Q2mNcPe
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

// A test of a layout draws it with a document of its own.
func ExampleDocument() {
	layout := template.Must(template.New("layout").Parse(`<html lang="{{.Language}}"><head>{{.Head}}<style nonce="{{.Nonce}}"></style></head><body>{{.Body}}</body></html>`))
	err := layout.Execute(os.Stdout, formpage.Document{Language: "en", Direction: "ltr", Title: "Feedback", Head: "<meta name=robots>", Body: "<form></form>", Nonce: "n0nce"})
	if err != nil {
		log.Fatal(err)
	}
	// Output: <html lang="en"><head><meta name=robots><style nonce="n0nce"></style></head><body><form></form></body></html>
}

// Other words, and a language that the package does not have. What is missing is that of
// the nearest language, else English.
func ExampleConfig_words() {
	_, err := formpage.New(newService(), formpage.Config{
		Translations: map[string]map[string]string{
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

// The three services that the package knows. A form's captcha block says which one it wants.
func ExampleHCaptcha() {
	_, err := formpage.New(newService(), formpage.Config{
		Verifiers: map[string]formpage.Verifier{
			"turnstile": formpage.Turnstile(formpage.CaptchaKeys{SiteKey: "…", Secret: os.Getenv("TURNSTILE_SECRET")}),
			"hcaptcha":  formpage.HCaptcha(formpage.CaptchaKeys{SiteKey: "…", Secret: os.Getenv("HCAPTCHA_SECRET")}),
			"recaptcha": formpage.ReCAPTCHA(formpage.CaptchaKeys{SiteKey: "…", Secret: os.Getenv("RECAPTCHA_SECRET")}),
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

// keptFiles is what removes the uploads of visitors who never sent their response: it knows the
// files that an attempt to store one needs.
type keptFiles struct {
	uploads
	mu       sync.Mutex
	attempts map[string][]string // file ids by attempt
}

func (k *keptFiles) Retain(_ context.Context, attempt string, ids []string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.attempts[attempt] = append(k.attempts[attempt], ids...)
	return nil
}

func (k *keptFiles) Release(_ context.Context, attempt string, _ []string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.attempts, attempt)
	return nil
}

// A store of files that is a Keeper as well may remove what is older than a week and no
// attempt keeps.
func ExampleFileRetainer() {
	files := &keptFiles{attempts: map[string][]string{}} // a host keeps this with the files
	var _ formpage.FileRetainer = files
	if _, err := formpage.New(newService(), formpage.Config{Files: files}); err != nil {
		log.Fatal(err)
	}
}

// A page of the host's own, whose inputs have the names that the package's pages have,
// stores what it is sent.
func ExampleParseAnswers() {
	form := formsvc.PublicForm{Blocks: []schema.Block{{ID: "name", Type: schema.TypeShortText}, {ID: "age", Type: schema.TypeNumber}}}
	given := formpage.ParseAnswers(form, url.Values{"a.name": {"Ann"}, "a.age": {"41"}, "h.ref": {"newsletter"}, "a.gone": {"text for a block that was removed"}})
	fmt.Println(string(given.Answers["name"]), string(given.Answers["age"]), given.Hidden["ref"]) // for Service.Submit
	for _, u := range given.Unmatched {
		fmt.Println("without a place:", u.Text) // shown, so that nothing is lost unseen
	}
	// Output:
	// "Ann" 41 newsletter
	// without a place: text for a block that was removed
}

// A choice of languages beside the form.
func ExampleHandler_Languages() {
	pages, err := formpage.New(newService(), formpage.Config{})
	if err != nil {
		log.Fatal(err)
	}
	for _, tag := range pages.Languages()[:2] {
		fmt.Println("?lang=" + tag)
	}
	// Output:
	// ?lang=en
	// ?lang=ar
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

// The files of a response go with it, however it is removed for good.
func ExampleDir_RemoveFiles() {
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
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithFiles(files))
	if err != nil {
		log.Fatal(err)
	}
	n, err := svc.PurgeTrash(context.Background(), time.Now().AddDate(0, 0, -30))
	fmt.Println(n, err)
	// To have it called otherwise is the same: what is not there is no error.
	fmt.Println(files.RemoveFiles(context.Background(), []string{"an id of another store"}))
	// Output:
	// 0 <nil>
	// <nil>
}

// At start, a host learns which of its forms ask for something that it does not give.
func ExampleHandler_MissingFeatures() {
	pages, err := formpage.New(newService(), formpage.Config{})
	if err != nil {
		log.Fatal(err)
	}
	form := formsvc.PublicForm{Name: "Jobs", Blocks: []schema.Block{{ID: "cv", Type: schema.TypeFileUpload}}}
	for _, lack := range pages.MissingFeatures(form) {
		fmt.Println(form.Name+":", lack)
	}
	// Output: Jobs: block "cv" asks for files but Config.Files is not set
}
