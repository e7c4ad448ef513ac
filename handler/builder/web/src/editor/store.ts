// The state of the editor: a form as it is shown, and its way to the service.
//
// base is the content that the service had last, mine the one that is shown; what differs is unsent. One
// write is under way at most, always on the condition that nobody else wrote. What others did is merged by id and
// member, see merge.ts. Undo does the way from after to before once more, to what is there now.
import { batch, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import * as edits from './edits';
import type { Block } from '../app/records';
import type { KeyValue, Saved } from './offline';
import {
  changes, contentOf, drop, find, flat, get, isWithin, merge, placeOf, plan, planAll, redo, same, samePath, set, share, typedIn, unit, withhold, written,
  type Conflict, type Content, type Obj, type Path, type Write,
} from './merge';

export type Status = 'loading' | 'saved' | 'saving' | 'unsaved' | 'offline' | 'signed-out' | 'refused' | 'conflict' | 'read-only' | 'gone';

/** What the service said of a value that it refused. */
export interface Fault {
  path: Path;
  code: string;
  message: string;
}

/** An answer of the service; status 0 when there was none. */
export interface Reply {
  status: number;
  etag: string;
  body: unknown; // of a success
  code: string;
  message: string;
  details: { path: string; code: string; message: string }[];
  retryAfter: number; // seconds
}

export interface Backend {
  /** The whole form. After it, writes go to where it was read. */
  read(): Promise<Reply>;
  write(write: Write, etag: string, keepalive: boolean): Promise<Reply>;
}

export interface Clock {
  now(): number; // milliseconds
  after(milliseconds: number, run: () => void): () => void; // returns what cancels it
}

export const browserClock: Clock = {
  now: () => Date.now(),
  after: (milliseconds, run) => {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
};

export interface Options {
  backend: Backend;
  /** User and form: unsent edits lie below it. */
  key: string;
  storage: KeyValue;
  clock?: Clock;
  random?: () => number;
}

const pause = 500; // after the last key
const longest = 2000; // after the first unsent key
const mergeTyping = 1000; // into one step of undo
const pollEvery = 15_000;
const persistEvery = 250;
const firstRetry = 1000;
const lastRetry = 30_000;
const keepaliveBytes = 65_536; // the bound of fetch
const undoSteps = 500;

interface Step {
  before: Content;
  after: Content;
  key: string;
  at: number;
}

/** A unit of the form that is kept back because it was refused, until it is another value. */
interface Refused {
  part: Path;
  value: unknown;
  faults: Fault[];
  etag: string; // at which it was refused
  again: boolean; // is sent once more
}

export class EditorStore {
  private readonly shownSignal = signal<Content | null>(null);
  private readonly statusSignal = signal<Status>('loading');
  private readonly formSignal = signal<Obj | null>(null);
  private readonly conflictsSignal: Signal<Conflict[]> = signal([]);
  private readonly faultsSignal: Signal<Fault[]> = signal([]);
  private readonly undoSignal = signal(false);
  private readonly redoSignal = signal(false);

  /**
   * The content with all edits; null until it was read. The service writes some values in its own way, such
   * as a name without the spaces around it: a field that has the focus keeps the text that is in it.
   */
  readonly shown: ReadonlySignal<Content | null> = this.shownSignal;
  /** 'saved' only while the service has everything. 'loading' is until the first read. */
  readonly status: ReadonlySignal<Status> = this.statusSignal;
  /** The members of the form beside its content, as last read: id, status, public_id, links … */
  readonly form: ReadonlySignal<Obj | null> = this.formSignal;
  /** What was changed here and elsewhere. What overlaps is not sent before resolve. */
  readonly conflicts: ReadonlySignal<Conflict[]> = this.conflictsSignal;
  /** What the service refused; it is shown and kept here. */
  readonly faults: ReadonlySignal<Fault[]> = this.faultsSignal;
  readonly canUndo: ReadonlySignal<boolean> = this.undoSignal;
  readonly canRedo: ReadonlySignal<boolean> = this.redoSignal;

  private readonly clock: Clock;
  private readonly random: () => number;
  private base: Content | null = null;
  private etag = '';
  private mine: Content | null = null;
  private sent: Content[] = []; // what the form is after the write under way, or one without an answer
  private clashes: Conflict[] = [];
  private refused: Refused[] = [];
  private past: Step[] = [];
  private future: Step[] = [];

  private running: Promise<void> | undefined;
  private writing = false;
  private due = false;
  private mustRead = false;
  private unreachable = false;
  private blocked: '' | 'signed-out' | 'read-only' | 'gone' = '';
  private blockedByWrite = false;
  private outdated = ''; // the ETag that the service did not take, though it was read before
  private failures = 0;
  private notBefore = 0;
  private limited = false; // notBefore is the service's wish
  private opened = false; // what waits in the browser is here
  private closed = false;
  private firstUnsent = 0;
  private cancelSave: (() => void) | undefined;
  private cancelRetry: (() => void) | undefined;
  private cancelPoll: (() => void) | undefined;

  private readonly storageKey: string;
  private adopted: [string, Saved][] = []; // unsent edits of pages that are gone, which are not in mine yet
  private takes: string[] = []; // the keys of those that are, until they are deleted
  private persisted: Saved | null = null;
  private kept: Saved | null = null; // what the browser certainly has of persisted, or had
  private taken: Saved | undefined; // what another page took over while this one was away, until the form is read
  private persisting: Promise<void> = Promise.resolve();
  private cancelPersist: (() => void) | undefined;

  constructor(private readonly options: Options) {
    this.clock = options.clock ?? browserClock;
    this.random = options.random ?? Math.random;
    this.storageKey = `${options.key}/${Math.floor(this.random() * 2 ** 48).toString(36)}`;
  }

  // Opening and closing --------------------------------------------------------------------------

  /** Reads the form and puts unsent edits back. Resolves when something is shown, or cannot be. */
  async open(): Promise<void> {
    const kept = await this.options.storage.entries(this.options.key + '/').catch(() => []);
    this.adopted = kept;
    const [key, saved] = this.adopted.shift() ?? [];
    if (key !== undefined && saved) {
      this.takes.push(key);
      this.base = saved.base;
      this.etag = saved.etag;
      this.mine = saved.mine;
      this.sent = saved.sent;
      this.clashes = saved.conflicts;
    }
    this.opened = this.due = this.mustRead = true;
    await this.pump();
    if (!this.closed) this.poll();
  }

  /** Follows the page: focus, connection, hiding and leaving. Returns what ends it. */
  listen(page: Window): () => void {
    const back = (): void => void this.retry();
    const shown = (e: Event): void => void ((e as PageTransitionEvent).persisted ? this.comeBack() : this.retry());
    const hidden = (): void => void (page.document.visibilityState === 'hidden' && this.flush());
    const leave = (): void => this.leave();
    const ways: [EventTarget, string, (e: Event) => void][] = [
      [page, 'focus', back], [page, 'online', back], [page, 'pageshow', shown], [page, 'pagehide', leave], [page.document, 'visibilitychange', hidden],
    ];
    for (const [on, event, run] of ways) on.addEventListener(event, run);
    return () => ways.forEach(([on, event, run]) => on.removeEventListener(event, run));
  }

  /** Sends what is unsent and ends. What cannot be sent waits in the browser. */
  async close(): Promise<void> {
    this.cancelPoll?.();
    await this.flush();
    this.closed = true;
    this.cancelRetry?.();
    this.cancelSave?.();
    this.persist(true);
    await this.persisting;
  }

  /** The page goes away: one last write that outlives it, as far as the browser takes it. */
  leave(): void {
    const write = this.base && this.blocked === '' ? this.lastWrite(this.base) : undefined;
    if (write && this.base) {
      this.sent = [...this.sent, write.after];
      this.mustRead = this.due = true; // should the page come back
    }
    this.persist(true);
    if (write) void this.options.backend.write(write, this.etag, true).catch(() => undefined);
  }

  /** The page is shown again that was left: what waited in the browser may be on another page since, and be edited there. */
  private async comeBack(): Promise<void> {
    if (!this.opened) return;
    this.opened = false; // nothing is sent before that is known
    await this.persisting;
    const rows = await this.options.storage.entries(this.options.key + '/').catch(() => undefined);
    if (this.kept && rows && !rows.some(([key]) => key === this.storageKey)) {
      this.taken = this.kept;
      this.adopted.push(...rows);
      this.kept = this.persisted = null;
    }
    this.opened = true;
    await this.retry();
  }

  private lastWrite(base: Content): Write | undefined {
    const target = this.target(base);
    return [planAll(base, target), plan(base, target)].find((w) => w && new TextEncoder().encode(JSON.stringify(w.body ?? '')).length < keepaliveBytes);
  }

  // Edits ---------------------------------------------------------------------------------------

  /**
   * Gives a place another value, undefined for none: ['blocks', id, 'choices', choice, 'label'],
   * ['theme', 'font'], ['name'].
   */
  set(path: Path, value: unknown): void {
    this.apply((c) => set(c, path, value));
  }

  /** Merges a patch (RFC 7396) into a block: several members at once. children: null puts its children behind it. */
  patch(id: string, patch: Partial<Record<keyof Block, unknown>>): void {
    this.apply((c) => edits.patchBlock(c, id, patch));
  }

  patchSection(section: edits.Section, patch: Obj): void {
    this.apply((c) => edits.patchSection(c, section, patch));
  }

  rename(name: string): void {
    this.apply((c) => edits.rename(c, name));
  }

  setHiddenFields(names: string[]): void {
    this.apply((c) => edits.setHiddenFields(c, names));
  }

  /** Adds a block; its id has to be new, see newId. */
  add(block: Block, place: edits.Place = { parent: undefined, index: Infinity }): void {
    this.apply((c) => edits.addBlock(c, block, place));
  }

  remove(id: string): void {
    this.apply((c) => edits.removeBlock(c, id));
  }

  move(id: string, place: edits.Place): void {
    this.apply((c) => edits.moveBlock(c, id, place));
  }

  /** Puts a copy behind a block and returns its id. */
  duplicate(id: string): string {
    let made = '';
    this.apply((c) => {
      const copy = edits.duplicate(c, id, this.random);
      made = copy.id;
      return copy.content;
    });
    return made;
  }

  newId(): string {
    return edits.newId(this.mine as Content, this.random);
  }

  /** A block of any depth as it is shown, and the id of its parent, '' at the top. */
  find(id: string): { block: Block; parent: string } | undefined {
    const content = this.shownSignal.value;
    return content ? find(content, id) : undefined;
  }

  /**
   * Does an edit of any kind, by a function that leaves the content as it is and returns a new one. One that
   * only changes texts and numbers is typing: it is sent after a pause, and is one step of undo with what
   * changes the same places within a second. Every other one is sent at once.
   */
  apply(edit: (c: Content) => Content): void {
    const before = this.mine;
    const after = before && edit(before);
    if (!before || !after) return;
    const typed = typedIn(before, after);
    if (typed?.length === 0) return; // nothing changed
    const key = typed?.join('\n') ?? '';
    const at = this.clock.now();
    const last = this.past.at(-1);
    if (key !== '' && last?.key === key && at - last.at <= mergeTyping && same(last.after, before)) {
      this.past[this.past.length - 1] = { ...last, after, at };
    } else this.past = [...this.past, { before, after, key, at }].slice(-undoSteps);
    this.future = [];
    this.become(after, key === '');
  }

  /** Undoes the last edit that can be; what others changed stays. Returns what changed. */
  undo(): Path[] {
    return this.back(this.past, this.future, (s, now) => redo(s.after, s.before, now));
  }

  redo(): Path[] {
    return this.back(this.future, this.past, (s, now) => redo(s.before, s.after, now));
  }

  /** Returns what takes back the last edit, also when others follow it: then by one more edit. */
  takeBack(): () => Path[] {
    const step = this.past.at(-1);
    return () => {
      if (!step || this.past.at(-1) === step) return this.undo();
      const before = this.mine as Content;
      this.apply((c) => redo(step.after, step.before, c));
      return changes(before, this.mine as Content);
    };
  }

  private back(from: Step[], to: Step[], way: (s: Step, now: Content) => Content): Path[] {
    for (let step; this.mine && (step = from.pop()); ) {
      const now = this.mine;
      const made = way(step, now);
      const changed = changes(now, made);
      if (changed.length === 0) continue;
      to.push({ ...step, key: '' });
      this.become(made, true);
      return changed;
    }
    this.update();
    return [];
  }

  /** Answers a conflict: which value counts. */
  resolve(path: Path, side: 'mine' | 'theirs'): void {
    const found = this.clashes.find((c) => samePath(c.path, path));
    const mine = this.mine;
    if (!found || !mine) return;
    this.clashes = this.clashes.filter((c) => c !== found);
    const id = path[1] as string;
    this.apply((c) => {
      if (path[0] === 'blocks' && path.length === 2) return found.theirs === undefined ? (side === 'theirs' ? this.without(c, id) : c) : side === 'mine' ? drop(c, id) : c;
      return side === 'theirs' ? set(c, path, found.theirs) : c;
    });
    this.due = true;
    this.update();
    void this.pump();
  }

  /** c without a block that others removed; blocks of theirs that were moved into it come out. */
  private without(c: Content, id: string): Content {
    const base = this.base as Content;
    const inside = (of: string): string[] => (flat(c.blocks).lists.get(of) ?? []).flatMap((child) => (find(base, child) ? [child] : inside(child)));
    return drop(inside(id).reduceRight((now, child) => edits.moveBehind(now, child, id), c), id);
  }

  private become(content: Content, now: boolean): void {
    if (this.firstUnsent === 0) this.firstUnsent = this.clock.now();
    this.mine = content;
    this.settle();
    this.update();
    if (now) void this.flush();
    else {
      this.cancelSave?.();
      const wait = Math.min(pause, this.firstUnsent + longest - this.clock.now());
      this.cancelSave = this.clock.after(Math.max(wait, 0), () => void this.flush());
    }
    this.persist();
  }

  // Saving --------------------------------------------------------------------------------------

  /** Sends what is unsent without waiting for a pause. Resolves when no more can be sent now. */
  flush(): Promise<void> {
    this.cancelSave?.();
    this.due = true;
    return this.pump();
  }

  /** Looks what others have done. */
  refresh(): Promise<void> {
    this.mustRead = true;
    return this.pump();
  }

  /** Tries again now: after a sign-in, when the connection is back. */
  retry(): Promise<void> {
    if (!this.limited) this.notBefore = 0;
    if (this.blocked === 'read-only') this.blocked = '';
    this.due = this.mustRead = true;
    return this.pump();
  }

  private poll(): void {
    this.cancelPoll = this.clock.after(pollEvery, () => {
      void this.refresh();
      this.poll();
    });
  }

  private pump(): Promise<void> {
    this.running ??= this.run().finally(() => {
      this.running = undefined;
      this.update();
      this.persist();
      if ((this.due || this.mustRead) && this.mayAsk()) void this.pump();
    });
    return this.running;
  }

  private mayAsk(): boolean {
    return this.opened && !this.closed && this.clock.now() >= this.notBefore && (this.mustRead || this.blocked === '');
  }

  private async run(): Promise<void> {
    const done = new Set<string>(); // parts that were written in this round
    while (this.mayAsk()) {
      if (this.mustRead || !this.base) {
        if (!(await this.read())) return;
        continue;
      }
      if (done.size === 0) {
        if (!this.due) return;
        this.due = false;
        this.firstUnsent = 0;
      }
      let write = plan(this.base, this.target(this.base), done);
      if (!write && this.refused.some((r) => r.etag !== this.etag)) {
        // What was refused may be right beside what was saved since.
        for (const r of this.refused) r.again = r.etag !== this.etag;
        done.clear();
        write = plan(this.base, this.target(this.base));
      }
      if (!write) {
        if (!this.due) return;
        done.clear();
        continue;
      }
      done.add(write.part);
      if (!(await this.send(write))) done.delete(write.part);
    }
  }

  private target(base: Content): Content {
    const back = [...this.clashes.filter((c) => c.path.length !== 2 || c.path[0] !== 'blocks' || c.theirs === undefined).map((c) => c.path), ...this.refused.filter((r) => !r.again).map((r) => r.part)];
    return withhold(base, this.mine as Content, back.map((p) => unit(p, base)));
  }

  /** Sends a write; true when it was done. */
  private async send(write: Write): Promise<boolean> {
    const base = this.base as Content;
    this.writing = true;
    this.sent = [...this.sent, write.after];
    this.update();
    this.persist(true);
    const reply = await this.options.backend.write(write, this.etag, false).catch(noReply);
    this.writing = false;
    if (isDone(reply.status)) {
      this.acknowledge(write, written(base, write, reply.body), reply.etag);
      return true;
    }
    if ([404, 409, 412].includes(reply.status) && this.outdated !== this.etag) {
      this.outdated = this.etag;
      this.mustRead = true;
    } else if (reply.status === 404 || !this.failed(reply, true)) this.refuse(write, reply);
    if (!isUnknown(reply.status)) this.sent = this.sent.filter((c) => c !== write.after);
    this.due = true;
    this.update();
    this.persist();
    return false;
  }

  private acknowledge(write: Write, answered: Content, etag: string): void {
    const now = share(write.after, answered);
    const mine = this.mine as Content;
    this.base = now;
    this.etag = etag;
    this.sent = [];
    this.reached();
    this.mine = redo(write.after, now, mine);
    if (now !== write.after) {
      // The service writes some values in its own way: so do the steps of undo.
      for (const step of [...this.past, ...this.future]) {
        step.before = redo(write.after, now, step.before);
        step.after = redo(write.after, now, step.after);
      }
    }
    this.settle();
    this.update();
    this.persist(true);
  }

  private reached(): void {
    this.failures = 0;
    this.notBefore = 0;
    this.unreachable = this.limited = false;
  }

  /** Handles what is neither a success nor about this write; false for the rest. */
  private failed(reply: Reply, write: boolean): boolean {
    const block = ({ 401: 'signed-out', 403: 'read-only', 404: 'gone' } as const)[reply.status as 401];
    if (block) {
      this.reached();
      this.blocked = block;
      this.blockedByWrite = write;
      return true;
    }
    if (reply.status !== 429 && !isUnknown(reply.status)) return false;
    this.unreachable = reply.status === 0;
    this.limited = reply.retryAfter > 0;
    const wait = Math.max(Math.min(firstRetry * 2 ** this.failures++, lastRetry), reply.retryAfter * 1000);
    this.notBefore = this.clock.now() + wait;
    this.mustRead ||= reply.status !== 429 || !write;
    this.cancelRetry?.();
    this.cancelRetry = this.clock.after(wait, () => {
      this.due = true;
      void this.pump();
    });
    return true;
  }

  /** Keeps back what was refused: the units that have faults, else all that the write was about. */
  private refuse(write: Write, reply: Reply): void {
    const base = this.base as Content;
    this.reached();
    const all = changes(base, write.after);
    const faults = reply.details.map((d) => ({ path: placeOf(write, d.path), code: d.code, message: d.message }));
    const parts = new Map<string, Refused>();
    const keep = (part: Path, fault: Fault): void => {
      const key = JSON.stringify(part);
      const value = get(write.after, part);
      const entry = parts.get(key) ?? { part, value, faults: [], etag: this.etag, again: false };
      entry.faults.push(fault);
      parts.set(key, entry);
    };
    for (const fault of faults) {
      const part = unit(fault.path, base);
      for (const p of all) if (samePath(p, part) || (isWithin(p, part) && !samePath(part, ['blocks']))) keep(p, fault);
    }
    if (parts.size === 0) {
      const own = all.filter((p) => p[0] === 'blocks' && (p.length === 1 || (p.length === 2 && !find(base, p[1] as string))));
      const fault = faults[0] ?? { path: [], code: reply.code, message: reply.message };
      for (const part of own.length > 0 && write.method !== 'PATCH' ? own : all) keep(part, { ...fault, path: fault.path.length > 0 ? fault.path : part });
    }
    this.refused = [...this.refused.filter((r) => !parts.has(JSON.stringify(r.part))), ...parts.values()];
    this.settle();
  }

  private async read(): Promise<boolean> {
    this.mustRead = false;
    const reply = await this.options.backend.read().catch(noReply);
    if (isDone(reply.status)) {
      this.reached();
      if (this.blocked !== 'read-only' || !this.blockedByWrite) this.blocked = '';
      this.rebase(reply.body as Obj, reply.etag);
      return true;
    }
    if (!this.failed(reply, false)) this.failed({ ...reply, status: 500 }, false);
    this.show();
    this.update();
    return false;
  }

  private rebase(form: Obj, etag: string): void {
    const first = !this.base;
    const { taken } = this;
    this.taken = undefined;
    if (etag !== this.etag || first || taken) { // else a write without an answer may still be done
      const theirs = share(this.base, contentOf(form));
      const base = taken?.mine ?? this.base ?? theirs;
      const { content, conflicts } = merge(base, taken ? [] : this.sent, theirs, this.mine ?? theirs);
      if (taken) this.clashes = [];
      this.mine = content;
      this.clash(conflicts);
      this.base = theirs;
      this.etag = etag;
      this.due ||= this.sent.length > 0;
      this.sent = [];
    }
    for (const [key, saved] of this.adopted.splice(0)) {
      this.takes.push(key);
      const { content, conflicts } = merge(saved.base, saved.sent, this.mine as Content, saved.mine);
      this.mine = content;
      this.clash([...saved.conflicts, ...conflicts]);
    }
    const { definition: _, ...rest } = form;
    this.formSignal.value = rest;
    this.show();
    this.settle();
    this.update();
    this.persist(true);
  }

  private clash(conflicts: Conflict[]): void {
    for (const c of conflicts) {
      const known = this.clashes.find((o) => samePath(o.path, c.path));
      this.clashes = [...this.clashes.filter((o) => o !== known), { ...c, base: known ? known.base : c.base }];
    }
  }

  /** Drops conflicts and refusals that are none any more. */
  private settle(): void {
    const base = this.base;
    if (!base || !this.mine) return;
    this.clashes = this.clashes.flatMap((c) => {
      const mine = this.mine as Content;
      const now = { ...c, theirs: get(base, c.path), mine: get(mine, c.path) };
      if (c.path[0] === 'blocks') {
        const id = c.path[1] as string;
        if (c.path.length > 2) {
          if (!find(base, id) || !find(mine, id)) return [];
        } else if (c.theirs === undefined) return now.mine !== undefined && now.theirs === undefined ? [now] : [];
        else return now.mine !== undefined && now.theirs !== undefined ? [{ ...now, mine: undefined }] : [];
      }
      if (same(now.mine, now.theirs)) return [];
      if (!same(now.mine, c.base)) return [now];
      this.mine = set(mine, c.path, now.theirs);
      return [];
    });
    this.refused = this.refused.filter((r) => same(get(this.mine as Content, r.part), r.value) && !same(get(base, r.part), r.value));
  }

  // What is shown and kept ------------------------------------------------------------------------

  private show(): void {
    if (this.mine && !this.shownSignal.peek()) this.shownSignal.value = this.mine;
  }

  private get unsent(): boolean {
    return this.writing || (this.sent.length > 0 && this.mustRead) || !same(this.mine, this.base);
  }

  private update(): void {
    batch(() => {
      if (this.shownSignal.peek()) this.shownSignal.value = this.mine;
      if (!same(this.conflictsSignal.peek(), this.clashes)) this.conflictsSignal.value = this.clashes;
      const faults = this.refused.flatMap((r) => r.faults);
      if (!same(this.faultsSignal.peek(), faults)) this.faultsSignal.value = faults;
      this.undoSignal.value = this.past.length > 0;
      this.redoSignal.value = this.future.length > 0;
      this.statusSignal.value = this.state();
    });
  }

  private state(): Status {
    if (this.blocked !== '') return this.blocked;
    if (this.unreachable) return 'offline';
    if (!this.base || !this.shownSignal.peek()) return 'loading';
    if (this.clashes.length > 0) return 'conflict';
    if (this.refused.length > 0) return 'refused';
    if (this.writing) return 'saving';
    return this.unsent ? 'unsaved' : 'saved';
  }

  /**
   * Keeps what is unsent in the browser: the first change at once, then at most every 250 ms, and what the
   * service has with what it may have before and after each write: the next page would take an older one for
   * a change of somebody else.
   */
  private persist(now = false): void {
    if (this.cancelPersist && !now) return;
    this.cancelPersist?.();
    this.cancelPersist = undefined;
    if (!this.base || !this.mine || !this.shownSignal.peek()) return;
    const wanted: Saved | null =
      this.unsent || this.clashes.length > 0 ? { etag: this.etag, base: this.base, sent: this.sent, mine: this.mine, conflicts: this.clashes } : null;
    const known = this.persisted;
    const isKept = wanted ? known && wanted.mine === known.mine && wanted.base === known.base && wanted.sent === known.sent && wanted.conflicts === known.conflicts : !known;
    if (isKept && this.takes.length === 0) return;
    this.persisted = wanted;
    const takes = this.takes.splice(0);
    this.persisting = this.options.storage.put(this.storageKey, wanted, takes).then(() => void (this.kept = wanted), () => void this.takes.push(...takes));
    if (this.closed) return;
    this.cancelPersist = this.clock.after(persistEvery, () => {
      this.cancelPersist = undefined;
      this.persist();
    });
  }
}

const isDone = (status: number): boolean => status >= 200 && status < 300;

/** Whether a write may have been done all the same. */
const isUnknown = (status: number): boolean => status < 200 || (status >= 300 && status < 400) || status >= 500;

const noReply = (): Reply => ({ status: 0, etag: '', body: undefined, code: 'OFFLINE', message: '', details: [], retryAfter: 0 });

// The service ----------------------------------------------------------------------------------

interface RequestOptions {
  method?: string;
  body?: unknown;
  ifMatch?: string;
  keepalive?: boolean;
  signal?: AbortSignal;
}

/** request of app/api.ts: resolves with a success, and throws an ApiError else. */
export type Request = (path: string, options?: RequestOptions) => Promise<{ body: unknown; etag: string }>;

const timeout = 30_000;

/**
 * A form behind the HTTP API. A draft is written itself, a published form, and one that has a working
 * copy, by the working copy. A form has a copy when the two have different ETags.
 */
export class FormBackend implements Backend {
  private readonly places: { form: string; copy: string };
  private at: string;
  private etag = '';

  constructor(private readonly request: Request, form: string, private readonly clock: Clock = browserClock) {
    this.places = { form: `/-/v1/forms/${form}`, copy: `/-/copy/${form}/forms/${form}` };
    this.at = this.places.copy;
  }

  async read(): Promise<Reply> {
    const reply = await this.ask(this.places.copy);
    if (reply.status === 404) { // the storage may have no copies
      this.at = this.places.form;
      return this.ask(this.at);
    }
    if (!isDone(reply.status) || reply.etag === this.etag) return reply;
    let at = this.places.copy;
    if ((reply.body as Obj).status === 'draft') {
      const form = await this.ask(this.places.form, { method: 'HEAD' });
      if (!isDone(form.status)) return form;
      if (form.etag === reply.etag) at = this.places.form;
    }
    this.at = at;
    this.etag = reply.etag;
    return reply;
  }

  async write(write: Write, etag: string, keepalive: boolean): Promise<Reply> {
    const body = write.body === undefined ? {} : { body: write.body };
    const reply = await this.ask(this.at + write.path, { method: write.method, ifMatch: etag, keepalive, ...body });
    this.etag = reply.etag; // '' after a failure: then the next read looks anew where to write
    return reply;
  }

  private async ask(path: string, options: RequestOptions = {}): Promise<Reply> {
    const end = new AbortController();
    const cancel = options.keepalive ? () => undefined : this.clock.after(timeout, () => end.abort());
    try {
      const { body, etag } = await this.request(path, { ...options, signal: end.signal });
      return { ...noReply(), status: 200, body, etag };
    } catch (cause) {
      const { status = 0, code = '', message = '', details = [], retryAfter = 0 } = cause as Partial<Reply>;
      return { status: isDone(status) ? 0 : status, etag: '', body: undefined, code, message, details, retryAfter };
    } finally {
      cancel();
    }
  }
}
