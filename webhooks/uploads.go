package webhooks

import (
	"cmp"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// upload is a request that is written while its answer is read. It is also the body of
// that request.
type upload struct {
	body    io.ReadCloser
	closing sync.Once
	broke   atomic.Pointer[error] // the error of reading the body
	over    chan struct{}
	err     error // why not all was sent; set before over is closed
}

// run sends req, which it changes.
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

// failed returns why the request was not sent, nil while that is not known. u may be nil.
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

// Read implements [io.Reader]. It keeps the error, which net/http hides.
func (u *upload) Read(p []byte) (int, error) {
	n, err := u.body.Read(p)
	if err != nil && err != io.EOF {
		u.broke.Store(&err)
	}
	return n, err
}

// Close implements [io.Closer]. net/http calls it when the body was read, and the end of
// the connection calls it so that a Read which waits returns.
func (u *upload) Close() (err error) {
	u.closing.Do(func() { err = u.body.Close() })
	return err
}
