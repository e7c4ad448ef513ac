package storagetest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// badPartials is a store whose methods about half responses are replaced where they are set.
// Each is given the store's own methods.
type badPartials struct {
	storage.Storage
	save   func(ctx context.Context, p storage.SavePartialParams) (int64, error)
	read   func(ctx context.Context, form storage.ID, token [32]byte, now time.Time) (storage.Partial, error)
	list   func(ctx context.Context, who storage.Actor, form storage.ID, q storage.PartialQuery, each func(*storage.Partial) error) (bool, error)
	remove func(ctx context.Context, who storage.Actor, form storage.ID, p storage.DeletePartialsParams) (int, bool, error)
	submit func(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error)
	trash  func(ctx context.Context, form storage.ID) error // before the form goes there
	create func(ctx context.Context, form storage.ID) error // after the form is made

	all sync.Map // what was saved, by token
}

func (m *badPartials) SavePartial(ctx context.Context, p storage.SavePartialParams) (int64, error) {
	m.all.Store(p.Token, p)
	if m.save != nil {
		return m.save(ctx, p)
	}
	return m.Storage.SavePartial(ctx, p)
}

func (m *badPartials) Partial(ctx context.Context, form storage.ID, token [32]byte, now time.Time) (storage.Partial, error) {
	if m.read != nil {
		return m.read(ctx, form, token, now)
	}
	return m.Storage.Partial(ctx, form, token, now)
}

func (m *badPartials) Partials(ctx context.Context, who storage.Actor, form storage.ID, q storage.PartialQuery, each func(*storage.Partial) error) (bool, error) {
	if m.list != nil {
		return m.list(ctx, who, form, q, each)
	}
	return m.Storage.Partials(ctx, who, form, q, each)
}

func (m *badPartials) DeletePartials(ctx context.Context, who storage.Actor, form storage.ID, p storage.DeletePartialsParams) (int, bool, error) {
	if m.remove != nil {
		return m.remove(ctx, who, form, p)
	}
	return m.Storage.DeletePartials(ctx, who, form, p)
}

func (m *badPartials) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	if m.submit != nil {
		return m.submit(ctx, n)
	}
	return m.Storage.Submit(ctx, n)
}

func (m *badPartials) TrashForm(ctx context.Context, who storage.Actor, id storage.ID, p storage.TrashParams) error {
	if m.trash != nil {
		if err := m.trash(ctx, id); err != nil {
			return err
		}
	}
	return m.Storage.TrashForm(ctx, who, id, p)
}

func (m *badPartials) CreateForm(ctx context.Context, who storage.Actor, f storage.Form) error {
	err := m.Storage.CreateForm(ctx, who, f)
	if err == nil && m.create != nil {
		err = m.create(ctx, f.ID)
	}
	return err
}

// saved returns what was saved last with a token.
func (m *badPartials) saved(token [32]byte) storage.SavePartialParams {
	p, _ := m.all.Load(token)
	saved, _ := p.(storage.SavePartialParams)
	return saved
}

func (m *badPartials) drop(ctx context.Context, form storage.ID, token [32]byte) {
	if token != [32]byte{} {
		_, _, _ = m.Storage.DeletePartials(ctx, storage.AsHost(), form, storage.DeletePartialsParams{Token: token, Max: 1})
	}
}

// open lists the half responses of a form that are not over.
func (m *badPartials) open(ctx context.Context, form storage.ID, now time.Time) []storage.Partial {
	list, _, _ := listPartials(ctx, m.Storage, storage.AsHost(), form, storage.PartialQuery{Now: now, Page: storage.Page{Limit: everyRecord}})
	return list
}

// evict makes room for a new one as first says which goes.
func (m *badPartials) evict(ctx context.Context, p storage.SavePartialParams, now time.Time, first func(a, b storage.Partial) int) storage.SavePartialParams {
	if list := m.open(ctx, p.Partial.FormID, now); p.Max > 0 && len(list) >= p.Max {
		goes := slices.MinFunc(list, first)
		_, _, _ = m.Storage.DeletePartials(ctx, storage.AsHost(), p.Partial.FormID, storage.DeletePartialsParams{IDs: []storage.ID{goes.ID}, Max: 1})
	}
	p.Max = 0
	return p
}

func longestAgo(a, b storage.Partial) int { return a.SavedAt.Compare(b.SavedAt) }

