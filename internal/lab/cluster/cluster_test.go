//go:build linux

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/ledger"
)

func TestHalfOrdersAreFound(t *testing.T) {
	t.Parallel()
	stored := func(keys ...string) (all []ledger.Submission) {
		for _, key := range keys {
			all = append(all, ledger.Submission{Key: key})
		}
		return all
	}
	for name, c := range map[string]struct {
		stored []ledger.Submission
		orders []string
		want   int
	}{
		"whole":                    {stored("orders 1.1", "Go 1.1"), []string{"orders 1.1"}, 0},
		"an order without":         {stored("Go 1.1"), []string{"orders 1.1"}, 1},
		"a response without":       {stored("orders 1.1"), nil, 1},
		"two orders, one response": {stored("orders 1.1"), []string{"orders 1.1", "orders 1.2"}, 1},
	} {
		if found := halfOrders(c.stored, c.orders); len(found) != c.want {
			t.Errorf("%s: found %q, want %d", name, found, c.want)
		}
	}
}

// The limiter is that of examples/replicas, which cannot be imported.
func TestTheLimiterIsThatOfReplicas(t *testing.T) {
	t.Parallel()
	theirs, err := os.ReadFile("../../../examples/replicas/limiter.go")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile("limiter.go")
	if err != nil {
		t.Fatal(err)
	}
	want := "//go:build linux\n\n" + strings.ReplaceAll(string(theirs), "replicas: ", "cluster: ")
	if string(ours) != want {
		t.Error("limiter.go is not that of examples/replicas any more")
	}
}
