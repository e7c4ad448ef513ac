// The fields that a rule can read: answers and their parts, hidden fields and variables. A field's kind determines
// its operators.

import { isObject } from '../app/json';
import { allBlocks, type Block, type Choice as Offered, type Definition, type Json } from '../app/records';
import { plainText } from '../app/text';
import { shownInsertion } from './insertions';

export type { Json };

/** The parts of a definition that rules read. */
export type Content = Pick<Definition, 'blocks'> & Partial<Pick<Definition, 'hidden_fields' | 'variables'>>;

export interface Choice {
  id: string;
  label?: string;
}

export type Source = 'answers' | 'hidden' | 'variables' | 'submission';

/** A reference in a rule: {"var": "answers.id.part"}. */
export interface Ref {
  from: Source;
  id: string;
  part?: string;
}

export type Kind =
  | 'text' | 'number' | 'yesno' | 'choice' | 'list' | 'order' | 'date' | 'datetime' | 'time' | 'country'
  | 'presence' // a rule can only test whether there is an answer
  | 'loose' // text that may be a number
  | 'unknown'; // not in the form

export type Op =
  | 'answered' | 'unanswered' | 'is' | 'isNot' | 'yes' | 'notYes' | 'exactly' | 'notExactly' | 'oneOf' | 'has'
  | 'below' | 'atMost' | 'above' | 'atLeast' | 'between' | 'matches' | 'shorter' | 'longer' | 'whole' | 'beforeToday' | 'afterToday';

const presenceOps: Op[] = ['answered', 'unanswered'];
const equalityOps: Op[] = ['is', 'isNot'];
const orderOps: Op[] = ['below', 'atMost', 'above', 'atLeast', 'between'];
const lengthOps: Op[] = ['shorter', 'longer'];
const textOps: Op[] = ['matches', ...lengthOps];
const dayOps: Op[] = ['beforeToday', 'afterToday'];

/** Each kind's operators, in menu order. */
export const ops: { [kind in Kind]: readonly Op[] } = {
  text: [...equalityOps, 'has', 'oneOf', ...textOps, ...presenceOps],
  number: [...equalityOps, ...orderOps, 'oneOf', 'whole', ...presenceOps],
  yesno: [...equalityOps, ...presenceOps, 'yes', 'notYes'],
  choice: [...equalityOps, 'oneOf', ...presenceOps],
  list: ['has', 'exactly', 'notExactly', ...lengthOps, ...presenceOps],
  order: ['exactly', 'notExactly', ...presenceOps],
  date: [...equalityOps, ...orderOps, ...dayOps, ...presenceOps],
  datetime: [...equalityOps, ...orderOps, ...dayOps, ...presenceOps],
  time: [...equalityOps, ...orderOps, ...presenceOps],
  country: [...equalityOps, 'oneOf', ...presenceOps],
  presence: presenceOps,
  loose: [...equalityOps, 'has', 'oneOf', ...orderOps, ...textOps, ...presenceOps],
  unknown: [...equalityOps, 'exactly', 'notExactly', 'has', 'oneOf', ...orderOps, ...textOps, 'whole', ...dayOps, ...presenceOps],
};

const formats: { [kind in Kind]?: RegExp } = {
  date: /^\d{4}-\d\d-\d\d$/,
  datetime: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
  time: /^\d\d:\d\d(:\d\d)?$/,
};

/** Reports whether a value can be compared with a field of a kind, and edited. */
export function canCompare(kind: Kind, op: Op, value: Json | undefined): boolean {
  const list = Array.isArray(value) ? value : undefined;
  switch (op) {
    case 'answered': case 'unanswered': case 'yes': case 'notYes': case 'whole': case 'beforeToday': case 'afterToday':
      return value === undefined;
    case 'matches':
      return typeof value === 'string';
    case 'shorter': case 'longer':
      return typeof value === 'number';
    case 'exactly': case 'notExactly': case 'oneOf':
      return list !== undefined && list.every((v) => canCompare(kind, 'is', v));
    case 'between':
      return list?.length === 2 && list.every((v) => canCompare(kind, 'below', v));
  }
  if (kind === 'yesno') return typeof value === 'boolean';
  if (kind === 'number' || (kind === 'loose' && orderOps.includes(op))) return typeof value === 'number';
  if (kind === 'unknown') return typeof value === 'string' || typeof value === 'number' || (op === 'is' && typeof value === 'boolean');
  return typeof value === 'string' && (formats[kind]?.test(value) ?? true);
}

