package webhooks

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// Tests that show where connections end up run in a network namespace of their
// own, in which every address of IPv4 and IPv6 is local: whatever is dialed is
// accepted by a listener of the test, and nothing leaves the machine.

const (
	// requireVariable makes a missing namespace a failure.
	requireVariable = "FORMSVC_TEST_REQUIRE_NETNS"
	// cannot begins the line with which a process says why it has no namespace.
	cannot = "no network of its own: "
)

// settings are the files in /etc that looking up a name depends on.
var settings = map[string]string{
	// Five dots: names with fewer are tried with the search list first.
	"resolv.conf":   "nameserver 127.0.0.1\nsearch corp.test example\noptions ndots:5 timeout:2 attempts:1\n",
	"nsswitch.conf": "hosts: files dns\n",
	"hosts": "127.0.0.1 localhost\n::1 localhost\n" +
		"10.0.0.7 inside-in-hosts.example\n8.8.4.4 public-in-hosts.example\n127.0.0.1 loopback-in-hosts.example\n" +
		"10.1.2.3 onpremises\n10.2.2.3 elsewhere\n",
}

// inOwnNetwork runs the calling test once more, in another process that has a
// network of its own and env, and reports whether this is that process. It skips
// the test where namespaces are not permitted.
func inOwnNetwork(t *testing.T, env ...string) bool {
	t.Helper()
	if os.Getenv(insideVariable) != "" {
		if err := makeEverythingLocal(); err != nil {
			t.Fatal(cannot, err)
		}
		return true
	}
	out, err := runInOwnNetwork(t, []string{"-test.run=^" + regexp.QuoteMeta(t.Name()) + "$", "-test.v", "-test.timeout=2m"}, env)
	if why := reasonOf(out, err); why != "" {
		if os.Getenv(requireVariable) != "" {
			t.Fatal(cannot, why)
		}
		t.Skip(cannot, why)
	}
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Fatalf("in its own network: %v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if _, figure, ok := strings.Cut(line, "figure: "); ok {
			t.Log(strings.Join(env, " "), strings.TrimSpace(figure))
		}
	}
	return false
}

// runInOwnNetwork runs this test binary in new namespaces for network and mounts;
// where that takes a privilege that we lack, in one for users too.
func runInOwnNetwork(t *testing.T, args, env []string) ([]byte, error) {
	t.Helper()
	etc := filepath.Join(t.TempDir(), "etc")
	must(t, os.Mkdir(etc, 0o755))
	for name, text := range settings {
		must(t, os.WriteFile(filepath.Join(etc, name), []byte(text), 0o644))
	}
	var out []byte
	var err error
	for _, users := range []uintptr{0, syscall.CLONE_NEWUSER} { // root needs no user namespace
		cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
		cmd.Env = append(append(os.Environ(), insideVariable+"="+etc), env...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | users, Pdeathsig: syscall.SIGKILL}
		if users != 0 {
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
		}
		runtime.LockOSThread() // Pdeathsig is about the thread
		out, err = cmd.CombinedOutput()
		runtime.UnlockOSThread()
		if reasonOf(out, err) == "" {
			break
		}
	}
	return out, err
}

// reasonOf returns why a process has no network of its own, empty when it has.
func reasonOf(out []byte, err error) string {
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return err.Error() // it was not started
	}
	for line := range strings.Lines(string(out)) {
		if _, why, ok := strings.Cut(line, cannot); ok {
			return strings.TrimSpace(why)
		}
	}
	return ""
}

