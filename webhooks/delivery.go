package webhooks

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// Classes of a failed attempt, as [storage.Attempt] keeps them in Error. They are
// all that the owner of a webhook is told: anything finer would make the history
// a scanner for the host's network. The log has the cause.
const (
	// ClassTimeout: no status and headers in time. A body that does not end is no
	// failure: its status stands.
	ClassTimeout = "timeout"
	// ClassNetwork: no answer. The name did not resolve, an address is not
	// permitted, the connection or TLS failed, the answer was not HTTP; or
	// nothing was sent because the signing secret cannot be opened.
	ClassNetwork = "network"
	// ClassRedirect: status 3xx, which is not followed.
	ClassRedirect = "redirect"
	// ClassStatus: any other status but 2xx.
	ClassStatus = "status"
)

// payloadVersion is the value of the version header.
const payloadVersion = "1.0.0"

// errStopped is the cause of posts that end because the dispatcher does.
var errStopped = errors.New("webhooks: dispatcher stopped")

// posting is a delivery for a worker to send.
type posting struct {
	delivery storage.Delivery
	class    class   // of the slot that it has
	to       *target // of its URL. Nil: not judged yet
	endless  bool    // the answer's body did not come to its end
}

// outcome is what became of a posting. The attempt is nil when nothing is known
// to have been sent in full: the delivery goes back to the queue as it was.
type outcome struct {
	posting
	attempt *storage.Attempt
}

// deliver makes one attempt. It always returns, also when something in it
// panics, and nil when nothing is known to have been sent.
func (w *worker) deliver(p *posting) (made *storage.Attempt) {
	d, del := w.d, &p.delivery
	now, started := d.now(), time.Now()
	a := &storage.Attempt{
		ID:           d.ids.New(now),
		WebhookID:    del.Lease.WebhookID,
		EventID:      del.Lease.EventID,
		EventType:    del.EventType,
		SubmissionID: del.SubmissionID,
		Attempt:      del.Attempt,
		CreatedAt:    now.UTC().Truncate(time.Second),
	}
	defer func() {
		if cause := recover(); cause != nil {
			d.log.Error("webhook delivery panicked", append(logged(a), "panic", cause, "stack", string(debug.Stack()))...)
			w.close() // whatever was left of the request ends with its context
			a.Success, a.Status, a.Error, a.Duration = false, 0, ClassNetwork, time.Since(started)
			d.finish(a, 0)
			made = a
		}
	}()

	resp, err := w.post(p)
	if err != nil && errors.Is(context.Cause(w.posts), errStopped) {
		return nil
	}
	a.Duration = time.Since(started)
	var asked time.Duration
	var cause string
	if err != nil {
		a.Error, cause = classOf(err), causeOf(err)
	} else {
		a.Status = resp.status
		a.Success, a.Error = judge(resp.status)
		if !a.Success {
			asked, cause = retryAfter(resp.header, d.now()), fmt.Sprintf("status %d", a.Status)
		}
	}
	if !a.Success {
		d.log.Info("webhook attempt failed", append(logged(a), "class", a.Error, "cause", cause, "duration", a.Duration)...)
	}
	d.finish(a, asked)
	return a
}

// finish says when the next attempt of a failed one is, no sooner than asked, and
// tells the Observer.
func (d *Dispatcher) finish(a *storage.Attempt, asked time.Duration) {
	if !a.Success && a.Status != http.StatusGone {
		if wait, again := d.config.Retry.next(a.Attempt, asked); again {
			a.NextAttemptAt = d.now().Add(wait).UTC().Truncate(time.Microsecond)
		}
	}
	if !a.Success && a.NextAttemptAt.IsZero() {
		d.log.Warn("webhook delivery given up", logged(a)...)
	}
	d.observe(func(o Observer) { o.AttemptFinished(*a) })
}

// answer is all that is kept of a response.
type answer struct {
	status int
	header http.Header
}

// post sends the event and reads the answer.
func (w *worker) post(p *posting) (answer, error) {
	ctx := w.begin()
	defer w.end()
	d := w.d
	if p.to == nil {
		to, err := d.guard.parse(p.delivery.URL)
		if err != nil {
			return answer{}, err
		}
		p.to = &to
	}
	body := p.delivery.Body
	secret, err := d.secrets.Open(p.delivery.Lease.WebhookID, p.delivery.Secret)
	if err != nil {
		// Unsigned would look like signed to a receiver that forgot to check.
		return answer{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "", bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.URL, req.Host = p.to.url, p.to.url.Host
	req.Header = maps.Clone(d.header) // whoever sends it changes no values
	if secret != "" {
		req.Header[d.signatureHeader] = []string{Sign(secret, body)}
	}
	// Not through an http.Client: it reads the Location of a redirect and fails
	// when it is malformed.
	resp, err := d.transport.RoundTrip(req)
	if err != nil {
		return answer{}, cmp.Or(context.Cause(ctx), err) // why it ended, whatever the transport made of it
	}
	defer func() { _ = resp.Body.Close() }()
	// Only a connection whose answer was read to its end is used again. The
	// status stands whatever happens here; the transport bounds the body.
	_, err = io.Copy(io.Discard, resp.Body)
	p.endless = err != nil
	return answer{status: resp.StatusCode, header: resp.Header}, nil
}

// judge says what a status means.
func judge(status int) (success bool, class string) {
	switch {
	case status >= 200 && status <= 299:
		return true, ""
	case status >= 300 && status <= 399:
		return false, ClassRedirect
	}
	return false, ClassStatus
}

// classOf says what an error means. A name that did not resolve in time is not
// told apart from one that did not resolve.
func classOf(err error) string {
	var refused *URLError
	if errors.As(err, &refused) {
		return ClassNetwork
	}
	var timeout net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return ClassTimeout
	}
	return ClassNetwork
}

// maxCause bounds what one attempt writes to the log as its cause: net/http
// quotes a malformed answer, and a certificate can have hundreds of names.
const maxCause = 512

// causeOf is the text of err for the log, without the URL, whose query may hold
// a credential of the receiver, and at most maxCause bytes of it.
func causeOf(err error) string {
	var withURL *url.Error
	if errors.As(err, &withURL) {
		err = withURL.Err
	}
	cause := err.Error()
	var refused *URLError
	if errors.As(err, &refused) && refused.cause != nil {
		cause = refused.Reason + ": " + refused.cause.Error()
	}
	if len(cause) > maxCause {
		cause = strings.ToValidUTF8(cause[:maxCause], "") + " …"
	}
	return cause
}

// logged is what every line about an attempt carries. The delivery is the id that
// the attempt has in the history.
func logged(a *storage.Attempt) []any {
	return []any{
		"webhook", a.WebhookID.String(),
		"event", a.EventID.String(),
		"delivery", a.ID.String(),
		"attempt", a.Attempt,
	}
}

// protect calls f and turns a panic into an error.
func protect(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("webhooks: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
