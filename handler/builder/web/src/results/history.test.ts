import assert from 'node:assert/strict';
import test from 'node:test';
import type { Answer } from './answers';
import { changedAnswers } from './History';

const answer = (id: string, value: unknown, type = 'short_text', label = id): Answer => ({ field: { id, type, label }, value });

test('a change lists the answers that differ', () => {
  const values = (before: Answer[], after: Answer[]) => changedAnswers(before, after).map((c) => [(c.after ?? c.before)!.field.id, c.before?.value, c.after?.value]);
  for (const [before, after, want] of [
    [[], [], []],
    [[answer('a', 1)], [answer('a', 1)], []],
    [[answer('a', 1, 'number', 'Old label')], [answer('a', 1, 'number', 'New label')], []],
    [[answer('a', 1), answer('b', 'x')], [answer('c', true), answer('a', 2)], [['c', undefined, true], ['a', 1, 2], ['b', 'x', undefined]]],
    [[answer('a', [{ id: 'x', label: 'X' }])], [answer('a', [{ id: 'y', label: 'Y' }])], [['a', [{ id: 'x', label: 'X' }], [{ id: 'y', label: 'Y' }]]]],
    [[answer('a', 1, 'number')], [answer('a', '1')], [['a', 1, '1']]],
    [[answer('a', 'x'), answer('a', 'h', 'hidden'), answer('a', 1, 'variable')], [answer('a', 'x'), answer('a', 'i', 'hidden'), answer('a', 2, 'variable')], [['a', 'h', 'i'], ['a', 1, 2]]],
    [[answer('a', '')], [answer('a', null)], [['a', '', null]]],
  ] as [Answer[], Answer[], unknown[]][]) {
    assert.deepEqual(values(before, after), want);
  }
});
