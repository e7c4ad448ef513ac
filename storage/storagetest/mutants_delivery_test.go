package storagetest

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func deliveryMutants() []mutant {
	return []mutant{
		{"does not note that a dispatcher ran", []string{"upkeep/dispatched", "upkeep/expired"},
			upkeep(func(u *storage.MaintenanceStatus) { u.LastDispatch = time.Time{} })},
		{"takes one kind of work for the other", []string{"upkeep/dispatched", "upkeep/maintained"},
			upkeep(func(u *storage.MaintenanceStatus) {
				u.LastDispatch, u.LastMaintenance = u.LastMaintenance, u.LastDispatch
			})},
		{"gives one delivery to several callers", []string{"deliveries/lease_holds", "concurrency/claims"},
			func(s storage.Storage) storage.Storage { return &claimsTwice{Storage: s} }},
		{"never lets a lease run out", []string{"deliveries/lease_expires", "deliveries/stale_lease_fenced", "deliveries/expired_lease_counts"},
			wrap[endlessLease]},
		{"does not fence", []string{"deliveries/stale_lease_fenced", "deliveries/lease_of_redelivered_fenced"},
			func(s storage.Storage) storage.Storage { return &noFencing{Storage: s} }},
		{"does not report what it fenced", []string{"deliveries/stale_lease_fenced", "deliveries/ended_lease_fenced", "deliveries/unknown_lease_fenced"},
			wrap[silentFence]},
		{"redelivers what did not fail, or is pending", []string{"deliveries/failed_only", "deliveries/failed_latest", "concurrency/redeliver_failed"},
			wrap[redeliversAny]},
		{"gives the same token again", []string{"deliveries/token_rises", "deliveries/lease_expires"},
			func(s storage.Storage) storage.Storage { return &sameToken{noFencing{Storage: s}} }},
		{"serves the largest backlog first", []string{"deliveries/fair_batch", "deliveries/fair_to_newcomers"}, serves(largestBacklog)},
		{"serves one webhook until it has nothing left", []string{"deliveries/fair_turns", "deliveries/fair_over_claims"},
			serves(lowestWebhook)},
		{"ignores Webhooks", []string{"deliveries/per_webhook", "deliveries/fair_past_full"},
			claims(func(p *storage.ClaimParams) { p.Webhooks = nil })},
		{"ignores host names", []string{"deliveries/per_host", "deliveries/fair_past_full"},
			claims(func(p *storage.ClaimParams) {
				p.Fast.Hosts, p.Fast.PerHost, p.NewOrFailing.Hosts, p.NewOrFailing.PerHost = nil, 0, nil, 0
			})},
		{"ignores Without", []string{"deliveries/without"},
			claims(func(p *storage.ClaimParams) {
				p.Fast.ExcludedWorkspaces, p.Slow.ExcludedWorkspaces, p.NewOrFailing.ExcludedWorkspaces = nil, nil, nil
			})},
		{"has one pool", []string{"deliveries/pools", "deliveries/fair_pools"},
			claims(func(p *storage.ClaimParams) {
				p.Fast.MaxDeliveries += p.Slow.MaxDeliveries + p.NewOrFailing.MaxDeliveries
				p.Slow.MaxDeliveries = p.Fast.MaxDeliveries
				p.NewOrFailing.MaxDeliveries = p.Fast.MaxDeliveries
			})},
		{"ignores Room", []string{"deliveries/room"}, claims(func(p *storage.ClaimParams) { p.NewOrFailing.MaxDeliveries = everyRecord })},
		{"ignores MaxBytes", []string{"deliveries/max_bytes"}, claims(func(p *storage.ClaimParams) { p.MaxBytes = 0 })},
		{"makes a retry due at once", []string{"deliveries/due", "deliveries/reschedule", "deliveries/finish_batch"},
			finishes(func(r *storage.Result) { r.RetryIn = min(r.RetryIn, 1) })},
		{"claims the youngest first", []string{"deliveries/oldest_first"}, serves(slices.Reverse[[]storage.ClaimedDelivery])},
		{"forgets a pause", []string{"deliveries/pause", "deliveries/change_probes", "deliveries/stats_pause", "deliveries/paused_list"},
			finishes(func(r *storage.Result) { r.PauseFor = 0 })},
		{"keeps a pause after a success", []string{"deliveries/pause_ends"},
			finishes(func(r *storage.Result) { r.Health.Failures = max(1, r.Health.Failures) })},
		{"judges by every result", []string{"deliveries/last_result_counts"}, wrap[judgesByEvery]},
		{"blames a new URL for the old one", []string{"deliveries/url_outlives_old_results"}, wrap[blames]},
		{"takes a URL that comes back for the old one", []string{"deliveries/url_comes_back"},
			servesEach(func(d *storage.ClaimedDelivery) { d.Generation = 1 })},
		{"forgets the Standing", []string{"deliveries/standing", "deliveries/pools", "deliveries/failing_for"},
			finishes(func(r *storage.Result) { r.Health = storage.Health{} })},
		{"lets a pause hold back what somebody asked for", []string{"deliveries/enqueue_probes", "deliveries/redeliver_probes", "deliveries/change_probes"},
			wrap[holdsBack]},
		{"counts a lease that was given back as an attempt", []string{"deliveries/lease_released"},
			finishes(func(r *storage.Result) {
				if r.Delivery == nil {
					r.Delivery = &storage.Delivery{ID: newID(), WebhookID: r.Lease.WebhookID, EventID: r.Lease.EventID,
						Attempt: 1, CreatedAt: at(0)}
					r.RetryIn = max(1, r.RetryIn)
				}
			})},
		{"tries a delivery that ended again", []string{"deliveries/end", "deliveries/finish_twice"},
			finishes(func(r *storage.Result) { r.RetryIn = max(1, r.RetryIn) })},
		{"forgets a delivery now and then", []string{"concurrency/no_wake_up_lost"},
			func(s storage.Storage) storage.Storage { return &strands{Storage: s} }},
		{"keeps pending deliveries of a disabled webhook", []string{"deliveries/disable_ends", "concurrency/submit_during_disable"},
			wrap[keepsPending]},
		{"cuts the history by one too many", []string{"deliveries/history_cut", "deliveries/finish_many"},
			func(s storage.Storage) storage.Storage { return cutsHistory{s, storage.MaxHistory - 1} }},
		{"counts expired deliveries as history", []string{"deliveries/expire_quiet"},
			func(s storage.Storage) storage.Storage { return cutsHistory{s, storage.MaxHistory} }},
		{"expires deliveries at any age", []string{"deliveries/expire_not_young"}, expires(func(p *storage.ExpireParams) { p.MaxAge = 0 })},
		{"never expires anything", []string{"deliveries/expire", "deliveries/expire_pieces", "deliveries/expire_summary"},
			expires(func(p *storage.ExpireParams) { p.MaxAge += time.Hour })},
		{"hands over what it did not lease", []string{"deliveries/hand_over"},
			func(s storage.Storage) storage.Storage { return &handsTwice{Storage: s} }},
		{"hands over whatever backlog and pause there is", []string{"deliveries/hand_over_backlog", "deliveries/hand_over_pause"},
			func(s storage.Storage) storage.Storage { return &handsTwice{Storage: s} }},
		{"reserves and never hands over", []string{"deliveries/hand_over_refused"}, wrap[reservesOnly]},
		{"lists attempts oldest first", []string{"webhooks/deliveries", "deliveries/reschedule", "deliveries/history_cut"},
			wrap[oldestFirst]},
		{"writes event bodies anew", []string{"deliveries/same_body"}, wrap[compacts]},
		{"delivers to the first URL of a webhook", []string{"deliveries/current_webhook"},
			func(s storage.Storage) storage.Storage { return &firstURL{Storage: s} }},
		{"forgets the old secret", []string{"deliveries/old_secret"},
			servesEach(func(d *storage.ClaimedDelivery) { d.OldSecret = nil })},
		{"takes a bound for that of every URL", []string{"deliveries/generations"},
			claims(func(p *storage.ClaimParams) { p.Generations = nil })},
		{"takes the first failure for the last", []string{"deliveries/ages"},
			servesEach(func(d *storage.ClaimedDelivery) { d.FailedAgo = d.FailingFor })},
		{"tells of no delivery that was too old", []string{"deliveries/end_expired"},
			finishes(func(r *storage.Result) { r.Summary = storage.ID{} })},
		{"queues Single events beside each other", []string{"deliveries/enqueue_single"}, wrap[manySingle]},
		{"redelivers for a disabled webhook in silence", []string{"deliveries/redeliver_disabled", "deliveries/enqueue_refused"},
			wrap[noConflict]},
		{"forgets what a disabled webhook has tried", []string{"deliveries/ended_body_lives", "deliveries/redeliver_disabled"},
			func(s storage.Storage) storage.Storage { return &forgetsTried{Storage: s} }},
		{"leaves claimed deliveries out of the statistics", []string{"deliveries/stats"},
			func(s storage.Storage) storage.Storage { return &unclaimedOnly{Storage: s} }},
	}
}

