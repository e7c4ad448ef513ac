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

// addPublishRoutes are those of publishing and sharing a form, of its versions and of the trash. A form
// that the user may not see is 404 at each.
//
//	GET    /forms/{form}/changes            what Publish would change: is there a working copy, its revision,
//	                                        both texts, how they differ, the warnings of the copy
//	POST   /forms/{form}/publish            {if_revision, take: {path: "copy" | "form"}} → the form as the API
//	                                        shows it; 409 with the conflicts, 412 when the copy was changed
//	POST   /forms/{form}/discard            {if_revision}: removes the working copy
//	GET    /forms/{form}/versions           ?cursor: 50 versions, newest first
//	GET    /forms/{form}/versions/{n}       one version, and what restoring it would change
//	POST   /forms/{form}/versions/{n}/restore  {if_revision} → the form
//	POST   /forms/{form}/preview            → {url}, which shows the form to whoever has it, for an hour
//	GET    /forms/{form}/share              → {url, embed}: the form's page, the script for other pages
//	GET    /workspaces/{workspace}/trash    the forms in the trash
//	POST   /trash/{form}/restore            {from, workspace}: out of the trash of from into workspace; into another
//	                                        one than from only by the owner of from
//	DELETE /trash/{form}?from={workspace}   removes a form for good that is in the trash of from; by its owner
//
// Addresses begin with a slash when [Config.PublicURL] is not set: the page puts its own origin
// before them, which is the one that the user sees behind any proxy.
//
// A form in the trash belongs to whoever may see the workspace in whose trash it is; nobody sees the
// trash of a workspace that was deleted, which is for the host to restore. The trash is read
// before the form is restored or removed, in a step of its own. Whoever moves the form away in
// between had to take it out of that trash, and could have come a moment later.
func (h *Handler) addPublishRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /forms/{form}/changes", h.compareHandler(getChanges))
	mux.HandleFunc("POST /forms/{form}/publish", h.formHandler(publishForm))
	mux.HandleFunc("POST /forms/{form}/discard", h.jsonHandler(discardCopy))
	mux.HandleFunc("GET /forms/{form}/versions", h.jsonHandler(listVersions))
	mux.HandleFunc("GET /forms/{form}/versions/{revision}", h.compareHandler(getVersion))
	mux.HandleFunc("POST /forms/{form}/versions/{revision}/restore", h.formHandler(restoreVersion))
	mux.HandleFunc("POST /forms/{form}/preview", h.jsonHandler(h.createPreview))
	mux.HandleFunc("GET /forms/{form}/share", h.jsonHandler(h.getShareLinks))
	mux.HandleFunc("GET /workspaces/{workspace}/trash", h.jsonHandler(h.listTrash))
	mux.HandleFunc("POST /trash/{form}/restore", h.jsonHandler(h.restoreForm))
	mux.HandleFunc("DELETE /trash/{form}", h.jsonHandler(h.purgeForm))
}

// jsonHandler returns a handler that sends the result of do as JSON.
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

// formHandler returns a handler that calls do to change the form in the path, and then sends the form as the API
// does.
func (h *Handler) formHandler(do func(*http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := do(r); err != nil {
			h.handleError(w, r, err)
			return
		}
		get := r.WithContext(r.Context())
		get.Method, get.Header, get.Body, get.ContentLength = http.MethodGet, http.Header{}, http.NoBody, 0
		serveAt(requestClient(r), w, get, "/forms/"+pathID(r, "form").String())
	}
}

type empty struct{}

// pathID returns an ID in the path, or the zero ID if it is malformed. No record has the zero ID.
func pathID(r *http.Request, name string) formsvc.ID {
	id, _ := formsvc.ParseID(r.PathValue(name))
	return id
}

// pathRevision returns the revision in the path, or 0 if it is malformed.
func pathRevision(r *http.Request) int64 {
	n, _ := strconv.ParseInt(r.PathValue("revision"), 10, 64)
	return max(n, 0)
}

// decodeBody decodes the body of a request into v. An empty body leaves v unchanged.
func decodeBody(r *http.Request, v any) error {
	d := json.NewDecoder(io.LimitReader(r.Body, 1<<20))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil && !errors.Is(err, io.EOF) {
		return &formsvc.Error{Violations: []schema.Violation{{Code: schema.CodeWrongType, Message: "the request body does not match the expected format"}}}
	}
	return nil
}

// comparison is a [schema.Difference] with both contents of the form.
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

