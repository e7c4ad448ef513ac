package webhooks

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// Tests that show where connections end up run in a network namespace of their
// own, in which every address of IPv4 and IPv6 is local: whatever is dialled is
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
