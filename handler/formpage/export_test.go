package formpage

import (
	"html/template"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// DrawBoth draws the fields of a form by stencils and by html/template.
func (h *Handler) DrawBoth(form formsvc.PublicForm, values url.Values, faults []schema.Violation) (stencils, byTemplate string, err error) {
	c := h.newCall(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/f/x", nil), form)
	c.values = values
	b := c.newBuilder(c.view("form"), schema.Path{}, faults)
	var theirs strings.Builder
	var draw func(blocks []schema.Block)
	draw = func(blocks []schema.Block) {
		for i := range blocks {
			var f field
			b.field(&f, &blocks[i], 2)
			fieldStencil.on(b.pen, reflect.ValueOf(&f).Elem())
			if failed := templates.ExecuteTemplate(&theirs, "field", &f); failed != nil {
				err = failed
			}
			draw(blocks[i].Children)
		}
	}
	draw(form.Blocks)
	var ours strings.Builder
	for _, piece := range b.pen.end() {
		ours.Write(piece.html)
	}
	return ours.String(), theirs.String(), err
}

// DrawFilled draws a field by a stencil and by html/template. fill makes each text of it;
// of addresses, which were checked before, it has one.
func DrawFilled(kind string, on bool, text string) (stencil, theirs string, err error) {
	c, err := newCatalogue(nil)
	if err != nil {
		return "", "", err
	}
	view := &pageView{words: c.list[0]}
	var fill func(v reflect.Value, name string, depth int)
	fill = func(v reflect.Value, name string, depth int) {
		switch v.Kind() {
		case reflect.String:
			v.SetString(text)
			if v.Type() == reflect.TypeFor[template.URL]() || name == "Video" || name == "URL" || name == "Script" {
				v.SetString("https://a.example/?x=1&y=2")
			}
			if v.Type() == reflect.TypeFor[template.HTML]() {
				v.SetString("<option>x</option>")
			}
		case reflect.Bool:
			v.SetBool(on)
		case reflect.Int, reflect.Int64:
			v.SetInt(7)
		case reflect.Pointer:
			if v.Type() == reflect.TypeFor[*pageView]() {
				*(**pageView)(v.Addr().UnsafePointer()) = view
			} else if depth < 3 && v.CanSet() {
				v.Set(reflect.New(v.Type().Elem()))
				fill(v.Elem(), "", depth+1)
			}
		case reflect.Slice:
			if depth < 3 && v.CanSet() && v.Type().Elem().Kind() == reflect.Struct {
				v.Set(reflect.MakeSlice(v.Type(), 2, 2))
				fill(v.Index(0), "", depth+1)
				fill(v.Index(1), "", depth+1)
			}
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Field(i).CanSet() || v.Type().Field(i).Name == "page" {
					fill(v.Field(i), v.Type().Field(i).Name, depth)
				}
			}
		}
	}
	var f field
	fill(reflect.ValueOf(&f).Elem(), "", 0)
	f.Kind, f.Set = kind, on
	if !on {
		f.Label = ""
	}
	for i := range f.Parts {
		f.Parts[i].Kind = []string{"text", "select"}[i]
		f.Parts[i].Input = []string{"date", "text"}[i]
	}
	p := &pen{words: view.words, room: 1 << 30}
	fieldStencil.on(p, reflect.ValueOf(&f).Elem())
	var ours, out strings.Builder
	for _, piece := range p.end() {
		ours.Write(piece.html)
	}
	err = templates.ExecuteTemplate(&out, "field", &f)
	return ours.String(), out.String(), err
}

// CompileStencil compiles a template for a field, and returns what is not known of it.
func CompileStencil(text string) (unknown any) {
	defer func() { unknown = recover() }()
	t := reflect.TypeFor[field]()
	in := scope{stencils: &stencils{made: map[string]*stencil{}}, dot: t, vars: map[string]variable{"$": {0, t}}}
	in.list(template.Must(template.New("").Parse(text)).Tree.Root)
	return nil
}

// Uncached returns a handler that does the same and remembers no form.
func (h *Handler) Uncached() *Handler {
	return &Handler{service: h.service, config: h.config, signer: h.signer, words: h.words, logger: h.logger, clock: h.clock, serviceFile: h.serviceFile}
}

// Read returns what is kept of the body of a request.
func (h *Handler) Read(w http.ResponseWriter, r *http.Request, form formsvc.PublicForm) any {
	c := h.newCall(w, r, form)
	if r.Header.Get("Content-Type") == "application/json" {
		in, _ := c.readJSON()
		return in
	}
	values, _, _ := c.read(h.config.MaxBody)
	return values
}

// Remembered returns the definition that the handler keeps of a form.
func (h *Handler) Remembered(id storage.ID) storage.Definition {
	s, ok := h.sources.Get(id)
	if !ok {
		return storage.Definition{}
	}
	return s.definition
}
