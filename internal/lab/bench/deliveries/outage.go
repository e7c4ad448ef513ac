package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc/internal/dispatch"
	"github.com/formsvc/formsvc/internal/lab/bench/cpu"
	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/objectid"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/webhooks"
)

const (
	watched   = 40              // healthy webhooks, with an event a second each
	prelude   = 6 * time.Second // everybody is quick
	lateAfter = time.Second
	window    = 10 * time.Second
	founders  = 16 // goroutines that make what there is before
)

// course is how long an outage lasts, and how long it is watched after that.
type course struct{ outage, recovery time.Duration }

var (
	long  = course{40 * time.Second, 30 * time.Second}
	brief = course{24 * time.Second, 10 * time.Second} // longer than a time-out, and three windows
)

// affected are the webhooks beside the healthy ones.
type affected struct {
	count   int
	oneName bool          // on one host name, else each on one of its own
	path    string        // of their URLs
	every   time.Duration // between two events, about
	atOnce  bool          // their events come at the same instants
	backlog int           // events that are pending before the dispatcher starts
	tried   bool          // they have succeeded before
	ownLate bool          // their own events may be late, too
	only    bool          // nobody is healthy beside them
}

// allOutages by their names.
func allOutages() map[string]affected {
	all := map[string]affected{
		"none":        {},
		"2000-name":   {count: 2000, oneName: true, path: outages, every: 3500 * time.Millisecond},
		"500-new":     {count: 500, path: hang, every: 3500 * time.Millisecond},
		"restart":     {count: 400, path: hang, backlog: 50, tried: true},
		"alternating": {count: 80, path: alternates, every: time.Second},
	}
	for _, n := range []int{45, 120, 400, 700, 1000, 1500} {
		a := affected{count: n, path: outages, every: 3500 * time.Millisecond}
		all[fmt.Sprintf("%d-own", n)] = a
		a.atOnce = true
		all[fmt.Sprintf("%d-own-at-once", n)] = a
		a.oneName = true
		all[fmt.Sprintf("%d-name-at-once", n)] = a
		a.atOnce = false
		all[fmt.Sprintf("%d-name", n)] = a
	}
	for _, d := range []string{"20ms", "100ms", "400ms"} {
		all["5000-name-"+d] = affected{count: 5000, oneName: true, path: takes + "/" + d, every: 20 * time.Second, ownLate: true, only: true}
	}
	return all
}

// outage measures one of them.
func outage(ctx context.Context, o options) error {
	all := allOutages()
	a, ok := all[o.outage]
	if !ok {
		fmt.Println(strings.Join(slices.Sorted(maps.Keys(all)), "\n"))
		return nil
	}
	return inCompany(ctx, o, func(c *company, storedIn string) error {
		c.affected, c.course = a, long
		if o.brief {
			c.course = brief
		}
		if err := c.found(ctx); err != nil {
			return err
		}
		return c.live(ctx, o.outage+", "+storedIn)
	})
}

// inCompany calls do with a new store, and a receiver.
func inCompany(ctx context.Context, o options, do func(c *company, storedIn string) error) (err error) {
	var store storage.Storage = memory.New()
	storedIn := "memory"
	if !o.memory {
		db, err := newDatabase(ctx, o.connections)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.drop(ctx)) }()
		store, storedIn = db.store, "PostgreSQL"
	}
	r, err := startReceiver(10 * time.Millisecond)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.end()) }()
	return do(&company{store: store, ids: objectid.NewSource(), port: r.port, sent: map[storage.ID]sending{}}, storedIn)
}

// company is a store with the webhooks of an outage.
type company struct {
	store    storage.Storage
	ids      *objectid.Source
	port     string
	affected affected
	course   course
	began    time.Time
	workers  sync.WaitGroup

	dispatcher    *webhooks.Dispatcher
	startDispatch func() (to storage.DirectDispatcher, stored func())
	healthy       []storage.ID // forms
	others        []storage.ID

	mu      sync.Mutex
	sent    map[storage.ID]sending // by event
	windows []share
	failed  int // attempts
	arrived int // events of the others
	queued  int // of them
	full    time.Duration
}

