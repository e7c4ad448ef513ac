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

// documentPrefix is what every path of the embedded description begins with.
const documentPrefix = "/v1"

// description is the description of the API. It is the same for every service of a process, and
// parsing it is most of the work of [Describe].
var description = sync.OnceValues(func() (*jsontree.Tree, error) {
	return jsontree.Parse(schema.OpenAPI(), jsontree.Limits{})
})

// Describe returns the API description for one service, as it is served at
// GET {base_url}/v1/openapi.json. It differs from [schema.OpenAPI] in three places and keeps
// everything else, the order of members included:
//
//   - The only server is baseURL without a slash at its end. Empty means that the
//     service does not know its address; the server is then "/".
//   - The info has the release of the module as x-formsvc-version. Its version is that of the
//     description, which many releases share.
//   - The /v1 of every path becomes basePath. Both "" and "/" mean that the service
//     has baseURL to itself.
//
// An error is one of [CheckBaseURL] or [CheckBasePath]. Call it once for a service
// rather than once for a request: it copies the whole description each time.
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
	return jsontree.Splice(text, 0, len(text), edits), nil
}
