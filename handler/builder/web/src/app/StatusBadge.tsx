import type { FormSummary } from './records';
import { t } from './words';

type FormState = Pick<FormSummary, 'status' | 'is_closed'>;

export const stateOf = (form: FormState) => (form.status === 'draft' ? 'draft' : form.is_closed ? 'closed' : 'published');

/**
 * Shows a form's state. If unpublished is set, there are unpublished changes. If compact is set, only one
 * badge is shown.
 */
export function StatusBadge({ form, unpublished, compact }: { form: FormState; unpublished?: boolean | undefined; compact?: boolean }) {
  const state = stateOf(form);
  const changed = unpublished && state !== 'draft';
  return (
    <>
      {!(changed && compact) && <span class={`badge ${{ published: 'good', closed: 'warn', draft: '' }[state]}`}>{t('forms.status_' + state)}</span>}
      {changed && <span class="badge warn">{t('forms.status_unpublished')}</span>}
    </>
  );
}
