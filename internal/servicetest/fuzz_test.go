package servicetest_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// hostile is a service whose storage is made anew for each request, always with the
// same records, so that a request's outcome depends on the request alone.
type hostile struct {
	svc   *formsvc.Service
	log   *bytes.Buffer
	key   string
	other string // a key without any scope but one
	fill  func(storage.Storage) error
}

// The records that requests may name.
var (
	hostileUser      = storage.ID{1}
	hostileWorkspace = storage.ID{2}
	hostileForm      = storage.ID{3}
	hostileWebhook   = storage.ID{4}
	hostileResponse  = storage.ID{5}
	foreignWorkspace = storage.ID{6}
	foreignForm      = storage.ID{7}
)

const hostileBlocks = `[{"id":"hi","type":"welcome","label":"Hi","properties":{"buttonText":"Go"}},
{"id":"a/b","type":"short_text","label":"Name","required":true,"properties":{"maxChars":50}},
{"id":"pick","type":"single_choice","choices":[{"id":"x","label":"X"},{"id":"y","label":"Y"}],"properties":{"otherOption":true}},
{"id":"grid","type":"matrix","matrix_rows":[{"id":"r"}],"matrix_columns":[{"id":"c"}]},
{"id":"group","type":"group","children":[{"id":"in","type":"number","properties":{"min":1,"minVal":true}}]}]`

func newHostile(t testing.TB) *hostile {
	t.Helper()
	now := time.Date(2026, 11, 20, 8, 33, 1, 0, time.UTC)
	h := &hostile{log: new(bytes.Buffer)}
	seed := memory.New()
	svc, err := formsvc.New(formsvc.WithStorage(seed), formsvc.WithoutRateLimit(),
		formsvc.WithClock(func() time.Time { return now }),
		formsvc.WithLogger(slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelError}))))
	expect.NoError(t, err)
	h.svc = svc
	var keys []func(storage.Storage) error
	issue := func(name string, scopes ...storage.Scope) string {
		issued := expect.Must(svc.CreateKey(t.Context(), formsvc.KeyRequest{User: formsvc.User{ID: hostileUser, Name: "U"}, Name: name, Scopes: scopes}))
		issued.Key.LastUsedAt = now // so that no request writes a last use
		keys = append(keys, func(s storage.Storage) error {
			return s.CreateKey(background, storage.NewKey{
				User: formsvc.User{ID: hostileUser, Name: "U"}, Key: issued.Key, Hash: sha256.Sum256([]byte(issued.Secret)), Max: 20,
			})
		})
		return issued.Secret
	}
	h.key, h.other = issue("all", storage.Scopes()...), issue("one", storage.ScopeAnalyticsRead)
	def := storage.Definition{
		Blocks: json.RawMessage(strings.ReplaceAll(hostileBlocks, "\n", "")), Settings: json.RawMessage(`{"closed":false}`), Theme: json.RawMessage(`{}`),
		Variables: json.RawMessage(`{"v":1}`), HiddenFields: json.RawMessage(`["ref"]`), Format: 1,
	}
	form := func(id, workspace storage.ID, public string) storage.Form {
		return storage.Form{
			ID: id, PublicID: public, WorkspaceID: workspace, FormContent: storage.FormContent{Name: "F", Type: "SINGLE", Definition: def},
			Status:   storage.StatusPublished,
			Revision: 1, CreatedAt: now, UpdatedAt: now,
		}
	}
	h.fill = func(s storage.Storage) error {
		ctx, host := background, storage.AsHost()
		for _, key := range keys {
			if err := key(s); err != nil {
				return err
			}
		}
		for _, w := range []storage.Workspace{
			{ID: hostileWorkspace, PublicID: "aaaaaaaaaaaa", OwnerID: hostileUser, Name: "W", CreatedAt: now, UpdatedAt: now},
			{ID: foreignWorkspace, PublicID: "bbbbbbbbbbbb", OwnerID: storage.ID{9}, Name: "W", CreatedAt: now, UpdatedAt: now},
		} {
			if err := s.CreateWorkspace(ctx, w, 0); err != nil {
				return err
			}
		}
		for _, f := range []storage.Form{form(hostileForm, hostileWorkspace, "cccccccccccc"), form(foreignForm, foreignWorkspace, "dddddddddddd")} {
			if err := s.CreateForm(ctx, host, f); err != nil {
				return err
			}
		}
		if err := s.CreateWebhook(ctx, host, storage.NewWebhook{Webhook: storage.Webhook{ID: hostileWebhook, FormID: hostileForm, URL: "https://example.com/", Enabled: true, CreatedAt: now, UpdatedAt: now}}); err != nil {
			return err
		}
		_, _, err := s.Submit(ctx, storage.NewSubmission{
			Submission: storage.Submission{
				ID: hostileResponse, FormID: hostileForm, SubmittedAt: now,
				Answers: json.RawMessage(`[{"field":{"id":"a/b","type":"short_text","label":"Name"},"value":"Ann"}]`), Metadata: json.RawMessage(`{}`), Hidden: json.RawMessage(`{}`),
			},
			FormRevision: 1, Event: storage.Event{ID: storage.ID{8}, Type: "form.response.completed", Body: []byte(`{}`)},
		})
		return err
	}
	return h
}

