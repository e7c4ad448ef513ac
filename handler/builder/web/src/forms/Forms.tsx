import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { all, api, door } from '../app/api';
import { setClosed } from '../app/closing';
import { failed, load, loaded } from '../app/parts';
import { Frame } from '../app/Frame';
import { Sign, stateOf } from '../app/Sign';
import type { Form, FormSummary, Workspace } from '../app/records';
import { go, href } from '../app/router';
import { ago, moment, number, t } from '../app/words';
import { Button } from '../ui/Button';
import { Confirm, Dialog } from '../ui/Dialog';
import { TextField } from '../ui/Field';
import { Menu } from '../ui/Menu';
import { Empty, Failed, Loading, say, useLoaded } from '../ui/states';
import { CreateForm, Move, Rename } from './dialogs';
import { Trash } from './Trash';

type Asking = { what: 'create' | 'workspace' | 'rename-workspace' | 'delete-workspace' } | { what: 'rename' | 'move' | 'publish'; form: FormSummary };

/** The workspaces of the user, and the forms of one of them. */
export function Forms({ workspace, view }: { workspace: string; view: string }) {
  const workspaces = useLoaded(() => all<Workspace>('/workspaces'), []);
  const list = workspaces.value ?? [];
  const current = workspace === '' ? list[0] : list.find((w) => w.id === workspace);
  const asking = useSignal<Asking | undefined>(undefined);
  const ask = (a: Asking | undefined) => (asking.value = a);
  const close = () => ask(undefined);
  const now = asking.value;

  const make = async (name: string) => {
    const { body } = await api<Workspace>('/workspaces', { body: { name } });
    workspaces.reload();
    go('w/' + body.id);
  };

  return (
    <Frame title={current?.name ?? t('forms.title')}>
      {workspaces.error !== undefined && <Failed error={workspaces.error} again={workspaces.reload} />}
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
            <Button kind="quiet" icon="plus" onClick={() => ask({ what: 'workspace' })}>{t('forms.new_workspace')}</Button>
          </nav>
          <div class="stack">
            {!current && workspace !== '' && (workspaces.loading ? <Loading /> : <Empty icon="folder" title={t('app.not_found')} />)}
            {!current && workspace === '' && (
              <Empty icon="folder" title={t('forms.no_workspace')}>
                <Button kind="primary" icon="plus" onClick={() => ask({ what: 'workspace' })}>{t('forms.new_workspace')}</Button>
              </Empty>
            )}
            {current && view === 'trash' && <Trash workspace={current} workspaces={list} />}
            {current && view !== 'trash' && <List key={current.id} workspace={current} workspaces={list} ask={ask} />}
          </div>
        </div>
      )}
      {now?.what === 'workspace' && <Rename title={t('forms.new_workspace')} label={t('forms.workspace_name')} action={t('forms.create')} name="" run={make} onClose={close} />}
      {now?.what === 'rename-workspace' && current && (
        <Rename
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
      {now?.what === 'delete-workspace' && current && (
        <Confirm
          title={t('forms.delete_workspace')}
          text={t('forms.delete_workspace_text', { name: current.name })}
          action={t('forms.delete')}
          danger
          run={async () => {
            await api('/workspaces/' + current.id, { method: 'DELETE' });
            workspaces.reload();
            go('');
          }}
          onClose={close}
        />
      )}
      {now?.what === 'create' && current && <CreateForm workspace={current.id} onClose={close} />}
    </Frame>
  );
}

/** What is asked for the rows that are shown. */
interface Counted {
  responses: number;
  unpublished: boolean;
}

