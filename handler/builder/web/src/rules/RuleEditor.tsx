// A block's rule: when the block is shown or required, which block comes next, and which values variables get. A part
// of the rule is written only when it is edited, so opening the editor changes nothing.

import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { config } from '../app/config';
import { isObject } from '../app/json';
import { allBlocks } from '../app/records';
import { t } from '../app/words';
import { Button, IconButton } from '../ui/Button';
import { Select } from '../ui/Field';
import { Icon } from '../ui/Icon';
import { adaptLeaf, addCondition, canGroup, comparisonOf, changeOperation, newCondition, groupWith, isGroup, initialValue, linesOf, availableComparisons, valueOfLines, renameSelf, isSingleLine, simplify, type Comparison, type Line } from './edit';
import { fieldOps, Fields, fieldsOf, pathOf, type Content, type Field, type Json } from './fields';
import { canCount, canSet, comparedField, parseCondition, parseNext, parseVariable, conditionLogic, jumpsLogic, valueLogic, varLogic, type Condition, type Group, type Jump, type Leaf, type Value } from './parse';
import { othersOf } from './checks';
import { ChecksEditor } from './ChecksEditor';
import { ListEditor } from './ListEditor';
import { opKey, targetLabel } from './describe';
import { fieldOptions, JSONBox, LeafValue, OperandField } from './inputs';

export interface Problem { path: string; message: string }

interface Props {
  /** The id of the form, for previews. */
  form?: string;
  content: Content;
  /** The id of the block that the rule belongs to. */
  block: string;
  value: Json | undefined;
  /** Errors and warnings, with JSON Pointers into the rule. */
  errors?: readonly Problem[];
  warnings?: readonly Problem[];
  /** undefined means that the rule is empty. */
  onChange(value: Json | undefined): void;
}

type JsonFields = { [name: string]: Json };

/** Returns an object with a field set or removed, or undefined if no field is left. */
function withField(of: JsonFields, name: string, value: Json | undefined): JsonFields | undefined {
  const { [name]: _, ...others } = of;
  const result = value === undefined ? others : { ...of, [name]: value };
  return Object.keys(result).length > 0 ? result : undefined;
}

/** Returns the problems at a JSON Pointer and below it. */
export const problemsAt = (list: readonly Problem[], at: string): Problem[] => list.filter(({ path }) => path === at || (at !== '' && path.startsWith(at + '/')));

/** The editor for a block's rule (properties.rule). Unknown fields are kept. */
export function RuleEditor({ form = '', content, block, value, errors = [], warnings = [], onChange }: Props) {
  const fields = fieldsOf(content);
  const at = allBlocks(content.blocks).find((b) => b.id === block)!;
  const isNested = fields.step(block) < 0;
  const problems = (at: string) => <><WarningList bad list={problemsAt(errors, at)} /><WarningList list={problemsAt(warnings, at)} /></>;
  if (value !== undefined && !isObject(value)) return <JSONBox label={t('rules.title')} value={value} onChange={onChange} />;
  const rule = value ?? {};
  const partProps = (name: string) => ({ content, block, value: rule[name], onChange: (v: Json | undefined) => onChange(withField(rule, name, v)) });
  const others = (list: readonly Problem[]) => list.filter(({ path }) => !path.startsWith('/check') && !path.startsWith('/choices'));
  const before = fields.known(block, false);
  const canAnswer = new Fields({ blocks: [at] }).all.length > 0;
  const hasAnswer = canAnswer && at.type !== 'group';
  const checks = (canAnswer || rule.check !== undefined) && <Section title={t('rules.check')} hint={t('rules.check_hint')}><ChecksEditor {...partProps('check')} at={at} errors={errors} warnings={warnings} /></Section>;
  const takesList = ['single_choice', 'multiple_choice', 'picture_choice', 'dropdown'].includes(at.type) && config.lists.length > 0;
  const choices = (takesList || rule.choices !== undefined) && <Section title={t('rules.choices')} hint={t('rules.choices_hint')}>{problems('/choices')}<ListEditor form={form} at={at} {...partProps('choices')} /></Section>;
  if (isNested) return <div class="rules"><p class="hint">{t('rules.in_group')}</p><WarningList bad list={others(errors)} /><WarningList list={others(warnings)} />{choices}{checks}</div>;
  return (
    <div class="rules">
      {problems('')}
      {choices}
      <Section title={t('rules.show')} hint={t('rules.show_hint')}>{problems('/show')}<ConditionEditor {...partProps('show')} fields={fields} known={before} label={t('rules.show')} /></Section>
      {(hasAnswer || rule.require !== undefined) && <Section title={t('rules.require')} hint={t('rules.require_hint')}>{problems('/require')}<ConditionEditor {...partProps('require')} fields={fields} known={before} label={t('rules.require')} /></Section>}
      {checks}
      {(at.type !== 'ending' || rule.next !== undefined) && <Section title={t('rules.next')}>{problems('/next')}<NextEditor {...partProps('next')} /></Section>}
      <Section title={t('rules.set')}>{problems('/set')}<VariableEditor {...partProps('set')} /></Section>
    </div>
  );
}

