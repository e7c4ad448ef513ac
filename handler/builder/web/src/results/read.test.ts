import assert from 'node:assert/strict';
import test from 'node:test';
import type { Submission } from './answers';
import { neighbours } from './read';
import { bounds, readTime, timeQuery } from './time';

test('the bounds of periods are those of the metrics', () => {
  const now = new Date('2026-03-31T10:20:30Z');
  const of = (period: string) => bounds({ period, from: '', to: '' }, now);
  assert.deepEqual(of('all'), {});
  assert.deepEqual(of('today'), { since: '2026-03-31T00:00:00Z' });
  assert.deepEqual(of('yesterday'), { since: '2026-03-30T00:00:00Z', until: '2026-03-30T23:59:59Z' });
  assert.deepEqual(of('24h'), { since: '2026-03-30T10:20:00Z' });
  assert.deepEqual(of('7d'), { since: '2026-03-25T00:00:00Z' });
  assert.deepEqual(of('30d'), { since: '2026-03-02T00:00:00Z' });
  assert.deepEqual(of('3m'), { since: '2025-12-31T00:00:00Z' });
  assert.deepEqual(of('6m'), { since: '2025-09-30T00:00:00Z' }); // which has no 31st
  assert.deepEqual(of('12m'), { since: '2025-03-31T00:00:00Z' });
});

test('a time in the address is read again, and nonsense is all time', () => {
  for (const search of ['', '?time=7d', '?from=2026-01-02', '?to=2026-01-02', '?from=2026-01-02&to=2026-02-03']) {
    assert.equal(timeQuery(readTime(search)), search);
  }
  for (const search of ['?time=eternity', '?from=x', '?from=2026-99-99']) assert.equal(timeQuery(readTime(search)), '');
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
      assert.deepEqual(await neighbours('f', list[i]!, { period: 'all', from: '', to: '' }), { newer: list[i - 1]?.id, older: list[i + 1]?.id }, `${i} of ${list.length}`);
    }
  }
  const list = serve([0, 3600, 7200]);
  const until = { period: 'days', from: '2026-01-01', to: '2026-01-01' };
  assert.equal((await neighbours('f', list[0]!, until)).newer, undefined);
});
