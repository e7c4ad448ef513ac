import { config } from './config';

/**
 * Returns a key's text in the page's language and replaces each {name} with its parameter. If n is 1, it uses the
 * text of key_one if that key exists.
 */
export function t(key: string, params: Record<string, string | number> = {}): string {
  const one = params.n === 1 ? config.words[key + '_one'] : undefined;
  const text = one ?? config.words[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => (name in params ? formatParam(params[name]!) : whole));
}

/** Replaces an error's or warning's message with the text for its code in the page's language, if there is one. */
export function localizeMessage<T extends { code: string; message: string; params?: Record<string, string | number> }>(error: T): T {
  const { code, message, params } = error;
  const key = [`errors.${code}.${params?.reason}`, 'errors.' + code].find((key) => config.words[key] !== undefined);
  return key === undefined ? error : { ...error, message: t(key, { ...params, message }) };
}

/** Splits a field name into words: "imageAlign" becomes "image align". */
export const splitWords = (name: string): string =>
  name.replace(/_/g, ' ').replace(/([a-z])([A-Z])/g, (_, a: string, b: string) => `${a} ${b.toLowerCase()}`);

export const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Makes a JSON Pointer readable: /definition/blocks/0/label becomes "Blocks 1 › Label". */
export function describePointer(pointer: string): string {
  const names = pointer.split('/').filter((name) => !['', 'definition', 'properties'].includes(name)).map((name) => {
    return /^\d+$/.test(name) ? ' ' + (Number(name) + 1) : ' › ' + capitalize(config.words['props.' + name] ?? splitWords(name));
  });
  return names.join('').replace(/^ › /, '');
}

function formatParam(value: string | number): string {
  return typeof value === 'number' ? formatNumber(value) : value;
}

export const formatNumber = (n: number, options?: Intl.NumberFormatOptions): string =>
  new Intl.NumberFormat(config.language, options).format(n);

export const formatDate = (at: string | Date): string =>
  new Intl.DateTimeFormat(config.language, { dateStyle: 'medium' }).format(new Date(at));

export const formatDateTime = (at: string | Date): string =>
  new Intl.DateTimeFormat(config.language, { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(at));

/** Returns a name for the user who made a change. The service only knows ids, and no id means the host. */
export const authorName = (id: string): string => (id === config.user ? t('app.by_you') : /^0*$/.test(id) ? t('app.by_system') : id);

/** Returns a text such as "3 minutes ago" in the page's language. */
export function formatRelativeTime(at: string | Date, now = Date.now()): string {
  const seconds = (new Date(at).getTime() - now) / 1000;
  const units: [Intl.RelativeTimeFormatUnit, number][] = [['year', 31_536_000], ['month', 2_592_000], ['day', 86_400], ['hour', 3_600], ['minute', 60]];
  const relative = new Intl.RelativeTimeFormat(config.language, { numeric: 'auto' });
  for (const [unit, size] of units) {
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  }
  return relative.format(0, 'minute');
}
