// Copies blocks between forms as JSON text.
import { isObject, type Obj } from '../app/json';
import type { Block } from '../app/records';
import { choiceMembers, members, properties, types, type Property } from '../props/props.gen';
import { treeOf } from './content';

const field = 'formsvc_blocks';

export const blocksToText = (blocks: readonly Block[]): string => JSON.stringify({ [field]: blocks });

/** Returns the blocks in a text from blocksToText, or undefined if it does not contain valid blocks. */
export function blocksFromText(text: string): Block[] | undefined {
  try {
    const value = (JSON.parse(text) as Obj | null)?.[field];
    return isList(value) && value.length > 0 && value.every(isBlock) && treeOf(value) ? value : undefined;
  } catch {
    return undefined; // not JSON, or nested too deep
  }
}

const isList = (v: unknown): v is unknown[] => Array.isArray(v);

const jsonTypes: Record<string, (v: unknown) => boolean> = {
  number: Number.isFinite, integer: Number.isInteger, boolean: (v) => typeof v === 'boolean', any: () => true,
  list: isList, dates: isList, texts: isList, object: isObject, parts: isObject,
};
const isOfType = (v: unknown, { type }: Property): boolean => (jsonTypes[type] ?? ((v) => typeof v === 'string' || typeof v === 'number'))(v);
const hasFields = (v: unknown, rows: Record<string, Property>): v is Obj =>
  isObject(v) && Object.entries(v).every(([name, inner]) => Object.hasOwn(rows, name) && isOfType(inner, rows[name]!));

const isBlock = (v: unknown): v is Block =>
  hasFields(v, members) && typeof v.id === 'string' && v.id !== '' && typeof v.type === 'string' && Object.hasOwn(types, v.type) && hasFields(v.properties ?? {}, properties) &&
  [v.choices, v.matrix_rows, v.matrix_columns].every((list = []) => isList(list) && list.every((item) => hasFields(item, choiceMembers))) &&
  ((v.children ?? []) as unknown[]).every(isBlock);