// replacedFirst is the order in which partial submissions are replaced.
func replacedFirst(a, b storage.Partial) int {
	once := func(p storage.Partial) bool { return p.Revision == 1 && !p.LinkTaken }
	switch {
	case once(a) && once(b):
		return -longestAgo(a, b)
	case once(a):
		return -1
	case once(b):
		return 1
	}
	return longestAgo(a, b)
}

func partialMutants() []mutant {
	bad := func(name string, fails []string, spoil func(m *badPartials, s storage.Storage)) mutant {
		for i := range fails {
			fails[i] = "partials/" + fails[i]
		}
		return mutant{name, fails, func(s storage.Storage) storage.Storage {
			m := &badPartials{Storage: s}
			spoil(m, s)
			return m
		}}
	}
	edits := func(name string, fails []string, edit func(m *badPartials, p *storage.SavePartialParams)) mutant {
		return bad(name, fails, func(m *badPartials, s storage.Storage) {
			m.save = func(ctx context.Context, p storage.SavePartialParams) (int64, error) {
				edit(m, &p)
				return s.SavePartial(ctx, p)
			}
		})
	}
	reads := func(name string, fails []string, edit func(m *badPartials, token [32]byte, got *storage.Partial)) mutant {
		return bad(name, fails, func(m *badPartials, s storage.Storage) {
			m.read = func(ctx context.Context, form storage.ID, token [32]byte, now time.Time) (storage.Partial, error) {
				got, err := s.Partial(ctx, form, token, now)
				if err == nil {
					edit(m, token, &got)
				}
				return got, err
			}
		})
	}
	return slices.Concat(savingMutants(bad, edits, reads), listingMutants(bad), partialSubmitMutants(bad, reads), partialRemovalMutants(bad))
}

type (
	makesBad   = func(name string, fails []string, spoil func(m *badPartials, s storage.Storage)) mutant
	makesEdits = func(name string, fails []string, edit func(m *badPartials, p *storage.SavePartialParams)) mutant
	makesReads = func(name string, fails []string, edit func(m *badPartials, token [32]byte, got *storage.Partial)) mutant
)

