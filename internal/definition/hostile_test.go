package definition

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

const mib = 1 << 20

// many repeats an item until the list takes about size bytes.
func many(item string, size int) string {
	return "[" + strings.Repeat(item+",", size/(len(item)+1)) + item + "]"
}

// numbered repeats an item with # replaced by a number, as many times.
func numbered(item string, times int) string {
	var b strings.Builder
	for i := range times {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.ReplaceAll(item, "#", fmt.Sprint(100_000+i)))
	}
	return b.String()
}

// nest puts a value into as many objects below a name.
func nest(name, value string, levels int) string {
	return strings.Repeat(`{"`+name+`":`, levels) + value + strings.Repeat("}", levels)
}

// hostileBodies are at most about one megabyte each and made to be expensive.
func hostileBodies() map[string]string {
	definition := func(members string) string { return `{"definition":{` + members + `}}` }
	blocks := func(list string) string { return definition(`"blocks":` + list) }
	rule := func(value string) string { return blocks(`[{"id":"a","properties":{"rule":` + value + `}}]`) }
	children := func(innermost string, levels int) string {
		list := innermost
		for i := range levels {
			list = fmt.Sprintf(`[{"id":"c%d","children":%s}]`, i, list)
		}
		return blocks(list)
	}
	long := strings.Repeat("n", jsontree.MaxName)
	tildes := strings.Repeat("~", jsontree.MaxName)
	return map[string]string{
		"open arrays":           strings.Repeat("[", mib),
		"open objects":          strings.Repeat(`{"":`, mib/4),
		"closed arrays":         strings.Repeat("[", mib/2) + strings.Repeat("]", mib/2),
		"one huge number":       "1e1000001",
		"many huge numbers":     "[" + strings.Repeat("1e999999,", 2000) + "1]",
		"one long number":       strings.Repeat("9", mib),
		"long exponent":         "1e" + strings.Repeat("9", mib),
		"many values":           many("0", mib),
		"many distinct members": "{" + numbered(`"#":[]`, mib/14) + "}",
		"many alike members":    "{" + numbered(`"aaaaaa#":0`, mib/18) + "}",
		"many duplicates":       "{" + strings.Repeat(`"a":0,`, mib/6) + `"z":0}`,
		"many escapes":          `"` + strings.Repeat(`\u0000`, mib/6) + `"`,
		"one long string":       `"` + strings.Repeat("a", mib) + `"`,
		"one bad byte at last":  `"` + strings.Repeat("a", mib) + "\xff\"",

		"U+0000 below a name of 500,000 characters":    rule(`{"` + strings.Repeat("n", mib/2) + `":` + many(`"\u0000"`, mib/2-100) + `}`),
		"U+0000 below 58 long names":                   rule(nest(long, many(`"\u0000"`, 850_000), 58)),
		"U+0000 below 58 names to be escaped":          rule(nest(tildes, many(`"\u0000"`, 850_000), 58)),
		"U+0000 in many names":                         rule("{" + numbered(`"\u0000#":0`, mib/18) + "}"),
		"wrong types in 30 levels of children":         children(many("1", 180_000), 30),
		"wrong types in the last level of children":    children(many("1", 180_000), 7),
		"empty objects in 30 levels of children":       children(many("{}", 270_000), 30),
		"lists of children beyond the last level":      children("["+numbered(`{"id":"#","children":[{}]}`, 20_000)+"]", 7),
		"many blocks of a wrong type":                  blocks(many("1", 199_000)),
		"many blocks with the same id":                 blocks(many(`{"id":"a"}`, 540_000)),
		"many blocks with distinct ids":                blocks("[" + numbered(`{"id":"#"}`, 49_000) + "]"),
		"many choices without an id":                   blocks(`[{"id":"a","choices":` + many("{}", 290_000) + `}]`),
		"many choices with the same id":                blocks(`[{"id":"a","choices":` + many(`{"id":"c"}`, 540_000) + `}]`),
		"many choices that are no objects":             blocks(`[{"id":"a","choices":` + many("1", 199_000) + `}]`),
		"many unknown members of long names":           blocks(`[{"id":"a",` + numbered(`"`+long[6:]+`#":0`, 1000) + `}]`),
		"many unknown members":                         blocks(`[{"id":"a",` + numbered(`"#":0`, 90_000) + `}]`),
		"many variables of a wrong type":               definition(`"variables":{` + numbered(`"#":null`, 65_000) + `}`),
		"many equal hidden fields":                     definition(`"hidden_fields":` + many(`"a"`, 390_000)),
		"many hidden fields of a wrong type":           definition(`"hidden_fields":` + many("1", 199_000)),
		"many bad times":                               blocks(`[{"id":"a","properties":{"specificDates":` + many(`"x"`, 390_000) + `}}]`),
		"many times to be normalised, and a fault":     blocks(`[{"id":"","properties":{"specificDates":` + many(`"2026-01-01t00:00:00z"`, mib-100) + `}}]`),
		"many whole numbers written long, and a fault": blocks(`[{"id":""},` + numbered(`{"id":"#","properties":{"limit":1000000000000000000000000000000e-30}}`, 12_000) + `]`),
		"many objects of 17 members, and a fault":      rule(`[` + strings.Repeat(`{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0,"j":0,"k":0,"l":0,"m":0,"n":0,"o":0,"p":0,"q":0},`, 5_500) + `"\u0000"]`),
		"many strings with escapes, and a fault":       rule("[" + numbered(`"\u00e9"`, 90_000) + `,"\u0000"]`),
		// Small enough for the library.
		"600 blocks without an id":                    blocks("[" + strings.Repeat("{},", 600) + "{}]"),
		"690 blocks of a wrong type":                  blocks(many("1", 1_300)),
		"650 unknown members to be escaped":           blocks(`[{"id":"a",` + numbered(`"`+strings.Repeat("~", 80)+`#":0`, 650) + `}]`),
		"650 variables of a wrong type to be escaped": definition(`"variables":{` + numbered(`"`+strings.Repeat("%", 70)+`#":null`, 650) + `}`),
		"220 integers of extreme exponents":           blocks("[" + numbered(`{"id":"","properties":{"limit":1e300,"maxChars":1e-300}}`, 110) + "]"),
		"a color of 60,000 characters":                definition(`"theme":{"colors":{"text":"` + strings.Repeat("#", 60_000) + `"}}`),
		"wrong types in 6 levels of children":         children(many("1", 1_200), 6),
		"wrong types in 10 levels of children":        children(many("1", 1_200), 10),
		"many labels that are too long, and a fault":  blocks(`[{"id":""},` + numbered(`{"id":"#","label":"`+strings.Repeat("é", 2501)+`"}`, 200) + `]`),
	}
}

