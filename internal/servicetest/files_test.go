package servicetest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres"
)

// fileStore notes which files it is to remove, and fails or panics when it is told to.
type fileStore struct {
	mu      sync.Mutex
	asked   []string
	fault   error
	crashes bool
}

func (s *fileStore) RemoveFiles(_ context.Context, ids []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, ids...)
	if s.crashes {
		panic("the process ends")
	}
	return s.fault
}

// since returns the ids that were asked for, in order and once, and forgets them.
func (s *fileStore) since() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	slices.Sort(asked)
	return slices.Compact(asked)
}

// beforeDelete notes which submissions are about to be removed.
type beforeDelete struct {
	mu    sync.Mutex
	seen  map[formsvc.ID][]formsvc.ID // by form
	fault error
}

func (h *beforeDelete) call(_ context.Context, form formsvc.ID, submissions []formsvc.ID) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen == nil {
		h.seen = map[formsvc.ID][]formsvc.ID{}
	}
	h.seen[form] = append(h.seen[form], submissions...)
	return h.fault
}

func (h *beforeDelete) since() map[formsvc.ID][]formsvc.ID {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := h.seen
	h.seen = nil
	return seen
}

const fileBlocks = `[{"id":"mail","type":"email"},{"id":"cv","type":"file_upload","properties":{"multipleFiles":true}},{"id":"sign","type":"signature"}]`

func storedFile(id, mediaType string) string {
	return fmt.Sprintf(`{"id":%q,"name":"a","url":"https://files.example/%s","mime_type":%q,"size":1}`, id, id, mediaType)
}

// respond stores a response with three files, whose ids begin with name, and one without.
func respond(t *testing.T, b *servicetest.Bundle, form formsvc.ID, name string) (sub formsvc.Submission, files []string) {
	t.Helper()
	answers := servicetest.Answers("mail", `"`+name+`@answers.example"`)
	sub, err := b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Respondent: name, Answers: answers, HostAnswers: servicetest.Answers(
		"cv", "["+storedFile(name+"-1", "application/pdf")+","+storedFile(name+"-2", "text/plain")+"]", "sign", storedFile(name+"-3", "image/png"),
	)})
	expect.NoError(t, err)
	expect.Must(b.Answer(form, "mail", `"`+name+`@answers.example"`))
	return sub, []string{name + "-1", name + "-2", name + "-3"}
}

