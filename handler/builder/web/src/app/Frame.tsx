import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { useKeepFocus } from '../ui/states';
import { can, config } from './config';
import { href, route } from './router';
import { t } from './words';

/** The scope for each page of a form, in addition to forms:read. See pageScopes in access.go. */
const pageScopes: Record<string, string> = { '': 'forms:read', results: 'submissions:read', webhooks: 'webhooks:read', versions: 'forms:write' };

interface Props {
  /** If set, the bar shows the form's tabs. */
  form?: string | undefined;
  /** The form's workspace, for the link back. It is undefined until the form is loaded. */
  workspace?: string | undefined;
  /** Also used as the document's title. */
  title: string;
  /** A badge or buttons, shown at the end of the bar. */
  actions?: ComponentChildren;
  /** Whether the page fills the window and its content scrolls. */
  fill?: boolean;
  children: ComponentChildren;
}

export function Frame({ form, workspace, title, actions, fill, children }: Props) {
  useEffect(() => {
    document.title = title ? `${title} · ${config.name}` : config.name;
  }, [title]);
  useKeepFocus(route.value);
  const back = form ? href(workspace ? 'w/' + workspace : '') : config.home;
  const currentPage = route.value.split('/')[1] ?? '';
  return (
    <div class={fill ? 'frame fill' : 'frame'}>
      <header class="bar">
        <a class="skip" href="#main" onClick={(e) => (e.preventDefault(), document.getElementById('main')?.focus())}>{t('app.skip')}</a>
        <a class="brand" href={config.access?.list === false && back.startsWith(config.base + '/') ? undefined : back}>{config.name}</a>
        {form && <h1 class="bar-title" dir="auto">{title}</h1>}
        {form && (
          <nav aria-label={t('app.form_navigation')} class="tabs">
            {Object.keys(pageScopes).filter((p) => can(pageScopes[p]!)).map((p) => (
              <a key={p} href={href(form + (p && '/' + p))} aria-current={p === currentPage ? 'page' : undefined}>
                {t('app.nav_' + (p || (can('forms:write') ? 'edit' : 'view')))}
              </a>
            ))}
          </nav>
        )}
        <div class="bar-actions">{actions}</div>
      </header>
      <main id="main" tabIndex={-1}>{children}</main>
    </div>
  );
}
