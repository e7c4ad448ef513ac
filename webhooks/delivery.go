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

// These are the classes of failed attempts in [storage.Delivery].Error. Users see only these classes and
// [storage.DeliveryExpired], because more detail would let them scan the host's network. The log contains the cause.
const (
	// ClassTimeout means that the status and headers did not arrive in time. An incomplete body is not a failure.
	ClassTimeout = "timeout"
	// ClassNetwork means that there was no response: the name did not resolve, an address was not permitted, the
	// connection or TLS failed, or the response was not HTTP.
	ClassNetwork = "network"
	// ClassRedirect means that the status was 3xx. Redirects are not followed.
	ClassRedirect = "redirect"
	// ClassStatus means that the status was neither 2xx nor 3xx.
	ClassStatus = "status"
)

const payloadVersion = "1.0.0"

// errStopped is the cancellation cause of requests that are canceled because the dispatcher stops.
var errStopped = errors.New("webhooks: dispatcher stopped")

// hostErrorRetryDelay is the delay before the retry of a delivery that could not be sent because of an error of the
// host. Hosts need minutes to fix their configuration, and retrying all such deliveries once a minute costs little.
const hostErrorRetryDelay = time.Minute

// maxResends limits how often an attempt resends its request because a reused connection was closed. net/http would try
// all idle connections, and a receiver may have received each copy. With a quarter of all connections dead, one attempt
// in 250,000 exceeds the limit.
const maxResends = 8

var errResent = errors.New("webhooks: reused connections closed without a response")

// deliver makes one attempt. It recovers from panics, and stops when postCtx ends.
func (d *Dispatcher) deliver(postCtx context.Context, del *storage.ClaimedDelivery) (e scheduler.RequestFinished) {
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

	status, header, err := d.post(postCtx, del, now)
	if err != nil && errors.Is(context.Cause(postCtx), errStopped) {
		return scheduler.RequestFinished{Duration: time.Since(started)}
	}
	if errors.Is(err, errNoHandler) { // the URL changed after the claim
		return scheduler.RequestFinished{Duration: time.Since(started)}
	}
	if d.recordHostError(a, err) {
		return scheduler.RequestFinished{Duration: time.Since(started), RetryIn: hostErrorRetryDelay}
	}
	a.Duration = time.Since(started)
	var requestedPause time.Duration
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
		requestedPause = parseRetryAfter(header, d.now())
	}
	if !a.Success {
		d.log.Info("webhook attempt failed", append(logAttrs(a), "class", a.Error, "error", cause, "duration", a.Duration)...)
	}
	return d.planRetry(del, a, requestedPause)
}

// recordHostError reports whether err is an error of the host: a secret that cannot be decrypted, or invalid
// Config.Headers. Such a delivery is not sent, because a receiver that does not check signatures would not notice a
// missing signature. For each webhook, recordHostError logs the first error and the recovery. If very many webhooks
// have such errors, some are logged again.
func (d *Dispatcher) recordHostError(a *storage.Delivery, err error) bool {
	isHostError := errors.Is(err, storage.ErrSecret) || errors.Is(err, errHeaders)
	wasHostError, _ := d.hostErrors.Get(a.WebhookID)
	if wasHostError != isHostError { // another delivery may have logged the change
		wasHostError, _ = d.hostErrors.Put(a.WebhookID, isHostError, 0)
	}
	switch {
	case isHostError && !wasHostError:
		d.log.Error("webhook deliveries postponed", append(logAttrs(a), "error", err, "retry_in", hostErrorRetryDelay)...)
	case wasHostError && !isHostError:
		d.log.Info("webhook deliveries resumed", "webhook", a.WebhookID.String())
	}
	return isHostError
}

