package main

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/dialguard"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/postgres"
	"github.com/formsvc/formsvc/webhooks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(dialguard.Guard(m)) }

// quickstart is the running program as a test sees it.
type quickstart struct {
	*host
	printed  string
	logged   *bytes.Buffer
	arrived  chan delivery
	client   *http.Client
	shutDown func() error // idempotent
}

// start runs the whole program on a free port until the test ends.
func start(t *testing.T) *quickstart {
	t.Helper()
	return startOn(t, memory.New())
}

func startOn(t *testing.T, store storage.Storage) *quickstart {
	t.Helper()
	return startAt(t, "127.0.0.1:0", store)
}

func startAt(t *testing.T, addr string, store storage.Storage) *quickstart {
	t.Helper()
	q := &quickstart{arrived: make(chan delivery, 100), logged: &bytes.Buffer{}}
	q.host = expect.Must(newHost(t.Context(), addr, store, slog.New(slog.NewTextHandler(q.logged, nil))))
	q.receiver.arrived = func(d delivery) { q.arrived <- d }
	var printed strings.Builder
	q.print(&printed)
	q.printed = printed.String()

	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- q.serve(ctx) }()
	var stopped bool
	q.shutDown = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-served
	}

	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		at := q.listener.Addr()
		return (&net.Dialer{}).DialContext(ctx, at.Network(), at.String())
	}}
	q.client = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		expect.Error(t, "shutdown", q.shutDown(), nil)
		expect.That(t, !strings.Contains(strings.ReplaceAll(q.logged.String(), "level=INFO", ""), "level="), "the program logged:\n%s", q.logged)
	})
	return q
}

func (q *quickstart) do(t *testing.T, r *http.Request) (status int, header http.Header, body string) {
	t.Helper()
	res := expect.Must(q.client.Do(r))
	defer res.Body.Close()
	b := expect.Must(io.ReadAll(res.Body))
	return res.StatusCode, res.Header, string(b)
}

func (q *quickstart) get(t *testing.T, path string) (int, string) {
	t.Helper()
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, q.url+path, nil)
	status, _, body := q.do(t, r)
	return status, body
}

func (q *quickstart) post(t *testing.T, path string, form url.Values) (int, http.Header, string) {
	t.Helper()
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, q.url+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return q.do(t, r)
}

// api makes a call with the printed key and decodes the answer.
func (q *quickstart) api(t *testing.T, method, path, body string, into any) {
	t.Helper()
	key := regexp.MustCompile(`(?m)^Key: (fs_live_\w+)$`).FindStringSubmatch(q.printed)
	expect.Require(t, key != nil, "no key was printed:\n%s", q.printed)
	r, _ := http.NewRequestWithContext(t.Context(), method, q.url+"/v1"+path, strings.NewReader(body))
	r.Header.Set("X-API-Key", key[1])
	r.Header.Set("Content-Type", "application/json")
	status, _, answer := q.do(t, r)
	expect.Require(t, status < 300, "%s %s: %d %s", method, path, status, answer)
	err := json.Unmarshal([]byte(answer), into)
	expect.Require(t, err == nil, "%s %s: %v in %s", method, path, err, answer)
}

