package memory

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

var start = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

// id returns the nth id of a kind, so that ids of different kinds never meet.
func id(kind byte, n int) storage.ID {
	out := storage.ID{kind}
	binary.BigEndian.PutUint64(out[4:], uint64(n))
	return out
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// farFuture is a clock that no count is ahead of.
var farFuture = time.Unix(1<<40, 0)

func TestFunnel(t *testing.T) {
	t.Parallel()

	t.Run("Tells minutes apart as far as two days back, also for a count that comes late", func(t *testing.T) {
		t.Parallel()
		f := funnel{counts: map[int64]storage.Counters{}}
		border := start.Add(-48 * time.Hour)
		f.add(border, farFuture, storage.Counters{Views: 1})
		f.add(start, farFuture, storage.Counters{Views: 1})
		f.add(border, farFuture, storage.Counters{Views: 1})
		if got := f.sumBetween(border, border.Add(time.Minute)).Views; got != 2 {
			t.Errorf("views = %d, want 2", got)
		}
	})

	t.Run("Keeps a bounded number of minutes", func(t *testing.T) {
		t.Parallel()
		f := funnel{counts: map[int64]storage.Counters{}}
		const days, minutes = 10, 10 * day / minute
		for i := range minutes {
			f.add(start.Add(time.Duration(i)*time.Minute), farFuture, storage.Counters{Views: 1})
		}
		if n, most := len(f.counts), 3*day/minute+days; n > most {
			t.Errorf("%d minutes and days, want at most %d", n, most)
		}
		if got := f.sumBetween(time.Time{}, time.Time{}).Views; got != minutes {
			t.Errorf("all = %d, want %d", got, minutes)
		}
	})
}

// The store keeps users by id, and a host may by mistake name the zero id.
func TestZeroActor(t *testing.T) {
	t.Parallel()
	ctx, s, workspace, form := context.Background(), New(), id('w', 1), id('f', 1)
	must(t, s.CreateWorkspace(ctx, storage.Workspace{ID: workspace, PublicID: "w1", OwnerID: id('u', 1), CreatedAt: start}, 0))
	must(t, s.CreateForm(ctx, storage.AsHost(), storage.Form{ID: form, PublicID: "f", WorkspaceID: workspace, Status: storage.StatusPublished, Revision: 1}))
	must(t, s.CreateWebhook(ctx, storage.AsHost(), storage.NewWebhook{Webhook: storage.Webhook{ID: id('h', 1), FormID: form, URL: "https://example.com/"}}))
	must(t, s.CreateWorkspace(ctx, storage.Workspace{ID: id('w', 2), PublicID: "w2", CreatedAt: start}, 0))
	must(t, s.SetMember(ctx, workspace, storage.ID{}, true))
	for name, actor := range map[string]storage.Actor{"The zero actor": {}, "The actor for the zero id": storage.As(storage.ID{})} {
		t.Run(name+" sees nothing, not even what the zero id owns", func(t *testing.T) {
			t.Parallel()
			workspaces, err := s.Workspaces(ctx, actor, storage.Page{Limit: 9})
			must(t, err)
			forms, err := s.Forms(ctx, actor, storage.FormsParams{Page: storage.Page{Limit: 9}})
			must(t, err)
			webhooks, err := s.Webhooks(ctx, actor, storage.Page{Limit: 9})
			must(t, err)
			if n := len(workspaces) + len(forms) + len(webhooks); n != 0 {
				t.Errorf("listed %d records, want none", n)
			}
			for _, w := range []storage.ID{workspace, id('w', 2)} {
				if _, err := s.Workspace(ctx, actor, w); !errors.Is(err, storage.ErrNotFound) {
					t.Errorf("Workspace = %v, want ErrNotFound", err)
				}
			}
		})
	}
}
