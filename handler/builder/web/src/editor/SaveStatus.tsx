import { t } from '../app/words';
import { Button } from '../ui/Button';
import { Icon, type IconName } from '../ui/Icon';
import type { Status } from './sync';

const icons: Record<Status, IconName> = {
  loading: 'loader-circle', saved: 'cloud', saving: 'cloud-upload', unsaved: 'cloud-upload', offline: 'cloud-off',
  'signed-out': 'log-in', refused: 'circle-alert', conflict: 'triangle-alert', 'read-only': 'lock', gone: 'circle-alert',
};

/** Shows whether all edits are saved and, if not, why. onExplain shows the violations in rejected edits. */
export function SaveStatus({ status, errors, onRetry, onExplain }: { status: Status; errors: number; onRetry(): void; onExplain(): void }) {
  const isError = ['offline', 'signed-out', 'refused', 'conflict', 'gone'].includes(status);
  return (
    <span class={isError ? 'saved bad' : 'saved'}>
      <span role="status" data-status={status}>
        <Icon name={icons[status]} />
        {status === 'refused'
          ? <button type="button" class="saved-text text-button" onClick={onExplain}>{t('editor.status_refused', { n: errors })}</button>
          : <span class="saved-text">{t('editor.status_' + status)}</span>}
      </span>
      {(status === 'offline' || status === 'signed-out') && <Button kind="quiet" onClick={onRetry}>{t('app.try_again')}</Button>}
    </span>
  );
}
