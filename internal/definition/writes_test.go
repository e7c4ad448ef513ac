package definition

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

func newTestWrites(t testing.TB) *Validator {
	t.Helper()
	return expect.Must(NewValidator(schema.Limits{}, nil))
}

// faultsOf returns "path CODE" for each violation, and fails when err is another
// error.
func faultsOf(t testing.TB, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var invalid *schema.Error
	expect.Require(t, errors.As(err, &invalid), "got %v, want an *schema.Error", err)
	var list []string
	for _, v := range invalid.Violations {
		expect.That(t, v.Message != "", "%s %s has no message", v.Path, v.Code)
		list = append(list, v.Path+" "+v.Code)
	}
	return list
}

func wantFaults(t testing.TB, err error, want ...string) {
	t.Helper()
	diff := cmp.Diff(want, faultsOf(t, err))
	expect.That(t, diff == "", "violations (-want +got):\n%s\n%v", diff, err)
}

func TestNewWritesRefusesNegativeLimits(t *testing.T) {
	for _, l := range []schema.Limits{{Blocks: -1}, {AllBlocks: -1}, {Nesting: -1}, {Cells: -1}, {AllCells: -1}, {Choices: -1}, {CustomCSS: -1}, {Text: -1}, {Rule: -1}, {Definition: -1}, {Submission: -1}, {FileSize: -1}, {Body: -1}, {Workspaces: -1}, {Webhooks: -1}} {
		expect.That(t, expect.ErrorOf(NewValidator(l, nil)) != nil, "%+v is accepted", l)
	}
}

func TestWorkspace(t *testing.T) {
	w := newTestWrites(t)

	t.Run("the name is trimmed before its length is checked", func(t *testing.T) {
		want := strings.Repeat("é", 120)
		got, err := w.ParseWorkspaceName([]byte(`{"name":"\u00a0 ` + want + `\n\t"}`))
		expect.That(t, err == nil && got == want, "got %q, %v", got, err)
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
			wantFaults(t, expect.ErrorOf(w.ParseWorkspaceName([]byte(test.body))), test.want...)
		})
	}

	t.Run("what is no JSON is a SyntaxError", func(t *testing.T) {
		_, err := w.ParseWorkspaceName([]byte(`{"name":"a","name":"b"}`))
		var syntax *jsontree.SyntaxError
		expect.That(t, errors.As(err, &syntax), "got %v", err)
	})
}

func TestCheckBlockID(t *testing.T) {
	w := newTestWrites(t)
	wantFaults(t, w.CheckBlockID(""), "path:blockId TOO_SHORT")
	wantFaults(t, w.CheckBlockID("a"))
	wantFaults(t, w.CheckBlockID(strings.Repeat("é", 200)))
	wantFaults(t, w.CheckBlockID(strings.Repeat("é", 201)), "path:blockId TOO_LONG")
}

func TestWebhook(t *testing.T) {
	w := newTestWrites(t)
	const form = "0123456789abcdefABCDEF01"

	t.Run("create with all members", func(t *testing.T) {
		got := expect.Must(w.ParseWebhook([]byte(`{"form_id":"`+form+`","url":"https://example.com/a","enabled":false,"signing_secret":"0123456789abcdef"}`), true))
		if *got.FormID != form || *got.URL != "https://example.com/a" || *got.Enabled || *got.Secret != "0123456789abcdef" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("create leaves defaults to the caller", func(t *testing.T) {
		got, err := w.ParseWebhook([]byte(`{"form_id":"`+form+`","url":"https://example.com/a"}`), true)
		expect.That(t, err == nil && got.Enabled == nil && got.Secret == nil, "got %+v, %v", got, err)
	})
	t.Run("null takes the secret away in an update only", func(t *testing.T) {
		got, err := w.ParseWebhook([]byte(`{"signing_secret":null}`), false)
		expect.That(t, err == nil && got.Secret != nil && *got.Secret == "" && got.URL == nil && got.Enabled == nil,
			"got %+v, %v", got, err)
		_, err = w.ParseWebhook([]byte(`{"form_id":"`+form+`","url":"https://example.com/a","signing_secret":null}`), true)
		wantFaults(t, err, "/signing_secret WRONG_TYPE")
		for _, create := range []bool{true, false} {
			url := `"url":"https://example.com/a"`
			if create {
				url += `,"form_id":"` + form + `"`
			}
			_, err = w.ParseWebhook([]byte(`{`+url+`,"signing_secret":"whsec_not base64 at all"}`), create)
			wantFaults(t, err, "/signing_secret BAD_FORMAT")
			got, err = w.ParseWebhook([]byte(`{`+url+`,"signing_secret":"whsec_MDEyMzQ1Njc4OWFiY2RlZg=="}`), create)
			expect.That(t, err == nil && got.Secret != nil && *got.Secret == "whsec_MDEyMzQ1Njc4OWFiY2RlZg==",
				"a secret with base64 is %+v: %v", got, err)
		}
	})
	t.Run("faults are reported together", func(t *testing.T) {
		_, err := w.ParseWebhook([]byte(`{"form_id":"x","enabled":"yes","signing_secret":"short","a":1}`), true)
		wantFaults(t, err, "/a UNKNOWN_FIELD", "/enabled WRONG_TYPE", "/form_id BAD_FORMAT", "/signing_secret TOO_SHORT", "/url REQUIRED")
		wantFaults(t, expect.ErrorOf(w.ParseWebhook([]byte(`{}`), false)), " TOO_FEW")
		wantFaults(t, expect.ErrorOf(w.ParseWebhook([]byte(`{"form_id":"`+form+`","url":null}`), false)), "/form_id UNKNOWN_FIELD", "/url WRONG_TYPE")
		wantFaults(t, expect.ErrorOf(w.ParseWebhook(nil, false)), " REQUIRED")
	})
	t.Run("what has the right type is returned beside the faults of the rest", func(t *testing.T) {
		got, err := w.ParseWebhook([]byte(`{"form_id":1,"url":"http://127.0.0.1","enabled":false,"signing_secret":"short"}`), true)
		wantFaults(t, err, "/form_id WRONG_TYPE", "/signing_secret TOO_SHORT")
		if got.FormID != nil || got.URL == nil || *got.URL != "http://127.0.0.1" || got.Enabled == nil || *got.Enabled || got.Secret == nil {
			t.Errorf("got %+v", got)
		}
		got, err = w.ParseWebhook([]byte(`{"url":null,"enabled":"no","signing_secret":null,"x":1}`), true)
		wantFaults(t, err, "/enabled WRONG_TYPE", "/form_id REQUIRED", "/signing_secret WRONG_TYPE", "/url WRONG_TYPE", "/x UNKNOWN_FIELD")
		expect.That(t, got == (WebhookWrite{}), "got %+v", got)
		for _, body := range []string{``, `[]`, `{`} {
			if got, err := w.ParseWebhook([]byte(body), false); err == nil || got != (WebhookWrite{}) {
				t.Errorf("%q: got %+v, %v", body, got, err)
			}
		}
	})
}
