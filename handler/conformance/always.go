package conformance

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// errorBody is the error shape of the API description.
type errorBody struct {
	kind      string
	code      string
	message   string
	requestID string
	details   []detail
}

type detail struct{ path, code, message string }

// oddIntegers matches integers that many clients do not read as such. No request of the suite has one
// where a service has to keep how a number is written.
var oddIntegers = regexp.MustCompile(`("\w+")?[\[:,] *-?\d+(\.0+([eE][+-]?\d+)?|[eE][+-]?\d+) *[\]},]`)

var requestIDPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

// checkAlways holds an answer against the promises for every answer.
func (r *response) checkAlways() {
	id := r.header.Get("X-Request-Id")
	if !requestIDPattern.MatchString(id) {
		r.faultf("X-Request-ID is %q, want 1 to 100 letters, digits, periods, underscores and hyphens", id)
	}
	if got := len(r.header.Values("X-Request-Id")); got > 1 {
		r.faultf("the response has %d X-Request-ID headers, want one", got)
	}
	if sent := r.request.header.Get("X-Request-Id"); requestIDPattern.MatchString(sent) && id != sent {
		r.faultf("X-Request-ID is %q, want %q, which the caller sent", id, sent)
	}
	if err := r.responses.Check(r.request.method, r.path(), r.status, r.header, r.body); err != nil {
		r.faultf("the response does not match the API description: %v", err)
	}
	if r.status >= 300 && r.status < 400 && r.status != http.StatusNotModified {
		r.faultf("the response is a redirect, but the API never redirects")
	}
	if r.status >= 500 {
		r.faultf("the response is a server error")
	}
	if r.header.Get("Set-Cookie") != "" {
		r.faultf("the response sets a cookie, but the API uses none")
	}
	if r.path() != "/openapi.json" {
		for _, number := range oddIntegers.FindAllSubmatch(r.body, maxFaults) {
			if name := string(number[1]); name != `"completion_rate"` && name != `"completion_time"` {
				r.faultf("an integer is written as %s, want no fraction and no exponent", number[0])
			}
		}
	}
	r.checkUncached()
	r.checkKeyed()
	r.checkSecrets()
	if r.status >= 400 && r.request.method != http.MethodHead {
		r.checkErrorBody()
	}
}

// checkUncached holds every answer but the description, which may be kept, to
// no-store.
func (r *response) checkUncached() {
	if got := r.header.Get("Cache-Control"); got != "no-store" && r.path() != "/openapi.json" {
		r.faultf("Cache-Control is %q, want no-store", got)
	}
}

// checkKeyed looks at the headers of an answer to an authenticated call.
func (r *response) checkKeyed() {
	_, routed := r.responses.HasRoute(r.request.method, r.path())
	if !routed || r.path() == "/openapi.json" || r.status == http.StatusUnauthorized {
		return
	}
	if r.target.RateLimit > 0 {
		for _, name := range []string{"RateLimit", "RateLimit-Policy"} {
			if r.header.Get(name) == "" {
				r.faultf("the response to an authenticated request lacks the header %s", name)
			}
		}
	}
}

func (r *response) checkSecrets() {
	leak := r.leaks(string(r.body))
	for _, values := range r.header {
		leak = leak || slices.ContainsFunc(values, r.leaks)
	}
	if leak {
		r.faultf("the response contains an API key or a signing secret")
	}
}

// errorKind is the type that errors of a status have.
func errorKind(status int) string {
	switch status {
	case 400, 405, 413, 415:
		return "request_error"
	case 401:
		return "authentication_error"
	case 403:
		return "permission_error"
	case 404:
		return "not_found_error"
	case 409:
		return "conflict_error"
	case 412:
		return "precondition_error"
	case 422:
		return "validation_error"
	case 429:
		return "rate_limit_error"
	case 500, 503:
		return "server_error"
	}
	return ""
}