// delivered waits until an event of the submission has arrived.
func (q *quickstart) delivered(t *testing.T, submission string) delivery {
	t.Helper()
	for {
		select {
		case d := <-q.arrived:
			if d.SubmissionID == submission {
				return d
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("no delivery of submission %q arrived", submission)
		}
	}
}

// inputs reads the hidden inputs of a page.
func inputs(page string) url.Values {
	form := url.Values{}
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`).FindAllStringSubmatch(page, -1) {
		form.Add(m[1], html.UnescapeString(m[2]))
	}
	return form
}

type submissionPage struct {
	Items []struct {
		ID             string  `json:"id"`
		CompletionTime float64 `json:"completion_time"`
		Metadata       struct {
			UTM map[string]string `json:"utm"`
		} `json:"metadata"`
		Answers []struct {
			Field struct{ ID, Type string }
			Value json.RawMessage
		}
	}
}

func TestPrintedLines(t *testing.T) {
	t.Parallel()
	q := start(t)
	lines := strings.Split(strings.TrimSpace(q.printed), "\n")

	t.Run("are the address, the key, commands, a form, a preview and the page", func(t *testing.T) {
		want := []string{
			`^API: http://127\.0\.0\.1:[1-9]\d*/v1$`, `^Key: fs_live_\w{49}$`,
			`^curl .*/v1/me'`, `^curl .*/submissions\?limit=3'`, `^curl .*/v1/forms' .* -d '`,
			`^curl .*-X PATCH .*published`, `^curl .*/submit"`, `^curl .*/submissions"`,
			`^Form: http://127\.0\.0\.1:[1-9]\d*/f/\w+$`,
			`^Preview: http://127\.0\.0\.1:[1-9]\d*/f/-/preview/\S+$`,
			`^Page: http://127\.0\.0\.1:[1-9]\d*/$`,
			`^Conformance: go run github\.com/formsvc/formsvc/handler/conformance/remote -url http://127\.0\.0\.1:\d+/v1 -key fs_live_\w+ -allow 127\.0\.0\.0/8 -allow ::1/128$`,
		}
		expect.Require(t, len(lines) == len(want), "%d lines, want %d:\n%s", len(lines), len(want), q.printed)
		for i, pattern := range want {
			if !regexp.MustCompile(pattern).MatchString(lines[i]) {
				t.Errorf("line %d is %q, want %s", i+1, lines[i], pattern)
			}
		}
	})

	t.Run("lead to pages", func(t *testing.T) {
		for _, line := range lines[8:11] {
			name, link, _ := strings.Cut(line, ": ")
			status, page := q.get(t, strings.TrimPrefix(link, q.url))
			want := map[string]string{"Form": "How did we do?", "Preview": "Your answers are checked, but not stored."}[name]
			expect.That(t, status < 400 && strings.Contains(page, want), "%s: %d", line, status)
		}
	})

	t.Run("work as pasted", func(t *testing.T) { q.paste(t) })
}

// paste runs each printed command in a shell of its own, and sees a form with its first submission.
func (q *quickstart) paste(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("reason: there is no curl on this machine")
	}
	var me struct {
		Name   string
		Scopes []string
	}
	var seeded, first submissionPage
	var form, published struct{ ID, Name, Status string }
	var ending struct{ Ending string }
	commands := q.commands()
	for i, into := range []any{&me, &seeded, &form, &published, &ending, &first} {
		if !strings.Contains(q.printed, commands[i]+"\n") {
			t.Errorf("not printed: %s", commands[i])
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", commands[i])
		cmd.Dir = t.TempDir()
		out, err := cmd.Output()
		if err == nil {
			err = json.Unmarshal(out, into)
		}
		if err != nil {
			t.Fatalf("%s: %v in %s", commands[i], err, out)
		}
	}
	expect.That(t, me.Name == "Mara Lindqvist" && len(me.Scopes) == 9, "me is %+v", me)
	expect.That(t, len(seeded.Items) == 3 && len(seeded.Items[0].Answers) >= 6, "the page of submissions is %+v", seeded)
	expect.That(t, form.ID != "" && form.Name == "Tasting evening" && form.Status == "draft", "the new form is %+v", form)
	expect.That(t, published.ID == form.ID && published.Status == "published", "the published form is %+v", published)
	expect.That(t, len(first.Items) == 1 && len(first.Items[0].Answers) == 2 && string(first.Items[0].Answers[0].Value) == `"Grace"`,
		"the first submission is %+v", first)
}

