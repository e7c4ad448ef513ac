// A form on its way to the service and back. The page shows the content that the service had last, with the
// pending operations applied. At most one request is in flight, and every write is conditional.

import { batch, computed, signal, type ReadonlySignal } from '@preact/signals';
import { same, type Obj } from '../app/json';
import { get, sameItems, set, treeOf, type Content, type Path } from './content';
import { Drafts, type Draft, type KeyValue, type Known } from './drafts';
import { apply, conflictsOf, detach, diff, isConflict, isWithin, pendingOf, rebase, type Conflict, type Fault, type Operation, type Pending } from './operations';
import { afterWrite, browserClock, contentOf, isSuccess, isUnknown, placeOf, plan, planAll, type Clock, type FormBackend, type Reply, type Write } from './requests';

export type Status = 'loading' | 'saved' | 'saving' | 'unsaved' | 'offline' | 'signed-out' | 'refused' | 'conflict' | 'read-only' | 'gone';

/** What goes on between this page and the service. The state before a request says how it was reached last. */
type Rest =
  | { is: 'idle' }
  | { is: 'waiting'; until: number; failures: number; isOffline: boolean; isAsked: boolean } // isAsked: by Retry-After
  | { is: 'blocked'; by: 'signed-out' | 'read-only' | 'gone'; write: boolean };
type State = Rest | { is: 'sending'; write: boolean; before: Rest };

interface Due {
  readonly at: number; // when unsent edits are sent
  readonly latest: number; // while typing goes on
}

export interface Options {
  backend: FormBackend;
  /** User and form: the key of unsent edits begins with it. */
  key: string;
  storage: KeyValue;
  clock?: Clock;
  random?: () => number;
}

const pause = 500; // after the last key
const longest = 2000; // after the first unsent key
const pollEvery = 15_000;
const firstRetry = 1000;
const lastRetry = 30_000;
const keepaliveBytes = 65_536; // limit of fetch
const idle: Rest = { is: 'idle' };
const never: Due = { at: Infinity, latest: Infinity };
const immediately: Due = { at: 0, latest: Infinity };

export class Sync {
  protected readonly clock: Clock;
  private readonly drafts: Drafts;
  private readonly known = signal<Known | null>(null);
  private readonly mine = signal<Content | null>(null);
  private readonly pending = signal<readonly Pending[]>([]);
  private readonly state = signal<State>(idle);
  private readonly about = signal<Obj | null>(null);
  private phase: 'opening' | 'open' | 'closed' = 'opening'; // nothing is sent before the drafts are known
  private readAt = 0;
  private due: Due = immediately;
  private cancel: (() => void) | undefined;
  private loop: Promise<void> | undefined;

  /** The content with all edits. null until it was read. */
  readonly shown: ReadonlySignal<Content | null> = this.mine;
  /** The fields of the form next to its content, as last read: id, status, public_id, links … */
  readonly form: ReadonlySignal<Obj | null> = this.about;
  /** What was changed here and elsewhere. Nothing that overlaps is sent before resolve. */
  readonly conflicts = computed<Conflict[]>(() => (this.known.value && this.mine.value ? conflictsOf(this.known.value.content, this.mine.value, this.pending.value) : []));
  /** What the service refused. It is shown and kept here. */
  readonly faults = computed<Fault[]>(() => this.pending.value.flatMap((op) => op.refused?.faults ?? []));
  /** 'saved' only while the service has everything. 'loading' until the first read. */
  readonly status = computed<Status>(() => {
    const [now, rest, known] = [this.state.value, this.rest(), this.known.value];
    if (rest.is === 'blocked') return rest.by;
    if (rest.is === 'waiting' && rest.isOffline) return 'offline';
    if (!known || !this.mine.value) return 'loading';
    if (this.conflicts.value.length > 0) return 'conflict';
    if (this.faults.value.length > 0) return 'refused';
    if (now.is === 'sending' && now.write) return 'saving';
    return this.pending.value.length > 0 || (known.maybe.length > 0 && now.is !== 'idle') ? 'unsaved' : 'saved';
  });

  constructor(protected readonly options: Options) {
    this.clock = options.clock ?? browserClock;
    const id = Math.floor((options.random ?? Math.random)() * 2 ** 48).toString(36);
    this.drafts = new Drafts(options.storage, options.key + '/', id, () => this.draft());
  }

  // Opening and closing --------------------------------------------------------------------------

