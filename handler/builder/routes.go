package builder

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"slices"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/apidoc"
	"github.com/formsvc/formsvc/internal/apierror"
	"github.com/formsvc/formsvc/internal/requestid"
	"github.com/formsvc/formsvc/schema"
)

// route is an endpoint that the API lacks. A request needs all of its scopes.
type route struct {
	pattern string
	scopes  scopes
	serve   http.HandlerFunc
}

// These are the scopes of the routes. Every route names its scopes, even if it needs none.
var (
	noScopes         = scopes{}
	workspacesRead   = scopes{formsvc.ScopeWorkspacesRead}
	formsRead        = scopes{formsvc.ScopeFormsRead}
	formsWrite       = scopes{formsvc.ScopeFormsWrite}
	submissionsRead  = scopes{formsvc.ScopeSubmissionsRead}
	submissionsWrite = scopes{formsvc.ScopeSubmissionsWrite}
	// submissionsChange is for changing answers, which shows them.
	submissionsChange = scopes{formsvc.ScopeSubmissionsRead, formsvc.ScopeSubmissionsWrite}
	webhooksRead      = scopes{formsvc.ScopeWebhooksRead}
	webhooksWrite     = scopes{formsvc.ScopeWebhooksWrite}
	deliveredBody     = scopes{formsvc.ScopeWebhooksRead, formsvc.ScopeSubmissionsRead} // contains answers
)

func (h *Handler) newRoutes() *http.ServeMux {
	mux := http.NewServeMux()
	for _, e := range slices.Concat(h.publishRoutes(), h.webhookRoutes(), h.resultRoutes(), []route{
		{"GET /forms/{form}/warnings", formsRead, h.compareHandler(listWarnings)},
		{"GET /forms/{form}/choices", formsRead, h.withSlot(renders, h.jsonHandler(h.listChoices))},
		{"POST /pattern", noScopes, h.jsonHandler(withBody(tryPattern))},
		{"GET /workspaces", workspacesRead, h.jsonHandler(h.listWorkspaces)},
	}) {
		mux.HandleFunc(e.pattern, func(w http.ResponseWriter, r *http.Request) {
			if scope := signedInUser(r).scopes.missing(e.scopes...); scope != "" {
				writeMissingScope(w, scope)
				return
			}
			e.serve(w, r)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, http.StatusNotFound, "NOT_FOUND", "The path does not exist.")
	})
	return mux
}

type signedInKey struct{}

type signedIn struct {
	user   formsvc.ID
	client formsvc.Client // has all scopes, because the routes check them
	scopes scopes
}

func signedInUser(r *http.Request) signedIn {
	s, _ := r.Context().Value(signedInKey{}).(signedIn) // ServeHTTP sets it for all routes
	return s
}

func requestClient(r *http.Request) formsvc.Client { return signedInUser(r).client }

type errorBody struct {
	Type      string             `json:"type"`
	Code      string             `json:"code"`
	Message   string             `json:"message"`
	Status    int                `json:"status"`
	RequestID string             `json:"request_id"`
	Details   []schema.Violation `json:"details,omitempty"`
	Conflicts []conflict         `json:"conflicts,omitempty"` // returned by Publish
	Revision  int64              `json:"revision,omitempty"`  // of the working copy; set with Conflicts
}

func (f errorBody) write(w http.ResponseWriter) {
	f.Type, f.RequestID = cmp.Or(apidoc.ErrorType(f.Status), "server_error"), w.Header().Get(requestid.Header)
	writeJSON(w, f.Status, f)
}

func writeError(w http.ResponseWriter, status int, code, message string) {
	errorBody{Code: code, Message: message, Status: status}.write(w)
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	to := &statusWriter{w, status}
	e := json.NewEncoder(to) // streams the value, which can be large
	e.SetEscapeHTML(false)   // escaping would triple the size of HTML, and browsers never interpret JSON as HTML
	if err := e.Encode(value); err != nil && to.status != 0 {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"code":"INTERNAL_ERROR"}`+"\n") // the browser may have disconnected
	}
}

// statusWriter delays the status until the first byte is written, so that an encoding error can still change it.
type statusWriter struct {
	w      http.ResponseWriter
	status int // zero once it has been sent
}

func (r *statusWriter) Write(b []byte) (int, error) {
	if r.status != 0 {
		r.w.WriteHeader(r.status)
		r.status = 0
	}
	return r.w.Write(b)
}

type listPage[T any] struct {
	Items []T `json:"items"`
	Page  struct {
		HasMore    bool    `json:"has_more"`
		NextCursor *string `json:"next_cursor"`
	} `json:"page"`
}

// readPage returns a page of a list and skips the records that before matches. show converts a record to an item, and
// cursor returns the cursor for continuing after a record.
func readPage[R, T any](list iter.Seq2[R, error], most int, before func(R) bool, show func(R) T, cursor func(R) string) (p listPage[T], err error) {
	p.Items = []T{}
	var next string
	for record, err := range list {
		switch {
		case err != nil:
			return p, err
		case before(record):
			continue
		case len(p.Items) == most:
			p.Page.HasMore, p.Page.NextCursor = true, &next
			return p, nil
		}
		p.Items, next = append(p.Items, show(record)), cursor(record)
	}
	return p, nil
}

func (h *Handler) handleError(w http.ResponseWriter, r *http.Request, err error) {
	e := apierror.FromError(err)
	f := errorBody{Status: e.Status, Code: e.Code, Message: e.Message, Details: e.Details}
	if conflict, ok := errors.AsType[*formsvc.ConflictError](err); ok {
		f = errorBody{Status: http.StatusConflict, Code: "CONFLICT", Message: "The form and its working copy have conflicting changes. Resolve the conflicts.", Conflicts: newConflicts(conflict), Revision: conflict.Revision}
	} else if moved, ok := errors.AsType[*formsvc.RevisionError](err); ok {
		f.Message, f.Revision = "The form has changed. Reload it and try again.", moved.Current
	} else if errors.Is(err, formsvc.ErrInsufficientScope) {
		f.Message = "You lack a required scope."
	} else if errors.Is(err, formsvc.ErrConflict) {
		f = errorBody{Status: http.StatusConflict, Code: "CONFLICT", Message: "The request conflicts with the current state. Reload the page and try again."}
	} else if errors.Is(err, formsvc.ErrUnsupported) {
		f = errorBody{Status: http.StatusNotImplemented, Code: "UNSUPPORTED", Message: "The storage of this service does not support this kind of data."}
	}
	if f.Status >= http.StatusInternalServerError && r.Context().Err() == nil {
		h.config.Logger.LogAttrs(r.Context(), slog.LevelError, "builder request failed", slog.String("path", r.URL.Path), slog.Any("error", err))
	}
	f.write(w)
}
