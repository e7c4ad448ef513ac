// Operations on a form's content. The difference between two versions is a list of operations. If an operation's old
// value has changed, there is a conflict. An operation's inverse undoes it.

import { isObject, fieldOf, isEqual } from '../app/json';
import type { Block } from '../app/records';
import { childrenOf, findNode, get, itemId, withoutChildren, putValue, replaceBlock, sameItems, set, stepInto, treeOf, type Content, type Path, type Tree } from './content';

/** The position of an item: its parent ('' at the top level), and all ids in the parent's list. */
interface ItemPosition {
  parent: string;
  siblings: readonly string[];
}

export type Operation = { path: Path; old: unknown; value: unknown } & (
  | { kind: 'set'; from?: undefined; to?: undefined }
  | { kind: 'add'; from?: undefined; to: ItemPosition }
  | { kind: 'move'; from: ItemPosition; to: ItemPosition }
  | { kind: 'remove'; from: ItemPosition; to?: undefined }
);

const treeAt = (c: Content, path: Path): Tree | undefined => treeOf(get(c, path.slice(0, -1)));

function positionIn(tree: Tree | undefined, id: string): ItemPosition {
  const { parent = '' } = tree?.nodes.get(id) ?? {};
  return { parent, siblings: tree?.lists.get(parent) ?? [] };
}

const idOf = (path: Path): string => path.at(-1) as string;
const hasBlock = (c: Content | undefined, id: string): boolean => c !== undefined && findNode(c, id) !== undefined;
const overlap = (a: Path, b: Path): boolean => isWithin(a, b) || isWithin(b, a);
export const isWithin = (path: Path, outer: Path): boolean => outer.every((name, i) => path[i] === name);

// Differences -----------------------------------------------------------------------------------

/** Reports whether a value is replaced as a whole. Parts of an image or of a rule's logic make no sense on their own. */
function isWhole(path: Path): boolean {
  if (path[0] === 'blocks' && path[2] === 'properties' && path[3] === 'rule') return path.length > 5 || (path.length === 5 && path[4] !== 'set');
  return path.at(-1) === 'image' || path.at(-1) === 'logo';
}

/** Returns the operations that turn one version of the content into another. */
export const diff = (from: Content, to: Content): Operation[] => compareValues([], from, to);

function compareValues(path: Path, old: unknown, value: unknown): Operation[] {
  if (isEqual(old, value)) return [];
  if (!isWhole(path)) {
    if (isObject(old) && isObject(value)) return [...new Set([...Object.keys(old), ...Object.keys(value)])].flatMap((n) => compareValues([...path, n], fieldOf(old, n), fieldOf(value, n)));
    const [before, after] = [treeOf(old), treeOf(value)];
    if (before && after) return compareItems(path, before, after);
  }
  return [{ kind: 'set', path, old, value }];
}

/** Compares lists. Parents are added before their children, and siblings in order, so that every position exists when needed. */
function compareItems(list: Path, before: Tree, after: Tree): Operation[] {
  const ops: Operation[] = [];
  const moved = new Set([...after.lists].flatMap(([parent, ids]) => movedIn(before.lists.get(parent) ?? [], ids)));
  for (const [id, { parent, block }] of after.nodes) {
    const [old, path, to] = [before.nodes.get(id), [...list, id], positionIn(after, id)];
    if (old && (old.parent !== parent || moved.has(id))) ops.push({ kind: 'move', path, old: undefined, value: undefined, from: positionIn(before, id), to });
    if (!old && (parent === '' || before.nodes.has(parent))) ops.push({ kind: 'add', path, old: undefined, value: withoutBlocks(block, before.nodes), to });
  }
  for (const [id, { parent, block }] of before.nodes) {
    if (after.nodes.has(id) || (parent !== '' && !after.nodes.has(parent))) continue;
    ops.push({ kind: 'remove', path: [...list, id], old: withoutBlocks(block, after.nodes), value: undefined, from: positionIn(before, id) });
  }
  for (const [id, { own }] of after.nodes) {
    const was = before.nodes.get(id)?.own;
    if (was !== undefined && was !== own) ops.push(...compareValues([...list, id], was, own));
  }
  return ops;
}

/** Returns a block without the blocks in it that have their own operations. */
const withoutBlocks = (item: unknown, others: { has(id: string): boolean }): unknown =>
  childrenOf(item).length === 0 ? item : { ...(item as Block), children: (item as Block).children?.filter((b) => !others.has(b.id)).map((b) => withoutBlocks(b, others)) };