type sending struct {
	at      time.Time
	healthy bool
}

type share struct{ all, late int }

// found makes the forms and webhooks.
func (c *company) found(ctx context.Context) error {
	workspace, err := c.workspace(ctx)
	if err != nil {
		return err
	}
	add := func(url string) (form storage.ID, err error) {
		form, _, err = c.webhook(ctx, workspace, url)
		return form, err
	}
	if !c.affected.only {
		c.healthy = make([]storage.ID, watched)
	}
	c.others = make([]storage.ID, c.affected.count)
	err = inParallel(len(c.healthy), func(i int) (err error) {
		c.healthy[i], err = add(fmt.Sprintf("http://127.1.0.%d:%s/%s", 1+i, c.port, healthy))
		return err
	})
	return errors.Join(err, inParallel(len(c.others), func(i int) (err error) {
		host := "127.2.0.1"
		if !c.affected.oneName {
			host = fmt.Sprintf("127.3.%d.%d", i/250, 1+i%250)
		}
		c.others[i], err = add(fmt.Sprintf("http://%s/%s/%d", net.JoinHostPort(host, c.port), c.affected.path, i))
		return err
	}))
}

// workspace makes one with an owner of its own.
func (c *company) workspace(ctx context.Context) (storage.ID, error) {
	now := time.Now().UTC().Truncate(time.Second)
	id := c.ids.New(now)
	return id, c.store.CreateWorkspace(ctx, storage.Workspace{ID: id, PublicID: id.String()[12:], OwnerID: c.ids.New(now), Name: "w", CreatedAt: now, UpdatedAt: now}, 0)
}

// webhook makes one, and the form that it belongs to.
func (c *company) webhook(ctx context.Context, workspace storage.ID, url string) (form, hook storage.ID, err error) {
	now := time.Now().UTC().Truncate(time.Second)
	form, hook = c.ids.New(now), c.ids.New(now)
	return form, hook, errors.Join(c.store.CreateForm(ctx, storage.AsHost(), storage.Form{
		ID: form, PublicID: form.String()[12:], WorkspaceID: workspace, Status: storage.StatusPublished,
		FormContent: storage.FormContent{Name: "f", Type: "SINGLE", Definition: storage.Definition{
			Blocks: []byte("[]"), Settings: []byte("{}"), Theme: []byte("{}"), Variables: []byte("{}"), HiddenFields: []byte("[]"),
		}},
		Revision: 1, CreatedAt: now, UpdatedAt: now,
	}), c.store.CreateWebhook(ctx, storage.AsHost(), storage.NewWebhook{
		Webhook: storage.Webhook{ID: hook, FormID: form, URL: url, Enabled: true, CreatedAt: now, UpdatedAt: now},
		Secret:  append([]byte{0}, "0123456789abcdef0123456789abcdef"...), // in plain text, says the first byte
	}))
}

// inParallel calls f for every number below n, from several goroutines.
func inParallel(n int, f func(i int) error) error {
	var next atomic.Int64
	var work sync.WaitGroup
	errs := make([]error, founders)
	for g := range errs {
		work.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && errs[g] == nil; i = int(next.Add(1)) - 1 {
				errs[g] = f(i)
			}
		})
	}
	work.Wait()
	return errors.Join(errs...)
}

