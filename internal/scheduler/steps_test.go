package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// steps is a scheduler that a test takes through single steps.
type steps struct {
	t       *testing.T
	n       derivedConfig
	s       *Scheduler
	now     time.Time
	serial  int
	sent    []*Request
	claims  []*storage.ClaimParams
	written []storage.Result
	writes  int // calls that have not ended
	pauses  []storage.PausedWebhook
	next    time.Time
}

func newSteps(t *testing.T, n Config) *steps {
	t.Helper()
	c := &steps{t: t, n: n.derive(), now: time.Unix(1_800_000_000, 0)}
	c.s = New(n, func(_, most time.Duration) time.Duration { return most })
	c.step()
	return c
}

func (c *steps) step(events ...Event) {
	a := c.s.Step(c.now, events...)
	c.sent = append(c.sent, a.Send...)
	if a.Claim != nil {
		c.claims = append(c.claims, a.Claim)
	}
	if len(a.Write) > 0 {
		c.written = append(c.written, a.Write...)
		c.writes++
	}
	c.pauses = append(c.pauses, a.Pauses...)
	c.next = a.NextStep
}

func (c *steps) pass(d time.Duration) {
	c.now = c.now.Add(d)
	c.step()
}

var (
	goodStanding = storage.Health{Succeeded: true}
	claimedFrom  = func(deliveries ...storage.ClaimedDelivery) ClaimFinished {
		return ClaimFinished{Deliveries: deliveries}
	}
)

// delivery makes one for the webhook with that number.
func (c *steps) delivery(webhook int, host string, standing storage.Health) storage.ClaimedDelivery {
	c.serial++
	lease := storage.Lease{WebhookID: ID{byte(webhook >> 8), byte(webhook)}, EventID: ID{1, byte(c.serial >> 8), byte(c.serial)}, Token: int64(c.serial)}
	return storage.ClaimedDelivery{Lease: lease, FormID: ID{2, byte(webhook)}, URL: "https://" + host + "/", Host: host, Health: standing, Attempt: 1}
}

// deliveries makes one for each of n webhooks of their own.
func (c *steps) deliveries(n int, standing storage.Health) (all []storage.ClaimedDelivery) {
	for range n {
		all = append(all, c.delivery(c.serial, fmt.Sprintf("h%d.example", c.serial), standing))
	}
	return all
}

// end ends the request that was sent last.
func (c *steps) end(success bool, asked time.Duration) {
	c.t.Helper()
	if len(c.sent) == 0 {
		c.t.Fatal("nothing was sent")
	}
	c.endOf(c.sent[len(c.sent)-1], success, asked)
}

func (c *steps) endOf(r *Request, success bool, asked time.Duration) {
	e := RequestFinished{Request: r, Delivery: &storage.Delivery{Success: success}, Duration: time.Millisecond, RequestedPause: asked}
	if !success {
		e.RetryIn = time.Minute
	}
	c.step(e)
}

// last returns the result that was written last.
func (c *steps) last() storage.Result {
	c.t.Helper()
	c.pass(c.n.BatchDelay)
	if len(c.written) == 0 {
		c.t.Fatal("nothing was written")
	}
	return c.written[len(c.written)-1]
}

