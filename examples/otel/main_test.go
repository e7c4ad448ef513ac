package main

import (
	"bytes"
	"context"
	"testing"
	"time"
)

// ends stops the program when it prints a word. The figures come one print after the other.
type ends struct {
	bytes.Buffer
	when string
	stop func()
}

func (e *ends) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(e.when)) {
		e.stop()
	}
	return e.Buffer.Write(p)
}

// The program prints its own delivery.
func TestRun(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	out := &ends{when: `"Name":"formsvc.webhook.attempts"`, stop: stop}
	if err := run(ctx, "127.0.0.1:0", 10*time.Millisecond, out); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(out.Bytes(), []byte(`{"Key":"outcome","Value":{"Type":"STRING","Value":"success"}}`)) {
		t.Errorf("it printed %s", out)
	}
}
