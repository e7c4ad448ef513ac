package servicetest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/postgres"
)

// exportServer serves a bundle's API and exports on a real socket.
func exportServer(t *testing.T, b *servicetest.Bundle, change func(*httptest.Server)) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/v1/", b.Service)
	mux.Handle("/exports/", b.ExportHandler())
	server := httptest.NewUnstartedServer(mux)
	if change == nil {
		server.Start()
	} else {
		change(server)
	}
	t.Cleanup(server.Close)
	return server
}

// request asks for an export. The caller closes the body.
func request(t *testing.T, server *httptest.Server, method, path, key string) *http.Response {
	t.Helper()
	r := expect.Must(http.NewRequestWithContext(t.Context(), method, server.URL+path, nil))
	r.Header.Set("X-API-Key", key)
	response := expect.Must(server.Client().Do(r))
	t.Cleanup(func() { response.Body.Close() })
	return response
}

func TestExportsOverHTTP(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := everyTypeForm(b)
	for range 3 {
		expect.Must(b.Submit(t.Context(), everyAnswer(form)))
	}
	server := exportServer(t, b, nil)
	id := form.String()
	for _, c := range []struct {
		method, path, key string
		status            int
		contains          string
	}{
		{"GET", id + ".csv", b.Key, 200, "\r\n"},
		{"GET", id + ".csv", b.Issue(b.User.ID, "submissions:read").Secret, 200, "\r\n"},
		{"GET", id + ".csv", "", 401, "INVALID_API_KEY"},
		{"GET", id + ".csv", b.Issue(b.User.ID, "forms:read", "submissions:write").Secret, 403, "INSUFFICIENT_SCOPE"},
		{"GET", id + ".csv", b.Issue(formsvc.UserIDFrom("stranger"), "submissions:read").Secret, 404, "NOT_FOUND"},
		{"GET", "0123456789abcdef01234567.csv", b.Key, 404, "NOT_FOUND"},
		{"GET", "nonsense.csv", b.Key, 404, "NOT_FOUND"},
		{"GET", id + ".xlsx", "", 404, "NOT_FOUND"},
		{"GET", id, b.Key, 404, "NOT_FOUND"},
		{"GET", id + ".csv?since=yesterday&choices=both&bom=1", b.Key, 422, `"path":"query:choices"`},
		{"GET", id + ".csv?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z", b.Key, 422, "query:since"},
		{"GET", id + ".csv?%", b.Key, 422, `"path":"query"`},
		{"POST", id + ".csv", b.Key, 405, "METHOD_NOT_ALLOWED"},
		{"OPTIONS", id + ".csv", "", 204, ""},
		{"HEAD", id + ".csv", b.Key, 200, ""},
		{"HEAD", id + ".csv", "", 401, ""},
	} {
		response := request(t, server, c.method, "/exports/"+c.path, c.key)
		body := servicetest.ReadAll(t, response.Body)
		if response.StatusCode != c.status || !strings.Contains(body, c.contains) || c.contains == "" && body != "" {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.path, response.StatusCode, body, c.status, c.contains)
		}
		expect.That(t, response.Header.Get("X-Request-ID") != "" && response.Header.Get("Cache-Control") == "no-store",
			"%s %s: headers %v", c.method, c.path, response.Header)
		if (c.status == 405 || c.status == 204) && response.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
			t.Errorf("%s %s: Allow %q", c.method, c.path, response.Header.Get("Allow"))
		}
		if c.status == 200 && (response.Header.Get("Content-Type") != "text/csv; charset=utf-8; header=present" || response.Header.Get("RateLimit") == "" ||
			response.Header.Get("Content-Disposition") != `attachment; filename="`+id+`.csv"` || response.Header.Get("X-Content-Type-Options") != "nosniff") {
			t.Errorf("%s %s: headers %v", c.method, c.path, response.Header)
		}
	}
	// What comes over HTTP is what Go writes, with every option.
	for query, e := range map[string]formsvc.Export{
		".csv":                                  {},
		".csv?choices=ids&header=labels":        {ChoiceIDs: true, Labels: true},
		".csv?several=spread&bom=true":          {SplitColumns: true, BOM: true},
		".csv?formulas=kept":                    {AllowFormulas: true},
		".csv?separator=comma":                  {},
		".csv?separator=semicolon":              {Separator: ';'},
		".csv?separator=tab":                    {Separator: '\t'},
		".csv?since=2100-01-01T00:00:00Z":       {Since: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)},
		".ndjson":                               {Format: formsvc.NDJSON},
		".ndjson?until=2001-01-01T00:00:00%2b1": {Format: "none"},
		".ndjson?until=2001-01-01T00:00:00Z":    {Format: formsvc.NDJSON, Until: time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		response := request(t, server, "GET", "/exports/"+id+query, b.Key)
		body := servicetest.ReadAll(t, response.Body)
		if e.Format == "none" {
			expect.That(t, response.StatusCode == http.StatusUnprocessableEntity, "%s: %d", query, response.StatusCode)
			continue
		}
		want := export(b, form, e)
		expect.That(t, body == want && response.StatusCode == http.StatusOK, "%s: %d %q, want %q", query, response.StatusCode, body, want)
	}
	// HTTP/1.0 has no way to say that a file was cut.
	conn := expect.Must(net.Dial("tcp", server.Listener.Addr().String()))
	defer conn.Close()
	fmt.Fprintf(conn, "GET /exports/%s.csv HTTP/1.0\r\nX-API-Key: %s\r\n\r\n", id, b.Key)
	got := servicetest.ReadAll(t, conn)
	expect.That(t, strings.HasPrefix(got, "HTTP/1.0 505") && strings.Contains(got, "HTTP_VERSION_NOT_SUPPORTED"), "HTTP/1.0: %s", got)
}

