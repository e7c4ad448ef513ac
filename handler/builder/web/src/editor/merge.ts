// Three-way merge of a form's content, and what follows from comparing two contents. Blocks, choices,
// rows and columns are the same when their ids are; everything else is compared member by member.
// Contents are never changed: what stays is the same object before and after, so `===` tells quickly
// that nothing changed.

import type { Block, Definition } from '../app/records';

export type Obj = Record<string, unknown>;

/** What an editor changes of a form; the type stays as it is. */
export type Content = Definition & { name: string; type: string };

/**
 * A place in a content: names of members, and ids where an array has items with ids. A block is
 * ['blocks', id] at whatever depth it is, a member of it ['blocks', id, 'properties', 'max'], and
 * ['blocks'] alone is the order and nesting of the blocks.
 */
export type Path = readonly string[];

export const isObject = (v: unknown): v is Obj => typeof v === 'object' && v !== null && !Array.isArray(v);

/** A member of v itself, whatever it is called. */
export const member = (v: unknown, name: string): unknown => (isObject(v) && Object.hasOwn(v, name) ? v[name] : undefined);

/** Whether two JSON values are equal; the order of members does not count. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((v, i) => same(v, b[i]));
  if (!isObject(a) || !isObject(b)) return false;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((n) => Object.hasOwn(b, n) && same(a[n], b[n]));
}

export const sameItems = (a: readonly unknown[], b: readonly unknown[]): boolean => a.length === b.length && a.every((v, i) => v === b[i]);

/** fresh, with the parts of old in it that are equal. */
export function share<T>(old: unknown, fresh: T): T;
export function share(old: unknown, fresh: unknown): unknown {
  if (Array.isArray(fresh) && Array.isArray(old)) {
    const before = byKey(old);
    const items = fresh.map((v: unknown, i) => share(before ? before.get(keyOf(v) ?? '') : (old[i] as unknown), v));
    return sameItems(items, old) ? old : items;
  }
  if (isObject(fresh) && isObject(old)) {
    const made = Object.fromEntries(Object.entries(fresh).map(([n, v]) => [n, share(member(old, n), v)]));
    const names = Object.keys(made);
    return names.length === Object.keys(old).length && names.every((n) => Object.hasOwn(old, n) && made[n] === old[n]) ? old : made;
  }
  return same(old, fresh) ? old : fresh;
}

/** What an item of a list is known by: a text is known by itself. */
const keyOf = (v: unknown): string | undefined => {
  const key = typeof v === 'string' ? v : member(v, 'id');
  return typeof key === 'string' ? key : undefined;
};

/** The items of a list by what they are known by; undefined when they cannot be told apart. */
function byKey(list: unknown): Map<string, unknown> | undefined {
  if (!Array.isArray(list)) return undefined;
  const items = new Map<string, unknown>();
  for (const v of list) {
    const key = keyOf(v);
    if (key === undefined || items.has(key)) return undefined;
    items.set(key, v);
  }
  return items;
}

// Blocks, flat ---------------------------------------------------------------------------------

export interface Node {
  block: Block;
  own: Obj; // the block without its children
  parent: string; // '' at the top
}

/** The blocks of a content by id, and the ids of each parent's children in their order. */
export interface Flat {
  nodes: Map<string, Node>;
  lists: Map<string, string[]>;
}

const recent: { of: Block[]; flat: Flat }[] = []; // the steps of undo would hold far too many
const owns = new WeakMap<Block, Obj>();

function ownOf(block: Block): Obj {
  if (block.children === undefined) return block as unknown as Obj;
  let own = owns.get(block);
  if (!own) {
    const { children: _, ...rest } = block;
    owns.set(block, (own = rest as Obj));
  }
  return own;
}

export function flat(blocks: Block[]): Flat {
  let made = recent.find((r) => r.of === blocks)?.flat;
  if (!made) {
    const { nodes, lists } = (made = { nodes: new Map(), lists: new Map() });
    const add = (list: Block[], parent: string): void => {
      lists.set(parent, list.map((b) => b.id));
      for (const block of list) {
        nodes.set(block.id, { block, own: ownOf(block), parent });
        if (block.children) add(block.children, block.id);
      }
    };
    add(blocks, '');
    recent.push({ of: blocks, flat: made });
    if (recent.length > 8) recent.shift();
  }
  return made;
}

export const find = (c: Content, id: string): Node | undefined => flat(c.blocks).nodes.get(id);

