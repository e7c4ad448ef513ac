import type { ComponentChildren } from 'preact';
import { config } from '../app/config';
import { isObject } from '../app/json';
import { allBlocks, type Block, type Choice, type Form } from '../app/records';
import { formatDateTime, formatNumber, t } from '../app/words';
import { labelInsertions, plainText } from '../app/text';
import { isQuestion } from '../editor/positions';

export interface Answer {
  /** The text is that of a legal block. */
  field: { id: string; type: string; label: string; text?: string };
  value: unknown;
}

export interface Metadata {
  country?: string;
  device?: string;
  user_agent?: string;
  utm?: Record<string, string>;
}

export interface Submission {
  id: string;
  submitted_at: string;
  metadata: Metadata;
  answers: Answer[];
  completion_time: number;
  /** Missing if the answers never changed, and in responses of the API. */
  changed_at?: string;
}

type ChoiceValue = { id: string; label?: string } | { other: string };
interface File {
  name: string;
  url: string;
  size: number;
}

/** Returns all questions in form order, with labels without formatting. */
export const questionsOf = (blocks: Block[]): Block[] => allBlocks(blocks).filter((b) => isQuestion(b.type)).map((b) => ({ ...b, label: plainText(b.label ?? '') }));

export const titleOf = (b: { id: string; label?: string }): string => labelInsertions(b.label ?? '').trim() || t('results.untitled') + ' (' + b.id + ')';

export function formatDuration(seconds: number): string {
  if (seconds < 60) return t('results.seconds', { n: Math.round(seconds) });
  if (seconds < 3600) return t('results.minutes', { n: Math.floor(seconds / 60) }) + ' ' + t('results.seconds', { n: Math.floor(seconds % 60) });
  return t('results.hours', { n: Math.floor(seconds / 3600) }) + ' ' + t('results.minutes', { n: Math.floor((seconds % 3600) / 60) });
}

let regions: Intl.DisplayNames | undefined;

export function countryName(code: string): string {
  try {
    regions ??= new Intl.DisplayNames([config.language], { type: 'region' });
    return regions.of(code) ?? code;
  } catch {
    return code; // an invalid code, or a language that the browser does not support
  }
}

