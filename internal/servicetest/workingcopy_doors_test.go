package servicetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
)

// contentStep is one operation on the content of a form: PATCH with a body, and the like.
type contentStep struct {
	method, path, body string // path: "", /blocks, /questions or /blocks/ and an id
	condition          int    // 0: none; 1: the current revision; 2: an earlier one; 3: *
}

func randomContentStep(r *rand.Rand) contentStep {
	id := func() string { return string("abcdef"[r.IntN(6)]) }
	block := func() string {
		return [...]string{`{"id":"` + id() + `","label":"L"}`, `{"id":"` + id() + `","type":"rating","properties":{"to":` + fmt.Sprint(r.IntN(7)) + `}}`, `{"id":""}`, `{"label":1}`}[r.IntN(4)]
	}
	s := contentStep{condition: r.IntN(4)}
	switch r.IntN(8) {
	case 0:
		s.method = http.MethodGet
	case 1:
		s.method, s.path = http.MethodGet, [...]string{"/questions", "/blocks", "/blocks/" + id()}[r.IntN(3)]
	case 2, 3:
		s.method = http.MethodPatch
		s.body = [...]string{
			`{"name":"N` + id() + `"}`, `{"name":" "}`, `{"definition":{"settings":{"closedMessage":"` + id() + `"}}}`, `{"definition":{"theme":{"font":"` + id() + `"},"hidden_fields":["` + id() + `"]}}`,
			`{"definition":{"blocks":[` + block() + `]}}`, `{"definition":{"variables":{"n":1}},"name":"V"}`, `{"definition":{"settings":{"closed":3}}}`,
		}[r.IntN(7)]
	case 4:
		s.method, s.path, s.body = http.MethodPost, "/blocks", `{"block":`+block()+`}`
	case 5:
		s.method, s.path, s.body = http.MethodPut, "/blocks", `{"blocks":[`+block()+`,`+block()+`]}`
	case 6:
		s.method, s.path, s.body = http.MethodPatch, "/blocks/"+id(), `{"block":`+[...]string{`{"label":"` + id() + `"}`, `{"type":null}`, `{"required":true}`, `{"label":{}}`}[r.IntN(4)]+`}`
	default:
		s.method, s.path = http.MethodDelete, "/blocks/"+id()
	}
	return s
}

// contentDoor serves steps and remembers the tags that its answers had.
type contentDoor struct {
	handler http.Handler
	prefix  string
	key     string
	tags    []string
}

func (d *contentDoor) do(t *testing.T, s contentStep) string {
	r := httptest.NewRequest(s.method, d.prefix+s.path, strings.NewReader(s.body))
	r.Header.Set("X-API-Key", d.key)
	if s.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	switch last := len(d.tags) - 1; s.condition {
	case 1:
		r.Header.Set("If-Match", d.tags[last])
	case 2:
		r.Header.Set("If-Match", d.tags[max(0, last-1)])
	case 3:
		r.Header.Set("If-Match", "*")
	}
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	if tag := w.Header().Get("Etag"); tag != "" && tag != d.tags[len(d.tags)-1] {
		d.tags = append(d.tags, tag)
	}
	var body map[string]any
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"id", "public_id", "links", "status", "created_at", "updated_at", "request_id", "message"} {
		if _, isForm := body["definition"]; isForm || name == "request_id" || name == "message" {
			delete(body, name)
		}
	}
	return fmt.Sprint(w.Code, " ", canonical(t, body))
}

