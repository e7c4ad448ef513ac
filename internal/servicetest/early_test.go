package servicetest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/freeport"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
)

// earlyAnswer is a request that is answered before its body was read.
type earlyAnswer struct {
	name   string
	key    string
	media  string
	size   int // bytes of the body
	status int
}

// earlyAnswers makes the requests to POST /v1/forms that are refused early, with
// bodies that are far larger than what the sockets of both sides hold.
func earlyAnswers(b *servicetest.Bundle) []earlyAnswer {
	b.T.Helper()
	reader, spent := b.Issue(b.User.ID, storage.ScopeFormsRead).Secret, b.Issue(b.User.ID, storage.Scopes()...).Secret
	for servicetest.Get(b.T, b, "/v1/me", spent) != http.StatusTooManyRequests {
	}
	const allowed, tooMuch = 1_000_000, 5 << 20
	return []earlyAnswer{
		{"no key", "", "application/json", allowed, 401},
		{"no scope", reader, "application/json", allowed, 403},
		{"over its limit", spent, "application/json", allowed, 429},
		{"not JSON", b.Key, "text/plain", allowed, 415},
		{"too large", b.Key, "application/json", tooMuch, 413},
	}
}

// raw writes the whole request before it reads, as urllib and nginx do, and returns
// the status of the answer.
func (e earlyAnswer) raw(address, connection string, chunked bool) (int, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	var head strings.Builder
	fmt.Fprintf(&head, "POST /v1/forms HTTP/1.1\r\nHost: x\r\nConnection: %s\r\nX-API-Key: %s\r\nContent-Type: %s\r\n", connection, e.key, e.media)
	body := bytes.Repeat([]byte(" "), e.size)
	if chunked {
		fmt.Fprintf(&head, "Transfer-Encoding: chunked\r\n\r\n%x\r\n", e.size)
		body = append(body, "\r\n0\r\n\r\n"...)
	} else {
		fmt.Fprintf(&head, "Content-Length: %d\r\n\r\n", e.size)
	}
	if _, err := conn.Write(append([]byte(head.String()), body...)); err != nil {
		return 0, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, err
}

// A client that writes everything before it reads sees the status, not a reset.
func TestEarlyAnswersReachClientsThatWriteFirst(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t, formsvc.WithRateLimit(1000, time.Hour))
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	address := server.Listener.Addr().String()
	for _, e := range earlyAnswers(b) {
		for _, connection := range []string{"close", "keep-alive"} {
			for _, chunked := range []bool{false, true} {
				for range 5 {
					status, err := e.raw(address, connection, chunked)
					expect.Require(t, err == nil && status == e.status,
						"%s, Connection: %s, chunked %v: %d, %v; want %d", e.name, connection, chunked, status, err, e.status)
				}
			}
		}
	}
}

// pipes is a listener on connections in memory, which keep to the time of a
// synctest bubble.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipes) dial() net.Conn {
	server, client := net.Pipe()
	p.conns <- server
	return client
}

// serve runs a server on pipes until the test ends its part.
func servePipes(t *testing.T, h http.Handler) (p *pipes, stop func()) {
	t.Helper()
	return servePipesWithin(t, 0, h)
}

// servePipesWithin is servePipes with a ReadTimeout and WriteTimeout of the host's.
func servePipesWithin(t *testing.T, d time.Duration, h http.Handler) (p *pipes, stop func()) {
	t.Helper()
	p = newPipes()
	server := &http.Server{Handler: h, ReadTimeout: d, WriteTimeout: d}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		expect.Error(t, "Serve", server.Serve(p), http.ErrServerClosed)
	}()
	return p, func() {
		check(t, server.Shutdown(context.Background()))
		<-ended
	}
}

