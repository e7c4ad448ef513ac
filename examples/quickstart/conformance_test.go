package main

import (
	"net/netip"
	"testing"

	"github.com/formsvc/formsvc/handler/conformance"
)

// The quickstart's API, asked with the key that it prints and nothing else. The key
// has the default rate limit, so only some groups run.
func TestThePrintedKeyIsEnoughForTheSuite(t *testing.T) {
	t.Parallel()
	q := start(t)
	conformance.Run(t, func(*testing.T) conformance.Target {
		return conformance.Target{
			URL: q.url + "/v1", Key: q.demo.Key,
			AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")},
		}
	}, conformance.Only("mounting", "description", "request-id", "me", "workspaces", "forms", "webhooks/create", "webhooks/update", "analytics"),
		conformance.Skip("mounting/host-header", "the program answers to its own hosts only"))
}
