import assert from 'node:assert/strict';
import { test } from 'node:test';
import { env } from 'node:process';
import { setImmediate as settled } from 'node:timers/promises';
import type { Block } from '../app/records';
import { renameField } from './edits';
import { ApiError } from '../app/api';
import { isObject, applyMergePatch, isEqual, type Obj } from '../app/json';
import { findNode, type Content } from './content';
import type { Draft, DraftStorage } from './drafts';
import { formBackend, type Clock, type Request } from './requests';
import { EditorStore } from './store';

/** Numbers that look random, the same for the same seed. */
function dice(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** A clock that stands until it is told to go on. */
class Time implements Clock {
  private at = 0;
  private timers: { at: number; run: () => void }[] = [];
  now = (): number => this.at;

  after = (milliseconds: number, run: () => void): (() => void) => {
    const timer = { at: this.at + milliseconds, run };
    this.timers.push(timer);
    return () => (this.timers = this.timers.filter((t) => t !== timer));
  };

  wait = (milliseconds: number): Promise<void> => new Promise((resolve) => void this.after(milliseconds, resolve));

  /** Goes on, and runs what is due on the way; each runs called before sees all promises settled. */
  async pass(milliseconds: number, each: () => void = () => undefined): Promise<void> {
    const end = this.at + milliseconds;
    for (;;) {
      await settled();
      each();
      const next = this.timers.reduce<{ at: number; run: () => void } | undefined>((a, b) => (a && a.at <= b.at ? a : b), undefined);
      if (!next || next.at > end) break;
      this.timers = this.timers.filter((t) => t !== next);
      this.at = next.at;
      next.run();
    }
    this.at = end;
  }
}

/** What happens to a request: before and after are milliseconds, a reply may not arrive. */
interface Fate {
  before: number;
  after: number;
  lost?: 'request' | 'reply';
  status?: number; // instead of doing it
  retryAfter?: number;
}

interface Fault {
  path: string;
  code: string;
  message: string;
}

/** A service with one form, and its working copy, as the API is. */
class Service {
  revision = 1;
  status = 'draft';
  content: Content;
  copy: Content | undefined;
  copyRevision = 1 << 20;
  copies = true; // whether the storage has them
  fault: Error | undefined;
  history = new Map<string, Content>();
  log: { method: string; path: string; status: number; body: Obj; keepalive: boolean }[] = [];
  fate: (method: string) => Fate = () => ({ before: 10, after: 10 });
  host: (c: Content) => Fault[] = () => []; // what a host's check refuses
  wrote: (by: string, before: Content, after: Content) => void = () => undefined;

  constructor(readonly time: Time, blocks: Block[], more: Partial<Content> = {}) {
    this.content = { name: 'Form', type: 'SINGLE', blocks, settings: {}, theme: {}, variables: {}, hidden_fields: [], ...more };
    this.history.set(this.tag(false), this.content);
  }

  tag(copy: boolean): string {
    return `"r${copy && this.copy ? this.copyRevision : this.revision}"`;
  }

  /** As request of app/api.ts. */
  request(by: string): Request {
    return async (path, options = {}) => {
      const { method = 'GET', ifMatch, signal, keepalive = false } = options;
      const body = JSON.parse(JSON.stringify(options.body ?? {})) as Obj;
      const fate = this.fate(method);
      const fail = (status: number, code = '', details: Fault[] = []): never => {
        throw new ApiError(status, code, '', details, fate.retryAfter);
      };
      const log = { method, path, status: 0, body, keepalive };
      this.log.push(log);
      const ended = new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))));
      const reply = (async () => {
        await this.time.wait(fate.before);
        if (fate.lost === 'request') fail(0);
        if (fate.status) fail((log.status = fate.status));
        const copy = path.startsWith('/-/copy/');
        const place = path.replace(/^.*\/forms\/[^/]*/, '');
        let answer: { status: number; body?: unknown; code?: string; details?: Fault[] };
        try {
          answer = { status: 200, body: this.serve(by, method, place, body, copy, ifMatch) };
        } catch (cause) {
          if (cause instanceof Error) this.fault ??= cause; // a broken promise, not a response
          if (cause instanceof Error) throw cause;
          answer = cause as typeof answer;
        }
        log.status = answer.status;
        const etag = this.tag(copy);
        await this.time.wait(fate.after);
        if (fate.lost === 'reply') fail(0);
        if (answer.status !== 200) fail(answer.status, answer.code, answer.details);
        return { body: structuredClone(answer.body), etag };
      })();
      return Promise.race([reply, ended]);
    };
  }

  private serve(by: string, method: string, place: string, body: Obj, copy: boolean, ifMatch?: string): unknown {
    const form = { id: 'f', status: this.status, public_id: 'p', links: {} };
    const answer = (c: Content): Obj => {
      const { name, type, ...definition } = c;
      return { ...form, name, type, definition };
    };
    if (copy && !this.copies) throw { status: 404, code: 'NOT_FOUND' };
    const now = (copy && this.copy) || this.content;
    if (method === 'GET' || method === 'HEAD') return method === 'GET' ? answer(now) : null;
    const id = decodeURIComponent(place.slice('/blocks/'.length));
    const found = now.blocks.find((b) => b.id === id);
    if (place.startsWith('/blocks/') && !found) throw { status: 404, code: 'NOT_FOUND' };
    assert.ok(ifMatch, 'every write has If-Match');
    if (ifMatch !== this.tag(copy)) throw { status: 412, code: 'REVISION_MISMATCH' };
    if (this.status === 'published' && !copy && this.copies) assert.fail('a published form is written itself');
    let after: Content;
    const given = body as { block: Block; blocks: Block[]; name?: string; definition?: Obj };
    if (place === '') after = { ...now, ...(given.definition as Partial<Content>), name: (given.name ?? now.name).trim() };
    else if (method === 'PUT') after = { ...now, blocks: given.blocks };
    else if (method === 'POST') {
      if (findNode(now, given.block.id)) throw { status: 409, code: 'BLOCK_EXISTS' };
      after = { ...now, blocks: [...now.blocks, given.block] };
    } else if (method === 'DELETE') after = { ...now, blocks: now.blocks.filter((b) => b !== found) };
    else after = { ...now, blocks: now.blocks.map((b) => (b === found ? (applyMergePatch(b, given.block) as Block) : b)) };
    after = structuredClone(after);
    const details = this.check(after, place, method, id);
    if (details.length > 0) throw { status: 422, code: 'VALIDATION_FAILED', details };
    this.wrote(by, now, after);
    if (!isEqual(after, now)) {
      if (copy) {
        this.copy = after;
        this.copyRevision++;
      } else {
        this.content = after;
        this.revision++;
      }
      this.history.set(this.tag(copy), after);
    }
    if (place === '') return answer(after);
    if (method === 'PUT') return { items: after.blocks };
    return method === 'DELETE' ? null : method === 'POST' ? after.blocks.at(-1) : after.blocks.find((b) => b.id === id);
  }

  /** Rules, with the places of faults as the API names them; dates are stored in UTC. */
  private check(c: Content, place: string, method: string, id: string): Fault[] {
    const faults: Fault[] = [];
    const ids = new Set<string>();
    const one = (b: Block, at: string): void => {
      const fault = (path: string, code: string): number => faults.push({ path: at + path, code, message: 'm' });
      if (ids.has(b.id)) fault('/id', 'DUPLICATE');
      ids.add(b.id);
      if ((b.label ?? '').includes('bad')) fault('/label', 'TOO_LONG');
      if (isObject(b.properties?.rule) && 'bad' in b.properties.rule) fault('/properties/rule', 'TOO_LONG');
      if (b.properties && typeof b.properties.afterDate === 'string') b.properties.afterDate = b.properties.afterDate.replace('+00:00', 'Z');
      b.choices?.forEach((ch, i) => ch.label?.includes('bad') && fault(`/choices/${i}/label`, 'TOO_LONG'));
      b.children?.forEach((child, i) => one(child, `${at}/children/${i}`));
    };
    const root = place === '' ? '/definition' : '';
    c.blocks.forEach((b, i) => one(b, method === 'PUT' || place === '' ? `${root}/blocks/${i}` : method === 'POST' ? (i === c.blocks.length - 1 ? '/block' : '') : b.id === id ? '/block' : ''));
    if (c.blocks.length > 600) faults.push({ path: method === 'POST' ? '/block' : '/blocks', code: 'TOO_MANY', message: 'm' });
    if (c.settings.bad) faults.push({ path: '/definition/settings/bad', code: 'UNKNOWN_FIELD', message: 'm' });
    return [...faults, ...this.host(c)];
  }
}

