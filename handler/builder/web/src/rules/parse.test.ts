import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import test from 'node:test';

import words from '../../../words/en.json';
import { Fields, canCompare, ops, type Content, type Field, type Json, type Op, type Ref } from './fields';
import { isEqual } from '../app/json';
import { isOutOfOrder, parseCondition, parseNext, parseVariable, conditionLogic, jumpsLogic, valueLogic, type Condition, type Leaf, type Value } from './parse';
import { describeCondition, describeJumps, describeRule, describeChange, type Translate } from './describe';

const t: Translate = (key, params = {}) => {
  const text = (words.rules as { [key: string]: string })[key.slice('rules.'.length)];
  assert.ok(text, `there are no words for ${key}`);
  const said = text.replace(/\{(\w+)\}/g, (_, name: string) => String(params[name] ?? assert.fail(`${key} has no ${name}`)));
  return said;
};

const choices = (...ids: string[]) => ids.map((id) => ({ id, label: id.toUpperCase() }));

const form: Content = {
  blocks: [
    { id: 'name', type: 'short_text', label: 'Name' },
    { id: 'age', type: 'number', label: 'Age' },
    { id: 'pet', type: 'yes_no', label: 'Pet' },
    { id: 'drink', type: 'single_choice', label: 'Drink', choices: choices('tea', 'coffee', 'milk'), properties: { otherOption: true } },
    { id: 'meals', type: 'multiple_choice', label: 'Meals', choices: choices('lunch', 'dinner', 'snack') },
    { id: 'rank', type: 'ranking', label: 'Rank', choices: choices('one', 'two') },
    { id: 'grid', type: 'matrix', label: 'Grid', matrix_rows: choices('speed', 'price'), matrix_columns: choices('good', 'bad') },
    { id: 'many', type: 'matrix', label: 'Many', matrix_rows: choices('r.1'), matrix_columns: choices('x', 'y'), properties: { multiSelection: true } },
    { id: 'day', type: 'date', label: 'Day' },
    { id: 'when', type: 'date', label: 'When', properties: { showTimePicker: true } },
    { id: 'at', type: 'time', label: 'At' },
    { id: 'home', type: 'address', label: 'Home', properties: { addressOrContact: { phone: { hide: true } } } },
    { id: 'land', type: 'country', label: 'Land' },
    { id: 'cv', type: 'file_upload', label: 'CV', properties: { multipleFiles: true } },
    { id: 'pay', type: 'payment', label: 'Fee' },
    { id: 'box', type: 'group', children: [{ id: 'in.ner', type: 'rating', label: 'Inner' }] },
    { id: 'terms', type: 'legal', label: 'Terms' },
  ],
  hidden_fields: ['code'],
  variables: { score: 5, tier: 'basic' },
};
const fields = new Fields(form);

interface Data { answers: { [id: string]: Json }; hidden: { [id: string]: string } }

const file = { id: 'f', name: 'cv.pdf', url: 'https://files.example/f', mime_type: 'application/pdf', size: 1 };
const payment = { amount: '10', currency: 'EUR', status: 'paid', gateway: 'bank', reference: 'r' };
const responses: { [name: string]: Data } = {
  none: { answers: {}, hidden: {} },
  low: {
    answers: {
      name: 'Ann', age: 0, pet: false, drink: 'tea', meals: ['lunch'], rank: ['two', 'one'], grid: { speed: 'bad' }, many: { 'r.1': ['x'] },
      day: '2026-11-19', when: '2026-11-20T08:00:00Z', at: '08:00', home: { city: 'Utrecht', country: 'NL' }, land: 'NL', cv: [file],
      'in.ner': 1, terms: true,
    },
    hidden: { code: '3' },
  },
  middle: {
    answers: {
      name: 'Joanna', age: 7, pet: true, drink: 'coffee', meals: ['lunch', 'dinner'], rank: ['one', 'two'], grid: { speed: 'good', price: 'bad' },
      many: { 'r.1': ['x', 'y'] }, day: '2026-11-20', when: '2026-11-20T09:00:00Z', at: '09:30', home: { city: 'Ann', country: 'BE' }, land: 'BE',
      cv: [file, file], pay: payment, 'in.ner': 3, terms: true,
    },
    hidden: { code: '7' },
  },
  high: {
    answers: {
      name: 'Bob', age: 12.5, pet: true, drink: { other: 'Ann' }, meals: ['dinner', 'snack'], grid: { price: 'good' }, many: { 'r.1': ['y'] },
      day: '2027-01-01', when: '2026-12-01T00:00:00Z', at: '23:00', land: 'DE', 'in.ner': 5,
    },
    hidden: { code: 'x7' },
  },
};

