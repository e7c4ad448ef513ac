package storagetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// What the contract leaves to a store must not fail a case.
func TestSuiteAcceptsWhatTheContractLeavesOpen(t *testing.T) {
	t.Parallel()
	Run(t, func(*testing.T) storage.Storage { return variant{memory.New()} })
}

// variant wraps errors, writes JSON with other white space, returns empty lists
// for nil ones, knows nanoseconds, and returns the deliveries of a batch in
// another order.
type variant struct{ storage.Storage }

func wrapped(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("variant: %w", err)
}

func indented(raw json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "\t") != nil {
		return raw
	}
	return out.Bytes()
}

func indentedForm(f storage.Form) storage.Form {
	f.Definition.Blocks, f.Definition.Settings = indented(f.Definition.Blocks), indented(f.Definition.Settings)
	return f
}

func listed[V any](list []V, err error) ([]V, error) {
	if list == nil {
		list = []V{}
	}
	return list, wrapped(err)
}

func (m variant) CreateWorkspace(ctx context.Context, w storage.Workspace, limit int) error {
	return wrapped(m.Storage.CreateWorkspace(ctx, w, limit))
}

func (m variant) Workspace(ctx context.Context, who storage.Actor, id storage.ID) (storage.Workspace, error) {
	w, err := m.Storage.Workspace(ctx, who, id)
	if err == nil {
		w.CreatedAt = w.CreatedAt.Add(999 * time.Nanosecond)
	}
	return w, wrapped(err)
}

func (m variant) Workspaces(ctx context.Context, who storage.Actor, page storage.Page) ([]storage.Workspace, error) {
	return listed(m.Storage.Workspaces(ctx, who, page))
}

func (m variant) Form(ctx context.Context, who storage.Actor, id storage.ID) (storage.Form, error) {
	f, err := m.Storage.Form(ctx, who, id)
	return indentedForm(f), wrapped(err)
}

func (m variant) UpdateForm(ctx context.Context, who storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	f, err := m.Storage.UpdateForm(ctx, who, id, c)
	return indentedForm(f), wrapped(err)
}

func (m variant) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	s, replayed, err := m.Storage.Submit(ctx, n)
	s.Answers = indented(s.Answers)
	return s, replayed, wrapped(err)
}

func (m variant) Deliveries(ctx context.Context, who storage.Actor, webhook storage.ID, most int) ([]storage.Delivery, error) {
	return listed(m.Storage.Deliveries(ctx, who, webhook, most))
}

func (m variant) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	got, more, err := m.Storage.ClaimDeliveries(ctx, p)
	slices.Reverse(got)
	got, err = listed(got, err)
	return got, more, err
}

func (m variant) FinishDeliveries(ctx context.Context, done []storage.Result) ([]storage.Lease, error) {
	return listed(m.Storage.FinishDeliveries(ctx, done))
}