func savingMutants(bad makesBad, edits makesEdits, reads makesReads) []mutant {
	return []mutant{
		reads("takes CreatedAt from each save", []string{"change"}, func(_ *badPartials, _ [32]byte, got *storage.Partial) { got.CreatedAt = got.SavedAt }),
		reads("takes the revision of the caller", []string{"save_and_read", "change"}, func(m *badPartials, token [32]byte, got *storage.Partial) {
			got.Revision = m.saved(token).Partial.Revision
		}),
		reads("takes the id of a change", []string{"change"}, func(m *badPartials, token [32]byte, got *storage.Partial) { got.ID = m.saved(token).Partial.ID }),
		reads("forgets whether it is shared", []string{"save_and_read"}, func(_ *badPartials, _ [32]byte, got *storage.Partial) { got.Shared = false }),
		reads("forgets the metadata", []string{"save_and_read"}, func(_ *badPartials, _ [32]byte, got *storage.Partial) { got.Metadata = nil }),
		reads("keeps the slices of the caller", []string{"copies_in"}, func(m *badPartials, token [32]byte, got *storage.Partial) {
			got.Answers = m.saved(token).Partial.Answers
		}),
		bad("hands out what it keeps", []string{"copies_out"}, func(m *badPartials, s storage.Storage) {
			kept := map[[32]byte][]byte{}
			m.read = func(ctx context.Context, form storage.ID, token [32]byte, now time.Time) (storage.Partial, error) {
				got, err := s.Partial(ctx, form, token, now)
				if kept[token] == nil {
					kept[token] = got.Answers
				}
				got.Answers = kept[token]
				return got, err
			}
		}),
		bad("adds to the answers that are there", []string{"change"}, func(m *badPartials, s storage.Storage) {
			m.save = func(ctx context.Context, p storage.SavePartialParams) (int64, error) {
				if got, err := s.Partial(ctx, p.Partial.FormID, p.Token, p.Partial.SavedAt); err == nil {
					p.Partial.Hidden = got.Hidden
				}
				return s.SavePartial(ctx, p)
			}
		}),
		bad("saves half responses of drafts", []string{"published", "order_of_errors"}, func(m *badPartials, s storage.Storage) {
			m.save = func(ctx context.Context, p storage.SavePartialParams) (int64, error) {
				f, err := s.Form(ctx, storage.AsHost(), p.Partial.FormID)
				if err == nil && f.Status == storage.StatusDraft {
					_, _ = s.UpdateForm(ctx, storage.AsHost(), f.ID, storage.FormChange{Status: ptr(storage.StatusPublished), At: f.UpdatedAt})
					defer func() {
						_, _ = s.UpdateForm(ctx, storage.AsHost(), f.ID, storage.FormChange{Status: ptr(storage.StatusDraft), At: f.UpdatedAt})
					}()
				}
				return s.SavePartial(ctx, p)
			}
		}),
		bad("looks at the gate of the form", []string{"published"}, func(m *badPartials, s storage.Storage) {
			m.save = func(ctx context.Context, p storage.SavePartialParams) (int64, error) {
				if f, err := s.Form(ctx, storage.AsHost(), p.Partial.FormID); err == nil && f.Full {
					return 0, storage.ErrLimitReached
				}
				return s.SavePartial(ctx, p)
			}
		}),
		bad("hides the half responses of drafts", []string{"published"}, func(m *badPartials, s storage.Storage) {
			m.read = func(ctx context.Context, form storage.ID, token [32]byte, now time.Time) (storage.Partial, error) {
				if f, err := s.Form(ctx, storage.AsHost(), form); err == nil && f.Status == storage.StatusDraft {
					return storage.Partial{}, storage.ErrNotFound
				}
				return s.Partial(ctx, form, token, now)
			}
		}),
		bad("finds a token through any form", []string{"token"}, func(m *badPartials, s storage.Storage) {
			home := map[[32]byte]storage.ID{}
			m.save = func(ctx context.Context, p storage.SavePartialParams) (int64, error) {
				if p.New {
					home[p.Token] = p.Partial.FormID
				} else if form, known := home[p.Token]; known {
					p.Partial.FormID = form
				}
				return s.SavePartial(ctx, p)
			}
		}),
		bad("makes what a token does not find", []string{"token", "over", "order_of_errors", "delete"}, func(m *badPartials, s storage.Storage) {
			m.save = func(ctx context.Context, p storage.SavePartialParams) (int64, error) {
				revision, err := s.SavePartial(ctx, p)
				if errors.Is(err, storage.ErrNotFound) && !p.New {
					m.drop(ctx, p.Partial.FormID, p.Token)
					p.New, p.Partial.ID = true, newID()
					return s.SavePartial(ctx, p)
				}
				return revision, err
			}
		}),
		bad("changes what it should make", []string{"token_taken"}, func(m *badPartials, s storage.Storage) {
			m.save = func(ctx context.Context, p storage.SavePartialParams) (int64, error) {
				revision, err := s.SavePartial(ctx, p)
				if errors.Is(err, storage.ErrConflict) && p.New {
					p.New = false
					return s.SavePartial(ctx, p)
				}
				return revision, err
			}
		}),
		edits("ignores IfRevision", []string{"if_revision", "concurrent_revision"}, func(_ *badPartials, p *storage.SavePartialParams) { p.IfRevision = 0 }),
		bad("does not say what is at another revision", []string{"if_revision"}, func(m *badPartials, s storage.Storage) {
			m.save = func(ctx context.Context, p storage.SavePartialParams) (int64, error) {
				revision, err := s.SavePartial(ctx, p)
				if mismatch := new(storage.RevisionError); errors.As(err, &mismatch) {
					err = &storage.RevisionError{Current: mismatch.Current}
				}
				return revision, err
			}
		}),
		bad("looks at the revision in a step of its own", []string{"concurrent_revision"}, func(m *badPartials, s storage.Storage) {
			all := newRendezvous(20)
			m.save = func(ctx context.Context, p storage.SavePartialParams) (int64, error) {
				if p.IfRevision != 0 {
					got, err := s.Partial(ctx, p.Partial.FormID, p.Token, p.Partial.SavedAt)
					if all.meet(); err != nil || got.Revision != p.IfRevision {
						return 0, &storage.RevisionError{Current: got.Revision, Kind: "partial"}
					}
				}
				p.IfRevision = 0
				return s.SavePartial(ctx, p)
			}
		}),
		bad("says a revision that it reads later", []string{"concurrent_changes"}, func(m *badPartials, s storage.Storage) {
			all := newRendezvous(20)
			m.save = func(ctx context.Context, p storage.SavePartialParams) (int64, error) {
				revision, err := s.SavePartial(ctx, p)
				if p.New || err != nil {
					return revision, err
				}
				all.meet()
				got, err := s.Partial(ctx, p.Partial.FormID, p.Token, p.Partial.SavedAt)
				return got.Revision, err
			}
		}),
		bad("looks at the revision first", []string{"order_of_errors"}, func(m *badPartials, s storage.Storage) {
			m.save = func(ctx context.Context, p storage.SavePartialParams) (int64, error) {
				got, err := s.Partial(ctx, p.Partial.FormID, p.Token, p.Partial.SavedAt)
				if err == nil && p.IfRevision != 0 && p.IfRevision != got.Revision {
					return 0, &storage.RevisionError{Current: got.Revision, Kind: "partial"}
				}
				return s.SavePartial(ctx, p)
			}
		}),
		bad("looks at the token before the form", []string{"order_of_errors"}, func(m *badPartials, s storage.Storage) {
			m.save = func(ctx context.Context, p storage.SavePartialParams) (int64, error) {
				if got, err := s.Partial(ctx, p.Partial.FormID, p.Token, p.Partial.SavedAt); err == nil && !got.SubmissionID.IsZero() {
					return 0, storage.ErrConflict
				}
				return s.SavePartial(ctx, p)
			}
		}),
		bad("keeps a half response to the end of EndsAt", []string{"over"}, func(m *badPartials, s storage.Storage) {
			m.read = func(ctx context.Context, form storage.ID, token [32]byte, now time.Time) (storage.Partial, error) {
				return s.Partial(ctx, form, token, now.Add(-time.Microsecond))
			}
		}),
		bad("forgets what is over when it is read", []string{"over"}, func(m *badPartials, s storage.Storage) {
			m.read = func(ctx context.Context, form storage.ID, token [32]byte, now time.Time) (storage.Partial, error) {
				got, err := s.Partial(ctx, form, token, now)
				if errors.Is(err, storage.ErrNotFound) {
					m.drop(ctx, form, token)
				}
				return got, err
			}
		}),
		bad("never moves the end", []string{"over", "change"}, func(m *badPartials, s storage.Storage) {
			m.save = func(ctx context.Context, p storage.SavePartialParams) (int64, error) {
				if got, err := s.Partial(ctx, p.Partial.FormID, p.Token, p.Partial.SavedAt); err == nil {
					p.Partial.EndsAt = got.EndsAt
				}
				return s.SavePartial(ctx, p)
			}
		}),
		edits("knows no most", []string{"max", "max_counts", "concurrent_max"}, func(_ *badPartials, p *storage.SavePartialParams) { p.Max = 0 }),
		edits("keeps one more than the most", []string{"max", "max_counts", "concurrent_max"}, func(_ *badPartials, p *storage.SavePartialParams) {
			if p.Max > 0 {
				p.Max++
			}
		}),
		bad("refuses one more than the most", []string{"max", "max_counts", "concurrent_max"}, func(m *badPartials, s storage.Storage) {
			m.save = func(ctx context.Context, p storage.SavePartialParams) (int64, error) {
				if p.New && p.Max > 0 && len(m.open(ctx, p.Partial.FormID, p.Partial.SavedAt)) >= p.Max {
					return 0, storage.ErrLimitReached
				}
				return s.SavePartial(ctx, p)
			}
		}),
		edits("makes room by age", []string{"max"}, func(m *badPartials, p *storage.SavePartialParams) {
			*p = m.evict(context.Background(), *p, p.Partial.SavedAt, func(a, b storage.Partial) int { return a.CreatedAt.Compare(b.CreatedAt) })
		}),
		edits("replaces the one that was saved longest ago", []string{"max"}, func(m *badPartials, p *storage.SavePartialParams) {
			*p = m.evict(context.Background(), *p, p.Partial.SavedAt, longestAgo)
		}),
		edits("replaces one whose link was taken", []string{"max"}, func(m *badPartials, p *storage.SavePartialParams) {
			*p = m.evict(context.Background(), *p, p.Partial.SavedAt, func(a, b storage.Partial) int {
				a.LinkTaken, b.LinkTaken = false, false
				return replacedFirst(a, b)
			})
		}),
		reads("forgets an earlier captcha", []string{"verified"}, func(m *badPartials, token [32]byte, got *storage.Partial) {
			got.Verified = m.saved(token).Partial.Verified
		}),
		reads("forgets an earlier link", []string{"verified"}, func(m *badPartials, token [32]byte, got *storage.Partial) {
			got.LinkTaken = m.saved(token).Partial.LinkTaken
		}),
		bad("lists those without a captcha", []string{"verified"}, func(m *badPartials, s storage.Storage) {
			m.list = func(ctx context.Context, who storage.Actor, form storage.ID, q storage.PartialQuery, each func(*storage.Partial) error) (bool, error) {
				q.Verified = false
				return s.Partials(ctx, who, form, q, each)
			}
		}),
		edits("counts what is over", []string{"max_counts"}, func(m *badPartials, p *storage.SavePartialParams) {
			*p = m.evict(context.Background(), *p, at(0), replacedFirst)
		}),
		edits("makes room for changes", []string{"max_counts"}, func(m *badPartials, p *storage.SavePartialParams) {
			if !p.New {
				m.evict(context.Background(), *p, p.Partial.SavedAt, replacedFirst)
			}
		}),
		bad("makes room in a step of its own", []string{"concurrent_max"}, func(m *badPartials, s storage.Storage) {
			all := newRendezvous(40)
			m.save = func(ctx context.Context, p storage.SavePartialParams) (int64, error) {
				p = m.evict(ctx, p, p.Partial.SavedAt, replacedFirst)
				all.meet()
				return s.SavePartial(ctx, p)
			}
		}),
		bad("counts a start of each", []string{"not_counted"}, func(m *badPartials, s storage.Storage) {
			m.save = func(ctx context.Context, p storage.SavePartialParams) (int64, error) {
				if p.New {
					_ = s.CountFunnel(ctx, counted(p.Partial.FormID, p.Partial.SavedAt, storage.Counters{Starts: 1}))
				}
				return s.SavePartial(ctx, p)
			}
		}),
		bad("queues an event of each", []string{"not_counted"}, func(m *badPartials, s storage.Storage) {
			m.save = func(ctx context.Context, p storage.SavePartialParams) (int64, error) {
				hooks, _ := s.Webhooks(ctx, storage.AsHost(), storage.Page{Limit: 9})
				for _, w := range hooks {
					_ = s.Enqueue(ctx, w.ID, newEvent())
				}
				return s.SavePartial(ctx, p)
			}
		}),
		edits("drops text that is not valid", []string{"invalid_values"}, func(_ *badPartials, p *storage.SavePartialParams) {
			if !storage.ValidText(p.Partial.Block) {
				p.Partial.Block = ""
			}
		}),
		edits("takes any end", []string{"invalid_values"}, func(_ *badPartials, p *storage.SavePartialParams) {
			if !storage.ValidTime(p.Partial.EndsAt) {
				p.Partial.EndsAt = soon()
			}
		}),
		bad("looks for the form before the values", []string{"invalid_values"}, func(m *badPartials, s storage.Storage) {
			m.save = func(ctx context.Context, p storage.SavePartialParams) (int64, error) {
				if _, err := s.Form(ctx, storage.AsHost(), p.Partial.FormID); err != nil {
					return 0, err
				}
				return s.SavePartial(ctx, p)
			}
		}),
	}
}

