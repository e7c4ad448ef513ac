import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Block } from '../app/records';
import * as edits from './edits';
import { applyMergePatch, createMergePatch, isEqual, type Obj } from '../app/json';
import { findNode, get, set, treeOf, type Content, type Tree } from './content';
import { apply, conflictsOf, diff, rebase, replay, typedPaths, type Conflict } from './operations';
import { contentAfterWrite, pathInBody, planWrite, planSingleWrite } from './requests';

/** Numbers that look random, the same for the same seed. */
function dice(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const content = (blocks: Block[], more: Partial<Content> = {}): Content =>
  ({ name: 'F', type: 'SINGLE', blocks, settings: {}, theme: {}, variables: {}, hidden_fields: [], ...more });
const q = (id: string, more: Partial<Block> = {}): Block => ({ id, type: 'short_text', label: id, ...more });
const group = (id: string, children: Block[]): Block => ({ id, type: 'group', label: id, children });
const abc = content([q('a'), group('g', [q('g1'), q('g2')]), q('b', { type: 'dropdown', choices: [{ id: '1', label: 'One' }, { id: '2', label: 'Two' }] }), q('c')]);
const order = (c: Content): string => c.blocks.map((b) => b.id + (b.children ? `(${b.children.map((k) => k.id).join()})` : '')).join();
const label = (id: string, text: string) => (c: Content) => edits.patchBlock(c, id, { label: text });
const to = (id: string, parent: string | undefined, index: number) => (c: Content) => edits.moveBlock(c, id, { parent, index });
const clone = (c: Content): Content => structuredClone(c);
const flat = (blocks: Block[]): Tree => treeOf(blocks) as Tree;

function merge(base: Content, sent: Content[], theirs: Content, mine: Content): { content: Content; conflicts: Conflict[] } {
  const { content: c, conflicts } = rebase(base, mine, theirs, sent);
  return { content: c, conflicts: conflictsOf(theirs, c, conflicts) };
}

function both(base: Content, theirs: (c: Content) => Content, mine: (c: Content) => Content) {
  const made = merge(base, [], clone(theirs(base)), mine(base));
  return { ...made, paths: made.conflicts.map((c) => c.path.join('/')) };
}

test('edits of different members of a block are both kept', () => {
  const { content: c, paths } = both(abc, label('a', 'theirs'), (c) => edits.patchBlock(c, 'a', { description: 'mine', properties: { maxChars: 3 } }));
  assert.deepEqual(findNode(c, 'a')?.block, q('a', { label: 'theirs', description: 'mine', properties: { maxChars: 3 } }));
  assert.deepEqual(paths, []);
});

test('the same member changed twice is a conflict that shows mine', () => {
  const { content: c, conflicts } = both(abc, label('g1', 'theirs'), label('g1', 'mine'));
  assert.deepEqual(conflicts, [{ path: ['blocks', 'g1', 'label'], base: 'g1', theirs: 'theirs', mine: 'mine' }]);
  assert.equal(get(c, ['blocks', 'g1', 'label']), 'mine');
  assert.deepEqual(both(abc, label('g1', 'alike'), label('g1', 'alike')).paths, []);
  const mine = label('g1', 'mine')(abc);
  assert.equal(merge(abc, [], abc, mine).content, mine); // not only alike
});

test('choices are merged by id', () => {
  const choices = (change: (list: NonNullable<Block['choices']>) => NonNullable<Block['choices']>) => (c: Content) =>
    edits.patchBlock(c, 'b', { choices: change(findNode(c, 'b')?.block.choices ?? []) });
  const { content: c, paths } = both(
    abc,
    choices(([one, two]) => [{ id: '0', label: 'Zero' }, { ...one, label: 'Uno' }, two as object]),
    choices(([one, two]) => [{ ...two, label: 'Due' }, one as object, { id: '3', label: 'Three' }]),
  );
  assert.deepEqual(findNode(c, 'b')?.block.choices?.map((ch) => ch.label).sort(), ['Due', 'Three', 'Uno', 'Zero']);
  assert.deepEqual(paths, []);
  const clash = both(abc, choices(([one, two]) => [{ ...one, label: 'Uno' }, two as object]), choices(([, two]) => [two as object]));
  assert.deepEqual(clash.paths, ['blocks/b/choices/1']);
});

test('a list or an object that both made has the parts of both', () => {
  const give = (name: string, value: unknown) => (c: Content) => set(c, ['blocks', 'a', name], value);
  for (const [theirs, mine, wanted] of [[[{ id: '1' }], [], [{ id: '1' }]], [[], [{ id: '2' }], [{ id: '2' }]], [[{ id: '1' }], [{ id: '2' }], [{ id: '2' }, { id: '1' }]]]) {
    const { content: c, paths } = both(abc, give('choices', theirs), give('choices', mine));
    assert.deepEqual([get(c, ['blocks', 'a', 'choices']), paths], [wanted, []]);
  }
  const { content: c, paths } = both(abc, give('properties', { min: 1 }), give('properties', {}));
  assert.deepEqual([get(c, ['blocks', 'a', 'properties']), paths], [{ min: 1 }, []]);
});

test('logic and pictures are merged as a whole, other parts of a rule by member', () => {
  const rule = (rule: Obj) => (c: Content) => edits.patchBlock(c, 'a', { properties: { rule } });
  const base = rule({ show: { '==': [1, 1] }, set: { x: 1 } })(abc);
  const { content: c, paths } = both(base, rule({ set: { y: 2 } }), rule({ require: true, show: { '==': null, '!=': [1, 2] } }));
  assert.deepEqual(get(c, ['blocks', 'a', 'properties', 'rule']), { show: { '!=': [1, 2] }, set: { x: 1, y: 2 }, require: true });
  assert.deepEqual(paths, []);
  const theirs = both(base, rule({ show: { '==': null, and: [] } }), rule({ show: { '==': null, or: [] } }));
  assert.deepEqual(theirs.paths, ['blocks/a/properties/rule/show']);
  const image = (url: string) => (c: Content) => edits.patchSection(c, 'settings', { cover: { image: { url } } });
  assert.deepEqual(both(abc, image('x'), image('y')).paths, ['settings/cover/image']);
});

test('sections are merged by member, hidden fields by name', () => {
  const { content: c, paths } = both(
    content([], { hidden_fields: ['utm', 'ref'] }),
    (c) => set(edits.patchSection(c, 'theme', { colors: { dark: { text: '#000' } } }), ['hidden_fields'], ['ref', 'new']),
    (c) => set(edits.patchSection(c, 'theme', { colors: { text: '#fff' }, font: 'Inter' }), ['hidden_fields'], ['utm', 'ref', 'other']),
  );
  assert.deepEqual(c.theme, { colors: { dark: { text: '#000' }, text: '#fff' }, font: 'Inter' });
  assert.deepEqual(c.hidden_fields.toSorted(), ['new', 'other', 'ref']);
  assert.deepEqual(paths, []);
});

test('moves, additions and removals go together', () => {
  const { content: c, paths } = both(abc, (c) => edits.addBlock(edits.removeBlock(c, 'c'), q('t'), { parent: undefined, index: 0 }), (c) => to('a', 'g', 1)(edits.addBlock(c, q('m'), { parent: 'g', index: 9 })));
  assert.equal(order(c), 't,g(g1,a,g2,m),b');
  assert.deepEqual(paths, []);
  assert.equal(order(both(abc, to('a', undefined, 9), to('c', undefined, 0)).content), 'c,g(g1,g2),b,a');
  assert.equal(order(both(abc, to('a', undefined, 9), label('a', 'x')).content), 'g(g1,g2),b,c,a');
});

test('a group is removed without the blocks that the other moved into it or out of it', () => {
  const { content: c, paths } = both(abc, (c) => edits.removeBlock(c, 'g'), (c) => label('a', 'x')(to('a', 'g', 0)(c)));
  assert.equal(order(c), 'a,b,c');
  assert.equal(findNode(c, 'a')?.block.label, 'x');
  assert.deepEqual(paths, []);
  const out = both(abc, to('g1', undefined, 0), (c) => edits.removeBlock(c, 'g'));
  assert.deepEqual([order(out.content), out.paths], ['g1,a,b,c', ['blocks/g1']]);
});

test('groups that two put into each other stay a tree', () => {
  const base = content([group('g', []), group('h', [])]);
  const { content: c } = both(base, to('g', 'h', 0), to('h', 'g', 0));
  assert.deepEqual([...flat(c.blocks).nodes.keys()].sort(), ['g', 'h']);
});

test('removed by one and changed by the other is a conflict, and the block is there', () => {
  const gone = both(abc, (c) => edits.removeBlock(c, 'g'), label('g2', 'mine'));
  assert.deepEqual(gone.paths, ['blocks/g']);
  assert.equal(order(gone.content), 'a,g(g1,g2),b,c');
  assert.equal(gone.conflicts[0]?.theirs, undefined);
  const changed = both(abc, (c) => edits.addBlock(c, q('new'), { parent: 'g', index: 0 }), (c) => edits.removeBlock(c, 'g'));
  assert.deepEqual(changed.paths, ['blocks/g']);
  assert.equal(order(changed.content), 'a,g(new,g1,g2),b,c');
  assert.equal(changed.conflicts[0]?.mine, undefined);
});

test('what was sent without an answer is no change of others', () => {
  const sent = label('a', 'he')(abc);
  const mine = label('a', 'hello')(sent);
  for (const theirs of [abc, sent]) {
    const { content: c, conflicts } = merge(abc, [sent], clone(theirs), mine);
    assert.deepEqual([get(c, ['blocks', 'a', 'label']), conflicts], ['hello', []]);
  }
  // Taken back since: the written one is not what others want.
  const back = merge(abc, [sent], clone(sent), abc);
  assert.deepEqual([get(back.content, ['blocks', 'a', 'label']), back.conflicts], ['a', []]);
  const other = merge(abc, [sent], label('c', 'theirs')(clone(sent)), sent);
  assert.deepEqual([get(other.content, ['blocks', 'c', 'label']), other.conflicts], ['theirs', []]);
  const choices = (ids: string[]) => set(abc, ['blocks', 'b', 'choices'], ids.map((id) => ({ id })));
  const theirLabel = (c: Content) => set(c, ['blocks', 'b', 'choices', '2', 'label'], 'theirs');
  const sorted = merge(choices(['1', '2']), [choices(['2', '1'])], theirLabel(choices(['2', '1'])), choices(['1', '2']));
  assert.ok(isEqual(sorted, { content: theirLabel(choices(['1', '2'])), conflicts: [] }));
  const added = edits.addBlock(abc, q('n'), { parent: 'g', index: 0 });
  assert.equal(order(merge(abc, [added], clone(added), abc).content), order(abc));
  const removed = edits.removeBlock(abc, 'g');
  assert.equal(order(merge(abc, [removed], clone(removed), abc).content), order(abc));
  const swapped = to('a', undefined, 2)(abc);
  assert.equal(order(merge(abc, [swapped], clone(swapped), abc).content), order(abc));
});

test('a step back leaves what others did', () => {
  const before = abc;
  const after = edits.patchBlock(label('a', 'x')(before), 'b', { type: 'ranking' });
  const now = to('c', undefined, 0)(label('a', 'theirs')(after));
  const made = replay(after, before, now);
  assert.equal(order(made), 'c,a,g(g1,g2),b');
  assert.equal(findNode(made, 'a')?.block.label, 'theirs'); // overwritten
  assert.equal(findNode(made, 'b')?.block.type, 'dropdown');
  assert.equal(replay(after, after, now), now);
  const last = to('a', undefined, 9)(abc);
  assert.equal(order(replay(last, abc, to('a', undefined, 1)(last))), 'g(g1,g2),a,b,c'); // moved by others since
  // An addition that others have changed stays, a removal comes back.
  const added = edits.addBlock(abc, q('n'), { parent: undefined, index: 0 });
  assert.equal(order(replay(added, abc, label('n', 'theirs')(added))), 'n,a,g(g1,g2),b,c');
  assert.equal(order(replay(edits.removeBlock(abc, 'g'), abc, edits.removeBlock(edits.removeBlock(abc, 'g'), 'a'))), 'g(g1,g2),b,c');
});

test('random edits: one side alone is that side, both sides are a valid form with what each added', () => {
  for (let seed = 1; seed <= 3000; seed++) {
    const random = dice(seed);
    let base = abc;
    for (let i = 0; i < 8; i++) base = anyEdit(base, random);
    let [theirs, mine] = [base, base];
    for (let i = Math.floor(random() * 5); i >= 0; i--) theirs = anyEdit(theirs, random);
    for (let i = Math.floor(random() * 5); i >= 0; i--) mine = anyEdit(mine, random);
    assert.ok(isEqual(merge(base, [], clone(base), mine).content, mine), `seed ${seed}: mine alone`);
    const alone = merge(base, [], clone(theirs), base);
    assert.ok(isEqual(alone.content, theirs) && alone.conflicts.length === 0, `seed ${seed}: theirs alone`);
    const { content: c, conflicts } = merge(base, [], clone(theirs), mine);
    const ids: string[] = [];
    const walk = (list: Block[]): void => list.forEach((b) => { ids.push(b.id); walk(b.children ?? []); });
    walk(c.blocks);
    assert.equal(new Set(ids).size, ids.length, `seed ${seed}: ids`);
    const has = (of: Content, id: string): boolean => findNode(of, id) !== undefined;
    const held = (id: string, of: Content): boolean => {
      for (let up: string | undefined = id; up; up = findNode(of, up)?.parent) if (conflicts.some((f) => f.path[1] === up && f.path.length === 2)) return true;
      return false;
    };
    for (const id of new Set([base, theirs, mine].flatMap((of) => [...flat(of.blocks).nodes.keys()]))) {
      const wanted = has(base, id) ? has(theirs, id) && has(mine, id) : true;
      const is = ids.includes(id);
      if (wanted) assert.ok(is, `seed ${seed}: ${id} is missing`);
      else if (is) assert.ok(held(id, c), `seed ${seed}: ${id} came back in silence`);
    }
    // Two that agree on a conflict make the same of it, whoever merges.
    const again = merge(theirs, [], clone(c), theirs);
    assert.ok(isEqual(again.content, c) && again.conflicts.length === 0, `seed ${seed}: read by the other`);
    // A step back of mine from the merged leaves theirs, but for what clashed.
    const edits = diff(base, mine);
    if (conflicts.length === 0 && edits.every((op) => op.kind === 'set')) {
      for (const { path } of diff(replay(mine, base, c), theirs)) assert.ok(edits.some((op) => op.path[1] === path[1]), `seed ${seed}: ${path.join('/')}`);
    }
    assert.ok(isEqual(replay(mine, base, mine), base), `seed ${seed}: undone`);
  }
});

test('random edits: writes lead from one to the other, whatever is kept back', () => {
  for (let seed = 1; seed <= 3000; seed++) {
    const random = dice(seed);
    let [base, target] = [abc, abc];
    for (let i = Math.floor(random() * 6); i >= 0; i--) base = target = anyEdit(base, random);
    for (let i = Math.floor(random() * 6); i >= 0; i--) target = anyEdit(target, random);
    const all = diff(base, target);
    assert.equal(all.length === 0, isEqual(base, target), `seed ${seed}`);
    const back = all.filter(() => random() < 0.3);
    const held = apply(base, all.filter((op) => !back.includes(op)));
    for (const { kind, path, old } of back) assert.ok(kind === 'move' || (kind === 'set' && !findNode(held, path[1] ?? '')) || kind === 'remove' || path[2] === 'children' || isEqual(get(held, path), old), `seed ${seed}: ${path.join('/')} is kept back`);
    for (const b of flat(base.blocks).nodes.keys()) assert.ok(findNode(held, b) || !findNode(target, b), `seed ${seed}: ${b} is not removed by keeping back`);
    if (back.every((op) => op.kind === 'set')) assert.ok(diff(held, target).every((op) => back.some((x) => isEqual(x.path, op.path))), `seed ${seed}`);
    const one = planSingleWrite(base, held);
    assert.ok(one ? isEqual(done(base, one.method, one.path, one.body), held) : isEqual(base, held), `seed ${seed}: at once`);
    let now = base;
    for (let i = 0; ; i++) {
      const write = planWrite(now, held);
      if (!write) break;
      assert.ok(i < 50);
      const after = done(now, write.method, write.path, write.body);
      assert.ok(isEqual(after, write.after), `seed ${seed}: ${write.method} ${write.path}`);
      now = after;
    }
    assert.ok(isEqual(now, held), `seed ${seed}: arrives`);
  }
});

test('a null in an object cannot be told by a patch: the blocks are sent', () => {
  const target = set(abc, ['blocks', 'a', 'properties'], { rule: { set: { x: null } } });
  assert.equal(planWrite(abc, target)?.method, 'PUT');
  assert.deepEqual(createMergePatch({ a: [1], b: 1 }, { a: [null], c: { d: 1 } }), { patch: { a: [null], b: null, c: { d: 1 } } });
  for (let seed = 1; seed < 500; seed++) {
    const random = dice(seed);
    const [a, b] = [anyJson(random, 3), anyJson(random, 3)];
    const patch = createMergePatch(a, b);
    if (patch) assert.deepEqual(applyMergePatch(a, patch.patch), b);
  }
});

test('typing is told from other edits', () => {
  const typed = (change: (c: Content) => Content): string | undefined => typedPaths(diff(abc, change(abc)))?.replace('\n', ' ');
  assert.equal(typed(label('g1', 'x')), 'blocks/g1/label');
  assert.equal(typed((c) => set(c, ['blocks', 'b', 'choices', '2', 'label'], undefined)), 'blocks/b/choices/2/label');
  assert.equal(typed((c) => set(set(c, ['blocks', 'a', 'properties', 'min'], 1), ['name'], 'N')), 'name blocks/a/properties/min');
  for (const other of [to('a', 'g', 0), to('a', undefined, 9), (c: Content) => edits.removeBlock(c, 'a'), (c: Content) => set(c, ['settings', 'closed'], true), (c: Content) => set(c, ['blocks', 'b', 'choices'], []), (c: Content) => set(c, ['hidden_fields'], ['x'])]) {
    assert.equal(typed(other), undefined);
  }
});

test('the smallest write that does it', () => {
  const first = (target: Content): string => {
    const write = planWrite(abc, target);
    return `${write?.method} ${write?.path} ${JSON.stringify(write?.body)}`;
  };
  assert.equal(first(label('g2', 'x')(abc)), 'PATCH /blocks/g {"block":{"children":[{"id":"g1","type":"short_text","label":"g1"},{"id":"g2","type":"short_text","label":"x"}]}}');
  assert.equal(first(edits.addBlock(abc, q('n'), { parent: undefined, index: 9 })), 'POST /blocks {"block":{"id":"n","type":"short_text","label":"n"}}');
  assert.match(first(edits.addBlock(abc, q('n'), { parent: undefined, index: 0 })), /^PUT \/blocks /);
  assert.equal(first(edits.removeBlock(abc, 'g')), 'DELETE /blocks/g undefined');
  assert.match(first(edits.removeBlock(to('g1', undefined, 0)(abc), 'g')), /^PUT /);
  assert.equal(first({ ...abc, name: 'N', settings: { closed: true } }), 'PATCH  {"name":"N","definition":{"settings":{"closed":true}}}');
});

test('a pointer into a request is a place in the form', () => {
  const place = (target: Content, pointer: string): string => {
    const write = planWrite(abc, target);
    return write ? pathInBody(write, pointer).join(' ') : '';
  };
  const patch = label('g2', 'x')(abc);
  assert.equal(place(patch, '/block/children/1/properties/rule/a~1b'), 'blocks g2 properties rule a/b');
  assert.equal(place(patch, '/block'), 'blocks g');
  assert.equal(place(label('b', 'x')(abc), '/block/choices/1/label'), 'blocks b choices 2 label');
  assert.equal(place(edits.addBlock(abc, q('n'), { parent: undefined, index: 1 }), '/blocks/2/children/0/label'), 'blocks g1 label');
  assert.equal(place(edits.addBlock(abc, q('n'), { parent: undefined, index: 9 }), '/block/label'), 'blocks n label');
  assert.equal(place({ ...abc, hidden_fields: ['x'] }, '/definition/hidden_fields/0'), 'hidden_fields x');
  assert.equal(place({ ...abc, name: 'N' }, '/name'), 'name');
});

test('names of members that every object has are like others', () => {
  const odd = JSON.parse('{"__proto__":1,"constructor":2}') as Content['variables'];
  const { content: c, paths } = both(content([], { variables: odd }), (c) => edits.patchSection(c, 'variables', JSON.parse('{"__proto__":3}') as Obj), (c) => edits.patchSection(c, 'variables', { toString: 4, constructor: null }));
  assert.deepEqual(Object.entries(c.variables), [['__proto__', 3], ['toString', 4]]);
  assert.deepEqual(paths, []);
});

/** What the service makes of a write. */
function done(c: Content, method: string, path: string, body: Obj = {}): Content {
  const b = JSON.parse(JSON.stringify(body)) as { block: Block; blocks: Block[]; name?: string; definition?: Partial<Content> };
  const id = decodeURIComponent(path.slice('/blocks/'.length));
  if (path === '') return { ...c, ...b.definition, name: b.name ?? c.name };
  if (method === 'PUT') return { ...c, blocks: b.blocks };
  if (method === 'POST') return { ...c, blocks: [...c.blocks, b.block] };
  if (method === 'DELETE') return { ...c, blocks: c.blocks.filter((x) => x.id !== id) };
  const made = { ...c, blocks: c.blocks.map((x) => (x.id === id ? (applyMergePatch(x, b.block) as Block) : x)) };
  assert.deepEqual(contentAfterWrite(c, { method: 'PATCH', path, after: c }, made.blocks.find((x) => x.id === id)), made);
  return made;
}

let made = 0;

function anyEdit(c: Content, random: () => number): Content {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const ids = [...flat(c.blocks).nodes.keys()];
  const groups = ids.filter((id) => findNode(c, id)?.block.type === 'group');
  const place = (): edits.Position => ({ parent: random() < 0.4 ? pick(groups) : undefined, index: Math.floor(random() * 6) });
  const id = pick(ids) ?? '';
  switch (Math.floor(random() * 10)) {
    case 0: return edits.addBlock(c, random() < 0.3 ? group('n' + made++, [q('n' + made++)]) : q('n' + made++), place());
    case 1: return ids.length > 4 ? edits.removeBlock(c, id) : c;
    case 2: case 3: return edits.moveBlock(c, id, place());
    case 4: return edits.duplicate(c, id, random).content;
    case 5: return edits.patchBlock(c, id, { type: pick(['short_text', 'dropdown', 'matrix', 'group']), children: null });
    case 6: return edits.patchSection(c, pick(['settings', 'theme', 'variables']), { [pick(['p', 'q'])]: pick([1, 2, null, { r: made++ }]) });
    case 7: return edits.patchBlock(c, id, { choices: [{ id: pick(['1', '2', '3']), label: String(made++) }] });
    case 8: return set(c, ['name'], 'name ' + String(made++));
    default: return edits.patchBlock(c, id, { label: String(made++), properties: { [pick(['min', 'max'])]: pick([1, null, made]) } });
  }
}

function anyJson(random: () => number, depth: number): unknown {
  const kind = Math.floor(random() * (depth > 0 ? 6 : 3));
  if (kind < 3) return [1, 'x', null][kind];
  if (kind === 3) return Array.from({ length: Math.floor(random() * 3) }, () => anyJson(random, depth - 1));
  return Object.fromEntries(Array.from({ length: Math.floor(random() * 4) }, () => ['abcd'.charAt(Math.floor(random() * 4)), anyJson(random, depth - 1)]));
}
