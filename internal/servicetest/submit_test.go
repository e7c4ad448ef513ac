package servicetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

func TestARepeatedSubmitReturnsTheFirstResult(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form, other := b.Form(servicetest.TextBlock, `{}`), b.Form(servicetest.TextBlock, `{}`)
	const attempts = 20
	ids := make(chan formsvc.ID, attempts)
	var wg sync.WaitGroup
	for i := range attempts {
		wg.Go(func() {
			s, err := b.Submit(t.Context(), formsvc.Response{
				FormID: form, Answers: servicetest.Answers("name", fmt.Sprintf(`"%d"`, i)), IdempotencyKey: "once",
			})
			if err != nil {
				t.Error(err)
			}
			ids <- s.ID
		})
	}
	wg.Wait()
	close(ids)
	first := <-ids
	for id := range ids {
		if id != first {
			t.Fatalf("two results, %s and %s", first, id)
		}
	}
	if n := b.Submissions(form); n != 1 {
		t.Fatalf("%d submissions, want 1", n)
	}

	t.Run("even when the content is now refused", func(t *testing.T) {
		s, err := b.Submit(t.Context(), formsvc.Response{FormID: form, IdempotencyKey: "once"})
		if err != nil || s.ID != first {
			t.Fatalf("%s, %v; want %s", s.ID, err, first)
		}
	})
	t.Run("even when the form has closed since", func(t *testing.T) {
		b.Do(http.MethodPatch, "/forms/"+form.String(), `{"definition":{"settings":{"closed":true}}}`, nil)
		s, err := b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", `"x"`), IdempotencyKey: "once"})
		if err != nil || s.ID != first {
			t.Fatalf("%s, %v; want %s", s.ID, err, first)
		}
		if _, err := b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", `"x"`)}); !errors.Is(err, formsvc.ErrClosed) {
			t.Fatalf("a new response: %v, want ErrClosed", err)
		}
	})
	t.Run("but another form has its own keys", func(t *testing.T) {
		s, err := b.Submit(t.Context(), formsvc.Response{FormID: other, Answers: servicetest.Answers("name", `"x"`), IdempotencyKey: "once"})
		if err != nil || s.ID == first {
			t.Fatalf("%s, %v; want another submission", s.ID, err)
		}
	})
}

// A form that changes under Submit's cache must be seen at once, both when it
// refuses more than before and when it refuses less.
func TestSubmitSeesTheCurrentForm(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(servicetest.TextBlock, `{}`)
	submit := func(a map[string]json.RawMessage) error {
		_, err := b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: a})
		return err
	}
	if err := submit(servicetest.Answers("name", `"x"`)); err != nil {
		t.Fatal(err)
	}
	path := "/forms/" + form.String()

	b.Do(http.MethodPut, path+"/blocks", `{"blocks":[{"id":"age","type":"number","required":true}]}`, nil)
	var faults *formsvc.Error
	if err := submit(servicetest.Answers("name", `"x"`)); !errors.As(err, &faults) {
		t.Fatalf("answers to the old form: %v, want an Error", err)
	}
	if len(faults.Violations) != 2 {
		t.Errorf("violations %+v, want an unknown field and a missing answer", faults.Violations)
	}
	if err := submit(servicetest.Answers("age", `7`)); err != nil {
		t.Errorf("answers to the new form: %v", err)
	}
	if err := submit(nil); !errors.As(err, &faults) {
		t.Errorf("no answer: %v, want an Error", err)
	}
	b.Do(http.MethodPatch, path+"/blocks/age", `{"block":{"required":false}}`, nil)
	if err := submit(nil); err != nil {
		t.Errorf("no answer to what is not required any more: %v", err)
	}

	b.Do(http.MethodPatch, path, `{"status":"draft"}`, nil)
	if err := submit(nil); !errors.Is(err, formsvc.ErrNotFound) || !strings.Contains(err.Error(), "draft") {
		t.Errorf("a draft: %v, want an ErrNotFound that says so", err)
	}
	b.Publish(form)
	if err := submit(nil); err != nil {
		t.Errorf("published again: %v", err)
	}
	b.Do(http.MethodDelete, path, "", nil)
	if err := submit(nil); !errors.Is(err, formsvc.ErrNotFound) {
		t.Errorf("in the trash: %v, want ErrNotFound", err)
	}
	if err := b.RestoreForm(t.Context(), form, formsvc.ID{}); err != nil {
		t.Fatal(err)
	}
	if err := submit(nil); err != nil {
		t.Errorf("restored: %v", err)
	}
}

