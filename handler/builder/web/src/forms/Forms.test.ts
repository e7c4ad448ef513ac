import assert from 'node:assert/strict';
import { test } from 'node:test';
import { config } from '../app/config';
import { formToJSON } from '../app/download';
import { copyName } from './Forms';
import { parseFormJSON } from './dialogs';

test('the name of a copy fits, is whole, and differs', () => {
  config.words = { 'forms.copy_of': '{name} (copy)' };
  assert.equal(copyName('Form'), 'Form (copy)');
  const copy = copyName('🎉'.repeat(200));
  assert.ok([...copy].length <= 200 && !/\p{Cs}/u.test(copy) && copy.endsWith('🎉 (copy)'), copy);
});

test('a downloaded form can be imported', () => {
  const form = { name: 'Ünï "x" 🎉', type: 'SINGLE', definition: { blocks: [{ id: 'a', type: 'text', label: '</script>\u2028' }], settings: { closedMessage: '' }, theme: {}, variables: { n: 1 }, hidden_fields: ['h'] } };
  assert.deepEqual(parseFormJSON(formToJSON({ ...form, id: 'x', status: 'published' } as typeof form), ''), form);
  assert.equal(parseFormJSON(formToJSON(form), 'Typed').name, undefined);
});
