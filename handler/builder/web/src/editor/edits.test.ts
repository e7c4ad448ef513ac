import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Block } from '../app/records';
import * as edits from './edits';
import { findNode, type Content } from './content';

const content = (blocks: Block[], more: Partial<Content> = {}): Content =>
  ({ name: 'F', type: 'SINGLE', blocks, settings: {}, theme: {}, variables: {}, hidden_fields: [], ...more });
const q = (id: string, more: Partial<Block> = {}): Block => ({ id, type: 'short_text', label: id, ...more });
const order = (c: Content): string => c.blocks.map((b) => b.id + (b.children ? `(${b.children.map((k) => k.id).join()})` : '')).join();
const form = content([q('a'), { id: 'g', type: 'group', children: [q('g1'), q('g2')] }, q('b')]);
const choices = [{ id: '1', label: 'One', image: { url: 'x' } }, { id: '2', label: 'Two' }];

test('a patch of a block is a merge patch, but of its id and its children', () => {
  const c = edits.patchBlock(form, 'g1', { id: 'x', children: [], label: null, properties: { rule: { set: { x: null } }, min: 1 } });
  assert.deepEqual(findNode(c, 'g1')?.block, { id: 'g1', type: 'short_text', properties: { rule: { set: {} }, min: 1 } });
  assert.equal(c.blocks[0], form.blocks[0], 'what stays is the same object');
  assert.equal(edits.patchBlock(form, 'g1', { label: 'g1' }), form);
  assert.equal(edits.patchBlock(form, 'no', { label: 'x' }), form);
});

test('blocks are added, moved and removed at every place', () => {
  const add = (parent: string | undefined, index: number): string => order(edits.addBlock(form, q('n'), { parent, index }));
  assert.deepEqual([add(undefined, 0), add(undefined, 3), add(undefined, 99), add('g', 1), add('g', 99), add('no', 1)], ['n,a,g(g1,g2),b', 'a,g(g1,g2),b,n', 'a,g(g1,g2),b,n', 'a,g(g1,n,g2),b', 'a,g(g1,g2,n),b', 'a,n,g(g1,g2),b']);
  const move = (id: string, parent: string | undefined, index: number): string => order(edits.moveBlock(form, id, { parent, index }));
  assert.deepEqual([move('a', undefined, 1), move('a', undefined, 9), move('a', 'g', 1), move('g2', undefined, 0), move('g2', 'g', 0)], ['g(g1,g2),a,b', 'g(g1,g2),b,a', 'g(g1,a,g2),b', 'g2,a,g(g1),b', 'a,g(g2,g1),b']);
  for (const [id, parent, index] of [['a', undefined, 0], ['g2', 'g', 1], ['g', 'g', 0], ['g', 'g1', 0], ['a', 'no', 0], ['no', undefined, 0]] as const) {
    assert.equal(edits.moveBlock(form, id, { parent, index }), form, `${id} stays`);
  }
  assert.deepEqual([order(edits.removeBlock(form, 'g1')), order(edits.removeBlock(form, 'g')), edits.removeBlock(form, 'no')], ['a,g(g2),b', 'a,b', form]);
});

test('what has another name is called so in the rules, and what names a block goes with it', () => {
  const rule = { show: { '==': [{ var: 'hidden.code' }, { var: 'variables.code' }] }, set: { code: { '+': [{ var: 'variables.code' }, 1] } } };
  const c = content([q('a'), q('r', { properties: { rule } }), { id: 'g', type: 'group', children: [q('mail')] }], {
    hidden_fields: ['code', 'other'], variables: { code: 1, last: 2 }, settings: { duplicateField: 'mail', closed: true },
  });
  const hidden = edits.renameField(c, 'hidden', 'code', 'key');
  assert.deepEqual([hidden.hidden_fields, hidden.variables], [['key', 'other'], c.variables]);
  assert.deepEqual(hidden.blocks[1]!.properties!.rule, { ...rule, show: { '==': [{ var: 'hidden.key' }, { var: 'variables.code' }] } });
  assert.equal(hidden.blocks[0], c.blocks[0], 'what stays is the same object');
  const variable = edits.renameField(c, 'variables', 'code', '__proto__');
  assert.equal(JSON.stringify([variable.variables, variable.hidden_fields]), '[{"__proto__":1,"last":2},["code","other"]]');
  assert.equal(JSON.stringify(variable.blocks[1]!.properties!.rule), JSON.stringify(rule).replaceAll('"variables.code"', '"variables.__proto__"').replace('"set":{"code"', '"set":{"__proto__"'));
  assert.equal(edits.renameField(c, 'variables', 'code', 'last'), c);
  assert.equal(edits.renameField(c, 'hidden', 'code', 'other'), c);
  for (const id of ['mail', 'g']) assert.deepEqual(edits.removeBlock(c, id).settings, { closed: true });
  assert.equal(edits.removeBlock(c, 'a').settings, c.settings);
  const dangling = { ...c, settings: { duplicateField: 'gone' } };
  assert.equal(edits.removeBlock(dangling, 'a').settings, dangling.settings);
});

