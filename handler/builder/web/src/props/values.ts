// Formats values for text inputs and parses typed text.
import { config } from '../app/config';
import { t } from '../app/words';

/** An error in typed text. */
export class ValueError {
  constructor(readonly text: string) {}
}

const valueError = (key: string, params?: Record<string, string | number>): ValueError => new ValueError(t('props.error_' + key, params));

/** Returns the decimal separator of the page's language. */
const decimalSeparator = (): string => (1.5).toLocaleString(config.language).charAt(1);

export const formatNumberInput = (n: number | undefined): string => (typeof n === 'number' ? String(n).replace('.', decimalSeparator()) : '');

export interface Bounds {
  integer?: boolean | undefined;
  min?: number | undefined;
  max?: number | undefined;
  /** The number must be larger than this. */
  above?: number | undefined;
}

export function parseNumber(text: string, { integer, min, max, above }: Bounds = {}): number | undefined | ValueError {
  const plain = text.trim().replace(',', '.');
  if (plain === '') return undefined;
  const n = /^[-+]?(\d+\.?\d*|\.\d+)$/.test(plain) ? Number(plain) : NaN;
  if (!Number.isFinite(n)) return valueError('number');
  if (integer && !Number.isSafeInteger(n)) return valueError('integer');
  if (min !== undefined && n < min) return valueError('min', { min });
  if (max !== undefined && n > max) return valueError('max', { max });
  if (above !== undefined && n <= above) return valueError('above', { above });
  return n;
}

// The same characters as in package weburl.
const unsafe = /[\s\u0000-\u001f\u007f-\u009f\\"<>]|%(?![0-9a-f]{2})/i;

/** Parses an http or https URL. If link is set, mailto and tel are allowed too. */
export function parseURL(text: string, link = false): string | undefined | ValueError {
  if (text === '') return undefined;
  const web = /^https?:\/\/[^/?#@]+([/?#]|$)/i.test(text) && URL.canParse(text);
  const other = link && /^(mailto|tel):[^/]/i.test(text);
  return !unsafe.test(text) && (web || other) ? text : valueError(link ? 'link' : 'url');
}

/** Adds https:// or mailto: if it is missing. */
export function completeURL(text: string): string {
  const plain = text.trim();
  if (/^[\w-]+(\.[\w-]+)+(:\d+)?([/?#]\S*)?$/.test(plain)) return 'https://' + plain;
  return /^[^\s:/@]+@[\w-]+(\.[\w-]+)+$/.test(plain) ? 'mailto:' + plain : plain;
}

export const parseHexColor = (text: string): string | undefined | ValueError =>
  text === '' ? undefined : /^#([0-9a-f]{3}|[0-9a-f]{4}|[0-9a-f]{6}|[0-9a-f]{8})$/i.test(text) ? text : valueError('color');

export function parseAmount(text: string): string | undefined | ValueError {
  const plain = text.trim().replace(',', '.');
  return plain === '' ? undefined : /^\d+(\.\d+)?$/.test(plain) ? plain : valueError('amount');
}

export function parseCurrency(text: string): string | undefined | ValueError {
  const code = text.trim().toUpperCase();
  return code === '' ? undefined : /^[A-Z]{3}$/.test(code) ? code : valueError('currency');
}

/**
 * Splits text into lines and drops empty lines. Tabs, and line breaks in quoted cells of a spreadsheet, become spaces.
 */
export const splitLines = (text: string): string[] =>
  text
    .replace(/(?<![^\t\r\n])"((?:[^"]|"")*)"(?![^\t\r\n])/g, (all, cell: string) => (/[\t\r\n]|""/.test(cell) ? cell.replaceAll('""', '"').replace(/[\t\r\n]+/g, ' ') : all))
    .split(/[\r\n]+/)
    .map((line) => line.replace(/\t+/g, ' ').trim())
    .filter(Boolean);

/** Parses a list whose items are separated by commas or spaces. */
export const parseList = (text: string): string[] | undefined => {
  const list = text.split(/[,;\s]+/).filter(Boolean);
  return list.length > 0 ? list : undefined;
};

// Date limits are calendar days. If a time has an offset, the service uses the day as written. It returns the start
// of that day in its own time zone, in UTC. Noon with a small offset falls on the same day in most time zones, even
// for code that interprets it as a time, such as the canvas.
export const dayToTime = (day: string): string => day + 'T12:00:00+00:01';

export function timeToDay(at: unknown, zone = config.zone): string {
  if (typeof at !== 'string' || Number.isNaN(Date.parse(at))) return '';
  if (!/(Z|[+-]00:00)$/i.test(at)) return at.slice(0, 10);
  return zonedInputValue(at, zone).slice(0, 10);
}

/** Returns a time in a time zone, in the format that inputs use. */
function zonedInputValue(at: string, zone: string | undefined): string {
  const options = { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-CA', { ...options, timeZone: zone });
  } catch {
    format = new Intl.DateTimeFormat('en-CA', options); // the browser does not know the time zone
  }
  const part = Object.fromEntries(format.formatToParts(new Date(at)).map((p) => [p.type, p.value]));
  return `${part.year!.padStart(4, '0')}-${part.month}-${part.day}T${part.hour}:${part.minute}`;
}

/** Converts an RFC 3339 time to an input's value in the browser's time zone. */
export const timeToInput = (at: unknown): string => (typeof at === 'string' && !Number.isNaN(Date.parse(at)) ? zonedInputValue(at, undefined) : '');

export const inputToTime = (text: string): string | undefined | ValueError => {
  if (text === '') return undefined;
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? valueError('date') : at.toISOString().replace('.000Z', 'Z');
};

let names: readonly (readonly [string, string])[] | undefined;

/** Returns the codes and names of countries, sorted by name. */
export function countries(): readonly (readonly [string, string])[] {
  if (names) return names;
  const name = new Intl.DisplayNames(config.language, { type: 'region', fallback: 'none' });
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
  // These codes are not ISO 3166-1 countries, but browsers have names for them.
  const others = new Set(['AC', 'AN', 'CP', 'CQ', 'CS', 'DG', 'EA', 'EU', 'EZ', 'IC', 'NT', 'QO', 'SU', 'TA', 'UN', 'XA', 'XB', 'YU', 'ZZ']);
  names = letters
    .flatMap((a) => letters.map((b) => a + b))
    .filter((code) => !others.has(code) && new Intl.Locale('und-' + code).region === code)
    .flatMap((code) => [[code, name.of(code) ?? ''] as const])
    .filter(([, text]) => text !== '')
    .sort((a, b) => a[1].localeCompare(b[1], config.language));
  return names;
}
