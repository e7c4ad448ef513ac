import type { Block } from '../app/records';
import { shownText } from '../app/text';
import type { Position } from './edits';

/** A row in the outline. */
export interface Row {
  block: Block;
  place: Position;
  depth: number;
  /** The question's number, starting at 1. It is 0 for blocks without a question. */
  number: number;
}

const nonQuestions = new Set(['welcome', 'statement', 'ending', 'heading', 'text', 'image', 'video', 'pdf', 'embed', 'divider', 'page_break', 'group', 'captcha']);

export const isQuestion = (type: string): boolean => !nonQuestions.has(type);

/** Returns a row for each block. Blocks in a group follow the group. */
export function rowsOf(blocks: readonly Block[]): Row[] {
  const rows: Row[] = [];
  let questions = 0;
  const addRows = (list: readonly Block[], parent: string | undefined, depth: number) =>
    list.forEach((block, index) => {
      rows.push({ block, place: { parent, index }, depth, number: isQuestion(block.type) ? ++questions : 0 });
      if (block.children) addRows(block.children, block.id, depth + 1);
    });
  addRows(blocks, undefined, 0);
  return rows;
}

/** Returns the position one step up or down: past the next block, into a group, or out of the block's own group at its end. */
export function stepPosition(rows: readonly Row[], id: string, by: -1 | 1): Position | undefined {
  const row = rows.find((r) => r.block.id === id);
  if (!row) return undefined;
  const { parent, index } = row.place;
  const neighbor = rows.find((r) => r.place.parent === parent && r.place.index === index + by);
  if (neighbor) {
    if (neighbor.block.type === 'group' && row.block.type !== 'group') {
      return { parent: neighbor.block.id, index: by > 0 ? 0 : (neighbor.block.children?.length ?? 0) };
    }
    return { parent, index: index + by };
  }
  const group = rows.find((r) => r.block.id === parent);
  return group && { parent: group.place.parent, index: group.place.index + (by > 0 ? 1 : 0) };
}

/** Returns all positions that a block can be moved to. */
export function positionsFor(rows: readonly Row[], id: string): Position[] {
  const inside = new Set<string | undefined>([id]);
  const positions: Position[] = [];
  const ends = new Map<string | undefined, number>();
  for (const row of rows) {
    if (inside.has(row.place.parent)) {
      inside.add(row.block.id);
      continue;
    }
    positions.push(row.place);
    ends.set(row.place.parent, row.place.index + 1);
    if (row.block.type === 'group' && row.block.id !== id && !row.block.children?.length) positions.push({ parent: row.block.id, index: 0 });
  }
  for (const [parent, index] of ends) positions.push({ parent, index });
  return positions;
}

/** Converts a position before a move into the position after it. Removing the block shifts the later siblings. */
export function positionAfterMove(rows: readonly Row[], id: string, to: Position): Position {
  const from = rows.find((r) => r.block.id === id)?.place;
  return from && from.parent === to.parent && from.index < to.index ? { ...to, index: to.index - 1 } : to;
}

/** Returns a block's label on one line, or the name of its type if it has no label. */
export function blockLabel(block: Block, typeName: (type: string) => string): string {
  const label = shownText(block.label).replace(/\s+/g, ' ').trim();
  return label === '' ? typeName(block.type) : label.length > 80 ? label.slice(0, 79) + '…' : label;
}
