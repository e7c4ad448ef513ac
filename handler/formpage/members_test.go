package formpage_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// members is a site whose form gets one definition after another. Its responses are not stored.
type members struct {
	*site
	form formsvc.Form
	sent formsvc.SubmitParams
}

func newMembers(t *testing.T) *members {
	t.Helper()
	m := new(members)
	m.site = newSite(t, formpage.Config{Secret: secret, Brand: formpage.Link{Text: "Made here"}, Submit: func(_ context.Context, r formsvc.SubmitParams, _ submitFunc) (formsvc.Submission, error) {
		r.IdempotencyKey, r.FormID = "", formsvc.ID{}
		m.sent = r
		return formsvc.Submission{}, nil
	}})
	m.form = m.site.form("MULTI", `[{"id":"w","type":"welcome","label":"W"},{"id":"a","type":"short_text","label":"A","properties":{"placeholderText":"x"}},
		{"id":"p","type":"page_break"},{"id":"b","type":"number","label":"B"},{"id":"e","type":"ending","label":"E"}]`, "", "")
	return m
}

// shownWith is everything that a respondent gets of the form with such settings and theme.
func (m *members) shownWith(settings, theme map[string]any) string {
	t := m.t
	change := func(closed bool) {
		d := storage.Definition{Format: 1}
		d.Settings, _ = json.Marshal(settings)
		d.Theme, _ = json.Marshal(theme)
		// Into the storage, because a write refuses some of the values.
		expect.Must(m.store.UpdateForm(t.Context(), storage.AsHost(), m.form.ID, storage.FormChange{Definition: d, Acceptance: &storage.AcceptanceRules{Closed: closed}, At: m.clock()}))
	}
	change(false)
	start := m.clock()
	var all strings.Builder
	ask := func(query url.Values, values url.Values) string {
		answer, _, _ := visitRequest{form: m.form, query: query, values: values}.ask(m.pages)
		all.WriteString(answer)
		return answer
	}
	campaign := url.Values{}
	for _, name := range []string{"campaign", "content", "medium", "source", "term"} {
		campaign.Set("utm_"+name, name)
	}
	get := func(rest string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		m.pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/f/"+m.form.PublicID+rest, nil))
		return w
	}
	first := get("?" + campaign.Encode()).Body.String()
	state := inState.FindStringSubmatch(first)
	if state == nil { // the respondent must sign in
		return first
	}
	ask(campaign, nil)
	m.wait(time.Minute)
	campaign.Set("state", state[1])
	ask(nil, campaign)
	campaign.Set("at", "p")
	token := regexp.MustCompile(`sent=[\w.-]+`).FindString(ask(nil, campaign))
	fmt.Fprintf(&all, "%+v", m.sent)
	all.WriteString(get("/done?" + token).Body.String())
	fmt.Fprint(&all, m.pages.MissingFeatures(expect.Must(m.service.PublicForm(t.Context(), m.form.PublicID)))) // without a respondent, editable shows there
	change(true)
	ask(nil, nil)
	m.wait(start.Sub(m.clock()))
	return regexp.MustCompile(`nonce="\w+"`).ReplaceAllString(all.String(), "")
}

// leaves are the members of a type that have no members themselves, as paths.
func leaves(of reflect.Type, prefix string) []string {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || of == reflect.TypeFor[time.Time]() {
		return []string{strings.TrimSuffix(prefix, ".")}
	}
	var list []string
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous {
			list = append(list, leaves(field.Type, prefix)...)
			continue
		}
		list = append(list, leaves(field.Type, prefix+name+".")...)
	}
	return list
}

// with returns a copy of an object in which the member at a path has a value.
func with(t *testing.T, object map[string]any, path string, value any) map[string]any {
	t.Helper()
	raw := expect.Must(json.Marshal(object))
	var whole map[string]any
	expect.NoError(t, json.Unmarshal(raw, &whole))
	at, parts := whole, strings.Split(path, ".")
	for _, name := range parts[:len(parts)-1] {
		inner, _ := at[name].(map[string]any)
		if inner == nil {
			inner = map[string]any{}
			at[name] = inner
		}
		at = inner
	}
	at[parts[len(parts)-1]] = value
	return whole
}