/** Returns the ids that must move to produce the new order. It prefers the ids that moved furthest. */
function movedIn(from: readonly string[], to: readonly string[]): string[] {
  let [before, after] = [from.filter((id) => to.includes(id)), to.filter((id) => from.includes(id))];
  const moved: string[] = [];
  while (!sameItems(before, after)) {
    const at = new Map(before.map((id, i) => [id, i]));
    const distance = after.map((id, i) => Math.abs(i - (at.get(id) as number)));
    const id = after[distance.indexOf(Math.max(...distance))] as string;
    moved.push(id);
    [before, after] = [before.filter((v) => v !== id), after.filter((v) => v !== id)];
  }
  return moved;
}

// Applying -------------------------------------------------------------------------------------

/** Applies the operations whose old values have not changed. */
export const apply = (c: Content, ops: readonly Operation[]): Content =>
  ops.filter((op) => op.kind !== 'move' || isAt(c, op.path, op.from)).flatMap(splitAdd).reduce((now, op) => applyOperation(now, op), c);

/** Applies the changes between two versions of the content, except where the old values have changed. */
export const replay = (from: Content, to: Content, onto: Content): Content => apply(onto, diff(from, to));

/** Replays local edits on top of remote changes. Local edits win, and conflicts are collected. */
interface Replay {
  local: Content;
  conflicts: Operation[];
}

/** Splits an addition into one operation for each block. */
function splitAdd(op: Operation): Operation[] {
  if (op.kind !== 'add') return [op];
  const siblings = childrenOf(op.value).map((b) => itemId(b) as string);
  const inside = childrenOf(op.value).map((value, i) => ({ ...op, path: ['blocks', siblings[i] as string], value, to: { parent: idOf(op.path), siblings } }));
  return [{ ...op, value: withoutChildren(op.value) }, ...inside.flatMap(splitAdd)];
}

function applyOperation(c: Content, op: Operation, replay?: Replay): Content {
  const { path } = op;
  const now = get(c, path);
  if (op.kind === 'remove') return removeItem(c, op, replay);
  if (op.kind === 'add' && now === undefined) return insertItem(c, path, op.value, op.to);
  if (op.kind === 'move') {
    if (now === undefined) return c;
    for (let up = op.to.parent; up !== ''; up = findNode(c, up)?.parent ?? '') if (up === idOf(path) || !hasBlock(c, up)) return c;
    return insertItem(set(c, path, undefined), path, now, op.to);
  }
  return assign(c, op, replay);
}

/** Sets an operation's value, even if it adds an item that already exists. */
function assign(c: Content, op: Operation, replay?: Replay): Content {
  const { path, value } = op;
  const now = get(c, path);
  if (isEqual(now, value)) return c;
  if (path.length === 3 && path[2] === 'children' && childrenOf(get(c, path.slice(0, 2))).length > 0) return c;
  if (!isEqual(now, op.old)) {
    // Two users created an object or a list at the same path, so merge their parts.
    const empty = isObject(now) && isObject(value) ? {} : Array.isArray(now) && Array.isArray(value) ? [] : undefined;
    const changes = op.old === undefined && empty ? compareValues(path, empty, value) : [op];
    if (changes[0]?.path.length !== path.length) return changes.reduce((result, change) => applyOperation(result, change, replay), c);
    if (!replay) return c;
    replay.conflicts.push(op);
  }
  return set(c, path, value);
}

/**
 * Removes an item, unless it was changed remotely or was moved out of a group that is being removed. A group that is
 * kept also keeps its children.
 */
function removeItem(c: Content, op: Operation & { kind: 'remove' }, replay?: Replay, isKept = false): Content {
  const [id, now, local] = [idOf(op.path), get(c, op.path), replay?.local];
  if (now !== undefined) {
    const oldNodes = treeOf([op.old])?.nodes;
    const changed = (item: unknown): boolean =>
      !isEqual(withoutChildren(item), oldNodes?.get(itemId(item) as string)?.own) || childrenOf(item).some((b) => !hasBlock(local, itemId(b) as string) && changed(b));
    const wasMovedOut = op.from.parent !== '' && !hasBlock(local, op.from.parent) && findNode(c, id)?.parent !== op.from.parent;
    const isConflict = wasMovedOut || (!isKept && changed(now));
    if (isConflict) replay?.conflicts.push(op);
    isKept ||= isConflict;
    if (!isKept) c = detach(c, op.path, local);
  }
  const from = { parent: id, siblings: childrenOf(op.old).map((b) => itemId(b) as string) };
  return childrenOf(op.old).reduce<Content>((result, old) => removeItem(result, { ...op, path: ['blocks', itemId(old) as string], old, from }, replay, isKept), c);
}

