package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newTestWrites(t testing.TB) *Writes {
	t.Helper()
	w, err := NewWrites(Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// faults returns "path CODE" for each violation, and fails when err is another
// error.
func faults(t testing.TB, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var invalid *Error
	if !errors.As(err, &invalid) {
		t.Fatalf("got %v, want an *Error", err)
	}
	var list []string
	for _, v := range invalid.Violations {
		if v.Message == "" {
			t.Errorf("%s %s has no message", v.Path, v.Code)
		}
		list = append(list, v.Path+" "+v.Code)
	}
	return list
}

func wantFaults(t testing.TB, err error, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, faults(t, err)); diff != "" {
		t.Errorf("violations (-want +got):\n%s\n%v", diff, err)
	}
}

func TestNewWritesRefusesNegativeLimits(t *testing.T) {
	t.Parallel()
	for _, l := range []Limits{{Blocks: -1}, {AllBlocks: -1}, {Nesting: -1}, {Choices: -1}, {CustomCSS: -1}, {Text: -1}, {FileSize: -1}} {
		if _, err := NewWrites(l); err == nil {
			t.Errorf("%+v is accepted", l)
		}
	}
}

func TestLimitsWithDefaultsFillsOnlyZeroFields(t *testing.T) {
	t.Parallel()
	want := Limits{Blocks: 7, AllBlocks: 2000, Nesting: 8, Choices: 500, CustomCSS: 100_000, Text: 9, FileSize: 10 << 20}
	if got := (Limits{Blocks: 7, Text: 9}).WithDefaults(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestWorkspace(t *testing.T) {
	t.Parallel()
	w := newTestWrites(t)

	t.Run("the name is trimmed before its length is checked", func(t *testing.T) {
		t.Parallel()
		want := strings.Repeat("é", 120)
		got, err := w.Workspace([]byte(`{"name":"\u00a0 ` + want + `\n\t"}`))
		if err != nil || got != want {
			t.Errorf("got %q, %v", got, err)
		}
	})

	for name, test := range map[string]struct {
		body string
		want []string
	}{
		"a name of 121 characters":        {`{"name":"` + strings.Repeat("é", 121) + `"}`, []string{"/name TOO_LONG"}},
		"an empty name":                   {`{"name":""}`, []string{"/name TOO_SHORT"}},
		"a name of white space":           {`{"name":" \u2003\t"}`, []string{"/name TOO_SHORT"}},
		"no name":                         {`{}`, []string{"/name REQUIRED"}},
		"a null name":                     {`{"name":null}`, []string{"/name WRONG_TYPE"}},
		"a number for a name":             {`{"name":1}`, []string{"/name WRONG_TYPE"}},
		"a name in another case":          {`{"Name":"a"}`, []string{"/Name UNKNOWN_FIELD", "/name REQUIRED"}},
		"U+0000 in the name":              {`{"name":"a\u0000"}`, []string{"/name BAD_FORMAT"}},
		"U+0000 in an unknown name":       {`{"name":"a","\u0000":"\u0000"}`, []string{"/\x00 BAD_FORMAT", "/\x00 UNKNOWN_FIELD"}},
		"an unknown member to be escaped": {`{"name":"a","x/y~z %":1}`, []string{"/x~1y~0z % UNKNOWN_FIELD"}},
		"an array":                        {`[]`, []string{" WRONG_TYPE"}},
		"null":                            {`null`, []string{" WRONG_TYPE"}},
		"no body":                         {"", []string{" REQUIRED"}},
		"a body of white space":           {" \r\n\t", []string{" REQUIRED"}},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			t.Parallel()
			_, err := w.Workspace([]byte(test.body))
			wantFaults(t, err, test.want...)
		})
	}

	t.Run("what is no JSON is a SyntaxError", func(t *testing.T) {
		t.Parallel()
		_, err := w.Workspace([]byte(`{"name":"a","name":"b"}`))
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("got %v", err)
		}
	})
}