function List({ workspace, workspaces, ask }: { workspace: Workspace; workspaces: Workspace[]; ask(a: Asking | undefined): void }) {
  const forms = useLoaded(() => all<FormSummary>('/forms', { workspace_id: workspace.id }), [workspace.id]);
  const search = useSignal('');
  const status = useSignal('');
  const asking = useSignal<Asking | undefined>(undefined);
  const close = () => (asking.value = undefined);
  const counts = useSignal<Record<string, Counted>>({});

  const found = useMemo(() => {
    const wanted = search.value.trim().toLocaleLowerCase();
    return (forms.value ?? [])
      .filter((f) => f.name.toLocaleLowerCase().includes(wanted) && (status.value === '' || stateOf(f) === status.value))
      .sort((a, b) => b.updated_at.localeCompare(a.updated_at));
  }, [forms.value, search.value, status.value]);
  const shown = found.slice(0, 100);

  // What is shown is counted, in one look.
  useEffect(() => {
    const missing = shown.map((f) => f.id).filter((id) => !(id in counts.peek()));
    if (missing.length === 0) return;
    let current = true;
    door<Record<string, Counted>>(`/workspaces/${workspace.id}/counts`, { body: { forms: missing } }).then(
      // What was moved to the trash meanwhile is not asked for again.
      (more) => current && (counts.value = { ...counts.peek(), ...Object.fromEntries(missing.map((id) => [id, { responses: 0, unpublished: false }])), ...more }),
      () => undefined, // the list is of use without
    );
    return () => void (current = false);
  }, [shown.map((f) => f.id).join(), counts.value]);

  const change = async (form: FormSummary, body: object, done: string, undo?: () => Promise<unknown>) => {
    try {
      await api('/forms/' + form.id, { method: 'PATCH', body });
      say(done, undo && (() => void undo().finally(forms.reload)));
    } catch {
      say(t('app.error'));
    }
    forms.reload();
  };

  const duplicate = async (form: FormSummary) => {
    try {
      const { body } = await api<Form>('/forms/' + form.id);
      const copy = await api<Form>('/forms', {
        body: { workspace_id: form.workspace_id, name: nameOfCopy(form.name), type: form.type, definition: body.definition },
      });
      go(copy.body.id);
    } catch {
      say(t('app.error'));
    }
  };

  const trash = async (form: FormSummary) => {
    try {
      await api('/forms/' + form.id, { method: 'DELETE' });
      say(t('forms.trashed', { name: form.name }), () => void door(`/trash/${form.id}/restore`, { body: { workspace: form.workspace_id, from: form.workspace_id } }).finally(forms.reload));
    } catch {
      say(t('app.error'));
    }
    forms.reload();
  };

  const openOrClose = async (form: FormSummary) => {
    const closed = await setClosed(form.id, !form.is_closed);
    say(closed && form.is_closed ? t('editor.publish_still_closed') : t(closed ? 'forms.closed' : 'forms.reopened', { name: form.name }));
    forms.reload();
  };

  const publish = (form: FormSummary) => {
    if (!loaded.value) load();
    asking.value = { what: 'publish', form };
  };

  const now = asking.value;
  const Publishing = loaded.value?.Publishing;
  return (
    <>
      <div class="row">
        <h1 dir="auto">{workspace.name}</h1>
        <Menu
          icon="ellipsis"
          kind="quiet"
          label={t('forms.workspace_actions')}
          items={[
            { label: t('forms.rename_workspace'), icon: 'pencil', run: () => ask({ what: 'rename-workspace' }) },
            { label: t('forms.trash'), icon: 'trash-2', href: href(`w/${workspace.id}/trash`) },
            { label: t('forms.delete_workspace'), icon: 'x', danger: true, apart: true, run: () => ask({ what: 'delete-workspace' }) },
          ]}
        />
        <Button class="push" kind="primary" icon="plus" onClick={() => ask({ what: 'create' })}>{t('forms.new')}</Button>
      </div>
      {forms.error !== undefined && <Failed error={forms.error} again={forms.reload} />}
      {forms.loading && !forms.value && <Loading />}
      {forms.value?.length === 0 && (
        <Empty icon="file-text" title={t('forms.none')}>
          <p>{t('forms.none_text')}</p>
          <Button kind="primary" icon="plus" onClick={() => ask({ what: 'create' })}>{t('forms.new')}</Button>
        </Empty>
      )}
      {forms.value && forms.value.length > 0 && (
        <>
          <div class="forms-filter">
            <TextField label={t('forms.search')} bare type="search" placeholder={t('forms.search')} value={search.value} onInput={(v) => (search.value = v)} />
            <div class="row" role="group" aria-label={t('forms.status')}>
              {['', 'published', 'draft', 'closed'].map((s) => (
                <Button key={s} kind="quiet" aria-pressed={status.value === s} onClick={() => (status.value = s)}>{t('forms.status_' + (s || 'all'))}</Button>
              ))}
            </div>
          </div>
          <p class="unseen" role="status">{t('forms.found', { n: found.length })}</p>
          {found.length === 0 && <Empty icon="search" title={t('forms.not_found')} />}
          <ul class="forms-list">
            {shown.map((form) => (
              <li key={form.id} class="form-row">
                <div class="form-name">
                  <a href={href(form.id)} dir="auto">{form.name}</a>
                  <Sign form={form} unpublished={counts.value[form.id]?.unpublished} />
                </div>
                <a class="form-count" aria-label={form.id in counts.value ? undefined : t('forms.results')} href={href(form.id + '/results')}>
                  {form.id in counts.value ? t('forms.responses', { n: counts.value[form.id]!.responses }) : ' '}
                </a>
                <time class="muted" dateTime={form.updated_at} title={moment(form.updated_at)}>{ago(form.updated_at)}</time>
                <Menu
                  icon="ellipsis"
                  kind="quiet"
                  label={t('forms.actions_of', { name: form.name })}
                  items={[
                    { label: t('forms.edit'), icon: 'pencil', href: href(form.id) },
                    { label: t('forms.results'), icon: 'chart-column', href: href(form.id + '/results') },
                    { label: t('forms.rename'), icon: 'type', run: () => (asking.value = { what: 'rename', form }) },
                    { label: t(form.status === 'published' ? 'forms.duplicate_published' : 'forms.duplicate'), icon: 'copy', run: () => void duplicate(form) },
                    { label: t('forms.move'), icon: 'folder', disabled: workspaces.length < 2, run: () => (asking.value = { what: 'move', form }) },
                    ...(form.status === 'draft' || counts.value[form.id]?.unpublished
                      ? [{ label: t(form.status === 'draft' ? 'forms.publish' : 'forms.publish_changes'), icon: 'send', apart: true, run: () => publish(form) } as const]
                      : []),
                    ...(form.status === 'published'
                      ? [{ label: t('forms.unpublish'), icon: 'eye-off', apart: true, run: () => void change(form, { status: 'draft' }, t('forms.unpublished', { name: form.name }), () => api('/forms/' + form.id, { method: 'PATCH', body: { status: 'published' } })) } as const]
                      : []),
                    { label: t(form.is_closed ? 'forms.reopen' : 'forms.close'), icon: 'lock', run: () => void openOrClose(form).catch(() => say(t('app.error'))) },
                    { label: t('forms.move_to_trash'), icon: 'trash-2', danger: true, apart: true, run: () => void trash(form) },
                  ]}
                />
              </li>
            ))}
          </ul>
          {found.length > shown.length && <p class="muted">{t('forms.more', { n: number(found.length - shown.length) })}</p>}
        </>
      )}
      {now?.what === 'rename' && (
        <Rename
          title={t('forms.rename')}
          label={t('forms.name')}
          action={t('app.save')}
          name={now.form.name}
          run={async (name) => {
            await rename(now.form, name);
            forms.reload();
          }}
          onClose={close}
        />
      )}
      {now?.what === 'publish' && Publishing && (
        <Publishing
          form={now.form.id}
          onPublished={() => {
            const { [now.form.id]: _, ...others } = counts.value;
            counts.value = others;
            forms.reload();
          }}
          onClose={close}
        />
      )}
      {now?.what === 'publish' && failed.value && (
        <Dialog title={t('editor.publish_title')} onClose={close}>
          <Failed error={undefined} again={load} />
        </Dialog>
      )}
      {now?.what === 'move' && (
        <Move form={now.form} workspaces={workspaces} run={(id) => change(now.form, { workspace_id: id }, t('forms.moved', { name: now.form.name }))} onClose={close} />
      )}
    </>
  );
}

/** A name has room for 200 characters. It is cut before what says that it is a copy's, and between two characters. */
export const nameOfCopy = (name: string): string => t('forms.copy_of', { name: [...name].slice(0, 190).join('') });

const rename = (form: FormSummary, name: string) => api('/forms/' + form.id, { method: 'PATCH', body: { name } });
