package answers

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// list makes a JSON array of items with a number in the place of #.
func list(item string, times int) string {
	var b strings.Builder
	for i := range times {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.ReplaceAll(item, "#", fmt.Sprint(i)))
	}
	return "[" + b.String() + "]"
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A matrix copies the label of a column for each row, so that kilobytes of answers
// would become megabytes. Not parallel: what other tests allocate would count.
func TestAnswersThatGrowAreBounded(t *testing.T) {
	label := strings.Repeat("L", 5000)
	choices := list(`{"id":"c#","label":"`+label+`"}`, 100)
	rows := list(`{"id":"r#"}`, 500)
	var all []string
	for i := range 500 {
		all = append(all, fmt.Sprintf(`"r%d":%s`, i, list(`"c#"`, 100)))
	}
	for name, test := range map[string]struct{ block, answer string }{
		"a matrix":                    {`"type":"matrix","matrix_rows":` + rows + `,"matrix_columns":` + choices, `{` + strings.ReplaceAll(list(`"r#":"c1"`, 500), "]", "")[1:] + `}`},
		"a matrix of several choices": {`"type":"matrix","matrix_rows":` + rows + `,"matrix_columns":` + choices + `,"properties":{"multiSelection":true}`, `{` + strings.Join(all, ",") + `}`},
		"choices":                     {`"type":"multiple_choice","choices":` + list(`{"id":"c#","label":"`+label+`"}`, 400), list(`"c#"`, 400)},
		"a ranking":                   {`"type":"ranking","choices":` + list(`{"id":"c#","label":"`+label+`"}`, 400), list(`"c#"`, 400)},
	} {
		t.Run(name, func(t *testing.T) {
			f := compileTestForm(t, `[{"id":"q","required":true,`+test.block+`},{"id":"n","type":"number"}]`, "", `["src"]`)
			var err error
			bytes := allocated(func() {
				_, err = f.Check(Input{Answers: raws("q", test.answer, "n", `"x"`), Hidden: map[string]string{"src": "x"}})
			})
			if got, want := paths(t, err), " TOO_LONG, /answers/n WRONG_TYPE"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			expect.That(t, bytes <= 16<<20, "%d bytes in cost %d", len(test.answer), bytes)
			if sample := f.Sample(); len(sample.List) > 1<<20 || !json.Valid(sample.List) || string(sample.ByField) != `{"n":42,"src":"sample"}` && name != "choices" {
				t.Errorf("a sample of %d bytes", len(sample.List))
			}
		})
	}
}

func paths(t *testing.T, err error) string {
	t.Helper()
	var e *schema.Error
	expect.Require(t, errors.As(err, &e), "got %v", err)
	var list []string
	for _, v := range e.Violations {
		list = append(list, v.Path+" "+v.Code)
	}
	return strings.Join(list, ", ")
}

func TestTheResponseLimitCountsWhatIsStored(t *testing.T) {
	blocks := json.RawMessage(`[{"id":"a","type":"long_text","label":"A"},{"id":"b","type":"single_choice","choices":[{"id":"c","label":"Long label"}]}]`)
	hidden := json.RawMessage(`["src"]`)
	in := Input{Answers: raws("a", `"x\ny"`, "b", `"c"`), Hidden: map[string]string{"src": "z"}}
	free := expect.Must(Compile(Source{Definition: storage.Definition{Blocks: blocks, HiddenFields: hidden}}))
	stored := expect.Must(free.Check(in))
	for limit, want := range map[int]string{len(stored.List): "", len(stored.List) - 1: " TOO_LONG", 10: " TOO_LONG"} {
		f := expect.Must(Compile(Source{Definition: storage.Definition{Blocks: blocks, HiddenFields: hidden}, Limits: schema.Limits{Submission: limit}}))
		got, err := f.Check(in)
		switch {
		case want != "":
			expect.Equal(t, paths(t, err), want, "a limit of %d", limit)
		case err != nil || string(got.List) != string(stored.List):
			t.Errorf("a limit of %d: %s, %v", limit, got.List, err)
		}
	}
}

