import assert from 'node:assert/strict';
import test from 'node:test';
import type { Block } from '../app/records';
import { answerText, shortHeadings, type Submission } from './answers';
import { adjacentResponses } from './responses';
import { fetchBounds, parseFilter, filterQuery } from './filter';

test('the service is asked for the bounds of a time, and for all time there are none', async () => {
  const asked: string[] = [];
  globalThis.fetch = (async (address: string) => (asked.push(address), new Response('{"since":"2026-03-30T22:00:00Z"}'))) as typeof fetch;
  assert.deepEqual(await fetchBounds({ period: 'all', from: '', to: '' }), {});
  assert.deepEqual(await fetchBounds({ period: 'today', from: '', to: '' }), { since: '2026-03-30T22:00:00Z' });
  await fetchBounds({ period: 'days', from: '2026-01-02', to: '' });
  assert.deepEqual(asked.map((a) => a.replace(/.*times/, '')), ['?time=today', '?from=2026-01-02']);
});

test('titles of columns can be told apart', () => {
  const begin = 'How satisfied are you with ';
  for (const [labels, want] of [
    [['Name', 'Email'], ['Name', 'Email']],
    [[begin + 'the food', begin + 'the room', 'Name'], ['… food', '… room', 'Name']],
    [[begin + 'it', begin + 'it and its price'], ['… it', '… and its price']],
    [['Comment', 'Comment', 'Comment'], ['Comment', 'Comment (2)', 'Comment (3)']],
    [[begin + 'x', begin + 'x', begin + 'y'], ['… x', '… x (2)', '… y']],
    [['a\n b', 'a c'], ['a b', 'a c']],
    [['服务'.repeat(12) + '甲', '服务'.repeat(12) + '乙'], ['… 甲', '… 乙']],
    [['x'.repeat(30) + '😀', 'x'.repeat(30) + '😁'], ['… 😀', '… 😁']],
  ] as [string[], string[]][]) {
    assert.deepEqual(shortHeadings(labels), want);
  }
});

test('a choice has its current label', () => {
  const choices = [{ id: 'x', label: 'Yes' }, { id: 'y' }];
  const old = { id: 'x', label: 'Yess' };
  for (const [type, value, block, want] of [
    ['single_choice', old, { choices }, 'Yes'],
    ['single_choice', old, undefined, 'Yess'],
    ['dropdown', { id: 'y', label: 'No' }, { choices }, 'No'],
    ['dropdown', old, { choices, properties: { rule: { choices: { list: 'people' } } } }, 'Yess'],
    ['multiple_choice', [old, { id: 'gone', label: 'Gone' }, { other: 'x' }], { choices }, 'Yes, Gone, x'],
    ['ranking', [{ id: 'y', label: 'No' }, old], { choices }, '1. No, 2. Yes'],
    ['matrix', { r: old }, { matrix_rows: [{ id: 'r', label: 'Row' }], matrix_columns: choices }, 'Row: Yes'],
  ] as const) {
    assert.equal(answerText({ field: { id: 'q', type, label: 'Q' }, value }, block && ({ id: 'q', type, ...block } as unknown as Block)), want);
  }
});

test('a time in the address is read again, and nonsense is all time', () => {
  for (const search of ['', '?time=7d', '?from=2026-01-02', '?to=2026-01-02', '?from=2026-01-02&to=2026-02-03']) {
    assert.equal(filterQuery(parseFilter(search)), search);
  }
  for (const search of ['?time=eternity', '?from=x', '?from=2026-99-99']) assert.equal(filterQuery(parseFilter(search)), '');
});

/** Answers as the API does, of responses at these seconds, newest first. */
function serve(seconds: number[]): Submission[] {
  const start = Date.UTC(2026, 0, 1);
  const list = seconds
    .map((s, i) => ({ id: String(i).padStart(5, '0'), submitted_at: new Date(start + s * 1000).toISOString(), metadata: {}, answers: [], completion_time: 1 }))
    .sort((a, b) => (b.submitted_at + b.id).localeCompare(a.submitted_at + a.id));
  globalThis.fetch = (async (address: string) => {
    const q = new URL(address, 'http://x').searchParams;
    const [since, until] = [Date.parse(q.get('since') ?? '2000-01-01'), Date.parse(q.get('until') ?? '2100-01-01')];
    const from = Number(q.get('cursor') ?? 0);
    const limit = Number(q.get('limit'));
    const found = list.filter((s) => Date.parse(s.submitted_at) >= since && Date.parse(s.submitted_at) <= until);
    const more = found.length > from + limit;
    return new Response(JSON.stringify({ items: found.slice(from, from + limit), page: { has_more: more, next_cursor: more ? String(from + limit) : null } }));
  }) as typeof fetch;
  return list;
}

test('the neighbours of a response are those of the list', async () => {
  const many = (n: number, at: number) => Array.from({ length: n }, () => at);
  for (const seconds of [[0], [0, 0, 1, 7200, 7200, 9_000_000], [...many(250, 5), 6], [0, ...many(120, 4000), ...many(150, 4001), 5_000_000], Array.from({ length: 300 }, (_, i) => i * 97)]) {
    const list = serve(seconds);
    for (let i = 0; i < list.length; i += list.length > 50 ? 23 : 1) {
      assert.deepEqual(await adjacentResponses('f', list[i]!, { period: 'all', from: '', to: '' }), { newer: list[i - 1]?.id, older: list[i + 1]?.id }, `${i} of ${list.length}`);
    }
  }
  const list = serve([0, 3600, 7200]);
  const fetched = globalThis.fetch;
  globalThis.fetch = (async (address: string) => (address.includes('/times') ? new Response('{"since":"2026-01-01T00:00:00Z","until":"2026-01-01T00:59:59Z"}') : fetched(address))) as typeof fetch;
  const until = { period: 'days', from: '2026-01-01', to: '2026-01-01' };
  assert.equal((await adjacentResponses('f', list[0]!, until)).newer, undefined);
});
