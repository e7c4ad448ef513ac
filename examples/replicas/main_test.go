package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/conformance"
	"github.com/formsvc/formsvc/handler/conformance/servicetarget"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage/postgres"
)

// cluster is three processes behind a load balancer.
type cluster struct {
	url       string // of the load balancer
	service   *formsvc.Service
	processes []*exec.Cmd
	dead      atomic.Bool // the first process is gone
}

var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "replicas")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "replicas")
	return path, exec.CommandContext(context.Background(), "go", "build", "-o", path, ".").Run()
})

func start(t *testing.T, rate int, transport http.RoundTripper) *cluster {
	t.Helper()
	schema := pgtest.Schema(t)
	pool := pgtest.Pool(t, pgtest.MaxConns(4))
	server := startRedis(t)
	path := must(binary())
	c := &cluster{}
	var urls []*url.URL
	for range 3 {
		process := exec.CommandContext(t.Context(), path, "-addr", "127.0.0.1:0", "-database-url", pgtest.URL(t), "-schema", schema,
			"-redis", server, "-redis-timeout", "5s", "-rate", strconv.Itoa(rate), "-loopback") // other tests keep the machine busy
		process.Stderr = os.Stderr
		out := must(process.StdoutPipe())
		noError(t, process.Start())
		t.Cleanup(func() {
			_ = process.Process.Signal(os.Interrupt) // it may be gone
			_ = process.Wait()
		})
		line := must(bufio.NewReader(out).ReadString('\n'))
		urls = append(urls, &url.URL{Scheme: "http", Host: strings.TrimSpace(strings.TrimPrefix(line, "listening on "))})
		c.processes = append(c.processes, process)
	}
	c.url = balance(t, c, urls, transport)
	// What the API cannot do, this process does on the same database.
	c.service = must(formsvc.New(formsvc.WithStorage(postgres.New(pool, postgres.WithSchema(schema)))))
	return c
}

// balance sends each request to the next process. A nil transport is the default one.
func balance(t *testing.T, c *cluster, urls []*url.URL, transport http.RoundTripper) string {
	t.Helper()
	var next atomic.Int64
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		i := next.Add(1) % int64(len(urls))
		if i == 0 && c.dead.Load() {
			i = 1
		}
		to := *r.In.URL
		to.Scheme, to.Host = urls[i].Scheme, urls[i].Host
		r.Out.URL = &to
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// ReverseProxy may cut off a response that begins before it has seen the end of the request
		// (go.dev/issue/40747), so it gets the request from memory.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		r.Body, _ = r.GetBody()
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// startRedis starts a Redis of the test's own and returns its address.
func startRedis(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skipf("%v (make clients installs it)", err)
	}
	address := filepath.Join(t.TempDir(), "redis") // a socket: a free port may not be free when Redis begins
	command := exec.CommandContext(t.Context(), path, "--port", "0", "--unixsocket", address, "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	noError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait() // killed
	})
	client := redis.NewClient(&redis.Options{Addr: address})
	defer func() { _ = client.Close() }()
	for deadline := time.Now().Add(time.Minute); client.Ping(t.Context()).Err() != nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("redis does not answer")
		}
	}
	return address
}

func (c *cluster) target() conformance.Target {
	target := servicetarget.New(c.service, c.url+"/v1")
	target.AllowedNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	target.ReceiverURL = func(address string) string { return "http://" + address + "/" }
	return target
}

// Each request of the suite goes to another process than the one before.
func TestThreeProcessesAreOneAPI(t *testing.T) {
	conformance.Run(t, func(t *testing.T) conformance.Target { return start(t, 1_000_000, nil).target() },
		conformance.Skip("ratelimit", "see TestTheRateIsThatOfAllProcesses"),
		conformance.Skip("webhooks/url-unresolved", "the processes would ask a name server"),
		conformance.Skip("auth/expired", "the processes' clock is the real one"),
		conformance.Skip("forms/opens-in-time", "the processes' clock is the real one"),
		conformance.Skip("forms/closes-in-time", "the processes' clock is the real one"),
		conformance.Skip("analytics/periods", "the processes' clock is the real one"),
		conformance.Skip("routing/unknown-method", "the load balancer sees the request first"),
		conformance.Skip("routing/unclean-path", "the load balancer sees the request first"),
	)
}

