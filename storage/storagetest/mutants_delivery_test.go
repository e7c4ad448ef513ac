package storagetest

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func deliveryMutants() []mutant {
	return []mutant{
		{"gives one delivery to several callers", []string{"deliveries/lease_holds", "concurrency/claims"},
			func(s storage.Storage) storage.Storage { return &claimsTwice{Storage: s} }},
		{"measures leases on the caller's clock", []string{"deliveries/lease_holds"},
			func(s storage.Storage) storage.Storage { return &callersClock{Storage: s} }},
		{"never lets a lease run out", []string{"deliveries/lease_expires", "deliveries/stale_lease_fenced", "deliveries/expired_lease_counts"},
			func(s storage.Storage) storage.Storage { return endlessLease{s} }},
		{"does not fence", []string{"deliveries/stale_lease_fenced", "deliveries/lease_of_redelivered_fenced"},
			func(s storage.Storage) storage.Storage { return &noFencing{Storage: s} }},
		{"does not tell what it fenced", []string{"deliveries/stale_lease_fenced", "deliveries/ended_lease_fenced", "deliveries/unknown_lease_fenced"},
			func(s storage.Storage) storage.Storage { return silentFence{s} }},
		{"gives the same token again", []string{"deliveries/token_rises", "deliveries/lease_expires"},
			func(s storage.Storage) storage.Storage { return &sameToken{noFencing{Storage: s}} }},
		{"serves the largest backlog first", []string{"deliveries/fair_batch", "deliveries/fair_to_newcomers", "deliveries/fair_past_full"},
			func(s storage.Storage) storage.Storage { return unfair{s, largestBacklog} }},
		{"serves one webhook until it has nothing left", []string{"deliveries/fair_turns", "deliveries/fair_over_batches"},
			func(s storage.Storage) storage.Storage { return unfair{s, lowestWebhook} }},
		{"ignores Held", []string{"deliveries/per_webhook", "deliveries/fair_past_full"},
			func(s storage.Storage) storage.Storage {
				return editsClaim{s, func(p *storage.ClaimParams) { p.Held = nil }}
			}},
		{"gives nobody more than PerWebhook", []string{"deliveries/per_webhook"},
			func(s storage.Storage) storage.Storage {
				return editsClaim{s, func(p *storage.ClaimParams) {
					p.Held = maps.Clone(p.Held)
					maps.DeleteFunc(p.Held, func(_ storage.ID, n int) bool { return n < 0 })
				}}
			}},
		{"ignores Max", []string{"deliveries/max"},
			func(s storage.Storage) storage.Storage {
				return editsClaim{s, func(p *storage.ClaimParams) { p.Max = everyRecord }}
			}},
		{"claims what is not due yet", []string{"deliveries/due", "deliveries/reschedule", "submissions/queues_for_enabled"},
			func(s storage.Storage) storage.Storage {
				return editsClaim{s, func(p *storage.ClaimParams) { p.Now = p.Now.Add(time.Microsecond) }}
			}},
		{"claims the latest due first", []string{"deliveries/due_order"},
			func(s storage.Storage) storage.Storage { return unfair{s, slices.Reverse[[]storage.Delivery]} }},
		{"forgets a pause", []string{"deliveries/pause", "deliveries/url_clears_pause", "deliveries/stats_pause"},
			func(s storage.Storage) storage.Storage {
				return editsFinish{s, func(r *storage.Result) { r.PausedUntil = time.Time{} }}
			}},
		{"blames a new URL for the old one", []string{"deliveries/url_outlives_old_results"},
			func(s storage.Storage) storage.Storage { return blames{s} }},
		{"forgets failures", []string{"deliveries/failures"},
			func(s storage.Storage) storage.Storage {
				return editsFinish{s, func(r *storage.Result) { r.Failures = 0 }}
			}},
		{"counts a lease that was given back as an attempt", []string{"deliveries/lease_released"},
			func(s storage.Storage) storage.Storage {
				return editsFinish{s, func(r *storage.Result) {
					if r.Attempt == nil {
						r.Attempt = &storage.Attempt{ID: newID(), WebhookID: r.Lease.WebhookID, EventID: r.Lease.EventID,
							Attempt: 1, CreatedAt: at(0), NextAttemptAt: at(0)}
					}
				}}
			}},
		{"tries a delivery that ended again", []string{"deliveries/end", "deliveries/finish_twice"},
			func(s storage.Storage) storage.Storage {
				return editsFinish{s, func(r *storage.Result) {
					if r.Attempt != nil && r.Attempt.NextAttemptAt.IsZero() {
						again := *r.Attempt
						again.NextAttemptAt = soon()
						r.Attempt = &again
					}
				}}
			}},
		{"keeps pending deliveries of a disabled webhook", []string{"deliveries/disable_ends", "concurrency/submit_during_disable"},
			func(s storage.Storage) storage.Storage { return keepsPending{s} }},
		{"does not cut the history", []string{"deliveries/history_cut", "deliveries/history_of_100", "deliveries/cut_attempt_is_gone"},
			func(s storage.Storage) storage.Storage { return keepsHistory{s, 1000} }},
		{"cuts the history by one too many", []string{"deliveries/history_cut", "deliveries/history_of_100"},
			func(s storage.Storage) storage.Storage { return keepsHistory{s, -1} }},
		{"lists attempts oldest first", []string{"webhooks/attempts", "deliveries/reschedule", "deliveries/history_of_100"},
			func(s storage.Storage) storage.Storage { return oldestFirst{s} }},
		{"writes event bodies anew", []string{"deliveries/same_body"},
			func(s storage.Storage) storage.Storage { return compacts{s} }},
		{"delivers to the first URL of a webhook", []string{"deliveries/current_webhook"},
			func(s storage.Storage) storage.Storage { return &firstURL{Storage: s} }},
		{"redelivers for a disabled webhook in silence", []string{"deliveries/redeliver_disabled", "deliveries/enqueue_refused"},
			func(s storage.Storage) storage.Storage { return noConflict{s} }},
		{"leaves claimed deliveries out of the statistics", []string{"deliveries/stats"},
			func(s storage.Storage) storage.Storage { return &unclaimedOnly{Storage: s} }},
	}
}

