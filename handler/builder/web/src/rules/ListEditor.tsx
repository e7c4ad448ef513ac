// The list of the host that a block's choices come from, in place of its own choices.

import { builderApi, query } from '../app/api';
import { config } from '../app/config';
import { isObject } from '../app/json';
import type { Block } from '../app/records';
import { t } from '../app/words';
import { Select } from '../ui/Field';
import { useLoaded } from '../ui/states';
import { fieldsOf, pathOf, type Content, type Json } from './fields';
import { fieldOptions } from './inputs';

interface Props {
  /** The id of the form, for the preview. */
  form: string;
  content: Content;
  at: Block;
  value: Json | undefined;
  onChange(value: Json | undefined): void;
}

export function ListEditor({ form, content, at, value, onChange }: Props) {
  const ref = isObject(value) ? value : {};
  const list = typeof ref.list === 'string' ? ref.list : '';
  const by = typeof ref.by === 'string' ? ref.by : '';
  const fields = fieldsOf(content);
  const known = fields.knownToChecks(at).filter((f) => f.ref.from !== 'answers' || f.ref.id !== at.id);
  const unknown = list === '' || config.lists.some((l) => l.name === list) ? [] : [[list, list] as const];
  const source = fields.resolve(by);
  return (
    <>
      <Select label={t('rules.list')} value={list} options={[['', t('rules.own_choices')], ...unknown, ...config.lists.map((l) => [l.name, l.title] as const)]} onChange={(name) => onChange(name === '' ? undefined : { ...ref, list: name })} />
      {list !== '' && (
        <Select
          label={t('rules.list_by')}
          value={source ? pathOf(source) : ''}
          options={[['', t('rules.list_by_nothing')], ...fieldOptions(known, source && fields.get(source))]}
          onChange={(path) => {
            const { by: _, ...rest } = ref;
            onChange(path === '' ? rest : { ...ref, by: path });
          }}
        />
      )}
      {list !== '' && unknown.length === 0 && <Preview form={form} list={list} />}
    </>
  );
}

/** The first choices that a respondent who is not signed in sees. */
function Preview({ form, list }: { form: string; list: string }) {
  const { value, error } = useLoaded(() => builderApi<{ items: { id: string; label?: string }[] }>(`/forms/${form}/choices` + query({ list })), [form, list]);
  if (error) return <p class="hint">{t('rules.list_failed')}</p>;
  if (!value) return null;
  if (value.items.length === 0) return <p class="hint">{t('rules.list_empty')}</p>;
  return <ul class="hint list-preview" aria-label={t('rules.list_preview')}>{value.items.map((c) => <li key={c.id} dir="auto">{c.label || c.id}</li>)}</ul>;
}
