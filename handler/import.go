package handler

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/formsvc/formsvc/internal/apierror"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/timeout"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// importOperation is not in the table of operations, because the host chooses its path. An import also requires
// forms:write, because the API cannot create submissions with submissions:write.
var importOperation = operation{id: "import", method: http.MethodPost, scope: storage.ScopeSubmissionsWrite, serve: (*call).serveImport}

// errDraft is not in the API description, because no other operation needs a published form.
var errDraft = &apierror.Error{Status: http.StatusConflict, Code: "CONFLICT", Message: "The form is a draft. Publish the form first."}

// Imports implements [httpapi.API].
func (h *api) Imports() http.Handler {
	return h.serveOperation(&importOperation, http.MethodPost)
}

// errDuplicateLine is for the lines of an import. No other operation checks unique answers.
var errDuplicateLine = apierror.NewValidationError(schema.Violation{Code: schema.CodeDuplicate, Message: "must have a unique answer different from the other submissions"})

// serveImport serves an import. It makes the same checks as every other operation, in the same order.
func (c *call) serveImport() error {
	path := c.r.URL.Path
	if mounted := c.r.Pattern; strings.HasSuffix(mounted, "/") {
		c.r.Pattern = mounted + "{form_id}" // for the host's metrics and traces
	}
	if err := c.authenticate(); err != nil {
		return err
	}
	if !c.principal.Has(storage.ScopeFormsWrite) {
		return apierror.ErrInsufficientScope.WithMessage("The scope " + string(storage.ScopeFormsWrite) + " is missing.")
	}
	q := c.parseQuery()
	lenient, deliver := q.parseFlag("lenient", "false", "true"), q.parseFlag("deliver", "false", "true")
	if err := q.err(); err != nil {
		return err
	}
	if hasBody(c.r) && !isImport(c.r.Header) {
		return apierror.ErrUnsupportedMedia.WithMessage("The request body must be application/x-ndjson without a content encoding.")
	}
	form, err := storage.ParseID(path[strings.LastIndexByte(path, '/')+1:])
	if err != nil {
		return apierror.ErrNotFound
	}
	stored, err := c.h.core.Storage.Form(c.ctx(), c.actor(), form)
	if err != nil {
		return err
	}
	if stored.Status != storage.StatusPublished {
		return errDraft
	}
	if _, busy := c.h.runningImports.LoadOrStore(c.principal.KeyID, true); busy {
		c.w.Header()["Retry-After"] = []string{"10"} // How long the other import will take is unknown.
		return apierror.ErrRateLimited.WithMessage("The API key already has an import in progress. Wait until it ends.")
	}
	defer c.h.runningImports.Delete(c.principal.KeyID)

	c.bodyReadStarted = true
	budget, body := pageBudget{c: c}, &importBody{body: c.r.Body, control: http.NewResponseController(c.w)}
	_ = body.control.SetReadDeadline(time.Time{}) // The timeouts of importBody replace those of the server.
	_ = body.control.SetWriteDeadline(time.Time{})
	// The context is not c.ctx(), whose storage calls share one timeout. Each line has its own timeout.
	report, err := c.h.config.Import(c.r.Context(), form, lenient, deliver, body, func() error {
		ctx := timeout.WithBudget(c.r.Context())
		if err := budget.waitForPage(ctx); err != nil {
			return err
		}
		if err := c.recheckKey(ctx, storage.ScopeFormsWrite, storage.ScopeSubmissionsWrite); err != nil {
			return err
		}
		_, err := c.h.core.Storage.Form(ctx, c.actor(), form)
		return err // an error means that the user has lost the access
	})
	_ = body.control.SetWriteDeadline(time.Now().Add(importTimeout))
	if body.err != nil && errors.Is(err, body.err) {
		return bodyError(err)
	}
	if err != nil {
		return err
	}
	return c.sendObject(func(w *jsontree.Writer) {
		w.Name("imported").Int(report.Imported)
		w.Name("repeated").Int(report.Repeated)
		w.Name("refused").Array()
		for _, line := range report.Refused {
			e := errDuplicateLine
			if !errors.Is(line.Err, storage.ErrDuplicate) {
				e = c.translate(line.Err)
			}
			w.Object()
			w.Name("line").Int(line.Line)
			w.Name("code").String(e.Code)
			w.Name("message").String(e.Message)
			if len(e.Details) > 0 {
				writeDetails(w, e.Details)
			}
			w.EndObject()
		}
		w.EndArray()
	})
}

// isImport reports whether the headers declare uncompressed NDJSON, as exports do, or JSON, which one line is.
func isImport(h http.Header) bool {
	return hasMediaType(h, func(media string) bool {
		return media == "application/x-ndjson" || media == "application/ndjson" || isJSONType(media)
	})
}

// The client has a minute for each 64 KiB, which any usable connection allows.
const (
	importTimeout = time.Minute
	importChunk   = 64 << 10
)

// importBody reads the body of an import and limits how long the client takes to send it. The time between the calls of
// Read does not count, because storing the lines can take any time. If the host's middleware hides the connection, the
// server's timeouts still apply.
type importBody struct {
	body    io.Reader
	control *http.ResponseController
	left    time.Duration // for the rest of the chunk
	rest    int           // of the chunk, in bytes
	err     error         // the error that ended the body early
}

// Read implements [io.Reader].
func (b *importBody) Read(p []byte) (int, error) {
	if b.rest <= 0 {
		b.left, b.rest = importTimeout, importChunk
	}
	began := time.Now()
	_ = b.control.SetReadDeadline(began.Add(b.left))
	n, err := b.body.Read(p)
	_ = b.control.SetReadDeadline(time.Time{})
	b.left, b.rest = b.left-time.Since(began), b.rest-n
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}
