package webhooks

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

const (
	// hostileTimeout is what one attempt has in these tests, and slack what a busy
	// machine may add before a test calls it late.
	hostileTimeout = 400 * time.Millisecond
	slack          = 20 * time.Second
	// maxAllocated bounds what one attempt and its receiver allocate in all.
	maxAllocated = 8 << 20
	// maxLine bounds a line of the log.
	maxLine = 2 << 10
)

// behavior answers one connection whose request has been read.
type behavior func(net.Conn)

// writes sends parts in turn.
func writes(parts ...string) behavior {
	return func(conn net.Conn) {
		for _, p := range parts {
			if _, err := io.WriteString(conn, p); err != nil {
				return
			}
		}
	}
}

// endless sends start and then block until the other side has enough.
func endless(start, block string) behavior {
	block = strings.Repeat(block, max(1, 16<<10/len(block)))
	return func(conn net.Conn) {
		_, err := io.WriteString(conn, start)
		for err == nil {
			_, err = io.WriteString(conn, block)
		}
	}
}

// drips sends start and then a piece every 10 ms.
func drips(start, piece string) behavior {
	return func(conn net.Conn) {
		_, err := io.WriteString(conn, start)
		for err == nil {
			time.Sleep(10 * time.Millisecond) // slowness is what is tested
			_, err = io.WriteString(conn, piece)
		}
	}
}

// holds sends start and then nothing more.
func holds(start string) behavior {
	return func(conn net.Conn) {
		_, _ = io.WriteString(conn, start)
		_, _ = io.Copy(io.Discard, conn)
	}
}

// resets sends start and then RST.
func resets(start string) behavior {
	return func(conn net.Conn) {
		_, _ = io.WriteString(conn, start)
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
}

// bomb is 16 kB that a reader which trusts it turns into 16 MB.
var bomb = sync.OnceValue(func() string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	zeros := make([]byte, 1<<20)
	for range 16 {
		_, _ = w.Write(zeros)
	}
	_ = w.Close()
	return b.String()
})

