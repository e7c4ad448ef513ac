// Compares JSON values, and creates and applies merge patches (RFC 7396).

export type Obj = Record<string, unknown>;

export const isObject = (v: unknown): v is Obj => typeof v === 'object' && v !== null && !Array.isArray(v);

/** Returns the value of v's own field, even if the field is named constructor. */
export const fieldOf = (v: unknown, name: string): unknown => (isObject(v) && Object.hasOwn(v, name) ? v[name] : undefined);

/** Returns the segments of a JSON Pointer. */
export const pointerSegments = (pointer: string): string[] => pointer.split('/').slice(1).map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));

/** Reports whether two JSON values are equal. The order of fields does not matter. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((v, i) => isEqual(v, b[i]));
  if (!isObject(a) || !isObject(b)) return false;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((n) => Object.hasOwn(b, n) && isEqual(a[n], b[n]));
}

/** Returns the merge patch from one value to another, or undefined if an object contains null, which a patch cannot set. */
export function createMergePatch(from: unknown, to: unknown): { patch: unknown } | undefined {
  if (!isObject(to)) return to === null ? undefined : { patch: to };
  const entries: [string, unknown][] = isObject(from) ? Object.keys(from).filter((n) => !Object.hasOwn(to, n)).map((n) => [n, null]) : [];
  for (const [n, v] of Object.entries(to)) {
    if (Object.hasOwn(isObject(from) ? from : {}, n) && isEqual(fieldOf(from, n), v)) continue;
    const inner = createMergePatch(fieldOf(from, n), v);
    if (!inner) return undefined;
    entries.push([n, inner.patch]);
  }
  return { patch: Object.fromEntries(entries) };
}

/** Applies a merge patch and returns the result. If nothing changes, it returns target itself. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const from = isObject(target) ? target : {};
  const entries = Object.entries(from).map(([n, v]) => [n, Object.hasOwn(patch, n) ? applyMergePatch(v, patch[n]) : v]);
  for (const [n, v] of Object.entries(patch)) if (!Object.hasOwn(from, n)) entries.push([n, applyMergePatch(undefined, v)]);
  const result: Obj = Object.fromEntries(entries.filter(([n, v]) => v !== null || !Object.hasOwn(patch, n as string)));
  return isEqual(result, target) ? target : result;
}
