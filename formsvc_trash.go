package formsvc

import (
	"context"
	"errors"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// batch is how many records the Go calls read or remove at a time.
const batch = 500

// TrashedForms lists the forms of a workspace that are in the trash, newest first
// by when they were made, without their definitions. The workspace itself may be
// gone: deleting it moves its forms to the trash. The zero ID is [ErrNotFound].
func (s *Service) TrashedForms(ctx context.Context, workspaceID ID) ([]Form, error) {
	if workspaceID.IsZero() {
		return nil, ErrNotFound // to the storage it would mean: of all workspaces
	}
	var all []Form
	q := storage.FormsParams{WorkspaceID: workspaceID, Trashed: true, Page: storage.Page{Limit: batch}}
	for {
		found, err := s.storage.Forms(ctx, storage.AsHost(), q)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
		if len(found) < batch {
			return all, nil
		}
		last := found[len(found)-1]
		q.Page.After = &storage.Position{Time: last.CreatedAt, ID: last.ID}
	}
}

// RestoreForm takes a form out of the trash with everything that is its own. A
// zero into puts it where it was. It returns [ErrNotFound] when the form is not
// in the trash, and [ErrConflict] when the workspace is gone.
func (s *Service) RestoreForm(ctx context.Context, formID, into ID) error {
	return s.storage.RestoreForm(ctx, formID, into, s.now())
}

// PurgeTrash removes for good the forms that went to the trash before olderThan,
// with their submissions, webhooks and metrics, and returns how many. Nothing is
// purged unless the host calls it; 30 days is a good age. The zero time is an error.
//
// The forms are gone as soon as they are counted. Their rows are removed in pieces,
// so that nobody waits for it and a statement_timeout does no harm; when the call
// returns without an error, none is left. After an error,
// a cancelled context or the end of the process the rest is left for the next call
// and for [Service.Maintain].
func (s *Service) PurgeTrash(ctx context.Context, olderThan time.Time) (int, error) {
	if olderThan.IsZero() {
		return 0, errors.New("formsvc: PurgeTrash needs a time")
	}
	purged := 0
	for {
		swept, err := s.storage.Sweep(ctx, storage.SweepParams{Now: s.now(), TrashBefore: olderThan, Removals: true, Max: sweepRows})
		purged += swept.Forms
		if err != nil || !swept.More {
			return purged, err
		}
	}
}
