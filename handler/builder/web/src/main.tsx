import { render } from 'preact';
import { signedOut } from './app/api';
import { config, mountPoint } from './app/config';
import { href, route, startRouter } from './app/router';
import { t } from './app/words';
import { Editor } from './editor/Editor';
import { Versions } from './editor/Versions';
import { Forms } from './forms/Forms';
import { Results } from './results/Results';
import { Icon } from './ui/Icon';
import { Empty, Toasts } from './ui/states';
import { Webhooks } from './webhooks/Webhooks';

/** The parts of a form's pages, by the second segment of the path. */
const parts = { '': Editor, results: Results, webhooks: Webhooks, versions: Versions } as const;

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
  const Part = /^[0-9a-f]{24}$/.test(first) && second in parts ? parts[second as keyof typeof parts] : undefined;
  if (Part) return <Part key={first + second} form={first} view={third} />;
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