// hostileRequest is a request in the parts that are mutated.
type hostileRequest struct {
	method, path string
	header       string // lines of Name: value
	body         []byte
}

// try serves one request on fresh records. It returns what is wrong with the answer.
func (h *hostile) try(q hostileRequest) error {
	u, _ := url.ParseRequestURI(q.path)
	if u == nil || !strings.HasPrefix(q.path, "/") || !token(q.method) {
		return nil // net/http refuses it
	}
	r := &http.Request{
		Method: q.method, URL: u, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Host: "example.com", RequestURI: q.path,
		Header: http.Header{"X-Api-Key": {h.key}, "Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(q.body)), ContentLength: int64(len(q.body)),
	}
	for line := range strings.Lines(q.header) {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		if !ok || !token(name) || strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
			continue
		}
		name = textproto.CanonicalMIMEHeaderKey(name)
		if value = strings.TrimSpace(value); strings.HasPrefix(value, "+") {
			r.Header[name] = append(r.Header[name], value[1:])
		} else {
			r.Header[name] = []string{value}
		}
		if name == "Transfer-Encoding" {
			r.ContentLength = -1
		}
	}
	store := memory.New()
	if err := h.fill(store); err != nil {
		return err
	}
	h.log.Reset()
	w := httptest.NewRecorder()
	h.svc.WithStorage(store).ServeHTTP(w, r)
	if w.Code >= 500 || h.log.Len() > 0 {
		return fmt.Errorf("%d %.300s\n%.3000s", w.Code, w.Body, h.log)
	}
	if err := servicetest.AsDescribed(r, w.Code, w.Header(), w.Body.Bytes()); err != nil {
		return fmt.Errorf("%d %.500s: %w", w.Code, w.Body, err)
	}
	return nil
}