// untilCounted sends a request again that passed uncounted and changed nothing: for a limit the
// service waits 250 ms at most, which a busy machine may need for a connection to Redis.
type untilCounted struct{}

func (untilCounted) RoundTrip(r *http.Request) (*http.Response, error) {
	for deadline := time.Now().Add(time.Minute); ; {
		r := r.Clone(r.Context())
		if r.Body != nil {
			r.Body, _ = r.GetBody()
		}
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil || r.Header.Get("X-Api-Key") == "" || res.Header.Get("RateLimit") != "" || time.Now().After(deadline) {
			return res, err
		}
		read := r.Method == http.MethodGet && res.StatusCode == http.StatusOK
		if !read && res.StatusCode != http.StatusBadRequest {
			return res, nil
		}
		_ = res.Body.Close()
	}
}

func TestTheRateIsThatOfAllProcesses(t *testing.T) {
	conformance.Run(t, func(t *testing.T) conformance.Target {
		target := start(t, 6, untilCounted{}).target()
		target.RateLimit = 6
		return target
	}, conformance.Only("ratelimit"))
}

// A process that is killed takes nothing with it: what it was to deliver, the others do.
func TestAProcessMayDie(t *testing.T) {
	c := start(t, 1_000_000, nil)
	target := c.target()
	var mu sync.Mutex
	got := make(map[string]bool)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		buffer := make([]byte, 64)
		n, _ := r.Body.Read(buffer)
		got[string(buffer[:n])] = true // the body begins with the event's id
		w.WriteHeader(http.StatusNoContent)
	}))
	defer receiver.Close()

	form := c.form(t, target, receiver.URL)
	const responses = 60
	for i := range responses {
		must(target.Submit(t.Context(), conformance.Response{Form: form}))
		if i == responses/2 {
			c.dead.Store(true)
			noError(t, c.processes[0].Process.Kill())
		}
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		mu.Lock()
		n := len(got)
		mu.Unlock()
		if n == responses {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d events arrived", n, responses)
		}
	}
}

// form makes a published form with a webhook.
func (c *cluster) form(t *testing.T, target conformance.Target, hook string) string {
	t.Helper()
	user := formsvc.UserIDFrom("ann")
	key := must(target.CreateKey(t.Context(), user.String(), []string{"forms:write", "webhooks:write", "workspaces:write"}))
	workspace := must(c.service.CreateWorkspace(t.Context(), user, "Research"))
	send := func(method, path, body string) string {
		r := must(http.NewRequestWithContext(t.Context(), method, c.url+"/v1"+path, strings.NewReader(body)))
		r.Header.Set("X-Api-Key", key)
		r.Header.Set("Content-Type", "application/json")
		res := must(http.DefaultClient.Do(r))
		defer func() { _ = res.Body.Close() }()
		text, err := bufio.NewReader(res.Body).ReadString('\n')
		if err != nil || !slices.Contains([]int{http.StatusOK, http.StatusCreated}, res.StatusCode) {
			t.Fatalf("%s %s: %d %s %v", method, path, res.StatusCode, text, err)
		}
		_, id, _ := strings.Cut(text, `"id":"`)
		return id[:24]
	}
	form := send(http.MethodPost, "/forms", `{"workspace_id":"`+workspace.ID.String()+`","name":"F"}`)
	send(http.MethodPatch, "/forms/"+form, `{"status":"published"}`)
	send(http.MethodPost, "/webhooks", `{"form_id":"`+form+`","url":"`+hook+`"}`)
	return form
}

// must returns a value that is there unless the test is broken.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// noError ends a test at an error.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
