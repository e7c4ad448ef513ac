// Unsent edits in the browser, by user and form.
import type { Content } from './content';
import type { Pending } from './operations';

/** What is known of the form in the service. */
export interface Known {
  content: Content;
  etag: string;
  at: string; // where it is written
  maybe: readonly Content[]; // what it is if a write with unknown outcome was done
  disputed?: boolean; // a write was refused because of the ETag, although nobody else had written
}

/** The unsent edits of a page that has, or had, a form open. */
export interface Draft {
  known: Known;
  mine: Content;
  pending: readonly Pending[];
}

/** A store of drafts by key. Contents that share parts are stored as a structured clone. */
export interface KeyValue {
  /** Returns the keys that begin with prefix, with their values. */
  entries(prefix: string): Promise<[string, Draft][]>;
  /** Stores a value, or removes it if it is null, and removes other keys, in one step. Calls are done in order, even if the page is closed. */
  put(key: string, value: Draft | null, others: readonly string[]): Promise<void>;
}

const table = 'drafts';

/** Returns a KeyValue in IndexedDB. */
export function browserStore(factory: IDBFactory = indexedDB, name = 'formsvc-drafts'): KeyValue {
  let opened: Promise<IDBDatabase> | undefined;
  const result = <T>(request: IDBRequest<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error ?? new Error('IndexedDB'));
    });
  const open = (): Promise<IDBDatabase> => {
    const request = factory.open(name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(table);
    return result(request).catch((cause: unknown) => {
      opened = undefined;
      throw cause;
    });
  };
  const begin = async (mode: IDBTransactionMode): Promise<IDBTransaction> => (await (opened ??= open())).transaction(table, mode);
  return {
    async entries(prefix) {
      const store = (await begin('readonly')).objectStore(table);
      const range = IDBKeyRange.bound(prefix, prefix + '\uffff');
      const [keys, values] = await Promise.all([result(store.getAllKeys(range)), result(store.getAll(range) as IDBRequest<Draft[]>)]);
      return values.map((v, i) => [String(keys[i]), v]);
    },
    async put(key, value, others) {
      const work = await begin('readwrite');
      const store = work.objectStore(table);
      if (value) store.put(value, key);
      else store.delete(key);
      for (const other of others) store.delete(other);
      work.commit(); // otherwise it ends with the page
      await new Promise((resolve, reject) => {
        work.oncomplete = resolve;
        work.onabort = () => reject(work.error ?? new Error('IndexedDB'));
      });
    },
  };
}

const isSame = (a: Draft | null, b: Draft | null): boolean => a === b || (a?.known === b?.known && a?.mine === b?.mine && a?.pending === b?.pending);

/** The drafts of a user and a form: the one of this page, and those of pages that are gone. */
export class Drafts {
  private stored: Draft | null = null; // what the browser has, as far as it is certain
  private others: [key: string, draft: Draft][] = [];
  private writing: Promise<void> | undefined;

  constructor(private readonly storage: KeyValue, private readonly prefix: string, private readonly id: string, private readonly current: () => Draft | null) {}

  /** Looks for drafts of other pages. If one of them took over this page's own draft, it is returned. */
  async find(): Promise<Draft | null> {
    await this.writing;
    const found = await this.storage.entries(this.prefix).catch(() => undefined);
    const isTaken = found && this.stored && !found.some(([key]) => key === this.prefix + this.id);
    if (found && (isTaken || !this.stored)) this.others = found.filter(([key]) => key !== this.prefix + this.id);
    const taken = isTaken ? this.stored : null;
    if (isTaken) this.stored = null;
    return taken;
  }

  /** Takes over the draft of a page that is gone. */
  take(use: (draft: Draft) => void): boolean {
    const [key, draft] = this.others.shift() ?? [];
    if (key === undefined || !draft) return false;
    use(draft);
    void this.save(true, [key]);
    return true;
  }

  /** Stores the unsent edits, one version after the other. If now is set, it does not wait for the one before. */
  save(now = false, others: readonly string[] = []): Promise<void> {
    if (this.writing && !now) return this.writing;
    const draft = this.current();
    if (isSame(draft, this.stored) && others.length === 0) return Promise.resolve();
    const stored = this.storage.put(this.prefix + this.id, draft, others).then(() => void (this.stored = draft), () => undefined);
    const writing = stored.then(() => {
      if (this.writing !== writing) return;
      this.writing = undefined;
      if (!isSame(this.current(), draft)) void this.save();
    });
    return (this.writing = writing);
  }
}
