import type { FormSummary } from './records';
import { t } from './words';

type FormState = Pick<FormSummary, 'status' | 'is_closed'>;

export const stateOf = (form: FormState) => (form.status === 'draft' ? 'draft' : form.is_closed ? 'closed' : 'published');

/** The state of a form. unpublished: respondents do not see the latest changes. short: what counts most. */
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
