/** The configuration in the page, see pageConfig in page.go. */
export interface Config {
  base: string;
  user: string;
  name: string;
  home: string;
  /** CSS variables of the host, by name. */
  style: Record<string, string>;
  theme?: Record<string, unknown>;
  language: string;
  /** The name of the time zone for calendar days. */
  zone: string;
  /** The texts in the page's language. A separate script sets them, so that browsers can cache it. */
  words: Record<string, string>;
}

const root = typeof document === 'undefined' ? null : document.getElementById('formsvc-builder');

/** The element that contains the page. Tests have none. */
export const mountPoint = root;

/** Only the browser knows the whole URL of the page, so base is resolved against it. */
export function readConfig(json: string, pageURL: string): Config {
  const config = JSON.parse(json) as Config;
  const base = new URL(config.base, pageURL).pathname.replace(/\/$/, '');
  const { formsvcWords = {} } = globalThis as { formsvcWords?: Record<string, string> };
  return { ...config, base, words: formsvcWords, home: config.home || base + '/' };
}

export const config: Config = root
  ? readConfig(root.dataset.config ?? '{}', location.href)
  : { base: '/forms', user: '', name: 'Forms', home: '/forms/', style: {}, language: 'en', zone: 'UTC', words: {} };
