//go:build unix

package webhooks

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// receiver starts a receiver in a process of its own, so that what it costs is not counted
// as the sender's, and returns its address.
func receiver(b *testing.B) string {
	b.Helper()
	c := exec.CommandContext(b.Context(), os.Args[0])
	c.Env, c.Stderr = append(os.Environ(), receiverVariable+"=1"), os.Stderr
	in, err := c.StdinPipe()
	must(b, err)
	out, err := c.StdoutPipe()
	must(b, err)
	must(b, c.Start())
	b.Cleanup(func() { _ = in.Close(); _ = c.Wait() })
	address, err := bufio.NewReader(out).ReadString('\n')
	must(b, err)
	return strings.TrimSpace(address)
}

// worked is the processor time that this process has used.
func worked(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkDelivery is the processor time that a delivery takes in this process, 64 at a
// time. It begins with a bare loop over connections, which is the least time, and adds
// more and more parts of a dispatcher.
func BenchmarkDelivery(b *testing.B) {
	const atOnce = DefaultInFlight
	address := receiver(b)
	url, body := "http://"+address+"/hook", bytes.Repeat([]byte("x"), 1100)
	const secret = "a secret of the usual length"
	var bare float64 // of the part that runs first
	measure := func(name string, prepare func(b *testing.B) (send func())) {
		b.Run(name, func(b *testing.B) {
			send := prepare(b)
			b.ReportAllocs()
			runtime.GC()
			before := worked(b)
			b.ResetTimer()
			send()
			b.StopTimer()
			each := float64(worked(b)-before) / float64(b.N)
			if name == "bare" {
				bare = each
			}
			b.ReportMetric(each, "cpu-ns/op")
			b.ReportMetric(each/bare, "×bare")
		})
	}
	// parallel sends from as many goroutines as there are requests at one time.
	parallel := func(b *testing.B, start func() (send func() error)) func() {
		return func() {
			var left atomic.Int64
			left.Store(int64(b.N))
			var senders sync.WaitGroup
			for range atOnce {
				senders.Go(func() {
					send := start()
					for left.Add(-1) >= 0 {
						if err := send(); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			senders.Wait()
		}
	}

	measure("bare", func(b *testing.B) func() {
		return parallel(b, func() func() error {
			conn, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", address)
			must(b, err)
			b.Cleanup(func() { _ = conn.Close() })
			var request []byte
			answer := make([]byte, 4096)
			return func() error {
				request = fmt.Appendf(request[:0], "POST /hook HTTP/1.1\r\nHost: %s\r\nUser-Agent: bare\r\nContent-Type: application/json\r\n"+
					"Service-Version: 1.0.0\r\nService-Signature: %s\r\nContent-Length: %d\r\n\r\n", address, Sign(secret, body), len(body))
				request = append(request, body...)
				if _, err := conn.Write(request); err != nil {
					return err
				}
				n, err := conn.Read(answer)
				if err == nil && !bytes.HasPrefix(answer[:n], []byte("HTTP/1.1 200 OK")) {
					err = fmt.Errorf("answer %q", answer[:n])
				}
				return err
			}
		})
	})
	measure("http.Client", func(b *testing.B) func() {
		c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: atOnce}, Timeout: DefaultTimeout}
		b.Cleanup(c.CloseIdleConnections)
		return parallel(b, func() func() error {
			return func() error {
				req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, bytes.NewReader(body))
				if err != nil {
					return err
				}
				req.Header.Set("Service-Signature", Sign(secret, body))
				resp, err := c.Do(req)
				if err != nil {
					return err
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				return resp.Body.Close()
			}
		})
	})
	measure("an attempt", func(b *testing.B) func() {
		d, _, err := New(Params{Store: storage.Unimplemented{}, Config: Config{AllowedNetworks: loopback}})
		must(b, err)
		b.Cleanup(d.guarded.CloseIdleConnections)
		sealed := d.secrets.Seal(storage.ID{}, secret)
		del := &storage.ClaimedDelivery{URL: url, Body: body, Attempt: 1, Secret: sealed}
		return parallel(b, func() func() error {
			return func() error {
				if e := d.deliver(b.Context(), del); !e.Delivery.Success {
					return fmt.Errorf("status %d, %s", e.Delivery.Status, e.Delivery.Error)
				}
				return nil
			}
		})
	})
	measure("a dispatcher", func(b *testing.B) func() {
		run := newBench(b, Config{InFlightWebhook: 4}, nil)
		run.seen.attempts = make(chan storage.Delivery, b.N)
		hooks := make([]storage.ID, 100)
		for i := range hooks {
			hooks[i] = run.webhook(fmt.Sprintf("%s/%d", url, i), append([]byte{0}, secret...))
		}
		for i := range b.N {
			run.event(hooks[i%len(hooks)], string(body))
		}
		return func() {
			ctx, cancel := context.WithCancel(b.Context())
			done := make(chan error)
			go func() { done <- run.d.Run(ctx) }()
			for range b.N {
				<-run.seen.attempts
			}
			cancel()
			must(b, <-done)
		}
	})
}
