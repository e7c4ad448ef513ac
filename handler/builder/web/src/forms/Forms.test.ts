import assert from 'node:assert/strict';
import { test } from 'node:test';
import { config } from '../app/config';
import { copyName } from './Forms';

test('the name of a copy fits, is whole, and differs', () => {
  config.words = { 'forms.copy_of': '{name} (copy)' };
  assert.equal(copyName('Form'), 'Form (copy)');
  const copy = copyName('🎉'.repeat(200));
  assert.ok([...copy].length <= 200 && !/\p{Cs}/u.test(copy) && copy.endsWith('🎉 (copy)'), copy);
});