// token reports whether net/http would take s as a method or a header's name.
func token(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"/[]?={}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// hostileSeeds are requests of all operations, most of them good.
func hostileSeeds() []hostileRequest {
	form, workspace, webhook := "/v1/forms/"+hostileForm.String(), "/v1/workspaces/"+hostileWorkspace.String(), "/v1/webhooks/"+hostileWebhook.String()
	block := `{"id":"n","type":"opinion_scale","label":"L","description":"D","required":true,"part_of":"p","row_id":"r","properties":{"from":0,"to":10,"scaleStep":1e0,"rule":{"show":true},"specificDates":["2026-11-20T08:33:01Z"],"addressOrContact":{"email":{"hide":true,"required":false}},"allowedFiles":["pdf"],"disabledDays":3,"image":{"url":"https://example.com/i.png"}},"choices":[{"id":"c","label":"C","image":null,"color":"red","row_id":"q","alt":"a"}],"children":[{"id":"k"}],"matrix_rows":[{"id":"mr"}],"matrix_columns":[{"id":"mc"}]}`
	definition := `{"blocks":[` + block + `],"settings":{"branding":true,"borderRadius":1.5,"responseLimit":10,"utm":{"campaign":true},"closeAt":"2027-01-01T00:00:00+01:00","duplicateField":"n","redirectUrl":"https://example.com/","cover":{"color":"#fff","image":{"url":"https://example.com/","width":1},"position":{"x":1,"y":2}}},"theme":{"colors":{"background":"#ffffff","dark":{"text":"#000"}},"customCss":"a{}","inputs":{"borderWidth":1},"logo":{"id":"l"}},"variables":{"score":1,"name":"n"},"hidden_fields":["ref","utm"]}`
	write := func(method, path, body string) hostileRequest {
		return hostileRequest{method, path, "", []byte(body)}
	}
	seeds := []hostileRequest{
		write("POST", "/v1/workspaces", `{"name":"New"}`),
		write("PATCH", workspace, `{"name":"Renamed"}`),
		write("DELETE", workspace, ""),
		write("POST", "/v1/forms", `{"workspace_id":"`+hostileWorkspace.String()+`","name":"N","type":"MULTI","definition":`+definition+`}`),
		write("PATCH", form, `{"name":"N","status":"published","workspace_id":"`+hostileWorkspace.String()+`","definition":`+definition+`}`),
		write("PATCH", form, `{"definition":{"hidden_fields":["x"],"blocks":[{"id":"a/b"}]}}`),
		write("POST", form+"/blocks", `{"block":`+block+`}`),
		write("PUT", form+"/blocks", `{"blocks":[`+block+`,{"id":"pick"}]}`),
		write("PATCH", form+"/blocks/pick", `{"block":{"label":"New","choices":null,"properties":{"otherOption":null}}}`),
		write("PATCH", form+"/blocks/a%2Fb", `{"block":{"type":"number"}}`),
		write("DELETE", form+"/blocks/pick", ""),
		write("DELETE", form+"/submissions/"+hostileResponse.String(), ""),
		write("DELETE", form, ""),
		write("POST", "/v1/webhooks", `{"form_id":"`+hostileForm.String()+`","url":"ftp://example.com/","enabled":true,"signing_secret":"0123456789abcdef"}`),
		write("PATCH", webhook, `{"enabled":false,"signing_secret":null}`),
		write("DELETE", webhook, ""),
		write("OPTIONS", form, ""),
		write("POST", form+"/blocks", `{"block":[1]}`),
		write("PUT", form+"/blocks", `{"blocks":[[1]]}`),
	}
	for _, path := range []string{
		"/v1/openapi.json", "/v1/me", "/v1/workspaces?limit=1&cursor=x", workspace, "/v1/forms?workspace_id=" + hostileWorkspace.String() + "&limit=100", form,
		form + "/questions", form + "/blocks", form + "/blocks/a%2Fb", form + "/submissions?since=2026-11-20T08:33:01Z&until=2026-11-21T00:00:00%2B01:00",
		form + "/submissions/" + hostileResponse.String(), form + "/analytics/metrics?period=7d", "/v1/webhooks", webhook, webhook + "/deliveries",
		"/v1/forms/" + foreignForm.String(), "/v1/nothing", "/v1/me/", "/v1/./me",
	} {
		seeds = append(seeds, hostileRequest{"GET", path, "", nil}, hostileRequest{"HEAD", path, "X-Request-ID: a.b", nil})
	}
	return seeds
}

// FuzzTheAPI sends anything through the whole handler: no server error, nothing in
// the log of errors, and every answer as described.
func FuzzTheAPI(f *testing.F) {
	h := newHostile(f)
	for i, q := range hostileSeeds() {
		f.Add(q.method, q.path, q.header, q.body, uint64(i%3))
	}
	f.Fuzz(func(t *testing.T, method, path, header string, body []byte, seed uint64) {
		q := hostileRequest{method, path, header, body}
		if seed != 0 {
			q.mutate(rand.New(rand.NewPCG(seed, 1)), nil)
		}
		err := h.try(q)
		expect.Require(t, err == nil, "%s %s\n%s\n%s\n%v", q.method, q.path, q.header, q.body, err)
	})
}

// The same in a number of executions that every run of the tests can afford.
// FORMSVC_REQUESTS sets another one.
func TestHostileRequestsAreAnsweredAsDescribed(t *testing.T) {
	t.Parallel()
	total := 2500
	if n, err := strconv.Atoi(os.Getenv("FORMSVC_REQUESTS")); err == nil {
		total = n
	} else if testing.Short() {
		total = 500
	}
	seeds := hostileSeeds()
	const workers = 2
	var wg sync.WaitGroup
	for worker := range workers {
		h := newHostile(t)
		wg.Go(func() {
			for i := worker; i < total; i += workers {
				if t.Failed() {
					return
				}
				random := rand.New(rand.NewPCG(uint64(i), 2026))
				q := seeds[random.IntN(len(seeds))]
				if i >= len(seeds) { // the first are sent as they are
					q.mutate(random, seeds)
				} else {
					q = seeds[i]
				}
				err := h.try(q)
				expect.That(t, err == nil, "request %d: %s %s\n%s\n%s\n%v", i, q.method, q.path, q.header, q.body, err)
			}
		})
	}
	wg.Wait()
}

// mutate changes one to three things of a request. seeds lend parts of others.
func (q *hostileRequest) mutate(random *rand.Rand, seeds []hostileRequest) {
	for range 1 + random.IntN(3) {
		switch random.IntN(10) {
		case 0:
			q.method = pick(random, "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get", "PROPFIND")
		case 1, 2:
			q.path = mutatePath(random, q.path, seeds)
		case 3:
			q.header += pick(random, hostileHeaders...) + "\n"
		case 4:
			if seeds != nil {
				q.body = pick(random, seeds...).body
			}
		case 5:
			q.body = mutateBytes(random, q.body)
		default:
			var value any
			decoder := json.NewDecoder(bytes.NewReader(q.body))
			decoder.UseNumber()
			if decoder.Decode(&value) == nil {
				if body, err := json.Marshal(mutateJSON(random, value)); err == nil {
					q.body = body
				}
			}
		}
	}
}

var hostileHeaders = []string{
	"X-API-Key: nonsense", "X-API-Key: +second", "X-API-Key:", "Authorization: Bearer x", "Authorization: Basic dTpw",
	"X-Request-ID: given-id", "X-Request-ID: not valid", "X-Request-ID: +two", "X-Request-ID: " + strings.Repeat("x", 101),
	`If-Match: "r1"`, "If-Match: *", `If-Match: W/"r1"`, `If-Match: "r1", "rzz"`, "If-Match:", `If-Match: "`, `If-Match: "r99999999999999999999"`,
	"If-None-Match: *", `If-None-Match: W/"x", "y"`, "Content-Type: text/plain", "Content-Type:", "Content-Type: application/merge-patch+json",
	"Content-Type: application/json; charset=\"", "Content-Encoding: gzip", "Expect: 100-continue", "Transfer-Encoding: chunked", "X-HTTP-Method-Override: DELETE",
	"Range: bytes=0-1", "Origin: https://example.com", "Host: elsewhere", "Connection: close", "Content-Length: 5", "Cookie: a=b", "Forwarded: for=x",
}

func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }

