// What the editor does with sentences: new ones, other fields and comparisons in them, groups.

import { canCompare, ops, type Field, type Fields, type Json, type Op } from './fields';
import { canCount, maxDepth, isRef, type Arithmetic, type Condition, type Group, type Leaf, type Operand, type Term, type Value } from './parse';

export type Comparison = Exclude<Op, 'yes' | 'notYes'> | `!${Op}`;

export const isGroup = (c: Condition): c is Group => c.op === 'all' || c.op === 'any';

/** The comparison of a row, as one word; the two shapes of Yes are shown as is and is not. */
export function comparisonOf(c: Leaf | { op: 'not'; of: Leaf }): { op: Comparison; leaf: Leaf } {
  if (c.op === 'not') return { op: `!${c.of.op}`, leaf: c.of };
  if (c.op === 'yes' || c.op === 'notYes') return comparisonOf({ op: c.op === 'yes' ? 'is' : 'isNot', ref: c.ref, value: true });
  return { op: c.op, leaf: c };
}

/** The comparisons that are offered for a field, and the one that a rule has. */
export function availableComparisons(field: Field, now: Comparison): Comparison[] {
  const all = ops[field.kind].flatMap((op): Comparison[] => {
    if (op === 'yes' || op === 'notYes') return [];
    return op === 'has' || op === 'oneOf' || op === 'between' ? [op, `!${op}`] : [op];
  });
  return all.includes(now) ? all : [...all, now];
}

const today = (): string => new Date().toISOString().slice(0, 10);

/** The value that a new comparison begins with. */
function initialValue(field: Field, op: Op): Json | undefined {
  if (op === 'answered' || op === 'unanswered') return undefined;
  const ids = field.choices.map((c) => c.id);
  if (op === 'oneOf') return [];
  if (op === 'exactly' || op === 'notExactly') return field.kind === 'order' ? ids : [];
  if (op === 'between') return [initialValue(field, 'atLeast') ?? 0, initialValue(field, 'atMost') ?? 0];
  const counted = op === 'below' || op === 'atMost' || op === 'above' || op === 'atLeast';
  switch (field.kind) {
    case 'number': return 0;
    case 'yesno': return true;
    case 'date': return today();
    case 'moment': return today() + 'T00:00:00Z';
    case 'time': return field.seconds ? '12:00:00' : '12:00';
    case 'choice': case 'list': return ids[0] ?? '';
    default: return counted ? 0 : '';
  }
}

/** The leaf with another field or comparison: the value stays where it fits. */
export function adaptLeaf(old: Leaf, field: Field, wanted: Comparison): Condition {
  const not = wanted.startsWith('!');
  const asked = (not ? wanted.slice(1) : wanted) as Op;
  const op = ops[field.kind].includes(asked) ? asked : (ops[field.kind][0] as Op);
  const stays = canCompare(field.kind, op, old.value) && (field.choices.length === 0 || [old.value].flat().every((v) => field.choices.some((c) => c.id === v)));
  const value = stays ? old.value : initialValue(field, op);
  const leaf: Leaf = value === undefined ? { op, ref: field.ref } : { op, ref: field.ref, value };
  return not && op === asked ? { op: 'not', of: leaf } : leaf;
}

/** A new condition on a field. */
export function newCondition(field: Field): Condition {
  return adaptLeaf({ op: 'is', ref: field.ref }, field, ops[field.kind][0] as Comparison);
}

/** The condition as a sentence can be: no group of one, none in a group of its own kind. undefined: nothing is left. */
export function simplify(c: Condition): Condition | undefined {
  if (!isGroup(c)) return c;
  const of = c.of.flatMap((d) => {
    const inner = simplify(d);
    return inner === undefined ? [] : isGroup(inner) && inner.op === c.op ? inner.of : [inner];
  });
  return of.length > 1 ? { op: c.op, of } : of[0];
}

/** Puts another condition beside one: into its group, or into a new one. */
export function addCondition(c: Condition | undefined, added: Condition): Condition {
  if (c === undefined || c.op === 'always' || c.op === 'never') return added;
  return isGroup(c) ? { op: c.op, of: [...c.of, added] } : { op: 'all', of: [c, added] };
}

/** Makes a group of a condition that stands in a group, of the other kind. */
export function groupWith(c: Condition, within: Group['op'], added: Condition): Condition {
  return { op: within === 'all' ? 'any' : 'all', of: [c, added] };
}

export const canGroup = (depth: number): boolean => depth < maxDepth;

/** The parts of a change of a variable as lines: each has a value, and may have a condition. */
export interface Line { when?: Condition; value: Operand }

export const linesOf = (v: Value): Line[] =>
  v.op === 'set' ? [...v.cases, { value: v.value }] : v.terms.map((term) => ({ value: term.by, ...(term.when && { when: term.when }) }));

/** How a change may have several lines: those of differences and quotients are one. */
export const isSingleLine = (op: Value['op']): boolean => op === '-' || op === '/';

/** A change that is made of lines, as far as the kind of change takes them. */
export function valueOfLines(variable: string, op: Value['op'], lines: Line[], base: Value): Value {
  const self = { from: 'variables' as const, id: variable };
  if (op === 'set') {
    const cases = lines.filter((l): l is Required<Line> => l.when !== undefined);
    const last = lines.findLast((l) => l.when === undefined);
    return { op, cases, value: last ? last.value : self };
  }
  const terms = lines.flatMap((l): Term[] => (typeof l.value === 'string' ? [] : [{ by: l.value, ...(l.when && { when: l.when }) }]));
  return { op: op as Arithmetic, of: base.op === 'set' ? self : base.of, terms: (terms.length > 0 ? terms : [{ by: 1 }]).slice(0, isSingleLine(op) ? 1 : undefined) };
}

/** Another kind of change with the lines of the old one. What a variable is set to in the end is no term, nor is a text. */
export function changeOperation(variable: string, old: Value, op: Value['op'], fields: Fields): Value {
  if (old.op === 'set' && op !== 'set') {
    const lines = linesOf(old).filter((l) => !isSelf(l.value, variable) && (!isRef(l.value) || canCount(fields.get(l.value).kind)));
    return valueOfLines(variable, op, lines, old);
  }
  return valueOfLines(variable, op, linesOf(old), old);
}

export const isSelf = (o: Operand, variable: string): boolean => isRef(o) && o.from === 'variables' && o.id === variable;

/** The change for another variable: where it read itself it reads that one. */
export function renameSelf(v: Value, from: string, to: string): Value {
  const other = <T extends Operand>(o: T): T | { from: 'variables'; id: string } => (isSelf(o, from) ? { from: 'variables', id: to } : o);
  return v.op === 'set' ? { ...v, value: other(v.value) } : { ...v, of: other(v.of) };
}

/** Lines that name others: a text as a list of its lines, for values that are typed. */
export const splitLines = (text: string): string[] => text.split('\n').map((line) => line.trim()).filter((line) => line !== '');