// forms are those of all that was saved.
func (m *badPartials) forms() (ids []storage.ID) {
	m.all.Range(func(_, p any) bool {
		ids = append(ids, p.(storage.SavePartialParams).Partial.FormID)
		return true
	})
	return ids
}

func listingMutants(bad makesBad) []mutant {
	lists := func(name string, fails []string, edit func(m *badPartials, ctx context.Context, form storage.ID, q storage.PartialQuery, list []storage.Partial, more *bool) []storage.Partial) mutant {
		return bad(name, fails, func(m *badPartials, s storage.Storage) {
			m.list = func(ctx context.Context, who storage.Actor, form storage.ID, q storage.PartialQuery, each func(*storage.Partial) error) (bool, error) {
				list, more, err := listPartials(ctx, s, who, form, q)
				if err != nil {
					return false, err
				}
				for _, p := range edit(m, ctx, form, q, list, &more) {
					if err := each(&p); err != nil {
						return false, err
					}
				}
				return more, nil
			}
		})
	}
	return []mutant{
		lists("lists what was submitted", []string{"list", "submit"}, func(m *badPartials, ctx context.Context, form storage.ID, _ storage.PartialQuery, list []storage.Partial, _ *bool) []storage.Partial {
			m.all.Range(func(token, p any) bool {
				saved := p.(storage.SavePartialParams).Partial
				got, err := m.Storage.Partial(ctx, form, token.([32]byte), saved.SavedAt)
				if err == nil && !got.SubmissionID.IsZero() {
					list = append(list, got)
				}
				return true
			})
			return list
		}),
		lists("lists what is over", []string{"list", "over"}, func(m *badPartials, ctx context.Context, form storage.ID, q storage.PartialQuery, _ []storage.Partial, _ *bool) []storage.Partial {
			q.Now = at(0)
			list, _, _ := listPartials(ctx, m.Storage, storage.AsHost(), form, q)
			return list
		}),
		lists("says that there is more when the page is full", []string{"list"}, func(_ *badPartials, _ context.Context, _ storage.ID, q storage.PartialQuery, list []storage.Partial, more *bool) []storage.Partial {
			*more = len(list) == q.Page.Limit
			return list
		}),
		lists("lists the oldest first", []string{"list", "list_order"}, func(_ *badPartials, _ context.Context, _ storage.ID, _ storage.PartialQuery, list []storage.Partial, _ *bool) []storage.Partial {
			slices.Reverse(list)
			return list
		}),
		lists("lists by when they were made", []string{"change"}, func(_ *badPartials, _ context.Context, _ storage.ID, _ storage.PartialQuery, list []storage.Partial, _ *bool) []storage.Partial {
			slices.SortFunc(list, func(a, b storage.Partial) int { return b.CreatedAt.Compare(a.CreatedAt) })
			return list
		}),
		lists("does not order by id", []string{"list_order", "list_any_position"}, func(_ *badPartials, _ context.Context, _ storage.ID, _ storage.PartialQuery, list []storage.Partial, _ *bool) []storage.Partial {
			slices.SortFunc(list, func(a, b storage.Partial) int {
				if c := b.SavedAt.Compare(a.SavedAt); c != 0 {
					return c
				}
				return bytes.Compare(a.ID[:], b.ID[:])
			})
			return list
		}),
		lists("looks at no limit", []string{"list", "list_no_limit"}, func(m *badPartials, ctx context.Context, form storage.ID, q storage.PartialQuery, _ []storage.Partial, _ *bool) []storage.Partial {
			q.Page.Limit = max(1, q.Page.Limit)
			list, _, _ := listPartials(ctx, m.Storage, storage.AsHost(), form, q)
			return list
		}),
		bad("continues after a record that is there", []string{"list_any_position", "list_stable"}, func(m *badPartials, s storage.Storage) {
			m.list = func(ctx context.Context, who storage.Actor, form storage.ID, q storage.PartialQuery, each func(*storage.Partial) error) (bool, error) {
				after := q.Page.After
				if after != nil && !slices.ContainsFunc(m.open(ctx, form, q.Now), func(p storage.Partial) bool { return p.ID == after.ID }) {
					return false, nil
				}
				return s.Partials(ctx, who, form, q, each)
			}
		}),
		bad("goes on after an error", []string{"list_refused"}, func(m *badPartials, s storage.Storage) {
			m.list = func(ctx context.Context, who storage.Actor, form storage.ID, q storage.PartialQuery, each func(*storage.Partial) error) (bool, error) {
				var first error
				more, err := s.Partials(ctx, who, form, q, func(p *storage.Partial) error {
					if err := each(p); first == nil {
						first = err
					}
					return nil
				})
				if err == nil {
					err = first
				}
				return more, err
			}
		}),
	}
}

