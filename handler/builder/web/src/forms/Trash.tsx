import { useSignal } from '@preact/signals';
import { builderApi } from '../app/api';
import type { FormSummary, Workspace } from '../app/records';
import { href } from '../app/router';
import { formatDateTime, t } from '../app/words';
import { Button, LinkButton } from '../ui/Button';
import { ConfirmDialog } from '../ui/Dialog';
import { attempt, Empty, ErrorNotice, Loading, showToast, useLoaded } from '../ui/states';

type TrashedForm = Pick<FormSummary, 'id' | 'name'> & { trashed_at: string };

/** A workspace's trashed forms. */
export function Trash({ workspace }: { workspace: Workspace }) {
  const forms = useLoaded(() => builderApi<{ items: TrashedForm[]; owner: boolean }>(`/workspaces/${workspace.id}/trash`), [workspace.id]);
  const purging = useSignal<TrashedForm | undefined>(undefined);
  const items = forms.value?.items;
  const refresh = () => {
    forms.reload();
    document.getElementById('main')?.focus(); // the focused row is removed
  };
  const restore = async (form: TrashedForm) => {
    await builderApi(`/trash/${form.id}/restore`, { body: { workspace: workspace.id, from: workspace.id } });
    showToast(t('forms.restored', { name: form.name }));
  };
  return (
    <>
      <div class="row">
        <LinkButton href={href('w/' + workspace.id)} icon="arrow-left" kind="quiet">{workspace.name}</LinkButton>
      </div>
      <h1>{t('forms.trash')}</h1>
      {forms.error !== undefined && <ErrorNotice error={forms.error} retry={forms.reload} />}
      {forms.loading && !items && <Loading />}
      {items?.length === 0 && <Empty icon="trash-2" title={t('forms.trash_empty')} />}
      {items && items.length > 0 && (
        <ul class="forms-list">
          {items.map((form) => (
            <li key={form.id} class="form-row trashed">
              <div class="form-name"><strong dir="auto">{form.name}</strong></div>
              <time class="muted" dateTime={form.trashed_at}>{formatDateTime(form.trashed_at)}</time>
              <Button icon="rotate-ccw" onClick={() => void attempt(restore(form)).then(refresh)}>{t('forms.restore')}</Button>
              {forms.value?.owner && <Button kind="danger" onClick={() => (purging.value = form)}>{t('forms.delete_permanently')}</Button>}
            </li>
          ))}
        </ul>
      )}
      {purging.value && (
        <ConfirmDialog
          title={t('forms.delete_permanently')}
          text={t('forms.delete_permanently_text', { name: purging.value.name })}
          action={t('forms.delete_permanently')}
          danger
          run={async () => {
            await builderApi('/trash/' + purging.value!.id + '?from=' + workspace.id, { method: 'DELETE' });
            refresh();
          }}
          onClose={() => (purging.value = undefined)}
        />
      )}
    </>
  );
}
