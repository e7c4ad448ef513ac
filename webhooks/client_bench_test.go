package webhooks

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// benchmarkPosts sends one request after the other over a connection that is kept
// alive, each made anew as a delivery's is.
func benchmarkPosts(b *testing.B, c *http.Client, url string) {
	b.Helper()
	b.ReportAllocs()
	body := strings.Repeat("x", 1100)
	for b.Loop() {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, strings.NewReader(body))
		must(b, err)
		resp, err := c.Do(req)
		must(b, err)
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	c.CloseIdleConnections()
}

// BenchmarkClient is the cost of the guard for each request, beside a plain
// client with the same limit of time.
func BenchmarkClient(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	defer s.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	b.Run("plain", func(b *testing.B) {
		benchmarkPosts(b, &http.Client{Transport: &http.Transport{}, Timeout: DefaultTimeout}, s.URL)
	})
	guarded := func() *http.Client {
		return NewClient(ClientConfig{AllowedNetworks: loopback, Resolver: resolver{"h.example": {"127.0.0.1"}}})
	}
	b.Run("guarded, an address", func(b *testing.B) { benchmarkPosts(b, guarded(), s.URL) })
	b.Run("guarded, a name", func(b *testing.B) { benchmarkPosts(b, guarded(), "http://h.example:"+port+"/hook") })
}

// BenchmarkGuard is the guard alone, without a network.
func BenchmarkGuard(b *testing.B) {
	guard := NewGuard(GuardConfig{})
	for name, url := range map[string]string{
		"a name": "https://hooks.example.com/services/T000/B000?x=1", "a name that is mapped": "https://Bücher.example/",
		"an IPv4 address": "http://8.8.8.8/", "an IPv6 address": "http://[2606:4700::1111]/", "refused": "http://127.0.0.1/",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = guard.parse(url)
			}
		})
	}
	b.Run("a dialled address", func(b *testing.B) {
		addr := netip.MustParseAddr("2606:4700::1111")
		for b.Loop() {
			_ = guard.permits(addr)
		}
	})
}