// All of it works on a unix socket, also one whose name a shell would split.
func TestUnixSocket(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	dir, err := os.MkdirTemp("", "q") //nolint:usetesting // a socket's path has about 100 bytes at most
	expect.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if runtime.GOOS == "linux" {
		startAt(t, "unix:@"+filepath.Base(dir), memory.New()).paste(t) // a socket without a file
	}
	socket := filepath.Join(dir, "it's a.sock")
	q := startAt(t, "unix:"+socket, memory.New())
	status, page := q.get(t, "/f/"+q.demo.PublicID)
	expect.That(t, status == http.StatusOK && strings.Contains(page, "How did we do?"), "the form's page: %d", status)
	q.delivered(t, "") // the webhook reaches the receiver
	q.paste(t)
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, baseURL(q.deliveries)+"/v1/openapi.json", nil)
	res := expect.Must((&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r))
	defer res.Body.Close()
	expect.That(t, res.StatusCode != http.StatusOK, "the receiver's port has the API, too")
	expect.Nil(t, q.shutDown())
	expect.That(t, expect.ErrorOf(os.Stat(socket)) != nil, "the socket is still there")
}

func TestSeed(t *testing.T) {
	t.Parallel()
	q := start(t)

	t.Run("fills the funnel of the last weeks", func(t *testing.T) {
		var m struct{ Views, Starts, Submissions int }
		q.api(t, http.MethodGet, "/forms/"+q.demo.FormID.String()+"/analytics/metrics", "", &m)
		expect.That(t, m.Views == seedViews && m.Starts == seedStarts && m.Submissions == seedResponses, "metrics are %+v", m)
	})
	t.Run("sends a test event that arrives verified", func(t *testing.T) {
		d := q.delivered(t, "")
		expect.Nil(t, webhooks.Verify(q.demo.Secret, d.Body, d.Signature))
	})
}

// send posts a page again until it is taken: a person needs two seconds at least, so
// the page comes back, filled in, before that.
func (q *quickstart) send(t *testing.T, path string, form url.Values) (int, http.Header, string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		status, header, body := q.post(t, path, form)
		if !strings.Contains(body, "That was quick") || time.Now().After(deadline) {
			return status, header, body
		}
		time.Sleep(50 * time.Millisecond) // asks again, waits for nothing else
	}
}