// A truncated file never looks complete, over HTTP/1.1 and HTTP/2, also below a middleware that
// recovers every panic, as gin.Default() does. An error before the first byte has its status. A
// server's WriteTimeout ends no export.
func TestACutExportDoesNotLookWhole(t *testing.T) {
	t.Parallel()
	protocols := map[string]func(*httptest.Server){
		"HTTP/1.1": func(s *httptest.Server) { s.Start() },
		"HTTP/2.0": func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() },
	}
	for protocol, start := range protocols {
		for _, format := range []formsvc.ExportFormat{formsvc.CSV, formsvc.NDJSON} {
			pages, firstWritten, lines := 6, 4, 3001
			if format == formsvc.NDJSON {
				pages, firstWritten, lines = 3, 1, 3000
			}
			for broken := 1; broken <= pages+1; broken++ {
				store := &pagesOf{Storage: memory.New(), n: 3000, answers: nameAnswer}
				b := servicetest.SetupOn(t, store)
				form := b.Form(servicetest.TextBlock, `{}`)
				store.before = func(page int) error {
					if page == broken {
						return storage.ErrUnavailable
					}
					return nil
				}
				server := exportServer(t, b, func(s *httptest.Server) {
					if protocol == "HTTP/1.1" {
						s.Config.WriteTimeout = time.Nanosecond
					}
					mux := s.Config.Handler
					s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						defer func() { _ = recover() }()
						mux.ServeHTTP(w, r)
					})
					start(s)
				})
				response := request(t, server, "GET", "/exports/"+form.String()+"."+string(format), b.Key)
				body, err := io.ReadAll(response.Body)
				name := fmt.Sprintf("%s, %s, page %d is not to be had", protocol, format, broken)
				expect.Require(t, response.Proto == protocol, "%s: it is %s", name, response.Proto)
				switch {
				case broken <= firstWritten && (response.StatusCode != http.StatusServiceUnavailable || err != nil):
					t.Errorf("%s: %d %q, %v; want 503", name, response.StatusCode, body, err)
				case broken > firstWritten && broken <= pages && (response.StatusCode != http.StatusOK || err == nil || len(body) == 0):
					t.Errorf("%s: %d, %d bytes, %v; want a part and an error", name, response.StatusCode, len(body), err)
				case broken > pages && (response.StatusCode != http.StatusOK || err != nil || strings.Count(string(body), "\n") != lines):
					t.Errorf("%s: %d, %d lines, %v", name, response.StatusCode, strings.Count(string(body), "\n"), err)
				}
				server.Close()
			}
		}
	}
}

