package storagetest

import (
	"time"

	"github.com/formsvc/formsvc/storage"
)

func upkeepCases() []Case {
	return []Case{
		{"never", "MaintenanceStatus of a new store returns when the store was created and no work, whatever was stored.", upkeepNever},
		{"dispatched", "ClaimDeliveries, even without a result, is recorded as the work of a dispatcher, for every process, and not as maintenance.", upkeepDispatched},
		{"expired", "ExpireDeliveries is recorded as the work of a dispatcher.", upkeepExpired},
		{"maintained", "Sweep is recorded as maintenance for every process, and not as a dispatcher, unless RemovalsOnly is set.", upkeepMaintained},
	}
}

// upkeep reads what was noted. Nothing is from before the store or from later than now.
func (b *bundle) upkeep(s storage.Storage) storage.MaintenanceStatus {
	b.Helper()
	u, err := s.MaintenanceStatus(b.Context())
	b.ok(err, "MaintenanceStatus")
	if u.Since.IsZero() || u.Now.Before(u.Since) {
		b.Errorf("MaintenanceStatus: want Since at Now (%s) or earlier, got %s", renderTime(u.Now), renderTime(u.Since))
	}
	for what, at := range map[string]time.Time{"Dispatched": u.LastDispatch, "Maintained": u.LastMaintenance} {
		if !at.IsZero() && (at.Before(u.Since) || at.After(u.Now)) {
			b.Errorf("MaintenanceStatus: want %s between Since (%s) and Now (%s), got %s", what, renderTime(u.Since), renderTime(u.Now), renderTime(at))
		}
	}
	return u
}

// noted says which work was noted, as every process sees it.
func (b *bundle) noted(dispatched, maintained bool, when string) {
	b.Helper()
	for _, s := range []storage.Storage{b.store, b.second} {
		u := b.upkeep(s)
		same(b, !u.LastDispatch.IsZero(), dispatched, "whether MaintenanceStatus reports a dispatcher %s", when)
		same(b, !u.LastMaintenance.IsZero(), maintained, "whether MaintenanceStatus reports maintenance %s", when)
	}
}

func upkeepNever(b *bundle) {
	b.noted(false, false, "in a new store")
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	b.enqueue(w.ID)
	b.noted(false, false, "when deliveries were queued")
}

func upkeepDispatched(b *bundle) {
	_, _, err := b.second.ClaimDeliveries(b.Context(), b.everything())
	b.ok(err, "ClaimDeliveries")
	b.noted(true, false, "after a claim")
}

func upkeepExpired(b *bundle) {
	_, err := b.second.ExpireDeliveries(b.Context(), storage.ExpireParams{MaxAge: time.Hour, Max: 1, At: b.tick(), NewID: newID})
	b.ok(err, "ExpireDeliveries")
	b.noted(true, false, "after deliveries were to expire")
}

func upkeepMaintained(b *bundle) {
	_, err := b.second.Sweep(b.Context(), storage.SweepParams{Now: soon(), RemovalsOnly: true, Max: 1})
	b.ok(err, "Sweep with RemovalsOnly")
	b.noted(false, false, "after removals")
	_, err = b.second.Sweep(b.Context(), storage.SweepParams{Now: soon(), Max: 1})
	b.ok(err, "Sweep")
	b.noted(false, true, "after a sweep")
}
