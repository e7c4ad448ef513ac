// Who refers to a block, a choice, a row, a hidden field or a variable, and how such references
// are given other names. Whatever JsonLogic a rule has is walked, said in a sentence or not.

import { fieldsOf, pathOf, type Content, type Fields, type Json } from './fields';

/** What is referred to. part: of a choice or a row its block is id. */
export type Target =
  | { kind: 'block' | 'hidden' | 'variable'; id: string }
  | { kind: 'choice' | 'row'; block: string; id: string };

/** A reference, and where it stands in the rule: a JSON Pointer. */
export interface Reference {
  target: Target;
  at: string;
}

/** New names by old ones; those of choices (columns of a matrix too) and rows by the block that has them. */
export interface Renames {
  blocks?: Names;
  hidden?: Names;
  variables?: Names;
  choices?: { [block: string]: Names };
  rows?: { [block: string]: Names };
}
interface Names { [old: string]: string }

/** Called for each reference; what it returns is the new name. */
type Found = (target: Target, at: string) => string;

/** The references of a rule (properties.rule). */
export function references(rule: Json | undefined, fields: Fields): Reference[] {
  const found: Reference[] = [];
  new Walk(fields, (target, at) => {
    found.push({ target, at });
    return target.id;
  }).rule(rule);
  return found;
}

/** The rule with other names: the same object when it has none of the old ones. */
export function rewrite<T extends Json | undefined>(rule: T, renames: Renames, fields: Fields): T {
  return new Walk(fields, (target) => {
    const own = (names: Names | undefined) => (names && Object.hasOwn(names, target.id) ? (names[target.id] as string) : target.id);
    switch (target.kind) {
      case 'block': return own(renames.blocks);
      case 'hidden': return own(renames.hidden);
      case 'variable': return own(renames.variables);
      case 'choice': return own(renames.choices?.[target.block]);
      case 'row': return own(renames.rows?.[target.block]);
    }
  }).rule(rule) as T;
}

const sameTarget = (a: Target, b: Target): boolean =>
  a.kind === b.kind && a.id === b.id && ('block' in a ? a.block : '') === ('block' in b ? b.block : '');

/** The top-level blocks whose rules refer to a target: to a block also by its choices and rows. */
export function referencesTo(content: Content, target: Target): { block: string; at: string[] }[] {
  const fields = fieldsOf(content);
  return content.blocks.flatMap((b) => {
    const at = references(b.properties?.rule as Json | undefined, fields).filter((r) => sameTarget(r.target, target)).map((r) => r.at);
    return at.length > 0 ? [{ block: b.id, at }] : [];
  });
}

/** The rules that change when things get other names, by the id that their block has now. */
export function rewriteAll(content: Content, renames: Renames): Map<string, Json> {
  const fields = fieldsOf(content);
  const changed = new Map<string, Json>();
  for (const b of content.blocks) {
    const rule = b.properties?.rule as Json | undefined;
    const written = rewrite(rule, renames, fields);
    if (written !== undefined && written !== rule) changed.set(b.id, written);
  }
  return changed;
}

const comparisons = ['==', '===', '!=', '!==', 'in'];
const step = (name: string | number): string => '/' + String(name).replaceAll('~', '~0').replaceAll('/', '~1');

class Walk {
  constructor(private readonly fields: Fields, private readonly found: Found) {}

  rule(rule: Json | undefined): Json | undefined {
    return this.members(rule, '', (name, value, at) => {
      switch (name) {
        case 'show': case 'require': return this.logic(value, at);
        case 'next': return this.items(value, at, (item, at) => this.members(item, at, (name, value, at) => {
          if (name === 'if') return this.logic(value, at);
          return name === 'to' && typeof value === 'string' && (value !== 'end') ? this.found({ kind: 'block', id: value }, at) : value;
        }));
        case 'set': return this.members(value, at, (_, value, at) => this.logic(value, at), (name, at) => this.found({ kind: 'variable', id: name }, at));
      }
      return value;
    });
  }