/** A browser's store, which keeps what it was given when a page ends, also what it has not answered yet. */
class Shelf implements DraftStorage {
  rows = new Map<string, Draft>();
  constructor(private readonly time: Time) {}
  entries = async (prefix: string): Promise<[string, Draft][]> => {
    const found = structuredClone([...this.rows].filter(([k]) => k.startsWith(prefix)));
    await this.time.wait(30);
    return found;
  };
  put = (key: string, value: Draft | null, others: readonly string[]): Promise<void> => {
    for (const other of others) this.rows.delete(other);
    if (value) this.rows.set(key, structuredClone(value));
    else this.rows.delete(key);
    return this.time.wait(30);
  };
}

const q = (id: string, more: Partial<Block> = {}): Block => ({ id, type: 'short_text', label: id, ...more });
const group = (id: string, children: Block[]): Block => ({ id, type: 'group', label: id, children });
const blocks = (): Block[] => [q('a'), group('g', [q('g1'), q('g2')]), q('b', { type: 'dropdown', choices: [{ id: '1', label: 'One' }, { id: '2', label: 'Two' }] }), q('c')];

class Bench {
  readonly time = new Time();
  readonly service: Service;
  readonly shelf = new Shelf(this.time);
  private made = 0;

  constructor(list: Block[] = blocks(), more: Partial<Content> = {}) {
    this.service = new Service(this.time, list, more);
    AbortSignal.timeout = (milliseconds) => {
      const end = new AbortController();
      this.time.after(milliseconds, () => end.abort());
      return end.signal;
    };
  }

  private readonly pages = new Map<EditorStore, { gone: boolean; waiting?: (() => void)[] | undefined }>();

  make(by = 'user'): EditorStore {
    const page: { gone: boolean; waiting?: (() => void)[] | undefined } = { gone: false };
    const never = new Promise<never>(() => undefined);
    const alive = <T>(p: Promise<T>): Promise<T> => p.then((v) => (page.gone ? never : v), (cause: unknown) => (page.gone ? never : Promise.reject(cause as Error)));
    const clock: Clock = { now: this.time.now, after: (milliseconds, run) => this.time.after(milliseconds, () => page.gone || (page.waiting?.push(run) ?? run())) };
    const request = this.service.request(by);
    const { shelf } = this;
    const storage: DraftStorage = {
      entries: (prefix) => alive(shelf.entries(prefix)),
      put: (key, value, others) => (page.gone ? never : alive(shelf.put(key, value, others))),
    };
    const backend = formBackend((path, options) => (page.gone ? never : alive(request(path, options))), 'f');
    const store = new EditorStore({ backend, key: by + '/f', storage, clock, random: dice(++this.made) });
    this.pages.set(store, page);
    return store;
  }

  /** The page of a store is gone, in the middle of whatever it does. */
  end(store: EditorStore): void {
    const page = this.pages.get(store);
    if (page) page.gone = true;
  }

  /** Events as the browser sends them to a store: its page is left, and kept with its timers standing, and is shown again. */
  listen(store: EditorStore): { leave(): void; comeBack(): void } {
    const window = Object.assign(new EventTarget(), { document: new EventTarget() });
    store.observe(window as unknown as Window);
    const page = this.pages.get(store) as { waiting?: (() => void)[] | undefined };
    return {
      leave: () => {
        window.dispatchEvent(new Event('pagehide'));
        page.waiting = [];
      },
      comeBack: () => {
        const late = page.waiting;
        page.waiting = undefined;
        window.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: true }));
        window.dispatchEvent(new Event('focus'));
        late?.forEach((run) => run());
      },
    };
  }

  async open(by = 'user'): Promise<EditorStore> {
    const store = this.make(by);
    void store.open();
    await this.time.pass(1000);
    return store;
  }

  writes(): string[] {
    return this.service.log.filter((l) => !['GET', 'HEAD'].includes(l.method)).map((l) => `${l.method} ${l.path.replace(/^.*\/forms\/f/, '')} ${l.status}`);
  }
}

const label = (c: Content | null | EditorStore, id: string): unknown => {
  const content = c instanceof EditorStore ? c.shown.value : c;
  return content && findNode(content, id)?.block.label;
};
const order = (c: Content | null): string => c?.blocks.map((b) => b.id + (b.children ? `(${b.children.map((k) => k.id).join()})` : '')).join() ?? '';

test('typing is sent after a pause, and every two seconds', async () => {
  const bench = new Bench();
  const store = await bench.open();
  assert.equal(store.status.value, 'saved');
  for (let i = 1; i <= 40; i++) {
    store.patch('a', { label: 'x'.repeat(i) });
    assert.equal(label(store, 'a'), 'x'.repeat(i));
    assert.notEqual(store.status.value, 'saved');
    await bench.time.pass(100);
  }
  assert.equal(bench.writes().length, 2);
  await bench.time.pass(600);
  assert.deepEqual(bench.writes(), ['PATCH /blocks/a 200', 'PATCH /blocks/a 200']);
  assert.deepEqual([label(bench.service.content, 'a'), store.status.value], ['x'.repeat(40), 'saved']);
  store.patch('a', { label: 'y' });
  void store.flush();
  await bench.time.pass(5);
  assert.equal(store.status.value, 'saving');
  await bench.time.pass(100);
  assert.deepEqual([bench.writes().length, store.status.value], [3, 'saved']);
});

test('a place gets a value: typed in a choice as in a field, and a rule as a whole', async () => {
  const bench = new Bench();
  const store = await bench.open();
  for (const text of ['U', 'Un', 'Uno']) store.set(['blocks', 'b', 'choices', '1', 'label'], text);
  store.set(['blocks', 'b', 'choices', 'no', 'label'], 'x');
  for (const text of ['D', 'Due']) store.patch('b', { choices: [{ id: '1', label: 'Uno' }, { id: '2', label: text }], properties: { otherText: text } });
  await bench.time.pass(400);
  assert.deepEqual(bench.writes(), []);
  await bench.time.pass(400);
  assert.deepEqual(bench.writes(), ['PATCH /blocks/b 200']);
  assert.deepEqual(bench.service.content.blocks[2]?.choices, [{ id: '1', label: 'Uno' }, { id: '2', label: 'Due' }]);
  store.undo();
  store.undo();
  assert.equal(store.find('b')?.block.choices?.[0]?.label, 'One');
  store.set(['blocks', 'a', 'properties', 'rule'], { show: { '==': [1, 2] } });
  store.set(['blocks', 'a', 'properties', 'rule'], { show: { and: [] } });
  store.set(['theme', 'font'], 'Inter');
  store.set(['name'], 'N');
  await bench.time.pass(2000);
  assert.deepEqual([findNode(bench.service.content, 'a')?.block.properties?.rule, bench.service.content.theme, bench.service.content.name], [{ show: { and: [] } }, { font: 'Inter' }, 'N']);
  store.set(['blocks', 'a', 'properties', 'rule'], undefined);
  await bench.time.pass(100);
  assert.deepEqual(findNode(bench.service.content, 'a')?.block.properties, {});
});

