import { pointerSegments } from '../app/json';
import type { Block, Choice, Definition, Json, JsonObject } from '../app/records';
import { config } from '../app/config';
import { shownText, textMarks } from '../app/text';
import { capitalize, formatDateTime, formatNumber, t, splitWords } from '../app/words';
import { fieldsOf } from '../rules/fields';
import { describeRule, type DescribeJSON } from '../rules/describe';
import { typeName } from './blockTypes';
import { blockLabel } from './positions';

export { pointerSegments as segments };

/** The editable content, see text in publish.go. */
export type FormText = { name: string } & { [S in keyof Definition]: Definition[S] | null };

/** Two versions of the content and their differences, see comparison in publish.go. */
export interface Comparison {
  before: FormText;
  after: FormText;
  blocks: { id: string; added: boolean; removed: boolean; moved: boolean; changed: string[] }[];
  members: string[];
}

export const isSame = (c: Comparison): boolean => c.blocks.length === 0 && c.members.length === 0;

/** Returns the value at the segments of a JSON Pointer. */
export const valueAt = (value: unknown, path: string[]): Json | undefined =>
  path.reduce<unknown>((v, part) => (v === null || typeof v !== 'object' ? undefined : (v as JsonObject)[part]), value) as Json | undefined;

/** Returns the label of a block's or form's field: settings/closed is "Closed". */
export function fieldName(path: string[]): string {
  const [first = '', second] = path;
  const word = (key: string): string | undefined => config.words[key];
  if (first === 'variables' && second !== undefined) return t('editor.publish_variable', { name: second });
  const last = path.at(-1) ?? '';
  const own = (path.join() === 'type' ? word('forms.layout') : undefined) ?? word('editor.publish_field_' + last) ?? (second === undefined ? undefined : word(`props.${first}_${last}`)) ?? word('props.' + last);
  const name = own ?? capitalize(splitWords(last));
  return first === 'theme' ? t('editor.publish_theme', { name }) : name;
}

const truncate = (text: string): string => (text.length > 120 ? text.slice(0, 119) + '…' : text);

/** Describes a value in a few words. */
export function describeValue(value: Json | undefined, inList = false): string {
  if (value === undefined || value === null || value === '') return t('editor.change_empty');
  if (typeof value === 'boolean') return t(value ? 'editor.change_yes' : 'editor.change_no');
  if (typeof value === 'number') return formatNumber(value);
  if (typeof value === 'string') return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(value) ? formatDateTime(value) : inList ? truncate(value) : t('rules.quoted', { text: truncate(value) });
  if (Array.isArray(value)) return value.length === 0 ? t('editor.change_empty') : truncate(value.map((v) => describeValue(v, true)).join(', '));
  const labeled = value as Choice & Partial<Block>;
  return labeled.label || labeled.type || labeled.id ? truncate((labeled.type ? shownText(labeled.label) : labeled.label) || (labeled.type ? typeName(labeled.type) : labeled.id!)) : truncate(JSON.stringify(value));
}

/** Describes a rule in sentences. */
const describeRuleOf = (rule: Json | undefined, { blocks, hidden_fields, variables }: FormText, untold?: DescribeJSON): string[] =>
  describeRule(rule, fieldsOf({ blocks: blocks ?? [], hidden_fields: hidden_fields ?? [], variables: variables ?? {} }), t, untold);

/** Returns false for a missing value if the other side is a boolean, because a missing switch is off. */
const withDefault = (value: Json | undefined, other: Json | undefined): Json | undefined => (typeof other === 'boolean' ? (value ?? false) : value);

/** Describes a block's field. other is the block on the other side. */
function describeField(path: string[], block: unknown, other: unknown, text: FormText, untold?: DescribeJSON): string {
  const value = withDefault(valueAt(block, path), valueAt(other, path));
  if (path.join() === 'type' && block === text) return t('forms.layout_' + String(value));
  const marks = textMarks[path.at(-2) === 'settings' ? path.at(-1)! : path.join('.')];
  if (marks && typeof value === 'string') {
    const [plain, otherPlain] = [value, valueAt(other, path)].map((v) => shownText(typeof v === 'string' ? v : '', marks));
    return describeValue(plain === otherPlain ? value : plain); // if only marks differ, they are shown
  }
  const rule = path.join() === 'properties,rule' ? describeRuleOf(value, text, untold) : [];
  return rule.join('; ') || describeValue(value);
}

const asJSON: DescribeJSON = (logic) => JSON.stringify(logic);

