package apidoc

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/formsvc/formsvc/internal/jsonshape"
	"github.com/formsvc/formsvc/internal/jsontree"
)

// documentPrefix is the beginning of the paths of the embedded description.
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
// rather than once for a request: it copies the whole description each time.
func Describe(baseURL, basePath string) ([]byte, error) {
	if err := CheckBaseURL(baseURL); err != nil {
		return nil, err
	}
	if err := CheckBasePath(basePath); err != nil {
		return nil, err
	}
	t, err := embedded()
	if err != nil {
		return nil, fmt.Errorf("the embedded description: %w", err)
	}
	server := cmp.Or(strings.TrimSuffix(baseURL, "/"), "/")
	return t.fill(server, strings.TrimSuffix(basePath, "/")), nil
}

// embedded reads the description once: it is the same for every service of a
// process.
var embedded = sync.OnceValues(func() (template, error) { return templateOf(jsonshape.Description()) })

// template is a description and the places in it that differ from service to
// service, in their order.
type template struct {
	text    string
	servers place   // the value of servers
	paths   []place // the names of the paths
}

type place struct {
	start, end int
	path       string // without its prefix
}

func templateOf(doc *jsonshape.Document, err error) (template, error) {
	if err != nil {
		return template{}, err
	}
	t := template{text: doc.Root().Source()}
	servers := doc.Root().Member("servers")
	if !servers.Exists() {
		return t, errors.New("it has no servers")
	}
	t.servers = place{start: servers.Start(), end: servers.End()}
	for _, path := range doc.Root().Member("paths").All() {
		rest, ok := strings.CutPrefix(path.Name(), documentPrefix)
		if !ok {
			return t, fmt.Errorf("path %q does not begin with %s", path.Name(), documentPrefix)
		}
		start := path.NameStart()
		end := start + strings.IndexByte(t.text[start:path.Start()], ':')
		t.paths = append(t.paths, place{start: start, end: end, path: rest})
	}
	return t, nil
}

// fill copies the description with another server and another prefix of its paths.
func (t template) fill(server, prefix string) []byte {
	w := jsontree.NewWriter(nil)
	w.Array()
	w.Object()
	w.Name("url").String(server)
	w.EndObject()
	w.EndArray()
	edits := []jsontree.Edit{{Start: t.servers.start, End: t.servers.end, Text: string(w.Bytes())}}
	for _, p := range t.paths {
		edits = append(edits, jsontree.Edit{Start: p.start, End: p.end, Text: string(jsontree.AppendString(nil, prefix+p.path))})
	}
	jsontree.SortEdits(edits)
	return jsontree.Splice(t.text, 0, len(t.text), edits)
}
