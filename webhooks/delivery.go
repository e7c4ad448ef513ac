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
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/formsvc/formsvc/internal/scheduler"
	"github.com/formsvc/formsvc/storage"
)

// Classes of a failed attempt, as [storage.Delivery] keeps them in Error. The owner of a
// webhook sees these and [storage.DeliveryExpired], and nothing finer, which would make the
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

// hostErrorRetryDelay is the wait before retrying a delivery that a fault of the host kept
// from being sent. Somebody has to change the configuration, which takes minutes, and a
// backlog that is claimed and given back once a minute costs little until then.
const hostErrorRetryDelay = time.Minute

// maxResends bounds how often an attempt sends its request again because a kept connection
// ended: net/http goes on while it has kept ones, and each copy may have been received. With
// a quarter of them dead one attempt in 250,000 fails of it.
const maxResends = 8

var errResent = errors.New("webhooks: reused connections closed without a response")

// deliver makes one attempt. It always returns, also when something in it panics.
// When posts ends it gives up.
func (d *Dispatcher) deliver(posts context.Context, del *storage.ClaimedDelivery) (e scheduler.RequestFinished) {
	now, started := d.now(), time.Now()
	a := &storage.Delivery{
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
			d.log.Error("webhook delivery panicked", append(logAttrs(a), "panic", cause, "stack", string(debug.Stack()))...)
			a.Success, a.Status, a.Error, a.Duration = false, 0, ClassNetwork, time.Since(started)
			e = d.planRetry(del, a, 0)
		}
	}()

	status, header, err := d.post(posts, del, now)
	if err != nil && errors.Is(context.Cause(posts), errStopped) {
		return scheduler.RequestFinished{Duration: time.Since(started)}
	}
	if d.checkHostError(a, err) {
		return scheduler.RequestFinished{Duration: time.Since(started), RetryIn: hostErrorRetryDelay}
	}
	a.Duration = time.Since(started)
	var asked time.Duration
	var cause string
	a.Status = status
	switch {
	case err != nil:
		a.Error, cause = classifyError(err), errorText(err)
	case status/100 == 2:
		a.Success = true
	default:
		a.Error, cause = ClassStatus, fmt.Sprintf("status %d", status)
		if status/100 == 3 {
			a.Error = ClassRedirect
		}
		asked = parseRetryAfter(header, d.now())
	}
	if !a.Success {
		d.log.Info("webhook attempt failed", append(logAttrs(a), "class", a.Error, "error", cause, "duration", a.Duration)...)
	}
	return d.planRetry(del, a, asked)
}

// checkHostError reports whether err says that a secret cannot be opened, or that Config.Headers
// did not give headers. Then nothing is sent: a receiver that does not check signatures would
// not notice that one is missing. A line is logged when that begins for a webhook and when it
// ends. Of very many such webhooks some are forgotten, and logged once more.
func (d *Dispatcher) checkHostError(a *storage.Delivery, err error) bool {
	is := errors.Is(err, storage.ErrSecret) || errors.Is(err, errHeaders)
	was, _ := d.hostErrors.Get(a.WebhookID)
	if was != is { // unless another delivery has logged it since
		was, _ = d.hostErrors.Put(a.WebhookID, is, 0)
	}
	switch {
	case is && !was:
		d.log.Error("webhook deliveries postponed", append(logAttrs(a), "error", err, "retry_in", hostErrorRetryDelay)...)
	case was && !is:
		d.log.Info("webhook deliveries resumed", "webhook", a.WebhookID.String())
	}
	return is
}

// ended says when the next attempt of a failed one is, no sooner than asked.
func (d *Dispatcher) planRetry(del *storage.ClaimedDelivery, a *storage.Delivery, asked time.Duration) scheduler.RequestFinished {
	e := scheduler.RequestFinished{Delivery: a, Duration: a.Duration, RequestedPause: asked}
	if a.Success {
		return e
	}
	wait, again := d.config.Retry.delayAfter(a.Attempt, asked)
	switch {
	case a.Status == http.StatusGone || !again:
		d.log.Warn("webhook delivery failed permanently", logAttrs(a)...)
	case d.wouldExpire(del, a.Duration+wait):
		e.Summary = d.ids.New(d.now())
		d.log.Warn("webhook delivery expired", logAttrs(a)...)
	default:
		e.RetryIn = max(wait, time.Millisecond)
		a.NextAttemptAt = d.now().Add(e.RetryIn).UTC().Truncate(time.Microsecond)
	}
	return e
}

// maxLateness is how much later than it was set for an attempt of a working dispatcher begins: a
// poll, a claim, and a wait for a place, which takes a Timeout.
const maxLateness = time.Minute

// expires reports whether a delivery would be older than Config.MaxAge after a wait from the
// beginning of its attempt. One that was so old before its webhook began to fail had to wait
// for a dispatcher, or for a fault of the host, and goes on. After a gap the failures
// begin anew.
func (d *Dispatcher) wouldExpire(del *storage.ClaimedDelivery, wait time.Duration) bool {
	failing := del.FailingFor
	if del.FailedAgo > storage.MaxFailureGap {
		failing = 0
	}
	return del.Age+wait > d.config.MaxAge && del.Age-failing <= d.config.MaxAge+maxLateness
}