func TestCheckBlockID(t *testing.T) {
	t.Parallel()
	w := newTestWrites(t)
	wantFaults(t, w.CheckBlockID(""), "path:blockId TOO_SHORT")
	wantFaults(t, w.CheckBlockID("a"))
	wantFaults(t, w.CheckBlockID(strings.Repeat("é", 200)))
	wantFaults(t, w.CheckBlockID(strings.Repeat("é", 201)), "path:blockId TOO_LONG")
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	w := newTestWrites(t)
	const form = "0123456789abcdefABCDEF01"

	t.Run("create with all members", func(t *testing.T) {
		t.Parallel()
		got, err := w.Webhook([]byte(`{"form_id":"`+form+`","url":"https://example.com/a","enabled":false,"signing_secret":"0123456789abcdef"}`), true)
		if err != nil {
			t.Fatal(err)
		}
		if *got.FormID != form || *got.URL != "https://example.com/a" || *got.Enabled || *got.Secret != "0123456789abcdef" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("create leaves defaults to the caller", func(t *testing.T) {
		t.Parallel()
		got, err := w.Webhook([]byte(`{"form_id":"`+form+`","url":"https://example.com/a"}`), true)
		if err != nil || got.Enabled != nil || got.Secret != nil {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("null takes the secret away in an update only", func(t *testing.T) {
		t.Parallel()
		got, err := w.Webhook([]byte(`{"signing_secret":null}`), false)
		if err != nil || got.Secret == nil || *got.Secret != "" || got.URL != nil || got.Enabled != nil {
			t.Errorf("got %+v, %v", got, err)
		}
		_, err = w.Webhook([]byte(`{"form_id":"`+form+`","url":"https://example.com/a","signing_secret":null}`), true)
		wantFaults(t, err, "/signing_secret WRONG_TYPE")
	})
	t.Run("faults are reported together", func(t *testing.T) {
		t.Parallel()
		_, err := w.Webhook([]byte(`{"form_id":"x","enabled":"yes","signing_secret":"short","a":1}`), true)
		wantFaults(t, err, "/a UNKNOWN_FIELD", "/enabled WRONG_TYPE", "/form_id BAD_FORMAT", "/signing_secret TOO_SHORT", "/url REQUIRED")
		_, err = w.Webhook([]byte(`{}`), false)
		wantFaults(t, err, " TOO_FEW")
		_, err = w.Webhook([]byte(`{"form_id":"`+form+`","url":null}`), false)
		wantFaults(t, err, "/form_id UNKNOWN_FIELD", "/url WRONG_TYPE")
		_, err = w.Webhook(nil, false)
		wantFaults(t, err, " REQUIRED")
	})
	t.Run("what has the right type is returned beside the faults of the rest", func(t *testing.T) {
		t.Parallel()
		got, err := w.Webhook([]byte(`{"form_id":1,"url":"http://127.0.0.1","enabled":false,"signing_secret":"short"}`), true)
		wantFaults(t, err, "/form_id WRONG_TYPE", "/signing_secret TOO_SHORT")
		if got.FormID != nil || got.URL == nil || *got.URL != "http://127.0.0.1" || got.Enabled == nil || *got.Enabled || got.Secret == nil {
			t.Errorf("got %+v", got)
		}
		got, err = w.Webhook([]byte(`{"url":null,"enabled":"no","signing_secret":null,"x":1}`), true)
		wantFaults(t, err, "/enabled WRONG_TYPE", "/form_id REQUIRED", "/signing_secret WRONG_TYPE", "/url WRONG_TYPE", "/x UNKNOWN_FIELD")
		if got != (WebhookWrite{}) {
			t.Errorf("got %+v", got)
		}
		for _, body := range []string{``, `[]`, `{`} {
			if got, err := w.Webhook([]byte(body), false); err == nil || got != (WebhookWrite{}) {
				t.Errorf("%q: got %+v, %v", body, got, err)
			}
		}
	})
}

func TestErrorsAreSortedUniqueAndCapped(t *testing.T) {
	t.Parallel()

	var all violations
	for i := range 200 {
		at := pointer("/x", decimal(float64((i*7919)%200)))
		all.add(at, CodeWrongType, "b")
		all.add(at, CodeTooLong, "a")
		all.add(at, CodeTooLong, "again")
	}
	if all.full() {
		t.Fatal("200 places are too many")
	}
	var err *Error
	if !errors.As(all.err(), &err) {
		t.Fatal("no error")
	}
	if len(err.Violations) != MaxViolations {
		t.Fatalf("%d violations", len(err.Violations))
	}
	sorted := slices.IsSortedFunc(err.Violations, func(a, b Violation) int {
		return strings.Compare(a.Path+" "+a.Code, b.Path+" "+b.Code)
	})
	if !sorted {
		t.Error("not sorted")
	}
	if v := err.Violations[0]; v != (Violation{Path: "/x/0", Code: CodeTooLong, Message: "a"}) {
		t.Errorf("the first of all is lost: %+v", v)
	}
	if v := err.Violations[2]; v.Path != "/x/1" {
		t.Errorf("repeated or lost: %+v", v)
	}

	for range 10 * collectLimit {
		all.add("/y", CodeTooLong, "more")
	}
	if !all.full() || len(all.list) != collectLimit {
		t.Errorf("%d are held, want %d", len(all.list), collectLimit)
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	at := func(paths ...string) *Error {
		e := new(Error)
		for _, path := range paths {
			e.Violations = append(e.Violations, Violation{Path: path, Code: CodeRequired, Message: "is required"})
		}
		return e
	}
	wantFaults(t, Join(at("/c", "/a"), nil, fmt.Errorf("wrapped: %w", at("/b", "/a"))), "/a REQUIRED", "/b REQUIRED", "/c REQUIRED")
	wantFaults(t, Join(at("/a")), "/a REQUIRED")
	if err := Join(); err != nil {
		t.Errorf("of nothing: %v", err)
	}
	if err := Join(nil, nil); err != nil {
		t.Errorf("of nils: %v", err)
	}
	other := &SyntaxError{Reason: "x"}
	if err := Join(nil, at("/a"), other, errors.New("second")); !errors.Is(err, other) {
		t.Errorf("another error does not win: %v", err)
	}

	many := new(Error)
	for i := range MaxViolations {
		many.Violations = append(many.Violations, at(fmt.Sprint("/m", i)).Violations...)
	}
	first := Join(many, at("/a"))
	if got := faults(t, first); len(got) != MaxViolations || got[0] != "/a REQUIRED" {
		t.Errorf("got %d, beginning with %s", len(got), got[0])
	}
	if len(many.Violations) != MaxViolations || many.Violations[0].Path != "/m0" || many.Violations[2].Path != "/m2" {
		t.Error("an argument was changed")
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"schema: not valid":                                       &Error{},
		"schema: body: is required (REQUIRED)":                    &Error{Violations: []Violation{{Code: CodeRequired, Message: "is required"}}},
		"schema: /a: must be a string (WRONG_TYPE) and 1 more":    &Error{Violations: []Violation{{Path: "/a", Code: CodeWrongType, Message: "must be a string"}, {}}},
		"schema: malformed JSON at offset 3: a value is expected": &SyntaxError{Offset: 3, Reason: "a value is expected"},
	} {
		if err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
}
