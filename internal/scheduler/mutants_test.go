package scheduler

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Each of these is a scheduler with one mistake. The first always runs; a test catches it
// within seconds.
var mutants = []struct{ name, file, from, to string }{
	{"five requests to a webhook", "webhook.go", "len(w.underWay) < s.limit(w)", "len(w.underWay) <= s.limit(w)"},
	{"four to one that fails", "webhook.go", "if w.standing.Healthy() {\n\t\treturn s.n.PerWebhook", "if w.standing.Succeeded {\n\t\treturn s.n.PerWebhook"},
	{"one quick place too many", "pool.go", "return min(p.starts-(p.used-p.guests)", "return min(p.starts+1-(p.used-p.guests)"},
	{"all of the second pool for those that begin there", "numbers.go", "starts: max(1, n.Second*3/4)", "starts: n.Second"},
	{"no share of a host name", "pool.go", "if used < p.share {", "if used <= p.holds {"},
	{"more than half of the second pool for a host name", "pool.go", "p.hosts[r.webhook.host].used < p.most && p.bytes", "p.bytes"},
	{"a request moves over though the store is behind", "pool.go", "return !p.full() && p.hosts[r", "return p.used < p.holds && p.hosts[r"},
	{"a slow one stays in the quick pool", "webhook.go", "s.SuccessesUntilFast = n.Successes", "s.SuccessesUntilFast = 0"},
	{"seven successes", "webhook.go", "s.SuccessesUntilFast = n.Successes", "s.SuccessesUntilFast = n.Successes - 1"},
	{"an old request keeps its quick place", "scheduler.go", "s.now.Sub(r.began) < s.n.Stay ||", "s.now.Sub(r.began) < 10*s.n.Stay ||"},
	{"a webhook with an old request gets another", "webhook.go", "len(w.waiting) > 0 && len(w.underWay) < s.limit(w) && !s.hangs(w)", "len(w.waiting) > 0 && len(w.underWay) < s.limit(w)"},
	{"what waits for a webhook with an old request is kept", "claims.go", "(s.hangs(w) || s.tooLate(w.waiting[0]))", "s.tooLate(w.waiting[0])"},
	{"a webhook with an old request is claimed for", "webhook.go", "if s.hangs(w) || w.unsaved", "if w.unsaved"},
	{"a webhook is claimed for before its failure is recorded", "webhook.go", "s.hangs(w) || w.unsaved > 0 && !w.standing.Healthy()", "s.hangs(w)"},
	{"more is handed over than there is room for", "webhook.go", "len(w.underWay)-w.granted)", "len(w.underWay))"},
	{"requests that move over are not bounded in bytes", "pool.go", " && p.bytes < memory", ""},
	{"a pause ends with an earlier request", "webhook.go", "case began.Before(w.pause.began):", "case false:"},
	{"a webhook that takes its time gets one request after the other", "webhook.go", "max(s.n.Stay, time.Duration(s.n.hangsAfter)*w.took)", "s.n.Stay"},
	{"a place is not given back", "scheduler.go", "	r.pool.count(r, 0, -1)\n\tif r.moved {", "	if r.moved {\n\t\tr.pool.count(r, 0, -1)"},
	{"what is too late is forgotten", "scheduler.go", "{ // the rest is for those that work\n\t\t\ts.giveBack(w, 0)", "{\n\t\t\ts.takeWaiting(w)"},
	{"what waits is forgotten at a stop", "scheduler.go", "for _, w := range s.webhooks {\n\t\t\t\ts.giveBackAll(w, 0)\n\t\t\t}", ""},
	{"a failed write is forgotten", "results.go", "r.pending = append(r.pending, batch...)", "r.pending = append(r.pending, batch[:0]...)"},
	{"results are written twice", "results.go", "r.pending[n:], s.now, 0", "r.pending, s.now, 0"},
	{"nobody gets a turn after a request", "scheduler.go", "		s.giveBackAll(w, e.RetryIn)\n\t}\n\ts.lineUp(w)", "		s.giveBackAll(w, e.RetryIn)\n\t}"},
	{"a hand-over that does not come is waited for", "claims.go", "w.granted--", ""},
	{"the room of the second pool is not looked at", "claims.go", "room = (s.free() + s.n.claimPart - 1) / s.n.claimPart", "room = s.n.ahead"},
	{"new and failing ones take what is for others", "scheduler.go", "&& s.doubtful >= s.n.doubtful", "&& s.doubtful >= 2*s.n.doubtful"},
	{"new and failing ones that find no place are claimed", "claims.go", "min(ask.Slow.MaxDeliveries, s.n.doubtful-s.doubtful)", "ask.Slow.MaxDeliveries"},
	{"one owner has all of the second pool", "claims.go", "l.waiting+l.used > s.free()/s.n.ownerPart", "l.waiting+l.used > s.n.Second"},
	{"an owner has a quarter of what is free", "numbers.go", "d.ownerPart, d.claimPart = 2, 4", "d.ownerPart, d.claimPart = 4, 4"},
	{"a claim fills the second pool", "numbers.go", "d.ownerPart, d.claimPart = 2, 4", "d.ownerPart, d.claimPart = 2, 1"},
	{"claims read the turns of a name that has little room", "claims.go", "ask.Hosts[host] < p.least", "ask.Hosts[host] < 0"},
	{"three quarters of what waits for a host name", "numbers.go", "ofName: d.ahead / 2", "ofName: d.ahead * 3 / 4"},
	{"a pause that a claim carries is not known", "webhook.go", "if del.PauseReason != \"\" {", "if false {"},
	{"a webhook begins to fail with the process", "webhook.go", "s.now.Add(-del.FailingFor)", "s.now"},
	{"claims never go on after a fault of a write", "results.go", "r.faults = 0", "r.faults = max(r.faults, 0)"},
	{"claims go on before all results are written", "results.go", "} else if r.faults > 1 {", "} else if r.faults > 0 {"},
	{"nobody looks again when there is no room", "scheduler.go", ", s.wantsClaim():", ":"},
	{"a webhook that moves stays in its line", "webhook.go", "w == nil || w.generation != del.Generation", "w == nil"},
	{"results of the second pool count as quick ones", "scheduler.go", "r.pool, r.moved = &s.second, true", "r.moved = true"},
	{"what is handed over may have any size", "scheduler.go", "if s.stopped || w.pool.bytes >= s.n.PoolBytes {", "if s.stopped {"},
	{"an old URL's results say how the new one fared", "results.go", "of.Health = w.standing", "of.Health = s.webhooks[w.id].standing"},
	{"an old URL's pause is told", "webhook.go", "w.pause != was && s.webhooks[w.id] == w", "w.pause != was"},
	{"claims that bring nothing follow at once", "claims.go", "= true, s.now, c.look", "= true, s.now, s.now"},
	{"a claim that has room waits", "claims.go", "s.now.Before(c.look) && (!s.quick.wanted || s.room(&s.quick) == 0)", "s.now.Before(c.look)"},
	{"a claim waits for no room", "claims.go", "p == &s.quick && room < s.n.bulk || p.full()", "p.full()"},
	{"many results wait for others", "results.go", " && r.quick < s.n.write", ""},
	{"many results of the second pool are written at once", "results.go", "		if r.pool == &s.quick {\n\t\t\ts.results.quick++\n\t\t}", "\t\ts.results.quick++"},
	{"held results make writes follow at once", "results.go", "r.quick < s.n.write", "len(r.pending) < s.n.write"},
	{"results wait for twice as long", "scheduler.go", "case results && due.After(s.now):", "case false:"},
	{"no time is left to write a result", "scheduler.go", "> s.n.beginWithin", "> s.n.lease"},
	{"a held result is forgotten", "results.go", "r.pending = append(r.pending, of)\n\t\t\tcontinue", "continue"},
	{"a quick pool without room waits for the poll", "claims.go", "= s.quick.wanted && !quick,", "= false,"},
	{"what a result makes room for waits for the poll", "results.go", "if (of.claimed || of.webhook.passed) && of.Result.Delivery != nil || of.Result.Delivery == nil && of.RetryIn == 0 {", "if of.Result.Delivery == nil && of.RetryIn == 0 {"},
	{"what was passed over waits for the poll", "results.go", "(of.claimed || of.webhook.passed) &&", "of.claimed &&"},
	{"hand-overs leave no room for claims", "claims.go", "s.room(&s.quick) > s.n.bulk &&", "s.room(&s.quick) > 0 &&"},
	{"a bound is for every URL", "claims.go", "ask.Webhooks[id], ask.Generations[id] = 0, w.generation", "ask.Webhooks[id] = 0"},
	{"what waits does not age", "scheduler.go", "	r.Delivery.Age += s.now.Sub(r.leased)\n", ""},
	{"a summary is forgotten", "scheduler.go", ", Summary: e.Summary})", "})"},
	{"a held result stops claims after a fault", "results.go", "func(of result) bool { return !of.held }", "func(result) bool { return true }"},
}

