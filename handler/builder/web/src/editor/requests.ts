// The editor's requests. This file plans the next write and computes the content after the response.

import { isObject, createMergePatch, isEqual, type Obj } from '../app/json';
import { ApiError, type ApiResponse, type Options } from '../app/api';
import type { Block, Definition } from '../app/records';
import { findNode, pathOf, replaceBlock, type Content, type Path } from './content';
import { apply, diff, type Operation } from './operations';

export interface WriteRequest {
  method: 'PATCH' | 'PUT' | 'POST' | 'DELETE';
  path: string; // the path below the form: '' or '/blocks…'
  body?: Obj;
  after: Content; // the content after the write
}

const sections = ['settings', 'theme', 'variables', 'hidden_fields'] as const;

/** Returns the id of the top-level block that contains a block. */
function topLevelId(c: Content, id: string): string {
  for (let parent; (parent = findNode(c, id)?.parent); ) id = parent;
  return id;
}

/** Reports whether an operation adds, moves or removes a block, except within a single top-level block. */
function changesOrder({ path, from, to }: Operation, base: Content, target: Content): boolean {
  if (path[0] !== 'blocks' || path.length !== 2) return false;
  const tops = [...(from ? [topLevelId(base, from.parent)] : []), ...(to ? [topLevelId(target, to.parent)] : [])];
  return tops.includes('') || tops[0] !== tops.at(-1);
}

const blockPath = (id: string): string => '/blocks/' + encodeURIComponent(id);

/** Returns the next write from base to target: the order of the blocks, one block, or all other sections. */
export function planWrite(base: Content, target: Content): WriteRequest | undefined {
  const order = diff(base, target).filter((op) => changesOrder(op, base, target));
  if (order.length > 0) return planOrder(base, target, order);
  const at = target.blocks.findIndex((b, i) => !isEqual(b, base.blocks[i]));
  const block = target.blocks[at];
  if (!block) return planForm(base, target);
  const patch = createMergePatch(base.blocks[at], block);
  return patch ? { method: 'PATCH', path: blockPath(block.id), body: { block: patch.patch }, after: replaceBlock(base, block.id, () => block) } : planOrder(base, target, []);
}

function planOrder(base: Content, target: Content, [op, ...others]: readonly Operation[]): WriteRequest {
  const last = target.blocks.at(-1);
  const after = op && others.length === 0 ? apply(base, [op]) : undefined;
  if (after && op?.kind === 'add' && op.path[1] === last?.id) return { method: 'POST', path: '/blocks', body: { block: last }, after };
  if (after && op?.kind === 'remove' && op.from.parent === '') return { method: 'DELETE', path: blockPath(op.path[1] as string), after };
  return { method: 'PUT', path: '/blocks', body: { blocks: target.blocks }, after: { ...base, blocks: target.blocks } };
}

function planForm(base: Content, target: Content, names: readonly (keyof Definition)[] = sections): WriteRequest | undefined {
  const changed = names.filter((s) => !isEqual(base[s], target[s]));
  const body: Obj = {};
  for (const member of ['name', 'type'] as const) if (base[member] !== target[member]) body[member] = target[member];
  if (changed.length > 0) body.definition = Object.fromEntries(changed.map((s) => [s, target[s]]));
  if (Object.keys(body).length === 0) return undefined;
  return { method: 'PATCH', path: '', body, after: { ...target, blocks: names === sections ? base.blocks : target.blocks } };
}

/** Returns a single write for all changes. */
export const planSingleWrite = (base: Content, target: Content): WriteRequest | undefined => planForm(base, target, [...sections, 'blocks']);

/** Returns the form content in a response. */
export function parseContent(form: Obj): Content {
  const { blocks, settings, theme, variables, hidden_fields } = form.definition as Definition;
  return { name: form.name as string, type: form.type as string, blocks, settings, theme, variables, hidden_fields };
}

/** Returns the content after a successful write. */
export function contentAfterWrite(base: Content, { method, path, after }: WriteRequest, body: unknown): Content {
  if (method === 'DELETE' || !isObject(body)) return after;
  if (path === '') return parseContent(body);
  if (method === 'PUT') return { ...base, blocks: body.items as Block[] };
  const block = body as unknown as Block;
  return method === 'POST' ? { ...base, blocks: [...base.blocks, block] } : replaceBlock(base, block.id, () => block);
}

/** Returns the content path for a JSON Pointer that points into a write's body. */
export function pathInBody({ path, after }: WriteRequest, pointer: string): Path {
  const index = path === '/blocks' ? after.blocks.length - 1 : after.blocks.findIndex((b) => blockPath(b.id) === path);
  return pathOf(after, pointer.replace(/^\/definition/, '').replace(/^\/block(?=\/|$)/, '/blocks/' + String(index)));
}

/** A response from the service. If there was none, the error's status is 0. */
export type Reply = ApiResponse<unknown> & { error?: ApiError };

/** Reports whether a failed write may have been applied. */
export const isOutcomeUnknown = ({ status }: ApiError): boolean => status < 400 || status >= 500;

export interface Clock {
  now(): number; // in milliseconds
  after(milliseconds: number, run: () => void): () => void; // returns a function that cancels the timer
}

export const browserClock: Clock = {
  now: () => Date.now(),
  after: (milliseconds, run) => {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** The type of the function request in app/api.ts, which throws an ApiError if the request fails. */
export type Request = (path: string, options?: Options) => Promise<ApiResponse<unknown>>;

const requestTimeout = 30_000;

export type FormBackend = ReturnType<typeof formBackend>;

/**
 * Returns the backend for a form. Writes to a draft go to the form itself. If the form is published or has a
 * working copy, they go to the working copy, which has its own ETag.
 */
export function formBackend(request: Request, id: string) {
  const [form, workingCopy] = [`/-/v1/forms/${id}`, `/-/copy/${id}/forms/${id}`];
  const send = (path: string, options: Options = {}): Promise<Reply> =>
    request(path, { ...options, ...(!options.keepalive && { signal: AbortSignal.timeout(requestTimeout) }) }).catch((cause: unknown) => ({
      body: undefined, etag: '', error: cause instanceof ApiError ? cause : new ApiError(0, 'OFFLINE', String(cause)),
    }));
  return {
    /** Reads the form and the path for writes. known is the state that was last read, unless a write was rejected since then. */
    async read(known?: { etag: string; at: string }): Promise<Reply & { at: string }> {
      const reply = await send(workingCopy);
      if (reply.error?.status === 404) return { ...(await send(form)), at: form }; // the storage may not support working copies
      if (reply.error || reply.etag === known?.etag) return { ...reply, at: known?.at ?? workingCopy };
      if ((reply.body as Obj).status !== 'draft') return { ...reply, at: workingCopy };
      const direct = await send(form, { method: 'HEAD' });
      return { ...(direct.error ? direct : reply), at: direct.etag === reply.etag ? form : workingCopy };
    },
    write: (at: string, { method, path, body }: WriteRequest, etag: string, keepalive: boolean): Promise<Reply> =>
      send(at + path, { method, ifMatch: etag, keepalive, ...(body && { body }) }),
  };
}
