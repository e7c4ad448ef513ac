package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Outcome is what became of a case.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"  // the service does not keep a promise
	Broken  Outcome = "broken"  // the suite could not go on: a function of the target failed, or there was no answer
	Skipped Outcome = "skipped" // not run, for the reason given
)

// Result tells what became of one case.
type Result struct {
	Case     Case          `json:"case"`
	Outcome  Outcome       `json:"outcome"`
	Reason   string        `json:"reason,omitempty"` // of a skipped case
	Problems []string      `json:"faults,omitempty"` // each with request and answer, secrets made unreadable
	Duration time.Duration `json:"duration_ns"`
}

// String tells the case, its promise and every fault.
func (r Result) String() string {
	var b strings.Builder
	switch r.Outcome {
	case Failed:
		fmt.Fprintf(&b, "the service violates this rule: %s", r.Case.Sentence)
	case Broken:
		fmt.Fprintf(&b, "the suite could not check this rule: %s", r.Case.Sentence)
	default:
		fmt.Fprintf(&b, "%s: %s", r.Outcome, r.Case.Sentence)
	}
	if r.Case.Place != "" {
		fmt.Fprintf(&b, "\n  described at %s", r.Case.Place)
	}
	if r.Reason != "" {
		fmt.Fprintf(&b, " (%s)", r.Reason)
	}
	for _, f := range r.Problems {
		b.WriteString("\n- " + strings.ReplaceAll(f, "\n", "\n  "))
	}
	return b.String()
}

// Report is the results of a run, in the order of [Cases].
type Report struct {
	// Summary says how many of the cases ran, and what the target would have to offer for the rest.
	Summary string   `json:"summary"`
	Results []Result `json:"results"`
}

// Failures returns the results of cases that failed or broke.
func (r Report) Failures() []Result {
	var out []Result
	for _, x := range r.Results {
		if x.Outcome == Failed || x.Outcome == Broken {
			out = append(out, x)
		}
	}
	return out
}

// Counts returns how many cases had each outcome.
func (r Report) Counts() map[Outcome]int {
	counts := make(map[Outcome]int)
	for _, x := range r.Results {
		counts[x.Outcome]++
	}
	return counts
}

// summary returns the Summary. The function names the features that a case lacks.
func (r Report) summary(missing func(Case) []string) string {
	ran, others := 0, 0
	rest := make(map[string]int)
	for _, x := range r.Results {
		if x.Outcome != Skipped {
			ran++
		} else if names := missing(x.Case); strings.HasPrefix(x.Reason, lacks) {
			for _, name := range names {
				rest[name]++
			}
		} else {
			others++
		}
	}
	text := fmt.Sprintf("%d of %d", ran, len(r.Results))
	if len(rest) > 0 {
		names := slices.Sorted(maps.Keys(rest))
		slices.SortStableFunc(names, func(a, b string) int { return rest[b] - rest[a] })
		for i, name := range names {
			names[i] = fmt.Sprintf("%s (%d)", name, rest[name])
		}
		text += "; the rest needs more of the Target: " + strings.Join(names, ", ")
	}
	if others > 0 {
		text += fmt.Sprintf("; %d skipped for the reasons below", others)
	}
	return text
}

// String returns the summary, the failed cases, the skipped cases with their reasons, and the counts.
func (r Report) String() string {
	var b strings.Builder
	if r.Summary != "" {
		b.WriteString(r.Summary + "\n\n")
	}
	skipped := make(map[string][]string)
	for _, x := range r.Results {
		switch x.Outcome {
		case Passed:
		case Skipped:
			skipped[x.Reason] = append(skipped[x.Reason], x.Case.Name)
		default:
			fmt.Fprintf(&b, "%s: %s\n\n", x.Case.Name, x)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(skipped)) {
		fmt.Fprintf(&b, "skipped, %s: %s\n", reason, strings.Join(skipped[reason], " "))
	}
	counts := r.Counts()
	fmt.Fprintf(&b, "%d passed, %d failed, %d broken, %d skipped\n", counts[Passed], counts[Failed], counts[Broken], counts[Skipped])
	return b.String()
}
