package apispec

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/internal/jsontree"
)

type parameter struct {
	schema  *Schema
	integer bool
}

func (o *apiOperation) readRequest(d jsontree.Node, c *Compiler, operation jsontree.Node) (err error) {
	if body := operation.Member("requestBody"); body.Exists() {
		media := body.Member("content").Member("application/json")
		if !media.Exists() {
			return errors.New("the request's content type is not application/json")
		}
		if o.request, err = c.Compile(media.Pointer("") + "/schema"); err != nil {
			return err
		}
	}
	o.query = make(map[string]*parameter)
	for _, listed := range operation.Member("parameters").All() {
		p, err := resolveRef(d, listed.Pointer(""))
		if err != nil {
			return err
		}
		if p.Member("in").Text() != "query" {
			continue
		}
		s, err := c.Compile(p.Pointer("") + "/schema")
		if err != nil {
			return err
		}
		o.query[p.Member("name").Text()] = &parameter{s, p.Member("schema").Member("type").Text() == "integer"}
	}
	return nil
}

// CheckRequest checks that a request matches an operation and has a valid query. For the path's format, see
// [Description.Check].
func (r *Description) CheckRequest(method, path, query string) error {
	known, op := r.findOperation(method, path)
	switch {
	case !known:
		return fmt.Errorf("the path %s is not in the API description", path)
	case op != nil:
		return op.checkQuery(query)
	case method != http.MethodOptions:
		return fmt.Errorf("the path does not support the method %s", method)
	}
	return nil
}

// CheckBody checks a request's body and Content-Type. It ignores requests that match no operation.
func (r *Description) CheckBody(method, path string, header http.Header, body []byte) error {
	if _, op := r.findOperation(method, path); op != nil {
		return op.checkBody(header, body)
	}
	return nil
}

func (o *apiOperation) checkQuery(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	for name, all := range values {
		p, ok := o.query[name]
		if !ok {
			return fmt.Errorf("the query parameter %s is not in the API description", name)
		}
		for _, text := range all {
			if err := p.check(text); err != nil {
				return fmt.Errorf("query parameter %s: %w", name, err)
			}
		}
	}
	return nil
}

func (p *parameter) check(text string) error {
	literal := jsontree.AppendString(nil, text)
	if p.integer {
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			return fmt.Errorf("%q is not an integer", text)
		}
		literal = []byte(text)
	}
	tree, err := jsontree.Parse(literal, jsontree.Limits{})
	if err != nil {
		return err
	}
	defer tree.Release()
	return p.schema.Check(tree.Root())
}

func (o *apiOperation) checkBody(header http.Header, body []byte) error {
	if o.request == nil {
		if len(body) > 0 {
			return fmt.Errorf("the body has %d bytes, but the description has no body", len(body))
		}
		return nil
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return errors.New("the body is missing")
	}
	media, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") {
		return fmt.Errorf("Content-Type is %q, not application/json", header.Get("Content-Type"))
	}
	tree, err := jsontree.Parse(body, jsontree.BodyLimits)
	if err != nil {
		return fmt.Errorf("body: %w", err)
	}
	defer tree.Release()
	if err := o.request.Check(tree.Root()); err != nil {
		return fmt.Errorf("the body does not match its schema: %w", err)
	}
	return nil
}