// allocated returns the bytes and the objects that f allocates.
func allocated(f func()) (bytes, objects uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, after.Mallocs - before.Mallocs
}

// What checking a megabyte may allocate, whatever it is made of: 4 MB for a tree of
// 100,000 values, as large as one gets, 2 MB for the text and for what is stored,
// the rest for names and edits.
const (
	mostBytes   = 16 << 20
	mostObjects = 300_000
)

// smallAnswer fails when what is said of a hostile body is large itself.
func smallAnswer(t *testing.T, e *schema.Error) {
	t.Helper()
	expect.That(t, len(e.Violations) <= schema.MaxViolations, "%d violations", len(e.Violations))
	for _, v := range e.Violations {
		expect.That(t, len(v.Path) <= jsontree.MaxPointer && len(v.Message) <= 1000,
			"a path of %d bytes, a message of %d", len(v.Path), len(v.Message))
	}
}

// compileSchemas sends a first body to each check, because it compiles the schema.
func compileSchemas(t *testing.T, w *Validator) {
	t.Helper()
	body := []byte(`{"name":"A"}`)
	for _, check := range []func() error{
		func() error { _, err := w.ParseWorkspaceName(body); return err },
		func() error { _, err := w.ParseFormUpdate(body); return err },
		func() error { _, err := w.ParseWebhook(body, true); return err },
		func() error { _, err := w.ParseBlock(body); return err },
		func() error { _, err := w.ParseBlocks(body); return err },
		func() error { _, err := w.ParseBlockPatch(body); return err },
	} {
		var invalid *schema.Error
		err := check()
		expect.Require(t, err == nil || errors.As(err, &invalid), "%v", err)
	}
}

