package builder

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/formsvc/formsvc"
)

type scopes []formsvc.Scope

// missing returns the first of the required scopes that s lacks, or "".
func (s scopes) missing(required ...formsvc.Scope) formsvc.Scope {
	for _, scope := range required {
		if !slices.Contains(s, scope) {
			return scope
		}
	}
	return ""
}

func writeMissingScope(w http.ResponseWriter, scope formsvc.Scope) {
	writeError(w, http.StatusForbidden, "INSUFFICIENT_SCOPE", "You lack the scope "+string(scope)+".")
}

// subject is the workspace and the form that a request concerns. Either ID can be zero.
type subject struct{ workspace, form formsvc.ID }

var errUnknownPath = errors.New("the path does not exist")

// readScopes returns the user's scopes for a request. If the request concerns two workspaces, it returns the scopes
// that the user has in both.
func (h *Handler) readScopes(r *http.Request, user formsvc.ID, below string) (scopes, subject, error) {
	if h.config.Scopes == nil {
		return formsvc.Scopes(), subject{}, nil
	}
	s, target, err := h.readSubject(r, user, below)
	if err != nil {
		return nil, s, err
	}
	found, err := h.scopesIn(r, s.workspace, s.form)
	if err == nil && !target.IsZero() && target != s.workspace {
		var other scopes
		other, err = h.scopesIn(r, target, s.form)
		found = slices.DeleteFunc(slices.Clone(found), func(scope formsvc.Scope) bool { return other.missing(scope) != "" })
	}
	return found, s, err
}

// scopesIn calls Config.Scopes. It logs an error and returns ErrUnavailable.
func (h *Handler) scopesIn(r *http.Request, workspace, form formsvc.ID) (scopes, error) {
	if h.config.Scopes == nil {
		return formsvc.Scopes(), nil
	}
	found, err := h.config.Scopes(r, workspace, form)
	if err == nil {
		return found, nil
	}
	if r.Context().Err() == nil {
		h.config.Logger.LogAttrs(r.Context(), slog.LevelError, "failed to read the user's scopes", slog.Any("error", err))
	}
	return nil, formsvc.ErrUnavailable
}

// readSubject returns what a request concerns. target is the workspace to which the request moves a form. The IDs must be
// the ones that the request's handler will use, so readSubject accepts only paths that it understands completely.
func (h *Handler) readSubject(r *http.Request, user formsvc.ID, below string) (s subject, target formsvc.ID, err error) {
	segments := append(strings.Split(below[1:], "/"), "", "", "")
	kind, name, api := "forms", segments[0], false
	switch {
	case strings.HasPrefix(below, apiPath+"/"), strings.HasPrefix(below, routesPath+"/"):
		kind, name, api = segments[2], segments[3], segments[1] == "v1"
	case segments[0] == "-": // a working copy or the canvas
		name = segments[2]
	case segments[0] == "w":
		kind, name = "workspaces", segments[1]
	}
	query := r.URL.Query()
	if !api && kind == "webhooks" && name == "paused" {
		kind, name = "forms", query.Get("form")
	}
	id, err := formsvc.ParseID(name)
	if !slices.Contains([]string{"forms", "workspaces", "webhooks", "trash", "times", "pattern", "me", "openapi.json"}, kind) || err != nil && name != "" {
		return s, target, errUnknownPath
	}
	var body struct {
		WorkspaceID string `json:"workspace_id"`
		FormID      string `json:"form_id"`
		From        string `json:"from"`
		Workspace   string `json:"workspace"`
	}
	if (api || kind == "trash") && (r.Method == http.MethodPost || r.Method == http.MethodPatch) {
		// The request's handler reports errors. It may still use a value that precedes them.
		start, _ := io.ReadAll(io.LimitReader(r.Body, max(h.service.Limits().Body, maxBody)+1))
		_ = json.NewDecoder(bytes.NewReader(start)).Decode(&body)
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(start), r.Body), r.Body}
	}
	parse := func(text string) formsvc.ID { // a malformed ID identifies nothing
		id, _ := formsvc.ParseID(text)
		return id
	}
	client := h.service.As(user)
	switch kind {
	case "workspaces":
		s.workspace = id
	case "trash":
		s = subject{parse(cmp.Or(body.From, query.Get("from"))), id} // only requests without a body use the query
		target = parse(body.Workspace)
	case "webhooks":
		s.form = parse(body.FormID)
		if !id.IsZero() {
			hook, err := client.Webhook(r.Context(), id)
			if err != nil && !errors.Is(err, formsvc.ErrNotFound) {
				return s, target, err
			}
			s.form = hook.FormID
		}
	case "forms":
		s.form, target = id, parse(body.WorkspaceID)
		if id.IsZero() {
			s.workspace = target
			if api && r.Method != http.MethodPost {
				s.workspace = parse(query.Get("workspace_id"))
			}
		}
	}
	if !s.form.IsZero() && s.workspace.IsZero() {
		form, err := client.Form(r.Context(), s.form)
		if err != nil && !errors.Is(err, formsvc.ErrNotFound) {
			return s, target, err
		}
		s.workspace = form.WorkspaceID
	}
	return s, target, nil
}

