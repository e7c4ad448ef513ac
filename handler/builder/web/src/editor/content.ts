// The content of a form, and its places. Contents are never modified: every change returns a new one
// that shares the unchanged parts, so that `===` shows quickly that nothing changed.

import { isObject, member, segments, type Obj } from '../app/json';
import type { Block, Definition } from '../app/records';

/** The parts of a form that people edit. */
export type Content = Definition & { name: string; type: string };

/**
 * A place in a content: names of fields, and ids of items in lists. A block at any depth is
 * ['blocks', id], and a property of it is ['blocks', id, 'properties', 'max'].
 */
export type Path = readonly string[];

export const sameItems = (a: readonly unknown[], b: readonly unknown[]): boolean => a.length === b.length && a.every((v, i) => v === b[i]);

/** The id of a list's item. A text is its own id. */
export const keyOf = (v: unknown): string | undefined => {
  const key = typeof v === 'string' ? v : member(v, 'id');
  return typeof key === 'string' ? key : undefined;
};

export const childrenOf = (item: unknown): readonly unknown[] => (isObject(item) && Array.isArray(item.children) ? item.children : []);

export interface Node {
  block: Block; // or a choice, a row, a column, a hidden field
  own: Obj; // the block with no children in it
  parent: string; // '' at the top
  at: number; // position, parents before their children
}

/** The items of a list by id, and the ids of each parent's children in order. */
export interface Tree {
  nodes: Map<string, Node>;
  lists: Map<string, string[]>;
}

const trees = new WeakMap<readonly unknown[], Tree | 'none'>();
const owns = new WeakMap<object, Obj>();

/** Returns a block with no children in it: a group has an empty list of them. */
export function ownOf(item: unknown): unknown {
  if (!isObject(item) || childrenOf(item).length === 0) return item;
  let own = owns.get(item);
  if (!own) owns.set(item, (own = { ...item, children: [] }));
  return own;
}

/** Returns the items of a list with all their descendants, or undefined if they do not have ids of their own. */
export function treeOf(list: unknown): Tree | undefined {
  if (!Array.isArray(list)) return undefined;
  let tree = trees.get(list);
  if (!tree) {
    const made: Tree = { nodes: new Map(), lists: new Map() };
    trees.set(list, (tree = add(made, list, '') ? made : 'none'));
  }
  return tree === 'none' ? undefined : tree;
}

function add(tree: Tree, list: readonly unknown[], parent: string): boolean {
  const ids: string[] = [];
  tree.lists.set(parent, ids);
  return list.every((item) => {
    const id = keyOf(item);
    if (id === undefined || tree.nodes.has(id)) return false;
    ids.push(id);
    tree.nodes.set(id, { block: item as Block, own: ownOf(item) as Obj, parent, at: tree.nodes.size });
    return childrenOf(item).length === 0 || add(tree, childrenOf(item), id);
  });
}

export const find = (c: Content, id: string): Node | undefined => treeOf(c.blocks)?.nodes.get(id);

export const step = (v: unknown, name: string): unknown => (Array.isArray(v) ? v.find((item) => keyOf(item) === name) : member(v, name));

/** Returns the place that a JSON Pointer into a content means. */
export function pathOf(c: Content, pointer: string): Path {
  let value: unknown = c;
  let path: string[] = [];
  for (const name of segments(pointer)) {
    const list = Array.isArray(value) ? value : undefined;
    value = list ? list[Number(name)] : member(value, name);
    const key = list ? (keyOf(value) ?? name) : name;
    path = list && ['blocks', 'children'].includes(path.at(-1) ?? '') ? ['blocks', key] : [...path, key];
  }
  return path;
}

/** Returns a JSON Pointer into a value, where a path leads: items that the path names by id have their index in it. */
export function pointerTo(value: unknown, path: Path): string {
  let pointer = '';
  for (const name of path) {
    const index = Array.isArray(value) ? value.findIndex((item) => keyOf(item) === name) : -1;
    const key = index >= 0 ? String(index) : name;
    pointer += '/' + key.replaceAll('~', '~0').replaceAll('/', '~1');
    value = Array.isArray(value) ? value[index] : member(value, name);
  }
  return pointer;
}

/** Returns the value at a place. */
export function get(c: Content, path: Path): unknown {
  const [first, id, ...rest] = path;
  if (first !== 'blocks' || id === undefined) return path.reduce<unknown>(step, c);
  const node = find(c, id);
  return rest.length === 0 ? node?.block : rest.reduce<unknown>(step, node?.own);
}

export function put(v: unknown, path: Path, value: unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  if (Array.isArray(v) && rest.length > 0 && step(v, name) === undefined) return v;
  const made = put(step(v, name), rest, value);
  if (Array.isArray(v)) {
    const items = v.flatMap((item) => (keyOf(item) !== name ? [item] : made === undefined ? [] : [made]));
    return made !== undefined && step(v, name) === undefined ? [...items, made] : items;
  }
  const entries = Object.entries(isObject(v) ? v : {}).filter(([n]) => n !== name);
  return Object.fromEntries(made === undefined ? entries : [...entries, [name, made]]);
}

/** Returns c with another value at a place that is there. If it is undefined, the field or the item is removed. */
export function set(c: Content, path: Path, value: unknown): Content {
  const [first, id, ...rest] = path;
  if (first !== 'blocks' || id === undefined) return put(c, path, value) as Content;
  if (rest.length > 0) return replace(c, id, (b) => put(b, rest, value) as Block);
  if (value !== undefined) return replace(c, id, () => value as Block);
  const without = (list: Block[]): Block[] => list.filter((b) => b.id !== id);
  const parent = find(c, id)?.parent;
  return parent ? replace(c, parent, (p) => ({ ...p, children: without(p.children ?? []) })) : { ...c, blocks: without(c.blocks) };
}

/** Returns c with one block, at any depth, changed. */
export function replace(c: Content, id: string, change: (b: Block) => Block): Content {
  let node = find(c, id);
  if (!node) return c;
  let made = change(node.block);
  if (made === node.block) return c;
  for (; node.parent !== ''; id = node.parent, node = find(c, id) as Node) {
    const parent = find(c, node.parent)?.block as Block;
    const now = made;
    made = { ...parent, children: (parent.children as Block[]).map((b) => (b.id === now.id ? now : b)) };
  }
  return { ...c, blocks: c.blocks.map((b) => (b.id === id ? made : b)) };
}

/** Returns c without a block and everything in it. */
export const drop = (c: Content, id: string): Content => (find(c, id) ? set(c, ['blocks', id], undefined) : c);
