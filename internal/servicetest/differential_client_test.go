package servicetest_test

import (
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// The Go client is a door of its own: the same random operations through HTTP and
// through the client have the same outcomes.
func TestTheClientAgreesWithHTTP(t *testing.T) {
	total, seed := 1000, uint64(2)
	if n, err := strconv.Atoi(testSteps()); err == nil {
		total, seed = n, uint64(time.Now().UnixNano())
	}
	t.Logf("%d steps of the seed %d", total, seed)
	type pair struct {
		http   door
		client *clientDoor
	}
	pairs := map[string]pair{}
	for name, store := range map[string]func() storage.Storage{
		"memory":   func() storage.Storage { return memory.New() },
		"postgres": func() storage.Storage { return servicetest.PostgresStore(t) },
	} {
		now := servicetest.NewClock(time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC))
		client := &clientDoor{httpDoor: newHTTPDoor(t, store(), now), now: now, taken: map[string]int{}}
		pairs[name] = pair{plainDoor{newHTTPDoor(t, store(), now)}, client}
	}
	t.Parallel()
	for name, doors := range pairs {
		client := doors.client
		script := newStepScript(seed, client.now)
		script.forClient = true
		_, disagreement := compare([]door{doors.http, client}, script, total)
		expect.Require(t, disagreement == "", "%s: %s", name, disagreement)
		t.Logf("%s: through the client %v", name, client.taken)
		for _, route := range clientRoutes {
			expect.That(t, client.taken[route] != 0, "%s: no step took %s", name, route)
		}
	}
}

// clientRoutes are the operations that act on data, as clientDoor takes them.
var clientRoutes = []string{
	"GET /workspaces", "POST /workspaces", "GET /workspaces/x", "PATCH /workspaces/x", "DELETE /workspaces/x",
	"GET /forms", "POST /forms", "GET /forms/x", "PATCH /forms/x", "DELETE /forms/x",
	"GET /forms/x/questions", "GET /forms/x/blocks", "POST /forms/x/blocks", "PUT /forms/x/blocks",
	"GET /forms/x/blocks/x", "PATCH /forms/x/blocks/x", "DELETE /forms/x/blocks/x",
	"GET /forms/x/submissions", "GET /forms/x/submissions/x", "DELETE /forms/x/submissions/x", "GET /forms/x/analytics/x",
	"GET /webhooks", "POST /webhooks", "GET /webhooks/x", "PATCH /webhooks/x", "DELETE /webhooks/x", "GET /webhooks/x/deliveries",
}

// An operation that is added to the description is taken through the client as well, or named
// here with why the client has no method for it.
func TestTheClientHasEveryOperation(t *testing.T) {
	t.Parallel()
	routes := map[string]bool{
		"GET /openapi.json": true, // schema.OpenAPI
		"GET /me":           true, // of the key that a request carries
	}
	for _, route := range clientRoutes {
		routes[route] = true
	}
	for path, item := range readFacts(t).Paths {
		parts := strings.Split(strings.TrimPrefix(path, "/v1/"), "/")
		for i := 1; i < len(parts); i += 2 {
			parts[i] = "x" // as clientDoor names routes
		}
		for method := range item {
			route := strings.ToUpper(method) + " /" + strings.Join(parts, "/")
			expect.That(t, !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, strings.ToUpper(method)) || routes[route],
				"the client is not known to have %s: add it to clientRoutes and clientDoor", route)
		}
	}
}

// plainDoor is an httpDoor whose outcomes say nothing about HTTP.
type plainDoor struct{ *httpDoor }

var etagHeader = regexp.MustCompile(`(?m)^Etag: (\S+)`)

func (d plainDoor) do(n int, s step) outcome {
	o := d.httpDoor.do(n, s)
	if s.call != nil {
		return o
	}
	plain := outcome{status: o.status}
	if tag := etagHeader.FindStringSubmatch(o.header); tag != nil {
		plain.header = "Etag: " + tag[1]
	}
	if o.body == "" {
		return plain
	}
	var body map[string]any
	if err := json.Unmarshal([]byte(o.body), &body); err != nil {
		d.t.Fatalf("%s: %v", o.body, err)
	}
	delete(body, "page")
	if o.status >= 400 {
		body = map[string]any{"code": body["code"], "details": body["details"]}
	}
	plain.body = canonical(d.t, body)
	return plain
}

