import '../props/dom.test';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { render } from 'preact';
import { config } from '../app/config';
import { Node } from '../props/dom.test';
import { Conflicts } from './Conflicts';
import { Differences, differingFields, fieldName, segments, ConflictSide, valueAt, describeValue } from './differences';
import type { EditorStore } from './store';

test('members have the names of the panel, else their own in words', () => {
  Object.assign(config.words, { 'props.closedMessage': 'What people read', 'props.colors_background': 'Background', 'editor.publish_theme': 'Theme: {name}', 'editor.publish_variable': 'Variable {name}' });
  for (const [path, name] of [['/settings/closedMessage', 'What people read'], ['/theme/colors/background', 'Theme: Background'], ['/variables/a~1b', 'Variable a/b'], ['/properties/someNewThing', 'Some new thing'], ['/hidden_fields', 'Hidden fields']] as const) {
    assert.equal(fieldName(segments(path)), name);
  }
});

test('blocks are compared member by member, properties one by one', () => {
  const a = { id: 'q', label: 'A', properties: { max: 5, min: 1 } };
  const b = { id: 'q', label: 'A', required: true, properties: { max: 6, min: 1 } };
  assert.deepEqual(differingFields(a, b), [['properties', 'max'], ['required']]);
  assert.deepEqual(differingFields(a, { id: 'q', label: 'A' }), [['properties', 'max'], ['properties', 'min']]);
  assert.equal(valueAt(b, ['properties', 'max']), 6);
  assert.equal(valueAt(a, ['label', 'x', 'y']), undefined);
});

test('values are told in few words', () => {
  config.words['rules.quoted'] = '“{text}”';
  assert.equal(describeValue('x'.repeat(500)).length, 122);
  assert.equal(describeValue([{ id: 'a', label: 'Cat' }, { id: 'b' }, 'c', 4]), 'Cat, b, c, 4');
  assert.equal(describeValue({ if: [1, 2] }), '{"if":[1,2]}');
});

test('a switch that is not there is off', () => {
  Object.assign(config.words, { 'editor.change_yes': 'yes', 'editor.change_no': 'no', 'editor.change_empty': 'empty' });
  const text = (settings: object) => ({ name: 'F', settings: settings as never, theme: null, variables: null, hidden_fields: null, blocks: [] });
  const [was, is] = [text({ closed: true }), text({ submitLabel: 'Go' })];
  const root = new Node('div');
  render(<Differences of={{ before: was, after: is, members: ['/settings/closed', '/settings/submitLabel'], blocks: [] }} />, root as never);
  assert.match(root.textContent, /yes.*no.*empty.*Go/);
  render(<ConflictSide value={null} other={true} path={['definition', 'settings', 'closed']} text={is} />, root as never);
  assert.equal(root.textContent, 'no');
});

test('a rule that changed is told in sentences, with the names that its own text has', async () => {
  Object.assign(config.words, { 'rules.goWhen': 'when {c}: {to}', 'rules.to': 'to {name}', 'rules.when.is': '{q} is {v}', 'rules.no': 'No', 'rules.quoted': '“{text}”', 'editor.change_empty': 'empty' });
  const text = (label: string, more: object) => ({
    name: 'F', settings: null, theme: null, variables: null, hidden_fields: null,
    blocks: [{ id: 'pet', type: 'yes_no', label, ...more }, { id: 'last', type: 'ending', label: 'Bye' }],
  });
  const rule = { next: [{ if: { '==': [{ var: 'answers.pet' }, false] }, to: 'last' }] };
  const root = new Node('div');
  render(<Differences of={{ before: text('Pet', {}), after: text('Animal', { properties: { rule } }), members: [], blocks: [{ id: 'pet', added: false, removed: false, moved: false, changed: ['/properties/rule'] }] }} />, root as never);
  assert.match(root.textContent, /empty.*when “Animal” is No: to “Bye”/);
});

test('a rule that two changed is told in sentences, and what these cannot say is JSON', () => {
  Object.assign(config.words, {
    'editor.publish_field_rule': 'Logic', 'editor.conflict_removed': '(deleted)', 'rules.shown': 'shown when {c}', 'rules.do.set': 'set {x} to {v}', 'rules.when.is': '{q} is {v}',
    'rules.no': 'No', 'rules.quoted': '“{text}”', 'rules.goElse': 'otherwise {to}', 'rules.goWhen': 'when {c}: {to}', 'rules.to': 'to {name}', 'editor.publish_side_kept': '“{name}” stays',
  });
  const no = { '==': [{ var: 'answers.pet' }, false] };
  const blocks = [{ id: 'pet', type: 'yes_no', label: 'Pet' }, { id: 'last', type: 'ending', label: 'Bye' }];
  const at = (...rest: string[]) => ['blocks', 'pet', 'properties', 'rule', ...rest];
  const conflicts = { value: [
    { path: at('show'), theirs: no, mine: { cat: [1] } },
    { path: at('set', 'score'), theirs: 3, mine: undefined },
    { path: at('next'), theirs: [{ if: no, to: 'last' }], mine: [{ if: { cat: [2] }, to: 'last' }] },
    { path: at('next'), theirs: 'odd', mine: [] },
    { path: at(), theirs: undefined, mine: { show: no } },
    { path: at('more'), theirs: 4, mine: 5 },
    { path: ['blocks', 'pet'], base: { id: 'pet' }, theirs: undefined, mine: { id: 'pet', properties: { rule: { show: no } } } },
  ] };
  const root = new Node('div');
  render(<Conflicts store={{ conflicts, shown: { value: { name: 'F', type: 'MULTI', blocks, settings: {}, theme: {}, variables: {}, hidden_fields: [] } } } as unknown as EditorStore} />, root as never);
  const told = root.find((n) => n.attributes.class === 'conflict').map((n) => n.find((v) => v.localName === 'ul' || v.localName === 'pre').map((v) => v.textContent));
  assert.deepEqual(told, [
    ['shown when “Pet” is No', 'shown when {"cat":[1]}'],
    ['set “score” to 3', '(deleted)'],
    ['when “Pet” is No: to “Bye”', 'when {"cat":[2]}: to “Bye”'],
    ['"odd"', '[]'],
    ['(deleted)', 'shown when “Pet” is No'],
    ['4', '5'],
    ['(deleted)', 'Logic shown when “Pet” is No'],
  ]);
  assert.match(root.textContent, /Pet › Logic/);
  render(<ConflictSide value={{ id: 'pet', properties: { rule: { show: no } } }} other={{ id: 'pet' }} path={['definition', 'blocks', 'pet']} text={{ name: 'F', blocks, settings: null, theme: null, variables: null, hidden_fields: null }} />, root as never);
  assert.match(root.textContent, /shown when “Pet” is No/);
});