// A process that gets a probe of a paused webhook knows the pause: a failure does not
// end it, and a success says that it is over.
func TestAPauseComesWithAClaim(t *testing.T) {
	t.Parallel()
	probe := func(c *steps) {
		del := c.delivery(1, "h.example", storage.Health{Failures: 3})
		del.FailingFor, del.PausedFor, del.PauseReason = time.Minute, time.Hour, storage.PauseRetryAfter
		c.step(claimedFrom(del))
	}
	t.Run("a failure", func(t *testing.T) {
		t.Parallel()
		c := newSteps(t, testNumbers)
		probe(c)
		c.end(false, 10*time.Minute)
		if r := c.last(); r.PauseFor < 59*time.Minute || r.PauseReason != storage.PauseRetryAfter {
			t.Errorf("the store is told of a pause of %s for %q, want the hour that it had", r.PauseFor, r.PauseReason)
		}
	})
	t.Run("a success", func(t *testing.T) {
		t.Parallel()
		c := newSteps(t, testNumbers)
		probe(c)
		c.end(true, 0)
		if len(c.pauses) != 1 || c.pauses[0].Reason != "" {
			t.Errorf("told %+v, want the end of a pause", c.pauses)
		}
		if r := c.last(); r.PauseFor != 0 {
			t.Errorf("the store is told of a pause of %s", r.PauseFor)
		}
	})
	t.Run("the pause was ended elsewhere", func(t *testing.T) { // by a PATCH, say
		t.Parallel()
		c := newSteps(t, testNumbers)
		probe(c)
		c.end(false, 2*time.Hour)
		c.last()
		c.step(WriteFinished{})
		c.step(ClaimFinished{})
		c.pass(time.Second) // another claim begins
		c.step(claimedFrom(c.delivery(1, "h.example", storage.Health{Failures: 4})))
		c.end(false, 0)
		if r := c.last(); r.PauseFor != 0 {
			t.Errorf("the store is told of a pause of %s that is over", r.PauseFor)
		}
	})
}

// A write that failed stops claims until nothing is left to write, and no longer.
// Requests under way end meanwhile.
func TestClaimsGoOnWhenWritesSucceedAgain(t *testing.T) {
	t.Parallel()
	c := newSteps(t, testNumbers)
	c.step(claimedFrom(c.deliveries(20, goodStanding)...))
	c.endOf(c.sent[0], true, 0)
	c.pass(c.n.BatchDelay)
	c.step(ClaimFinished{}, WriteFinished{Err: errors.New("down")})
	was := len(c.claims)
	for i, r := range c.sent[1:] { // more is there to be written whenever a write ends
		c.pass(time.Second)
		if c.writes != i+2 {
			t.Fatalf("%d writes, want %d", c.writes, i+2)
		}
		c.endOf(r, true, 0)
		c.step(Woken{}, WriteFinished{})
		if len(c.claims) != was {
			t.Fatal("something is claimed before all results are written")
		}
		if got := c.s.Reserve(r.Delivery.FormID); got != nil {
			t.Fatal("something may be handed over before all results are written")
		}
	}
	c.pass(time.Second)
	c.step(WriteFinished{})
	c.pass(c.n.BatchDelay)
	c.step()
	if len(c.claims) == was {
		t.Error("nothing is claimed any more")
	}
}

// A pool that has no room for half of what it may hold is asked for as soon as it has,
// though the other one was asked for meanwhile and nothing is recorded.
func TestAPoolIsAskedForWhenItHasRoom(t *testing.T) {
	t.Parallel()
	c := newSteps(t, smallNumbers())
	c.step(claimedFrom(c.deliveries(c.n.maxPrefetch/2+c.n.Fast+1, goodStanding)...))
	c.step(Woken{})
	c.pass(c.n.BatchDelay)
	if p := c.claims[len(c.claims)-1]; p.Fast.MaxDeliveries != 0 || p.NewOrFailing.MaxDeliveries == 0 {
		t.Fatalf("asked for %d and %d, want none for the quick pool and some for the other", p.Fast.MaxDeliveries, p.NewOrFailing.MaxDeliveries)
	}
	c.step(ClaimFinished{})
	c.pass(c.n.BatchDelay)
	c.endOf(c.sent[0], true, 0)
	if p := c.claims[len(c.claims)-1]; p.Fast.MaxDeliveries != c.n.maxPrefetch/2 {
		t.Errorf("asked for %d at once, want %d", p.Fast.MaxDeliveries, c.n.maxPrefetch/2)
	}
}

// Results wait for others for Gather at most, also when a step is taken meanwhile.
func TestAResultDoesNotWaitLongerThanGather(t *testing.T) {
	t.Parallel()
	c := newSteps(t, testNumbers)
	c.step(claimedFrom(c.delivery(1, "a.example", goodStanding)))
	c.end(true, 0)
	came := c.now
	for i := range 2 {
		if waits := c.next.Sub(came); waits != c.n.BatchDelay {
			t.Errorf("after %d more steps the next one is %s after the result, want %s", i, waits, c.n.BatchDelay)
		}
		c.pass(c.n.BatchDelay - time.Millisecond)
	}
}