func mutatePath(random *rand.Rand, path string, seeds []hostileRequest) string {
	path, query, _ := strings.Cut(path, "?")
	segments := strings.Split(path, "/")
	i := random.IntN(len(segments))
	switch random.IntN(5) {
	case 0:
		segments[i] = pick(random, "", ".", "..", "%2e%2e", "%00", "%ff", "%2F", "v1", "me", "forms", "blocks", "%F0%9F%98%80", "a;b", "0", strings.Repeat("f", 24),
			strings.Repeat("x", 201), storage.ID{}.String(), foreignForm.String(), hostileForm.String(), strings.ToUpper(hostileForm.String()), hostileWebhook.String())
	case 1:
		segments = append(segments[:i:i], segments[i+1:]...)
	case 2:
		segments = append(segments, pick(random, "", "blocks", "submissions", "deliveries", "questions", "x"))
	case 3:
		if seeds != nil {
			return pick(random, seeds...).path
		}
	default:
		name := pick(random, "limit", "cursor", "workspace_id", "since", "until", "period", "", "unknown", "limit%00")
		value := pick(random, "", "0", "1", "100", "101", "-1", "1e1", "99999999999999999999", "x", "%00", "%ff", "%zz", "a;b", "2026-11-20T08:33:01Z", "0000-01-01T00:00:00+14:00",
			"9999-12-31T23:59:59-14:00", "2026-11-20T08:33:01 01:00", "7d", "all", "yesterday", hostileWorkspace.String(), foreignWorkspace.String(), storage.ID{}.String(), strings.Repeat("A", 43),
			"AQAGYLEXjylFBwgJAAAAAAAAAAAAKM4sUhOOWljqc-0", "AX__________AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
		query = strings.TrimPrefix(query+"&"+name+"="+value, "&")
	}
	if path = strings.Join(segments, "/"); query != "" {
		path += "?" + query
	}
	return path
}

func mutateBytes(random *rand.Rand, body []byte) []byte {
	body = bytes.Clone(body)
	if len(body) == 0 {
		return []byte(pick(random, "", "{}", "[]", "null", "0", `""`, "{", "\xff", "\xef\xbb\xbf{}", " ", strings.Repeat("[", 70)))
	}
	i := random.IntN(len(body))
	switch random.IntN(5) {
	case 0:
		body[i] = byte(random.Uint32())
	case 1:
		body = append(body[:i:i], body[i+1:]...)
	case 2:
		body = body[:i]
	case 3:
		body = append(body[:i:i], append([]byte(pick(random, `"`, "{", "}", "[", "]", ",", ":", "\\", "\\u0000", "\\ud800", "\x00", "\xc3\x28", "1e999", "-", "null")), body[i:]...)...)
	default:
		body = append(body, body[i:]...)
	}
	return body
}

// hostileValues are values that a member may not expect.
func hostileValues(random *rand.Rand) any {
	return pick[any](random, nil, true, false, json.Number("0"), json.Number("-1"), json.Number("1e1"), json.Number("10.0"), json.Number("9007199254740993"), json.Number("1e308"),
		json.Number("0.1"), "", " ", "x", "\x00", "\u200b", "\ufeff", "\u202e", "é", strings.Repeat("x", 201), strings.Repeat("y", 5001), "#fff", "#ggg", "javascript:alert(1)", "https://example.com/",
		"2026-11-20T08:33:01Z", "2026-02-30T00:00:00Z", "draft", "group", "matrix", "a/b", "pick", "ref", hostileForm.String(), foreignForm.String(), hostileWorkspace.String(), foreignWorkspace.String(),
		[]any{}, []any{nil}, []any{json.Number("1")}, []any{[]any{}}, []any{map[string]any{}}, map[string]any{}, map[string]any{"id": "x"}, map[string]any{"": nil}, map[string]any{"type": "number", "id": "in"})
}

// mutateJSON changes one value somewhere in v.
func mutateJSON(random *rand.Rand, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 || random.IntN(6) == 0 {
			name := pick(random, "id", "type", "label", "name", "properties", "choices", "children", "definition", "blocks", "block", "settings", "unknown", "ID", "", "constructor", "required", "url")
			v[name] = hostileValues(random)
			return v
		}
		at := random.IntN(len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if at--; at >= 0 {
				continue
			}
			switch random.IntN(6) {
			case 0:
				delete(v, name)
			case 1:
				v[name] = hostileValues(random)
			default:
				v[name] = mutateJSON(random, v[name])
			}
			break
		}
		return v
	case []any:
		if len(v) == 0 || random.IntN(5) == 0 {
			return append(v, hostileValues(random))
		}
		i := random.IntN(len(v))
		switch random.IntN(5) {
		case 0:
			return append(v[:i:i], v[i+1:]...)
		case 1:
			return append(v, v[i])
		default:
			v[i] = mutateJSON(random, v[i])
			return v
		}
	}
	return hostileValues(random)
}
