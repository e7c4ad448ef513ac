package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var here = tree{root: filepath.Join("..", "..", "..", ".."), released: filepath.Join("..", "released")}

// object is a JSON object of a description.
type object = map[string]any

// schemas returns the components of a description.
func schemas(d object) object { return d["components"].(object)["schemas"].(object) }

// at returns the object at a path through objects.
func at(o object, path string) object {
	for name := range strings.SplitSeq(path, " ") {
		o = o[name].(object)
	}
	return o
}

// more adds a value to a list.
func more(o object, list string, value any) { o[list] = append(o[list].([]any), value) }

// changed compares the description of this tree with a changed copy of it.
func changed(t *testing.T, change func(d object)) changes {
	t.Helper()
	text, err := os.ReadFile(here.description())
	if err != nil {
		t.Fatal(err)
	}
	var d object
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	change(d)
	if text, err = json.Marshal(d); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := compareDescriptions(here.description(), file)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What answers grow by breaks no client.
func TestAnswersGrowWithoutABreak(t *testing.T) {
	t.Parallel()
	c := changed(t, func(d object) {
		s := schemas(d)
		const open = "x-extensible-enum"
		for place, word := range map[string]any{
			"Error properties code": "TOO_SALTY", "Error properties type": "salt_error", "Error properties status": 410.0,
			"ErrorDetail properties code": "TOO_SALTY", "DeliveryError": "dns", "Scope": "salt:read",
			"AnyBlockType": "chart", "AnswerField properties type": "chart", "AnyFormStatus": "archived", "AnyFormType": "CHAT",
			"Submission properties status": "partial", "Delivery properties event": "form.closed", "AnalyticsMetrics properties period": "5y",
		} {
			more(at(s, place), open, word)
		}
		more(at(s, "BlockType"), "enum", "chart")
		text := object{"type": "string"}
		for _, name := range []string{"Error", "Form", "Submission", "Definition", "Block", "Settings", "Theme", "BlockProperties", "FileAnswer"} {
			at(s, name+" properties")["salt"] = text
		}
		more(at(s, "Workspace"), "required", "salt")
		at(s, "Workspace properties")["salt"] = text
		at(s, "FormCreate properties")["salt"] = text
		s["ChartAnswer"] = object{"type": "object", "properties": object{"salt": text}}
		more(at(s, "AnswerValue"), "anyOf", object{"$ref": "#/components/schemas/ChartAnswer"})
		event := at(d, "webhooks form.response.completed")
		at(d, "webhooks")["form.closed"] = event
		body := at(event, "post requestBody content application/json schema")
		more(body, "required", "salt")
		at(body, "properties")["salt"] = text
	})
	if len(c.breaks) > 0 || len(c.additions) < 10 {
		t.Errorf("additions %q, breaks %q", c.additions, c.breaks)
	}
}

func TestABreakOfTheDescriptionIsOneLine(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(d object){
		"removed the required property `request_id` from the response with the `…` status": func(d object) {
			e := at(schemas(d), "Error")
			delete(at(e, "properties"), "request_id")
			e["required"] = slices.DeleteFunc(e["required"].([]any), func(v any) bool { return v == "request_id" })
		},
		"POST /v1/forms: the request property `type` became required": func(d object) {
			more(at(schemas(d), "FormCreate"), "required", "type")
		},
		"removed the required property `response/hidden` from the response with the `…` status": func(d object) {
			delete(at(d, "webhooks form.response.completed post requestBody content application/json schema properties response properties"), "hidden")
		},
		"removed the word `TOO_LONG` of /components/schemas/ErrorDetail/properties/code": func(d object) {
			code := at(schemas(d), "ErrorDetail properties code")
			code["x-extensible-enum"] = slices.DeleteFunc(code["x-extensible-enum"].([]any), func(v any) bool { return v == "TOO_LONG" })
		},
	} {
		if c := changed(t, change); !slices.Equal(c.breaks, []string{want}) {
			t.Errorf("%q, want %q", c.breaks, want)
		}
	}
}

// What is written of a surface is all that apidiff looks at.
func TestASurfaceIsWrittenWhole(t *testing.T) {
	t.Parallel()
	s, err := readSurface(here.root)
	if err != nil {
		t.Fatal(err)
	}
	text := string(s.write())
	compare := func(old, edited string) changes {
		t.Helper()
		before := strings.Replace(text, old, edited, 1)
		if before == text && old != edited {
			t.Fatalf("the surface has no %s", old)
		}
		c, err := compareSurfaces([]byte(before), here.root)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := compare("", ""); len(c.breaks)+len(c.additions) > 0 {
		t.Errorf("the surface differs from what was written of it: %q", c)
	}
	for _, c := range []struct{ old, edited, addition, broken string }{
		{"const DefaultTokens = 600\n", "", "./ratelimit.DefaultTokens: added", ""},
		{"const DefaultTokens = 600\n", "const DefaultTokens = 600\nconst Gone = 1\n", "", "./ratelimit.Gone: removed"},
		{"func ParseID(s string) (ID, error)", "func ParseID(s []byte) (ID, error)", "", "ParseID: changed from func([]byte) (ID, error) to func(string) (ID, error)"},
	} {
		got := compare(c.old, c.edited)
		if !slices.Equal(got.additions, list(c.addition)) || !slices.Equal(got.breaks, list(c.broken)) {
			t.Errorf("%q for %q: %q", c.edited, c.old, got)
		}
	}
}

func list(line string) []string {
	if line == "" {
		return nil
	}
	return []string{line}
}

func TestBreaksAreToldInTheSectionUnreleased(t *testing.T) {
	t.Parallel()
	told := unreleased("# Changelog\n\n## [Unreleased]\n\n- Gone: `./a.B:\n  removed`.\n\n## [0.1.0]\n\n- `./a.C: removed`\n")
	var out strings.Builder
	c := changes{additions: []string{"./a.D: added"}, breaks: []string{"./a.B: removed", "./a.C: removed"}}
	want := "X: 1 additions, 2 breaks\n  added   ./a.D: added\n  told    ./a.B: removed\n  BREAKS  ./a.C: removed\n"
	if untold := c.print(&out, "X", told); untold != 1 || out.String() != want {
		t.Errorf("%d not told in\n%s", untold, &out)
	}
}