// removals are the ways in which the response of a form go for good.
var removals = map[string]func(ctx context.Context, b *servicetest.Bundle, form formsvc.Form, sub formsvc.Submission) error{
	"DeleteSubmission": func(ctx context.Context, b *servicetest.Bundle, form formsvc.Form, sub formsvc.Submission) error {
		return b.As(b.User.ID).DeleteSubmission(ctx, form.ID, sub.ID)
	},
	"DELETE": func(_ context.Context, b *servicetest.Bundle, form formsvc.Form, sub formsvc.Submission) error {
		if w := b.Do(http.MethodDelete, "/forms/"+form.ID.String()+"/submissions/"+sub.ID.String(), "", nil); w.Code != http.StatusNoContent {
			return fmt.Errorf("status %d", w.Code)
		}
		return nil
	},
	"EraseRespondent": func(ctx context.Context, b *servicetest.Bundle, form formsvc.Form, _ formsvc.Submission) error {
		_, err := b.EraseRespondent(ctx, form.ID, map[string]string{"mail": "gone@answers.example"})
		return err
	},
	"EraseRespondentData": func(ctx context.Context, b *servicetest.Bundle, _ formsvc.Form, _ formsvc.Submission) error {
		_, err := b.EraseRespondentData(ctx, "gone")
		return err
	},
	"EraseRespondentData, in the trash": func(ctx context.Context, b *servicetest.Bundle, form formsvc.Form, _ formsvc.Submission) error {
		_ = b.AsHost().TrashForm(ctx, form.ID)
		_, err := b.EraseRespondentData(ctx, "gone")
		return err
	},
	"PurgeSubmissions": func(ctx context.Context, b *servicetest.Bundle, form formsvc.Form, _ formsvc.Submission) error {
		_, err := b.PurgeSubmissions(ctx, time.Now().Add(time.Hour), form.ID)
		return err
	},
	"PurgeSubmissions, in the trash": func(ctx context.Context, b *servicetest.Bundle, form formsvc.Form, _ formsvc.Submission) error {
		_ = b.AsHost().TrashForm(ctx, form.ID)
		_, err := b.PurgeSubmissions(ctx, time.Now().Add(time.Hour), form.ID)
		return err
	},
	"PurgeForm": func(ctx context.Context, b *servicetest.Bundle, form formsvc.Form, _ formsvc.Submission) error {
		_ = b.AsHost().TrashForm(ctx, form.ID)
		if err := b.PurgeForm(ctx, form.ID); !errors.Is(err, formsvc.ErrNotFound) {
			return err
		}
		return b.Maintain(ctx) // it is purged, and may have rows
	},
	"PurgeTrash": func(ctx context.Context, b *servicetest.Bundle, form formsvc.Form, _ formsvc.Submission) error {
		_ = b.AsHost().TrashForm(ctx, form.ID)
		_, err := b.PurgeTrash(ctx, time.Now().Add(time.Hour))
		return err
	},
	"DeleteUser": func(ctx context.Context, b *servicetest.Bundle, _ formsvc.Form, _ formsvc.Submission) error {
		return b.DeleteUser(ctx, formsvc.UserIDFrom("tenant"))
	},
	"Maintain": func(ctx context.Context, b *servicetest.Bundle, form formsvc.Form, _ formsvc.Submission) error {
		_ = b.AsHost().TrashForm(ctx, form.ID)
		if err := b.Store.PurgeForm(ctx, form.ID); err != nil && !errors.Is(err, formsvc.ErrNotFound) {
			return err
		}
		// A sweep that has work left says nothing of the faults of those before it: it may take some.
		var faults []error
		for range 3 {
			faults = append(faults, b.Maintain(ctx))
		}
		return errors.Join(faults...)
	},
}

// tenantForm makes a form of a user of its own.
func tenantForm(t *testing.T, b *servicetest.Bundle) formsvc.Form {
	t.Helper()
	w := expect.Must(b.CreateWorkspace(t.Context(), formsvc.UserIDFrom("tenant"), "w"))
	if err := b.AddMember(t.Context(), w.ID, b.User.ID); err != nil { // whose key the API is called with
		t.Fatal(err)
	}
	id := b.Form(fileBlocks, `{}`)
	return expect.Must(b.AsHost().UpdateForm(t.Context(), id, formsvc.FormUpdate{Workspace: &w.ID}))
}

