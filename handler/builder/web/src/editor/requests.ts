// What the editor sends to the service: one write at a time, and what the response says of the form.

import { isObject, member, patchOf, same, type Obj } from '../app/json';
import type { Answer, ApiError, Options } from '../app/api';
import type { Block, Definition } from '../app/records';
import { find, keyOf, replace, type Content, type Path } from './content';
import { apply, diff, type Operation } from './operations';

export interface Write {
  method: 'PATCH' | 'PUT' | 'POST' | 'DELETE';
  path: string; // below the form: '' or '/blocks…'
  body?: Obj;
  part: string; // what is written: a block's id, 'order of blocks' or 'form'
  after: Content; // the form afterwards
}

const theOrder = 'order of blocks';
const theForm = 'form';
const sections = ['settings', 'theme', 'variables', 'hidden_fields'] as const;

/** Returns the id of the top-level block that contains a block. */
function topOf(c: Content, id: string): string {
  for (let parent; (parent = find(c, id)?.parent); ) id = parent;
  return id;
}

/** The part that an operation belongs to. Moving a block from one top-level block to another changes the order. */
function partOf(op: Operation, base: Content, target: Content): string {
  const [first, id = ''] = op.path;
  if (first !== 'blocks') return theForm;
  if (op.kind === 'set' || op.path.length > 2) return topOf(target, id);
  const from = op.from ? topOf(base, op.from.parent) : undefined;
  const to = op.to ? topOf(target, op.to.parent) : from;
  return to && (from ?? to) === to ? to : theOrder;
}

/**
 * Returns the next write on the way from base to target: the order of the blocks, or one block, or all other
 * sections together. Parts in done are left out.
 */
export function plan(base: Content, target: Content, done: ReadonlySet<string> = new Set()): Write | undefined {
  const ops = diff(base, target);
  const order = ops.filter((op) => partOf(op, base, target) === theOrder);
  if (order.length > 0 && !done.has(theOrder)) return planOrder(base, target, order);
  for (const op of order.length > 0 ? [] : ops) {
    const id = partOf(op, base, target);
    if (id === theForm || done.has(id)) continue;
    const [old, block] = [find(base, id)?.block, find(target, id)?.block as Block];
    const patch = patchOf(old, block);
    if (!patch) return planOrder(base, target, []);
    return { method: 'PATCH', path: '/blocks/' + encodeURIComponent(id), body: { block: patch.patch }, part: id, after: replace(base, id, () => block) };
  }
  return done.has(theForm) ? undefined : planForm(base, target);
}

function planOrder(base: Content, target: Content, ops: readonly Operation[]): Write {
  const [op] = ops.length === 1 ? ops : [];
  const last = target.blocks.at(-1);
  if (op?.kind === 'add' && last && op.path[1] === last.id) return { method: 'POST', path: '/blocks', body: { block: last }, part: theOrder, after: apply(base, [op]) };
  if (op?.kind === 'remove' && op.from.parent === '') return { method: 'DELETE', path: '/blocks/' + encodeURIComponent(op.path[1] as string), part: theOrder, after: apply(base, [op]) };
  return { method: 'PUT', path: '/blocks', body: { blocks: target.blocks }, part: theOrder, after: { ...base, blocks: target.blocks } };
}

function planForm(base: Content, target: Content, names: readonly (keyof Definition)[] = sections): Write | undefined {
  const changed = names.filter((s) => !same(base[s], target[s]));
  const body: Obj = {};
  for (const member of ['name', 'type'] as const) if (base[member] !== target[member]) body[member] = target[member];
  if (changed.length > 0) body.definition = Object.fromEntries(changed.map((s) => [s, target[s]]));
  if (Object.keys(body).length === 0) return undefined;
  return { method: 'PATCH', path: '', body, part: theForm, after: { ...target, blocks: names === sections ? base.blocks : target.blocks } };
}

/** Returns one write for all changes, as small as possible. */
export function planAll(base: Content, target: Content): Write | undefined {
  const first = plan(base, target);
  return !first || same(first.after, target) ? first : planForm(base, target, [...sections, 'blocks']);
}

/** Returns the content of a form in a response. */
export function contentOf(form: Obj): Content {
  const { blocks, settings, theme, variables, hidden_fields } = form.definition as Definition;
  return { name: form.name as string, type: form.type as string, blocks, settings, theme, variables, hidden_fields };
}

