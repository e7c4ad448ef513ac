package builder

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/schema"
)

// publishRoutes returns the endpoints for publishing and sharing forms, for their versions and for the trash. They
// return a 404 for forms that the user cannot see.
//
//	GET    /forms/{form}/changes            the changes in the working copy, its revision and its warnings
//	POST   /forms/{form}/publish            {if_revision, take: {path: "copy" | "form"}} → the form as in the API;
//	                                        409 with conflicts, 412 if the working copy has changed
//	POST   /forms/{form}/discard            {if_revision}: deletes the working copy
//	GET    /forms/{form}/versions           ?cursor: 50 versions, newest first
//	GET    /forms/{form}/versions/{n}       a version, and what restoring it would change
//	POST   /forms/{form}/versions/{n}/restore  {if_revision} → the form
//	POST   /forms/{form}/preview            → {url}: a preview for anyone with the link, valid for an hour
//	GET    /forms/{form}/share              → {url, embed}: the form page and the script for embedding it
//	GET    /workspaces/{workspace}/trash    the forms in the trash
//	POST   /trash/{form}/restore            {from, workspace}: moves a form from the trash of from to workspace;
//	                                        only the owner of from can choose another workspace
//	DELETE /trash/{form}?from={workspace}   purges a form in the trash of from, for its owner
//
// URLs start with a slash if [Config.PublicURL] is empty. The page prepends its own origin, because a server behind a
// proxy does not know that origin.
//
// Users see the trash of every workspace that they can see. Only the host can restore forms from a deleted workspace.
// Checking the trash and changing a form are separate steps. If another user restores the form between the two steps,
// the result is the same as if that user had restored it a moment later.
func (h *Handler) publishRoutes() []route {
	return []route{
		{"GET /forms/{form}/changes", formsWrite, h.compareHandler(getChanges)},
		{"POST /forms/{form}/publish", formsWrite, h.respondWithForm(withBody(publishForm))},
		{"POST /forms/{form}/discard", formsWrite, h.jsonHandler(withBody(discardCopy))},
		{"GET /forms/{form}/versions", formsWrite, h.jsonHandler(listVersions)},
		{"GET /forms/{form}/versions/{revision}", formsWrite, h.compareHandler(getVersion)},
		{"POST /forms/{form}/versions/{revision}/restore", formsWrite, h.respondWithForm(withBody(restoreVersion))},
		{"POST /forms/{form}/preview", formsRead, h.jsonHandler(h.createPreview)},
		{"GET /forms/{form}/share", formsRead, h.jsonHandler(h.getShareLinks)},
		{"GET /workspaces/{workspace}/trash", formsWrite, h.jsonHandler(h.listTrash)},
		{"POST /trash/{form}/restore", formsWrite, h.jsonHandler(withBody(h.restoreForm))},
		{"DELETE /trash/{form}", formsWrite, h.jsonHandler(h.purgeForm)},
	}
}

func (h *Handler) jsonHandler(do func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		value, err := do(r)
		if err != nil {
			h.handleError(w, r, err)
			return
		}
		writeJSON(w, http.StatusOK, value)
	}
}

// respondWithForm returns a handler that changes the form in the path with do and then sends the form as the API does.
func (h *Handler) respondWithForm(do func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, err := do(r); err != nil {
			h.handleError(w, r, err)
			return
		}
		get := r.WithContext(r.Context())
		get.Method, get.Header, get.Body, get.ContentLength = http.MethodGet, http.Header{}, http.NoBody, 0
		serveAtPath(requestClient(r), w, get, "/forms/"+pathID(r, "form").String())
	}
}

type empty struct{}

// pathID returns the ID in a path parameter. It returns the zero ID, which no record has, if the ID is malformed.
func pathID(r *http.Request, name string) formsvc.ID {
	id, _ := formsvc.ParseID(r.PathValue(name))
	return id
}

func pathRevision(r *http.Request) int64 {
	n, _ := strconv.ParseInt(r.PathValue("revision"), 10, 64)
	return max(n, 0)
}

// maxBody limits the bytes of a request body for endpoints that the API lacks.
const maxBody = 1 << 20

// withBody returns a handler function that decodes the request's JSON body for do.
func withBody[T any](do func(r *http.Request, in T) (any, error)) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		var in T
		d := json.NewDecoder(io.LimitReader(r.Body, maxBody))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil && !errors.Is(err, io.EOF) {
			return nil, &formsvc.Error{Violations: []schema.Violation{{Code: schema.CodeWrongType, Message: "the request body does not match the expected format"}}}
		}
		return do(r, in)
	}
}

