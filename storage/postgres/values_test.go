package postgres

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

var modes = []pgx.QueryExecMode{
	pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
	pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
}

func TestValuesThatPostgresDoesNotHave(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			s, _ := testStore(t, pgtest.Mode(mode))
			kept := storage.Workspace{ID: storage.ID{1}, PublicID: "kept"}
			if err := s.CreateWorkspace(t.Context(), kept, 0); err != nil {
				t.Fatal(err)
			}
			for name, w := range map[string]storage.Workspace{
				"a zero byte":       {ID: storage.ID{2}, PublicID: "2", Name: "a\x00b"},
				"no UTF-8":          {ID: storage.ID{3}, PublicID: "3", Name: "a\xffb"},
				"half a surrogate":  {ID: storage.ID{4}, PublicID: "4", Name: "\xed\xa0\x80"},
				"a far future":      {ID: storage.ID{5}, PublicID: "5", CreatedAt: time.Date(300_000, 1, 1, 0, 0, 0, 0, time.UTC)},
				"a statement's end": {ID: storage.ID{6}, PublicID: "6\x00'); DROP TABLE workspaces; --"},
			} {
				if err := s.CreateWorkspace(t.Context(), w, 0); !errors.Is(err, storage.ErrInvalidValue) {
					t.Errorf("%s: %v", name, err)
				}
				if _, err := s.Workspace(t.Context(), storage.AsHost(), w.ID); !errors.Is(err, storage.ErrNotFound) {
					t.Errorf("%s: afterwards Workspace = %v", name, err)
				}
			}
			if _, err := s.FormByPublicID(t.Context(), "a\x00b"); !errors.Is(err, storage.ErrInvalidValue) && !errors.Is(err, storage.ErrNotFound) {
				t.Errorf("FormByPublicID = %v", err)
			}
			f := storage.Form{
				ID: storage.ID{3}, PublicID: "f", WorkspaceID: kept.ID, Type: "SINGLE", Status: storage.StatusDraft,
				FormContent: storage.FormContent{Definition: storage.Definition{
					Blocks: []byte(`[}`), Settings: []byte(`{}`), Theme: []byte(`{}`), Variables: []byte(`{}`), HiddenFields: []byte(`[]`),
				}},
			}
			if err := s.CreateForm(t.Context(), storage.AsHost(), f); !errors.Is(err, storage.ErrInvalidValue) {
				t.Errorf("no JSON: %v", err)
			}
			f.Definition.Blocks = []byte("[\"\xff\"]")
			if err := s.CreateForm(t.Context(), storage.AsHost(), f); !errors.Is(err, storage.ErrInvalidValue) {
				t.Errorf("JSON that is no UTF-8: %v", err)
			}
		})
	}
}
