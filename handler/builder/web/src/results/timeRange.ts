import { builderApi, query } from '../app/api';
import { config } from '../app/config';
import { formatDate, t } from '../app/words';

/** A time range for results: a period from the API's metrics, or 'days' for custom dates. */
export interface TimeRange {
  period: string;
  /** The first day as YYYY-MM-DD. If empty, there is no limit. The first and last days are included. */
  from: string;
  to: string;
}

export const periods = ['all', 'today', 'yesterday', '24h', '7d', '30d', '3m', '6m', '12m'] as const;

export const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));

/** Reports whether the first day is after the last. */
export const isReversed = ({ from, to }: TimeRange): boolean => from !== '' && to !== '' && from > to;

/** Returns the time range in a URL's query. */
export function parseTimeRange(search: string): TimeRange {
  const q = new URLSearchParams(search);
  const [from, to] = ['from', 'to'].map((name) => (isDay(q.get(name) ?? '') ? q.get(name)! : '')) as [string, string];
  if (from || to) return { period: 'days', from, to };
  const period = q.get('time') ?? '';
  return { period: periods.includes(period as (typeof periods)[number]) ? period : 'all', from: '', to: '' };
}

/** Returns a time range's query parameters. Periods and days use the service's time zone. */
export const timeParams = ({ period, from, to }: TimeRange): { time?: string; from?: string; to?: string } =>
  period === 'days' ? { from, to } : period === 'all' ? {} : { time: period };

/** Returns the query for a time range, or '' for all time. */
export const timeQuery = (time: TimeRange): string => query(timeParams(time));

export interface Bounds {
  since?: string;
  until?: string;
}

/** Returns the start and end times of a time range. Both are included. */
export const fetchBounds = async (time: TimeRange): Promise<Bounds> => (timeQuery(time) ? builderApi<Bounds>('/times' + timeQuery(time)) : {});

/** Returns the name of the time zone for days. */
export const zoneName = (): string => (/^(Local)?$/.test(config.zone) ? t('results.time_zone_service') : config.zone.replaceAll('_', ' '));

export function rangeName({ period, from, to }: TimeRange): string {
  if (period !== 'days') return t('results.period_' + period);
  return [from, to].map((d) => (d ? formatDate(d + 'T12:00:00') : '…')).join(' – ');
}
