package apidoc

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// documentPrefix is what the paths of the embedded description begin with.
const documentPrefix = "/v1"

// Describe returns the API description for one service, as it is served at
// GET {base_url}/v1/openapi.json. It
// differs from [schema.OpenAPI] in two places and keeps everything else, the order of
// members included:
//
//   - The only server is baseURL without a slash at its end. Empty means that the
//     service does not know its address; the server is then "/".
//   - The /v1 of every path becomes basePath. Both "" and "/" mean that the service
//     has baseURL to itself.
//
// An error is one of [CheckBaseURL] or [CheckBasePath]. Call it once for a service
// rather than once for a request: it reads the whole description each time.
func Describe(baseURL, basePath string) ([]byte, error) {
	if err := CheckBaseURL(baseURL); err != nil {
		return nil, err
	}
	if err := CheckBasePath(basePath); err != nil {
		return nil, err
	}
	server := cmp.Or(strings.TrimSuffix(baseURL, "/"), "/")
	described, err := describe(schema.OpenAPI(), server, strings.TrimSuffix(basePath, "/"))
	if err != nil {
		return nil, fmt.Errorf("the embedded description: %w", err)
	}
	return described, nil
}

// describe copies doc with another server and another prefix of its paths.
func describe(doc []byte, server, prefix string) ([]byte, error) {
	tree, err := jsontree.Parse(doc, jsontree.Bounds{})
	if err != nil {
		return nil, err
	}
	defer tree.Release()
	var edits []jsontree.Edit
	for _, member := range tree.Root().All() {
		switch member.Name() {
		case "servers":
			w := jsontree.NewWriter(nil)
			w.Array()
			w.Object()
			w.Name("url").String(server)
			w.EndObject()
			w.EndArray()
			edits = append(edits, jsontree.Edit{Start: member.Start(), End: member.End(), Text: string(w.Bytes())})
		case "paths":
			for _, path := range member.All() {
				rest, ok := strings.CutPrefix(path.Name(), documentPrefix)
				if !ok {
					return nil, fmt.Errorf("path %q does not begin with %s", path.Name(), documentPrefix)
				}
				name := jsontree.AppendString(nil, prefix+rest)
				start := path.NameStart()
				end := start + strings.IndexByte(tree.Text()[start:path.Start()], ':')
				edits = append(edits, jsontree.Edit{Start: start, End: end, Text: string(name)})
			}
		}
	}
	jsontree.SortEdits(edits)
	return jsontree.Splice(tree.Text(), 0, len(doc), edits), nil
}
