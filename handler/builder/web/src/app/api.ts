import { signal } from '@preact/signals';
import { config } from './config';
import { localizeMessage } from './words';

/** A violation or a warning. path is a JSON Pointer into the body. */
export interface Detail {
  path: string;
  code: string;
  message: string;
  params?: Record<string, string | number>;
}

/** An error response. If there was no response, status is 0 and code is OFFLINE. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly details: Detail[] = [],
    /** The Retry-After header of a 429 or 503, in seconds. 0 if there is none. */
    readonly retryAfter = 0,
    /** The whole body. Some errors have additional fields. */
    readonly body: Record<string, unknown> = {},
  ) {
    super(message);
  }
}

/** etag is empty if the response has none. */
export interface ApiResponse<T> {
  body: T;
  etag: string;
}

export interface Options {
  method?: string;
  body?: unknown;
  ifMatch?: string;
  keepalive?: boolean;
  signal?: AbortSignal;
}

/** Whether the last response was a 401. The next successful response resets it. */
export const signedOut = signal(false);

/**
 * Removes what a compressing proxy adds to an ETag (W/ in front, a suffix such as -gzip), so that a revision's
 * tags are equal however each response was compressed.
 */
const normalizeETag = (tag: string): string => {
  const match = /"[0-9a-z]+/.exec(tag);
  return match ? match[0] + '"' : tag;
};

/** Sends a request to a path below the handler's own, such as /-/v1/forms. Throws an ApiError. */
export async function request<T>(path: string, options: Options = {}): Promise<ApiResponse<T>> {
  const headers: Record<string, string> = { Accept: 'application/json' };
  if (options.body !== undefined) headers['Content-Type'] = 'application/json';
  if (options.ifMatch) headers['If-Match'] = options.ifMatch;
  let response: Response;
  let text: string;
  try {
    response = await fetch(config.base + path, {
      method: options.method ?? (options.body === undefined ? 'GET' : 'POST'),
      headers,
      body: options.body === undefined ? null : JSON.stringify(options.body),
      credentials: 'same-origin',
      keepalive: options.keepalive ?? false,
      signal: options.signal ?? null,
    });
    text = await response.text();
  } catch (cause) {
    if (options.signal?.aborted) throw cause;
    throw new ApiError(0, 'OFFLINE', String(cause));
  }
  let body: unknown;
  try {
    body = text === '' ? null : JSON.parse(text);
  } catch {
    throw new ApiError(response.status || 502, 'NOT_JSON', text.slice(0, 200));
  }
  if (response.ok) {
    signedOut.value = false;
    return { body: body as T, etag: normalizeETag(response.headers.get('ETag') ?? '') };
  }
  const failure = (body ?? {}) as { code?: string; message?: string; details?: Detail[] };
  if (response.status === 401) signedOut.value = true;
  throw new ApiError(
    response.status,
    failure.code ?? 'UNKNOWN',
    localizeMessage({ code: '', message: response.statusText, ...failure }).message,
    (failure.details ?? []).map(localizeMessage),
    Number(response.headers.get('Retry-After') ?? 0) || 0,
    failure as Record<string, unknown>,
  );
}

export const api = <T>(path: string, options?: Options): Promise<ApiResponse<T>> => request<T>('/-/v1' + path, options);

export const builderApi = async <T>(path: string, options?: Options): Promise<T> =>
  (await request<T>('/-/builder' + path, options)).body;

/** A page of a list returned by the API. */
export interface Page<T> {
  items: T[];
  page: { has_more: boolean; next_cursor: string | null };
}

export const query = (params: Record<string, string | number | undefined | null>): string => {
  const present = Object.entries(params).filter(([, v]) => v !== undefined && v !== null && v !== '');
  return present.length === 0 ? '' : '?' + new URLSearchParams(present.map(([k, v]) => [k, String(v)])).toString();
};

/** Yields a list's pages. */
export async function* pages<T>(path: string, params: Record<string, string | number | undefined> = {}): AsyncGenerator<Page<T>> {
  for (let cursor: string | undefined; ; ) {
    const { body } = await api<Page<T>>(path + query({ limit: 100, ...params, cursor }));
    yield body;
    if (!body.page.has_more || !body.page.next_cursor) return;
    cursor = body.page.next_cursor;
  }
}

/** Returns a list's items. It stops after the page that reaches the limit. */
export async function all<T>(path: string, params: Record<string, string | number | undefined> = {}, limit = 10_000): Promise<T[]> {
  const items: T[] = [];
  for await (const page of pages<T>(path, params)) {
    items.push(...page.items);
    if (items.length >= limit) break;
  }
  return items;
}
