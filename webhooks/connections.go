package webhooks

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// RoundTrip implements [http.RoundTripper]. The goroutine of the caller writes the
// request and reads the answer; net/http reads and writes the bytes of HTTP/1.1. An
// [http.Transport] has two more goroutines for each connection, which all three wait for
// each other: a delivery took twice the processor time.
func (t *transport) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	defer func() {
		if err != nil && req.Body != nil {
			_ = req.Body.Close() // a RoundTripper closes it, also on errors
		}
	}()
	ctx := req.Context()
	c, err := t.connectionTo(ctx, req.URL)
	if err != nil {
		return nil, err
	}
	unwatch := context.AfterFunc(ctx, c.interrupt)
	if resp, err = c.exchange(req); err != nil {
		unwatch()
		_ = c.conn.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	reusable := !resp.Close && !req.Close && resp.StatusCode >= http.StatusOK
	end := func(whole bool) {
		// After an interruption its deadline may have passed, or pass at any moment.
		if unwatch() && whole && reusable && c.in.Buffered() == 0 {
			t.kept.put(c)
			return
		}
		_ = c.conn.Close()
	}
	if resp.Body == http.NoBody {
		end(true)
		return resp, nil
	}
	resp.Body = http.MaxBytesReader(nil, &answerBody{ReadCloser: resp.Body, ctx: ctx, end: end}, maxResponseBody)
	return resp, nil
}

// CloseIdleConnections ends the connections that nothing uses.
func (t *transport) CloseIdleConnections() { t.kept.sweep(0) }

// connectionTo returns a connection that nothing else uses.
func (t *transport) connectionTo(ctx context.Context, u *url.URL) (*connection, error) {
	if u == nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("webhooks: not a URL of HTTP with a host")
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	to := origin{u.Scheme, u.Host}
	if c := t.kept.get(to); c != nil {
		return c, nil
	}
	conn, err := t.dial(ctx, u)
	if err != nil {
		return nil, err
	}
	c := &connection{conn: conn, socket: conn, to: to, began: time.Now()}
	c.in = bufio.NewReader(c)
	if u.Scheme == "http" {
		return c, nil
	}
	config := t.tls.Clone()
	config.ServerName = u.Hostname()
	secured := tls.Client(conn, config)
	ctx, cancel := context.WithTimeout(ctx, handshakeMost)
	defer cancel()
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	state := secured.ConnectionState()
	c.conn, c.tls = secured, &state
	return c, nil
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
}

var writers = sync.Pool{New: func() any { return bufio.NewWriter(nil) }}

// exchange sends a request and reads the headers of its answer.
func (c *connection) exchange(req *http.Request) (*http.Response, error) {
	w := writers.Get().(*bufio.Writer)
	w.Reset(c.conn)
	sendErr := req.Write(w)
	if sendErr == nil {
		sendErr = w.Flush()
	}
	w.Reset(nil)
	writers.Put(w)
	c.left = maxResponseHeader // of informational answers, too
	for {
		resp, err := http.ReadResponse(c.in, req)
		switch {
		case err != nil && c.left <= 0:
			return nil, fmt.Errorf("webhooks: headers of the answer exceeded %d bytes", maxResponseHeader)
		case err != nil && sendErr != nil:
			return nil, sendErr
		case err != nil:
			return nil, err
		case resp.StatusCode/100 != 1 || resp.StatusCode == http.StatusSwitchingProtocols:
			// A receiver may answer and close before it has read everything.
			resp.Close = resp.Close || sendErr != nil
			resp.TLS = c.tls
			c.left = math.MaxInt64
			return resp, nil
		}
	}
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

// interrupt ends what is read and written, now and from now on.
func (c *connection) interrupt() { _ = c.conn.SetDeadline(time.Unix(1, 0)) }

// answerBody gives the connection back at the end of an answer.
type answerBody struct {
	io.ReadCloser
	ctx  context.Context //nolint:containedctx // of the request whose answer it is
	once sync.Once
	end  func(whole bool)
}

// Read implements [io.Reader].
func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.once.Do(func() { b.end(err == io.EOF) }) //nolint:errorlint // a Reader returns it as it is
		if err != io.EOF && b.ctx.Err() != nil {   //nolint:errorlint // as above
			err = context.Cause(b.ctx)
		}
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

// get takes out the connection that was used last.
func (p *pool) get(to origin) *connection {
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
		if time.Since(c.began) < connectionAge && time.Since(c.since) < idleTimeout && silent(c.socket) {
			return c
		}
		_ = c.conn.Close()
	}
}

// put keeps a connection whose answer was read to its end. When there are too many, one
// of another host goes.
func (p *pool) put(c *connection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle[c.to]) >= p.perHost {
		_ = c.conn.Close()
		return
	}
	for to, all := range p.idle {
		if p.count < p.most {
			break
		}
		_ = all[0].conn.Close()
		p.keep(to, all[1:])
	}
	c.since = time.Now()
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
	for to, all := range p.idle {
		n := 0
		for n < len(all) && time.Since(all[n].since) >= idle {
			_ = all[n].conn.Close()
			n++
		}
		p.keep(to, all[n:])
	}
	switch {
	case p.count > 0:
		p.timer.Reset(idleTimeout)
	case p.timer != nil:
		p.timer.Stop()
		p.timer = nil
	}
}
