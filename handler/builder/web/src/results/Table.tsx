import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { can, config } from '../app/config';
import type { Form } from '../app/records';
import { navigate, href } from '../app/router';
import { formatDateTime, t } from '../app/words';
import { Button } from '../ui/Button';
import { ConfirmDialog, Dialog } from '../ui/Dialog';
import { TextField } from '../ui/Field';
import { Loading, showToast } from '../ui/states';
import { columnsOf, shortHeadings, type Column } from './answers';
import { deleteResponses, useResponses } from './responses';
import { EmptyResults } from './EmptyResults';
import { filterQuery, readsAnswers, type Filter } from './filter';
import { ReadProgress, ResultsError } from './FilterBar';

/** Returns the localStorage key for the columns that a user has selected for a form. */
const storageKey = (form: string) => `formsvc.columns.${config.user}.${form}`;

function loadColumns(form: string): string[] | undefined {
  try {
    const keys: unknown = JSON.parse(localStorage.getItem(storageKey(form)) ?? 'null');
    return Array.isArray(keys) ? keys.filter((k) => typeof k === 'string') : undefined;
  } catch {
    return undefined; // no storage, or an invalid value
  }
}

function saveColumns(form: string, keys: string[] | undefined): void {
  try {
    if (keys) localStorage.setItem(storageKey(form), JSON.stringify(keys));
    else localStorage.removeItem(storageKey(form));
  } catch {
    // Without storage, the columns are kept until the page is closed.
  }
}

const defaultColumns = (columns: Column[]) => columns.filter((c) => c.group === 'questions').slice(0, 4).map((c) => c.key);

interface Props {
  form: Form;
  filter: Filter;
  reads: number;
  /** The number of all responses, or undefined if it is unknown. */
  total: number | undefined;
  onFilter(filter: Filter): void;
}