test('another name and the rules with it are one step of undo', async () => {
  const bench = new Bench();
  const store = await bench.open();
  store.patchSection('variables', { score: 0 });
  store.set(['blocks', 'a', 'properties', 'rule'], { set: { score: 1 } });
  store.patchSection('settings', { duplicateField: 'a' });
  const before = store.shown.value;
  store.apply((c) => renameField(c, 'variables', 'score', 'points'));
  await bench.time.pass(1000);
  assert.deepEqual([bench.service.content.variables, findNode(bench.service.content, 'a')?.block.properties?.rule, store.status.value], [{ points: 0 }, { set: { points: 1 } }, 'saved']);
  store.undo();
  assert.deepEqual(store.shown.value, before);
  store.remove('a');
  await bench.time.pass(1000);
  assert.deepEqual([bench.service.content.settings, store.status.value], [{}, 'saved']);
  store.undo();
  await bench.time.pass(1000);
  assert.deepEqual([store.shown.value, bench.service.content], [before, before]);
});

test('structure is sent at once, with what was typed', async () => {
  const bench = new Bench();
  const store = await bench.open();
  store.patch('a', { label: 'x' });
  store.move('c', { parent: 'g', index: 1 });
  await bench.time.pass(100);
  assert.deepEqual(bench.writes(), ['PUT /blocks 200']);
  store.add(q('n'));
  await bench.time.pass(100);
  store.remove('a');
  await bench.time.pass(100);
  store.set(['name'], 'New');
  store.patchSection('settings', { closed: true });
  store.set(['hidden_fields'], ['utm']);
  await bench.time.pass(100);
  assert.deepEqual(bench.writes().slice(1), ['POST /blocks 200', 'DELETE /blocks/a 200', 'PATCH  200', 'PATCH  200']);
  assert.equal(order(bench.service.content), 'g(g1,c,g2),b,n');
  assert.deepEqual([bench.service.content.name, store.status.value], ['New', 'saved']);
});

test('a reply that is late takes nothing away that was typed since', async () => {
  const bench = new Bench();
  const store = await bench.open();
  bench.service.fate = () => ({ before: 1500, after: 1500 });
  for (let i = 1; i <= 200; i++) {
    store.patch('a', { label: 'x'.repeat(i) });
    await bench.time.pass(50);
    assert.equal(label(store, 'a'), 'x'.repeat(i));
    assert.notEqual(store.status.value, 'saved');
  }
  await bench.time.pass(10_000);
  assert.deepEqual([label(bench.service.content, 'a'), store.status.value, store.conflicts.value], ['x'.repeat(200), 'saved', []]);
});

test('one write at a time: editing on while the first is held is no conflict', async () => {
  const bench = new Bench();
  const store = await bench.open();
  bench.service.fate = () => ({ before: 5000, after: 5000 });
  store.patch('a', { label: 'one' });
  void store.flush();
  await bench.time.pass(100);
  store.patch('a', { label: 'two' });
  store.patch('b', { label: 'B' });
  store.move('c', { parent: undefined, index: 0 });
  await bench.time.pass(9000);
  assert.equal(bench.writes().length, 1);
  await bench.time.pass(60_000);
  assert.ok(bench.writes().every((w) => w.endsWith('200')));
  assert.deepEqual([label(bench.service.content, 'a'), label(bench.service.content, 'b'), order(bench.service.content)], ['two', 'B', 'c,a,g(g1,g2),b']);
  assert.deepEqual([store.status.value, store.conflicts.value], ['saved', []]);
});

test('others\' edits come by the clock and by focus, and stay', async () => {
  const bench = new Bench();
  const [ann, bob] = [await bench.open('ann'), await bench.open('bob')];
  ann.patch('a', { label: 'ann' });
  bob.patch('c', { label: 'bob' });
  bob.patch('a', { description: 'bob' });
  await bench.time.pass(1000);
  assert.deepEqual([label(bench.service.content, 'a'), label(bench.service.content, 'c')], ['ann', 'bob']);
  assert.equal(findNode(bench.service.content, 'a')?.block.description, 'bob');
  assert.equal(label(ann, 'c'), 'c');
  await bench.time.pass(15_000);
  assert.ok(isEqual(ann.shown.value, bob.shown.value));
  bob.patch('c', { label: 'again' });
  await bench.time.pass(1000);
  void ann.retry();
  await bench.time.pass(100);
  assert.equal(label(ann, 'c'), 'again');
});

test('the same changed twice is asked, and is not sent before the answer', async () => {
  for (const side of ['mine', 'theirs'] as const) {
    const bench = new Bench();
    const [ann, bob] = [await bench.open('ann'), await bench.open('bob')];
    ann.patch('a', { label: 'ann' });
    await bench.time.pass(1000);
    bob.patch('a', { label: 'bob' });
    bob.patch('c', { label: 'bob' });
    await bench.time.pass(2000);
    assert.equal(bob.status.value, 'conflict');
    assert.deepEqual(bob.conflicts.value, [{ path: ['blocks', 'a', 'label'], base: 'a', theirs: 'ann', mine: 'bob' }]);
    assert.deepEqual([label(bob, 'a'), label(bench.service.content, 'a'), label(bench.service.content, 'c')], ['bob', 'ann', 'bob']);
    bob.patch('a', { label: 'bobby' });
    ann.patch('a', { label: 'anna' });
    await bench.time.pass(20_000);
    assert.deepEqual(bob.conflicts.value, [{ path: ['blocks', 'a', 'label'], base: 'a', theirs: 'anna', mine: 'bobby' }]);
    bob.resolve(['blocks', 'a', 'label'], side);
    await bench.time.pass(20_000);
    const wanted = side === 'mine' ? 'bobby' : 'anna';
    assert.deepEqual([label(bench.service.content, 'a'), label(ann, 'a'), label(bob, 'a')], [wanted, wanted, wanted]);
    assert.deepEqual([bob.status.value, bob.conflicts.value], ['saved', []]);
  }
});

test('who takes the own change back has no conflict any more', async () => {
  const bench = new Bench();
  const [ann, bob] = [await bench.open('ann'), await bench.open('bob')];
  ann.patch('a', { label: 'ann' });
  await bench.time.pass(1000);
  bob.patch('a', { label: 'bob' });
  await bench.time.pass(2000);
  bob.undo();
  assert.deepEqual([bob.conflicts.value, label(bob, 'a'), bob.status.value], [[], 'ann', 'saved']);
});

test('removed and changed', async () => {
  for (const side of ['mine', 'theirs'] as const) {
    for (const remover of ['ann', 'bob']) {
      const bench = new Bench();
      const [ann, bob] = [await bench.open('ann'), await bench.open('bob')];
      const [first, second] = [ann, bob];
      if (remover === 'ann') {
        first.remove('g');
        second.patch('g1', { label: 'bob' });
        second.move('c', { parent: 'g', index: 0 });
      } else {
        first.patch('g1', { label: 'ann' });
        await bench.time.pass(1000);
        second.remove('g');
      }
      await bench.time.pass(2000);
      assert.equal(bob.status.value, 'conflict', remover);
      assert.deepEqual(bob.conflicts.value.map((c) => [c.path.join(' '), c.theirs === undefined]), [['blocks g', remover === 'ann']]);
      assert.ok(bob.find('g1'), 'the block is there to look at');
      bob.resolve(['blocks', 'g'], side);
      await bench.time.pass(20_000);
      const stays = (remover === 'bob') === (side === 'theirs');
      assert.equal(findNode(bench.service.content, 'g') !== undefined, stays, `${remover} removed, ${side}`);
      assert.ok(findNode(bench.service.content, 'c'), 'what was moved into it is not removed with it');
      assert.ok(isEqual(ann.shown.value, bob.shown.value));
      assert.equal(bob.status.value, 'saved');
    }
  }
});

