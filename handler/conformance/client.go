package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// object is a JSON object.
type object = map[string]any

// request is one call. The zero body is none.
type request struct {
	method string
	path   string // escaped, below the base path, with the query
	key    string // "": none is sent
	header http.Header
	body   []byte
	stream bool // the body is sent in chunks, its length untold
	host   string
}

// requestOption changes a request before it is sent.
type requestOption func(*request)

// withHeader sets a header; no values: it is removed.
func withHeader(name string, values ...string) requestOption {
	return func(r *request) {
		r.header.Del(name)
		for _, v := range values {
			r.header.Add(name, v)
		}
	}
}

func ifMatch(tags ...string) requestOption { return withHeader("If-Match", tags...) }

// anonymous takes the key away.
func anonymous() requestOption { return withKey("") }

// withKey sends another key, as the target sends keys.
func withKey(key string) requestOption { return func(r *request) { r.key = key } }

// withKeyHeader sends these values of X-API-Key and nothing else as a key. The case
// needs NeedsKeyHeader.
func withKeyHeader(values ...string) requestOption {
	return func(r *request) {
		r.key = ""
		withHeader("X-API-Key", values...)(r)
	}
}

// response is the answer to a request.
type response struct {
	*session
	request request
	status  int
	header  http.Header
	body    []byte
}

// call sends a request as the caller. A body that is not nil is sent as JSON, one
// of type []byte as it is. The path's first character is a slash.
func (c *caller) call(method, path string, body any, opts ...requestOption) *response {
	r := request{method: method, path: path, key: c.key, header: make(http.Header)}
	switch b := body.(type) {
	case nil:
	case []byte:
		r.body = b
		r.header.Set("Content-Type", "application/json")
	default:
		r.body = raw(b)
		r.header.Set("Content-Type", "application/json")
	}
	for _, o := range opts {
		o(&r)
	}
	return c.send(r)
}

func (c *caller) get(path string, opts ...requestOption) *response {
	return c.call(http.MethodGet, path, nil, opts...)
}

func (c *caller) post(path string, body any, opts ...requestOption) *response {
	return c.call(http.MethodPost, path, body, opts...)
}

func (c *caller) patch(path string, body any, opts ...requestOption) *response {
	return c.call(http.MethodPatch, path, body, opts...)
}

func (c *caller) put(path string, body any, opts ...requestOption) *response {
	return c.call(http.MethodPut, path, body, opts...)
}

func (c *caller) delete(path string, opts ...requestOption) *response {
	return c.call(http.MethodDelete, path, nil, opts...)
}

// nobody sends requests without a key.
func (s *session) nobody() *caller { return &caller{session: s} }

// send sends a request and checks what every answer must have. A request that the
// rate limit stops is sent again when Retry-After has passed, unless the case is
// about the limit.
func (s *session) send(r request) *response {
	for {
		got := s.sendRaw(r)
		seconds, err := strconv.Atoi(got.header.Get("Retry-After"))
		if got.status != http.StatusTooManyRequests || s.target.RateLimit > 0 || err != nil {
			return s.judge(got)
		}
		if got.own(false) {
			got.checkAlways()
		}
		s.pause(time.Duration(seconds) * time.Second)
	}
}

// judge checks what every answer must have. It ends the case as skipped when something in
// front of the service has answered.
func (s *session) judge(got *response) *response {
	s.checkFront(got)
	got.checkAlways()
	s.noteMade(got)
	if got.status == http.StatusTooManyRequests && s.target.RateLimit == 0 {
		got.fatalf("Retry-After is not a number of seconds")
	}
	return got
}

// sendRaw sends a request and checks nothing.
func (s *session) sendRaw(r request) *response {
	u, err := url.Parse(s.target.URL + r.path)
	s.must("failed to create the URL", err)
	header := r.header.Clone()
	do := func() (res *http.Response, reused bool, err error) {
		var body io.Reader
		if r.body != nil {
			body = bytes.NewReader(r.body)
			if r.stream {
				body = struct{ io.Reader }{body}
			}
		}
		trace := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused }}
		req, err := http.NewRequestWithContext(httptrace.WithClientTrace(s.ctx, trace), r.method, "", body)
		s.must("failed to create the request", err)
		req.URL, req.Header, req.Host = u, header.Clone(), r.host
		switch {
		case r.key == "":
		case s.target.Authorize != nil:
			s.target.Authorize(req, r.key)
		default:
			req.Header.Set("X-API-Key", r.key)
		}
		r.header = req.Header
		res, err = s.target.Client.Do(req)
		return res, reused, err
	}
	res, reused, err := do()
	// A server may close a connection that is idle while the request is on its way. The request is
	// then sent again, until it fails on a new connection.
	var timeout net.Error
	for range maxStale {
		if err == nil || !reused || s.ctx.Err() != nil || errors.As(err, &timeout) && timeout.Timeout() {
			break
		}
		s.target.Client.CloseIdleConnections()
		res, reused, err = do()
	}
	s.mustAnswer(r, err)
	defer func() { _ = res.Body.Close() }()
	got := &response{session: s, request: r, status: res.StatusCode, header: res.Header}
	got.body, err = io.ReadAll(res.Body)
	s.mustAnswer(r, err)
	return got
}

// maxStale bounds how many connections that the server has closed are tried for one request:
// cases that run in parallel put theirs into the same pool.
const maxStale = 20

// mustAnswer ends the case when a request got no answer, or only a part of one.
// Where there is nobody to ask, that is no fault of the service.
func (s *session) mustAnswer(r request, err error) {
	var op *net.OpError
	switch {
	case err == nil:
	case s.ctx.Err() != nil, errors.As(err, &op) && op.Op == "dial":
		s.must(r.method+" "+r.path, err)
	default:
		s.fatalf("%s %s got no response: %v", r.method, r.path, err)
	}
}

// path is the request's path without its query.
func (r *response) path() string {
	path, _, _ := strings.Cut(r.request.path, "?")
	return path
}

// faultf notes a fault together with the request and the answer.
func (r *response) faultf(format string, args ...any) {
	r.errorf("%s\n%s", fmt.Sprintf(format, args...), r)
}

// fatalf is faultf that ends the case.
func (r *response) fatalf(format string, args ...any) {
	r.session.fatalf("%s\n%s", fmt.Sprintf(format, args...), r)
}

// maxDump bounds how much of a body a fault tells.
const maxDump = 2000

// String tells the request and the answer.
func (r *response) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "> %s %s\n", r.request.method, r.request.path)
	dump(&b, "> ", r.request.header, r.request.body)
	fmt.Fprintf(&b, "< %d %s\n", r.status, http.StatusText(r.status))
	dump(&b, "< ", r.header, r.body)
	return strings.TrimSuffix(b.String(), "\n")
}

func dump(b *strings.Builder, mark string, header http.Header, body []byte) {
	var lines bytes.Buffer
	_ = header.Write(&lines)
	for line := range strings.Lines(lines.String()) {
		b.WriteString(mark + strings.TrimRight(line, "\r\n") + "\n")
	}
	if len(body) == 0 {
		return
	}
	text := string(body)
	if len(text) > maxDump {
		text = fmt.Sprintf("%s … (%d bytes)", text[:maxDump], len(body))
	}
	b.WriteString(mark + strings.TrimRight(text, "\n") + "\n")
}
