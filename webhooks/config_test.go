package webhooks

import (
	"math"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage/memory"
)

func TestConfigRefuses(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]Config{
		"Timeout":         {Timeout: -time.Second},
		"Timeout is 2h":   {Timeout: 2 * time.Hour},
		"InFlight":        {InFlight: -1},
		"InFlightWebhook": {InFlightWebhook: -1},
		"HeaderPrefix":    {HeaderPrefix: "A B"},
		"cannot begin":    {HeaderPrefix: "A\r\nX: y"},
		"one name":        {HeaderPrefix: "webhook", StandardWebhooks: true},
		"65,536":          {InFlight: 1 << 17},
		"UserAgent":       {UserAgent: "a\r\nX: y"},
		"Jitter":          {Retry: RetryPolicy{Jitter: 1}},
		"Jitter is NaN":   {Retry: RetryPolicy{Jitter: math.NaN()}},
		"Delays[1]":       {Retry: RetryPolicy{Delays: []time.Duration{1, -1}}},
		"AllowedNetworks": {AllowedNetworks: []netip.Prefix{{}}},
		"::ffff:10.0.0.0": {AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("::ffff:10.0.0.0/104")}},
	} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want one about %s", c, err, want)
		}
		if _, _, err := New(Params{Store: memory.New(), Config: c}); err == nil {
			t.Errorf("New accepts %+v", c)
		}
	}
	if _, _, err := New(Params{}); err == nil {
		t.Error("New accepts no store")
	}
	err := Config{InFlight: -1, Timeout: -1}.Validate()
	if err == nil || !strings.Contains(err.Error(), "InFlight") || !strings.Contains(err.Error(), "Timeout") {
		t.Errorf("two faults: %v", err)
	}
}

func TestZeroConfigHasTheDefaults(t *testing.T) {
	t.Parallel()
	if err := (Config{}).Validate(); err != nil {
		t.Fatal(err)
	}
	c := Config{}.withDefaults()
	if c.Timeout != 15*time.Second || c.InFlight != 64 || c.InFlightWebhook != 4 || c.HeaderPrefix != "Service" ||
		c.UserAgent != "formsvc-webhook/1.0" || len(c.Retry.Delays) != len(defaultDelays) || c.Retry.Jitter != 0.2 || c.Observer != nil {
		t.Errorf("defaults are %+v", c)
	}
	if guard := NewGuard(GuardConfig{Resolver: c.Resolver}); guard.resolver != net.DefaultResolver {
		t.Errorf("names are looked up by %v", guard.resolver)
	}
}
