// Synchronizes a form with the service. The page shows the service's last known content with the pending operations
// applied. At most one request is in flight, and every write is conditional.

import { batch, computed, signal } from '@preact/signals';
import type { ApiError } from '../app/api';
import { isEqual, type Obj } from '../app/json';
import { sameItems, set, treeOf, type Content, type Path } from './content';
import { Drafts, type Draft, type DraftStorage, type ServiceState } from './drafts';
import { apply, conflictsOf, detach, diff, isConflict, isWithin, pendingOf, rebase, replay, type Conflict, type Violation, type Operation, type Pending } from './operations';
import { contentAfterWrite, browserClock, parseContent, isOutcomeUnknown, pathInBody, planWrite, planSingleWrite, type Clock, type FormBackend, type Reply, type WriteRequest } from './requests';

export type Status = 'loading' | 'saved' | 'saving' | 'unsaved' | 'offline' | 'signed-out' | 'refused' | 'conflict' | 'read-only' | 'gone';

/** The synchronization state between this page and the service. */
type State =
  | { is: 'idle' }
  | { is: 'sending' }
  | { is: 'waiting'; until: number; failures: number; isOffline: boolean; hasRetryAfter: boolean }
  | { is: 'blocked'; by: 'signed-out' | 'read-only' | 'gone'; write: boolean };

export interface Options {
  backend: FormBackend;
  /** The user and the form, used as the key prefix for unsent edits. */
  key: string;
  storage: DraftStorage;
  clock?: Clock;
  random?: () => number;
}

const sendDelay = 500; // milliseconds after the last key
const maxSendDelay = 2000; // milliseconds after the first unsent key
const pollInterval = 15_000;
const firstRetryDelay = 1000;
const maxRetryDelay = 30_000;
const maxKeepaliveBytes = 65_536; // the limit of fetch
const idle: State = { is: 'idle' };

export class Sync {
  protected readonly clock: Clock;
  private readonly drafts: Drafts;
  private readonly draft = signal<Draft | null>(null);
  private readonly state = signal<State>(idle);
  private phase: 'opening' | 'open' | 'closed' = 'opening'; // no request is sent before the drafts are read
  private readAt = 0;
  private writeAt = 0; // when the next write is due
  private sendBy = Infinity; // when edits are sent even if the user is still typing
  private cancel: (() => void) | undefined;
  private running: Promise<void> | undefined;

  /** The content with all edits. null until the form is read. */
  readonly shown = computed<Content | null>(() => this.draft.value?.mine ?? null);
  /** The form without its content, as last read: id, status, public_id, links … */
  readonly form = computed<Obj | null>(() => this.draft.value?.known.about ?? null);
  /** Values that were changed both locally and remotely. They are not sent until they are resolved. */
  readonly conflicts = computed<Conflict[]>(() => {
    const draft = this.draft.value;
    return draft ? conflictsOf(draft.known.content, draft.mine, draft.pending) : [];
  });
  /** The violations in rejected edits. The edits stay in the browser. */
  readonly errors = computed<Violation[]>(() => this.draft.value?.pending.flatMap((op) => op.refused?.faults ?? []).filter((f, i, all) => i === all.findIndex((g) => sameItems(f.path, g.path) && f.message === g.message)) ?? []);
  private readonly isUnsent = computed(() => {
    const { pending = [], known } = this.draft.value ?? {};
    return pending.length > 0 || (known !== undefined && known.maybe.length > 0 && this.state.value.is !== 'idle');
  });
  /** 'saved' only if all edits are saved. 'loading' until the first read. */
  readonly status = computed<Status>(() => {
    const state = this.state.value;
    if (state.is === 'blocked') return state.by;
    if (state.is === 'waiting' && state.isOffline) return 'offline';
    if (!this.draft.value) return 'loading';
    if (this.conflicts.value.length > 0) return 'conflict';
    if (this.errors.value.length > 0) return 'refused';
    if (state.is === 'sending') return 'saving';
    return this.isUnsent.value ? 'unsaved' : 'saved';
  });

