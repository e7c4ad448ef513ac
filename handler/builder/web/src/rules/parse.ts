// Converts between JsonLogic and the conditions that the editor shows as sentences. README.md has the grammar.
//
// Parsing and then writing must result in the same JSON value. Otherwise, the parse functions return null, and the
// editor shows the JSON.

import { isEqual, isObject } from '../app/json';
import { areComparable, canCompare, fieldOps, ops, pathOf, type Field, type Fields, type Json, type Kind, type Op, type Ref } from './fields';

/**
 * A comparison with a field. value is missing, a scalar, the logic that reads another field, or (for exactly, oneOf and
 * between) a list.
 */
export interface Leaf {
  op: Op;
  ref: Ref;
  value?: Json;
}

export type Condition = Leaf | { op: 'not'; of: Leaf } | Group | { op: 'always' } | { op: 'never' };

export interface Group {
  op: 'all' | 'any';
  of: Condition[];
}

/** A number, a text, or a field's value. */
export type Operand = number | string | Ref;

/** An operand in an arithmetic change, optionally with a condition. */
export interface Term {
  when?: Condition;
  by: Operand;
}

export type Arithmetic = '+' | '-' | '*' | '/';

/** A variable's new value. "set" uses the value of the first case that is true, or value if no case is true. */
export type Value =
  | { op: 'set'; cases: { when: Condition; value: Operand }[]; value: Operand }
  | { op: Arithmetic; of: Ref; terms: Term[] };

export interface Jump {
  if?: Json; // a condition, or logic that is not parsed
  to: string;
}

/** The maximum depth of nested groups. */
export const maxDepth = 3;

export const isRef = (o: Operand): o is Ref => typeof o === 'object';

// Writing.

export const varLogic = (r: Ref): Json => ({ var: pathOf(r) });
const operandLogic = (o: Operand): Json => (isRef(o) ? varLogic(o) : o);
const identityOf = (op: Arithmetic): number => (op === '*' || op === '/' ? 1 : 0);

/** The operators with two operands. The first operand is the field. */
const binary = { is: '==', isNot: '!=', exactly: '==', notExactly: '!=', oneOf: 'in', below: '<', atMost: '<=', above: '>', atLeast: '>=', matches: 'match' } as const;

/** The operators that compare a value computed from the field, by the comparison and the computation. */
const computed: { [operators: string]: Op } = { '==round': 'whole', '<length': 'shorter', '>length': 'longer', '<days': 'beforeToday', '>days': 'afterToday' };

export function conditionLogic(c: Condition): Json {
  switch (c.op) {
    case 'always': case 'never': return c.op === 'always';
    case 'all': return { and: c.of.map(conditionLogic) };
    case 'any': return { or: c.of.map(conditionLogic) };
    case 'not': return { '!': conditionLogic(c.of) };
  }
  const q = varLogic(c.ref);
  const value = c.value ?? null;
  switch (c.op) {
    case 'answered': return { '!=': [q, null] };
    case 'unanswered': return { '==': [q, null] };
    case 'yes': return q;
    case 'notYes': return { '!': q };
    case 'has': return { in: [value, q] };
    case 'whole': return { '==': [{ round: [q] }, q] };
    case 'shorter': return { '<': [{ length: [q] }, value] };
    case 'longer': return { '>': [{ length: [q] }, value] };
    case 'beforeToday': case 'afterToday': return { [c.op === 'beforeToday' ? '<' : '>']: [{ days: [{ today: [] }, q] }, 0] };
    case 'between': return { '<=': [(value as Json[])[0] ?? null, q, (value as Json[])[1] ?? null] };
  }
  return { [binary[c.op]]: [q, value] };
}

export function valueLogic(v: Value): Json {
  if (v.op === 'set') {
    if (v.cases.length === 0) return operandLogic(v.value);
    return { if: [...v.cases.flatMap((c) => [conditionLogic(c.when), operandLogic(c.value)]), operandLogic(v.value)] };
  }
  const none = identityOf(v.op);
  return { [v.op]: [varLogic(v.of), ...v.terms.map((t) => (t.when ? { if: [conditionLogic(t.when), operandLogic(t.by), none] } : operandLogic(t.by)))] };
}

export const jumpsLogic = (jumps: Jump[]): Json => jumps.map((j): Json => (j.if === undefined ? { to: j.to } : { if: j.if, to: j.to }));

// Parsing.

