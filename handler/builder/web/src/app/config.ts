/** The configuration in the page, see pageConfig in page.go. */
export interface Config {
  base: string;
  user: string;
  name: string;
  home: string;
  /** The host's CSS variables, by name. */
  style: Record<string, string>;
  theme?: Record<string, unknown>;
  language: string;
  /** The name of the time zone used for calendar days. */
  zone: string;
  /** The texts in the page's language. A separate script sets them, so that browsers can cache it. */
  words: Record<string, string>;
}

const root = typeof document === 'undefined' ? null : document.getElementById('formsvc-builder');

/** The element that contains the page. Tests have none. */
export const mountPoint = root;

/** Resolves base against the page's URL, because only the browser knows the full URL. */
export function readConfig(json: string, pageURL: string): Config {
  const config = JSON.parse(json) as Config;
  const base = new URL(config.base, pageURL).pathname.replace(/\/$/, '');
  const { formsvcWords = {} } = globalThis as { formsvcWords?: Record<string, string> };
  return { ...config, base, words: formsvcWords, home: config.home || base + '/' };
}

export const config: Config = root
  ? readConfig(root.dataset.config ?? '{}', location.href)
  : { base: '/forms', user: '', name: 'Forms', home: '/forms/', style: {}, language: 'en', zone: 'UTC', words: {} };
