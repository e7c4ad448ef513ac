package scheduler

import (
	"container/list"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// Request is a delivery from its claim to its result.
type Request struct {
	Delivery storage.Delivery

	webhook *webhook
	leased  time.Time // before the claim: the lease is no older
	arrived time.Time
	began   time.Time // zero: it waits
	name    *hostName // of its URL, once it began
	pool    *pool     // whose place it has
	moved   bool      // it began in another pool
	old     bool      // it was in a quick place for longer than the moment
	over    bool
}

// webhook is what a scheduler knows about one destination.
type webhook struct {
	id, form ID
	url      string
	since    int64 // the first token that was claimed for that URL
	name     *hostName

	standing storage.Standing // the store's, with the results that are not written yet
	failing  time.Time        // since when, if it is
	pause    pause
	unsaved  int       // results that are not written yet
	saved    time.Time // when the last one was

	pool     *pool // the one that its requests start in
	waiting  []*Request
	lined    *pool // in whose line it stands
	inFlight int
	old      int // requests under way that grew old
	granted  int // deliveries that may still be handed over

	took   time.Duration // how long its requests take, smoothed. Zero: not known
	hungry bool          // the last claim brought all that it had room for: there may be more
	active time.Time     // when something last happened
}

// hostName is what a scheduler knows about one host name.
type hostName struct {
	text     string
	webhooks int
	pools    [2]struct {
		used    int        // places
		waiting int        // deliveries
		aside   []*webhook // with a turn, while the name has its share
	}
}

// pool is a number of places for requests, and the line of the webhooks that have
// something to send there.
type pool struct {
	index    int
	places   int
	starters int // how many places those may take that start here
	share    int // places of one host name while another one waits,
	most     int // and while none does

	used    int
	started int // of those
	waiting int // deliveries
	bytes   int // of the bodies that wait and are under way
	line    list.List
	crowded []*hostName // with webhooks aside
}

func newQuickPool(n Numbers) pool {
	return pool{index: 0, places: n.Quick, starters: n.Quick, share: max(1, n.Quick/4), most: max(1, n.Quick*3/4)}
}

func newSecondPool(n Numbers) pool {
	half := max(1, n.Second/2)
	return pool{index: 1, places: n.Second, starters: max(1, n.Second*3/4), share: half, most: half}
}

// hasPlace reports whether a request may start in p.
func (p *pool) hasPlace() bool { return p.used < p.places && p.started < p.starters }

// canTake reports whether a request that grew old elsewhere may move to p.
func (p *pool) canTake(r *Request, memory int) bool {
	return p.used < p.places && r.name.pools[p.index].used < p.most && p.bytes < memory
}

// lineUp gives w a turn after all that stand in the line.
func (p *pool) lineUp(w *webhook) {
	if w.lined != p {
		w.lined = p
		p.line.PushBack(w)
	}
}

// next takes out the webhook whose turn it is. Those of a host name that has its
// share step aside; when nobody else waits, they have more than the share.
func (p *pool) next(ready func(*webhook) bool) *webhook {
	if w := p.fromAside(p.share, ready); w != nil {
		return w
	}
	for p.line.Len() > 0 {
		w := p.line.Remove(p.line.Front()).(*webhook)
		if w.lined != p {
			continue // it lines up for the other pool by now
		}
		if w.lined = nil; w.pool != p || !ready(w) {
			continue
		}
		at := &w.name.pools[p.index]
		if at.used < p.share {
			return w
		}
		w.lined = p
		if at.aside = append(at.aside, w); len(at.aside) == 1 {
			p.crowded = append(p.crowded, w.name)
		}
	}
	return p.fromAside(p.most, ready)
}

// fromAside takes out a webhook of a host name that has fewer than share places.
func (p *pool) fromAside(share int, ready func(*webhook) bool) *webhook {
	for i := 0; i < len(p.crowded); i++ {
		name := p.crowded[i]
		at := &name.pools[p.index]
		var found *webhook
		for found == nil && at.used < share && len(at.aside) > 0 {
			w := at.aside[0]
			at.aside = at.aside[1:]
			if w.lined != p {
				continue
			}
			if w.lined = nil; w.pool == p && ready(w) {
				found = w
			}
		}
		if len(at.aside) == 0 {
			at.aside = nil
			p.crowded = append(p.crowded[:i], p.crowded[i+1:]...)
			i--
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// take gives a place to r, and free takes it back.
func (p *pool) take(r *Request) {
	r.pool = p
	p.used++
	p.bytes += len(r.Delivery.Body)
	r.name.pools[p.index].used++
	if !r.moved {
		p.started++
	}
}

func (p *pool) free(r *Request) {
	p.used--
	p.bytes -= len(r.Delivery.Body)
	r.name.pools[p.index].used--
	if !r.moved {
		p.started--
	}
}

// wait counts a delivery of w that waits, or with -1 one that does not any more.
func (p *pool) wait(w *webhook, r *Request, n int) {
	p.waiting += n
	p.bytes += n * len(r.Delivery.Body)
	w.name.pools[p.index].waiting += n
}
