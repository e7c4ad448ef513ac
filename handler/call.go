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

// call is one request on its way through the handler.
type call struct {
	h  *api
	w  http.ResponseWriter
	r  *http.Request
	id string // the request id

	sharedCtx context.Context //nolint:containedctx // the request's, whose calls of the storage share their time

	op        *operation
	route     chi.Context // the path parameters
	principal Principal

	form     *storage.Form // read together with the key; nil when not accessible
	formRead bool          // form was asked for and may be relied on

	requestBase string // what links begin with, see [fixedActor]

	buffer *[]byte // see borrow

	created bool // what was asked for is new: the status is 201

	bodyReadStarted bool // reading the request's body has begun
	bodyReadDone    bool // nothing more of it is to be read

	responseStarted bool // the response has begun
}

// callPool lends calls out, mostly for the memory that the route in them has.
var callPool = sync.Pool{New: func() any { return new(call) }}

// unknownOperation stands for the operation until it is known.
var unknownOperation operation

var noStore = []string{"no-store"}

// newCall begins a call; its caller defers [call.end].
func newCall(h *api, w http.ResponseWriter, r *http.Request) *call {
	c := callPool.Get().(*call)
	c.h, c.w, c.r, c.id, c.op = h, w, r, requestid.Of(r), &unknownOperation
	c.sharedCtx = timeout.WithBudget(r.Context())
	w.Header()[requestid.Header] = []string{c.id}
	w.Header()["Cache-Control"] = noStore // what the description's operation replaces
	return c
}

// end answers a panic, and gives c back: nothing may hold it any more.
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

// param returns a path parameter as the caller meant it. Routing is done on the
// escaped path, which net/http has checked.
func (c *call) param(name string) string {
	value, _ := url.PathUnescape(c.route.URLParam(name))
	return value
}

// pathID returns a path parameter that is an id. A malformed one is the zero id, which
// names nothing: the caller learns first what else is wrong.
func (c *call) pathID(name string) storage.ID {
	id, _ := storage.ParseID(c.param(name)) // zero with an error
	return id
}

// target is the form of the path.
func (c *call) formTarget() core.Target {
	if only := c.h.fixed; only != nil && !only.form.IsZero() && only.form != c.pathID("formId") {
		return core.Target{Read: true} // there is no other form
	}
	return core.Target{ID: c.pathID("formId"), Read: c.formRead, Form: c.form}
}

// bufferPool holds bodies under construction. A large one is left to the garbage
// collector, so that one big page does not stay in memory for ever.
var bufferPool = sync.Pool{New: func() any { b := make([]byte, 0, 8<<10); return &b }}

const maxPooledBuffer = 256 << 10

// borrow returns the call's buffer, empty. It is given back with the call.
func (c *call) borrowBuffer() []byte {
	if c.buffer == nil {
		c.buffer = bufferPool.Get().(*[]byte)
	}
	return (*c.buffer)[:0]
}

// send sends the content of the call's buffer as a JSON response, with a line break.
func (c *call) sendBuffer(b []byte) {
	b = append(b, '\n')
	*c.buffer = b // it may have grown
	status := http.StatusOK
	if c.created {
		status = http.StatusCreated
	}
	c.write(status, b)
}

// body lends a writer to fill and sends its content as a JSON response.
func (c *call) sendJSON(fill func(w *jsontree.Writer)) error {
	w := jsontree.NewWriter(c.borrowBuffer())
	fill(w)
	c.sendBuffer(w.Bytes())
	return nil
}

// object is body for an object of which fill writes the members.
func (c *call) sendObject(fill func(w *jsontree.Writer)) error {
	return c.sendJSON(func(w *jsontree.Writer) {
		w.Object()
		fill(w)
		w.EndObject()
	})
}

var jsonType = []string{"application/json"}

func (c *call) write(status int, body []byte) {
	h := c.w.Header()
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	c.sendHeader(status)
	if c.r.Method != http.MethodHead {
		// A client that is gone is the only fault here, and nobody is left to tell.
		_, _ = c.w.Write(body)
	}
}

// begin sends the status and the headers. Every response begins here.
func (c *call) sendHeader(status int) {
	c.drainBody()
	c.responseStarted = true
	c.w.WriteHeader(status)
}

// deleted ends a call that leaves nothing to show.
func (c *call) sendNoContent(err error) error {
	if err == nil {
		c.sendHeader(http.StatusNoContent)
	}
	return err
}

// made says, unless there is an error, that a record is new, and where it is: below the path
// of its list.
func (c *call) setCreated(list, id string, err error) {
	if err == nil {
		c.created = true
		c.w.Header()["Location"] = []string{c.linkBase() + list + id}
	}
}
