package webhooks

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/publicaddr"
	"github.com/formsvc/formsvc/storage"
)

// fuzzVariable is how long [TestFuzzedURLsReachNothingInside] fuzzes, as in go
// test's -fuzztime: "1000000x", "5m".
const fuzzVariable = "FORMSVC_TEST_FUZZTIME"

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

// FuzzClient posts to any URL, with any answer of DNS, through real sockets. It
// runs only where [TestFuzzedURLsReachNothingInside] starts it: elsewhere it would
// reach strangers.
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
	f.Fuzz(func(t *testing.T, url string, answer []byte) {
		_ = fetch(t, NewClient(ClientConfig{Resolver: addressBytes(answer), Timeout: time.Second}), url)
		d, _, err := New(Params{Store: storage.Unimplemented{}, Config: Config{Resolver: addressBytes(answer), Timeout: time.Second}})
		must(t, err)
		_ = attemptError(d, url)
		d.guarded.CloseIdleConnections()
	})
}

// The canary is in one process and the fuzzer in others, all in one network.
func TestFuzzedURLsReachNothingInside(t *testing.T) {
	if !inOwnNetwork(t) {
		return
	}
	reply := http.HandlerFunc(once)
	seen := newCanary(t, map[int]http.Handler{80: reply, 8080: reply, 443: nil, 8443: nil})
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$", "-test.fuzz=^FuzzClient$", "-test.timeout=0",
		"-test.fuzztime="+cmp.Or(os.Getenv(fuzzVariable), "2000x"), "-test.fuzzcachedir="+t.TempDir())
	cmd.Dir = t.TempDir() // where inputs that fail are written
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	reached := seen.take()
	for _, at := range reached {
		if !publicaddr.Is(at.Addr()) {
			t.Errorf("%s was reached", at)
		}
	}
	executed := regexp.MustCompile(`execs: (\d+)`).FindAllSubmatch(out, -1)
	if len(executed) == 0 || len(reached) == 0 {
		t.Fatalf("%d connections: this shows nothing\n%s", len(reached), out)
	}
	fmt.Printf("figure: %s executions, two attempts each, made %d connections\n", executed[len(executed)-1][1], len(reached))
	if strings.Contains(string(out), "panic") {
		t.Errorf("%s", out)
	}
}