func TestMetadataThatNoStorageCouldKeepIsCleaned(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(servicetest.TextBlock, `{}`)
	s, err := b.Submit(t.Context(), formsvc.Response{
		FormID: form, Answers: servicetest.Answers("name", `"x"`),
		Metadata: formsvc.Metadata{Country: "DE", UserAgent: "ab\xffc", UTM: map[string]string{"source": "mail", "other": "x"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(s.Metadata), `{"country":"DE","user_agent":"ab`+"\ufffd"+`c","utm":{"source":"mail"}}`; got != want {
		t.Errorf("metadata %s, want %s", got, want)
	}
}

// A copy on another store sees that store's form, though it has the same id and
// revision as the one in the shared cache, and the other way round.
func TestUsingKeepsItsHandsOffTheService(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(servicetest.TextBlock, `{}`)
	tx := servicetest.Setup(t) // stands for a transaction: another store, with the same form
	current, err := b.Store.Form(t.Context(), storage.AsHost(), form)
	if err != nil {
		t.Fatal(err)
	}
	current.WorkspaceID = tx.Workspace
	current.Definition.Blocks = json.RawMessage(`[{"id":"other","type":"number"}]`)
	if err := tx.Store.CreateForm(t.Context(), storage.AsHost(), current); err != nil {
		t.Fatal(err)
	}
	for revision := int64(1); revision < current.Revision; revision++ {
		name := strings.Repeat("n", int(revision))
		if _, err := tx.Store.UpdateForm(t.Context(), storage.AsHost(), form, storage.FormChange{Name: &name}); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", `"x"`)}); err != nil {
		t.Fatalf("on the service's own store: %v", err)
	}
	var refused *formsvc.Error
	if _, err := b.Using(tx.Store).Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", `"x"`)}); !errors.As(err, &refused) {
		t.Errorf("an answer of the service's form on the other store: %v, want an Error", err)
	}
	if _, err := b.Using(tx.Store).Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("other", `1`)}); err != nil {
		t.Fatalf("on the other store: %v", err)
	}
	if n := b.Submissions(form); n != 1 {
		t.Errorf("%d submissions in the service's own store, want 1", n)
	}
	if _, err := b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", `"x"`)}); err != nil {
		t.Errorf("on the service's own store: %v", err)
	}
	if code := servicetest.Get(t, b.Using(tx.Store), "/v1/me", tx.Key); code != http.StatusOK {
		t.Errorf("a key of the other store on the copy: %d", code)
	}
	if code := servicetest.Get(t, b, "/v1/me", tx.Key); code != http.StatusUnauthorized {
		t.Errorf("a key of the other store on the service: %d", code)
	}
}

