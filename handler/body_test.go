package handler

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

// trickle gives its bytes a few at a time and notes how much more room the reader
// had than it has sent.
type trickle struct {
	left, sent int
	most       int // the largest room beyond what was sent
}

func (r *trickle) Read(b []byte) (int, error) {
	r.most = max(r.most, len(b)-r.sent)
	n := min(len(b), r.left, 700)
	if n == 0 {
		return 0, io.EOF
	}
	for i := range n {
		b[i] = ' '
	}
	r.left -= n
	r.sent += n
	return n, nil
}

// A Content-Length is a claim: sixty bytes of headers must not pin a megabyte.
func TestABodysBufferGrowsWithWhatArrives(t *testing.T) {
	for _, claimed := range []int64{1 << 20, 100_000, -1} {
		body := &trickle{left: 100_000}
		r := httptest.NewRequest(http.MethodPost, "/", body)
		r.ContentLength = claimed
		r.Header.Set("Content-Type", "application/json")
		c := &call{h: &api{core: &core.Core{Limits: schema.Limits{Body: 1 << 20}}}, r: r}
		got, err := c.readBody()
		expect.Require(t, err == nil && len(got) == 100_000, "claimed %d: %d bytes, %v", claimed, len(got), err)
		// Growing doubles, so the room is never much more than what is there already.
		expect.That(t, body.most <= 2*initialBufferSize, "claimed %d: room for %d bytes more than had arrived", claimed, body.most)
	}
}

func BenchmarkReadBody(b *testing.B) {
	for name, size := range map[string]int{"300B": 300, "30kB": 30_000, "1MB": 1_000_000} {
		b.Run(name, func(b *testing.B) {
			h := &api{core: &core.Core{Limits: schema.Limits{Body: 1 << 20}}}
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				r := &http.Request{Method: http.MethodPost, ProtoMajor: 1, Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(size)}
				r.Body = io.NopCloser(io.LimitReader(zeros{}, int64(size)))
				c := &call{h: h, r: r}
				if got, err := c.readBody(); err != nil || len(got) != size {
					b.Fatal(len(got), err)
				}
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }
