// Package memory implements [storage.Storage] in the memory of one process. Use it for tests, to try out the service,
// or if you can afford to lose the data when the process ends.
//
// # Implementation
//
// Records are stored in maps by ID. One mutex protects all maps. A method copies its arguments, checks all conditions,
// makes its change and returns copies. Each method is therefore one atomic change. Only a form's definition is returned
// without copying. To create a list, a method reads all records of a type. Only sets that can be large are sorted
// (index.go): a form's submissions and partial submissions, and a webhook's pending deliveries. A claim reads all
// webhooks, but only deliveries that may be due (queue.go).
package memory

import (
	"bytes"
	"container/list"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/formsvc/formsvc/storage"
)

// Store implements [storage.Storage]. Create it with [New]. It must not be copied. It is safe for concurrent
// use, starts no goroutines, and need not be closed.
type Store struct {
	storage.Unimplemented

	now func() time.Time // clock for deliveries

	mu                sync.Mutex
	workspaces        map[storage.ID]*workspace
	forms             map[storage.ID]*form
	publicForms       map[string]*form
	purgedSubmissions []*submission // submissions of purged forms, until Sweep has passed them to BeforeDelete
	webhooks          map[storage.ID]*webhook
	allForms          []*webhook // webhooks for all forms
	serviceOrder      list.List  // all webhooks, least recently served first
	lastToken         int64      // token of the last lease
	backfillPasses    int64      // total number of backfill passes
	users             map[storage.ID]storage.User
	keys              map[[32]byte]*key         // by hash
	maintenance       storage.MaintenanceStatus // its Now is the time of the last MaintenanceStatus call
}

var _ storage.Storage = (*Store)(nil)

// Option configures [New].
type Option func(*Store)

// WithClock sets the clock that determines when deliveries are due, leased, paused and retained. Defaults to
// [time.Now], even if now is nil. Record times do not use this clock, because callers set them. The store calls the
// clock while it is locked, so the clock must not call the store.
func WithClock(now func() time.Time) Option {
	return func(s *Store) {
		if now != nil {
			s.now = now
		}
	}
}

// New returns an empty store.
func New(opts ...Option) *Store {
	s := &Store{
		now:         time.Now,
		workspaces:  make(map[storage.ID]*workspace),
		forms:       make(map[storage.ID]*form),
		publicForms: make(map[string]*form),
		webhooks:    make(map[storage.ID]*webhook),
		users:       make(map[storage.ID]storage.User),
		keys:        make(map[[32]byte]*key),
	}
	for _, opt := range opts {
		opt(s)
	}
	s.maintenance.Since = toUTC(s.now())
	return s
}

// withLock runs method while the store is locked. If ctx is canceled, or any of the values is invalid, withLock returns
// an error without running method.
func withLock(ctx context.Context, s *Store, values []any, method func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if slices.ContainsFunc(values, func(v any) bool { return !isValidValue(v) }) {
		return storage.ErrInvalidValue
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return method()
}

func withLockResult[R any](ctx context.Context, s *Store, values []any, method func() (R, error)) (out R, err error) {
	err = withLock(ctx, s, values, func() (err error) {
		out, err = method()
		return err
	})
	return out, err
}

// withRecord is like withLock, but passes method the record that find returns. If find returns nil, the error is
// ErrNotFound.
func withRecord[T any](ctx context.Context, s *Store, find func() *T, values []any, method func(*T) error) error {
	return withLock(ctx, s, values, func() error {
		if found := find(); found != nil {
			return method(found)
		}
		return storage.ErrNotFound
	})
}

func withRecordResult[T, R any](ctx context.Context, s *Store, find func() *T, values []any, method func(*T) (R, error)) (out R, err error) {
	err = withRecord(ctx, s, find, values, func(found *T) (err error) {
		out, err = method(found)
		return err
	})
	return out, err
}

type requiredTime time.Time

// isValidValue reports whether package storage allows the text and times in value. It panics if the type is unknown.
func isValidValue(value any) bool {
	switch v := value.(type) {
	case string:
		return storage.ValidText(v)
	case *string:
		return v == nil || storage.ValidText(*v)
	case json.RawMessage:
		return bytes.IndexByte(v, 0) < 0 && utf8.Valid(v)
	case []storage.DocumentChange:
		return storage.ValidDocuments(v)
	case []storage.FunnelCount:
		return !slices.ContainsFunc(v, func(c storage.FunnelCount) bool { return !storage.ValidTime(c.At) })
	case []storage.Scope:
		return !slices.ContainsFunc(v, func(scope storage.Scope) bool { return !storage.ValidText(string(scope)) })
	case time.Time:
		return storage.ValidTime(v)
	case []time.Time:
		return !slices.ContainsFunc(v, func(t time.Time) bool { return !storage.ValidTime(t) })
	case requiredTime:
		return !time.Time(v).IsZero() && storage.ValidTime(time.Time(v))
	case storage.Page:
		return v.After == nil || storage.ValidTime(v.After.Time)
	case *storage.AcceptanceRules:
		return v == nil || storage.ValidTime(v.OpenAt) && storage.ValidTime(v.CloseAt) && storage.ValidText(v.Unique.Block)
	case storage.Definition:
		sections := v.Sections()
		return !slices.ContainsFunc(sections[:], func(s storage.Section) bool { return !isValidValue(*s.Value) })
	}
	panic("memory: unexpected value type")
}

// toUTC converts t to UTC and removes its monotonic clock reading, so that equal times compare equal with ==.
func toUTC(t time.Time) time.Time { return t.Round(0).UTC() }

func setIfGiven[T any](value, by *T) {
	if by != nil {
		*value = *by
	}
}
