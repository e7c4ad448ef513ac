package conformance_test

import (
	"context"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/conformance"
	"github.com/formsvc/formsvc/internal/lab/dialguard"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// webhookLog notes the webhooks that lead to an address that is not this machine's.
type webhookLog struct {
	storage.Storage

	mu       sync.Mutex
	outside  map[storage.ID]string // those that are there
	disabled int                   // how many were made
	enabled  []string              // what a dispatcher could have sent to
}

func (l *webhookLog) note(w storage.Webhook) {
	u, err := url.Parse(w.URL)
	if err == nil {
		if addr, err := netip.ParseAddr(u.Hostname()); err == nil && addr.IsLoopback() {
			return
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outside[w.ID] = w.URL
	if w.Enabled {
		l.enabled = append(l.enabled, w.URL)
	} else {
		l.disabled++
	}
}

func (l *webhookLog) CreateWebhook(ctx context.Context, who storage.Actor, n storage.NewWebhook) error {
	err := l.Storage.CreateWebhook(ctx, who, n)
	if err == nil {
		l.note(n.Webhook)
	}
	return err
}

func (l *webhookLog) UpdateWebhook(ctx context.Context, who storage.Actor, id storage.ID, c storage.WebhookChange) (storage.Webhook, error) {
	w, err := l.Storage.UpdateWebhook(ctx, who, id, c)
	if err == nil {
		l.note(w)
	}
	return w, err
}

func (l *webhookLog) DeleteWebhook(ctx context.Context, who storage.Actor, id storage.ID) error {
	err := l.Storage.DeleteWebhook(ctx, who, id)
	if err == nil {
		l.mu.Lock()
		delete(l.outside, id)
		l.mu.Unlock()
	}
	return err
}

// A service that delivers sends to the receivers of the suite alone, whether the target
// tells of its dispatcher or not, and so does one that is known by its URL and a key.
func TestTheSuiteMakesAServiceSendToNobodyElse(t *testing.T) { // not parallel: it asks for what all tests were refused
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	for name, change := range map[string]func(*conformance.Target){
		"with ReceiverURL":    func(*conformance.Target) {},
		"without ReceiverURL": func(target *conformance.Target) { target.ReceiverURL = nil },
		"with a key alone": func(target *conformance.Target) {
			*target = conformance.Target{URL: target.URL, Key: populated(t, *target), AllowedNetworks: target.AllowedNetworks}
		},
	} {
		log := &webhookLog{Storage: memory.New(), outside: map[storage.ID]string{}}
		target := newDeliveringTarget(t, nil, nil, formsvc.WithStorage(log))
		change(&target)
		log.mu.Lock()
		clear(log.outside) // what change made does not count
		log.disabled, log.enabled = 0, nil
		log.mu.Unlock()
		report := must(conformance.Check(t.Context(), target))
		if failures := report.Failures(); len(failures) > 0 {
			t.Errorf("%s: %v", name, failures)
		}
		if refused := dialguard.Refused(); len(refused) > 0 {
			t.Errorf("%s: %d dials to %q", name, len(refused), slices.Compact(slices.Sorted(slices.Values(refused))))
		}
		if len(log.enabled) > 0 {
			t.Errorf("%s: %d webhooks are enabled that lead elsewhere: %q", name, len(log.enabled), slices.Compact(log.enabled))
		}
		// That a public address is accepted was shown, and nothing is left of it.
		if target.ReceiverURL != nil && (log.disabled == 0 || len(log.outside) > 0) {
			t.Errorf("%s: %d webhooks led elsewhere, and %d are left", name, log.disabled, len(log.outside))
		}
	}
}