func TestFilesGoBeforeTheirResponse(t *testing.T) {
	t.Parallel()
	for name, remove := range removals {
		for kind, store := range servicetest.Stores(t) {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				ctx, files, hook := t.Context(), &fileStore{}, &beforeDelete{}
				b := servicetest.SetupOn(t, store, formsvc.WithFiles(files), formsvc.WithBeforeDelete(hook.call), formsvc.WithoutRateLimit())
				other := b.Form(fileBlocks, `{}`)
				expect.Must(b.Answer(other, "mail", `"a@answers.example"`))
				kept, _ := respond(t, b, other, "kept")
				if name == "DELETE" || name == "DeleteSubmission" || name == "EraseRespondent" {
					respond(t, b, other, "gone")
				}
				form := tenantForm(t, b)
				gone, want := respond(t, b, form.ID, "gone")
				toldOf := func(when string) {
					t.Helper()
					if got := hook.since(); !slices.Contains(got[form.ID], gone.ID) || len(got) != 1 {
						t.Errorf("%s, the host received %v, want %v", when, got, gone.ID)
					}
				}
				// The host's rows cannot be removed, and then its files: the response stays, and the next call
				// gives the same again.
				hook.fault = errors.New("the rows of the host cannot be removed")
				expect.That(t, remove(ctx, b, form, gone) != nil, "no error, though the host's rows are there")
				toldOf("before a fault")
				hook.fault = nil
				files.since()

				files.fault = errors.New("the files cannot be removed")
				if err := remove(ctx, b, form, gone); err == nil {
					t.Error("no error, though the files are there")
				} else if name != "DELETE" && !errors.Is(err, files.fault) {
					t.Errorf("error %v", err)
				}
				got := files.since()
				expect.That(t, slices.Equal(got, want), "files to remove: %q, want %q", got, want)
				if sub, err := b.Store.Submission(ctx, storage.AsHost(), form.ID, gone.ID); errors.Is(err, storage.ErrNotFound) {
					expect.That(t, expect.ErrorOf(b.AsHost().Form(ctx, form.ID)) != nil, "the response is gone: %+v", sub)
				}

				// The process ends between the files and the rows.
				files.fault, files.crashes = nil, true
				func() {
					defer func() {
						if recover() == nil && name != "DELETE" { // where the handler recovers
							t.Error("the crash was survived")
						}
					}()
					_ = remove(ctx, b, form, gone)
				}()
				got = files.since()
				expect.That(t, slices.Equal(got, want), "after a fault, files to remove: %q, want %q", got, want)

				files.crashes = false
				hook.since()
				check(t, remove(ctx, b, form, gone))
				got = files.since()
				expect.That(t, slices.Equal(got, want), "after a crash, files to remove: %q, want %q", got, want)
				toldOf("after a crash")
				expect.Error(t, "the response is there", expect.ErrorOf(b.Store.Submission(ctx, storage.AsHost(), form.ID, gone.ID)), storage.ErrNotFound)
				_ = b.Maintain(ctx)
				got = files.since()
				expect.That(t, got == nil, "files of what is gone: %q", got)
				expect.Error(t, "a response of another form", expect.ErrorOf(b.Store.Submission(ctx, storage.AsHost(), other, kept.ID)), nil)
			})
		}
	}
}

// Every removal also removes the files that only earlier states of a submission refer to.
func TestFilesOfEarlierStates(t *testing.T) {
	t.Parallel()
	for name, remove := range removals {
		for kind, store := range servicetest.Stores(t) {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				files, hook := &fileStore{}, &beforeDelete{}
				b := servicetest.SetupOn(t, store, formsvc.WithFiles(files), formsvc.WithBeforeDelete(hook.call), formsvc.WithoutRateLimit())
				form := tenantForm(t, b)
				gone, want := respond(t, b, form.ID, "gone")
				for _, id := range []string{"gone-4", "gone-5"} {
					_, err := b.AsHost().UpdateSubmission(t.Context(), form.ID, gone.ID, formsvc.SubmissionChange{HostAnswers: servicetest.Answers("sign", storedFile(id, "image/png"))})
					expect.NoError(t, err)
					want = append(want, id)
				}
				expect.That(t, files.since() == nil, "a change removed files that an earlier state has")
				expect.NoError(t, remove(t.Context(), b, form, gone))
				got := files.since()
				expect.That(t, slices.Equal(got, want), "files to remove: %q, want %q", got, want)
				expect.That(t, slices.Contains(hook.since()[form.ID], gone.ID), "the host did not receive the submission")
			})
		}
	}
}