  constructor(protected readonly options: Options) {
    this.clock = options.clock ?? browserClock;
    const id = Math.floor((options.random ?? Math.random)() * 2 ** 48).toString(36);
    this.drafts = new Drafts(options.storage, options.key + '/', id, () => (this.isUnsent.value ? this.draft.value : null));
  }

  // Opening and closing --------------------------------------------------------------------------

  /** Reads the form and restores unsent edits. */
  async open(): Promise<void> {
    this.phase = 'opening';
    const takenOver = await this.drafts.find();
    if ((this.phase as string) === 'closed') return;
    // Another page took over that draft, so only later edits remain here.
    if (takenOver) this.update({ ...takenOver.known, content: takenOver.mine, etag: '', maybe: [] });
    if (!this.draft.value) this.drafts.recover((draft) => (this.draft.value = draft));
    this.phase = 'open';
    await this.retry();
  }

  /** Observes the page's focus, connection and visibility. Returns a function that stops observing. */
  observe(page: Window): () => void {
    const end = new AbortController();
    const on = (target: EventTarget, type: string, run: (e: Event) => unknown): void => target.addEventListener(type, (e) => void run(e), { signal: end.signal });
    on(page, 'focus', () => this.retry());
    on(page, 'online', () => this.retry());
    on(page, 'pageshow', (e) => ((e as PageTransitionEvent).persisted ? this.open() : this.retry()));
    on(page, 'pagehide', () => this.onHide());
    on(page.document, 'visibilitychange', () => page.document.visibilityState === 'hidden' && this.flush());
    return () => end.abort();
  }

  /** Sends unsent edits and stops. Edits that cannot be sent stay in the browser. */
  async close(): Promise<void> {
    await this.flush();
    this.phase = 'closed';
    this.cancel?.();
    await this.drafts.save(true);
  }

  /** Sends a last write that continues after the page is closed, if the browser accepts it. */
  onHide(): void {
    const draft = this.draft.value;
    const writes = draft && this.state.value.is !== 'blocked' ? [planSingleWrite, planWrite].map((make) => make(draft.known.content, sendableContent(draft))) : [];
    const write = writes.find((w) => w && new TextEncoder().encode(JSON.stringify(w.body ?? '')).length < maxKeepaliveBytes);
    if (!draft || !write) return void this.drafts.save(true);
    void this.send(draft, write, true);
    this.readAt = 0; // in case the page is shown again
    this.writeAt = 0;
  }

  // Saving ---------------------------------------------------------------------------------------

  /** Sends unsent edits immediately. Resolves when no more can be sent now. */
  flush(): Promise<void> {
    this.writeAt = 0;
    return this.start();
  }

  /** Reads remote changes. */
  refresh(): Promise<void> {
    this.readAt = 0;
    return this.start();
  }

  /** Retries immediately after a sign-in, or when the connection is back. */
  retry(): Promise<void> {
    const state = this.state.value;
    if (state.is === 'waiting' && !state.hasRetryAfter) this.state.value = { ...state, until: 0 };
    if (state.is === 'blocked' && state.by === 'read-only') this.state.value = idle;
    this.readAt = 0;
    return this.flush();
  }

  /** Shows edited content, and sends it immediately or after a pause. */
  protected edit(content: Content, now: boolean): void {
    if (!this.draft.value) return;
    this.update(this.draft.value.known, content);
    const at = this.clock.now();
    this.sendBy = Math.min(this.sendBy, at + maxSendDelay);
    this.writeAt = now ? 0 : Math.min(at + sendDelay, this.sendBy);
    if (now) void this.start();
    else this.schedule();
  }

  /** Updates the draft. It keeps the old draft's conflicts and rejected operations, and adds new conflicts. */
  private update(known: ServiceState, local = this.draft.value?.mine ?? known.content, conflicts: readonly Operation[] = [], draft = this.draft.value): void {
    const unresolved = draft?.pending.filter((op) => isConflict(op, draft.known.content, draft.mine)) ?? [];
    const refused = draft?.pending.filter((op) => op.refused) ?? [];
    this.draft.value = { known, ...pendingOf(known.content, local, [...unresolved, ...conflicts, ...refused]) };
    void this.drafts.save();
  }

