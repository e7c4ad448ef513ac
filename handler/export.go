package handler

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/formsvc/formsvc/internal/apierror"
	"github.com/formsvc/formsvc/internal/download"
	"github.com/formsvc/formsvc/internal/export"
	"github.com/formsvc/formsvc/internal/filter"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// exportOperation is not in the table of operations, because the host chooses its path.
var exportOperation = operation{id: "export", method: http.MethodGet, scope: storage.ScopeSubmissionsRead, serve: (*call).serveExport}

var exportTypes = map[schema.ExportFormat]string{
	schema.CSV:    "text/csv; charset=utf-8; header=present",
	schema.NDJSON: "application/x-ndjson",
}

// errHTTPVersion rejects HTTP/1.0, because a truncated HTTP/1.0 response without a length looks complete.
var errHTTPVersion = &apierror.Error{
	Status: http.StatusHTTPVersionNotSupported, Code: "HTTP_VERSION_NOT_SUPPORTED",
	Message: "Exports need HTTP/1.1 or newer, because over HTTP/1.0 a truncated file looks complete. If you use a proxy, set its HTTP version (in nginx, proxy_http_version).",
}

// Exports implements [httpapi.API].
func (h *api) Exports() http.Handler {
	return h.serveOperation(&exportOperation, http.MethodGet, http.MethodHead)
}

// serveOperation serves an operation at any path.
func (h *api) serveOperation(op *operation, methods ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := newCall(h, w, r)
		defer c.finish()
		c.op = op
		if !slices.Contains(methods, r.Method) {
			c.sendAllowedMethods(strings.Join(methods, ", ") + ", OPTIONS")
			return
		}
		if err := op.serve(c); err != nil {
			c.sendError(err)
		}
	})
}

// serveExport serves an export. It makes the same checks as every other operation, in the same order.
func (c *call) serveExport() error {
	path := c.r.URL.Path
	name, ending, _ := strings.Cut(path[strings.LastIndexByte(path, '/')+1:], ".")
	format := schema.ExportFormat(ending)
	if exportTypes[format] == "" {
		return apierror.ErrNotFound
	}
	// Set the pattern for the host's metrics and traces.
	if mounted := c.r.Pattern; mounted == "" || strings.HasSuffix(mounted, "/") {
		c.r.Pattern = cmp.Or(mounted, "/") + "{form_id}." + ending
	}
	if !c.r.ProtoAtLeast(1, 1) {
		return errHTTPVersion
	}
	if err := c.authenticate(); err != nil {
		return err
	}
	query := c.parseQuery()
	options, err := query.parseExportOptions(format)
	if err != nil {
		return err
	}
	id, err := storage.ParseID(name)
	if err != nil {
		return apierror.ErrNotFound
	}
	form, err := c.h.core.Storage.Form(c.ctx(), c.actor(), id)
	if err != nil {
		return err
	}
	if options.Filter, err = query.parseFilter(form, c.h.core.Clock().In(c.h.core.TimeZone)); err != nil {
		return err
	}
	options.States = func(ctx context.Context, submission storage.ID) ([]storage.SubmissionState, error) {
		return c.h.core.Storage.SubmissionHistory(ctx, c.actor(), id, submission)
	}
	file := download.File{Name: id.String() + "." + ending, ContentType: exportTypes[format], WriteStatus: c.sendHeader}
	if c.r.Method == http.MethodHead {
		file.WriteHeaders(c.w)
		return nil
	}
	if _, busy := c.h.runningExports.LoadOrStore(c.principal.KeyID, true); busy {
		c.w.Header()["Retry-After"] = []string{"10"} // How long the other export will take is unknown.
		return apierror.ErrRateLimited.WithMessage("The API key already has an export in progress. Wait until it ends.")
	}
	defer c.h.runningExports.Delete(c.principal.KeyID)

	c.warnIfWriteTimeoutApplies()
	budget := pageBudget{c: c}
	gone, err := file.Send(c.w, func(w io.Writer) error {
		return export.Write(c.r.Context(), w, form.Definition, options, func(ctx context.Context, q storage.SubmissionsParams) (storage.SubmissionPage, error) {
			if err := budget.waitForPage(ctx); err != nil {
				return storage.SubmissionPage{}, err
			}
			if err := c.recheckKey(ctx, c.op.scope); err != nil {
				return storage.SubmissionPage{}, err
			}
			return c.h.core.Submissions(ctx, c.actor(), id, q)
		})
	})
	if err == nil || !c.responseStarted {
		return err
	}
	level := slog.LevelError
	if gone || c.ctx().Err() != nil {
		level = slog.LevelDebug // The client canceled the request.
	}
	c.logRequest(level, "export ended early", slog.Any("error", err))
	download.Abort(c.w)
	return nil
}

