package storagetest

import (
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
	list   func(ctx context.Context, actor storage.Actor, form storage.ID, q storage.PartialQuery, each func(*storage.Partial) error) (bool, error)
	remove func(ctx context.Context, actor storage.Actor, form storage.ID, p storage.DeletePartialsParams) (int, bool, error)
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

func (m *badPartials) Partials(ctx context.Context, actor storage.Actor, form storage.ID, q storage.PartialQuery, each func(*storage.Partial) error) (bool, error) {
	if m.list != nil {
		return m.list(ctx, actor, form, q, each)
	}
	return m.Storage.Partials(ctx, actor, form, q, each)
}

func (m *badPartials) DeletePartials(ctx context.Context, actor storage.Actor, form storage.ID, p storage.DeletePartialsParams) (int, bool, error) {
	if m.remove != nil {
		return m.remove(ctx, actor, form, p)
	}
	return m.Storage.DeletePartials(ctx, actor, form, p)
}

func (m *badPartials) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	if m.submit != nil {
		return m.submit(ctx, n)
	}
	return m.Storage.Submit(ctx, n)
}

func (m *badPartials) TrashForm(ctx context.Context, actor storage.Actor, id storage.ID, p storage.TrashParams) error {
	if m.trash != nil {
		if err := m.trash(ctx, id); err != nil {
			return err
		}
	}
	return m.Storage.TrashForm(ctx, actor, id, p)
}

func (m *badPartials) CreateForm(ctx context.Context, actor storage.Actor, f storage.Form) error {
	err := m.Storage.CreateForm(ctx, actor, f)
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
	once := func(p storage.Partial) bool { return p.Revision == 1 && !p.LinkIssued }
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
		reads("takes the id of a change", []string{"change"}, func(m *badPartials, token [32]byte, got *storage.Partial) { got.ID = m.saved(token).Partial.ID }),
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
		edits("knows no most", []string{"max", "max_counts", "concurrent_max"}, func(_ *badPartials, p *storage.SavePartialParams) { p.Max = 0 }),
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
		edits("takes any end", []string{"invalid_values"}, func(_ *badPartials, p *storage.SavePartialParams) {
			if !storage.ValidTime(p.Partial.EndsAt) {
				p.Partial.EndsAt = soon()
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
	queries := func(name string, fails []string, edit func(*storage.PartialQuery)) mutant {
		return bad(name, fails, func(m *badPartials, s storage.Storage) {
			m.list = func(ctx context.Context, actor storage.Actor, form storage.ID, q storage.PartialQuery, each func(*storage.Partial) error) (bool, error) {
				edit(&q)
				return s.Partials(ctx, actor, form, q, each)
			}
		})
	}
	return []mutant{
		queries("lists what is over", []string{"list", "over"}, func(q *storage.PartialQuery) { q.Now = at(0) }),
		queries("looks at no limit", []string{"list", "list_no_limit"}, func(q *storage.PartialQuery) { q.Page.Limit = max(1, q.Page.Limit) }),
		queries("lists those without a captcha", []string{"verified"}, func(q *storage.PartialQuery) { q.Verified = false }),
		bad("lists the oldest first", []string{"list", "list_order"}, func(m *badPartials, s storage.Storage) {
			m.list = func(ctx context.Context, actor storage.Actor, form storage.ID, q storage.PartialQuery, each func(*storage.Partial) error) (bool, error) {
				list, more, err := listPartials(ctx, s, actor, form, q)
				for _, p := range slices.Backward(list) {
					err = errors.Join(err, each(&p))
				}
				return more, err
			}
		}),
		bad("continues after a record that is there", []string{"list_any_position", "list_stable"}, func(m *badPartials, s storage.Storage) {
			m.list = func(ctx context.Context, actor storage.Actor, form storage.ID, q storage.PartialQuery, each func(*storage.Partial) error) (bool, error) {
				after := q.Page.After
				if after != nil && !slices.ContainsFunc(m.open(ctx, form, q.Now), func(p storage.Partial) bool { return p.ID == after.ID }) {
					return false, nil
				}
				return s.Partials(ctx, actor, form, q, each)
			}
		}),
		bad("goes on after an error", []string{"list_refused"}, func(m *badPartials, s storage.Storage) {
			m.list = func(ctx context.Context, actor storage.Actor, form storage.ID, q storage.PartialQuery, each func(*storage.Partial) error) (bool, error) {
				var first error
				more, err := s.Partials(ctx, actor, form, q, func(p *storage.Partial) error {
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
	}
}

func partialRemovalMutants(bad makesBad) []mutant {
	removes := func(name string, fails []string, edit func(m *badPartials, ctx context.Context, form *storage.ID, p *storage.DeletePartialsParams)) mutant {
		return bad(name, fails, func(m *badPartials, s storage.Storage) {
			m.remove = func(ctx context.Context, actor storage.Actor, form storage.ID, p storage.DeletePartialsParams) (int, bool, error) {
				edit(m, ctx, &form, &p)
				return s.DeletePartials(ctx, actor, form, p)
			}
		})
	}
	sweeps := func(name string, edit func(*storage.SweepParams)) mutant {
		return mutant{name, []string{"partials/sweep"}, func(s storage.Storage) storage.Storage { return editsSweep{s, edit} }}
	}
	return []mutant{
		removes("ignores SavedBefore", []string{"delete", "delete_in_pieces"}, func(_ *badPartials, _ context.Context, _ *storage.ID, p *storage.DeletePartialsParams) {
			p.SavedBefore = time.Time{}
		}),
		removes("removes those of any form", []string{"delete"}, func(m *badPartials, ctx context.Context, form *storage.ID, p *storage.DeletePartialsParams) {
			for _, other := range m.forms() {
				if other != *form {
					_, _, _ = m.Storage.DeletePartials(ctx, storage.AsHost(), other, *p)
				}
			}
		}),
		bad("deletes in the trash for anybody", []string{"delete_in_trash"}, func(m *badPartials, s storage.Storage) {
			m.remove = func(ctx context.Context, _ storage.Actor, form storage.ID, p storage.DeletePartialsParams) (int, bool, error) {
				return s.DeletePartials(ctx, storage.AsHost(), form, p)
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
		sweeps("sweeps half responses with Removals", func(p *storage.SweepParams) { p.RemovalsOnly = false }),
	}
}
