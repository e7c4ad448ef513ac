package handler

import (
	"context"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/go-chi/chi/v5"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/requestid"
	"github.com/formsvc/formsvc/internal/timeout"
	"github.com/formsvc/formsvc/storage"
)

type call struct {
	h  *api
	w  http.ResponseWriter
	r  *http.Request
	id string

	sharedCtx context.Context //nolint:containedctx // The request's context. Its storage calls share a deadline.

	op        *operation
	route     chi.Context // the path parameters
	principal Principal

	form     *storage.Form // Nil if the form is not accessible.
	formRead bool          // Whether the form and the key were read in one statement.

	requestBase string // The prefix of all links, see [fixedActor].

	buffer *[]byte // See borrowBuffer.

	created bool // Whether to respond with 201.

	bodyReadStarted bool // Whether anything has started reading the request body.
	bodyReadDone    bool // Whether nothing is left to read from the body.

	responseStarted bool
}

// callPool reuses calls, mainly because each one contains a large route context.
var callPool = sync.Pool{New: func() any { return new(call) }}

// unknownOperation is a call's operation until routing has found the real one.
var unknownOperation operation

var noStore = []string{"no-store"}

// newCall creates a call. The caller must defer [call.finish].
func newCall(h *api, w http.ResponseWriter, r *http.Request) *call {
	c := callPool.Get().(*call)
	c.h, c.w, c.r, c.id, c.op = h, w, r, requestid.FromRequestOrNew(r), &unknownOperation
	c.sharedCtx = timeout.WithBudget(r.Context())
	w.Header()[requestid.Header] = []string{c.id}
	w.Header()["Cache-Control"] = noStore // getOpenAPI overrides it.
	return c
}

// finish responds to a panic and returns c to the pool. The caller must not use c afterwards.
func (c *call) finish() {
	if v := recover(); v != nil {
		c.handlePanic(v, debug.Stack())
	}
	if c.buffer != nil && cap(*c.buffer) <= maxPooledBuffer {
		bufferPool.Put(c.buffer)
	}
	c.route.Reset()
	*c = call{route: c.route}
	callPool.Put(c)
}

func (c *call) ctx() context.Context { return c.sharedCtx }

func (c *call) actor() storage.Actor {
	if c.h.fixed != nil {
		return c.h.fixed.actor
	}
	return storage.As(c.principal.UserID)
}

// pathParam returns a decoded path parameter. Decoding cannot fail, because routing has already validated the escaped
// path.
func (c *call) pathParam(name string) string {
	value, _ := url.PathUnescape(c.route.URLParam(name))
	return value
}

// pathID returns the ID in a path parameter, or the zero ID if it is malformed, so that other errors are reported
// first.
func (c *call) pathID(name string) storage.ID {
	id, _ := storage.ParseID(c.pathParam(name)) // Zero on error.
	return id
}

func (c *call) formTarget() core.Target {
	if only := c.h.fixed; only != nil && !only.form.IsZero() && only.form != c.pathID("formId") {
		return core.Target{Read: true} // This handler serves only one form.
	}
	return core.Target{ID: c.pathID("formId"), Read: c.formRead, Form: c.form}
}

// bufferPool reuses response buffers. Large ones are discarded, because the pool would hold on to their memory.
var bufferPool = sync.Pool{New: func() any { b := make([]byte, 0, 8<<10); return &b }}

const maxPooledBuffer = 256 << 10

func (c *call) borrowBuffer() []byte {
	if c.buffer == nil {
		c.buffer = bufferPool.Get().(*[]byte)
	}
	return (*c.buffer)[:0]
}

// sendBuffer sends b as a JSON response, followed by a newline. b must use the call's buffer.
func (c *call) sendBuffer(b []byte) {
	b = append(b, '\n')
	*c.buffer = b // append may have reallocated the buffer.
	status := http.StatusOK
	if c.created {
		status = http.StatusCreated
	}
	c.sendBody(status, b)
}

func (c *call) sendJSON(fill func(w *jsontree.Writer)) error {
	w := jsontree.NewWriter(c.borrowBuffer())
	fill(w)
	c.sendBuffer(w.Bytes())
	return nil
}

func (c *call) sendObject(fill func(w *jsontree.Writer)) error {
	return c.sendJSON(func(w *jsontree.Writer) {
		w.Object()
		fill(w)
		w.EndObject()
	})
}

var jsonType = []string{"application/json"}

func (c *call) sendBody(status int, body []byte) {
	h := c.w.Header()
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	c.sendHeader(status)
	if c.r.Method != http.MethodHead {
		// Write fails only if the client has disconnected.
		_, _ = c.w.Write(body)
	}
}

// sendHeader sends the status and the headers. Every response must use it, because it also drains the request body.
func (c *call) sendHeader(status int) {
	c.drainBody()
	c.responseStarted = true
	c.w.WriteHeader(status)
}

func (c *call) sendNoContent(err error) error {
	if err == nil {
		c.sendHeader(http.StatusNoContent)
	}
	return err
}

// setCreated sets the status to 201 and sets the Location header if err is nil. list is the path of the collection.
func (c *call) setCreated(list, id string, err error) {
	if err == nil {
		c.created = true
		c.w.Header()["Location"] = []string{c.linkBase() + list + id}
	}
}
