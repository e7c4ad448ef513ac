import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { api, ApiError, builderApi, pages, query, type Page } from '../app/api';
import { onReturn, type Pages, usePages } from '../ui/states';
import type { Submission } from './answers';
import { answerParams, fetchBounds, filterQuery, readsAnswers, type Bounds, type Filter } from './filter';

const submissionsPath = (form: string) => `/forms/${form}/submissions`;

const readPage = async (form: string, params: Parameters<typeof query>[0]): Promise<Page<Submission>> =>
  (await api<Page<Submission>>(submissionsPath(form) + query(params))).body;

const pageSize = 50;

/** Calls read until the user has no other expensive reads in progress. */
export async function retryBusy<T>(read: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 429)) throw error;
      await new Promise((done) => setTimeout(done, 1000 * (error.retryAfter || 1)));
      signal.throwIfAborted();
    }
  }
}

/** The response list of the last table with a condition or a text, so that its responses link to each other. */
let lastFound: { key: string; ids: string[] } | undefined;

interface FoundResponses extends Pages<Submission> {
  /** How many responses were read to find the items. */
  read: number;
  /** Ends a page that takes long. */
  stop(): void;
}

/**
 * Reads the newest responses that a filter selects, and again when refreshes changes. Finding a page of responses with
 * certain answers takes many requests. Their items are returned immediately.
 */
export function useResponses(form: string, filter: Filter, refreshes: number): FoundResponses {
  const key = form + filterQuery(filter) + refreshes;
  const first = useRef<Promise<Bounds> | undefined>(undefined);
  const request = useRef<AbortController | undefined>(undefined);
  const stopped = useRef(false);
  const found = useSignal<{ read: number; items: Submission[] }>({ read: 0, items: [] });
  useEffect(() => () => request.current?.abort(), [key]);
  const find = async (cursor: string | null, bounds: Bounds, signal: AbortSignal): Promise<Page<Submission>> => {
    stopped.current = false;
    found.value = { read: cursor ? found.peek().read : 0, items: [] };
    do {
      const path: string = submissionsPath(form) + query({ ...bounds, ...answerParams(filter), cursor, limit: pageSize - found.peek().items.length });
      const page = await retryBusy(() => builderApi<FoundPage>(path, { signal }), signal);
      signal.throwIfAborted();
      found.value = { read: found.peek().read + page.read, items: [...found.peek().items, ...page.items] };
      cursor = page.cursor || null;
    } while (cursor && found.peek().items.length < pageSize && !stopped.current);
    return { items: found.peek().items, page: { has_more: cursor !== null, next_cursor: cursor } };
  };
  const read = async (cursor: string | null) => {
    request.current?.abort();
    const { signal } = (request.current = new AbortController());
    if (!cursor || !first.current) first.current = fetchBounds(filter); // all pages use the first page's bounds
    const bounds = await first.current;
    signal.throwIfAborted();
    return find(cursor, bounds, signal);
  };
  const list = usePages(read, key, (s) => s.id);
  const items = list.loading ? [...list.items, ...found.value.items] : list.items;
  lastFound = { key: form + filterQuery(filter), ids: items.map((s) => s.id) };
  return {
    ...list, items, read: found.value.read, stop: () => void (stopped.current = true),
    remove: (id) => {
      found.value = { ...found.peek(), items: found.peek().items.filter((s) => s.id !== id) };
      list.remove(id);
    },
  };
}

/** How often to look for new responses while the page is visible, in milliseconds. */
const pollInterval = 30_000;

