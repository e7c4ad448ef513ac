import assert from 'node:assert/strict';
import test from 'node:test';

import { Fields, type Content, type Json } from './fields';
import { renameInRule, renameInBlocks } from './references';

const choices = (...ids: string[]) => ids.map((id) => ({ id }));
const rule: Json = {
  show: { and: [{ '==': [{ var: 'answers.drink' }, 'tea'] }, { in: [{ var: ['answers.drink', 'tea'] }, ['tea', 'milk']] }, { '==': [{ var: 'answers.name' }, 'tea'] }] },
  require: { some: [{ var: 'answers.meals' }, { '==': [{ var: '' }, 'tea'] }] },
  set: { score: { '+': [{ var: 'variables.score' }, { if: [{ '===': ['bad', { var: 'answers.grid.speed' }] }, 1, 0] }] }, free: { missing: ['answers.name', 'hidden.code'] } },
  next: [{ if: { missing_some: [1, ['answers.name', 'answers.home.city']] }, to: 'name' }, { if: { x: 1, var: 'answers.name' }, to: 'end' }],
  free: { var: 'answers.name' },
};
const form: Content = {
  blocks: [
    { id: 'drink', type: 'dropdown', choices: choices('tea', 'milk') },
    { id: 'meals', type: 'multiple_choice', choices: choices('tea', 'lunch') },
    { id: 'grid', type: 'matrix', matrix_rows: choices('speed'), matrix_columns: choices('good', 'bad') },
    { id: 'home', type: 'address', properties: { rule } },
    { id: 'name', type: 'short_text', properties: { rule: { show: { '==': [{ var: 'answers.drink' }, 'milk'] } } } },
  ],
  hidden_fields: ['code'],
  variables: { score: 0, free: 0 },
};
const fields = new Fields(form);

test('things get other names, and nothing else changes', () => {
  const written = renameInRule(rule, {
    blocks: { drink: 'd.1', name: 'n', home: 'h' }, hidden: { code: 'c' }, variables: { score: 's' },
    choices: { drink: { tea: 't' }, grid: { bad: 'b' } }, rows: { grid: { speed: 'sp' } },
  }, fields);
  assert.deepEqual(written, {
    show: { and: [{ '==': [{ var: 'answers.d.1' }, 't'] }, { in: [{ var: ['answers.d.1', 'tea'] }, ['t', 'milk']] }, { '==': [{ var: 'answers.n' }, 'tea'] }] },
    require: { some: [{ var: 'answers.meals' }, { '==': [{ var: '' }, 'tea'] }] },
    set: { s: { '+': [{ var: 'variables.s' }, { if: [{ '===': ['b', { var: 'answers.grid.sp' }] }, 1, 0] }] }, free: { missing: ['answers.n', 'hidden.c'] } },
    next: [{ if: { missing_some: [1, ['answers.n', 'answers.h.city']] }, to: 'n' }, { if: { x: 1, var: 'answers.name' }, to: 'end' }],
    free: { var: 'answers.name' },
  });
  assert.equal(renameInRule(rule, { blocks: { other: 'x' }, choices: { meals: { lunch: 'l' } } }, fields), rule);
  const nested = { ...form, blocks: [...form.blocks, { id: 'group', type: 'group', children: form.blocks.slice(4) }] };
  const made = renameInBlocks(nested, { choices: { drink: { milk: 'm' } } });
  assert.deepEqual(made.map((b, i) => JSON.stringify(b) !== JSON.stringify(nested.blocks[i])), [false, false, false, true, true, true]);
  assert.deepEqual(made[5]!.children, [{ ...form.blocks[4], properties: { rule: { show: { '==': [{ var: 'answers.drink' }, 'm'] } } } }]);
  assert.equal(renameInBlocks(nested, { hidden: { other: 'o' } }), nested.blocks);
  assert.equal(renameInRule(undefined, { blocks: { drink: 'x' } }, fields), undefined);
});

test('any JSON is walked and stays as it is', () => {
  for (const odd of [null, 5, 'x', [], {}, { show: null, set: [], next: {} }, { next: [null, 5, { to: 7, if: [] }], set: { score: null } }, { show: { var: [] } }, { show: { some: 5 } },
    { show: { some: [] } }, { show: { missing_some: 'answers.name' } }, { show: { '==': { var: 'answers.drink' } } }, { show: { var: { var: 'answers.drink' } } }] as Json[]) {
    assert.equal(renameInRule(odd, { choices: { drink: { tea: 't' } } }, fields), odd);
  }
});
