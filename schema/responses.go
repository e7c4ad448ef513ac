package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Responses holds what the API description ([OpenAPI]) promises of every answer
// and compares answers with it. It is made for tests: the service itself never
// checks what it sends. Safe for concurrent use.
type Responses struct {
	operations []describedOperation
	unrouted   describedResponse // to a request that no operation serves
}

// describedOperation is one method of one path of the description.
type describedOperation struct {
	method    string
	segments  []string // of the path below the base path; "{…}" matches any one
	responses map[string]describedResponse
}

// describedResponse is what the description says of one status. A nil body means
// that the answer has none.
type describedResponse struct {
	headers []string // those that must be present
	body    *jsonschema.Schema
}

// commonStatuses are the statuses that the description declares once for every
// operation, as "default" (specification, "Errors").
var commonStatuses = []int{
	http.StatusBadRequest,
	http.StatusMethodNotAllowed,
	http.StatusRequestEntityTooLarge,
	http.StatusUnsupportedMediaType,
	http.StatusInternalServerError,
	http.StatusServiceUnavailable,
}

// NewResponses reads the description and compiles the schema of every response
// in it. An error means that the description itself is at fault.
func NewResponses() (*Responses, error) {
	return newResponses(OpenAPI())
}

func newResponses(document []byte) (*Responses, error) {
	d, err := readDescription(document)
	if err != nil {
		return nil, err
	}
	problem, err := d.component("Error")
	if err != nil {
		return nil, err
	}
	r := &Responses{unrouted: describedResponse{headers: []string{"X-Request-Id"}, body: problem}}
	paths, _ := d.root["paths"].(map[string]any)
	for path, item := range paths {
		methods, _ := item.(map[string]any)
		for method, op := range methods {
			operation, ok := op.(map[string]any)
			if !ok || !isMethod(method) {
				continue
			}
			o := describedOperation{
				method:    strings.ToUpper(method),
				segments:  segments(strings.TrimPrefix(path, documentPrefix)),
				responses: make(map[string]describedResponse),
			}
			answers, _ := operation["responses"].(map[string]any)
			for status := range answers {
				at := pointer("/paths", path) + "/" + method + "/responses/" + status
				if o.responses[status], err = d.response(at); err != nil {
					return nil, fmt.Errorf("schema: %s %s, response %s: %w", o.method, path, status, err)
				}
			}
			r.operations = append(r.operations, o)
		}
	}
	if len(r.operations) == 0 {
		return nil, errors.New("schema: the description has no operations")
	}
	return r, nil
}

func isMethod(name string) bool {
	return slices.Contains([]string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}, name)
}

// Check compares one answer with the description. The path is the escaped path
// of the request below the base path ("/forms/…", without a query). A request
// that the description knows must be answered with a status that it declares for
// it, with every response header that it requires, and with a body that its
// schema admits. HEAD is checked as GET without a body. A path that it does not
// know must be answered with 404, a method that it does not know with 405 and,
// for OPTIONS, with 204; the first two with an Error. The returned error says
// what differs.
func (r *Responses) Check(method, path string, status int, header http.Header, body []byte) error {
	known, op := r.find(method, path)
	switch {
	case !known:
		return r.checkUnrouted(http.StatusNotFound, method, status, header, body)
	case method == http.MethodOptions:
		if status != http.StatusNoContent || len(body) > 0 {
			return fmt.Errorf("status %d with %d bytes of body, OPTIONS is answered with 204 and none", status, len(body))
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

// Routed tells whether the description has the path, and whether it has the
// method (HEAD counts as GET) on it. The path is as for [Responses.Check].
func (r *Responses) Routed(method, path string) (knownPath, knownMethod bool) {
	known, op := r.find(method, path)
	return known, op != nil
}

// find returns whether the path is described, and the operation, nil when the
// path has no such method.
func (r *Responses) find(method, path string) (known bool, op *describedOperation) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	got := segments(path)
	for i := range r.operations {
		o := &r.operations[i]
		if !matches(o.segments, got) {
			continue
		}
		known = true
		if o.method == method {
			return true, o
		}
	}
	return known, nil
}

// checkUnrouted checks an answer to a request that no operation serves.
func (r *Responses) checkUnrouted(want int, method string, status int, header http.Header, body []byte) error {
	if status != want {
		return fmt.Errorf("status %d, a request that no operation serves is answered with %d", status, want)
	}
	return r.unrouted.check(method, header, body)
}

func (a describedResponse) check(method string, header http.Header, body []byte) error {
	for _, name := range a.headers {
		if len(header.Values(name)) == 0 {
			return fmt.Errorf("the header %s is missing", name)
		}
	}
	if a.body == nil || method == http.MethodHead {
		if len(body) > 0 {
			return fmt.Errorf("there are %d bytes of body, none was declared", len(body))
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return fmt.Errorf("Content-Type is %q, not application/json", header.Get("Content-Type"))
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return fmt.Errorf("the body is not JSON: %w", err)
	}
	if err := a.body.Validate(value); err != nil {
		return fmt.Errorf("the body differs from its schema: %s", firstCause(err))
	}
	return nil
}

// firstCause is the innermost complaint of a validation error.
func firstCause(err error) string {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return err.Error()
	}
	for len(v.Causes) > 0 {
		v = v.Causes[0]
	}
	return fmt.Sprintf("at %q: %s (%s)", v.InstanceLocation, v.Message, v.KeywordLocation)
}

func segments(path string) []string { return strings.Split(path, "/") }

func matches(template, path []string) bool {
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

// response reads the response object at a JSON pointer.
func (d *description) response(at string) (describedResponse, error) {
	object, at, err := d.follow(at)
	if err != nil {
		return describedResponse{}, err
	}
	var out describedResponse
	headers, _ := object["headers"].(map[string]any)
	for name := range headers {
		h, _, err := d.follow(pointer(at+"/headers", name))
		if err != nil {
			return describedResponse{}, err
		}
		if required, _ := h["required"].(bool); required {
			out.headers = append(out.headers, name)
		}
	}
	slices.Sort(out.headers)
	content, _ := object["content"].(map[string]any)
	if len(content) == 0 {
		return out, nil
	}
	if _, ok := content["application/json"]; !ok {
		return describedResponse{}, errors.New("its content is not application/json")
	}
	out.body, err = d.compile(pointer(at+"/content", "application/json") + "/schema")
	return out, err
}
