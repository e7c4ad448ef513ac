// A form's content, and paths into it. Content is never modified. Every change returns new content that shares the
// unchanged parts, so that `===` detects equal parts quickly.

import { isObject, fieldOf, pointerSegments, type Obj } from '../app/json';
import type { Block, Definition } from '../app/records';

/** A form's editable parts. */
export type Content = Definition & { name: string; type: string };

/**
 * A path into the content: field names, and the ids of list items. A block at any depth is ['blocks', id], and one
 * of its properties is ['blocks', id, 'properties', 'max'].
 */
export type Path = readonly string[];

export const sameItems = (a: readonly unknown[], b: readonly unknown[]): boolean => a.length === b.length && a.every((v, i) => v === b[i]);

/** Returns the id of a list item. A string is its own id. */
export const itemId = (v: unknown): string | undefined => {
  const key = typeof v === 'string' ? v : fieldOf(v, 'id');
  return typeof key === 'string' ? key : undefined;
};

export const childrenOf = (item: unknown): readonly unknown[] => (isObject(item) && Array.isArray(item.children) ? item.children : []);

export interface Node {
  block: Block;
  own: Obj; // the block without its children
  parent: string; // '' for top-level items
  position: number; // index in depth-first order
}

/** The items of a list by id, and the ids of each parent's children in order. */
export interface Tree {
  nodes: Map<string, Node>;
  lists: Map<string, string[]>;
}

const trees = new WeakMap<readonly unknown[], Tree | 'none'>();
const childless = new WeakMap<object, Obj>();

/** Returns a block without its children. A group has an empty list. */
export function withoutChildren(item: unknown): unknown {
  if (!isObject(item) || childrenOf(item).length === 0) return item;
  let own = childless.get(item);
  if (!own) childless.set(item, (own = { ...item, children: [] }));
  return own;
}

/** Returns the items of a list with all descendants, or undefined if the items do not have unique ids. */
export function treeOf(list: unknown): Tree | undefined {
  if (!Array.isArray(list)) return undefined;
  let tree = trees.get(list);
  if (!tree) {
    const built: Tree = { nodes: new Map(), lists: new Map() };
    trees.set(list, (tree = addItems(built, list, '') ? built : 'none'));
  }
  return tree === 'none' ? undefined : tree;
}

function addItems(tree: Tree, list: readonly unknown[], parent: string): boolean {
  const ids: string[] = [];
  tree.lists.set(parent, ids);
  return list.every((item) => {
    const id = itemId(item);
    if (id === undefined || tree.nodes.has(id)) return false;
    ids.push(id);
    tree.nodes.set(id, { block: item as Block, own: withoutChildren(item) as Obj, parent, position: tree.nodes.size });
    return childrenOf(item).length === 0 || addItems(tree, childrenOf(item), id);
  });
}

export const findNode = (c: Content, id: string): Node | undefined => treeOf(c.blocks)?.nodes.get(id);

export const stepInto = (v: unknown, name: string): unknown => (Array.isArray(v) ? v.find((item) => itemId(item) === name) : fieldOf(v, name));

/** Converts a JSON Pointer to a path. */
export function pathOf(c: Content, pointer: string): Path {
  let value: unknown = c;
  let path: string[] = [];
  for (const name of pointerSegments(pointer)) {
    const list = Array.isArray(value) ? value : undefined;
    value = list ? list[Number(name)] : fieldOf(value, name);
    const key = list ? (itemId(value) ?? name) : name;
    path = list && ['blocks', 'children'].includes(path.at(-1) ?? '') ? ['blocks', key] : [...path, key];
  }
  return path;
}

/** Converts a path below a value to a JSON Pointer. Item ids become indexes. */
export function pointerTo(value: unknown, path: Path): string {
  let pointer = '';
  for (const name of path) {
    const index = Array.isArray(value) ? value.findIndex((item) => itemId(item) === name) : -1;
    const key = index >= 0 ? String(index) : name;
    pointer += '/' + key.replaceAll('~', '~0').replaceAll('/', '~1');
    value = Array.isArray(value) ? value[index] : fieldOf(value, name);
  }
  return pointer;
}

/** Returns the value at a path. */
export function get(c: Content, path: Path): unknown {
  const [first, id, ...rest] = path;
  if (first !== 'blocks' || id === undefined) return path.reduce<unknown>(stepInto, c);
  const node = findNode(c, id);
  return rest.length === 0 ? node?.block : rest.reduce<unknown>(stepInto, node?.own);
}

export function putValue(v: unknown, path: Path, value: unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  if (Array.isArray(v) && rest.length > 0 && stepInto(v, name) === undefined) return v;
  const result = putValue(stepInto(v, name), rest, value);
  if (Array.isArray(v)) {
    const items = v.flatMap((item) => (itemId(item) !== name ? [item] : result === undefined ? [] : [result]));
    return result !== undefined && stepInto(v, name) === undefined ? [...items, result] : items;
  }
  const entries = Object.entries(isObject(v) ? v : {}).filter(([n]) => n !== name);
  return Object.fromEntries(result === undefined ? entries : [...entries, [name, result]]);
}

/** Returns c with a new value at an existing path. If the value is undefined, the field or item is removed. */
export function set(c: Content, path: Path, value: unknown): Content {
  const [first, id, ...rest] = path;
  if (first !== 'blocks' || id === undefined) return putValue(c, path, value) as Content;
  if (rest.length > 0) return replaceBlock(c, id, (b) => putValue(b, rest, value) as Block);
  if (value !== undefined) return replaceBlock(c, id, () => value as Block);
  const without = (list: Block[]): Block[] => list.filter((b) => b.id !== id);
  const parent = findNode(c, id)?.parent;
  return parent ? replaceBlock(c, parent, (p) => ({ ...p, children: without(p.children ?? []) })) : { ...c, blocks: without(c.blocks) };
}

/** Returns c with one block, at any depth, changed. */
export function replaceBlock(c: Content, id: string, change: (b: Block) => Block): Content {
  let node = findNode(c, id);
  if (!node) return c;
  let result = change(node.block);
  if (result === node.block) return c;
  for (; node.parent !== ''; id = node.parent, node = findNode(c, id) as Node) {
    const parent = findNode(c, node.parent)?.block as Block;
    const now = result;
    result = { ...parent, children: (parent.children as Block[]).map((b) => (b.id === now.id ? now : b)) };
  }
  return { ...c, blocks: c.blocks.map((b) => (b.id === id ? result : b)) };
}

/** Returns c without a block and everything in it. */
export const removeNode = (c: Content, id: string): Content => (findNode(c, id) ? set(c, ['blocks', id], undefined) : c);
