package handler

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/export"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// exportOperation is not in the table of operations: the description does not have it,
// and the host mounts it where it likes.
var exportOperation = operation{id: "export", method: http.MethodGet, scope: storage.ScopeSubmissionsRead}

// errHTTPVersion is for a protocol in which an answer without a length that was cut looks
// like one that has ended.
var errHTTPVersion = &apiError{
	status: http.StatusHTTPVersionNotSupported, code: "HTTP_VERSION_NOT_SUPPORTED",
	message: "An export needs HTTP/1.1 or newer: over HTTP/1.0 a file that was cut looks whole. (A proxy may be set to use it, such as nginx with proxy_http_version.)",
}

// Exports serves exports of responses at any path whose last segment is a form's id with
// the ending .csv or .ndjson.
func (h *Handler) Exports() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := newCall(h, w, r)
		defer c.end()
		c.op = &exportOperation
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			c.allow("GET, HEAD, OPTIONS")
			return
		}
		if err := c.export(); err != nil {
			c.fail(err)
		}
	})
}

// export serves one export. The order of the checks is that of the operations.
func (c *call) export() error {
	path := c.r.URL.Path
	name, ending, _ := strings.Cut(path[strings.LastIndexByte(path, '/')+1:], ".")
	format := export.Format(ending)
	if format != export.CSV && format != export.NDJSON {
		return errNotFound
	}
	// For the host's metrics and traces, which see the request when this returns.
	if mounted := c.r.Pattern; mounted == "" || strings.HasSuffix(mounted, "/") {
		c.r.Pattern = cmp.Or(mounted, "/") + "{form_id}." + ending
	}
	if !c.r.ProtoAtLeast(1, 1) {
		return errHTTPVersion
	}
	if err := c.authenticate(); err != nil {
		return err
	}
	options, err := c.query().exportOptions()
	if err != nil {
		return err
	}
	options.Format = format
	id, err := storage.ParseID(name)
	if err != nil {
		return errNotFound
	}
	form, err := c.h.core.Storage.Form(c.ctx(), c.actor(), id)
	if err != nil {
		return err
	}
	w := &exportWriter{c: c, form: id, format: options.Format, control: http.NewResponseController(c.w)}
	if c.r.Method == http.MethodHead {
		w.begin()
		return nil
	}
	if _, busy := c.h.exports.LoadOrStore(c.principal.KeyID, true); busy {
		c.w.Header()["Retry-After"] = []string{"10"} // when the other one ends, nobody knows
		return errRateLimited.with("The API key has an export under way; one at a time is allowed.")
	}
	defer c.h.exports.Delete(c.principal.KeyID)

	w.within(0) // the server's time-out would end an export while it reads
	budget := budget{c: c}
	err = export.Write(c.ctx(), w, form.Definition, options, func(ctx context.Context, q storage.SubmissionsParams) (storage.SubmissionPage, error) {
		if err := budget.page(ctx); err != nil {
			return storage.SubmissionPage{}, err
		}
		if err := c.stillAllowed(ctx); err != nil {
			return storage.SubmissionPage{}, err
		}
		return c.h.core.Submissions(ctx, c.actor(), id, q)
	})
	w.within(exportPatience) // for what ends the response
	switch {
	case err == nil && !c.wrote: // NDJSON of nothing
		w.begin()
		return nil
	case err == nil, !c.wrote:
		return err
	}
	level := slog.LevelError
	if w.gone || c.ctx().Err() != nil {
		level = slog.LevelDebug // the client's doing
	}
	c.log(level, "an export was cut", err)
	panic(http.ErrAbortHandler)
}

// exportOptions reads the options out of the query.
func (q *query) exportOptions() (export.Options, error) {
	o := export.Options{
		Since: q.time("since"), Until: q.time("until"),
		Separator:    q.separator(),
		ChoiceIDs:    q.oneOf("choices", "labels", "ids"),
		Spread:       q.oneOf("several", "joined", "spread"),
		Labels:       q.oneOf("header", "ids", "labels"),
		BOM:          q.oneOf("bom", "false", "true"),
		KeepFormulas: q.oneOf("formulas", "defused", "kept"),
	}
	q.fault(core.CheckRange(o.Since, o.Until))
	return o, q.err()
}

