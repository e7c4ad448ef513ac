import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api, ApiError, builderApi } from '../app/api';
import { can } from '../app/config';
import { formatDateTime, formatNumber, t } from '../app/words';
import { Button, IconButton } from '../ui/Button';
import { FormDialog, Dialog } from '../ui/Dialog';
import { TextField } from '../ui/Field';
import { Icon } from '../ui/Icon';
import { Empty, ErrorNotice, Loading, errorText, showToast, useDocumentEvent, useLoaded } from '../ui/states';
import { type Delivery, isLatest, isInProgress, outcomeText } from './deliveries';
import { type Hook, PauseNote, type Paused } from './Webhooks';

/** How often to read the log while a delivery is in progress, in milliseconds. */
const pollInterval = 2000;

/**
 * A webhook's deliveries. They are read again while a delivery is in progress, and when the page becomes visible.
 */
export function DeliveryLog({ hook, paused, onSent }: { hook: Hook; paused: Paused | undefined; onSent(): void }) {
  const log = useLoaded(async () => (await api<{ items: Delivery[] }>(`/webhooks/${hook.id}/deliveries`)).body.items, [hook.id]);
  /** The last request to send, and the deliveries known before it. A new delivery is the request's result. */
  const sent = useSignal<{ test: boolean; event: string; known: Set<string>; until: number } | undefined>(undefined);
  const busy = useSignal('');
  const openDialog = useSignal<'' | 'failed' | Delivery>('');
  const list = log.value;
  const request = sent.value;
  const result = request && list?.find((d) => !request.known.has(d.id) && (request.test ? d.submission_id === null : request.event === '' || d.event_id === request.event));
  const isPending = (request && !result && Date.now() < request.until) || (list ?? []).some((d) => isInProgress(d, list!, Date.now()));

  useEffect(() => {
    const timer = isPending ? setInterval(() => document.visibilityState === 'visible' && !log.loading && log.reload(), pollInterval) : undefined;
    return () => clearInterval(timer);
  }, [isPending, log.loading]);
  useDocumentEvent('visibilitychange', () => document.visibilityState === 'visible' && log.reload());
  useEffect(() => {
    if (result) onSent(); // the webhook may have been paused or resumed
  }, [result?.id]);

  const send = async (what: string, path: string, event = '') => {
    busy.value = what;
    const known = new Set(list?.map((d) => d.id));
    try {
      await builderApi(`/webhooks/${hook.id}${path}`, { method: 'POST' });
      sent.value = { test: what === 'test', event, known, until: Date.now() + 60_000 };
      log.reload();
    } catch (e) {
      showToast(e instanceof ApiError && e.status === 404 ? t('webhooks.response_deleted') : errorText(e));
    }
    busy.value = '';
  };
  const test = () => void send('test', '/test');
  const dialog = openDialog.value;
  return (
    <>
      {paused && hook.enabled && <PauseNote paused={paused} busy={busy.value === 'test'} onTry={test} />}
      {!hook.enabled && <p class="notice"><Icon name="pause" /> {t('webhooks.disabled_hint')}</p>}
      <div class="row">
        <h3>{t('webhooks.deliveries')}</h3>
        {can('webhooks:write') && <span class="push row">
          <Button icon="rotate-ccw" disabled={!hook.enabled} onClick={() => (openDialog.value = 'failed')}>{t('webhooks.resend_failed')}</Button>
          <Button icon="send" disabled={!hook.enabled} busy={busy.value === 'test'} onClick={test}>{t('webhooks.send_test')}</Button>
        </span>}
      </div>
      <div role="status">
        {request && !result && (isPending
          ? <p class="notice"><Icon name="loader-circle" /> {t('webhooks.sending')}</p>
          : <p class="notice"><Icon name="clock" /> {t('webhooks.no_result')}</p>)}
        {request && result && (
          <p class={`notice ${result.success ? 'good' : 'bad'}`}>
            <Icon name={result.success ? 'circle-check' : 'circle-alert'} /> {t(result.success ? 'webhooks.delivered' : 'webhooks.failed', { outcome: outcomeText(result) })}
          </p>
        )}
      </div>
      {log.error !== undefined && <ErrorNotice error={log.error} retry={log.reload} />}
      {log.loading && !list && <Loading />}
      {list?.length === 0 && <Empty icon="inbox" title={t('webhooks.no_deliveries')}>{can('webhooks:write') && <p>{t('webhooks.no_deliveries_text')}</p>}</Empty>}
      {list && list.length > 0 && (
        <ol class="hook-log">
          {list.map((d) => (
            <li key={d.id}>
              <span class={`hook-sign ${d.success ? 'good' : 'bad'}`}><Icon name={d.success ? 'circle-check' : 'circle-alert'} /></span>
              <div class="hook-what">
                <strong>{outcomeText(d)}</strong>
                <span class="muted">
                  {t(d.submission_id === null ? 'webhooks.event_test' : 'webhooks.event_response')} · {t('webhooks.attempt', { n: d.attempt })}
                  {d.next_attempt_at && isLatest(d, list) ? ' · ' + t('webhooks.next_attempt', { at: formatDateTime(d.next_attempt_at) }) : ''}
                </span>
              </div>
              <span class="hook-when muted">
                <time dateTime={d.created_at}>{formatDateTime(d.created_at)}</time>
                {d.error !== 'expired' && <span>{t('webhooks.duration', { ms: formatNumber(d.duration_ms) })}</span>}
              </span>
              <span class="hook-do">
                {can('submissions:read') && <IconButton icon="eye" label={t('webhooks.show_payload')} onClick={() => (openDialog.value = d)} />}
                {can('webhooks:write') && <IconButton icon="rotate-ccw" label={t('webhooks.resend')} disabled={!hook.enabled} busy={busy.value === d.id} onClick={() => void send(d.id, `/deliveries/${d.id}/redeliver`, d.event_id)} />}
              </span>
            </li>
          ))}
        </ol>
      )}
      {dialog === 'failed' && (
        <ResendDialog
          hook={hook}
          since={paused?.failing_since}
          onClose={() => (openDialog.value = '')}
          onQueued={(n) => {
            showToast(t('webhooks.resend_queued', { n }));
            if (n > 0) sent.value = { test: false, event: '', known: new Set(list?.map((d) => d.id)), until: Date.now() + 60_000 };
            log.reload();
          }}
        />
      )}
      {typeof dialog === 'object' && <DeliveryDialog hook={hook} delivery={dialog} onClose={() => (openDialog.value = '')} />}
    </>
  );
}