// A change that drops the oldest state removes the files that no other state has.
func TestFilesOfDroppedStates(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStore(t, func(t *testing.T, store storage.Storage) {
		files := &fileStore{}
		b := servicetest.SetupOn(t, store, formsvc.WithFiles(files), formsvc.WithoutRateLimit())
		form := b.Form(fileBlocks, `{}`)
		sub, _ := respond(t, b, form, "a")
		change := func(id string) error {
			_, err := b.AsHost().UpdateSubmission(t.Context(), form, sub.ID, formsvc.SubmissionChange{HostAnswers: servicetest.Answers("sign", storedFile(id, "image/png"))})
			return err
		}
		for n := range 20 {
			expect.NoError(t, change(fmt.Sprint("b-", n/2)))
			expect.That(t, files.since() == nil, "change %d removed a file of a retained state", n+1)
		}
		files.fault = errors.New("the files cannot be removed")
		expect.Error(t, "a change whose files cannot be removed", change("c"), files.fault)
		expect.Equal(t, len(expect.Must(b.AsHost().SubmissionHistory(t.Context(), form, sub.ID))), 20, "earlier states after the error")
		files.fault = nil
		files.since()
		for n, want := range [][]string{{"a-3"}, nil, {"b-0"}, nil, nil} { // the last state has b-1 again
			expect.NoError(t, change(map[bool]string{false: "c", true: "b-1"}[n == 3]))
			got := files.since()
			expect.That(t, slices.Equal(got, want), "change %d removed %q, want %q", n+21, got, want)
		}
	})
}

// PurgeAllSubmissions and many pieces: each file is given, and nothing else.
func TestFilesOfManyResponses(t *testing.T) {
	t.Parallel()
	for kind, store := range servicetest.Stores(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ctx, files := t.Context(), &fileStore{}
			b := servicetest.SetupOn(t, store, formsvc.WithFiles(files), formsvc.WithoutRateLimit())
			var want []string
			fill := func() formsvc.ID {
				form := b.Form(fileBlocks, `{}`)
				for n := range 130 {
					_, of := respond(t, b, form, fmt.Sprintf("%s-%d", form, n))
					want = append(want, of...)
				}
				return form
			}
			check := func(what string) {
				t.Helper()
				slices.Sort(want)
				got := files.since()
				expect.That(t, slices.Equal(got, want), "%s: %d files, want %d", what, len(got), len(want))
				want = nil
			}
			fill()
			expect.Returns(t, 260, "PurgeAllSubmissions")(b.PurgeAllSubmissions(ctx, time.Now().Add(time.Hour)))
			check("PurgeAllSubmissions")
			expect.NoError(t, b.AsHost().TrashForm(ctx, fill()))
			got := files.since()
			expect.That(t, got == nil, "a form in the trash lost files: %q", got)
			expect.Returns(t, 1, "PurgeTrash")(b.PurgeTrash(ctx, time.Now().Add(time.Hour)))
			check("PurgeTrash")
		})
	}
}

// In a host's transaction the files go before the commit, and the host receives the ids before it.
func TestRemovalsInAHostsTransaction(t *testing.T) {
	t.Parallel()
	schema, pool := pgtest.Schema(t), pgtest.Pool(t, pgtest.MaxConns(4))
	store := servicetest.Migrated(t, pool, postgres.WithSchema(schema))
	files, hook := &fileStore{}, &beforeDelete{}
	b := servicetest.SetupOn(t, store, formsvc.WithFiles(files), formsvc.WithBeforeDelete(hook.call), formsvc.WithoutRateLimit())
	form := tenantForm(t, b)
	sub, want := respond(t, b, form.ID, "gone")
	for _, commits := range []bool{false, true} {
		err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			if err := b.WithStorage(store.On(tx)).AsHost().DeleteSubmission(t.Context(), form.ID, sub.ID); err != nil {
				return err
			}
			got := files.since()
			expect.That(t, slices.Equal(got, want), "before the end of the transaction, files to remove: %q", got)
			told := hook.since()
			expect.That(t, slices.Equal(told[form.ID], []formsvc.ID{sub.ID}), "before the end of the transaction, the host received %v", told)
			if !commits {
				return errors.New("rolled back")
			}
			return nil
		})
		expect.That(t, commits == (err == nil), "%v", err)
		_, err = b.AsHost().Submission(t.Context(), form.ID, sub.ID)
		expect.That(t, commits == errors.Is(err, formsvc.ErrNotFound), "commits %t: %v", commits, err)
	}
}
