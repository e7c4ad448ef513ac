package scheduler

import "slices"

// bounds are the bounds of a pool.
type bounds struct {
	starts int // places for requests that start here
	holds  int // how many requests may be in flight or not recorded
	share  int // places of one host name while another one waits,
	most   int // and while none does
	ofName int // deliveries of one host name that may be here: waiting or in flight
	least  int // a name that has no room for so many of them is asked nothing for
}

// pool is a number of places for requests, and the line of the webhooks that have
// something to send there.
type pool struct {
	bounds

	used       int
	guests     int  // of those: they started in the quick pool
	waiting    int  // deliveries, and those that may still be handed over
	bytes      int  // of the bodies that wait and are under way
	unrecorded int  // results
	wanted     bool // the store may have something for it
	line       []*webhook
	hosts      map[string]load
	workspaces map[ID]load
}

// load counts the deliveries in a pool to one host name or of one workspace.
type load struct{ waiting, used int }

// places is how many requests may start in p. Below 1: none.
func (p *pool) places() int {
	return min(p.starts-(p.used-p.guests), p.holds-p.used-p.unrecorded)
}

// full reports whether the store must catch up before p takes more requests: a process
// that is killed repeats what it sent and did not record. A pool looks only at its own
// results, so that a thousand time-outs in the second one do not stop the quick one.
func (p *pool) full() bool { return p.used+p.unrecorded >= p.holds }

// canTake reports whether a request that began elsewhere may move to p.
func (p *pool) canTake(r *Request, memory int) bool {
	return !p.full() && p.hosts[r.webhook.host].used < p.most && p.bytes < memory
}

// count adds r to what waits or to what is under way in p, or takes it away.
func (p *pool) count(r *Request, waiting, used int) {
	p.waiting += waiting
	p.used += used
	p.bytes += (waiting + used) * len(r.Delivery.Body)
	add(p.hosts, r.webhook.host, waiting, used)
	add(p.workspaces, r.Delivery.WorkspaceID, waiting, used) // its form may have moved since
}

// add adds to the load of one of many.
func add[K comparable](to map[K]load, of K, waiting, used int) {
	l := load{to[of].waiting + waiting, to[of].used + used}
	if to[of] = l; l == (load{}) {
		delete(to, of)
	}
}

// roomOf is how many more deliveries of a host name may come in.
func (p *pool) roomOf(host string) int {
	l := p.hosts[host]
	return max(0, p.ofName-l.waiting-l.used)
}

// next ends the turn of the webhook that is first in the line, and returns it. Those of
// a host name that has its share let others go first.
func (p *pool) next(ready func(*webhook) bool) *webhook {
	var turn *webhook
	for i := 0; i < len(p.line); i++ {
		w := p.line[i]
		if !ready(w) {
			p.leave(w)
			i--
			continue
		}
		used := p.hosts[w.host].used
		if used < p.share {
			turn = w
			break
		}
		if used < p.most && turn == nil {
			turn = w
		}
	}
	if turn != nil {
		p.leave(turn)
	}
	return turn
}

// leave takes w out of the line.
func (p *pool) leave(w *webhook) {
	if w.lined {
		i := slices.Index(p.line, w)
		p.line = slices.Delete(p.line, i, i+1)
		w.lined = false
	}
}