// A list of what is allowed may be as long as a definition has room for; a fault does
// not repeat it.
func TestFaultsStaySmall(t *testing.T) {
	var dates, types []string
	for i := range 5000 {
		dates = append(dates, `"`+time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC).Format(time.RFC3339)+`"`)
		types = append(types, fmt.Sprintf(`"x%d"`, i))
	}
	for _, c := range []struct{ typ, members, answer string }{
		{schema.TypeDate, `"properties":{"specificDates":[` + strings.Join(dates, ",") + `]}`, `"2020-01-01"`},
		{schema.TypeFileUpload, `"properties":{"allowedFiles":[` + strings.Join(types, ",") + `]}`, file("a.png", "image/png", "1")},
	} {
		f := compileOne(t, c.typ, c.members)
		_, err := f.Check(inputOne(f, c.answer))
		var refused *schema.Error
		if !errors.As(err, &refused) {
			t.Fatalf("%s: %v", c.typ, err)
		}
		raw, err := json.Marshal(refused)
		expect.That(t, err == nil && len(raw) <= 500, "%s: %d bytes of faults, %v", c.typ, len(raw), err)
	}
}

// What a form compiles to is bounded by the bounds of a definition: 100,000 values
// in its blocks, and 4 MiB in all. Not parallel.
func TestCompiledFormsAreBounded(t *testing.T) {
	for name, sections := range map[string][2]string{
		"2,000 blocks":          {`[` + strings.Trim(list(`{"id":"#","type":"matrix","label":"`+strings.Repeat("l", 1900)+`"}`, 2000), "[]") + `]`, ``},
		"45,000 choices":        {list(`{"id":"#","type":"single_choice","choices":`+strings.ReplaceAll(list(`{"id":"#"}`, 90), "#", "x#")+`}`, 500), ``},
		"rows and columns":      {list(`{"id":"#","type":"matrix","matrix_rows":`+list(`{"id":"r"}`, 1)+`,"matrix_columns":`+many(`{"id":"`, `"}`, 480)+`}`, 90), ``},
		"rules":                 {list(`{"id":"#","type":"statement","properties":{"rule":{"show":{"or":`+repeated(`{"!":1}`, 120)+`}}}}`, 270), ``},
		"rules of objects":      {list(`{"id":"#","type":"statement","properties":{"rule":{"show":`+repeated(`{"a":1,"b":2}`, 120)+`}}}`, 250), ``},
		"rules of texts":        {list(`{"id":"#","type":"statement","properties":{"rule":{"show":`+repeated(`{"var":"answers.`+strings.Repeat("x", 100)+`"}`, 120)+`}}}`, 250), ``},
		"2,000 contacts":        {list(`{"id":"#","type":"contact_info","properties":{"defaultCountry":"NL"}}`, 2000), ``},
		"100,000 hidden fields": {``, list(`"h#"`, 100_000)},
		"long hidden fields":    {``, list(`"`+strings.Repeat("h", 195)+`#"`, 20_000)},
	} {
		t.Run(name, func(t *testing.T) {
			blocks, hidden := json.RawMessage(sections[0]), json.RawMessage(sections[1])
			var before, after runtime.MemStats
			runtime.GC()
			runtime.GC() // pools keep what they have over one
			runtime.ReadMemStats(&before)
			f := expect.Must(Compile(Source{Definition: storage.Definition{Blocks: blocks, HiddenFields: hidden}}))
			total := func() uint64 { runtime.ReadMemStats(&after); return after.TotalAlloc - before.TotalAlloc }()
			runtime.GC()
			runtime.ReadMemStats(&after)
			kept := int64(after.HeapAlloc) - int64(before.HeapAlloc)
			runtime.KeepAlive(f)
			t.Logf("%d kB compile to %d kB, %d kB allocated", (len(blocks)+len(hidden))>>10, kept>>10, total>>10)
			expect.That(t, kept <= mostCompiled, "%d bytes compile to %d, want at most %d", len(blocks)+len(hidden), kept, mostCompiled)
		})
	}
}

const mostCompiled = 24 << 20

// many makes an array of items with a number inside.
func many(before, after string, times int) string {
	items := make([]string, times)
	for i := range items {
		items[i] = before + fmt.Sprint(i) + after
	}
	return "[" + strings.Join(items, ",") + "]"
}
