package apidoc_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/apidoc"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

func TestDescribeFillsInServerAndPaths(t *testing.T) {
	for _, c := range []struct{ base, path, server, prefix string }{
		{"", "/v1", "/", "/v1"},
		{"/", "/v1", "/", "/v1"},
		{"https://api.example.com", "/v1", "https://api.example.com", "/v1"},
		{"https://api.example.com/", "/v1/", "https://api.example.com", "/v1"},
		{"http://localhost:8080", "/api/forms/v1", "http://localhost:8080", "/api/forms/v1"},
		{"https://example.com/forms", "", "https://example.com/forms", ""},
		{"https://example.com/forms", "/", "https://example.com/forms", ""},
		{"https://[2001:db8::1]:8443", "/v1", "https://[2001:db8::1]:8443", "/v1"},
		{"/api", "/v2", "/api", "/v2"},
		{"/api/", "/%7Bx%7D/v2", "/api", "/%7Bx%7D/v2"},
		{"/a&b", "/d&e", "/a&b", "/d&e"},
	} {
		t.Run(c.base+" and "+c.path, func(t *testing.T) {
			expect.NoError(t, cmp.Or(apidoc.CheckBaseURL(c.base), apidoc.CheckBasePath(c.path)))
			got, err := apidoc.Describe(c.base, c.path)
			expect.NoError(t, err)
			expect.Must(jsontree.Parse(got, jsontree.Limits{}))
			var d struct {
				Servers []map[string]string
				Paths   map[string]any
			}
			expect.NoError(t, json.Unmarshal(got, &d))
			expect.That(t, len(d.Servers) == 1 && len(d.Servers[0]) == 1 && d.Servers[0]["url"] == c.server,
				"servers are %v, want %s", d.Servers, c.server)
			var embedded struct{ Paths map[string]any }
			expect.NoError(t, json.Unmarshal(schema.OpenAPI(), &embedded))
			want := make(map[string]any)
			for path, item := range embedded.Paths {
				want[c.prefix+strings.TrimPrefix(path, "/v1")] = item
			}
			expect.Same(t, want, d.Paths, "paths")
		})
	}
}

func TestDescribeKeepsEverythingElse(t *testing.T) {
	got, err := apidoc.Describe("https://unlike.example", "/unlike")
	expect.NoError(t, err)
	got = bytes.Replace(got, []byte(`[{"url":"https://unlike.example"}]`), []byte(`[{ "url": "/" }]`), 1)
	release := []byte(`"2026-08-01","x-formsvc-version":"(devel)"`)
	expect.That(t, bytes.Contains(got, release), "the description does not say which release serves it")
	got = bytes.Replace(got, release, []byte(`"2026-08-01"`), 1)
	got = bytes.ReplaceAll(got, []byte(`    "/unlike/`), []byte(`    "/v1/`))
	expect.That(t, bytes.Equal(got, schema.OpenAPI()), "more than servers, paths and the release has changed")
}

func TestDescribeRefusesWhatCannotStandInADescription(t *testing.T) {
	for _, c := range []struct{ name, base, path string }{
		{"a base URL without a scheme", "api.example.com", "/v1"},
		{"a base URL of another scheme", "ftp://api.example.com", "/v1"},
		{"a base URL without a host", "https://", "/v1"},
		{"a base URL with a port only", "https://:443", "/v1"},
		{"a base URL of a scheme relative kind", "//api.example.com", "/v1"},
		{"a base URL with a password", "https://me:geheim@api.example.com", "/v1"},
		{"a base URL with a query", "https://api.example.com/?a=b", "/v1"},
		{"a base URL with a fragment", "https://api.example.com/#a", "/v1"},
		{"a base URL with a variable", "https://{tenant}.example.com", "/v1"},
		{"a base URL with a space", "https://api.example.com/a b", "/v1"},
		{"a base URL with a control character", "https://api.example.com/\n", "/v1"},
		{"a base URL with a bare question mark", "https://api.example.com/a?", "/v1"},
		{"a base URL with two slashes at its end", "https://api.example.com//", "/v1"},
		{"a base URL with a step in its path", "https://api.example.com/a/../b", "/v1"},
		{"a base URL with a path to be escaped", "https://api.example.com/é", "/v1"},
		{"a base URL with a host to be escaped", "https://ápi.example.com", "/v1"},
		{"a base URL with a quote", `https://api.example.com/"`, "/v1"},
		{"a base URL with a bad port", "https://api.example.com:65536", "/v1"},
		{"a base path with a step", "", "/a/./b"},
		{"a base path with a character to be escaped", "", "/é"},
		{"a base path of slashes", "", "//"},
		{"a base path without a slash", "", "v1"},
		{"a base path that is a URL", "", "https://api.example.com/v1"},
		{"a base path with a host", "", "//api.example.com/v1"},
		{"a base path with an empty segment", "", "/a//b"},
		{"a base path that ends in two slashes", "", "/a//"},
		{"a base path with a parameter", "", "/{tenant}/v1"},
		{"a base path with a query", "", "/v1?a=b"},
		{"a base path with a fragment", "", "/v1#a"},
		{"a base path with a space", "", "/v 1"},
		{"a base path with a broken escape", "", "/v%1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := apidoc.Describe(c.base, c.path)
			expect.Require(t, err != nil && got == nil, "it is taken")
			expect.That(t, !strings.Contains(err.Error(), "geheim"), "the error tells the password: %v", err)
			urlErr, pathErr := apidoc.CheckBaseURL(c.base), apidoc.CheckBasePath(c.path)
			if strings.HasPrefix(c.name, "a base URL") != (urlErr != nil) || strings.HasPrefix(c.name, "a base path") != (pathErr != nil) {
				t.Errorf("checked one by one: %v and %v", urlErr, pathErr)
			}
		})
	}
}