func (q *query) separator() rune {
	value, given := q.get("separator")
	switch {
	case !given, value == "comma":
		return ','
	case value == "semicolon":
		return ';'
	case value == "tab":
		return '\t'
	}
	q.reject("separator", schema.CodeNotAllowed, "must be comma, semicolon or tab")
	return 0
}

// oneOf reads a parameter that has one of two values, and reports whether it is the
// second one. Absent, it is the first.
func (q *query) oneOf(name, first, second string) bool {
	value, given := q.get(name)
	switch {
	case !given, value == first:
		return false
	case value == second:
		return true
	}
	q.reject(name, schema.CodeNotAllowed, "must be "+first+" or "+second)
	return false
}

// budget counts the pages of an export against the key's limit, and leaves half of it for
// the key's other calls: while those are gone, it takes one page whenever the key has its
// full limit again.
type budget struct {
	c    *call
	wait time.Duration // before the next page
	next bool          // the request itself was counted, and is the first page
}

func (b *budget) page(ctx context.Context) error {
	if !b.next {
		b.next = true
		return nil
	}
	for {
		if err := sleep(ctx, b.wait); err != nil {
			return err
		}
		t := b.c.take(b.c.principal.KeyID)
		b.wait = 0
		if t.counted && t.result.Remaining < t.result.Limit/2 {
			b.wait = t.result.Reset
		}
		if t.allowed() {
			return nil
		}
		b.wait = t.result.Reset
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stillAllowed resolves the key again: one that is revoked, has expired or has lost the
// scope reads no further page.
func (c *call) stillAllowed(ctx context.Context) error {
	p, err := c.h.config.Resolver.ResolveKey(ctx, c.h.config.Credential(c.r))
	if err != nil {
		return c.resolveError(err)
	}
	if p.UserID != c.principal.UserID || !p.Has(c.op.scope) {
		return errInvalidAPIKey
	}
	return nil
}

// A client has exportPatience for each exportPiece of a file: 2 kB a second, less than
// which no line has that is meant to carry files.
const (
	exportPatience = 30 * time.Second
	exportPiece    = 64 << 10
)

// exportWriter is the response's body. The response begins with the first byte.
type exportWriter struct {
	c       *call
	form    storage.ID
	format  export.Format
	control *http.ResponseController
	gone    bool // the client is
}

func (w *exportWriter) begin() {
	h := w.c.w.Header()
	contentType := "text/csv; charset=utf-8; header=present"
	if w.format == export.NDJSON {
		contentType = "application/x-ndjson"
	}
	h["Content-Type"] = []string{contentType}
	h["Content-Disposition"] = []string{`attachment; filename="` + w.form.String() + "." + string(w.format) + `"`}
	h["X-Content-Type-Options"] = []string{"nosniff"}
	w.c.begin(http.StatusOK)
}

// Write sends p in pieces, each within the client's time.
func (w *exportWriter) Write(p []byte) (n int, err error) {
	if !w.c.wrote {
		w.begin()
	}
	for len(p) > 0 && err == nil {
		w.within(exportPatience)
		var m int
		m, err = w.c.w.Write(p[:min(len(p), exportPiece)])
		n, p = n+m, p[m:]
	}
	if err == nil {
		if err = w.control.Flush(); errors.Is(err, http.ErrNotSupported) {
			err = nil
		}
	}
	w.within(0)
	w.gone = err != nil
	return n, err
}

// within bounds the time of what is written next; 0 is no bound. A middleware of the
// host's that hides the connection keeps the server's own time-out.
func (w *exportWriter) within(d time.Duration) {
	var deadline time.Time
	if d > 0 {
		deadline = time.Now().Add(d)
	}
	_ = w.control.SetWriteDeadline(deadline)
}
