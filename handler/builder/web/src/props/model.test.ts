import assert from 'node:assert/strict';
import { test } from 'node:test';
import de from '../../../words/de.json';
import en from '../../../words/en.json';
import type { Obj } from '../app/json';
import type { Block } from '../app/records';
import { groups } from '../editor/blockTypes';
import { changeType, supports, listsOf, newBlock, patchFromPaths, patchOf, propertiesOf } from './model';
import { parts, properties, types } from './props.gen';
import { sampleOf } from './samples.test';

const all = Object.keys(types);

/** A block of a type with everything that it can have. */
function full(type: string): Block {
  const block: Block = { ...newBlock(type, 'b'), label: 'L', description: 'D', part_of: 'p', row_id: 'r' };
  if (supports(type, 'required')) block.required = true;
  block.properties = Object.fromEntries(propertiesOf(type).map((name) => [name, sampleOf(name, properties[name]!)]));
  return block;
}

/** What is wrong with a block by the table. */
function faults(block: Block): string[] {
  const found: string[] = [];
  for (const [name, value] of Object.entries(block.properties ?? {})) {
    const row = properties[name];
    if (!row || !(row.of?.includes(block.type) ?? true)) found.push(`${name} is not of ${block.type}`);
    else if (typeof value !== typeof sampleOf(name, row)) found.push(`${name} is a ${typeof value}`);
  }
  for (const list of ['choices', 'matrix_rows', 'matrix_columns'] as const) {
    const has = block[list];
    if ((has !== undefined) !== listsOf(block.type).includes(list)) found.push(`${list}: ${has === undefined ? 'missing' : 'superfluous'}`);
    if (has && (has.length < 2 || new Set(has.map((c) => c.id)).size !== has.length)) found.push(`${list}: too few, or one twice`);
  }
  if ((block.children !== undefined) !== (block.type === 'group')) found.push('children');
  if (block.required !== undefined && !types[block.type]!.answer) found.push('required');
  return found;
}

test('every type is offered once, in a group', () => {
  assert.deepEqual(groups.flatMap((g) => g.types).toSorted(), all.toSorted());
  assert.equal(all.length, 38);
});

test('the table has the pairs of the description', () => {
  const rows = Object.values(properties);
  assert.equal(rows.length, 68);
  assert.equal(rows.filter((r) => !r.of).length, 7);
  assert.equal(rows.flatMap((r) => r.of ?? []).length, 124);
});

test('new blocks are whole, and no two ids are the same', () => {
  for (const type of all) {
    const block = newBlock(type, 'x');
    assert.deepEqual([block.id, block.type], ['x', type]);
    assert.deepEqual(faults(block), [], type);
  }
});

test('a block can become one of any type, and keeps what fits', () => {
  for (const from of all) {
    for (const to of all) {
      for (const old of [newBlock(from, 'b'), full(from)]) {
        const made = changeType(old, to);
        assert.equal(made.type, to);
        assert.equal(made.id, 'b');
        assert.deepEqual(faults(made), [], `${from} as ${to}`);
        if (old.label) assert.equal(made.label, old.label);
        for (const [name, value] of Object.entries(old.properties ?? {})) {
          const bound = ['min', 'max', 'minVal', 'maxVal'].includes(name) && (from === 'number') !== (to === 'number');
          if (supports(to, name) && !bound && name !== 'multiSelection' && name !== 'to' && name !== 'addressOrContact') assert.deepEqual(made.properties?.[name], value, `${name} of ${from} as ${to}`);
        }
        // What the service stores after the patch is what was made.
        assert.deepEqual(merge(old as unknown as Obj, patchOf(old as unknown as Obj, made as unknown as Obj)), made, `${from} as ${to}`);
      }
    }
  }
});

function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const made: Obj = typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...(target as Obj) } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete made[name];
    else made[name] = merge(made[name], value);
  }
  return made;
}

test('choices stay choices', () => {
  const single = newBlock('single_choice', 'b');
  assert.deepEqual(changeType(single, 'ranking').choices, single.choices);
  const matrix = changeType(single, 'matrix');
  assert.deepEqual(matrix.matrix_columns, single.choices);
  assert.deepEqual(changeType(matrix, 'dropdown').choices, single.choices);
  assert.equal(changeType(newBlock('multiple_choice', 'b'), 'picture_choice').properties?.multiSelection, true);
  assert.equal(changeType(single, 'picture_choice').properties, undefined);
});

test('bounds of numbers are none of choices, and a long scale is no rating', () => {
  const number: Block = { id: 'b', type: 'number', properties: { min: 18, minVal: true } };
  assert.equal(changeType(number, 'multiple_choice').properties, undefined);
  const scale: Block = { id: 'b', type: 'opinion_scale', properties: { from: 0, to: 100 } };
  assert.equal(changeType(scale, 'rating').properties, undefined);
  assert.deepEqual(changeType({ ...scale, properties: { to: 7 } }, 'rating').properties, { to: 7 });
});

test('an address asks for a place, a contact for a person', () => {
  const asked = (b: Block): string[] => Object.keys(parts).filter((p) => !((b.properties?.addressOrContact as Record<string, Obj>)[p] ?? {}).hide);
  assert.deepEqual(asked(newBlock('address', 'b')), ['address', 'address2', 'city', 'state', 'zip', 'country']);
  assert.deepEqual(asked(changeType(newBlock('address', 'b'), 'contact_info')), ['firstName', 'lastName', 'email', 'phone']);
  const own = { email: { required: true } };
  assert.deepEqual(changeType({ id: 'b', type: 'address', properties: { addressOrContact: own } }, 'contact_info').properties?.addressOrContact, own);
});

test('patches nest, and undefined removes', () => {
  assert.deepEqual(patchFromPaths({ 'properties.min': 3, 'properties.minVal': true, label: undefined }), { properties: { min: 3, minVal: true }, label: null });
});

test('both languages have the same words', () => {
  assert.deepEqual(Object.keys(de.props), Object.keys(en.props));
  for (const [key, text] of Object.entries(en.props)) {
    const names = (s: string): string[] => [...s.matchAll(/\{\w+\}/g)].map((m) => m[0]).toSorted();
    assert.deepEqual(names((de.props as Record<string, string>)[key]!), names(text), key);
  }
});
