import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { api, builderApi, query } from '../app/api';
import type { Form } from '../app/records';
import { href } from '../app/router';
import { formatNumber, t } from '../app/words';
import { typeName } from '../editor/blockTypes';
import { Button } from '../ui/Button';
import { ErrorNotice, Loading, useLoaded } from '../ui/states';
import { formatDuration, titleOf } from './answers';
import { EmptyResults } from './EmptyResults';
import { timeParams, timeQuery, zoneName, type TimeRange } from './timeRange';

interface Row {
  label: string;
  count: number;
  share: number;
  place?: number;
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
  tables: { label?: string; rows: Row[]; more?: number }[];
  svg: string;
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
  seconds: number;
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
  time: TimeRange;
  reads: number;
  onTime(time: TimeRange): void;
}

const percent = (share: number) => formatNumber(share / 100, { style: 'percent', maximumFractionDigits: 0 });

export function Summary({ form, time, reads, onTime }: Props) {
  const request = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => request.current?.abort(), []);
  const partialSummary = useSignal<[SummaryData, Metrics | undefined] | undefined>(undefined);
  const found = useLoaded(async () => {
    request.current?.abort(); // counting many responses is expensive
    request.current = new AbortController();
    const signal = request.current.signal;
    const count = () => builderApi<SummaryData>(`/forms/${form.id}/summary` + timeQuery(time), { signal });
    const metrics = time.period === 'days' ? undefined : api<Metrics>(`/forms/${form.id}/analytics/metrics` + query({ period: time.period }), { signal }).then((a) => a.body);
    partialSummary.value = undefined;
    let [summary, views] = await Promise.all([count(), metrics]);
    while (summary.unfinished) {
      partialSummary.value = [summary, views];
      summary = await count();
    }
    return [summary, views] as const;
  }, [form.id, timeQuery(time), reads]);
  const [summary, metrics] = (found.loading && partialSummary.value) || found.value || [];
  if (found.error && !found.loading) return <ErrorNotice error={found.error} retry={found.reload} />;
  if (!summary) return <Loading label={t('results.counting')} />;
  return (
    <>
      {found.loading && <Loading label={summary.unfinished ? t('results.counted_n', { n: summary.responses }) : t('results.counting')} />}
      {(summary.responses > 0 || (metrics && metrics.views + metrics.starts + metrics.submissions > 0)) && <Funnel summary={summary} metrics={metrics} time={time} />}
      {summary.responses === 0 ? (
        <EmptyResults form={form} time={time} onTime={onTime} />
      ) : (
        <div class="blocks">
          {summary.blocks.map((b) => <BlockCard key={b.id} form={form.id} block={b} time={time} />)}
        </div>
      )}
    </>
  );
}

function Funnel({ summary, metrics, time }: { summary: SummaryData; metrics: Metrics | undefined; time: TimeRange }) {
  const most = metrics ? Math.max(metrics.views, metrics.starts, metrics.submissions, 1) : 1;
  return (
    <section class="card funnel stack" aria-labelledby="funnel-title">
      <h2 id="funnel-title">{t('results.funnel_title')}</h2>
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
        {metrics?.submissions !== summary.responses && <Metric name={t('results.total')} value={formatNumber(summary.responses)} hint={t('results.total_hint')} />}
        {metrics && <Metric name={t('results.completion_rate')} value={metrics.starts > 0 ? percent(metrics.completion_rate) : t('results.no_rate')} hint={t('results.completion_rate_hint')} />}
        {summary.responses > 0 && <Metric name={t('results.time_to_complete')} value={formatDuration(summary.seconds)} hint={t('results.time_to_complete_hint')} />}
      </dl>
      {metrics && (
        <p class="muted small">
          {!['all', '24h'].includes(time.period) && t('results.utc_hint', { zone: zoneName() })} {t('results.deleted_hint')} {metrics.estimated && t('results.estimated')}
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
function TextAnswers({ form, block, time }: { form: string; block: BlockResult; time: TimeRange }) {
  const more = useSignal<{ texts: Text[]; more: boolean }>({ texts: [], more: block.more_texts ?? false });
  const error = useSignal<unknown>(undefined);
  useEffect(() => void (more.value = { texts: [], more: block.more_texts ?? false }), [block.texts]);
  const texts = [...(block.texts ?? []), ...more.value.texts];
  const loadMore = async () => {
    error.value = undefined;
    try {
      const page = await builderApi<{ items: Text[] | null; more: boolean }>(`/forms/${form}/texts` + query({ ...timeParams(time), block: block.id, from_text: texts.length }));
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
            <a href={href(`${form}/results/${x.submission}`)}>{x.text}</a>
            {x.count > 1 && <span class="muted small" title={t('results.times_given', { n: x.count })}>× {formatNumber(x.count)}</span>}
          </li>
        ))}
      </ul>
      {error.value !== undefined && <ErrorNotice error={error.value} retry={() => void loadMore()} />}
      {more.value.more && error.value === undefined && <Button kind="quiet" icon="chevron-down" aria-label={t('results.show_more') + ': ' + titleOf(block)} onClick={() => void loadMore()}>{t('results.show_more')}</Button>}
    </div>
  );
}

function BlockCard({ form, block, time }: { form: string; block: BlockResult; time: TimeRange }) {
  const places = block.tables.some((table) => table.rows.some((r) => r.place));
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
          {/* The server has escaped it. */}
          <div class="drawing" dangerouslySetInnerHTML={{ __html: block.svg }} />
          {block.texts && <TextAnswers form={form} block={block} time={time} />}
          <details>
            <summary>{t('results.show_table')}</summary>
            {block.tables.map((table, i) => (
              <div key={i}>
                <table class="table">
                  {table.label && <caption dir="auto">{table.label}</caption>}
                  <thead>
                    <tr>
                      <th scope="col">{t('results.answer')}</th>
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
        </>
      )}
    </div>
  );
}