// post sends the event, reads the answer, and returns its status and headers. With an error
// the status is 0.
func (d *Dispatcher) post(posts context.Context, del *storage.ClaimedDelivery, now time.Time) (int, http.Header, error) {
	ctx, cancel := context.WithTimeout(posts, d.config.Timeout)
	defer cancel()
	to, err := d.guard.parseURL(del.URL)
	if err != nil {
		return 0, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "", bytes.NewReader(del.Body))
	if err != nil {
		return 0, nil, err
	}
	resent, body := 0, req.GetBody
	req.GetBody = func() (io.ReadCloser, error) {
		if resent++; resent > maxResends {
			return nil, errResent
		}
		return body()
	}
	req.URL, req.Host = to.url, to.url.Host
	req.Header = maps.Clone(d.header) // a shallow copy is enough: values are never changed in place
	if err = d.addSignatures(req.Header, del, now); err == nil {
		err = d.addHeaders(ctx, req.Header, del)
	}
	if err != nil {
		return 0, nil, err
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

// sign adds the headers that prove where a delivery comes from.
func (d *Dispatcher) addSignatures(header http.Header, del *storage.ClaimedDelivery, now time.Time) error {
	secret, err := d.secrets.Decrypt(del.Lease.WebhookID, del.Secret)
	if err != nil {
		return err
	}
	if secret != "" {
		header[d.signatureHeader] = []string{Sign(secret, del.Body)}
	}
	if !d.config.StandardWebhooks {
		return nil
	}
	id, at := del.Lease.EventID.String(), strconv.FormatInt(now.Unix(), 10)
	header["Webhook-Id"], header["Webhook-Timestamp"] = []string{id}, []string{at}
	if secret == "" {
		return nil
	}
	signatures := []string{signStandard(secret, id, at, del.Body)}
	// The old secret is a courtesy: if it cannot be opened, the new secret signs alone.
	if old, err := d.secrets.Decrypt(del.Lease.WebhookID, del.OldSecret); err == nil && old != "" && old != secret {
		signatures = append(signatures, signStandard(old, id, at, del.Body))
	}
	header["Webhook-Signature"] = []string{strings.Join(signatures, " ")}
	return nil
}

// reservedHeaders are those that Config.Headers cannot set, beside those of every request: they
// change what the message is, or would look like a signature of ours.
var reservedHeaders = []string{
	"Host", "Content-Length", "Content-Encoding", "Transfer-Encoding", "Trailer", "Te", "Connection", "Keep-Alive", "Proxy-Connection",
	"Upgrade", "Expect", "Accept-Encoding", "Webhook-Id", "Webhook-Timestamp", "Webhook-Signature",
}

// errHeaders is the fault of a host whose Config.Headers gives none that can be sent.
var errHeaders = errors.New("webhooks: Config.Headers")

// addHeaders adds those of Config.Headers. An error tells no value, which may be a secret.
func (d *Dispatcher) addHeaders(ctx context.Context, header http.Header, del *storage.ClaimedDelivery) (err error) {
	if d.config.Headers == nil {
		return nil
	}
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w panicked: %v\n%s", errHeaders, cause, debug.Stack())
		}
	}()
	for name, values := range d.config.Headers(ctx, storage.Webhook{ID: del.Lease.WebhookID, FormID: del.FormID, URL: del.URL}) {
		name = http.CanonicalHeaderKey(name)
		if _, taken := header[name]; taken || name == d.signatureHeader || slices.Contains(reservedHeaders, name) {
			return fmt.Errorf("%w returned %s, which is reserved", errHeaders, name)
		}
		if !httpguts.ValidHeaderFieldName(name) || slices.ContainsFunc(values, func(v string) bool { return !httpguts.ValidHeaderFieldValue(v) }) {
			return fmt.Errorf("%w returned %q, which has an invalid name or value", errHeaders, name)
		}
		header[name] = values
	}
	return nil
}

// classifyError says what an error means. A name that did not resolve in time counts like a
// name that did not resolve.
func classifyError(err error) string {
	if _, refused := errors.AsType[*URLError](err); refused {
		return ClassNetwork
	}
	timeout, ok := errors.AsType[net.Error](err)
	if errors.Is(err, context.DeadlineExceeded) || ok && timeout.Timeout() {
		return ClassTimeout
	}
	return ClassNetwork
}

// maxCauseBytes bounds the cause that one attempt writes to the log: net/http quotes a
// malformed answer, and a certificate can have hundreds of names.
const maxCauseBytes = 512

// errorText is the text of err for the log, without the URL, whose query may hold
// a credential of the receiver, and at most maxCauseBytes bytes of it.
func errorText(err error) string {
	if withURL, ok := errors.AsType[*url.Error](err); ok {
		err = withURL.Err
	}
	cause := err.Error()
	if refused, ok := errors.AsType[*URLError](err); ok && refused.cause != nil {
		cause = refused.Reason + ": " + refused.cause.Error()
	}
	if len(cause) > maxCauseBytes {
		cause = strings.ToValidUTF8(cause[:maxCauseBytes], "") + " …"
	}
	return cause
}

// logAttrs returns what every line about an attempt has. "delivery" is the id of the attempt
// in the history.
func logAttrs(a *storage.Delivery) []any {
	return []any{
		"webhook", a.WebhookID.String(),
		"event", a.EventID.String(),
		"delivery", a.ID.String(),
		"attempt", a.Attempt,
	}
}
