package handler

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/go-chi/chi/v5"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/storage"
)

// call is one request on its way through the handler.
type call struct {
	h  *Handler
	w  http.ResponseWriter
	r  *http.Request
	id string // the request id

	op        *operation
	route     chi.Context // the path parameters
	principal Principal

	form      *storage.Form   // read together with the key; nil when not accessible
	formKnown bool            // form was asked for and may be relied on
	page      *submissionPage // read together with the key; nil when it was not

	buffer *[]byte  // see borrow
	values []string // what is left for value

	bodyBegun bool // reading the request's body has begun
	bodyDone  bool // nothing more of it is to be read

	wrote bool // the response has begun
}

// calls lends calls out, mostly for the memory that the route in them has.
var calls = sync.Pool{New: func() any { return new(call) }}

func newCall(h *Handler, w http.ResponseWriter, r *http.Request) *call {
	c := calls.Get().(*call)
	c.h, c.w, c.r, c.id = h, w, r, requestID(r)
	return c
}

// release gives c back; nothing may hold it any more.
func (c *call) release() {
	c.route.Reset()
	c.giveBack()
	*c = call{route: c.route}
	calls.Put(c)
}

// value returns a value for the response's headers. Those of a response share one piece of
// memory, which is the response's: a server may write it after the handler has returned.
func (c *call) value(v string) []string {
	if len(c.values) == 0 {
		c.values = make([]string, 5)
	}
	out := c.values[:1:1]
	c.values = c.values[1:]
	out[0] = v
	return out
}

func (c *call) ctx() context.Context { return c.r.Context() }

func (c *call) actor() storage.Actor { return storage.As(c.principal.UserID) }

func (c *call) operation() string {
	if c.op == nil {
		return ""
	}
	return c.op.id
}

// param returns a path parameter as the caller meant it. Routing is done on the
// escaped path.
func (c *call) param(name string) (string, error) {
	value, err := url.PathUnescape(c.route.URLParam(name))
	if err != nil {
		return "", errNotFound
	}
	return value, nil
}

// idParam returns a path parameter that is an id. A malformed one names nothing.
func (c *call) idParam(name string) (storage.ID, error) {
	value, err := c.param(name)
	if err != nil {
		return storage.ID{}, err
	}
	id, err := storage.ParseID(value)
	if err != nil {
		return storage.ID{}, errNotFound
	}
	return id, nil
}

// namedID is idParam for operations that look at the body first: a malformed id is the
// zero id, which names nothing.
func (c *call) namedID(name string) storage.ID {
	id, err := c.idParam(name)
	if err != nil {
		return storage.ID{}
	}
	return id
}

// target is the form of the path.
func (c *call) target() core.Target {
	return core.Target{ID: c.namedID("formId"), Read: c.formKnown, Form: c.form}
}

// buffers holds bodies under construction. A large one is left to the garbage
// collector, so that one big page does not stay in memory for ever.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 8<<10); return &b }}

const keepBuffer = 256 << 10

// borrow returns the call's buffer, empty. It is given back with the call.
func (c *call) borrow() []byte {
	if c.buffer == nil {
		c.buffer = buffers.Get().(*[]byte)
	}
	return (*c.buffer)[:0]
}

func (c *call) giveBack() {
	if c.buffer != nil && cap(*c.buffer) <= keepBuffer {
		buffers.Put(c.buffer)
	}
}

// send sends what was written into the call's buffer as a JSON response, with a line
// break.
func (c *call) send(status int, b []byte) {
	b = append(b, '\n')
	*c.buffer = b // it may have grown
	c.write(status, b)
}

// body lends a writer to fill and sends what it holds as a JSON response.
func (c *call) body(status int, fill func(w *jsontree.Writer)) error {
	w := jsontree.NewWriter(c.borrow())
	fill(w)
	c.send(status, w.Bytes())
	return nil
}

var jsonType = []string{"application/json"}

func (c *call) write(status int, body []byte) {
	h := c.w.Header()
	h["Content-Type"] = jsonType
	h["Content-Length"] = c.value(strconv.Itoa(len(body)))
	c.begin(status)
	if c.r.Method != http.MethodHead {
		// A client that is gone is the only fault here, and nobody is left to tell.
		_, _ = c.w.Write(body)
	}
}

// begin sends the status and the headers. Every response begins here.
func (c *call) begin(status int) {
	c.drainBody()
	c.wrote = true
	c.w.WriteHeader(status)
}

func (c *call) noContent() { c.begin(http.StatusNoContent) }

func (c *call) setLocation(location string) {
	c.w.Header()["Location"] = []string{location}
}
