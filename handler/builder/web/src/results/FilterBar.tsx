import { signal, useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { ApiError } from '../app/api';
import type { Form } from '../app/records';
import { formatNumber, t } from '../app/words';
import { describeCondition } from '../rules/describe';
import { newCondition } from '../rules/edit';
import { conditionLogic, parseCondition } from '../rules/parse';
import { ConditionEditor } from '../rules/RuleEditor';
import { Button, IconButton } from '../ui/Button';
import { FormDialog } from '../ui/Dialog';
import { TextField } from '../ui/Field';
import { ErrorNotice, Loading } from '../ui/states';
import { conditionsOf, filterFields, readsAnswers, withConditions, type Filter } from './filter';

interface Props {
  form: Form;
  filter: Filter;
  onFilter(filter: Filter): void;
}

/** Searches the answers for a text, edits the filter's condition, and lists both. */
export function FilterBar({ form, filter, onFilter }: Props) {
  const text = useSignal(filter.text ?? '');
  const editing = useSignal(false);
  useEffect(() => void (text.value = filter.text ?? ''), [filter.text]);
  const fields = useMemo(() => filterFields(form), [form]);
  const conditions = conditionsOf(filter.where);
  const chips = conditions.map((where, i) => {
    const condition = parseCondition(where, fields);
    return {
      label: condition ? describeCondition(condition, fields, t) : JSON.stringify(where),
      without: withConditions(filter, conditions.filter((_, j) => j !== i)),
    };
  });
  if (filter.text) chips.push({ label: t('results.filter_text', { text: filter.text }), without: { ...filter, text: '' } });
  const search = (value: string) => onFilter({ ...filter, text: value.trim() });
  return (
    <div class="filter-bar stack no-print">
      <form class="row" role="search" onSubmit={(e) => (e.preventDefault(), search(text.value))}>
        <TextField hideLabel type="search" label={t('results.search')} placeholder={t('results.search')} maxLength={200} value={text.value} onInput={(v) => (v === '' && filter.text ? search('') : (text.value = v))} />
        <Button type="submit" icon="search">{t('results.search_action')}</Button>
        <Button icon="list-filter" onClick={() => (editing.value = true)}>{t('results.filter')}</Button>
      </form>
      {chips.length > 0 && (
        <div class="row">
          <ul class="filter-chips" aria-label={t('results.filter_active')}>
            {chips.map(({ label, without }) => (
              <li key={label}>
                <bdi>{label}</bdi>
                <IconButton icon="x" label={t('results.filter_remove', { filter: label })} onClick={() => onFilter(without)} />
              </li>
            ))}
          </ul>
          <Button kind="quiet" onClick={() => onFilter(withoutAnswers(filter))}>{t('results.filter_clear')}</Button>
        </div>
      )}
      {editing.value && <FilterDialog form={form} filter={filter} onFilter={onFilter} onClose={() => (editing.value = false)} />}
    </div>
  );
}

export const withoutAnswers = (filter: Filter): Filter => ({ ...filter, where: undefined, text: '' });

function FilterDialog({ form, filter, onFilter, onClose }: Props & { onClose(): void }) {
  const fields = useMemo(() => filterFields(form), [form]);
  const [first] = fields.all;
  const where = useSignal(filter.where ?? (first && conditionLogic(newCondition(first))));
  return (
    <FormDialog wide title={t('results.filter_title')} action={t('results.filter_apply')} run={() => onFilter({ ...filter, where: where.value })} onClose={onClose}>
      <ConditionEditor fields={fields} known={fields.all} label={t('results.filter_title')} value={where.value} onChange={(value) => (where.value = value)} />
    </FormDialog>
  );
}

/** Shows how many responses have been read, and a button that stops reading. total is undefined if it is unknown. */
export function ReadProgress({ read, total, onStop }: { read: number; total: number | undefined; onStop(): void }) {
  return (
    <div class="row">
      <Loading label={total === undefined ? t('results.read_n', { n: read }) : t('results.read_of', { n: read, total: formatNumber(Math.max(read, total)) })} />
      <Button kind="quiet" icon="x" onClick={onStop}>{t('results.stop')}</Button>
    </div>
  );
}

/** Whether the page shows that the filter is invalid, so that an export would fail. */
export const isFilterInvalid = signal(false);

/** Shows an error. If the filter is invalid, such as after its question was deleted, that part can be removed. */
export function ResultsError({ error, retry, filter, onFilter }: { error: unknown; retry(): void; filter: Filter; onFilter(filter: Filter): void }) {
  const invalid = error instanceof ApiError && readsAnswers(filter) && error.details.find((d) => /^\/(where|text)/.test(d.path));
  useEffect(() => {
    isFilterInvalid.value = !!invalid;
    return () => void (isFilterInvalid.value = false);
  }, [!!invalid]);
  const isText = invalid && invalid.path.startsWith('/text');
  if (!invalid) return <ErrorNotice error={error} retry={retry} />;
  return (
    <div class="notice bad" role="alert">
      <span>{invalid.code === 'UNKNOWN_FIELD' ? t('results.filter_unknown') : invalid.message}</span>
      <Button onClick={() => onFilter({ ...filter, ...(isText ? { text: '' } : { where: undefined }) })}>{t(isText ? 'results.filter_clear' : 'results.filter_drop')}</Button>
    </div>
  );
}
