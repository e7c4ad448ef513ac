import { t } from '../app/words';

/** An attempt, as in the API's list of deliveries. */
export interface Delivery {
  id: string;
  event: string;
  event_id: string;
  submission_id: string | null;
  attempt: number;
  status: number;
  success: boolean;
  error: string | null;
  duration_ms: number;
  created_at: string;
  next_attempt_at: string | null;
}

/** Describes an attempt's result. The receiver's response is not shown. */
export function outcomeText(d: Delivery): string {
  if (d.success) return t('webhooks.success_status', { status: String(d.status) });
  if (d.status > 0) return t(d.error === 'redirect' ? 'webhooks.error_redirect' : 'webhooks.error_status', { status: String(d.status) });
  return t('webhooks.error_' + (d.error ?? 'network'));
}

/** Reports whether an attempt is the latest one for its event. Only the latest has the time of the next attempt. */
export const isLatest = (d: Delivery, newestFirst: readonly Delivery[]): boolean => newestFirst.find((o) => o.event_id === d.event_id) === d;

/** Reports whether the next attempt is due within half a minute. */
export function isInProgress(d: Delivery, newestFirst: readonly Delivery[], now: number): boolean {
  if (d.next_attempt_at === null || !isLatest(d, newestFirst)) return false;
  const left = new Date(d.next_attempt_at).getTime() - now;
  return left < 30_000 && left > -120_000;
}