/** Shows a delivery's payload and result. */
function DeliveryDialog({ hook, delivery, onClose }: { hook: Hook; delivery: Delivery; onClose(): void }) {
  const body = useLoaded(() => builderApi<{ body: unknown }>(`/webhooks/${hook.id}/deliveries/${delivery.id}/body`), [delivery.id]);
  const isDeleted = body.error instanceof ApiError && body.error.status === 404;
  return (
    <Dialog wide title={t('webhooks.delivery')} onClose={onClose}>
      <dl class="facts">
        <dt>{t('webhooks.result')}</dt><dd>{outcomeText(delivery)}</dd>
        <dt>{t('webhooks.event')}</dt><dd><code>{delivery.event}</code> <code>{delivery.event_id}</code></dd>
        <dt>{t('webhooks.sent_at')}</dt><dd>{formatDateTime(delivery.created_at)}</dd>
      </dl>
      <h3>{t('webhooks.payload')}</h3>
      {body.loading && !body.value && <Loading />}
      {isDeleted && <p class="muted">{t('webhooks.response_deleted')}</p>}
      {body.error !== undefined && !isDeleted && <ErrorNotice error={body.error} retry={body.reload} />}
      {body.value?.body === null && <p class="muted">{t('webhooks.test_sample_hint')}</p>}
      {body.value?.body ? <pre class="code-box" tabIndex={0} aria-label={t('webhooks.payload')}>{JSON.stringify(body.value.body, null, 2)}</pre> : null}
    </Dialog>
  );
}

/** Asks for a start time and resends failed deliveries. */
function ResendDialog({ hook, since, onQueued, onClose }: { hook: Hook; since: string | undefined; onQueued(n: number): void; onClose(): void }) {
  const toInputValue = (at: Date) => new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
  const from = useSignal(toInputValue(since ? new Date(since) : new Date(Date.now() - 24 * 3600_000)));
  const send = async () => {
    const body = from.value === '' ? {} : { since: new Date(from.value).toISOString() };
    onQueued((await builderApi<{ queued: number }>(`/webhooks/${hook.id}/redeliver`, { body })).queued);
  };
  return (
    <FormDialog title={t('webhooks.resend_failed')} action={t('webhooks.resend')} run={send} onClose={onClose}>
      <p>{t('webhooks.resend_failed_text')}</p>
      <TextField label={t('webhooks.resend_since')} hint={t('webhooks.resend_since_hint')} type="datetime-local" value={from.value} onInput={(v) => (from.value = v)} />
    </FormDialog>
  );
}