// live runs the dispatcher and prints what became of the events.
func (c *company) live(ctx context.Context, name string) error {
	var err error
	config := reachable(c)
	c.dispatcher, c.startDispatch, err = webhooks.NewDispatcher(config, dispatch.Params{Store: c.store, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	if c.affected.tried { // a process before this one knew them to be quick
		if err := c.introduce(ctx); err != nil {
			return err
		}
	}
	err = inParallel(len(c.others)*c.affected.backlog, func(i int) error {
		return c.submit(ctx, c.others[i%len(c.others)], false)
	})
	if err != nil {
		return err
	}
	c.began = time.Now()
	from := c.began.Add(prelude)
	if err := c.schedule(ctx, from, from.Add(c.course.outage)); err != nil {
		return err
	}
	c.windows = make([]share, (prelude+c.course.outage+c.course.recovery)/window)
	ended := make(chan error, 1)
	go func() { ended <- c.dispatcher.Run(running) }()
	feeding, stopFeeding := context.WithCancel(running)
	defer stopFeeding()
	for i, form := range c.healthy {
		c.feed(feeding, form, true, time.Second, time.Duration(i)*time.Second/watched)
	}
	for i, form := range c.others {
		if every := c.affected.every; every > 0 {
			first := time.Duration(i) * every / time.Duration(len(c.others))
			if c.affected.atOnce {
				first = 0
			}
			c.feed(feeding, form, false, every, first)
		}
	}
	var m meter
	go m.run(running)
	measured, used := time.Now(), cpu.Own()
	sleep(ctx, prelude+c.course.outage)
	stopFeeding()
	c.workers.Wait()
	cores := (cpu.Own() - used).Seconds() / time.Since(measured).Seconds()
	peak := m.peak()
	sleep(ctx, c.course.recovery)
	stats, err := c.store.QueueStats(ctx)
	stop()
	if err := errors.Join(err, <-ended, ctx.Err()); err != nil {
		return err
	}
	return c.print(name, stats, peak, cores)
}

// introduce has every webhook of the others succeed once, by the store's account.
func (c *company) introduce(ctx context.Context) error {
	err := inParallel(len(c.others), func(i int) error { return c.submit(ctx, c.others[i], false) })
	if err != nil {
		return err
	}
	for {
		claimed, _, err := c.store.ClaimDeliveries(ctx, storage.ClaimParams{
			Lease: time.Minute, PerWebhook: 1, NewOrFailing: storage.Pool{MaxDeliveries: 100},
		})
		if err != nil || len(claimed) == 0 {
			return err
		}
		done := make([]storage.Result, len(claimed))
		now := time.Now().UTC()
		for i, d := range claimed {
			done[i] = storage.Result{
				Lease: d.Lease, Health: storage.Health{Succeeded: true},
				Delivery: &storage.Delivery{
					ID: c.ids.New(now), WebhookID: d.Lease.WebhookID, EventID: d.Lease.EventID, EventType: d.EventType,
					SubmissionID: d.SubmissionID, Attempt: 1, Status: 200, Success: true, CreatedAt: now,
				},
			}
		}
		if _, err := c.store.FinishDeliveries(ctx, done); err != nil {
			return err
		}
		c.mu.Lock()
		c.arrived += len(done)
		c.mu.Unlock()
	}
}

// feed submits events for a form until ctx ends.
func (c *company) feed(ctx context.Context, form storage.ID, healthy bool, every, first time.Duration) {
	c.workers.Go(func() {
		sleep(ctx, first)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for ctx.Err() == nil {
			if err := c.submit(context.WithoutCancel(ctx), form, healthy); err != nil {
				fmt.Println("an event is not stored:", err)
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	})
}

var eventBody = []byte(pgseed.Answers(bodyBytes))

// submit stores a response as the service does.
func (c *company) submit(ctx context.Context, form storage.ID, healthy bool) error {
	n := c.response(form)
	var stored func()
	n.Dispatcher, stored = c.startDispatch()
	c.mu.Lock()
	c.sent[n.Event.ID] = sending{time.Now(), healthy}
	if !healthy {
		c.queued++
	}
	c.mu.Unlock()
	_, _, err := c.store.Submit(ctx, n)
	if err == nil {
		stored()
	}
	return err
}

// response is one to a form.
func (c *company) response(form storage.ID) storage.NewSubmission {
	now := time.Now().UTC()
	return storage.NewSubmission{
		Submission: storage.Submission{
			ID: c.ids.New(now), FormID: form, SubmittedAt: now.Truncate(time.Second),
			Answers: []byte("[]"), Metadata: []byte("{}"), Hidden: []byte("{}"),
		},
		FormRevision: 1,
		Event:        storage.Event{ID: c.ids.New(now), Type: "form.response.completed", Body: eventBody},
	}
}

// AttemptFinished implements [webhooks.Observer].
func (c *company) AttemptFinished(_ context.Context, a storage.Delivery) {
	began := time.Now().Add(-a.Duration)
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.sent[a.EventID]
	if !a.Success {
		c.failed++
		if !s.healthy {
			return
		}
	}
	if !ok {
		return
	}
	delete(c.sent, a.EventID)
	if !s.healthy {
		c.arrived++
		if !c.affected.ownLate {
			return
		}
	}
	if i := int(s.at.Sub(c.began) / window); i >= 0 && i < len(c.windows) {
		c.windows[i].all++
		if began.Sub(s.at) > lateAfter {
			c.windows[i].late++
		}
	}
}

// InFlightObserved implements [webhooks.Observer].
func (c *company) InFlightObserved(_ context.Context, i webhooks.InFlight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.full = i.SlowFullFor
}

// QueueObserved implements [webhooks.Observer].
func (*company) QueueObserved(context.Context, storage.QueueStats) {}

// WebhookPaused implements [webhooks.Observer].
func (*company) WebhookPaused(context.Context, storage.PausedWebhook) {}

// WebhookResumed implements [webhooks.Observer].
func (*company) WebhookResumed(context.Context, storage.ID) {}

func (c *company) print(name string, stats storage.QueueStats, peak usage, cores float64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	missing := 0
	for _, s := range c.sent {
		if s.healthy {
			missing++
		}
	}
	worst := 0.0
	var shares []string
	for _, w := range c.windows {
		if w.all > 0 {
			worst = max(worst, float64(w.late)/float64(w.all))
			shares = append(shares, strconv.Itoa(w.late)+"/"+strconv.Itoa(w.all))
		}
	}
	fmt.Printf("%-28s late in each 10 s: %s; worst %.1f %%; %d healthy events missing; others: %d of %d arrived, %d attempts failed, %d due and %d waiting at the end; %s, %.2f cores; the second pool was full for %s\n",
		name, strings.Join(shares, " "), 100*worst, missing, c.arrived, c.queued, c.failed, stats.Due, stats.Waiting, peak, cores, c.full.Round(time.Millisecond))
	if worst > 0.01 || missing > 0 {
		return errors.New("healthy events were late")
	}
	return nil
}

// schedule has the receiver hang for URLs of an outage from a time until another.
func (c *company) schedule(ctx context.Context, from, until time.Time) error {
	url := fmt.Sprintf("http://127.0.0.1:%s/%s/%d/%d", c.port, schedules, from.UnixMilli(), until.UnixMilli())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// The outage of this receiver, in milliseconds.
var outageFrom, outageUntil atomic.Int64

// setOutage takes what schedule says.
func setOutage(arguments string) {
	from, until, _ := strings.Cut(arguments, "/")
	for text, to := range map[string]*atomic.Int64{from: &outageFrom, until: &outageUntil} {
		n, _ := strconv.ParseInt(text, 10, 64) // this program wrote it
		to.Store(n)
	}
}

// takeOutage answers a request as a webhook does that has an outage.
func takeOutage(r *http.Request) {
	if now := time.Now().UnixMilli(); now >= outageFrom.Load() && now < outageUntil.Load() {
		<-r.Context().Done()
		return
	}
	time.Sleep(10 * time.Millisecond)
}

// turns counts the requests of each webhook that alternates.
var turns sync.Map

// alternate is quick and takes 14 s in turns.
func alternate(r *http.Request) {
	n, _ := turns.LoadOrStore(r.URL.Path, &atomic.Int64{})
	if n.(*atomic.Int64).Add(1)%2 == 0 {
		select {
		case <-time.After(14 * time.Second):
		case <-r.Context().Done():
		}
	}
}

// sleep waits, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
