package formsvc_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/ratelimit"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/webhooks"
)

type describedFacts struct {
	Info     struct{ Description string }
	Webhooks map[string]struct {
		Post struct{ Description string }
	}
	Components struct {
		Schemas map[string]struct {
			Properties map[string]struct {
				Enum     []any
				MaxItems int
			}
		}
	}
}

func readFacts(t *testing.T) (d describedFacts, readme string) {
	t.Helper()
	if err := json.Unmarshal(schema.OpenAPI(), &d); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return d, unwrapped(string(text))
}

// unwrapped is a text without its line ends.
func unwrapped(s string) string { return strings.Join(strings.Fields(s), " ") }

// spelt writes a time as texts do: in its largest unit.
func spelt(d time.Duration) string {
	switch {
	case d >= time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + " hours"
	case d >= time.Minute:
		return strconv.Itoa(int(d/time.Minute)) + " minutes"
	}
	return strconv.Itoa(int(d/time.Second)) + " seconds"
}

// defaultDelays reads the delays of a zero webhooks.RetryPolicy in the source, since
// that package exports none.
func defaultDelays(t *testing.T) []time.Duration {
	t.Helper()
	file, err := parser.ParseFile(gotoken.NewFileSet(), "webhooks/retry.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	units := map[string]time.Duration{"Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}
	var delays []time.Duration
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != "defaultDelays" {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			product, ok := n.(*ast.BinaryExpr)
			if !ok {
				return true
			}
			number, isNumber := product.X.(*ast.BasicLit)
			unit, isUnit := product.Y.(*ast.SelectorExpr)
			if !isNumber || !isUnit || product.Op != gotoken.MUL || units[unit.Sel.Name] == 0 {
				t.Fatal("a delay is not a number times a unit")
			}
			count, err := strconv.Atoi(number.Value)
			if err != nil {
				t.Fatal(err)
			}
			delays = append(delays, time.Duration(count)*units[unit.Sel.Name])
			return false
		})
	}
	if n := len(delays); n < 3 || delays[n-1] != delays[n-2] {
		t.Fatalf("the delays are %v; the texts say that the last two are the same", delays)
	}
	return delays
}

// schedule writes delays as texts do; the last two are the same.
func schedule(delays []time.Duration) string {
	last := len(delays) - 2
	words := make([]string, last)
	for i := range words {
		words[i] = spelt(delays[i])
	}
	return "after " + strings.Join(words, ", ") + " and twice " + spelt(delays[last])
}

// The numbers of webhooks that the description and the README say are the defaults.
func TestTextsSayTheDefaultsOfWebhooks(t *testing.T) {
	t.Parallel()
	d, readme := readFacts(t)
	described := d.Webhooks["form.response.completed"].Post.Description
	want := schedule(defaultDelays(t))
	for name, text := range map[string]string{"description": described, "README": readme} {
		if !strings.Contains(text, want) {
			t.Errorf("the %s does not say %q", name, want)
		}
	}
	seconds := strconv.Itoa(int(webhooks.DefaultTimeout / time.Second))
	if want := "waits " + seconds + " seconds at most"; !strings.Contains(described, want) {
		t.Errorf("the description does not say %q", want)
	}
	if want := "`webhooks.Config.Timeout` (" + seconds + " s)"; !strings.Contains(readme, want) {
		t.Errorf("the README does not say %q", want)
	}
	days := map[time.Duration]string{3 * 24 * time.Hour: "three days"}[webhooks.DefaultMaxAge]
	if want := "waited for " + days + ", by default"; days == "" || !strings.Contains(described, want) {
		t.Errorf("the description does not say %q", want)
	}
	if want := "after " + days + " of failures (`webhooks.Config.MaxAge`)"; days == "" || !strings.Contains(readme, want) {
		t.Errorf("the README does not say %q", want)
	}
}

func TestTextsSayTheDefaultRateLimit(t *testing.T) {
	t.Parallel()
	d, readme := readFacts(t)
	if ratelimit.DefaultPer != time.Minute {
		t.Fatal("the texts say a minute")
	}
	want := fmt.Sprintf("%d requests a minute", ratelimit.DefaultTokens)
	for name, text := range map[string]string{"description": d.Info.Description, "README": readme} {
		if !strings.Contains(text, want) {
			t.Errorf("the %s does not say %q", name, want)
		}
	}
}

// The README's table of answers has a row for each type that answers.
func TestREADMEListsEveryAnswerType(t *testing.T) {
	t.Parallel()
	d, _ := readFacts(t)
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "| Block type | Value |")
	if !found {
		t.Fatal("the README has no table of answers")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var types strings.Builder
	for _, row := range strings.Split(table, "\n")[1:] {
		first, _, _ := strings.Cut(strings.TrimPrefix(row, "|"), "|")
		types.WriteString(first)
	}
	enum := d.Components.Schemas["AnswerField"].Properties["type"].Enum
	if len(enum) == 0 {
		t.Fatal("the description has no types of answers")
	}
	for _, value := range enum {
		if kind := value.(string); kind != schema.TypeHidden && kind != schema.TypeVariable && !strings.Contains(types.String(), "`"+kind+"`") {
			t.Errorf("the table has no %s", value)
		}
	}
}

// The history that is kept is that of the description.
func TestHistoryIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	d, _ := readFacts(t)
	if got := d.Components.Schemas["DeliveryList"].Properties["items"].MaxItems; got != storage.HistoryKept {
		t.Errorf("the description shows %d deliveries, the storage keeps %d", got, storage.HistoryKept)
	}
}

// What the API takes, the Client takes: each member of a body has a field.
func TestClientHasEveryMemberOfAForm(t *testing.T) {
	t.Parallel()
	d, _ := readFacts(t)
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