export function WarningList({ list, bad }: { list: readonly Problem[]; bad?: boolean }) {
  return <>{list.map((n) => <p key={n.path + n.message} class={bad ? 'notice bad rule-note' : 'notice rule-note'}><Icon name="triangle-alert" /> <span>{n.message}</span></p>)}</>;
}

function Section({ title, hint, children }: { title: string; hint?: string; children: ComponentChildren }) {
  return (
    <section class="rule-section">
      <h3>{title}</h3>
      {hint && <p class="hint">{hint}</p>}
      {children}
    </section>
  );
}

interface ConditionProps {
  fields: Fields;
  /** The fields that the condition can read. */
  known: Field[];
  value: Json | undefined;
  onChange(value: Json | undefined): void;
  label: string;
  /** Whether the condition cannot be edited as JSON. */
  plain?: boolean;
}

export function ConditionEditor({ fields, known, value, onChange, label, plain }: ConditionProps) {
  const condition = value === undefined ? undefined : parseCondition(value, fields);
  const [json, setJSON] = useState(condition === null);
  const put = (c: Condition | undefined) => {
    const simplified = c && simplify(c);
    onChange(simplified && conditionLogic(simplified));
  };
  if (value !== undefined && (json || !condition)) {
    return <JSONBox label={label} value={value} onChange={onChange} back={condition ? () => setJSON(false) : undefined} />;
  }
  return (
    <div class="rule-condition" role="group" aria-label={label}>
      <Rows c={condition ?? undefined} fields={fields} known={known} put={put} depth={1}>
        {condition && !plain && <IconButton icon="code" class="push" label={t('rules.edit_as_json')} onClick={() => setJSON(true)} />}
      </Rows>
    </div>
  );
}

/** Returns a ref for the element around a list. An added row gets the focus. If a row is removed, the add button gets it. */
export function useRowFocus(length: number) {
  const box = useRef<HTMLDivElement>(null);
  const before = useRef(length);
  useLayoutEffect(() => {
    const inside = box.current?.contains(document.activeElement) || document.activeElement === document.body;
    const target = length > before.current ? ':scope > ol > li:last-child :is(select, input, textarea, [role=textbox])' : ':scope > .row button';
    if (inside && length !== before.current) box.current?.querySelector<HTMLElement>(target)?.focus();
    before.current = length;
  }, [length]);
  return box;
}

