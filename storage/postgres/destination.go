package postgres

import (
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// knownColumns are what goes with every delivery of the webhook w with its destination x.
const knownColumns = `x.webhook_id, w.form_id, w.url, x.host,
	w.secret, CASE WHEN w.old_secret_until > statement_timestamp() THEN w.old_secret END, x.succeeded, x.slow_for, x.failures,
	(EXTRACT(epoch FROM statement_timestamp() - x.failing_since) * 1000000)::bigint,
	(EXTRACT(epoch FROM GREATEST(x.paused_until - statement_timestamp(), interval '0')) * 1000000)::bigint, x.pause_reason, x.generation`

// knownTargets are what knownColumns are scanned into.
func knownTargets(d *storage.ClaimedDelivery) []any {
	return []any{
		conn.ScanID(&d.Lease.WebhookID), conn.ScanID(&d.FormID), conn.ScanText(&d.URL), conn.ScanText(&d.Host),
		conn.ScanSecret(&d.Secret), conn.ScanSecret(&d.OldSecret),
		conn.ScanBool(&d.Standing.Succeeded), conn.ScanSize(&d.Standing.SlowFor), conn.ScanSize(&d.Standing.Failures),
		conn.ScanMicros(&d.FailingFor), conn.ScanMicros(&d.PausedFor), conn.ScanText((*string)(&d.PauseReason)), conn.ScanInt(&d.Generation),
	}
}