/** Describes a rule, or the part of it at a path. Logic that sentences cannot express is shown as JSON. */
export function RuleText({ value, path, text }: { value: Json; path: readonly string[]; text: FormText }) {
  const lines = describeRuleOf(path.reduceRight<Json>((v, name) => ({ [name]: v }), value), text, asJSON).filter(Boolean);
  return lines.length > 0 ? <ul>{lines.map((line) => <li key={line}>{line}</li>)}</ul> : <pre class="value">{JSON.stringify(value, null, 2)}</pre>;
}

/** Shows a field's old and new values. */
function Change({ path, of, before, after }: { path: string[]; of: Comparison; before: unknown; after: unknown }) {
  return <ValueChange name={fieldName(path)} was={describeField(path, before, after, of.before)} is={describeField(path, after, before, of.after)} />;
}

/** Shows a name and its old and new values in a list. */
export function ValueChange({ name, was, is }: { name: string; was: string; is: string }) {
  return (
    <li>
      <b dir="auto">{name}</b>{' '}
      {was === is ? <span>{t('editor.publish_changed')}</span> : (
        <>
          <del dir="auto"><span class="unseen">{t('editor.change_before')} </span>{was}</del>{' '}
          <span aria-hidden="true">→</span>{' '}
          <ins dir="auto"><span class="unseen">{t('editor.change_after')} </span>{is}</ins>
        </>
      )}
    </li>
  );
}

const blockStates = ['added', 'removed', 'moved'] as const;
const badgeKinds = { added: 'good', removed: 'bad', moved: 'warn', changed: '' } as const;

/** Lists the differences between two versions of the content. */
export function Differences({ of }: { of: Comparison }) {
  const index = (text: FormText) => new Map((text.blocks ?? []).map((b) => [b.id, b]));
  const [before, after] = [index(of.before), index(of.after)];
  return (
    <ul class="differences">
      {of.members.length > 0 && (
        <li>
          <div class="row"><span class="badge">{t('editor.publish_changed')}</span> <strong>{t('editor.publish_form')}</strong></div>
          <ul>{of.members.map((m) => <Change key={m} path={pointerSegments(m)} of={of} before={of.before} after={of.after} />)}</ul>
        </li>
      )}
      {of.blocks.map((d) => {
        const block = after.get(d.id) ?? before.get(d.id);
        const states = [...blockStates.filter((k) => d[k]), ...(d.changed.length > 0 && !d.added ? (['changed'] as const) : [])];
        return (
          <li key={d.id}>
            <div class="row">
              {states.map((s) => <span key={s} class={`badge ${badgeKinds[s]}`}>{t('editor.publish_' + (s === 'moved' ? 'moved_block' : s))}</span>)}
              <strong dir="auto">{block ? blockLabel(block, typeName) : d.id}</strong>
              {block?.label && <span class="muted">{typeName(block.type)}</span>}
            </div>
            {!d.added && d.changed.length > 0 && <ul>{d.changed.map((m) => <Change key={m} path={pointerSegments(m)} of={of} before={before.get(d.id)} after={after.get(d.id)} />)}</ul>}
          </li>
        );
      })}
    </ul>
  );
}

/** Returns the paths of the fields that differ. Properties are compared one by one. */
export function differingFields(a: JsonObject, b: JsonObject): string[][] {
  const names = (v: JsonObject) => Object.keys(v).flatMap((k) => (k === 'properties' ? Object.keys((v[k] as JsonObject | null) ?? {}).map((p) => [k, p]) : [[k]]));
  const paths = new Map([...names(a), ...names(b)].map((p) => [p.join('/'), p]));
  return [...paths.values()].filter((p) => JSON.stringify(valueAt(a, p)) !== JSON.stringify(valueAt(b, p)));
}

/** Shows one side of a conflict. For a block, it shows only the fields that differ. */
export function ConflictSide({ value: given, other, path, text }: { value: Json; other: Json; path: readonly string[]; text: FormText }) {
  const value = withDefault(given, other)!;
  if (value === null) return <p>{t('editor.publish_side_removed')}</p>;
  const isBlock = path[0] === 'definition' && path[1] === 'blocks';
  if (!isBlock || other === null) return <p>{isBlock ? t('editor.publish_side_kept', { name: blockLabel(value as unknown as Block, typeName) }) : describeValue(value)}</p>;
  return (
    <ul>
      {differingFields(value as JsonObject, other as JsonObject).map((p) => (
        <li key={p.join('/')}><b>{fieldName(p)}</b> {describeField(p, value, other, text, asJSON)}</li>
      ))}
    </ul>
  );
}
