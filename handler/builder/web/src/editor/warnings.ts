// Warnings in the page's language, with the labels of blocks and choices.
import type { Detail } from '../app/api';
import { allBlocks, type Block } from '../app/records';
import { t, localizeMessage } from '../app/words';
import { typeName } from './blockTypes';
import { blockLabel } from './positions';

/** The labels of choices that were removed on this page, by block and id. Warnings use them. */
const removedChoices = new Map<string, string>();

const choiceKey = (block: string, choice: string): string => block + '\0' + choice;

export const rememberChoice = (block: string, choice: string, label: string): void => void removedChoices.set(choiceKey(block, choice), label);

/** Returns warnings with localized messages. formerBlocks may contain deleted choices. */
export function explainWarnings(warnings: readonly Detail[], blocks: readonly Block[], formerBlocks: readonly Block[] = []): Detail[] {
  const [current, old] = [allBlocks(blocks), allBlocks(formerBlocks)];
  const atRule = new Set(warnings.filter((w) => w.code === 'NEVER_HOLDS').map((w) => w.path));
  return warnings.filter((w) => !(w.code === 'UNREACHABLE' && atRule.has(w.path + '/properties/rule/show'))).map((w) => {
    const { block: id, choice } = w.params ?? {};
    if (typeof id !== 'string') return localizeMessage(w);
    const block = current.find((b) => b.id === id);
    const label = block ? blockLabel(block, typeName) : (w.params?.label ?? id);
    const lists = [...current, ...old].filter((b) => b.id === id).flatMap((b) => [...(b.choices ?? []), ...(b.matrix_columns ?? [])]);
    const choiceName = w.params?.reason === 'choice' && typeof choice === 'string' && (lists.find((c) => c.id === choice)?.label || removedChoices.get(choiceKey(id, choice)) || t('editor.deleted_choice', { id: choice }));
    return localizeMessage({ ...w, params: { ...w.params, label, ...(choiceName && { choice: choiceName }) } });
  });
}