/** The id of the top-level block that a block is in. */
export function topOf(f: Flat, id: string): string {
  for (let parent; (parent = f.nodes.get(id)?.parent); ) id = parent;
  return id;
}

const restOf = ({ blocks: _, ...rest }: Content): Obj => rest;

// The merge -----------------------------------------------------------------------------------

/** What to do where both sides changed the same. */
interface Mode {
  /** The value that wins, at a place where nothing can be merged any more. */
  clash: (base: unknown, theirs: unknown, mine: unknown, path: Path) => unknown;
  /** Whether a block stays that the other side removed: it was changed in theirs, else in mine. */
  stays: (id: string, inTheirs: boolean) => boolean;
  /** Where both moved a block, whose place it gets. */
  theirPlace: boolean;
  /** Instead of merging: the base, but mine where theirs has the same. */
  ancestor?: boolean;
}

/** Members that have a meaning only as a whole: pictures, and the logic of rules. */
function isWhole(path: Path, name: string): boolean {
  if (path[0] === 'blocks' && path[2] === 'properties' && path[3] === 'rule') return path.length > 4 || name !== 'set';
  return name === 'image' || name === 'logo';
}

function mergeValue(b: unknown, t: unknown, m: unknown, path: Path, mode: Mode, whole = false): unknown {
  if (same(t, m)) return t;
  if (same(b, m)) return mode.ancestor ? b : t;
  if (same(b, t)) return mode.ancestor ? b : m;
  if (!whole && isObject(t) && isObject(m) && (b === undefined || isObject(b))) {
    const entries: [string, unknown][] = [];
    for (const n of new Set([...Object.keys(t), ...Object.keys(m), ...Object.keys(b ?? {})])) {
      const v = mergeValue(member(b, n), member(t, n), member(m, n), [...path, n], mode, isWhole(path, n));
      if (v !== undefined) entries.push([n, v]);
    }
    const made = Object.fromEntries(entries);
    return [t, m].find((v) => Object.keys(v).length === entries.length && entries.every(([n, e]) => member(v, n) === e)) ?? made;
  }
  const lists = [b ?? [], t, m].map(byKey);
  const [bs, ts, ms] = lists;
  if (!whole && bs && ts && ms) {
    const items = new Map<string, unknown>();
    for (const id of new Set([...ts.keys(), ...ms.keys(), ...bs.keys()])) {
      const v = mergeValue(bs.get(id), ts.get(id), ms.get(id), [...path, id], mode);
      if (v !== undefined) items.set(id, v);
    }
    const order = mergeOrder([...bs.keys()], [...ts.keys()], [...ms.keys()], (id) => items.has(id), mode);
    return order.map((id) => items.get(id));
  }
  return mode.clash(b, t, m, path);
}

/** The ids that stand elsewhere in to than in from, or only in to; as few as can be. */
function moved(from: readonly string[], to: readonly string[]): Set<string> {
  if (sameItems(from, to)) return new Set();
  const at = new Map(from.map((id, i) => [id, i]));
  const known = to.filter((id) => at.has(id));
  const place = (i: number): number => at.get(known[i] as string) as number;
  const ends: number[] = []; // of rising sequences, by length
  const before = known.map((_, i) => {
    let low = 0;
    for (let high = ends.length; low < high; ) {
      const mid = (low + high) >> 1;
      if (place(ends[mid] as number) < place(i)) low = mid + 1;
      else high = mid;
    }
    ends[low] = i;
    return low > 0 ? (ends[low - 1] as number) : -1;
  });
  const all = new Set(to);
  for (let i = ends.at(-1) ?? -1; i >= 0; i = before[i] as number) all.delete(known[i] as string);
  return all;
}

/** Their order, with what mine moved or added behind what it follows in mine. */
function mergeOrder(b: readonly string[], t: readonly string[], m: readonly string[], kept: (id: string) => boolean, mode: Mode): string[] {
  if (mode.ancestor) {
    const order = (sameItems(t, m) ? m : b).filter(kept);
    return [...new Set([...order, ...t.filter(kept)])];
  }
  const there = new Set(t);
  const placed = moved(b, m);
  if (mode.theirPlace) for (const id of moved(b, t)) if (there.has(id)) placed.delete(id);
  const order = t.filter((id) => kept(id) && !placed.has(id));
  const done = new Set(order);
  let last = ''; // what stands before in mine, and in the result
  for (const id of m) {
    if (!kept(id)) continue;
    if (!done.has(id)) {
      order.splice(last === '' ? 0 : order.indexOf(last) + 1, 0, id);
      done.add(id);
    }
    last = id;
  }
  return order;
}