// Only the results of requests in the quick pool have to be written sooner than Gather after
// the last write began: what it has not recorded is bounded the most. What is held, given
// back or of the second pool does not make writes follow at once.
func TestOnlyNewResultsOfTheQuickPoolMakeWritesFollowAtOnce(t *testing.T) {
	t.Parallel()
	n := smallNumbers()
	many := n.derive().writeThreshold
	slow := storage.Health{Succeeded: true, SuccessesUntilFast: n.SuccessesUntilFast}
	for name, standing := range map[string]storage.Health{"held": goodStanding, "the second pool": slow, "given back": goodStanding} {
		c := newSteps(t, n)
		c.step(ClaimFinished{})
		for i := range many {
			if name != "given back" {
				c.step(claimedFrom(c.delivery(i, fmt.Sprintf("h%d.example", i), standing)))
				c.end(true, 0)
				continue
			}
			c.step(claimedFrom(c.delivery(i, "h.example", standing)))
			c.step(RequestFinished{Request: c.sent[len(c.sent)-1]})
		}
		if name == "held" {
			var held []storage.Lease
			for _, r := range c.written {
				held = append(held, r.Lease)
			}
			if len(held) != many {
				t.Fatalf("%d results are written, want %d", len(held), many)
			}
			another := c.delivery(many, "another.example", goodStanding)
			c.step(claimedFrom(another))
			c.end(true, 0)
			c.written, c.writes = nil, 0
			c.step(WriteFinished{Blocked: held})
			c.pass(c.n.minBackoff)
			if held = nil; len(c.written) != many+1 {
				t.Fatalf("%d results are written, want %d", len(c.written), many+1)
			}
			for _, r := range c.written {
				if r.Lease != another.Lease {
					held = append(held, r.Lease)
				}
			}
			c.written, c.writes = nil, 0
			c.step(WriteFinished{Blocked: held})
		}
		if c.writes > 0 {
			t.Errorf("%s: %d writes begin before Gather is over", name, c.writes)
		}
		if c.pass(c.n.BatchDelay); c.writes != 1 {
			t.Errorf("%s: %d writes after Gather, want 1", name, c.writes)
		}
	}
}

// A quick webhook that has begun to hang gets no further request. One whose requests
// take their time has not.
func TestAWebhookThatHangsIsKnownByItsUsualTime(t *testing.T) {
	t.Parallel()
	for took, still := range map[time.Duration]time.Duration{
		time.Millisecond:       testNumbers.FastSlotTime,
		200 * time.Millisecond: 400 * time.Millisecond,
	} {
		for _, more := range []time.Duration{0, time.Millisecond} {
			c := newSteps(t, testNumbers)
			send := func() int {
				before := len(c.sent)
				c.step(claimedFrom(c.delivery(1, "h.example", goodStanding)))
				return len(c.sent) - before
			}
			send()
			c.now = c.now.Add(took)
			c.step(RequestFinished{Request: c.sent[0], Delivery: &storage.Delivery{Success: true}, Duration: took})
			send()
			c.pass(still - time.Millisecond + more)
			want := 1
			if more > 0 {
				want = 0
			}
			if got := send(); got != want {
				t.Errorf("%s after a request to a webhook that took %s: %d more began, want %d", still-time.Millisecond+more, took, got, want)
			}
			c.step(Woken{})
			c.pass(0)
			if room := c.claims[len(c.claims)-1].Webhooks[c.sent[0].Delivery.Lease.WebhookID]; room > 0 != (more == 0) {
				t.Errorf("%s after it: room for %d more", still-time.Millisecond+more, room)
			}
			if c.pass(c.n.BatchDelay); more > 0 && c.s.fast.waiting > 0 {
				t.Errorf("%d still wait", c.s.fast.waiting)
			}
		}
	}
}

