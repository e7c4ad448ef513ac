import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { api, builderApi, query } from '../app/api';
import { can } from '../app/config';
import type { Form, Json } from '../app/records';
import { href } from '../app/router';
import { formatNumber, t } from '../app/words';
import { typeName } from '../editor/blockTypes';
import { fieldsOf } from '../rules/fields';
import { Button } from '../ui/Button';
import { ErrorNotice, Loading, useLoaded } from '../ui/states';
import { formatDuration, titleOf } from './answers';
import { EmptyResults } from './EmptyResults';
import { filterFields, filterOfBar, filterParams, filterQuery, readsAnswers, zoneName, type Filter } from './filter';
import { ReadProgress, ResultsError } from './FilterBar';
import { retryBusy } from './responses';

interface Row {
  label: string;
  count: number;
  share: number;
  place?: number;
  /** What filterOfBar compares. */
  value?: Json;
}

/** A chart and its numbers, see table in charts.go. */
interface Table {
  label?: string;
  rows: Row[];
  more?: number;
  svg?: string;
  columns?: boolean;
}

/** A block's results, see blockResult in results.go. */
interface BlockResult {
  id: string;
  label: string;
  type: string;
  gone?: boolean;
  answered: number;
  skipped: number;
  figures?: { name: string; value: number }[];
  tables: Table[];
  other_types?: { type: string; count: number }[];
  texts?: Text[];
  more_texts?: boolean;
}

interface Text {
  text: string;
  count: number;
  submission: string;
}

interface SummaryData {
  responses: number;
  /** Whether another request must count older responses. */
  unfinished?: boolean;
  read: number;
  seconds: number;
  /** Responses by day, and by ending if the form has several. */
  days?: Table;
  outcomes?: Table;
  blocks: BlockResult[];
}

interface Metrics {
  estimated: boolean;
  views: number;
  starts: number;
  submissions: number;
  completion_rate: number;
}

interface Props {
  form: Form;
  filter: Filter;
  reads: number;
  /** The number of all responses, or undefined if it is unknown. */
  total: number | undefined;
  onFilter(filter: Filter): void;
}

const percent = (share: number) => formatNumber(share / 100, { style: 'percent', maximumFractionDigits: 0 });

export function Summary({ form, filter, reads, total, onFilter }: Props) {
  const isFiltered = readsAnswers(filter);
  const stopped = useRef(false);
  const request = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => request.current?.abort(), []);
  const partialSummary = useSignal<[SummaryData, Metrics | undefined] | undefined>(undefined);
  const found = useLoaded(async () => {
    request.current?.abort(); // counting many responses is expensive
    request.current = new AbortController();
    const signal = request.current.signal;
    stopped.current = false;
    const count = () => retryBusy(() => builderApi<SummaryData>(`/forms/${form.id}/summary` + filterQuery(filter), { signal }), signal);
    const metrics = isFiltered || filter.period === 'days' || !can('analytics:read') ? undefined : api<Metrics>(`/forms/${form.id}/analytics/metrics` + query({ period: filter.period }), { signal }).then((a) => a.body);
    partialSummary.value = undefined;
    let [summary, views] = await Promise.all([count(), metrics]);
    while (summary.unfinished && !stopped.current) {
      partialSummary.value = [summary, views];
      summary = await count();
    }
    return [summary, views] as const;
  }, [form.id, filterQuery(filter), reads]);
  const [summary, metrics] = (found.loading && partialSummary.value) || found.value || [];
  if (found.error && !found.loading) return <ResultsError error={found.error} retry={found.reload} filter={filter} onFilter={onFilter} />;
  if (!summary) return <Loading label={t('results.counting')} />;
  return (
    <>
      {found.loading && isFiltered && <ReadProgress read={summary.read} total={total} onStop={() => (stopped.current = true)} />}
      {!found.loading && summary.unfinished && (
        <div class="notice">
          <span>{t('results.stopped', { n: summary.read })}</span>
          <Button onClick={found.reload}>{t('results.continue')}</Button>
        </div>
      )}
      {found.loading && !isFiltered && <Loading label={summary.unfinished ? t('results.counted_n', { n: summary.responses }) : t('results.counting')} />}
      {(summary.responses > 0 || (metrics && metrics.views + metrics.starts + metrics.submissions > 0)) && <Funnel summary={summary} metrics={metrics} filter={filter} />}
      {summary.responses === 0 && !summary.unfinished ? (
        <EmptyResults form={form} filter={filter} onFilter={onFilter} />
      ) : (
        <div class="blocks">
          <TotalCard form={form.id} table={summary.days} title={t('results.days')} note={t('results.time_zone', { zone: zoneName() })} heading={t('results.day')} linkOf={linkOfDay(filter)} />
          <TotalCard form={form.id} table={summary.outcomes} title={t('results.outcomes')} note={t('results.outcomes_hint')} heading={t('results.outcome')} linkOf={(value) => filterOfBar(filter, filterFields(form).get({ from: 'submission', id: 'ending' }), value)} />
          {summary.blocks.map((b) => <BlockCard key={b.id} form={form} block={b} filter={filter} />)}
        </div>
      )}
    </>
  );
}