func partialSubmitMutants(bad makesBad, reads makesReads) []mutant {
	submits := func(name string, fails []string, submit func(m *badPartials, ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error)) mutant {
		return bad(name, fails, func(m *badPartials, _ storage.Storage) {
			m.submit = func(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
				return submit(m, ctx, n)
			}
		})
	}
	return []mutant{
		submits("ignores the token of a response", []string{"submit", "order_of_errors", "max_counts", "concurrent_submit"}, func(m *badPartials, ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
			n.Partial = [32]byte{}
			return m.Storage.Submit(ctx, n)
		}),
		reads("keeps the answers of what was submitted", []string{"submit", "concurrent_submit"}, func(m *badPartials, token [32]byte, got *storage.Partial) {
			if !got.SubmissionID.IsZero() {
				got.Answers = m.saved(token).Partial.Answers
			}
		}),
		reads("keeps the block of what was submitted", []string{"submit"}, func(m *badPartials, token [32]byte, got *storage.Partial) { got.Block = m.saved(token).Partial.Block }),
		submits("removes what was submitted", []string{"submit", "submit_any_token", "trash"}, func(m *badPartials, ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
			s, replayed, err := m.Storage.Submit(ctx, n)
			if err == nil {
				m.drop(ctx, n.Submission.FormID, n.Partial)
			}
			return s, replayed, err
		}),
		submits("empties half responses of refused and replayed responses", []string{"submit_refused"}, func(m *badPartials, ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
			s, replayed, err := m.Storage.Submit(ctx, n)
			if err != nil || replayed {
				m.drop(ctx, n.Submission.FormID, n.Partial)
			}
			return s, replayed, err
		}),
		submits("refuses a spent token", []string{"submit_any_token", "concurrent_submit"}, func(m *badPartials, ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
			got, err := m.Storage.Partial(ctx, n.Submission.FormID, n.Partial, n.Submission.SubmittedAt)
			if err == nil && !got.SubmissionID.IsZero() {
				return storage.Submission{}, false, storage.ErrConflict
			}
			return m.Storage.Submit(ctx, n)
		}),
		submits("refuses an unknown token", []string{"submit_any_token"}, func(m *badPartials, ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
			if _, err := m.Storage.Partial(ctx, n.Submission.FormID, n.Partial, n.Submission.SubmittedAt); err != nil && n.Partial != [32]byte{} {
				return storage.Submission{}, false, err
			}
			return m.Storage.Submit(ctx, n)
		}),
		submits("empties by the token alone", []string{"submit_any_token"}, func(m *badPartials, ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
			if p := m.saved(n.Partial).Partial; p.FormID != n.Submission.FormID {
				m.drop(ctx, p.FormID, n.Partial)
			}
			return m.Storage.Submit(ctx, n)
		}),
		submits("empties what is over", []string{"submit_any_token"}, func(m *badPartials, ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
			if _, err := m.Storage.Partial(ctx, n.Submission.FormID, n.Partial, n.Submission.SubmittedAt); err != nil {
				m.drop(ctx, n.Submission.FormID, n.Partial)
			}
			return m.Storage.Submit(ctx, n)
		}),
		bad("names the newest of several responses", []string{"submit_any_token"}, func(m *badPartials, s storage.Storage) {
			newest := map[[32]byte]storage.ID{}
			m.submit = func(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
				newest[n.Partial] = n.Submission.ID
				return s.Submit(ctx, n)
			}
			m.read = func(ctx context.Context, form storage.ID, token [32]byte, now time.Time) (storage.Partial, error) {
				got, err := s.Partial(ctx, form, token, now)
				if err == nil && !got.SubmissionID.IsZero() {
					got.SubmissionID = newest[token]
				}
				return got, err
			}
		}),
		bad("saves what was submitted", []string{"submit", "order_of_errors"}, func(m *badPartials, s storage.Storage) {
			m.save = func(ctx context.Context, p storage.SavePartialParams) (int64, error) {
				revision, err := s.SavePartial(ctx, p)
				if errors.Is(err, storage.ErrConflict) {
					return 9, nil
				}
				return revision, err
			}
		}),
	}
}

