import { Frame } from '../app/Frame';
import { t } from '../app/words';

export function Forms({ workspace }: { workspace: string; view: string }) {
  return <Frame title={t('forms.title')}>{workspace}</Frame>;
}