function Funnel({ summary, metrics, filter }: { summary: SummaryData; metrics: Metrics | undefined; filter: Filter }) {
  const most = metrics ? Math.max(metrics.views, metrics.starts, metrics.submissions, 1) : 1;
  const scores = summary.blocks.filter((b) => !b.gone && b.figures?.some((f) => f.name === 'nps'));
  return (
    <section class="card funnel stack" aria-labelledby="funnel-title">
      <h2 id="funnel-title">{t(metrics ? 'results.funnel_title' : 'results.overview')}</h2>
      {metrics && (
        <ol class="steps">
          {(['views', 'starts', 'submissions'] as const).map((step) => (
            <li key={step}>
              <span class="muted">{t('results.funnel_' + step)}</span>
              <strong>{formatNumber(metrics[step])}</strong>
              <svg width="100%" height="10" aria-hidden="true">
                <rect class="chart-track" width="100%" height="10" rx="5" />
                {metrics[step] > 0 && <rect class="chart-bar" width={`${(100 * metrics[step]) / most}%`} height="10" rx="5" />}
              </svg>
              <span class="muted">{step !== 'views' && metrics.views > 0 ? t('results.of_views', { share: percent((100 * metrics[step]) / metrics.views) }) : ' '}</span>
            </li>
          ))}
        </ol>
      )}
      <dl class="figures">
        {scores.map((b) => <Metric key={b.id} name={scores.length > 1 ? titleOf(b) : t('results.nps')} value={formatNumber(b.figures!.find((f) => f.name === 'nps')!.value, { maximumFractionDigits: 0, signDisplay: 'exceptZero' })} hint={scores.length > 1 ? t('results.nps') : titleOf(b)} />)}
        {metrics?.submissions !== summary.responses && <Metric name={t('results.total')} value={formatNumber(summary.responses)} hint={t(readsAnswers(filter) ? 'results.total_filter' : 'results.total_hint')} />}
        {metrics && <Metric name={t('results.completion_rate')} value={metrics.starts > 0 ? percent(metrics.completion_rate) : t('results.no_rate')} hint={t('results.completion_rate_hint')} />}
        {summary.responses > 0 && <Metric name={t('results.time_to_complete')} value={formatDuration(summary.seconds)} hint={t('results.time_to_complete_hint')} />}
      </dl>
      {metrics && (
        <p class="muted small">
          {!['all', '24h'].includes(filter.period) && t('results.utc_hint', { zone: zoneName() })} {t('results.deleted_hint')} {metrics.estimated && t('results.estimated')}
        </p>
      )}
    </section>
  );
}

const Metric = ({ name, value, hint }: { name: string; value: string; hint?: string }) => (
  <div>
    <dt class="muted">{name}</dt>
    <dd>
      <strong>{value}</strong> {hint && <span class="muted small">{hint}</span>}
    </dd>
  </div>
);

/** A block's newest text answers, without duplicates. More are loaded page by page. */
function TextAnswers({ form, block, filter }: { form: string; block: BlockResult; filter: Filter }) {
  const more = useSignal<{ texts: Text[]; more: boolean }>({ texts: [], more: block.more_texts ?? false });
  const error = useSignal<unknown>(undefined);
  useEffect(() => void (more.value = { texts: [], more: block.more_texts ?? false }), [block.texts]);
  const texts = [...(block.texts ?? []), ...more.value.texts];
  const loadMore = async () => {
    error.value = undefined;
    try {
      const page = await builderApi<{ items: Text[] | null; more: boolean }>(`/forms/${form}/texts` + query({ ...filterParams(filter), block: block.id, from_text: texts.length }));
      const known = new Set(texts.map((x) => x.submission)); // new responses shift the list
      more.value = { texts: [...more.value.texts, ...(page.items ?? []).filter((x) => !known.has(x.submission))], more: page.more };
    } catch (e) {
      error.value = e;
    }
  };
  return (
    <div class="stack">
      <h4 class="small muted">{t(/choice|dropdown/.test(block.type) ? 'results.latest_other' : 'results.latest')}</h4>
      <ul class="recent">
        {texts.map((x) => (
          <li key={x.submission} dir="auto">
            <a href={href(`${form}/results/${x.submission}${filterQuery(filter)}`)}>{x.text}</a>
            {x.count > 1 && <span class="muted small" title={t('results.times_given', { n: x.count })}>× {formatNumber(x.count)}</span>}
          </li>
        ))}
      </ul>
      {error.value !== undefined && <ErrorNotice error={error.value} retry={() => void loadMore()} />}
      {more.value.more && error.value === undefined && <Button kind="quiet" icon="chevron-down" aria-label={t('results.show_more') + ': ' + titleOf(block)} onClick={() => void loadMore()}>{t('results.show_more')}</Button>}
    </div>
  );
}

