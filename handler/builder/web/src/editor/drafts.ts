// Unsent edits in the browser, by user and form.
import type { Obj } from '../app/json';
import type { Content } from './content';
import type { Pending } from './operations';

/** What is known of the form in the service. */
export interface ServiceState {
  content: Content;
  etag: string;
  at: string; // where it is written
  about: Obj; // the fields of the form next to its content
  maybe: readonly Content[]; // what it is if a write with unknown outcome was done
  disputed?: boolean; // a write was refused because of the ETag, although nobody else had written
}

/** The unsent edits of a page that has, or had, a form open. */
export interface Draft {
  known: ServiceState;
  mine: Content;
  pending: readonly Pending[];
}

/** A store of drafts by key. Contents that share parts are stored as a structured clone. */
export interface DraftStorage {
  /** Returns the keys that begin with prefix, with their values. */
  entries(prefix: string): Promise<[string, Draft][]>;
  /** Stores a value, or removes it if it is null, and removes other keys, in one step. Calls are done in order, even if the page is closed. */
  put(key: string, value: Draft | null, others: readonly string[]): Promise<void>;
}

const storeName = 'drafts';

/** Returns a KeyValue in IndexedDB. */
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
      work.commit(); // otherwise it ends with the page
      await completion(work);
    },
  };
}

/** The drafts of a user and a form: the one of this page, and those of pages that are gone. */
export class Drafts {
  private stored: Draft | null = null; // what the browser has, as far as it is certain
  private others: [key: string, draft: Draft][] = [];
  private writing: Promise<void> | undefined;

  constructor(private readonly storage: DraftStorage, private readonly prefix: string, private readonly id: string, private readonly current: () => Draft | null) {}

  /** Looks for drafts of other pages. If one of them took over this page's own draft, it is returned. */
  async find(): Promise<Draft | null> {
    await this.writing;
    const found = await this.storage.entries(this.prefix).catch(() => undefined);
    if (!found) return null;
    this.others = found.filter(([key]) => key !== this.prefix + this.id);
    const takenOver = this.others.length === found.length ? this.stored : null;
    if (takenOver) this.stored = null;
    return takenOver;
  }

  /** Takes over the draft of a page that is gone. */
  recover(use: (draft: Draft) => void): boolean {
    const [key, draft] = this.others.shift() ?? [];
    if (key === undefined || !draft) return false;
    use(draft);
    void this.save(true, [key]);
    return true;
  }

  /** Stores the unsent edits, one version after the other. If now is set, it does not wait for the one before. */
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
