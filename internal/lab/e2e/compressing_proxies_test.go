package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/freeport"
)

// compressingProxies are programs that compress what they pass on, with their configuration. %[1]s
// is a folder, %[2]s the address to listen on, %[3]s the upstream's host and port.
var compressingProxies = map[string]struct {
	file, config string
	args         []string
}{
	"nginx": {"nginx.conf", `daemon off; master_process off; pid %[1]s/pid; error_log %[1]s/error.log;
events {}
http {
	access_log off; gzip on; gzip_proxied any; gzip_types *; gzip_min_length 0;
	client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
	server { listen %[2]s; location / { proxy_pass http://%[3]s; proxy_set_header Host $http_host; proxy_set_header Accept-Encoding ""; } }
}`, []string{"-p", "%[1]s", "-c", "%[1]s/nginx.conf"}},
	"apache2": {"apache.conf", `ServerRoot %[1]s
ServerName localhost
PidFile %[1]s/pid
ErrorLog %[1]s/error.log
Listen %[2]s
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule filter_module /usr/lib/apache2/modules/mod_filter.so
LoadModule deflate_module /usr/lib/apache2/modules/mod_deflate.so
LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so
LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so
DeflateAlterETag AddSuffix
SetOutputFilter DEFLATE
ProxyPreserveHost On
ProxyPass / http://%[3]s/
`, []string{"-X", "-f", "%[1]s/apache.conf"}},
	"caddy": {"Caddyfile", `{
	admin off
	auto_https off
}
http://%[2]s {
	encode {
		gzip
		minimum_length 1
		match {
			header Content-Type *
		}
	}
	reverse_proxy %[3]s
}
`, []string{"run", "--config", "%[1]s/Caddyfile", "--adapter", "caddyfile"}},
}

// The builder saves behind proxies that compress and change ETags, each in its way.
func TestTheBuilderSavesBehindCompressingProxies(t *testing.T) {
	for name, proxy := range compressingProxies {
		t.Run(name, func(t *testing.T) {
			program, err := exec.LookPath(name)
			if err != nil && os.Getenv("FORMSVC_TEST_REQUIRE_CLIENTS") == "" {
				t.Skipf("there is no %s", name)
			} else if err != nil {
				t.Fatal(err)
			}
			s := newOwners(t)
			form := s.draft("Behind", `[{"id":"a","type":"short_text","label":"Zero"}]`)
			upstream := strings.TrimPrefix(s.server.URL, "http://")
			dir := t.TempDir()
			if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // a server's other user reads it
				t.Fatal(err)
			}
			address := expect.Must(freeport.Address(t.Context()))
			fill := func(text string) string { return fmt.Sprintf(text+"%.0[1]s%.0[2]s%.0[3]s", dir, address, upstream) }
			expect.NoError(t, os.WriteFile(filepath.Join(dir, proxy.file), []byte(fill(proxy.config)), 0o600))
			var args []string
			for _, arg := range proxy.args {
				args = append(args, fill(arg))
			}
			runProxy(t, program, address, args)
			s.server.URL = "http://" + address // where the browser goes from here on

			tag := s.tagBehind(t, form.ID.String())
			b := s.ownersTab(1280, 900)
			h := s.hand(b, true)
			h.start("/"+form.ID.String(), ".outline")
			h.edit("a")
			for _, text := range []string{"First", "Second", "Third"} {
				h.write(`document.querySelector("[data-path='/label'] [role=textbox]")`, text)
				h.saved()
				expect.Equal(t, s.label(form, "a"), text, "the page says that all is saved; stored")
			}
			t.Logf("an ETag is %s behind %s", tag, name)
		})
	}
}

// tagBehind is the ETag of a form as the proxy passes it on.
func (s *site) tagBehind(t *testing.T, form string) string {
	t.Helper()
	r := expect.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/forms/-/v1/forms/"+form, nil))
	r.AddCookie(&http.Cookie{Name: userCookie, Value: "owner"})
	response := expect.Must(http.DefaultClient.Do(r))
	defer func() { _ = response.Body.Close() }()
	return response.Header.Get("Etag")
}

// runProxy starts a proxy and waits until it accepts connections.
func runProxy(t *testing.T, program, address string, args []string) {
	t.Helper()
	var output bytes.Buffer
	command := exec.Command(program, args...) //nolint:noctx // the test's end kills it
	command.Stdout, command.Stderr = &output, &output
	command.Env = append(os.Environ(), "HOME="+t.TempDir())
	expect.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill() // it may have ended
		_ = command.Wait()
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = conn.Close()
			return
		}
		expect.Require(t, ctx.Err() == nil, "%s does not listen: %v\n%s", program, err, &output)
	}
}
