// The edits of a form: each makes a new content of one, and the same one where it changes nothing.
import { drop, find, flat, isObject, member, patched, replace, type Block, type Choice, type Content, type Obj } from './merge';

/** Where a block goes. endOf is the id of a group, '' for the form. */
export type Place = { before: string } | { after: string } | { endOf: string };

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

/** Merges a patch (RFC 7396) into a block. Its id stays, and its children, which have edits of their own. */
export function patchBlock(c: Content, id: string, patch: Partial<Record<keyof Block, unknown>>): Content {
  const { id: _, children: __, ...rest } = patch;
  return replace(c, id, (b) => patched(b, rest) as Block);
}

/** Puts a block at a place; at the end of the form where the place is not there. */
export function addBlock(c: Content, block: Block, place: Place): Content {
  const at = 'endOf' in place ? place.endOf : 'before' in place ? place.before : place.after;
  const node = find(c, at);
  if (!node) return { ...c, blocks: [...c.blocks, block] };
  const parent = 'endOf' in place ? at : node.parent;
  const insert = (list: Block[]): Block[] => {
    const i = 'endOf' in place ? list.length : list.findIndex((b) => b.id === at) + ('after' in place ? 1 : 0);
    return list.toSpliced(i, 0, block);
  };
  return parent === '' ? { ...c, blocks: insert(c.blocks) } : replace(c, parent, (p) => ({ ...p, children: insert(p.children ?? []) }));
}

export const removeBlock = drop;

export function moveBlock(c: Content, id: string, place: Place): Content {
  const node = find(c, id);
  const at = 'endOf' in place ? place.endOf : 'before' in place ? place.before : place.after;
  for (let up = at; up !== ''; up = find(c, up)?.parent ?? '') if (up === id) return c;
  if (!node || (at !== '' && !find(c, at))) return c;
  const made = addBlock(drop(c, id), node.block, place);
  const [before, after] = [flat(c.blocks).lists, flat(made.blocks).lists];
  return [...before].every(([p, list]) => list.join('\n') === after.get(p)?.join('\n')) ? c : made;
}

const choiceTypes = new Set(['single_choice', 'multiple_choice', 'picture_choice', 'dropdown', 'ranking']);

/** Members that only some types use, and which do. */
const uses: Record<string, (type: string) => boolean> = {
  choices: (type) => choiceTypes.has(type),
  matrix_rows: (type) => type === 'matrix',
  matrix_columns: (type) => type === 'matrix',
};

/** Fits says whether a property matters for a type of blocks, and 'required' whether the type is answered. */
export type Fits = (type: string, property: string) => boolean;

/**
 * Changes the type of a block and keeps what means the same in the new one: choices among types with
 * choices, and as the rows of a matrix and back; properties that fit. min and max of a number are none
 * of choices. The children of a group that is none any more come after it.
 */
export function changeType(c: Content, id: string, type: string, fits: Fits): Content {
  const old = find(c, id)?.block;
  if (!old || old.type === type) return c;
  const numbers = ['min', 'max', 'minVal', 'maxVal'];
  const keep = (name: string): boolean => fits(type, name) && !(numbers.includes(name) && (type === 'number') !== (old.type === 'number'));
  const made: Obj = {};
  for (const [name, value] of Object.entries(old)) {
    if (name === 'properties' && isObject(value)) made.properties = Object.fromEntries(Object.entries(value).filter(([n]) => keep(n)));
    else if (name === 'children' ? type === 'group' : name === 'required' ? keep(name) : (uses[name]?.(type) ?? true)) made[name] = value;
  }
  made.type = type;
  if (type === 'matrix' && old.choices) made.matrix_rows = old.choices;
  if (choiceTypes.has(type) && old.type === 'matrix' && old.matrix_rows) made.choices = old.matrix_rows;
  if (type === 'group') made.children ??= [];
  let content = replace(c, id, () => made as unknown as Block);
  if (type !== 'group') for (const child of (old.children ?? []).toReversed()) content = addBlock(content, child, { after: id });
  return content;
}

export type Section = 'settings' | 'theme' | 'variables';

/** Merges a patch (RFC 7396) into a section. */
export function patchSection(c: Content, section: Section, patch: Obj): Content {
  const made = patched(c[section], patch) as Obj;
  return made === c[section] ? c : { ...c, [section]: made };
}

export const setHiddenFields = (c: Content, names: string[]): Content => ({ ...c, hidden_fields: names });

/** The service takes the white space at both ends away. */
export const rename = (c: Content, name: string): Content => (c.name === name ? c : { ...c, name });

/**
 * Puts a copy of a block behind it. The copy, and what is in it, has new ids, of choices, rows and
 * columns too; rules in it that name what was copied name the copies.
 */
