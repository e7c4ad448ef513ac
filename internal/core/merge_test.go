package core

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/formdiff"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// text is a form: its name, and blocks and settings in a short way of writing them, a1 b1 c2.
type text struct{ name, blocks, settings string }

func (x text) content() storage.FormContent {
	list := func(items, open, end string, write func(id, value string) string) json.RawMessage {
		var written []string
		for _, item := range strings.Fields(items) {
			written = append(written, write(item[:1], item[1:]))
		}
		return json.RawMessage(open + strings.Join(written, ",") + end)
	}
	return storage.FormContent{Name: x.name, Definition: storage.Definition{
		Blocks:   list(x.blocks, "[", "]", func(id, value string) string { return `{"id":"` + id + `","label":"` + value + `"}` }),
		Settings: list(x.settings, "{", "}", func(id, value string) string { return `"` + id + `":"` + value + `"` }),
		Theme:    json.RawMessage(`{}`), Variables: json.RawMessage(`{}`), HiddenFields: json.RawMessage(`[]`), Format: 1,
	}}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	was := text{"n", "a1 b1 c1", "s1 t1"}
	for name, c := range map[string]struct {
		copy, form text
		take       map[string]schema.Side
		want       text
		conflicts  string
	}{
		"nothing changed":                 {copy: was, form: was, want: was},
		"the copy changed":                {copy: text{"m", "a2 b1 c1", "s2 t1"}, form: was, want: text{"m", "a2 b1 c1", "s2 t1"}},
		"the form changed":                {copy: was, form: text{"m", "a2 b1 c1", "s2 t1"}, want: text{"m", "a2 b1 c1", "s2 t1"}},
		"both, in different parts":        {copy: text{"m", "a2 b1 c1", "s2 t1"}, form: text{"n", "a1 b2 c1", "s1 t2"}, want: text{"m", "a2 b2 c1", "s2 t2"}},
		"both alike":                      {copy: text{"m", "a2 b1 c1", "s2 t1"}, form: text{"m", "a2 b1 c1", "s2 t1"}, want: text{"m", "a2 b1 c1", "s2 t1"}},
		"both removed":                    {copy: text{"n", "a1 c1", "t1"}, form: text{"n", "a1 c1", "t1"}, want: text{"n", "a1 c1", "t1"}},
		"each removed another one":        {copy: text{"n", "a1 b1", "s1"}, form: text{"n", "b1 c1", "t1"}, want: text{"n", "b1", ""}},
		"added alike":                     {copy: text{"n", "a1 b1 c1 d1", "s1 t1"}, form: text{"n", "d1 a1 b1 c1", "s1 t1"}, want: text{"n", "a1 b1 c1 d1", "s1 t1"}},
		"each added another one":          {copy: text{"n", "a1 d1 b1 c1", "s1 t1 u1"}, form: text{"n", "a1 b1 e1 c1", "s1 t1 v1"}, want: text{"n", "a1 d1 b1 e1 c1", "s1 t1 v1 u1"}},
		"the order is the copy's":         {copy: text{"n", "c1 b1 a1", "s1 t1"}, form: text{"n", "b2 a1 c1", "s1 t1"}, want: text{"n", "c1 b2 a1", "s1 t1"}},
		"added first":                     {copy: text{"n", "c1 b1 a1", "s1 t1"}, form: text{"n", "d1 e1 a1 b1 c1", "s1 t1"}, want: text{"n", "d1 e1 c1 b1 a1", "s1 t1"}},
		"added after one that moved":      {copy: text{"n", "c1 b1 a1", "s1 t1"}, form: text{"n", "a1 d1 b1 c1", "s1 t1"}, want: text{"n", "c1 b1 a1 d1", "s1 t1"}},
		"added after one that is gone":    {copy: text{"n", "a1 c1", "s1 t1"}, form: text{"n", "a1 b1 d1 c1", "s1 t1"}, want: text{"n", "a1 d1 c1", "s1 t1"}},
		"both changed the name":           {copy: text{"m", was.blocks, was.settings}, form: text{"o", was.blocks, was.settings}, conflicts: `/name "m" "o"`},
		"both changed a block":            {copy: text{"n", "a2 b1 c1", "s1 t1"}, form: text{"n", "a3 b1 c1", "s1 t1"}, conflicts: `/definition/blocks/a {"id":"a","label":"2"} {"id":"a","label":"3"}`},
		"changed here and removed there":  {copy: text{"n", "a2 b1 c1", "s1 t1"}, form: text{"n", "b1 c1", "s1 t1"}, conflicts: `/definition/blocks/a {"id":"a","label":"2"} -`},
		"removed here and changed there":  {copy: text{"n", "b1 c1", "s1 t1"}, form: text{"n", "a2 b1 c1", "s1 t1"}, conflicts: `/definition/blocks/a - {"id":"a","label":"2"}`},
		"added differently":               {copy: text{"n", "a1 b1 c1 d1", "s1 t1"}, form: text{"n", "a1 b1 c1 d2", "s1 t1"}, conflicts: `/definition/blocks/d {"id":"d","label":"1"} {"id":"d","label":"2"}`},
		"both changed settings":           {copy: text{"n", was.blocks, "s2 t2"}, form: text{"n", was.blocks, "s3 t3"}, conflicts: `/definition/settings/s "2" "3"; /definition/settings/t "2" "3"`},
		"one conflict is not enough":      {copy: text{"m", "a2 b1 c1", "s1 t1"}, form: text{"o", "a3 b1 c1", "s1 t1"}, take: map[string]schema.Side{"/name": schema.CopySide}, conflicts: `/definition/blocks/a {"id":"a","label":"2"} {"id":"a","label":"3"}`},
		"an unknown side is none":         {copy: text{"m", was.blocks, was.settings}, form: text{"o", was.blocks, was.settings}, take: map[string]schema.Side{"/name": "mine"}, conflicts: `/name "m" "o"`},
		"the copy's is wanted":            {copy: text{"m", "a2 b1 c1", "s2 t1"}, form: text{"o", "a3 b1 c1", "s3 t1"}, take: map[string]schema.Side{"/name": schema.CopySide, "/definition/blocks/a": schema.CopySide, "/definition/settings/s": schema.CopySide}, want: text{"m", "a2 b1 c1", "s2 t1"}},
		"the form's is wanted":            {copy: text{"m", "a2 b1 c1", "s2 t1"}, form: text{"o", "a3 b1 c1", "s3 t1"}, take: map[string]schema.Side{"/name": schema.FormSide, "/definition/blocks/a": schema.FormSide, "/definition/settings/s": schema.FormSide}, want: text{"o", "a3 b1 c1", "s3 t1"}},
		"the form's, which is none":       {copy: text{"n", "a2 b1 c1", "s1 t1"}, form: text{"n", "b1 c1", "s1 t1"}, take: map[string]schema.Side{"/definition/blocks/a": schema.FormSide}, want: text{"n", "b1 c1", "s1 t1"}},
		"the form's, which the copy lost": {copy: text{"n", "b1 c1", "s1 t1"}, form: text{"n", "b1 a2 c1", "s1 t1"}, take: map[string]schema.Side{"/definition/blocks/a": schema.FormSide}, want: text{"n", "b1 a2 c1", "s1 t1"}},
		"a side where nothing clashes":    {copy: text{"m", was.blocks, was.settings}, form: was, take: map[string]schema.Side{"/name": schema.FormSide}, want: text{"m", was.blocks, was.settings}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of, err := formdiff.SplitContent(was.content())
			expect.NoError(t, err)
			// The base goes through its own way of being stored.
			_, from, err := decodeDocument(encodeDocument(c.copy.content(), &copyBase{Revision: 7, Digests: of.Digests()}))
			if err != nil || from.Revision != 7 {
				t.Fatal(from, err)
			}
			got, err := mergeWorkingCopy(from, c.copy.content(), c.form.content(), c.take)
			var conflicts []string
			if clash, ok := errors.AsType[*schema.ConflictError](err); ok {
				for _, x := range clash.Conflicts {
					conflicts = append(conflicts, strings.TrimSpace(x.Path+" "+orDash(x.Copy)+" "+orDash(x.Form)))
				}
			} else if err != nil {
				t.Fatal(err)
			}
			text := strings.Join(conflicts, "; ")
			expect.Require(t, text == c.conflicts, "conflicts %q, want %q", text, c.conflicts)
			if c.conflicts == "" {
				expect.Same(t, c.want.content(), got, "the merged form")
			}
		})
	}
}