/** The height of a horizontal bar in pixels, and the maximum number of bars, see charts.go. */
const barHeight = 46;
const maxBars = 24;

/** A chart. Its bars link to the responses that they count. */
function Chart({ form, table: { svg = '', rows, columns }, linkOf }: { form: string; table: Table; linkOf(value: Json): Filter | undefined }) {
  return (
    <div class="drawing">
      {/* The server has escaped it. */}
      <div dangerouslySetInnerHTML={{ __html: svg }} />
      {rows.slice(0, columns ? undefined : maxBars).map(({ label, count, value }, i) => {
        const bar = count > 0 && value !== undefined && linkOf(value);
        const style = columns ? { left: `${(100 * i) / rows.length}%`, width: `${100 / rows.length}%` } : { top: `${barHeight * i}px`, height: `${barHeight}px` };
        return bar && <a key={i} class={columns ? 'bar-link column' : 'bar-link'} style={style} href={href(`${form}/results/responses${filterQuery(bar)}`)} title={t('results.show_responses', { answer: label })} aria-label={t('results.show_responses', { answer: label })} />;
      })}
    </div>
  );
}

/** Returns the filter for the responses of a day. */
const linkOfDay = (filter: Filter) => (day: Json): Filter => ({ ...filter, period: 'days', from: String(day), to: String(day) });

/** A chart that counts the responses themselves. */
function TotalCard({ form, table, title, note, heading, linkOf }: { form: string; table: Table | undefined; title: string; note: string; heading: string; linkOf(value: Json): Filter | undefined }) {
  return table ? (
    <div class="card block total">
      <header>
        <h3>{title}</h3>
        <p class="muted small">{note}</p>
      </header>
      <Chart form={form} table={table} linkOf={linkOf} />
      <Numbers tables={[table]} heading={heading} />
    </div>
  ) : null;
}

/** The numbers of charts as tables. */
function Numbers({ tables, heading = t('results.answer') }: { tables: Table[]; heading?: string }) {
  const places = tables.some((table) => table.rows.some((r) => r.place));
  return (
    <details>
      <summary>{t('results.show_table')}</summary>
      {tables.map((table, i) => (
        <div key={i}>
          <table class="table">
            {table.label && <caption dir="auto">{table.label}</caption>}
            <thead>
              <tr>
                <th scope="col">{heading}</th>
                <th scope="col" class="figure">{t('results.count')}</th>
                <th scope="col" class="figure">{t('results.share')}</th>
                {places && <th scope="col" class="figure">{t('results.mean_position')}</th>}
              </tr>
            </thead>
            <tbody>
              {table.rows.map((r, j) => (
                <tr key={j}>
                  <th scope="row" dir="auto">{r.label}</th>
                  <td class="figure">{formatNumber(r.count)}</td>
                  <td class="figure">{formatNumber(r.share / 100, { style: 'percent', maximumFractionDigits: 1 })}</td>
                  {places && <td class="figure">{r.place ? formatNumber(r.place, { maximumFractionDigits: 2 }) : '–'}</td>}
                </tr>
              ))}
            </tbody>
          </table>
          {table.more ? <p class="muted small">{t('results.more_rows', { n: table.more })}</p> : null}
        </div>
      ))}
    </details>
  );
}

function BlockCard({ form, block, filter }: { form: Form; block: BlockResult; filter: Filter }) {
  const field = fieldsOf(form.definition).get({ from: 'answers', id: block.id });
  return (
    <div class="card block">
      <header>
        <h3 dir="auto">{titleOf(block)}</h3>
        <p class="muted small">
          {t('results.answered_n', { n: block.answered })}
          {block.skipped > 0 && ' · ' + t('results.skipped_n', { n: block.skipped })} {block.gone && <span class="badge">{t('results.removed_question')}</span>}
        </p>
        {block.other_types && (
          <p class="muted small">{t('results.other_types', { types: block.other_types.map((o) => `${typeName(o.type)} (${formatNumber(o.count)})`).join(', ') })}</p>
        )}
      </header>
      {block.answered === 0 ? (
        <p class="muted">{t('results.no_answers')}</p>
      ) : (
        <>
          {block.figures && (
            <dl class="figures small">
              {block.figures.map((f) => <Metric key={f.name} name={t('results.' + f.name)} value={formatNumber(f.value, { maximumFractionDigits: 2 })} />)}
            </dl>
          )}
          {block.tables.map((table, i) => table.svg && <Chart key={i} form={form.id} table={table} linkOf={(value) => filterOfBar(filter, field, value)} />)}
          {block.texts && <TextAnswers form={form.id} block={block} filter={filter} />}
          <Numbers tables={block.tables} />
        </>
      )}
    </div>
  );
}