const formatDateAnswer = (text: string): string =>
  text.includes('T') ? formatDateTime(text) : new Intl.DateTimeFormat(config.language, { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(text));

/** Returns a function for the texts of choices. It uses current labels, except for removed choices and a host's list. */
const choiceText = (block?: Block) => {
  const rule = block?.properties?.rule;
  const choices = isObject(rule) && rule.choices ? undefined : (block?.choices ?? block?.matrix_columns);
  return (pick: ChoiceValue | string): string =>
    typeof pick === 'string' ? pick : 'other' in pick ? pick.other : choices?.find((c) => c.id === pick.id)?.label || pick.label || pick.id;
};

const toList = <T,>(value: unknown): T[] => (Array.isArray(value) ? value : value === null || value === undefined ? [] : [value]) as T[];

/** Returns the label of a matrix row. Answers contain only its ID, so a deleted row has no label. */
function rowName(id: string, block?: Block): string {
  const row = block?.matrix_rows?.find((r) => r.id === id);
  return row || !block?.matrix_rows ? row?.label || id : t('editor.deleted_choice', { id });
}

/** Returns an answer's parts: a matrix's rows or an address's parts. */
function answerParts({ field, value }: Answer, block?: Block): [name: string, text: string][] {
  return Object.entries(value as Record<string, unknown>).map(([key, part]) =>
    field.type === 'matrix'
      ? [rowName(key, block), toList<ChoiceValue>(part).map(choiceText(block)).join(', ')]
      : [key, key === 'country' ? countryName(String(part)) : String(part)],
  );
}

/** Returns an answer as one line of text. Unknown values are shown as stored. */
export function answerText(answer: Answer, block?: Block): string {
  const { field, value } = answer;
  try {
    if (typeof value === 'boolean') return t(value ? 'results.true' : 'results.false');
    if (typeof value === 'number') return formatNumber(value, { maximumFractionDigits: 10 });
    if (typeof value === 'string') return field.type === 'country' ? countryName(value) : field.type === 'date' ? formatDateAnswer(value) : value;
    switch (field.type) {
      case 'ranking':
        return toList<ChoiceValue>(value).map((p, i) => `${i + 1}. ${choiceText(block)(p)}`).join(', ');
      case 'file_upload':
      case 'signature':
        return toList<File>(value).map((f) => f.name).join(', ');
      case 'matrix':
        return answerParts(answer, block).map(([row, text]) => `${row}: ${text}`).join('; ');
      case 'address':
      case 'contact_info':
        return answerParts(answer).map(([, text]) => text).join(', ');
      case 'payment': {
        const p = value as Record<string, string>;
        return [p.amount, p.currency, p.status].filter(Boolean).join(' ');
      }
    }
    return toList<ChoiceValue>(value).map(choiceText(block)).join(', ');
  } catch {
    return typeof value === 'string' ? value : JSON.stringify(value);
  }
}

/** A link to a file, or a link that a respondent entered. Only http and mailto links are rendered. */
const SafeLink = ({ to, children }: { to: string; children: ComponentChildren }) =>
  /^(https?:\/\/|mailto:)/i.test(to) ? <a href={to} target="_blank" rel="noopener noreferrer">{children}</a> : <>{children}</>;

/** Shows an answer on a response's page. */
export function AnswerValue({ answer, block }: { answer: Answer; block: Block | undefined }) {
  const { field, value } = answer;
  const text = answerText(answer, block);
  if (field.type === 'email') return <SafeLink to={'mailto:' + encodeURIComponent(text).replace('%40', '@')}>{text}</SafeLink>;
  if (field.type === 'website') return <SafeLink to={text}>{text}</SafeLink>;
  if (field.type === 'file_upload' || field.type === 'signature') {
    return (
      <ul>
        {toList<File>(value).map((f, i) => (
          <li key={i}>
            <SafeLink to={f.url}>{f.name}</SafeLink> <span class="muted">{t('results.file_size', { n: Math.ceil(f.size / 1000) })}</span>
          </li>
        ))}
      </ul>
    );
  }
  if (value !== null && typeof value === 'object' && ['matrix', 'address', 'contact_info', 'payment'].includes(field.type)) {
    return (
      <dl class="parts">
        {answerParts(answer, block).map(([name, part]) => (
          <div key={name}>
            <dt>{field.type === 'matrix' ? name : t('results.part_' + name)}</dt>
            <dd dir="auto">{part}</dd>
          </div>
        ))}
      </dl>
    );
  }
  if (Array.isArray(value)) {
    const items = value.map((p, i) => <li key={i} dir="auto">{choiceText(block)(p as ChoiceValue)}</li>);
    return field.type === 'ranking' ? <ol class="numbered">{items}</ol> : <ul>{items}</ul>;
  }
  return <span class="written">{text}</span>;
}

/** Converts an answer in a partial response, which contains only ids. It uses the form's current labels. */
export function labelAnswer(block: Block | undefined, id: string, raw: unknown): Answer {
  const field = { id, type: block?.type ?? '', label: block?.label ?? id };
  const labelChoice = (choices: Choice[] | undefined) => (v: unknown): unknown =>
    Array.isArray(v) ? v.map(labelChoice(choices)) : typeof v === 'string' ? { id: v, label: choices?.find((c) => c.id === v)?.label || v } : v;
  if (block?.choices) return { field, value: labelChoice(block.choices)(raw) };
  if (block?.type === 'matrix' && raw !== null && typeof raw === 'object') {
    const name = labelChoice(block.matrix_columns);
    return { field, value: Object.fromEntries(Object.entries(raw).map(([row, cell]) => [row, name(cell)])) };
  }
  return { field, value: raw };
}

/** A table column. */
export interface Column {
  key: string;
  label: string;
  group: 'questions' | 'more' | 'details';
  text(s: Submission): string;
}

/** Returns the columns for a form and its responses. Blocks that were removed from the form come last. */
export function columnsOf(form: Form, found: Submission[]): Column[] {
  const columns = new Map<string, Column>();
  const add = (group: Column['group'], id: string, label: string, block?: Block) => {
    const key = 'a:' + id;
    if (columns.has(key)) return;
    columns.set(key, {
      key, label, group,
      text: (s) => {
        const answer = s.answers.find((a) => a.field.id === id);
        return answer ? answerText(answer, block) : '';
      },
    });
  };
  for (const b of questionsOf(form.definition.blocks)) add('questions', b.id, titleOf(b), b);
  for (const name of [...form.definition.hidden_fields, ...Object.keys(form.definition.variables)]) add('more', name, name);
  for (const { field } of found.flatMap((s) => s.answers)) {
    add(field.type === 'hidden' || field.type === 'variable' ? 'more' : 'questions', field.id, titleOf(field));
  }
  const detail = (key: string, label: string, text: Column['text']) => columns.set('d:' + key, { key: 'd:' + key, label, group: 'details', text });
  detail('duration', t('results.time_taken'), (s) => formatDuration(s.completion_time));
  for (const [key, label, text] of metadataFields) detail(key, label(), (s) => text(s.metadata));
  detail('id', t('results.id'), (s) => s.id);
  return [...columns.values()];
}

/** Returns the length of the common prefix, up to the start of a word. */
function sharedLength(a: string[], b: string[]): number {
  let n = 0;
  while (n < a.length && a[n] === b[n]) n++;
  const word = a.lastIndexOf(' ', n < a.length ? n : n - 1);
  return word < 0 ? n : Math.min(n, word + 1);
}

/**
 * Shortens labels so that they are easy to tell apart: a long common prefix is removed, and equal labels are
 * numbered.
 */
export function shortHeadings(labels: string[]): string[] {
  const all = labels.map((label) => [...label.replace(/\s+/g, ' ')]);
  return all.map((own, i) => {
    const text = own.join('');
    const common = Math.max(0, ...all.filter((other) => other.join('') !== text).map((other) => sharedLength(own, other)));
    const before = all.slice(0, i).filter((other) => other.join('') === text).length;
    return (common > 20 ? '… ' + own.slice(common).join('').trimStart() : text) + (before > 0 ? ` (${before + 1})` : '');
  });
}

/** A response's metadata, with labels and texts. */
export const metadataFields: [key: string, label: () => string, text: (m: Metadata) => string][] = [
  ['country', () => t('results.country'), (m) => (m.country ? countryName(m.country) : '')],
  ['device', () => t('results.device'), (m) => m.device ?? ''],
  ['user_agent', () => t('results.user_agent'), (m) => m.user_agent ?? ''],
  ...['campaign', 'content', 'medium', 'source', 'term'].map(
    (name) => ['utm.' + name, () => t('results.utm', { name }), (m: Metadata) => m.utm?.[name] ?? ''] as (typeof metadataFields)[number],
  ),
];