type comparison struct {
	Before formsvc.FormContent `json:"before"`
	After  formsvc.FormContent `json:"after"`
	Blocks []blockChange       `json:"blocks"`
	Fields []string            `json:"members"`
}

type blockChange struct {
	ID      string   `json:"id"`
	Added   bool     `json:"added"`
	Removed bool     `json:"removed"`
	Moved   bool     `json:"moved"`
	Changed []string `json:"changed"`
}

func compareForms(before, after formsvc.FormContent) (comparison, error) {
	c := comparison{Before: before, After: after, Blocks: []blockChange{}, Fields: []string{}}
	d, err := schema.Diff(before, after)
	c.Fields = append(c.Fields, d.Fields...)
	for _, b := range d.Blocks {
		c.Blocks = append(c.Blocks, blockChange{b.ID, b.Added, b.Removed, b.Moved, append([]string{}, b.Changed...)})
	}
	return c, err
}

// readFormAndCopy returns a form and its working copy from the same moment. Without a working copy, copied is the form.
func readFormAndCopy(ctx context.Context, client formsvc.Client, id formsvc.ID) (form, copied formsvc.Form, err error) {
	if form, err = client.Form(ctx, id); err != nil {
		return form, copied, err
	}
	for {
		copied, err = client.WorkingCopy(id).Form(ctx)
		if errors.Is(err, formsvc.ErrUnsupported) {
			return form, form, nil
		}
		before := form.Revision
		if err == nil {
			form, err = client.Form(ctx, id)
		}
		if err != nil || form.Revision == before {
			return form, copied, err
		}
	}
}

func getChanges(r *http.Request) (any, error) {
	client, id := requestClient(r), pathID(r, "form")
	form, copied, err := readFormAndCopy(r.Context(), client, id)
	if err != nil {
		return nil, err
	}
	warnings, err := readWarnings(r)
	if err != nil {
		return nil, err
	}
	after := copied
	if copied.Revision != form.Revision {
		// Publishing keeps changes made to the form in the meantime, so show the merged result. If there are conflicts,
		// show the working copy.
		merged, err := client.WorkingCopy(id).Publish(r.Context(), formsvc.PublishOptions{IfRevision: copied.Revision, DryRun: true})
		if err == nil {
			after = merged
		}
	}
	c, err := compareForms(form.FormContent, after.FormContent)
	return struct {
		Copy     bool            `json:"copy"`
		Revision int64           `json:"revision"`
		Status   string          `json:"status"`
		Warnings schema.Warnings `json:"warnings"`
		comparison
	}{copied.Revision != form.Revision, copied.Revision, form.Status, warnings, c}, err
}

type conflict struct {
	Path string          `json:"path"`
	Copy json.RawMessage `json:"copy"`
	Form json.RawMessage `json:"form"`
}

func newConflicts(err *formsvc.ConflictError) []conflict {
	var list []conflict
	for _, c := range err.Conflicts {
		list = append(list, conflict(c))
	}
	return list
}

type publishRequest struct {
	IfRevision int64                   `json:"if_revision"`
	Take       map[string]formsvc.Side `json:"take"`
}

func publishForm(r *http.Request, in publishRequest) (any, error) {
	client, id := requestClient(r), pathID(r, "form")
	_, err := client.WorkingCopy(id).Publish(r.Context(), formsvc.PublishOptions{IfRevision: in.IfRevision, Resolutions: in.Take})
	if errors.Is(err, formsvc.ErrUnsupported) { // the storage does not support working copies
		published := formsvc.StatusPublished
		_, err = client.UpdateForm(r.Context(), id, formsvc.FormUpdate{Status: &published, IfRevision: in.IfRevision})
	}
	return empty{}, err
}

type revisionRequest struct {
	IfRevision int64 `json:"if_revision"`
}

func discardCopy(r *http.Request, in revisionRequest) (any, error) {
	var conditions []formsvc.Precondition
	if in.IfRevision != 0 {
		conditions = append(conditions, formsvc.IfRevision(in.IfRevision))
	}
	return empty{}, requestClient(r).WorkingCopy(pathID(r, "form")).Discard(r.Context(), conditions...)
}

type versionRow struct {
	Revision   int64      `json:"revision"`
	ReplacedBy formsvc.ID `json:"replaced_by"` // the zero ID if unknown
	ReplacedAt time.Time  `json:"replaced_at"`
}

