package apispec

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// Description checks requests and responses against [schema.OpenAPI]. It is safe for concurrent use.
type Description struct {
	operations []apiOperation
	unrouted   apiResponse // response to a request that matches no operation
}

type apiOperation struct {
	method    string
	segments  []string // relative to the base path; "{…}" matches any segment
	responses map[string]apiResponse
	request   *Schema               // nil if the operation has no request body
	query     map[string]*parameter // by name
}

// apiResponse describes the response with one status. body is nil if the response has no body.
type apiResponse struct {
	headers []string
	isError bool     // the body is an Error
	codes   []string // allowed error codes; if nil, any code is allowed
	body    *Schema
	rules   *proseRules
}

// commonStatuses are the statuses that every operation can return. The description declares them as "default".
var commonStatuses = []int{
	http.StatusBadRequest,
	http.StatusMethodNotAllowed,
	http.StatusRequestEntityTooLarge,
	http.StatusUnsupportedMediaType,
	http.StatusInternalServerError,
	http.StatusServiceUnavailable,
}

// New returns the compiled API description, which is shared within the process, or an error if the description is
// invalid.
var New = sync.OnceValues(func() (*Description, error) { return newDescription(schema.OpenAPI()) })

func newDescription(document []byte) (*Description, error) {
	document, err := MakeStrict(document)
	if err != nil {
		return nil, err
	}
	tree, err := jsontree.Parse(document, jsontree.Limits{})
	if err != nil {
		return nil, fmt.Errorf("API description: %w", err)
	}
	d := tree.Root()
	c, err := NewCompiler(d.Source())
	if err != nil {
		return nil, err
	}
	problem, err := c.compileComponent("Error")
	if err != nil {
		return nil, err
	}
	w, err := readProseRules(d, c)
	if err != nil {
		return nil, err
	}
	r := &Description{unrouted: apiResponse{headers: []string{"X-Request-Id"}, isError: true, body: problem, rules: w}}
	for _, path := range d.Member("paths").All() {
		for _, operation := range path.All() {
			if !isMethod(operation.Name()) || operation.Kind() != jsontree.Object {
				continue
			}
			o := apiOperation{
				method:    strings.ToUpper(operation.Name()),
				segments:  splitPath(strings.TrimPrefix(path.Name(), "/v1")),
				responses: make(map[string]apiResponse),
			}
			for _, response := range operation.Member("responses").All() {
				described, err := readResponse(d, c, response)
				if err != nil {
					return nil, fmt.Errorf("%s %s, response %s: %w", o.method, path.Name(), response.Name(), err)
				}
				described.rules = w
				o.responses[response.Name()] = described
			}
			if err := o.readRequest(d, c, operation); err != nil {
				return nil, fmt.Errorf("%s %s: %w", o.method, path.Name(), err)
			}
			r.operations = append(r.operations, o)
		}
	}
	if len(r.operations) == 0 {
		return nil, errors.New("the description has no operations")
	}
	return r, nil
}

func isMethod(name string) bool {
	return slices.Contains([]string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}, name)
}

// Check returns an error that says how a response differs from the description. The path is the escaped URL path below
// the base path ("/forms/…"), without the query. For a described request, it checks the status, headers and body. HEAD
// is checked like GET, but without a body. For an unknown path, the status must be 404, and for an unknown method 405,
// both with an Error as the body. For OPTIONS, it must be 204.
func (r *Description) Check(method, path string, status int, header http.Header, body []byte) error {
	known, op := r.findOperation(method, path)
	switch {
	case !known:
		return r.checkUnrouted(http.StatusNotFound, method, status, header, body)
	case method == http.MethodOptions:
		if status != http.StatusNoContent || len(body) > 0 {
			return fmt.Errorf("OPTIONS returned status %d with a body of %d bytes, want 204 without a body", status, len(body))
		}
		return nil
	case op == nil:
		return r.checkUnrouted(http.StatusMethodNotAllowed, method, status, header, body)
	}
	answer, ok := op.responses[strconv.Itoa(status)]
	if !ok && slices.Contains(commonStatuses, status) {
		answer, ok = op.responses["default"]
	}
	if !ok {
		return fmt.Errorf("status %d is not declared for this operation", status)
	}
	return answer.check(method, header, body)
}