  /** Replays a draft's edits on the service's current content. */
  private rebase(known: ServiceState, draft: Draft | null): void {
    const { content, conflicts } = draft ? rebase(draft.known.content, draft.mine, known.content, draft.known.maybe) : { content: known.content, conflicts: [] };
    this.update(known, content, conflicts, draft);
    this.writeAt = 0;
  }

  private start(): Promise<void> {
    this.running ??= this.run().finally(() => {
      this.running = undefined;
      void this.drafts.save();
      this.schedule();
    });
    return this.running;
  }

  private schedule(): void {
    this.cancel?.();
    const state = this.state.value;
    if (this.phase !== 'open' || this.running) return;
    const at = Math.max(Math.min(this.readAt, state.is === 'blocked' ? Infinity : this.writeAt), state.is === 'waiting' ? state.until : 0);
    this.cancel = this.clock.after(Math.max(at - this.clock.now(), 0), () => void this.start());
  }

  private async run(): Promise<void> {
    for (;;) {
      const [state, now, draft] = [this.state.value, this.clock.now(), this.draft.value];
      if (this.phase !== 'open' || (state.is === 'waiting' && now < state.until)) return;
      if (this.readAt <= now) {
        await this.read();
        continue;
      }
      if (!draft || state.is === 'blocked' || this.writeAt > now) return;
      this.sendBy = Infinity;
      const write = planWrite(draft.known.content, sendableContent(draft)) ?? planWrite(draft.known.content, sendableContent(draft, true));
      if (write) {
        const reply = await this.send(draft, write, false);
        batch(() => this.applyReply(write, reply));
      } else if (draft.pending.length > 0 || !this.drafts.recover((other) => this.rebase(draft.known, other))) this.writeAt = Infinity;
    }
  }

  /** Sends a write. From now on, its outcome is unknown. */
  private send({ known, ...draft }: Draft, write: WriteRequest, keepalive: boolean): Promise<Reply> {
    this.draft.value = { ...draft, known: { ...known, maybe: [...known.maybe, write.after] } };
    this.state.value = { is: 'sending' };
    void this.drafts.save(true);
    return this.options.backend.write(known.at, write, known.etag, keepalive);
  }

  private applyReply(write: WriteRequest, reply: Reply): void {
    const draft = this.draft.value as Draft;
    const { known, mine: local } = draft;
    this.state.value = idle;
    const { error } = reply;
    if (!error) {
      const rewritten = diff(write.after, contentAfterWrite(known.content, write, reply.body));
      this.onUpdate(rewritten);
      return this.update({ ...known, content: apply(write.after, rewritten), etag: reply.etag, maybe: [], disputed: false }, apply(local, rewritten));
    }
    const disputed = [404, 409, 412].includes(error.status) && !known.disputed;
    const maybe = isOutcomeUnknown(error) ? known.maybe : known.maybe.filter((c) => c !== write.after);
    this.draft.value = { ...draft, known: { ...known, maybe, disputed: known.disputed || disputed } };
    if (disputed) this.readAt = 0;
    else if (error.status === 404 || !this.onFailure(error, true)) this.draft.value = markRefused(this.draft.value, write, error);
  }

  /** Handles a failure that the sent content did not cause. Returns false for other failures. */
  private onFailure(error: ApiError, write: boolean): boolean {
    const by = ({ 401: 'signed-out', 403: 'read-only', 404: 'gone' } as const)[error.status as 401];
    if (by) this.state.value = { is: 'blocked', by, write };
    else if (!write || error.status === 429 || isOutcomeUnknown(error)) {
      const failures = this.state.value.is === 'waiting' ? this.state.value.failures + 1 : 1;
      const wait = Math.max(Math.min(firstRetryDelay * 2 ** (failures - 1), maxRetryDelay), error.retryAfter * 1000);
      this.state.value = { is: 'waiting', until: this.clock.now() + wait, failures, isOffline: error.status < 400, hasRetryAfter: error.retryAfter > 0 };
      this.readAt = 0;
    } else return false;
    return true;
  }

