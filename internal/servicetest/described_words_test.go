package servicetest_test

import (
	"encoding/json"
	"fmt"
	"go/parser"
	gotoken "go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/ratelimit"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/webhooks"
)

type describedFacts struct {
	Info     struct{ Description string }
	Paths    map[string]map[string]json.RawMessage // by path and method
	Webhooks map[string]struct {
		Post struct{ Description string }
	}
	Components struct {
		Headers map[string]struct{ Example any }
		Schemas map[string]struct {
			Properties map[string]struct {
				Words    []any `json:"x-extensible-enum"`
				MaxItems int
			}
		}
	}
}

func readFacts(t *testing.T) (d describedFacts) {
	t.Helper()
	if err := json.Unmarshal(schema.OpenAPI(), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// operations are the ids of the operations.
func (d describedFacts) operations() (ids []string) {
	for _, methods := range d.Paths {
		for _, raw := range methods {
			var op struct{ OperationID string }
			if json.Unmarshal(raw, &op) == nil && op.OperationID != "" { // parameters are a list
				ids = append(ids, op.OperationID)
			}
		}
	}
	return ids
}

// packageDoc is the documentation of a package that stands in its doc.go.
func packageDoc(t *testing.T, dir string) string {
	t.Helper()
	file, err := parser.ParseFile(gotoken.NewFileSet(), filepath.Join("../..", dir, "doc.go"), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return file.Doc.Text()
}

// unwrapped is a text without its line ends.
func unwrapped(s string) string { return strings.Join(strings.Fields(s), " ") }

// The numbers of webhooks that the description and package webhooks say are the defaults.
func TestTextsSayTheDefaultsOfWebhooks(t *testing.T) {
	t.Parallel()
	d, said := readFacts(t), unwrapped(packageDoc(t, "webhooks"))
	described := d.Webhooks["form.response.completed"].Post.Description
	// The schedule is held by TestTextsSayTheDefaultSchedule of webhooks.
	seconds := strconv.Itoa(int(webhooks.DefaultTimeout / time.Second))
	if want := "waits " + seconds + " seconds at most"; !strings.Contains(described, want) {
		t.Errorf("the description does not say %q", want)
	}
	if want := "[Config.Timeout], " + seconds + " s,"; !strings.Contains(said, want) {
		t.Errorf("the documentation of webhooks does not say %q", want)
	}
	days := map[time.Duration]string{3 * 24 * time.Hour: "three days"}[webhooks.DefaultMaxAge]
	if want := "waited for " + days + ", by default"; days == "" || !strings.Contains(described, want) {
		t.Errorf("the description does not say %q", want)
	}
	if want := "after " + days + " of failures ([Config.MaxAge])"; days == "" || !strings.Contains(said, want) {
		t.Errorf("the documentation of webhooks does not say %q", want)
	}
}

func TestTextsSayTheDefaultRateLimit(t *testing.T) {
	t.Parallel()
	if ratelimit.DefaultPer != time.Minute {
		t.Fatal("the texts say a minute")
	}
	want := fmt.Sprintf("%d requests a minute", ratelimit.DefaultTokens)
	for name, text := range map[string]string{
		"description": readFacts(t).Info.Description, "documentation of the root": unwrapped(packageDoc(t, ".")),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the %s does not say %q", name, want)
		}
	}
	for name, want := range map[string]string{
		"RateLimitPolicy": fmt.Sprintf(`"key";q=%d;w=60`, ratelimit.DefaultTokens),
		"RateLimit":       fmt.Sprintf(`"key";r=%d;t=42`, ratelimit.DefaultTokens-1),
	} {
		if example := readFacts(t).Components.Headers[name].Example; example != want {
			t.Errorf("the example of %s is %v, want %s", name, example, want)
		}
	}
}

// The list of answers in the documentation of package schema has each type that answers.
func TestTheDocumentationListsEveryAnswerType(t *testing.T) {
	t.Parallel()
	_, list, found := strings.Cut(packageDoc(t, "schema"), "# Answers\n")
	list, _, end := strings.Cut(list, "\n# ")
	if !found || !end {
		t.Fatal("the documentation of schema has no section about answers")
	}
	listed := map[string]bool{}
	for _, item := range strings.Split(list, "\n  - ")[1:] {
		types, _, _ := strings.Cut(item, ":")
		for _, kind := range strings.FieldsFunc(types, func(r rune) bool { return r == ' ' || r == ',' }) {
			listed[kind] = true
		}
	}
	enum := readFacts(t).Components.Schemas["AnswerField"].Properties["type"].Words
	if len(enum) == 0 {
		t.Fatal("the description has no types of answers")
	}
	for _, value := range enum {
		if kind := value.(string); kind != schema.TypeHidden && kind != schema.TypeVariable && !listed[kind] {
			t.Errorf("the list has no %s", value)
		}
	}
}

// The history that is kept is that of the description.
func TestHistoryIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	d := readFacts(t)
	if got := d.Components.Schemas["DeliveryList"].Properties["items"].MaxItems; got != storage.HistoryKept {
		t.Errorf("the description shows %d deliveries, the storage keeps %d", got, storage.HistoryKept)
	}
}

// What the API takes, the Client takes: each member of a body has a field.
func TestClientHasEveryMemberOfAForm(t *testing.T) {
	t.Parallel()
	d := readFacts(t)
	for name, of := range map[string]reflect.Type{
		"FormCreate": reflect.TypeFor[formsvc.FormCreate](),
		"FormUpdate": reflect.TypeFor[formsvc.FormUpdate](),
	} {
		members := d.Components.Schemas[name].Properties
		if len(members) == 0 {
			t.Errorf("the description has no members of %s", name)
		}
		for member := range members {
			field := strings.TrimSuffix(member, "_id")
			field = strings.ToUpper(field[:1]) + field[1:]
			if _, ok := of.FieldByName(field); !ok {
				t.Errorf("%s has no %s for %s of %s", of, field, member, name)
			}
		}
	}
}

// What the Client takes it stores: each text of a form comes back as it was given.
func TestClientKeepsEveryMemberOfAForm(t *testing.T) {
	t.Parallel()
	s, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.AsHost().CreateWorkspace(t.Context(), formsvc.WorkspaceCreate{Owner: formsvc.ID{1}, Name: "W"})
	if err != nil {
		t.Fatal(err)
	}
	create, update := formsvc.FormCreate{Workspace: w.ID}, formsvc.FormUpdate{}
	want := map[string]string{"Type": "MULTI", "Status": "published"}
	set := func(of reflect.Value, value string) {
		for i := range of.NumField() {
			given := value
			if one, ok := want[of.Type().Field(i).Name]; ok && one != "created" {
				given = one
			}
			switch f := of.Field(i); f.Interface().(type) {
			case string:
				f.SetString(given)
			case *string:
				f.Set(reflect.ValueOf(&given))
			default:
				continue
			}
			want[of.Type().Field(i).Name] = given
		}
	}
	check := func(what string, got formsvc.Form, err error, of reflect.Type) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s = %v", what, err)
		}
		for i := range of.NumField() {
			name := of.Field(i).Name
			if kept, ok := want[name]; ok && reflect.ValueOf(got).FieldByName(name).Interface() != kept {
				t.Errorf("%s lost %s", what, name)
			}
		}
	}
	set(reflect.ValueOf(&create).Elem(), "created")
	got, err := s.AsHost().CreateForm(t.Context(), create)
	check("CreateForm", got, err, reflect.TypeFor[formsvc.FormCreate]())
	set(reflect.ValueOf(&update).Elem(), "updated")
	got, err = s.AsHost().UpdateForm(t.Context(), got.ID, update)
	check("UpdateForm", got, err, reflect.TypeFor[formsvc.FormUpdate]())
}

// The README says how much there is.
func TestTheReadmeCountsTheOperations(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf(" %d operations", len(readFacts(t).operations())); !strings.Contains(string(readme), want) {
		t.Errorf("the README has no%s", want)
	}
}

// A host names the scopes of a key by the root's constants.
func TestTheRootHasEveryScope(t *testing.T) {
	t.Parallel()
	surface, err := os.ReadFile("../docs/surface.txt")
	if err != nil {
		t.Fatal(err)
	}
	scopes := regexp.MustCompile(`(?m)^const (\w+)\s+Scope\s+= `).FindAllSubmatch(surface, -1)
	if len(scopes) != len(storage.Scopes()) {
		t.Errorf("the surface has %d scopes, want %d", len(scopes), len(storage.Scopes()))
	}
	for _, scope := range scopes {
		if want := fmt.Sprintf("\nconst %[1]s = storage.%[1]s\n", scope[1]); !strings.Contains(string(surface), want) {
			t.Errorf("the root has no %s", scope[1])
		}
	}
}