// codeStatus is the status of each error code.
func codeStatus(code string) int {
	switch code {
	case "INVALID_API_KEY":
		return 401
	case "INSUFFICIENT_SCOPE", "OWNER_REQUIRED":
		return 403
	case "INVALID_CURSOR", "VALIDATION_FAILED", "WEBHOOK_URL_REJECTED":
		return 422
	case "MALFORMED_JSON":
		return 400
	case "BODY_TOO_LARGE":
		return 413
	case "UNSUPPORTED_MEDIA_TYPE":
		return 415
	case "METHOD_NOT_ALLOWED":
		return 405
	case "NOT_FOUND":
		return 404
	case "WORKSPACE_LIMIT_REACHED", "BLOCK_EXISTS":
		return 409
	case "REVISION_MISMATCH":
		return 412
	case "RATE_LIMITED":
		return 429
	case "INTERNAL_ERROR":
		return 500
	case "UNAVAILABLE":
		return 503
	}
	return 0
}

// checkErrorBody holds an error against the error shape, whatever it is about.
func (r *response) checkErrorBody() {
	o, ok := decode(r.body).(object)
	if !ok {
		r.faultf("the error body is not a JSON object")
		return
	}
	required := []string{"type", "code", "message", "status", "request_id"}
	r.checkMembers(o, required, "details")
	e := r.errorBody()
	if e.kind != errorKind(r.status) {
		r.faultf("type is %q, want %q with status %d", e.kind, errorKind(r.status), r.status)
	}
	if codeStatus(e.code) != r.status {
		r.faultf("code is %q, which does not belong to status %d", e.code, r.status)
	}
	if o["status"] != float64(r.status) {
		r.faultf("status in the body is %v, but the status of the response is %d", o["status"], r.status)
	}
	if strings.TrimSpace(e.message) == "" {
		r.faultf("message is empty, want a text")
	}
	if e.requestID != r.header.Get("X-Request-Id") {
		r.faultf("request_id is %q, want the X-Request-ID %q", e.requestID, r.header.Get("X-Request-Id"))
	}
	if _, has := o["details"]; has {
		r.checkDetails(e)
	}
	if r.status == http.StatusUnauthorized && r.header.Get("WWW-Authenticate") != "Bearer" {
		r.faultf("WWW-Authenticate is %q, want Bearer", r.header.Get("WWW-Authenticate"))
	}
}

func (r *response) checkDetails(e errorBody) {
	if r.status != http.StatusUnprocessableEntity {
		r.faultf("the error with status %d has details, but only validation errors have them", r.status)
	}
	if len(e.details) == 0 || len(e.details) > 50 {
		r.faultf("the error has %d details, want 1 to 50", len(e.details))
	}
	if !slices.IsSortedFunc(e.details, func(a, b detail) int { return strings.Compare(a.path, b.path) }) {
		r.faultf("the details are not sorted by path")
	}
	items, _ := decode(r.body).(object)["details"].([]any)
	for _, item := range items {
		d, _ := item.(object)
		r.checkMembers(d, []string{"path", "code", "message"})
	}
	for _, d := range e.details {
		if d.code == "" || d.message == "" {
			r.faultf("the detail with the path %q has no code or no message", d.path)
		}
	}
}

// errorBody reads the error; a member that is missing or of another type stays empty.
func (r *response) errorBody() errorBody {
	o, _ := decode(r.body).(object)
	var e errorBody
	e.kind, _ = o["type"].(string)
	e.code, _ = o["code"].(string)
	e.message, _ = o["message"].(string)
	e.requestID, _ = o["request_id"].(string)
	items, _ := o["details"].([]any)
	for _, item := range items {
		var d detail
		m, _ := item.(object)
		d.path, _ = m["path"].(string)
		d.code, _ = m["code"].(string)
		d.message, _ = m["message"].(string)
		e.details = append(e.details, d)
	}
	return e
}