const samples: { [kind: string]: Json[] } = {
  text: ['Ann', 'EUR'], number: [1, 7], yesno: [true, false], date: ['2026-11-20', '2026-12-31'],
  datetime: ['2026-11-20T09:00:00Z', '2026-11-30T00:00:00Z'], time: ['09:30', '12:00'], country: ['NL', 'BE'],
};

function valueOf(f: Field, op: Op, i: number): Json | undefined {
  const some = f.choices.length > 0 ? f.choices.slice(0, 2).map((c) => c.id) : (samples[f.kind] ?? ['3', 'x']);
  const counted = f.kind === 'loose' ? [3, 7] : some;
  const values: { [op in Op]?: Json | undefined } = { oneOf: some, exactly: some, notExactly: some, between: counted, is: some[i], isNot: some[i], has: some[i] };
  if (['answered', 'unanswered', 'yes', 'notYes', 'whole', 'beforeToday', 'afterToday'].includes(op)) return undefined;
  if (op === 'matches') return i === 0 ? '[A-Z][a-z]{2}|NL|EUR|[0-9]+' : 'J.*|é😀?';
  if (op === 'shorter' || op === 'longer') return i + 1;
  return op in values ? values[op] : counted[i];
}

function leaf(f: Field, op: Op, i: number): Leaf {
  const value = valueOf(f, op, i);
  return value === undefined ? { op, ref: f.ref } : { op, ref: f.ref, value };
}

/** Each comparison of each field, with two values of a whole field and one of a part; and what is not so. */
function leaves(): Condition[] {
  return fields.all.flatMap((f) => ops[f.kind].flatMap((op): Condition[] => {
    const all = [leaf(f, op, 0)];
    if (f.ref.part === undefined && valueOf(f, op, 0) !== valueOf(f, op, 1)) all.push(leaf(f, op, 1));
    return op === 'yes' || op === 'notYes' || f.ref.part !== undefined ? all : [...all, { op: 'not', of: leaf(f, op, 0) }];
  }));
}

const get = (path: string) => fields.resolve(path) as Ref;
const is = (path: string, value: Json): Leaf => ({ op: 'is', ref: get(path), value });
const above: Leaf = { op: 'above', ref: get('answers.age'), value: 5 };
const groups: Condition[] = [
  { op: 'all', of: [is('answers.pet', true), above] },
  { op: 'any', of: [is('answers.drink', 'tea'), above, { op: 'has', ref: get('answers.meals'), value: 'snack' }] },
  { op: 'all', of: [above, { op: 'any', of: [is('answers.pet', false), { op: 'all', of: [is('answers.name', 'Joanna'), is('hidden.code', '7')] }] }] },
  { op: 'any', of: [{ op: 'all', of: [{ op: 'any', of: [is('answers.pet', false), above] }, is('answers.drink', 'tea')] }, is('answers.name', 'Bob')] },
  { op: 'always' }, { op: 'never' },
];

const other = (path: string): Json => ({ var: path });
/** Comparisons of two answers, also where one is missing. */
const pairs: Condition[] = (['is', 'isNot', 'below', 'atMost', 'above', 'atLeast'] as const).flatMap((op): Condition[] => [
  { op, ref: get('answers.age'), value: other('answers.in.ner') }, { op, ref: get('answers.age'), value: other('variables.score') },
  { op, ref: get('answers.in.ner'), value: other('answers.cv.length') }, { op: 'not', of: { op, ref: get('answers.age'), value: other('hidden.code') } },
  { op, ref: get('answers.day'), value: other('answers.day') }, ...(op.startsWith('is') ? [{ op, ref: get('answers.name'), value: other('answers.home.city') }, { op, ref: get('answers.land'), value: other('answers.home.country') }] : []),
]);
groups.push(...pairs, { op: 'all', of: [pairs[0]!, { op: 'not', of: { op: 'whole', ref: get('answers.age') } }] });