interface Parts {
  rest: Obj;
  flat: Flat;
}

const partsOf = (c: Content): Parts => ({ rest: restOf(c), flat: flat(c.blocks) });

const listOf = (f: Flat, parent: string): string[] => f.lists.get(parent) ?? [];

function mergeBlocks(b: Flat, theirs: Block[], mine: Block[], mode: Mode): Block[] {
  const t = flat(theirs);
  const m = flat(mine);
  const own = new Map<string, Obj>();
  const parent = new Map<string, string>();

  // Blocks that only one side has: new ones, and those that the other removed.
  const grown = (now: Flat, other: Flat, id: string): boolean =>
    !same(b.nodes.get(id)?.own, now.nodes.get(id)?.own) ||
    listOf(now, id).some((c) => !other.nodes.has(c) && grown(now, other, c));
  const oneSided = (now: Flat, other: Flat, list: string[], parentStays?: boolean): void => {
    for (const id of list) {
      let stays: boolean | undefined;
      if (!other.nodes.has(id)) {
        const node = now.nodes.get(id) as Node;
        const was = b.nodes.get(id);
        stays = parentStays;
        const saved = was && was.parent !== node.parent && was.parent !== '' && !other.nodes.has(was.parent); // out of a group that was removed
        if (was && (saved || grown(now, other, id))) stays ??= mode.stays(id, now === t);
        if (stays ?? !was) {
          own.set(id, node.own);
          parent.set(id, node.parent);
        }
      }
      oneSided(now, other, listOf(now, id), stays);
    }
  };
  for (const [id, nt] of t.nodes) {
    const nm = m.nodes.get(id);
    const nb = b.nodes.get(id);
    if (!nm) continue;
    own.set(id, mergeValue(nb?.own, nt.own, nm.own, ['blocks', id], mode) as Obj);
    const mineMoved = nb && nm.parent !== nb.parent && !(mode.theirPlace && nt.parent !== nb.parent);
    parent.set(id, mineMoved ? nm.parent : nt.parent);
  }
  oneSided(t, m, listOf(t, ''));
  oneSided(m, t, listOf(m, ''));

  // A block whose parent was removed, or that would be inside itself, stays where it is in theirs.
  const valid = (p: string | undefined): p is string => p !== undefined && (p === '' || own.has(p));
  for (const [id, p] of parent) {
    if (!valid(p)) parent.set(id, [t.nodes.get(id)?.parent, m.nodes.get(id)?.parent].find(valid) ?? '');
  }
  for (const id of parent.keys()) {
    const passed: string[] = [];
    let up: string | undefined = id;
    while (up && !passed.includes(up)) {
      passed.push(up);
      up = parent.get(up);
    }
    if (!up) continue;
    const back = passed.find((p) => valid(t.nodes.get(p)?.parent) && t.nodes.get(p)?.parent !== parent.get(p)) ?? id;
    const to = t.nodes.get(back)?.parent;
    parent.set(back, back !== id && valid(to) ? to : '');
  }

  const inside = new Map<string, string[]>();
  for (const [id, p] of parent) {
    const list = inside.get(p);
    if (list) list.push(id);
    else inside.set(p, [id]);
  }
  const build = (p: string): Block[] => {
    const ids = inside.get(p) ?? [];
    const kept = new Set(ids);
    const order = mergeOrder(listOf(b, p), listOf(t, p), listOf(m, p), (id) => kept.has(id), mode);
    return [...new Set([...order, ...ids])].map((id) => {
      const is = own.get(id) as Obj;
      const children = build(id);
      for (const block of [t.nodes.get(id)?.block, m.nodes.get(id)?.block]) {
        if (block && same(ownOf(block), is) && sameItems(block.children ?? [], children)) return block;
      }
      return (children.length > 0 || is.type === 'group' ? { ...is, children } : is) as unknown as Block;
    });
  };
  const made = build('');
  return sameItems(made, theirs) ? theirs : sameItems(made, mine) ? mine : made;
}