// The last line proves that a file is complete where a server or proxy hides that it was truncated.
func TestTheLastLineOfAnExport(t *testing.T) {
	t.Parallel()
	b := servicetest.SetupOn(t, &pagesOf{Storage: memory.New(), n: 3000, answers: nameAnswer})
	form := b.Form(servicetest.TextBlock, `{}`)
	server := exportServer(t, b, func(s *httptest.Server) { s.Start() })
	defer server.Close()
	for query, want := range map[string]string{
		".ndjson?last_line=true":                  "\n{\"complete\":true,\"submissions\":3000}\n",
		".csv?last_line=true":                     "\r\ncomplete,3000\r\n",
		".csv?last_line=true&separator=semicolon": "\r\ncomplete;3000\r\n",
	} {
		if text := servicetest.ReadAll(t, request(t, server, "GET", "/exports/"+form.String()+query, b.Key).Body); !strings.HasSuffix(text, want) {
			t.Errorf("%s ends with %q, want %q", query, text[max(0, len(text)-80):], want)
		}
	}
	text := servicetest.ReadAll(t, request(t, server, "GET", "/exports/"+form.String()+".ndjson", b.Key).Body)
	expect.That(t, !strings.Contains(text, "complete\":true"), "a file that did not ask for it has a last line")
}

// A key that is revoked during an export reads no further page: 401 while nothing was
// written, and a file that is cut afterwards.
func TestARevokedKeyEndsItsExport(t *testing.T) {
	t.Parallel()
	for page, status := range map[int]int{1: http.StatusUnauthorized, 4: http.StatusOK} {
		store := &pagesOf{Storage: memory.New(), n: 3000, answers: nameAnswer}
		b := servicetest.SetupOn(t, store)
		form := b.Form(servicetest.TextBlock, `{}`)
		issued := expect.Must(b.CreateKey(t.Context(), formsvc.KeyRequest{User: b.User, Name: "stolen", Scopes: []formsvc.Scope{formsvc.ScopeSubmissionsRead}}))
		store.before = func(n int) error {
			if n == page {
				return b.RevokeKey(t.Context(), b.User.ID, issued.Key.ID)
			}
			return nil
		}
		response := request(t, exportServer(t, b, nil), "GET", "/exports/"+form.String()+".csv", issued.Secret)
		if body, err := io.ReadAll(response.Body); response.StatusCode != status || (err == nil) != (status == http.StatusUnauthorized) {
			t.Errorf("revoked at page %d: %d, %d bytes, %v; want %d", page, response.StatusCode, len(body), err, status)
		}
	}
}

// One export at a time a key: a second one is refused until the first has ended, also
// when its client has gone away. Other keys do not wait.
func TestAKeyHasOneExportAtATime(t *testing.T) {
	t.Parallel()
	store := &pagesOf{Storage: memory.New(), n: 100_000, answers: func(int) string {
		return `[{"field":{"id":"name","type":"short_text","label":"Name"},"value":"` + strings.Repeat("x", 1000) + `"}]`
	}}
	b := servicetest.SetupOn(t, store)
	form := b.Form(servicetest.TextBlock, `{}`)
	other := expect.Must(b.CreateKey(t.Context(), formsvc.KeyRequest{User: b.User, Name: "other", Scopes: []formsvc.Scope{"submissions:read"}}))
	server := exportServer(t, b, nil)
	path := "/exports/" + form.String() + ".ndjson"
	first := request(t, server, "GET", path, b.Key) // 100 MB, of which nothing is read
	if second := request(t, server, "GET", path, b.Key); second.StatusCode != http.StatusTooManyRequests || second.Header.Get("Retry-After") == "" {
		t.Fatalf("a second export: %d %v", second.StatusCode, second.Header)
	}
	beside := request(t, server, "GET", path, other.Secret)
	expect.Require(t, beside.StatusCode == http.StatusOK, "an export with another key: %d", beside.StatusCode)
	head := request(t, server, "HEAD", path, b.Key)
	expect.That(t, head.StatusCode == http.StatusOK, "HEAD beside an export: %d", head.StatusCode)
	first.Body.Close() // the client goes away
	for request(t, server, "GET", path, b.Key).StatusCode != http.StatusOK {
		expect.Require(t, t.Context().Err() == nil, "the key has an export for ever")
		time.Sleep(time.Millisecond)
	}
}

