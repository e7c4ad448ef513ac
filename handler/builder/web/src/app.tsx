import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { signedOut } from './app/api';
import { config, mountPoint } from './app/config';
import { failed, load, loaded } from './app/parts';
import { href, route, startRouter } from './app/router';
import { t } from './app/words';
import { Forms } from './forms/Forms';
import { Icon } from './ui/Icon';
import { Empty, Failed, Loading, Toasts } from './ui/states';

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
  if (first === '' || first === 'w') return <Forms workspace={second} view={third} />;
  if (/^[0-9a-f]{24}$/.test(first)) return <FormPage form={first} part={second} view={third} />;
  return <Nowhere />;
}

function FormPage({ form, part, view }: { form: string; part: string; view: string }) {
  useEffect(() => {
    if (!loaded.value) load();
  }, []);
  if (failed.value) return <Failed error={undefined} again={() => location.reload()} />;
  if (!loaded.value) return <Loading />;
  const { parts } = loaded.value;
  const Part = part in parts ? parts[part as keyof typeof parts] : Nowhere;
  return <Part key={form + part} form={form} view={view} />;
}

function Nowhere() {
  return (
    <Empty icon="circle-help" title={t('app.not_found')}>
      <a href={href('')}>{t('app.back')}</a>
    </Empty>
  );
}

/** The host's colors and font. */
function dress(root: HTMLElement): void {
  for (const [name, value] of Object.entries(config.style)) root.style.setProperty(name, value);
  root.classList.toggle('tinted', '--ground' in config.style);
}

/** Tells the styles how much of the window the host's layout takes above the pages. */
function fit(root: HTMLElement): void {
  const measure = () => root.style.setProperty('--above', `${Math.max(0, root.getBoundingClientRect().top + scrollY)}px`);
  measure();
  new ResizeObserver(measure).observe(document.body);
}

if (mountPoint) {
  dress(mountPoint);
  fit(mountPoint);
  startRouter();
  render(<App />, mountPoint);
}
