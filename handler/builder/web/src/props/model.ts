// Blocks as the editor makes them, and what a change of type keeps. Nothing here draws.
import { t } from '../app/words';
import { isObject, createMergePatch as difference, isEqual, type Obj } from '../app/json';
import type { Block, Choice } from '../app/records';
import { newChoiceId } from '../editor/edits';
import { parts, properties, types } from './props.gen';

/** The types in the order in which the editor offers them, by group. */
export const groups: readonly (readonly [group: string, types: readonly string[]])[] = [
  'basic', 'choice', 'scale', 'contact', 'content', 'layout', 'more',
].map((group) => [group, Object.keys(types).filter((type) => types[type]!.group === group)]);

/** Whether a property matters for a type of blocks. Of 'required', whether the type is answered. */
export function supports(type: string, property: string): boolean {
  if (property === 'required') return types[type] === undefined || types[type].answer === true;
  const row = properties[property];
  return row !== undefined && (row.of?.includes(type) ?? true);
}

export const propertiesOf = (type: string): string[] => Object.keys(properties).filter((name) => supports(type, name));

const withChoices = ['single_choice', 'multiple_choice', 'picture_choice', 'dropdown', 'ranking'];

/** The lists that blocks of a type have, by their members. */
export const listsOf = (type: string): readonly ('choices' | 'matrix_rows' | 'matrix_columns')[] =>
  withChoices.includes(type) ? ['choices'] : type === 'matrix' ? ['matrix_rows', 'matrix_columns'] : [];

/** Choices with these labels, behind those of a list. */
export function withLabels(list: readonly Choice[], labels: readonly string[], at = list.length): Choice[] {
  const all = [...list];
  labels.forEach((label, i) => all.splice(at + i, 0, { id: newChoiceId(all), label }));
  return all;
}

const numberedChoices = (key: string, count: number): Choice[] =>
  withLabels([], Array.from({ length: count }, (_, i) => t(key, { number: i + 1 })));

const contactParts = ['firstName', 'lastName', 'email', 'phone', 'company'];

/** The parts that an address or a contact does not ask for at first. */
const hiddenParts = (type: string): Obj =>
  Object.fromEntries(Object.keys(parts).filter((p) => (type === 'address') === contactParts.includes(p) || p === 'company').map((p) => [p, { hide: true }]));

/** A block of a type, with what it cannot do without. */
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
 * The block as one of another type, with what means the same there: choices, which are the columns of a
 * matrix; properties that matter for the new type, but for bounds that count something else; that several
 * can be chosen. What the new type cannot do without is added. Children stay in groups only: where a group
 * becomes something else, its children are for the caller.
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

/** The merge patch (RFC 7396) that makes one object of another; lists are replaced whole. */
export const patchOf = (from: Obj, to: Obj): Obj => (difference(from, to)?.patch ?? {}) as Obj;

/** What is at a path such as 'properties.min'. */
export const valueAt = (object: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((o, name) => (isObject(o) ? o[name] : undefined), object);

/** A merge patch of values by their paths; undefined removes. */
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