// tokens is a limiter's store that counts, and refuses the calls that it is told to.
type tokens struct {
	mu     sync.Mutex
	taken  int
	refuse map[int]bool
}

func (s *tokens) Take(context.Context, string) (limit, remaining, reset uint64, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken++
	return 600, 599, uint64(time.Now().UnixNano()), !s.refuse[s.taken], nil
}
func (*tokens) Get(context.Context, string) (limit, remaining uint64, err error) { return 0, 0, nil }
func (*tokens) Set(context.Context, string, uint64, time.Duration) error         { return nil }
func (*tokens) Burst(context.Context, string, uint64) error                      { return nil }
func (*tokens) Close(context.Context) error                                      { return nil }

// An export counts against its key's limit by the pages that it reads, and waits when
// there is nothing left: the file is whole all the same.
func TestPagesOfAnExportCountAgainstTheLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format formsvc.ExportFormat
		refuse []int
		status int
		taken  int
		lines  int
	}{
		{formsvc.NDJSON, nil, 200, 3, 3000},
		{formsvc.CSV, nil, 200, 6, 3001},
		{formsvc.NDJSON, []int{1}, 429, 1, 1},
		{formsvc.NDJSON, []int{2}, 200, 4, 3000},
		{formsvc.CSV, []int{5}, 200, 7, 3001},
	} {
		t.Run(fmt.Sprint(c.format, c.refuse), func(t *testing.T) {
			t.Parallel()
			limits := &tokens{refuse: map[int]bool{}}
			for _, n := range c.refuse {
				limits.refuse[n] = true
			}
			store := &pagesOf{Storage: memory.New(), n: 3000, answers: nameAnswer}
			b := servicetest.SetupOn(t, store, formsvc.WithLimiter(limits))
			f := expect.Must(b.AsHost().CreateForm(t.Context(), formsvc.FormCreate{Workspace: b.Workspace, Name: "F", Definition: formsvc.Definition{Blocks: []byte(servicetest.TextBlock)}}))
			server := exportServer(t, b, nil)
			response := request(t, server, "GET", "/exports/"+f.ID.String()+"."+string(c.format), b.Key)
			body := servicetest.ReadAll(t, response.Body)
			if response.StatusCode != c.status || limits.taken != c.taken || strings.Count(body, "\n") != c.lines {
				t.Errorf("%d, %d calls counted, %d lines; want %d, %d, %d", response.StatusCode, limits.taken, strings.Count(body, "\n"), c.status, c.taken, c.lines)
			}
			expect.That(t, c.status != 429 || response.Header.Get("Retry-After") != "", "no Retry-After")
		})
	}
}

// window is a limiter's store with so many tokens a second.
type window struct {
	tokens
	limit, left, lowest uint64
	ends                time.Time
}

func (s *window) Take(context.Context, string) (limit, remaining, reset uint64, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); !now.Before(s.ends) {
		s.left, s.ends = s.limit, now.Add(time.Second)
	}
	if ok = s.left > 0; ok {
		s.left--
	}
	s.lowest = min(s.lowest, s.left)
	return s.limit, s.left, uint64(s.ends.UnixNano()), ok, nil
}

// An export of more pages than its key has calls leaves half of the calls for others.
func TestAnExportLeavesCallsForOthers(t *testing.T) {
	t.Parallel()
	limits := &window{limit: 10, lowest: 10}
	b := servicetest.SetupOn(t, &pagesOf{Storage: memory.New(), n: 15_000, answers: nameAnswer}, formsvc.WithLimiter(limits))
	f := expect.Must(b.AsHost().CreateForm(t.Context(), formsvc.FormCreate{Workspace: b.Workspace, Name: "F", Definition: formsvc.Definition{Blocks: []byte(servicetest.TextBlock)}}))
	response := request(t, exportServer(t, b, nil), "GET", "/exports/"+f.ID.String()+".ndjson", b.Key)
	lines := strings.Count(servicetest.ReadAll(t, response.Body), "\n")
	expect.That(t, response.StatusCode == http.StatusOK && lines == 15_000, "%d, %d lines", response.StatusCode, lines)
	expect.That(t, limits.lowest >= limits.limit/2-1, "the export has left %d of %d calls", limits.lowest, limits.limit)
}

