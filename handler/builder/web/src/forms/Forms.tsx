import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { all, api, builderApi } from '../app/api';
import { setClosed } from '../app/closeForm';
import { downloadForm } from '../app/download';
import { can, config, offers } from '../app/config';
import { formPagesFailed, loadFormPages, formPages } from '../app/formPages';
import { Frame } from '../app/Frame';
import { StatusBadge, stateOf } from '../app/StatusBadge';
import type { Form, FormSummary, Workspace } from '../app/records';
import { navigate, href } from '../app/router';
import { formatRelativeTime, formatDateTime, formatNumber, t } from '../app/words';
import { Button } from '../ui/Button';
import { ConfirmDialog, Dialog } from '../ui/Dialog';
import { TextField } from '../ui/Field';
import { Menu } from '../ui/Menu';
import { attempt, Empty, ErrorNotice, Loading, showToast, useLoaded } from '../ui/states';
import { CreateFormDialog, MoveFormDialog, moveTargets, NameDialog } from './dialogs';
import { Trash } from './Trash';

type OpenDialog = { kind: 'create' | 'workspace' | 'rename-workspace' | 'delete-workspace' } | { kind: 'rename' | 'move' | 'publish'; form: FormSummary };

/** The user's workspaces, and the forms in one of them. */
export function Forms({ workspace, view }: { workspace: string; view: string }) {
  const workspaces = useLoaded(async () => {
    const [list, scopes] = await Promise.all([all<Workspace>('/workspaces'), config.access && builderApi<Record<string, string[]>>('/workspaces')]);
    return scopes ? list.map((w) => ({ ...w, scopes: scopes[w.id] ?? [] })).filter((w) => w.scopes.includes('forms:read')) : list;
  }, []);
  const list = workspaces.value ?? [];
  const current = workspace === '' ? list[0] : list.find((w) => w.id === workspace);
  const openDialog = useSignal<OpenDialog | undefined>(undefined);
  const setDialog = (a: OpenDialog | undefined) => (openDialog.value = a);
  const close = () => setDialog(undefined);
  const dialog = openDialog.value;
  const newWorkspace = config.access?.create_workspace !== false && <Button kind={list.length > 0 ? 'quiet' : 'primary'} icon="plus" onClick={() => setDialog({ kind: 'workspace' })}>{t('forms.new_workspace')}</Button>;
  const first = workspace === '' && config.access ? list[0]?.id : undefined;
  useEffect(() => {
    if (first) navigate('w/' + first, true); // only that page has the scopes for the workspace
  }, [first]);

  const createWorkspace = async (name: string) => {
    const { body } = await api<Workspace>('/workspaces', { body: { name } });
    workspaces.reload();
    navigate('w/' + body.id);
  };

  return (
    <Frame title={current?.name ?? t('forms.title')}>
      {workspaces.error !== undefined && <ErrorNotice error={workspaces.error} retry={workspaces.reload} />}
      {workspaces.loading && !workspaces.value && <Loading />}
      {workspaces.value && (
        <div class="forms-page">
          <nav class="workspaces" aria-label={t('forms.workspaces')}>
            <h2>{t('forms.workspaces')}</h2>
            <ul>
              {list.map((w) => (
                <li key={w.id}>
                  <a href={href('w/' + w.id)} aria-current={w.id === current?.id ? 'page' : undefined} dir="auto">{w.name}</a>
                </li>
              ))}
            </ul>
            {newWorkspace}
          </nav>
          <div class="stack">
            {!current && workspace !== '' && (workspaces.loading ? <Loading /> : <Empty icon="folder" title={t('app.not_found')} />)}
            {!current && workspace === '' && (
              <Empty icon="folder" title={t('forms.no_workspace')}>
                {newWorkspace}
              </Empty>
            )}
            {current && !first && view === 'trash' && <Trash workspace={current} />}
            {current && !first && view !== 'trash' && <FormList key={current.id} workspace={current} workspaces={list} setDialog={setDialog} />}
          </div>
        </div>
      )}
      {dialog?.kind === 'workspace' && <NameDialog title={t('forms.new_workspace')} label={t('forms.workspace_name')} action={t('forms.create')} name="" run={createWorkspace} onClose={close} />}
      {dialog?.kind === 'rename-workspace' && current && (
        <NameDialog
          title={t('forms.rename_workspace')}
          label={t('forms.workspace_name')}
          action={t('app.save')}
          name={current.name}
          run={async (name) => {
            await api('/workspaces/' + current.id, { method: 'PATCH', body: { name } });
            workspaces.reload();
          }}
          onClose={close}
        />
      )}
      {dialog?.kind === 'delete-workspace' && current && (
        <ConfirmDialog
          title={t('forms.delete_workspace')}
          text={t('forms.delete_workspace_text', { name: current.name })}
          action={t('forms.delete')}
          danger
          run={async () => {
            await api('/workspaces/' + current.id, { method: 'DELETE' });
            workspaces.reload();
            navigate('');
          }}
          onClose={close}
        />
      )}
      {dialog?.kind === 'create' && current && <CreateFormDialog workspace={current.id} onClose={close} />}
    </Frame>
  );
}

