//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/formsvc/formsvc/internal/lab/pgtest/pgrun"
)

// plan has the values of the flags.
type plan struct {
	faults  int
	only    string // kinds of faults, separated by commas
	poolers int    // of the hosts, how many reach PostgreSQL through PgBouncer
	seed    uint64
	logs    string // a directory
}

// The program starts itself again in other parts, which are its first argument.
const (
	partInit  = "init"  // the first process of the namespaces
	partDrive = "drive" // what happens inside
	partHost  = "host"  // a host
)

func main() {
	part, args := "", os.Args[1:]
	if len(args) > 0 {
		part = args[0]
	}
	var err error
	switch part {
	case partInit:
		err = runInit(args[1:])
	case partHost:
		err = runHost(args[1:])
	case partDrive:
		err = drive(args[1:])
	default:
		err = outside(args)
	}
	if err == nil {
		return
	}
	if !errors.Is(err, errInside) { // which has said why
		fmt.Fprintln(os.Stderr, "cluster:", err)
	}
	os.Exit(1)
}

func parse(args []string) (p plan, err error) {
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.IntVar(&p.faults, "faults", 20, "how many faults")
	flags.StringVar(&p.only, "only", "", "kinds of faults, separated by commas: "+strings.Join(kindNames(), ", "))
	flags.IntVar(&p.poolers, "poolers", 1, "how many of the three hosts reach PostgreSQL through PgBouncer")
	flags.Uint64Var(&p.seed, "seed", 0, "shuffles the faults, unless it is 0")
	flags.StringVar(&p.logs, "logs", "", "an existing directory for the logs of all processes")
	return p, flags.Parse(args)
}

// outside is the part that the user starts.
func outside(args []string) error {
	if _, err := parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if err := install(context.Background()); err != nil {
		return skipped(err)
	}
	err := enterNamespaces(args)
	if errors.Is(err, errNoNamespaces) {
		return skipped(err)
	}
	return err
}

// skipped ends the program where the cluster cannot be had, without an error unless
// FORMSVC_TEST_REQUIRE_CLUSTER says that it must be had.
func skipped(err error) error {
	if os.Getenv("FORMSVC_TEST_REQUIRE_CLUSTER") != "" {
		return err
	}
	fmt.Println("cluster: SKIPPED:", err)
	return nil
}

// programs are what the cluster is made of, and the packages of Debian that have them.
var programs = []struct{ name, packages string }{
	{"patroni", "patroni python3-etcd"},
	{"etcd", "etcd-server"},
	{"pgbouncer", "pgbouncer"},
	{"haproxy", "haproxy"},
	{"redis-server", "redis-server"},
	{"ip", "iproute2"},
}

// install installs what is missing, and starts nothing.
func install(ctx context.Context) error {
	var missing []string
	// Debian has some of them where the path of a user who is not root does not lead.
	if err := os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin"); err != nil {
		return err
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p.name); err != nil {
			missing = append(missing, strings.Fields(p.packages)...)
		}
	}
	if _, err := (pgrun.Finder{}).Postgres(ctx); err != nil {
		missing = append(missing, "postgresql")
	}
	if len(missing) == 0 {
		return nil
	}
	fmt.Fprintln(os.Stderr, "cluster: installing", strings.Join(missing, " "))
	return pgrun.Installer{}.Install(ctx, missing...)
}