function mergeParts(b: Parts, theirs: Content, mine: Content, mode: Mode): Content {
  const rest = mergeValue(b.rest, restOf(theirs), restOf(mine), [], mode) as Omit<Content, 'blocks'>;
  const made: Content = { ...rest, blocks: mergeBlocks(b.flat, theirs.blocks, mine.blocks, mode) };
  return [theirs, mine].find((c) => Object.keys(made).every((n) => made[n as keyof Content] === c[n as keyof Content])) ?? made;
}

const ancestorMode: Mode = { clash: (b) => b, stays: () => false, theirPlace: true, ancestor: true };

/**
 * The base, but what was sent where theirs has that: a write whose reply was lost may have been
 * done, and what others did since is then a change of what was sent.
 */
function ancestorOf(b: Parts, theirs: Content, sent: Content): Parts {
  const t = partsOf(theirs);
  const s = partsOf(sent);
  const nodes = new Map<string, Node>();
  const lists = new Map<string, string[]>();
  for (const id of new Set([...b.flat.nodes.keys(), ...s.flat.nodes.keys()])) {
    const [nb, nt, ns] = [b, t, s].map((p) => p.flat.nodes.get(id));
    if (nt && ns) {
      const own = mergeValue(nb?.own, nt.own, ns.own, ['blocks', id], ancestorMode) as Obj;
      const parent = nt.parent === ns.parent ? ns.parent : (nb ?? ns).parent;
      nodes.set(id, { own, parent, block: ns.block });
    } else if ((nt || ns) && nb) nodes.set(id, nb);
  }
  for (const p of new Set([...b.flat.lists.keys(), ...s.flat.lists.keys()])) {
    lists.set(p, sameItems(listOf(t.flat, p), listOf(s.flat, p)) ? listOf(s.flat, p) : listOf(b.flat, p));
  }
  return { rest: mergeValue(b.rest, t.rest, s.rest, [], ancestorMode) as Obj, flat: { nodes, lists } };
}

/** The same changed by two: theirs is what the service has. undefined stands for removed. */
export interface Conflict {
  path: Path;
  base: unknown;
  theirs: unknown;
  mine: unknown;
}

/**
 * What mine changed of base, done to theirs. Where both changed the same, the result has mine and
 * conflicts gets an entry, but a block that mine removed and theirs changed is there again.
 * sent has the contents that may have become the base meanwhile.
 */
export function merge(base: Content, sent: readonly Content[], theirs: Content, mine: Content): { content: Content; conflicts: Conflict[] } {
  const conflicts: Conflict[] = [];
  const ancestor = sent.reduce((b, s) => ancestorOf(b, theirs, s), partsOf(base));
  const content = mergeParts(ancestor, theirs, mine, {
    clash: (b, t, m, path) => {
      conflicts.push({ path, base: b, theirs: t, mine: m });
      return m;
    },
    stays: (id, inTheirs) => {
      const block = find(inTheirs ? theirs : mine, id)?.block;
      conflicts.push({ path: ['blocks', id], base: ancestor.flat.nodes.get(id)?.block, theirs: inTheirs ? block : undefined, mine: inTheirs ? undefined : block });
      return true;
    },
    theirPlace: false,
  });
  return { content, conflicts };
}

/** What changed from `from` to `to`, done to onto where onto still has what `from` has. */
export const redo = (from: Content, to: Content, onto: Content): Content =>
  mergeParts(partsOf(from), onto, to, { clash: (_b, t) => t, stays: (_, inTheirs) => inTheirs, theirPlace: true });

// Places --------------------------------------------------------------------------------------

const step = (v: unknown, name: string): unknown => (Array.isArray(v) ? v.find((item) => keyOf(item) === name) : member(v, name));

/** What stands at a place; of ['blocks'] the ids with their parents. */
export function get(c: Content, path: Path): unknown {
  if (path[0] !== 'blocks') return path.reduce<unknown>(step, c);
  if (path.length === 1) return [...flat(c.blocks).lists];
  const node = find(c, path[1] as string);
  return path.length === 2 ? node?.block : path.slice(2).reduce<unknown>(step, node?.own);
}

function put(v: unknown, path: Path, value: unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  if (Array.isArray(v) && rest.length > 0 && step(v, name) === undefined) return v;
  const made = put(step(v, name), rest, value);
  if (Array.isArray(v)) {
    const items = v.flatMap((item) => (keyOf(item) !== name ? [item] : made === undefined ? [] : [made]));
    return made !== undefined && step(v, name) === undefined ? [...items, made] : items;
  }
  const entries = Object.entries(isObject(v) ? v : {}).filter(([n]) => n !== name || made !== undefined);
  return Object.fromEntries(made === undefined ? entries : [...entries.filter(([n]) => n !== name), [name, made]]);
}

