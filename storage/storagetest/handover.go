package storagetest

import (
	"sync"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// A store may ignore a DirectDispatcher. These cases pass for a store that does, and for a
// store that does not.
func handOverCases() []Case {
	return []Case{
		{"hand_over", "Deliveries passed to Dispatch are leased as if they had been claimed, and all others can be claimed.", handOverLeased},
		{"hand_over_not_reserved", "Dispatch receives no deliveries that were not reserved, and none of a disabled webhook.", handOverNotReserved},
		{"hand_over_backlog", "Dispatch receives no deliveries of a webhook with a backlog.", handOverBacklog},
		{"hand_over_pause", "Dispatch receives no deliveries of a paused webhook.", handOverPause},
		{"hand_over_refused", "Dispatch is called without deliveries if the submission is rejected or a replay.", handOverRefused},
		{"hand_over_lease", "A delivery passed to Dispatch can be claimed when its lease has expired.", handOverLease},
	}
}

// hands is a storage.DirectDispatcher that records its calls.
type hands struct {
	webhooks []storage.ID
	lease    time.Duration

	mu       sync.Mutex
	reserved int
	settled  int
	got      []storage.ClaimedDelivery
	others   bool
}

func (h *hands) Reserve(storage.ID) ([]storage.ID, time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reserved++
	return h.webhooks, h.lease
}

func (h *hands) Dispatch(leased []storage.ClaimedDelivery, others bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.settled++
	h.got = append(h.got, leased...)
	h.others = h.others || others
}

// submitHanding submits with room for the webhooks and returns what was handed
// over. It checks what holds for every store.
func (b *bundle) submitHanding(f storage.Form, lease time.Duration, webhooks ...storage.ID) (storage.NewSubmission, *hands) {
	b.Helper()
	h := &hands{webhooks: webhooks, lease: lease}
	n := b.submit(f, func(n *storage.NewSubmission) { n.Dispatcher = h })
	b.handed(h)
	return n, h
}

func (b *bundle) handed(h *hands) {
	b.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.settled != h.reserved {
		b.Errorf("DirectDispatcher: want one call of Dispatch for each call of Reserve, got %d and %d", h.settled, h.reserved)
	}
}

func handOverLeased(b *bundle) {
	f := b.anyForm()
	one, two := b.addWebhook(f.ID), b.addWebhook(f.ID)
	b.rank(one.ID, quick)
	n, h := b.submitHanding(f, time.Hour, one.ID, newID())
	rest := b.claimAll()
	b.eachOnce(append(rest, h.got...), 2)
	for _, d := range h.got {
		same(b, d, storage.ClaimedDelivery{
			Lease:  storage.Lease{WebhookID: one.ID, EventID: n.Event.ID, Token: d.Lease.Token},
			FormID: f.ID, WorkspaceID: f.WorkspaceID, SubmissionID: n.Submission.ID, EventType: n.Event.Type, Body: n.Event.Body,
			URL: one.URL, Host: storage.Hostname(one.URL), Secret: secretOf(one), Attempt: 1, Health: quick,
		}, "delivery that was dispatched directly")
		same(b, h.others, true, "others: the second webhook was not reserved")
		b.finish(succeeded(d, b.tick()))
		same(b, len(b.attempts(one.ID)), 2, "attempts in the history")
	}
	for _, d := range rest {
		b.finish(succeeded(d, b.tick()))
	}
	b.nothingPending("everything was delivered")
	if len(h.got) > 0 {
		_, h = b.submitHanding(f, time.Hour, one.ID, two.ID)
		same(b, len(h.got), 2, "deliveries that were dispatched directly, both reserved")
		same(b, h.others, false, "others in Dispatch when all deliveries were dispatched directly")
	}
}

func handOverNotReserved(b *bundle) {
	f := b.anyForm()
	w, off := b.addWebhook(f.ID), b.addWebhook(f.ID, asDisabled)
	_, h := b.submitHanding(f, time.Hour, off.ID, b.addWebhook(b.anyForm().ID).ID)
	same(b, len(h.got), 0, "deliveries that were dispatched directly")
	same(b, b.claimOne().Lease.WebhookID, w.ID, "the webhook whose delivery is claimed")
}

func handOverBacklog(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	for range 3 {
		b.submit(f)
	}
	p := b.everything()
	p.Webhooks[w.ID] = 1
	same(b, len(b.claim(p)), 1, "deliveries claimed of a webhook with a limit of one")
	_, h := b.submitHanding(f, time.Hour, w.ID)
	same(b, len(h.got), 0, "deliveries that were dispatched directly")
	same(b, len(b.claimAll()), 3, "deliveries that are left")
}

func handOverPause(b *bundle) {
	f, w := b.pausedWebhook(time.Hour, 1)
	b.claimNone("the webhook is paused")
	_, h := b.submitHanding(f, time.Hour, w.ID)
	same(b, len(h.got), 0, "deliveries that were dispatched directly")
	b.claimNone("the webhook is paused")
}

func handOverRefused(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f, withKey("key"), withAnswer("answer"))
	d := b.claimOne()
	b.finish(succeeded(d, b.tick()))
	for name, edit := range map[string]func(*storage.NewSubmission){
		"a replay":    withKey("key"),
		"a duplicate": withAnswer("answer"),
		"a revision":  func(n *storage.NewSubmission) { n.FormRevision++ },
		"no form":     func(n *storage.NewSubmission) { n.Submission.FormID = newID() },
	} {
		h := &hands{webhooks: []storage.ID{w.ID}, lease: time.Hour}
		n := b.newSubmission(f)
		edit(&n)
		n.Dispatcher = h
		_, replayed, err := b.store.Submit(b.Context(), n)
		if err == nil && !replayed {
			b.Errorf("Submit: want an error for %s, got none", name)
		}
		b.handed(h)
		same(b, len(h.got), 0, "deliveries that were dispatched directly for %s", name)
		same(b, h.others, false, "others for %s", name)
	}
	b.nothingPending("nothing new was stored")
}

func handOverLease(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.rank(w.ID, quick)
	n, h := b.submitHanding(f, aMoment, w.ID)
	d := b.claimEventually(b.everything())[0]
	same(b, d.Lease.EventID, n.Event.ID, "the event claimed after its lease ran out")
	for _, old := range h.got {
		b.fenced(succeeded(old, b.tick()), "the delivery was claimed since")
	}
	b.finish(succeeded(d, b.tick()))
	b.nothingPending("it was delivered")
}
