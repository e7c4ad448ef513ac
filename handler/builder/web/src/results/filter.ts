import { builderApi, query } from '../app/api';
import { config } from '../app/config';
import { isEqual, isObject } from '../app/json';
import { formatDate, t } from '../app/words';
import type { Form } from '../app/records';
import { canCompare, Fields, ops, type Field, type Json } from '../rules/fields';
import { conditionLogic, type Leaf } from '../rules/parse';

/** The responses that the results show. */
export interface Filter {
  /** A period from the API's metrics, or 'days' for custom dates. */
  period: string;
  /** The first day as YYYY-MM-DD. If empty, there is no limit. The first and last days are included. */
  from: string;
  to: string;
  /** A condition on the answers. */
  where?: Json | undefined;
  /** A text in any answer. */
  text?: string | undefined;
}

export const periods = ['all', 'today', 'yesterday', '24h', '7d', '30d', '3m', '6m', '12m'] as const;

export const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));

/** Reports whether the first day is after the last. */
export const isReversed = ({ from, to }: Filter): boolean => from !== '' && to !== '' && from > to;

/** Reports whether the filter has a condition or a text. */
export const readsAnswers = ({ where, text }: Filter): boolean => where !== undefined || !!text;

/** Returns the filter in a URL's query. */
export function parseFilter(search: string): Filter {
  const q = new URLSearchParams(search);
  const [from, to] = ['from', 'to'].map((name) => (isDay(q.get(name) ?? '') ? q.get(name)! : '')) as [string, string];
  const period = q.get('time') ?? '';
  const known = periods.includes(period as (typeof periods)[number]);
  return { period: from || to ? 'days' : known ? period : 'all', from, to, where: parseWhere(q.get('where')), text: q.get('text') ?? '' };
}

function parseWhere(text: string | null): Json | undefined {
  try {
    return (JSON.parse(text ?? 'null') as Json) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Returns a time range's query parameters. Periods and days use the service's time zone. */
const timeParams = ({ period, from, to }: Filter): Record<string, string> => (period === 'days' ? { from, to } : period === 'all' ? {} : { time: period });

/** Returns the query parameters of a filter's condition and text. */
export const answerParams = ({ where, text = '' }: Filter): Record<string, string> => ({ where: where === undefined ? '' : JSON.stringify(where), text });

export const filterParams = (filter: Filter): Record<string, string> => ({ ...timeParams(filter), ...answerParams(filter) });

/** Returns the query for a filter, or '' for all responses. */
export const filterQuery = (filter: Filter): string => query(filterParams(filter));

/** Returns the conditions that must all be true. */
export const conditionsOf = (where: Json | undefined): Json[] =>
  where === undefined ? [] : isObject(where) && Array.isArray(where.and) && Object.keys(where).length === 1 ? (where.and as Json[]) : [where];

/** Returns the filter for responses that fulfill all conditions. */
export const withConditions = (filter: Filter, conditions: Json[]): Filter => ({ ...filter, where: conditions.length > 1 ? { and: conditions } : conditions[0] });

/** Returns the fields that a filter can read. */
export const filterFields = (form: Form): Fields => new Fields(form.definition, t('results.outcome'));

/** Returns the filter for the responses in a chart's bar, or undefined if a sentence cannot express it. */
export function filterOfBar(filter: Filter, field: Field, value: Json): Filter | undefined {
  const leaf: Leaf = { op: Array.isArray(value) ? 'between' : field.kind === 'list' ? 'has' : 'is', ref: field.ref, value };
  if (field.kind === 'unknown' || !ops[field.kind].includes(leaf.op) || !canCompare(field.kind, leaf.op, value)) return undefined;
  const condition = conditionLogic(leaf);
  const others = conditionsOf(filter.where);
  return others.some((c) => isEqual(c, condition)) ? filter : withConditions(filter, [...others, condition]);
}

export interface Bounds {
  since?: string;
  until?: string;
}

/** Returns the start and end times of a filter's time range. Both are included. */
export const fetchBounds = async (filter: Filter): Promise<Bounds> => {
  const time = query(timeParams(filter));
  return time ? builderApi<Bounds>('/times' + time) : {};
};

/** Returns the name of the time zone for days. */
export const zoneName = (): string => (/^(Local)?$/.test(config.zone) ? t('results.time_zone_service') : config.zone.replaceAll('_', ' '));

export function rangeName({ period, from, to }: Filter): string {
  if (period !== 'days') return t('results.period_' + period);
  return [from, to].map((d) => (d ? formatDate(d + 'T12:00:00') : '…')).join(' – ');
}