type editsClaim struct {
	storage.Storage
	edit func(*storage.ClaimParams)
}

func claims(edit func(*storage.ClaimParams)) wrapper {
	return func(s storage.Storage) storage.Storage { return editsClaim{s, edit} }
}

func (m editsClaim) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	m.edit(&p)
	return m.Storage.ClaimDeliveries(ctx, p)
}

type editsFinish struct {
	storage.Storage
	edit func(*storage.Result)
}

func finishes(edit func(*storage.Result)) wrapper {
	return func(s storage.Storage) storage.Storage { return editsFinish{s, edit} }
}

func (m editsFinish) FinishDeliveries(ctx context.Context, done []storage.Result) ([]storage.Lease, error) {
	done = slices.Clone(done)
	for i := range done {
		m.edit(&done[i])
	}
	return m.Storage.FinishDeliveries(ctx, done)
}

type editsExpire struct {
	storage.Storage
	edit func(*storage.ExpireParams)
}

func expires(edit func(*storage.ExpireParams)) wrapper {
	return func(s storage.Storage) storage.Storage { return editsExpire{s, edit} }
}

func (m editsExpire) ExpireDeliveries(ctx context.Context, p storage.ExpireParams) (storage.Expired, error) {
	m.edit(&p)
	return m.Storage.ExpireDeliveries(ctx, p)
}