/** A field that rules can read. If a part has no label, the word rules.part.{word} is its name. */
export interface Field {
  ref: Ref;
  kind: Kind;
  label: string;
  part?: { label: string } | { word: string; n?: number };
  choices: Choice[];
  rows?: boolean; // whether the parts are rows of a matrix
  seconds?: boolean; // whether a time has seconds
  step: number; // the index of its top-level block, or -1 if it is known from the start
}

const types: { [type: string]: Kind } = {
  short_text: 'text', long_text: 'text', email: 'text', phone: 'text', website: 'text', number: 'number', rating: 'number',
  opinion_scale: 'number', nps: 'number', yes_no: 'yesno', legal: 'yesno', single_choice: 'choice', dropdown: 'choice',
  multiple_choice: 'list', picture_choice: 'choice', ranking: 'order', matrix: 'presence', date: 'date', time: 'time',
  country: 'country', address: 'presence', contact_info: 'presence', file_upload: 'presence', signature: 'presence', payment: 'presence',
};

export const addressParts = ['firstName', 'lastName', 'email', 'phone', 'company', 'address', 'address2', 'city', 'state', 'zip', 'country'];

function kindOf(block: Block): Kind | undefined {
  const p = block.properties ?? {};
  if (block.type === 'picture_choice' && p.multiSelection) return 'list';
  if (block.type === 'date' && p.showTimePicker) return 'datetime';
  const kind = types[block.type ?? ''];
  if (!isObject(p.rule) || !isObject(p.rule.choices)) return kind;
  return kind === 'choice' ? 'text' : kind === 'list' ? 'presence' : kind; // only the host has the choices
}

/** Choices without an id were just added. They cannot be compared. */
const withIDs = (choices: Offered[] = []): Choice[] => choices.filter((c): c is Choice => !!c.id);

function partsOf(block: Block, kind: Kind, label: string, at: number): Field[] {
  const p = block.properties ?? {};
  const part = (name: string, of: Kind, partName: Field['part'], choices: Choice[] = []): Field =>
    ({ ref: { from: 'answers' as const, id: block.id, part: name }, kind: of, label, part: partName, choices, step: at });
  switch (block.type) {
    case 'address': case 'contact_info': {
      const settings = (p.addressOrContact ?? {}) as { [name: string]: { hide?: boolean } | undefined };
      return addressParts.filter((name) => !settings[name]?.hide)
        .map((name) => part(name, name === 'country' ? 'country' : 'text', { word: name }));
    }
    case 'matrix':
      return withIDs(block.matrix_rows).map((row) =>
        part(row.id, p.multiSelection ? 'list' : 'choice', { label: row.label || row.id }, withIDs(block.matrix_columns)));
    case 'ranking':
      return withIDs(block.choices).map((_, i, all) => part(String(i), 'choice', { word: 'place', n: i + 1 }, all));
    case 'payment':
      return [part('currency', 'text', { word: 'currency' }), part('status', 'text', { word: 'status' })];
    case 'file_upload':
      return [part('length', 'number', { word: 'length' })];
  }
  if (kind === 'list') return [part('length', 'number', { word: 'length' })];
  return kind === 'choice' && p.otherOption ? [part('other', 'text', { word: 'other' })] : [];
}

/** The operators that can compare two fields. */
export const fieldOps: readonly Op[] = [...equalityOps, ...orderOps.filter((op) => op !== 'between')];

/** Reports whether two fields can be compared with each other. Parts of a form that no longer exist are not checked. */
export function areComparable(a: Field, b: Field): boolean {
  if (a.kind === 'unknown' || b.kind === 'unknown') return true;
  if (b.kind === 'loose') return a.kind === 'text' || a.kind === 'number' || a.kind === 'loose';
  return a.kind === b.kind && !a.seconds === !b.seconds && ['text', 'number', 'date', 'datetime', 'time', 'country'].includes(a.kind);
}

function splitAtDot(text: string): [string, string | undefined] {
  const dot = text.indexOf('.');
  return dot < 0 ? [text, undefined] : [text.slice(0, dot), text.slice(dot + 1)];
}

/** Unlike a path, the key distinguishes a part from an id that contains a dot. */
const refKey = (r: Ref): string => r.from + '\0' + r.id + (r.part === undefined ? '' : '\0' + r.part);

export const pathOf = (r: Ref): string => r.from + '.' + r.id + (r.part === undefined ? '' : '.' + r.part);

