import { t } from '../app/words';
import { Button } from '../ui/Button';
import { Icon, type IconName } from '../ui/Icon';
import type { Status } from './sync';

const icons: Record<Status, IconName> = {
  loading: 'loader-circle', saved: 'cloud', saving: 'cloud-upload', unsaved: 'cloud-upload', offline: 'cloud-off',
  'signed-out': 'log-in', refused: 'circle-alert', conflict: 'triangle-alert', 'read-only': 'lock', gone: 'circle-alert',
};

/** Says whether the service has everything, and if not, why. */
export function Saved({ status, faults, onRetry }: { status: Status; faults: number; onRetry(): void }) {
  const bad = ['offline', 'signed-out', 'refused', 'conflict', 'gone'].includes(status);
  return (
    <span class={bad ? 'saved bad' : 'saved'}>
      <span role="status" data-status={status}>
        <Icon name={icons[status]} />
        <span class="saved-text">{t('editor.status_' + status, { n: faults })}</span>
      </span>
      {(status === 'offline' || status === 'signed-out') && <Button kind="quiet" onClick={onRetry}>{t('app.again')}</Button>}
    </span>
  );
}
