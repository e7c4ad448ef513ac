// Where edits wait that the service does not have yet: in the browser, by user and form.
import type { Conflict, Content } from './merge';

/** The unsent edits of one page that had a form open. */
export interface Saved {
  etag: string;
  base: Content;
  sent: Content[]; // what the form is if a write without an answer was done
  mine: Content;
  conflicts: Conflict[];
}

/** A store of values by key. Contents that share parts may be kept as a structured clone keeps them. */
export interface KeyValue {
  /** The keys that begin with prefix, with their values. */
  entries(prefix: string): Promise<[string, Saved][]>;
  /**
   * Keeps a value, null for none, and takes those of other keys away, all or nothing. Calls count in their
   * order, and are done also when the page goes before it knows.
   */
  put(key: string, value: Saved | null, others: readonly string[]): Promise<void>;
}

const table = 'edits';

/** A KeyValue in IndexedDB. */
export function browserStore(factory: IDBFactory = indexedDB, name = 'formsvc-builder'): KeyValue {
  let opened: Promise<IDBDatabase> | undefined;
  const result = <T>(request: IDBRequest<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error ?? new Error('IndexedDB'));
    });
  const open = (): Promise<IDBDatabase> =>
    (opened ??= (() => {
      const request = factory.open(name, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(table);
      return result(request).catch((cause: unknown) => {
        opened = undefined;
        throw cause;
      });
    })());
  const begin = async (mode: IDBTransactionMode): Promise<IDBTransaction> => (await open()).transaction(table, mode);
  return {
    async entries(prefix) {
      const store = (await begin('readonly')).objectStore(table);
      const range = IDBKeyRange.bound(prefix, prefix + '\uffff');
      const [keys, values] = await Promise.all([result(store.getAllKeys(range)), result(store.getAll(range) as IDBRequest<Saved[]>)]);
      return values.map((v, i) => [String(keys[i]), v]);
    },
    async put(key, value, others) {
      const work = await begin('readwrite');
      const store = work.objectStore(table);
      if (value) store.put(value, key);
      else store.delete(key);
      for (const other of others) store.delete(other);
      work.commit(); // else it ends with the page, when that goes now
      await new Promise((resolve, reject) => {
        work.oncomplete = resolve;
        work.onabort = () => reject(work.error ?? new Error('IndexedDB'));
      });
    },
  };
}
