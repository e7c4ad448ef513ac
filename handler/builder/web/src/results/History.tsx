import type { Block } from '../app/records';
import { authorName, formatDateTime, t } from '../app/words';
import { ValueChange } from '../editor/differences';
import { answerText, titleOf, type Answer, type Submission } from './answers';
import { Group } from './Response';

/** A response with its earlier states, newest first, see getSubmission in results.go. */
export interface ResponseDetail extends Submission {
  changes: number;
  /** Null if the storage cannot change responses. */
  history: { answers: Answer[]; replaced_at: string; replaced_by: string; by_respondent: boolean }[] | null;
}

interface AnswerChange {
  before?: Answer | undefined;
  after?: Answer | undefined;
}

/** Returns the answers that differ, in the new order. Removed answers come last. */
export function changedAnswers(before: Answer[], after: Answer[]): AnswerChange[] {
  const key = ({ field }: Answer) => (/^(hidden|variable)$/.test(field.type) ? field.type : 'answer') + '.' + field.id; // a hidden field can have a block's id
  const [old, current] = [before, after].map((list) => new Map(list.map((a) => [key(a), a]))) as [Map<string, Answer>, Map<string, Answer>];
  return [...new Set([...current.keys(), ...old.keys()])]
    .map((k) => ({ before: old.get(k), after: current.get(k) }))
    .filter((c) => JSON.stringify(c.before?.value) !== JSON.stringify(c.after?.value));
}

/** Lists the changes of a response, newest first, with the answers before each change. */
export function History({ response, blocks }: { response: ResponseDetail; blocks: Map<string, Block> }) {
  const states = response.history ?? [];
  if (states.length === 0) return null;
  const text = (answer: Answer | undefined) => (answer && answerText(answer, blocks.get(answer.field.id))) || t('editor.change_empty');
  return (
    <section class="stack no-print" aria-labelledby="history">
      <h3 id="history">{t('results.history')}</h3>
      <ol class="differences">
        {states.map((state, i) => {
          const changes = changedAnswers(state.answers, states[i - 1]?.answers ?? response.answers);
          return (
            <li key={state.replaced_at + i}>
              <div class="row">
                <strong><time dateTime={state.replaced_at}>{formatDateTime(state.replaced_at)}</time></strong>
                <span class="muted">{t('results.history_by', { who: state.by_respondent ? t('results.respondent') : authorName(state.replaced_by) })}</span>
              </div>
              {changes.length === 0 && <p class="muted">{t('results.history_same')}</p>}
              <ul>{changes.map((c) => <ValueChange key={(c.after ?? c.before)!.field.type + (c.after ?? c.before)!.field.id} name={titleOf((c.after ?? c.before)!.field)} was={text(c.before)} is={text(c.after)} />)}</ul>
              <details>
                <summary>{t('results.history_before')}</summary>
                <Group title={t('results.history_until', { time: formatDateTime(state.replaced_at) })} answers={state.answers} blocks={blocks} />
              </details>
            </li>
          );
        })}
      </ol>
      {response.changes > states.length && <p class="muted">{t('results.history_limit', { n: states.length })}</p>}
    </section>
  );
}
