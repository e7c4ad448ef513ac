import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { api, ApiError, pages, query, type Page } from '../app/api';
import { type Pages, usePages } from '../ui/states';
import type { Submission } from './answers';
import { fetchBounds, timeQuery, type Bounds, type TimeRange } from './timeRange';

const submissionsPath = (form: string) => `/forms/${form}/submissions`;

const readPage = async (form: string, params: Parameters<typeof query>[0]): Promise<Page<Submission>> =>
  (await api<Page<Submission>>(submissionsPath(form) + query(params))).body;

/** Reads the newest responses in a time range, and again when refreshes changes. */
export function useResponses(form: string, time: TimeRange, refreshes: number): Pages<Submission> {
  const key = form + timeQuery(time) + refreshes;
  const first = useRef<Promise<Bounds> | undefined>(undefined);
  const read = async (cursor: string | null) => {
    if (!cursor || !first.current) first.current = fetchBounds(time); // all pages use the first page's bounds
    return readPage(form, { ...(await first.current), limit: 50, cursor });
  };
  return usePages(read, key, (s) => s.id);
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
    const pollIfVisible = () => document.visibilityState === 'visible' && void poll();
    void poll();
    const timer = setInterval(pollIfVisible, pollInterval);
    addEventListener('focus', pollIfVisible);
    document.addEventListener('visibilitychange', pollIfVisible);
    return () => {
      isCurrent = false;
      clearInterval(timer);
      removeEventListener('focus', pollIfVisible);
      document.removeEventListener('visibilitychange', pollIfVisible);
    };
  }, [form, resets.value]);
  return { count: count.value, seen: () => void resets.value++ };
}

/** Returns the ids of the next newer and the next older response in a time range. */
export async function adjacentResponses(form: string, item: Submission, time: TimeRange): Promise<{ newer: string | undefined; older: string | undefined }> {
  const { since, until } = await fetchBounds(time);
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