// A success that takes longer than the moment makes a webhook slow, until eight in a row
// did not.
func TestASlowWebhookIsQuickAfterEightSuccesses(t *testing.T) {
	t.Parallel()
	c := newSteps(t, testNumbers)
	for i := range 11 {
		c.step(claimedFrom(c.delivery(1, "h.example", goodStanding)))
		if quick, want := c.sent[i].pool == &c.s.fast, i < 2 || i > 9; quick != want {
			t.Errorf("request %d: in the quick pool %v, want %v", i, quick, want)
		}
		took := c.n.FastThreshold
		if i == 1 {
			took += time.Millisecond
		}
		c.step(RequestFinished{Request: c.sent[i], Delivery: &storage.Delivery{Success: true}, Duration: took})
	}
}

// Results say how their own URL fared, also when the webhook has another one by the time
// they are written.
func TestAResultHasTheStandingOfItsURL(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]bool{"the old one failed": false, "the new one worked": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newSteps(t, testNumbers)
			c.step(claimedFrom(c.delivery(1, "first.example", storage.Health{})))
			c.end(first, 0) // is not written yet
			other := storage.Health{Succeeded: true, Failures: 9}
			second := c.delivery(1, "second.example", other)
			second.Generation = 1
			second.FailingFor = time.Hour
			c.step(claimedFrom(second))
			c.end(false, 0)
			c.last()
			if len(c.written) != 2 || len(c.pauses) != 1 {
				t.Fatalf("%d results and %d pauses, want 2 and 1", len(c.written), len(c.pauses))
			}
			want := storage.Health{Failures: 1}
			if first {
				want = goodStanding
			}
			if r := c.written[0]; r.Health != want || r.PauseFor != 0 {
				t.Errorf("the first URL's result has %+v and a pause of %s, want %+v and none", r.Health, r.PauseFor, want)
			}
			other.Failures++
			if r := c.written[1]; r.Health != other || r.PauseFor == 0 {
				t.Errorf("the second URL's result has %+v and a pause of %s, want %+v and one", r.Health, r.PauseFor, other)
			}
		})
	}
	t.Run("a URL that came back", func(t *testing.T) { // it is another destination
		t.Parallel()
		c := newSteps(t, testNumbers)
		c.step(claimedFrom(c.delivery(1, "h.example", goodStanding)))
		again := c.delivery(1, "h.example", storage.Health{})
		again.Generation = 2
		c.step(claimedFrom(again))
		c.endOf(c.sent[0], false, time.Hour)
		c.endOf(c.sent[1], true, 0)
		c.last()
		if len(c.written) != 2 || c.written[0].Health.Failures != 1 || c.written[1].Health != goodStanding || c.written[1].PauseFor != 0 {
			t.Errorf("written %+v, want a failure, and a success of a webhook that never failed", c.written)
		}
	})
	t.Run("a request that ends when there is another", func(t *testing.T) {
		t.Parallel()
		c := newSteps(t, testNumbers)
		c.step(claimedFrom(c.delivery(1, "first.example", goodStanding)))
		second := c.delivery(1, "second.example", goodStanding)
		second.Generation = 1
		c.step(claimedFrom(second))
		c.endOf(c.sent[0], false, time.Hour)
		if r := c.last(); r.Health.Failures != 1 || r.PauseFor == 0 {
			t.Errorf("its result has %+v and a pause of %s, want a failure and one", r.Health, r.PauseFor)
		}
		if w := c.s.webhooks[c.sent[1].Delivery.Lease.WebhookID]; w.health != goodStanding || w.pause != (pause{}) || len(c.pauses) > 0 {
			t.Errorf("the other URL has %+v, the pause %+v, and %d pauses were told", w.health, w.pause, len(c.pauses))
		}
	})
}

