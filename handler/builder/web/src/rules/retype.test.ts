import assert from 'node:assert/strict';
import test from 'node:test';

import type { Content, Json } from './fields';
import { countUsers } from './references';
import { retype } from './retype';

const choices = [{ id: 'a' }, { id: 'b' }];
const q = { var: 'answers.q' };

const form = (block: object, show: Json): Content => ({
  blocks: [{ id: 'q', ...block }, { id: 's', type: 'statement', properties: { rule: { show, next: [{ if: { '==': [q, null] }, to: 'end' }] } } }] as Content['blocks'],
});

test('rules mean the same after a block became of another type, or are named', () => {
  const kinds: Record<string, object> = {
    one: { type: 'single_choice', choices }, several: { type: 'multiple_choice', choices }, pictures: { type: 'picture_choice', choices, properties: { multiSelection: true } },
    text: { type: 'short_text' }, number: { type: 'number' }, nps: { type: 'nps' }, ranking: { type: 'ranking', choices }, dropdown: { type: 'dropdown', choices },
    time: { type: 'time' }, seconds: { type: 'time', properties: { showSeconds: true } },
  };
  // [from, to, condition, what it becomes; null: it is named and stays]
  const cases: [string, string, Json, Json | null][] = [
    ['one', 'several', { '==': [q, 'a'] }, { in: ['a', q] }],
    ['one', 'pictures', { and: [{ '===': ['a', q] }, { '!': { '!=': [q, 'b'] } }] }, { and: [{ in: ['a', q] }, { '!': { '!': { in: ['b', q] } } }] }],
    ['one', 'several', { in: [q, ['a', 'b']] }, { or: [{ in: ['a', q] }, { in: ['b', q] }] }],
    ['one', 'several', { in: [q, ['a']] }, { in: ['a', q] }],
    ['one', 'several', { '<': [q, 'a'] }, null],
    ['one', 'several', { '==': [{ var: 'answers.q.other' }, 'x'] }, { '==': [{ var: 'answers.q.other' }, 'x'] }],
    ['one', 'dropdown', { '==': [q, 'a'] }, { '==': [q, 'a'] }],
    ['one', 'ranking', { '==': [q, 'a'] }, null],
    ['one', 'text', { '==': [q, 'a'] }, null],
    ['several', 'one', { or: [{ in: ['a', q] }, { '==': [q, ['b']] }] }, { or: [{ '==': [q, 'a'] }, { '==': [q, 'b'] }] }],
    ['several', 'one', { '==': [q, ['a', 'b']] }, null],
    ['several', 'one', { '>': [{ var: 'answers.q.length' }, 1] }, null],
    ['text', 'number', { in: [q, ['1', '2']] }, { in: [q, [1, 2]] }],
    ['text', 'number', { in: ['1', q] }, null],
    ['number', 'text', { '==': [q, 5] }, { '==': [q, '5'] }],
    ['number', 'text', { '<=': [1, q, 5] }, null],
    ['number', 'nps', { '<=': [1, q, 5] }, { '<=': [1, q, 5] }],
    ['time', 'seconds', { '<': [q, '10:30'] }, { '<': [q, '10:30:00'] }],
    ['seconds', 'time', { '<': [q, '10:30:15'] }, null],
  ];
  for (const [from, to, condition, want] of cases) {
    const before = form(kinds[from]!, condition);
    const made = retype(before, form(kinds[to]!, condition), 'q');
    const rule = made.blocks[1]!.properties!.rule as { show: Json };
    assert.deepEqual([rule.show, made.outdated], [want ?? condition, want === null ? ['s'] : []], JSON.stringify([from, to, condition]));
    assert.deepEqual(made.changed, want === null || JSON.stringify(want) === JSON.stringify(condition) ? [] : ['s']);
  }
});

test('the rules that use something are counted', () => {
  const content = form({ type: 'single_choice', choices }, { '==': [q, 'a'] });
  assert.equal(countUsers(content, { kind: 'choice', block: 'q', id: 'a' }), 1);
  assert.equal(countUsers(content, { kind: 'choice', block: 'q', id: 'b' }), 0);
  assert.equal(countUsers(content, { kind: 'block', id: 'q' }), 1);
});