// HasRoute reports whether the description contains the path, and whether the path supports the method. HEAD counts as
// GET. For path, see Check.
func (r *Description) HasRoute(method, path string) (knownPath, knownMethod bool) {
	known, op := r.findOperation(method, path)
	return known, op != nil
}

// findOperation reports whether the path is described, and returns the operation. op is nil if the path does not
// support the method.
func (r *Description) findOperation(method, path string) (known bool, op *apiOperation) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	got := splitPath(path)
	for i := range r.operations {
		o := &r.operations[i]
		if !matchesTemplate(o.segments, got) {
			continue
		}
		known = true
		if o.method == method {
			return true, o
		}
	}
	return known, nil
}

func (r *Description) checkUnrouted(want int, method string, status int, header http.Header, body []byte) error {
	if status != want {
		return fmt.Errorf("a request without an operation returned status %d, want %d", status, want)
	}
	return r.unrouted.check(method, header, body)
}

func (a apiResponse) check(method string, header http.Header, body []byte) error {
	for _, name := range a.headers {
		if len(header.Values(name)) == 0 {
			return fmt.Errorf("the header %s is missing", name)
		}
	}
	if a.body == nil || method == http.MethodHead {
		if len(body) > 0 {
			return fmt.Errorf("the body has %d bytes, but no body is declared", len(body))
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return fmt.Errorf("Content-Type is %q, not application/json", header.Get("Content-Type"))
	}
	tree, err := jsontree.Parse(body, jsontree.Limits{})
	if err != nil {
		return fmt.Errorf("body: %w", err)
	}
	defer tree.Release()
	if err := a.body.Check(tree.Root()); err != nil {
		return fmt.Errorf("the body does not match its schema: %w", err)
	}
	if a.isError {
		err = a.rules.checkError(tree.Root(), a.codes)
	} else {
		err = a.rules.check(tree.Root())
	}
	if err != nil {
		return fmt.Errorf("the body does not match its description: %w", err)
	}
	return nil
}

func splitPath(path string) []string { return strings.Split(path, "/") }

func matchesTemplate(template, path []string) bool {
	if len(template) != len(path) {
		return false
	}
	for i, want := range template {
		if strings.HasPrefix(want, "{") {
			if path[i] == "" {
				return false
			}
		} else if want != path[i] {
			return false
		}
	}
	return true
}

// resolveRef returns the object at a JSON pointer, following references.
func resolveRef(d jsontree.Node, pointer string) (jsontree.Node, error) {
	for at, hops := pointer, 0; hops < 8; hops++ {
		n := d.Find(at)
		if n.Kind() != jsontree.Object {
			return n, fmt.Errorf("no object at %s", at)
		}
		ref := n.Member("$ref")
		if ref.Kind() != jsontree.String {
			return n, nil
		}
		at = strings.TrimPrefix(ref.Text(), "#")
	}
	return jsontree.Node{}, fmt.Errorf("references at %s form a loop", pointer)
}

func readResponse(d jsontree.Node, c *Compiler, response jsontree.Node) (apiResponse, error) {
	var out apiResponse
	response, err := resolveRef(d, response.Pointer(""))
	if err != nil {
		return out, err
	}
	for _, header := range response.Member("headers").All() {
		h, err := resolveRef(d, header.Pointer(""))
		if err != nil {
			return out, err
		}
		if h.Member("required").Bool() {
			out.headers = append(out.headers, header.Name())
		}
	}
	slices.Sort(out.headers)
	for _, code := range response.Member("x-error-codes").All() {
		out.isError = true
		out.codes = append(out.codes, code.Text())
	}
	content := response.Member("content")
	if content.Len() == 0 {
		return out, nil
	}
	media := content.Member("application/json")
	if !media.Exists() {
		return out, errors.New("the content type is not application/json")
	}
	out.body, err = c.Compile(media.Pointer("") + "/schema")
	return out, err
}