// Whatever a claim brought and says, the next one begins no sooner than Gather after it.
func TestClaimsKeepTheirDistance(t *testing.T) {
	t.Parallel()
	for name, events := range map[string][]Event{
		"more, but nothing came": {ClaimFinished{More: true}},
		"somebody calls":         {ClaimFinished{}, Woken{}},
	} {
		c := newSteps(t, testNumbers)
		began := c.now
		for range 1000 {
			c.step(events...)
			c.pass(time.Millisecond)
		}
		if got, most := len(c.claims), 1+int(c.now.Sub(began)/c.n.BatchDelay); got < 2 || got > most {
			t.Errorf("%s: %d claims in %s, want 2 to %d", name, got, c.now.Sub(began), most)
		}
	}
}

// A request begins only when its lease leaves the time for it and for writing its result.
func TestALeaseOutlastsTheWriteOfItsResult(t *testing.T) {
	t.Parallel()
	for left, sent := range map[time.Duration]int{15 * time.Second: 1, 15*time.Second - 1: 0} {
		c := newSteps(t, testNumbers)
		c.now = c.now.Add(c.n.lease - c.n.Timeout - left) // the claim takes so long
		c.step(claimedFrom(c.delivery(1, "h.example", goodStanding)))
		if len(c.sent) != sent {
			t.Errorf("%d requests with %s left for the write, want %d", len(c.sent), left, sent)
		}
	}
}

// No more is claimed than new and failing webhooks have places for. So nothing of them is given
// back, and slow ones that work are found all the same.
func TestDoubtfulOnesThatFindNoPlaceAreLeftInTheStore(t *testing.T) {
	t.Parallel()
	c := newSteps(t, smallNumbers())
	claim := func(n int, standing storage.Health) storage.ClaimParams {
		before := len(c.claims)
		c.now = c.now.Add(c.n.BatchDelay)
		c.step(ClaimFinished{Deliveries: c.deliveries(n, standing), More: true})
		if len(c.claims) != before+1 {
			t.Fatalf("%d claims, want one more than %d", len(c.claims), before)
		}
		return *c.claims[before]
	}
	half, places := c.n.Slow/2, c.n.Slow*3/4
	if p := claim(half-1, storage.Health{}); len(c.sent) != half-1 || p.NewOrFailing.MaxDeliveries != 1 || p.Slow.MaxDeliveries != (places-half+1+3)/4 {
		t.Fatalf("%d requests, and room for %d and %d slow ones, want %d, 1 and a quarter of what is free", len(c.sent), p.NewOrFailing.MaxDeliveries, p.Slow.MaxDeliveries, half-1)
	}
	if p := claim(1, storage.Health{}); len(c.sent) != half || p.NewOrFailing.MaxDeliveries != 0 || p.Slow.MaxDeliveries == 0 || p.Fast.MaxDeliveries == 0 {
		t.Errorf("%d requests, and room for %d; want %d, none and some for the others", len(c.sent), p.NewOrFailing.MaxDeliveries, half)
	}
	slow := storage.Health{Succeeded: true, SuccessesUntilFast: 1}
	if p := claim(2, slow); len(c.sent) != half+2 || p.NewOrFailing.MaxDeliveries != 0 {
		t.Errorf("%d slow ones began, and there is room for %d new ones, want 2 and none", len(c.sent)-half, p.NewOrFailing.MaxDeliveries)
	}
	if claim(2, storage.Health{}); len(c.sent) != half+2 { // a store that gives more than it was asked for
		t.Errorf("%d requests began, want %d", len(c.sent), half+2)
	}
	for _, r := range c.sent {
		c.endOf(r, true, 0)
	}
	if p := claim(0, slow); p.NewOrFailing.MaxDeliveries == 0 {
		t.Error("afterwards there is no room")
	}
}

