import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Delivery, isInProgress } from './deliveries';

const now = Date.parse('2026-11-26T12:00:00Z');
const attempt = (event_id: string, next: number | null): Delivery => ({
  id: '', event: '', event_id, submission_id: null, attempt: 1, status: 500, success: false, error: 'status', duration_ms: 1, created_at: '',
  next_attempt_at: next === null ? null : new Date(now + next * 1000).toISOString(),
});

test('the newest attempt of an event says whether it is under way, for a time', () => {
  for (const [next, is] of [[5, true], [-60, true], [40, false], [-300, false], [null, false]] as const) {
    const d = attempt('a', next);
    assert.equal(isInProgress(d, [attempt('b', null), d], now), is, String(next));
  }
  const [older, newer] = [attempt('a', 5), attempt('a', null)];
  assert.equal(isInProgress(older, [newer, older], now), false);
});