test('what is refused is kept and shown, and the rest is saved', async () => {
  const bench = new Bench();
  const store = await bench.open();
  store.patch('g2', { label: 'bad' });
  store.patch('g2', { description: 'good' });
  store.patch('b', { choices: [{ id: '1', label: 'One' }, { id: '3', label: 'bad' }] });
  store.patch('c', { label: 'good', properties: { rule: { bad: true } } });
  store.patchSection('settings', { bad: 1, closed: true });
  await bench.time.pass(2000);
  assert.equal(store.status.value, 'refused');
  assert.deepEqual(store.errors.value.map((f) => `${f.path.join(' ')} ${f.code}`).sort(), [
    'blocks b choices 3 label TOO_LONG', 'blocks c properties rule TOO_LONG', 'blocks g2 label TOO_LONG', 'settings bad UNKNOWN_FIELD',
  ]);
  assert.deepEqual([label(store, 'g2'), label(bench.service.content, 'g2'), findNode(bench.service.content, 'g2')?.block.description], ['bad', 'g2', 'good']);
  assert.deepEqual([label(bench.service.content, 'c'), bench.service.content.settings], ['good', { closed: true }]);
  assert.equal(findNode(store.shown.value as Content, 'b')?.block.choices?.length, 2);
  // A new block that is refused holds nothing else up, and is not lost.
  store.add(q('n', { label: 'bad' }), { parent: 'g', index: 0 });
  store.move('a', { parent: undefined, index: 9 });
  await bench.time.pass(2000);
  assert.deepEqual([order(bench.service.content), order(store.shown.value)], ['g(g1,g2),b,c,a', 'g(n,g1,g2),b,c,a']);
  const before = bench.writes().length;
  await bench.time.pass(60_000);
  assert.equal(bench.writes().length, before, 'it is not sent again and again');
  store.patch('g2', { label: 'right' });
  store.patch('n', { label: 'right' });
  store.patch('b', { choices: [{ id: '1', label: 'One' }] });
  store.patch('c', { properties: { rule: { bad: null } } });
  store.patchSection('settings', { bad: null });
  await bench.time.pass(2000);
  assert.deepEqual([store.status.value, store.errors.value], ['saved', []]);
  assert.ok(isEqual(bench.service.content, store.shown.value));
});

test('a refusal of the whole keeps all of it back and nothing else', async () => {
  const bench = new Bench(Array.from({ length: 600 }, (_, i) => q('q' + i)));
  const store = await bench.open();
  store.patch('q0', { label: 'x' });
  store.add(q('more'), { parent: undefined, index: 0 });
  await bench.time.pass(1000);
  assert.deepEqual([store.status.value, store.errors.value.length, label(bench.service.content, 'q0')], ['refused', 1, 'x']);
  assert.ok(store.find('more'));
  store.remove('q7');
  await bench.time.pass(1000);
  assert.deepEqual([store.status.value, bench.service.content.blocks.length], ['saved', 600]);
});

test('all that a host refuses is shown, once, wherever its paths lead', async () => {
  for (const paths of [[''], ['/definition/blocks'], ['', ''], ['/definition/blocks', '/definition/settings/own'], ['/definition/blocks/1/children/0/label', '/definition/blocks']]) {
    const bench = new Bench();
    const store = await bench.open();
    bench.service.host = (c) => (findNode(c, 'b') && findNode(c, 'c') && label(c, 'g1') === 'g1' ? [] : paths.map((path, i) => ({ path, code: 'OURS', message: `Ours ${i}` })));
    const edits = { 'a block': () => store.remove('b'), 'two blocks': () => (store.remove('b'), store.remove('c')), 'a label': () => store.patch('g1', { label: 'x' }), both: () => (store.patch('g1', { label: 'x' }), store.remove('c')) };
    for (const [name, edit] of Object.entries(edits)) {
      edit();
      await bench.time.pass(2000);
      assert.deepEqual([store.status.value, [...new Set(store.errors.value.map((f) => f.message))].sort(), new Set(store.errors.value.map((f) => f.path.join() + f.message)).size], ['refused', paths.map((_, i) => `Ours ${i}`), store.errors.value.length], `${name}: ${paths.join()}`);
      while (store.canUndo.value) store.undo();
      await bench.time.pass(2000);
      assert.equal(store.status.value, 'saved');
    }
  }
});

test('what others make right is sent once more', async () => {
  const bench = new Bench();
  const store = await bench.open();
  bench.service.fate = (method) => ({ before: 1, after: 1, ...(method === 'PATCH' && { status: 413 }) });
  store.patch('a', { label: 'large' });
  await bench.time.pass(1000);
  assert.deepEqual([store.status.value, store.errors.value.map((f) => f.path.join(' '))], ['refused', ['blocks a label']]);
  bench.service.fate = () => ({ before: 1, after: 1 });
  store.move('c', { parent: undefined, index: 0 });
  await bench.time.pass(1000);
  assert.deepEqual([store.status.value, label(bench.service.content, 'a')], ['saved', 'large']);
});

test('every answer that is none', async () => {
  for (const [status, shown] of [[401, 'signed-out'], [403, 'read-only'], [404, 'gone'], [429, 'unsaved'], [500, 'unsaved'], [503, 'unsaved'], [400, 'refused'], [413, 'refused'], [415, 'refused']] as const) {
    const bench = new Bench();
    const store = await bench.open();
    bench.service.fate = (method) => ({ before: 1, after: 1, retryAfter: status === 429 ? 7 : 0, ...((status !== 400 && status < 410 || method === 'PATCH') && { status }) });
    store.patch('a', { label: 'x' });
    await bench.time.pass(600);
    assert.deepEqual([store.status.value, label(store, 'a')], [shown, 'x'], String(status));
    const asked = bench.service.log.length;
    if (status === 429) {
      void store.retry();
      void store.flush();
      await bench.time.pass(6000);
      assert.equal(bench.service.log.length, asked, 'Retry-After is kept');
    }
    store.patch('c', { label: 'y' });
    await bench.time.pass(600);
    bench.service.fate = () => ({ before: 1, after: 1 });
    void store.retry();
    await bench.time.pass(40_000);
    if (shown === 'refused') store.patch('a', { label: 'xx' });
    if (shown === 'refused') store.patch('c', { label: 'yy' });
    await bench.time.pass(40_000);
    assert.deepEqual([store.status.value, store.conflicts.value, bench.service.content.blocks.map((b) => b.label).join()], ['saved', [], shown === 'refused' ? 'xx,g,b,yy' : 'x,g,b,y'], String(status));
  }
});

test('without a connection edits wait, and are sent when it is back', async () => {
  const bench = new Bench();
  const store = await bench.open();
  bench.service.fate = () => ({ before: 1, after: 1, lost: 'request' });
  store.patch('a', { label: 'x' });
  await bench.time.pass(1000);
  assert.equal(store.status.value, 'offline');
  store.move('c', { parent: undefined, index: 0 });
  const asked = bench.service.log.length;
  await bench.time.pass(300_000);
  assert.ok(bench.service.log.length - asked < 30, 'not too often');
  bench.service.fate = () => ({ before: 1, after: 1 });
  void store.retry();
  await bench.time.pass(1000);
  assert.deepEqual([store.status.value, order(bench.service.content), label(bench.service.content, 'a')], ['saved', 'c,a,g(g1,g2),b', 'x']);
});