// Bounds on what is allocated hold on any machine, those on time do not. Not
// parallel: what other tests allocate would count.
func TestHostileInputIsCheap(t *testing.T) {
	w := newTestWrites(t)
	compileSchemas(t, w)
	// trees is how often the values are read: a patch, and then what it makes.
	refused := func(t *testing.T, trees uint64, check func() error) {
		t.Helper()
		var err error
		bytes, objects := allocated(func() { err = check() })
		expect.That(t, err != nil, "accepted")
		var invalid *schema.Error
		if errors.As(err, &invalid) {
			smallAnswer(t, invalid)
		}
		expect.That(t, bytes <= trees*mostBytes && objects <= trees*mostObjects,
			"%d bytes in %d objects, want at most %d in %d", bytes, objects, trees*mostBytes, trees*mostObjects)
	}
	for name, body := range hostileBodies() {
		expect.Require(t, len(body) <= mib+100, "%s: %d bytes", name, len(body))
		t.Run(name, func(t *testing.T) {
			refused(t, 1, func() error { _, err := w.ParseFormUpdate([]byte(body)); return err })
		})
	}

	members := "{" + numbered(`"#":0`, 90_000) + "}"
	lists := strings.Repeat(`[{"id":"c","children":`, 29) + many("1", 180_000) + strings.Repeat("}]", 29)
	for name, test := range map[string]struct {
		body  string
		check func(body []byte) error
	}{
		"a workspace": {members, func(body []byte) error { _, err := w.ParseWorkspaceName(body); return err }},
		"a webhook":   {members, func(body []byte) error { _, err := w.ParseWebhook(body, true); return err }},
		"a block":     {`{"block":{"children":` + lists + `}}`, func(body []byte) error { _, err := w.ParseBlock(body); return err }},
		"blocks":      {`{"blocks":` + lists + `}`, func(body []byte) error { _, err := w.ParseBlocks(body); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			body := []byte(test.body)
			refused(t, 1, func() error { return test.check(body) })
		})
	}
	before := stored(t, `[{"id":"a","properties":{"rule":{"x":1}}}]`)
	for name, body := range map[string]string{
		"a patch of children":          `{"block":{"children":` + lists + `}}`,
		"a patch of choices":           `{"block":{"choices":` + many("{}", 270_000) + `}}`,
		"a patch of the id and a rule": `{"block":{"id":"b","properties":{"rule":` + members + `}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			body := []byte(body)
			refused(t, 2, func() error {
				p, err := w.ParseBlockPatch(body)
				if err == nil {
					_, _, _, err = w.ApplyPatch(before, "a", p)
				}
				return err
			})
		})
	}
}

// costlyBodies are accepted, of about one megabyte, and made to be expensive.
func costlyBodies() map[string]string {
	image := func(value string) string {
		return `{"definition":{"blocks":[{"id":"a","properties":{"image":` + value + `}}]}}`
	}
	blocks := func(list string) string { return `{"definition":{"blocks":[` + list + `]}}` }
	choices := `"choices":[` + numbered(`{"id":"#"}`, 60) + `]`
	return map[string]string{
		"99,990 values":               image(`{"x":` + many("0", 2*99_980) + `}`),
		"99,990 numbers to be parsed": image(`{"x":` + many("0.1e1", 6*99_980) + `}`),
		"90,000 members":              image(`{` + numbered(`"#":0`, 90_000) + `}`),
		"90,000 escaped members":      image(`{` + numbered(`"\n#":0`, 78_000) + `}`),
		"5,800 objects of 17 members": image(`{"x":[` + strings.Repeat(`{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0,"j":0,"k":0,"l":0,"m":0,"n":0,"o":0,"p":0,"q":0},`, 5_500) + `0]}`),
		"90,000 escaped strings":      image(`{"x":` + many(`"\u00e9"`, 9*90_000) + `}`),
		"60 levels":                   image(strings.Repeat(`{"x":[`, 28) + strings.Repeat("[],", 33_000) + "0" + strings.Repeat("]}", 28)),
		"1,700 arrays of 57 levels":   image(`{"x":[` + strings.Repeat(strings.Repeat("[", 57)+strings.Repeat("]", 57)+",", 1_700) + `0]}`),
		"45,000 times":                blocks(`{"id":"a","properties":{"specificDates":` + many(`"2026-01-01t00:00:00z"`, mib-200) + `}}`),
		"500 blocks of 60 choices":    blocks(strings.ReplaceAll(numbered(`{"id":"#","type":"text",CHOICES}`, 500), "CHOICES", choices)),
		"2,000 blocks":                blocks(numbered(`{"id":"#","label":"`+strings.Repeat("l", 400)+`","children":[{"id":"a#"},{"id":"b#"},{"id":"c#"}]}`, 500)),
		"65,000 variables":            `{"definition":{"variables":{` + numbered(`"#":1`, 80_000) + `}}}`,
		"99,000 hidden fields":        `{"definition":{"hidden_fields":[` + numbered(`"#"`, 99_000) + `]}}`,
		"one string":                  image(`{"x":"` + strings.Repeat("é", mib/2-100) + `"}`),
		"a string of escapes":         image(`{"x":"` + strings.Repeat(`\n`, mib/2-100) + `"}`),
		"a string of commas":          image(`{"x":"` + strings.Repeat(`,`, mib-200) + `"}`),
	}
}

// Not parallel: what other tests allocate would count.
func TestCostlyBodiesAreBounded(t *testing.T) {
	w := newTestWrites(t)
	compileSchemas(t, w)
	for name, body := range costlyBodies() {
		expect.Require(t, len(body) <= mib, "%s: %d bytes", name, len(body))
		t.Run(name, func(t *testing.T) {
			raw := []byte(body)
			bytes, objects := allocated(func() { stores(t, w, raw) })
			t.Logf("%d kB in, %d kB in %d objects", len(body)>>10, bytes>>10, objects)
			expect.That(t, bytes <= mostBytes && objects <= mostObjects,
				"%d bytes in %d objects, want at most %d in %d", bytes, objects, mostBytes, mostObjects)
		})
	}
}

// stores checks a FormUpdate and makes what is stored of it.
func stores(t testing.TB, w *Validator, body []byte) {
	f := expect.Must(w.ParseFormUpdate(body))
	if f.Blocks != nil {
		f.Blocks.WithTypesFrom(nil).Raw()
	}
}

// BenchmarkCostlyBodies shows what the most expensive bodies of a megabyte cost:
// none more than 16 MB and 50 ms.
func BenchmarkCostlyBodies(b *testing.B) {
	w := newTestWrites(b)
	for _, name := range slices.Sorted(maps.Keys(costlyBodies())) {
		body := []byte(costlyBodies()[name])
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				stores(b, w, body)
			}
		})
	}
}
