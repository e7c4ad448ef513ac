package formpage_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

func TestTheFunnelCountsPeople(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("SINGLE", threeQuestions, "", "")
	p := s.open(form, "")
	if c := s.funnel(form); c.Views != 0 {
		t.Errorf("fetching the page counted %+v", c)
	}
	beacon := func(what, state string) int {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.server.URL+"/f/"+form.PublicID+"/"+what, strings.NewReader(url.Values{"state": {state}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return s.do(r).status
	}
	if status := beacon("view", "forged.token"); status != http.StatusForbidden {
		t.Errorf("a forged view: %d", status)
	}
	if status := beacon("view", p.values.Get("state")); status != http.StatusNoContent {
		t.Errorf("a view: %d", status)
	}
	p.values.Set("viewed", "1") // as the script does
	p.press("next").fill("a.name", "x").press("next").press("next")
	if c := s.funnel(form); c.Views != 1 || c.Starts != 1 {
		t.Errorf("the funnel is %+v, want one view and one start", c)
	}
	// Without a script the first page that is sent counts for both.
	s.open(form, "").press("next").press("back").press("next")
	if c := s.funnel(form); c.Views != 2 || c.Starts != 2 {
		t.Errorf("the funnel is %+v, want two of each", c)
	}
}

// writes counts the calls that a store commits for a page.
type writes struct {
	storage.Storage
	responses, visits, lists atomic.Int64
}

func (s *writes) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	s.responses.Add(1)
	return s.Storage.Submit(ctx, n)
}

func (s *writes) CountFunnel(ctx context.Context, counts []storage.FunnelCount) error {
	s.lists.Add(1)
	s.visits.Add(int64(len(counts)))
	return s.Storage.CountFunnel(ctx, counts)
}

// A page that a browser without scripts sends is a view, a start and a response, of which only
// the response is written before the answer. The visits of all pages follow in one write.
func TestASentPageIsOneCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &writes{Storage: memory.New()}
		service, err := formsvc.New(formsvc.WithStorage(store))
		if err != nil {
			t.Fatal(err)
		}
		pages, err := formpage.New(service, formpage.Config{Secret: secret, MinFillTime: -1})
		if err != nil {
			t.Fatal(err)
		}
		place, err := service.CreateWorkspace(t.Context(), formsvc.UserIDFrom("owner"), "W")
		if err != nil {
			t.Fatal(err)
		}
		form, err := service.AsHost().CreateForm(t.Context(), formsvc.FormCreate{
			Workspace: place.ID, Name: "F", Type: "MULTI", Definition: formsvc.Definition{Blocks: []byte(`[{"id":"a","type":"short_text"}]`)},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = service.AsHost().PublishForm(t.Context(), form.ID); err != nil {
			t.Fatal(err)
		}
		for sent := range int64(3) {
			w := httptest.NewRecorder()
			pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/f/"+form.PublicID, nil))
			values := url.Values{"state": {inState.FindStringSubmatch(w.Body.String())[1]}, "a.a": {"x"}, "at": {"0"}}
			r := httptest.NewRequest(http.MethodPost, "/f/"+form.PublicID, strings.NewReader(values.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w = httptest.NewRecorder()
			pages.ServeHTTP(w, r)
			if w.Code != http.StatusSeeOther || store.responses.Load() != sent+1 || store.lists.Load() != 0 {
				t.Fatalf("a page is answered with %d, after %d responses and %d lists of visits were written", w.Code, store.responses.Load(), store.lists.Load())
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if store.lists.Load() != 1 || store.visits.Load() != 6 {
			t.Errorf("%d views and starts in %d writes, want 6 in 1", store.visits.Load(), store.lists.Load())
		}
	})
}