test('a request that hangs is given up, and may be done later', async () => {
  const bench = new Bench();
  const store = await bench.open();
  bench.service.fate = (method) => ({ before: method === 'PATCH' ? 40_000 : 1, after: 1 });
  store.patch('a', { label: 'one' });
  await bench.time.pass(1000);
  bench.service.fate = () => ({ before: 1, after: 1 });
  store.patch('a', { label: 'two' });
  store.undo();
  await bench.time.pass(29_000);
  assert.notEqual(store.status.value, 'saved');
  await bench.time.pass(60_000);
  assert.deepEqual([store.status.value, store.conflicts.value, label(store, 'a'), label(bench.service.content, 'a')], ['saved', [], 'a', 'a']);
});

test('a request that gets no answer at all is given up', async () => {
  const bench = new Bench();
  const store = await bench.open();
  bench.service.fate = () => ({ before: 1e9, after: 1 });
  store.patch('a', { label: 'x' });
  await bench.time.pass(1000);
  bench.service.fate = () => ({ before: 1, after: 1 });
  await bench.time.pass(40_000);
  assert.deepEqual([store.status.value, label(bench.service.content, 'a')], ['saved', 'x']);
});

test('what may have been done and was taken back is not saved before that is known', async () => {
  const bench = new Bench();
  const store = await bench.open();
  bench.service.fate = (method) => ({ before: 1, after: 100, status: method === 'PATCH' ? 500 : 503 });
  store.patch('a', { label: 'x' });
  await bench.time.pass(510);
  store.undo();
  await bench.time.pass(600);
  assert.deepEqual([label(store, 'a'), store.status.value], ['a', 'unsaved']);
});

test('a storage without working copies has its forms written themselves', async () => {
  const bench = new Bench();
  bench.service.copies = false;
  bench.service.status = 'published';
  const store = await bench.open();
  store.patch('a', { label: 'x' });
  await bench.time.pass(1000);
  assert.deepEqual([store.status.value, label(bench.service.content, 'a')], ['saved', 'x']);
});

test('a published form is written by its working copy, and so is one that gets published', async () => {
  const bench = new Bench();
  const store = await bench.open();
  store.patch('a', { label: 'x' });
  await bench.time.pass(1000);
  assert.equal(bench.service.log.at(-1)?.path, '/-/v1/forms/f/blocks/a');
  bench.service.status = 'published';
  bench.service.revision++;
  store.patch('a', { label: 'y' });
  await bench.time.pass(1000);
  assert.deepEqual([label(bench.service.content, 'a'), label(bench.service.copy ?? null, 'a'), store.status.value], ['x', 'y', 'saved']);
  assert.equal(store.form.value?.status, 'published');
  // Taken back, with its copy; then the copy is discarded.
  bench.service.status = 'draft';
  bench.service.revision++;
  await bench.time.pass(20_000);
  store.patch('a', { label: 'z' });
  await bench.time.pass(1000);
  assert.deepEqual([label(bench.service.content, 'a'), label(bench.service.copy ?? null, 'a')], ['x', 'z']);
  const other = await bench.open('other');
  other.patch('a', { label: 'zz' });
  await bench.time.pass(20_000);
  assert.deepEqual([label(bench.service.content, 'a'), label(bench.service.copy ?? null, 'a'), label(store, 'a')], ['x', 'zz', 'zz']);
  bench.service.copy = undefined;
  await bench.time.pass(20_000);
  assert.equal(label(store, 'a'), 'x');
  store.patch('a', { label: 'own' });
  await bench.time.pass(1000);
  assert.deepEqual([label(bench.service.content, 'a'), bench.service.copy, store.status.value], ['own', undefined, 'saved']);
});

test('undo and redo', async () => {
  const bench = new Bench();
  const [store, other] = [await bench.open('ann'), await bench.open('bob')];
  for (const text of ['h', 'he', 'hello']) {
    store.patch('a', { label: text });
    await bench.time.pass(300);
  }
  await bench.time.pass(1100);
  store.patch('a', { label: 'hello!' });
  store.patch('c', { label: 'x' });
  store.remove('b');
  assert.ok(store.canUndo.value && !store.canRedo.value);
  assert.deepEqual(store.undo(), [['blocks', 'b']]);
  assert.equal(order(store.shown.value), 'a,g(g1,g2),b,c');
  store.undo();
  store.undo();
  assert.equal(label(store, 'a'), 'hello');
  store.undo();
  assert.deepEqual([label(store, 'a'), store.canUndo.value, store.undo()], ['a', false, []]);
  for (let i = 0; i < 4; i++) store.redo();
  assert.deepEqual([label(store, 'a'), label(store, 'c'), order(store.shown.value), store.canRedo.value], ['hello!', 'x', 'a,g(g1,g2),c', false]);
  await bench.time.pass(20_000);
  other.patch('a', { label: 'theirs' });
  other.patch('g1', { label: 'theirs' });
  await bench.time.pass(20_000);
  store.undo();
  store.undo();
  assert.deepEqual(store.undo(), [], 'what was overwritten is skipped');
  assert.deepEqual([label(store, 'a'), label(store, 'c'), label(store, 'g1'), order(store.shown.value)], ['theirs', 'c', 'theirs', 'a,g(g1,g2),b,c']);
  await bench.time.pass(1000);
  assert.deepEqual([store.status.value, store.conflicts.value], ['saved', []]);
  // A new edit ends what could be done again.
  store.patch('c', { label: 'y' });
  assert.deepEqual([store.canRedo.value, store.redo()], [false, []]);
  // What others did between two keys is theirs.
  await bench.time.pass(5000);
  store.patch('c', { label: 'z' });
  other.patch('c', { description: 'theirs' });
  await bench.time.pass(600);
  void store.refresh();
  await bench.time.pass(100);
  store.patch('c', { label: 'zz' });
  store.undo();
  store.undo();
  assert.deepEqual([label(store, 'c'), store.find('c')?.block.description], ['y', 'theirs']);
});

test('a removal is taken back by itself, whatever was done since', async () => {
  const bench = new Bench();
  const store = await bench.open();
  store.remove('b');
  const takeBack = store.undoLater();
  store.patch('c', { label: 'x' });
  assert.deepEqual(takeBack(), [['blocks', 'b']]);
  assert.deepEqual([order(store.shown.value), label(store, 'c')], ['a,g(g1,g2),b,c', 'x']);
  assert.deepEqual(takeBack(), []); // there is nothing left of it
  store.undo();
  assert.deepEqual([order(store.shown.value), label(store, 'c')], ['a,g(g1,g2),c', 'x']);
  store.undo();
  store.undo();
  assert.equal(order(store.shown.value), 'a,g(g1,g2),b,c');
  takeBack();
  assert.ok(store.canRedo.value, 'what was undone is not undone again');
});

test('what the service writes in its own way is shown so, and can be undone', async () => {
  const bench = new Bench();
  const store = await bench.open();
  store.add(q('n', { properties: { afterDate: '2026-01-01T00:00:00+00:00' } }));
  store.set(['name'], ' Name ');
  await bench.time.pass(1000);
  assert.deepEqual([findNode(store.shown.value as Content, 'n')?.block.properties?.afterDate, store.shown.value?.name, store.status.value], ['2026-01-01T00:00:00Z', 'Name', 'saved']);
  store.undo();
  store.undo();
  assert.deepEqual([order(store.shown.value), store.shown.value?.name], ['a,g(g1,g2),b,c', 'Form']);
});