func canonical(t testing.TB, v any) string {
	t.Helper()
	first := expect.Must(json.Marshal(v))
	var decoded any
	expect.NoError(t, json.Unmarshal(first, &decoded))
	text := expect.Must(json.Marshal(decoded))
	return string(text)
}

// clientDoor takes the steps that the client can express. It skips the others: those
// that HTTP refuses for their form.
type clientDoor struct {
	*httpDoor
	now   *servicetest.Clock
	taken map[string]int // by route
}

// skipped is the outcome of a step that a door cannot take.
var skipped = outcome{status: -1}

// stepBody is what the bodies of steps may have.
type stepBody struct {
	Name, Status, URL *string
	Workspace         *formsvc.ID `json:"workspace_id"`
	Form              formsvc.ID  `json:"form_id"`
	Definition        formsvc.Definition
	Block, Blocks     json.RawMessage
	Enabled           *bool
	Secret            json.RawMessage `json:"signing_secret"`
}

func (b stepBody) secret() *string {
	var secret string
	switch {
	case b.Secret == nil:
		return nil
	case json.Unmarshal(b.Secret, &secret) != nil: // null leaves it empty
		panic("a secret that is no string: " + string(b.Secret))
	}
	return &secret
}

func (d *clientDoor) do(n int, s step) outcome {
	if s.call != nil {
		return d.httpDoor.do(n, s)
	}
	path, text, _ := strings.Cut(s.path, "?")
	query, err := url.ParseQuery(text)
	revision, expressible := revisionOf(s.ifMatch)
	var in stepBody
	if err != nil || !expressible || s.limited || query.Has("cursor") || s.method == http.MethodHead || strings.Contains(s.body, `"name":null`) ||
		s.body != "" && json.Unmarshal([]byte(s.body), &in) != nil {
		return skipped
	}
	limit := 20
	if given := query.Get("limit"); query.Has("limit") {
		if limit, err = strconv.Atoi(given); err != nil || limit < 1 {
			return skipped
		}
	}
	var workspace formsvc.ID
	if query.Has("workspace_id") {
		if workspace, err = storage.ParseID(query.Get("workspace_id")); err != nil || workspace.IsZero() {
			return skipped
		}
	}
	parts := strings.Split(path, "/")[1:]
	route := s.method
	ids := make([]formsvc.ID, 4)
	for i, part := range parts {
		if i%2 == 1 {
			ids[i], _ = storage.ParseID(part) // what is no id stays zero and names nothing
			part = "x"
		}
		route += "/" + part
	}
	route = strings.Replace(route, "/", " /", 1)
	d.taken[route]++

	ctx, c := background, d.svc.As(differentialUser(s.user))
	block := ""
	if len(parts) == 4 {
		if block, err = url.PathUnescape(parts[3]); err != nil {
			return skipped
		}
	}
	switch route {
	case "GET /workspaces":
		return answerList(d, workspaceJSON, c.Workspaces(ctx, formsvc.Query{Limit: limit}))
	case "POST /workspaces":
		w, err := c.CreateWorkspace(ctx, formsvc.WorkspaceCreate{Name: *in.Name})
		return d.answer(201, 0, workspaceJSON(d, w), err)
	case "GET /workspaces/x":
		w, err := c.Workspace(ctx, ids[1])
		return d.answer(200, 0, workspaceJSON(d, w), err)
	case "PATCH /workspaces/x":
		w, err := c.RenameWorkspace(ctx, ids[1], *in.Name)
		return d.answer(200, 0, workspaceJSON(d, w), err)
	case "DELETE /workspaces/x":
		return d.answer(204, 0, nil, c.DeleteWorkspace(ctx, ids[1]))

	case "GET /forms":
		return answerList(d, summaryJSON, c.Forms(ctx, formsvc.FormQuery{Workspace: workspace, Limit: limit}))
	case "POST /forms":
		if in.Workspace.IsZero() { // in Go that is none given, over HTTP one that nobody has
			return plainDoor{d.httpDoor}.do(n, s)
		}
		f, err := c.CreateForm(ctx, formsvc.FormCreate{Workspace: *in.Workspace, Name: *in.Name, Definition: in.Definition})
		return d.answer(201, f.Revision, formJSON(d, f), err)
	case "GET /forms/x":
		f, err := c.Form(ctx, ids[1])
		return d.answer(200, f.Revision, formJSON(d, f), err)
	case "PATCH /forms/x":
		f, err := c.UpdateForm(ctx, ids[1], formsvc.FormUpdate{Name: in.Name, Status: in.Status, Workspace: in.Workspace, Definition: in.Definition, IfRevision: revision})
		return d.answer(200, f.Revision, formJSON(d, f), err)
	case "DELETE /forms/x":
		return d.answer(204, 0, nil, c.TrashForm(ctx, ids[1], formsvc.IfRevision(revision)))

	case "GET /forms/x/questions", "GET /forms/x/blocks":
		blocks, err := c.Blocks(ctx, ids[1])
		return d.answer(200, blocks.Revision, map[string]any{"items": blocks.JSON}, err)
	case "PUT /forms/x/blocks":
		blocks, err := c.ReplaceBlocks(ctx, ids[1], in.Blocks, formsvc.IfRevision(revision))
		return d.answer(200, blocks.Revision, map[string]any{"items": blocks.JSON}, err)
	case "POST /forms/x/blocks":
		made, err := c.CreateBlock(ctx, ids[1], in.Block, formsvc.IfRevision(revision))
		return d.answer(201, made.Revision, made.JSON, err)
	case "GET /forms/x/blocks/x":
		found, err := c.Block(ctx, ids[1], block)
		return d.answer(200, found.Revision, found.JSON, err)
	case "PATCH /forms/x/blocks/x":
		changed, err := c.UpdateBlock(ctx, ids[1], block, in.Block, formsvc.IfRevision(revision))
		return d.answer(200, changed.Revision, changed.JSON, err)
	case "DELETE /forms/x/blocks/x":
		left, err := c.DeleteBlock(ctx, ids[1], block, formsvc.IfRevision(revision))
		return d.answer(204, left, nil, err)

	case "GET /forms/x/submissions":
		q := formsvc.SubmissionQuery{Limit: limit, Since: timeOf(query.Get("since")), Until: timeOf(query.Get("until"))}
		return answerList(d, submissionJSON, c.Submissions(ctx, ids[1], q))
	case "GET /forms/x/submissions/x":
		found, err := c.Submission(ctx, ids[1], ids[3])
		return d.answer(200, 0, submissionJSON(d, found), err)
	case "DELETE /forms/x/submissions/x":
		return d.answer(204, 0, nil, c.DeleteSubmission(ctx, ids[1], ids[3]))
	case "GET /forms/x/analytics/x":
		m, err := c.Metrics(ctx, ids[1], formsvc.Period(query.Get("period")))
		return d.answer(200, 0, map[string]any{
			"period": m.Period, "estimated": m.Estimated, "views": m.Views, "starts": m.Starts, "submissions": m.Submissions, "completion_rate": m.CompletionRate,
		}, err)

	case "GET /webhooks":
		return answerList(d, webhookJSON, c.Webhooks(ctx, formsvc.Query{}))
	case "POST /webhooks":
		if in.Form.IsZero() {
			return plainDoor{d.httpDoor}.do(n, s)
		}
		hook := formsvc.WebhookCreate{Form: in.Form, URL: *in.URL, Disabled: in.Enabled != nil && !*in.Enabled}
		if secret := in.secret(); secret != nil {
			hook.SigningSecret = *secret
		}
		w, err := c.CreateWebhook(ctx, hook)
		return d.answer(201, 0, webhookJSON(d, w), err)
	case "GET /webhooks/x":
		w, err := c.Webhook(ctx, ids[1])
		return d.answer(200, 0, webhookJSON(d, w), err)
	case "PATCH /webhooks/x":
		w, err := c.UpdateWebhook(ctx, ids[1], formsvc.WebhookUpdate{URL: in.URL, Enabled: in.Enabled, SigningSecret: in.secret()})
		return d.answer(200, 0, webhookJSON(d, w), err)
	case "DELETE /webhooks/x":
		return d.answer(204, 0, nil, c.DeleteWebhook(ctx, ids[1]))
	case "GET /webhooks/x/deliveries":
		deliveries, err := c.Deliveries(ctx, ids[1])
		if len(deliveries) > 0 {
			d.t.Error("no dispatcher runs, and yet something was delivered")
		}
		return d.answer(200, 0, map[string]any{"items": []any{}}, err)
	}
	d.taken[route]-- // no method of the client was called
	return skipped
}

