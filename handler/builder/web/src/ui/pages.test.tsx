import '../props/dom.test';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { options, render } from 'preact';
import { Node } from '../props/dom.test';
import { usePages, type Pages } from './states';

test('a list is read page by page, each item once, and anew for another key', async () => {
  options.requestAnimationFrame = (run) => run();
  const waiting: { cursor: string | null; answer(ids: number[], next: string | null): Promise<void>; fail(): Promise<void> }[] = [];
  const later = () => new Promise<void>((done) => setTimeout(done, 0));
  let list!: Pages<{ id: number }>;
  const List = ({ of }: { of: string }) => {
    list = usePages((cursor) => new Promise((done, fail) => waiting.push({
      cursor,
      answer: (ids, next) => (done({ items: ids.map((id) => ({ id })), page: { has_more: next !== null, next_cursor: next } }), later()),
      fail: () => (fail(new Error()), later()),
    })), of, (item) => item.id);
    return <p>{of}</p>;
  };
  const root = new Node('div') as never;
  const ids = () => list.items.map((item) => item.id);
  render(<List of="a" />, root);
  await later();
  assert.equal(list.loading, true);
  await waiting[0]!.answer([1, 2], 'x');
  assert.deepEqual([ids(), list.more, list.loading], [[1, 2], true, false]);
  list.next();
  list.next(); // while it reads
  list.remove(1);
  await waiting[1]!.fail();
  assert.deepEqual([ids(), list.error instanceof Error, list.loading], [[2], true, false]);
  list.next();
  await later();
  assert.equal(list.error, undefined);
  await waiting[2]!.answer([2, 3], null); // 2 is on both, since another came in front
  assert.deepEqual([waiting.map((w) => w.cursor), ids(), list.more], [[null, 'x', 'x'], [2, 3], false]);
  list.reload();
  await later();
  render(<List of="b" />, root);
  await later();
  assert.deepEqual(ids(), []);
  await waiting[4]!.answer([9], null);
  await waiting[3]!.answer([1], 'late');
  assert.deepEqual([ids(), list.more], [[9], false]);
});