  /** Reads the form and restores unsent edits. Resolves when something is shown, or cannot be. */
  async open(): Promise<void> {
    this.phase = 'opening';
    const taken = await this.drafts.find();
    if ((this.phase as string) === 'closed') return;
    // Another page has the edits of that draft: what is left of them here is what was edited since.
    if (taken && this.mine.value) this.settle({ ...taken.known, content: taken.mine, etag: '', maybe: [] }, this.mine.value, []);
    if (!this.known.value) this.drafts.take(({ known, mine, pending }) => batch(() => ([this.known.value, this.mine.value, this.pending.value] = [known, mine, pending])));
    this.phase = 'open';
    await this.retry();
  }

  /** Follows the page: focus, connection, hiding and leaving. Returns a function that ends it. */
  listen(page: Window): () => void {
    const back = (): void => void (this.phase === 'open' && this.retry());
    const shown = (e: Event): void => void (this.phase === 'open' && ((e as PageTransitionEvent).persisted ? this.open() : this.retry()));
    const hidden = (): void => void (page.document.visibilityState === 'hidden' && this.flush());
    const ways: [EventTarget, string, (e: Event) => void][] = [
      [page, 'focus', back], [page, 'online', back], [page, 'pageshow', shown], [page, 'pagehide', () => this.leave()], [page.document, 'visibilitychange', hidden],
    ];
    for (const [on, event, run] of ways) on.addEventListener(event, run);
    return () => ways.forEach(([on, event, run]) => on.removeEventListener(event, run));
  }

  /** Sends what is unsent and ends. Edits that cannot be sent stay in the browser. */
  async close(): Promise<void> {
    await this.flush();
    this.phase = 'closed';
    this.cancel?.();
    await this.drafts.save(true);
  }

  /** The page is closed: one last write that outlives it, if the browser takes it. */
  leave(): void {
    const known = this.known.value;
    const target = known && this.state.value.is !== 'blocked' ? this.target(known, (op) => !op.refused) : undefined;
    const write = target && [planAll(known!.content, target), plan(known!.content, target)].find((w) => w && new TextEncoder().encode(JSON.stringify(w.body ?? '')).length < keepaliveBytes);
    if (!known || !write) return void this.drafts.save(true);
    this.known.value = { ...known, maybe: [...known.maybe, write.after] };
    this.readAt = 0; // if the page comes back
    this.due = immediately;
    void this.drafts.save(true);
    void this.options.backend.write(known.at, write, known.etag, true).catch(() => undefined);
  }

  private draft(): Draft | null {
    const [known, mine, pending] = [this.known.value, this.mine.value, this.pending.value];
    const isUnsent = pending.length > 0 || (known && known.maybe.length > 0 && (this.readAt === 0 || this.state.value.is !== 'idle'));
    return known && mine && isUnsent ? { known, mine, pending } : null;
  }

  // Saving ---------------------------------------------------------------------------------------

  /** Sends what is unsent without waiting for a pause. Resolves when no more can be sent now. */
  flush(): Promise<void> {
    this.due = { ...this.due, at: 0 };
    return this.pump();
  }

  /** Reads what others have done. */
  refresh(): Promise<void> {
    this.readAt = 0;
    return this.pump();
  }

  /** Tries again now: after a sign-in, or when the connection is back. */
  retry(): Promise<void> {
    const state = this.state.value;
    if (state.is === 'waiting' && !state.isAsked) this.state.value = { ...state, until: 0 };
    if (state.is === 'blocked' && state.by === 'read-only') this.state.value = idle;
    this.readAt = 0;
    return this.flush();
  }

  /** Shows an edited content, and sends it after a pause or now. */
  protected edit(content: Content, now: boolean): void {
    if (!this.known.value) return;
    this.settle(this.known.value, content, this.held());
    const at = this.clock.now();
    const latest = Math.min(this.due.latest, at + longest);
    this.due = { at: now ? 0 : Math.min(at + pause, latest), latest };
    if (now) void this.pump();
    else this.schedule();
  }

  /** The pending operations that are in conflict. */
  private held(): Pending[] {
    const [known, mine] = [this.known.value, this.mine.value];
    return known && mine ? this.pending.value.filter((op) => isConflict(op, known.content, mine)) : [];
  }

  private rest(): Rest {
    return this.state.value.is === 'sending' ? this.state.value.before : this.state.value;
  }

