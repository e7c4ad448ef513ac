package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

var submittedAt = time.Date(2026, 11, 20, 8, 33, 1, 0, time.UTC)

// response is a response with answers to fields of their own ids as labels. Its id ends
// with n.
func response(n byte, answers ...string) storage.Submission {
	return storage.Submission{
		ID: storage.ID{11: n}, FormID: storage.ID{11: 0xff}, SubmittedAt: submittedAt, CompletionTime: 31.5,
		Metadata: []byte(`{}`), Answers: []byte("[" + strings.Join(answers, ",") + "]"),
	}
}

func answer(id, fieldType, value string) string {
	return fmt.Sprintf(`{"field":{"id":%q,"type":%q,"label":%q},"value":%s}`, id, fieldType, strings.ToUpper(id), value)
}

// onePage is all responses at once.
func onePage(responses ...storage.Submission) Pages {
	return func(context.Context, storage.SubmissionsParams) (storage.SubmissionPage, error) {
		return storage.SubmissionPage{Submissions: responses}, nil
	}
}

// exported is an export as text.
func exported(t *testing.T, d storage.Definition, e schema.Export, read Pages) string {
	t.Helper()
	var out bytes.Buffer
	o := Options{Export: e}
	expect.NoError(t, errors.Join(o.Normalize(), Write(t.Context(), &out, d, o, read)))
	return out.String()
}

// lines are the lines of an export whose cells have no tabs, without the columns that
// every table has: names and cells as they are written, with their quotes.
func lines(t *testing.T, d storage.Definition, o schema.Export, responses ...storage.Submission) (table [][]string) {
	t.Helper()
	o.Separator = '\t'
	for line := range strings.SplitSeq(strings.TrimSuffix(exported(t, d, o, onePage(responses...)), "\r\n"), "\r\n") {
		cells := strings.Split(line, "\t")
		table = append(table, cells[len(leading):len(cells)-len(trailing)])
	}
	return table
}

// pairs are name=cell of the columns of a table with one response.
func pairs(table [][]string) string {
	list := make([]string, len(table[0]))
	for i, name := range table[0] {
		list[i] = strings.Trim(name, `"`) + "=" + table[1][i]
	}
	return strings.Join(list, " | ")
}

