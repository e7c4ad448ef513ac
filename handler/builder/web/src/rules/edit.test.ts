import assert from 'node:assert/strict';
import test from 'node:test';

import { adaptLeaf, addCondition, canGroup, comparisonOf, changeOperation, newCondition, groupWith, isGroup, linesOf, availableComparisons, valueOfLines, renameSelf, simplify, type Comparison } from './edit';
import { Fields, type Content } from './fields';
import { parseCondition, parseVariable, conditionLogic, valueLogic, type Condition, type Group, type Leaf, type Value } from './parse';

const choices = (...ids: string[]) => ids.map((id) => ({ id, label: id }));
const form: Content = {
  blocks: [
    { id: 'name', type: 'short_text' }, { id: 'age', type: 'number' }, { id: 'pet', type: 'yes_no' }, { id: 'drink', type: 'dropdown', choices: choices('tea', 'milk') },
    { id: 'meals', type: 'multiple_choice', choices: choices('lunch', 'milk') }, { id: 'rank', type: 'ranking', choices: choices('one', 'two') }, { id: 'empty', type: 'dropdown' },
    { id: 'day', type: 'date' }, { id: 'when', type: 'date', properties: { showTimePicker: true } }, { id: 'at', type: 'time', properties: { showSeconds: true } },
    { id: 'land', type: 'country' }, { id: 'sign', type: 'signature' },
  ],
  hidden_fields: ['code'],
  variables: { score: 0, tier: '' },
};
const fields = new Fields(form);
const field = (path: string) => fields.get(fields.resolve(path)!);

function said(c: Condition, what: string): void {
  assert.deepEqual(parseCondition(conditionLogic(c), fields), c, what);
}

test('whatever is chosen is a sentence', () => {
  for (const from of [...fields.all, field('answers.gone')]) {
    said(newCondition(from), JSON.stringify(from.ref));
    const { op, leaf } = comparisonOf(newCondition(from) as Leaf);
    for (const one of availableComparisons(from, op)) {
      const c = adaptLeaf(leaf, from, one);
      said(c, one);
      for (const to of fields.all) for (const other of availableComparisons(to, one)) said(adaptLeaf(comparisonOf(c as Leaf).leaf, to, other), `${one} to ${other}`);
    }
  }
});

test('values stay where they fit', () => {
  const tea: Leaf = { op: 'is', ref: field('answers.drink').ref, value: 'milk' };
  assert.deepEqual(adaptLeaf(tea, field('answers.meals'), 'has'), { op: 'has', ref: field('answers.meals').ref, value: 'milk' });
  assert.deepEqual(adaptLeaf({ ...tea, value: 'tea' }, field('answers.meals'), 'has'), { op: 'has', ref: field('answers.meals').ref, value: 'lunch' });
  assert.deepEqual(adaptLeaf(tea, field('answers.drink'), 'isNot'), { ...tea, op: 'isNot' });
  assert.deepEqual(adaptLeaf(tea, field('answers.age'), 'is'), { op: 'is', ref: field('answers.age').ref, value: 0 });
  assert.deepEqual(adaptLeaf({ op: 'oneOf', ref: tea.ref, value: ['tea'] }, field('answers.drink'), '!oneOf'), { op: 'not', of: { op: 'oneOf', ref: tea.ref, value: ['tea'] } });
  assert.deepEqual(adaptLeaf(tea, field('answers.sign'), '!between'), { op: 'answered', ref: field('answers.sign').ref });
  assert.deepEqual(adaptLeaf(tea, field('answers.at'), 'below'), { op: 'below', ref: field('answers.at').ref, value: '12:00:00' });
  assert.deepEqual(comparisonOf({ op: 'notYes', ref: field('answers.pet').ref }), { op: 'isNot', leaf: { op: 'isNot', ref: field('answers.pet').ref, value: true } });
  assert.ok(availableComparisons(field('answers.age'), '!below' as Comparison).includes('!below'));
});

test('groups stay sentences', () => {
  const a = newCondition(field('answers.name')), b = newCondition(field('answers.age')), c = newCondition(field('answers.pet'));
  const two = addCondition(a, b);
  assert.deepEqual(two, { op: 'all', of: [a, b] });
  assert.deepEqual(addCondition(undefined, a), a);
  assert.deepEqual(addCondition({ op: 'always' }, a), a);
  const nested: Condition = { op: 'all', of: [a, groupWith(b, 'all', c)] };
  assert.deepEqual(nested, { op: 'all', of: [a, { op: 'any', of: [b, c] }] });
  assert.deepEqual(simplify({ op: 'any', of: nested.of }), { op: 'any', of: [a, b, c] });
  assert.deepEqual(simplify({ op: 'all', of: [a, { op: 'any', of: [b] }] }), { op: 'all', of: [a, b] });
  assert.deepEqual(simplify({ op: 'all', of: [a, { op: 'any', of: [{ op: 'all', of: [b, c] }] }] }), { op: 'all', of: [a, b, c] });
  assert.deepEqual(simplify({ op: 'all', of: [{ op: 'any', of: [] }, a] }), a);
  assert.equal(simplify({ op: 'all', of: [] }), undefined);
  // Down to where no group fits.
  let deep: Condition = two;
  let within: Group = two as Group;
  for (let depth = 1; canGroup(depth); depth++) {
    const inner: Group = groupWith(within.of[1]!, within.op, c) as Group;
    within.of[1] = inner;
    within = inner;
  }
  assert.ok(isGroup(deep));
  said(deep, 'as deep as groups go');
  assert.equal(parseCondition(conditionLogic({ op: within.op === 'all' ? 'any' : 'all', of: [deep, a] } as Condition), fields), null);
  deep = a;
});

test('changes of variables stay sentences', () => {
  const score = field('variables.score').ref, when = newCondition(field('answers.pet'));
  const start: Value[] = [
    { op: 'set', cases: [], value: 'x' }, { op: 'set', cases: [{ when, value: 2 }, { when, value: field('answers.age').ref }], value: score }, { op: 'set', cases: [{ when, value: field('answers.drink').ref }], value: 'y' },
    { op: '+', of: score, terms: [{ by: 1 }, { when, by: field('answers.age').ref }] }, { op: '/', of: field('answers.age').ref, terms: [{ when, by: 2 }] },
  ];
  for (const v of start) {
    for (const op of ['set', '+', '-', '*', '/'] as const) {
      const made = changeOperation('score', v, op, fields);
      assert.deepEqual(parseVariable(valueLogic(made), fields), made, `${JSON.stringify(v)} to ${op}`);
      assert.equal(made.op, op);
    }
    assert.deepEqual(valueOfLines('score', v.op, linesOf(v), v), v);
    assert.ok(!JSON.stringify(renameSelf(v, 'score', 'tier')).includes('"score"'));
  }
  assert.deepEqual(changeOperation('score', start[1]!, '+', fields), { op: '+', of: score, terms: [{ by: 2, when }, { by: field('answers.age').ref, when }] });
  assert.deepEqual(changeOperation('score', start[3]!, 'set', fields), { op: 'set', cases: [{ when, value: field('answers.age').ref }], value: 1 });
});
