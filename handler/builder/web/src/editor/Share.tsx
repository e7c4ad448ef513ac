import { useSignal } from '@preact/signals';
import { generate } from 'lean-qr';
import { toSvgPath } from 'lean-qr/extras/svg';
import { useMemo, useRef } from 'preact/hooks';
import { builderApi } from '../app/api';
import type { Status } from '../app/records';
import { t } from '../app/words';
import { Button } from '../ui/Button';
import { Dialog } from '../ui/Dialog';
import { Field } from '../ui/Field';
import { Icon } from '../ui/Icon';
import { ErrorNotice, Loading, errorText, showToast, useLoaded } from '../ui/states';

interface Props {
  form: string;
  status: Status;
  isClosed: boolean;
  /** Whether there are changes that respondents do not see. */
  unpublished?: boolean | undefined;
}

export function ShareButton(props: Props) {
  const open = useSignal(false);
  return (
    <>
      <Button icon="share-2" class="share-button" title={t('editor.share')} onClick={() => (open.value = true)}><span>{t('editor.share')}</span></Button>
      {open.value && <ShareDialog {...props} onClose={() => (open.value = false)} />}
    </>
  );
}

/** Returns an absolute URL. The service omits the host from URLs if it is this page's host. */
const absoluteURL = (address: string): string => new URL(address, location.href).href;

/** Opens a preview in another tab. */
export const openPreview = (form: string, save: () => Promise<boolean>): Promise<void> => openLink(`/forms/${form}/preview`, save);

/**
 * Creates a link with a POST request and opens it in another tab. Browsers allow this only during the click, so the tab
 * is opened before prepare is called.
 */
export async function openLink(path: string, prepare?: () => Promise<boolean>): Promise<void> {
  const tab = window.open('', '_blank');
  try {
    await prepare?.();
    const { url } = await builderApi<{ url: string }>(path, { method: 'POST' });
    if (tab) {
      tab.opener = null;
      tab.location.href = absoluteURL(url);
    }
  } catch (e) {
    tab?.close();
    showToast(errorText(e));
  }
}

/** Shows a form's link, QR code, embed code and preview. */
export function ShareDialog({ form, status, isClosed, unpublished, justPublished, onClose }: Props & { justPublished?: boolean; onClose(): void }) {
  const links = useLoaded(() => builderApi<{ url: string; embed: string; public_id: string }>(`/forms/${form}/share`), [form]);
  const preview = useSignal('');
  const error = useSignal('');
  const busy = useSignal(false);
  const current = links.value;
  const createPreview = async () => {
    busy.value = true;
    error.value = '';
    try {
      preview.value = absoluteURL((await builderApi<{ url: string }>(`/forms/${form}/preview`, { method: 'POST' })).url);
    } catch (e) {
      error.value = errorText(e);
    }
    busy.value = false;
  };
  return (
    <Dialog title={t(justPublished ? 'editor.published' : 'editor.share_title')} onClose={onClose} wide>
      {links.loading && !current && <Loading />}
      {links.error !== undefined && <ErrorNotice error={links.error} retry={links.reload} />}
      {status === 'draft' && <p class="notice"><Icon name="eye-off" /> {t('editor.share_draft')}</p>}
      {status === 'published' && isClosed && <p class="notice"><Icon name="lock" /> {t('editor.share_closed')}</p>}
      {status === 'published' && unpublished && <p class="notice"><Icon name="eye-off" /> {t('editor.share_unpublished')}</p>}
      {current && (
        <div class="share">
          <div class="stack">
            <CopyField label={t('editor.share_link')} value={absoluteURL(current.url)} open />
            <CopyField label={t('editor.share_embed')} hint={t('editor.share_embed_hint')} value={`<script src="${absoluteURL(current.embed)}" data-form="${current.public_id}" async></script>`} />
            {preview.value
              ? <CopyField label={t('editor.share_preview')} hint={t('editor.share_preview_hint')} value={preview.value} open />
              : (
                <div>
                  <Button icon="eye" busy={busy.value} onClick={createPreview}>{t('editor.share_make_preview')}</Button>
                  {error.value && <p class="fault" role="alert">{error.value}</p>}
                </div>
              )}
          </div>
          <QRCode text={absoluteURL(current.url)} name={current.public_id} />
        </div>
      )}
    </Dialog>
  );
}

/** A text with a copy button. If onInput is set, the text can be edited. */
export function CopyField({ label, hint, error, value, open, onInput }: { label: string; hint?: string; error?: string | undefined; value: string; open?: boolean; onInput?(value: string): void }) {
  const copied = useSignal(false);
  const input = useRef<HTMLInputElement>(null);
  const copy = async () => {
    input.current?.select();
    try {
      await navigator.clipboard.writeText(value);
    } catch {
      document.execCommand('copy'); // without TLS, a page has no clipboard
    }
    copied.value = true;
    setTimeout(() => (copied.value = false), 3000);
  };
  return (
    <Field label={label} hint={hint} error={error}>
      {(ids) => (
        <span class="copied">
          <input {...ids} ref={input} class="input" readOnly={!onInput} value={value} onInput={(e) => onInput?.(e.currentTarget.value)} onFocus={(e) => !onInput && e.currentTarget.select()} />
          <Button icon={copied.value ? 'check' : 'copy'} aria-label={t('editor.share_copy_label', { label })} onClick={copy}>{t(copied.value ? 'editor.share_copied' : 'editor.share_copy')}</Button>
          {open && <a class="button only-icon" href={value} target="_blank" rel="noopener" title={t('editor.share_open')} aria-label={`${t('editor.share_open')}: ${label}`}><Icon name="external-link" /></a>}
          <span class="unseen" role="status">{copied.value ? t('editor.share_copied') : ''}</span>
        </span>
      )}
    </Field>
  );
}

/** A QR code. It is dark on white even in dark mode, because phones cannot read inverted codes. */
function QRCode({ text, name }: { text: string; name: string }) {
  const code = useMemo(() => generate(text), [text]);
  const path = toSvgPath(code);
  const size = code.size + 8; // with the margin of four modules that readers need
  const box = `-4 -4 ${size} ${size}`;
  const file = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${box}" width="1024" height="1024" shape-rendering="crispEdges"><path fill="#fff" d="M-4-4h${size}v${size}H-4z"/><path d="${path}"/></svg>`;
  return (
    <figure class="qr">
      <svg viewBox={box} role="img" aria-label={t('editor.share_qr')} shape-rendering="crispEdges">
        <path fill="#fff" d={`M-4-4h${size}v${size}H-4z`} />
        <path fill="#000" d={path} />
      </svg>
      <a class="button" download={`${name}.svg`} href={'data:image/svg+xml,' + encodeURIComponent(file)}><Icon name="download" /> {t('editor.share_download')}</a>
    </figure>
  );
}
