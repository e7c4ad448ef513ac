import { config } from './config';

/**
 * The text of a key in the page's language, with {name} replaced by a parameter. A key that ends in
 * _one is taken in place of its own when the parameter n is 1.
 */
export function t(key: string, params: Record<string, string | number> = {}): string {
  const one = params.n === 1 ? config.words[key + '_one'] : undefined;
  const text = one ?? config.words[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => (name in params ? format(params[name]!) : whole));
}

/** What the service said, in the page's language: by its code, where there are words for it. */
export function told<T extends { code: string; message: string; params?: Record<string, string | number> }>(said: T): T {
  const { code, message, params } = said;
  const key = [`errors.${code}.${params?.reason}`, 'errors.' + code].find((key) => config.words[key] !== undefined);
  return key === undefined ? said : { ...said, message: t(key, { ...params, message }) };
}

/** A JSON Pointer into a form for people: /definition/blocks/0/label is "Blocks 1 › Label". */
export function placeOf(pointer: string): string {
  const names = pointer.split('/').filter((name) => !['', 'definition', 'properties'].includes(name)).map((name) => {
    const plain = config.words['props.' + name] ?? name.replace(/_/g, ' ').replace(/([a-z])([A-Z])/g, (_, a: string, b: string) => `${a} ${b.toLowerCase()}`);
    return /^\d+$/.test(name) ? ' ' + (Number(name) + 1) : ' › ' + plain.charAt(0).toUpperCase() + plain.slice(1);
  });
  return names.join('').replace(/^ › /, '');
}

function format(value: string | number): string {
  return typeof value === 'number' ? number(value) : value;
}

export const number = (n: number, options?: Intl.NumberFormatOptions): string =>
  new Intl.NumberFormat(config.language, options).format(n);

export const day = (at: string | Date): string =>
  new Intl.DateTimeFormat(config.language, { dateStyle: 'medium' }).format(new Date(at));

export const moment = (at: string | Date): string =>
  new Intl.DateTimeFormat(config.language, { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(at));

/** "3 minutes ago", in the page's language. */
export function ago(at: string | Date, now = Date.now()): string {
  const seconds = (new Date(at).getTime() - now) / 1000;
  const units: [Intl.RelativeTimeFormatUnit, number][] = [['year', 31_536_000], ['month', 2_592_000], ['day', 86_400], ['hour', 3_600], ['minute', 60]];
  const relative = new Intl.RelativeTimeFormat(config.language, { numeric: 'auto' });
  for (const [unit, size] of units) {
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  }
  return relative.format(0, 'minute');
}