const score = get('variables.score');
const values: Value[] = [
  { op: 'set', cases: [], value: 3.5 },
  { op: 'set', cases: [], value: 'gold' },
  { op: 'set', cases: [], value: get('answers.drink') },
  { op: 'set', cases: [{ when: above, value: 9 }], value: score },
  { op: 'set', cases: [{ when: above, value: 9 }, { when: is('answers.pet', false), value: get('answers.age') }], value: 1 },
  { op: '+', of: get('answers.age'), terms: [{ by: score }, { when: above, by: 1 }] },
  ...(['+', '-', '*', '/'] as const).flatMap((op): Value[] => [
    { op, of: score, terms: [{ by: 2 }] },
    { op, of: score, terms: [{ by: get('answers.age') }] },
    { op, of: get('answers.age'), terms: [{ by: score }] },
    { op, of: score, terms: [{ when: above, by: 4 }] },
  ]),
  { op: '+', of: score, terms: [{ by: 1 }, { when: above, by: get('answers.in.ner') }, { when: is('answers.pet', true), by: -2 }] },
];

// What sentences mean, in plain words and without JsonLogic.

function read(r: Ref, data: Data): Json | undefined {
  if (r.from === 'variables') return form.variables?.[r.id];
  const whole = r.from === 'hidden' ? data.hidden[r.id] : data.answers[r.id];
  if (r.part === undefined || whole === undefined) return whole;
  return Array.isArray(whole) && r.part === 'length' ? whole.length : typeof whole === 'string' ? undefined : (whole as { [part: string]: Json })[r.part];
}

/** The day of the submissions, as in the Go test. */
const today = '2026-11-20';

/** The other answer that a comparison reads, in place of the logic that reads it. */
function compared(value: Json | undefined, data: Data): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? read(get(value.var as string), data) : value;
}

function holds(c: Condition, data: Data): boolean {
  switch (c.op) {
    case 'always': return true;
    case 'never': return false;
    case 'all': return c.of.every((d) => holds(d, data));
    case 'any': return c.of.some((d) => holds(d, data));
    case 'not': return !holds(c.of, data);
  }
  const answer = read(c.ref, data);
  const value = compared(c.value, data);
  const list = Array.isArray(c.value) ? c.value : [];
  const compare = (to: Json | undefined): number => (typeof to === 'number' || typeof answer === 'number' ? Number(answer) - Number(to) : answer! < to! ? -1 : answer === to ? 0 : 1);
  if (c.op === 'isNot') return !holds({ ...c, op: 'is' }, data);
  if (c.op === 'notExactly') return !holds({ ...c, op: 'exactly' }, data);
  if (c.op === 'is' && value !== c.value) return answer === value || (typeof answer === 'number' && value !== undefined && Number(value) === answer);
  const length = typeof answer === 'string' ? [...answer].length : Array.isArray(answer) ? answer.length : 0;
  if (c.op === 'shorter') return length < Number(c.value);
  if (answer === undefined) return c.op === 'unanswered' || c.op === 'notYes';
  switch (c.op) {
    case 'answered': return true;
    case 'unanswered': return false;
    case 'yes': return answer === true;
    case 'notYes': return answer !== true;
    case 'longer': return length > Number(c.value);
    case 'matches': return new RegExp(`^(?:${String(c.value)})$`, 'u').test(answer as string);
    case 'whole': return Number.isInteger(answer);
    case 'beforeToday': return (answer as string).slice(0, 10) < today;
    case 'afterToday': return (answer as string).slice(0, 10) > today;
    case 'is': return answer === value;
    case 'exactly': return isEqual(answer, list);
    case 'oneOf': return list.includes(answer);
    case 'has': return (answer as string | Json[]).includes(c.value as string);
    case 'below': return value !== undefined && compare(value) < 0;
    case 'atMost': return value !== undefined && compare(value) <= 0;
    case 'above': return value !== undefined && compare(value) > 0;
    case 'atLeast': return value !== undefined && compare(value) >= 0;
    case 'between': return compare(list[0]) >= 0 && compare(list[1]) <= 0;
  }
}

/** The value of score afterwards. */
function result(v: Value, data: Data): Json {
  const none = v.op === 'set' ? undefined : 0; // what an unanswered question counts as
  const operand = (o: Ref | number | string) => (typeof o === 'object' ? (read(o, data) ?? none) : o);
  const before = form.variables?.score as number;
  if (v.op === 'set') {
    const made = operand((v.cases.find((c) => holds(c.when, data)) ?? v).value);
    return typeof made === 'number' || typeof made === 'string' ? made : before;
  }
  let made = Number(operand(v.of));
  for (const term of v.terms) {
    if (term.when && !holds(term.when, data)) continue;
    const by = Number(operand(term.by));
    made = v.op === '+' ? made + by : v.op === '-' ? made - by : v.op === '*' ? made * by : made / by;
  }
  return Number.isFinite(made) ? made : before;
}

