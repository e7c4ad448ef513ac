import { useSignal } from '@preact/signals';
import { api, builderApi } from '../app/api';
import { can } from '../app/config';
import { Frame } from '../app/Frame';
import type { FormSummary } from '../app/records';
import { navigate, href } from '../app/router';
import { formatRelativeTime, formatDateTime, t } from '../app/words';
import { Button, LinkButton } from '../ui/Button';
import { FormDialog, ConfirmDialog } from '../ui/Dialog';
import { Select, Switch, TextField } from '../ui/Field';
import { Icon } from '../ui/Icon';
import { Menu } from '../ui/Menu';
import { Empty, ErrorNotice, isMissing, Loading, errorText, showToast, useLoaded } from '../ui/states';
import { CopyField } from '../editor/Share';
import { DeliveryLog } from './Log';

export interface Hook {
  id: string;
  url: string;
  enabled: boolean;
  has_secret: boolean;
  form_details: boolean;
  updates: boolean;
}

export interface Paused {
  webhook_id: string;
  failures: number;
  failing_since: string;
  paused_until: string;
  reason: 'failures' | 'retry_after';
}

type OpenDialog = { kind: 'write'; hook?: Hook | undefined } | { kind: 'delete' | 'off'; hook: Hook };

/** A form's webhooks. view is the id of the webhook whose deliveries are shown. */
export function Webhooks({ form, view }: { form: string; view: string }) {
  const summary = useLoaded(async () => (await api<FormSummary>('/forms/' + form)).body, [form]);
  const hooks = useLoaded(async () => {
    const [list, paused] = await Promise.all([builderApi<{ items: Hook[] }>(`/forms/${form}/webhooks`), builderApi<{ items: Paused[] }>('/webhooks/paused?form=' + form)]);
    return { list: list.items, paused: new Map(paused.items.map((p) => [p.webhook_id, p])) };
  }, [form]);
  const openDialog = useSignal<OpenDialog | undefined>(undefined);
  const setDialog = (a: OpenDialog | undefined) => (openDialog.value = a);
  const close = () => setDialog(undefined);
  const loaded = hooks.value;
  const shown = loaded?.list.find((h) => h.id === view);

  const set = async (hook: Hook, enabled: boolean) => {
    await api('/webhooks/' + hook.id, { method: 'PATCH', body: { enabled } });
    showToast(t(enabled ? 'webhooks.enabled' : 'webhooks.disabled'));
    hooks.reload();
  };
  const editable = can('webhooks:write');
  const actions = (hook: Hook) => (
    <Menu
      icon="ellipsis"
      kind="quiet"
      label={t('webhooks.actions_of', { url: hook.url })}
      items={[
        { label: t('webhooks.edit'), scope: 'webhooks:write', icon: 'pencil', run: () => setDialog({ kind: 'write', hook }) },
        hook.enabled
          ? { label: t('webhooks.disable'), scope: 'webhooks:write', icon: 'pause', run: () => setDialog({ kind: 'off', hook }) }
          : { label: t('webhooks.enable'), scope: 'webhooks:write', icon: 'play', run: () => void set(hook, true).catch((e: unknown) => showToast(errorText(e))) },
        { label: t('webhooks.delete'), scope: 'webhooks:write', icon: 'trash-2', danger: true, separated: true, run: () => setDialog({ kind: 'delete', hook }) },
      ]}
    />
  );
  const dialog = openDialog.value;
  return (
    <Frame form={isMissing(summary.error) ? undefined : form} workspace={summary.value?.workspace_id} title={summary.value?.name ?? ''}>
      {summary.error !== undefined && <ErrorNotice error={summary.error} retry={summary.reload} />}
      {hooks.error !== undefined && summary.error === undefined && <ErrorNotice error={hooks.error} retry={hooks.reload} />}
      {hooks.loading && !loaded && <Loading />}
      {loaded && view !== '' && !shown && <Empty icon="webhook" title={t('app.not_found')}><a href={href(form + '/webhooks')}>{t('webhooks.all')}</a></Empty>}
      {loaded && view === '' && summary.error === undefined && (
        <div class="stack">
          <div class="row">
            <div>
              <h2>{t('webhooks.title')}</h2>
              <p class="muted">{t('webhooks.intro')}</p>
            </div>
            {loaded.list.length > 0 && editable && <Button class="push" kind="primary" icon="plus" onClick={() => setDialog({ kind: 'write' })}>{t('webhooks.add')}</Button>}
          </div>
          {loaded.list.length === 0 && (
            <Empty icon="webhook" title={t('webhooks.none')}>
              <p>{t('webhooks.none_text')}</p>
              {editable && <Button kind="primary" icon="plus" onClick={() => setDialog({ kind: 'write' })}>{t('webhooks.add')}</Button>}
            </Empty>
          )}
          <ul class="hooks">
            {loaded.list.map((hook) => (
              <li key={hook.id} class="card">
                <div class="hook-about">
                  <a class="hook-url" href={href(`${form}/webhooks/${hook.id}`)}>{hook.url}</a>
                  <StatusBadges hook={hook} paused={loaded.paused.get(hook.id)} />
                </div>
                {actions(hook)}
              </li>
            ))}
          </ul>
        </div>
      )}
      {loaded && shown && (
        <div class="stack">
          <div class="row hook-back"><LinkButton kind="quiet" icon="arrow-left" href={href(form + '/webhooks')}>{t('webhooks.all')}</LinkButton></div>
          <div class="hook-head">
            <div class="hook-about">
              <h2 class="hook-url">{shown.url}</h2>
              <StatusBadges hook={shown} paused={loaded.paused.get(shown.id)} brief />
            </div>
            {actions(shown)}
          </div>
          <DeliveryLog key={shown.id + shown.url + String(shown.enabled)} hook={shown} paused={loaded.paused.get(shown.id)} onSent={hooks.reload} />
        </div>
      )}
      {dialog?.kind === 'write' && <WebhookDialog form={form} hook={dialog.hook} onClose={close} onSaved={() => (hooks.reload(), showToast(t('webhooks.saved')))} />}
      {dialog?.kind === 'off' && (
        <ConfirmDialog title={t('webhooks.disable')} text={t('webhooks.disable_text')} action={t('webhooks.disable')} run={() => set(dialog.hook, false)} onClose={close} />
      )}
      {dialog?.kind === 'delete' && (
        <ConfirmDialog
          title={t('webhooks.delete')}
          text={t('webhooks.delete_text', { url: dialog.hook.url })}
          action={t('webhooks.delete')}
          danger
          run={async () => {
            await api('/webhooks/' + dialog.hook.id, { method: 'DELETE' });
            showToast(t('webhooks.deleted'));
            hooks.reload();
            if (view !== '') navigate(form + '/webhooks');
          }}
          onClose={close}
        />
      )}
    </Frame>
  );
}

