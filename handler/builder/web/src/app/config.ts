/** What the page says of itself, see pageConfig in page.go. */
export interface Config {
  base: string;
  user: string;
  name: string;
  home: string;
  /** Variables of CSS that are the host's, by their names. */
  style: Record<string, string>;
  /** The theme of new forms. */
  theme?: Record<string, unknown>;
  language: string;
  /** The time zone of calendar days, by its name. */
  zone: string;
  /** Of the page's language: another script, which browsers keep, sets them. */
  words: Record<string, string>;
}

const root = typeof document === 'undefined' ? null : document.getElementById('formsvc-builder');

/** The element that the page is drawn in. Tests have none. */
export const mountPoint = root;

/** What the page says is where the handler is from its own address, which nobody but the browser knows whole. */
export function readConfig(json: string, pageURL: string): Config {
  const config = JSON.parse(json) as Config;
  const base = new URL(config.base, pageURL).pathname.replace(/\/$/, '');
  const { formsvcWords = {} } = globalThis as { formsvcWords?: Record<string, string> };
  return { ...config, base, words: formsvcWords, home: config.home || base + '/' };
}

export const config: Config = root
  ? readConfig(root.dataset.config ?? '{}', location.href)
  : { base: '/forms', user: '', name: 'Forms', home: '/forms/', style: {}, language: 'en', zone: 'UTC', words: {} };
