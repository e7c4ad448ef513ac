import assert from 'node:assert/strict';
import test from 'node:test';

import { Fields, type Content, type Json } from './fields';
import { references, referencesTo, rewrite, rewriteAll } from './references';

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

test('every reference is found', () => {
  const found = references(rule, fields).map((r) => `${r.target.kind} ${'block' in r.target ? r.target.block + '/' : ''}${r.target.id} ${r.at}`);
  assert.deepEqual(found, [
    'block drink /show/and/0/==/0/var', 'choice drink/tea /show/and/0/==/1',
    'block drink /show/and/1/in/0/var/0', 'choice drink/tea /show/and/1/in/1/0', 'choice drink/milk /show/and/1/in/1/1',
    'block name /show/and/2/==/0/var',
    'block meals /require/some/0/var', 'choice meals/tea /require/some/1/==/1',
    'variable score /set/score', 'variable score /set/score/+/0/var',
    'choice grid/bad /set/score/+/1/if/0/===/0', 'block grid /set/score/+/1/if/0/===/1/var', 'row grid/speed /set/score/+/1/if/0/===/1/var',
    'variable free /set/free', 'block name /set/free/missing/0', 'hidden code /set/free/missing/1',
    'block name /next/0/if/missing_some/1/0', 'block home /next/0/if/missing_some/1/1', 'block name /next/0/to',
  ]);
});

test('who refers to a thing is found', () => {
  assert.deepEqual(referencesTo(form, { kind: 'choice', block: 'drink', id: 'milk' }), [
    { block: 'home', at: ['/show/and/1/in/1/1'] }, { block: 'name', at: ['/show/==/1'] },
  ]);
  assert.deepEqual(referencesTo(form, { kind: 'choice', block: 'meals', id: 'milk' }), []);
  assert.deepEqual(referencesTo(form, { kind: 'block', id: 'grid' }).map((r) => r.block), ['home']);
});

test('things get other names, and nothing else changes', () => {
  const written = rewrite(rule, {
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
  assert.equal(rewrite(rule, { blocks: { other: 'x' }, choices: { meals: { lunch: 'l' } } }, fields), rule);
  assert.deepEqual([...rewriteAll(form, { choices: { drink: { milk: 'm' } } }).keys()], ['home', 'name']);
  assert.equal(rewrite(undefined, { blocks: { drink: 'x' } }, fields), undefined);
});

test('any JSON is walked and stays as it is', () => {
  for (const odd of [null, 5, 'x', [], {}, { show: null, set: [], next: {} }, { next: [null, 5, { to: 7, if: [] }], set: { score: null } }, { show: { var: [] } }, { show: { some: 5 } },
    { show: { some: [] } }, { show: { missing_some: 'answers.name' } }, { show: { '==': { var: 'answers.drink' } } }, { show: { var: { var: 'answers.drink' } } }] as Json[]) {
    assert.equal(rewrite(odd, { choices: { drink: { tea: 't' } } }, fields), odd);
    references(odd, fields);
  }
});
