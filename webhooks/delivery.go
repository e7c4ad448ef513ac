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
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/formsvc/formsvc/internal/scheduler"
	"github.com/formsvc/formsvc/storage"
)

// Classes of a failed attempt, as [storage.Attempt] keeps them in Error. The owner of a
// webhook sees these and [storage.AttemptExpired], and nothing finer, which would make the
// history a scanner of the host's network. The log has the cause.
const (
	// ClassTimeout: no status and headers in time. A body that does not end is not a
	// failure: its status stands.
	ClassTimeout = "timeout"
	// ClassNetwork: no answer. The name did not resolve, an address is not
	// permitted, the connection or TLS failed, or the answer was not HTTP.
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

// hostFaultWait is the wait before retrying a delivery that a fault of the host kept
// from being sent. Somebody has to change the configuration, which takes minutes, and a
// backlog that is claimed and given back once a minute costs little until then.
const hostFaultWait = time.Minute

// targetsKept is how many URLs are remembered with their judgement: as many as requests
// go to at one time by default. At a few hundred bytes each they take less than a megabyte.
const targetsKept = 1024

// sealedKept bounds the webhooks that are remembered because their secret could not be
// opened. Those that were deleted would stay for ever.
const sealedKept = 1024

// deliver makes one attempt. It always returns, also when something in it panics.
// When posts ends it gives up.
func (d *Dispatcher) deliver(posts context.Context, del *storage.Delivery) (e scheduler.Ended) {
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
			a.Success, a.Status, a.Error, a.Duration = false, 0, ClassNetwork, time.Since(started)
			e = d.ended(a, 0)
		}
	}()

	status, header, err := d.post(posts, del, now)
	if err != nil && errors.Is(context.Cause(posts), errStopped) {
		return scheduler.Ended{Took: time.Since(started)}
	}
	if d.unopenable(a, err) {
		return scheduler.Ended{Took: time.Since(started), RetryIn: hostFaultWait}
	}
	a.Duration = time.Since(started)
	var asked time.Duration
	var cause string
	if err != nil {
		a.Error, cause = classOf(err), causeOf(err)
	} else {
		a.Status = status
		a.Success, a.Error = judge(status)
		if !a.Success {
			asked, cause = retryAfter(header, d.now()), fmt.Sprintf("status %d", a.Status)
		}
	}
	if !a.Success {
		d.log.Info("webhook attempt failed", append(logged(a), "class", a.Error, "error", cause, "duration", a.Duration)...)
	}
	return d.ended(a, asked)
}

// unopenable reports whether err says that a secret cannot be opened. Then nothing is
// sent: a receiver that does not check signatures would not notice that one is missing. A
// line is logged when that begins for a webhook and when it ends. When more than sealedKept
// are remembered all are forgotten, and each is logged once more.
func (d *Dispatcher) unopenable(a *storage.Attempt, err error) bool {
	is := errors.Is(err, ErrSecret)
	d.sealed.mu.Lock()
	defer d.sealed.mu.Unlock()
	if was := d.sealed.webhooks[a.WebhookID]; was == is {
		return is
	}
	if is {
		if len(d.sealed.webhooks) == sealedKept {
			clear(d.sealed.webhooks)
		}
		d.sealed.webhooks[a.WebhookID] = true
		d.log.Error("webhook deliveries are put off", append(logged(a), "error", err, "retry_in", hostFaultWait)...)
	} else {
		delete(d.sealed.webhooks, a.WebhookID)
		d.log.Info("webhook deliveries go on: the secret can be opened", "webhook", a.WebhookID.String())
	}
	return is
}

// ended says when the next attempt of a failed one is, no sooner than asked.
func (d *Dispatcher) ended(a *storage.Attempt, asked time.Duration) scheduler.Ended {
	e := scheduler.Ended{Attempt: a, Took: a.Duration, Asked: asked}
	if !a.Success && a.Status != http.StatusGone {
		if wait, again := d.config.Retry.next(a.Attempt, asked); again {
			e.RetryIn = max(wait, time.Millisecond)
			a.NextAttemptAt = d.now().Add(e.RetryIn).UTC().Truncate(time.Microsecond)
		}
	}
	if !a.Success && e.RetryIn == 0 {
		d.log.Warn("webhook delivery given up", logged(a)...)
	}
	return e
}

