package webhooks

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// The documentation and the description say these delays: see TestTextsSayTheDefaultSchedule.
func TestTheDefaultSchedule(t *testing.T) {
	t.Parallel()
	p := RetryPolicy{}.withDefaults()
	want := []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour}
	for n := 1; n <= 7; n++ {
		spread := map[time.Duration]bool{}
		for range 200 {
			got, again := p.next(n, 0)
			low, high := want[n-1]*8/10, want[n-1]*12/10
			if !again || got < low || got > high {
				t.Fatalf("after attempt %d: %s, %v, want %s to %s", n, got, again, low, high)
			}
			spread[got] = true
		}
		if len(spread) < 100 {
			t.Errorf("after attempt %d: %d different waits of 200", n, len(spread))
		}
	}
	if wait, again := p.next(8, time.Hour); again {
		t.Errorf("after attempt 8 there is another in %s", wait)
	}
}

func TestRetryPolicyTakesWhatItIsGiven(t *testing.T) {
	t.Parallel()
	p := RetryPolicy{Delays: []time.Duration{time.Second}}.withDefaults()
	if wait, again := p.next(1, 0); wait != time.Second || !again {
		t.Errorf("after attempt 1: %s, %v, want exactly 1s", wait, again)
	}
	if _, again := p.next(2, 0); again {
		t.Error("a schedule of one delay has a third attempt")
	}
	if _, again := (RetryPolicy{Delays: []time.Duration{}}).withDefaults().next(1, 0); again {
		t.Error("an empty schedule has a second attempt")
	}
	if wait, _ := p.next(1, time.Minute); wait != time.Minute {
		t.Errorf("asked for a minute: %s", wait)
	}
	if wait, _ := p.next(1, 48*time.Hour); wait != 24*time.Hour {
		t.Errorf("asked for two days: %s, want one", wait)
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
		if got := retryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("Retry-After %q is %s, want %s", value, got, want)
		}
	}
}

var inWords = [...]string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}

// said is the schedule in words: "5 seconds, 2 hours and twice 10 hours".
func said(delays []time.Duration) string {
	var parts []string
	repeated := 1
	for i, d := range delays {
		n, unit := d/time.Hour, "hours"
		if d < time.Minute {
			n, unit = d/time.Second, "seconds"
		} else if d < time.Hour {
			n, unit = d/time.Minute, "minutes"
		}
		part := fmt.Sprintf("%d %s", n, unit)
		if i > 0 && d == delays[i-1] {
			if repeated++; repeated == 2 {
				part = "twice " + part
			} else {
				part = fmt.Sprintf("%s times %s", inWords[repeated], part)
			}
			parts[len(parts)-1] = part
			continue
		}
		repeated = 1
		parts = append(parts, part)
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

// Who changes the schedule changes what callers and hosts read about it.
func TestTextsSayTheDefaultSchedule(t *testing.T) {
	t.Parallel()
	delays := defaultDelays
	var all time.Duration
	for _, d := range delays {
		all += d
	}
	longest := time.Duration(float64(all) * (1 + RetryPolicy{}.withDefaults().Jitter))
	count := inWords[len(delays)+1] + " attempts"
	for file, wants := range map[string][]string{
		"doc.go": {
			said(delays), count, fmt.Sprintf("about %.0f hours (%d at most", all.Hours(), int(longest.Hours())),
			inWords[int(DefaultMaxAge.Hours()/24)+1] + " days at least", // longer than any retry, and its attempt
		},
		"retry.go":               {count + " with " + inWords[len(delays)] + " delays"},
		"../schema/openapi.json": {said(delays), count},
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		unwrapped := strings.Join(strings.Fields(strings.ReplaceAll(string(text), "//", " ")), " ")
		for _, want := range wants {
			if !strings.Contains(unwrapped, want) {
				t.Errorf("%s does not say %q", file, want)
			}
		}
	}
}
