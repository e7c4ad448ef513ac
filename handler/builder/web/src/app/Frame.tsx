import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { useKeepFocus } from '../ui/states';
import { config } from './config';
import { href, route } from './router';
import { t } from './words';

interface Props {
  /** The id of the form, whose parts are tabs. */
  form?: string;
  /** The one that the form is in, as soon as it is known: the way back leads to it. */
  workspace?: string | undefined;
  /** The name of what the page shows: also its title. */
  title: string;
  /** Right of the name: a sign, or buttons. */
  actions?: ComponentChildren;
  /** The page fills the window and scrolls inside. */
  fill?: boolean;
  children: ComponentChildren;
}

/** The bar at the top and the page below it. */
export function Frame({ form, workspace, title, actions, fill, children }: Props) {
  useEffect(() => {
    document.title = title ? `${title} · ${config.name}` : config.name;
  }, [title]);
  useKeepFocus(route.value);
  const currentPage = route.value.split('/')[1] ?? '';
  return (
    <div class={fill ? 'frame fill' : 'frame'}>
      <header class="bar">
        <a class="skip" href="#main" onClick={(e) => (e.preventDefault(), document.getElementById('main')?.focus())}>{t('app.skip')}</a>
        <a class="brand" href={form ? href(workspace ? 'w/' + workspace : '') : config.home}>{config.name}</a>
        {form && <h1 class="bar-title" dir="auto">{title}</h1>}
        {form && (
          <nav aria-label={t('app.form_navigation')} class="tabs">
            {['', 'results', 'webhooks', 'versions'].map((p) => (
              <a key={p} href={href(form + (p && '/' + p))} aria-current={p === currentPage ? 'page' : undefined}>
                {t('app.part_' + (p || 'edit'))}
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