test('a page that ends at any step loses nothing', async () => {
  for (let step = 0; step < 60; step++) {
    const bench = new Bench();
    let store = await bench.open();
    bench.service.fate = () => ({ before: 60, after: 60 });
    store.patch('a', { label: 'x' });
    store.patch('g1', { label: 'y' });
    await bench.time.pass(step * 17);
    store.move('c', { parent: undefined, index: 0 });
    store.patch('a', { label: 'xx' });
    await bench.time.pass(step * 13);
    const saved = store.status.value === 'saved';
    if (step % 2 === 0) store.onHide();
    else await bench.time.pass(250);
    await settled();
    const wanted = store.shown.value;
    bench.end(store);
    if (saved) assert.ok(isEqual(bench.service.content, wanted), `step ${step}: what is shown as saved is`);
    store = await bench.open();
    assert.ok(isEqual(store.shown.value, wanted), `step ${step}: ${order(store.shown.value)} ${String(label(store, 'a'))}`);
    await bench.time.pass(5000);
    assert.deepEqual([store.status.value, store.conflicts.value], ['saved', []], `step ${step}`);
    assert.ok(isEqual(bench.service.content, wanted), `step ${step}`);
    assert.equal(bench.shelf.rows.size, 0, `step ${step}: nothing waits any more`);
  }
});

test('a page that goes right after something was saved has no conflict with itself', async () => {
  for (let wait = 0; wait < 400; wait += 10) {
    for (const lost of ['request', undefined] as const) {
      const bench = new Bench();
      let store = await bench.open();
      store.patch('a', { label: 'x' });
      await bench.time.pass(450);
      store.patch('c', { label: 'x' });
      void store.flush();
      await bench.time.pass(wait);
      store.patch('a', { label: 'y' });
      bench.service.fate = () => ({ before: 10, after: 10, ...(lost && { lost }) });
      store.onHide();
      await settled();
      bench.end(store);
      await bench.time.pass(1000);
      bench.service.fate = () => ({ before: 10, after: 10 });
      store = await bench.open();
      assert.deepEqual([store.status.value, store.conflicts.value, label(store, 'a'), label(bench.service.content, 'a')], ['saved', [], 'y', 'y'], `${wait} ${lost}`);
    }
  }
});

test('a page that comes back after its edits went on elsewhere has no conflict with itself, and takes nothing back', async () => {
  for (const next of ['y', 'a', 'x', undefined] as const) {
    for (const reached of [true, false]) {
      const bench = new Bench();
      const labels = (): unknown => bench.service.content.blocks.map((b) => b.label);
      const first = await bench.open();
      const page = bench.listen(first);
      first.patch('a', { label: 'x' });
      first.patch('b', { label: 'x' });
      bench.service.fate = () => ({ before: 10, after: 10, ...(!reached && { lost: 'request' }) });
      page.leave();
      await bench.time.pass(1000);
      bench.service.fate = () => ({ before: 10, after: 10 });
      if (next !== undefined) {
        const second = await bench.open();
        second.patch('a', { label: next });
        await bench.time.pass(1000);
        second.onHide();
        bench.end(second);
        assert.deepEqual([labels(), bench.shelf.rows.size], [[next, 'g', 'x', 'c'], 0]);
      }
      page.comeBack();
      await settled();
      first.patch('c', { label: 'z' }); // before anything is read
      let clashes = 0;
      await bench.time.pass(3000, () => (clashes += first.conflicts.value.length));
      const wanted = [next ?? 'x', 'g', 'x', 'z'];
      assert.deepEqual([clashes, first.status.value, first.shown.value?.blocks.map((b) => b.label)], [0, 'saved', wanted], `${next} ${reached}`);
      assert.deepEqual([labels(), bench.shelf.rows.size], [wanted, 0]);
    }
  }
});

test('a page that comes back keeps what the browser could not keep, and has what waits of the page between', async () => {
  const bench = new Bench();
  const lost = (): Fate => ({ before: 10, after: 10, lost: 'request' });
  const { fate } = bench.service;
  const { put } = bench.shelf;
  const store = await bench.open();
  const page = bench.listen(store);
  bench.shelf.put = () => Promise.reject(new Error('full'));
  bench.service.fate = lost;
  store.patch('a', { label: 'x' });
  page.leave();
  await bench.time.pass(1000);
  bench.service.fate = fate;
  page.comeBack();
  await bench.time.pass(3000);
  assert.deepEqual([store.status.value, label(bench.service.content, 'a')], ['saved', 'x']);

  bench.shelf.put = put;
  bench.service.fate = lost;
  store.patch('a', { label: 'xx' });
  page.leave();
  await bench.time.pass(1000);
  const between = await bench.open();
  between.patch('a', { label: 'xxx' });
  between.onHide();
  await settled();
  bench.end(between);
  bench.service.fate = fate;
  page.comeBack();
  await bench.time.pass(3000);
  assert.deepEqual([store.status.value, store.conflicts.value, label(bench.service.content, 'a'), bench.shelf.rows.size], ['saved', [], 'xxx', 0]);
});

test('nothing is read or shown as saved before what waits in the browser is there', async () => {
  const bench = new Bench();
  const first = await bench.open();
  bench.service.fate = () => ({ before: 1, after: 1, lost: 'request' });
  first.patch('a', { label: 'x' });
  await bench.time.pass(1000);
  bench.end(first);
  bench.service.fate = () => ({ before: 1, after: 1 });
  const store = bench.make();
  void store.open();
  void store.retry(); // as an event of the page does
  await bench.time.pass(20);
  assert.deepEqual([store.status.value, store.shown.value], ['loading', null]);
  await bench.time.pass(1000);
  assert.deepEqual([store.status.value, label(store, 'a'), label(bench.service.content, 'a')], ['saved', 'x', 'x']);
});

test('opening without a connection shows what waits', async () => {
  const bench = new Bench();
  const first = await bench.open();
  bench.service.fate = () => ({ before: 1, after: 1, lost: 'request' });
  first.patch('a', { label: 'x' });
  await bench.time.pass(1000);
  void first.close();
  await bench.time.pass(1000);
  const store = await bench.open();
  assert.deepEqual([store.status.value, label(store, 'a')], ['offline', 'x']);
  const nobody = await bench.open('other');
  assert.deepEqual([nobody.status.value, nobody.shown.value], ['offline', null]);
  bench.service.fate = () => ({ before: 1, after: 1 });
  await bench.time.pass(40_000);
  assert.deepEqual([store.status.value, label(bench.service.content, 'a'), nobody.status.value, label(nobody, 'a')], ['saved', 'x', 'saved', 'x']);
});

test('edits of others and a conflict wait with the page', async () => {
  const bench = new Bench();
  const [ann, bob] = [await bench.open('ann'), await bench.open('bob')];
  ann.patch('a', { label: 'ann' });
  await bench.time.pass(1000);
  bob.patch('a', { label: 'bob' });
  await bench.time.pass(2000);
  void bob.close();
  await bench.time.pass(1000);
  ann.patch('c', { label: 'ann' });
  await bench.time.pass(1000);
  const again = await bench.open('bob');
  assert.deepEqual([again.status.value, label(again, 'a'), label(again, 'c'), again.conflicts.value.length], ['conflict', 'bob', 'ann', 1]);
});

