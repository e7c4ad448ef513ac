package webhooks

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"
)

const (
	// sendBuffer is how much of a request is written at once. A request whose body is in
	// memory and no larger is written before its answer is read: it fits into what a
	// system keeps for a connection (Linux takes 34 kB when Ethernet's segments have
	// 1,448 bytes and nothing is read), so that writing does not wait for the receiver.
	sendBuffer = 16 << 10
	// sendEnds is how long after the end of an answer the last write of its request may
	// return. net/http waits as long.
	sendEnds = 50 * time.Millisecond
)

// RoundTrip implements [http.RoundTripper]. The goroutine of the caller writes the
// request and reads the answer; net/http reads and writes the bytes of HTTP/1.1. An
// [http.Transport] has two more goroutines for each connection, which all three wait for
// each other: a delivery took twice the processor time. Only a body that may have to wait
// for the receiver is written by a goroutine of its own: the answer may come first.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	err := cmp.Or(check(req), context.Cause(ctx))
	var c *connection
	if err == nil {
		c, err = t.connectionTo(ctx, req.URL, time.Time{})
	}
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

// post sends a small request and reads its answer, of which it returns status and headers.
// It is RoundTrip for deliveries: its caller has written the request, and the deadline is
// the connection's. That takes half of the processor time.
func (t *transport) post(ctx context.Context, u *url.URL, request []byte, deadline time.Time) (int, http.Header, error) {
	c, err := t.connectionTo(ctx, u, deadline)
	if err != nil {
		return 0, nil, err
	}
	unwatch := context.AfterFunc(ctx, c.interrupt)
	_, broken := c.conn.Write(request)
	resp, err := c.receive(nil, broken) //nolint:bodyclose // that would wait for the rest of it; the connection ends instead
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

// CloseIdleConnections ends the connections that nothing uses.
func (t *transport) CloseIdleConnections() { t.kept.sweep(0) }

// check refuses requests that cannot be written, and those that would be more than one.
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

// connectionTo returns a connection that nothing else uses, with a deadline. Zero: none.
func (t *transport) connectionTo(ctx context.Context, u *url.URL, deadline time.Time) (*connection, error) {
	to := origin{u.Scheme, u.Host}
	if c := t.kept.get(to, deadline); c != nil {
		return c, nil
	}
	if !deadline.IsZero() {
		within, cancel := context.WithDeadline(ctx, deadline)
		defer cancel()
		ctx = within
	}
	conn, err := t.dial(ctx, u)
	if err != nil {
		return nil, err
	}
	c := &connection{conn: conn, socket: conn, to: to, began: time.Now()}
	c.in = bufio.NewReader(c)
	if u.Scheme == "https" {
		if err := c.secure(ctx, t.tls, u.Hostname()); err != nil {
			_ = conn.Close()
			return nil, err
		}
	}
	return c, c.conn.SetDeadline(deadline)
}

// origin is where a connection leads.
type origin struct{ scheme, host string }

// connection is one over which requests go one after another.
type connection struct {
	conn   net.Conn
	socket net.Conn // below TLS
	tls    *tls.ConnectionState
	in     *bufio.Reader // of the connection
	left   int64         // bytes that it may still read
	to     origin
	began  time.Time
	since  time.Time // when it was last used, while it is kept
	upload *upload   // of the request under way, nil: it was written at once
}

// secure begins TLS.
func (c *connection) secure(ctx context.Context, config *tls.Config, name string) error {
	config = config.Clone()
	config.ServerName = name
	secured := tls.Client(c.socket, config)
	ctx, cancel := context.WithTimeout(ctx, handshakeMost)
	defer cancel()
	if err := secured.HandshakeContext(ctx); err != nil {
		return err
	}
	state := secured.ConnectionState()
	c.conn, c.tls = secured, &state
	return nil
}

var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, sendBuffer) }}

// send writes a request and closes its body. An error of the connection is broken, any
// other is err.
func (c *connection) send(req *http.Request) (broken, err error) {
	w := writers.Get().(*bufio.Writer)
	w.Reset(c)
	if err = protect(func() error { return req.Write(w) }); err == nil {
		_ = w.Flush()
	}
	if _, broken = w.Write(nil); broken != nil { // a Writer that failed says so ever after
		err = nil
	}
	w.Reset(nil)
	writers.Put(w)
	return broken, err
}

