// Renames references to blocks, choices, rows, hidden fields and variables in rules and texts. It walks all of a rule's
// JsonLogic, including logic that sentences cannot express.

import { isObject, type Obj } from '../app/json';
import { allBlocks, type Block } from '../app/records';
import { insertionsIn } from '../app/text';
import { fieldsOf, pathOf, type Content, type Fields, type Json } from './fields';
import { insertedPath } from './insertions';

/** What a reference refers to. */
export type Target =
  | { kind: 'block' | 'hidden' | 'variable'; id: string }
  | { kind: 'choice' | 'row'; block: string; id: string };

/** New names by old name. The names of choices (or matrix columns) and rows are grouped by block. */
export interface Renames {
  blocks?: Names;
  hidden?: Names;
  variables?: Names;
  choices?: { [block: string]: Names };
  rows?: { [block: string]: Names };
}
interface Names { [old: string]: string }

/** Called for each reference. Returns the new name. */
type Rename = (target: Target) => string;

function walker(renames: Renames, fields: Fields): RuleWalker {
  return new RuleWalker(fields, (target) => {
    const own = (names: Names | undefined) => (names && Object.hasOwn(names, target.id) ? (names[target.id] as string) : target.id);
    const { blocks, hidden, variables, choices, rows } = renames;
    if ('block' in target) return own((target.kind === 'row' ? rows : choices)?.[target.block]);
    return own({ block: blocks, hidden, variable: variables }[target.kind]);
  });
}

/** Returns a rule with renamed references, or the same object if nothing changes. */
export const renameInRule = <T extends Json | undefined>(rule: T, renames: Renames, fields: Fields): T => walker(renames, fields).rule(rule) as T;

/** Returns an object with renamed references in the given text fields, or the same object if nothing changes. */
export function renameInTexts<T extends Obj>(object: T, names: readonly string[], renames: Renames, fields: Fields): T {
  const texts = names.flatMap((name) => {
    const text = object[name];
    const renamed = typeof text === 'string' ? walker(renames, fields).text(text) : text;
    return renamed === text ? [] : [[name, renamed] as const];
  });
  return texts.length > 0 ? { ...object, ...Object.fromEntries(texts) } : object;
}

/** Returns a block with renamed references, except in its children, or the same object if nothing changes. */
export function renameInBlock(block: Block, renames: Renames, fields: Fields): Block {
  const result = renameInTexts(block as unknown as Obj, ['label', 'description'], renames, fields) as unknown as Block;
  if (!block.properties) return result;
  const texts = renameInTexts(block.properties, ['buttonText'], renames, fields);
  const rule = renameInRule(texts.rule as Json | undefined, renames, fields);
  const properties = rule === texts.rule ? texts : { ...texts, rule };
  return properties === block.properties ? result : { ...result, properties };
}

/** Returns the blocks with renamed references, or the same list if nothing changes. */
export function renameInBlocks(content: Content, renames: Renames): Block[] {
  const fields = fieldsOf(content);
  const all = (blocks: Block[]): Block[] => {
    const result = blocks.map((b) => {
      const children = b.children && all(b.children);
      const renamed = renameInBlock(b, renames, fields);
      return children === b.children ? renamed : { ...renamed, children: children as Block[] };
    });
    return result.every((b, i) => b === blocks[i]) ? blocks : result;
  };
  return all(content.blocks);
}

/** Returns the number of rules that refer to a target. */
export function countUsers(content: Content, of: Target): number {
  const matches = (target: Target): boolean => target.kind === of.kind && target.id === of.id && (!('block' in of) || ('block' in target && target.block === of.block));
  return allBlocks(content.blocks).filter((b) => {
    let found = false;
    new RuleWalker(fieldsOf(content), (target) => ((found ||= matches(target)), target.id)).rule(b.properties?.rule as Json | undefined);
    return found;
  }).length;
}

/** Applies a function to each logic in a rule. */
export function mapLogic(rule: Json, change: (logic: Json) => Json): Json {
  if (!isObject(rule)) return rule;
  const result = { ...rule };
  for (const name of ['show', 'require']) if (result[name] !== undefined) result[name] = change(result[name]);
  for (const name of ['next', 'check']) {
    const list = result[name];
    if (Array.isArray(list)) result[name] = list.map((item) => (isObject(item) && item.if !== undefined ? { ...item, if: change(item.if) } : item));
  }
  if (isObject(result.set)) result.set = Object.fromEntries(Object.entries(result.set).map(([name, logic]) => [name, change(logic)]));
  return result;
}

const comparisons = ['==', '===', '!=', '!==', 'in'];

class RuleWalker {
  constructor(private readonly fields: Fields, private readonly rename: Rename) {}

