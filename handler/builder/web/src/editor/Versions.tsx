import { useSignal } from '@preact/signals';
import { api, ApiError, builderApi, query, type Page } from '../app/api';
import { Frame } from '../app/Frame';
import type { FormSummary } from '../app/records';
import { navigate, href } from '../app/router';
import { authorName, formatRelativeTime, formatDateTime, t } from '../app/words';
import { Button } from '../ui/Button';
import { ConfirmDialog } from '../ui/Dialog';
import { Icon } from '../ui/Icon';
import { Empty, ErrorNotice, isMissing, Loading, showToast, useLoaded, usePages } from '../ui/states';
import { type Comparison, Differences, isSame } from './differences';
import { ValidationErrors } from './Publish';

interface Version {
  revision: number;
  replaced_by: string;
  replaced_at: string;
}

interface VersionDetail extends Version, Comparison {
  present: number;
  copy: boolean;
}

/** A form's published versions. view is the revision to show. If empty, the newest is shown. */
export function Versions({ form, view }: { form: string; view: string }) {
  const summary = useLoaded(async () => (await api<FormSummary>('/forms/' + form)).body, [form]);
  const { items: list, error, loading, more, next, reload } = usePages((cursor) => builderApi<Page<Version>>(`/forms/${form}/versions` + query({ cursor })), form, (v) => v.revision);
  const shown = view || String(list[0]?.revision ?? '');
  const unsupported = error instanceof ApiError && error.status === 501;
  return (
    <Frame form={isMissing(summary.error) ? undefined : form} workspace={summary.value?.workspace_id} title={summary.value?.name ?? ''}>
      {error !== undefined && !unsupported && <ErrorNotice error={error} retry={next} />}
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
              {summary.value && <li class="version-now"><strong>{t(summary.value.status === 'published' ? 'editor.version_published' : 'editor.version_draft')}</strong></li>}
              {list.map((v) => (
                <li key={v.revision}>
                  <a href={href(`${form}/versions/${v.revision}`)} aria-current={String(v.revision) === shown ? 'page' : undefined}>
                    <time dateTime={v.replaced_at}>{t('editor.version_until', { at: formatDateTime(v.replaced_at) })}</time>
                    <span class="muted">{t('editor.version_by', { who: authorName(v.replaced_by) })}</span>
                  </a>
                </li>
              ))}
            </ol>
            {more && <Button busy={loading} onClick={next}>{t('editor.version_older')}</Button>}
          </nav>
          <VersionCard key={shown} form={form} revision={shown} onRestored={() => (reload(), navigate(form + '/versions'))} />
        </div>
      )}
    </Frame>
  );
}

/** Shows what restoring a version would change. */
function VersionCard({ form, revision, onRestored }: { form: string; revision: string; onRestored(): void }) {
  const version = useLoaded(() => builderApi<VersionDetail>(`/forms/${form}/versions/${revision}`), [form, revision]);
  const confirming = useSignal(false);
  const isOutdated = useSignal(false);
  const failure = useSignal<unknown>(undefined);
  const current = version.value;

  const restore = async () => {
    isOutdated.value = false;
    failure.value = undefined;
    try {
      await builderApi(`/forms/${form}/versions/${revision}/restore`, { body: { if_revision: current!.present } });
      showToast(t('editor.version_restored'));
      onRestored();
    } catch (e) {
      if (e instanceof ApiError && e.status === 412) {
        isOutdated.value = true; // the user must see the new differences before restoring
        version.reload();
      } else failure.value = e;
    }
  };
  return (
    <section class="card stack" aria-labelledby="version">
      {version.loading && !current && <Loading />}
      {version.error !== undefined && <ErrorNotice error={version.error} retry={version.reload} />}
      {current && (
        <>
          <div class="row">
            <div>
              <h2 id="version" dir="auto">{current.after.name}</h2>
              <p class="muted">
                <time dateTime={current.replaced_at} title={formatRelativeTime(current.replaced_at)}>{t('editor.version_until', { at: formatDateTime(current.replaced_at) })}</time> · {t('editor.version_by', { who: authorName(current.replaced_by) })}
              </p>
            </div>
            <Button class="push" kind="primary" icon="rotate-ccw" disabled={isSame(current)} onClick={() => (confirming.value = true)}>{t('editor.version_restore')}</Button>
          </div>
          {isOutdated.value && <p class="notice" role="alert"><Icon name="triangle-alert" /> {t('editor.version_outdated')}</p>}
          {failure.value !== undefined && <ValidationErrors error={failure.value} />}
          {current.copy && <p class="notice"><Icon name="pencil" /> {t('editor.version_copy')}</p>}
          {isSame(current) ? <p class="notice good"><Icon name="circle-check" /> {t('editor.version_same')}</p> : <h3>{t('editor.version_differences')}</h3>}
          <Differences of={current} />
        </>
      )}
      {confirming.value && (
        <ConfirmDialog title={t('editor.version_restore')} text={t('editor.version_restore_text')} action={t('editor.version_restore')} run={restore} onClose={() => (confirming.value = false)} />
      )}
    </section>
  );
}
