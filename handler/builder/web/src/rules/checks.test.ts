import assert from 'node:assert/strict';
import test from 'node:test';

import words from '../../../words/en.json';
import { config } from '../app/config';
import { checkNames, compareWith, nameOf, namesFor, newCheck, othersOf, requirements, usualMessage, type CheckName } from './checks';
import { describeRule, type Translate } from './describe';
import type { Comparison } from './edit';
import { Fields, ops, type Content, type Json, type Op } from './fields';
import { conditionLogic, parseChecks, parseCondition } from './parse';
import { countUsers, renameInRule } from './references';
import { retype } from './retype';

const t: Translate = (key, params = {}) => ((words.rules as { [key: string]: string })[key.slice(6)] ?? assert.fail(key)).replace(/\{(\w+)\}/g, (_, name: string) => String(params[name] ?? assert.fail(name)));

const form: Content = {
  blocks: [
    { id: 'code', type: 'short_text', label: 'Code' }, { id: 'story', type: 'long_text', label: 'Story' }, { id: 'mail', type: 'email', label: 'Email' }, { id: 'count', type: 'number', label: 'Count' },
    { id: 'stars', type: 'rating', label: 'Stars' }, { id: 'start', type: 'date', label: 'Start' }, { id: 'end', type: 'date', label: 'End' },
    { id: 'at', type: 'time', label: 'At' }, { id: 'meals', type: 'multiple_choice', label: 'Meals', choices: [{ id: 'a' }, { id: 'b' }] }, { id: 'home', type: 'address', label: 'Home' },
    { id: 'trip', type: 'group', label: 'Trip', children: [{ id: 'from', type: 'date', label: 'From' }, { id: 'in', type: 'group', children: [{ id: 'to', type: 'date', label: 'To' }] }, { id: 'later', type: 'date', label: 'Later' }] },
    { id: 'last', type: 'date', label: 'Last' }, { id: 'marked', type: 'date', label: '**Day** of {{answers.code}} \\*' },
  ],
  hidden_fields: ['ref'],
  variables: { limit: 5 },
};
const fields = new Fields(form);
const q = (id: string): Json => ({ var: 'answers.' + id });
const own = (id: string) => fields.get({ from: 'answers', id });
const find = (id: string, blocks = form.blocks): Content['blocks'][0] | undefined => blocks.find((b) => b.id === id) ?? blocks.flatMap((b) => find(id, b.children ?? []) ?? [])[0];
const fits = (id: string) => {
  const block = find(id)!;
  const known = fields.knownToChecks(block);
  const field = known.find((f) => f.ref.id === id && f.ref.from === 'answers' && f.ref.part === undefined);
  return { block, known, own: field, names: namesFor(block, field, known) };
};

