// Package servicetarget creates a [conformance.Target] from a [formsvc.Service], for
// a host's test of its own mounted service.
package servicetarget

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/conformance"
)

// New returns a target for a service that the caller has mounted, with everything
// that the service offers in Go. The URL is the base URL with the base path, as
// in "http://127.0.0.1:8080/v1".
//
// The service must keep its keys itself: a host with a KeyResolver of its own
// replaces CreateKey and RevokeKey of the target. ExpiredKey is left out, because
// a service makes no key that has expired already; see [ExpiredKeys]. The other
// fields are the caller's to set. One whose service runs its Dispatcher sets
// ReceiverURL, without which nothing is delivered:
//
//	target.ReceiverURL = func(address string) string { return "http://" + address + "/" }
//	target.AllowedNetworks = config.AllowedNetworks // 127.0.0.0/8 is among them
func New(svc *formsvc.Service, url string) conformance.Target {
	a := &adapter{svc: svc, keys: make(map[string]formsvc.ID)}
	return conformance.Target{
		URL:                 url,
		CreateKey:           a.createKey,
		RevokeKey:           a.revokeKey,
		AddMember:           onMember(svc.AddMember),
		RemoveMember:        onMember(svc.RemoveMember),
		Submit:              a.submit,
		RecordView:          onForm(written(svc, svc.RecordView)),
		RecordStart:         onForm(written(svc, svc.RecordStart)),
		SetLifetimeCounters: a.setLifetimeCounters,
		RestoreForm: onForm(func(ctx context.Context, form formsvc.ID) error {
			return svc.RestoreForm(ctx, form, formsvc.ID{})
		}),
	}
}

// ExpiredKeys is an ExpiredKey for the target of another service. The issuer is a
// service on the same storage and with the same key prefix, whose clock is behind by
// the given time. It makes keys for half of that time, so they have expired for
// everybody else.
func ExpiredKeys(issuer *formsvc.Service, behind time.Duration) func(ctx context.Context, user string, scopes []string) (string, error) {
	a := &adapter{svc: issuer, keys: make(map[string]formsvc.ID)}
	return func(ctx context.Context, user string, scopes []string) (string, error) {
		expires := time.Now().Add(-behind / 2)
		return a.issue(ctx, user, scopes, &expires)
	}
}

// adapter turns strings into the types that the service takes. It remembers the ids of
// the keys that it has made: the service names a key by its id, the suite by itself.
type adapter struct {
	svc *formsvc.Service

	mu   sync.Mutex
	keys map[string]formsvc.ID
}

func (a *adapter) createKey(ctx context.Context, user string, scopes []string) (string, error) {
	return a.issue(ctx, user, scopes, nil)
}

func (a *adapter) issue(ctx context.Context, user string, scopes []string, expires *time.Time) (string, error) {
	id, err := parse("user", user)
	if err != nil {
		return "", err
	}
	r := formsvc.KeyRequest{
		User:      formsvc.User{ID: id, Name: "User " + user, Email: user + "@example.com"},
		Name:      "conformance",
		ExpiresAt: expires,
	}
	for _, s := range scopes {
		r.Scopes = append(r.Scopes, formsvc.Scope(s))
	}
	issued, err := a.svc.CreateKey(ctx, r)
	if err != nil {
		return "", err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keys[issued.Secret] = issued.Key.ID
	return issued.Secret, nil
}

func (a *adapter) revokeKey(ctx context.Context, user, key string) error {
	id, err := parse("user", user)
	if err != nil {
		return err
	}
	a.mu.Lock()
	keyID := a.keys[key]
	a.mu.Unlock()
	return a.svc.RevokeKey(ctx, id, keyID)
}

func (a *adapter) submit(ctx context.Context, r conformance.Response) (string, error) {
	form, err := parse("form", r.Form)
	if err != nil {
		return "", err
	}
	stored, err := a.svc.Submit(ctx, formsvc.SubmitParams{
		FormID:         form,
		Answers:        r.Answers,
		Hidden:         r.Hidden,
		Metadata:       formsvc.Metadata{Country: r.Country, Device: r.Device, UserAgent: r.UserAgent, UTM: r.UTM},
		CompletionTime: r.CompletionTime,
		IdempotencyKey: r.IdempotencyKey,
	})
	if err != nil {
		return "", err
	}
	return stored.ID.String(), nil
}

func (a *adapter) setLifetimeCounters(ctx context.Context, form string, views, starts, submissions int64) error {
	id, err := parse("form", form)
	if err != nil {
		return err
	}
	return a.svc.SetLifetimeCounters(ctx, id, formsvc.Counters{Views: views, Starts: starts, Submissions: submissions})
}

// onMember takes the ids of workspace and user as text.
func onMember(do func(ctx context.Context, workspace, user formsvc.ID) error) func(ctx context.Context, workspace, user string) error {
	return func(ctx context.Context, workspace, user string) error {
		w, err := parse("workspace", workspace)
		if err != nil {
			return err
		}
		u, err := parse("user", user)
		if err != nil {
			return err
		}
		return do(ctx, w, u)
	}
}

// written counts, and asks for the figures: so the count is written, and every process of the
// service has it.
func written(svc *formsvc.Service, count func(context.Context, formsvc.ID) error) func(context.Context, formsvc.ID) error {
	return func(ctx context.Context, form formsvc.ID) error {
		if err := count(ctx, form); err != nil {
			return err
		}
		_, err := svc.AsHost().Metrics(ctx, form, formsvc.PeriodToday)
		return err
	}
}

// onForm takes the form's id as text.
func onForm(do func(ctx context.Context, form formsvc.ID) error) func(context.Context, string) error {
	return func(ctx context.Context, form string) error {
		id, err := parse("form", form)
		if err != nil {
			return err
		}
		return do(ctx, id)
	}
}

// parse reads an id.
func parse(what, text string) (formsvc.ID, error) {
	var id formsvc.ID
	if err := id.UnmarshalText([]byte(text)); err != nil {
		return id, fmt.Errorf("servicetarget: %s %q: %w", what, text, err)
	}
	return id, nil
}
