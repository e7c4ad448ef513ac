//go:build linux

package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/ledger"
)

func TestKindsTakeTurns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plan    plan
		poolers bool
		want    []string
	}{
		"all":             {plan{faults: len(kinds) + 1}, true, append(kindNames(), kinds[0].name)},
		"without poolers": {plan{faults: 5}, false, []string{kinds[0].name, kinds[1].name, kinds[2].name, kinds[3].name, kinds[5].name}},
		"some":            {plan{faults: 3, only: "Redis killed, switchover"}, true, []string{"Redis killed", "switchover", "Redis killed"}},
	} {
		all, err := schedule(c.plan, c.poolers)
		var got []string
		for _, k := range all {
			got = append(got, k.name)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q (%v), want %q", name, got, err, c.want)
		}
	}
	for _, only := range []string{"sunshine", "pooler killed"} {
		if all, err := schedule(plan{faults: 1, only: only}, false); err == nil {
			t.Errorf("-only %q without poolers is %v, want an error", only, all)
		}
	}
}

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

func TestWhatAPageCarriesIsSentBack(t *testing.T) {
	t.Parallel()
	got := inputs([]byte(`<form><input type="hidden" name="state" value="a&amp;b"><input name="a.key"><input type=hidden name=other value=1 /></form>`))
	if len(got) != 2 || got.Get("state") != "a&b" || got.Get("other") != "1" {
		t.Errorf("the inputs are %v", got)
	}
}

// Patroni with the fault that etcdSection tells of does not get the third version.
func TestWhichEtcd(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"patroni 3.0.2": "etcd", "patroni 2.1.4\n": "etcd", "patroni 3.0.3": "etcd3", "patroni 3.1.0": "etcd3", "patroni 4.0.4\n": "etcd3",
	} {
		if got, err := etcdSection(version); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", version, got, err, want)
		}
	}
	if got, err := etcdSection("command not found"); err == nil {
		t.Errorf("a version that nobody knows: %q", got)
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