// claimsTwice gives what it claimed last to one more caller.
type claimsTwice struct {
	storage.Storage
	mu   sync.Mutex
	last []storage.ClaimedDelivery
}

func (m *claimsTwice) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	got, more, err := m.Storage.ClaimDeliveries(ctx, p)
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(got) == 0 {
		got, m.last = m.last, nil
		return got, more, err
	}
	m.last = got
	return got, more, err
}

// endlessLease holds every lease for ever. To keep the test short it reports
// that the suite's time is over instead of letting it poll.
type endlessLease struct{ storage.Storage }

func (m endlessLease) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	brief := p.Lease == aMoment
	p.Lease = 1000 * time.Hour
	got, more, err := m.Storage.ClaimDeliveries(ctx, p)
	if err == nil && len(got) == 0 && !brief {
		err = context.DeadlineExceeded
	}
	return got, more, err
}

// noFencing settles whatever comes under the newest lease.
type noFencing struct {
	storage.Storage
	newest sync.Map
}

type pair struct{ webhook, event storage.ID }

func pairOf(l storage.Lease) pair { return pair{l.WebhookID, l.EventID} }

func (m *noFencing) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	got, more, err := m.Storage.ClaimDeliveries(ctx, p)
	for _, d := range got {
		m.newest.Store(pairOf(d.Lease), d.Lease.Token)
	}
	return got, more, err
}