// revisionOf is an If-Match as the client can say it.
func revisionOf(ifMatch string) (revision int64, expressible bool) {
	if ifMatch == "" || ifMatch == "*" {
		return 0, true
	}
	digits, ok := strings.CutPrefix(strings.TrimSuffix(ifMatch, `"`), `"r`)
	revision, err := strconv.ParseInt(digits, 36, 64)
	return revision, ok && err == nil
}

func timeOf(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}

// answer is what the API would have said.
func (d *clientDoor) answer(status int, revision int64, body any, err error) outcome {
	var (
		revisionError *formsvc.RevisionError
		rejected      *formsvc.RejectedURLError
		broken        *schema.Error
		o             outcome
		code          string
		details       []schema.Violation
	)
	switch {
	case err == nil:
		o.status = status
		if body != nil {
			o.body = canonical(d.t, body)
		}
	case errors.As(err, &revisionError):
		o.status, code, revision = 412, "REVISION_MISMATCH", revisionError.Current
	case errors.As(err, &rejected):
		o.status, code, details = 422, "WEBHOOK_URL_REJECTED", []schema.Violation{rejected.Violation()}
	case errors.As(err, &broken):
		o.status, code, details = 422, "VALIDATION_FAILED", broken.Violations
	case errors.Is(err, formsvc.ErrNotFound):
		o.status, code = 404, "NOT_FOUND"
	case errors.Is(err, formsvc.ErrNotOwner):
		o.status, code = 403, "OWNER_REQUIRED"
	case errors.Is(err, formsvc.ErrBlockExists):
		o.status, code = 409, "BLOCK_EXISTS"
	case errors.Is(err, formsvc.ErrLimitReached):
		o.status, code = 409, "WORKSPACE_LIMIT_REACHED"
	default:
		d.t.Fatalf("the client returned %v", err)
	}
	if err != nil {
		told := map[string]any{"code": code, "details": nil}
		if details != nil {
			var list []any
			for _, v := range details {
				list = append(list, map[string]any{"path": v.Path, "code": v.Code, "message": v.Message})
			}
			told["details"] = list
		}
		o.body = canonical(d.t, told)
	}
	if revision > 0 && (err == nil || o.status == 412) {
		o.header = `Etag: "r` + strconv.FormatInt(revision, 36) + `"`
	}
	return o
}