test('leaving sends one write of at most 64 KiB that outlives the page', async () => {
  for (const [size, method] of [[10, 'PATCH'], [70_000, 'none'], [40_000, 'PATCH']] as const) {
    const bench = new Bench();
    const store = await bench.open();
    store.patch('a', { label: 'x'.repeat(size) });
    store.patch('c', { label: 'x'.repeat(size) });
    store.onHide();
    await bench.time.pass(100);
    const last = bench.service.log.at(-1);
    assert.equal(last?.keepalive ? last.method : 'none', method, String(size));
    assert.equal(bench.shelf.rows.size, 1);
    if (size === 10) assert.equal(label(bench.service.content, 'c'), 'x'.repeat(10));
    // The page comes back.
    void store.retry();
    await bench.time.pass(1000);
    assert.deepEqual([store.status.value, store.conflicts.value, label(bench.service.content, 'c')], ['saved', [], 'x'.repeat(size)]);
  }
});

/** All values of a content by their places, and '•' for each block and choice that is there. */
function leaves(c: Content): Map<string, string> {
  const found = new Map<string, string>();
  const walk = (v: unknown, at: string): void => {
    if (Array.isArray(v) && v.length > 0 && v.every((item) => isObject(item) && typeof item.id === 'string')) {
      for (const item of v as { id: string }[]) {
        found.set(`${at}/${item.id}`, '•');
        walk(item, `${at}/${item.id}`);
      }
    } else if (isObject(v) && !/\/rule\/./.test(at)) for (const [n, inner] of Object.entries(v)) walk(inner, `${at}/${n}`);
    else if (!Array.isArray(v) || v.length > 0) found.set(at, JSON.stringify(v));
  };
  const { blocks: list, hidden_fields: hidden, ...rest } = c;
  walk(rest, '');
  for (const name of hidden) found.set('/hidden_fields/' + name, '•');
  const add = (of: Block[]): void => of.forEach(({ children, ...own }) => {
    found.set('/blocks/' + own.id, '•');
    walk(own, '/blocks/' + own.id);
    add(children ?? []);
  });
  add(list);
  return found;
}

interface Page {
  by: string;
  store: EditorStore;
  shown: Content | null; // when it was looked at last
  base: Content | null;
  values: Map<string, string>;
  unsent: Map<string, string | undefined>;
  conflicts: string[];
}

/** Pages of several users who edit one form at random, and what must hold all the time. */
class World {
  readonly bench = new Bench();
  readonly pages: Page[] = [];
  private readonly seen = new Map<string, Map<string, Set<string>>>();
  private texts = 0;
  conflicts = 0;

  constructor(private readonly random: () => number) {
    // What a write takes away was seen by who takes it away.
    this.bench.service.wrote = (by, before, after) => {
      const now = leaves(after);
      for (const [at, value] of leaves(before)) {
        if (now.get(at) !== value) assert.ok(this.seen.get(by)?.get(at)?.has(value), `${by} overwrites ${at} ${value}, which nobody there has seen, with ${now.get(at) ?? 'nothing'}`);
      }
    };
  }

  chance(of: number): boolean {
    return this.random() < of;
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.random() * list.length)] as T;
  }

  async open(by: string, lossless?: Page): Promise<Page> {
    const page = lossless ?? { by, store: undefined as never, shown: null, base: null, values: new Map<string, string>(), unsent: new Map<string, string | undefined>(), conflicts: [] };
    page.store = this.bench.make(by);
    page.shown = null;
    if (!lossless) this.pages.push(page);
    void page.store.open();
    for (let i = 0; i < 200 && !page.store.shown.value; i++) await this.pass(1000);
    return page;
  }

  pass(milliseconds: number): Promise<void> {
    return this.bench.time.pass(milliseconds, () => {
      if (this.bench.service.fault) throw this.bench.service.fault;
      this.pages.forEach((p) => this.look(p));
    });
  }

  /** Looks at a page after something happened that its user did not do. */
  look(page: Page, acted = false): void {
    const { store } = page;
    const shown = store.shown.value;
    if (!shown) return;
    const conflicts = store.conflicts.value.map((c) => '/' + c.path.join('/'));
    if (store.status.value === 'saved') assert.ok(isEqual(shown, this.bench.service.history.get(store['draft'].value?.known.etag ?? '')), 'what is shown as saved is not');
    const base = store['draft'].value?.known.content as Content;
    if (shown === page.shown && base === page.base && isEqual(conflicts, page.conflicts) && !acted) return;
    const values = shown === page.shown ? page.values : leaves(shown);
    const seen = this.seen.get(page.by) ?? new Map<string, Set<string>>();
    this.seen.set(page.by, seen);
    const see = (at: string, v: string): void => void seen.set(at, (seen.get(at) ?? new Set()).add(v));
    if (shown !== page.shown) values.forEach((v, at) => see(at, v));
    for (const c of store.conflicts.value) {
      for (const [at, v] of leaves(base)) if (at.startsWith('/' + c.path.join('/')) || this.isIn(base, at, c.path)) see(at, v);
    }
    const covered = (at: string): boolean =>
      [...conflicts, ...page.conflicts].some((c) => at.startsWith(c) || [shown, page.shown].some((of) => of && this.isIn(of, at, c.split('/').slice(1))));
    if (!acted) {
      for (const [at, v] of page.unsent) {
        const now = values.get(at);
        const alike = (text?: string): string | undefined => text?.replace('+00:00', 'Z').trim();
        assert.ok(alike(now) === alike(v) || covered(at), `${page.by} had ${at} ${v ?? 'removed'} unsent, and it is ${now ?? 'removed'} without a word`);
      }
    }
    this.conflicts += conflicts.filter((c) => !page.conflicts.includes(c)).length;
    const there = leaves(base);
    page.unsent = new Map([...new Set([...values.keys(), ...there.keys()])].filter((at) => values.get(at) !== there.get(at)).map((at) => [at, values.get(at)]));
    page.shown = shown;
    page.base = base;
    page.values = values;
    page.conflicts = conflicts;
  }

  private isIn(c: Content, at: string, path: readonly string[]): boolean {
    if (path.length !== 2 || path[0] !== 'blocks') return false;
    for (let up = at.split('/')[2]; up; up = findNode(c, up)?.parent) if (up === path[1]) return true;
    return false;
  }

  /** Something that a user does. */
  act(page: Page): void {
    this.look(page);
    const { store } = page;
    const shown = store.shown.value;
    if (!shown) return;
    const all: Block[] = [];
    const walk = (list: Block[]): void => list.forEach((b) => { all.push(b); walk(b.children ?? []); });
    walk(shown.blocks);
    const block = this.chance(0.5) ? (all[0] as Block) : this.pick(all);
    const groups = all.filter((b) => b.type === 'group').map((b) => b.id);
    const place = () => ({ parent: this.chance(0.4) ? this.pick(groups) : undefined, index: Math.floor(this.random() * 8) });
    const text = (): string => `${page.by} ${this.texts++}${this.chance(0.02) ? ' bad' : ''}`;
    switch (Math.floor(this.random() * 19)) {
      case 0: store.add(this.chance(0.3) ? group(store.newId(), [q(store.newId())]) : q(store.newId(), { properties: { afterDate: '2026-01-01T00:00:00Z' } }), place()); break;
      case 1: case 2: if (all.length > 8) store.remove(this.pick(all).id); break;
      case 3: case 4: store.move(block.id, place()); break;
      case 5: if (all.length < 16) store.duplicate(block.id); break;
      case 6: store.patch(block.id, { type: this.pick(['short_text', 'dropdown', 'matrix']), choices: this.pick([null, [{ id: '1' }]]), children: null }); break;
      case 7: store.patchSection(this.pick(['settings', 'theme', 'variables']), { [this.pick(['p', 'q'])]: this.pick([text(), null, { r: text() }]) }); break;
      case 8: store.set(['name'], text()); break;
      case 9: store.set(['hidden_fields'], [...shown.hidden_fields.filter(() => this.chance(0.7)), ...(this.chance(0.5) ? [text()] : [])]); break;
      case 10: case 11: store.patch(block.id, { choices: [...(block.choices ?? []).filter(() => this.chance(0.8)).map((ch) => (this.chance(0.3) ? { ...ch, label: text() } : ch)), ...(this.chance(0.3) ? [{ id: store.newId(), label: text() }] : [])] }); break;
      case 12: store.undo(); break;
      case 13: store.redo(); break;
      case 14: store.patch(block.id, { properties: { [this.pick(['min', 'max'])]: this.pick([this.texts++, null]), rule: this.pick([null, { show: { '==': [this.texts++, 1] } }]) } }); break;
      case 15: for (const c of store.conflicts.value.slice(0, 2)) store.resolve(c.path, this.pick(['mine', 'theirs'])); break;
      default: store.patch(block.id, { label: text() });
    }
    if (this.chance(0.1)) void store.flush();
    if (this.chance(0.02)) void store.retry();
    this.look(page, true);
  }

  /** The page ends, with a word or without one, and is opened again. */
  async end(page: Page): Promise<void> {
    this.look(page);
    if (this.chance(0.5)) page.store.onHide();
    else await this.pass(250);
    await settled();
    this.look(page);
    this.bench.end(page.store);
    await this.open(page.by, page);
  }

  /** Everybody answers and corrects what is asked, and waits. */
  async calm(): Promise<void> {
    this.bench.service.fate = () => ({ before: 5, after: 5 });
    const quiet = (): boolean => this.pages.every((p) => p.store.status.value === 'saved' && isEqual(p.store.shown.value, this.bench.service.copy ?? this.bench.service.content));
    for (let i = 0; i < 100 && !(i > 0 && quiet()); i++) {
      for (const page of this.pages) {
        const { store } = page;
        for (const c of store.conflicts.value) store.resolve(c.path, this.pick(['mine', 'theirs']));
        for (const f of store.errors.value) {
          const [, id = '', name, choice] = f.path;
          const choices = store.find(id)?.block.choices ?? [];
          store.patch(id, name === 'choices' ? { choices: choices.map((ch) => (ch.id === choice ? { ...ch, label: 'right' } : ch)) } : { label: 'right' });
        }
        this.look(page, true);
      }
      await this.pass(20_000);
    }
    const all = this.pages.map(({ by, store }) => `${by}: ${store.status.value} ${JSON.stringify([store.conflicts.value, store.errors.value])}`);
    assert.ok(quiet(), `they do not come together\n${all.join('\n')}`);
  }
}

