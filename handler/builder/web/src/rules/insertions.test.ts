import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blockLabel } from '../editor/positions';
import { labelInsertions } from '../app/text';
import { fieldsOf } from './fields';
import { insertableFields, insertionLabel, openContent } from './insertions';

const content = {
  blocks: [
    { id: 'name', type: 'short_text', label: '**Your** [name](https://example.com)' },
    { id: 'who', type: 'contact_info', label: 'Contact of {{answers.name}}' },
    { id: 'a.b', type: 'number', label: '{{answers.a.b}} _twice_' },
    { id: 'list', type: 'matrix', label: 'Matrix', matrix_rows: [{ id: 'city', label: 'City' }] },
    { id: 'secret', type: 'short_text', properties: { hide: true } },
    { id: 'g', type: 'group', children: [{ id: 'inner', type: 'date', label: 'Day' }, { id: 'last', type: 'short_text' }] },
  ],
  hidden_fields: ['ref'],
  variables: { total: 0 },
};

test('insertions resolve to the same fields as in the service', () => {
  const label = (name: string): string | undefined => insertionLabel(name, fieldsOf(content));
  for (const [name, want] of [
    ['today', 'texts.today'], [' today ', 'texts.today'], ['today:2', undefined], ['answers.name', 'Your name'], [' answers.name\t', 'Your name'], ['answers.name:2', 'Your name'],
    ['answers.who', 'Contact of ‹Your name›'], ['answers.who.city', 'rules.part'], ['answers.who.nickname', undefined], ['answers.a.b:0', '‹answers.a.b› twice'], ['answers.a', undefined],
    ['answers.list', 'Matrix'], ['answers.list.city', undefined], ['answers.g', undefined], ['answers.inner', 'Day'], ['answers.last', 'last'],
    ['hidden.ref', 'ref'], ['hidden.name', undefined], ['variables.total:2', 'total'], ['variables.total.x', undefined], ['answers.', undefined],
  ] as const) assert.equal(label(name), want, name);
});

test('a text inserts earlier answers that it can show', () => {
  openContent.value = content;
  const names = (block: string): string[] => [...new Set(insertableFields(block).map((f) => f.ref.id))];
  assert.deepEqual(names('name'), ['ref', 'total']);
  assert.deepEqual(names('last'), ['name', 'who', 'a.b', 'inner', 'ref', 'total']);
  assert.deepEqual(insertableFields('name', 'withOwnAnswer').map((f) => f.ref.id), ['name', 'ref', 'total']);
  assert.deepEqual(insertableFields('', 'variables').map((f) => f.ref.id), ['total']);
  assert.deepEqual(names(''), ['name', 'who', 'a.b', 'inner', 'last', 'ref', 'total']);
});

test('labels are shown without marks and with the labels of inserted fields', () => {
  const label = (text: string): string => blockLabel({ id: 'b', type: 'text', label: text }, (type) => type);
  openContent.value = { blocks: [] };
  assert.equal(label('**{{answers.name}}**'), '‹answers.name›');
  openContent.value = content;
  assert.equal(label('_Dear_\n {{answers.name}}, \\_{{hidden.ref}}\\_ {{answers.none}} {{x}}'), 'Dear ‹Your name›, _‹ref›_ ‹answers.none› {{x}}');
  assert.equal(label('<img src=x onerror=alert(1)>'), '<img src=x onerror=alert(1)>');
  assert.equal(labelInsertions('_a_ {{answers.name}}'), '_a_ ‹Your name›');
});
