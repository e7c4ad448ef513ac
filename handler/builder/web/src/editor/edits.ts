// The edits of a form. Each returns a new content, or the same one if nothing changes.
import { allBlocks, type Block, type Choice } from '../app/records';
import { Fields } from '../rules/fields';
import { renameInBlock, renameInBlocks, renameInTexts } from '../rules/references';
import { applyMergePatch, type Obj } from '../app/json';
import { removeNode, findNode, replaceBlock, treeOf, type Content } from './content';

/** A position in a group, or in the form if parent is undefined. index is the index after the edit. */
export interface Position {
  parent: string | undefined;
  index: number;
}

const letters = 'abcdefghijklmnopqrstuvwxyz';

/** Returns an id that no block, hidden field or variable of the form has. */
export function newId(c: Content, random: () => number = Math.random): string {
  const pick = (from: string): string => from.charAt(Math.floor(random() * from.length));
  for (;;) {
    const id = pick(letters) + Array.from({ length: 9 }, () => pick(letters + '0123456789')).join('');
    if (!findNode(c, id) && !c.hidden_fields.includes(id) && !Object.hasOwn(c.variables, id)) return id;
  }
}

/** Returns an id that none of the choices has. */
export function newChoiceId(choices: readonly Choice[], random: () => number = Math.random): string {
  for (;;) {
    const id = Math.floor(random() * 36 ** 6).toString(36);
    if (!choices.some((ch) => ch.id === id)) return id;
  }
}

/**
 * Merges a patch (RFC 7396) into a block, and keeps its id and children. If children is null, the block is no longer
 * a group, so its children are moved after it.
 */
export function patchBlock(c: Content, id: string, patch: Partial<Record<keyof Block, unknown>>): Content {
  const { id: _, children, ...rest } = patch;
  const movedOut = children === null ? (findNode(c, id)?.block.children ?? []) : [];
  const result = replaceBlock(c, id, (b) => applyMergePatch(b, children === null ? { ...rest, children } : rest) as Block);
  return insertAfter(result, id, movedOut);
}

/** Inserts a block. If the index is too large, the block is added at the end. If its group is missing, it is added at the top level. */
export function addBlock(c: Content, block: Block, place: Position): Content {
  const insert = (list: Block[] = []): Block[] => list.toSpliced(place.index, 0, block);
  const group = place.parent === undefined ? undefined : findNode(c, place.parent);
  if (group) return replaceBlock(c, group.block.id, (p) => ({ ...p, children: insert(p.children) }));
  return { ...c, blocks: insert(c.blocks) };
}

function positionOf(c: Content, id: string): Position {
  const tree = treeOf(c.blocks);
  const parent = tree?.nodes.get(id)?.parent ?? '';
  return { parent: parent === '' ? undefined : parent, index: tree?.lists.get(parent)?.indexOf(id) ?? -1 };
}

/** Inserts blocks in order, the first at a position. See addBlock. */
export const addBlocks = (c: Content, blocks: readonly Block[], place: Position): Content =>
  blocks.reduce((now, block, i) => addBlock(now, block, { ...place, index: place.index + i }), c);

/** Inserts blocks after another block. */
function insertAfter(c: Content, id: string, blocks: Block[]): Content {
  const place = positionOf(c, id);
  return addBlocks(c, blocks, { ...place, index: place.index + 1 });
}

/** Returns c without a block, and without a duplicateField that names a removed block. */
export function removeBlock(c: Content, id: string): Content {
  const result = removeNode(c, id);
  const duplicateField = c.settings.duplicateField as string;
  return findNode(c, duplicateField) && !findNode(result, duplicateField) ? patchSection(result, 'settings', { duplicateField: null }) : result;
}