func TestACancelledSubmitStoresNothing(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(servicetest.TextBlock, `{}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Submit(ctx, formsvc.Response{FormID: form, Answers: servicetest.Answers("name", `"x"`)}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	if n := b.Submissions(form); n != 0 {
		t.Errorf("%d submissions, want 0", n)
	}
}

// A key that stands for one content finds the first response by the same content only, on
// both storages, whatever else has changed since.
func TestAKeyThatStandsForOneContent(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(t *testing.T) storage.Storage{
		"memory":   func(*testing.T) storage.Storage { return memory.New() },
		"postgres": func(t *testing.T) storage.Storage { return servicetest.PostgresStore(t) },
	} {
		t.Run(name, func(t *testing.T) {
			b := servicetest.SetupOn(t, store(t))
			form := b.Form(`[{"id":"name","type":"short_text"},{"id":"n","type":"number"},{"id":"f","type":"file_upload","label":"é"},{"id":"g","type":"group","children":[{"id":"in","type":"short_text"}]}]`, `{"responseLimit":2}`)
			if _, err := b.AsHost().UpdateForm(t.Context(), form, formsvc.FormUpdate{Definition: formsvc.Definition{HiddenFields: json.RawMessage(`["ref"]`)}}); err != nil {
				t.Fatal(err)
			}
			file := func(id string) map[string]json.RawMessage {
				return servicetest.Answers("f", `[{"id":"`+id+`","name":"a.png","url":"https://files.example/`+id+`","mime_type":"image/png","size":1}]`)
			}
			first := formsvc.Response{
				FormID: form, IdempotencyKey: "k", OneContent: true, HostAnswers: file("a"), Hidden: map[string]string{"ref": "<x>", "other": "1"},
				Answers: servicetest.Answers("name", `" Ann\u00e9 "`, "n", `"1.50"`, "in", `"within"`),
			}
			stored, err := b.Submit(t.Context(), first)
			if err != nil {
				t.Fatal(err)
			}
			repeat := func(change func(*formsvc.Response)) (formsvc.Submission, error) {
				r := first
				change(&r)
				return b.Submit(t.Context(), r)
			}
			same := map[string]func(*formsvc.Response){
				"as it was": func(*formsvc.Response) {}, "a second later": func(r *formsvc.Response) { r.CompletionTime = 9; r.Metadata.Country = "NL" },
				"in another spelling": func(r *formsvc.Response) {
					r.Answers = servicetest.Answers("name", `"Anné"`, "n", `1.5`, "in", `"within"`)
				},
				"an unknown hidden field":    func(r *formsvc.Response) { r.Hidden = map[string]string{"ref": "<x>"} },
				"other words, any content":   func(r *formsvc.Response) { r.OneContent = false; r.Answers = servicetest.Answers("name", `"Bob"`) },
				"faulty words, any content":  func(r *formsvc.Response) { r.OneContent = false; r.Answers = servicetest.Answers("n", `"x"`) },
				"unknown fields any content": func(r *formsvc.Response) { r.OneContent = false; r.Answers = servicetest.Answers("nothing", `1`) },
			}
			other := map[string]func(*formsvc.Response){
				"another answer": func(r *formsvc.Response) {
					r.Answers = servicetest.Answers("name", `"Bob"`, "n", `1.5`, "in", `"within"`)
				},
				"another within": func(r *formsvc.Response) {
					r.Answers = servicetest.Answers("name", `"Anné"`, "n", `1.5`, "in", `"without"`)
				},
				"one answer less":      func(r *formsvc.Response) { r.Answers = servicetest.Answers("name", `"Anné"`) },
				"another file":         func(r *formsvc.Response) { r.HostAnswers = file("b") },
				"another hidden field": func(r *formsvc.Response) { r.Hidden = map[string]string{"ref": "y"} },
			}
			check := func(when string, refusal error) {
				for what, change := range same {
					if got, err := repeat(change); err != nil || got.ID != stored.ID {
						t.Errorf("%s, %s: %v, %v", when, what, got.ID, err)
					}
				}
				for what, change := range other {
					if got, err := repeat(change); !errors.Is(err, refusal) || !got.ID.IsZero() {
						t.Errorf("%s, %s: %v, %v", when, what, got.ID, err)
					}
				}
			}
			check("at once", formsvc.ErrKeyUsed)
			var faults *formsvc.Error
			if _, err := repeat(func(r *formsvc.Response) { r.Answers = servicetest.Answers("n", `"x"`) }); !errors.As(err, &faults) {
				t.Errorf("faulty: %v", err)
			}
			if _, err := b.Submit(t.Context(), formsvc.Response{FormID: form}); err != nil {
				t.Fatal(err)
			}
			check("a full form", formsvc.ErrKeyUsed)
			if _, err := b.AsHost().UpdateForm(t.Context(), form, formsvc.FormUpdate{Definition: formsvc.Definition{Settings: json.RawMessage(`{"closed":true}`)}}); err != nil {
				t.Fatal(err)
			}
			check("a closed form", formsvc.ErrClosed)
			if b.Submissions(form) != 2 {
				t.Errorf("%d are stored, want 2", b.Submissions(form))
			}
		})
	}
}

// Of responses with one such key that come at once, one is stored, and the others are told.
func TestOneContentAtOnce(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(t *testing.T) storage.Storage{
		"memory":   func(*testing.T) storage.Storage { return memory.New() },
		"postgres": func(t *testing.T) storage.Storage { return servicetest.PostgresStore(t) },
	} {
		t.Run(name, func(t *testing.T) {
			b := servicetest.SetupOn(t, store(t))
			form := b.Form(servicetest.TextBlock, `{}`)
			var stored, used atomic.Int64
			var wg sync.WaitGroup
			for i := range 32 {
				wg.Go(func() {
					_, err := b.Submit(t.Context(), formsvc.Response{FormID: form, IdempotencyKey: "k", OneContent: true, Answers: servicetest.Answers("name", fmt.Sprintf(`"%d"`, i))})
					switch {
					case err == nil:
						stored.Add(1)
					case errors.Is(err, formsvc.ErrKeyUsed):
						used.Add(1)
					default:
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if stored.Load() != 1 || used.Load() != 31 || b.Submissions(form) != 1 {
				t.Errorf("%d stored, %d refused, %d there; want 1, 31 and 1", stored.Load(), used.Load(), b.Submissions(form))
			}
		})
	}
}
