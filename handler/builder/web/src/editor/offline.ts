// Where edits wait that the service does not have yet: in the browser, by user and form.
import type { Conflict, Content } from './merge';

/** The unsent edits of one page that had a form open. */
export interface Saved {
  etag: string;
  base: Content;
  sent: Content[]; // what the form is if a write without an answer was done
  mine: Content;
  conflicts: Conflict[];
  takes: string[]; // the keys of what this has in it
}

/** A store of values by key. Contents that share parts may be kept as a structured clone keeps them. */
export interface KeyValue {
  /** The keys that begin with prefix, with their values. */
  entries(prefix: string): Promise<[string, Saved][]>;
  put(key: string, value: Saved): Promise<void>;
  delete(key: string): Promise<void>;
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
  const rows = async (mode: IDBTransactionMode): Promise<IDBObjectStore> => (await open()).transaction(table, mode).objectStore(table);
  return {
    async entries(prefix) {
      const store = await rows('readonly');
      const range = IDBKeyRange.bound(prefix, prefix + '\uffff');
      const [keys, values] = await Promise.all([result(store.getAllKeys(range)), result(store.getAll(range) as IDBRequest<Saved[]>)]);
      return values.map((v, i) => [String(keys[i]), v]);
    },
    async put(key, value) {
      await result((await rows('readwrite')).put(value, key));
    },
    async delete(key) {
      await result((await rows('readwrite')).delete(key));
    },
  };
}