export function moveBlock(c: Content, id: string, place: Position): Content {
  const node = findNode(c, id);
  for (let up = place.parent; up; up = findNode(c, up)?.parent) if (up === id) return c; // a block cannot move into itself
  if (!node || (place.parent !== undefined && !findNode(c, place.parent))) return c;
  const from = positionOf(c, id);
  const result = addBlock(removeNode(c, id), node.block, place);
  const to = positionOf(result, id);
  return to.parent === from.parent && to.index === from.index ? c : result;
}

export type Section = 'settings' | 'theme' | 'variables';

/** Merges a patch (RFC 7396) into one of the content's sections. */
export function patchSection(c: Content, section: Section, patch: Obj): Content {
  const result = applyMergePatch(c[section], patch) as Obj;
  return result === c[section] ? c : { ...c, [section]: result };
}

/** Renames a variable or a hidden field, also in rules. If the name is already used, nothing changes. */
export function renameField(c: Content, kind: 'variables' | 'hidden', from: string, to: string): Content {
  if (kind === 'variables' ? Object.hasOwn(c.variables, to) : c.hidden_fields.includes(to)) return c;
  const renames = { [kind]: { [from]: to } };
  const blocks = renameInBlocks(c, renames);
  c = { ...c, settings: renameInTexts(c.settings, ['closedMessage', 'submitLabel'], renames, new Fields(c)) };
  if (kind === 'hidden') return { ...c, blocks, hidden_fields: c.hidden_fields.map((name) => (name === from ? to : name)) };
  return { ...c, blocks, variables: Object.fromEntries(Object.entries(c.variables).map(([name, v]) => [name === from ? to : name, v])) };
}

/**
 * Returns copies of blocks for a form. The blocks, choices, rows and columns get new ids. Rules and texts in the copies
 * refer to the copied items.
 */
export function copyBlocks(c: Content, originals: readonly Block[], random: () => number = Math.random): Block[] {
  type Ids = Record<string, string>;
  const emptyRecord = <T>(): Record<string, T> => Object.create(null) as Record<string, T>;
  const renames = { blocks: emptyRecord<string>(), choices: emptyRecord<Ids>(), rows: emptyRecord<Ids>() };
  const newIds = (list: Choice[] = []): Ids => {
    const ids = emptyRecord<string>();
    for (const { id: of } of list) if (of !== undefined) ids[of] = newChoiceId([...list, ...Object.values(ids).map((made) => ({ id: made }))], random);
    return ids;
  };
  for (const b of allBlocks(originals)) {
    renames.blocks[b.id] = newId(c, random);
    renames.rows[b.id] = newIds(b.matrix_rows);
    renames.choices[b.id] = newIds(b.type === 'matrix' ? b.matrix_columns : b.choices);
  }
  const fields = new Fields({ ...c, blocks: [...originals, ...c.blocks] });
  const copy = (b: Block): Block => {
    const result: Block = { ...renameInBlock(b, renames, fields), id: renames.blocks[b.id] as string };
    const withNewIds = (ids: Ids | undefined, choices: Choice[]): Choice[] =>
      choices.map((ch) => (ch.id !== undefined && ids?.[ch.id] !== undefined ? { ...ch, id: ids[ch.id] as string } : ch));
    const choices = renames.choices[b.id];
    if (b.choices) result.choices = withNewIds(b.type === 'matrix' ? {} : choices, b.choices);
    if (b.matrix_columns) result.matrix_columns = withNewIds(b.type === 'matrix' ? choices : {}, b.matrix_columns);
    if (b.matrix_rows) result.matrix_rows = withNewIds(renames.rows[b.id], b.matrix_rows);
    if (b.children) result.children = b.children.map(copy);
    return result;
  };
  return originals.map(copy);
}

/** Inserts a copy after a block. */
export function duplicate(c: Content, id: string, random?: () => number): { content: Content; id: string } {
  const original = findNode(c, id)?.block;
  const copies = original ? copyBlocks(c, [original], random) : [];
  return { content: insertAfter(c, id, copies), id: copies[0]?.id ?? '' };
}
