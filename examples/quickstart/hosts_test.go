package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

// A page of somebody else, in the browser of whoever runs this, must not read the key by
// letting its own name lead here.
func TestOnlyItsOwnHostsAreAnswered(t *testing.T) {
	q := start(t)
	_, port, err := net.SplitHostPort(q.listener.Addr().String())
	expect.NoError(t, err)
	for host, want := range map[string]int{
		"":          http.StatusOK, // that of the URL
		"localhost": http.StatusOK, "LocalHost:" + port: http.StatusOK, "127.0.0.1": http.StatusOK, "127.0.0.1:" + port: http.StatusOK,
		"[::1]": http.StatusOK, "[::1]:" + port: http.StatusOK, "localhost:9000": http.StatusOK, // a forwarded port
		"rebound.example": http.StatusMisdirectedRequest, "rebound.example:" + port: http.StatusMisdirectedRequest,
		"127.0.0.1.rebound.example:" + port: http.StatusMisdirectedRequest, "localhost.rebound.example": http.StatusMisdirectedRequest,
		"a.localhost": http.StatusMisdirectedRequest, "8.8.8.8:" + port: http.StatusMisdirectedRequest, "10.0.0.1": http.StatusMisdirectedRequest,
	} {
		for _, path := range []string{"/forms/", "/docs", "/v1/openapi.json"} {
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, q.url+path, nil)
			r.Host = host
			status, _, body := q.do(t, r)
			expect.That(t, status == want, "Host %q: %s is %d, want %d", host, path, status, want)
			expect.That(t, want == http.StatusOK || !strings.Contains(body, q.demo.Key), "Host %q: %s shows the key", host, path)
		}
	}
}

// Listening on all interfaces, it answers under the address that it was reached by.
func TestTheAddressOfTheConnectionIsItsOwn(t *testing.T) {
	answered := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	for host, want := range map[string]int{"127.0.0.2": http.StatusNoContent, "192.0.2.7:80": http.StatusNoContent, "192.0.2.8": http.StatusMisdirectedRequest} {
		w := httptest.NewRecorder()
		r, _ := http.NewRequestWithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, net.TCPAddrFromAddrPort(netip.MustParseAddrPort("192.0.2.7:8080"))), http.MethodGet, "http://"+host+"/", nil)
		ownHosts(answered).ServeHTTP(w, r)
		expect.That(t, w.Code == want, "%s: %d, want %d", host, w.Code, want)
	}
}