/** An index of a form's fields. */
export class Fields {
  /** All fields in form order. */
  readonly all: Field[] = [];
  private readonly byPath = new Map<string, Field>();
  private readonly steps = new Map<string, number>();

  /** If ending is set, it is the label of the ending that respondents reached, which only filters can read. */
  constructor(readonly content: Content, ending = '') {
    content.blocks.forEach((block, at) => {
      this.steps.set(block.id, at);
      this.add(block, at);
    });
    for (const id of content.hidden_fields ?? []) this.put({ ref: { from: 'hidden', id }, kind: 'loose', label: id, choices: [], step: -1 });
    for (const [id, value] of Object.entries(content.variables ?? {})) {
      this.put({ ref: { from: 'variables', id }, kind: typeof value === 'number' ? 'number' : 'loose', label: id, choices: [], step: -1 });
    }
    const endings = content.blocks.filter((b) => b.type === 'ending').map((b) => ({ id: b.id, label: this.labelOf(b) }));
    if (ending && endings.length > 0) this.put({ ref: { from: 'submission', id: 'ending' }, kind: 'choice', label: ending, choices: endings, step: -1 });
    // A part cannot be read if another block has the same path, or if the id of its own block contains a dot.
    this.all = this.all.filter(({ ref: { from, id, part } }) => part === undefined || (!id.includes('.') && !this.byPath.has(refKey({ from, id: id + '.' + part }))));
  }

  private add(block: Block, at: number): void {
    const kind = kindOf(block);
    if (kind) {
      const rows = block.type === 'matrix';
      const label = this.labelOf(block);
      const choices = withIDs(rows ? block.matrix_columns : block.choices);
      this.put({ ref: { from: 'answers', id: block.id }, kind, label, choices, rows, seconds: !!block.properties?.showSeconds, step: at });
      for (const part of partsOf(block, kind, label, at)) this.put(part);
    }
    for (const child of block.children ?? []) this.add(child, at);
  }

  /** Returns a block's label without formatting, or its id. */
  labelOf({ label = '', id }: Block): string {
    return plainText(label, undefined, (name) => shownInsertion(name, this)) || id;
  }

  private put(field: Field): void {
    const k = refKey(field.ref);
    if (this.byPath.has(k)) return;
    this.byPath.set(k, field);
    this.all.push(field);
  }

  /** Returns the field that a reference names. If the form does not have the field, its kind is unknown. */
  get(ref: Ref): Field {
    return this.byPath.get(refKey(ref)) ?? { ref, kind: 'unknown', label: pathOf(ref), choices: [], step: -1 };
  }

  /** Returns the reference for a path. A block whose id contains dots takes precedence over a part, as in internal/logic. */
  resolve(path: string): Ref | undefined {
    const [from, id] = splitAtDot(path);
    if ((from !== 'answers' && from !== 'hidden' && from !== 'variables' && from !== 'submission') || !id) return undefined;
    if (from === 'submission' && !this.byPath.has(refKey({ from, id }))) return undefined;
    const [first, part] = splitAtDot(id);
    const has = (name: string) => this.byPath.has(refKey({ from, id: name }));
    return part !== undefined && !has(id) && has(first) ? { from, id: first, part } : { from, id };
  }

  /** Returns the index of a top-level block, or -1. */
  step(block: string): number {
    return this.steps.get(block) ?? -1;
  }

  /**
   * Returns the fields that are known when a top-level block's rule runs. If after is set, the block's own answer is
   * included.
   */
  known(block: string, after: boolean): Field[] {
    const last = this.step(block) - (after ? 0 : 1);
    return this.all.filter((f) => f.step <= last);
  }

  /** Returns the fields that are known when a block's checks run. These include the answers in the block. */
  knownToChecks(block: Block): Field[] {
    const own = new Set(allBlocks([block]).map((b) => b.id));
    const last = this.all.findLastIndex((f) => f.ref.from === 'answers' && own.has(f.ref.id));
    return this.all.filter((f, i) => i <= last || f.step < 0);
  }
}

const fieldsByBlocks = new WeakMap<Block[], Fields>();

/** Returns the fields of a form. They are cached. */
export function fieldsOf(content: Content): Fields {
  let fields = fieldsByBlocks.get(content.blocks);
  if (!fields || fields.content.hidden_fields !== content.hidden_fields || fields.content.variables !== content.variables) {
    fieldsByBlocks.set(content.blocks, (fields = new Fields(content)));
  }
  return fields;
}
