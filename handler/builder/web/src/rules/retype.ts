// Updates the rules that read a block when its kind of answer changes.

import type { Block } from '../app/records';
import { Fields, fieldsOf, type Content, type Field, type Json, type Ref } from './fields';
import { mapLogic } from './references';

export interface RetypeResult {
  blocks: Block[];
  /** The ids of blocks with updated rules. outdated are blocks with a comparison that cannot be converted. */
  changed: string[];
  outdated: string[];
}

const comparisons = ['==', '===', '!=', '!==', 'in', '<', '<=', '>', '>='];

/** Returns the blocks with converted comparisons for the new kind of answer, if there is an equivalent. */
export function retype(before: Content, after: Content, id: string): RetypeResult {
  const [old, now] = [fieldsOf(before), fieldsOf(after)];
  const [changed, outdated]: [string[], string[]] = [[], []];
  const adaptAll = (blocks: Block[]): Block[] => {
    const adapted = blocks.map(adaptBlock);
    return adapted.some((b, i) => b !== blocks[i]) ? adapted : blocks;
  };
  const adaptBlock = (original: Block): Block => {
    const children = original.children && adaptAll(original.children);
    const block = children === original.children ? original : { ...original, children: children! };
    const rule = block.properties?.rule as Json | undefined;
    let open = false;
    const adapt = (logic: Json): Json => {
      if (Array.isArray(logic)) return logic.map(adapt);
      const [[name, given] = ['', null], ...more] = Object.entries(logic ?? {}) as [string, Json][];
      if (logic === null || typeof logic !== 'object' || more.length > 0 || name === '') return logic;
      const args = Array.isArray(given) ? given : [given];
      const at = comparisons.includes(name) ? args.findIndex((arg) => refOf(arg, id, old)) : -1;
      const ref = at >= 0 ? refOf(args[at], id, old) : name === 'var' ? refOf(logic, id, old) : undefined;
      const [was, is] = ref ? [old.get(ref), now.get(ref)] : [];
      if (!was || !is || (was.kind === is.kind && !!was.seconds === !!is.seconds)) return ref ? logic : { [name]: adapt(given) };
      const converted = at < 0 ? null : convertComparison(name, args, at, was, is);
      if (converted === null) open = true;
      return converted ?? logic;
    };
    if (rule === undefined) return block;
    const newRule = mapLogic(rule, adapt);
    const same = JSON.stringify(newRule) === JSON.stringify(rule);
    if (!same) changed.push(block.id);
    if (open) outdated.push(block.id);
    return same ? block : { ...block, properties: { ...block.properties, rule: newRule } };
  };
  return { blocks: adaptAll(after.blocks), changed, outdated };
}

/** Returns the reference to the block's answer in logic, if any. */
function refOf(logic: Json | undefined, id: string, fields: Fields): Ref | undefined {
  const path = logic !== null && typeof logic === 'object' && !Array.isArray(logic) ? logic.var : undefined;
  const ref = typeof path === 'string' ? fields.resolve(path) : undefined;
  return ref?.from === 'answers' && ref.id === id ? ref : undefined;
}

/** Returns an equivalent comparison for another kind of answer, or null if there is none. */
function convertComparison(name: string, args: Json[], at: number, was: Field, is: Field): Json | null {
  const [q, value] = [args[at]!, args[1 - at] ?? null];
  const equal = name === '==' || name === '===';
  const differs = name === '!=' || name === '!==';
  if (args.length > 2) return null;
  if (value === null && (equal || differs) && is.kind !== 'unknown') return { [name]: args };
  switch (was.kind + ' ' + is.kind) {
    case 'choice list':
      if (name === 'in' && at === 0 && Array.isArray(value) && value.length > 0) {
        const any = value.map((v): Json => ({ in: [v, q] }));
        return any.length > 1 ? { or: any } : any[0]!;
      }
      return typeof value !== 'string' || name === 'in' ? null : equal ? { in: [value, q] } : differs ? { '!': { in: [value, q] } } : null;
    case 'list choice': {
      const [only] = Array.isArray(value) && value.length === 1 ? value : [];
      if (name === 'in' && at === 1 && typeof value === 'string') return { '==': [q, value] };
      return typeof only === 'string' && (equal || differs) ? { [equal ? '==' : '!=']: [q, only] } : null;
    }
    case 'text number': case 'number text': {
      const to = (v: Json): Json | null =>
        is.kind === 'text' ? (typeof v === 'number' ? String(v) : null) : typeof v === 'string' && v.trim() !== '' && Number.isFinite(Number(v)) ? Number(v) : null;
      const converted = Array.isArray(value) ? value.map(to) : to(value);
      const fits = Array.isArray(converted) ? name === 'in' && at === 0 && converted.every((v) => v !== null) : converted !== null && (equal || differs);
      return fits ? { [name]: at === 0 ? [q, converted] : [converted, q] } : null;
    }
    case 'time time': {
      const to = (v: Json): Json | null => (typeof v !== 'string' ? null : is.seconds ? v + ':00' : v.endsWith(':00') ? v.slice(0, -3) : null);
      const converted = to(value);
      return converted === null || name === 'in' ? null : { [name]: at === 0 ? [q, converted] : [converted, q] };
    }
  }
  return null;
}
