import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Block } from '../app/records';
import { blocksFromText, blocksToText } from './clipboard';
import type { Content } from './content';
import { addBlocks, copyBlocks, renameField } from './edits';

const content = (blocks: Block[], more: Partial<Content> = {}): Content =>
  ({ name: 'F', type: 'SINGLE', blocks, settings: {}, theme: {}, variables: {}, hidden_fields: [], ...more });
const q = (id: string, more: Partial<Block> = {}): Block => ({ id, type: 'short_text', label: id, ...more });
const end = { parent: undefined, index: Infinity };
const is = (id: string, value: string) => ({ '==': [{ var: 'answers.' + id }, value] });

test('copied blocks refer to each other in another form', () => {
  const copied = [
    q('pet', { type: 'dropdown', choices: [{ id: 'cat', label: 'Cat' }, { id: 'dog' }] }),
    q('name', {
      label: 'Your {{answers.pet}}, \\{{answers.pet}}, {{ answers.pet }}, {{answers.pet:2}}, {{today}}', description: '{{answers.home.city}}',
      properties: { rule: { show: is('pet', 'cat'), check: [{ if: is('name', 'x'), say: 'Not {{answers.name}}' }], next: [{ if: is('pet', 'dog'), to: 'home' }, { to: 'end' }] } },
    }),
    { id: 'g', type: 'group', children: [q('home', { type: 'address', properties: { rule: { check: [{ if: { '!': { var: 'answers.home.city' } }, say: 'City' }] } } })] },
  ];
  const target = content([q('pet')]);
  const copies = copyBlocks(target, blocksFromText(blocksToText(copied))!);
  const made = addBlocks(target, copies, end);
  const ids = copies.map((b) => b.id);
  const [, pet, name, group] = made.blocks as [Block, Block, Block, Block];
  const home = group.children![0]!.id;
  assert.deepEqual(made.blocks.map((b) => b.id), ['pet', ...ids]);
  assert.equal(new Set(['pet', 'name', 'g', 'home', ...ids, home]).size, 8);
  const [cat, dog] = pet.choices!.map((choice) => choice.id) as [string, string];
  assert.equal(name.label, `Your {{answers.${pet.id}}}, \\{{answers.pet}}, {{ answers.${pet.id} }}, {{answers.${pet.id}:2}}, {{today}}`);
  assert.equal(name.description, `{{answers.${home}.city}}`);
  assert.deepEqual(name.properties!.rule, { show: is(pet.id, cat), check: [{ if: is(name.id, 'x'), say: `Not {{answers.${name.id}}}` }], next: [{ if: is(pet.id, dog), to: home }, { to: 'end' }] });
  assert.deepEqual(group.children![0]!.properties!.rule, { check: [{ if: { '!': { var: `answers.${home}.city` } }, say: 'City' }] });
});

test('a pasted rule is kept, also if it refers to nothing or the block is in a group', () => {
  const rule = { show: is('gone', 'x'), choices: { list: 'rooms', by: 'answers.gone' }, next: [{ to: 'gone' }] };
  const target = content([q('here'), { id: 'g', type: 'group', children: [q('in')] }]);
  const copies = copyBlocks(target, [q('a', { properties: { rule } }), q('b')]);
  const { children } = addBlocks(target, copies, { parent: 'g', index: 0 }).blocks[1]!;
  assert.deepEqual(children!.map((b) => b.label), ['a', 'b', 'in']);
  assert.deepEqual(children![0]!.properties, { rule });
});

test('other texts contain no blocks', () => {
  const one = (block: unknown): string => blocksToText([block as Block]);
  assert.deepEqual(blocksFromText(one(q('a', { type: 'number', properties: { min: 1.5 } }))), [q('a', { type: 'number', properties: { min: 1.5 } })]);
  const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
  for (const text of [
    '', 'Some text', '5', 'null', '[]', '{}', '{"formsvc_blocks":[]}', '{"formsvc_blocks":{"id":"a","type":"number"}}', blocksToText([q('a'), q('a')]),
    one(null), one({ type: 'number' }), one(q('')), one({ ...q('a'), id: 1 }), one(q('a', { type: 'unknown' })), one(q('a', { type: 'constructor' })), one({ ...q('a'), label: {} }), one({ ...q('a'), constructor: 'x' }),
    one({ ...q('a'), choices: 'x' }), one({ ...q('a'), choices: [null] }), one({ ...q('a'), choices: [{ id: 1, label: [] }] }), one({ ...q('a'), properties: [] }), one({ ...q('a'), properties: { min: '1', maxChars: 1.5 } }),
    one({ ...q('a'), properties: { onclick: 'alert(1)' } }), one({ ...q('a'), children: {} }), one({ ...q('a'), children: [q('a')] }), one({ ...q('a'), children: [5] }),
    `{"formsvc_blocks":[{"id":"a","type":"number","__proto__":{"x":1}}]}`, `{"formsvc_blocks":[{"id":"a","type":"group","children":${nested(100_000)}}]}`, `{"formsvc_blocks":${nested(100_000)}}`,
  ]) assert.equal(blocksFromText(text), undefined, text.slice(0, 100));
});

test('texts follow a renamed field and a copied block', () => {
  const c = content([q('a', { label: '{{hidden.code}} {{variables.code:2}}', properties: { buttonText: '{{hidden.code}}', rule: { check: [{ if: true, say: '{{hidden.code}}' }] } } })],
    { hidden_fields: ['code'], variables: { code: 1 }, settings: { closedMessage: '{{hidden.code}}' } });
  const renamed = renameField(c, 'hidden', 'code', 'key');
  assert.equal(JSON.stringify(renamed), JSON.stringify(c).replaceAll('hidden.code', 'hidden.key').replace('["code"]', '["key"]'));
  assert.equal(renameField(c, 'variables', 'code', 'sum').blocks[0]!.label, '{{hidden.code}} {{variables.sum:2}}');
  const [copy] = copyBlocks(content([q('a', { label: '{{answers.a}}' })]), [q('a', { label: '{{answers.a}}' })]) as [Block];
  assert.equal(copy.label, `{{answers.${copy.id}}}`);
});
