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
	{"five requests to a webhook", "webhook.go", "len(w.inFlight) < s.maxInFlight(w)", "len(w.inFlight) <= s.maxInFlight(w)"},
	{"four to one that fails", "webhook.go", "if w.health.Healthy() {\n\t\treturn s.config.PerWebhook", "if w.health.Succeeded {\n\t\treturn s.config.PerWebhook"},
	{"one quick place too many", "pool.go", "return min(p.maxStarted-(p.inFlight-p.moved)", "return min(p.maxStarted+1-(p.inFlight-p.moved)"},
	{"all of the second pool for those that begin there", "config.go", "maxStarted: max(1, n.Slow*3/4)", "maxStarted: n.Slow"},
	{"no share of a host name", "pool.go", "if used < p.hostShare {", "if used <= p.maxHeld {"},
	{"more than half of the second pool for a host name", "pool.go", "p.hosts[r.webhook.host].inFlight < p.maxPerHost && p.bytes", "p.bytes"},
	{"a request moves over though the store is behind", "pool.go", "return !p.isFull() && p.hosts[r", "return p.inFlight < p.maxHeld && p.hosts[r"},
	{"a slow one stays in the quick pool", "webhook.go", "s.SuccessesUntilFast = n.SuccessesUntilFast", "s.SuccessesUntilFast = 0"},
	{"seven successes", "webhook.go", "s.SuccessesUntilFast = n.SuccessesUntilFast", "s.SuccessesUntilFast = n.SuccessesUntilFast - 1"},
	{"an old request keeps its quick place", "scheduler.go", "s.now.Sub(r.startedAt) < s.config.FastSlotTime ||", "s.now.Sub(r.startedAt) < 10*s.config.FastSlotTime ||"},
	{"a webhook with an old request gets another", "webhook.go", "len(w.waiting) > 0 && len(w.inFlight) < s.maxInFlight(w) && !s.isHanging(w)", "len(w.waiting) > 0 && len(w.inFlight) < s.maxInFlight(w)"},
	{"what waits for a webhook with an old request is kept", "claims.go", "(s.isHanging(w) || s.waitedTooLong(w.waiting[0]))", "s.waitedTooLong(w.waiting[0])"},
	{"a webhook with an old request is claimed for", "webhook.go", "if s.isHanging(w) || w.unrecorded", "if w.unrecorded"},
	{"a webhook is claimed for before its failure is recorded", "webhook.go", "s.isHanging(w) || w.unrecorded > 0 && !w.health.Healthy()", "s.isHanging(w)"},
	{"more is handed over than there is room for", "webhook.go", "len(w.inFlight)-w.reserved)", "len(w.inFlight))"},
	{"requests that move over are not bounded in bytes", "pool.go", " && p.bytes < memory", ""},
	{"a pause ends with an earlier request", "webhook.go", "case began.Before(w.pause.startedAt):", "case false:"},
	{"a webhook that takes its time gets one request after the other", "webhook.go", "max(s.config.FastSlotTime, time.Duration(s.config.hangFactor)*w.usualDuration)", "s.config.FastSlotTime"},
	{"a place is not given back", "scheduler.go", "	r.pool.updateLoad(r, 0, -1)\n\tif r.moved {", "	if r.moved {\n\t\tr.pool.updateLoad(r, 0, -1)"},
	{"what is too late is forgotten", "scheduler.go", "{ // the other slots are for healthy webhooks\n\t\t\ts.release(w, 0)", "{\n\t\t\ts.popWaiting(w)"},
	{"what waits is forgotten at a stop", "scheduler.go", "for _, w := range s.webhooks {\n\t\t\t\ts.releaseAll(w, 0)\n\t\t\t}", ""},
	{"a failed write is forgotten", "results.go", "r.pending = append(r.pending, batch...)", "r.pending = append(r.pending, batch[:0]...)"},
	{"results are written twice", "results.go", "r.pending[n:], s.now, 0", "r.pending, s.now, 0"},
	{"nobody gets a turn after a request", "scheduler.go", "		s.releaseAll(w, e.RetryIn)\n\t}\n\ts.enqueue(w)", "		s.releaseAll(w, e.RetryIn)\n\t}"},
	{"a hand-over that does not come is waited for", "claims.go", "w.reserved--", ""},
	{"the room of the second pool is not looked at", "claims.go", "room = (s.freeSlowSlots() + s.config.claimDivisor - 1) / s.config.claimDivisor", "room = s.config.maxPrefetch"},
	{"new and failing ones take what is for others", "scheduler.go", "&& s.newOrFailing >= s.config.maxNewOrFailing", "&& s.newOrFailing >= 2*s.config.maxNewOrFailing"},
	{"new and failing ones that find no place are claimed", "claims.go", "min(params.Slow.MaxDeliveries, s.config.maxNewOrFailing-s.newOrFailing)", "params.Slow.MaxDeliveries"},
	{"one owner has all of the second pool", "claims.go", "l.waiting+l.inFlight > s.freeSlowSlots()/s.config.workspaceDivisor", "l.waiting+l.inFlight > s.config.Slow"},
	{"an owner has a quarter of what is free", "config.go", "d.workspaceDivisor, d.claimDivisor = 2, 4", "d.workspaceDivisor, d.claimDivisor = 4, 4"},
	{"a claim fills the second pool", "config.go", "d.workspaceDivisor, d.claimDivisor = 2, 4", "d.workspaceDivisor, d.claimDivisor = 2, 1"},
	{"claims read the turns of a name that has little room", "claims.go", "params.Hosts[host] < p.minHostClaim", "params.Hosts[host] < 0"},
	{"three quarters of what waits for a host name", "config.go", "maxHostDeliveries: d.maxPrefetch / 2", "maxHostDeliveries: d.maxPrefetch * 3 / 4"},
	{"a pause that a claim carries is not known", "webhook.go", "if del.PauseReason != \"\" {", "if false {"},
	{"a webhook begins to fail with the process", "webhook.go", "s.now.Add(-del.FailingFor)", "s.now"},
	{"claims never go on after a fault of a write", "results.go", "r.failures = 0", "r.failures = max(r.failures, 0)"},
	{"claims go on before all results are written", "results.go", "} else if r.failures > 1 {", "} else if r.failures > 0 {"},
	{"nobody looks again when there is no room", "scheduler.go", ", s.claimWanted():", ":"},
	{"a webhook that moves stays in its line", "webhook.go", "w == nil || w.generation != del.Generation", "w == nil"},
	{"results of the second pool count as quick ones", "scheduler.go", "r.pool, r.moved = &s.slow, true", "r.moved = true"},
	{"what is handed over may have any size", "scheduler.go", "if s.stopped || w.pool.bytes >= s.config.PoolBytes {", "if s.stopped {"},
	{"an old URL's results say how the new one fared", "results.go", "of.Health = w.health", "of.Health = s.webhooks[w.id].health"},
	{"an old URL's pause is told", "webhook.go", "w.pause != was && s.webhooks[w.id] == w", "w.pause != was"},
	{"claims that bring nothing follow at once", "claims.go", "= true, s.now, c.nextCheck", "= true, s.now, s.now"},
	{"a claim that has room waits", "claims.go", "s.now.Before(c.nextCheck) && (!s.fast.claimWanted || s.poolCapacity(&s.fast) == 0)", "s.now.Before(c.nextCheck)"},
	{"a claim waits for no room", "claims.go", "p == &s.fast && room < s.config.minClaim || p.isFull()", "p.isFull()"},
	{"many results wait for others", "results.go", " && r.fastResults < s.config.writeThreshold", ""},
	{"many results of the second pool are written at once", "results.go", "		if r.pool == &s.fast {\n\t\t\ts.results.fastResults++\n\t\t}", "\t\ts.results.fastResults++"},
	{"held results make writes follow at once", "results.go", "r.fastResults < s.config.writeThreshold", "len(r.pending) < s.config.writeThreshold"},
	{"results wait for twice as long", "scheduler.go", "case results && due.After(s.now):", "case false:"},
	{"no time is left to write a result", "scheduler.go", "> s.config.startWithin", "> s.config.lease"},
	{"a held result is forgotten", "results.go", "r.pending = append(r.pending, of)\n\t\t\tcontinue", "continue"},
	{"a quick pool without room waits for the poll", "claims.go", "= s.fast.claimWanted && !fast,", "= false,"},
	{"what a result makes room for waits for the poll", "results.go", "if (of.claimed || of.webhook.skipped) && of.Result.Delivery != nil || of.Result.Delivery == nil && of.RetryIn == 0 {", "if of.Result.Delivery == nil && of.RetryIn == 0 {"},
	{"what was passed over waits for the poll", "results.go", "(of.claimed || of.webhook.skipped) &&", "of.claimed &&"},
	{"hand-overs leave no room for claims", "claims.go", "s.poolCapacity(&s.fast) > s.config.minClaim &&", "s.poolCapacity(&s.fast) > 0 &&"},
	{"a bound is for every URL", "claims.go", "params.Webhooks[id], params.Generations[id] = 0, w.generation", "params.Webhooks[id] = 0"},
	{"what waits does not age", "scheduler.go", "	r.Delivery.Age += s.now.Sub(r.leasedAt)\n", ""},
	{"a summary is forgotten", "scheduler.go", ", Summary: e.Summary})", "})"},
	{"a held result stops claims after a fault", "results.go", "func(of result) bool { return !of.blocked }", "func(result) bool { return true }"},
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
