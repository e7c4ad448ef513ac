// Operations on a form's content. The difference of two contents is a list of them, and everything else
// follows: an operation whose old value is no longer there is a conflict, and its inverse undoes it.

import { isObject, member, same } from '../app/json';
import type { Block } from '../app/records';
import { childrenOf, find, get, keyOf, ownOf, put, replace, sameItems, set, step, treeOf, type Content, type Path, type Tree } from './content';

/** Where an item is: behind the items that precede it in the list of its parent, which is '' at the top. */
interface Place {
  parent: string;
  siblings: readonly string[];
}

export type Operation = { path: Path; old: unknown; value: unknown } & (
  | { kind: 'set'; from?: undefined; to?: undefined }
  | { kind: 'add'; from?: undefined; to: Place }
  | { kind: 'move'; from: Place; to: Place }
  | { kind: 'remove'; from: Place; to?: undefined }
);

const treeWith = (c: Content, path: Path): Tree | undefined => treeOf(get(c, path.slice(0, -1)));

function placeIn(tree: Tree | undefined, id: string): Place {
  const { parent = '' } = tree?.nodes.get(id) ?? {};
  return { parent, siblings: tree?.lists.get(parent) ?? [] };
}

const idOf = (path: Path): string => path.at(-1) as string;
const has = (c: Content | undefined, id: string): boolean => c !== undefined && find(c, id) !== undefined;
const overlap = (a: Path, b: Path): boolean => isWithin(a, b) || isWithin(b, a);
export const isWithin = (path: Path, outer: Path): boolean => outer.every((name, i) => path[i] === name);

// Differences -----------------------------------------------------------------------------------

/** Images, and the logic in rules, make sense only as a whole. */
function isWhole(path: Path): boolean {
  if (path[0] === 'blocks' && path[2] === 'properties' && path[3] === 'rule') return path.length > 5 || (path.length === 5 && path[4] !== 'set');
  return path.at(-1) === 'image' || path.at(-1) === 'logo';
}

/** Returns the operations that lead from one content to another. */
export const diff = (from: Content, to: Content): Operation[] => compare([], from, to);

function compare(path: Path, old: unknown, value: unknown): Operation[] {
  if (same(old, value)) return [];
  if (!isWhole(path)) {
    if (isObject(old) && isObject(value)) return [...new Set([...Object.keys(old), ...Object.keys(value)])].flatMap((n) => compare([...path, n], member(old, n), member(value, n)));
    const [before, after] = [treeOf(old), treeOf(value)];
    if (before && after) return compareItems(path, before, after);
  }
  return [{ kind: 'set', path, old, value }];
}

/** Parents come before their children, and siblings in order, so that every place exists when it is needed. */
function compareItems(list: Path, before: Tree, after: Tree): Operation[] {
  const ops: Operation[] = [];
  const moved = new Set([...after.lists].flatMap(([parent, ids]) => movedIn(before.lists.get(parent) ?? [], ids)));
  for (const [id, { parent, block }] of after.nodes) {
    const [was, path, to] = [before.nodes.get(id), [...list, id], placeIn(after, id)];
    if (was && (was.parent !== parent || moved.has(id))) ops.push({ kind: 'move', path, old: undefined, value: undefined, from: placeIn(before, id), to });
    if (!was && (parent === '' || before.nodes.has(parent))) ops.push({ kind: 'add', path, old: undefined, value: without(block, before.nodes), to });
  }
  for (const [id, { parent, block }] of before.nodes) {
    if (after.nodes.has(id) || (parent !== '' && !after.nodes.has(parent))) continue;
    ops.push({ kind: 'remove', path: [...list, id], old: without(block, after.nodes), value: undefined, from: placeIn(before, id) });
  }
  for (const [id, { own }] of after.nodes) {
    const was = before.nodes.get(id)?.own;
    if (was !== undefined && was !== own) ops.push(...compare([...list, id], was, own));
  }
  return ops;
}

/** Returns a block without the blocks in it that have their own operations. */
const without = (item: unknown, others: { has(id: string): boolean }): unknown =>
  childrenOf(item).length === 0 ? item : { ...(item as Block), children: (item as Block).children?.filter((b) => !others.has(b.id)).map((b) => without(b, others)) };

