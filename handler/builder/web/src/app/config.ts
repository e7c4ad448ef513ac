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

export const config: Config = root
  ? (JSON.parse(root.dataset.config ?? '{}') as Config)
  : { base: '/forms', user: '', name: 'Forms', home: '/forms/', accent: '', language: 'en', zone: 'UTC', words: {} };
