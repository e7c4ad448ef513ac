package postgres

import "github.com/formsvc/formsvc/storage"

// knownColumns are what goes with every delivery of the webhook w with its destination x.
const knownColumns = `x.webhook_id, w.form_id, w.url, x.host,
	w.secret, CASE WHEN w.old_secret_until > statement_timestamp() THEN w.old_secret END, x.succeeded, x.slow_for, x.failures,
	(EXTRACT(epoch FROM statement_timestamp() - x.failing_since) * 1000000)::bigint,
	(EXTRACT(epoch FROM GREATEST(x.paused_until - statement_timestamp(), interval '0')) * 1000000)::bigint, x.pause_reason, x.generation`

// knownTargets are what knownColumns are scanned into.
func knownTargets(d *storage.ClaimedDelivery) []any {
	return []any{
		scanID(&d.Lease.WebhookID), scanID(&d.FormID), scanText(&d.URL), scanText(&d.Host),
		(*secretColumn)(&d.Secret), (*secretColumn)(&d.OldSecret),
		scanBool(&d.Standing.Succeeded), scanSize(&d.Standing.SlowFor), scanSize(&d.Standing.Failures),
		scanMicros(&d.FailingFor), scanMicros(&d.PausedFor), scanText((*string)(&d.PauseReason)), scanInt(&d.Generation),
	}
}