/** c with another value at a place that is no block; undefined takes the member away. */
export function set(c: Content, path: Path, value: unknown): Content {
  if (path[0] !== 'blocks') return put(c, path, value) as Content;
  return replace(c, path[1] as string, (b) => put(b, path.slice(2), value) as Block);
}

/** c with one block, at whatever depth, made anew. */
export function replace(c: Content, id: string, change: (b: Block) => Block): Content {
  const { nodes } = flat(c.blocks);
  let node = nodes.get(id);
  if (!node) return c;
  let made = change(node.block);
  if (made === node.block) return c;
  for (; node.parent !== ''; id = node.parent, node = nodes.get(id) as Node) {
    const parent = nodes.get(node.parent)?.block as Block;
    const now = made;
    made = { ...parent, children: (parent.children as Block[]).map((b) => (b.id === now.id ? now : b)) };
  }
  return { ...c, blocks: c.blocks.map((b) => (b.id === id ? made : b)) };
}

// What is sent --------------------------------------------------------------------------------

const sections = ['settings', 'theme', 'variables'] as const;

/** The part of the form that is sent or kept back as one: where a path is deeper, what it is in. */
export function unit(path: Path, base: Content): Path {
  if (path[0] !== 'blocks') return path.slice(0, path[0] === 'hidden_fields' ? 1 : 2);
  const known = path.length < 2 || flat(base.blocks).nodes.has(path[1] as string);
  return path.slice(0, !known ? 2 : path[2] === 'properties' ? 4 : 3);
}

export const isWithin = (path: Path, part: Path): boolean => part.every((name, i) => path[i] === name);

export const samePath = (a: Path, b: Path): boolean => sameItems(a, b);

function memberChanges(from: Obj, to: Obj, path: Path, deep?: string): Path[] {
  if (from === to) return [];
  return [...new Set([...Object.keys(from), ...Object.keys(to)])].flatMap((n) => {
    const [a, b] = [member(from, n), member(to, n)];
    if (same(a, b)) return [];
    const inside = n === deep && isObject(a ?? {}) && isObject(b ?? {}) ? memberChanges((a ?? {}) as Obj, (b ?? {}) as Obj, [...path, n]) : [];
    return inside.length > 0 ? inside : [[...path, n]];
  });
}

/** The units that differ. */
export function changes(from: Content, to: Content): Path[] {
  const paths: Path[] = sections.flatMap((s) => memberChanges(from[s], to[s], [s]));
  for (const s of ['name', 'hidden_fields'] as const) if (!same(from[s], to[s])) paths.push([s]);
  if (from.blocks === to.blocks) return paths;
  const [f, t] = [flat(from.blocks), flat(to.blocks)];
  for (const [id, node] of t.nodes) {
    const before = f.nodes.get(id);
    if (!before) paths.push(['blocks', id]);
    else paths.push(...memberChanges(before.own, node.own, ['blocks', id], 'properties'));
  }
  const known = (of: Flat, other: Flat): [string, string[]][] =>
    [...of.lists].map(([p, list]) => [p, list.filter((id) => other.nodes.has(id))] as [string, string[]]).filter(([, list]) => list.length > 0);
  const order = (of: Flat, other: Flat): Obj => Object.fromEntries(known(of, other));
  if ([...f.nodes.keys()].some((id) => !t.nodes.has(id)) || !same(order(f, t), order(t, f))) paths.push(['blocks']);
  return paths;
}

/** The places of the texts and numbers that differ; undefined when anything else does. */
export function typedIn(from: unknown, to: unknown, at = ''): string[] | undefined {
  if (same(from, to)) return [];
  const isText = (v: unknown): boolean => v === undefined || typeof v === 'string' || typeof v === 'number';
  if (isText(from) && isText(to)) return [at];
  const [f, t] = [byKey(from), byKey(to)];
  const entries = (v: unknown, by?: Map<string, unknown>): Map<string, unknown> | undefined => by ?? (isObject(v ?? {}) ? new Map(Object.entries(v ?? {})) : undefined);
  const [before, after] = [entries(from, f), entries(to, t)];
  if (!before || !after || !f !== !t || (f && !sameItems([...before.keys()], [...after.keys()]))) return undefined;
  const names: string[] = [];
  for (const n of new Set([...before.keys(), ...after.keys()])) {
    const inner = typedIn(before.get(n), after.get(n), at + '/' + n);
    if (!inner) return undefined;
    names.push(...inner);
  }
  return names;
}

