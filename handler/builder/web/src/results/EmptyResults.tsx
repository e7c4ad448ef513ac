import type { Form } from '../app/records';
import { href } from '../app/router';
import { t } from '../app/words';
import { Button, LinkButton } from '../ui/Button';
import { Empty } from '../ui/states';
import { readsAnswers, type Filter } from './filter';
import { withoutAnswers } from './FilterBar';

/** Shown if there are no responses. It suggests a next step. */
export function EmptyResults({ form, filter, onFilter }: { form: Form; filter: Filter; onFilter(filter: Filter): void }) {
  if (readsAnswers(filter)) {
    return (
      <Empty icon="inbox" title={t('results.empty_filter')}>
        <Button onClick={() => onFilter(withoutAnswers(filter))}>{t('results.filter_clear')}</Button>
      </Empty>
    );
  }
  if (filter.period !== 'all') {
    return (
      <Empty icon="inbox" title={t('results.empty_range')}>
        <Button onClick={() => onFilter({ period: 'all', from: '', to: '' })}>{t('results.show_all')}</Button>
      </Empty>
    );
  }
  const draft = form.status !== 'published';
  return (
    <Empty icon="inbox" title={t('results.empty')}>
      <p>{t(draft ? 'results.empty_draft' : 'results.empty_text')}</p>
      <LinkButton kind="primary" icon={draft ? 'pencil' : 'share-2'} href={href(form.id)}>{t(draft ? 'results.edit_form' : 'results.share_form')}</LinkButton>
    </Empty>
  );
}
