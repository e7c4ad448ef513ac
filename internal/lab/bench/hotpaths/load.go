package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc/internal/lab/bench/cpu"
)

// sample is what one load found. Times are in milliseconds; own and postgres are
// processor time for 1,000 requests.
type sample struct{ rate, own, postgres, p50, p99 float64 }

// load sends the server's request again and again from c connections. The client
// is as small as can be, so that the machine is left to the server: it writes the
// same bytes and reads the answer's length and body.
func load(ctx context.Context, srv *server, postgres cpu.Server, c int, duration time.Duration) (sample, error) {
	connections := make([]net.Conn, c)
	for i := range connections {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", srv.address)
		if err != nil {
			return sample{}, err
		}
		defer func() { _ = conn.Close() }()
		connections[i] = conn
	}
	pid := strconv.Itoa(srv.command.Process.Pid)
	own, inPostgres := cpu.Of(pid), postgres.Used()
	began := time.Now()
	var number atomic.Int64
	var group sync.WaitGroup
	times := make([][]time.Duration, c)
	faults := make(chan error, c)
	for i, conn := range connections {
		group.Go(func() {
			in := bufio.NewReaderSize(conn, 64<<10)
			request := bytes.Clone(srv.request)
			place := bytes.Index(request, []byte(placeholder))
			for time.Since(began) < duration && ctx.Err() == nil {
				if place >= 0 {
					copy(request[place:], fmt.Sprintf("%0*x", len(placeholder), uint64(began.UnixNano())<<16+uint64(number.Add(1)))[:len(placeholder)])
				}
				sent := time.Now()
				if err := exchange(conn, in, request); err != nil {
					faults <- err
					return
				}
				times[i] = append(times[i], time.Since(sent))
			}
		})
	}
	group.Wait()
	took := time.Since(began)
	own, inPostgres = cpu.Of(pid)-own, postgres.Used()-inPostgres
	select {
	case err := <-faults:
		return sample{}, err
	default:
	}
	all := slices.Sorted(slices.Values(slices.Concat(times...)))
	n := float64(len(all))
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return sample{
		rate: n / took.Seconds(),
		own:  ms(own) / n * 1000, postgres: ms(inPostgres) / n * 1000,
		p50: ms(all[len(all)/2]), p99: ms(all[len(all)*99/100]),
	}, ctx.Err()
}

// placeholder stands in a request for 16 digits that are new each time.
const placeholder = "0123456789abcdef"

// exchange sends a request and reads its answer, which must be a success.
func exchange(conn net.Conn, in *bufio.Reader, request []byte) error {
	if _, err := conn.Write(request); err != nil {
		return err
	}
	status, err := in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(status, []byte("HTTP/1.1 2")) {
		return fmt.Errorf("answered with %s", bytes.TrimSpace(status))
	}
	length, chunked := -1, false
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) <= 2 {
			break
		}
		chunked = chunked || bytes.Equal(line, []byte("Transfer-Encoding: chunked\r\n"))
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
	}
	if chunked {
		_, err = io.Copy(io.Discard, httputil.NewChunkedReader(in))
		if err == nil {
			_, err = in.ReadSlice('\n') // no trailer follows
		}
		return err
	}
	if length < 0 {
		return errors.New("an answer without a length")
	}
	_, err = in.Discard(length)
	return err
}