/** Parses a condition. Returns null if a sentence cannot express it. */
export function parseCondition(logic: Json | undefined, fields: Fields): Condition | null {
  if (typeof logic === 'boolean') return { op: logic ? 'always' : 'never' };
  return ifLossless(logic, parseNested(logic, fields, maxDepth), conditionLogic);
}

/** Parses a variable change. Returns null if a sentence cannot express it. */
export function parseVariable(logic: Json | undefined, fields: Fields): Value | null {
  return ifLossless(logic, parseChange(logic, fields), valueLogic);
}

/** Parses a rule's jumps. Only the last jump may have no condition. Returns null for other logic. */
export function parseNext(next: Json | undefined): Jump[] | null {
  if (!Array.isArray(next)) return null;
  const jumps: Jump[] = [];
  for (const [i, item] of next.entries()) {
    if (item === null || typeof item !== 'object' || Array.isArray(item) || typeof item.to !== 'string') return null;
    if (item.if === undefined ? i < next.length - 1 : item.if === null) return null;
    jumps.push(item.if === undefined ? { to: item.to } : { if: item.if, to: item.to });
  }
  return ifLossless(next, jumps, jumpsLogic);
}

/** A condition that refuses the answer to a block, and the message for the respondent. */
export interface Check {
  if: Json; // a condition, or logic that is not parsed
  say: string;
}

/** A check that the host does. */
export interface HostCheck { host: string }

export const isHostCheck = (check: Check | HostCheck): check is HostCheck => 'host' in check;

/** Parses a rule's checks. Returns null if one of them is neither a condition with a message nor a check of the host. */
export function parseChecks(list: Json | undefined): (Check | HostCheck)[] | null {
  if (!Array.isArray(list)) return null;
  const isCheck = (item: Json): boolean => isObject(item) &&
    (item.if !== undefined && typeof item.say === 'string' ? Object.keys(item).length === 2 : typeof item.host === 'string' && Object.keys(item).length === 1);
  return list.every(isCheck) ? (list as unknown as (Check | HostCheck)[]) : null;
}

function ifLossless<T>(logic: Json | undefined, parsed: T | null, write: (parsed: T) => Json): T | null {
  return parsed !== null && logic !== undefined && isEqual(write(parsed), logic) ? parsed : null;
}

/**
 * Reports whether choices are not in the form's order. Answers are always in the form's order, so such a comparison
 * never matches.
 */
export function isOutOfOrder(l: Leaf, fields: Fields): boolean {
  const { kind, choices } = fields.get(l.ref);
  if (kind !== 'list' || !Array.isArray(l.value)) return false;
  const places = l.value.map((id) => choices.findIndex((c) => c.id === id)).filter((at) => at >= 0);
  return places.some((at, i) => i > 0 && at < (places[i - 1] ?? 0));
}

function splitOperation(logic: Json | undefined): [name: string, given: Json] | [] {
  if (logic === null || typeof logic !== 'object' || Array.isArray(logic)) return [];
  const [first, ...more] = Object.entries(logic);
  return first && more.length === 0 ? first : [];
}

function parseRef(logic: Json | undefined, fields: Fields): Ref | undefined {
  const [name, path] = splitOperation(logic);
  return name === 'var' && typeof path === 'string' ? fields.resolve(path) : undefined;
}

function parseNested(logic: Json | undefined, fields: Fields, depth: number, within = ''): Condition | null {
  const [name, given] = splitOperation(logic);
  if (name === 'and' || name === 'or') {
    if (name === within || depth === 0 || !Array.isArray(given) || given.length < 2) return null;
    const of = given.map((g) => parseNested(g, fields, depth - 1, name));
    return of.some((c) => c === null) ? null : { op: name === 'and' ? 'all' : 'any', of: of as Condition[] };
  }
  const parsed = parseLeaf(logic, fields);
  if (parsed || name !== '!') return parsed;
  const of = parseLeaf(given, fields);
  return of && of.op !== 'yes' && of.op !== 'notYes' ? { op: 'not', of } : null;
}

