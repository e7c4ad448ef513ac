import { useSignal } from '@preact/signals';
import { api, ApiError } from '../app/api';
import type { Form, FormSummary, Workspace } from '../app/records';
import { config, offers } from '../app/config';
import { navigate } from '../app/router';
import { t } from '../app/words';
import { FormDialog } from '../ui/Dialog';
import { Select, TextArea, TextField } from '../ui/Field';
import { Icon } from '../ui/Icon';
import { templates } from './templates';

/** Asks for a name. */
export function NameDialog({ title, label, action, name, run, onClose }: { title: string; label: string; action: string; name: string; run(name: string): Promise<unknown>; onClose(): void }) {
  const value = useSignal(name);
  return (
    <FormDialog title={title} action={action} disabled={value.value.trim() === ''} run={() => run(value.value.trim())} onClose={onClose}>
      <TextField label={label} maxLength={200} value={value.value} onInput={(v) => (value.value = v)} />
    </FormDialog>
  );
}

/** Returns the workspaces to which the user can move a form. */
export const moveTargets = (form: FormSummary, workspaces: Workspace[]): Workspace[] =>
  workspaces.filter((w) => w.id !== form.workspace_id && (w.scopes?.includes('forms:write') ?? true));

export function MoveFormDialog({ form, workspaces, run, onClose }: { form: FormSummary; workspaces: Workspace[]; run(id: string): Promise<unknown>; onClose(): void }) {
  const others = moveTargets(form, workspaces);
  const to = useSignal(others[0]?.id ?? '');
  return (
    <FormDialog title={t('forms.move_title', { name: form.name })} action={t('forms.move')} disabled={to.value === ''} run={() => run(to.value)} onClose={onClose}>
      <Select label={t('forms.workspace')} value={to.value} options={others.map((w) => [w.id, w.name] as const)} onChange={(v) => (to.value = v)} />
    </FormDialog>
  );
}

/** Creates a blank form, or a form from a template or JSON. */
export function CreateFormDialog({ workspace, onClose }: { workspace: string; onClose(): void }) {
  const source = useSignal('empty');
  const name = useSignal('');
  const type = useSignal<'SINGLE' | 'MULTI'>('MULTI');
  const json = useSignal('');
  const offered = templates.filter(({ key, definition }) => offers('templates', key) && (definition().blocks ?? []).every((b) => offers('block_types', b.type)));
  const template = templates.find((x) => x.key === source.value);
  const templateName = template ? t('forms.template_' + template.key) : '';

  const create = async () => {
    let body: Record<string, unknown> = { name: name.value.trim() || templateName || t('forms.untitled'), type: template?.type ?? type.value };
    if (template) body.definition = template.definition();
    if (source.value === 'json') body = { ...body, ...parseFormJSON(json.value, name.value.trim()) };
    if (config.theme) body.definition = { theme: config.theme, ...(body.definition as object) };
    const created = await api<Form>('/forms', { body: { ...body, workspace_id: workspace } });
    navigate(created.body.id);
  };

  return (
    <FormDialog title={t('forms.new')} action={t('forms.create')} run={create} onClose={onClose} wide>
      <TextField label={t('forms.name')} value={name.value} maxLength={200} placeholder={templateName || t('forms.untitled')} onInput={(v) => (name.value = v)} />
      <fieldset class="starts">
        <legend>{t('forms.start_from')}</legend>
        {['empty', ...offered.map((x) => x.key), ...(offers('templates', 'json') ? ['json'] : [])].map((key) => (
          <label key={key} class="start">
            <input type="radio" name="start" checked={source.value === key} onChange={() => (source.value = key)} />
            <span>
              <strong>{t(key === 'empty' || key === 'json' ? 'forms.start_' + key : 'forms.template_' + key)}</strong>
              <span class="muted">{t(key === 'empty' || key === 'json' ? `forms.start_${key}_text` : `forms.template_${key}_text`)}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {!template && (
        <fieldset class="starts two">
          <legend>{t('forms.layout')}</legend>
          {(['MULTI', 'SINGLE'] as const).map((key) => (
            <label key={key} class="start">
              <input type="radio" name="type" checked={type.value === key} onChange={() => (type.value = key)} />
              <span>
                <strong>{t('forms.layout_' + key)}</strong>
                <span class="muted">{t(`forms.layout_${key}_text`)}</span>
              </span>
            </label>
          ))}
        </fieldset>
      )}
      {source.value === 'json' && (
        <>
          <label class="button small props-file">
            <Icon name="upload" /> {t('forms.json_file')}
            <input type="file" class="unseen" accept=".json,application/json" onChange={async (e) => (json.value = (await e.currentTarget.files?.[0]?.text()) ?? '')} />
          </label>
          <TextArea label={t('forms.json')} hint={t('forms.json_hint')} code rows={10} value={json.value} onInput={(v) => (json.value = v)} />
        </>
      )}
    </FormDialog>
  );
}

/** Returns the request body for pasted JSON: a form from the API, a request body, or a definition. */
export function parseFormJSON(text: string, name: string): Record<string, unknown> {
  let pasted: unknown;
  try {
    pasted = JSON.parse(text);
  } catch (e) {
    throw new ApiError(422, 'MALFORMED_JSON', t('forms.invalid_json', { reason: e instanceof Error ? e.message : '' }));
  }
  if (typeof pasted !== 'object' || pasted === null || Array.isArray(pasted)) throw new ApiError(422, 'MALFORMED_JSON', t('forms.invalid_json', { reason: '' }));
  const { name: pastedName, type, definition, ...rest } = pasted as Record<string, unknown>;
  const body: Record<string, unknown> = { definition: definition ?? rest };
  if (typeof pastedName === 'string' && name === '') body.name = pastedName;
  if (type === 'SINGLE' || type === 'MULTI') body.type = type;
  return body;
}