// A value of each type has its columns and cells. Numbers, dates and the like stand
// without quotes, and are never changed; a text that could be a formula is.
func TestCellsOfEachType(t *testing.T) {
	const file = `{"id":"f","name":"%[1]s.pdf","url":"https://x.example/%[1]s","mime_type":"","size":1}`
	files := "[" + fmt.Sprintf(file, "a") + "," + fmt.Sprintf(file, "b") + "]"
	spread, ids := schema.Export{SplitColumns: true}, schema.Export{ChoiceIDs: true}
	const picks = `[{"id":"x","label":"Ex"},{"id":"other","label":"-O"},{"id":"choice:x","label":""},{"other":"own"},{"other":"too"}]`
	for _, c := range []struct {
		fieldType, value string
		o                schema.Export
		want             string
	}{
		{"number", `-1.5`, schema.Export{}, `q=-1.5`},
		{"number", `1e3`, schema.Export{}, `q=1e3`}, // as it is stored
		{"yes_no", `true`, schema.Export{}, `q=true`},
		{"legal", `false`, schema.Export{}, `q=false`},
		{`legal","text":"I, \"Ann\", agree`, `true`, schema.Export{}, `q=true | q/text="I, ""Ann"", agree"`},
		{`legal","text":"=1+1`, `false`, schema.Export{}, `q=false | q/text="'=1+1"`},
		{"short_text", `"=1 \"+\" 1"`, schema.Export{}, `q="'=1 ""+"" 1"`},
		{"short_text", `"=1"`, schema.Export{AllowFormulas: true}, `q="=1"`},
		{"short_text", `"+442083661177"`, schema.Export{}, `q="'+442083661177"`},
		{"short_text", `"12"`, schema.Export{}, `q="12"`},
		{"short_text", `""`, schema.Export{}, `q=`},
		{"hidden", `"@a"`, schema.Export{}, `q="'@a"`},
		{"phone", `"+442083661177"`, schema.Export{}, `q=+442083661177`},
		{"phone", `"+1"`, schema.Export{}, `q="'+1"`},
		{"phone", `"+12"`, schema.Export{}, `q=+12`},
		{"phone", `"+123456789012345"`, schema.Export{}, `q=+123456789012345`},
		{"phone", `"+1234567890123456"`, schema.Export{}, `q="'+1234567890123456"`},
		{"phone", `"-442083661177"`, schema.Export{}, `q="'-442083661177"`},
		{"phone", `"+44 2083"`, schema.Export{}, `q="'+44 2083"`},
		{"date", `"2026-02-28"`, schema.Export{}, `q=2026-02-28`},
		{"date", `"2026-02-28T10:30:00+01:00"`, schema.Export{}, `q=2026-02-28T10:30:00+01:00`},

		{"multiple_choice", picks, schema.Export{}, `q="Ex; -O; choice:x; own; too"`},
		{"multiple_choice", picks, ids, `q="x; other; choice:x; own; too"`},
		{"multiple_choice", picks, spread, `q/x="Ex" | q/choice:other="'-O" | q/choice:choice:x="choice:x" | q/other="own; too"`},
		{"multiple_choice", picks, schema.Export{SplitColumns: true, ChoiceIDs: true}, `q/x="x" | q/choice:other="other" | q/choice:choice:x="choice:x" | q/other="own; too"`},
		{"multiple_choice", `[{"id":"x","label":"Ex"}]`, spread, `q/x="Ex"`},
		{"single_choice", `{"id":"x","label":"Ex"}`, spread, `q="Ex"`}, // one value only
		{"single_choice", `{"id":"x","label":"Ex"}`, ids, `q="x"`},
		{"single_choice", `{"other":"own"}`, ids, `q="own"`},
		{"ranking", `[{"id":"y","label":"Why"},{"id":"x","label":"Ex"}]`, schema.Export{}, `q="Why; Ex"`},
		{"ranking", `[{"id":"y","label":"Why"},{"id":"x","label":"Ex"}]`, spread, `q/y=1 | q/x=2`},

		{"file_upload", files, schema.Export{}, `q/name="a.pdf; b.pdf" | q/url="https://x.example/a; https://x.example/b"`},
		{"file_upload", files, spread, `q/1/name="a.pdf" | q/1/url="https://x.example/a" | q/2/name="b.pdf" | q/2/url="https://x.example/b"`},
		{"signature", fmt.Sprintf(file, "a"), spread, `q/name="a.pdf" | q/url="https://x.example/a"`},
		{"contact_info", `{"firstName":"Ada","phone":"+442083661177","city":"-"}`, schema.Export{}, `q/firstName="Ada" | q/phone=+442083661177 | q/city="'-"`},
		{"contact_info", `{"firstName":"+442083661177","phone":"-1"}`, schema.Export{}, `q/firstName="'+442083661177" | q/phone="'-1"`},
		{"payment", `{"amount":"10.00","currency":"EUR","status":"paid","gateway":"=b","reference":"r1"}`, schema.Export{},
			`q/amount=10.00 | q/currency="EUR" | q/status="paid" | q/gateway="'=b" | q/reference="r1"`},
		{"payment", `{"amount":"10","currency":"","status":"","gateway":"","reference":""}`, schema.Export{},
			`q/amount=10 | q/currency= | q/status= | q/gateway= | q/reference=`},
		{"payment", `{"amount":"-1","currency":"","status":"","gateway":"","reference":""}`, schema.Export{},
			`q/amount="'-1" | q/currency= | q/status= | q/gateway= | q/reference=`},
		{"payment", `{"amount":"1.","currency":"","status":"","gateway":"","reference":""}`, schema.Export{},
			`q/amount="1." | q/currency= | q/status= | q/gateway= | q/reference=`},
		{"of_a_later_release", `{"a":[1]}`, schema.Export{}, `q="{""a"":[1]}"`},
	} {
		given := strings.Replace(answer("q", "TYPE", c.value), "TYPE", c.fieldType, 1)
		got := pairs(lines(t, storage.Definition{}, c.o, response(1, given)))
		expect.That(t, got == c.want, "%s %s, %+v:\n got %s\nwant %s", c.fieldType, c.value, c.o, got, c.want)
	}
}

