// Unsent edits, stored in the browser by user and form. Drafts are stored as whole objects, so their field
// names must not change.
import type { Obj } from '../app/json';
import type { Content } from './content';
import type { Pending } from './operations';

/** The form's last known state in the service. */
export interface ServiceState {
  content: Content;
  etag: string;
  at: string; // the URL path for writes
  about: Obj; // the form's fields besides its content
  maybe: readonly Content[]; // the content after each write with an unknown outcome
  disputed?: boolean; // a write failed because of the ETag, and the form has not been read since
}

/** A page's unsent edits. mine is the content with all edits. */
export interface Draft {
  known: ServiceState;
  mine: Content;
  pending: readonly Pending[];
}

/** Stores drafts by key. Drafts are stored as structured clones, which keep shared parts shared. */
export interface DraftStorage {
  /** Returns the entries whose keys start with prefix. */
  entries(prefix: string): Promise<[string, Draft][]>;
  /**
   * Stores a value, or removes it if it is null, and removes other keys in the same transaction. Calls run in
   * order, even if the page is closed.
   */
  put(key: string, value: Draft | null, others: readonly string[]): Promise<void>;
}

const storeName = 'drafts';

/** Returns a DraftStorage in IndexedDB. */
export function browserStorage(): DraftStorage {
  let opened: Promise<IDBDatabase> | undefined;
  const completion = (work: IDBRequest | IDBTransaction): Promise<void> =>
    new Promise((resolve, reject) => {
      for (const name of ['success', 'complete']) work.addEventListener(name, () => resolve());
      for (const name of ['error', 'abort']) work.addEventListener(name, () => reject(work.error ?? new Error('IndexedDB')));
    });
  const open = async (): Promise<IDBDatabase> => {
    const request = indexedDB.open('formsvc-drafts', 1);
    request.onupgradeneeded = () => request.result.createObjectStore(storeName);
    await completion(request);
    return request.result;
  };
  const begin = async (mode: IDBTransactionMode): Promise<IDBTransaction> => {
    opened ??= open();
    opened.catch(() => (opened = undefined));
    return (await opened).transaction(storeName, mode);
  };
  return {
    async entries(prefix) {
      const work = await begin('readonly');
      const range = IDBKeyRange.bound(prefix, prefix + '\uffff');
      const [keys, values] = [work.objectStore(storeName).getAllKeys(range), work.objectStore(storeName).getAll(range) as IDBRequest<Draft[]>];
      await completion(work);
      return values.result.map((v, i) => [String(keys.result[i]), v]);
    },
    async put(key, value, others) {
      const work = await begin('readwrite');
      const store = work.objectStore(storeName);
      if (value) store.put(value, key);
      else store.delete(key);
      for (const other of others) store.delete(other);
      work.commit(); // without it, closing the page aborts the transaction
      await completion(work);
    },
  };
}

/** A user's drafts of a form: this page's own draft, and drafts left by closed pages. */
export class Drafts {
  private stored: Draft | null = null; // the stored draft, if it is known for certain
  private others: [key: string, draft: Draft][] = [];
  private writing: Promise<void> | undefined;

  constructor(private readonly storage: DraftStorage, private readonly prefix: string, private readonly id: string, private readonly current: () => Draft | null) {}

  /** Reads other pages' drafts. If another page took over this page's own draft, find returns that draft. */
  async find(): Promise<Draft | null> {
    await this.writing;
    const found = await this.storage.entries(this.prefix).catch(() => undefined);
    if (!found) return null;
    this.others = found.filter(([key]) => key !== this.prefix + this.id);
    const takenOver = this.others.length === found.length ? this.stored : null;
    if (takenOver) this.stored = null;
    return takenOver;
  }

  /** Takes over the draft left by a closed page. Returns false if there is none. */
  recover(use: (draft: Draft) => void): boolean {
    const [key, draft] = this.others.shift() ?? [];
    if (key === undefined || !draft) return false;
    use(draft);
    void this.save(true, [key]);
    return true;
  }

  /** Stores the unsent edits. Unless now is set, it waits for the previous call. */
  async save(now = false, others: readonly string[] = []): Promise<void> {
    if (this.writing && !now) return this.writing;
    const draft = this.current();
    if (draft === this.stored && others.length === 0) return;
    const writing = this.storage.put(this.prefix + this.id, draft, others).then(() => void (this.stored = draft), () => undefined);
    this.writing = writing;
    await writing;
    if (this.writing !== writing) return;
    this.writing = undefined;
    if (this.current() !== draft) void this.save();
  }
}
