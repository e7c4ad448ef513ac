package postgres

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// noteInterval is how often a process records each kind of work, unless another process has recorded it.
const noteInterval = time.Minute

// noteWork skips a locked row, because a host's transaction may hold it.
const noteWork = `
UPDATE formsvc.upkeep u SET done_at = statement_timestamp() WHERE u.work = (
	SELECT n.work FROM formsvc.upkeep n
	WHERE n.work = $1::text AND (n.done_at BETWEEN statement_timestamp() - interval '1 minute' AND statement_timestamp()) IS NOT TRUE
	FOR NO KEY UPDATE SKIP LOCKED)`

// noteWork records that this process did the given work. It runs after the work, which succeeds even if noteWork fails.
func (s *Store) noteWork(ctx context.Context, work string) {
	if last, known := s.notedAt.Load(work); known && !s.db.InTx && time.Since(last.(time.Time)) < noteInterval {
		return
	}
	if !s.db.InTx { // the host's transaction may be rolled back
		s.notedAt.Store(work, time.Now())
	}
	if _, err := s.db.ChangeRows(ctx, noteWork, work); err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "formsvc: failed to record dispatcher or maintenance activity", "error", err)
	}
}

const maintenanceStatus = `
SELECT statement_timestamp(), COALESCE(min(u.since), statement_timestamp()), max(u.done_at) FILTER (WHERE u.work = 'dispatched'), max(u.done_at) FILTER (WHERE u.work = 'maintained')
FROM formsvc.upkeep u`

// MaintenanceStatus implements [storage.Storage]. It also returns the errors of [Store.CheckVersion].
func (s *Store) MaintenanceStatus(ctx context.Context) (storage.MaintenanceStatus, error) {
	if err := s.CheckVersion(ctx); err != nil {
		return storage.MaintenanceStatus{}, err
	}
	return conn.ReadOne(ctx, &s.db, func(u *storage.MaintenanceStatus) []any {
		return []any{&u.Now, &u.Since, &u.LastDispatch, &u.LastMaintenance}
	}, maintenanceStatus)
}