func compare(before, after formsvc.FormContent) (comparison, error) {
	c := comparison{Before: before, After: after, Blocks: []blockChange{}, Fields: []string{}}
	d, err := schema.Diff(before, after)
	c.Fields = append(c.Fields, d.Fields...)
	for _, b := range d.Blocks {
		c.Blocks = append(c.Blocks, blockChange{b.ID, b.Added, b.Removed, b.Moved, append([]string{}, b.Changed...)})
	}
	return c, err
}

// readFormAndCopy returns a form and its working copy as they were at one time. When there is no copy,
// it is the form, at the same revision.
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
		// What was changed in the form since the copy was made stays. In a conflict the copy is shown.
		merged, err := client.WorkingCopy(id).Publish(r.Context(), formsvc.PublishOptions{IfRevision: copied.Revision, DryRun: true})
		if err == nil {
			after = merged
		}
	}
	c, err := compare(form.FormContent, after.FormContent)
	return struct {
		Copy     bool            `json:"copy"`
		Revision int64           `json:"revision"`
		Status   string          `json:"status"`
		Warnings schema.Warnings `json:"warnings"`
		comparison
	}{copied.Revision != form.Revision, copied.Revision, form.Status, warnings, c}, err
}

// conflict is a [formsvc.Conflict] with the field names of the API.
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

func publishForm(r *http.Request) error {
	var in struct {
		IfRevision int64                   `json:"if_revision"`
		Take       map[string]formsvc.Side `json:"take"`
	}
	if err := decodeBody(r, &in); err != nil {
		return err
	}
	client, id := requestClient(r), pathID(r, "form")
	_, err := client.WorkingCopy(id).Publish(r.Context(), formsvc.PublishOptions{IfRevision: in.IfRevision, Resolutions: in.Take})
	if errors.Is(err, formsvc.ErrUnsupported) { // there are no working copies
		published := formsvc.StatusPublished
		_, err = client.UpdateForm(r.Context(), id, formsvc.FormUpdate{Status: &published, IfRevision: in.IfRevision})
	}
	return err
}

type revisionRequest struct {
	IfRevision int64 `json:"if_revision"`
}

func discardCopy(r *http.Request) (any, error) {
	var in revisionRequest
	if err := decodeBody(r, &in); err != nil {
		return nil, err
	}
	var conditions []formsvc.Precondition
	if in.IfRevision != 0 {
		conditions = append(conditions, formsvc.IfRevision(in.IfRevision))
	}
	return empty{}, requestClient(r).WorkingCopy(pathID(r, "form")).Discard(r.Context(), conditions...)
}

// versionRow is a version without its content.
type versionRow struct {
	Revision   int64      `json:"revision"`
	ReplacedBy formsvc.ID `json:"replaced_by"` // only zeros: nobody is known
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
	c, err := compare(form.FormContent, v.FormContent)
	return struct {
		versionRow
		Present int64 `json:"present"` // revision of the form, for if_revision
		Copy    bool  `json:"copy"`    // there is a working copy, which stays
		comparison
	}{versionRow{v.Revision, v.ReplacedBy, v.ReplacedAt}, form.Revision, copied.Revision != form.Revision, c}, err
}

func restoreVersion(r *http.Request) error {
	var in revisionRequest
	if err := decodeBody(r, &in); err != nil {
		return err
	}
	_, err := requestClient(r).RestoreVersion(r.Context(), pathID(r, "form"), pathRevision(r), formsvc.RestoreOptions{IfRevision: in.IfRevision})
	return err
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

// readTrash are the forms in the trash of a workspace that the user may see. own says that it is the user's.
func (h *Handler) readTrash(r *http.Request, workspace formsvc.ID) (forms []formsvc.Form, own bool, err error) {
	w, err := requestClient(r).Workspace(r.Context(), workspace)
	if err != nil {
		return nil, false, err
	}
	forms, err = h.service.TrashedForms(r.Context(), workspace)
	return forms, w.OwnerID == signedInUser(r).user, err
}

// checkInTrash fails when the form of the path is not in the trash of a workspace that the user may see, or, for
// what only an owner may do, owns.
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
		Status    string     `json:"status"`
		TrashedAt time.Time  `json:"trashed_at"`
	}
	items := []item{}
	forms, own, err := h.readTrash(r, pathID(r, "workspace"))
	for _, f := range forms {
		items = append(items, item{f.ID, f.Name, f.Status, f.TrashedAt})
	}
	return map[string]any{"items": items, "owner": own}, err // the owner may remove them for good
}

func (h *Handler) restoreForm(r *http.Request) (any, error) {
	var in struct {
		From      formsvc.ID `json:"from"`
		Workspace formsvc.ID `json:"workspace"`
	}
	if err := decodeBody(r, &in); err != nil {
		return nil, err
	}
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