// warnIfWriteTimeoutApplies logs a warning for the first export that the server's WriteTimeout will interrupt because
// middleware hides the connection.
func (c *call) warnIfWriteTimeoutApplies() {
	server, _ := c.r.Context().Value(http.ServerContextKey).(*http.Server)
	if server == nil || server.WriteTimeout <= 0 {
		return
	}
	if err := http.NewResponseController(c.w).SetWriteDeadline(time.Time{}); errors.Is(err, http.ErrNotSupported) {
		c.h.hiddenConnOnce.Do(func() {
			c.logRequest(slog.LevelWarn, "WriteTimeout of the server limits exports because a middleware's ResponseWriter has no Unwrap method",
				slog.Any("error", err))
		})
	}
}

func (q *query) parseExportOptions(format schema.ExportFormat) (export.Options, error) {
	o := schema.Export{
		Format:         format,
		Separator:      q.parseSeparator(),
		ChoiceIDs:      q.parseFlag("choices", "labels", "ids"),
		SplitColumns:   q.parseFlag("several", "joined", "spread"),
		Labels:         q.parseFlag("header", "ids", "labels"),
		BOM:            q.parseFlag("bom", "false", "true"),
		AllowFormulas:  q.parseFlag("formulas", "defused", "kept"),
		CompletionLine: q.parseFlag("last_line", "false", "true"),
		Changes:        q.parseFlag("changes", "false", "true"),
		History:        q.parseFlag("history", "false", "true"),
	}
	o.Since, o.Until = q.parseTimeRange()
	if o.History && format != schema.NDJSON {
		q.addViolation("history", schema.CodeNotAllowed, export.HistoryNeedsNDJSON)
	}
	return export.Options{Export: o}, q.err()
}

// parseFilter parses the parameters where, which is JsonLogic, and text.
func (q *query) parseFilter(form storage.Form, today time.Time) (*filter.Filter, error) {
	where, hasWhere := q.getUnique("where")
	text, hasText := q.getUnique("text")
	if err := q.err(); err != nil || !hasWhere && !hasText {
		return nil, err
	}
	var logic json.RawMessage
	if hasWhere {
		logic = json.RawMessage(where)
	}
	made, err := filter.New(form.Definition, logic, text, today)
	if broken, ok := errors.AsType[*schema.Error](err); ok {
		for _, v := range broken.Violations {
			q.addViolation(strings.TrimPrefix(v.Path, "/"), v.Code, v.Message)
		}
		return nil, q.err()
	}
	return made, err
}

var separators = map[string]rune{"comma": ',', "semicolon": ';', "tab": '\t'}

func (q *query) parseSeparator() rune {
	value, given := q.getUnique("separator")
	if given && separators[value] == 0 {
		q.addViolation("separator", schema.CodeNotAllowed, "must be comma, semicolon or tab")
	}
	return cmp.Or(separators[value], ',')
}

// parseFlag parses a parameter whose value must be first or second, and reports whether it is second. Defaults to
// first.
func (q *query) parseFlag(name, first, second string) bool {
	value, given := q.getUnique(name)
	if given && value != first && value != second {
		q.addViolation(name, schema.CodeNotAllowed, "must be "+first+" or "+second)
	}
	return value == second
}

// pageBudget counts an export's pages against the key's rate limit. Once half of the limit is used, pageBudget waits
// before each page until the full limit is available again, so that the key's other requests are not rejected.
type pageBudget struct {
	c              *call
	wait           time.Duration // How long to wait before the next page.
	firstPageTaken bool          // Whether the first page was counted. The request itself counts as that page.
}

func (b *pageBudget) waitForPage(ctx context.Context) error {
	if !b.firstPageTaken {
		b.firstPageTaken = true
		return nil
	}
	for {
		select {
		case <-time.After(b.wait):
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		t := b.c.takeLimiterToken(b.c.principal.KeyID)
		b.wait = 0
		if t.known && t.result.Remaining < t.result.Limit/2 {
			b.wait = t.result.Reset
		}
		if t.allowed() {
			return nil
		}
		b.wait = t.result.Reset
	}
}

// recheckKey resolves the key again before each page, because the key may have expired, been revoked or lost a scope.
func (c *call) recheckKey(ctx context.Context, scopes ...storage.Scope) error {
	p, err := c.h.keys.ResolveKey(ctx, c.h.config.Credential(c.r))
	if err != nil {
		return c.convertResolveError(err)
	}
	lacks := func(scope storage.Scope) bool { return !p.Has(scope) }
	if p.UserID != c.principal.UserID || slices.ContainsFunc(scopes, lacks) {
		return apierror.ErrInvalidAPIKey
	}
	return nil
}
