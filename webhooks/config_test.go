package webhooks

import (
	"context"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formsvc/formsvc/internal/dispatch"
	"github.com/formsvc/formsvc/internal/secrets"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

func TestConfigRefuses(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]Config{
		"Timeout":           {Timeout: -time.Second},
		"Timeout is 2h":     {Timeout: 2 * time.Hour},
		"InFlight":          {InFlight: -1},
		"InFlightWebhook":   {InFlightWebhook: -1},
		"HeaderPrefix":      {HeaderPrefix: "A B"},
		"not a valid start": {HeaderPrefix: "A\r\nX: y"},
		"the same name":     {HeaderPrefix: "webhook", StandardWebhooks: true},
		"65,536":            {InFlight: 1 << 17},
		"UserAgent":         {UserAgent: "a\r\nX: y"},
		"Jitter":            {Retry: RetryPolicy{Jitter: 1}},
		"Jitter is NaN":     {Retry: RetryPolicy{Jitter: math.NaN()}},
		"Delays[1]":         {Retry: RetryPolicy{Delays: []time.Duration{1, -1}}},
		"AllowedNetworks":   {AllowedNetworks: []netip.Prefix{{}}},
		"::ffff:10.0.0.0":   {AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("::ffff:10.0.0.0/104")}},
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
	must(t, (Config{}).Validate())
	c := Config{}.withDefaults()
	if c.Timeout != 15*time.Second || c.InFlight != 64 || c.InFlightWebhook != 4 || c.HeaderPrefix != "Service" ||
		c.UserAgent != "formsvc-webhook/1.0" || len(c.Retry.Delays) != len(defaultDelays) || c.Retry.Jitter != 0.2 || c.Observer != nil {
		t.Errorf("defaults are %+v", c)
	}
	if guard := NewGuard(GuardConfig{Resolver: c.Resolver}); guard.resolver != net.DefaultResolver {
		t.Errorf("names are looked up by %v", guard.resolver)
	}
}

// The documentation and the description say these delays: see TestTextsSayTheDefaultSchedule.
func TestTheDefaultSchedule(t *testing.T) {
	t.Parallel()
	p := RetryPolicy{}.withDefaults()
	want := []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour}
	for n := 1; n <= 7; n++ {
		spread := map[time.Duration]bool{}
		for range 200 {
			got, again := p.delayAfter(n, 0)
			low, high := want[n-1]*8/10, want[n-1]*12/10
			if !again || got < low || got > high {
				t.Fatalf("after attempt %d: %s, %v, want %s to %s", n, got, again, low, high)
			}
			spread[got] = true
		}
		expect(t, len(spread) >= 100, "after attempt %d: %d different waits of 200", n, len(spread))
	}
	if wait, again := p.delayAfter(8, time.Hour); again {
		t.Errorf("after attempt 8 there is another in %s", wait)
	}
}

func TestRetryPolicyTakesWhatItIsGiven(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		delays  []time.Duration
		attempt int
		asked   time.Duration
		want    time.Duration // zero: there is no other attempt
	}{
		{[]time.Duration{time.Second}, 1, 0, time.Second}, {[]time.Duration{time.Second}, 2, 0, 0}, {[]time.Duration{}, 1, 0, 0},
		{[]time.Duration{time.Second}, 1, time.Minute, time.Minute}, {[]time.Duration{time.Second}, 1, 48 * time.Hour, 24 * time.Hour},
	} {
		wait, again := RetryPolicy{Delays: c.delays}.withDefaults().delayAfter(c.attempt, c.asked)
		if again != (c.want > 0) || again && wait != c.want {
			t.Errorf("%v, after attempt %d, asked for %s: %s, %v, want %s", c.delays, c.attempt, c.asked, wait, again, c.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                              0,
		"0":                             0,
		"120":                           2 * time.Minute,
		" 120 ":                         2 * time.Minute,
		"86400":                         24 * time.Hour,
		"86401":                         24 * time.Hour,
		"99999999999999999999999999":    24 * time.Hour,
		"-5":                            0,
		"1.5":                           0,
		"soon":                          0,
		"Fri, 20 Nov 2026 08:10:00 GMT": 10 * time.Minute,
		"Fri, 20 Nov 2026 07:00:00 GMT": 0,
		"Fri, 20 Nov 2027 08:00:00 GMT": 24 * time.Hour,
		"Fri, 99 Nov 2026 08:00:00 GMT": 0,
	} {
		if got := parseRetryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("Retry-After %q is %s, want %s", value, got, want)
		}
	}
}

// Who changes the schedule changes what callers and hosts read about it. These texts are about the
// delays of TestTheDefaultSchedule.
func TestTextsSayTheDefaultSchedule(t *testing.T) {
	t.Parallel()
	const schedule, attempts = "5 seconds, 5 minutes, 30 minutes, 2 hours, 5 hours and twice 10 hours", "eight attempts"
	expect(t, DefaultMaxAge == 3*24*time.Hour, "the texts have another DefaultMaxAge")
	for file, wants := range map[string][]string{
		// Ids come for as long as a retry may be set for, and its attempt takes.
		"doc.go":                 {schedule, attempts, "about 28 hours (33 at most", "four days at least"},
		"retry.go":               {attempts + " with seven delays"},
		"../schema/openapi.json": {schedule, attempts},
	} {
		text, err := os.ReadFile(file)
		must(t, err)
		unwrapped := strings.Join(strings.Fields(strings.ReplaceAll(string(text), "//", " ")), " ")
		for _, want := range wants {
			expect(t, strings.Contains(unwrapped, want), "%s does not say %q", file, want)
		}
	}
}

// Params are all that a dispatcher is made of.
type Params struct {
	Store   storage.DeliveryStore
	Config  Config
	Secrets *secrets.Encrypter
	Logger  *slog.Logger
	Now     func() time.Time
	Sweep   func(ctx context.Context, now time.Time) error
}

func New(p Params) (*Dispatcher, func() (storage.DirectDispatcher, func()), error) {
	return NewDispatcher(p.Config, dispatch.Params{Store: p.Store, Secrets: p.Secrets, Logger: p.Logger, Now: p.Now, Sweep: p.Sweep})
}

// inBubble runs f in a bubble of synctest: time passes when all wait.
func inBubble(t *testing.T, f func(*testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}