func (m *noFencing) FinishDeliveries(ctx context.Context, done []storage.Result) ([]storage.Lease, error) {
	done = slices.Clone(done)
	for i := range done {
		if token, ok := m.newest.Load(pairOf(done[i].Lease)); ok {
			done[i].Lease.Token = token.(int64)
		}
	}
	return m.Storage.FinishDeliveries(ctx, done)
}

type silentFence struct{ storage.Storage }

func (m silentFence) FinishDeliveries(ctx context.Context, done []storage.Result) ([]storage.Lease, error) {
	_, err := m.Storage.FinishDeliveries(ctx, done)
	return nil, err
}

// sameToken calls every token 7.
type sameToken struct{ noFencing }

func (m *sameToken) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	got, more, err := m.noFencing.ClaimDeliveries(ctx, p)
	for i := range got {
		got[i].Lease.Token = 7
	}
	return got, more, err
}

// unfair serves by an order of its own, over all webhooks: it claims all there
// is, keeps the first ones and gives the rest back.
type unfair struct {
	storage.Storage
	order func(all []storage.ClaimedDelivery)
}

func serves(order func(all []storage.ClaimedDelivery)) wrapper {
	return func(s storage.Storage) storage.Storage { return unfair{s, order} }
}

func servesEach(edit func(*storage.ClaimedDelivery)) wrapper {
	return serves(func(all []storage.ClaimedDelivery) {
		for i := range all {
			edit(&all[i])
		}
	})
}

func (m unfair) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	most := max(p.Fast.MaxDeliveries, p.Slow.MaxDeliveries, p.NewOrFailing.MaxDeliveries)
	p.Fast.MaxDeliveries, p.Slow.MaxDeliveries, p.NewOrFailing.MaxDeliveries, p.PerWebhook = everyRecord, everyRecord, everyRecord, everyRecord
	all, more, err := m.Storage.ClaimDeliveries(ctx, p)
	if err != nil {
		return nil, false, err
	}
	m.order(all)
	most = min(most, len(all))
	var back []storage.Result
	for _, d := range all[most:] {
		back = append(back, storage.Result{Lease: d.Lease})
	}
	_, err = m.FinishDeliveries(ctx, back)
	return all[:most], more, err
}

func largestBacklog(all []storage.ClaimedDelivery) {
	backlog := map[storage.ID]int{}
	for _, d := range all {
		backlog[d.Lease.WebhookID]++
	}
	slices.SortStableFunc(all, func(a, b storage.ClaimedDelivery) int {
		return backlog[b.Lease.WebhookID] - backlog[a.Lease.WebhookID]
	})
}

func lowestWebhook(all []storage.ClaimedDelivery) {
	slices.SortStableFunc(all, func(a, b storage.ClaimedDelivery) int { return compareIDs(a.Lease.WebhookID, b.Lease.WebhookID) })
}

// holdsBack does not claim what somebody asked for while the webhook is paused.
type holdsBack struct{ storage.Storage }

func (m holdsBack) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	paused, err := m.PausedWebhooks(ctx, storage.AsHost(), storage.Page{Limit: everyRecord})
	if err != nil {
		return nil, false, err
	}
	p.Webhooks = maps.Clone(p.Webhooks)
	for _, w := range paused {
		if time.Now().Before(w.PausedUntil) {
			p.Webhooks[w.WebhookID] = 0
		}
	}
	return m.Storage.ClaimDeliveries(ctx, p)
}

// strands sets every tenth delivery aside and never looks at it again. To keep the
// test short it reports that the suite's time is over instead of letting it poll.
type strands struct {
	storage.Storage
	claimed atomic.Int64
}