test('a group that becomes something else has its children behind it', () => {
  const c = edits.patchBlock(form, 'g', { type: 'heading', children: null });
  assert.equal(order(c), 'a,g,g1,g2,b');
  assert.deepEqual(findNode(c, 'g')?.block, { id: 'g', type: 'heading' });
});

test('a copy has ids of its own, and its rules are about the copy', () => {
  const c = content([
    q('before', { type: 'dropdown', choices }),
    {
      id: 'g', type: 'group', properties: {
        rule: {
          show: { and: [{ '==': [{ var: 'answers.before' }, '1'] }, { in: [{ var: 'answers.pet' }, ['1', 'cat']] }, { '==': [{ var: 'answers.grid.r' }, 'col'] }] },
          set: { score: { if: [{ '==': [{ var: ['answers.pet', '1'] }, '1'] }, 1, 0] } },
          next: [{ if: { missing: ['answers.pet'] }, to: 'g' }, { to: 'before' }],
          free: 'answers.pet',
        },
      },
      children: [
        q('pet', { type: 'single_choice', choices: [{ id: '1', label: 'Dog' }, { id: 'cat' }] }),
        q('grid', { type: 'matrix', matrix_rows: [{ id: 'r' }], matrix_columns: [{ id: 'col' }] }),
      ],
    },
    q('after', { properties: { rule: { show: { '==': [{ var: 'answers.pet' }, '1'] } } } }),
  ]);
  const { content: made, id } = edits.duplicate(c, 'g');
  assert.deepEqual(made.blocks.map((b) => b.id), ['before', 'g', id, 'after']);
  assert.equal(made.blocks[3], c.blocks[2]);
  const copy = made.blocks[2] as Block;
  const [pet, grid] = copy.children as [Block, Block];
  const ids = [copy.id, pet.id, grid.id, ...[...(pet.choices ?? []), ...(grid.matrix_rows ?? []), ...(grid.matrix_columns ?? [])].map((ch) => ch.id)];
  assert.equal(new Set([...ids, 'g', 'pet', 'grid', '1', 'cat', 'r', 'col']).size, ids.length + 7);
  assert.equal(pet.choices?.[0]?.label, 'Dog');
  const [dog, cat] = pet.choices?.map((ch) => ch.id) ?? [];
  assert.deepEqual(copy.properties?.rule, {
    show: { and: [{ '==': [{ var: 'answers.before' }, '1'] }, { in: [{ var: `answers.${pet.id}` }, [dog, cat]] }, { '==': [{ var: `answers.${grid.id}.${grid.matrix_rows?.[0]?.id}` }, grid.matrix_columns?.[0]?.id] }] },
    set: { score: { if: [{ '==': [{ var: [`answers.${pet.id}`, '1'] }, dog] }, 1, 0] } },
    next: [{ if: { missing: [`answers.${pet.id}`] }, to: copy.id }, { to: 'before' }],
    free: 'answers.pet',
  });
  assert.deepEqual(edits.duplicate(c, 'no'), { content: c, id: '' });
});

test('new ids are free, and can stand in a path and in a rule', () => {
  const few = (): (() => number) => {
    let n = 0;
    return () => (n++ < 30 ? 0 : 0.5); // the same three times
  };
  const c = content([q('aaaaaaaaaa')], { hidden_fields: [] });
  assert.match(edits.newId(c, few()), /^[a-z][a-z0-9]{9}$/);
  assert.notEqual(edits.newId(c, few()), 'aaaaaaaaaa');
  assert.notEqual(edits.newId(content([], { hidden_fields: ['aaaaaaaaaa'] }), few()), 'aaaaaaaaaa');
  assert.notEqual(edits.newId(content([], { variables: { aaaaaaaaaa: 1 } }), few()), 'aaaaaaaaaa');
  assert.equal(edits.newChoiceId([{ id: '0' }], () => 0.5).length > 0, true);
});

test('sections', () => {
  assert.deepEqual(edits.patchSection(form, 'theme', { colors: { text: '#fff' } }).theme, { colors: { text: '#fff' } });
  assert.equal(edits.patchSection(form, 'theme', { font: null }), form);
});