// bigResponses submits responses that fill two pages and more than a socket holds.
func bigResponses(b *servicetest.Bundle) (form formsvc.ID, count int) {
	b.T.Helper()
	var blocks []string
	big := map[string]json.RawMessage{}
	for i := range 9 {
		id := fmt.Sprint("long", i)
		blocks = append(blocks, `{"id":"`+id+`","type":"long_text","label":"Long"}`)
		big[id] = json.RawMessage(`"` + strings.Repeat("x", 90_000) + `"`)
	}
	form = b.Form("["+strings.Join(blocks, ",")+"]", `{}`)
	for range 30 {
		expect.Must(b.Submit(b.T.Context(), formsvc.SubmitParams{FormID: form, Answers: big}))
	}
	return form, 30
}

// While a slow client takes a page, nothing of the database is held: with one connection
// in the pool, everybody else goes on.
func TestASlowClientOfAnExportHoldsNoConnection(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t, pgtest.MaxConns(1))
	b := servicetest.SetupOn(t, servicetest.Migrated(t, pool, postgres.WithSchema(pgtest.Schema(t))))
	form, count := bigResponses(b)
	server := exportServer(t, b, nil)
	response := request(t, server, "GET", "/exports/"+form.String()+".csv", b.Key)
	reader := bufio.NewReader(response.Body)
	expect.Must(reader.ReadString('\n'))
	// The server has a page to write, and the client takes none of it.
	expect.Must(b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers("long0", `"late"`)}))
	expect.Equal(t, pool.Stat().AcquiredConns(), 0, "connections are held")
	var open int
	err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' AND pid = pg_backend_pid()`).Scan(&open)
	expect.That(t, err == nil && open == 0, "%d open transactions, %v", open, err)
	rest, err := io.ReadAll(reader)
	got := strings.Count(string(rest), "\n")
	expect.That(t, err == nil && got == count, "%d lines, %v; want %d", got, err, count)
}

// A server of the database that is killed in the middle cuts the file visibly.
func TestAnExportWhoseDatabaseIsKilled(t *testing.T) {
	t.Parallel()
	database := pgtest.NewServer(t, pgtest.Config{})
	pool := pgtest.PoolAt(t, database.URL(), pgtest.MaxConns(2))
	b := servicetest.SetupOn(t, servicetest.Migrated(t, pool))
	form, count := bigResponses(b)
	server := exportServer(t, b, nil)
	response := request(t, server, "GET", "/exports/"+form.String()+".ndjson", b.Key)
	reader := bufio.NewReader(response.Body)
	expect.Must(reader.ReadString('\n'))
	database.Kill() // while the second page has not been read: the first one fills the socket
	rest, err := io.ReadAll(reader)
	got := strings.Count(string(rest), "\n") + 1
	expect.That(t, errors.Is(err, io.ErrUnexpectedEOF) && got < count, "%d lines of %d and then %v, want io.ErrUnexpectedEOF", got, count, err)
}

// export is an export as text.
func export(b *servicetest.Bundle, form formsvc.ID, e formsvc.Export) string {
	b.T.Helper()
	var out bytes.Buffer
	expect.NoError(b.T, b.As(b.User.ID).Export(b.T.Context(), &out, form, e))
	return out.String()
}

// table reads a CSV into one map a line, from the column's name to the cell, without the
// empty cells and those of every table.
func table(t *testing.T, text string) (header []string, lines []map[string]string) {
	t.Helper()
	records := expect.Must(csv.NewReader(strings.NewReader(text)).ReadAll())
	header = records[0]
	for _, r := range records[1:] {
		line := map[string]string{}
		for i, name := range header {
			if r[i] != "" && name != "submission_id" && name != "submitted_at" && name != "completion_time" {
				line[name] = r[i]
			}
		}
		lines = append(lines, line)
	}
	return header, lines
}