// Draining ends after five seconds, and the connection with it.
func TestAClientThatStallsIsAnsweredInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := servicetest.Setup(t, formsvc.WithoutRateLimit())
		p, stop := servePipes(t, b)
		conn := p.dial()
		start := time.Now()
		go func() {
			// The writes end when the server gives up.
			_, _ = io.WriteString(conn, "POST /v1/forms HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\nabc")
		}()
		answer := expect.Must(http.ReadResponse(bufio.NewReader(conn), nil))
		if took := time.Since(start); answer.StatusCode != http.StatusUnauthorized || !answer.Close || took != 5*time.Second {
			t.Errorf("%d after %v, Connection: close %v; want 401 after 5s with close", answer.StatusCode, took, answer.Close)
		}
		conn.Close()
		stop()
	})
}

// A client that sends without end is answered after a bounded number of bytes.
func TestDrainingIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t, formsvc.WithoutRateLimit())
	body := &endless{}
	r := httptest.NewRequest(http.MethodPost, "/v1/forms", body)
	w := httptest.NewRecorder()
	servicetest.Serve(t, b.Service, w, r)
	if w.Code != http.StatusUnauthorized || w.Header().Get("Connection") != "close" || body.read > 10<<20 || body.read < 1<<20 {
		t.Errorf("%d with %v after %d bytes; want 401 and Connection: close after 1 to 10 MiB", w.Code, w.Header(), body.read)
	}
}

type endless struct{ read int }

func (e *endless) Read(b []byte) (int, error) { e.read += len(b); return len(b), nil }

// A client that asks before it sends is told the answer, and not to send.
func TestAClientThatWaitsForContinueIsNotAskedToSend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := servicetest.Setup(t, formsvc.WithoutRateLimit())
		p, stop := servePipes(t, b)
		for _, c := range []struct {
			key, length string
			status      int
		}{{"", "1000", 401}, {b.Key, "9000000", 413}} {
			conn := p.dial()
			start := time.Now()
			go func() {
				_, _ = io.WriteString(conn, "POST /v1/forms HTTP/1.1\r\nHost: x\r\nX-API-Key: "+c.key+"\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: "+c.length+"\r\n\r\n")
			}()
			answer := expect.Must(http.ReadResponse(bufio.NewReader(conn), nil))
			took := time.Since(start)
			expect.That(t, answer.StatusCode == c.status && took == 0, "%d after %v, want %d at once", answer.StatusCode, took, c.status)
			conn.Close()
		}
		stop()
	})
}

// Programs that write a whole request before they read the answer see the status of
// an early one, directly and through nginx as it is configured by default. A program
// that the machine does not have is skipped; `make clients` installs and requires all.
func TestEarlyAnswersReachRealClients(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t, formsvc.WithRateLimit(1000, time.Hour))
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	answers := earlyAnswers(b)
	clients := map[string]func(t *testing.T, requests []clientRequest) []any{
		"go":          goClient,
		"urllib":      script("python3", "py", urllibClient),
		"http.client": script("python3", "py", httpClient),
		"node":        script("node", "mjs", nodeClient),
	}
	check := func(t *testing.T, base string) {
		t.Helper()
		for name, send := range clients {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var requests []clientRequest
				for _, e := range answers {
					for range 4 {
						requests = append(requests, clientRequest{base + "/v1/forms", e.key, e.media, e.size})
					}
				}
				for i, got := range send(t, requests) {
					e := answers[i/4]
					expect.That(t, got == float64(e.status), "%s: %v, want %d", e.name, got, e.status)
				}
			})
		}
	}
	t.Run("direct", func(t *testing.T) {
		t.Parallel()
		check(t, server.URL)
	})
	for _, buffering := range []string{"on", "off"} {
		t.Run("nginx with request buffering "+buffering, func(t *testing.T) {
			t.Parallel()
			check(t, nginx(t, server.URL, buffering))
		})
	}
}

// clientRequest is one request as the scripts read it.
type clientRequest struct {
	URL   string `json:"url"`
	Key   string `json:"key"`
	Media string `json:"media"`
	Size  int    `json:"size"`
}

// program finds a program, or skips the test. `make clients` sets
// FORMSVC_TEST_REQUIRE_CLIENTS, which makes a missing one a failure.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path
	case os.Getenv("FORMSVC_TEST_REQUIRE_CLIENTS") != "":
		t.Fatal(err)
	default:
		t.Skipf("%v (make clients installs it)", err)
	}
	return ""
}

