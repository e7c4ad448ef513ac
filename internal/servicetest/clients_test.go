package servicetest_test

import (
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
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
)

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
					if e := answers[i/4]; got != float64(e.status) {
						t.Errorf("%s: %v, want %d", e.name, got, e.status)
					}
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
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
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
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	command := exec.Command(path, "-p", dir, "-c", file)
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := command.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = command.Wait() // it was killed
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			conn.Close()
			return "http://" + address
		}
		if ctx.Err() != nil {
			t.Fatalf("nginx does not answer: %v\n%s", err, &output)
		}
	}
}

func goClient(t *testing.T, requests []clientRequest) []any {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	var got []any
	for _, q := range requests {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, q.URL, bytes.NewReader(bytes.Repeat([]byte(" "), q.Size)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-API-Key", q.Key)
		r.Header.Set("Content-Type", q.Media)
		answer, err := client.Do(r)
		if err != nil {
			got = append(got, err.Error())
			continue
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Error(err)
		}
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
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		input, err := json.Marshal(requests)
		if err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		command := exec.CommandContext(t.Context(), path, file)
		command.Stdin, command.Stderr = bytes.NewReader(input), &stderr
		output, err := command.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, &stderr)
		}
		var got []any
		if err := json.Unmarshal(output, &got); err != nil || len(got) != len(requests) {
			t.Fatalf("%v: %s", err, output)
		}
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