// A block has its columns whether or not it was answered.
func TestColumnsOfEachBlock(t *testing.T) {
	const choices = `"label":"Q","choices":[{"id":"x","label":"Ex"},{"id":"other"}]`
	for _, c := range []struct {
		block, want, spread, labels string // labels are those of the spread ones
	}{
		{`"type":"short_text","label":"Q"`, `"q"`, `"q"`, `"Q"`},
		{`"type":"number"`, `"q"`, `"q"`, `"q"`},
		{`"type":"legal","label":"Q"`, `"q"`, `"q"`, `"Q"`},
		{`"type":"legal","label":"Q","properties":{"legalText":"I agree"}`, `"q" "q/text"`, `"q" "q/text"`, `"Q" "Q: text"`},
		{`"type":"yes_no","label":"Q","properties":{"legalText":"I agree"}`, `"q"`, `"q"`, `"Q"`},
		{`"type":"statement","label":"Q"`, ``, ``, ``},
		{`"type":"multiple_choice",` + choices, `"q"`, `"q/x" "q/choice:other"`, `"Q: Ex" "Q: choice:other"`},
		{`"type":"multiple_choice","properties":{"otherOption":true},` + choices, `"q"`, `"q/x" "q/choice:other" "q/other"`, `"Q: Ex" "Q: choice:other" "Q: other"`},
		{`"type":"multiple_choice","label":"**Q** [a](https://a.example) \\*{{answers.n}}","choices":[{"id":"x","label":"_E_ {{today}}"}]`, `"q"`, `"q/x"`, `"Q a *{{answers.n}}: _E_ {{today}}"`},
		{`"type":"ranking",` + choices, `"q"`, `"q/x" "q/choice:other"`, `"Q: Ex" "Q: choice:other"`},
		{`"type":"dropdown",` + choices, `"q"`, `"q"`, `"Q"`},
		{`"type":"matrix","label":"Q","matrix_rows":[{"id":"r","label":"R"},{"id":"s"}]`, `"q/r" "q/s"`, `"q/r" "q/s"`, `"Q: R" "Q: s"`},
		{`"type":"file_upload","label":"Q"`, `"q/name" "q/url"`, `"q/1/name" "q/1/url"`, `"Q: 1/name" "Q: 1/url"`},
		{`"type":"signature","label":"Q"`, `"q/name" "q/url"`, `"q/name" "q/url"`, `"Q: name" "Q: url"`},
		{`"type":"payment"`, `"q/amount" "q/currency" "q/status" "q/gateway" "q/reference"`, `"q/amount" "q/currency" "q/status" "q/gateway" "q/reference"`,
			`"q: amount" "q: currency" "q: status" "q: gateway" "q: reference"`},
		{`"type":"group","label":"G","children":[{"id":"c","type":"number","label":"C"},{"id":"d","type":"group","children":[{"id":"e","type":"date"}]}]`,
			`"c" "e"`, `"c" "e"`, `"C" "e"`},
	} {
		d := storage.Definition{Blocks: []byte(`[{"id":"q",` + c.block + `}]`)}
		for _, columns := range []struct {
			o    schema.Export
			want string
		}{{schema.Export{}, c.want}, {schema.Export{SplitColumns: true}, c.spread}, {schema.Export{SplitColumns: true, Labels: true}, c.labels}} {
			got := strings.Join(lines(t, d, columns.o)[0], " ")
			expect.That(t, got == columns.want, "%s, %+v:\n got %s\nwant %s", c.block, columns.o, got, columns.want)
		}
	}
	hides := storage.Definition{Blocks: []byte(`[{"id":"q","type":"contact_info","properties":{"addressOrContact":{"email":{"hide":true}}}}]`)}
	got := strings.Join(lines(t, hides, schema.Export{})[0], " ")
	expect.That(t, strings.HasPrefix(got, `"q/firstName" "q/lastName" "q/phone"`), "a hidden part: %s", got)
}