  private async read(): Promise<void> {
    this.readAt = this.clock.now() + pollInterval;
    const known = this.draft.value?.known;
    const reply = await this.options.backend.read(known?.disputed ? undefined : known);
    batch(() => this.applyRead(reply));
  }

  private applyRead(reply: Reply & { at: string }): void {
    if (reply.error) return void this.onFailure(reply.error, false);
    const state = this.state.value;
    if (state.is !== 'blocked' || state.by !== 'read-only' || !state.write) this.state.value = idle;
    const draft = this.draft.value;
    const { definition: _, ...about } = reply.body as Obj;
    if (draft && reply.etag === draft.known.etag) return void (this.draft.value = { ...draft, known: { ...draft.known, about } });
    const received = parseContent(reply.body as Obj);
    const content = draft ? replay(draft.known.content, received, draft.known.content) : received; // shares unchanged parts
    this.onUpdate([]);
    this.rebase({ content, etag: reply.etag, at: reply.at, about, maybe: [] }, draft);
  }

  /**
   * Called when the service's content has changed. rewritten lists values that the service normalized. It is empty
   * for remote changes.
   */
  protected onUpdate(_rewritten: readonly Operation[]): void {}

  /** Removes a conflict and returns the content with the chosen side. */
  protected settle(path: Path, side: 'mine' | 'theirs'): Content | undefined {
    const draft = this.draft.value;
    const conflict = this.conflicts.value.find((c) => sameItems(c.path, path));
    if (!draft || !conflict) return undefined;
    const { known, mine: local, pending } = draft;
    this.draft.value = { ...draft, pending: pending.filter((op) => !sameItems(op.path, path) || !isConflict(op, known.content, local)) };
    return conflict[side] === undefined ? detach(local, path, known.content) : set(local, path, conflict[side]);
  }
}

/**
 * Returns the content that can be sent, without conflicts and rejected edits. If isLate is set, it includes edits
 * that were rejected at an older ETag.
 */
function sendableContent({ known: { content, etag }, mine: local, pending }: Draft, isLate = false): Content {
  const isSent = ({ refused }: Pending): boolean => !refused || (isLate && refused.etag !== etag);
  return apply(content, pending.filter((op) => isSent(op) && !isConflict(op, content, local)));
}

/**
 * Marks operations as rejected: those with violations, otherwise all operations of the write. A violation that
 * concerns none of them is shown with each.
 */
function markRefused(draft: Draft, write: WriteRequest, { code, message, details }: ApiError): Draft {
  const { content, etag } = draft.known;
  const sent = diff(content, write.after);
  const ops = draft.pending.filter((op) => sent.some((s) => s.kind === op.kind && sameItems(s.path, op.path) && isEqual(s.value, op.value)));
  const faults = details.map((d) => ({ ...d, path: pathInBody(write, d.path) }));
  const appliesTo = (op: Operation, path: Path): boolean =>
    isWithin(path, op.path) || (isWithin(op.path, path) && (path.length > 1 || path[0] !== 'blocks')) || (op.kind === 'add' && path[0] === 'blocks' && treeOf([op.value])?.nodes.has(path[1] as string) === true);
  const found = ops.filter((op) => faults.some((f) => appliesTo(op, f.path)));
  const affected = [found, ops.filter((op) => op.kind !== 'set'), ops].find((list) => list.length > 0) ?? [];
  const pending = draft.pending.map((op) => {
    if (!affected.includes(op)) return op;
    const shown = faults.filter((f) => appliesTo(op, f.path) || !found.some((other) => appliesTo(other, f.path)));
    return { ...op, refused: { etag, faults: shown.length > 0 ? shown : [{ path: op.path, code, message }] } };
  });
  return { ...draft, pending };
}
