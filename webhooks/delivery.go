package webhooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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

// payloadVersion is the value of the version header (specification,
// "Versioning").
const payloadVersion = "1.0.0"

// errStopped is the cause of posts that end because the dispatcher does.
var errStopped = errors.New("webhooks: dispatcher stopped")

// outcome is what became of a claimed delivery.
type outcome struct {
	delivery storage.Delivery
	// attempt is nil when nothing is known to have been sent in full: the delivery
	// goes back to the queue as it was.
	attempt *storage.Attempt
}

// deliver makes one attempt. It always returns, also when something in it
// panics.
func (d *Dispatcher) deliver(ctx context.Context, del storage.Delivery) (out outcome) {
	started, clock := d.now(), time.Now()
	a := &storage.Attempt{
		WebhookID:    del.Lease.WebhookID,
		EventID:      del.Lease.EventID,
		EventType:    del.EventType,
		SubmissionID: del.SubmissionID,
		Attempt:      del.Attempt,
		CreatedAt:    started.UTC().Truncate(time.Second),
	}
	defer func() {
		if p := recover(); p != nil {
			d.log.Error("webhook delivery panicked", append(logged(del), "panic", p, "stack", string(debug.Stack()))...)
			a.Success, a.Status, a.Error = false, 0, ClassNetwork
			out = d.finish(del, a, clock, 0)
		}
	}()

	resp, err := d.post(ctx, del)
	if err != nil && errors.Is(context.Cause(ctx), errStopped) {
		return outcome{delivery: del}
	}
	var asked time.Duration
	if err != nil {
		a.Error = classOf(err)
		d.log.Info("webhook attempt failed", append(logged(del), "class", a.Error, "cause", causeOf(err))...)
	} else {
		a.Status = resp.status
		a.Success, a.Error = judge(resp.status)
		if !a.Success {
			asked = retryAfter(resp.header, d.now())
			d.log.Info("webhook attempt failed", append(logged(del), "class", a.Error, "cause", fmt.Sprintf("status %d", a.Status))...)
		}
	}
	return d.finish(del, a, clock, asked)
}

// finish completes a and tells the Observer.
func (d *Dispatcher) finish(del storage.Delivery, a *storage.Attempt, since time.Time, asked time.Duration) outcome {
	now := d.now()
	a.ID = d.ids.New(now)
	a.Duration = time.Since(since)
	if !a.Success && a.Status != http.StatusGone {
		if wait, again := d.config.Retry.next(a.Attempt, asked); again {
			a.NextAttemptAt = now.Add(wait).UTC().Truncate(time.Microsecond)
		}
	}
	if !a.Success && a.NextAttemptAt.IsZero() {
		d.log.Warn("webhook delivery given up", logged(del)...)
	}
	d.observe(func(o Observer) { o.AttemptFinished(*a) })
	return outcome{delivery: del, attempt: a}
}

// answer is all that is kept of a response.
type answer struct {
	status int
	header http.Header
}

// post sends the event and reads the answer.
func (d *Dispatcher) post(ctx context.Context, del storage.Delivery) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, d.config.Timeout)
	defer cancel()
	dest, err := d.guard.parse(del.URL)
	if err != nil {
		return answer{}, err
	}
	secret, err := d.secrets.Open(del.Lease.WebhookID, del.Secret)
	if err != nil {
		// Unsigned would look like signed to a receiver that forgot to check.
		return answer{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, dest.url.String(), bytes.NewReader(del.Body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", d.config.UserAgent)
	req.Header.Set(d.config.HeaderPrefix+"-Version", payloadVersion)
	if secret != "" {
		req.Header.Set(d.config.HeaderPrefix+"-Signature", Sign(secret, del.Body))
	}
	// Not through an http.Client: it reads the Location of a redirect and fails
	// when it is malformed.
	resp, err := d.transport.RoundTrip(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	// Only a connection whose answer was read to its end is used again. The
	// status stands whatever happens here; the transport bounds the body.
	_, _ = io.Copy(io.Discard, resp.Body)
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

// logged is what every line about a delivery carries.
func logged(del storage.Delivery) []any {
	return []any{
		"webhook", del.Lease.WebhookID.String(),
		"event", del.Lease.EventID.String(),
		"attempt", del.Attempt,
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
