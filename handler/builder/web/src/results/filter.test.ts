import assert from 'node:assert/strict';
import test from 'node:test';
import { Fields, type Json } from '../rules/fields';
import type { Form } from '../app/records';
import { parseCondition } from '../rules/parse';
import { conditionsOf, filterFields, filterOfBar, filterQuery, parseFilter, withConditions, type Filter } from './filter';
import { retryBusy } from './responses';

const everything: Filter = { period: 'all', from: '', to: '' };

test('a filter in a URL is read again', () => {
  for (const where of [undefined, { '<=': [0, { var: 'answers.nps' }, 6] }, { and: [{ var: 'answers.a&b=c' }, { '==': [{ var: 'hidden.ä' }, '"+%'] }] }] as (Json | undefined)[]) {
    for (const text of ['', 'delivery', '50 % & more']) {
      for (const time of [everything, { period: '7d', from: '', to: '' }, { period: 'days', from: '2026-01-02', to: '' }]) {
        const filter = { ...time, where, text };
        assert.deepEqual(parseFilter(filterQuery(filter)), filter);
      }
    }
  }
  assert.deepEqual(parseFilter('?where={&text=a'), { ...everything, where: undefined, text: 'a' });
});

test('conditions are added to those that a filter has, and removed', () => {
  const [a, b, c]: Json[] = [{ var: 'answers.a' }, { or: [{ var: 'answers.b' }, { var: 'answers.c' }] }, { '!': { var: 'answers.c' } }];
  for (const list of [[], [a], [b], [a, b], [a, b, c]] as Json[][]) assert.deepEqual(conditionsOf(withConditions(everything, list).where), list);
  assert.deepEqual(filterQuery(withConditions(everything, [])), '');
});

test('a bar leads to the responses that it counts', () => {
  const fields = new Fields({ blocks: [
    { id: 'nps', type: 'nps' }, { id: 'yes', type: 'yes_no' }, { id: 'one', type: 'dropdown', choices: [{ id: 'a' }] }, { id: 'many', type: 'multiple_choice', choices: [{ id: 'a' }] },
    { id: 'pictures', type: 'picture_choice', properties: { multiSelection: true } }, { id: 'day', type: 'date' }, { id: 'moment', type: 'date', properties: { showTimePicker: true } },
    { id: 'rank', type: 'ranking', choices: [{ id: 'a' }] }, { id: 'pay', type: 'payment' }, { id: 'country', type: 'country' },
  ] });
  const bar = (id: string, value: Json) => filterOfBar(everything, fields.get({ from: 'answers', id }), value)?.where;
  for (const [id, value, want] of [
    ['nps', [0, 6], { '<=': [0, { var: 'answers.nps' }, 6] }],
    ['nps', 7, { '==': [{ var: 'answers.nps' }, 7] }],
    ['yes', false, { '==': [{ var: 'answers.yes' }, false] }],
    ['one', 'a', { '==': [{ var: 'answers.one' }, 'a'] }],
    ['many', 'a', { in: ['a', { var: 'answers.many' }] }],
    ['pictures', 'a', { in: ['a', { var: 'answers.pictures' }] }],
    ['day', '2026-11-20', { '==': [{ var: 'answers.day' }, '2026-11-20'] }],
    ['country', 'NL', { '==': [{ var: 'answers.country' }, 'NL'] }],
    ['moment', '2026-11-20', undefined], ['rank', 'a', undefined], ['pay', 'paid', undefined], ['deleted', 'a', undefined],
  ] as [string, Json, Json | undefined][]) {
    assert.deepEqual(bar(id, value), want, id);
  }
  const nps = fields.get({ from: 'answers', id: 'nps' });
  const twice = filterOfBar(filterOfBar(everything, nps, [0, 6])!, nps, [0, 6])!;
  assert.equal(conditionsOf(twice.where).length, 1);
  assert.equal(conditionsOf(filterOfBar(twice, nps, 3)!.where).length, 2);
});

test('a filter reads the ending, and rules do not', () => {
  const form = { definition: { blocks: [{ id: 'q', type: 'number' }, { id: 'bye', type: 'ending', label: '**Good** bye' }, { id: 'no', type: 'ending' }], hidden_fields: ['ending'], variables: {} } } as never as Form;
  const condition = { '==': [{ var: 'submission.ending' }, 'bye'] };
  const ending = filterFields(form).get({ from: 'submission', id: 'ending' });
  assert.deepEqual([ending.kind, ending.choices], ['choice', [{ id: 'bye', label: 'Good bye' }, { id: 'no', label: 'no' }]]);
  assert.deepEqual(filterOfBar(everything, ending, 'bye')?.where, condition);
  assert.deepEqual(filterOfBar(everything, ending, 'removed')?.where, { '==': [{ var: 'submission.ending' }, 'removed'] });
  assert.deepEqual(parseCondition(condition, filterFields(form)), { op: 'is', ref: { from: 'submission', id: 'ending' }, value: 'bye' });
  const rules = new Fields(form.definition);
  assert.deepEqual([rules.resolve('submission.ending'), filterFields(form).resolve('submission.id'), rules.get({ from: 'submission', id: 'ending' }).kind], [undefined, undefined, 'unknown']);
  const without = { definition: { ...form.definition, blocks: form.definition.blocks.slice(0, 1) } } as never as Form;
  assert.equal(filterFields(without).resolve('submission.ending'), undefined);
});

test('a busy service is asked again, and other errors are reported', async () => {
  const { ApiError } = await import('../app/api');
  const { signal } = new AbortController();
  let calls = 0;
  const answer = await retryBusy(async () => {
    if (calls++ === 0) throw new ApiError(429, 'TOO_MANY_REQUESTS', '', [], 0.001);
    return 'done';
  }, signal);
  assert.deepEqual([answer, calls], ['done', 2]);
  await assert.rejects(retryBusy(() => Promise.reject(new ApiError(422, '', '')), signal), { status: 422 });
  await assert.rejects(retryBusy(() => Promise.reject(new ApiError(429, '', '', [], 0.001)), AbortSignal.abort()), { name: 'AbortError' });
});
