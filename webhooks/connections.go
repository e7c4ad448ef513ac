package webhooks

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// origin is where a connection leads.
type origin struct{ scheme, host string }

// connection carries requests, one after another.
type connection struct {
	conn   net.Conn
	socket net.Conn // below TLS
	tls    *tls.ConnectionState
	in     *bufio.Reader // of the connection
	left   int64         // bytes that it may still read
	to     origin
	began  time.Time
	since  time.Time // when it was last used, while it is kept
	upload *upload   // of the request under way; nil: it was written at once
}

// connectionFor returns a connection for req.
func (t *transport) connectionFor(req *http.Request) (*connection, error) {
	ctx := req.Context()
	if err := cmp.Or(check(req), context.Cause(ctx)); err != nil {
		return nil, err
	}
	return t.connectionTo(ctx, req.URL, time.Time{})
}

// connectionTo returns a connection that nothing else uses, and that has the deadline. The
// zero deadline is none.
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
	_ = c.conn.SetDeadline(deadline) // fails only when c is closed, as each use of c does
	return c, nil
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

// CloseIdleConnections closes the connections that nothing uses.
func (t *transport) CloseIdleConnections() { t.kept.sweep(0) }

// Read implements [io.Reader] for the buffer that answers are read from.
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

// interrupt ends reads and writes, those under way and all later ones.
func (c *connection) interrupt() { _ = c.conn.SetDeadline(past) }

// close ends the connection and its upload. It does not wait: crypto/tls tries for up to
// 5 s to write its last record to a receiver that does not read.
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
		usable := time.Since(c.began) < connectionAge && time.Since(c.since) < idleTimeout &&
			c.conn.SetDeadline(deadline) == nil && silent(c.socket) // in this order: the last deadline may have passed
		if usable {
			return c
		}
		c.close()
	}
}

// put keeps a connection whose answer was read to its end. When there are too many, it
// closes one to another host.
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

// sweep closes the connections that have been idle for so long.
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