/** Delays, losses, refusals by number, times without a service. */
const weather = (world: World, faults: number) => {
  let down = 0;
  return (): Fate => {
    const fate: Fate = { before: world.pick([1, 50, 300]), after: world.pick([1, 50, 300]) };
    if (down > 0) down--;
    else if (world.chance(faults / 20)) down = 8;
    else if (world.chance(faults)) {
      return world.pick<Fate>([
        { ...fate, lost: 'request' }, { ...fate, lost: 'reply' }, { ...fate, status: 500 }, { ...fate, status: 503, retryAfter: 2 }, { ...fate, status: 429, retryAfter: 1 },
        { ...fate, status: 401 }, { before: 40_000, after: 1 }, { before: 1, after: 40_000 }, { before: 1, after: 29_990, lost: 'reply' },
      ]);
    } else return fate;
    return { ...fate, lost: 'request' };
  };
};

const runs = Number(env.RUNS ?? 0);

test('one user with a bad connection never has a conflict', async () => {
  for (let seed = Number(env.FROM ?? 1); seed <= (runs || 5); seed++) {
    const world = new World(dice(seed));
    const page = await world.open('ann');
    world.bench.service.fate = weather(world, 0.2);
    for (let i = 0; i < 200; i++) {
      world.act(page);
      if (world.chance(0.02)) await world.end(page);
      await world.pass(world.pick([0, 20, 200, 1200, world.chance(0.1) ? 60_000 : 0]));
      assert.deepEqual(page.store.conflicts.value, [], `seed ${seed}, edit ${i}`);
    }
    await world.calm();
  }
});

test('undoing everything gives the beginning, doing it again the end', async () => {
  for (let seed = Number(env.FROM ?? 1); seed <= (runs || 5); seed++) {
    const world = new World(dice(seed * 77));
    const page = await world.open('ann');
    world.bench.service.fate = weather(world, 0.1);
    const { store } = page;
    const beginning = store.shown.value;
    for (let i = 0; i < 150; i++) {
      world.act(page);
      await world.pass(world.pick([0, 20, 1200]));
    }
    while (store.canRedo.value) store.redo();
    const end = store.shown.value;
    while (store.canUndo.value) {
      store.undo();
      if (world.chance(0.3)) await world.bench.time.pass(700);
    }
    assert.ok(isEqual(store.shown.value, beginning), `seed ${seed}: the beginning`);
    while (store.canRedo.value) {
      store.redo();
      if (world.chance(0.3)) await world.bench.time.pass(700);
    }
    assert.ok(isEqual(store.shown.value, end), `seed ${seed}: the end`);
  }
});

for (const [users, edits, faults] of [[2, 1000, 0.05], [3, 1000, 0.05], [2, 300, 0]] as const) {
  test(`${users} users with ${edits} edits each${faults ? ' and a bad connection' : ''} come together and lose nothing`, async () => {
    for (let seed = Number(env.FROM ?? 1); seed <= (runs || 1); seed++) {
      const world = new World(dice(seed * 1000 + users));
      for (let i = 0; i < users; i++) await world.open('user' + i);
      world.bench.service.fate = weather(world, faults);
      try {
        for (let i = 0; i < users * edits; i++) {
          const page = world.pick(world.pages);
          world.act(page);
          if (world.chance(0.002)) await world.end(page);
          await world.pass(world.pick([0, 20, 200, 1200, world.chance(0.02) ? 20_000 : 0]));
        }
        await world.calm();
      } catch (cause) {
        throw new Error(`seed ${seed}: ${(cause as Error).message}`, { cause });
      }
      console.log(`${users} users: ${world.bench.service.log.length} requests, ${world.conflicts} conflicts, revision ${world.bench.service.revision}`);
    }
  });
}

test('500 blocks: an edit, a move and an undo take less than 50 ms', async () => {
  const list = Array.from({ length: 500 }, (_, i) => q('q' + i, { description: 'd'.repeat(200), choices: [{ id: '1', label: 'a' }, { id: '2', label: 'b' }], properties: { min: i, rule: { show: { '==': [{ var: 'answers.q1' }, '1'] } } } }));
  const bench = new Bench(list);
  const store = await bench.open();
  const least: Record<string, number> = {};
  const measure = (name: string, run: () => void): void => {
    const begin = performance.now();
    run();
    least[name] = Math.min(least[name] ?? Infinity, performance.now() - begin);
  };
  for (let i = 0; i < 10; i++) {
    measure('edit', () => store.patch('q250', { label: 'x' + String(i) }));
    measure('move', () => store.move('q499', { parent: undefined, index: i }));
    measure('undo', () => store.undo());
    measure('redo', () => store.redo());
    await bench.time.pass(1000);
    assert.equal(store.status.value, 'saved');
  }
  console.log('ms:', JSON.stringify(least));
  for (const [name, milliseconds] of Object.entries(least)) assert.ok(milliseconds < 50, `${name}: ${milliseconds} ms`);
});