func (m *strands) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	got, more, err := m.Storage.ClaimDeliveries(ctx, p)
	if err == nil && len(got) == 0 && p.PerWebhook == everyRecord {
		err = context.DeadlineExceeded
	}
	got = slices.DeleteFunc(got, func(storage.ClaimedDelivery) bool { return m.claimed.Add(1)%10 == 0 })
	return got, more, err
}

// keepsPending says that a webhook is disabled and leaves it as it is.
type keepsPending struct{ storage.Storage }

func (m keepsPending) UpdateWebhook(ctx context.Context, actor storage.Actor, id storage.ID, c storage.WebhookChange) (storage.Webhook, error) {
	enabled := c.Enabled
	c.Enabled = nil
	w, err := m.Storage.UpdateWebhook(ctx, actor, id, c)
	if enabled != nil {
		w.Enabled = *enabled
	}
	return w, err
}

// forgetsTried redelivers nothing of a webhook that was disabled once.
type forgetsTried struct {
	storage.Storage
	disabled sync.Map
}

func (m *forgetsTried) UpdateWebhook(ctx context.Context, actor storage.Actor, id storage.ID, c storage.WebhookChange) (storage.Webhook, error) {
	if c.Enabled != nil && !*c.Enabled {
		m.disabled.Store(id, true)
	}
	return m.Storage.UpdateWebhook(ctx, actor, id, c)
}

func (m *forgetsTried) Redeliver(ctx context.Context, webhook, attempt storage.ID) error {
	err := m.Storage.Redeliver(ctx, webhook, attempt)
	if _, disabled := m.disabled.Load(webhook); disabled && err == nil {
		err = storage.ErrNotFound
	}
	return err
}

// cutsHistory lists fewer attempts than there are.
type cutsHistory struct {
	storage.Storage
	most int
}

func (m cutsHistory) Deliveries(ctx context.Context, actor storage.Actor, webhook storage.ID, limit int) ([]storage.Delivery, error) {
	return m.Storage.Deliveries(ctx, actor, webhook, min(limit, m.most))
}

// handsTwice hands over what was queued without a lease.
type handsTwice struct{ storage.Storage }

func (m *handsTwice) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	h := n.Dispatcher
	n.Dispatcher = nil
	s, replayed, err := m.Storage.Submit(ctx, n)
	if h == nil {
		return s, replayed, err
	}
	webhooks, _ := h.Reserve(n.Submission.FormID)
	var all []storage.ClaimedDelivery
	if err == nil && !replayed {
		for _, w := range webhooks {
			all = append(all, storage.ClaimedDelivery{
				Lease: storage.Lease{WebhookID: w, EventID: n.Event.ID, Token: 1}, FormID: n.Submission.FormID,
				SubmissionID: n.Submission.ID, EventType: n.Event.Type, Body: n.Event.Body, Attempt: 1,
			})
		}
	}
	h.Dispatch(all, false)
	return s, replayed, err
}

type reservesOnly struct{ storage.Storage }

func (m reservesOnly) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	if n.Dispatcher != nil {
		n.Dispatcher.Reserve(n.Submission.FormID)
		n.Dispatcher = nil
	}
	return m.Storage.Submit(ctx, n)
}

type oldestFirst struct{ storage.Storage }

func (m oldestFirst) Deliveries(ctx context.Context, actor storage.Actor, webhook storage.ID, limit int) ([]storage.Delivery, error) {
	got, err := m.Storage.Deliveries(ctx, actor, webhook, limit)
	slices.Reverse(got)
	return got, err
}

type compacts struct{ storage.Storage }

func (m compacts) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	got, more, err := m.Storage.ClaimDeliveries(ctx, p)
	for i := range got {
		var out bytes.Buffer
		if json.Compact(&out, got[i].Body) == nil {
			got[i].Body = out.Bytes()
		}
	}
	return got, more, err
}

type firstURL struct {
	storage.Storage
	urls sync.Map
}

func (m *firstURL) CreateWebhook(ctx context.Context, actor storage.Actor, n storage.NewWebhook) error {
	m.urls.Store(n.Webhook.ID, n.Webhook.URL)
	return m.Storage.CreateWebhook(ctx, actor, n)
}