func listVersions(r *http.Request) (any, error) {
	before, _ := strconv.ParseInt(r.URL.Query().Get("cursor"), 10, 64)
	return readPage(requestClient(r).Versions(r.Context(), pathID(r, "form")), 50,
		func(v formsvc.FormVersion) bool { return before > 0 && v.Revision >= before },
		func(v formsvc.FormVersion) versionRow { return versionRow{v.Revision, v.ReplacedBy, v.ReplacedAt} },
		func(v formsvc.FormVersion) string { return strconv.FormatInt(v.Revision, 10) })
}

func getVersion(r *http.Request) (any, error) {
	client, id := requestClient(r), pathID(r, "form")
	v, err := client.Version(r.Context(), id, pathRevision(r))
	if err != nil {
		return nil, err
	}
	form, copied, err := readFormAndCopy(r.Context(), client, id)
	if err != nil {
		return nil, err
	}
	c, err := compareForms(form.FormContent, v.FormContent)
	return struct {
		versionRow
		Present int64 `json:"present"` // the form's revision, to send as if_revision
		Copy    bool  `json:"copy"`    // whether there is a working copy; restoring does not change it
		comparison
	}{versionRow{v.Revision, v.ReplacedBy, v.ReplacedAt}, form.Revision, copied.Revision != form.Revision, c}, err
}

func restoreVersion(r *http.Request, in revisionRequest) (any, error) {
	_, err := requestClient(r).RestoreVersion(r.Context(), pathID(r, "form"), pathRevision(r), formsvc.RestoreOptions{IfRevision: in.IfRevision})
	return empty{}, err
}

func (h *Handler) createPreview(r *http.Request) (any, error) {
	form, err := requestClient(r).Form(r.Context(), pathID(r, "form"))
	if err != nil {
		return nil, err
	}
	path, err := h.config.Pages.PreviewPath(form.ID, time.Now().Add(time.Hour))
	return map[string]string{"url": h.config.PublicURL + path}, err
}

func (h *Handler) getShareLinks(r *http.Request) (any, error) {
	form, err := requestClient(r).Form(r.Context(), pathID(r, "form"))
	path := h.config.Pages.Path(form.PublicID)
	embed := strings.TrimSuffix(path, form.PublicID) + "-/embed.js"
	return map[string]string{"url": h.config.PublicURL + path, "embed": h.config.PublicURL + embed, "public_id": form.PublicID}, err
}

func (h *Handler) readTrash(r *http.Request, workspace formsvc.ID) (forms []formsvc.Form, own bool, err error) {
	w, err := requestClient(r).Workspace(r.Context(), workspace)
	if err != nil {
		return nil, false, err
	}
	forms, err = h.service.TrashedForms(r.Context(), workspace)
	return forms, w.OwnerID == signedInUser(r).user, err
}

// checkInTrash returns the form ID in the path. It returns an error if the form is not in the workspace's trash. If
// asOwner is set, it also returns an error if the user does not own the workspace.
func (h *Handler) checkInTrash(r *http.Request, workspace formsvc.ID, asOwner bool) (formsvc.ID, error) {
	id := pathID(r, "form")
	forms, own, err := h.readTrash(r, workspace)
	switch {
	case err == nil && !slices.ContainsFunc(forms, func(f formsvc.Form) bool { return f.ID == id }):
		err = formsvc.ErrNotFound
	case err == nil && asOwner && !own:
		err = formsvc.ErrNotOwner
	}
	return id, err
}

func (h *Handler) listTrash(r *http.Request) (any, error) {
	type item struct {
		ID        formsvc.ID `json:"id"`
		Name      string     `json:"name"`
		TrashedAt time.Time  `json:"trashed_at"`
	}
	items := []item{}
	forms, own, err := h.readTrash(r, pathID(r, "workspace"))
	for _, f := range forms {
		items = append(items, item{f.ID, f.Name, f.TrashedAt})
	}
	return map[string]any{"items": items, "owner": own}, err // only the owner can purge forms
}

type restoreRequest struct {
	From      formsvc.ID `json:"from"`
	Workspace formsvc.ID `json:"workspace"`
}

func (h *Handler) restoreForm(r *http.Request, in restoreRequest) (any, error) {
	into := cmp.Or(in.Workspace, in.From)
	id, err := h.checkInTrash(r, in.From, into != in.From)
	if err == nil {
		_, err = requestClient(r).Workspace(r.Context(), into)
	}
	if err == nil {
		err = h.service.RestoreForm(r.Context(), id, into)
	}
	return empty{}, err
}

func (h *Handler) purgeForm(r *http.Request) (any, error) {
	from, _ := formsvc.ParseID(r.URL.Query().Get("from"))
	id, err := h.checkInTrash(r, from, true)
	if err == nil {
		err = h.service.PurgeForm(r.Context(), id)
	}
	return empty{}, err
}
