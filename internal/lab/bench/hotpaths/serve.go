package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/pprof"
	"slices"
	"time"
)

// served is what a serving process offers: a handler and the request for it.
type served struct {
	handler http.Handler
	request *http.Request
	close   func() error
}

// serve is the serving process of one alternative. It ends with its standard input.
func serve(ctx context.Context, s suite, o options) (err error) {
	i := slices.IndexFunc(s.alternatives, func(a alternative) bool { return a.name == o.serve })
	if i < 0 {
		return fmt.Errorf("no alternative is called %q", o.serve)
	}
	db, err := openDatabase(ctx, o.schema, o.connections)
	if err != nil {
		return err
	}
	defer db.pool.Close()
	offer, err := s.alternatives[i].open(ctx, db)
	if err != nil {
		return err
	}
	if offer.close != nil {
		defer func() { err = errors.Join(err, offer.close()) }()
	}
	if o.profile != "" {
		file, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it waits for nothing
	if err != nil {
		return err
	}
	server := &http.Server{Handler: offer.handler, ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()

	var request bytes.Buffer
	if err := offer.request.Write(&request); err != nil {
		return err
	}
	fmt.Printf("%s %d\n", listener.Addr(), request.Len())
	if _, err := os.Stdout.Write(request.Bytes()); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	err = server.Close()
	if fault := <-ended; !errors.Is(fault, http.ErrServerClosed) {
		err = errors.Join(err, fault)
	}
	return err
}