/** Returns the form after a write that got a response. */
export function afterWrite(base: Content, { method, path, after }: Write, body: unknown): Content {
  if (method === 'DELETE' || !isObject(body)) return after;
  if (path === '') return contentOf(body);
  if (method === 'PUT') return { ...base, blocks: body.items as Block[] };
  const block = body as unknown as Block;
  return method === 'POST' ? { ...base, blocks: [...base.blocks, block] } : replace(base, block.id, () => block);
}

/** Returns the place that a JSON Pointer into the body of a write means. */
export function placeOf({ method, part, after }: Write, pointer: string): Path {
  const block = method === 'POST' ? after.blocks.at(-1) : find(after, part)?.block;
  let value: unknown = { ...after, definition: after, block };
  let path: string[] = [];
  for (const name of pointer.split('/').slice(1).map((n) => n.replaceAll('~1', '/').replaceAll('~0', '~'))) {
    const list = Array.isArray(value) ? value : undefined;
    value = list ? list[Number(name)] : member(value, name);
    const key = list ? (keyOf(value) ?? name) : name;
    if (path.length === 0 && name === 'definition') continue;
    if (path.length === 0 && name === 'block') path = ['blocks', block?.id ?? ''];
    else if (list && ['blocks', 'children'].includes(path.at(-1) ?? '')) path = ['blocks', key];
    else path.push(key);
  }
  return path;
}

/** A response of the service. The status is 0 if there was none. */
export type Reply = Answer<unknown> & Pick<ApiError, 'status' | 'code' | 'message' | 'details' | 'retryAfter'>;

export const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/** Reports whether a write with this status may have been done. */
export const isUnknown = (status: number): boolean => status < 200 || (status >= 300 && status < 400) || status >= 500;

export interface Clock {
  now(): number; // milliseconds
  after(milliseconds: number, run: () => void): () => void; // returns a function that cancels it
}

export const browserClock: Clock = {
  now: () => Date.now(),
  after: (milliseconds, run) => {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** request of app/api.ts: resolves with a success, and throws an ApiError otherwise. */
export type Request = (path: string, options?: Options) => Promise<Answer<unknown>>;

const timeout = 30_000;

/**
 * A form behind the HTTP API. Writes to a draft go to the form itself. A published form, and a draft with
 * a working copy, is written through the copy: then the two have different ETags.
 */
export class FormBackend {
  private readonly form: string;
  private readonly copy: string;

  constructor(private readonly request: Request, form: string, private readonly clock: Clock = browserClock) {
    this.form = `/-/v1/forms/${form}`;
    this.copy = `/-/copy/${form}/forms/${form}`;
  }

  /** Reads the form, and where to write it. known is what was read last, if nothing was refused since. */
  async read(known?: { etag: string; at: string }): Promise<Reply & { at: string }> {
    const reply = await this.ask(this.copy);
    if (reply.status === 404) return { ...(await this.ask(this.form)), at: this.form }; // the storage may have no copies
    if (!isSuccess(reply.status) || reply.etag === known?.etag) return { ...reply, at: known?.at ?? this.copy };
    if ((reply.body as Obj).status !== 'draft') return { ...reply, at: this.copy };
    const form = await this.ask(this.form, { method: 'HEAD' });
    return { ...(isSuccess(form.status) ? reply : form), at: form.etag === reply.etag ? this.form : this.copy };
  }

  write(at: string, { method, path, body }: Write, etag: string, keepalive: boolean): Promise<Reply> {
    return this.ask(at + path, { method, ifMatch: etag, keepalive, ...(body && { body }) });
  }

  private async ask(path: string, options: Options = {}): Promise<Reply> {
    const end = new AbortController();
    const cancel = options.keepalive ? () => undefined : this.clock.after(timeout, () => end.abort());
    try {
      const { body, etag } = await this.request(path, { ...options, signal: end.signal });
      return { status: 200, body, etag, code: '', message: '', details: [], retryAfter: 0 };
    } catch (cause) {
      const { status = 0, code = '', message = '', details = [], retryAfter = 0 } = cause as Partial<ApiError>;
      return { status: isSuccess(status) ? 0 : status, etag: '', body: undefined, code, message, details, retryAfter };
    } finally {
      cancel();
    }
  }
}
