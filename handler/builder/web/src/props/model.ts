// Creates blocks and changes block types.
import { t } from '../app/words';
import { isObject, createMergePatch as difference, isEqual, type Obj } from '../app/json';
import type { Block, Choice } from '../app/records';
import { newChoiceId } from '../editor/edits';
import { parts, properties, types } from './props.gen';

/** Reports whether a block type supports a property. For 'required', it reports whether the type has an answer. */
export function supports(type: string, property: string): boolean {
  if (property === 'required') return types[type] === undefined || types[type].answer === true;
  const row = properties[property];
  return row !== undefined && (row.of?.includes(type) ?? true);
}

export const propertiesOf = (type: string): string[] => Object.keys(properties).filter((name) => supports(type, name));

const withChoices = ['single_choice', 'multiple_choice', 'picture_choice', 'dropdown', 'ranking'];

/** Returns the list fields of a block type. */
export const listsOf = (type: string): readonly ('choices' | 'matrix_rows' | 'matrix_columns')[] =>
  withChoices.includes(type) ? ['choices'] : type === 'matrix' ? ['matrix_rows', 'matrix_columns'] : [];

/** Returns a list with new choices at an index. */
export function withLabels(list: readonly Choice[], labels: readonly string[], at = list.length): Choice[] {
  const all = [...list];
  labels.forEach((label, i) => all.splice(at + i, 0, { id: newChoiceId(all), label }));
  return all;
}

const numberedChoices = (key: string, count: number): Choice[] =>
  withLabels([], Array.from({ length: count }, (_, i) => t(key, { number: i + 1 })));

const contactParts = ['firstName', 'lastName', 'email', 'phone', 'company'];

/** Returns the parts of an address or contact that are hidden by default. */
const hiddenParts = (type: string): Obj =>
  Object.fromEntries(Object.keys(parts).filter((p) => (type === 'address') === contactParts.includes(p) || p === 'company').map((p) => [p, { hide: true }]));

/** Returns a new block with the required fields of its type. */
export function newBlock(type: string, id: string): Block {
  const block: Block = { id, type };
  if (listsOf(type).includes('choices')) block.choices = numberedChoices('props.new_choice', 2);
  if (type === 'matrix') {
    block.matrix_rows = numberedChoices('props.new_row', 2);
    block.matrix_columns = numberedChoices('props.new_column', 3);
  }
  if (type === 'group') block.children = [];
  if (type === 'welcome' || type === 'ending') block.label = t('props.new_' + type);
  if (type === 'legal') block.properties = { legalText: t('props.new_legal'), legalType: 1 };
  if (type === 'address' || type === 'contact_info') block.properties = { addressOrContact: hiddenParts(type) };
  if (type === 'file_upload' || type === 'signature') block.properties = { maxFileSize: true };
  return block;
}

/**
 * Converts a block to another type. Choices become matrix columns and vice versa. Supported properties are kept,
 * except for limits with a different meaning. Only groups keep their children. The caller must move other children.
 */
export function changeType(block: Block, type: string): Block {
  if (block.type === type) return block;
  const empty = newBlock(type, block.id);
  const old = block.properties ?? {};
  const properties = Object.fromEntries(Object.entries(old).filter(([name]) => supports(type, name)));
  if ((type === 'number') !== (block.type === 'number')) for (const name of ['min', 'max', 'minVal', 'maxVal']) delete properties[name];
  if (type === 'rating' && !(Number(properties.to) >= 1 && Number(properties.to) <= 20)) delete properties.to;
  const isMultiple = block.type === 'multiple_choice' || (block.type !== 'multiple_choice' && old.multiSelection === true);
  delete properties.multiSelection;
  if (isMultiple && (type === 'picture_choice' || type === 'matrix')) properties.multiSelection = true;
  if (isEqual(properties.addressOrContact, hiddenParts(block.type))) delete properties.addressOrContact;
  const result: Block = { ...empty, ...block, type };
  const chosen = block.choices ?? block.matrix_columns;
  for (const list of ['choices', 'matrix_rows', 'matrix_columns'] as const) {
    const from = list === 'matrix_rows' ? block.matrix_rows : chosen;
    delete result[list];
    if (listsOf(type).includes(list)) result[list] = from?.length ? from : empty[list]!;
  }
  if (type !== 'group') delete result.children;
  if (!supports(type, 'required')) delete result.required;
  result.properties = { ...empty.properties, ...properties };
  if (Object.keys(result.properties).length === 0) delete result.properties;
  return result;
}

/** Returns the merge patch (RFC 7396) from one object to another. Lists are replaced as a whole. */
export const patchOf = (from: Obj, to: Obj): Obj => (difference(from, to)?.patch ?? {}) as Obj;

/** Returns the value at a path such as 'properties.min'. */
export const valueAt = (object: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((o, name) => (isObject(o) ? o[name] : undefined), object);

/** Returns a merge patch that sets values by path. undefined removes a value. */
export function patchFromPaths(changes: Obj): Obj {
  const patch: Obj = {};
  for (const [path, value] of Object.entries(changes)) {
    const names = path.split('.');
    const last = names.pop()!;
    let at = patch;
    for (const name of names) at = (at[name] ??= {}) as Obj;
    at[last] = value ?? null;
  }
  return patch;
}