/** Returns c without an item. If other has some of the item's blocks elsewhere, they are inserted there. */
export function detach(c: Content, path: Path, other: Content | undefined): Content {
  let result = set(c, path, undefined);
  const inside = path[0] === 'blocks' && path.length === 2 && other ? (treeOf([get(c, path)])?.nodes ?? []) : [];
  for (const [id, { block }] of inside) {
    if (other && id !== path[1] && hasBlock(other, id) && !hasBlock(result, id)) result = insertItem(result, ['blocks', id], block, positionIn(treeOf(other.blocks), id));
  }
  return result;
}

function insertItem(c: Content, path: Path, item: unknown, { parent, siblings }: ItemPosition): Content {
  const tree = treeAt(c, path);
  const target = parent === '' || tree?.nodes.has(parent) ? parent : '';
  const present = tree?.lists.get(target) ?? [];
  const last = siblings.slice(0, siblings.indexOf(idOf(path))).findLast((id) => present.includes(id));
  const index = target !== parent ? present.length : last === undefined ? 0 : present.indexOf(last) + 1;
  if (target !== '') return replaceBlock(c, target, (p) => ({ ...p, children: (p.children ?? []).toSpliced(index, 0, item as Block) }));
  const list = path.slice(0, -1);
  return set(c, list, ((get(c, list) ?? []) as unknown[]).toSpliced(index, 0, item));
}

/** Reports whether an item has not moved: it has the same parent and follows the same remaining siblings. */
function isAt(c: Content, path: Path, { parent, siblings }: ItemPosition): boolean {
  const id = idOf(path);
  const now = positionIn(treeAt(c, path), id);
  const before = (list: readonly string[], other: readonly string[]): string[] => list.slice(0, list.indexOf(id)).filter((v) => other.includes(v));
  const [is, was] = [before(now.siblings, siblings), before(siblings, now.siblings)];
  return now.parent === parent && now.siblings.includes(id) && is.length === was.length && is.every((v) => was.includes(v));
}

// Replaying -------------------------------------------------------------------------------------

/**
 * Replays the edits between base and local on remote, the service's current content. If both sides changed a value,
 * the local value wins. If one side removed a block that the other side changed, the block is restored. uncertain
 * lists the content after each write with an unknown outcome. Its changes do not count as remote edits.
 */
export function rebase(base: Content, local: Content, remote: Content, uncertain: readonly Content[] = []): { content: Content; conflicts: Operation[] } {
  const withoutLaterEdits = (op: Operation): Operation => {
    const there = withoutChildren(get(remote, op.path));
    return op.kind === 'add' && isObject(op.value) ? { ...op, value: Object.fromEntries(Object.entries(op.value).filter(([n, v]) => isEqual(fieldOf(there, n), v))) } : op;
  };
  const from = uncertain.reduce((now, sent) => apply(now, diff(now, sent).flatMap(splitAdd).filter((op) => isDone(remote, op)).map(withoutLaterEdits)), base);
  const ops = diff(from, local);
  const replay: Replay = { local, conflicts: [] };
  let c = remote;
  for (const op of ops) {
    const path = neededPath(op, from, local, c);
    if (!path) continue;
    const there = { has: (id: string) => hasBlock(c, id) };
    const [old, value] = [get(from, path), withoutBlocks(get(local, path), there)];
    const isItem = Array.isArray(get(c, path.slice(0, -1)));
    const restored: Operation = isItem ? { kind: 'add', path, old, value, to: positionIn(treeAt(local, path), idOf(path)) } : { kind: 'set', path, old, value };
    replay.conflicts.push(restored);
    c = restored.kind === 'add' ? insertItem(c, path, value, restored.to) : set(c, path, value);
  }
  c = ops.flatMap(splitAdd).reduce((now, op) => applyOperation(now, op, replay), c);
  return { content: isEqual(c, local) ? local : c, conflicts: replay.conflicts };
}