// makeEverythingLocal puts settings in the place of /etc and routes every address
// to the loopback device.
func makeEverythingLocal() error {
	// What happens to mounts here must not be seen outside.
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if err := syscall.Mount(os.Getenv(insideVariable), "/etc", "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount over /etc: %w", err)
	}
	s, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, syscall.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("netlink: %w", err)
	}
	defer func() { _ = syscall.Close(s) }()

	// ip link set lo up: struct ifinfomsg of device 1, which is lo.
	up := binary.NativeEndian.AppendUint32(make([]byte, 4), 1)
	up = binary.NativeEndian.AppendUint32(up, syscall.IFF_UP)
	up = binary.NativeEndian.AppendUint32(up, syscall.IFF_UP)
	if err := ask(s, syscall.RTM_NEWLINK, 0, up); err != nil {
		return fmt.Errorf("lo up: %w", err)
	}
	for _, family := range []byte{syscall.AF_INET, syscall.AF_INET6} {
		// ip route add local 0.0.0.0/0 dev lo: struct rtmsg, then one attribute.
		route := []byte{family, 0, 0, 0, syscall.RT_TABLE_LOCAL, syscall.RTPROT_BOOT, syscall.RT_SCOPE_HOST, syscall.RTN_LOCAL, 0, 0, 0, 0}
		route = binary.NativeEndian.AppendUint16(route, 8)
		route = binary.NativeEndian.AppendUint16(route, syscall.RTA_OIF)
		route = binary.NativeEndian.AppendUint32(route, 1)
		if err := ask(s, syscall.RTM_NEWROUTE, syscall.NLM_F_CREATE|syscall.NLM_F_REPLACE, route); err != nil {
			return fmt.Errorf("route of family %d: %w", family, err)
		}
	}
	return nil
}

// ask sends one netlink message and returns the error with which it is answered.
func ask(socket int, kind, flags uint16, payload []byte) error {
	message := binary.NativeEndian.AppendUint32(nil, uint32(syscall.NLMSG_HDRLEN+len(payload)))
	message = binary.NativeEndian.AppendUint16(message, kind)
	message = binary.NativeEndian.AppendUint16(message, flags|syscall.NLM_F_REQUEST|syscall.NLM_F_ACK)
	message = append(append(message, make([]byte, 8)...), payload...)
	if err := syscall.Sendto(socket, message, 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return err
	}
	buffer := make([]byte, 4096)
	n, _, err := syscall.Recvfrom(socket, buffer, 0)
	if err != nil {
		return err
	}
	answers, err := syscall.ParseNetlinkMessage(buffer[:n])
	if err != nil {
		return err
	}
	for _, a := range answers {
		if a.Header.Type == syscall.NLMSG_ERROR && len(a.Data) >= 4 {
			if code := int32(binary.NativeEndian.Uint32(a.Data)); code != 0 {
				return syscall.Errno(-code)
			}
			return nil
		}
	}
	return errors.New("no answer")
}

// canary accepts connections to all addresses on some ports and remembers which
// address each of them was for.
type canary struct {
	mu      sync.Mutex
	reached []netip.AddrPort
}

// newCanary listens on the ports. Where handler is nil, a connection is closed as
// soon as it is noted: enough for ports on which a TLS hello arrives.
func newCanary(t testing.TB, handlers map[int]http.Handler) *canary {
	t.Helper()
	c := &canary{}
	var running sync.WaitGroup
	t.Cleanup(running.Wait) // after what closes the listeners
	for port, handler := range handlers {
		// One socket takes both families.
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "[::]:"+strconv.Itoa(port))
		must(t, err)
		if handler == nil {
			running.Go(func() { c.closeAll(l) })
			t.Cleanup(func() { _ = l.Close() })
			continue
		}
		s := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute, ConnState: func(conn net.Conn, state http.ConnState) {
			if state == http.StateNew {
				c.note(conn)
			}
		}}
		running.Go(func() {
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				t.Errorf("canary: %v", err)
			}
		})
		t.Cleanup(func() { _ = s.Close() })
	}
	return c
}

func (c *canary) closeAll(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		c.note(conn)
		_ = conn.Close()
	}
}

func (c *canary) note(conn net.Conn) {
	at := conn.LocalAddr().(*net.TCPAddr).AddrPort()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reached = append(c.reached, netip.AddrPortFrom(at.Addr().Unmap(), at.Port()))
}

// take returns what was reached since the last call.
func (c *canary) take() []netip.AddrPort {
	c.mu.Lock()
	defer c.mu.Unlock()
	reached := c.reached
	c.reached = nil
	return reached
}

// once answers 204 and ends the connection.
func once(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Connection", "close")
	w.WriteHeader(http.StatusNoContent)
}