/** Shows a group's conditions, or a single condition, as rows. */
function Rows({ c, fields, known, put, depth, children }: { c: Condition | undefined; fields: Fields; known: Field[]; put(c: Condition | undefined): void; depth: number; children?: ComponentChildren }) {
  const group = c && isGroup(c) ? c : undefined;
  const rows = group?.of ?? (c ? [c] : []);
  const box = useRowFocus(rows.length);
  const replace = (i: number, next: Condition | undefined) => put(group ? { op: group.op, of: rows.flatMap((r, j) => (i !== j ? [r] : next ? [next] : [])) } : next);
  const first = known[0];
  return (
    <div ref={box} class={depth > 1 ? 'rule-group nested' : 'rule-group'}>
      {group && <Select label={t('rules.match')} hideLabel value={group.op} options={[['all', t('rules.all')], ['any', t('rules.any')]]} onChange={(op) => put({ op: op as 'all' | 'any', of: group.of })} />}
      <ol>
        {rows.map((row, i) => (
          <li key={i}>
            {isGroup(row) ? <Rows c={row} fields={fields} known={known} put={(n) => replace(i, n)} depth={depth + 1} /> : (
              <Row
                c={row}
                fields={fields}
                known={known}
                put={(n) => replace(i, n)}
                group={group && first && canGroup(depth) ? () => replace(i, groupWith(row, group.op, newCondition(first))) : undefined}
              />
            )}
          </li>
        ))}
      </ol>
      <div class="row">
        <Button kind="quiet" icon="plus" disabled={!first} onClick={() => first && put(addCondition(c, newCondition(first)))}>{t('rules.add_condition')}</Button>
        {children}
      </div>
      {!first && rows.length === 0 && <p class="hint">{t('rules.no_fields')}</p>}
    </div>
  );
}

/** A row with one comparison. */
function Row({ c, fields, known, put, group }: { c: Exclude<Condition, Group>; fields: Fields; known: Field[]; put(c: Condition | undefined): void; group: (() => void) | undefined }) {
  const remove = <IconButton icon="trash-2" label={t('rules.remove_condition')} onClick={() => put(undefined)} />;
  if (c.op === 'always' || c.op === 'never') return <div class="rule-row"><span>{t('rules.' + c.op)}</span><span class="rule-tools">{remove}</span></div>;
  const { op, leaf } = comparisonOf(c);
  const field = fields.get(leaf.ref);
  const options = fieldOptions(known, field);
  const isUnknown = field.kind !== 'unknown' && !known.includes(field);
  const other = comparedField(leaf, fields);
  const others = fieldOps.includes(leaf.op) ? othersOf(field, known) : [];
  const unanswered = op.startsWith('!') || op === 'isNot' || op === 'notExactly';
  const value = (v: Json) => {
    const changed: Leaf = { ...leaf, value: v };
    put(c.op === 'not' ? { op: 'not', of: changed } : changed);
  };
  return (
    <div class="rule-row">
      <Select label={t('rules.condition_field')} hideLabel value={pathOf(leaf.ref)} options={options} onChange={(path) => put(adaptLeaf(leaf, fields.get(fields.resolve(path) ?? leaf.ref), op))} />
      <span class="rule-tools">
        {(other ?? others[0]) && <IconButton icon="arrow-right-left" label={t(other ? 'rules.compare_value' : 'rules.compare_answer')} onClick={() => value(other ? (initialValue(field, leaf.op) ?? null) : varLogic(others[0]!.ref))} />}
        {group && <IconButton icon="group" label={t('rules.group_condition')} onClick={group} />}
        {remove}
      </span>
      <div class="rule-pair">
        <Select label={t('rules.condition_operator')} hideLabel value={op} options={availableComparisons(field, op).map((o) => [o, comparisonText(o, field)])} onChange={(o) => put(adaptLeaf(leaf, field, o as Comparison))} />
        <LeafValue leaf={leaf} fields={fields} known={known} put={value} />
      </div>
      {isUnknown && <p class="hint">{t('rules.hint.answered_later')}</p>}
      {unanswered && <p class="hint">{t('rules.hint.unanswered')}</p>}
    </div>
  );
}

/** Returns the text for a comparison operator. */
function comparisonText(op: Comparison, field: Field): string {
  const plain = op.replace('!', '') as Leaf['op'];
  const word = opKey(plain, field.kind);
  if (plain === op) return t('rules.op.' + word);
  return ['has', 'contains', 'oneOf', 'between', 'matches', 'whole'].includes(word) ? t('rules.op.not.' + word) : t('rules.op.not', { op: t('rules.op.' + word) });
}

/** The title of an item in a list, with buttons that change the item, move it up and remove it. */
export function ItemHead<T>({ title, list, i, put, removeLabel, children }: { title: string; list: readonly T[]; i: number; put(list: T[]): void; removeLabel: string; children?: ComponentChildren }) {
  const others = list.toSpliced(i, 1);
  return (
    <div class="rule-head">
      <strong>{title}</strong>
      <span class="rule-tools">
        {children}
        {i > 0 && <IconButton icon="arrow-up" label={t('rules.move_up')} onClick={() => put(others.toSpliced(i - 1, 0, list[i]!))} />}
        <IconButton icon="trash-2" label={removeLabel} onClick={() => put(others)} />
      </span>
    </div>
  );
}