  private settle(known: Known, content: Content, conflicts: readonly Operation[]): void {
    const { pending, mine } = pendingOf(known.content, content, [...conflicts, ...this.pending.value.filter((op) => op.refused)]);
    batch(() => ([this.known.value, this.mine.value, this.pending.value] = [known, mine, pending]));
    void this.drafts.save();
  }

  private pump(): Promise<void> {
    this.loop ??= this.run().finally(() => {
      this.loop = undefined;
      void this.drafts.save();
      this.schedule();
    });
    return this.loop;
  }

  private schedule(): void {
    this.cancel?.();
    const state = this.state.value;
    if (this.phase !== 'open' || this.loop) return;
    const at = Math.min(this.readAt, state.is === 'blocked' ? Infinity : this.due.at);
    this.cancel = this.clock.after(Math.max(at, state.is === 'waiting' ? state.until : 0, this.clock.now()) - this.clock.now(), () => void this.pump());
  }

  private async run(): Promise<void> {
    const written = new Set<string>(); // parts of the form, in this round
    for (;;) {
      const [state, now, known] = [this.state.value, this.clock.now(), this.known.value];
      if (this.phase !== 'open' || (state.is === 'waiting' && now < state.until)) return;
      if (!known || this.readAt <= now) {
        if (!(await this.read())) return;
        continue;
      }
      if (state.is === 'blocked') return;
      if (this.due.at <= now) {
        this.due = never;
        written.clear();
      } else if (written.size === 0) return;
      let write = plan(known.content, this.target(known, (op) => !op.refused), written);
      // What was refused may be right next to what was saved since.
      const isLate = (op: Pending): boolean => op.refused !== undefined && op.refused.etag !== known.etag;
      if (!write && this.pending.value.some(isLate)) write = plan(known.content, this.target(known, (op) => !op.refused || isLate(op)));
      if (write) {
        written.add(write.part);
        if (!(await this.send(known, write))) written.delete(write.part);
      } else if (this.pending.value.length > 0 || !this.drafts.take((draft) => this.takeOver(known, draft))) written.clear();
    }
  }

  /** The content that can be sent. */
  private target({ content }: Known, isSent: (op: Pending) => boolean): Content {
    return apply(content, this.pending.value.filter((op) => isSent(op) && !isConflict(op, content, this.mine.value as Content)));
  }

  private takeOver({ content, ...known }: Known, draft: Draft): void {
    const { content: mine, conflicts } = rebase(draft.known.content, draft.mine, content, draft.known.maybe);
    this.settle({ content, ...known }, mine, [...draft.pending.filter((op) => isConflict(op, draft.known.content, draft.mine)), ...conflicts]);
    this.due = immediately;
  }

  /** Sends a write. Returns true if it was done. */
  private async send(known: Known, write: Write): Promise<boolean> {
    this.known.value = { ...known, maybe: [...known.maybe, write.after] };
    this.state.value = { is: 'sending', write: true, before: this.rest() };
    void this.drafts.save(true);
    const reply = await this.options.backend.write(known.at, write, known.etag, false);
    batch(() => this.ended(this.known.value as Known, write, reply));
    void this.drafts.save(true);
    return isSuccess(reply.status);
  }

  private ended(known: Known, write: Write, reply: Reply): void {
    if (isSuccess(reply.status)) {
      this.state.value = idle;
      const rewritten = diff(write.after, afterWrite(known.content, write, reply.body));
      this.changed(rewritten, write.after);
      const mine = apply(this.mine.value as Content, rewritten);
      return this.settle({ content: apply(write.after, rewritten), etag: reply.etag, at: known.at, maybe: [] }, mine, this.held());
    }
    this.due = { ...this.due, at: 0 };
    const disputed = [404, 409, 412].includes(reply.status) && !known.disputed;
    if (!isUnknown(reply.status)) known = { ...known, maybe: known.maybe.filter((c) => c !== write.after) };
    this.known.value = { ...known, disputed: known.disputed || disputed };
    if (disputed) {
      this.state.value = idle;
      this.readAt = 0;
    } else if (reply.status === 404 || !this.failed(reply, true)) this.refuse(write, reply);
  }

