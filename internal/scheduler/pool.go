package scheduler

import "slices"

// poolLimits are the bounds of a pool.
type poolLimits struct {
	maxStarted        int // places for requests that start here
	maxHeld           int // how many requests may be in flight or not recorded
	hostShare         int // places of one host name while another one waits,
	maxPerHost        int // and while none does
	maxHostDeliveries int // deliveries of one host name that may be here: waiting or in flight
	minHostClaim      int // a name that has no room for so many of them is asked nothing for
}

// pool is a number of places for requests, and the line of the webhooks that have
// something to send there.
type pool struct {
	poolLimits

	inFlight    int
	moved       int  // of those: they started in the quick pool
	waiting     int  // deliveries, and those that may still be handed over
	bytes       int  // of the bodies that wait and are under way
	unrecorded  int  // results
	claimWanted bool // the store may have something for it
	queue       []*webhook
	hosts       map[string]load
	workspaces  map[ID]load
}

// load counts the deliveries in a pool to one host name or of one workspace.
type load struct{ waiting, inFlight int }

// places is how many requests may start in p. Below 1: none.
func (p *pool) freeSlots() int {
	return min(p.maxStarted-(p.inFlight-p.moved), p.maxHeld-p.inFlight-p.unrecorded)
}

// full reports whether the store must catch up before p takes more requests: a process
// that is killed repeats what it sent and did not record. A pool looks only at its own
// results, so that a thousand time-outs in the second one do not stop the quick one.
func (p *pool) isFull() bool { return p.inFlight+p.unrecorded >= p.maxHeld }

// accepts reports whether a request that began elsewhere may move to p.
func (p *pool) accepts(r *Request, memory int) bool {
	return !p.isFull() && p.hosts[r.webhook.host].inFlight < p.maxPerHost && p.bytes < memory
}

// count adds r to what waits or to what is under way in p, or takes it away.
func (p *pool) updateLoad(r *Request, waiting, used int) {
	p.waiting += waiting
	p.inFlight += used
	p.bytes += (waiting + used) * len(r.Delivery.Body)
	addLoad(p.hosts, r.webhook.host, waiting, used)
	addLoad(p.workspaces, r.Delivery.WorkspaceID, waiting, used) // its form may have moved since
}

// addLoad adds to the load of one of many.
func addLoad[K comparable](to map[K]load, of K, waiting, used int) {
	l := load{to[of].waiting + waiting, to[of].inFlight + used}
	if to[of] = l; l == (load{}) {
		delete(to, of)
	}
}

// hostCapacity is how many more deliveries of a host name may come in.
func (p *pool) hostCapacity(host string) int {
	l := p.hosts[host]
	return max(0, p.maxHostDeliveries-l.waiting-l.inFlight)
}

// next ends the turn of the webhook that is first in the line, and returns it. Those of
// a host name that has its share let others go first.
func (p *pool) nextWebhook(ready func(*webhook) bool) *webhook {
	var next *webhook
	for i := 0; i < len(p.queue); i++ {
		w := p.queue[i]
		if !ready(w) {
			p.dequeue(w)
			i--
			continue
		}
		used := p.hosts[w.host].inFlight
		if used < p.hostShare {
			next = w
			break
		}
		if used < p.maxPerHost && next == nil {
			next = w
		}
	}
	if next != nil {
		p.dequeue(next)
	}
	return next
}

// leave takes w out of the line.
func (p *pool) dequeue(w *webhook) {
	if w.queued {
		i := slices.Index(p.queue, w)
		p.queue = slices.Delete(p.queue, i, i+1)
		w.queued = false
	}
}
