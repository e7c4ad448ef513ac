// The usual checks by name. A named check is a condition on the block's own answer that refuses it.

import { allBlocks, type Block } from '../app/records';
import { adaptLeaf, comparisonOf, isGroup, newCondition, type Comparison } from './edit';
import { areComparable, type Field, type Fields } from './fields';
import { comparedField, varLogic, type Condition, type Leaf } from './parse';
import { fieldName, opKey, type Translate } from './describe';

export const checkNames = ['whole', 'minLength', 'maxLength', 'digits', 'pattern', 'notBeforeToday', 'notAfterToday', 'compare', 'custom'] as const;
export type CheckName = (typeof checkNames)[number];

/** The comparison that refuses an answer, for each named check. */
const refusals: { [name in CheckName]?: Comparison } = {
  whole: '!whole', minLength: 'shorter', maxLength: 'longer', digits: '!matches', pattern: '!matches', notBeforeToday: 'beforeToday', notAfterToday: 'afterToday',
};

const digits = ['[0-9]+', '[0-9]*', '\\d+', '\\d*'];

/** What an answer must be, compared with another answer, by the comparison that refuses it. */
export const requirements: { [refused in Comparison]?: Comparison } = { atMost: 'above', below: 'atLeast', atLeast: 'below', above: 'atMost', '!is': 'is', is: 'isNot' };

/** Returns the known fields that the answer to a block can be compared with. */
export const othersOf = (own: Field, known: readonly Field[]): Field[] => known.filter((f) => f !== own && areComparable(own, f));

/** Returns the names of the checks that fit a block. own is the field of its answer. */
export function namesFor(block: Block, own: Field | undefined, known: readonly Field[]): CheckName[] {
  const isText = block.type === 'short_text' || block.type === 'long_text';
  return checkNames.filter((name) => {
    switch (name) {
      case 'custom': return true;
      case 'whole': return block.type === 'number';
      case 'minLength': case 'maxLength': case 'digits': return isText;
      case 'pattern': return own?.kind === 'text';
      case 'compare': return own !== undefined && othersOf(own, known).length > 0;
    }
    return own?.kind === 'date' || own?.kind === 'datetime';
  });
}

/** Returns the name of a check, and its comparison. Only the comparison of a custom check can be missing. */
export function nameOf(c: Condition | null, own: Field | undefined, fields: Fields): { name: CheckName; leaf?: Leaf; op?: Comparison } {
  if (!c || !own || c.op === 'always' || c.op === 'never' || isGroup(c)) return { name: 'custom' };
  const { op, leaf } = comparisonOf(c);
  if (fields.get(leaf.ref) !== own) return { name: 'custom' };
  if (comparedField(leaf, fields)) return { name: requirements[op] ? 'compare' : 'custom', leaf, op };
  if (own.kind === 'list') return { name: 'custom' };
  const name = op === '!matches' && digits.includes(leaf.value as string) ? 'digits' : checkNames.findLast((n) => refusals[n] === op);
  return { name: name ?? 'custom', leaf, op };
}

/** Returns the condition of a new check. field is the block's answer, or the first answer in a group. */
export function newCheck(name: CheckName, field: Field, known: readonly Field[]): Condition {
  if (name === 'custom') return newCondition(field);
  const op = refusals[name];
  const other = othersOf(field, known).findLast((f) => f.ref.from === 'answers') ?? othersOf(field, known)[0];
  if (!op && other) return compareWith(field, field.kind === 'text' || field.kind === 'country' ? '!is' : 'atMost', other);
  const condition = adaptLeaf({ op: 'is', ref: field.ref }, field, op ?? 'is');
  return name === 'digits' ? { op: 'not', of: { op: 'matches', ref: field.ref, value: digits[0]! } } : condition;
}

/** Returns the condition that refuses an answer because of another answer. */
export function compareWith(own: Field, refused: Comparison, other: Field): Condition {
  const value = varLogic(other.ref);
  return refused === '!is' ? { op: 'not', of: { op: 'is', ref: own.ref, value } } : { op: refused as Leaf['op'], ref: own.ref, value };
}

/** Returns the usual message of a check. It is a text with marks, so it contains labels as they were written. */
export function usualMessage(c: Condition | null, own: Field | undefined, fields: Fields, t: Translate): string {
  const { name, leaf, op } = nameOf(c, own, fields);
  const other = leaf && comparedField(leaf, fields);
  const written = other?.ref.from === 'answers' && allBlocks(fields.content.blocks).find((b) => b.id === other.ref.id)?.label;
  if (name === 'compare' && other && own) return t('rules.say.' + opKey(requirements[op!] as Leaf['op'], own.kind), { q: t('rules.quoted', { text: fieldName(written ? { ...other, label: written } : other, t) }) });
  return t('rules.say.' + name, { n: typeof leaf?.value === 'number' ? leaf.value : 0 });
}