// internal/answers holds the same file against the path of real responses. UPDATE_SENTENCES=1
// in the environment writes it anew.

const golden = '../../../internal/answers/testdata/sentences.json';

interface Golden { form: Content; responses: { [name: string]: Data }; conditions: Json[]; values: Json[] }

function made(): Golden {
  const names = Object.keys(responses);
  return {
    form, responses,
    conditions: [...leaves(), ...groups].map((c) => ({ says: describeCondition(c, fields, t), logic: conditionLogic(c), holds: names.filter((n) => holds(c, responses[n]!)) })),
    values: values.map((v) => ({ says: describeChange('score', v, fields, t), logic: valueLogic(v), gives: names.map((n) => result(v, responses[n]!)) })),
  };
}

test('sentences are what Go holds against real responses', () => {
  const now = made();
  if (process.env.UPDATE_SENTENCES) {
    const lines = (list: Json[]) => '[\n' + list.map((l) => '  ' + JSON.stringify(l)).join(',\n') + '\n]';
    writeFileSync(golden, `{"form": ${JSON.stringify(form)},\n"responses": ${JSON.stringify(responses)},\n"conditions": ${lines(now.conditions)},\n"values": ${lines(now.values)}}\n`);
  }
  const kept = JSON.parse(readFileSync(golden, 'utf8')) as Golden;
  for (const part of ['form', 'responses', 'conditions', 'values'] as const) assert.deepEqual(JSON.parse(JSON.stringify(now[part])), kept[part]);
});

test('each shape is parsed to the sentence that wrote it', () => {
  for (const c of [...leaves(), ...groups]) assert.deepEqual(parseCondition(conditionLogic(c), fields), c, JSON.stringify(conditionLogic(c)));
  for (const v of values) assert.deepEqual(parseVariable(valueLogic(v), fields), v, JSON.stringify(valueLogic(v)));
  for (const next of [[], [{ to: 'end' }], [{ if: conditionLogic(above), to: 'day' }, { if: { cat: [] }, to: 'end' }, { to: 'at' }]] as Json[]) {
    assert.deepEqual(jumpsLogic(parseNext(next)!), next);
  }
});

test('near-sentences are not said', () => {
  const q = { var: 'answers.age' };
  for (const logic of [
    null, 5, 'x', [], {}, q, { '!!': q }, { '!': q }, { '!': { '!': { var: 'answers.pet' } } }, { '==': [q] }, { '==': [null, q] }, { '==': [5, q] }, { '==': [q, 5, 6] },
    { '==': [q, '5'] }, { '==': [q, [5]] }, { '==': [q, 5], x: 1 }, { '===': [q, 5] }, { '<': [1, q, 3] }, { '<=': [1, q] }, { '<=': ['a', q, 'b'] },
    { '<': [{ var: ['answers.age', 0] }, 5] }, { '<': [{ var: ['answers.age'] }, 5] }, { var: '' }, { var: 'answers' }, { '==': [{ var: 'answers.' }, 5] },
    { '==': [{ var: 'other.age' }, 5] }, { in: [q, '5'] }, { in: ['x', ['x']] }, { in: [q, [5, [6]]] }, { '<': [{ var: 'answers.name' }, 'B'] }, { '==': [{ var: 'answers.meals' }, 'lunch'] },
    { in: [{ var: 'answers.meals' }, ['lunch']] }, { '==': [{ var: 'answers.day' }, 'soon'] }, { '==': [{ var: 'answers.pet' }, 'Yes'] },
    { and: [{ '==': [q, 5] }] }, { and: { '==': [q, 5] } }, { and: [{ and: [{ '==': [q, 5] }, { '==': [q, 6] }] }, { '==': [q, 7] }] },
    { '!': { and: [{ '==': [q, 5] }, { '==': [q, 6] }] } }, { '!': [{ '==': [q, 5] }] }, { '==': [q, { var: 'answers.name' }] }, { '==': [q, { var: ['answers.in.ner'] }] }, { in: [q, { var: 'answers.in.ner' }] }, { '<': [{ var: 'answers.day' }, { var: 'answers.when' }] }, { '==': [{ round: [q, 1] }, q] }, { '==': [{ round: [q] }, { var: 'answers.in.ner' }] }, { '==': [{ round: q }, q] }, { '<=': [{ length: [{ var: 'answers.name' }] }, 3] }, { '<': [{ length: [q] }, 3] }, { '<': [{ days: [{ today: [] }, { var: 'answers.day' }] }, 7] }, { '<': [{ days: [{ var: 'answers.day' }, { today: [] }] }, 0] }, { '<': [{ days: [{ today: {} }, { var: 'answers.day' }] }, 0] }, { match: [{ var: 'answers.name' }, 5] }, { match: [q, 'x'] }, { match: ['x', { var: 'answers.name' }] }, { or: [true, { '==': [q, 5] }] },
    { and: [{ '==': [q, 1] }, { or: [{ '==': [q, 1] }, { and: [{ '==': [q, 1] }, { or: [{ '==': [q, 1] }, { '==': [q, 2] }] }] }] }] },
  ] as Json[]) assert.equal(parseCondition(logic, fields), null, JSON.stringify(logic));
  const v = { var: 'variables.score' };
  for (const logic of [
    null, true, [], {}, { '+': [] }, { '+': [v] }, { '+': [1, 2] }, { '-': [v, 1, 2] }, { '-': [v] }, { '+': [v, '1'] }, { '+': [v, { if: [{ '==': [q, 1] }, 1, 2] }] },
    { '*': [v, { if: [{ '==': [q, 1] }, 1, 0] }] }, { '+': [v, { if: [{ cat: [] }, 1, 0] }] }, { '+': [v, { '+': [v, 1] }] }, { if: [] }, { if: [{ '==': [q, 1] }, 1] }, { '?:': [{ '==': [q, 1] }, 1, 0] },
    { if: [{ '==': [q, 1] }, 1, { cat: [] }] }, { var: ['answers.age', 0] }, { var: 'answers.meals' }, { '+': [v, { var: 'answers.name' }] }, { '%': [v, 2] },
  ] as Json[]) assert.equal(parseVariable(logic, fields), null, JSON.stringify(logic));
  for (const next of [null, {}, [{}], [{ to: 1 }], [{ to: 'a', x: 1 }], [{ if: null, to: 'a' }], [{ to: 'a' }, { to: 'b' }], ['a']] as Json[]) {
    assert.equal(parseNext(next), null, JSON.stringify(next));
  }
});