/** A form's counts in the list. */
interface FormCounts {
  responses?: number;
  unpublished: boolean;
}

function FormList({ workspace, workspaces, setDialog }: { workspace: Workspace; workspaces: Workspace[]; setDialog(a: OpenDialog | undefined): void }) {
  const forms = useLoaded(() => all<FormSummary>('/forms', { workspace_id: workspace.id }), [workspace.id]);
  const search = useSignal('');
  const status = useSignal('');
  const openDialog = useSignal<OpenDialog | undefined>(undefined);
  const close = () => (openDialog.value = undefined);
  const counts = useSignal<Record<string, FormCounts>>({});

  const found = useMemo(() => {
    const wanted = search.value.trim().toLocaleLowerCase();
    return (forms.value ?? [])
      .filter((f) => f.name.toLocaleLowerCase().includes(wanted) && (status.value === '' || stateOf(f) === status.value))
      .sort((a, b) => b.updated_at.localeCompare(a.updated_at));
  }, [forms.value, search.value, status.value]);
  const shown = found.slice(0, 100);

  // One request counts all visible forms.
  useEffect(() => {
    const missing = shown.map((f) => f.id).filter((id) => !(id in counts.peek()));
    if (missing.length === 0) return;
    let isCurrent = true;
    builderApi<Record<string, FormCounts>>(`/workspaces/${workspace.id}/counts`, { body: { forms: missing } }).then(
      // Forms that were trashed in the meantime are not requested again.
      (more) => isCurrent && (counts.value = { ...counts.peek(), ...Object.fromEntries(missing.map((id) => [id, { unpublished: false }])), ...more }),
      () => undefined, // the list works without counts
    );
    return () => void (isCurrent = false);
  }, [shown.map((f) => f.id).join(), counts.value]);

  const change = (run: () => Promise<unknown>) => attempt(run()).then(forms.reload);

  const updateForm = (form: FormSummary, body: object, done: string, undo?: () => Promise<unknown>) => change(async () => {
    await api('/forms/' + form.id, { method: 'PATCH', body });
    showToast(done, undo && (() => void change(undo)));
  });

  const duplicate = async (form: FormSummary) => {
    const { body } = await api<Form>('/forms/' + form.id);
    const copy = await api<Form>('/forms', {
      body: { workspace_id: form.workspace_id, name: copyName(form.name), type: form.type, definition: body.definition },
    });
    navigate(copy.body.id);
  };

  const moveToTrash = (form: FormSummary) => change(async () => {
    await api('/forms/' + form.id, { method: 'DELETE' });
    showToast(t('forms.trashed', { name: form.name }), () => void change(() => builderApi(`/trash/${form.id}/restore`, { body: { workspace: form.workspace_id, from: form.workspace_id } })));
  });

  const toggleClosed = (form: FormSummary) => change(async () => {
    const closed = await setClosed(form.id, !form.is_closed);
    showToast(closed && form.is_closed ? t('editor.publish_still_closed') : t(closed ? 'forms.closed' : 'forms.reopened', { name: form.name }));
  });

  const publish = (form: FormSummary) => {
    if (!formPages.value) loadFormPages();
    openDialog.value = { kind: 'publish', form };
  };

  const responses = ({ id }: FormSummary): string => {
    const n = counts.value[id]?.responses;
    return n === undefined ? '' : t('forms.response_count', { n });
  };
  const dialog = openDialog.value;
  const Publishing = formPages.value?.Publishing;
  return (
    <>
      <div class="row">
        <h1 dir="auto">{workspace.name}</h1>
        <Menu
          icon="ellipsis"
          kind="quiet"
          label={t('forms.workspace_actions')}
          items={[
            { label: t('forms.rename_workspace'), scope: 'workspaces:write', icon: 'pencil', run: () => setDialog({ kind: 'rename-workspace' }) },
            { label: t('forms.trash'), scope: 'forms:write', icon: 'trash-2', href: href(`w/${workspace.id}/trash`) },
            { label: t('forms.delete_workspace'), scope: 'workspaces:write', icon: 'x', danger: true, separated: true, run: () => setDialog({ kind: 'delete-workspace' }) },
          ]}
        />
        {can('forms:write') && <Button class="push" kind="primary" icon="plus" onClick={() => setDialog({ kind: 'create' })}>{t('forms.new')}</Button>}
      </div>
      {forms.error !== undefined && <ErrorNotice error={forms.error} retry={forms.reload} />}
      {forms.loading && !forms.value && <Loading />}
      {forms.value?.length === 0 && (
        <Empty icon="file-text" title={t('forms.none')}>
          {can('forms:write') && <p>{t('forms.none_text')}</p>}
          {can('forms:write') && <Button kind="primary" icon="plus" onClick={() => setDialog({ kind: 'create' })}>{t('forms.new')}</Button>}
        </Empty>
      )}
      {forms.value && forms.value.length > 0 && (
        <>
          <div class="forms-filter">
            <TextField label={t('forms.search')} hideLabel type="search" placeholder={t('forms.search')} value={search.value} onInput={(v) => (search.value = v)} />
            <div class="row" role="group" aria-label={t('forms.status')}>
              {['', 'published', 'draft', 'closed'].map((s) => (
                <Button key={s} kind="quiet" aria-pressed={status.value === s} onClick={() => (status.value = s)}>{t('forms.status_' + (s || 'all'))}</Button>
              ))}
            </div>
          </div>
          <p class="unseen" role="status">{t('forms.form_count', { n: found.length })}</p>
          {found.length === 0 && <Empty icon="search" title={t('forms.no_matches')} />}
          <ul class="forms-list">
            {shown.map((form) => (
              <li key={form.id} class="form-row">
                <div class="form-name">
                  <a href={href(form.id)} dir="auto">{form.name}</a>
                  <StatusBadge form={form} unpublished={counts.value[form.id]?.unpublished} />
                </div>
                {can('submissions:read')
                  ? <a class="form-count" aria-label={responses(form) ? undefined : t('forms.results')} href={href(form.id + '/results')}>{responses(form) || ' '}</a>
                  : <span class="form-count">{responses(form)}</span>}
                <time class="muted" dateTime={form.updated_at} title={formatDateTime(form.updated_at)}>{formatRelativeTime(form.updated_at)}</time>
                <Menu
                  icon="ellipsis"
                  kind="quiet"
                  label={t('forms.actions_of', { name: form.name })}
                  items={[
                    { label: t('forms.edit'), scope: 'forms:write', icon: 'pencil', href: href(form.id) },
                    { label: t('forms.results'), scope: 'submissions:read', icon: 'chart-column', href: href(form.id + '/results') },
                    { label: t('forms.rename'), scope: 'forms:write', icon: 'type', run: () => (openDialog.value = { kind: 'rename', form }) },
                    { label: t(form.status === 'published' ? 'forms.duplicate_published' : 'forms.duplicate'), scope: 'forms:write', icon: 'copy', run: () => void attempt(duplicate(form)) },
                    { label: t('forms.download'), icon: 'download', run: () => void attempt(api<Form>('/forms/' + form.id).then(({ body }) => downloadForm(body))) },
                    { label: t('forms.move'), scope: 'forms:write', icon: 'folder', disabled: moveTargets(form, workspaces).length === 0, run: () => (openDialog.value = { kind: 'move', form }) },
                    ...(form.status === 'draft' || counts.value[form.id]?.unpublished
                      ? [{ label: t(form.status === 'draft' ? 'forms.publish' : 'forms.publish_changes'), scope: 'forms:write', icon: 'send', separated: true, run: () => publish(form) } as const]
                      : []),
                    ...(form.status === 'published'
                      ? [{ label: t('forms.unpublish'), scope: 'forms:write', icon: 'eye-off', separated: true, run: () => updateForm(form, { status: 'draft' }, t('forms.unpublished', { name: form.name }), () => api('/forms/' + form.id, { method: 'PATCH', body: { status: 'published' } })) } as const]
                      : []),
                    ...(offers('settings', 'closed')
                      ? [{ label: t(form.is_closed ? 'forms.reopen' : 'forms.close'), scope: 'forms:write', icon: 'lock', run: () => toggleClosed(form) } as const]
                      : []),
                    { label: t('forms.move_to_trash'), scope: 'forms:write', icon: 'trash-2', danger: true, separated: true, run: () => moveToTrash(form) },
                  ]}
                />
              </li>
            ))}
          </ul>
          {found.length > shown.length && <p class="muted">{t('forms.more_forms', { n: formatNumber(found.length - shown.length) })}</p>}
        </>
      )}
      {dialog?.kind === 'rename' && (
        <NameDialog
          title={t('forms.rename')}
          label={t('forms.name')}
          action={t('app.save')}
          name={dialog.form.name}
          run={async (name) => {
            await renameForm(dialog.form, name);
            forms.reload();
          }}
          onClose={close}
        />
      )}
      {dialog?.kind === 'publish' && Publishing && (
        <Publishing
          form={dialog.form.id}
          onPublished={() => {
            const { [dialog.form.id]: _, ...others } = counts.value;
            counts.value = others;
            forms.reload();
          }}
          onClose={close}
        />
      )}
      {dialog?.kind === 'publish' && formPagesFailed.value && (
        <Dialog title={t('editor.publish_title')} onClose={close}>
          <ErrorNotice error={undefined} retry={loadFormPages} />
        </Dialog>
      )}
      {dialog?.kind === 'move' && (
        <MoveFormDialog form={dialog.form} workspaces={workspaces} run={(id) => updateForm(dialog.form, { workspace_id: id }, t('forms.moved', { name: dialog.form.name }))} onClose={close} />
      )}
    </>
  );
}

/** Returns a name for a copy, truncated to fit into 200 characters. */
export const copyName = (name: string): string => t('forms.copy_of', { name: [...name].slice(0, 190).join('') });

const renameForm = (form: FormSummary, name: string) => api('/forms/' + form.id, { method: 'PATCH', body: { name } });
