package scheduler

import "slices"

type poolLimits struct {
	maxStarted        int // slots for requests that start in this pool
	maxHeld           int // maximum requests in flight or not recorded
	hostShare         int // maximum slots per hostname while another hostname waits
	maxPerHost        int // maximum slots per hostname if no other hostname waits
	maxHostDeliveries int // maximum waiting and in-flight deliveries per hostname
	minHostClaim      int // minimum capacity of a hostname for claiming its deliveries
}

type pool struct {
	poolLimits

	inFlight    int
	moved       int  // in-flight requests that started in the fast pool
	waiting     int  // waiting deliveries and reservations
	bytes       int  // total size of the waiting and in-flight bodies
	unrecorded  int  // sent deliveries whose results are not recorded
	claimWanted bool // the store may have due deliveries for this pool
	queue       []*webhook
	hosts       map[string]load
	workspaces  map[ID]load
}

type load struct{ waiting, inFlight int }

// freeSlots returns how many requests can start in p. The result can be negative.
func (p *pool) freeSlots() int {
	return min(p.maxStarted-(p.inFlight-p.moved), p.maxHeld-p.inFlight-p.unrecorded)
}

// isFull reports whether p must wait until the store has recorded results, because unrecorded deliveries are repeated
// if the process is killed. Each pool counts only its own results, so a thousand timeouts in the slow pool do not stop
// the fast pool.
func (p *pool) isFull() bool { return p.inFlight+p.unrecorded >= p.maxHeld }

// hasRoomFor reports whether a request can move from the fast pool to p.
func (p *pool) hasRoomFor(r *Request, memory int) bool {
	return !p.isFull() && p.hosts[r.webhook.host].inFlight < p.maxPerHost && p.bytes < memory
}

func (p *pool) updateLoad(r *Request, waiting, used int) {
	p.waiting += waiting
	p.inFlight += used
	p.bytes += (waiting + used) * len(r.Delivery.Body)
	addLoad(p.hosts, r.webhook.host, waiting, used)
	addLoad(p.workspaces, r.Delivery.WorkspaceID, waiting, used) // not the form's workspace, because the form may have moved
}

func addLoad[K comparable](to map[K]load, of K, waiting, used int) {
	l := load{to[of].waiting + waiting, to[of].inFlight + used}
	if to[of] = l; l == (load{}) {
		delete(to, of)
	}
}

func (p *pool) hostCapacity(host string) int {
	l := p.hosts[host]
	return max(0, p.maxHostDeliveries-l.waiting-l.inFlight)
}

// nextWebhook removes the next webhook from the queue and returns it. Webhooks on hostnames below their share come
// first.
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

func (p *pool) dequeue(w *webhook) {
	if w.queued {
		i := slices.Index(p.queue, w)
		p.queue = slices.Delete(p.queue, i, i+1)
		w.queued = false
	}
}