// Random JSON, and sentences in which something was changed: opening never changes a rule.

function random(seed: number): (n: number) => number {
  return (n) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * n);
  };
}

const atoms: Json[] = [null, true, false, 0, 1, -1.5, '', 'tea', 'answers.age', 'answers.meals', 'answers.pet', 'variables.score', '2026-11-20', [], {}, ['lunch']];
const names = ['var', 'match', 'length', 'round', 'days', 'today', 'and', 'or', '!', '!!', '==', '!=', '<', '<=', '>', '>=', 'in', 'if', '+', '-', '*', '/', '===', 'cat', 'to', '__proto__', 'constructor'];

function anything(pick: (n: number) => number, depth: number): Json {
  const kind = depth === 0 ? 0 : pick(4);
  if (kind === 1) return Array.from({ length: pick(4) }, () => anything(pick, depth - 1));
  if (kind < 2) return atoms[pick(atoms.length)] ?? null;
  const name = names[pick(names.length)] ?? 'var';
  const given = name === 'var' ? (atoms[pick(atoms.length)] ?? null) : Array.from({ length: 1 + pick(3) }, () => anything(pick, depth - 1));
  return JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(given)}}`) as Json;
}

/** The value with one thing in it changed. */
function changed(v: Json, pick: (n: number) => number): Json {
  if (v === null || typeof v !== 'object' || pick(4) === 0) return pick(2) === 0 ? anything(pick, 2) : Array.isArray(v) ? [...v, anything(pick, 1)] : [v];
  if (Array.isArray(v)) {
    if (v.length === 0 || pick(6) === 0) return v.slice(1);
    const at = pick(v.length);
    return v.map((item, i) => (i === at ? changed(item, pick) : item));
  }
  const [name = 'var', given = null] = Object.entries(v)[0] ?? [];
  if (pick(5) === 0) return { [names[pick(names.length)] ?? 'var']: given };
  return pick(8) === 0 ? { ...v, more: 1 } : { ...v, [name]: changed(given, pick) };
}

test('opening never changes a rule', () => {
  const all: Json[] = [...[...leaves(), ...groups].map(conditionLogic), ...values.map(valueLogic), [{ if: conditionLogic(above), to: 'day' }, { to: 'at' }]];
  let said = 0;
  for (let seed = 1; seed <= 20_000; seed++) {
    const pick = random(seed * 7919);
    const logic = seed % 3 === 0 ? anything(pick, 4) : changed(all[pick(all.length)] ?? null, pick);
    const before = JSON.stringify(logic);
    const [c, v, next] = [parseCondition(logic, fields), parseVariable(logic, fields), parseNext(logic)];
    if (c) assert.deepEqual(conditionLogic(c), logic, before);
    if (v) assert.deepEqual(valueLogic(v), logic, before);
    if (next) assert.deepEqual(jumpsLogic(next), logic, before);
    if (c) describeCondition(c, fields, t);
    if (v) describeChange('score', v, fields, t);
    if (next) describeJumps(next, fields, t);
    if (c || v || next) said++;
    assert.equal(JSON.stringify(logic), before);
  }
  assert.ok(said > 2_000, `only ${said} were said`);
});

test('choices that are no longer in their order are seen', () => {
  const meals = (op: Op, ...value: string[]) => isOutOfOrder({ op, ref: get('answers.meals'), value }, fields);
  assert.ok(meals('exactly', 'dinner', 'lunch') && meals('notExactly', 'snack', 'lunch'));
  assert.ok(!meals('exactly', 'lunch', 'snack') && !meals('exactly', 'lunch', 'gone'));
  assert.ok(!isOutOfOrder({ op: 'exactly', ref: get('answers.rank'), value: ['two', 'one'] }, fields));
});

test('what is offered is said, and follows the type', () => {
  for (const f of fields.all) {
    for (const op of ops[f.kind]) assert.ok(canCompare(f.kind, op, valueOf(f, op, 0)), `${JSON.stringify(f.ref)} ${op}`);
  }
  const offered = (path: string) => `${fields.get(get(path)).kind}: ${ops[fields.get(get(path)).kind].join(' ')}`;
  assert.equal(offered('answers.grid.speed'), 'choice: is isNot oneOf answered unanswered');
  assert.equal(offered('answers.many.r.1'), 'list: has exactly notExactly shorter longer answered unanswered');
  assert.equal(offered('answers.home.country'), 'country: is isNot oneOf answered unanswered');
  assert.equal(offered('answers.home'), 'presence: answered unanswered');
  assert.equal(fields.get(get('answers.home.phone')).kind, 'unknown');
  assert.equal(fields.get(get('answers.gone')).kind, 'unknown');
});

test('fields are known in the order of the form', () => {
  const ids = (block: string, after: boolean) => [...new Set(fields.known(block, after).map((f) => f.ref.id))].join(' ');
  assert.equal(ids('pet', false), 'name age code score tier');
  assert.equal(ids('pet', true), 'name age pet code score tier');
});

test('ids with dots are resolved as the service reads them', () => {
  const f = new Fields({ blocks: [{ id: 'a', type: 'address' }, { id: 'a.city', type: 'number' }, { id: 'b.c', type: 'address' }] });
  assert.deepEqual(f.resolve('answers.a.city'), { from: 'answers', id: 'a.city' });
  assert.deepEqual(f.resolve('answers.a.zip'), { from: 'answers', id: 'a', part: 'zip' });
  assert.ok(!f.all.some((field) => field.ref.part === 'city' && field.ref.id === 'a'));
  assert.ok(!f.all.some((field) => field.ref.part !== undefined && field.ref.id === 'b.c'));
});

test('rules read well', () => {
  const rule: Json = {
    show: { and: [{ '==': [{ var: 'answers.pet' }, true] }, { or: [{ '<': [{ var: 'answers.day' }, '2026-11-20'] }, { '!': { in: [{ var: 'answers.drink' }, ['tea', 'milk']] } }] }] },
    require: { '!!': { var: 'answers.age' } },
    set: { score: { '+': [{ var: 'variables.score' }, { if: [{ '<': [{ var: 'answers.age' }, 18] }, 1, 0] }] }, tier: { cat: [] } },
    next: [{ if: { in: ['lunch', { var: 'answers.meals' }] }, to: 'terms' }, { to: 'end' }],
  };
  assert.deepEqual(describeRule(rule, fields, t), [
    'shown when “Pet” is Yes and (“Day” is before 2026-11-20 or “Drink” is other than “TEA” or “MILK” (or is unanswered))',
    'required when custom logic (JSON)',
    'when “Age” is below 18, add 1 to “score”',
    'set “tier” to custom logic (JSON)',
    'when “Meals” includes “LUNCH”, go to “Terms”; otherwise go to the end',
  ]);
  assert.deepEqual(describeRule('x', fields, t), []);
});