/** Returns the path of a removed item or list that an operation needs. */
function neededPath(op: Operation, from: Content, local: Content, c: Content): Path | undefined {
  const top = (id: string): Path => {
    for (let up; (up = findNode(local, id)?.parent) && !hasBlock(c, up); ) id = up;
    return ['blocks', id];
  };
  const isRemoved = (id = ''): boolean => hasBlock(from, id) && !hasBlock(c, id);
  if (op.path[0] === 'blocks' && op.path.length === 2) {
    if (op.kind === 'add' && isRemoved(op.to.parent)) return top(op.to.parent);
    if (op.kind === 'move' && isRemoved(op.path[1]) && op.to.parent !== op.from.parent && isRemoved(op.from.parent)) return op.path;
  } else if (op.kind === 'set' || op.kind === 'add') {
    for (let n = 2; n < op.path.length; n++) {
      const path = op.path.slice(0, n);
      const isNeeded = Array.isArray(get(local, path)) || Array.isArray(get(local, path.slice(0, -1)));
      if (isNeeded && get(c, path) === undefined) return path[0] === 'blocks' && n === 2 ? top(path[1] as string) : path;
    }
  }
  return undefined;
}

function isDone(c: Content, op: Operation): boolean {
  const now = get(c, op.path);
  if (op.kind === 'move') return now !== undefined && isAt(c, op.path, op.to);
  if (op.kind === 'remove') return now === undefined && childrenOf(op.old).every((b) => isDone(c, { ...op, path: ['blocks', itemId(b) as string], old: b }));
  return op.kind === 'set' ? isEqual(now, op.value) : now !== undefined;
}

// Pending operations ----------------------------------------------------------------------------

/** A violation or warning that the service reported for a value. */
export interface Violation {
  path: Path;
  code: string;
  message: string;
}

/** An operation that is not saved yet. If refused is set, the service rejected it at that ETag. */
export type Pending = Operation & { refused?: { faults: Violation[]; etag: string } };

/**
 * Reports whether the value that an operation changes was also changed remotely. A conflicting removal is not
 * applied.
 */
export const isConflict = (op: Operation, base: Content, local: Content): boolean =>
  op.kind === 'remove' ? get(local, op.path) !== undefined : op.kind !== 'move' && !isEqual(op.old, get(base, op.path));

/**
 * Returns the operations between base and local. Conflicting operations keep their old value. Rejected operations
 * that have not changed stay rejected. If a conflicting value has its old value again, the remote value is used.
 */
export function pendingOf(base: Content, local: Content, previous: readonly Pending[]): { pending: Pending[]; mine: Content } {
  const pending: Pending[] = [];
  for (const op of diff(base, local)) {
    const was = previous.find((h) => h.kind === op.kind && sameItems(h.path, op.path)) ?? previous.find((h) => !h.refused && h.kind !== 'remove' && overlap(h.path, op.path));
    if (was?.refused) pending.push(isEqual([was.value, was.to?.parent], [op.value, op.to?.parent]) ? { ...op, refused: was.refused } : op);
    else if (!was || op.kind === 'remove' || op.kind === 'move') pending.push(op);
    else {
      const [length, outer] = [op.path.length, was.path.length];
      const old = outer > length ? putValue(undefined, was.path.slice(length), was.old) : op.path.slice(outer).reduce(stepInto, was.old);
      if (op.kind === 'set' && isEqual(op.value, old)) local = set(local, op.path, op.old);
      else pending.push({ ...op, old });
    }
  }
  const keptRemovals = previous.filter((h) => h.kind === 'remove' && !h.refused && get(local, h.path) !== undefined && get(base, h.path) !== undefined);
  return { pending: [...pending, ...keptRemovals], mine: local };
}

/** A value that was changed both locally and remotely. undefined means that it was removed. */
export interface Conflict {
  path: Path;
  base: unknown;
  theirs: unknown;
  mine: unknown;
}

export const conflictsOf = (base: Content, local: Content, ops: readonly Operation[]): Conflict[] =>
  ops.filter((op) => isConflict(op, base, local)).map((op) => ({
    path: op.path, base: op.old, theirs: get(base, op.path), mine: op.kind === 'remove' ? undefined : get(local, op.path),
  }));

/** Returns the paths of typed text and numbers, or undefined if there are other edits. */
export function typedPaths(ops: readonly Operation[]): string | undefined {
  const isText = (v: unknown): boolean => v === undefined || typeof v === 'string' || typeof v === 'number';
  const splitObject = (op: Operation): Operation[] => (op.kind === 'set' && op.old === undefined && isObject(op.value) && !isWhole(op.path) ? compareValues(op.path, {}, op.value).flatMap(splitObject) : [op]);
  const all = ops.flatMap(splitObject);
  return all.every((op) => op.kind === 'set' && isText(op.old) && isText(op.value)) ? all.map((op) => op.path.join('/')).join('\n') : undefined;
}