/** Returns ids that are in both lists and have another order: those that went furthest. */
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

// Doing ---------------------------------------------------------------------------------------

/** Returns c after those operations whose old values are still there. */
export const apply = (c: Content, ops: readonly Operation[]): Content =>
  ops.filter((op) => op.kind !== 'move' || isAt(c, op.path, op.from)).flatMap(parts).reduce((now, op) => perform(now, op), c);

/** Makes the changes that lead from one content to another, as far as their old values are still there. */
export const replay = (from: Content, to: Content, onto: Content): Content => apply(onto, diff(from, to));

/** The edits of this page, while they are replayed on what others did: they win, and conflicts are collected. */
interface Replay {
  mine: Content;
  conflicts: Operation[];
}

/** Splits the addition of an item into those of itself and of each block in it. */
function parts(op: Operation): Operation[] {
  if (op.kind !== 'add') return [op];
  const siblings = childrenOf(op.value).map((b) => keyOf(b) as string);
  const inside = childrenOf(op.value).map((value, i) => ({ ...op, path: ['blocks', siblings[i] as string], value, to: { parent: idOf(op.path), siblings } }));
  return [{ ...op, value: ownOf(op.value) }, ...inside.flatMap(parts)];
}

function perform(c: Content, op: Operation, replay?: Replay): Content {
  const { path } = op;
  const now = get(c, path);
  if (op.kind === 'remove') return remove(c, op, replay);
  if (op.kind === 'add' && now === undefined) return insert(c, path, op.value, op.to);
  if (op.kind === 'move') {
    if (now === undefined) return c;
    for (let up = op.to.parent; up !== ''; up = find(c, up)?.parent ?? '') if (up === idOf(path) || !has(c, up)) return c;
    return insert(set(c, path, undefined), path, now, op.to);
  }
  return assign(c, op, replay);
}

/** Gives a place the value of an operation, also where it adds an item that is there already. */
function assign(c: Content, op: Operation, replay?: Replay): Content {
  const { path, value } = op;
  const now = get(c, path);
  if (same(now, value)) return c;
  if (path.length === 3 && path[2] === 'children' && childrenOf(get(c, path.slice(0, 2))).length > 0) return c;
  if (!same(now, op.old)) {
    // Two people made an object or a list at the same place: its parts are merged.
    const empty = isObject(now) && isObject(value) ? {} : Array.isArray(now) && Array.isArray(value) ? [] : undefined;
    const parts = op.old === undefined && empty ? compare(path, empty, value) : [op];
    if (parts[0]?.path.length !== path.length) return parts.reduce((made, part) => perform(made, part, replay), c);
    if (!replay) return c;
    replay.conflicts.push(op);
  }
  return set(c, path, value);
}

/** Removes an item unless others changed it, or moved it out of a group that is removed with it. A group stays with all in it. */
function remove(c: Content, op: Operation & { kind: 'remove' }, replay?: Replay, stays = false): Content {
  const [id, now, mine] = [idOf(op.path), get(c, op.path), replay?.mine];
  if (now !== undefined) {
    const known = treeOf([op.old])?.nodes;
    const changed = (item: unknown): boolean =>
      !same(ownOf(item), known?.get(keyOf(item) as string)?.own) || childrenOf(item).some((b) => !has(mine, keyOf(b) as string) && changed(b));
    const freed = op.from.parent !== '' && !has(mine, op.from.parent) && find(c, id)?.parent !== op.from.parent;
    const isConflict = freed || (!stays && changed(now));
    if (isConflict) replay?.conflicts.push(op);
    stays ||= isConflict;
    if (!stays) c = detach(c, op.path, mine);
  }
  const from = { parent: id, siblings: childrenOf(op.old).map((b) => keyOf(b) as string) };
  return childrenOf(op.old).reduce<Content>((made, old) => remove(made, { ...op, path: ['blocks', keyOf(old) as string], old, from }, replay, stays), c);
}