// A workspace that has more of the second pool than half of what is free gets no more, whoever
// its webhooks are. Those of others have room, and it has when its requests have ended.
func TestAWorkspaceThatHasMuchOfTheSecondPoolWaits(t *testing.T) {
	t.Parallel()
	slow := storage.Health{Succeeded: true, SuccessesUntilFast: 1}
	for _, standing := range []storage.Health{slow, {}} {
		c := newSteps(t, smallNumbers())
		places := c.n.Slow * 3 / 4
		owner := storage.ID{7}
		claim := func(n int) storage.ClaimParams {
			all := c.deliveries(n, standing)
			for i := range all {
				all[i].WorkspaceID = owner
			}
			c.now = c.now.Add(c.n.BatchDelay)
			c.step(ClaimFinished{Deliveries: all, More: true})
			return *c.claims[len(c.claims)-1]
		}
		if p := claim(places / 3); len(p.Slow.ExcludedWorkspaces)+len(p.NewOrFailing.ExcludedWorkspaces) > 0 {
			t.Errorf("without %v when a third is in use", p.Slow.ExcludedWorkspaces)
		}
		want := []ID{owner}
		if p := claim(1); !slices.Equal(p.Slow.ExcludedWorkspaces, want) || !slices.Equal(p.NewOrFailing.ExcludedWorkspaces, want) || p.Fast.ExcludedWorkspaces != nil || p.Slow.MaxDeliveries == 0 {
			t.Errorf("without %v, %v and %v, and with room for %d", p.Slow.ExcludedWorkspaces, p.NewOrFailing.ExcludedWorkspaces, p.Fast.ExcludedWorkspaces, p.Slow.MaxDeliveries)
		}
		for _, r := range c.sent {
			c.endOf(r, true, 0)
		}
		if p := claim(0); len(p.Slow.ExcludedWorkspaces)+len(c.s.slow.workspaces) > 0 {
			t.Errorf("without %v when nothing is under way", p.Slow.ExcludedWorkspaces)
		}
	}
}

// A host name that has room for little gets nothing, so that a claim does not read the turns of
// its webhooks in place of others'.
func TestAHostNameWithLittleRoomWaits(t *testing.T) {
	t.Parallel()
	c := newSteps(t, testNumbers)
	most := c.n.maxPrefetch / 2
	for has, want := range map[int]int{most - most/8: most / 8, most - most/8 + 1: 0, most: 0} {
		c = newSteps(t, testNumbers)
		var all []storage.ClaimedDelivery
		for range has {
			all = append(all, c.delivery(c.serial, "same.example", goodStanding))
		}
		c.now = c.now.Add(c.n.BatchDelay)
		c.step(ClaimFinished{Deliveries: all, More: true})
		if p := c.claims[len(c.claims)-1]; p.Fast.Hosts["same.example"] != want || p.Fast.PerHost != most {
			t.Errorf("with %d deliveries a host name has room for %d, and others for %d, want %d and %d", has, p.Fast.Hosts["same.example"], p.Fast.PerHost, want, most)
		}
	}
}

// After a failure a webhook is not claimed for until that is recorded: only then the store
// knows that it may be paused.
func TestAFailureIsRecordedBeforeTheNextClaim(t *testing.T) {
	t.Parallel()
	c := newSteps(t, testNumbers)
	del := c.delivery(1, "h.example", goodStanding)
	c.step(claimedFrom(del))
	c.end(false, time.Hour)
	c.step(Woken{})
	c.pass(c.n.BatchDelay)
	if room, named := c.claims[len(c.claims)-1].Webhooks[del.Lease.WebhookID]; len(c.claims) != 2 || !named || room != 0 {
		t.Errorf("claim %d has room for %d (named %v), want claim 2 and none", len(c.claims), room, named)
	}
	c.step(WriteFinished{}, ClaimFinished{})
	c.pass(c.n.BatchDelay)
	if room, named := c.claims[len(c.claims)-1].Webhooks[del.Lease.WebhookID]; len(c.claims) != 3 || named && room != 1 {
		t.Errorf("afterwards claim %d has room for %d (named %v)", len(c.claims), room, named)
	}
}

