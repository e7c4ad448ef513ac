// The edits of a form: each makes a new content of one, and the same one where it changes nothing.
import type { Block, Choice, JsonObject } from '../app/records';
import { Fields } from '../rules/fields';
import { rewrite, rewriteAll } from '../rules/references';
import { isObject, patched, type Obj } from '../app/json';
import { drop, find, replace, treeOf, type Content } from './content';

/** A place in a group, or in the form, and the index that a block has there afterwards. */
export interface Place {
  parent: string | undefined;
  index: number;
}

const letters = 'abcdefghijklmnopqrstuvwxyz';

/** An id that no block, hidden field or variable of the form has. */
export function newId(c: Content, random: () => number = Math.random): string {
  const pick = (from: string): string => from.charAt(Math.floor(random() * from.length));
  for (;;) {
    const id = pick(letters) + Array.from({ length: 9 }, () => pick(letters + '0123456789')).join('');
    if (!find(c, id) && !c.hidden_fields.includes(id) && !Object.hasOwn(c.variables, id)) return id;
  }
}

/** An id that is in no list of choices of these. */
export function newChoiceId(choices: readonly Choice[], random: () => number = Math.random): string {
  for (;;) {
    const id = Math.floor(random() * 36 ** 6).toString(36);
    if (!choices.some((ch) => ch.id === id)) return id;
  }
}

/**
 * Merges a patch (RFC 7396) into a block. Its id stays, and its children, which have edits of their own: null
 * puts them behind the block, as where a group becomes something else.
 */
export function patchBlock(c: Content, id: string, patch: Partial<Record<keyof Block, unknown>>): Content {
  const { id: _, children, ...rest } = patch;
  const out = children === null ? (find(c, id)?.block.children ?? []) : [];
  const made = replace(c, id, (b) => patched(b, children === null ? { ...rest, children } : rest) as Block);
  return behind(made, id, out);
}

/** Puts a block at a place: at the end where there are not as many, and of the form where there is no such group. */
export function addBlock(c: Content, block: Block, place: Place): Content {
  const insert = (list: Block[] = []): Block[] => list.toSpliced(place.index, 0, block);
  const group = place.parent === undefined ? undefined : find(c, place.parent);
  if (group) return replace(c, group.block.id, (p) => ({ ...p, children: insert(p.children) }));
  return { ...c, blocks: insert(c.blocks) };
}

/** Where a block is. */
function placeOf(c: Content, id: string): Place {
  const tree = treeOf(c.blocks);
  const parent = tree?.nodes.get(id)?.parent ?? '';
  return { parent: parent === '' ? undefined : parent, index: tree?.lists.get(parent)?.indexOf(id) ?? -1 };
}

/** Puts blocks behind another one. */
const behind = (c: Content, id: string, blocks: Block[]): Content =>
  blocks.reduceRight((now, block) => addBlock(now, block, { ...placeOf(now, id), index: placeOf(now, id).index + 1 }), c);

/** c without a block, and without the setting that names it or what is in it. */
export function removeBlock(c: Content, id: string): Content {
  const made = drop(c, id);
  const named = c.settings.duplicateField as string;
  return find(c, named) && !find(made, named) ? patchSection(made, 'settings', { duplicateField: null }) : made;
}

export function moveBlock(c: Content, id: string, place: Place): Content {
  const node = find(c, id);
  for (let up = place.parent; up; up = find(c, up)?.parent) if (up === id) return c; // into itself
  if (!node || (place.parent !== undefined && !find(c, place.parent))) return c;
  const was = placeOf(c, id);
  const made = addBlock(drop(c, id), node.block, place);
  const is = placeOf(made, id);
  return is.parent === was.parent && is.index === was.index ? c : made;
}

export type Section = 'settings' | 'theme' | 'variables';

/** Merges a patch (RFC 7396) into a section. */
export function patchSection(c: Content, section: Section, patch: Obj): Content {
  const made = patched(c[section], patch) as Obj;
  return made === c[section] ? c : { ...c, [section]: made };
}

/** Gives a variable or a hidden field another name, in the rules too. One that there is already stays as it is. */
export function renameField(c: Content, kind: 'variables' | 'hidden', from: string, to: string): Content {
  if (kind === 'variables' ? Object.hasOwn(c.variables, to) : c.hidden_fields.includes(to)) return c;
  const blocks = rewriteAll(c, { [kind]: { [from]: to } });
  if (kind === 'hidden') return { ...c, blocks, hidden_fields: c.hidden_fields.map((name) => (name === from ? to : name)) };
  return { ...c, blocks, variables: Object.fromEntries(Object.entries(c.variables).map(([name, v]) => [name === from ? to : name, v])) };
}

/**
 * Puts a copy of a block behind it. The copy, and what is in it, has new ids, of choices, rows and
 * columns too; rules in it that name what was copied name the copies.
 */
export function duplicate(c: Content, id: string, random: () => number = Math.random): { content: Content; id: string } {
  const old = find(c, id)?.block;
  if (!old) return { content: c, id: '' };
  type Ids = Record<string, string>;
  const none = <T>(): Record<string, T> => Object.create(null) as Record<string, T>;
  const names = { blocks: none<string>(), choices: none<Ids>(), rows: none<Ids>() };
  const fresh = (list: Choice[] = []): Ids => {
    const ids = none<string>();
    for (const { id: of } of list) if (of !== undefined) ids[of] = newChoiceId([...list, ...Object.values(ids).map((made) => ({ id: made }))], random);
    return ids;
  };
  const prepare = (b: Block): void => {
    names.blocks[b.id] = newId(c, random);
    names.rows[b.id] = fresh(b.matrix_rows);
    names.choices[b.id] = fresh(b.type === 'matrix' ? b.matrix_columns : b.choices);
    b.children?.forEach(prepare);
  };
  prepare(old);
  const fields = new Fields(c);
  const copy = (b: Block): Block => {
    const made: Block = { ...b, id: names.blocks[b.id] as string };
    const list = (ids: Ids | undefined, choices: Choice[]): Choice[] =>
      choices.map((ch) => (ch.id !== undefined && ids?.[ch.id] !== undefined ? { ...ch, id: ids[ch.id] as string } : ch));
    const choices = names.choices[b.id];
    if (b.choices) made.choices = list(b.type === 'matrix' ? {} : choices, b.choices);
    if (b.matrix_columns) made.matrix_columns = list(b.type === 'matrix' ? choices : {}, b.matrix_columns);
    if (b.matrix_rows) made.matrix_rows = list(names.rows[b.id], b.matrix_rows);
    if (b.children) made.children = b.children.map(copy);
    if (isObject(b.properties?.rule)) made.properties = { ...b.properties, rule: rewrite(b.properties.rule as JsonObject, names, fields) };
    return made;
  };
  const block = copy(old);
  return { content: behind(c, id, [block]), id: block.id };
}
