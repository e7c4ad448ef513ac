// Package dialguard keeps on this machine what a test program sends. It is for tests: no
// package of the library imports it.
//
// A program whose TestMain runs through [Guard] fails every dial but those to loopback
// addresses and unix sockets before a packet leaves, and fails as a whole when there was
// one. What is guarded: the client of package webhooks, and so every dispatcher;
// http.DefaultTransport and what is cloned of it, and so every http.Client without a
// Transport; questions to name servers, whoever dials, unless it has a resolver of its
// own.
//
// What it does not see: an address that is dialed as it is by another dialer (net.Dial,
// an http.Transport made anew, pgx), datagrams of an unconnected socket, and what other
// processes send (a browser, PostgreSQL, nginx). TestWhoDials holds the
// library to the dialers that are guarded, and the packages whose tests dial to a guard.
// A database that an environment variable names is reached by a loopback address.
package dialguard

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/formsvc/formsvc/internal/publicaddr"
)

var (
	mu      sync.Mutex
	refused []string
)

// Guard guards this program from now on, and returns m as one that fails when a dial was
// refused. It is called once, in TestMain, before anything runs.
func Guard(m interface{ Run() int }) interface{ Run() int } {
	publicaddr.BeforeDial = outside
	dialer := &net.Dialer{Timeout: 30 * time.Second, Control: func(network, address string, _ syscall.RawConn) error {
		if strings.HasPrefix(network, "unix") {
			return nil
		}
		return outside(address)
	}}
	http.DefaultTransport.(*http.Transport).DialContext = dialer.DialContext //nolint:forcetypeassert // nothing else is in its place
	// A name server on this machine asks others, so none is asked.
	*net.DefaultResolver = net.Resolver{PreferGo: true, Dial: func(_ context.Context, _, address string) (net.Conn, error) {
		return nil, refuse("the name server " + address)
	}}
	return guarded{m}
}

// outside refuses an address that is not a loopback one.
func outside(address string) error {
	if ap, err := netip.ParseAddrPort(address); err == nil && ap.Addr().Unmap().IsLoopback() {
		return nil
	}
	return refuse(address)
}

func refuse(what string) error {
	mu.Lock()
	defer mu.Unlock()
	refused = append(refused, what)
	return fmt.Errorf("dialguard: %s is not on this machine, and tests send to nobody else", what)
}

// Refused returns what was refused since it was called last.
func Refused() []string {
	mu.Lock()
	defer mu.Unlock()
	list := refused
	refused = nil
	return list
}

type guarded struct{ m interface{ Run() int } }

// Run runs the tests. The exit status is at least 1 when a dial was refused that no test
// asked [Refused] about.
func (g guarded) Run() int {
	code := g.m.Run()
	if list := Refused(); len(list) > 0 {
		slices.Sort(list)
		fmt.Fprintf(os.Stderr, "FAIL: dialguard: %d dials were refused, to %s\n", len(list), strings.Join(slices.Compact(list), ", "))
		code = max(code, 1)
	}
	return code
}

// Names is a resolver for a webhooks.Config: localhost is this machine, and no other name
// exists. Nobody is asked.
type Names struct{}

// LookupNetIP implements webhooks.Resolver.
func (Names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if strings.TrimSuffix(host, ".") == "localhost" {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}
