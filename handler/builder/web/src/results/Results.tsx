import { useSignal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { api, ApiError, builderApi, query } from '../app/api';
import { config } from '../app/config';
import { Frame } from '../app/Frame';
import type { Form } from '../app/records';
import { navigate, href, search } from '../app/router';
import { t } from '../app/words';
import { Button, LinkButton } from '../ui/Button';
import { Dialog } from '../ui/Dialog';
import { Select, Switch, TextField } from '../ui/Field';
import { ErrorNotice, Loading, useLoaded } from '../ui/states';
import { PartialResponses } from './PartialResponses';
import { useNewResponses } from './responses';
import { Response } from './Response';
import { Summary } from './Summary';
import { ResponseTable } from './Table';
import { isReversed, isDay, periods, parseTimeRange, rangeName, timeParams, timeQuery, zoneName, type TimeRange } from './timeRange';

/** A form's results. view is '' for the summary, 'responses', 'partials', or a response's id. */
export function Results({ form: id, view }: { form: string; view: string }) {
  const form = useLoaded(async () => (await api<Form>('/forms/' + id)).body, [id]);
  const time = useSignal(parseTimeRange(search.value));
  const refreshes = useSignal(0); // increased to read the results again
  const exporting = useSignal(false);
  const newResponses = useNewResponses(id);
  const partials = useLoaded(() => builderApi(`/forms/${id}/partials?limit=1`), [id]);
  const partialsUnsupported = partials.error instanceof ApiError && partials.error.status === 501;

  const setTime = (next: TimeRange) => {
    time.value = next;
    navigate(`${id}/results${view && '/' + view}${timeQuery(next)}`, true);
  };
  // The time range can also change through links or the browser's history.
  useEffect(() => {
    if (timeQuery(time.peek()) !== search.value) time.value = parseTimeRange(search.value);
  }, [search.value]);
  const showNew = () => {
    newResponses.seen();
    refreshes.value++;
  };
  const views = ['', 'responses', ...(partialsUnsupported ? [] : ['partials'])];
  const isResponse = view !== '' && !['responses', 'partials'].includes(view);
  const link = (v: string) => href(`${id}/results${v && '/' + v}`) + timeQuery(time.value);

  return (
    <Frame form={id} workspace={form.value?.workspace_id} title={form.value?.name ?? ''}>
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
                  <TimeFilter time={time.value} onChange={setTime} />
                  <Button icon="download" disabled={isReversed(time.value)} onClick={() => (exporting.value = true)}>{t('results.export')}</Button>
                </>
              )}
            </div>
          )}
          <div role="status">
            {newResponses.count > 0 && !isResponse && view !== 'partials' && (
              <Button kind="primary" icon="rotate-ccw" onClick={showNew}>
                {newResponses.count > 100 ? t('results.new_many', { n: 100 }) : t('results.new', { n: newResponses.count })}
              </Button>
            )}
          </div>
          {view === '' && !isReversed(time.value) && <Summary form={form.value} time={time.value} reads={refreshes.value} onTime={setTime} />}
          {view === 'responses' && !isReversed(time.value) && <ResponseTable form={form.value} time={time.value} reads={refreshes.value} onTime={setTime} />}
          {view === 'partials' && <PartialResponses form={form.value} />}
          {isResponse && <Response key={view} form={form.value} id={view} time={time.value} />}
        </div>
      )}
      {exporting.value && <ExportDialog form={id} time={time.value} onClose={() => (exporting.value = false)} />}
    </Frame>
  );
}

function TimeFilter({ time, onChange }: { time: TimeRange; onChange(time: TimeRange): void }) {
  // While the user is typing a year, it may have too many digits.
  const set = (part: { from: string } | { to: string }) => Object.values(part).every((day) => day === '' || isDay(day)) && onChange({ ...time, ...part });
  return (
    <div class="time-filter row push">
      <Select
        hideLabel
        label={t('results.period')}
        value={time.period}
        options={[...periods, 'days'].map((p) => [p, t('results.period_' + p)] as const)}
        onChange={(period) => onChange({ period, from: '', to: '' })}
      />
      {time.period === 'days' && (
        <>
          <TextField hideLabel type="date" label={t('results.from')} value={time.from} onInput={(from) => set({ from })} />
          <span aria-hidden="true">–</span>
          <TextField hideLabel type="date" label={t('results.to')} value={time.to} onInput={(to) => set({ to })} error={isReversed(time) ? t('results.invalid_range') : undefined} />
        </>
      )}
      {!['all', '24h'].includes(time.period) && <span class="muted small">{t('results.time_zone', { zone: zoneName() })}</span>}
    </div>
  );
}

const formats = { csv: { format: 'csv' }, semicolon: { format: 'csv', separator: 'semicolon' }, tab: { format: 'csv', separator: 'tab' }, ndjson: { format: 'ndjson' } };

function ExportDialog({ form, time, onClose }: { form: string; time: TimeRange; onClose(): void }) {
  const [format, setFormat] = useState<keyof typeof formats>(/^de|^fr|^es|^it|^nl|^pl|^pt/.test(navigator.language) ? 'semicolon' : 'csv');
  const [labels, setLabels] = useState(true);
  const [hasStarted, setHasStarted] = useState(false);
  const table = format !== 'ndjson';
  const url = `${config.base}/-/builder/forms/${form}/export` + query({ ...formats[format], ...timeParams(time), ...(table && { bom: 'true', header: labels ? 'labels' : '' }) });
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
      <p>{t('results.export_text', { time: rangeName(time) })}</p>
      <Select
        label={t('results.format')}
        value={format}
        options={Object.keys(formats).map((f) => [f, t('results.format_' + f)] as const)}
        onChange={(f) => setFormat(f as keyof typeof formats)}
      />
      {table && <Switch label={t('results.question_titles')} hint={t('results.question_titles_hint')} value={labels} onChange={setLabels} />}
      <p class="muted" role="status">{hasStarted && t('results.downloading')}</p>
    </Dialog>
  );
}
