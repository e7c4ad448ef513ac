package servicetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/described"
)

// Serve lets h answer r, and fails the test when the answer is not as the description says. In a
// benchmark nothing is compared.
func Serve(t testing.TB, h http.Handler, w http.ResponseWriter, r *http.Request) {
	t.Helper()
	if _, ok := t.(*testing.B); ok {
		h.ServeHTTP(w, r)
		return
	}
	tee := &tee{ResponseWriter: w}
	h.ServeHTTP(tee, r)
	if err := AsDescribed(r, tee.status, w.Header(), tee.body.Bytes()); err != nil {
		t.Errorf("%s %s: %d %.500s\nis not as described: %v", r.Method, r.URL, tee.status, tee.body.Bytes(), err)
	}
}

// tee passes a response on and keeps it.
type tee struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (t *tee) Unwrap() http.ResponseWriter { return t.ResponseWriter }

func (t *tee) WriteHeader(status int) {
	t.status = status
	t.ResponseWriter.WriteHeader(status)
}

func (t *tee) Write(b []byte) (int, error) {
	t.body.Write(b)
	return t.ResponseWriter.Write(b)
}

var requestIDRule = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

// basePaths are those below which tests reach a service.
var basePaths = []string{"/v1", "/api/v1", "/forms/api", ""}

// AsDescribed reports how an answer differs from the description and from what is
// promised of every answer.
func AsDescribed(r *http.Request, status int, header http.Header, body []byte) error {
	responses, err := described.New()
	if err != nil {
		return err
	}
	if err := responses.Check(r.Method, describedPath(responses, r), status, header, body); err != nil {
		return err
	}
	ids := header["X-Request-Id"]
	if len(ids) != 1 || !requestIDRule.MatchString(ids[0]) {
		return fmt.Errorf("X-Request-ID is %q", ids)
	}
	if given := r.Header["X-Request-Id"]; len(given) == 1 && requestIDRule.MatchString(given[0]) && given[0] != ids[0] {
		return fmt.Errorf("X-Request-ID is %q, the caller supplied %q", ids[0], given[0])
	}
	if len(header["Cache-Control"]) != 1 {
		return fmt.Errorf("Cache-Control is %q", header["Cache-Control"])
	}
	if status < 400 || r.Method == http.MethodHead {
		return nil
	}
	var e struct {
		Status    int
		RequestID string `json:"request_id"`
		Details   []struct{ Path, Code, Message string }
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return err
	}
	switch {
	case e.Status != status:
		return fmt.Errorf("the body has the status %d", e.Status)
	case e.RequestID != ids[0]:
		return fmt.Errorf("request_id is %q, X-Request-ID %q", e.RequestID, ids[0])
	case len(e.Details) > 50:
		return fmt.Errorf("there are %d details", len(e.Details))
	case !slices.IsSortedFunc(e.Details, func(a, b struct{ Path, Code, Message string }) int { return strings.Compare(a.Path, b.Path) }):
		return fmt.Errorf("the details are not sorted: %v", e.Details)
	case e.Details != nil && status != http.StatusUnprocessableEntity:
		return fmt.Errorf("details with the status %d", status)
	}
	return nil
}

// describedPath is the request's path as the description writes it, below the base
// path. The description has no path that is not clean.
func describedPath(responses *described.Description, r *http.Request) string {
	path := r.URL.EscapedPath()
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return "/not-clean"
		}
	}
	for _, base := range basePaths {
		if below, ok := strings.CutPrefix(path, base); ok {
			if known, _ := responses.Routed(r.Method, below); known {
				return below
			}
		}
	}
	return path
}