// A claim says which URL its bounds are for: requests to an earlier one say nothing about
// the room of the new one.
func TestTheBoundOfAWebhookIsForItsURL(t *testing.T) {
	t.Parallel()
	c := newSteps(t, testNumbers)
	del := c.delivery(1, "h.example", storage.Health{})
	del.Generation = 7
	c.step(claimedFrom(del))
	id := del.Lease.WebhookID
	bound := func(when string, generation int64, want int) {
		t.Helper()
		c.step(Woken{})
		c.pass(c.n.BatchDelay)
		ask := c.claims[len(c.claims)-1]
		if room, named := ask.Webhooks[id]; !named || room != want || ask.Generations[id] != generation {
			t.Errorf("%s there is room for %d of the URL %d (named %v), want %d of %d", when, room, ask.Generations[id], named, want, generation)
		}
	}
	bound("while a request is under way", 7, 0)
	moved := c.delivery(1, "h.example", storage.Health{})
	moved.Generation = 8
	c.step(claimedFrom(moved))
	if len(c.sent) != 2 || c.sent[1].Delivery.Generation != 8 {
		t.Fatalf("%d requests began, want one to the new URL beside that to the old one", len(c.sent))
	}
	bound("while requests to both URLs are under way", 8, 0)
}

// A request knows how old its delivery was when it began.
func TestADeliveryAgesWhileItWaits(t *testing.T) {
	t.Parallel()
	n := testNumbers
	n.PerWebhook = 1
	c := newSteps(t, n)
	first, second := c.delivery(1, "h.example", goodStanding), c.delivery(1, "h.example", goodStanding)
	first.Age, second.Age = time.Hour, time.Minute
	c.step(claimedFrom(first, second))
	c.now = c.now.Add(n.FastSlotTime / 2)
	c.end(true, 0)
	if len(c.sent) != 2 || c.sent[0].Delivery.Age != time.Hour || c.sent[1].Delivery.Age != time.Minute+n.FastSlotTime/2 {
		t.Errorf("%d requests began, want two at the ages of an hour and of a minute and %s", len(c.sent), n.FastSlotTime/2)
	}
}

// The summary of a delivery that was too old is written with its result.
func TestASummaryIsWritten(t *testing.T) {
	t.Parallel()
	c := newSteps(t, testNumbers)
	c.step(claimedFrom(c.delivery(1, "h.example", goodStanding)))
	c.step(RequestFinished{Request: c.sent[0], Delivery: &storage.Delivery{}, Summary: ID{7}})
	if r := c.last(); r.Summary != (ID{7}) || r.RetryIn != 0 {
		t.Errorf("written %+v, want the summary", r)
	}
}

// For a quick webhook no more is handed over than it has room for, however many ask at once. For
// others nothing is.
func TestNoMoreIsHandedOverThanThereIsRoomFor(t *testing.T) {
	t.Parallel()
	c := newSteps(t, testNumbers)
	del := c.delivery(1, "h.example", goodStanding)
	c.step(claimedFrom(del))
	c.step(RequestFinished{Request: c.sent[0], Delivery: &storage.Delivery{Success: true}, Duration: 400 * time.Millisecond})
	granted := 0
	for range 100 {
		granted += len(c.s.Reserve(del.FormID))
	}
	if want := c.n.PerWebhook + 1; granted != want { // one waits
		t.Errorf("%d may be handed over, want %d", granted, want)
	}
	for i, standing := range []storage.Health{{}, {Succeeded: true, Failures: 1}, {Succeeded: true, SuccessesUntilFast: 1}} {
		other := c.delivery(2+i, "other.example", standing)
		c.step(claimedFrom(other))
		if got := c.s.Reserve(other.FormID); got != nil {
			t.Errorf("with the standing %+v %v may be handed over", standing, got)
		}
	}
}

// Requests that move over bring their bodies along: there is no more room for them than
// the second pool has.
func TestRequestsThatMoveOverAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	n := testNumbers
	n.PoolBytes = 10_000
	c := newSteps(t, n)
	for i := range 30 {
		del := c.delivery(i, fmt.Sprintf("h%d.example", i), goodStanding)
		del.Body = make([]byte, 1000)
		c.step(claimedFrom(del))
		c.pass(c.n.FastSlotTime)
	}
	if c.s.fast.bytes != n.PoolBytes || c.s.slow.bytes != n.PoolBytes || len(c.sent) != 20 {
		t.Errorf("%d requests, %d and %d bytes are held, want 20 and %d", len(c.sent), c.s.fast.bytes, c.s.slow.bytes, n.PoolBytes)
	}
}