export function duplicate(c: Content, id: string, random: () => number = Math.random): { content: Content; id: string } {
  const old = find(c, id)?.block;
  if (!old) return { content: c, id: '' };
  const names = new Names(c);
  const taken: Content = { ...c, hidden_fields: [...c.hidden_fields] };
  const prepare = (b: Block): void => {
    const made = newId(taken, random);
    taken.hidden_fields.push(made);
    names.blocks.set(b.id, made);
    const renamed = (list: Choice[] = []): Map<string, string> => {
      const fresh: Choice[] = [];
      return new Map(list.map((ch) => {
        fresh.push({ id: newChoiceId([...list, ...fresh], random) });
        return [ch.id, (fresh.at(-1) as Choice).id];
      }));
    };
    names.rows.set(b.id, renamed(b.matrix_rows));
    names.choices.set(b.id, new Map([...renamed(b.choices), ...renamed(b.matrix_columns)]));
    b.children?.forEach(prepare);
  };
  prepare(old);
  const copy = (b: Block): Block => {
    const made: Block = { ...b, id: names.blocks.get(b.id) as string };
    const list = (ids: Ids | undefined, choices: Choice[]): Choice[] =>
      choices.map((ch) => ({ ...ch, id: ids?.get(ch.id) ?? ch.id }));
    if (b.choices) made.choices = list(names.choices.get(b.id), b.choices);
    if (b.matrix_columns) made.matrix_columns = list(names.choices.get(b.id), b.matrix_columns);
    if (b.matrix_rows) made.matrix_rows = list(names.rows.get(b.id), b.matrix_rows);
    if (b.children) made.children = b.children.map(copy);
    if (isObject(b.properties?.rule)) made.properties = { ...b.properties, rule: names.rule(b.properties.rule) };
    return made;
  };
  const block = copy(old);
  return { content: addBlock(c, block, { after: id }), id: block.id };
}

type Ids = ReadonlyMap<string, string>;

/** The new ids of copied blocks, and of the choices and rows of each by the block's old id. */
class Names {
  readonly blocks = new Map<string, string>();
  readonly choices = new Map<string, Ids>();
  readonly rows = new Map<string, Ids>();
  constructor(private readonly content: Content) {}

  rule(rule: Obj): Obj {
    return Object.fromEntries(Object.entries(rule).map(([name, v]) => {
      if (name === 'show' || name === 'require') return [name, this.logic(v)];
      if (name === 'set' && isObject(v)) return [name, Object.fromEntries(Object.entries(v).map(([n, l]) => [n, this.logic(l)]))];
      if (name !== 'next' || !Array.isArray(v)) return [name, v];
      return [name, v.map((jump: unknown) => {
        if (!isObject(jump)) return jump;
        const made: Obj = { ...jump };
        if ('if' in jump) made.if = this.logic(jump.if);
        if (typeof jump.to === 'string') made.to = this.blocks.get(jump.to) ?? jump.to;
        return made;
      })];
    }));
  }

  /** literals are the new ids of choices that a text stands for: those of the questions that it is compared with. */
  private logic(v: unknown, literals: Ids = new Map()): unknown {
    if (typeof v === 'string') return literals.get(v) ?? v;
    if (Array.isArray(v)) return v.map((item) => this.logic(item, literals));
    if (!isObject(v)) return v;
    const [operator, ...others] = Object.keys(v);
    if (operator === undefined || others.length > 0) return v;
    const given = v[operator];
    const names = (list: unknown): unknown => (Array.isArray(list) ? list.map(names) : typeof list === 'string' ? this.path(list).made : list);
    if (operator === 'var') return { var: Array.isArray(given) ? [names(given[0]), ...given.slice(1)] : names(given) };
    if (operator === 'missing' || operator === 'missing_some') return { [operator]: names(given) };
    const asked = (Array.isArray(given) ? given : [given]).flatMap((arg: unknown) => {
      const name = member(arg, 'var');
      const path = Array.isArray(name) ? (name[0] as unknown) : name;
      return typeof path === 'string' && path !== '' ? [this.path(path).block] : [];
    });
    const inside = asked.length === 0 ? literals : new Map(asked.flatMap((block) => [...(this.choices.get(block) ?? [])]));
    return { [operator]: this.logic(given, inside) };
  }

  /** A path such as answers.block.part, and the block that it names. Ids may contain dots: the longest counts. */
  private path(path: string): { made: string; block: string } {
    if (!path.startsWith('answers.')) return { made: path, block: '' };
    const names = path.slice('answers.'.length).split('.');
    for (let n = names.length; n > 0; n--) {
      const block = names.slice(0, n).join('.');
      if (!find(this.content, block)) continue;
      const id = this.blocks.get(block);
      const part = names.slice(n).join('.');
      const row = this.rows.get(block)?.get(part) ?? part;
      return { made: id === undefined ? path : ['answers', id, ...(row === '' ? [] : [row])].join('.'), block };
    }
    return { made: path, block: '' };
  }
}