// post sends the event, reads the answer, and returns its status and headers.
func (d *Dispatcher) post(posts context.Context, del *storage.Delivery, now time.Time) (int, http.Header, error) {
	deadline := time.Now().Add(d.config.Timeout)
	to, err := d.target(del.URL)
	if err != nil {
		return 0, nil, err
	}
	var room [4]field
	signed, err := d.sign(room[:0], del, now)
	if err != nil {
		return 0, nil, err
	}
	t, ok := d.transport.(*transport)
	if !ok || len(del.Body) > sendBuffer {
		return d.roundTrip(posts, to.url, signed, del.Body, deadline)
	}
	buffer := requests.Get().(*[]byte)
	defer requests.Put(buffer)
	*buffer = appendRequest((*buffer)[:0], to.head, signed, del.Body)
	status, header, err := t.post(posts, to.url, *buffer, deadline)
	if err != nil && !time.Now().Before(deadline) {
		err = context.DeadlineExceeded // the reason, whatever failed because of it
	}
	return status, header, err
}

// roundTrip is post through a transport of the host, or with a large body.
func (d *Dispatcher) roundTrip(posts context.Context, u *url.URL, signed []field, body []byte, deadline time.Time) (int, http.Header, error) {
	ctx, cancel := context.WithDeadline(posts, deadline)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "", bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	own := *u // a Transport of the host may change it
	req.URL, req.Host = &own, u.Host
	req.Header = maps.Clone(d.header) // a shallow copy is enough: values are never changed in place
	for _, f := range signed {
		req.Header[f.name] = []string{f.value}
	}
	// Not through an http.Client: it reads the Location of a redirect and fails
	// when it is malformed.
	resp, err := d.transport.RoundTrip(req)
	if err != nil {
		return 0, nil, cmp.Or(context.Cause(ctx), err) // why it ended, whatever the transport made of it
	}
	defer func() { _ = resp.Body.Close() }()
	// Only a connection whose answer was read to its end is used again. The status
	// stands whatever happens here; the transport bounds the body.
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header, nil
}

// requests are the buffers that requests are written to.
var requests = sync.Pool{New: func() any { return new([]byte) }}

// head returns what every request to u begins with: all but the headers of one delivery.
// Nothing in it can end a line early: the guard judged the URL and mapped its host, and
// [Config.Validate] accepted the headers.
func (d *Dispatcher) head(u *url.URL) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\n", u.RequestURI(), u.Host)
	_ = d.header.Write(&b) // of a buffer
	return b.Bytes()
}

// appendRequest adds a whole request to b.
func appendRequest(b, head []byte, signed []field, body []byte) []byte {
	b = append(b, head...)
	for _, f := range signed {
		b = append(append(append(append(b, f.name...), ": "...), f.value...), "\r\n"...)
	}
	b = strconv.AppendInt(append(b, "Content-Length: "...), int64(len(body)), 10)
	return append(append(b, "\r\n\r\n"...), body...)
}

// destination is a URL that the guard accepted, and the head of requests to it.
type destination struct {
	url  *url.URL
	head []byte
}

// target judges the URL of a delivery and writes the head of its requests. It remembers
// both, which never change: judging alone takes 1.5 µs, and an attempt 12.
func (d *Dispatcher) target(raw string) (destination, error) {
	d.judged.mu.Lock()
	defer d.judged.mu.Unlock()
	if to, ok := d.judged.targets[raw]; ok {
		return to, nil
	}
	judged, err := d.guard.parse(raw)
	if err != nil {
		return destination{}, err
	}
	if len(d.judged.targets) == targetsKept {
		clear(d.judged.targets)
	}
	to := destination{judged.url, d.head(judged.url)}
	d.judged.targets[raw] = to
	return to, nil
}

// field is a header of a request.
type field struct{ name, value string }

// sign adds the headers that prove where a delivery comes from.
func (d *Dispatcher) sign(fields []field, del *storage.Delivery, now time.Time) ([]field, error) {
	secret, err := d.secrets.Open(del.Lease.WebhookID, del.Secret)
	if err != nil {
		return nil, err
	}
	if secret != "" {
		fields = append(fields, field{d.signatureHeader, Sign(secret, del.Body)})
	}
	if !d.config.StandardWebhooks {
		return fields, nil
	}
	id, at := del.Lease.EventID.String(), strconv.FormatInt(now.Unix(), 10)
	fields = append(fields, field{"Webhook-Id", id}, field{"Webhook-Timestamp", at})
	if secret == "" {
		return fields, nil
	}
	signatures := signStandard(secret, id, at, del.Body)
	// The old secret is a courtesy: when it cannot be opened, the new one does.
	if old, err := d.secrets.Open(del.Lease.WebhookID, del.OldSecret); err == nil && old != "" {
		signatures += " " + signStandard(old, id, at, del.Body)
	}
	return append(fields, field{"Webhook-Signature", signatures}), nil
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

// logged returns what every line about an attempt has. "delivery" is the id of the attempt
// in the history.
func logged(a *storage.Attempt) []any {
	return []any{
		"webhook", a.WebhookID.String(),
		"event", a.EventID.String(),
		"delivery", a.ID.String(),
		"attempt", a.Attempt,
	}
}