/** The editor for which block comes next. */
export function NextEditor({ content, block, value, onChange }: Props) {
  const fields = fieldsOf(content);
  const jumps = value === undefined ? [] : parseNext(value);
  const box = useRowFocus(jumps?.length ?? 0);
  if (!jumps) return <JSONBox label={t('rules.next')} value={value ?? null} onChange={onChange} />;
  const put = (list: Jump[]) => onChange(list.length > 0 ? jumpsLogic(list) : undefined);
  const when = jumps.filter((j) => j.if !== undefined);
  const last = jumps.find((j) => j.if === undefined);
  const later = content.blocks.slice(fields.step(block) + 1).map((b): [string, string] => [b.id, targetLabel(b.id, fields, t)]);
  const targets = (now: string): [string, string][] =>
    [...(now === 'end' || later.some(([id]) => id === now) ? [] : [[now, targetLabel(now, fields, t)] as [string, string]]), ...later, ['end', t('rules.end_of_form')]];
  const putWhen = (list: Jump[]) => put([...list, ...(last ? [last] : [])]);
  const replace = (i: number, next: Jump | undefined) => putWhen(when.flatMap((j, k) => (i !== k ? [j] : next ? [next] : [])));
  const known = fields.known(block, true);
  const [first] = known;
  return (
    <div ref={box} class="rule-next">
      <ol>
        {when.map((j, i) => (
          <li key={i} class="rule-card">
            <ItemHead title={t('rules.when_n', { n: i + 1 })} list={when} i={i} put={putWhen} removeLabel={t('rules.remove_rule')} />
            <ConditionEditor fields={fields} known={known} label={t('rules.when_n', { n: i + 1 })} value={j.if} onChange={(c) => replace(i, c === undefined ? undefined : { if: c, to: j.to })} />
            <Select label={t('rules.go_to')} value={j.to} options={targets(j.to)} onChange={(to) => replace(i, { ...j, to })} />
          </li>
        ))}
      </ol>
      <Select
        label={t(when.length > 0 ? 'rules.otherwise_go_to' : 'rules.then_go_to')}
        value={last?.to ?? ''}
        options={[['', t('rules.next_block')], ...targets(last?.to ?? 'end')]}
        onChange={(to) => put(to === '' ? when : [...when, { to }])}
      />
      <div class="row">
        <Button kind="quiet" icon="split" disabled={!first} onClick={() => first && putWhen([...when, { if: conditionLogic(newCondition(first)), to: later[0]?.[0] ?? 'end' }])}>
          {t('rules.add_rule')}
        </Button>
      </div>
    </div>
  );
}

/** The editor for the values that variables get when the block is answered. */
export function VariableEditor({ content, block, value, onChange }: Props) {
  const fields = fieldsOf(content);
  if (value !== undefined && !isObject(value)) return <JSONBox label={t('rules.set')} value={value} onChange={onChange} />;
  const set = value ?? {};
  const free = Object.keys(content.variables ?? {}).filter((name) => !Object.hasOwn(set, name));
  const rename = (from: string, to: string, v: Value) =>
    onChange(Object.fromEntries(Object.entries(set).map(([n, logic]) => (n === from ? [to, valueLogic(renameSelf(v, from, to))] : [n, logic]))));
  return (
    <div class="rule-set">
      {Object.entries(set).map(([name, logic]) => {
        const parsed = parseVariable(logic, fields);
        const change = (v: Json | undefined) => onChange(withField(set, name, v));
        if (!parsed) return <JSONBox key={name} label={name} value={logic} onChange={change} />;
        return (
          <div key={name} class="rule-card">
            <div class="rule-head">
              <Select label={t('rules.variable')} value={name} options={[name, ...free].map((n) => [n, n])} onChange={(to) => rename(name, to, parsed)} />
              <IconButton icon="trash-2" label={t('rules.remove_change', { name })} onClick={() => change(undefined)} />
            </div>
            <ChangeEditor name={name} value={parsed} known={fields.known(block, true)} fields={fields} put={(v) => change(valueLogic(v))} />
          </div>
        );
      })}
      <div class="row">
        <Button
          kind="quiet"
          icon="variable"
          disabled={free.length === 0}
          onClick={() => {
            const [name] = free;
            if (name === undefined) return;
            const counts = typeof content.variables?.[name] === 'number';
            const self = { from: 'variables' as const, id: name };
            onChange({ ...set, [name]: valueLogic(counts ? { op: '+', of: self, terms: [{ by: 1 }] } : { op: 'set', cases: [], value: '' }) });
          }}
        >
          {t('rules.add_change')}
        </Button>
      </div>
      {free.length === 0 && Object.keys(set).length === 0 && <p class="hint">{t('rules.no_variables')}</p>}
    </div>
  );
}

