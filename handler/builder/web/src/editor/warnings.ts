// Warnings in the page's language, with the names that blocks and choices have, or had.
import type { Detail } from '../app/api';
import { allBlocks, type Block } from '../app/records';
import { t, told } from '../app/words';
import { typeName } from './kinds';
import { nameOf } from './places';

/** The labels of choices that were removed here, by block and id: warnings name them. */
const removed = new Map<string, string>();

const keyOf = (block: string, choice: string): string => block + '\0' + choice;

export const rememberChoice = (block: string, choice: string, label: string): void => void removed.set(keyOf(block, choice), label);

/** Warnings about a form, as they are said. former: the blocks of an older state, where deleted choices may be. */
export function explained(warnings: readonly Detail[], blocks: readonly Block[], former: readonly Block[] = []): Detail[] {
  const [now, old] = [allBlocks(blocks), allBlocks(former)];
  const atRule = new Set(warnings.filter((w) => w.code === 'NEVER_HOLDS').map((w) => w.path));
  return warnings.filter((w) => !(w.code === 'UNREACHABLE' && atRule.has(w.path + '/properties/rule/show'))).map((w) => {
    const { block: id, choice } = w.params ?? {};
    if (typeof id !== 'string') return told(w);
    const block = now.find((b) => b.id === id);
    const label = block ? nameOf(block, typeName) : (w.params?.label ?? id);
    const lists = [...now, ...old].filter((b) => b.id === id).flatMap((b) => [...(b.choices ?? []), ...(b.matrix_columns ?? [])]);
    const named = w.params?.reason === 'choice' && typeof choice === 'string' && (lists.find((c) => c.id === choice)?.label || removed.get(keyOf(id, choice)) || t('editor.deleted_choice', { id: choice }));
    return told({ ...w, params: { ...w.params, label, ...(named && { choice: named }) } });
  });
}