// A success that began before a pause does not end it: a receiver that asks for one has
// often let others pass.
func TestASuccessFromBeforeAPauseDoesNotEndIt(t *testing.T) {
	t.Parallel()
	c := newSteps(t, testNumbers)
	c.step(claimedFrom(c.delivery(1, "h.example", goodStanding), c.delivery(1, "h.example", goodStanding)))
	c.now = c.now.Add(time.Millisecond)
	c.endOf(c.sent[0], false, time.Hour)
	c.endOf(c.sent[1], true, 0)
	if r := c.last(); r.PauseFor < 59*time.Minute || r.Health.Failures != 1 || len(c.pauses) != 1 {
		t.Errorf("the store is told of %+v and a pause of %s, and %d pauses were told; want a failure, an hour and one", r.Health, r.PauseFor, len(c.pauses))
	}
}

// Hand-overs leave room for what only a claim can bring, however many come.
func TestHandOversLeaveRoomForClaims(t *testing.T) {
	t.Parallel()
	c := newSteps(t, testNumbers)
	all := c.deliveries(c.n.maxPrefetch/2, goodStanding)
	for i := range all {
		all[i].FormID = storage.ID{1}
	}
	c.step(claimedFrom(all...))
	for ended := 0; ended < len(c.sent); { // more begin as these end
		c.endOf(c.sent[ended], true, 0)
		ended++
		if before := c.writes; ended%32 == 0 {
			if c.pass(c.n.BatchDelay); c.writes > before {
				c.step(WriteFinished{})
			}
		}
	}
	granted := 0
	for range c.n.maxPrefetch {
		granted += len(c.s.Reserve(storage.ID{1}))
	}
	if granted == 0 {
		t.Fatal("nothing is granted")
	}
	before := len(c.claims)
	c.pass(time.Second)
	c.step(ClaimFinished{}, WriteFinished{}, Woken{})
	c.pass(time.Second)
	if len(c.claims) == before || c.claims[len(c.claims)-1].Fast.MaxDeliveries < c.n.maxPrefetch/2 {
		t.Errorf("%d claims while %d deliveries may be handed over", len(c.claims)-before, granted)
	}
}

// A result that somebody holds up for long does not stop claims, even after a fault.
func TestAHeldResultDoesNotStopClaims(t *testing.T) {
	t.Parallel()
	c := newSteps(t, testNumbers)
	a, b := c.delivery(1, "a.example", goodStanding), c.delivery(2, "b.example", goodStanding)
	c.step(claimedFrom(a, b))
	c.endOf(c.sent[0], true, 0)
	c.endOf(c.sent[1], true, 0)
	c.pass(c.n.BatchDelay)
	c.step(ClaimFinished{}, WriteFinished{Err: errors.New("down")})
	was := len(c.claims)
	for range 60 {
		c.written = nil
		c.pass(time.Second)
		var held []storage.Lease
		for _, r := range c.written {
			if r.Lease == a.Lease {
				held = append(held, r.Lease)
			}
		}
		if len(c.written) > 0 {
			c.step(WriteFinished{Blocked: held})
		}
		c.step(Woken{})
	}
	if len(c.claims) == was {
		t.Errorf("nothing is claimed for a minute while %d result is held", len(c.s.results.pending))
	}
}

// The smallest numbers that a host may set send everything, too.
func TestTheSmallestPools(t *testing.T) {
	t.Parallel()
	for _, n := range []Config{DefaultConfig(64, 1, 4, 15*time.Second), DefaultConfig(1, 1, 1, 15*time.Second), DefaultConfig(2, 3, 4, 15*time.Second)} {
		w := newWorld(t, 1, n)
		w.unchecked = true // of 1 place a host name has more than half
		r := w.receiver("a.example", false, takes(time.Millisecond, 2*time.Millisecond))
		for range 5 {
			w.event(r)
		}
		w.run(time.Minute)
		if len(r.pending) > 0 {
			t.Errorf("%d and %d places: %d of 5 deliveries to a new webhook are pending", n.Fast, n.Slow, len(r.pending))
		}
	}
}