function StatusBadges({ hook, paused, brief }: { hook: Hook; paused: Paused | undefined; brief?: boolean }) {
  const state = !hook.enabled ? 'off' : paused ? 'paused' : 'on';
  return (
    <div class="row">
      <span class={`badge ${{ off: '', paused: 'warn', on: 'good' }[state]}`}>{t('webhooks.state_' + state)}</span>
      {hook.has_secret && <span class="badge"><Icon name="shield-check" /> {t('webhooks.signed')}</span>}
      {paused && hook.enabled && !brief && <span class="muted">{t('webhooks.failing_since', { since: formatRelativeTime(paused.failing_since) })}</span>}
    </div>
  );
}

/** Shows why and since when a webhook is paused, and when the next attempt is due. */
export function PauseNote({ paused, busy, onTry }: { paused: Paused; busy: boolean; onTry(): void }) {
  const soon = new Date(paused.paused_until) <= new Date();
  return (
    <div class="notice" role="status">
      <Icon name="pause" />
      <span class="grow">
        {t('webhooks.paused_' + paused.reason, { n: paused.failures, since: formatDateTime(paused.failing_since) })}{' '}
        {soon ? t('webhooks.paused_soon') : t('webhooks.paused_until', { at: formatDateTime(paused.paused_until) })}
      </span>
      {can('webhooks:write') && <Button icon="send" busy={busy} onClick={onTry}>{t('webhooks.retry_now')}</Button>}
    </div>
  );
}

/** Returns a random 24-byte secret in the Standard Webhooks format. */
const newSecret = (): string => 'whsec_' + btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(24))));

/** Adds or edits a webhook. */
function WebhookDialog({ form, hook, onClose, onSaved }: { form: string; hook?: Hook | undefined; onClose(): void; onSaved(): void }) {
  const url = useSignal(hook?.url ?? '');
  const signing = useSignal<'keep' | 'none' | 'new'>(hook?.has_secret ? 'keep' : 'none');
  const secret = useSignal('');
  const details = useSignal(hook?.form_details ?? false);
  const updates = useSignal(hook?.updates ?? false);
  const created = useSignal(hook?.id);
  const save = async () => {
    const body: Record<string, unknown> = {};
    if (url.value.trim() !== hook?.url) body.url = url.value.trim();
    if (signing.value === 'new') body.signing_secret = secret.value;
    if (signing.value === 'none' && hook?.has_secret) body.signing_secret = null;
    if (created.value === undefined) created.value = (await api<Hook>('/webhooks', { body: { ...body, form_id: form } })).body.id;
    else if (Object.keys(body).length > 0) await api('/webhooks/' + created.value, { method: 'PATCH', body });
    if (details.value !== (hook?.form_details ?? false) || updates.value !== (hook?.updates ?? false))
      await builderApi(`/webhooks/${created.value}/events`, { method: 'PUT', body: { form_details: details.value, updates: updates.value } });
    onSaved();
  };
  const chooseSigning = (way: string) => {
    signing.value = way as 'keep' | 'none' | 'new';
    if (way === 'new' && secret.value === '') secret.value = newSecret();
  };
  return (
    <FormDialog title={t(hook ? 'webhooks.edit' : 'webhooks.add')} action={t(hook ? 'app.save' : 'webhooks.add')} disabled={url.value.trim() === ''} own={['/url', '/signing_secret']} run={save} onClose={onClose}>
      {(at) => (
        <>
          <TextField label={t('webhooks.url')} hint={t('webhooks.url_hint')} type="url" maxLength={2048} placeholder="https://example.com/responses" error={at('/url')} value={url.value} onInput={(v) => (url.value = v)} />
          <Select
            label={t('webhooks.signing')}
            hint={t('webhooks.signing_hint')}
            value={signing.value}
            options={(hook?.has_secret ? (['keep', 'new', 'none'] as const) : (['none', 'new'] as const)).map((way) => [way, t('webhooks.signing_' + way)] as const)}
            onChange={chooseSigning}
          />
          {signing.value === 'new' && <CopyField label={t('webhooks.secret')} hint={t('webhooks.secret_hint') + (hook?.has_secret ? ' ' + t('webhooks.secret_replaces') : '')} error={at('/signing_secret')} value={secret.value} onInput={(v) => (secret.value = v)} />}
          <Switch label={t('webhooks.form_details')} hint={t('webhooks.form_details_hint')} value={details.value} onChange={(v) => (details.value = v)} />
          <Switch label={t('webhooks.updates')} hint={t('webhooks.updates_hint')} value={updates.value} onChange={(v) => (updates.value = v)} />
        </>
      )}
    </FormDialog>
  );
}