func partialRemovalMutants(bad makesBad) []mutant {
	removes := func(name string, fails []string, edit func(m *badPartials, ctx context.Context, form *storage.ID, p *storage.DeletePartialsParams)) mutant {
		return bad(name, fails, func(m *badPartials, s storage.Storage) {
			m.remove = func(ctx context.Context, who storage.Actor, form storage.ID, p storage.DeletePartialsParams) (int, bool, error) {
				edit(m, ctx, &form, &p)
				return s.DeletePartials(ctx, who, form, p)
			}
		})
	}
	sweeps := func(name string, edit func(*storage.SweepParams)) mutant {
		return mutant{name, []string{"partials/sweep"}, func(s storage.Storage) storage.Storage { return editsSweep{s, edit} }}
	}
	return []mutant{
		removes("ignores the ids", []string{"delete", "list_stable"}, func(_ *badPartials, _ context.Context, _ *storage.ID, p *storage.DeletePartialsParams) { p.IDs = nil }),
		removes("ignores the token", []string{"delete", "delete_in_trash"}, func(_ *badPartials, _ context.Context, _ *storage.ID, p *storage.DeletePartialsParams) {
			p.Token = [32]byte{}
		}),
		removes("ignores SavedBefore", []string{"delete", "delete_in_pieces"}, func(_ *badPartials, _ context.Context, _ *storage.ID, p *storage.DeletePartialsParams) {
			p.SavedBefore = time.Time{}
		}),
		removes("takes SavedBefore as inclusive", []string{"delete"}, func(_ *badPartials, _ context.Context, _ *storage.ID, p *storage.DeletePartialsParams) {
			if !p.SavedBefore.IsZero() {
				p.SavedBefore = p.SavedBefore.Add(time.Microsecond)
			}
		}),
		removes("removes what none of the members names", []string{"delete"}, func(_ *badPartials, _ context.Context, _ *storage.ID, p *storage.DeletePartialsParams) {
			if len(p.IDs) == 0 && p.Token == [32]byte{} && p.SavedBefore.IsZero() {
				p.SavedBefore = soon()
			}
		}),
		removes("removes those of any form", []string{"delete"}, func(m *badPartials, ctx context.Context, form *storage.ID, p *storage.DeletePartialsParams) {
			for _, other := range m.forms() {
				if other != *form {
					_, _, _ = m.Storage.DeletePartials(ctx, storage.AsHost(), other, *p)
				}
			}
		}),
		bad("leaves what was submitted", []string{"delete"}, func(m *badPartials, s storage.Storage) {
			m.remove = func(ctx context.Context, who storage.Actor, form storage.ID, p storage.DeletePartialsParams) (int, bool, error) {
				sent := map[storage.ID]bool{}
				m.all.Range(func(token, _ any) bool {
					if got, err := s.Partial(ctx, form, token.([32]byte), at(0)); err == nil && !got.SubmissionID.IsZero() {
						sent[got.ID] = true
					}
					return true
				})
				p.IDs = slices.DeleteFunc(slices.Clone(p.IDs), func(id storage.ID) bool { return sent[id] })
				return s.DeletePartials(ctx, who, form, p)
			}
		}),
		removes("removes more than Max", []string{"delete_in_pieces"}, func(_ *badPartials, _ context.Context, _ *storage.ID, p *storage.DeletePartialsParams) {
			p.Max = everyRecord
		}),
		bad("never says that there is more to delete", []string{"delete_in_pieces"}, func(m *badPartials, s storage.Storage) {
			m.remove = func(ctx context.Context, who storage.Actor, form storage.ID, p storage.DeletePartialsParams) (int, bool, error) {
				n, _, err := s.DeletePartials(ctx, who, form, p)
				return n, false, err
			}
		}),
		bad("deletes nothing in the trash", []string{"delete_in_trash"}, func(m *badPartials, s storage.Storage) {
			m.remove = func(ctx context.Context, who storage.Actor, form storage.ID, p storage.DeletePartialsParams) (int, bool, error) {
				if _, err := s.Form(ctx, who, form); err != nil {
					return 0, false, err
				}
				return s.DeletePartials(ctx, who, form, p)
			}
		}),
		bad("deletes in the trash for anybody", []string{"delete_in_trash"}, func(m *badPartials, s storage.Storage) {
			m.remove = func(ctx context.Context, _ storage.Actor, form storage.ID, p storage.DeletePartialsParams) (int, bool, error) {
				return s.DeletePartials(ctx, storage.AsHost(), form, p)
			}
		}),
		bad("reads in the trash", []string{"trash"}, func(m *badPartials, s storage.Storage) {
			m.read = func(ctx context.Context, form storage.ID, token [32]byte, now time.Time) (storage.Partial, error) {
				if s.RestoreForm(ctx, form, storage.ID{}, now) == nil {
					defer func() { _ = s.TrashForm(ctx, storage.AsHost(), form, storage.TrashParams{At: now}) }()
				}
				return s.Partial(ctx, form, token, now)
			}
		}),
		bad("loses half responses with the trash", []string{"trash", "published", "delete_in_trash"}, func(m *badPartials, s storage.Storage) {
			m.trash = func(ctx context.Context, form storage.ID) error {
				_, _, err := s.DeletePartials(ctx, storage.AsHost(), form, storage.DeletePartialsParams{SavedBefore: soon(), Max: everyRecord})
				return err
			}
		}),
		bad("keeps half responses of purged forms", []string{"purge"}, func(m *badPartials, s storage.Storage) {
			m.create = func(ctx context.Context, form storage.ID) (err error) {
				m.all.Range(func(_, p any) bool {
					if saved := p.(storage.SavePartialParams); saved.Partial.FormID == form {
						saved.New = true
						_, err = s.SavePartial(ctx, saved)
					}
					return err == nil
				})
				return err
			}
		}),
		sweeps("sweeps no half responses", func(p *storage.SweepParams) { p.Now = at(0) }),
		sweeps("sweeps half responses too early", func(p *storage.SweepParams) { p.Now = p.Now.Add(time.Microsecond) }),
		sweeps("sweeps half responses with Removals", func(p *storage.SweepParams) { p.Removals = false }),
		sweeps("sweeps all half responses at once", func(p *storage.SweepParams) {
			if p.Max > 0 {
				p.Max = everyRecord
			}
		}),
		{"never says that there are more to sweep", []string{"partials/sweep"}, func(s storage.Storage) storage.Storage { return sweepsNoMore{s} }},
	}
}