// A choice has one name in a table, also if its label was corrected after an answer. A deleted choice, and one of the
// host's list, has the label of its answer.
func TestCorrectedLabelsOfChoices(t *testing.T) {
	const choices = `:[{"id":"x","label":"Yes"},{"id":"y"}]`
	for _, c := range []struct{ block, value, want string }{
		{`"type":"single_choice","choices"` + choices, `{"id":"x","label":"Yess"}`, `q="Yes"`},
		{`"type":"dropdown","choices"` + choices, `{"id":"y","label":"No"}`, `q="No"`},
		{`"type":"dropdown","choices"` + choices, `{"id":"gone","label":"Gone"}`, `q="Gone"`},
		{`"type":"picture_choice","choices"` + choices, `{"other":"Yess"}`, `q="Yess"`},
		{`"type":"multiple_choice","choices"` + choices, `[{"id":"x","label":"Yess"},{"id":"gone","label":"Gone"}]`, `q="Yes; Gone"`},
		{`"type":"ranking","choices"` + choices, `[{"id":"y","label":"No"},{"id":"x","label":"Yess"}]`, `q="No; Yes"`},
		{`"type":"matrix","matrix_rows":[{"id":"r"}],"matrix_columns"` + choices, `{"r":{"id":"x","label":"Yess"}}`, `q/r="Yes"`},
		{`"type":"single_choice","properties":{"rule":{"choices":{"list":"people"}}},"choices"` + choices, `{"id":"x","label":"Ann"}`, `q="Ann"`},
	} {
		d := storage.Definition{Blocks: []byte(`[{"id":"g","type":"group","children":[{"id":"q",` + c.block + `}]}]`)}
		_, kind, _ := strings.Cut(strings.Split(c.block, `,`)[0], `:`)
		given := answer("q", strings.Trim(kind, `"`), c.value)
		expect.Equal(t, pairs(lines(t, d, schema.Export{}, response(1, given))), c.want, c.block)
		spread := pairs(lines(t, d, schema.Export{SplitColumns: true}, response(1, given)))
		expect.That(t, !strings.Contains(spread, "Yess") || strings.Contains(given, "other"), "%s: %s", c.block, spread)
	}
}

// Names are there once: those of every table, of fields that are called alike, and of ids
// that look like a field with its part. A new part stands with its field.
func TestNamesOfColumns(t *testing.T) {
	d := storage.Definition{
		Blocks: []byte(`[{"id":"a","type":"number","label":"Same"},{"id":"b","type":"number","label":"Same"},{"id":"submission_id","type":"number","label":"submitted_at"},
			{"id":"m/r","type":"number","label":"Own"},{"id":"m","type":"matrix","matrix_rows":[{"id":"r"}]}]`),
		HiddenFields: []byte(`["z","h"]`), Variables: []byte(`{"w":1,"v":"x"}`),
	}
	gone := response(1, answer("gone", "number", "1"), answer("b", "number", "2"), answer("m", "matrix", `{"late":{"id":"k","label":"K"}}`))
	for _, c := range []struct {
		o    schema.Export
		want string
	}{
		{schema.Export{}, `"a" "b" "submission_id (2)" "m/r" "m/r (2)" "m/late" "z" "h" "v" "w" "gone"`},
		{schema.Export{Labels: true}, `"Same [a]" "Same [b]" "submitted_at [submission_id]" "Own" "m: r" "m: late" "z" "h" "v" "w" "GONE"`},
	} {
		got := strings.Join(lines(t, d, c.o, gone)[0], " ")
		expect.That(t, got == c.want, "%+v:\n got %s\nwant %s", c.o, got, c.want)
	}
	if got, want := lines(t, d, schema.Export{}, gone)[1], []string{"", "2", "", "", "", `"K"`, "", "", "", "", "1"}; !cmp.Equal(got, want) {
		t.Errorf("the cells are %q, want %q", got, want)
	}
}