// exchange sends a request and reads the headers of its answer.
func (c *connection) exchange(req *http.Request) (*http.Response, error) {
	var broken error
	// What can be had again is in memory: reading it does not wait.
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

// receive reads the headers of an answer to a request, nil: it was a POST. broken is why
// it was not written to its end.
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

// sent reports whether the request was sent to its end.
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

// reusable reports whether another request may follow an answer that was read to its end.
func (c *connection) reusable(resp *http.Response) bool {
	return !resp.Close && resp.StatusCode >= http.StatusOK && c.sent() && c.drained()
}

// past is a deadline that lets nothing wait.
var past = time.Unix(1, 0)

// drained reports whether nothing was read beyond the answer. TLS reads ahead: what comes
// along with an answer, a further one or the end of the connection, cannot be seen in the
// socket later. A read that timed out spoils no TLS connection, as a write does.
func (c *connection) drained() bool {
	if c.tls == nil || c.in.Buffered() > 0 {
		return c.in.Buffered() == 0
	}
	_ = c.conn.SetReadDeadline(past)
	_, err := c.in.Peek(1)
	_ = c.conn.SetReadDeadline(time.Time{})
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// close ends the connection and what is written to it. It does not wait: to a receiver
// that does not read, crypto/tls writes its last record for up to 5 s.
func (c *connection) close() {
	if c.upload != nil {
		_ = c.upload.Close()
	}
	if c.tls == nil {
		_ = c.conn.Close()
		return
	}
	go func() { _ = c.conn.Close() }()
}

// Read implements [io.Reader] for the buffer of the answers.
func (c *connection) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.conn.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

// Write implements [io.Writer] for requests.
func (c *connection) Write(p []byte) (int, error) { return c.conn.Write(p) }

// interrupt ends what is read and written, now and from now on.
func (c *connection) interrupt() { _ = c.conn.SetDeadline(past) }

// upload is a request that is written while its answer is read, and its body.
type upload struct {
	body    io.ReadCloser
	closing sync.Once
	broke   atomic.Pointer[error] // reading the body
	over    chan struct{}
	err     error // why it was not sent to its end, once over is closed
}

// run sends the request, a copy.
func (u *upload) run(c *connection, req *http.Request) {
	req.Body = u
	broken, err := c.send(req)
	if read := u.broke.Load(); err != nil && read != nil {
		err = *read
	}
	u.err = cmp.Or(broken, err)
	close(u.over)
	if err != nil {
		c.interrupt() // there will be no answer
	}
}

// failed returns why the request was not sent, as far as that is known.
func (u *upload) failed() error {
	if u == nil {
		return nil
	}
	select {
	case <-u.over:
		return u.err
	default:
		return nil
	}
}

// Read implements [io.Reader]. net/http hides what the error was.
func (u *upload) Read(p []byte) (int, error) {
	n, err := u.body.Read(p)
	if err != nil && err != io.EOF {
		u.broke.Store(&err)
	}
	return n, err
}

// Close implements [io.Closer]: net/http does when the body was read, and the end of the
// connection ends a Read that waits.
func (u *upload) Close() (err error) {
	u.closing.Do(func() { err = u.body.Close() })
	return err
}

// answerBody gives the connection back at the end of an answer.
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

// Close implements [io.Closer]. What was not read is not waited for.
func (b *answerBody) Close() error {
	b.once.Do(func() { b.end(false) })
	return nil
}

// pool keeps idle connections for further requests.
type pool struct {
	perHost, most int

	mu    sync.Mutex
	idle  map[origin][]*connection // the one used last comes last
	count int
	timer *time.Timer // of the next sweep, nil: none
}

// get takes out the connection that was used last and gives it a deadline.
func (p *pool) get(to origin, deadline time.Time) *connection {
	for {
		p.mu.Lock()
		all := p.idle[to]
		if len(all) == 0 {
			p.mu.Unlock()
			return nil
		}
		c := all[len(all)-1]
		p.keep(to, all[:len(all)-1])
		p.mu.Unlock()
		if time.Since(c.began) < connectionAge && time.Since(c.since) < idleTimeout && c.conn.SetDeadline(deadline) == nil && silent(c.socket) {
			return c
		}
		c.close()
	}
}

// put keeps a connection whose answer was read to its end. When there are too many, one
// of another host goes.
func (p *pool) put(c *connection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle[c.to]) >= p.perHost {
		c.close()
		return
	}
	for to, all := range p.idle {
		if p.count < p.most {
			break
		}
		if to == c.to {
			continue
		}
		all[0].close()
		p.keep(to, all[1:])
	}
	c.since, c.upload = time.Now(), nil
	p.keep(c.to, append(p.idle[c.to], c))
	if p.timer == nil {
		p.timer = time.AfterFunc(idleTimeout, func() { p.sweep(idleTimeout) })
	}
}

// keep replaces the idle connections to one origin.
func (p *pool) keep(to origin, all []*connection) {
	p.count += len(all) - len(p.idle[to])
	if p.idle[to] = all; len(all) == 0 {
		delete(p.idle, to)
	}
}

// sweep ends the connections that have been idle for so long.
func (p *pool) sweep(idle time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := idleTimeout
	for to, all := range p.idle {
		n := 0
		for n < len(all) && time.Since(all[n].since) >= idle {
			all[n].close()
			n++
		}
		if p.keep(to, all[n:]); n < len(all) {
			next = min(next, idleTimeout-time.Since(all[n].since))
		}
	}
	switch {
	case p.count > 0:
		p.timer.Reset(next)
	case p.timer != nil:
		p.timer.Stop()
		p.timer = nil
	}
}