func TestFormPage(t *testing.T) {
	t.Parallel()
	q := start(t)
	path := "/f/" + q.demo.PublicID

	t.Run("stores a response that the API lists and the webhook is told of", func(t *testing.T) {
		_, page := q.get(t, path+"?ref=poster-7&utm_source=flyer&utm_term=unwanted")
		form := inputs(page)
		for name, value := range map[string]string{
			"a.overall": "4", "a.recommend": "10", "a.again": "true", "a.consent": regexp.MustCompile(`value="(true\.[^"]+)"`).FindStringSubmatch(page)[1],
			"a.name": "Grace", "a.email": "grace@Example.COM", "a.product": "id:decaf", "a.heard": "other", "o.heard": "A poster",
			"a.ordered_on": "2026-11-02", "a.orders": " 3 ", "a.comment": "One\r\ntwo",
		} {
			form.Set(name, value)
		}
		status, header, body := q.send(t, path, form)
		if status != http.StatusSeeOther || !strings.Contains(header.Get("Location"), q.demo.PublicID+"/done") {
			t.Fatalf("status %d to %q: %s", status, header.Get("Location"), body)
		}
		if status, page := q.get(t, "/f/"+header.Get("Location")); status != http.StatusOK || !strings.Contains(page, "<h1>Thank you!</h1>") {
			t.Errorf("the ending: %d %s", status, page)
		}

		var list submissionPage
		q.api(t, http.MethodGet, "/forms/"+q.demo.FormID.String()+"/submissions?limit=1", "", &list)
		stored := list.Items[0]
		got := map[string]string{}
		for _, a := range stored.Answers {
			got[a.Field.ID] = string(a.Value)
		}
		for id, want := range map[string]string{
			"overall": `4`, "again": `true`, "email": `"grace@example.com"`, "orders": `3`, "comment": `"One\ntwo"`,
			"product": `{"id":"decaf","label":"Decaf Sugarcane"}`, "heard": `{"other":"A poster"}`, "ref": `"poster-7"`,
		} {
			if got[id] != want {
				t.Errorf("%s is %s, want %s", id, got[id], want)
			}
		}
		utm := stored.Metadata.UTM
		expect.That(t, len(utm) == 1 && utm["source"] == "flyer", "utm is %v", stored.Metadata.UTM)

		d := q.delivered(t, stored.ID)
		expect.Nil(t, webhooks.Verify(q.demo.Secret, d.Body, d.Signature))
		var shown submissionPage // to the owner, in the builder
		_, page = q.get(t, "/forms/-/v1/forms/"+q.demo.FormID.String()+"/submissions?limit=1")
		err := json.Unmarshal([]byte(page), &shown)
		expect.That(t, err == nil && len(shown.Items) == 1 && shown.Items[0].ID == stored.ID, "the owner sees %s", page)
	})

	t.Run("removes the files of a response with it", func(t *testing.T) {
		dir, err := formpage.NewDir(q.uploads, q.url+"/files/")
		expect.NoError(t, err)
		defer dir.Close()
		file := expect.Must(dir.Save(t.Context(), formpage.Upload{Name: "menu.pdf", MIMEType: "application/pdf", Body: strings.NewReader("%PDF-")}))
		answer, _ := json.Marshal([]schema.File{file})
		owner := q.service.As(mara.ID)
		form := expect.Must(owner.CreateForm(t.Context(), formsvc.FormCreate{Workspace: q.demo.WorkspaceID, Name: "Files", Definition: formsvc.Definition{Blocks: json.RawMessage(`[{"id":"file","type":"file_upload"}]`)}}))
		if _, err = owner.PublishForm(t.Context(), form.ID); err != nil {
			t.Fatal(err)
		}
		sent := expect.Must(q.service.Submit(t.Context(), formsvc.SubmitParams{FormID: form.ID, HostAnswers: map[string]json.RawMessage{"file": answer}}))
		status, _ := q.get(t, "/files/"+file.ID)
		expect.That(t, status == http.StatusOK, "a file is answered with %d", status)
		expect.NoError(t, owner.DeleteSubmission(t.Context(), form.ID, sent.ID))
		status, _ = q.get(t, "/files/"+file.ID)
		expect.That(t, status == http.StatusNotFound, "a file of a response that is gone is answered with %d", status)
		expect.NoError(t, owner.TrashForm(t.Context(), form.ID))
	})

	t.Run("shows all three forms", func(t *testing.T) {
		var forms struct {
			Items []struct {
				PublicID string `json:"public_id"`
			}
		}
		q.api(t, http.MethodGet, "/forms", "", &forms)
		expect.Require(t, len(forms.Items) == len(samples), "%d forms, want %d", len(forms.Items), len(samples))
		for i, want := range []string{"All that a form can ask", "Los geht’s", "How did we do?"} { // newest first
			path := "/f/" + forms.Items[i].PublicID + "?lang=de"
			status, page := q.get(t, path)
			expect.That(t, status == http.StatusOK && strings.Contains(page, want), "%s: status %d", path, status)
		}
	})
}

func TestPages(t *testing.T) {
	t.Parallel()
	q := start(t)
	for path, want := range map[string][]string{
		"/forms/":               {`id="formsvc-builder"`, "/app.js"},
		"/docs":                 {`id="createForm"`, `id="schema-Submission"`, "form.response.completed", "submissions:read", "</html>"},
		"/f/" + q.demo.PublicID: {"How did we do?", `name="a.overall"`, "Send feedback", "</html>"},
		"/f/-/page.css":         {".fs"},
		"/v1/openapi.json":      {`"openapi"`, q.url},
	} {
		t.Run("serves "+path, func(t *testing.T) {
			t.Parallel()
			status, page := q.get(t, path)
			expect.Require(t, status == http.StatusOK, "status %d", status)
			for _, text := range want {
				expect.That(t, strings.Contains(page, text), "%s is missing", text)
			}
		})
	}
}

