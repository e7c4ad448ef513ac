package webhooks

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"
)

const (
	// sendBuffer is how much of a request is written at once. A body that is in memory and
	// is not larger is written before the answer is read. The system buffers that much for
	// a connection (Linux takes 34 kB when nothing is read and Ethernet segments have 1,448
	// bytes), so that writing does not wait for the receiver.
	sendBuffer = 16 << 10
	// sendEnds is how long the last write of a request may go on after the end of the
	// answer. net/http waits as long.
	sendEnds = 50 * time.Millisecond
)

// RoundTrip implements [http.RoundTripper]. The caller's goroutine writes the request and
// reads the answer, both with net/http. Only a body that may have to wait for the receiver
// is written by another goroutine, because the answer may come first.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	c, err := t.connectionFor(req)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // a RoundTripper closes it, also on errors
		}
		return nil, err
	}
	unwatch := context.AfterFunc(ctx, c.interrupt)
	resp, err := c.exchange(req)
	if err != nil {
		unwatch()
		c.close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	last := req.Close || httpguts.HeaderValuesContainsToken(req.Header["Connection"], "close")
	end := func(whole bool) {
		keep := whole && !last && c.reusable(resp)
		// After an interruption its deadline may have passed, or pass at any moment.
		if unwatch() && keep {
			t.kept.put(c)
			return
		}
		c.close()
	}
	if resp.Body == http.NoBody {
		end(true)
		return resp, nil
	}
	resp.Body = http.MaxBytesReader(nil, &answerBody{ReadCloser: resp.Body, ctx: ctx, upload: c.upload, end: end}, maxResponseBody)
	return resp, nil
}

// post sends a request, reads the whole answer, and returns its status and headers. It is
// the RoundTrip of small deliveries: the request is bytes already, and the connection keeps
// the deadline.
func (t *transport) post(ctx context.Context, u *url.URL, request []byte, deadline time.Time) (int, http.Header, error) {
	c, err := t.connectionTo(ctx, u, deadline)
	if err != nil {
		return 0, nil, err
	}
	unwatch := context.AfterFunc(ctx, c.interrupt)
	_, broken := c.conn.Write(request)
	resp, err := c.receive(nil, broken) //nolint:bodyclose // Close waits for the rest; the connection is closed instead
	if err != nil {
		unwatch()
		c.close()
		return 0, nil, err
	}
	n, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxResponseBody+1))
	keep := err == nil && n <= maxResponseBody && c.reusable(resp)
	if unwatch() && keep {
		t.kept.put(c)
	} else {
		c.close()
	}
	return resp.StatusCode, resp.Header, nil
}

// check refuses requests that cannot be written, and those that would be read as two.
func check(req *http.Request) error {
	if u := req.URL; u == nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("webhooks: not a URL of HTTP with a host")
	}
	if req.Method != "" && !httpguts.ValidHeaderFieldName(req.Method) { // both are tokens
		return fmt.Errorf("webhooks: invalid method %q", req.Method)
	}
	for _, header := range []http.Header{req.Header, req.Trailer} {
		for name, values := range header {
			if !httpguts.ValidHeaderFieldName(name) {
				return fmt.Errorf("webhooks: invalid header name %q", name)
			}
			for _, value := range values {
				if !httpguts.ValidHeaderFieldValue(value) {
					return fmt.Errorf("webhooks: invalid value of header %q", name) // which may be a secret
				}
			}
		}
	}
	return nil
}

var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, sendBuffer) }}

// send writes a request and closes its body. It returns an error of the connection as
// broken, any other as err.
func (c *connection) send(req *http.Request) (broken, err error) {
	w := writers.Get().(*bufio.Writer)
	w.Reset(c)
	if err = protect(func() error { return req.Write(w) }); err == nil {
		_ = w.Flush()
	}
	if _, broken = w.Write(nil); broken != nil { // a bufio.Writer keeps its first error
		err = nil
	}
	w.Reset(nil)
	writers.Put(w)
	return broken, err
}

// exchange sends a request and reads the headers of its answer.
func (c *connection) exchange(req *http.Request) (*http.Response, error) {
	var broken error
	// A body that GetBody can return again is in memory: reading it does not wait.
	if req.Body == nil || req.Body == http.NoBody || req.GetBody != nil && 0 < req.ContentLength && req.ContentLength <= sendBuffer {
		var err error
		if broken, err = c.send(req); err != nil {
			return nil, err
		}
	} else {
		c.upload = &upload{body: req.Body, over: make(chan struct{})}
		go c.upload.run(c, req.WithContext(req.Context()))
	}
	return c.receive(req, broken)
}

// receive reads the headers of the answer to req, nil for a POST. broken is the error that
// writing it ended with.
func (c *connection) receive(req *http.Request, broken error) (*http.Response, error) {
	c.left = maxResponseHeader // of informational answers, too
	for {
		resp, err := http.ReadResponse(c.in, req)
		switch {
		case err != nil && c.left <= 0:
			return nil, fmt.Errorf("webhooks: headers of the answer exceeded %d bytes", maxResponseHeader)
		case err != nil:
			return nil, cmp.Or(broken, c.upload.failed(), err)
		case resp.StatusCode/100 != 1 || resp.StatusCode == http.StatusSwitchingProtocols:
			// A receiver may answer and close before it has read everything.
			resp.Close = resp.Close || broken != nil
			resp.TLS = c.tls
			c.left = math.MaxInt64
			return resp, nil
		}
	}
}

// reusable reports whether another request may follow once the answer was read to its end.
func (c *connection) reusable(resp *http.Response) bool {
	return !resp.Close && resp.StatusCode >= http.StatusOK && c.sent() && c.drained()
}

// sent reports whether the whole request was sent.
func (c *connection) sent() bool {
	if c.upload == nil {
		return true
	}
	select {
	case <-c.upload.over:
		return c.upload.err == nil
	case <-time.After(sendEnds):
		return false
	}
}

// past is a deadline that has passed: no call waits.
var past = time.Unix(1, 0)

// drained reports whether nothing was read beyond the answer. TLS reads ahead: when more
// comes along with an answer, or the end of the connection does, the socket does not show
// it later. A TLS connection survives a read that timed out, unlike a write.
func (c *connection) drained() bool {
	if c.tls == nil || c.in.Buffered() > 0 {
		return c.in.Buffered() == 0
	}
	_ = c.conn.SetReadDeadline(past)
	_, err := c.in.Peek(1)
	_ = c.conn.SetReadDeadline(time.Time{})
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// answerBody gives the connection back when the answer ends.
type answerBody struct {
	io.ReadCloser
	ctx    context.Context //nolint:containedctx // of the request whose answer it is
	upload *upload         // of that request
	once   sync.Once
	end    func(whole bool)
}

// Read implements [io.Reader].
func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		if err != io.EOF { //nolint:errorlint // a Reader returns it as it is
			err = cmp.Or(context.Cause(b.ctx), b.upload.failed(), err)
		}
		b.once.Do(func() { b.end(err == io.EOF) }) //nolint:errorlint // as above
	}
	return n, err
}

// Close implements [io.Closer]. It does not wait for what was not read.
func (b *answerBody) Close() error {
	b.once.Do(func() { b.end(false) })
	return nil
}