/** A table of responses, newest first. */
export function ResponseTable({ form, filter, reads, total, onFilter }: Props) {
  const list = useResponses(form.id, filter, reads);
  const columns = useMemo(() => columnsOf(form, list.items), [form, list.items]);
  const keys = useSignal(loadColumns(form.id));
  const selected = useSignal<ReadonlySet<string>>(new Set());
  const choosing = useSignal(false);
  const deleting = useSignal(false);

  const isFiltered = readsAnswers(filter);
  const visibleKeys = keys.value ?? defaultColumns(columns);
  const shown = columns.filter((c) => visibleKeys.includes(c.key));
  const titles = shortHeadings(shown.map((c) => c.label));
  const ids = list.items.map((s) => s.id).filter((id) => selected.value.has(id));
  const isAllSelected = ids.length > 0 && ids.length === list.items.length;
  const select = (id: string, on: boolean) => {
    const next = new Set(selected.value);
    if (on) next.add(id);
    else next.delete(id);
    selected.value = next;
  };

  if (list.items.length === 0 && !list.loading && !list.error && !list.more) return <EmptyResults form={form} filter={filter} onFilter={onFilter} />;
  return (
    <>
      <div class="row table-tools">
        {ids.length > 0 ? (
          <>
            <strong>{t('results.selected', { n: ids.length })}</strong>
            <Button kind="danger" icon="trash-2" onClick={() => (deleting.value = true)}>{t('results.delete')}</Button>
            <Button kind="quiet" onClick={() => (selected.value = new Set())}>{t('results.clear_selection')}</Button>
          </>
        ) : (
          <span class="muted" role="status">
            {(list.items.length > 0 || list.more) && t((isFiltered ? 'results.found_' : 'results.shown_') + (list.more || (isFiltered && list.loading) ? 'some' : 'all'), { n: list.items.length })}
          </span>
        )}
        <span class="push">
          <Button icon="list" onClick={() => (choosing.value = true)}>{t('results.columns')}</Button>
        </span>
      </div>
      {list.items.length > 0 && (
        <div class="scroll-x responses" role="region" aria-label={t('results.table')} tabIndex={0}>
          <table class="table">
            <thead>
              <tr>
                {can('submissions:write') && <th class="pick">
                  <input
                    type="checkbox"
                    aria-label={t('results.select_all')}
                    checked={isAllSelected}
                    ref={(box) => void (box && (box.indeterminate = ids.length > 0 && !isAllSelected))}
                    onChange={(e) => (selected.value = new Set(e.currentTarget.checked ? list.items.map((s) => s.id) : []))}
                  />
                  <span class="question" aria-hidden="true">{t('results.select_all')}</span>
                </th>}
                <th scope="col" class="when">{t('results.submitted')}</th>
                {shown.map((c, i) => (
                  <th scope="col" key={c.key} title={c.label} dir="auto">
                    <span class="unseen">{c.label}</span>
                    <span class="cut" aria-hidden="true">{titles[i]}</span>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {list.items.map((s) => {
                const to = `${form.id}/results/${s.id}${filterQuery(filter)}`;
                return (
                  <tr key={s.id} class={selected.value.has(s.id) ? 'picked' : undefined} onClick={(e) => !(e.target as Element).closest('a, input') && !getSelection()?.toString() && navigate(to)}>
                    {can('submissions:write') && <td class="pick">
                      <input type="checkbox" aria-label={t('results.select', { time: formatDateTime(s.submitted_at) })} checked={selected.value.has(s.id)} onChange={(e) => select(s.id, e.currentTarget.checked)} />
                    </td>}
                    <td class="when"><a href={href(to)}>{formatDateTime(s.submitted_at)}</a>{s.changed_at && <> <span class="badge" title={formatDateTime(s.changed_at)}>{t('results.changed')}</span></>}</td>
                    {shown.map((c) => (
                      <td key={c.key}>
                        <span class="question" dir="auto" aria-hidden="true">{c.label}</span>
                        <span class="cut" dir="auto">{c.text(s).slice(0, 300)}</span>
                      </td>
                    ))}
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      {list.error ? <ResultsError error={list.error} retry={list.next} filter={filter} onFilter={onFilter} /> : null}
      {list.loading && (isFiltered ? <ReadProgress read={list.read} total={total} onStop={list.stop} /> : <Loading label={t('results.loading')} />)}
      {list.more && !list.loading && !list.error && (
        <div class="row centered">
          <Button icon="chevron-down" onClick={list.next}>{t('results.show_more')}</Button>
        </div>
      )}
      {choosing.value && (
        <ColumnsDialog
          columns={columns}
          visibleKeys={visibleKeys}
          onClose={() => (choosing.value = false)}
          onChange={(next) => {
            keys.value = next;
            saveColumns(form.id, next);
          }}
        />
      )}
      {deleting.value && (
        <DeleteDialog
          form={form.id}
          ids={ids}
          onDeleted={list.remove}
          onClose={() => (deleting.value = false)}
        />
      )}
    </>
  );
}

/**
 * Asks for confirmation, deletes responses and shows the progress. onDeleted is called after each deleted response,
 * and done after the last one.
 */
export function DeleteDialog({ form, ids, onDeleted, done, onClose }: { form: string; ids: string[]; onDeleted?(id: string): void; done?(): void; onClose(): void }) {
  const all = useSignal(ids).value; // the list may lose items in the meantime
  const count = useSignal(-1);
  return (
    <ConfirmDialog
      danger
      title={t('results.delete_title', { n: all.length })}
      action={t('results.delete')}
      onClose={onClose}
      text={
        <div class="stack">
          <p>{t('results.delete_text', { n: all.length })}</p>
          {count.value >= 0 && all.length > 1 && (
            <p role="status">
              <progress max={all.length} value={count.value} aria-label={t('results.delete')} /> {t('results.deleting', { done: count.value, n: all.length })}
            </p>
          )}
        </div>
      }
      run={async () => {
        const left = new Set(all);
        count.value = 0;
        try {
          await deleteResponses(form, all, (id) => {
            left.delete(id);
            count.value++;
          });
          showToast(t('results.deleted', { n: all.length }));
          done?.();
        } finally {
          for (const id of all) if (!left.has(id)) onDeleted?.(id);
        }
      }}
    />
  );
}

function ColumnsDialog({ columns, visibleKeys, onChange, onClose }: { columns: Column[]; visibleKeys: string[]; onChange(keys: string[] | undefined): void; onClose(): void }) {
  const search = useSignal('');
  const found = columns.filter((c) => c.label.toLocaleLowerCase().includes(search.value.trim().toLocaleLowerCase()));
  return (
    <Dialog
      title={t('results.columns_title')}
      onClose={onClose}
      footer={
        <>
          <Button kind="quiet" onClick={() => onChange(undefined)}>{t('results.columns_reset')}</Button>
          <Button kind="primary" onClick={onClose}>{t('app.close')}</Button>
        </>
      }
    >
      {columns.length > 12 && <TextField hideLabel type="search" label={t('results.search_columns')} placeholder={t('results.search_columns')} value={search.value} onInput={(v) => (search.value = v)} />}
      {(['questions', 'more', 'details'] as const).map((group) => {
        const own = found.filter((c) => c.group === group);
        return (
          own.length > 0 && (
            <fieldset key={group} class="columns">
              <legend>{t('results.columns_' + group)}</legend>
              {own.map((c) => (
                <label key={c.key}>
                  <input
                    type="checkbox"
                    checked={visibleKeys.includes(c.key)}
                    onChange={(e) => onChange(e.currentTarget.checked ? [...visibleKeys, c.key] : visibleKeys.filter((k) => k !== c.key))}
                  />
                  <span dir="auto">{c.label}</span>
                </label>
              ))}
            </fieldset>
          )
        );
      })}
    </Dialog>
  );
}
