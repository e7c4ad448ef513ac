import { signal } from '@preact/signals';
import { config } from './config';

const currentPath = (): string => {
  const path = location.pathname;
  return path.startsWith(config.base) ? path.slice(config.base.length).replace(/^\//, '') : '';
};

/** The path below the handler's own, without a leading slash, such as "{form}/results". */
export const route = signal(typeof location === 'undefined' ? '' : currentPath());

/** The query of the URL, with its question mark. */
export const search = signal(typeof location === 'undefined' ? '' : location.search);

const updateRoute = (): void => {
  route.value = currentPath();
  search.value = location.search;
};

export const href = (to: string): string => config.base + '/' + to;

/** The part of a path that names a workspace or a form. */
const subjectOf = (path: string): string => path.split('/', path.startsWith('w/') ? 2 : 1).join();

/** Opens a page. If the page is already shown, no history entry is added. */
export function navigate(to: string, replace = false): void {
  if (config.access && subjectOf(to) !== subjectOf(route.peek())) {
    location.assign(href(to)); // each page's configuration has the user's scopes for one workspace or form
    return;
  }
  const isCurrent = href(to) === location.pathname + location.search;
  history[replace || isCurrent ? 'replaceState' : 'pushState'](null, '', href(to));
  updateRoute();
  scrollTo(0, 0);
}

export function startRouter(): void {
  addEventListener('popstate', updateRoute);
  // Links within the builder are opened without a reload, unless the user opens a new tab or window.
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
    const path = link.pathname.startsWith(config.base + '/') ? link.pathname.slice(config.base.length + 1) : null;
    if (path === null || path.startsWith('-/')) return;
    event.preventDefault();
    navigate(path + link.search);
  });
}