// Every member of settings and theme changes what respondents get, or the package
// documentation names it as left to others.
func TestEveryMemberOfSettingsAndThemeDoesSomething(t *testing.T) {
	t.Parallel()
	image := map[string]any{"url": "https://img.example/1.png"}
	settings := map[string]any{"darkMode": true, "cover": map[string]any{"image": image}}
	theme := map[string]any{"logo": image, "background": map[string]any{"image": image}}
	documentation := expect.Must(os.ReadFile("doc.go"))
	_, left, found := strings.Cut(string(documentation), "// # Ignored fields\n")
	left, _, _ = strings.Cut(left, "//\n// # ")
	expect.Require(t, found, "the documentation has no section on ignored fields")
	named := regexp.MustCompile(`[a-zA-Z0-9_]+(\.[a-zA-Z0-9_]+)*`).FindAllString(left, -1)

	m := newMembers(t)
	once, again := m.shownWith(settings, theme), m.shownWith(settings, theme)
	expect.Require(t, once == again, "two pages of one form differ")
	values := map[string]any{
		"cover.image.base64": onePixel, "logo.base64": onePixel, "background.image.base64": onePixel,
		"openAt": "2001-01-01T00:00:00Z", "closeAt": "2030-01-01T00:00:00Z", "redirectUrl": "https://elsewhere.example/", "cover.color": "#123456",
		"darkMode": false, "colors.primaryForeground": "#ffffee", "colors.destructiveForeground": "#ffffee", "buttons.text": "#ffffee",
		"theme": "night", "customCss": ".fs-label{color:red}", "font": "serif", "background.layout": "contain", "coverHeight": "10rem",
		"logoPlacement.align": "right", "logoPlacement.vertical": "bottom", "buttons.alignment": "right", "layout.pageWidth": "wide",
		"layout.baseFontSize": "20px", "inputs.width": "20rem", "inputs.height": "3rem", "buttons.width": "20rem", "buttons.height": "3rem",
	}
	// Some members count beside others only.
	type member struct {
		path  string
		value any
	}
	beside := map[string]member{
		"logo.width": {"logo.height", 40}, "logo.height": {"logo.width", 40}, "logo.base64": {"logo.url", ""},
		"background.image.base64": {"background.image.url", ""}, "cover.image.base64": {"cover.image.url", ""},
		"buttons.text": {"buttons.background", "#101010"},
	}
	for section, of := range map[string]reflect.Type{"settings": reflect.TypeFor[schema.Settings](), "theme": reflect.TypeFor[schema.Theme]()} {
		for _, path := range leaves(of, "") {
			value, given := values[path]
			if !given {
				value = valueFor(of, path)
			}
			show := func(list ...member) string {
				s, th := settings, theme
				for _, one := range list {
					if one.path != "" && section == "settings" {
						s = with(t, s, one.path, one.value)
					} else if one.path != "" {
						th = with(t, th, one.path, one.value)
					}
				}
				return m.shownWith(s, th)
			}
			changed := show(beside[path], member{path, value}) != show(beside[path])
			parts := strings.Split(path, ".")
			last := strings.TrimRight(parts[len(parts)-1], "0123456789")
			switch {
			case strings.HasPrefix(last, "sidebar"):
				last = "sidebar"
			case last == "chart":
				last = "chart1"
			}
			isNamed := slices.Contains(named, path) || strings.HasPrefix(path, "colors.") && slices.Contains(named, last)
			switch {
			case !changed && !isNamed:
				t.Errorf("%s.%s does nothing, and the documentation does not name it", section, path)
			case changed && isNamed:
				t.Errorf("%s.%s does something, and the documentation says that it does not", section, path)
			}
		}
	}
}

// What the theme writes as custom properties is used by the style sheet.
func TestTheStyleSheetUsesWhatTheThemeWrites(t *testing.T) {
	t.Parallel()
	sheet := expect.Must(os.ReadFile("internal/static/page.css"))
	theme := map[string]any{"customCss": ""}
	for _, path := range leaves(reflect.TypeFor[schema.Theme](), "") {
		if !strings.Contains(path, "mage") && path != "customCss" {
			theme = with(t, theme, path, valueFor(reflect.TypeFor[schema.Theme](), path))
		}
	}
	shown := newMembers(t).shownWith(map[string]any{"darkMode": true, "borderRadius": 3}, theme)
	_, shown, _ = strings.Cut(shown, "<style")
	shown, _, _ = strings.Cut(shown, "</style>")
	properties := regexp.MustCompile(`--([a-z-]+):`).FindAllStringSubmatch(shown, -1)
	expect.Require(t, len(properties) >= 30, "only %d custom properties are written", len(properties))
	for _, p := range properties {
		expect.That(t, bytes.Contains(sheet, []byte("var(--"+p[1])), "--%s is written, and page.css does not use it", p[1])
	}
}

// valueFor is a value that is not the usual one.
func valueFor(of reflect.Type, path string) any {
	for _, name := range strings.Split(path, ".") {
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		for _, field := range reflect.VisibleFields(of) {
			if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == name {
				of = field.Type
				break
			}
		}
	}
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch of.Kind() {
	case reflect.Bool:
		return true
	case reflect.Float64, reflect.Int64:
		return 2
	}
	if of == reflect.TypeFor[schema.Integer]() {
		return 2
	}
	if slices.ContainsFunc([]string{"width", "height", "Width", "Height", "Size"}, func(end string) bool { return strings.HasSuffix(path, end) }) {
		return "20px"
	}
	if path == "duplicateField" || strings.HasPrefix(path, "closed") || strings.HasSuffix(path, "Label") {
		return "a"
	}
	return "#102030"
}

// onePixel is a picture.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