func answerList[T any](d *clientDoor, item func(*clientDoor, T) map[string]any, records iter.Seq2[T, error]) outcome {
	items := []any{}
	for record, err := range records {
		if err != nil {
			return d.answer(0, 0, nil, err)
		}
		items = append(items, item(d, record))
	}
	return d.answer(200, 0, map[string]any{"items": items}, nil)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

func workspaceJSON(_ *clientDoor, w formsvc.Workspace) map[string]any {
	return map[string]any{"id": w.ID, "public_id": "", "name": w.Name, "created_at": stamp(w.CreatedAt), "updated_at": stamp(w.UpdatedAt)}
}

func summaryJSON(d *clientDoor, f formsvc.Form) map[string]any {
	self := "/v1/forms/" + f.ID.String()
	return map[string]any{
		"id": f.ID, "public_id": "", "workspace_id": f.WorkspaceID, "name": f.Name, "status": f.Status, "type": f.Type,
		"is_closed": f.IsClosed(d.now.Now()), "created_at": stamp(f.CreatedAt), "updated_at": stamp(f.UpdatedAt),
		"links": map[string]any{"self": self, "submissions": self + "/submissions"},
	}
}

func formJSON(d *clientDoor, f formsvc.Form) map[string]any {
	m := summaryJSON(d, f)
	m["definition"] = map[string]any{
		"blocks": f.Definition.Blocks, "settings": f.Definition.Settings, "theme": f.Definition.Theme,
		"variables": f.Definition.Variables, "hidden_fields": f.Definition.HiddenFields,
	}
	return m
}

func submissionJSON(_ *clientDoor, s formsvc.Submission) map[string]any {
	return map[string]any{
		"id": s.ID, "form_id": s.FormID, "status": "completed", "submitted_at": stamp(s.SubmittedAt),
		"metadata": s.Metadata, "answers": s.Answers, "completion_time": s.CompletionTime,
	}
}

func webhookJSON(_ *clientDoor, w formsvc.Webhook) map[string]any {
	return map[string]any{
		"id": w.ID, "form_id": w.FormID, "url": w.URL, "enabled": w.Enabled, "has_secret": w.HasSecret,
		"created_at": stamp(w.CreatedAt), "updated_at": stamp(w.UpdatedAt),
	}
}