// The whole of a table and of NDJSON, byte for byte.
func TestAnExportByteForByte(t *testing.T) {
	d := storage.Definition{Blocks: []byte(`[{"id":"q","type":"short_text"}]`)}
	full := response(1, answer("q", "short_text", `"a\r\nb"`))
	full.Metadata = []byte(`{"country":"NL","device":"phone","user_agent":"=a","utm":{"campaign":"c","content":"d","medium":"m","source":"s","term":"t"}}`)
	full.Ending = "thanks"
	empty := response(2)
	empty.Metadata, empty.Answers, empty.CompletionTime = nil, nil, 0
	const rest = "completion_time,ending,metadata/country,metadata/device,metadata/user_agent," +
		"metadata/utm/campaign,metadata/utm/content,metadata/utm/medium,metadata/utm/source,metadata/utm/term\r\n"
	says, err := os.ReadFile("../../client.go")
	expect.NoError(t, err)
	for name := range strings.SplitSeq(strings.TrimSpace(rest), ",") {
		expect.That(t, regexp.MustCompile(`(?m)^//.*\b`+name+`\b`).Match(says),
			"the comment of formsvc.Export does not name the column %s", name)
	}
	const first = `000000000000000000000001,2026-11-20T08:33:01Z,"a` + "\r\n" + `b",31.5,"thanks","NL","phone","'=a","c","d","m","s","t"` + "\r\n"
	const second = "000000000000000000000002,2026-11-20T08:33:01Z,,0,,,,,,,,,\r\n"
	const table = `submission_id,submitted_at,"q",` + rest + first + second
	for _, c := range []struct {
		o    schema.Export
		want string
	}{
		{schema.Export{}, table},
		{schema.Export{BOM: true}, "\ufeff" + table},
		{schema.Export{Separator: ';'}, strings.ReplaceAll(table, ",", ";")},
	} {
		if got := exported(t, d, c.o, onePage(full, empty)); got != c.want {
			t.Errorf("%+v: %s", c.o, cmp.Diff(c.want, got))
		}
	}
	const line = `{"id":"000000000000000000000001","form_id":"0000000000000000000000ff","status":"completed","submitted_at":"2026-11-20T08:33:01Z",` +
		`"metadata":{},"answers":[{"field":{"id":"q","type":"number","label":"Q"},"value":1.50}],"completion_time":31.5}` + "\n"
	stored := response(1, answer("q", "number", "1.50"))
	if got := exported(t, d, schema.Export{Format: schema.NDJSON}, onePage(stored, stored)); got != line+line {
		t.Error(cmp.Diff(line+line, got))
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, separator := range []rune{',', ';', '\t'} {
		o := Options{Export: schema.Export{Format: schema.NDJSON, Separator: separator}}
		err := o.Normalize()
		expect.That(t, err == nil && o.Format == schema.NDJSON && o.Separator == separator, "%q: %+v, %v", separator, o, err)
	}
	var o Options
	err := o.Normalize()
	expect.That(t, err == nil && o.Format == schema.CSV && o.Separator == ',', "the defaults are %+v, %v", o, err)
	for path, e := range map[string]schema.Export{"/format": {Format: "xlsx"}, "/separator": {Separator: '|'}} {
		var faults *schema.Error
		o := Options{Export: e}
		if err := o.Normalize(); !errors.As(err, &faults) || faults.Violations[0].Path != path || faults.Violations[0].Code != schema.CodeNotAllowed {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// An export asks for the pages of its period one after the other, each after the last
// response of the one before, and hands each on before the next.
func TestPagesOfAnExport(t *testing.T) {
	o := schema.Export{Format: schema.NDJSON, Since: submittedAt.Add(-time.Hour), Until: submittedAt.Add(time.Hour)}
	var out bytes.Buffer
	var asked []storage.SubmissionsParams
	read := func(_ context.Context, q storage.SubmissionsParams) (storage.SubmissionPage, error) {
		asked = append(asked, q)
		n := byte(len(asked))
		expect.Equal(t, strings.Count(out.String(), "\n"), 2*int(n-1), "lines before page %d", n)
		return storage.SubmissionPage{Submissions: []storage.Submission{response(10 * n), response(10*n + 1)}, More: n < 3}, nil
	}
	expect.NoError(t, Write(t.Context(), &out, storage.Definition{}, Options{Export: o}, read))
	want := []storage.SubmissionsParams{{Since: o.Since, Until: o.Until, Page: storage.Page{Limit: PageSize}}}
	for _, last := range []byte{11, 21} {
		next := want[0]
		next.Page.After = &storage.Position{Time: submittedAt, ID: storage.ID{11: last}}
		want = append(want, next)
	}
	if !cmp.Equal(asked, want) || strings.Count(out.String(), "\n") != 6 {
		t.Errorf("%s\n%s", cmp.Diff(want, asked), out.String())
	}
	// More without responses has no place to go on after.
	nothing := func(context.Context, storage.SubmissionsParams) (storage.SubmissionPage, error) {
		return storage.SubmissionPage{More: true}, nil
	}
	expect.Equal(t, exported(t, storage.Definition{}, schema.Export{Format: schema.NDJSON}, nothing), "", "an export of no responses")
}

var errDisk = errors.New("the disk is full")

type noDisk struct{}

func (noDisk) Write([]byte) (int, error) { return 0, errDisk }

func TestFaultsOfAnExport(t *testing.T) {
	errRead := errors.New("no page")
	broken := func(context.Context, storage.SubmissionsParams) (storage.SubmissionPage, error) {
		return storage.SubmissionPage{}, errRead
	}
	unreadable := response(1)
	unreadable.Answers = []byte(`{}`)
	noMetadata := response(2)
	noMetadata.Metadata = []byte(`[]`)
	for _, format := range []schema.ExportFormat{schema.CSV, schema.NDJSON} {
		o := schema.Export{Format: format, Separator: ','}
		expect.Error(t, string(format), Write(t.Context(), &bytes.Buffer{}, storage.Definition{}, Options{Export: o}, broken), errRead)
		expect.Error(t, string(format), Write(t.Context(), noDisk{}, storage.Definition{}, Options{Export: o}, onePage(response(1))), errDisk)
	}
	o := schema.Export{Separator: ','}
	for _, r := range []storage.Submission{unreadable, noMetadata} {
		err := Write(t.Context(), &bytes.Buffer{}, storage.Definition{}, Options{Export: o}, onePage(r))
		expect.That(t, err != nil && strings.Contains(err.Error(), r.ID.String()), "%s: %v", r.ID, err)
	}
	for _, d := range []storage.Definition{{Blocks: []byte(`{}`)}, {HiddenFields: []byte(`{}`)}, {Variables: []byte(`[]`)}} {
		var out bytes.Buffer
		err := Write(t.Context(), &out, d, Options{Export: o}, onePage())
		expect.That(t, err != nil && out.Len() == 0, "%s%s%s: %v after %q", d.Blocks, d.HiddenFields, d.Variables, err, out.String())
	}
}

// What came in after the first pass has a line when it needs no column of its own. A line
// has no cells of the one before.
func TestResponsesThatTheFirstPassDidNotSee(t *testing.T) {
	passes := 0
	read := func(context.Context, storage.SubmissionsParams) (storage.SubmissionPage, error) {
		page := storage.SubmissionPage{Submissions: []storage.Submission{response(1, answer("q", "number", "7"))}}
		if passes++; passes == 2 {
			page.Submissions = append(page.Submissions, response(2, answer("late", "number", "8")), response(3))
		}
		return page, nil
	}
	got := exported(t, storage.Definition{}, schema.Export{}, read)
	for line, want := range map[string]int{"\r\n": 3, ",7,31.5": 1, "000000000000000000000002": 0, "000000000000000000000003,2026-11-20T08:33:01Z,,31.5": 1} {
		n := strings.Count(got, line)
		expect.That(t, n == want, "%q is there %d times, want %d:\n%s", line, n, want, got)
	}
}

// A table has exactly MaxColumns at most, those of every table counted.
func TestMaxColumns(t *testing.T) {
	answers := make([]string, MaxColumns-len(leading)-len(trailing))
	for i := range answers {
		answers[i] = answer(fmt.Sprintf("f%d", i), "number", "1")
	}
	most := response(1, answers...)
	if got := lines(t, storage.Definition{}, schema.Export{}, most, most); len(got[0]) != len(answers) || len(got) != 3 {
		t.Errorf("%d lines of %d columns", len(got), len(got[0]))
	}
	var out bytes.Buffer
	var faults *schema.Error
	err := Write(t.Context(), &out, storage.Definition{}, Options{Export: schema.Export{Separator: ','}}, onePage(most, response(2, answer("more", "number", "1"))))
	expect.That(t, errors.As(err, &faults) && faults.Violations[0].Code == schema.CodeTooMany && out.Len() == 0,
		"%v after %d bytes", err, out.Len())
}