/** mine, with what base has in the units that are kept back. */
export function withhold(base: Content, mine: Content, back: readonly Path[]): Content {
  if (back.length === 0) return mine;
  const [b, m] = [flat(base.blocks), flat(mine.blocks)];
  const inside = (id: string): string[] => listOf(m, id).flatMap((c) => [c, ...inside(c)]);
  const extra = back.filter((p) => p[0] === 'blocks' && p.length === 2 && !b.nodes.has(p[1] as string)).map((p) => p[1] as string);
  let made = mine;
  if (back.some((p) => p.length === 1 && p[0] === 'blocks') || extra.some((id) => inside(id).some((c) => b.nodes.has(c)))) {
    const rebuild = (list: Block[]): Block[] =>
      list.map((block) => {
        const own = m.nodes.get(block.id)?.own ?? ownOf(block);
        const children = block.children && rebuild(block.children);
        return own === ownOf(block) && sameItems(children ?? [], block.children ?? []) ? block : ((children ? { ...own, children } : own) as unknown as Block);
      });
    made = { ...mine, blocks: rebuild(base.blocks) };
  } else {
    for (const id of extra) made = drop(made, id);
  }
  for (const path of back) {
    if (path[0] === 'blocks' && (path.length < 3 || !b.nodes.has(path[1] as string))) continue;
    made = set(made, path, get(base, path));
    const all = path.slice(0, 3); // its properties, which base may not have at all
    if (path.length === 4 && get(base, all) === undefined && same(get(made, all), {})) made = set(made, all, undefined);
  }
  return made;
}

/** c without a block and what is in it. */
export function drop(c: Content, id: string): Content {
  const node = find(c, id);
  if (!node) return c;
  const without = (list: Block[]): Block[] => list.filter((b) => b.id !== id);
  if (node.parent === '') return { ...c, blocks: without(c.blocks) };
  return replace(c, node.parent, (p) => ({ ...p, children: without(p.children ?? []) }));
}

/** A merge patch (RFC 7396) that makes one of the other; undefined where null stands in an object. */
export function patchOf(from: unknown, to: unknown): { patch: unknown } | undefined {
  if (!isObject(to)) return to === null ? undefined : { patch: to };
  const entries: [string, unknown][] = isObject(from) ? Object.keys(from).filter((n) => !Object.hasOwn(to, n)).map((n) => [n, null]) : [];
  for (const [n, v] of Object.entries(to)) {
    if (Object.hasOwn(isObject(from) ? from : {}, n) && same(member(from, n), v)) continue;
    const inner = patchOf(member(from, n), v);
    if (!inner) return undefined;
    entries.push([n, inner.patch]);
  }
  return { patch: Object.fromEntries(entries) };
}

/** target with a merge patch in it. */
export function patched(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const from = isObject(target) ? target : {};
  const entries = Object.entries(from).map(([n, v]) => [n, Object.hasOwn(patch, n) ? patched(v, patch[n]) : v]);
  for (const [n, v] of Object.entries(patch)) if (!Object.hasOwn(from, n)) entries.push([n, patched(undefined, v)]);
  const result: Obj = Object.fromEntries(entries.filter(([n, v]) => v !== null || !Object.hasOwn(patch, n as string)));
  return same(result, target) ? target : result;
}

export interface Write {
  method: 'PATCH' | 'PUT' | 'POST' | 'DELETE';
  path: string; // below the form: '' or '/blocks…'
  body?: Obj;
  part: string; // what is written: an id of a block, 'order of blocks' or 'form'
  after: Content; // what the form is then
}

const theOrder = ' order'; // cannot be an id of ours
const theForm = ' form';

/**
 * The next write on the way from base to target: of the order of the blocks, else of one block,
 * else of all other sections together. Parts in skip are left out.
 */
export function plan(base: Content, target: Content, skip: ReadonlySet<string> = new Set()): Write | undefined {
  const write = base.blocks === target.blocks ? undefined : planBlocks(base, target, skip);
  if (write || skip.has(theForm)) return write;
  const changed = ([...sections, 'hidden_fields'] as const).filter((s) => !same(base[s], target[s]));
  const body: Obj = {};
  if (base.name !== target.name) body.name = target.name;
  if (changed.length > 0) body.definition = Object.fromEntries(changed.map((s) => [s, target[s]]));
  if (Object.keys(body).length === 0) return undefined;
  return { method: 'PATCH', path: '', body, part: theForm, after: { ...target, blocks: base.blocks } };
}

