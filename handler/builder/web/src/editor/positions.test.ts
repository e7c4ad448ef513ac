import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Block } from '../app/records';
import { blockLabel, positionsFor, rowsOf, stepPosition } from './positions';

const block = (id: string, type = 'short_text', children?: Block[]): Block => ({ id, type, ...(children && { children }) });
const form = [block('a'), block('g', 'group', [block('g1'), block('g2')]), block('h', 'heading'), block('z')];

test('rows have numbers, places and depths', () => {
  assert.deepEqual(
    rowsOf(form).map((r) => [r.block.id, r.place.parent, r.place.index, r.depth, r.number]),
    [['a', undefined, 0, 0, 1], ['g', undefined, 1, 0, 0], ['g1', 'g', 0, 1, 2], ['g2', 'g', 1, 1, 3], ['h', undefined, 2, 0, 0], ['z', undefined, 3, 0, 4]],
  );
});

test('a step leads into a group, through it, and out of it', () => {
  const rows = rowsOf(form);
  assert.deepEqual(stepPosition(rows, 'a', 1), { parent: 'g', index: 0 });
  assert.equal(stepPosition(rows, 'a', -1), undefined);
  assert.deepEqual(stepPosition(rows, 'h', -1), { parent: 'g', index: 2 });
  assert.deepEqual(stepPosition(rows, 'g1', -1), { parent: undefined, index: 1 });
  assert.deepEqual(stepPosition(rows, 'g2', 1), { parent: undefined, index: 2 });
  assert.deepEqual(stepPosition(rows, 'g1', 1), { parent: 'g', index: 1 });
  assert.deepEqual(stepPosition(rows, 'g', 1), { parent: undefined, index: 2 });
  assert.equal(stepPosition(rows, 'z', 1), undefined);
});

test('no block goes into itself', () => {
  const rows = rowsOf([block('g', 'group', [block('in', 'group', [block('deep')])]), block('e', 'group', [])]);
  for (const p of positionsFor(rows, 'g')) assert.ok(p.parent === undefined || p.parent === 'e', JSON.stringify(p));
  assert.ok(positionsFor(rows, 'deep').some((p) => p.parent === 'e'));
});

test('a name is one line', () => {
  assert.equal(blockLabel({ id: 'a', type: 'text', label: ' one\n two ' }, String), 'one two');
  assert.equal(blockLabel({ id: 'a', type: 'text' }, (type) => '<' + type + '>'), '<text>');
});
