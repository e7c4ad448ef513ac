// Command remote runs the conformance suite against a running server. It needs only
// the server's URL and an API key:
//
//	FORMS_KEY=fs_live_… go run github.com/formsvc/formsvc/handler/conformance/remote -url https://api.example.com/v1
//
// The key needs all scopes. The command skips cases that need other users, stored submissions or a controlled
// clock. The report starts with the number of cases that ran, and lists what the others need. Each case deletes
// the data that it creates; forms stay in the trash. The suite sends about 3,500 requests, several concurrently,
// and respects rate limits. With a key that has the default limit of 600 a minute, it takes about six minutes.
//
// -allow lists networks to which the server may send webhooks although they are not public. Without it, the
// suite expects that the server rejects all of them. The suite enables no webhook, so the server sends no
// requests because of it. A server on the same machine that allows loopback addresses is an exception: its
// enabled webhooks use a receiver of the suite.
//
// The command also skips a case if a proxy or a gateway responds instead of the service. Package conformance
// documents how the suite detects this.
//
// The exit status is 0 if no case failed, 1 if the server breaks a promise, and 2 if the suite could not start
// or continue.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/handler/conformance"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	status := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	var (
		target conformance.Target
		opts   []conformance.Option
	)
	flags := flag.NewFlagSet("remote", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&target.URL, "url", "", "base URL with the base path, such as https://api.example.com/v1")
	flags.StringVar(&target.Key, "key", "", "API key with all scopes; FORMS_KEY in the environment keeps it out of the process list")
	flags.Func("allow", "network that the server may send webhooks to although it is not public, such as 127.0.0.0/8; may be repeated", func(text string) error {
		for name := range strings.SplitSeq(text, ",") {
			network, err := netip.ParsePrefix(name)
			if addr, wrong := netip.ParseAddr(name); wrong == nil {
				network, err = addr.Prefix(addr.BitLen())
			}
			if err != nil {
				return err
			}
			target.AllowedNetworks = append(target.AllowedNetworks, network)
		}
		return nil
	})
	asJSON := flags.Bool("json", false, "write the report as JSON")
	flags.Func("only", "run this case or group, such as webhooks/create or webhooks; may be repeated", func(name string) error {
		opts = append(opts, conformance.Only(name))
		return nil
	})
	flags.Func("skip", "name=reason: leave out this case or group; may be repeated", func(text string) error {
		name, reason, _ := strings.Cut(text, "=")
		opts = append(opts, conformance.Skip(name, reason))
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if target.Key == "" {
		target.Key = getenv("FORMS_KEY")
	}
	target.ReceiverURL = receiverURL(target)
	report, err := conformance.Check(ctx, target, opts...)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return 2
	}
	if *asJSON {
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(report)
	} else {
		_, err = io.WriteString(stdout, report.String())
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return 2
	}
	switch counts := report.Counts(); {
	case counts[conformance.Failed] > 0:
		return 1
	case counts[conformance.Broken] > 0:
		return 2
	}
	return 0
}

// receiverURL returns how the server reaches a receiver of the suite: nil unless both are on this
// machine, and the server may send to loopback addresses.
func receiverURL(target conformance.Target) func(string) string {
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	allowed := slices.ContainsFunc(target.AllowedNetworks, func(p netip.Prefix) bool { return p.Contains(loopback) })
	base, err := url.Parse(target.URL)
	if err != nil || !allowed {
		return nil
	}
	addr, err := netip.ParseAddr(base.Hostname())
	if base.Hostname() != "localhost" && (err != nil || !addr.IsLoopback()) {
		return nil
	}
	return func(address string) string { return "http://" + address + "/" }
}