// hostile is what receivers do, what becomes of the attempt and whether it must
// end long before its deadline.
var hostile = map[string]struct {
	answer behavior
	status int
	class  string
	early  bool
}{
	"a redirect to a private address":   {writes("HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/\r\nContent-Length: 0\r\n\r\n"), 302, ClassRedirect, true},
	"a redirect to itself":              {writes("HTTP/1.1 307 Temporary Redirect\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"), 307, ClassRedirect, true},
	"a redirect to nowhere":             {writes("HTTP/1.1 308 Permanent Redirect\r\nLocation: http://[::1%25lo]:x/\r\nContent-Length: 0\r\n\r\n"), 308, ClassRedirect, true},
	"a redirect without a location":     {writes("HTTP/1.1 301 Moved Permanently\r\nContent-Length: 0\r\n\r\n"), 301, ClassRedirect, true},
	"a refresh to a private address":    {writes("HTTP/1.1 200 OK\r\nRefresh: 0; url=http://10.0.0.1/\r\nContent-Length: 0\r\n\r\n"), 200, "", true},
	"another service named instead":     {writes("HTTP/1.1 200 OK\r\nAlt-Svc: h2=\"10.0.0.1:443\"\r\nContent-Length: 0\r\n\r\n"), 200, "", true},
	"101, then silence":                 {holds("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"), 101, ClassStatus, true},
	"101, then an endless stream":       {endless("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", "x"), 101, ClassStatus, true},
	"endless 100":                       {endless("", "HTTP/1.1 100 Continue\r\n\r\n"), 0, ClassNetwork, true},
	"endless 103 with headers":          {endless("", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), 0, ClassNetwork, true},
	"dripping 102":                      {drips("", "HTTP/1.1 102 Processing\r\n\r\n"), 0, ClassTimeout, false},
	"an endless status line":            {endless("HTTP/1.1 200 ", "A"), 0, ClassNetwork, true},
	"an endless line of no protocol":    {endless("", "A"), 0, ClassNetwork, true},
	"a long line of no protocol":        {writes(strings.Repeat("\x00", 32<<10) + "\r\n\r\n"), 0, ClassNetwork, true},
	"endless headers":                   {endless("HTTP/1.1 200 OK\r\n", "X-A: b\r\n"), 0, ClassNetwork, true},
	"endless headers of one byte":       {endless("HTTP/1.1 200 OK\r\n", "a:\r\n"), 0, ClassNetwork, true},
	"one endless header":                {endless("HTTP/1.1 200 OK\r\nX-A: ", "a"), 0, ClassNetwork, true},
	"an endless folded header":          {endless("HTTP/1.1 200 OK\r\nX-A: a\r\n", " a\r\n"), 0, ClassNetwork, true},
	"dripping headers":                  {drips("HTTP/1.1 200 OK\r\n", "X-A: b\r\n"), 0, ClassTimeout, false},
	"a status line of one byte at once": {drips("H", "T"), 0, ClassTimeout, false},
	"an endless body":                   {endless("HTTP/1.1 200 OK\r\n\r\n", "a"), 200, "", true},
	"an endless body of a failure":      {endless("HTTP/1.1 500 Internal Server Error\r\n\r\n", "a"), 500, ClassStatus, true},
	"a body of 2^62 bytes":              {endless("HTTP/1.1 200 OK\r\nContent-Length: 4611686018427387904\r\n\r\n", "a"), 200, "", true},
	"an endless chunked body":           {endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n"), 200, "", true},
	"an endless chunk extension":        {endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", "a"), 200, "", true},
	"a huge chunk":                      {endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n", "a"), 200, "", true},
	"endless trailers":                  {endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n0\r\n", "X: a\r\n"), 200, "", true},
	"a dripping body":                   {drips("HTTP/1.1 200 OK\r\n\r\n", "a"), 200, "", false},
	"a body that never comes":           {holds("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"), 200, "", false},
	"a gzip bomb": {func(conn net.Conn) {
		writes("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n", bomb())(conn)
	}, 200, "", true},
	"no answer":                          {holds(""), 0, ClassTimeout, false},
	"a closed connection":                {writes(), 0, ClassNetwork, true},
	"a reset":                            {resets(""), 0, ClassNetwork, true},
	"a reset in the headers":             {resets("HTTP/1.1 200 OK\r\nX-A:"), 0, ClassNetwork, true},
	"a reset in the body":                {resets("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123"), 200, "", true},
	"two lengths":                        {writes("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"), 0, ClassNetwork, true},
	"a status of four digits":            {writes("HTTP/1.1 2000 OK\r\n\r\n"), 0, ClassNetwork, true},
	"a negative status":                  {writes("HTTP/1.1 -20 OK\r\n\r\n"), 0, ClassNetwork, true},
	"a status of zero":                   {writes("HTTP/1.1 000 OK\r\nContent-Length: 0\r\n\r\n"), 0, ClassStatus, true},
	"HTTP/2":                             {writes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 0, ClassNetwork, true},
	"the greeting of another service":    {writes("220 mail.example ESMTP\r\n"), 0, ClassNetwork, true},
	"control characters in the answer":   {writes("\x1b[2J\x00\r\n\r\n"), 0, ClassNetwork, true},
	"more than was asked for":            {writes("HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 500 Internal Server Error\r\n\r\n"), 204, "", true},
	"an answer without reading the body": {writes("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\n\r\n"), 413, ClassStatus, true},
}

// listen starts a receiver on loopback. The returned function ends it.
func listen(t *testing.T, r behavior) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		request := make([]byte, 64<<10)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.SetDeadline(time.Now().Add(hostileTimeout + slack)) // in case the other side never ends
			_, _ = conn.Read(request)
			r(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return "http://" + l.Addr().String() + "/"
}

// hostileDispatcher may reach loopback and logs to the returned buffer.
func hostileDispatcher(t testing.TB, timeout time.Duration) (*Dispatcher, *logBuffer) {
	t.Helper()
	text := &logBuffer{}
	d, _, err := New(Params{
		Store:  storage.Unimplemented{},
		Config: Config{Timeout: timeout, AllowedNetworks: loopback, Resolver: resolver{"h.example": {"127.0.0.1"}}},
		Logger: slog.New(slog.NewJSONHandler(text, nil)),
	})
	must(t, err)
	t.Cleanup(d.guarded.CloseIdleConnections)
	return d, text
}

// attemptAt makes one delivery and tells how long it took.
func attemptAt(d *Dispatcher, url string, body []byte) (storage.Delivery, time.Duration) {
	started := time.Now()
	e := d.deliver(context.Background(), &storage.ClaimedDelivery{URL: url, Body: body, Attempt: 1})
	return *e.Delivery, time.Since(started)
}

// checkAttempt compares an attempt with what is wanted of it, and the log with it.
func checkAttempt(t *testing.T, a storage.Delivery, text string, status int, class string) {
	t.Helper()
	if a.Status != status || a.Error != class || a.Success != (class == "") {
		t.Errorf("status %d, class %q, success %v; want %d, %q", a.Status, a.Error, a.Success, status, class)
	}
	if class != "" && !strings.Contains(text, fmt.Sprintf("%q:%q", "class", class)) || class == "" && text != "" {
		t.Errorf("the log says %s", text)
	}
	for line := range strings.Lines(text) {
		expect(t, len(line) <= maxLine, "a line of the log has %d bytes", len(line))
	}
}

// Not parallel: memory is counted for the whole process.
func TestHostileReceivers(t *testing.T) {
	// net/http writes bytes that come on an idle connection to the standard logger.
	previous := log.Writer()
	log.SetOutput(io.Discard)
	defer log.SetOutput(previous)
	bomb() // before anything is counted
	direct := func(tr http.RoundTripper) http.RoundTripper { return tr }
	wrapped := func(tr http.RoundTripper) http.RoundTripper { return roundTrip(tr.RoundTrip) }
	for name, h := range hostile {
		if testing.Short() && !h.early { // make test-all runs those that take until their deadline
			continue
		}
		for through, wrap := range map[string]func(http.RoundTripper) http.RoundTripper{"": direct, ", through a host's transport": wrapped} {
			t.Run(name+through, func(t *testing.T) {
				timeout := hostileTimeout
				switch {
				case h.early:
					timeout = slack // however busy the machine is, it must end before that
				case h.status != 0:
					timeout = 3 * time.Second // the status comes before that
				}
				d, text := hostileDispatcher(t, timeout)
				d.transport = wrap(d.transport)
				url := listen(t, h.answer)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				a, took := attemptAt(d, url, []byte("{}"))
				runtime.ReadMemStats(&after)
				checkAttempt(t, a, text.String(), h.status, h.class)
				switch {
				case !h.early && took > timeout+slack/2, h.early && took >= slack/2:
					t.Errorf("it took %s of %s", took, timeout)
				case !h.early && took < hostileTimeout/2:
					t.Errorf("it took only %s: the receiver is not what its name says", took)
				}
				if got := after.TotalAlloc - before.TotalAlloc; got > maxAllocated {
					t.Errorf("%d bytes were allocated", got)
				}
			})
		}
	}
}

// Not parallel: the standard logger is the whole process's.
func TestWhatNobodyAskedForMakesAShortLine(t *testing.T) {
	text := &logBuffer{}
	previous := log.Writer()
	log.SetOutput(text)
	defer log.SetOutput(previous)
	d, _ := hostileDispatcher(t, slack)
	_, _ = attemptAt(d, listen(t, writes("HTTP/1.1 204 No Content\r\n\r\n"+strings.Repeat("\x00", 16<<10))), []byte("{}"))
	waits(t, "net/http logs it", func() bool { return text.String() != "" })
	if got := len(text.String()); got > 5<<10 {
		t.Errorf("%d bytes", got)
	}
}

// One deadline bounds whatever an attempt waits for, and all parts together.
func TestEachWaitEndsAtTheDeadline(t *testing.T) {
	t.Parallel()
	unread, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = unread.Close() }() // connections wait in the backlog
	late := resolverFunc(func(ctx context.Context) error {
		select {
		case <-time.After(hostileTimeout * 3 / 4):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	slow := listen(t, func(conn net.Conn) {
		time.Sleep(hostileTimeout / 2) // within a timeout of its own
		_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
	})
	ended := make(chan struct{})
	silent := listen(t, func(conn net.Conn) { holds("")(conn); close(ended) })
	for name, c := range map[string]struct {
		url      string
		body     []byte
		resolver Resolver
	}{
		"a receiver that does not read":    {"http://" + unread.Addr().String() + "/", make([]byte, 64<<20), nil},
		"a resolver that does not answer":  {"http://h.example/", nil, silentResolver{}},
		"a slow resolver, a slow receiver": {at(t, slow, "h.example"), nil, late},
		"a TLS handshake without an end":   {strings.Replace(silent, "http:", "https:", 1), nil, nil},
	} {
		d, text := hostileDispatcher(t, hostileTimeout)
		if c.resolver != nil {
			d.guard.resolver = c.resolver
		}
		a, took := attemptAt(d, c.url, c.body)
		checkAttempt(t, a, text.String(), 0, ClassTimeout)
		if took < hostileTimeout || took > hostileTimeout+slack/2 {
			t.Errorf("%s: it took %s of %s", name, took, hostileTimeout)
		}
	}
	select { // net/http does not end the connection with its request
	case <-ended:
	case <-time.After(slack):
		t.Error("the connection stays")
	}
}

// resolverFunc answers with loopback when it returns nil.
type resolverFunc func(context.Context) error

func (f resolverFunc) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	if err := f(ctx); err != nil {
		return nil, err
	}
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

func TestHostileTLS(t *testing.T) {
	t.Parallel()
	authority := newAuthority(t)
	other := newAuthority(t)
	for name, c := range map[string]struct {
		config *tls.Config
		status int
		class  string
	}{
		"a good certificate":           {&tls.Config{Certificates: authority.issue(t, "h.example", time.Hour)}, 204, ""},
		"TLS 1.2":                      {&tls.Config{Certificates: authority.issue(t, "h.example", time.Hour), MaxVersion: tls.VersionTLS12}, 204, ""},
		"another name":                 {&tls.Config{Certificates: authority.issue(t, "other.example", time.Hour)}, 0, ClassNetwork},
		"very many names":              {&tls.Config{Certificates: authority.issue(t, "x.example "+strings.Repeat("many.example ", 500), time.Hour)}, 0, ClassNetwork},
		"a name above":                 {&tls.Config{Certificates: authority.issue(t, "*.h.example", time.Hour)}, 0, ClassNetwork},
		"an expired certificate":       {&tls.Config{Certificates: authority.issue(t, "h.example", -time.Hour)}, 0, ClassNetwork},
		"an authority nobody knows":    {&tls.Config{Certificates: other.issue(t, "h.example", time.Hour)}, 0, ClassNetwork},
		"TLS 1.1":                      {&tls.Config{Certificates: authority.issue(t, "h.example", time.Hour), MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, 0, ClassNetwork},
		"TLS 1.0":                      {&tls.Config{Certificates: authority.issue(t, "h.example", time.Hour), MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10}, 0, ClassNetwork},
		"a demand for our certificate": {&tls.Config{Certificates: authority.issue(t, "h.example", time.Hour), ClientAuth: tls.RequireAnyClientCert}, 0, ClassNetwork},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := tlsServer(t, c.config, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
			d, text := hostileDispatcher(t, 10*time.Second)
			d.guarded.tls.RootCAs = authority.pool
			a, _ := attemptAt(d, url, nil)
			checkAttempt(t, a, text.String(), c.status, c.class)
		})
	}
}

// A receiver with an authority of the host's own gets the host's certificate when it asks.
func TestTheHostsCertificates(t *testing.T) {
	t.Parallel()
	authority := newAuthority(t)
	ours := authority.issueFor(t, "sender.example", time.Hour, x509.ExtKeyUsageClientAuth)
	show := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &ours[0], nil }
	for name, c := range map[string]struct {
		config Config
		class  string
	}{
		"both":           {Config{RootCAs: authority.pool, ClientCertificate: show}, ""},
		"no certificate": {Config{RootCAs: authority.pool}, ClassNetwork},
		"no authority":   {Config{ClientCertificate: show}, ClassNetwork},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown := make(chan string, 1)
			config := &tls.Config{Certificates: authority.issue(t, "h.example", time.Hour), ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority.pool}
			url := tlsServer(t, config, func(_ http.ResponseWriter, r *http.Request) { shown <- r.TLS.PeerCertificates[0].DNSNames[0] })
			c.config.AllowedNetworks, c.config.Resolver = loopback, resolver{"h.example": {"127.0.0.1"}}
			d := newDispatcher(t, c.config)
			a, _ := attemptAt(d, url, nil)
			expect(t, a.Error == c.class, "class %q, want %q", a.Error, c.class)
			close(shown)
			if got := <-shown; c.class == "" && got != "sender.example" {
				t.Errorf("the certificate of %q was shown", got)
			}
		})
	}
}

// tlsServer starts a receiver named h.example and returns its URL.
func tlsServer(t *testing.T, config *tls.Config, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2, s.TLS = true, config
	s.StartTLS()
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	must(t, err)
	return "https://h.example:" + port + "/"
}

// authority issues certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pool        *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	certificate, err := x509.ParseCertificate(der)
	must(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(certificate)
	return &authority{certificate: certificate, key: key, pool: pool}
}

// issue returns a receiver's certificate for names that is valid for a while yet.
func (a *authority) issue(t *testing.T, names string, valid time.Duration) []tls.Certificate {
	t.Helper()
	return a.issueFor(t, names, valid, x509.ExtKeyUsageServerAuth)
}

func (a *authority) issueFor(t *testing.T, names string, valid time.Duration, use x509.ExtKeyUsage) []tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: strings.Fields(names),
		NotBefore: time.Now().Add(-23 * time.Hour), NotAfter: time.Now().Add(valid),
		ExtKeyUsage: []x509.ExtKeyUsage{use},
	}, a.certificate, &key.PublicKey, a.key)
	must(t, err)
	return []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}
}
