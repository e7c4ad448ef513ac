package scheduler

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Each of these is a scheduler with one mistake. The first three always run; a test
// catches them within seconds.
var mutants = []struct{ name, file, from, to string }{
	{"five requests to a webhook", "scheduler.go", "len(w.underWay) < s.limit(w)", "len(w.underWay) <= s.limit(w)"},
	{"four to one that fails", "scheduler.go", "if w.standing.Good() {\n\t\treturn s.n.PerWebhook", "if w.standing.Succeeded {\n\t\treturn s.n.PerWebhook"},
	{"one quick place too many", "pools.go", "p.started < p.starts", "p.started <= p.starts"},
	{"all of the second pool for those that begin there", "pools.go", "max(1, n.Second*3/4)", "n.Second"},
	{"no share of a host name", "pools.go", "if used < p.share {", "if used <= p.holds {"},
	{"more than half of the second pool for a host name", "pools.go", "r.to.name.used[p.index] < p.most &&", ""},
	{"a request moves over though the store is behind", "pools.go", "return !p.full() && r.to.name", "return p.used < p.holds && r.to.name"},
	{"a slow one stays in the quick pool", "standing.go", "case took > n.Moment:\n\t\ts.SlowFor = n.Successes", "case took > n.Moment:\n\t\ts.SlowFor = 0"},
	{"seven successes", "standing.go", "s.SlowFor = n.Successes", "s.SlowFor = n.Successes - 1"},
	{"an old request keeps its quick place", "scheduler.go", "s.now.Sub(r.began) < s.n.Stay ||", "s.now.Sub(r.began) < 10*s.n.Stay ||"},
	{"a webhook with an old request gets another", "scheduler.go", "return w.pool == &s.quick && len(w.underWay) > 0 &&", "return false && len(w.underWay) > 0 &&"},
	{"a place is not given back", "scheduler.go", "r.pool.free(r)\n\tw.underWay", "if !r.moved {\n\t\tr.pool.free(r)\n\t}\n\tw.underWay"},
	{"what is too late is forgotten", "scheduler.go", "case s.tooLate(r):\n\t\t\ts.giveBack(r, 0)", "case s.tooLate(r):"},
	{"what waits is forgotten at a stop", "scheduler.go", "for _, w := range s.busy {\n\t\t\t\ts.giveBackAll(w, 0)\n\t\t\t}", ""},
	{"a failed write is forgotten", "results.go", "r.pending = append(r.pending, batch...)", ""},
	{"results are written twice", "results.go", "r.pending[n:], s.now", "r.pending, s.now"},
	{"nobody gets a turn after a request", "scheduler.go", "if s.ready(w) {\n\t\tw.lineUp()\n\t}\n}\n\n// learn", "}\n\n// learn"},
	{"a hand-over that does not come is waited for", "claims.go", "w.granted--\n\t\ts.granted--", ""},
	{"the room of the second pool is not looked at", "claims.go", "room = min(p.holds-p.used, p.starts-p.started) - p.waiting", "room = s.n.Ahead"},
	{"new and failing ones take what is for others", "scheduler.go", "case !w.standing.Good() && s.doubtful >= s.n.Second/2:", "case !w.standing.Good() && s.doubtful >= s.n.Second:"},
	{"a pause that a claim carries is not known", "scheduler.go", "if del.PauseReason != \"\" {", "if false {"},
	{"a webhook begins to fail with the process", "scheduler.go", "s.now.Add(-del.FailingFor)", "s.now"},
	{"claims never go on after a fault of a write", "results.go", "r.faults, r.behind = 0, max(0, r.behind-len(batch))", "r.faults, r.behind = 0, r.behind"},
	{"claims go on before all results are written", "results.go", "r.behind = len(r.pending)\n", ""},
	{"nobody looks again when there is no room", "scheduler.go", ", s.wanted() && !c.active && !s.stopped:", ":"},
	{"a webhook that moves stays in its line", "scheduler.go", "case w.name == nil || w.url != del.URL ||", "case w.name == nil ||"},
	{"results of the second pool count as quick ones", "results.go", "of.pool = r.pool\n\t\tr.pool.unrecorded++", "of.pool = &s.quick\n\t\tof.pool.unrecorded++"},
	{"a URL that comes back is the old one", "scheduler.go", "|| w.generation != del.Generation:", ":"},
	{"what is handed over may have any size", "scheduler.go", "if s.stopped || w.pool.bytes >= s.n.PoolBytes {", "if s.stopped {"},
	{"an old URL's results say how the new one fared", "results.go", "of.Standing = of.to.standing", "of.Standing = of.webhook.standing"},
	{"claims that bring nothing follow at once", "claims.go", "c.after = c.began.Add(s.n.Gather)", "if c.brought {\n\t\tc.after = c.began.Add(s.n.Gather)\n\t}"},
	{"no time is left to write a result", "scheduler.go", "> s.n.Lease/2", "> s.n.Lease"},
	{"doubtful ones are claimed again and again", "scheduler.go", "if crowded && !good {", "if crowded && good {"},
	{"a held result is forgotten", "results.go", "r.pending = append(r.pending, of)\n\t\t\tcontinue", "continue"},
	{"a quick pool without room waits for the poll", "claims.go", "s.quick.wanted = s.quick.wanted && p.Quick.Room == 0", "s.quick.wanted = false"},
}

// Every mutant fails a test of this package in its short form.
func TestMutantsAreCaught(t *testing.T) {
	t.Parallel()
	chosen := mutants[:3]
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