// The operations on a working copy are those on a form: the same random steps have the same
// outcomes on a form through the API, on a copy over HTTP and on one in Go, and what is published
// in the end is the same form.
func TestAWorkingCopyTakesWhatAFormTakes(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		const steps = 300
		random, ctx := rand.New(rand.NewPCG(28, 2)), t.Context()
		c := b.As(b.User.ID)
		var forms [3]formsvc.ID
		for i := range forms {
			forms[i] = b.Form(`[{"id":"a","label":"A"},{"id":"b","label":"B"}]`, `{}`)
		}
		first := c.WorkingCopy(forms[1])
		doors := []*contentDoor{
			{handler: b, prefix: "/v1/forms/" + forms[0].String(), key: b.Key, tags: []string{`"r2"`}},
			{handler: first, prefix: "/forms/" + forms[1].String(), tags: []string{`"r2"`}},
		}
		copied := c.WorkingCopy(forms[2])
		revisions := []int64{2}
		for n := range steps {
			s := randomContentStep(random)
			want := doors[0].do(t, s)
			if got := doors[1].do(t, s); got != want {
				t.Fatalf("step %d, %+v: a copy over HTTP %s, a form %s", n, s, got, want)
			}
			if got := inGo(ctx, t, copied, s, &revisions); got != "" && got != want[:3] {
				t.Fatalf("step %d, %+v: a copy in Go %s, a form %s", n, s, got, want)
			}
		}
		if len(doors[0].tags) < steps/10 || len(doors[0].tags) != len(doors[1].tags) || len(revisions) != len(doors[0].tags) {
			t.Errorf("%d, %d and %d revisions", len(doors[0].tags), len(doors[1].tags), len(revisions))
		}
		want, err := c.Form(ctx, forms[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range forms[1:] {
			got, err := c.WorkingCopy(form).Publish(ctx, formsvc.PublishOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if contentText(got) != contentText(want) {
				t.Errorf("published was %s, the form is %s", contentText(got), contentText(want))
			}
			var settings struct{ Closed bool }
			if err := json.Unmarshal(got.Definition.Settings, &settings); err != nil || got.Gate != want.Gate {
				t.Errorf("the gate is %+v, want %+v (%v)", got.Gate, want.Gate, err)
			}
		}
	})
}

func contentText(f formsvc.Form) string {
	d := f.Definition
	return fmt.Sprintf("%s %s %s %s %s %s", f.Name, d.Blocks, d.Settings, d.Theme, d.Variables, d.HiddenFields)
}

// inGo takes a step in Go and returns the status that the API would answer, or "" for a
// condition that Go cannot state.
func inGo(ctx context.Context, t *testing.T, w formsvc.WorkingCopy, s contentStep, revisions *[]int64) string {
	var on []formsvc.Condition
	switch last := len(*revisions) - 1; s.condition {
	case 1:
		on = append(on, formsvc.IfRevision((*revisions)[last]))
	case 2:
		on = append(on, formsvc.IfRevision((*revisions)[max(0, last-1)]))
	}
	var body struct {
		Name       *string
		Block      json.RawMessage
		Blocks     json.RawMessage
		Definition formsvc.Definition
	}
	if s.body != "" {
		if err := json.Unmarshal([]byte(s.body), &body); err != nil {
			t.Fatal(err)
		}
	}
	id, err := url.PathUnescape(strings.TrimPrefix(s.path, "/blocks/"))
	if err != nil {
		t.Fatal(err)
	}
	var revision int64
	done := "200"
	switch {
	case s.method == http.MethodGet && strings.HasPrefix(s.path, "/blocks/"):
		var b formsvc.StoredBlock
		b, err = w.Block(ctx, id)
		revision = b.Revision
	case s.method == http.MethodGet && s.path == "":
		var f formsvc.Form
		f, err = w.Form(ctx)
		revision = f.Revision
	case s.method == http.MethodGet:
		var b formsvc.StoredBlocks
		b, err = w.Blocks(ctx)
		revision = b.Revision
	case s.path == "":
		u := formsvc.FormUpdate{Name: body.Name, Definition: body.Definition}
		if on != nil {
			u.IfRevision = (*revisions)[len(*revisions)-1]
			if s.condition == 2 {
				u.IfRevision = (*revisions)[max(0, len(*revisions)-2)]
			}
		}
		var f formsvc.Form
		f, err = w.UpdateForm(ctx, u)
		revision = f.Revision
	case s.method == http.MethodPost:
		var b formsvc.StoredBlock
		b, err = w.CreateBlock(ctx, body.Block, on...)
		done, revision = "201", b.Revision
	case s.method == http.MethodPut:
		var b formsvc.StoredBlocks
		b, err = w.ReplaceBlocks(ctx, body.Blocks, on...)
		revision = b.Revision
	case s.method == http.MethodPatch:
		var b formsvc.StoredBlock
		b, err = w.UpdateBlock(ctx, id, body.Block, on...)
		revision = b.Revision
	default:
		revision, err = w.DeleteBlock(ctx, id, on...)
		done = "204"
	}
	if err == nil && revision != (*revisions)[len(*revisions)-1] {
		*revisions = append(*revisions, revision)
	}
	_, faults := errors.AsType[*formsvc.Error](err)
	switch {
	case err == nil:
		return done
	case faults:
		return "422"
	case errors.Is(err, storage.ErrRevisionMismatch):
		return "412"
	case errors.Is(err, formsvc.ErrBlockExists):
		return "409"
	case errors.Is(err, formsvc.ErrNotFound):
		return "404"
	}
	t.Fatalf("%+v: %v", s, err)
	return ""
}