/** Returns c without an item. The blocks in it that other has outside of it get their places there. */
export function detach(c: Content, path: Path, other: Content | undefined): Content {
  let made = set(c, path, undefined);
  const inside = path[0] === 'blocks' && path.length === 2 && other ? (treeOf([get(c, path)])?.nodes ?? []) : [];
  for (const [id, { block }] of inside) {
    if (other && id !== path[1] && has(other, id) && !has(made, id)) made = insert(made, ['blocks', id], block, placeIn(treeOf(other.blocks), id));
  }
  return made;
}

function insert(c: Content, path: Path, item: unknown, { parent, siblings }: Place): Content {
  const tree = treeWith(c, path);
  const into = parent === '' || tree?.nodes.has(parent) ? parent : '';
  const there = tree?.lists.get(into) ?? [];
  const last = siblings.slice(0, siblings.indexOf(idOf(path))).findLast((id) => there.includes(id));
  const index = into !== parent ? there.length : last === undefined ? 0 : there.indexOf(last) + 1;
  if (into !== '') return replace(c, into, (p) => ({ ...p, children: (p.children ?? []).toSpliced(index, 0, item as Block) }));
  const list = path.slice(0, -1);
  return set(c, list, ((get(c, list) ?? []) as unknown[]).toSpliced(index, 0, item));
}

/** Reports whether an item is where it was: with the same parent, behind the same of the siblings that are still there. */
function isAt(c: Content, path: Path, { parent, siblings }: Place): boolean {
  const id = idOf(path);
  const now = placeIn(treeWith(c, path), id);
  const before = (list: readonly string[], other: readonly string[]): string[] => list.slice(0, list.indexOf(id)).filter((v) => other.includes(v));
  const [is, was] = [before(now.siblings, siblings), before(siblings, now.siblings)];
  return now.parent === parent && now.siblings.includes(id) && is.length === was.length && is.every((v) => was.includes(v));
}

// Replaying -------------------------------------------------------------------------------------

/**
 * Replays the edits that lead from base to mine on what the service has now, theirs. Where both changed the
 * same value, the result has mine, and a block that one side removed and the other changed is there again.
 * maybe are the contents after writes with unknown outcome: what theirs has of them is no edit of others.
 */
export function rebase(base: Content, mine: Content, theirs: Content, maybe: readonly Content[] = []): { content: Content; conflicts: Operation[] } {
  const seen = (op: Operation): Operation => {
    const there = ownOf(get(theirs, op.path));
    return op.kind === 'add' && isObject(op.value) ? { ...op, value: Object.fromEntries(Object.entries(op.value).filter(([n, v]) => same(member(there, n), v))) } : op;
  };
  const from = maybe.reduce((now, sent) => apply(now, diff(now, sent).flatMap(parts).filter((op) => isDone(theirs, op)).map(seen)), base);
  const ops = diff(from, mine);
  const replay: Replay = { mine, conflicts: [] };
  let c = theirs;
  for (const op of ops) {
    const path = lost(op, from, mine, c);
    if (!path) continue;
    const there = { has: (id: string) => has(c, id) };
    const [old, value] = [get(from, path), without(get(mine, path), there)];
    const isItem = Array.isArray(get(c, path.slice(0, -1)));
    const again: Operation = isItem ? { kind: 'add', path, old, value, to: placeIn(treeWith(mine, path), idOf(path)) } : { kind: 'set', path, old, value };
    replay.conflicts.push(again);
    c = again.kind === 'add' ? insert(c, path, value, again.to) : set(c, path, value);
  }
  c = ops.flatMap(parts).reduce((now, op) => perform(now, op, replay), c);
  return { content: same(c, mine) ? mine : c, conflicts: replay.conflicts };
}

/** Returns the path of an item or a list that others removed, and that an operation needs. */
function lost(op: Operation, from: Content, mine: Content, c: Content): Path | undefined {
  const top = (id: string): Path => {
    for (let up; (up = find(mine, id)?.parent) && !has(c, up); ) id = up;
    return ['blocks', id];
  };
  const isGone = (id = ''): boolean => has(from, id) && !has(c, id);
  if (op.path[0] === 'blocks' && op.path.length === 2) {
    if (op.kind === 'add' && isGone(op.to.parent)) return top(op.to.parent);
    if (op.kind === 'move' && isGone(op.path[1]) && op.to.parent !== op.from.parent && isGone(op.from.parent)) return op.path;
  } else if (op.kind === 'set' || op.kind === 'add') {
    for (let n = 2; n < op.path.length; n++) {
      const path = op.path.slice(0, n);
      const isNeeded = Array.isArray(get(mine, path)) || Array.isArray(get(mine, path.slice(0, -1)));
      if (isNeeded && get(c, path) === undefined) return path[0] === 'blocks' && n === 2 ? top(path[1] as string) : path;
    }
  }
  return undefined;
}

