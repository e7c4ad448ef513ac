package webhooks

import (
	"context"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/publicaddr"
	"github.com/formsvc/formsvc/storage"
)

// addressBytes is a resolver that reads its addresses from bytes: an even byte
// and four more are an IPv4 address, an odd one and sixteen an IPv6 address.
type addressBytes []byte

func (b addressBytes) LookupNetIP(context.Context, string, string) (out []netip.Addr, err error) {
	for len(b) > 0 {
		size := 4 + 12*int(b[0]%2)
		if len(b) < 1+size {
			break
		}
		addr, _ := netip.AddrFromSlice(b[1 : 1+size])
		out, b = append(out, addr), b[1+size:]
	}
	return out, nil
}

func (b addressBytes) with(addr string) addressBytes {
	a := netip.MustParseAddr(addr)
	return append(append(b, byte(a.BitLen()/128)), a.AsSlice()...)
}

// FuzzClient posts to any URL, whatever DNS responds, through real sockets. It runs only where
// [TestFuzzedURLsReachNothingInside] starts it, because elsewhere it would reach strangers.
func FuzzClient(f *testing.F) {
	if os.Getenv(insideVariable) == "" {
		f.Skip("it runs in a network of its own, below TestFuzzedURLsReachNothingInside")
	}
	public := addressBytes(nil).with("8.8.8.8").with("2606:4700::1111")
	for _, c := range otherCases {
		f.Add(c.url, []byte(public))
	}
	for _, a := range append(slices.Clone(insideAddresses), publicAddresses...) {
		f.Add("http://h.example/", []byte(addressBytes(nil).with(a)))
		f.Add("http://h.example/", []byte(public.with(a)))
	}
	f.Fuzz(func(t *testing.T, url string, addresses []byte) {
		_ = fetch(t, NewClient(ClientConfig{Resolver: addressBytes(addresses), Timeout: time.Second}), url)
		d, _, err := New(Params{Store: storage.Unimplemented{}, Config: Config{Resolver: addressBytes(addresses), Timeout: time.Second}})
		must(t, err)
		_ = attemptError(d, url)
		d.guarded.CloseIdleConnections()
	})
}

// The canary is in one process and the fuzzer in another, both in one network.
func TestFuzzedURLsReachNothingInside(t *testing.T) {
	if !inOwnNetwork(t) {
		return
	}
	reply := http.HandlerFunc(once)
	seen := newCanary(t, map[int]http.Handler{80: reply, 8080: reply, 443: nil, 8443: nil})
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$", "-test.fuzz=^FuzzClient$", "-test.timeout=0",
		"-test.fuzztime=2000x", "-test.fuzzcachedir="+t.TempDir())
	cmd.Dir = t.TempDir() // where inputs that fail are written
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	reached := seen.take()
	if len(reached) == 0 {
		t.Errorf("no connection was made, so this shows nothing\n%s", out)
	}
	for _, at := range reached {
		if !publicaddr.Is(at.Addr()) {
			t.Errorf("%s was reached", at)
		}
	}
}
