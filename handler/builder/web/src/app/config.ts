/** What the page says of itself, see pageConfig in page.go. */
export interface Config {
  base: string;
  user: string;
  name: string;
  home: string;
  accent: string;
  language: string;
  /** The time zone of calendar days, by its name. */
  zone: string;
  words: Record<string, string>;
}

const root = typeof document === 'undefined' ? null : document.getElementById('formsvc-builder');

/** The element that the page is drawn in. Tests have none. */
export const mountPoint = root;

/** What the page says is where the handler is from its own address, which nobody but the browser knows whole. */
export function read(said: string, address: string): Config {
  const config = JSON.parse(said) as Config;
  const base = new URL(config.base, address).pathname.replace(/\/$/, '');
  return { ...config, base, home: config.home || base + '/' };
}

export const config: Config = root
  ? read(root.dataset.config ?? '{}', location.href)
  : { base: '/forms', user: '', name: 'Forms', home: '/forms/', accent: '', language: 'en', zone: 'UTC', words: {} };
