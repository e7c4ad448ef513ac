package schema

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

// Version is the version of the API, info.version in the description
// (specification, "Versioning").
const Version = "2026-08-01"

// documentPrefix is what the paths of the embedded description begin with, as
// they do in the specification.
const documentPrefix = "/v1"

//go:embed openapi.json
var embedded []byte

// OpenAPI returns the API description as it is embedded: OpenAPI 3.1, its paths
// below /v1, its only server "/". The bytes are the caller's own.
func OpenAPI() []byte {
	return bytes.Clone(embedded)
}

// Describe returns the API description for one service, as it is served at
// GET {base_url}/v1/openapi.json (specification, "What the service does"). It
// differs from [OpenAPI] in two places and keeps everything else, the order of
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
	described, err := describe(embedded, server, strings.TrimSuffix(basePath, "/"))
	if err != nil {
		return nil, fmt.Errorf("schema: embedded description: %w", err)
	}
	return described, nil
}

// describe copies doc with another server and another prefix of its paths. It
// follows the tokens of the document and copies what lies between as it is:
// decoding into maps would lose the order of members.
func describe(doc []byte, server, prefix string) ([]byte, error) {
	var out bytes.Buffer
	copied := 0
	replace := func(start, end int, v any) error {
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		out.Write(doc[copied:start])
		out.Write(text)
		copied = end
		return nil
	}

	r := &documentReader{doc: doc, dec: json.NewDecoder(bytes.NewReader(doc))}
	err := r.members(func(name string, _, _ int) error {
		switch name {
		case "servers":
			start, end, err := r.skip()
			if err != nil {
				return err
			}
			return replace(start, end, []map[string]string{{"url": server}})
		case "paths":
			return r.members(func(path string, start, end int) error {
				rest, ok := strings.CutPrefix(path, documentPrefix)
				if !ok {
					return fmt.Errorf("path %q does not begin with %s", path, documentPrefix)
				}
				if err := replace(start, end, prefix+rest); err != nil {
					return err
				}
				_, _, err := r.skip()
				return err
			})
		}
		_, _, err := r.skip()
		return err
	})
	if err != nil {
		return nil, err
	}
	out.Write(doc[copied:])
	return out.Bytes(), nil
}

// documentReader walks through a JSON document and knows where in it things stand.
type documentReader struct {
	doc []byte
	dec *json.Decoder
}

// members reads an object and calls visit for each member, with its name and the
// place of the name. Visit must read the value.
func (r *documentReader) members(visit func(name string, start, end int) error) error {
	if t, err := r.dec.Token(); err != nil {
		return err
	} else if t != json.Delim('{') {
		return fmt.Errorf("%v where an object should be", t)
	}
	for r.dec.More() {
		before := int(r.dec.InputOffset())
		t, err := r.dec.Token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		end := int(r.dec.InputOffset())
		start := before + bytes.IndexByte(r.doc[before:end], '"')
		if err := visit(name, start, end); err != nil {
			return err
		}
	}
	_, err := r.dec.Token()
	return err
}

// skip reads a value and returns its place.
func (r *documentReader) skip() (start, end int, err error) {
	var value json.RawMessage
	err = r.dec.Decode(&value)
	end = int(r.dec.InputOffset())
	return end - len(value), end, err
}
