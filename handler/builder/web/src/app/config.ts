export interface NamedItem { name: string; title: string }

/** The configuration in the page, see pageConfig in page.go. */
export interface Config {
  base: string;
  user: string;
  name: string;
  home: string;
  /** The host's CSS variables, by name. */
  style: Record<string, string>;
  theme?: Record<string, unknown>;
  /** Undefined in tests. */
  offer?: Offer;
  /** Undefined if the user can do everything. */
  access?: Access;
  language: string;
  /** The name of the time zone used for calendar days. */
  zone: string;
  /** The host's lists of choices and its checks of answers. */
  lists: NamedItem[];
  checks: NamedItem[];
  /** The texts in the page's language. A separate script sets them, so that browsers can cache it. */
  words: Record<string, string>;
}

/** What users can add to forms, see Offer in offer.go. A list is null if it contains everything. */
interface Offer {
  block_types: string[] | null;
  settings: string[] | null;
  templates: string[] | null;
  no_theme: boolean;
  no_custom_css: boolean;
}

/** What the user can do, see access in access.go. */
interface Access {
  /** Whether the user cannot see this page. */
  refused: boolean;
  scopes: string[];
  list: boolean;
  create_workspace: boolean;
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
  : { base: '/forms', user: '', name: 'Forms', home: '/forms/', style: {}, language: 'en', zone: 'UTC', lists: [], checks: [], words: {} };

/** Reports whether the user has a scope for the page's workspace or form. */
export const can = (scope: string): boolean => config.access?.scopes.includes(scope) ?? true;

/** Reports whether the host offers a block type, a setting or a template. */
export const offers = (list: 'block_types' | 'settings' | 'templates', name: string): boolean => config.offer?.[list]?.includes(name) ?? true;
