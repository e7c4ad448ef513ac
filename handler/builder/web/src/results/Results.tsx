import { useSignal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { api, ApiError, door, query } from '../app/api';
import { config } from '../app/config';
import { Frame } from '../app/Frame';
import type { Form } from '../app/records';
import { go, href, search } from '../app/router';
import { t } from '../app/words';
import { Button, LinkButton } from '../ui/Button';
import { Dialog } from '../ui/Dialog';
import { Select, Switch, TextField } from '../ui/Field';
import { Failed, Loading, useLoaded } from '../ui/states';
import { Halves } from './Halves';
import { useFresh } from './read';
import { Response } from './Response';
import { Summary } from './Summary';
import { Table } from './Table';
import { isBackwards, isDay, periods, readTime, timeName, timeParams, timeQuery, zoneName, type Time } from './time';

/** What came in to a form. view is '' for the summary, responses, partials, or the id of a response. */
export function Results({ form: id, view }: { form: string; view: string }) {
  const form = useLoaded(async () => (await api<Form>('/forms/' + id)).body, [id]);
  const time = useSignal(readTime(search.value));
  const turn = useSignal(0); // rises when what is shown is read anew
  const exporting = useSignal(false);
  const fresh = useFresh(id);
  const halves = useLoaded(() => door(`/forms/${id}/partials?limit=1`), [id]);
  const noHalves = halves.error instanceof ApiError && halves.error.status === 501;

  const setTime = (next: Time) => {
    time.value = next;
    go(`${id}/results${view && '/' + view}${timeQuery(next)}`, true);
  };
  // Back and forward, and links, lead to another time, too.
  useEffect(() => {
    if (timeQuery(time.peek()) !== search.value) time.value = readTime(search.value);
  }, [search.value]);
  const show = () => {
    fresh.seen();
    turn.value++;
  };
  const views = ['', 'responses', ...(noHalves ? [] : ['partials'])];
  const one = view !== '' && !['responses', 'partials'].includes(view);
  const link = (v: string) => href(`${id}/results${v && '/' + v}`) + timeQuery(time.value);

  return (
    <Frame form={id} workspace={form.value?.workspace_id} title={form.value?.name ?? ''}>
      {form.error ? <Failed error={form.error} again={form.reload} /> : null}
      {!form.value && form.loading && <Loading />}
      {form.value && (
        <div class="results stack">
          {!one && <h2 class="unseen">{t('results.' + (view || 'summary'))}</h2>}
          {!one && (
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
                  <Button icon="download" disabled={isBackwards(time.value)} onClick={() => (exporting.value = true)}>{t('results.export')}</Button>
                </>
              )}
            </div>
          )}
          <div role="status">
            {fresh.count > 0 && !one && view !== 'partials' && (
              <Button kind="primary" icon="rotate-ccw" onClick={show}>
                {fresh.count > 100 ? t('results.new_many', { n: 100 }) : t('results.new', { n: fresh.count })}
              </Button>
            )}
          </div>
          {view === '' && !isBackwards(time.value) && <Summary form={form.value} time={time.value} turn={turn.value} onTime={setTime} />}
          {view === 'responses' && !isBackwards(time.value) && <Table form={form.value} time={time.value} turn={turn.value} onTime={setTime} />}
          {view === 'partials' && <Halves form={form.value} />}
          {one && <Response key={view} form={form.value} id={view} time={time.value} />}
        </div>
      )}
      {exporting.value && <ExportDialog form={id} time={time.value} onClose={() => (exporting.value = false)} />}
    </Frame>
  );
}

function TimeFilter({ time, onChange }: { time: Time; onChange(time: Time): void }) {
  // A year that is being typed may have too many digits.
  const set = (part: { from: string } | { to: string }) => Object.values(part).every((day) => day === '' || isDay(day)) && onChange({ ...time, ...part });
  return (
    <div class="time-filter row push">
      <Select
        bare
        label={t('results.period')}
        value={time.period}
        options={[...periods, 'days'].map((p) => [p, t('results.period_' + p)] as const)}
        onChange={(period) => onChange({ period, from: '', to: '' })}
      />
      {time.period === 'days' && (
        <>
          <TextField bare type="date" label={t('results.from')} value={time.from} onInput={(from) => set({ from })} />
          <span aria-hidden="true">–</span>
          <TextField bare type="date" label={t('results.to')} value={time.to} onInput={(to) => set({ to })} fault={isBackwards(time) ? t('results.invalid_range') : undefined} />
        </>
      )}
      {!['all', '24h'].includes(time.period) && <span class="muted small">{t('results.zone', { zone: zoneName() })}</span>}
    </div>
  );
}

const formats = { csv: { format: 'csv' }, semicolon: { format: 'csv', separator: 'semicolon' }, tab: { format: 'csv', separator: 'tab' }, ndjson: { format: 'ndjson' } };

function ExportDialog({ form, time, onClose }: { form: string; time: Time; onClose(): void }) {
  const [format, setFormat] = useState<keyof typeof formats>(/^de|^fr|^es|^it|^nl|^pl|^pt/.test(navigator.language) ? 'semicolon' : 'csv');
  const [labels, setLabels] = useState(true);
  const [begun, setBegun] = useState(false);
  const table = format !== 'ndjson';
  const address = `${config.base}/-/door/forms/${form}/export` + query({ ...formats[format], ...timeParams(time), ...(table && { bom: 'true', header: labels ? 'labels' : '' }) });
  return (
    <Dialog
      title={t('results.export_title')}
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{t(begun ? 'app.close' : 'app.cancel')}</Button>
          <span onClick={() => setBegun(true)}>
            <LinkButton kind="primary" icon="download" href={address} download>{t('results.download')}</LinkButton>
          </span>
        </>
      }
    >
      <p>{t('results.export_text', { time: timeName(time) })}</p>
      <Select
        label={t('results.format')}
        value={format}
        options={Object.keys(formats).map((f) => [f, t('results.format_' + f)] as const)}
        onChange={(f) => setFormat(f as keyof typeof formats)}
      />
      {table && <Switch label={t('results.labels')} hint={t('results.labels_hint')} value={labels} onChange={setLabels} />}
      <p class="muted" role="status">{begun && t('results.downloading')}</p>
    </Dialog>
  );
}