type editsClaim struct {
	storage.Storage
	edit func(*storage.ClaimParams)
}

func (m editsClaim) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.Delivery, error) {
	m.edit(&p)
	return m.Storage.ClaimDeliveries(ctx, p)
}

type editsFinish struct {
	storage.Storage
	edit func(*storage.Result)
}

func (m editsFinish) FinishDeliveries(ctx context.Context, done []storage.Result, keep int) ([]storage.Lease, error) {
	done = slices.Clone(done)
	for i := range done {
		m.edit(&done[i])
	}
	return m.Storage.FinishDeliveries(ctx, done, keep)
}

// claimsTwice gives what it claimed last to one more caller.
type claimsTwice struct {
	storage.Storage
	mu   sync.Mutex
	last []storage.Delivery
}

func (m *claimsTwice) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.Delivery, error) {
	got, err := m.Storage.ClaimDeliveries(ctx, p)
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(got) == 0 {
		got, m.last = m.last, nil
		return got, err
	}
	m.last = got
	return got, err
}

// callersClock takes a lease for expired when the caller's clock says so.
type callersClock struct {
	storage.Storage
	mu    sync.Mutex
	until time.Time
	last  []storage.Delivery
}

func (m *callersClock) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.Delivery, error) {
	got, err := m.Storage.ClaimDeliveries(ctx, p)
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(got) > 0 {
		m.last, m.until = got, p.Now.Add(p.Lease)
	} else if p.Now.After(m.until) {
		got = m.last
	}
	return got, err
}

// endlessLease holds every lease for ever. To keep the test short it reports
// that the suite's time is over instead of letting it poll.
type endlessLease struct{ storage.Storage }

func (m endlessLease) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.Delivery, error) {
	p.Lease = 1000 * time.Hour
	got, err := m.Storage.ClaimDeliveries(ctx, p)
	if err == nil && len(got) == 0 {
		err = context.DeadlineExceeded
	}
	return got, err
}

// noFencing settles whatever comes under the newest lease.
type noFencing struct {
	storage.Storage
	newest sync.Map
}

type pair struct{ webhook, event storage.ID }

func pairOf(l storage.Lease) pair { return pair{l.WebhookID, l.EventID} }

func (m *noFencing) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.Delivery, error) {
	got, err := m.Storage.ClaimDeliveries(ctx, p)
	for _, d := range got {
		m.newest.Store(pairOf(d.Lease), d.Lease.Token)
	}
	return got, err
}

func (m *noFencing) FinishDeliveries(ctx context.Context, done []storage.Result, keep int) ([]storage.Lease, error) {
	done = slices.Clone(done)
	for i := range done {
		if token, ok := m.newest.Load(pairOf(done[i].Lease)); ok {
			done[i].Lease.Token = token.(int64)
		}
	}
	return m.Storage.FinishDeliveries(ctx, done, keep)
}

type silentFence struct{ storage.Storage }

func (m silentFence) FinishDeliveries(ctx context.Context, done []storage.Result, keep int) ([]storage.Lease, error) {
	_, err := m.Storage.FinishDeliveries(ctx, done, keep)
	return nil, err
}

// sameToken calls every token 7.
type sameToken struct{ noFencing }

func (m *sameToken) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.Delivery, error) {
	got, err := m.noFencing.ClaimDeliveries(ctx, p)
	for i := range got {
		got[i].Lease.Token = 7
	}
	return got, err
}

// unfair serves by an order of its own, over all webhooks: it claims all there
// is, keeps the first ones and gives the rest back.
type unfair struct {
	storage.Storage
	order func(all []storage.Delivery)
}

func (m unfair) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.Delivery, error) {
	most := p.Max
	p.Max, p.PerWebhook, p.Held = everyRecord, everyRecord, nil
	all, err := m.Storage.ClaimDeliveries(ctx, p)
	if err != nil {
		return nil, err
	}
	m.order(all)
	most = min(most, len(all))
	var back []storage.Result
	for _, d := range all[most:] {
		back = append(back, storage.Result{Lease: d.Lease})
	}
	_, err = m.FinishDeliveries(ctx, back, 100)
	return all[:most], err
}