// nginx runs a real one in front of upstream and returns its address.
func nginx(t *testing.T, upstream, buffering string) string {
	t.Helper()
	path := program(t, "nginx")
	dir := t.TempDir()
	address := expect.Must(freeport.Address(t.Context()))
	config := fmt.Sprintf(`
daemon off; master_process off; pid %[1]s/pid; error_log %[1]s/error.log;
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
	server {
		listen %[2]s;
		client_max_body_size 0;
		location / { proxy_pass %[3]s; proxy_request_buffering %[4]s; }
	}
}`, dir, address, upstream, buffering)
	file := filepath.Join(dir, "nginx.conf")
	expect.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	var output bytes.Buffer
	command := exec.Command(path, "-p", dir, "-c", file)
	command.Stdout, command.Stderr = &output, &output
	expect.NoError(t, command.Start())
	t.Cleanup(func() {
		check(t, command.Process.Kill())
		_ = command.Wait() // it was killed
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			conn.Close()
			return "http://" + address
		}
		expect.Require(t, ctx.Err() == nil, "nginx does not answer: %v\n%s", err, &output)
	}
}

func goClient(t *testing.T, requests []clientRequest) []any {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	var got []any
	for _, q := range requests {
		r := expect.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, q.URL, bytes.NewReader(bytes.Repeat([]byte(" "), q.Size))))
		r.Header.Set("X-API-Key", q.Key)
		r.Header.Set("Content-Type", q.Media)
		answer, err := client.Do(r)
		if err != nil {
			got = append(got, err.Error())
			continue
		}
		check(t, expect.ErrorOf(io.Copy(io.Discard, answer.Body)))
		answer.Body.Close()
		got = append(got, float64(answer.StatusCode))
	}
	return got
}

// script runs a program that reads the requests as JSON and writes a status or an
// error for each.
func script(interpreter, extension, text string) func(t *testing.T, requests []clientRequest) []any {
	return func(t *testing.T, requests []clientRequest) []any {
		t.Helper()
		path := program(t, interpreter)
		file := filepath.Join(t.TempDir(), "client."+extension)
		expect.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		input := expect.Must(json.Marshal(requests))
		var stderr bytes.Buffer
		command := exec.CommandContext(t.Context(), path, file)
		command.Stdin, command.Stderr = bytes.NewReader(input), &stderr
		output, err := command.Output()
		expect.Require(t, err == nil, "%v\n%s", err, &stderr)
		var got []any
		err = json.Unmarshal(output, &got)
		expect.Require(t, err == nil && len(got) == len(requests), "%v: %s", err, output)
		return got
	}
}

const urllibClient = `
import json, sys, urllib.request, urllib.error
out = []
for q in json.load(sys.stdin):
    r = urllib.request.Request(q["url"], data=b" " * q["size"], method="POST", headers={"X-API-Key": q["key"], "Content-Type": q["media"]})
    try:
        out.append(urllib.request.urlopen(r).status)
    except urllib.error.HTTPError as e:
        e.read()
        out.append(e.code)
    except Exception as e:
        out.append(repr(e))
json.dump(out, sys.stdout)
`

const httpClient = `
import http.client, json, sys, urllib.parse
out = []
for q in json.load(sys.stdin):
    u = urllib.parse.urlsplit(q["url"])
    c = http.client.HTTPConnection(u.hostname, u.port)
    try:
        c.request("POST", u.path, body=b" " * q["size"], headers={"X-API-Key": q["key"], "Content-Type": q["media"], "Connection": "close"})
        a = c.getresponse()
        a.read()
        out.append(a.status)
    except Exception as e:
        out.append(repr(e))
    c.close()
json.dump(out, sys.stdout)
`

const nodeClient = `
import { readFileSync } from "node:fs";
const out = [];
for (const q of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    const a = await fetch(q.url, { method: "POST", body: " ".repeat(q.size), headers: { "X-API-Key": q.key, "Content-Type": q.media } });
    await a.text();
    out.push(a.status);
  } catch (e) {
    out.push(String(e.cause ?? e));
  }
}
process.stdout.write(JSON.stringify(out));
`
