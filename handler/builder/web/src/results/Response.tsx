import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { ApiError, builderApi } from '../app/api';
import { can } from '../app/config';
import type { Block, Form } from '../app/records';
import { navigate, href } from '../app/router';
import { formatDateTime, t } from '../app/words';
import { openLink } from '../editor/Share';
import { Button, LinkButton } from '../ui/Button';
import { Icon } from '../ui/Icon';
import { Empty, ErrorNotice, Loading, onReturn, useLoaded } from '../ui/states';
import { metadataFields, formatDuration, questionsOf, titleOf, AnswerValue, type Answer } from './answers';
import { adjacentResponses } from './responses';
import { History, type ResponseDetail } from './History';
import { DeleteDialog } from './Table';
import { filterQuery, type Filter } from './filter';

/** Shows a response, on screen and in print. */
export function Response({ form, id, filter }: { form: Form; id: string; filter: Filter }) {
  const response = useLoaded(() => builderApi<ResponseDetail>(`/forms/${form.id}/submissions/${id}`), [id]);
  const adjacent = useLoaded(async () => (response.value ? adjacentResponses(form.id, response.value, filter) : undefined), [response.value, filterQuery(filter)]);
  const deleting = useSignal(false);
  const edited = useSignal(false); // whether another tab may change the response
  useEffect(() => (edited.value ? onReturn(response.reload) : undefined), [edited.value]);
  const link = (to: string) => `${form.id}/results/${to}${filterQuery(filter)}`;
  const back = (
    <a class="row" href={href(link('responses'))}>
      <Icon name="arrow-left" /> {t('results.back')}
    </a>
  );
  if (response.error) {
    return response.error instanceof ApiError && response.error.status === 404 ? (
      <Empty icon="inbox" title={t('results.missing')}>{back}</Empty>
    ) : (
      <ErrorNotice error={response.error} retry={response.reload} />
    );
  }
  const s = response.value;
  if (!s) return <Loading />;
  const blocks = questionsOf(form.definition.blocks);
  const byId = new Map(blocks.map((b) => [b.id, b]));
  const answersOfType = (type: string) => s.answers.filter((a) => a.field.type === type);
  const answered = s.answers.filter((a) => a.field.type !== 'hidden' && a.field.type !== 'variable');
  const missing = blocks.filter((b) => !s.answers.some((a) => a.field.id === b.id));
  const { newer, older } = adjacent.value ?? {};
  return (
    <article class="response stack" aria-labelledby="response-title">
      <div class="row no-print">
        {back}
        <span class="row push">
          {newer && <LinkButton icon="chevron-left" href={href(link(newer))}>{t('results.newer')}</LinkButton>}
          {older && <LinkButton href={href(link(older))}>{t('results.older')}<Icon name="chevron-right" /></LinkButton>}
          {can('submissions:write') && s.history && <Button icon="pencil" onClick={() => ((edited.value = true), void openLink(`/forms/${form.id}/submissions/${id}/edit`))}>{t('results.edit')}</Button>}
          <Button icon="printer" onClick={() => print()}>{t('results.print')}</Button>
          {can('submissions:write') && <Button kind="danger" icon="trash-2" onClick={() => (deleting.value = true)}>{t('results.delete')}</Button>}
        </span>
      </div>
      <p class="print-only">{form.name}</p>
      <h2 id="response-title">{t('results.response', { time: formatDateTime(s.submitted_at) })}</h2>
      {s.changed_at && <p class="muted">{t('results.changed_n', { n: s.changes, time: formatDateTime(s.changed_at) })}</p>}
      <div class="card">
        <dl class="answers">
          {answered.map((a) => <Entry key={a.field.id} name={titleOf(a.field)}><AnswerValue answer={a} block={byId.get(a.field.id)} />{a.field.text && <p class="muted">{a.field.text}</p>}</Entry>)}
        </dl>
      </div>
      {missing.length > 0 && (
        <details class="no-print">
          <summary>{t('results.not_answered', { n: missing.length })}</summary>
          <ul class="missing">{missing.map((b) => <li key={b.id} dir="auto">{titleOf(b)}</li>)}</ul>
        </details>
      )}
      <Group title={t('results.hidden')} answers={answersOfType('hidden')} />
      <Group title={t('results.variables')} answers={answersOfType('variable')} />
      <section class="stack">
        <h3>{t('results.details')}</h3>
        <dl class="answers compact">
          <Entry name={t('results.submitted')}>{formatDateTime(s.submitted_at)}</Entry>
          <Entry name={t('results.time_taken')}>{formatDuration(s.completion_time)}</Entry>
          {metadataFields.map(([key, label, text]) => text(s.metadata) && <Entry key={key} name={label()}>{text(s.metadata)}</Entry>)}
          <Entry name={t('results.id')}><code>{s.id}</code></Entry>
        </dl>
      </section>
      <History response={s} blocks={byId} />
      {deleting.value && (
        <DeleteDialog form={form.id} ids={[s.id]} done={() => navigate(link(older ?? newer ?? 'responses'))} onClose={() => (deleting.value = false)} />
      )}
    </article>
  );
}

const Entry = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div>
    <dt dir="auto">{name}</dt>
    <dd dir="auto">{children}</dd>
  </div>
);

/** Shows answers with a title, or nothing if there are no answers. */
export function Group({ title, answers, blocks }: { title: string; answers: Answer[]; blocks?: Map<string, Block> }) {
  if (answers.length === 0) return null;
  return (
    <section class="stack">
      <h3 dir="auto">{title}</h3>
      <dl class="answers compact">
        {answers.map((a) => <Entry key={a.field.id} name={titleOf(a.field)}><AnswerValue answer={a} block={blocks?.get(a.field.id)} /></Entry>)}
      </dl>
    </section>
  );
}
