// Creates and edits conditions, groups of conditions, and variable changes.

import { isObject } from '../app/json';
import { canCompare, fieldOps, ops, pathOf, type Field, type Fields, type Json, type Op } from './fields';
import { canCount, maxDepth, isRef, type Arithmetic, type Condition, type Group, type Leaf, type Operand, type Term, type Value } from './parse';

export type Comparison = Exclude<Op, 'yes' | 'notYes'> | `!${Op}`;

export const isGroup = (c: Condition): c is Group => c.op === 'all' || c.op === 'any';

/** Returns a row's operator. "yes" and "not yes" are shown as "is" and "is not". */
export function comparisonOf(c: Leaf | { op: 'not'; of: Leaf }): { op: Comparison; leaf: Leaf } {
  if (c.op === 'not') return { op: `!${c.of.op}`, leaf: c.of };
  if (c.op === 'yes' || c.op === 'notYes') return comparisonOf({ op: c.op === 'yes' ? 'is' : 'isNot', ref: c.ref, value: true });
  return { op: c.op, leaf: c };
}

/** Returns the operators that a field supports, and the current operator. */
export function availableComparisons(field: Field, now: Comparison): Comparison[] {
  const all = ops[field.kind].flatMap((op): Comparison[] => {
    if (op === 'yes' || op === 'notYes') return [];
    return ['has', 'oneOf', 'between', 'matches', 'whole'].includes(op) ? [op, `!${op}`] : [op];
  });
  return all.includes(now) ? all : [...all, now];
}

const today = (): string => new Date().toISOString().slice(0, 10);

/** Returns the initial value for a new comparison. */
export function initialValue(field: Field, op: Op): Json | undefined {
  if (['answered', 'unanswered', 'whole', 'beforeToday', 'afterToday'].includes(op)) return undefined;
  if (op === 'matches') return '[A-Z]{3}-[0-9]{4}';
  if (op === 'shorter' || op === 'longer') return op === 'shorter' ? 2 : 100;
  const ids = field.choices.map((c) => c.id);
  if (op === 'oneOf') return [];
  if (op === 'exactly' || op === 'notExactly') return field.kind === 'order' ? ids : [];
  if (op === 'between') return [initialValue(field, 'atLeast') ?? 0, initialValue(field, 'atMost') ?? 0];
  const isOrder = op === 'below' || op === 'atMost' || op === 'above' || op === 'atLeast';
  switch (field.kind) {
    case 'number': return 0;
    case 'yesno': return true;
    case 'date': return today();
    case 'datetime': return today() + 'T00:00:00Z';
    case 'time': return field.seconds ? '12:00:00' : '12:00';
    case 'choice': case 'list': return ids[0] ?? '';
    default: return isOrder ? 0 : '';
  }
}

/** Returns a comparison with a different field or operator. The value is kept if it still fits. */
export function adaptLeaf(old: Leaf, field: Field, wanted: Comparison): Condition {
  const not = wanted.startsWith('!');
  const requested = (not ? wanted.slice(1) : wanted) as Op;
  const op = ops[field.kind].includes(requested) ? requested : (ops[field.kind][0] as Op);
  const isKept = isObject(old.value) ? fieldOps.includes(op) && pathOf(field.ref) === pathOf(old.ref) : canCompare(field.kind, op, old.value) && (field.choices.length === 0 || [old.value].flat().every((v) => field.choices.some((c) => c.id === v)));
  const value = isKept ? old.value : initialValue(field, op);
  const leaf: Leaf = value === undefined ? { op, ref: field.ref } : { op, ref: field.ref, value };
  return not && op === requested ? { op: 'not', of: leaf } : leaf;
}

/** Returns a new condition on a field. */
export function newCondition(field: Field): Condition {
  return adaptLeaf({ op: 'is', ref: field.ref }, field, ops[field.kind][0] as Comparison);
}

/**
 * Simplifies a condition: it unwraps groups that contain only one condition, and groups in a group of the same kind.
 * Returns undefined if nothing is left.
 */
export function simplify(c: Condition): Condition | undefined {
  if (!isGroup(c)) return c;
  const of = c.of.flatMap((d) => {
    const inner = simplify(d);
    return inner === undefined ? [] : isGroup(inner) && inner.op === c.op ? inner.of : [inner];
  });
  return of.length > 1 ? { op: c.op, of } : of[0];
}

/** Adds a condition to a group, or creates a group. */
export function addCondition(c: Condition | undefined, added: Condition): Condition {
  if (c === undefined || c.op === 'always' || c.op === 'never') return added;
  return isGroup(c) ? { op: c.op, of: [...c.of, added] } : { op: 'all', of: [c, added] };
}

/** Moves one of a group's conditions into a new group of the other kind. */
export function groupWith(c: Condition, within: Group['op'], added: Condition): Condition {
  return { op: within === 'all' ? 'any' : 'all', of: [c, added] };
}

export const canGroup = (depth: number): boolean => depth < maxDepth;

/** A line in a variable change: a value and, optionally, a condition. */
export interface Line { when?: Condition; value: Operand }

export const linesOf = (v: Value): Line[] =>
  v.op === 'set' ? [...v.cases, { value: v.value }] : v.terms.map((term) => ({ value: term.by, ...(term.when && { when: term.when }) }));

/** Differences and quotients have only one line. */
export const isSingleLine = (op: Value['op']): boolean => op === '-' || op === '/';

/** Returns a change with only the lines that its operation supports. */
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

/**
 * Returns a change with a different operation and the same lines. Arithmetic cannot use a variable's final value or
 * text.
 */
export function changeOperation(variable: string, old: Value, op: Value['op'], fields: Fields): Value {
  if (old.op === 'set' && op !== 'set') {
    const lines = linesOf(old).filter((l) => !isSelf(l.value, variable) && (!isRef(l.value) || canCount(fields.get(l.value).kind)));
    return valueOfLines(variable, op, lines, old);
  }
  return valueOfLines(variable, op, linesOf(old), old);
}

export const isSelf = (o: Operand, variable: string): boolean => isRef(o) && o.from === 'variables' && o.id === variable;

/** Returns the change for a renamed variable, including references to itself. */
export function renameSelf(v: Value, from: string, to: string): Value {
  const other = <T extends Operand>(o: T): T | { from: 'variables'; id: string } => (isSelf(o, from) ? { from: 'variables', id: to } : o);
  return v.op === 'set' ? { ...v, value: other(v.value) } : { ...v, of: other(v.of) };
}