func TestReceiver(t *testing.T) {
	t.Parallel()
	q := start(t)
	send := func(body, signature string) int {
		t.Helper()
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, q.url+receivePath, strings.NewReader(body))
		r.Header.Set("Service-Signature", signature)
		status, _, _ := q.do(t, r)
		return status
	}
	const body = `{"id":"e1","response":{"submissionId":"s1"}}`

	t.Run("refuses what is not signed with the secret", func(t *testing.T) {
		for _, signature := range []string{"", "sha256=00", webhooks.Sign("another secret, long enough", []byte(body))} {
			status := send(body, signature)
			expect.That(t, status == http.StatusUnauthorized, "signature %q: status %d, want 401", signature, status)
		}
	})
	t.Run("remembers a repeated event once", func(t *testing.T) {
		for range 2 {
			status := send(body, webhooks.Sign(q.demo.Secret, []byte(body)))
			expect.Require(t, status == http.StatusNoContent, "status %d, want 204", status)
		}
		n := 0
		q.receiver.mu.Lock()
		defer q.receiver.mu.Unlock()
		for _, d := range q.receiver.deliveries {
			if d.EventID == "e1" {
				n++
			}
		}
		expect.That(t, n == 1, "it is remembered %d times", n)
	})
}

func TestAddressInUse(t *testing.T) {
	t.Parallel()
	q := start(t)
	_, err := newHost(t.Context(), q.listener.Addr().String(), memory.New(), q.logger)
	expect.That(t, err != nil && strings.Contains(err.Error(), "is in use by another program"), "the error is %v", err)
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	q := start(t)
	q.delivered(t, "") // the dispatcher runs
	expect.NoError(t, q.shutDown())
	q.client.CloseIdleConnections()
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, q.url+"/", nil)
	if res, err := q.client.Do(r); err == nil {
		res.Body.Close()
		t.Error("it still answers")
	}
}

func TestADatabaseSurvivesARestart(t *testing.T) {
	t.Parallel()
	schema := pgtest.Schema(t)
	pool := pgtest.Pool(t, pgtest.MaxConns(8))
	expect.NoError(t, postgres.Migrate(t.Context(), pool, postgres.WithSchema(schema)))
	store := postgres.New(pool, postgres.WithSchema(schema))

	first := startOn(t, store)
	first.delivered(t, "")
	expect.NoError(t, first.shutDown())
	second := startOn(t, store)
	if second.demo.FormID != first.demo.FormID || second.demo.PublicID != first.demo.PublicID || second.demo.WorkspaceID != first.demo.WorkspaceID {
		t.Errorf("after the restart the data is %+v, want that of %+v", second.demo, first.demo)
	}
	me := func(key string) int {
		r := expect.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, second.url+"/v1/me", nil))
		r.Header.Set("X-API-Key", key)
		status, _, _ := second.do(t, r)
		return status
	}
	if old, now := me(first.demo.Key), me(second.demo.Key); old != http.StatusUnauthorized || now != http.StatusOK {
		t.Errorf("the old key: %d, the new one: %d; want 401 and 200", old, now)
	}
	stored, err := storage.ListSubmissions(t.Context(), store, storage.AsHost(), second.demo.FormID, storage.SubmissionsParams{Page: storage.Page{Limit: 100}})
	expect.That(t, err == nil && len(stored.Submissions) == seedResponses,
		"%d submissions, %v; want %d: seeded once", len(stored.Submissions), err, seedResponses)
	expect.NoError(t, second.service.SendTestEvent(t.Context(), hookOf(t, store)))
	second.delivered(t, "") // the webhook follows the new address
}

func hookOf(t *testing.T, store storage.Storage) storage.ID {
	t.Helper()
	hooks, err := store.Webhooks(t.Context(), storage.AsHost(), storage.Page{Limit: 2})
	expect.Require(t, err == nil && len(hooks) == 1, "%d webhooks, %v; want 1", len(hooks), err)
	return hooks[0].ID
}