/** A change to a variable, with a line for each value. */
function ChangeEditor({ name, value, known, fields, put }: { name: string; value: Value; known: Field[]; fields: Fields; put(v: Value): void }) {
  const { op } = value;
  const usable = known.filter((f) => (op === 'set' ? canSet : canCount)(f.kind));
  const lines = linesOf(value);
  const change = (list: Line[]) => put(valueOfLines(name, op, list, value));
  const replace = (i: number, line: Line | undefined) => change(lines.flatMap((l, j) => (i !== j ? [l] : line ? [line] : [])));
  const self = { from: 'variables' as const, id: name };
  const first = known[0];
  const last = (i: number) => op === 'set' && i === lines.length - 1;
  return (
    <>
      <Select label={t('rules.operation')} value={op} options={(['set', '+', '-', '*', '/'] as const).map((o) => [o, t('rules.operation.' + operations[o])])} onChange={(o) => put(changeOperation(name, value, o as Value['op'], fields))} />
      {value.op !== 'set' && (
        <Select label={t('rules.start_with')} value={pathOf(value.of)} options={fieldOptions(known.filter((f) => canCount(f.kind)), fields.get(value.of))} onChange={(p) => put({ ...value, of: fields.resolve(p) ?? value.of })} />
      )}
      <ol>
        {lines.map((line, i) => (
          <li key={i} class={line.when ? 'rule-line when' : 'rule-line'}>
            {line.when && (
              <ConditionEditor
                fields={fields}
                known={known}
                plain
                label={t('rules.when_n', { n: i + 1 })}
                value={conditionLogic(line.when)}
                onChange={(c) => {
                  const when = c === undefined ? undefined : parseCondition(c, fields);
                  if (when) replace(i, { ...line, when });
                  else replace(i, op === 'set' ? undefined : { value: line.value });
                }}
              />
            )}
            <OperandField
              label={t(last(i) && lines.length > 1 ? 'rules.otherwise_value' : 'rules.value_label')}
              value={line.value}
              fields={fields}
              known={usable}
              texts={op === 'set'}
              self={last(i) ? self : undefined}
              put={(v) => replace(i, { ...line, value: v })}
            />
            <div class="row">
              {!line.when && op !== 'set' && <Button kind="quiet" icon="split" disabled={!first} onClick={() => first && replace(i, { ...line, when: newCondition(first) })}>{t('rules.make_conditional')}</Button>}
              {lines.length > 1 && !last(i) && <IconButton icon="trash-2" label={t('rules.remove_value', { n: i + 1 })} onClick={() => replace(i, undefined)} />}
            </div>
          </li>
        ))}
      </ol>
      {!isSingleLine(op) && (
        <div class="row">
          <Button kind="quiet" icon="plus" disabled={op === 'set' && !first} onClick={() => change(op === 'set' && first ? [...lines.slice(0, -1), { when: newCondition(first), value: 1 }, ...lines.slice(-1)] : [...lines, { value: 1 }])}>
            {t(op === 'set' ? 'rules.add_conditional_value' : 'rules.add_value')}
          </Button>
        </div>
      )}
    </>
  );
}

const operations = { set: 'set', '+': 'add', '-': 'subtract', '*': 'times', '/': 'divide' } as const;
