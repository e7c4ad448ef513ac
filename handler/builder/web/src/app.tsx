import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { signedOut } from './app/api';
import { config, mountPoint } from './app/config';
import { formPagesFailed, loadFormPages, formPages } from './app/formPages';
import { Frame } from './app/Frame';
import { href, route, startRouter } from './app/router';
import { t } from './app/words';
import { Forms } from './forms/Forms';
import { Icon } from './ui/Icon';
import { Empty, ErrorNotice, Loading, Toasts } from './ui/states';

function App() {
  const [first = '', second = '', third = ''] = route.value.split('/');
  return (
    <>
      {signedOut.value && (
        <div class="notice bad" role="alert">
          <Icon name="log-in" />
          <span>{t('app.signed_out')}</span>
          <a class="button" href={location.href} target="_blank" rel="noopener">{t('app.sign_in_again')}</a>
        </div>
      )}
      <Page first={first} second={second} third={third} />
      <Toasts />
    </>
  );
}

function Page({ first, second, third }: { first: string; second: string; third: string }) {
  if (config.access?.refused) return <Refused />;
  if (first === '' || first === 'w') return <Forms workspace={second} view={third} />;
  if (/^[0-9a-f]{24}$/.test(first)) return <FormPage form={first} page={second} view={third} />;
  return <NotFound />;
}

function FormPage({ form, page, view }: { form: string; page: string; view: string }) {
  useEffect(() => {
    if (!formPages.value) loadFormPages();
  }, []);
  if (formPagesFailed.value) return <ErrorNotice error={undefined} retry={() => location.reload()} />;
  if (!formPages.value) return <Loading />;
  const { formPages: pages } = formPages.value;
  const PageComponent = page in pages ? pages[page as keyof typeof pages] : NotFound;
  return <PageComponent key={form + page} form={form} view={view} />;
}

function Refused() {
  return (
    <Frame title={t('app.refused')}>
      <div class="empty">
        <Icon name="lock" />
        <h1 class="empty-title">{t('app.refused')}</h1>
      </div>
    </Frame>
  );
}

function NotFound() {
  return (
    <Empty icon="circle-help" title={t('app.not_found')}>
      <a href={href('')}>{t('app.back')}</a>
    </Empty>
  );
}

/** Applies the host's colors and font. */
function applyHostStyle(root: HTMLElement): void {
  for (const [name, value] of Object.entries(config.style)) root.style.setProperty(name, value);
  root.classList.toggle('tinted', '--ground' in config.style);
}

/** Sets --above to the height that the host's layout takes above the pages. */
function updateTopOffset(root: HTMLElement): void {
  const measure = () => root.style.setProperty('--above', `${Math.max(0, root.getBoundingClientRect().top + scrollY)}px`);
  measure();
  new ResizeObserver(measure).observe(document.body);
}

if (mountPoint) {
  applyHostStyle(mountPoint);
  updateTopOffset(mountPoint);
  startRouter();
  render(<App />, mountPoint);
}