  /** item: the block whose choices the items are, where var reads an item of an array. */
  private logic(logic: Json, at: string, item?: string): Json {
    if (Array.isArray(logic)) return this.items(logic, at, (l, at) => this.logic(l, at, item));
    if (logic === null || typeof logic !== 'object' || Object.keys(logic).length !== 1) return logic;
    return this.members(logic, at, (name, given, at) => {
      if (name === 'var') return this.items(given, at, (v, at, i) => (i > 0 || typeof v !== 'string' ? this.logic(v, at, item) : item !== undefined ? v : this.path(v, at)));
      if ((name === 'missing' || name === 'missing_some') && item === undefined) return this.keys(given, at);
      if (name === 'some' || name === 'all' || name === 'none') {
        const of = Array.isArray(given) ? this.block(given[0], item) : undefined;
        return this.items(given, at, (l, at, i) => this.logic(l, at, i === 1 ? (of ?? '') : item));
      }
      const block = comparisons.includes(name) && Array.isArray(given) ? given.map((g) => this.block(g, item)).find((b) => b) : undefined;
      return this.items(given, at, (l, at) => (block ? this.choices(l, at, block) : null) ?? this.logic(l, at, item));
    });
  }

  /** The block whose answer logic reads, if it has choices. */
  private block(logic: Json | undefined, item?: string): string | undefined {
    if (logic === null || typeof logic !== 'object' || Array.isArray(logic) || logic.var === undefined) return undefined;
    const path = Array.isArray(logic.var) ? logic.var[0] : logic.var;
    if (item !== undefined) return path === '' ? item || undefined : undefined;
    const ref = typeof path === 'string' ? this.fields.resolve(path) : undefined;
    return ref?.from === 'answers' ? ref.id : undefined;
  }

  /** A choice, or a list of them, that is compared with an answer; null for other logic. */
  private choices(logic: Json, at: string, block: string): Json | null {
    const list = Array.isArray(logic) ? logic : [logic];
    if (this.fields.get({ from: 'answers', id: block }).choices.length === 0 || !list.every((v) => typeof v === 'string')) return null;
    return this.items(logic, at, (v, at) => this.found({ kind: 'choice', block, id: v as string }, at));
  }

  private keys(given: Json, at: string): Json {
    return this.items(given, at, (v, at) => (Array.isArray(v) ? this.keys(v, at) : typeof v === 'string' ? this.path(v, at) : this.logic(v, at)));
  }

  private path(path: string, at: string): string {
    const ref = this.fields.resolve(path);
    if (!ref) return path;
    const kinds = { answers: 'block', hidden: 'hidden', variables: 'variable' } as const;
    const id = this.found({ kind: kinds[ref.from], id: ref.id }, at);
    const rows = ref.from === 'answers' && this.fields.get({ ...ref, part: undefined }).rows;
    const part = rows && ref.part !== undefined ? this.found({ kind: 'row', block: ref.id, id: ref.part }, at) : ref.part;
    return pathOf({ from: ref.from, id, part });
  }

  private items(given: Json, at: string, each: (v: Json, at: string, i: number) => Json): Json {
    if (!Array.isArray(given)) return each(given, at, 0);
    const made = given.map((v, i) => each(v, at + step(i), i));
    return made.some((v, i) => v !== given[i]) ? made : given;
  }

  private members<T extends Json | undefined>(given: T, at: string, each: (name: string, v: Json, at: string) => Json, rename = (name: string, _: string) => name): T {
    if (given === null || typeof given !== 'object' || Array.isArray(given)) return given;
    const old = Object.entries(given) as [string, Json][];
    const made = old.map(([name, v]): [string, Json] => [rename(name, at + step(name)), each(name, v, at + step(name))]);
    return made.some(([name, v], i) => name !== old[i]?.[0] || v !== old[i]?.[1]) ? (Object.fromEntries(made) as T) : given;
  }
}