func TestNDJSONHasTheItemsOfTheAPI(t *testing.T) {
	t.Parallel()
	for name, store := range servicetest.Stores(t) {
		b := servicetest.SetupOn(t, store)
		form := everyTypeForm(b)
		for range 3 {
			expect.Must(b.Submit(t.Context(), everyAnswer(form)))
		}
		var page struct{ Items []json.RawMessage }
		b.Do(http.MethodGet, "/forms/"+form.String()+"/submissions", "", &page)
		var want strings.Builder
		for _, item := range page.Items {
			want.Write(item)
			want.WriteByte('\n')
		}
		got := export(b, form, formsvc.Export{Format: formsvc.NDJSON})
		expect.That(t, got == want.String() && len(page.Items) == 3, "%s: %s\nwant %s", name, got, want.String())
	}
}

func TestExportsThatAreRefused(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	b := servicetest.Setup(t)
	form := b.Form(servicetest.TextBlock, `{}`)
	c := b.As(b.User.ID)
	for _, e := range []formsvc.Export{{Format: "xlsx"}, {Separator: '|'}, {Since: start, Until: start.Add(-1)}} {
		refused(t, c.Export(t.Context(), io.Discard, form, e), "%+v", e)
	}
	expect.Error(t, "a stranger", b.As(formsvc.UserIDFrom("stranger")).Export(t.Context(), io.Discard, form, formsvc.Export{}), formsvc.ErrNotFound)
}

// pagesOf is a storage with n responses that are made while they are read, so that none
// of them is in memory otherwise. before is called for every page.
type pagesOf struct {
	storage.Storage
	n       int
	answers func(i int) string
	before  func(page int) error
	page    atomic.Int64
}

func (p *pagesOf) Submissions(ctx context.Context, _ storage.Actor, form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (bool, error) {
	number := int(p.page.Add(1))
	if p.before != nil {
		if err := p.before(number); err != nil {
			return false, err
		}
	}
	first, at := 0, time.Unix(1_800_000_000, 0)
	if !q.Until.IsZero() && q.Until.Before(at) {
		return false, ctx.Err()
	}
	if q.Page.After != nil {
		first = int(q.Page.After.ID[9])<<16 + int(q.Page.After.ID[10])<<8 + int(q.Page.After.ID[11]) + 1
	}
	for i := first; i < min(p.n, first+q.Page.Limit); i++ {
		if err := each(&storage.Submission{
			ID: storage.ID{9: byte(i >> 16), 10: byte(i >> 8), 11: byte(i)}, FormID: form, SubmittedAt: at,
			Answers: json.RawMessage(p.answers(i)), Metadata: json.RawMessage(`{}`), Hidden: json.RawMessage(`{}`),
		}); err != nil {
			return false, err
		}
	}
	return first+q.Page.Limit < p.n, ctx.Err()
}

func nameAnswer(i int) string {
	return fmt.Sprintf(`[{"field":{"id":"name","type":"short_text","label":"Name"},"value":"%d"}]`, i)
}

// A page at a time is in memory, whatever the number of responses. (Not parallel: the
// heap is everybody's. `make bench-exports` has the figures for a million.)
func TestAnExportHoldsOnePage(t *testing.T) { //nolint:paralleltest
	const count, bytesEach = 10_000, 1000
	text := strings.Repeat("x", bytesEach)
	var least, most uint64
	store := &pagesOf{Storage: memory.New(), n: count, answers: func(i int) string {
		return fmt.Sprintf(`[{"field":{"id":"name","type":"short_text","label":"Name"},"value":"%d%s"}]`, i, text)
	}}
	store.before = func(page int) error {
		if page%10 == 0 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			least, most = min(least, m.HeapAlloc), max(most, m.HeapAlloc)
		}
		return nil
	}
	b := servicetest.SetupOn(t, store)
	form := b.Form(servicetest.TextBlock, `{}`)
	for name, run := range map[string]func() error{
		"CSV": func() error { return b.AsHost().Export(t.Context(), io.Discard, form, formsvc.Export{}) },
		"NDJSON": func() error {
			return b.AsHost().Export(t.Context(), io.Discard, form, formsvc.Export{Format: formsvc.NDJSON})
		},
		"summary": func() error {
			_, err := b.AsHost().Summary(t.Context(), form, formsvc.SubmissionQuery{})
			return err
		},
	} {
		least, most = math.MaxUint64, 0
		expect.NoError(t, run())
		expect.That(t, most-least <= count*bytesEach/10 && most != 0,
			"%s: the heap goes from %d to %d bytes for %d bytes of answers", name, least, most, count*bytesEach)
	}
}
