import { t } from '../app/words';
import { Button } from '../ui/Button';
import { Icon, type IconName } from '../ui/Icon';
import type { Status } from './sync';

const icons: Record<Status, IconName> = {
  loading: 'loader-circle', saved: 'cloud', saving: 'cloud-upload', unsaved: 'cloud-upload', offline: 'cloud-off',
  'signed-out': 'log-in', refused: 'circle-alert', conflict: 'triangle-alert', 'read-only': 'lock', gone: 'circle-alert',
};

/** Shows whether all edits are saved and, if not, why. */
export function SaveStatus({ status, errors, onRetry }: { status: Status; errors: number; onRetry(): void }) {
  const isError = ['offline', 'signed-out', 'refused', 'conflict', 'gone'].includes(status);
  return (
    <span class={isError ? 'saved bad' : 'saved'}>
      <span role="status" data-status={status}>
        <Icon name={icons[status]} />
        <span class="saved-text">{t('editor.status_' + status, { n: errors })}</span>
      </span>
      {(status === 'offline' || status === 'signed-out') && <Button kind="quiet" onClick={onRetry}>{t('app.try_again')}</Button>}
    </span>
  );
}