// pageScopes lists the scopes that each page of a workspace or a form requires.
var pageScopes = map[string][]formsvc.Scope{
	"":         {formsvc.ScopeFormsRead}, // a list of forms, or the editor
	"trash":    {formsvc.ScopeFormsWrite},
	"results":  {formsvc.ScopeFormsRead, formsvc.ScopeSubmissionsRead},
	"webhooks": {formsvc.ScopeFormsRead, formsvc.ScopeWebhooksRead},
	"versions": {formsvc.ScopeFormsRead, formsvc.ScopeFormsWrite},
}

// access is what the user can do on a page. The page's script omits everything else.
type access struct {
	Refused         bool   `json:"refused"`
	Scopes          scopes `json:"scopes"`
	List            bool   `json:"list"`             // whether the user can open the workspace's list of forms
	CreateWorkspace bool   `json:"create_workspace"` // whether the user can create workspaces
}

// readAccess returns what the user can do on a page. It returns nil if there are no restrictions.
func (h *Handler) readAccess(r *http.Request, below string, s subject, found scopes) (*access, error) {
	if h.config.Scopes == nil {
		return nil, nil //nolint:nilnil // no restrictions
	}
	general, err := h.scopesIn(r, formsvc.ID{}, formsvc.ID{})
	if err != nil {
		return nil, err
	}
	inWorkspace, err := h.scopesIn(r, s.workspace, formsvc.ID{})
	a := access{
		Scopes: append(scopes{}, found...), CreateWorkspace: general.missing(formsvc.ScopeWorkspacesWrite) == "",
		List: general.missing(formsvc.ScopeWorkspacesRead) == "" && inWorkspace.missing(pageScopes[""]...) == "",
	}
	segments := append(strings.Split(below[1:], "/"), "", "")
	switch segments[0] {
	case "": // redirects to a workspace
		a.Refused = general.missing(formsvc.ScopeWorkspacesRead) != ""
	case "w":
		a.Refused = !a.List || found.missing(pageScopes[segments[2]]...) != ""
	default:
		a.Refused = found.missing(append(pageScopes[""], pageScopes[segments[1]]...)...) != ""
	}
	return &a, err
}

// listWorkspaces returns the user's scopes in each workspace.
func (h *Handler) listWorkspaces(r *http.Request) (any, error) {
	found := map[formsvc.ID]scopes{}
	for w, err := range requestClient(r).Workspaces(r.Context(), formsvc.Query{}) {
		if err != nil {
			return nil, err
		}
		inWorkspace, err := h.scopesIn(r, w.ID, formsvc.ID{})
		if err != nil {
			return nil, err
		}
		found[w.ID] = append(scopes{}, inWorkspace...)
	}
	return found, nil
}