// planRetry returns the result of an attempt, with the time of the next attempt after a failure.
func (d *Dispatcher) planRetry(del *storage.ClaimedDelivery, a *storage.Delivery, requestedPause time.Duration) scheduler.RequestFinished {
	e := scheduler.RequestFinished{Delivery: a, Duration: a.Duration, RequestedPause: requestedPause}
	if a.Success {
		return e
	}
	wait, again := d.config.Retry.delayAfter(a.Attempt, requestedPause)
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

// maxLateness is the maximum delay of an attempt by a working dispatcher: a poll, a claim, and a wait for a slot, which
// takes a Timeout.
const maxLateness = time.Minute

// wouldExpire reports whether a delivery would exceed Config.MaxAge after wait, counted from the start of its current
// attempt. A delivery that was too old before its webhook started to fail does not expire, because the delivery had to
// wait for a dispatcher or the host. After storage.MaxFailureGap without a failure, a new series of failures starts.
func (d *Dispatcher) wouldExpire(del *storage.ClaimedDelivery, wait time.Duration) bool {
	failing := del.FailingFor
	if del.FailedAgo > storage.MaxFailureGap {
		failing = 0
	}
	return del.Age+wait > d.config.MaxAge && del.Age-failing <= d.config.MaxAge+maxLateness
}

// post sends the event and returns the status and headers of the response.
func (d *Dispatcher) post(postCtx context.Context, del *storage.ClaimedDelivery, now time.Time) (int, http.Header, error) {
	ctx, cancel := context.WithTimeout(postCtx, d.config.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "/", bytes.NewReader(del.Body))
	if err != nil {
		return 0, nil, err
	}
	req.Header = maps.Clone(d.header) // a shallow copy is enough, because values are never modified in place
	if err = d.addSignatures(req.Header, del, now); err == nil {
		err = d.addHeaders(ctx, req.Header, del)
	}
	if err != nil {
		return 0, nil, err
	}
	if storage.IsLocal(del.URL) {
		return d.serveLocal(req, del)
	}
	to, err := d.guard.parseURL(del.URL)
	if err != nil {
		return 0, nil, err
	}
	req.URL, req.Host = to.url, to.url.Host
	resent, body := 0, req.GetBody
	req.GetBody = func() (io.ReadCloser, error) {
		if resent++; resent > maxResends {
			return nil, errResent
		}
		return body()
	}
	// An http.Client would return an error if the Location of a redirect is malformed.
	resp, err := d.transport.RoundTrip(req)
	if err != nil {
		return 0, nil, cmp.Or(context.Cause(ctx), err) // the timeout or errStopped instead of the transport's error
	}
	defer func() { _ = resp.Body.Close() }()
	// A connection can be reused only if its response was read completely. The status is valid even if reading fails.
	// The transport limits the size of the body.
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header, nil
}

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
	// If the old secret cannot be decrypted, sign only with the new secret.
	if old, err := d.secrets.Decrypt(del.Lease.WebhookID, del.OldSecret); err == nil && old != "" && old != secret {
		signatures = append(signatures, signStandard(old, id, at, del.Body))
	}
	header["Webhook-Signature"] = []string{strings.Join(signatures, " ")}
	return nil
}

// reservedHeaders are headers that Config.Headers cannot set, in addition to the headers in Dispatcher.header. They
// could change the request's meaning, or look like the dispatcher's signatures.
var reservedHeaders = []string{
	"Host", "Content-Length", "Content-Encoding", "Transfer-Encoding", "Trailer", "Te", "Connection", "Keep-Alive", "Proxy-Connection",
	"Upgrade", "Expect", "Accept-Encoding", "Webhook-Id", "Webhook-Timestamp", "Webhook-Signature",
}

var errHeaders = errors.New("webhooks: Config.Headers")

// addHeaders adds the headers of Config.Headers. Its errors contain no header values, which may be secret.
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
			return fmt.Errorf("%w returned the reserved header %s", errHeaders, name)
		}
		if !httpguts.ValidHeaderFieldName(name) || slices.ContainsFunc(values, func(v string) bool { return !httpguts.ValidHeaderFieldValue(v) }) {
			return fmt.Errorf("%w returned %q, which has an invalid name or value", errHeaders, name)
		}
		header[name] = values
	}
	return nil
}

// classifyError returns the class of an error. A DNS timeout counts as a network error.
func classifyError(err error) string {
	if _, rejected := errors.AsType[*URLError](err); rejected {
		return ClassNetwork
	}
	timeout, ok := errors.AsType[net.Error](err)
	if errors.Is(err, context.DeadlineExceeded) || ok && timeout.Timeout() {
		return ClassTimeout
	}
	return ClassNetwork
}

// maxCauseBytes limits the size of a logged cause. net/http quotes malformed responses, and certificates can have
// hundreds of names.
const maxCauseBytes = 512

// errorText returns the text of err for the log, up to maxCauseBytes. It omits the URL, because its query may contain
// the receiver's credentials.
func errorText(err error) string {
	if withURL, ok := errors.AsType[*url.Error](err); ok {
		err = withURL.Err
	}
	cause := err.Error()
	if rejected, ok := errors.AsType[*URLError](err); ok && rejected.cause != nil {
		cause = rejected.Reason + ": " + rejected.cause.Error()
	}
	if len(cause) > maxCauseBytes {
		cause = strings.ToValidUTF8(cause[:maxCauseBytes], "") + " …"
	}
	return cause
}

// logAttrs returns the attributes for log entries of an attempt.
func logAttrs(a *storage.Delivery) []any {
	return []any{
		"webhook", a.WebhookID.String(),
		"event", a.EventID.String(),
		"delivery", a.ID.String(),
		"attempt", a.Attempt,
	}
}