function parseLeaf(logic: Json | undefined, fields: Fields): Leaf | null {
  const [name, given] = splitOperation(logic);
  let parsed: Leaf | undefined;
  const bare = parseRef(name === '!' ? given : logic, fields);
  if (bare) {
    parsed = { op: name === '!' ? 'notYes' : 'yes', ref: bare };
  } else if (name && Array.isArray(given)) {
    parsed = parseComparison(name, given, fields);
  }
  if (!parsed) return null;
  const field = fields.get(parsed.ref);
  const other = comparedField(parsed, fields);
  const fits = other ? fieldOps.includes(parsed.op) && areComparable(field, other) : canCompare(field.kind, parsed.op, parsed.value);
  return fits && ops[field.kind].includes(parsed.op) ? parsed : null;
}

/** Returns the field that a comparison's value reads, if any. */
export function comparedField(l: Leaf, fields: Fields): Field | undefined {
  const ref = parseRef(l.value, fields);
  return ref && fields.get(ref);
}

function parseComparison(name: string, args: Json[], fields: Fields): Leaf | undefined {
  const [first, second = null, third] = args;
  const q = parseRef(first, fields);
  if (!q) {
    const [computation, operands] = splitOperation(first);
    const op = computed[name + (computation ?? '')];
    const of = Array.isArray(operands) ? parseRef(operands.at(-1), fields) : undefined;
    if (op && of) return { op, ref: of, ...((op === 'shorter' || op === 'longer') && { value: second }) };
    const within = parseRef(second, fields);
    if (!within || first === undefined) return undefined;
    if (name === 'in') return { op: 'has', ref: within, value: first };
    return name === '<=' && third !== undefined ? { op: 'between', ref: within, value: [first, third] } : undefined;
  }
  const not = name === '!=';
  if ((not || name === '==') && second === null) return { op: not ? 'answered' : 'unanswered', ref: q };
  if ((not || name === '==') && Array.isArray(second)) return { op: not ? 'notExactly' : 'exactly', ref: q, value: second };
  const op = (Object.keys(binary) as (keyof typeof binary)[]).find((o) => binary[o] === name);
  return op && { op, ref: q, value: second };
}

/** The kinds that can be assigned to a variable, and the kinds that support arithmetic. */
const storable: readonly Kind[] = ['text', 'number', 'choice', 'date', 'datetime', 'time', 'country', 'loose', 'unknown'];
const countable: readonly Kind[] = ['number', 'loose', 'unknown'];

export const canSet = (kind: Kind): boolean => storable.includes(kind);
export const canCount = (kind: Kind): boolean => countable.includes(kind);

function parseOperand(logic: Json | undefined, fields: Fields, counted: boolean): Operand | null {
  if (typeof logic === 'number' || (typeof logic === 'string' && !counted)) return logic;
  const r = parseRef(logic, fields);
  return r && (counted ? canCount : canSet)(fields.get(r).kind) ? r : null;
}

function parseChange(logic: Json | undefined, fields: Fields): Value | null {
  const [name, given] = splitOperation(logic);
  const plain = parseOperand(logic, fields, false);
  if (plain !== null) return { op: 'set', cases: [], value: plain };
  if (!Array.isArray(given)) return null;
  if (name === 'if') return parseCases(given, fields);
  if (name !== '+' && name !== '-' && name !== '*' && name !== '/') return null;
  const of = parseOperand(given[0], fields, true);
  const two = name === '-' || name === '/'; // only these take exactly two operands
  if (of === null || !isRef(of) || given.length < 2 || (two && given.length > 2)) return null;
  const terms = given.slice(1).map((g) => parseTerm(g, fields));
  return terms.some((t) => t === null) ? null : { op: name, of, terms: terms as Term[] };
}

function parseTerm(logic: Json, fields: Fields): Term | null {
  const plain = parseOperand(logic, fields, true);
  if (plain !== null) return { by: plain };
  const [name, given] = splitOperation(logic);
  if (name !== 'if' || !Array.isArray(given) || given.length !== 3) return null;
  const when = parseNested(given[0], fields, maxDepth);
  const by = parseOperand(given[1], fields, true);
  return when && by !== null ? { when, by } : null;
}

function parseCases(given: Json[], fields: Fields): Value | null {
  if (given.length < 3 || given.length % 2 === 0) return null;
  const cases: { when: Condition; value: Operand }[] = [];
  for (let i = 0; i + 1 < given.length; i += 2) {
    const when = parseNested(given[i], fields, maxDepth);
    const value = parseOperand(given[i + 1], fields, false);
    if (!when || value === null) return null;
    cases.push({ when, value });
  }
  const otherwise = parseOperand(given[given.length - 1], fields, false);
  return otherwise === null ? null : { op: 'set', cases, value: otherwise };
}
