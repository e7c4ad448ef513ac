import assert from 'node:assert/strict';
import { test } from 'node:test';
import cases from '../../../../../schema/testdata/plain.json';
import { insertionsIn, plainText } from './text';

test('plain texts are those of the service, except for rare combinations of marks', () => {
  assert.ok(cases.length >= 300);
  const other = cases.filter(({ source, plain, ...marks }) => plainText(source, marks) !== plain);
  assert.ok(other.length <= cases.length / 50, JSON.stringify(other));
  for (const [source, plain] of [
    ['**Your** _name_?', 'Your name?'], ['5 * 3 ** 2 _ 1', '5 * 3 ** 2 _ 1'], ['snake_case_name, **a_b** _c_', 'snake_case_name, a_b c'], ['**a _b_ c** d', 'a b c d'],
    ['I accept the [**terms**](https://example.com/a_(b)_c).', 'I accept the terms.'], ['[a](javascript:alert(1)) \\*b\\*', '[a](javascript:alert(1)) *b*'], ['**a\n_b_** **', 'a\nb **'],
  ] as const) assert.equal(plainText(source), plain);
});

test('insertions are labeled', () => {
  const label = (name: string): string => `‹${name}›`;
  assert.equal(plainText('**{{today}}** \\{{today}} {{answers.a}}', undefined, label), '‹today› {{today}} ‹answers.a›');
  assert.equal(plainText('_{{today}}_', { insertions: false }, label), '{{today}}');
  assert.deepEqual(insertionsIn('a{{today}}\\{{today}}{{ hidden.x}}').map((i) => i.name), ['today', ' hidden.x']);
});
