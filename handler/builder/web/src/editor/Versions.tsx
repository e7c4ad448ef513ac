import { useSignal } from '@preact/signals';
import { api, ApiError, door, query, type Page } from '../app/api';
import { config } from '../app/config';
import { Frame } from '../app/Frame';
import type { FormSummary } from '../app/records';
import { go, href } from '../app/router';
import { ago, moment, t } from '../app/words';
import { Button } from '../ui/Button';
import { Confirm } from '../ui/Dialog';
import { Icon } from '../ui/Icon';
import { Empty, Failed, Loading, say, useLoaded, usePages } from '../ui/states';
import { type Comparison, Differences, isSame } from './differences';
import { Refused } from './Publish';

interface Version {
  revision: number;
  replaced_by: string;
  replaced_at: string;
}

interface Detail extends Version, Comparison {
  present: number;
  copy: boolean;
}

/** Who replaced a version: the service knows ids, and who looks. */
const who = (id: string): string => (id === config.user ? t('editor.version_you') : /^0*$/.test(id) ? t('editor.version_host') : id);

/** The earlier states of a form that were published; view is the revision of one, else the newest is shown. */
export function Versions({ form, view }: { form: string; view: string }) {
  const about = useLoaded(async () => (await api<FormSummary>('/forms/' + form)).body, [form]);
  const { items: list, error, loading, more, next, reload } = usePages((cursor) => door<Page<Version>>(`/forms/${form}/versions` + query({ cursor })), form, (v) => v.revision);
  const shown = view || String(list[0]?.revision ?? '');
  const unsupported = error instanceof ApiError && error.status === 501;
  return (
    <Frame form={form} workspace={about.value?.workspace_id} title={about.value?.name ?? ''}>
      {error !== undefined && !unsupported && <Failed error={error} again={next} />}
      {unsupported && <Empty icon="history" title={t('editor.version_unsupported')} />}
      {loading && list.length === 0 && <Loading />}
      {!loading && error === undefined && list.length === 0 && (
        <Empty icon="history" title={t('editor.version_none')}>
          <p>{t('editor.version_none_text')}</p>
        </Empty>
      )}
      {list.length > 0 && (
        <div class="versions">
          <nav aria-label={t('editor.version_list')} class="stack">
            <h2>{t('editor.version_list')}</h2>
            <ol>
              {about.value && <li class="version-now"><strong>{t(about.value.status === 'published' ? 'editor.version_published' : 'editor.version_draft')}</strong></li>}
              {list.map((v) => (
                <li key={v.revision}>
                  <a href={href(`${form}/versions/${v.revision}`)} aria-current={String(v.revision) === shown ? 'page' : undefined}>
                    <time dateTime={v.replaced_at}>{t('editor.version_until', { at: moment(v.replaced_at) })}</time>
                    <span class="muted">{t('editor.version_by', { who: who(v.replaced_by) })}</span>
                  </a>
                </li>
              ))}
            </ol>
            {more && <Button busy={loading} onClick={next}>{t('editor.version_older')}</Button>}
          </nav>
          <One key={shown} form={form} revision={shown} onRestored={() => (reload(), go(form + '/versions'))} />
        </div>
      )}
    </Frame>
  );
}

/** One version: what restoring it would change. */
function One({ form, revision, onRestored }: { form: string; revision: string; onRestored(): void }) {
  const version = useLoaded(() => door<Detail>(`/forms/${form}/versions/${revision}`), [form, revision]);
  const asking = useSignal(false);
  const moved = useSignal(false);
  const fault = useSignal<unknown>(undefined);
  const is = version.value;

  const restore = async () => {
    moved.value = false;
    fault.value = undefined;
    try {
      await door(`/forms/${form}/versions/${revision}/restore`, { body: { if_revision: is!.present } });
      say(t('editor.version_restored'));
      onRestored();
    } catch (e) {
      if (e instanceof ApiError && e.status === 412) {
        moved.value = true; // somebody looks at the differences anew before anything is replaced
        version.reload();
      } else fault.value = e;
    }
  };
  return (
    <section class="card stack" aria-labelledby="version">
      {version.loading && !is && <Loading />}
      {version.error !== undefined && <Failed error={version.error} again={version.reload} />}
      {is && (
        <>
          <div class="row">
            <div>
              <h2 id="version" dir="auto">{is.after.name}</h2>
              <p class="muted">
                <time dateTime={is.replaced_at} title={ago(is.replaced_at)}>{t('editor.version_until', { at: moment(is.replaced_at) })}</time> · {t('editor.version_by', { who: who(is.replaced_by) })}
              </p>
            </div>
            <Button class="push" kind="primary" icon="rotate-ccw" disabled={isSame(is)} onClick={() => (asking.value = true)}>{t('editor.version_restore')}</Button>
          </div>
          {moved.value && <p class="notice" role="alert"><Icon name="triangle-alert" /> {t('editor.version_outdated')}</p>}
          {fault.value !== undefined && <Refused error={fault.value} />}
          {is.copy && <p class="notice"><Icon name="pencil" /> {t('editor.version_copy')}</p>}
          {isSame(is) ? <p class="notice good"><Icon name="circle-check" /> {t('editor.version_same')}</p> : <h3>{t('editor.version_differences')}</h3>}
          <Differences of={is} />
        </>
      )}
      {asking.value && (
        <Confirm title={t('editor.version_restore')} text={t('editor.version_restore_text')} action={t('editor.version_restore')} run={restore} onClose={() => (asking.value = false)} />
      )}
    </section>
  );
}