  /** Changes the state after a failure that is not about what was sent. Returns false for others. */
  private failed(reply: Reply, write: boolean): boolean {
    const by = ({ 401: 'signed-out', 403: 'read-only', 404: 'gone' } as const)[reply.status as 401];
    if (by) this.state.value = { is: 'blocked', by, write };
    else if (reply.status === 429 || isUnknown(reply.status)) {
      const before = this.rest();
      const failures = before.is === 'waiting' ? before.failures + 1 : 1;
      const wait = Math.max(Math.min(firstRetry * 2 ** (failures - 1), lastRetry), reply.retryAfter * 1000);
      this.state.value = { is: 'waiting', until: this.clock.now() + wait, failures, isOffline: reply.status === 0, isAsked: reply.retryAfter > 0 };
      if (reply.status !== 429 || !write) this.readAt = 0;
    } else return false;
    return true;
  }

  /** Holds operations that were refused: those that have errors, otherwise all of the write. */
  private refuse(write: Write, reply: Reply): void {
    this.state.value = idle;
    const { content, etag } = this.known.value as Known;
    const sent = diff(content, write.after);
    const faults = reply.details.map((d) => ({ ...d, path: placeOf(write, d.path) }));
    const isSent = (op: Operation): boolean => sent.some((s) => s.kind === op.kind && sameItems(s.path, op.path) && same(s.value, op.value));
    const isAbout = (op: Operation, path: Path): boolean =>
      isWithin(path, op.path) || (isWithin(op.path, path) && (path.length > 1 || path[0] !== 'blocks')) || (op.kind === 'add' && path[0] === 'blocks' && treeOf([op.value])?.nodes.has(path[1] as string) === true);
    const ops = this.pending.value.filter(isSent);
    const isFound = ops.some((op) => faults.some((f) => isAbout(op, f.path)));
    const isOrder = (op: Operation): boolean => op.kind !== 'set' && op.path.length === 2 && op.path[0] === 'blocks';
    const all = write.method !== 'PATCH' && ops.some(isOrder) ? ops.filter(isOrder) : ops;
    const { code, message } = reply;
    this.pending.value = this.pending.value.map((op) => {
      let own = isFound && ops.includes(op) ? faults.filter((f) => isAbout(op, f.path)) : [];
      if (!isFound && all.includes(op)) own = [{ path: op.path, code, message, ...faults[0] }];
      return own.length > 0 ? { ...op, refused: { faults: own, etag } } : op;
    });
  }

  private async read(): Promise<boolean> {
    this.readAt = this.clock.now() + pollEvery;
    this.state.value = { is: 'sending', write: false, before: this.rest() };
    const known = this.known.value;
    const reply = await this.options.backend.read(known && !known.disputed ? known : undefined);
    batch(() => this.wasRead(reply));
    return isSuccess(reply.status);
  }

  private wasRead(reply: Reply & { at: string }): void {
    if (!isSuccess(reply.status)) return void (this.failed(reply, false) || this.failed({ ...reply, status: 500 }, false));
    const before = this.rest();
    this.state.value = before.is === 'blocked' && before.by === 'read-only' && before.write ? before : idle;
    const known = this.known.value;
    if (!known || reply.etag !== known.etag) {
      const fresh = contentOf(reply.body as Obj);
      const theirs = known ? apply(known.content, diff(known.content, fresh)) : fresh;
      const { content, conflicts } = known ? rebase(known.content, this.mine.value as Content, theirs, known.maybe) : { content: theirs, conflicts: [] };
      this.changed([], theirs);
      this.settle({ content: theirs, etag: reply.etag, at: reply.at, maybe: [] }, content, [...this.held(), ...conflicts]);
      this.due = immediately;
    }
    const { definition: _, ...rest } = reply.body as Obj;
    this.about.value = rest;
  }

  /** Called when the service has something new: what others did, or its own way of writing what near has. */
  protected changed(_rewritten: readonly Operation[], _near: Content): void {}

  /** Returns the content after a conflict is resolved, and forgets the conflict. */
  protected release(path: Path, side: 'mine' | 'theirs'): Content | undefined {
    const [known, mine] = [this.known.value, this.mine.value];
    const op = known && mine && this.pending.value.find((o) => sameItems(o.path, path) && isConflict(o, known.content, mine));
    if (!op) return undefined;
    this.pending.value = this.pending.value.filter((o) => o !== op);
    if (op.kind === 'remove') return side === 'mine' ? set(mine, path, undefined) : mine;
    if (side === 'mine') return mine;
    return op.kind === 'set' ? set(mine, path, get(known.content, path)) : detach(mine, path, known.content);
  }
}
