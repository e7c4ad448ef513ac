package scheduler

import (
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// Request is a delivery from its claim to its result.
type Request struct {
	Delivery storage.Delivery

	webhook *webhook
	leased  time.Time // before the claim: the lease is no older
	arrived time.Time

	// Once it began:
	began    time.Time
	to       *destination
	pool     *pool // whose place it has
	moved    bool  // it began in another pool
	doubtful bool  // its webhook was new or had failed last
}

// destination is what a scheduler knows about a URL of a webhook. Requests and results
// keep theirs when the webhook gets another URL.
type destination struct {
	url        string
	generation int64 // of the webhook's URLs: one that comes back is another destination
	name       *hostName

	standing storage.Standing // the store's, with the results that are not written yet
	failing  time.Time        // since when, if it is
	pause    pause
	took     time.Duration // how long its requests take, smoothed. Zero: not known
}

// webhook is what a scheduler knows about one webhook.
type webhook struct {
	id, form ID
	*destination

	unsaved int       // results that are not written yet
	saved   time.Time // when the last one was

	pool     *pool // the one that its requests start in
	lined    bool  // it stands in the line of that pool
	waiting  []*Request
	underWay []*Request // oldest first
	granted  int        // deliveries that may still be handed over

	active time.Time // when something last happened
}

// idle reports whether w has nothing to do.
func (w *webhook) idle() bool {
	return len(w.waiting)+len(w.underWay)+w.granted+w.unsaved == 0
}

// hostName is what a scheduler knows about one host name.
type hostName struct {
	text    string
	used    [2]int // places of the pools
	waiting [2]int // deliveries for them
}

// pool is a number of places for requests, and the line of the webhooks that have
// something to send there.
type pool struct {
	index  int
	starts int // places for requests that start here
	holds  int // how many requests may be under way or not recorded
	share  int // places of one host name while another one waits,
	most   int // and while none does

	used       int
	started    int  // of those
	waiting    int  // deliveries
	bytes      int  // of the bodies that wait and are under way
	unrecorded int  // results
	wanted     bool // something may be due for it
	line       []*webhook
}

// newQuickPool makes the pool of those that are quick. With a quarter of the places four
// host names are served side by side, and one that hangs leaves three quarters to the
// others. A name that is alone has three quarters, so that a second name that comes
// finds places at once.
func newQuickPool(n Numbers) pool {
	return pool{index: 0, starts: n.Quick, holds: n.Ahead, wanted: true, share: max(1, n.Quick/4), most: max(1, n.Quick*3/4)}
}

// newSecondPool makes the pool of all others. A quarter of the places is for requests that
// move over: 256 quick webhooks may hang at once though the others use all that they may.
// A host name has half: its requests may hang for the whole Timeout, and those of the
// other names need places meanwhile.
func newSecondPool(n Numbers) pool {
	half := max(1, n.Second/2)
	return pool{index: 1, starts: max(1, n.Second*3/4), holds: n.Second, wanted: true, share: half, most: half}
}

// hasPlace reports whether a request may start in p.
func (p *pool) hasPlace() bool { return p.started < p.starts && !p.full() }

// full reports whether the store must catch up before p takes more requests: a process
// that is killed repeats what it sent and did not record. A pool looks only at its own
// results, so that a thousand time-outs in the second one do not stop the quick one.
func (p *pool) full() bool { return p.used+p.unrecorded >= p.holds }

// canTake reports whether a request that began elsewhere may move to p.
func (p *pool) canTake(r *Request, memory int) bool {
	return !p.full() && r.to.name.used[p.index] < p.most && p.bytes < memory
}

// lineUp gives w a turn after all that stand in the line of its pool.
func (w *webhook) lineUp() {
	if !w.lined {
		w.lined = true
		w.pool.line = append(w.pool.line, w)
	}
}

// next takes out the webhook whose turn it is. Those of a host name that has its
// share let others go first.
func (p *pool) next(ready func(*webhook) bool) *webhook {
	turn := -1
	for i := 0; i < len(p.line); i++ {
		w := p.line[i]
		if !ready(w) {
			p.takeOut(i)
			i--
			continue
		}
		used := w.name.used[p.index]
		if used < p.share {
			turn = i
			break
		}
		if used < p.most && turn < 0 {
			turn = i
		}
	}
	if turn < 0 {
		return nil
	}
	return p.takeOut(turn)
}

// takeOut ends the turn of the webhook at that place of the line.
func (p *pool) takeOut(i int) *webhook {
	w := p.line[i]
	p.line = slices.Delete(p.line, i, i+1)
	w.lined = false
	return w
}

// take gives a place to r, and free takes it back.
func (p *pool) take(r *Request) { p.count(r, 1) }
func (p *pool) free(r *Request) { p.count(r, -1) }

func (p *pool) count(r *Request, n int) {
	r.pool = p
	p.used += n
	p.bytes += n * len(r.Delivery.Body)
	r.to.name.used[p.index] += n
	if !r.moved {
		p.started += n
	}
}

// wait counts a delivery of w that waits, or with -1 one that does not any more.
func (p *pool) wait(w *webhook, r *Request, n int) {
	p.waiting += n
	p.bytes += n * len(r.Delivery.Body)
	w.name.waiting[p.index] += n
}