/** What schema.Condition.Refuse writes in Go, with the names that the builder shows. */
const written: [string, CheckName, Json, string][] = [
  ['count', 'whole', { '!': { '==': [{ round: [q('count')] }, q('count')] } }, 'Enter a whole number.'],
  ['code', 'minLength', { '<': [{ length: [q('code')] }, 3] }, 'Enter at least 3 characters.'],
  ['story', 'maxLength', { '>': [{ length: [q('story')] }, 500] }, 'Enter at most 500 characters.'],
  ['code', 'digits', { '!': { match: [q('code'), '[0-9]+'] } }, 'Enter only digits.'],
  ['code', 'digits', { '!': { match: [q('code'), '\\d*'] } }, 'Enter only digits.'],
  ['mail', 'pattern', { '!': { match: [q('mail'), '.*@example\\.com'] } }, 'Check the format of this answer.'],
  ['start', 'notBeforeToday', { '<': [{ days: [{ today: [] }, q('start')] }, 0] }, 'Choose today or a later date.'],
  ['end', 'notAfterToday', { '>': [{ days: [{ today: [] }, q('end')] }, 0] }, 'Choose today or an earlier date.'],
  ['end', 'compare', { '<': [q('end'), q('start')] }, 'Must not be before “Start”.'],
  ['end', 'compare', { '<=': [q('end'), q('start')] }, 'Must be after “Start”.'],
  ['to', 'compare', { '>': [q('to'), q('from')] }, 'Must not be after “From”.'],
  ['to', 'compare', { '>': [q('to'), q('marked')] }, 'Must not be after “**Day** of {{answers.code}} \\*”.'],
  ['stars', 'compare', { '>': [q('stars'), { var: 'variables.limit' }] }, 'Must be at most “limit”.'],
  ['mail', 'compare', { '!': { '==': [q('mail'), q('code')] } }, 'Must be the same as “Code”.'],
  ['mail', 'compare', { '==': [q('mail'), { var: 'hidden.ref' }] }, 'Must not be the same as “ref”.'],
  ['meals', 'custom', { '<': [{ length: [q('meals')] }, 2] }, 'Check this answer.'],
  ['code', 'custom', { match: [q('code'), '[0-9]+'] }, 'Check this answer.'],
  ['code', 'custom', { '<': [{ length: [q('story')] }, 3] }, 'Check this answer.'],
  ['count', 'custom', { '==': [{ round: [q('count')] }, q('count')] }, 'Check this answer.'],
  ['count', 'custom', true, 'Check this answer.'],
  ['count', 'custom', { and: [{ '>': [q('count'), 1] }, { '<': [q('count'), q('stars')] }] }, 'Check this answer.'],
  ['count', 'custom', { cat: [] }, 'Check this answer.'],
];

test('checks written in Go are shown by name, and stay as they are', () => {
  for (const [id, name, logic, say] of written) {
    const condition = parseCondition(logic, fields);
    assert.equal(nameOf(condition, own(id), fields).name, name, JSON.stringify(logic));
    assert.equal(usualMessage(condition, own(id), fields, t), say);
    if (condition) assert.deepEqual(conditionLogic(condition), logic);
    else assert.deepEqual(logic, { cat: [] });
  }
});

test('each offered check is a check of its name, and can be changed', () => {
  const offered = new Set<CheckName>();
  for (const id of ['code', 'story', 'mail', 'count', 'stars', 'start', 'end', 'at', 'meals', 'home', 'trip', 'from', 'to', 'last']) {
    const { known, own, names } = fits(id);
    for (const name of names) {
      offered.add(name);
      const logic = conditionLogic(newCheck(name, own ?? known[0]!, known));
      const condition = parseCondition(logic, fields);
      assert.ok(condition, `${id} ${name} ${JSON.stringify(logic)}`);
      assert.equal(nameOf(condition, own, fields).name, name, `${id} ${name}`);
      assert.ok(usualMessage(condition, own, fields, t));
      if (name !== 'compare') continue;
      for (const other of othersOf(own!, known)) {
        for (const refused of (Object.keys(requirements) as Comparison[]).filter((o) => ops[own!.kind].includes(requirements[o] as Op))) {
          const c = parseCondition(conditionLogic(compareWith(own!, refused, other)), fields);
          assert.deepEqual([nameOf(c, own, fields).name, nameOf(c, own, fields).op], ['compare', refused], `${id} ${refused} ${other.label}`);
        }
      }
    }
  }
  assert.deepEqual([...offered].sort(), [...checkNames].sort());
  assert.deepEqual(fits('code').names, ['minLength', 'maxLength', 'digits', 'pattern', 'compare', 'custom']);
  assert.deepEqual(fits('count').names, ['whole', 'compare', 'custom']);
  assert.deepEqual(fits('start').names, ['notBeforeToday', 'notAfterToday', 'custom']);
  assert.deepEqual(fits('at').names, ['custom']);
  assert.deepEqual(fits('trip').names, ['custom']);
});

test('a check knows its own answer and earlier ones', () => {
  const known = (id: string) => [...new Set(fits(id).known.filter((f) => f.ref.part === undefined).map((f) => f.ref.id))].slice(8).join(' ');
  assert.equal(known('meals'), 'meals ref limit');
  assert.equal(known('from'), 'meals home from ref limit');
  assert.equal(known('to'), 'meals home from to ref limit');
  assert.equal(known('in'), 'meals home from to ref limit');
  assert.equal(known('trip'), 'meals home from to later ref limit');
  assert.equal(known('last'), 'meals home from to later last ref limit');
});