func (m *firstURL) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	got, more, err := m.Storage.ClaimDeliveries(ctx, p)
	for i := range got {
		url, _ := m.urls.Load(got[i].Lease.WebhookID)
		got[i].URL, _ = url.(string)
	}
	return got, more, err
}

// redeliversAny takes every delivery for one that failed.
type redeliversAny struct{ storage.Storage }

func (m redeliversAny) RedeliverFailed(ctx context.Context, webhook, attempt storage.ID) error {
	return m.Redeliver(ctx, webhook, attempt)
}

type noConflict struct{ storage.Storage }

func (m noConflict) Redeliver(ctx context.Context, webhook, attempt storage.ID) error {
	_ = m.Storage.Redeliver(ctx, webhook, attempt)
	return nil
}

func (m noConflict) Enqueue(ctx context.Context, webhook storage.ID, e storage.Event) error {
	_ = m.Storage.Enqueue(ctx, webhook, e)
	return nil
}

// manySingle passes over Single.
type manySingle struct{ storage.Storage }

func (m manySingle) Enqueue(ctx context.Context, webhook storage.ID, e storage.Event) error {
	e.Single = false
	return m.Storage.Enqueue(ctx, webhook, e)
}

// unclaimedOnly takes one off for every delivery that was claimed.
type unclaimedOnly struct {
	storage.Storage
	mu      sync.Mutex
	claimed int64
}

func (m *unclaimedOnly) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	got, more, err := m.Storage.ClaimDeliveries(ctx, p)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.claimed += int64(len(got))
	return got, more, err
}

func (m *unclaimedOnly) QueueStats(ctx context.Context) (storage.QueueStats, error) {
	s, err := m.Storage.QueueStats(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	s.Due -= min(s.Due, m.claimed)
	return s, err
}

// judgesByEvery settles one result after the other.
type judgesByEvery struct{ storage.Storage }

func (m judgesByEvery) FinishDeliveries(ctx context.Context, done []storage.Result) (fenced []storage.Lease, err error) {
	for _, r := range done {
		leases, err := m.Storage.FinishDeliveries(ctx, []storage.Result{r})
		if err != nil {
			return nil, err
		}
		fenced = append(fenced, leases...)
	}
	return fenced, nil
}

// blames writes the pause of a result to the webhook whatever its URL was.
type blames struct{ storage.Storage }

func (m blames) FinishDeliveries(ctx context.Context, done []storage.Result) ([]storage.Lease, error) {
	fenced, err := m.Storage.FinishDeliveries(ctx, done)
	for _, r := range done {
		if err != nil || r.Delivery == nil || r.PauseFor <= 0 {
			continue
		}
		// Another lease, taken now, carries the same pause.
		again, _, claimErr := m.ClaimDeliveries(ctx, storage.ClaimParams{Lease: time.Hour, NewOrFailing: storage.Pool{MaxDeliveries: 1}, PerWebhook: 1})
		if claimErr != nil || len(again) == 0 {
			continue
		}
		late := *r.Delivery
		late.ID = newID()
		r.Lease, r.Delivery = again[0].Lease, &late
		if _, err := m.Storage.FinishDeliveries(ctx, []storage.Result{r}); err != nil {
			return nil, err
		}
	}
	return fenced, err
}

// forgetsUpkeep changes what Upkeep tells.
type forgetsUpkeep struct {
	storage.Storage
	edit func(*storage.MaintenanceStatus)
}

func upkeep(edit func(*storage.MaintenanceStatus)) wrapper {
	return func(s storage.Storage) storage.Storage { return forgetsUpkeep{s, edit} }
}

func (m forgetsUpkeep) MaintenanceStatus(ctx context.Context) (storage.MaintenanceStatus, error) {
	u, err := m.Storage.MaintenanceStatus(ctx)
	m.edit(&u)
	return u, err
}