func largestBacklog(all []storage.Delivery) {
	backlog := map[storage.ID]int{}
	for _, d := range all {
		backlog[d.Lease.WebhookID]++
	}
	slices.SortStableFunc(all, func(a, b storage.Delivery) int {
		return backlog[b.Lease.WebhookID] - backlog[a.Lease.WebhookID]
	})
}

func lowestWebhook(all []storage.Delivery) {
	slices.SortStableFunc(all, func(a, b storage.Delivery) int { return compareIDs(a.Lease.WebhookID, b.Lease.WebhookID) })
}

// keepsPending says that a webhook is disabled and leaves it as it is.
type keepsPending struct{ storage.Storage }

func (m keepsPending) UpdateWebhook(ctx context.Context, who storage.Actor, id storage.ID, c storage.WebhookChange) (storage.Webhook, error) {
	enabled := c.Enabled
	c.Enabled = nil
	w, err := m.Storage.UpdateWebhook(ctx, who, id, c)
	if enabled != nil {
		w.Enabled = *enabled
	}
	return w, err
}

type keepsHistory struct {
	storage.Storage
	more int
}

func (m keepsHistory) FinishDeliveries(ctx context.Context, done []storage.Result, keep int) ([]storage.Lease, error) {
	return m.Storage.FinishDeliveries(ctx, done, keep+m.more)
}

type oldestFirst struct{ storage.Storage }

func (m oldestFirst) Attempts(ctx context.Context, who storage.Actor, webhook storage.ID, limit int) ([]storage.Attempt, error) {
	got, err := m.Storage.Attempts(ctx, who, webhook, limit)
	slices.Reverse(got)
	return got, err
}

type compacts struct{ storage.Storage }

func (m compacts) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.Delivery, error) {
	got, err := m.Storage.ClaimDeliveries(ctx, p)
	for i := range got {
		var out bytes.Buffer
		if json.Compact(&out, got[i].Body) == nil {
			got[i].Body = out.Bytes()
		}
	}
	return got, err
}

type firstURL struct {
	storage.Storage
	urls sync.Map
}

func (m *firstURL) CreateWebhook(ctx context.Context, who storage.Actor, w storage.Webhook, limit int) error {
	m.urls.Store(w.ID, w.URL)
	return m.Storage.CreateWebhook(ctx, who, w, limit)
}

func (m *firstURL) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.Delivery, error) {
	got, err := m.Storage.ClaimDeliveries(ctx, p)
	for i := range got {
		url, _ := m.urls.Load(got[i].Lease.WebhookID)
		got[i].URL, _ = url.(string)
	}
	return got, err
}

type noConflict struct{ storage.Storage }

func (m noConflict) Redeliver(ctx context.Context, webhook, attempt storage.ID, due time.Time) error {
	_ = m.Storage.Redeliver(ctx, webhook, attempt, due)
	return nil
}

func (m noConflict) Enqueue(ctx context.Context, webhook storage.ID, e storage.Event, due time.Time) error {
	_ = m.Storage.Enqueue(ctx, webhook, e, due)
	return nil
}

// unclaimedOnly takes one off for every delivery that was claimed.
type unclaimedOnly struct {
	storage.Storage
	mu      sync.Mutex
	claimed int64
}

func (m *unclaimedOnly) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.Delivery, error) {
	got, err := m.Storage.ClaimDeliveries(ctx, p)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.claimed += int64(len(got))
	return got, err
}

func (m *unclaimedOnly) QueueStats(ctx context.Context, now time.Time) (storage.QueueStats, error) {
	s, err := m.Storage.QueueStats(ctx, now)
	m.mu.Lock()
	defer m.mu.Unlock()
	s.Due -= min(s.Due, m.claimed)
	return s, err
}

// blames writes the pause of a result to the webhook whatever its URL was.
type blames struct{ storage.Storage }

func (m blames) FinishDeliveries(ctx context.Context, done []storage.Result, keep int) ([]storage.Lease, error) {
	fenced, err := m.Storage.FinishDeliveries(ctx, done, keep)
	for _, r := range done {
		if err != nil || r.Attempt == nil || r.PausedUntil.IsZero() {
			continue
		}
		// Another lease, taken now, carries the same pause.
		again, claimErr := m.ClaimDeliveries(ctx, storage.ClaimParams{Now: r.Attempt.NextAttemptAt, Lease: time.Hour, Max: 1, PerWebhook: 1})
		if claimErr != nil || len(again) == 0 {
			continue
		}
		late := *r.Attempt
		late.ID = newID()
		if _, err := m.Storage.FinishDeliveries(ctx, []storage.Result{{Lease: again[0].Lease, Attempt: &late, Failures: r.Failures, PausedUntil: r.PausedUntil}}, keep); err != nil {
			return nil, err
		}
	}
	return fenced, err
}