// nameServer answers for all of DNS on 127.0.0.1:53, over UDP and TCP.
//
// A name of the form <hex>.<hex>.ip.example has the addresses that its first
// labels spell. Others are in zone: a list of turns, the answers to the first
// query for a type, the second and so on; the last turn stays. An answer is an
// address or, after "=", the name of which it is an alias.
type nameServer struct {
	zone map[string][][]string

	mu    sync.Mutex
	asked map[string]int
}

func newNameServer(t *testing.T, zone map[string][][]string) *nameServer {
	t.Helper()
	s := &nameServer{zone: zone, asked: map[string]int{}}
	packets, err := (&net.ListenConfig{}).ListenPacket(context.Background(), "udp", "127.0.0.1:53")
	must(t, err)
	streams, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:53")
	must(t, err)
	var running sync.WaitGroup
	running.Go(func() {
		buffer := make([]byte, 4096)
		for {
			n, from, err := packets.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = packets.WriteTo(s.answer(buffer[:n], 512), from)
		}
	})
	running.Go(func() {
		for {
			conn, err := streams.Accept()
			if err != nil {
				return
			}
			running.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() { _ = packets.Close(); _ = streams.Close(); running.Wait() })
	return s
}

// serve answers the queries on one TCP connection.
func (s *nameServer) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		answer := s.answer(query, 65535)
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// answer returns the reply to a query; one that is longer than limit is cut, so
// that the client asks again over TCP.
func (s *nameServer) answer(query []byte, limit int) []byte {
	var p dnsmessage.Parser
	header, err := p.Start(query)
	if err != nil {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: header.ID, Response: true, RecursionDesired: header.RecursionDesired, RecursionAvailable: true},
		Questions: []dnsmessage.Question{q},
	}
	records, exists := s.records(q)
	m.Answers = records
	if !exists {
		m.RCode = dnsmessage.RCodeNameError
	}
	packed, err := m.Pack()
	if err != nil || len(packed) > limit {
		m.Answers, m.Truncated = nil, true
		packed, _ = m.Pack()
	} else {
		s.count(q)
	}
	return packed
}

func (s *nameServer) count(q dnsmessage.Question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[key(q)]++
}

func key(q dnsmessage.Question) string {
	return q.Type.String() + " " + strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
}

// records follows aliases and returns the addresses of the type asked for.
func (s *nameServer) records(q dnsmessage.Question) (out []dnsmessage.Resource, exists bool) {
	s.mu.Lock()
	turn := s.asked[key(q)]
	s.mu.Unlock()
	name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	for range 10 {
		answers, ok := s.lookUp(name, turn)
		if !ok {
			return out, false
		}
		head := dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(name + "."), Class: dnsmessage.ClassINET}
		next := ""
		for _, a := range answers {
			if alias, ok := strings.CutPrefix(a, "="); ok {
				next = alias
				out = append(out, dnsmessage.Resource{Header: head, Body: &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(alias + ".")}})
				continue
			}
			switch addr := netip.MustParseAddr(a); {
			case addr.Is4() && q.Type == dnsmessage.TypeA:
				out = append(out, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: addr.As4()}})
			case addr.Is6() && q.Type == dnsmessage.TypeAAAA:
				out = append(out, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
			}
		}
		if next == "" {
			return out, true
		}
		name = next
	}
	return out, true // an endless chain of aliases
}

func (s *nameServer) lookUp(name string, turn int) ([]string, bool) {
	if spelled, ok := strings.CutSuffix(name, ".ip.example"); ok {
		var out []string
		for label := range strings.SplitSeq(spelled, ".") {
			b, err := hex.DecodeString(label)
			addr, ok := netip.AddrFromSlice(b)
			if err != nil || !ok {
				return nil, false
			}
			out = append(out, addr.String())
		}
		return out, true
	}
	turns, ok := s.zone[name]
	if !ok {
		return nil, false
	}
	return turns[min(turn, len(turns)-1)], true
}

// spelled returns the name that has the addresses.
func spelled(addrs ...string) string {
	var name strings.Builder
	for _, a := range addrs {
		name.WriteString(hex.EncodeToString(netip.MustParseAddr(a).AsSlice()) + ".")
	}
	return name.String() + "ip.example"
}
