import { useSignal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { api, ApiError, builderApi, query } from '../app/api';
import { config } from '../app/config';
import { Frame } from '../app/Frame';
import type { Form } from '../app/records';
import { navigate, href, search } from '../app/router';
import { t } from '../app/words';
import { openContent } from '../rules/insertions';
import { Button, LinkButton } from '../ui/Button';
import { Dialog } from '../ui/Dialog';
import { Select, Switch, TextField } from '../ui/Field';
import { ErrorNotice, isMissing, Loading, useLoaded } from '../ui/states';
import { isReversed, isDay, periods, parseFilter, rangeName, readsAnswers, filterParams, filterQuery, zoneName, type Filter } from './filter';
import { FilterBar, isFilterInvalid } from './FilterBar';
import { PartialResponses } from './PartialResponses';
import { useNewResponses } from './responses';
import { Response } from './Response';
import { Summary } from './Summary';
import { ResponseTable } from './Table';

/** A form's results. view is '' for the summary, 'responses', 'partials', or a response's id. */
export function Results({ form: id, view }: { form: string; view: string }) {
  const form = useLoaded(async () => {
    const { body } = await api<Form>('/forms/' + id);
    openContent.value = body.definition;
    return body;
  }, [id]);
  const filter = useSignal(parseFilter(search.value));
  const isFiltered = readsAnswers(filter.value);
  const refreshes = useSignal(0); // increased to read the results again
  const exporting = useSignal(false);
  const total = useLoaded(async () => {
    if (!form.value || !isFiltered || filter.value.period !== 'all') return undefined;
    const counts = await builderApi<Record<string, { responses?: number }>>(`/workspaces/${form.value.workspace_id}/counts`, { body: { forms: [id] } });
    return counts[id]?.responses;
  }, [form.value, isFiltered, filter.value.period]);
  const newResponses = useNewResponses(id);
  const partials = useLoaded(() => builderApi(`/forms/${id}/partials?limit=1`), [id]);
  const partialsUnsupported = partials.error instanceof ApiError && partials.error.status === 501;

  const setFilter = (next: Filter) => {
    const isTime = next.where === filter.value.where && next.text === filter.value.text;
    filter.value = next;
    navigate(`${id}/results${view && '/' + view}${filterQuery(next)}`, isTime);
  };
  // The filter can also change through links or the browser's history.
  useEffect(() => {
    if (filterQuery(filter.peek()) !== search.value) filter.value = parseFilter(search.value);
  }, [search.value]);
  const showNew = () => {
    newResponses.seen();
    refreshes.value++;
  };
  const views = ['', 'responses', ...(partialsUnsupported ? [] : ['partials'])];
  const isResponse = view !== '' && !['responses', 'partials'].includes(view);
  const link = (v: string) => href(`${id}/results${v && '/' + v}`) + filterQuery(filter.value);

  return (
    <Frame form={isMissing(form.error) ? undefined : id} workspace={form.value?.workspace_id} title={form.value?.name ?? ''}>
      {form.error ? <ErrorNotice error={form.error} retry={form.reload} /> : null}
      {!form.value && form.loading && <Loading />}
      {form.value && (
        <div class="results stack">
          {!isResponse && <h2 class="unseen">{t('results.' + (view || 'summary'))}</h2>}
          {!isResponse && (
            <div class="results-head row">
              <nav class="views" aria-label={t('results.navigation')}>
                {views.map((v) => (
                  <a key={v} href={link(v)} aria-current={v === view ? 'page' : undefined}>
                    {t('results.' + (v || 'summary'))}
                  </a>
                ))}
              </nav>
              {view !== 'partials' && (
                <>
                  <TimeFilter filter={filter.value} onChange={setFilter} />
                  <Button icon="download" disabled={isReversed(filter.value) || isFilterInvalid.value} onClick={() => (exporting.value = true)}>{t(isFiltered ? 'results.export_these' : 'results.export')}</Button>
                </>
              )}
            </div>
          )}
          {!isResponse && view !== 'partials' && <FilterBar form={form.value} filter={filter.value} onFilter={setFilter} />}
          <div role="status">
            {newResponses.count > 0 && !isResponse && view !== 'partials' && (
              <Button kind="primary" icon="rotate-ccw" onClick={showNew}>
                {newResponses.count > 100 ? t('results.new_many', { n: 100 }) : t('results.new', { n: newResponses.count })}
              </Button>
            )}
          </div>
          {view === '' && !isReversed(filter.value) && <Summary form={form.value} filter={filter.value} reads={refreshes.value} total={total.value} onFilter={setFilter} />}
          {view === 'responses' && !isReversed(filter.value) && <ResponseTable form={form.value} filter={filter.value} reads={refreshes.value} total={total.value} onFilter={setFilter} />}
          {view === 'partials' && <PartialResponses form={form.value} />}
          {isResponse && <Response key={view} form={form.value} id={view} filter={filter.value} />}
        </div>
      )}
      {exporting.value && <ExportDialog form={id} filter={filter.value} onClose={() => (exporting.value = false)} />}
    </Frame>
  );
}

function TimeFilter({ filter, onChange }: { filter: Filter; onChange(filter: Filter): void }) {
  // While the user is typing a year, it may have too many digits.
  const set = (part: { from: string } | { to: string }) => Object.values(part).every((day) => day === '' || isDay(day)) && onChange({ ...filter, ...part });
  return (
    <div class="time-filter row push">
      <Select
        hideLabel
        label={t('results.period')}
        value={filter.period}
        options={[...periods, 'days'].map((p) => [p, t('results.period_' + p)] as const)}
        onChange={(period) => onChange({ ...filter, period, from: '', to: '' })}
      />
      {filter.period === 'days' && (
        <>
          <TextField hideLabel type="date" label={t('results.from')} value={filter.from} onInput={(from) => set({ from })} />
          <span aria-hidden="true">–</span>
          <TextField hideLabel type="date" label={t('results.to')} value={filter.to} onInput={(to) => set({ to })} error={isReversed(filter) ? t('results.invalid_range') : undefined} />
        </>
      )}
      {!['all', '24h'].includes(filter.period) && <span class="muted small">{t('results.time_zone', { zone: zoneName() })}</span>}
    </div>
  );
}

const formats = { csv: { format: 'csv' }, semicolon: { format: 'csv', separator: 'semicolon' }, tab: { format: 'csv', separator: 'tab' }, ndjson: { format: 'ndjson' } };

function ExportDialog({ form, filter, onClose }: { form: string; filter: Filter; onClose(): void }) {
  const [format, setFormat] = useState<keyof typeof formats>(/^de|^fr|^es|^it|^nl|^pl|^pt/.test(navigator.language) ? 'semicolon' : 'csv');
  const [labels, setLabels] = useState(true);
  const [changes, setChanges] = useState(false);
  const [hasStarted, setHasStarted] = useState(false);
  const table = format !== 'ndjson';
  const url = `${config.base}/-/builder/forms/${form}/export` + query({ ...formats[format], ...filterParams(filter), changes: changes ? 'true' : '', ...(table && { bom: 'true', header: labels ? 'labels' : '' }) });
  return (
    <Dialog
      title={t('results.export_title')}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t(hasStarted ? 'app.close' : 'app.cancel')}</Button>
          <span onClick={() => setHasStarted(true)}>
            <LinkButton kind="primary" icon="download" href={url} download>{t('results.download')}</LinkButton>
          </span>
        </>
      }
    >
      <p>{t('results.export_text', { time: rangeName(filter) })} {readsAnswers(filter) && t('results.export_filter')}</p>
      <Select
        label={t('results.format')}
        value={format}
        options={Object.keys(formats).map((f) => [f, t('results.format_' + f)] as const)}
        onChange={(f) => setFormat(f as keyof typeof formats)}
      />
      {table && <Switch label={t('results.question_titles')} hint={t('results.question_titles_hint')} value={labels} onChange={setLabels} />}
      <Switch label={t('results.export_changes')} hint={t('results.export_changes_hint')} value={changes} onChange={setChanges} />
      <p class="muted" role="status">{hasStarted && t('results.downloading')}</p>
    </Dialog>
  );
}
