import { builderApi, query } from '../app/api';
import { config } from '../app/config';
import { formatDate, t } from '../app/words';

/** A time that results are of: a period of the API's metrics, or 'days' with the owner's own. */
export interface TimeRange {
  period: string;
  /** Days as YYYY-MM-DD, '' for no bound, both included. */
  from: string;
  to: string;
}

export const periods = ['all', 'today', 'yesterday', '24h', '7d', '30d', '3m', '6m', '12m'] as const;

export const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));

/** Whether the first day is after the last: no response is in such a time. */
export const isReversed = ({ from, to }: TimeRange): boolean => from !== '' && to !== '' && from > to;

/** Reads a time out of an address's query. */
export function parseTimeRange(search: string): TimeRange {
  const q = new URLSearchParams(search);
  const [from, to] = ['from', 'to'].map((name) => (isDay(q.get(name) ?? '') ? q.get(name)! : '')) as [string, string];
  if (from || to) return { period: 'days', from, to };
  const period = q.get('time') ?? '';
  return { period: periods.includes(period as (typeof periods)[number]) ? period : 'all', from: '', to: '' };
}

/** A time as the service takes it: periods and days are those of the service's time zone. */
export const timeParams = ({ period, from, to }: TimeRange): { time?: string; from?: string; to?: string } =>
  period === 'days' ? { from, to } : period === 'all' ? {} : { time: period };

/** What stands in the address, '' for all time. */
export const timeQuery = (time: TimeRange): string => query(timeParams(time));

export interface Bounds {
  since?: string;
  until?: string;
}

/** The bounds as the API takes them, both included. */
export const fetchBounds = async (time: TimeRange): Promise<Bounds> => (timeQuery(time) ? builderApi<Bounds>('/times' + timeQuery(time)) : {});

/** Names the time zone of the days. */
export const zoneName = (): string => (/^(Local)?$/.test(config.zone) ? t('results.zone_own') : config.zone.replaceAll('_', ' '));

export function rangeName({ period, from, to }: TimeRange): string {
  if (period !== 'days') return t('results.period_' + period);
  return [from, to].map((d) => (d ? formatDate(d + 'T12:00:00') : '…')).join(' – ');
}
