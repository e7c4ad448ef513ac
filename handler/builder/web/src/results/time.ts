import { query } from '../app/api';
import { day, t } from '../app/words';

/** A time that results are of: a period of the API's metrics, or 'days' with the owner's own. */
export interface Time {
  period: string;
  /** Days as YYYY-MM-DD, '' for no bound, both included. */
  from: string;
  to: string;
}

export const periods = ['all', 'today', 'yesterday', '24h', '7d', '30d', '3m', '6m', '12m'] as const;

export const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));

/** Whether the first day is after the last: no response is in such a time. */
export const isBackwards = ({ from, to }: Time): boolean => from !== '' && to !== '' && from > to;

/** Reads a time out of an address's query. */
export function readTime(search: string): Time {
  const q = new URLSearchParams(search);
  const [from, to] = ['from', 'to'].map((name) => (isDay(q.get(name) ?? '') ? q.get(name)! : '')) as [string, string];
  if (from || to) return { period: 'days', from, to };
  const period = q.get('time') ?? '';
  return { period: periods.includes(period as (typeof periods)[number]) ? period : 'all', from: '', to: '' };
}

/** What stands in the address, '' for all time. */
export const timeQuery = ({ period, from, to }: Time): string =>
  period === 'days' ? query({ from, to }) : query({ time: period === 'all' ? '' : period });

/** The bounds as the API takes them, both included. Periods are those of the API: their days are UTC's; chosen days are the browser's. */
export function bounds({ period, from, to }: Time, now = new Date()): { since?: string; until?: string } {
  const at = (ms: number) => new Date(ms).toISOString().slice(0, 19) + 'Z';
  if (period === 'days') {
    return {
      ...(from && { since: at(new Date(from + 'T00:00:00').getTime()) }),
      ...(to && { until: at(new Date(to + 'T23:59:59').getTime()) }),
    };
  }
  const [y, m, d] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  const midnight = (back: number) => Date.UTC(y, m, d - back);
  const monthsAgo = (n: number) => Date.UTC(y, m - n, Math.min(d, new Date(Date.UTC(y, m - n + 1, 0)).getUTCDate()));
  switch (period) {
    case 'today':
      return { since: at(midnight(0)) };
    case 'yesterday':
      return { since: at(midnight(1)), until: at(midnight(0) - 1000) };
    case '24h':
      return { since: at(Math.floor(now.getTime() / 60_000) * 60_000 - 86_400_000) };
    case '7d':
    case '30d':
      return { since: at(midnight(parseInt(period, 10) - 1)) };
    case 'all':
      return {};
    default:
      return { since: at(monthsAgo(parseInt(period, 10))) };
  }
}

export function timeName({ period, from, to }: Time): string {
  if (period !== 'days') return t('results.period_' + period);
  return [from, to].map((d) => (d ? day(d + 'T12:00:00') : '…')).join(' – ');
}