func orDash(raw json.RawMessage) string {
	if raw == nil {
		return "-"
	}
	return string(raw)
}

// What people write in a form is kept byte for byte: white space, the way numbers are written,
// characters that an encoder would escape.
func TestADocumentKeepsTheBytesOfAForm(t *testing.T) {
	t.Parallel()
	c := storage.FormContent{Name: "<a> & \u2028 \"", Definition: storage.Definition{
		Blocks: json.RawMessage("[ {\"id\":\"<a>\", \"x\":1.50e1} ]"), Settings: json.RawMessage(`{ "a/~b" : "&" }`),
		Theme: json.RawMessage("{\n}"), Variables: json.RawMessage(`{"n": 1e2}`), HiddenFields: json.RawMessage(`[ ]`), Format: 1,
	}}
	of, err := formdiff.SplitContent(c)
	expect.NoError(t, err)
	from := copyBase{Digests: of.Digests()}
	got, read, err := decodeDocument(encodeDocument(c, &from))
	expect.NoError(t, err)
	expect.Same(t, c, got, "the content")
	expect.Same(t, from, read, "the base")
	if merged, err := mergeWorkingCopy(read, got, c, nil); err != nil || !reflect.DeepEqual(merged, c) {
		t.Errorf("a copy in which nothing was changed is merged to %s, %v", merged.Definition.Blocks, err)
	}
}