test('checks are parsed only if nothing is lost', () => {
  for (const list of [null, {}, [null], ['x'], [{ if: true }], [{ say: 'x' }], [{ if: true, say: 5 }], [{ if: true, say: 'x', more: 1 }]] as Json[]) assert.equal(parseChecks(list), null, JSON.stringify(list));
  for (const list of [[], [{ if: null, say: '' }, { if: { cat: [] }, say: 'x' }]] as Json[]) assert.deepEqual(parseChecks(list), list);
});

test('checks are sentences', () => {
  const say = (logic: Json) => describeRule({ check: [{ if: logic, say: 'No.' }] }, fields, t)[0];
  assert.equal(say(written[0]![2]), 'accepted only when “Count” is a whole number: “No.”');
  assert.equal(say(written[6]![2]), 'refused when “Start” is before today: “No.”');
  assert.equal(say(written[8]![2]), 'refused when “End” is before the answer to “Start”: “No.”');
  assert.equal(say({ cat: [] }), 'refused when custom logic (JSON): “No.”');
  assert.deepEqual(describeRule({ check: 5 }, fields, t), ['custom logic (JSON)']);
});

test('references in checks are renamed, counted and converted, also inside groups', () => {
  const check = (logic: Json) => ({ check: [{ if: logic, say: 'answers.start' }] });
  const rule = check({ '<': [q('to'), q('start')] });
  assert.deepEqual(renameInRule(rule, { blocks: { start: 's' } }, fields), check({ '<': [q('to'), q('s')] }));
  const nested = { ...form, blocks: [{ id: 'start', type: 'time', label: 'Start' }, { id: 'g', type: 'group', children: [{ id: 'to', type: 'time', properties: { rule: check({ '==': [q('start'), '10:30'] }) } }] }] };
  assert.equal(countUsers(nested, { kind: 'block', id: 'start' }), 1);
  const after = { ...nested, blocks: [{ ...nested.blocks[0]!, properties: { showSeconds: true } }, nested.blocks[1]!] };
  const result = retype(nested, after, 'start');
  assert.deepEqual([result.changed, result.outdated], [['to'], []]);
  assert.deepEqual(result.blocks[1]!.children![0]!.properties!.rule, check({ '==': [q('start'), '10:30:00'] }));
});

test('lists and checks of the host are sentences by title, and references in them are renamed', () => {
  config.lists.push({ name: 'rooms', title: 'Meeting rooms' });
  config.checks.push({ name: 'order', title: 'Order number' });
  const rule: Json = { choices: { list: 'rooms', by: 'answers.code' }, check: [{ host: 'order' }, { host: 'gone' }] };
  assert.deepEqual(describeRule(rule, fields, t), ['the choices come from “Meeting rooms”', 'checked by “Order number”', 'checked by “gone”']);
  assert.deepEqual(renameInRule(rule, { blocks: { code: 'c' } }, fields), { ...rule, choices: { list: 'rooms', by: 'answers.c' } });
  assert.equal(countUsers({ blocks: [form.blocks[0]!, { id: 'room', type: 'dropdown', properties: { rule } }] }, { kind: 'block', id: 'code' }), 1);
  for (const list of [[{ host: 5 }], [{ host: 'a', say: 'x' }], [{ host: 'a', if: true, say: 'x' }]] as Json[]) assert.equal(parseChecks(list), null, JSON.stringify(list));
  const kinds = ['single_choice', 'dropdown', 'picture_choice', 'multiple_choice'].map((type) => new Fields({ blocks: [{ id: 'room', type, properties: { rule } }] }).get({ from: 'answers', id: 'room' }).kind);
  assert.deepEqual(kinds, ['text', 'text', 'text', 'presence']);
});