// Every mutant fails a test of this package in its short form.
func TestMutantsAreCaught(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the package anew")
	}
	chosen := mutants[:1]
	if full {
		chosen = mutants
	}
	for _, m := range chosen {
		t.Run(m.name, func(t *testing.T) {
			text, err := os.ReadFile(m.file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Count(string(text), m.from) != 1 {
				t.Fatalf("%s does not have %q once", m.file, m.from)
			}
			dir := t.TempDir()
			mutated := filepath.Join(dir, m.file)
			if err := os.WriteFile(mutated, []byte(strings.Replace(string(text), m.from, m.to, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			original, err := filepath.Abs(m.file)
			if err != nil {
				t.Fatal(err)
			}
			overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{original: mutated}})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
				t.Fatal(err)
			}
			run := exec.CommandContext(t.Context(), "go", "test", "-overlay", filepath.Join(dir, "overlay.json"), "-vet=off", "-count=1", "-failfast", "-timeout", "60s",
				"-skip", "^(TestMutantsAreCaught|TestOutagesDelayNobodyElse)$", ".") // the first would not end, and the other takes long
			run.Env = append(os.Environ(), "FORMSVC_TEST_SCHEDULER=")
			out, err := run.CombinedOutput()
			switch {
			case err == nil:
				t.Error("no test fails")
			case strings.Contains(string(out), "[build failed]"):
				t.Errorf("it does not compile: %s", out)
			default:
				for line := range strings.Lines(string(out)) {
					if strings.Contains(line, "_test.go") || strings.Contains(line, "panic:") {
						t.Log(strings.TrimSpace(line))
						break
					}
				}
			}
		})
	}
}