function isDone(c: Content, op: Operation): boolean {
  const now = get(c, op.path);
  if (op.kind === 'move') return now !== undefined && isAt(c, op.path, op.to);
  if (op.kind === 'remove') return now === undefined && childrenOf(op.old).every((b) => isDone(c, { ...op, path: ['blocks', keyOf(b) as string], old: b }));
  return op.kind === 'set' ? same(now, op.value) : now !== undefined;
}

// Pending operations ----------------------------------------------------------------------------

/** An error that the service reported for a value. */
export interface Fault {
  path: Path;
  code: string;
  message: string;
}

/** An operation that the service does not have yet. If refused is set, the service refused it at that ETag. */
export type Pending = Operation & { refused?: { faults: Fault[]; etag: string } };

/** Reports whether others changed what a pending operation changes. A removal in conflict is not done. */
export const isConflict = (op: Operation, base: Content, mine: Content): boolean =>
  op.kind === 'remove' ? get(mine, op.path) !== undefined : op.kind !== 'move' && !same(op.old, get(base, op.path));

/**
 * Returns the operations that lead from base to mine. Those in conflict keep their old value, and those that
 * were refused and did not change are still refused. If a value in conflict is what it was, theirs counts.
 */
export function pendingOf(base: Content, mine: Content, held: readonly Pending[]): { pending: Pending[]; mine: Content } {
  const pending: Pending[] = [];
  for (const op of diff(base, mine)) {
    const was = held.find((h) => h.kind === op.kind && sameItems(h.path, op.path)) ?? held.find((h) => !h.refused && h.kind !== 'remove' && overlap(h.path, op.path));
    if (was?.refused) pending.push(same([was.value, was.to?.parent], [op.value, op.to?.parent]) ? { ...op, refused: was.refused } : op);
    else if (!was || op.kind === 'remove' || op.kind === 'move') pending.push(op);
    else {
      const [length, outer] = [op.path.length, was.path.length];
      const old = outer > length ? put(undefined, was.path.slice(length), was.old) : op.path.slice(outer).reduce(step, was.old);
      if (op.kind === 'set' && same(op.value, old)) mine = set(mine, op.path, op.old);
      else pending.push({ ...op, old });
    }
  }
  const stay = held.filter((h) => h.kind === 'remove' && !h.refused && get(mine, h.path) !== undefined && get(base, h.path) !== undefined);
  return { pending: [...pending, ...stay], mine };
}

/** Something that was changed here and elsewhere. undefined stands for removed. */
export interface Conflict {
  path: Path;
  base: unknown;
  theirs: unknown;
  mine: unknown;
}

export const conflictsOf = (base: Content, mine: Content, ops: readonly Operation[]): Conflict[] =>
  ops.filter((op) => isConflict(op, base, mine)).map((op) => ({
    path: op.path, base: op.old, theirs: get(base, op.path), mine: op.kind === 'remove' ? undefined : get(mine, op.path),
  }));

/** The places in which texts and numbers were typed, or undefined if the operations are other edits. */
export function typedAt(ops: readonly Operation[]): string | undefined {
  const isText = (v: unknown): boolean => v === undefined || typeof v === 'string' || typeof v === 'number';
  const leaves = (op: Operation): Operation[] => (op.kind === 'set' && op.old === undefined && isObject(op.value) && !isWhole(op.path) ? compare(op.path, {}, op.value).flatMap(leaves) : [op]);
  const all = ops.flatMap(leaves);
  return all.every((op) => op.kind === 'set' && isText(op.old) && isText(op.value)) ? all.map((op) => op.path.join('/')).join('\n') : undefined;
}
