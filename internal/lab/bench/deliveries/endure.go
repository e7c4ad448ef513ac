package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/objectid"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/webhooks"
)

// feeders is how many calls queue events at one time.
const feeders = 4

// endure keeps the queue busy and prints the sizes of the tables.
func endure(ctx context.Context, o options) (err error) {
	port, end, err := portOf(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	db, err := newDatabase(ctx, o.connections)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.drop(ctx)) }()
	if err := db.seed(ctx, urls(1, o.destinations, port, healthy), 0); err != nil {
		return err
	}
	seen := &waits{queued: map[storage.ID]time.Time{}}
	dispatcher, err := db.dispatcher(o.inFlight, seen)
	if err != nil {
		return err
	}

	running, stop := context.WithTimeout(ctx, o.duration)
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	faults := make(chan error, feeders+1)
	work.Go(func() {
		if err := dispatcher.Run(running); err != nil {
			faults <- err
		}
	})
	for f := range feeders {
		work.Go(func() {
			if err := feed(running, db.store, dispatcher, seen, o, f); err != nil && running.Err() == nil {
				faults <- err
			}
		})
	}
	return watch(ctx, running, db, seen, o, faults)
}

// feed queues its share of the events until ctx ends.
func feed(ctx context.Context, store storage.Storage, dispatcher *webhooks.Dispatcher, seen *waits, o options, first int) error {
	ids, body := objectid.NewSource(), pgseed.Answers(bodyBytes)
	tick := time.NewTicker(time.Second * feeders / time.Duration(o.rate))
	defer tick.Stop()
	for i := first; ; i += feeders {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			event := storage.Event{ID: ids.New(now), Type: "form.response.completed", Body: body}
			seen.queue(event.ID)
			if err := store.Enqueue(ctx, pgseed.ID(pgseed.Webhook, i%o.destinations), event); err != nil {
				return err
			}
			dispatcher.Wake()
		}
	}
}

// watch prints a report now and then while running, and the verdict in the end.
func watch(ctx, running context.Context, db *database, seen *waits, o options, faults <-chan error) error {
	started := time.Now()
	look := time.NewTicker(min(max(o.duration/100, time.Second), o.report))
	defer look.Stop()
	v, next := verdict{from: o.duration / 5}, o.report
	for {
		select {
		case err := <-faults:
			return err
		case <-running.Done():
			tables, err := db.sizes(ctx)
			if err != nil {
				return err
			}
			v.add(time.Since(started), tables)
			fmt.Println(v)
			return nil
		case <-look.C:
			tables, err := db.sizes(running)
			if err != nil {
				if running.Err() != nil {
					continue
				}
				return err
			}
			after := time.Since(started)
			v.add(after, tables)
			if after >= next {
				next += o.report
				fmt.Printf("%s: %s\n", after.Round(time.Second), seen)
				for _, t := range tables {
					fmt.Println(" ", t)
				}
			}
		}
	}
}

// verdict reports whether the table of deliveries grows.
type verdict struct {
	from          time.Duration // when it should have its size
	first         tableSize     // then
	firstAt       time.Duration
	last          tableSize
	most          int64 // bytes, in between
	mostDead      int64
	mostDeadAfter time.Duration
}

// growth is how much larger the table may be at the end than after a fifth of the
// time and still count as the same: its size breathes with vacuum.
const growth = 1.1

// vacuums is how often the server must have vacuumed the table since then for the
// verdict to mean anything. It does so about once a minute.
const vacuums = 3

func (v *verdict) add(after time.Duration, tables []tableSize) {
	for _, t := range tables {
		if t.name != "deliveries" || after < v.from {
			continue
		}
		if v.firstAt == 0 {
			v.first, v.firstAt = t, after
		}
		v.last, v.most = t, max(v.most, t.bytes())
		if t.dead > v.mostDead {
			v.mostDead, v.mostDeadAfter = t.dead, after
		}
	}
}

func (v verdict) String() string {
	word := "no growth"
	switch {
	case v.last.vacuumed-v.first.vacuumed < vacuums:
		word = "too short to tell"
	case float64(v.last.bytes()) > growth*float64(v.first.bytes()):
		word = "GROWTH"
	}
	return fmt.Sprintf("%s: deliveries with indexes %d kB after %s, %d kB at the end, at most %d kB; dead tuples %d, %d, at most %d after %s; vacuumed %d times",
		word, v.first.bytes()/1024, v.firstAt.Round(time.Second), v.last.bytes()/1024, v.most/1024,
		v.first.dead, v.last.dead, v.mostDead, v.mostDeadAfter.Round(time.Second), v.last.vacuumed)
}

// waits is an Observer that measures how long events wait.
type waits struct {
	webhooks.NoObserver
	mu           sync.Mutex
	sent, failed int
	queued       map[storage.ID]time.Time // when queueing began
	waited       durations                // from then to the request
}

// queue notes that an event is about to be queued.
func (w *waits) queue(event storage.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queued[event] = time.Now()
}

// AttemptFinished implements [webhooks.Observer].
func (w *waits) AttemptFinished(_ context.Context, a storage.Delivery) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent++
	if !a.Success {
		w.failed++
	}
	if at, ok := w.queued[a.EventID]; ok {
		delete(w.queued, a.EventID)
		w.waited = append(w.waited, now.Sub(at)-a.Duration)
	}
}

// String tells what was sent so far.
func (w *waits) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("%d sent, %d failed, wait %s", w.sent, w.failed, w.waited)
}