function planBlocks(base: Content, target: Content, skip: ReadonlySet<string>): Write | undefined {
  const [b, t] = [flat(base.blocks), flat(target.blocks)];
  const [before, now] = [listOf(b, ''), listOf(t, '')];
  const one = (id: string): string => '/blocks/' + encodeURIComponent(id);
  const whole: Write = { method: 'PUT', path: '/blocks', body: { blocks: target.blocks }, part: theOrder, after: { ...base, blocks: target.blocks } };
  // A block that goes from one top-level block into another is two changes in one write.
  const crossed = [...t.nodes.keys()].some((id) => b.nodes.has(id) && topOf(b, id) !== topOf(t, id));
  if (!skip.has(theOrder)) {
    if (crossed) return whole;
    if (!sameItems(before, now)) {
      const last = target.blocks.at(-1);
      if (last && !b.nodes.has(last.id) && sameItems(before, now.slice(0, -1))) {
        return { method: 'POST', path: '/blocks', body: { block: last }, part: theOrder, after: { ...base, blocks: [...base.blocks, last] } };
      }
      const gone = before.find((id, i) => id !== now[i]);
      if (gone === undefined || !sameItems(before.filter((id) => id !== gone), now)) return whole;
      return { method: 'DELETE', path: one(gone), part: theOrder, after: drop(base, gone) };
    }
  }
  for (const block of crossed ? [] : target.blocks) {
    const old = b.nodes.get(block.id);
    if (!old || skip.has(block.id) || same(old.block, block)) continue;
    const patch = patchOf(old.block, block);
    if (patch) {
      return { method: 'PATCH', path: one(block.id), body: { block: patch.patch }, part: block.id, after: replace(base, block.id, () => block) };
    }
    if (!skip.has(theOrder)) return whole;
  }
  return undefined;
}

/** All on the way from base to target as one write. */
export function planAll(base: Content, target: Content): Write | undefined {
  const first = plan(base, target);
  if (!first || same(first.after, target)) return first;
  const names = ([...sections, 'hidden_fields', 'blocks'] as const).filter((s) => !same(base[s], target[s]));
  const body: Obj = { definition: Object.fromEntries(names.map((s) => [s, target[s]])) };
  if (base.name !== target.name) body.name = target.name;
  return { method: 'PATCH', path: '', body, part: theForm, after: target };
}

/** The content of a form as the API answers with it. */
export function contentOf(form: Obj): Content {
  const d = form.definition as Definition;
  return {
    name: form.name as string, type: form.type as string, blocks: d.blocks, settings: d.settings,
    theme: d.theme, variables: d.variables, hidden_fields: d.hidden_fields,
  };
}

/** What the form is after a write that was answered with body. */
export function written(base: Content, write: Write, body: unknown): Content {
  if (write.method === 'DELETE' || !isObject(body)) return write.after;
  if (write.path === '') return contentOf(body);
  if (write.method === 'PUT') return { ...base, blocks: body.items as Block[] };
  const block = body as unknown as Block;
  if (write.method === 'POST') return { ...base, blocks: [...base.blocks, block] };
  return replace(base, block.id, () => block);
}

/** The place that a JSON Pointer into the body of a write names. */
export function placeOf(write: Write, pointer: string): Path {
  const names = pointer.split('/').slice(1).map((n) => n.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (names[0] === 'definition') names.shift();
  let value: unknown = write.after;
  let path: string[] = [];
  if (names[0] === 'block') {
    value = write.method === 'POST' ? write.after.blocks.at(-1) : write.after.blocks.find((b) => b.id === write.part);
    path = ['blocks', (value as Block | undefined)?.id ?? ''];
    names.shift();
  }
  let listOfBlocks = names[0] === 'blocks';
  for (const name of names) {
    if (!Array.isArray(value)) {
      value = member(value, name);
      if (name === 'children') listOfBlocks = true;
      else path.push(name);
      continue;
    }
    value = value[Number(name)];
    const key = keyOf(value) ?? name;
    if (listOfBlocks) path = ['blocks', key];
    else path.push(key);
    listOfBlocks = false;
  }
  return path;
}
