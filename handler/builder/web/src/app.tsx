import { signal } from '@preact/signals';
import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { signedOut } from './app/api';
import { config, mountPoint } from './app/config';
import { href, route, startRouter } from './app/router';
import { t } from './app/words';
import { Forms } from './forms/Forms';
import { Icon } from './ui/Icon';
import { Empty, Failed, Loading, Toasts } from './ui/states';

const loaded = signal<typeof import('./form').parts | undefined>(undefined);
const failed = signal(false);

function load(): void {
  failed.value = false;
  import('./form').then(
    (form) => (loaded.value = form.parts),
    () => (failed.value = true), // no connection, or the server has another version by now
  );
}

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
  const Part = part in loaded.value ? loaded.value[part as keyof typeof loaded.value] : Nowhere;
  return <Part key={form + part} form={form} view={view} />;
}

function Nowhere() {
  return (
    <Empty icon="circle-help" title={t('app.not_found')}>
      <a href={href('')}>{t('app.back')}</a>
    </Empty>
  );
}

/** Black or white, whichever is easier to read on a colour. */
function textOn(color: string): string {
  const [r, g, b] = [1, 3, 5].map((i) => {
    const c = parseInt(color.slice(i, i + 2), 16) / 255;
    return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? '#000000' : '#ffffff';
}

if (mountPoint) {
  if (config.accent) {
    mountPoint.style.setProperty('--accent', config.accent);
    mountPoint.style.setProperty('--on-accent', textOn(config.accent));
  }
  startRouter();
  render(<App />, mountPoint);
}
