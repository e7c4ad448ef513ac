package jsontree

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

func TestParseRefuses(t *testing.T) {

	tests := map[string]struct {
		body   string
		offset int
	}{
		"nothing":                            {``, 0},
		"white space only":                   {" \n", 2},
		"a byte order mark":                  {"\ufeff{}", 0},
		"invalid UTF-8":                      {"{\"a\":\"\xff\"}", 6},
		"a surrogate encoded in UTF-8":       {"\"\xed\xa0\x80\"", 1},
		"a second value":                     {`{} {}`, 3},
		"a NUL after the value":              {"{}\x00", 2},
		"a comment":                          {`{}//`, 2},
		"a trailing comma in an object":      {`{"a":1,}`, 7},
		"a trailing comma in an array":       {`[1,]`, 3},
		"a missing comma":                    {`[1 2]`, 3},
		"a missing colon":                    {`{"a" 1}`, 5},
		"a name without quotes":              {`{a:1}`, 1},
		"single quotes":                      {`['a']`, 1},
		"an open array":                      {`[1`, 2},
		"an open object":                     {`{"a":1`, 6},
		"an open string":                     {`"a`, 2},
		"a string that ends in a backslash":  {`"a\`, 2},
		"an unknown escape":                  {`"\x"`, 1},
		"a short escape":                     {`"\u12"`, 1},
		"an escape with a sign":              {`"\u+123"`, 1},
		"a lone high surrogate":              {`"\ud800"`, 1},
		"a lone low surrogate":               {`"\udc00"`, 1},
		"two high surrogates":                {`"\ud800\ud800"`, 1},
		"surrogates in the wrong order":      {`"\udc00\ud800"`, 1},
		"a raw line break in a string":       {"\"a\nb\"", 2},
		"a raw NUL in a string":              {"\"\x00\"", 1},
		"a leading zero":                     {`01`, 1},
		"a plus sign":                        {`+1`, 0},
		"a lone minus":                       {`-`, 1},
		"a point without digits":             {`1.`, 2},
		"a point first":                      {`.5`, 0},
		"an exponent without digits":         {`1e+`, 3},
		"NaN":                                {`NaN`, 0},
		"Infinity":                           {`-Infinity`, 1},
		"a literal in upper case":            {`True`, 0},
		"a literal cut short":                {`nul`, 0},
		"a literal with a tail":              {`nulls`, 4},
		"a number beyond float64":            {`1e309`, 0},
		"a nine byte number":                 {`1e1000001`, 0},
		"an exponent that overflows an int":  {`1e99999999999999999999`, 0},
		"a number that vanishes":             {`1e-400`, 0},
		"a zero that prints long":            {`0e-16000`, 0},
		"a number of 65 characters":          {strings.Repeat("1", 65), 0},
		"duplicate names":                    {`{"a":1,"b":2,"a":3}`, 13},
		"duplicate names, one escaped":       {`{"a":1,"\u0061":2}`, 7},
		"a duplicate deep inside":            {`[{"x":{"a":1,"a":2}}]`, 13},
		"a duplicate among many":             {manyMembers(100, "k7"), strings.LastIndex(manyMembers(100, "k7"), `"k7"`)},
		"nesting of 65 arrays":               {strings.Repeat("[", 65) + strings.Repeat("]", 65), 64},
		"nesting of 65 objects":              {strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65), 64 * 5},
		"more than 100,000 values":           {"[" + strings.Repeat("0,", 100_000) + "0]", 1 + 2*99_999},
		"a surrogate pair with a lone third": {`"\ud83d\ude00\ud83d"`, 13},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(test.body), BodyLimits)
			var syntax *SyntaxError
			expect.Require(t, errors.As(err, &syntax), "got %v, want a *SyntaxError", err)
			expect.That(t, syntax.Offset == test.offset, "offset %d, want %d (%s)", syntax.Offset, test.offset, syntax.Reason)
			expect.That(t, syntax.Reason != "", "no reason")
		})
	}
}

// manyMembers makes an object of n members k0, k1 … and one more.
func manyMembers(n int, last string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		b.WriteString(`"k` + strconv.Itoa(i) + `":0,`)
	}
	b.WriteString(`"` + last + `":0}`)
	return b.String()
}

func TestParseAccepts(t *testing.T) {

	for _, body := range []string{
		`null`, `true`, `false`, `0`, `-0`, `1`, `-12.5e+3`, `1E2`, `0.1`, `1e308`, `5e-324`, `123456789012345678`,
		strings.Repeat("1", 64), "0." + strings.Repeat("0", 60) + "1",
		`""`, `"a"`, `"\u0041\n\t\r\b\f\"\\\/"`, `"\ud83d\ude00"`, `"é \u00e9 😀"`, "\"\u2028\x7f\"", `"\u0000"`,
		`[]`, `{}`, " [ ] ", "\t{\r\n}\n", `[1,"a",null,[true],{"b":false}]`,
		`{"a":{"b":[{"c":"\u0064"}]},"":0,"\u0061\u0062":1,"A":2}`,
		manyMembers(40, "last"),
		strings.Repeat("[", 64) + strings.Repeat("]", 64),
		"[" + strings.Repeat("0,", 99_998) + "0]",
	} {
		checkParsed(t, []byte(body))
	}
}

// checkParsed parses what is known to be acceptable and holds the tree against
// encoding/json.
func checkParsed(t *testing.T, body []byte) {
	t.Helper()
	tree, err := Parse(body, BodyLimits)
	expect.Require(t, err == nil, "%.80q: %v", body, err)
	defer tree.Release()
	root := tree.Root()
	var want any
	err = json.Unmarshal(body, &want)
	expect.Require(t, err == nil, "%.80q: encoding/json refuses it: %v", body, err)
	expect.Require(t, reflect.DeepEqual(want, root.Value()), "%.80q: another value than encoding/json", body)
	checkSpans(t, body, root)
	got := rebuild(body, root)
	expect.Require(t, got == string(body[root.Start():root.End()]), "%.80q: spans make up %.80q", body, got)
}

// checkSpans decodes each value from its own bytes, and finds it by its pointer.
func checkSpans(t *testing.T, body []byte, n Node) {
	t.Helper()
	raw := body[n.Start():n.End()]
	if n.Len() == 0 {
		var alone any
		if err := json.Unmarshal(raw, &alone); err != nil {
			t.Fatalf("%.80q at %d: %v", raw, n.Start(), err)
		}
		if !reflect.DeepEqual(alone, n.Value()) {
			t.Fatalf("%.80q: got %v, want %v", raw, n.Value(), alone)
		}
	}
	if n.Raw() != string(raw) {
		t.Fatalf("raw %q, bytes %q", n.Raw(), raw)
	}
	if n.Kind() == Number && n.Text() != string(raw) {
		t.Fatalf("literal %q, bytes %q", n.Text(), raw)
	}
	size := 1
	for i, child := range n.All() {
		want := n.Pointer("") + "/" + strconv.Itoa(i)
		if n.Kind() == Object {
			want = n.MemberPointer("", child.Name())
		}
		got := child.Pointer("")
		expect.Require(t, got == want || len(got) >= MaxPointer/2, "pointer %q, want %q", got, want)
		checkSpans(t, body, child)
		size += child.ValueCount()
	}
	if n.ValueCount() != size {
		t.Fatalf("%.80q: size %d, want %d", raw, n.ValueCount(), size)
	}
}

// rebuild puts the bytes together again from the spans of the leaves and what
// lies between them.
func rebuild(body []byte, n Node) string {
	var b strings.Builder
	from := n.Start()
	for _, child := range n.All() {
		b.Write(body[from:child.Start()])
		b.WriteString(rebuild(body, child))
		from = child.End()
	}
	b.Write(body[from:n.End()])
	return b.String()
}

func TestParseMarksNUL(t *testing.T) {

	for body, want := range map[string]bool{
		`{"a":["b"]}`:             false,
		`"\u0000"`:                true,
		`{"a":[{"b":"x\u0000"}]}`: true,
		`{"a":{"\u0000":1}}`:      true,
	} {
		expect.Equal(t, parsed(t, body).HasNUL(), want, "%s: U+0000", body)
	}
}

func TestParseKeepsNegativeZero(t *testing.T) {
	expect.That(t, math.Signbit(parsed(t, `-0`).Float()), "the sign is lost")
}

func TestMemberNamesAreBounded(t *testing.T) {
	body := func(name string) []byte { return []byte(` {"a":1,"` + name + `":[2]}`) }
	escaped := strings.Repeat(`\u00e9`, MaxName/2)
	for _, name := range []string{strings.Repeat("n", MaxName), strings.Repeat("é", MaxName/2), escaped} {
		expect.Error(t, fmt.Sprintf("a name of %d bytes", MaxName), expect.ErrorOf(Parse(body(name), BodyLimits)), nil)
		_, err := Parse(body(name+"x"), BodyLimits)
		var syntax *SyntaxError
		expect.That(t, errors.As(err, &syntax) && syntax.Offset == len(` {"a":1,`), "a name of %d bytes: %v", MaxName+1, err)
		expect.Error(t, "without bounds", expect.ErrorOf(Parse(body(name+"x"), Limits{})), nil)
	}
}

func TestPointersAreBounded(t *testing.T) {
	name := strings.Repeat("~", MaxName/2) // 1,000 bytes when it is escaped
	n := parsed(t, strings.Repeat(`{"`+name+`":[0,0,0,0,0,0,0,`, 32)+"0"+strings.Repeat("]}", 32))
	var last string
	for level := range 32 {
		n = n.First()
		for n = n.First(); n.Next().Exists(); n = n.Next() {
		}
		last = n.Pointer("")
		expect.That(t, level != 2 || last == strings.Repeat("/"+strings.Repeat("~0", MaxName/2)+"/7", 3),
			"cut too early: %d bytes", len(last))
	}
	expect.That(t, len(last) <= MaxPointer && len(last) >= MaxPointer/2 && strings.Count(last, "/") == 2*3,
		"64 levels give %d bytes", len(last))
	got := n.MemberPointer("", "x")
	expect.That(t, len(got) <= MaxPointer, "a member below gives %d bytes", len(got))
	expect.Equal(t, parsed(t, `{}`).MemberPointer("/base", "a/~"), "/base/a~1~0", "the pointer")
	got = parsed(t, `{}`).MemberPointer("/base", strings.Repeat("n", MaxPointer))
	expect.That(t, got == "/base", "a long name gives %d bytes", len(got))
}

// parsed parses what is acceptable and returns its value.
func parsed(t testing.TB, body string) Node {
	t.Helper()
	tree, err := Parse([]byte(body), BodyLimits)
	expect.NoError(t, err)
	return tree.Root()
}

func TestMemberOfWhatIsNotAnObject(t *testing.T) {
	expect.That(t, !parsed(t, `["a"]`).Member("a").Exists(), "an array has a member")
	var none Node
	if none.Exists() || none.Member("a").Exists() || none.Kind() != Null || none.Len() != 0 || none.Text() != "" || none.Float() != 0 || none.Bool() || none.HasNUL() || none.First().Exists() {
		t.Error("a value that is not there has something")
	}
}

func TestSetText(t *testing.T) {
	for _, body := range []string{`"a"`, `" \u0061\u2003"`, `""`} {
		n := parsed(t, body)
		for _, text := range []string{"", "a longer text", "é"} {
			n.SetText(text)
			if n.Text() != text || n.Raw() != body {
				t.Errorf("%s: %q, want %q", body, n.Text(), text)
			}
		}
	}
	n := parsed(t, `{"\u0061":"\u0062","c":"d"}`)
	n.Member("c").SetText("x")
	if n.Member("a").Text() != "b" || n.Member("c").Text() != "x" {
		t.Errorf("%q and %q, want b and x", n.Member("a").Text(), n.Member("c").Text())
	}
}

// What was taken out of a tree outlives it.
func TestTextsOutliveTheirTree(t *testing.T) {
	for range 100 {
		tree, err := Parse([]byte(`{"\u0061bc":"d\u0065f","ghi":"jkl"}`), BodyLimits)
		expect.NoError(t, err)
		first := tree.Root().First()
		second := first.Next()
		got := []string{first.Name(), first.Text(), second.Name(), second.Text()}
		tree.Release()
		other, err := Parse([]byte(`["\u0078\u0078\u0078\u0078\u0078\u0078","yyyyyyyyyyyyy"]`), BodyLimits)
		expect.NoError(t, err)
		want := []string{"abc", "def", "ghi", "jkl"}
		expect.Require(t, slices.Equal(got, want), "got %q", got)
		other.Release()
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[1,2.5e3,"a\u0000b",null]`, `{"a":{"b":[]},"a\u0062":-0}`, `"\ud83d\ude00"`, `1e1000001`, ` {"a" : 1 } `,
		`{"a":1,"a":2}`, "\xff", `[[[[`, `01`, `{"a":tru}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		_, err := Parse(body, BodyLimits)
		if err == nil {
			checkParsed(t, body)
			return
		}
		var syntax *SyntaxError
		expect.Require(t, errors.As(err, &syntax), "%T", err)
		expect.Require(t, syntax.Offset >= 0 && syntax.Offset <= len(body), "offset %d of %d", syntax.Offset, len(body))
	})
}
