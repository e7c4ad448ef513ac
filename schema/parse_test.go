package schema

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestParseRefuses(t *testing.T) {
	t.Parallel()

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
			t.Parallel()
			_, err := parse([]byte(test.body))
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("got %v, want a *SyntaxError", err)
			}
			if syntax.Offset != test.offset {
				t.Errorf("offset %d, want %d (%s)", syntax.Offset, test.offset, syntax.Reason)
			}
			if syntax.Reason == "" {
				t.Error("no reason")
			}
		})
	}
}

// manyMembers makes an object of n members k0, k1 … and one more.
func manyMembers(n int, last string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		b.WriteString(`"k` + decimal(float64(i)) + `":0,`)
	}
	b.WriteString(`"` + last + `":0}`)
	return b.String()
}

func TestParseAccepts(t *testing.T) {
	t.Parallel()

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
	root, err := parse(body)
	if err != nil {
		t.Fatalf("%.80q: %v", body, err)
	}
	var want any
	if err := json.Unmarshal(body, &want); err != nil {
		t.Fatalf("%.80q: encoding/json refuses it: %v", body, err)
	}
	if !reflect.DeepEqual(want, root.value()) {
		t.Fatalf("%.80q: another value than encoding/json", body)
	}
	checkSpans(t, body, root)
	if got := rebuild(body, root); got != string(body[root.start:root.end]) {
		t.Fatalf("%.80q: spans make up %.80q", body, got)
	}
}

// checkSpans decodes each value from its own bytes.
func checkSpans(t *testing.T, body []byte, n *node) {
	t.Helper()
	if len(n.items) == 0 {
		var alone any
		if err := json.Unmarshal(body[n.start:n.end], &alone); err != nil {
			t.Fatalf("raw[%d:%d] = %.80q: %v", n.start, n.end, body[n.start:n.end], err)
		}
		if !reflect.DeepEqual(alone, n.value()) {
			t.Fatalf("raw[%d:%d]: got %v, want %v", n.start, n.end, n.value(), alone)
		}
	}
	if n.kind == kindNumber && n.text != string(body[n.start:n.end]) {
		t.Fatalf("literal %q, bytes %q", n.text, body[n.start:n.end])
	}
	for i := range n.items {
		checkSpans(t, body, &n.items[i])
	}
}

// rebuild puts the bytes together again from the spans of the leaves and what
// lies between them.
func rebuild(body []byte, n *node) string {
	if len(n.items) == 0 {
		return string(body[n.start:n.end])
	}
	var b strings.Builder
	from := n.start
	for i := range n.items {
		b.Write(body[from:n.items[i].start])
		b.WriteString(rebuild(body, &n.items[i]))
		from = n.items[i].end
	}
	b.Write(body[from:n.end])
	return b.String()
}

func TestParseMarksNUL(t *testing.T) {
	t.Parallel()

	for body, want := range map[string]bool{
		`{"a":["b"]}`:             false,
		`"\u0000"`:                true,
		`{"a":[{"b":"x\u0000"}]}`: true,
		`{"a":{"\u0000":1}}`:      true,
	} {
		root, err := parse([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if root.nul != want {
			t.Errorf("%s: nul is %t", body, root.nul)
		}
	}
}

func TestParseKeepsNegativeZero(t *testing.T) {
	t.Parallel()
	root, err := parse([]byte(`-0`))
	if err != nil {
		t.Fatal(err)
	}
	if !math.Signbit(root.num) {
		t.Error("the sign is lost")
	}
}

func TestMemberNamesAreBounded(t *testing.T) {
	t.Parallel()
	body := func(name string) []byte { return []byte(` {"a":1,"` + name + `":[2]}`) }
	escaped := strings.Repeat(`\u00e9`, maxName/2)
	for _, name := range []string{strings.Repeat("n", maxName), strings.Repeat("é", maxName/2), escaped} {
		if _, err := parse(body(name)); err != nil {
			t.Errorf("a name of %d bytes: %v", maxName, err)
		}
		_, err := parse(body(name + "x"))
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Offset != len(` {"a":1,`) {
			t.Errorf("a name of %d bytes: %v", maxName+1, err)
		}
		if _, err := parseStored(body(name + "x")); err != nil {
			t.Errorf("stored: %v", err)
		}
	}

	// The rows of a matrix are member names of its answer.
	row := strings.Repeat("r", 2*maxName)
	f := compileOne(t, TypeMatrix, `"matrix_rows":[{"id":"`+row+`"}],"matrix_columns":[{"id":"c"}]`)
	if _, err := f.Check(inputOne(f, `{"`+row+`":"c"}`)); err != nil {
		t.Errorf("a row with a long id cannot be answered: %v", err)
	}
}

func TestPointersAreBounded(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("~", maxName/2) // 1,000 bytes when it is escaped
	root := place{index: -1}
	at := &root
	var last string
	for level := range 64 {
		here := at.member(name)
		item := here.item(7)
		at, last = &item, item.String()
		if level == 2 && last != strings.Repeat("/"+strings.Repeat("~0", maxName/2)+"/7", 3) {
			t.Errorf("cut too early: %d bytes", len(last))
		}
	}
	if len(last) > maxPointer || len(last) < maxPointer/2 || strings.Count(last, "/") != 2*3 {
		t.Errorf("64 levels give %d bytes", len(last))
	}
}

func TestMemberOfWhatIsNoObject(t *testing.T) {
	t.Parallel()
	root, err := parse([]byte(`["a"]`))
	if err != nil {
		t.Fatal(err)
	}
	if root.member("a") != nil {
		t.Error("an array has a member")
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
		_, err := parse(body)
		if err == nil {
			checkParsed(t, body)
			return
		}
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Fatalf("%T", err)
		}
		if syntax.Offset < 0 || syntax.Offset > len(body) {
			t.Fatalf("offset %d of %d", syntax.Offset, len(body))
		}
	})
}
