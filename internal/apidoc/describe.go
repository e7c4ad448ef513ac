package apidoc

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/version"
	"github.com/formsvc/formsvc/schema"
)

const documentPrefix = "/v1"

// description returns the parsed API description. All services share it, because parsing takes most of [Describe]'s
// time.
var description = sync.OnceValues(func() (*jsontree.Tree, error) {
	return jsontree.Parse(schema.OpenAPI(), jsontree.Limits{})
})

// Describe returns a service's API description, which GET {base_url}/v1/openapi.json serves. It differs from
// [schema.OpenAPI] in three fields:
//
//   - The only server is baseURL without a trailing slash, or "/" if baseURL is empty.
//   - info.x-formsvc-version is the module's release. info.version is the description's own version, which many
//     releases share.
//   - basePath replaces /v1 in every path. "" and "/" mean that the API paths follow baseURL directly.
//
// It returns the same errors as [CheckBaseURL] and [CheckBasePath]. Call Describe once per service, because it copies
// the whole description.
func Describe(baseURL, basePath string) ([]byte, error) {
	if err := CheckBaseURL(baseURL); err != nil {
		return nil, err
	}
	if err := CheckBasePath(basePath); err != nil {
		return nil, err
	}
	tree, err := description()
	if err != nil {
		return nil, fmt.Errorf("API description: %w", err)
	}
	root := tree.Root()
	text, servers, prefix := root.Source(), root.Member("servers"), strings.TrimSuffix(basePath, "/")
	number := root.Member("info").Member("version")
	release := jsontree.AppendString([]byte(`,"x-formsvc-version":`), version.String())
	server := jsontree.AppendString(nil, cmp.Or(strings.TrimSuffix(baseURL, "/"), "/"))
	edits := []jsontree.Edit{
		{Start: number.End(), End: number.End(), Text: string(release)},
		{Start: servers.Start(), End: servers.End(), Text: `[{"url":` + string(server) + `}]`},
	}
	for _, path := range root.Member("paths").All() {
		start := path.NameStart() + len(`"`)
		edits = append(edits, jsontree.Edit{Start: start, End: start + len(documentPrefix), Text: prefix})
	}
	jsontree.SortEdits(edits)
	return jsontree.ApplyEdits(text, 0, len(text), edits), nil
}
