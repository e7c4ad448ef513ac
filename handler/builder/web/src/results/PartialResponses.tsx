import { useSignal } from '@preact/signals';
import { builderApi, query, type Page } from '../app/api';
import { can } from '../app/config';
import type { Form } from '../app/records';
import { plainText } from '../app/text';
import { formatRelativeTime, formatDate, formatDateTime, t } from '../app/words';
import { Button } from '../ui/Button';
import { ConfirmDialog } from '../ui/Dialog';
import { Empty, ErrorNotice, Loading, showToast, usePages } from '../ui/states';
import { metadataFields, formatDuration, labelAnswer, questionsOf, titleOf, type Metadata } from './answers';
import { Group } from './Response';

/** A partial response, see partialItem in results.go. */
interface PartialResponse {
  id: string;
  saved_at: string;
  ends_at: string;
  shared: boolean;
  answers?: Record<string, unknown>;
  hidden?: Record<string, string>;
  metadata?: Metadata;
  block?: string;
  seconds?: number;
}

/** Lists a form's partial responses. */
export function PartialResponses({ form }: { form: Form }) {
  const { items, loading, more, ...list } = usePages((cursor) => builderApi<Page<PartialResponse>>(`/forms/${form.id}/partials` + query({ limit: 50, cursor })), form.id, (h) => h.id);
  const deleting = useSignal('');
  if (items.length === 0 && !loading && !list.error && !more) {
    return (
      <Empty icon="clock" title={t('results.partials_empty')}>
        <p>{t('results.partials_text')}</p>
      </Empty>
    );
  }
  const all = new Map(questionsOf(form.definition.blocks).map((b) => [b.id, b]));
  const topLevelBlocks = new Map(form.definition.blocks.map((b) => [b.id, { ...b, label: plainText(b.label ?? '') }]));
  return (
    <>
      <p class="muted">{t('results.partials_intro')}</p>
      <ul class="halves stack">
        {items.map((partial) => {
          const answers = Object.entries(partial.answers ?? {}).map(([id, raw]) => labelAnswer(all.get(id), id, raw));
          const otherAnswers = [
            ...Object.entries(partial.hidden ?? {}),
            ...metadataFields.map(([, label, text]) => [label(), text(partial.metadata ?? {})] as const).filter(([, text]) => text),
          ].map(([name, value]) => ({ field: { id: name, type: 'hidden', label: name }, value }));
          const lastBlock = partial.block ? topLevelBlocks.get(partial.block) : undefined;
          return (
            <li key={partial.id} class="card">
              <div class="row">
                <dl class="figures small">
                  <div><dt class="muted">{t('results.saved')}</dt><dd title={formatDateTime(partial.saved_at)}>{formatRelativeTime(partial.saved_at)}</dd></div>
                  <div><dt class="muted">{t('results.expires')}</dt><dd>{formatDate(partial.ends_at)}</dd></div>
                  {lastBlock && <div><dt class="muted">{t('results.last_question')}</dt><dd dir="auto">{titleOf(lastBlock)}</dd></div>}
                  {partial.seconds ? <div><dt class="muted">{t('results.time_taken')}</dt><dd>{formatDuration(partial.seconds)}</dd></div> : null}
                </dl>
                <span class="push">
                  {can('submissions:write') && <Button kind="danger" icon="trash-2" onClick={() => (deleting.value = partial.id)} aria-label={`${t('results.delete')}: ${formatDateTime(partial.saved_at)}`}>{t('results.delete')}</Button>}
                </span>
              </div>
              {!partial.shared && <p class="muted">{t('results.answers_hidden')}</p>}
              {partial.shared && answers.length + otherAnswers.length === 0 && <p class="muted">{t('results.partial_no_answers')}</p>}
              {answers.length + otherAnswers.length > 0 && (
                <details>
                  <summary>{t('results.answers_n', { n: answers.length })}</summary>
                  <Group title={t('results.partial_answers')} answers={answers} blocks={all} />
                  <Group title={t('results.details')} answers={otherAnswers} />
                </details>
              )}
            </li>
          );
        })}
      </ul>
      {list.error ? <ErrorNotice error={list.error} retry={list.next} /> : null}
      {loading && <Loading />}
      {more && !loading && !list.error && <div class="row centered"><Button icon="chevron-down" onClick={list.next}>{t('results.show_more')}</Button></div>}
      {deleting.value && (
        <ConfirmDialog
          danger
          title={t('results.partial_delete_title')}
          text={t('results.partial_delete_text')}
          action={t('results.delete')}
          onClose={() => (deleting.value = '')}
          run={async () => {
            await builderApi(`/forms/${form.id}/partials/${deleting.value}`, { method: 'DELETE' });
            showToast(t('results.partial_deleted'));
            list.remove(deleting.value);
          }}
        />
      )}
    </>
  );
}
