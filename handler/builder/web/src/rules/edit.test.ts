import assert from 'node:assert/strict';
import test from 'node:test';

import { adapt, beside, canGroup, comparison, convert, fresh, grouped, isGroup, linesOf, offered, ofLines, retarget, tidy, type Comparison } from './edit';
import { Fields, type Content } from './fields';
import { parse, parseValue, write, writeValue, type Condition, type Group, type Leaf, type Value } from './sentences';

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
  assert.deepEqual(parse(write(c), fields), c, what);
}

test('whatever is chosen is a sentence', () => {
  for (const from of [...fields.all, field('answers.gone')]) {
    said(fresh(from), JSON.stringify(from.ref));
    const { op, leaf } = comparison(fresh(from) as Leaf);
    for (const one of offered(from, op)) {
      const c = adapt(leaf, from, one);
      said(c, one);
      for (const to of fields.all) for (const other of offered(to, one)) said(adapt(comparison(c as Leaf).leaf, to, other), `${one} to ${other}`);
    }
  }
});

test('values stay where they fit', () => {
  const tea: Leaf = { op: 'is', ref: field('answers.drink').ref, value: 'milk' };
  assert.deepEqual(adapt(tea, field('answers.meals'), 'has'), { op: 'has', ref: field('answers.meals').ref, value: 'milk' });
  assert.deepEqual(adapt({ ...tea, value: 'tea' }, field('answers.meals'), 'has'), { op: 'has', ref: field('answers.meals').ref, value: 'lunch' });
  assert.deepEqual(adapt(tea, field('answers.drink'), 'isNot'), { ...tea, op: 'isNot' });
  assert.deepEqual(adapt(tea, field('answers.age'), 'is'), { op: 'is', ref: field('answers.age').ref, value: 0 });
  assert.deepEqual(adapt({ op: 'oneOf', ref: tea.ref, value: ['tea'] }, field('answers.drink'), '!oneOf'), { op: 'not', of: { op: 'oneOf', ref: tea.ref, value: ['tea'] } });
  assert.deepEqual(adapt(tea, field('answers.sign'), '!between'), { op: 'answered', ref: field('answers.sign').ref });
  assert.deepEqual(adapt(tea, field('answers.at'), 'below'), { op: 'below', ref: field('answers.at').ref, value: '12:00:00' });
  assert.deepEqual(comparison({ op: 'notYes', ref: field('answers.pet').ref }), { op: 'isNot', leaf: { op: 'isNot', ref: field('answers.pet').ref, value: true } });
  assert.ok(offered(field('answers.age'), '!below' as Comparison).includes('!below'));
});

test('groups stay sentences', () => {
  const a = fresh(field('answers.name')), b = fresh(field('answers.age')), c = fresh(field('answers.pet'));
  const two = beside(a, b);
  assert.deepEqual(two, { op: 'all', of: [a, b] });
  assert.deepEqual(beside(undefined, a), a);
  assert.deepEqual(beside({ op: 'always' }, a), a);
  const nested: Condition = { op: 'all', of: [a, grouped(b, 'all', c)] };
  assert.deepEqual(nested, { op: 'all', of: [a, { op: 'any', of: [b, c] }] });
  assert.deepEqual(tidy({ op: 'any', of: nested.of }), { op: 'any', of: [a, b, c] });
  assert.deepEqual(tidy({ op: 'all', of: [a, { op: 'any', of: [b] }] }), { op: 'all', of: [a, b] });
  assert.deepEqual(tidy({ op: 'all', of: [a, { op: 'any', of: [{ op: 'all', of: [b, c] }] }] }), { op: 'all', of: [a, b, c] });
  assert.deepEqual(tidy({ op: 'all', of: [{ op: 'any', of: [] }, a] }), a);
  assert.equal(tidy({ op: 'all', of: [] }), undefined);
  // Down to where no group fits.
  let deep: Condition = two;
  let within: Group = two as Group;
  for (let depth = 1; canGroup(depth); depth++) {
    const inner: Group = grouped(within.of[1]!, within.op, c) as Group;
    within.of[1] = inner;
    within = inner;
  }
  assert.ok(isGroup(deep));
  said(deep, 'as deep as groups go');
  assert.equal(parse(write({ op: within.op === 'all' ? 'any' : 'all', of: [deep, a] } as Condition), fields), null);
  deep = a;
});

test('changes of variables stay sentences', () => {
  const score = field('variables.score').ref, when = fresh(field('answers.pet'));
  const start: Value[] = [
    { op: 'set', cases: [], value: 'x' }, { op: 'set', cases: [{ when, value: 2 }, { when, value: field('answers.age').ref }], value: score }, { op: 'set', cases: [{ when, value: field('answers.drink').ref }], value: 'y' },
    { op: '+', of: score, terms: [{ by: 1 }, { when, by: field('answers.age').ref }] }, { op: '/', of: field('answers.age').ref, terms: [{ when, by: 2 }] },
  ];
  for (const v of start) {
    for (const op of ['set', '+', '-', '*', '/'] as const) {
      const made = convert('score', v, op, fields);
      assert.deepEqual(parseValue(writeValue(made), fields), made, `${JSON.stringify(v)} to ${op}`);
      assert.equal(made.op, op);
    }
    assert.deepEqual(ofLines('score', v.op, linesOf(v), v), v);
    assert.ok(!JSON.stringify(retarget(v, 'score', 'tier')).includes('"score"'));
  }
  assert.deepEqual(convert('score', start[1]!, '+', fields), { op: '+', of: score, terms: [{ by: 2, when }, { by: field('answers.age').ref, when }] });
  assert.deepEqual(convert('score', start[3]!, 'set', fields), { op: 'set', cases: [{ when, value: field('answers.age').ref }], value: 1 });
});