  rule(rule: Json | undefined): Json | undefined {
    return this.members(rule, (name, value) => {
      switch (name) {
        case 'show': case 'require': return this.logic(value);
        case 'next': return this.items(value, (item) => this.members(item, (name, value) => {
          if (name === 'if') return this.logic(value);
          return name === 'to' && typeof value === 'string' && (value !== 'end') ? this.rename({ kind: 'block', id: value }) : value;
        }));
        case 'check': return this.items(value, (item) => this.members(item, (name, value) =>
          name === 'if' ? this.logic(value) : name === 'say' && typeof value === 'string' ? this.text(value) : value));
        case 'choices': return this.members(value, (name, value) => (name === 'by' && typeof value === 'string' ? this.path(value) : value));
        case 'set': return this.members(value, (_, value) => this.logic(value), (name) => this.rename({ kind: 'variable', id: name }));
      }
      return value;
    });
  }

  /** Renames the fields that a text inserts. */
  text(text: string): string {
    return insertionsIn(text).reduceRight((result, { from, to, name }) => {
      const path = insertedPath(name, this.fields);
      return path === undefined ? result : result.slice(0, from + 2) + name.replace(path, () => this.path(path)) + result.slice(to - 2);
    }, text);
  }

  /** item is the block whose choices are being iterated. Inside such an iteration, var reads an array item. */
  private logic(logic: Json, item?: string): Json {
    if (Array.isArray(logic)) return this.items(logic, (l) => this.logic(l, item));
    if (logic === null || typeof logic !== 'object' || Object.keys(logic).length !== 1) return logic;
    return this.members(logic, (name, given) => {
      if (name === 'var') return this.items(given, (v, i) => (i > 0 || typeof v !== 'string' ? this.logic(v, item) : item !== undefined ? v : this.path(v)));
      if ((name === 'missing' || name === 'missing_some') && item === undefined) return this.keys(given);
      if (name === 'some' || name === 'all' || name === 'none') {
        const of = Array.isArray(given) ? this.block(given[0], item) : undefined;
        return this.items(given, (l, i) => this.logic(l, i === 1 ? (of ?? '') : item));
      }
      const block = comparisons.includes(name) && Array.isArray(given) ? given.map((g) => this.block(g, item)).find((b) => b) : undefined;
      return this.items(given, (l) => (block ? this.choices(l, block) : null) ?? this.logic(l, item));
    });
  }

  /** Returns the block whose answer the logic reads. */
  private block(logic: Json | undefined, item?: string): string | undefined {
    if (logic === null || typeof logic !== 'object' || Array.isArray(logic) || logic.var === undefined) return undefined;
    const path = Array.isArray(logic.var) ? logic.var[0] : logic.var;
    if (item !== undefined) return path === '' ? item || undefined : undefined;
    const ref = typeof path === 'string' ? this.fields.resolve(path) : undefined;
    return ref?.from === 'answers' ? ref.id : undefined;
  }

  /** Renames choices that are compared with an answer. Returns null for other logic. */
  private choices(logic: Json, block: string): Json | null {
    const list = Array.isArray(logic) ? logic : [logic];
    if (this.fields.get({ from: 'answers', id: block }).choices.length === 0 || !list.every((v) => typeof v === 'string')) return null;
    return this.items(logic, (v) => this.rename({ kind: 'choice', block, id: v as string }));
  }

  private keys(given: Json): Json {
    return this.items(given, (v) => (Array.isArray(v) ? this.keys(v) : typeof v === 'string' ? this.path(v) : this.logic(v)));
  }

  private path(path: string): string {
    const ref = this.fields.resolve(path);
    if (!ref || ref.from === 'submission') return path;
    const kinds = { answers: 'block', hidden: 'hidden', variables: 'variable' } as const;
    const id = this.rename({ kind: kinds[ref.from], id: ref.id });
    const rows = ref.from === 'answers' && this.fields.get({ ...ref, part: undefined }).rows;
    const part = rows && ref.part !== undefined ? this.rename({ kind: 'row', block: ref.id, id: ref.part }) : ref.part;
    return pathOf({ from: ref.from, id, part });
  }

  private items(given: Json, each: (v: Json, i: number) => Json): Json {
    if (!Array.isArray(given)) return each(given, 0);
    const result = given.map((v, i) => each(v, i));
    return result.some((v, i) => v !== given[i]) ? result : given;
  }

  private members<T extends Json | undefined>(given: T, each: (name: string, v: Json) => Json, rename = (name: string) => name): T {
    if (given === null || typeof given !== 'object' || Array.isArray(given)) return given;
    const old = Object.entries(given) as [string, Json][];
    const result = old.map(([name, v]): [string, Json] => [rename(name), each(name, v)]);
    return result.some(([name, v], i) => name !== old[i]?.[0] || v !== old[i]?.[1]) ? (Object.fromEntries(result) as T) : given;
  }
}
