import { useSignal } from '@preact/signals';
import { door, query, type Page } from '../app/api';
import type { Form } from '../app/records';
import { ago, day, moment, t } from '../app/words';
import { Button } from '../ui/Button';
import { Confirm } from '../ui/Dialog';
import { Empty, Failed, Loading, say, usePages } from '../ui/states';
import { details, duration, labelled, questions, titleOf, type Metadata } from './answers';
import { Group } from './Response';

/** See partialItem in results.go. */
interface Half {
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

/** What respondents have begun and not sent. */
export function Halves({ form }: { form: Form }) {
  const { items, loading, more, ...list } = usePages((cursor) => door<Page<Half>>(`/forms/${form.id}/partials` + query({ limit: 50, cursor })), form.id, (h) => h.id);
  const deleting = useSignal('');
  if (items.length === 0 && !loading && !list.error && !more) {
    return (
      <Empty icon="clock" title={t('results.partials_empty')}>
        <p>{t('results.partials_text')}</p>
      </Empty>
    );
  }
  const all = new Map(questions(form.definition.blocks).map((b) => [b.id, b]));
  const tops = new Map(form.definition.blocks.map((b) => [b.id, b]));
  return (
    <>
      <p class="muted">{t('results.partials_intro')}</p>
      <ul class="halves stack">
        {items.map((half) => {
          const answers = Object.entries(half.answers ?? {}).map(([id, raw]) => labelled(all.get(id), id, raw));
          const rest = [
            ...Object.entries(half.hidden ?? {}),
            ...details.map(([, label, text]) => [label(), text(half.metadata ?? {})] as const).filter(([, text]) => text),
          ].map(([name, value]) => ({ field: { id: name, type: 'hidden', label: name }, value }));
          const reached = half.block ? tops.get(half.block) : undefined;
          return (
            <li key={half.id} class="card">
              <div class="row">
                <dl class="figures small">
                  <div><dt class="muted">{t('results.saved')}</dt><dd title={moment(half.saved_at)}>{ago(half.saved_at)}</dd></div>
                  <div><dt class="muted">{t('results.expires')}</dt><dd>{day(half.ends_at)}</dd></div>
                  {reached && <div><dt class="muted">{t('results.last_question')}</dt><dd dir="auto">{titleOf(reached)}</dd></div>}
                  {half.seconds ? <div><dt class="muted">{t('results.duration')}</dt><dd>{duration(half.seconds)}</dd></div> : null}
                </dl>
                <span class="push">
                  <Button kind="danger" icon="trash-2" onClick={() => (deleting.value = half.id)} aria-label={`${t('results.delete')}: ${moment(half.saved_at)}`}>{t('results.delete')}</Button>
                </span>
              </div>
              {!half.shared && <p class="muted">{t('results.answers_hidden')}</p>}
              {half.shared && answers.length + rest.length === 0 && <p class="muted">{t('results.nothing_filled')}</p>}
              {answers.length + rest.length > 0 && (
                <details>
                  <summary>{t('results.answers_n', { n: answers.length })}</summary>
                  <Group title={t('results.filled_answers')} answers={answers} blocks={all} />
                  <Group title={t('results.details')} answers={rest} />
                </details>
              )}
            </li>
          );
        })}
      </ul>
      {list.error ? <Failed error={list.error} again={list.next} /> : null}
      {loading && <Loading />}
      {more && !loading && !list.error && <div class="row centered"><Button icon="chevron-down" onClick={list.next}>{t('results.more')}</Button></div>}
      {deleting.value && (
        <Confirm
          danger
          title={t('results.partial_delete_title')}
          text={t('results.partial_delete_text')}
          action={t('results.delete')}
          onClose={() => (deleting.value = '')}
          run={async () => {
            await door(`/forms/${form.id}/partials/${deleting.value}`, { method: 'DELETE' });
            say(t('results.partial_deleted'));
            list.remove(deleting.value);
          }}
        />
      )}
    </>
  );
}