/** Counts the responses received since the page was opened or seen was called. Beyond 100, the count is 101. */
export function useNewResponses(form: string): { count: number; seen(): void } {
  const count = useSignal(0);
  const resets = useSignal(0);
  useEffect(() => {
    let newest: Submission | null | undefined; // undefined until it is known, null if there is no response
    let isCurrent = true;
    count.value = 0;
    const poll = async () => {
      try {
        const found = await readPage(form, { since: newest?.submitted_at, limit: newest === undefined ? 1 : 100 });
        if (!isCurrent) return;
        if (newest === undefined) return void (newest = found.items[0] ?? null);
        const at = found.items.findIndex((s) => s.id === newest?.id);
        const later = at >= 0 ? found.items.slice(0, at) : found.items.filter((s) => !newest || s.submitted_at > newest.submitted_at);
        count.value = later.length + (found.page.has_more && at < 0 ? 1 : 0);
      } catch {
        // The next request may succeed. The page itself shows errors.
      }
    };
    void poll();
    const timer = setInterval(() => document.visibilityState === 'visible' && void poll(), pollInterval);
    const stopListening = onReturn(() => void poll());
    return () => {
      isCurrent = false;
      clearInterval(timer);
      stopListening();
    };
  }, [form, resets.value]);
  return { count: count.value, seen: () => void resets.value++ };
}

/** A part of a filtered list, see submissionsPage in results.go. */
interface FoundPage {
  items: Submission[];
  read: number;
  cursor: string;
}

/**
 * Returns the ids of the next newer and the next older response that a filter selects. For a filter with a condition or a
 * text, they are known if the table has shown them.
 */
export async function adjacentResponses(form: string, item: Submission, filter: Filter): Promise<{ newer: string | undefined; older: string | undefined }> {
  if (readsAnswers(filter)) {
    const ids = lastFound?.key === form + filterQuery(filter) ? lastFound.ids : [];
    const at = ids.indexOf(item.id);
    return { newer: ids[at - 1], older: at < 0 ? undefined : ids[at + 1] };
  }
  const { since, until } = await fetchBounds(filter);
  const [newer, older] = await Promise.all([findNewer(form, item, until), findOlder(form, item, since)]);
  return { newer, older };
}

async function findOlder(form: string, item: Submission, since: string | undefined): Promise<string | undefined> {
  let found = false;
  for await (const { items } of pages<Submission>(submissionsPath(form), { since, until: item.submitted_at })) {
    const at: number = found ? -1 : items.findIndex((s) => s.id === item.id);
    if ((found || at >= 0) && items[at + 1]) return items[at + 1]!.id;
    found ||= at >= 0;
  }
  return undefined;
}

/**
 * Finds the next newer response. Because lists are newest first, it uses a binary search to find a time range whose
 * responses fit on one page.
 */
async function findNewer(form: string, item: Submission, until: string | undefined): Promise<string | undefined> {
  const from = Date.parse(item.submitted_at) / 1000;
  const end = until ? Date.parse(until) / 1000 : Date.now() / 1000 + 86_400;
  let none = -1; // a time range in seconds without newer responses
  let many = Infinity; // a time range with more responses than a page
  for (let span = 3600; ; span = many === Infinity ? span * 24 : Math.floor((none + many) / 2)) {
    const within = (seconds: number) => ({ since: item.submitted_at, until: new Date(Math.min(from + seconds, end) * 1000).toISOString() });
    const { items, page: { has_more } } = await readPage(form, { ...within(span), limit: 100 });
    const at = items.findIndex((s) => s.id === item.id);
    if (!has_more && at > 0) return items[at - 1]!.id;
    if (!has_more && from + span >= end) return undefined;
    if (has_more) many = span;
    else none = span;
    if (many - none > 1) continue;
    let before: string | undefined; // set if many responses arrived in the same second
    for await (const { items: all } of pages<Submission>(submissionsPath(form), within(many))) {
      for (const s of all) {
        if (s.id === item.id) return before;
        before = s.id;
      }
    }
    return before;
  }
}

/** Deletes responses, four at a time. onDeleted is called for each response, even if it was already deleted. */
export async function deleteResponses(form: string, ids: string[], onDeleted: (id: string) => void): Promise<void> {
  const left = [...ids];
  const deleteNext = async () => {
    for (let id = left.shift(); id !== undefined; id = left.shift()) {
      try {
        await api(`${submissionsPath(form)}/${id}`, { method: 'DELETE' });
      } catch (error) {
        if (!(error instanceof ApiError && error.status === 404)) {
          left.length = 0;
          throw error;
        }
      }
      onDeleted(id);
    }
  };
  await Promise.all([deleteNext(), deleteNext(), deleteNext(), deleteNext()]);
}
