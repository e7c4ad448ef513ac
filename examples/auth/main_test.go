package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage/memory"
)

func TestSessions(t *testing.T) {
	t.Parallel()
	s := sessions("test secret")
	service, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithKeyResolver(s), formsvc.WithoutRateLimit())
	if err != nil {
		t.Fatal(err)
	}
	send := func(method, path, token, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		service.ServeHTTP(w, r)
		return w
	}
	ann := claims{Session: "s1", Subject: "user-42", Name: "Ann", Role: "editor", Expires: time.Now().Add(time.Hour)}
	reader, late := ann, ann
	reader.Role = "reader"
	late.Expires = time.Now()

	t.Run("let an editor in as the host's user", func(t *testing.T) {
		w := send(http.MethodGet, "/v1/me", s.issue(ann), "")
		var me struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &me); err != nil {
			t.Fatal(err)
		}
		if w.Code != http.StatusOK || me.ID != formsvc.UserIDFrom("user-42").String() || me.Name != "Ann" {
			t.Errorf("%d %+v", w.Code, me)
		}
		if w := send(http.MethodPost, "/v1/workspaces", s.issue(ann), `{"name":"A"}`); w.Code != http.StatusCreated {
			t.Errorf("an editor's write: %d %s", w.Code, w.Body)
		}
	})
	t.Run("let a reader read only", func(t *testing.T) {
		if w := send(http.MethodGet, "/v1/workspaces", s.issue(reader), ""); w.Code != http.StatusOK {
			t.Errorf("read: %d %s", w.Code, w.Body)
		}
		if w := send(http.MethodPost, "/v1/workspaces", s.issue(reader), `{"name":"A"}`); w.Code != http.StatusForbidden {
			t.Errorf("write: %d %s", w.Code, w.Body)
		}
	})
	t.Run("refuse tokens that are forged, altered, expired or none", func(t *testing.T) {
		text, mark, _ := strings.Cut(s.issue(ann), ".")
		other, _, _ := strings.Cut(s.issue(reader), ".")
		for name, token := range map[string]string{
			"forged":  sessions("another").issue(ann),
			"altered": other + "." + mark,
			"expired": s.issue(late),
			"cut":     text,
			"none":    "",
		} {
			if w := send(http.MethodGet, "/v1/me", token, ""); w.Code != http.StatusUnauthorized {
				t.Errorf("%s: %d %s", name, w.Code, w.Body)
			}
		}
	})
}
