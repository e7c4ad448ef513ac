import type { Block } from '../app/records';
import type { Place } from './edits';

/** A block as the outline shows it. */
export interface Row {
  block: Block;
  place: Place;
  depth: number;
  /** How many stand beside it, itself too. */
  of: number;
  /** The number of the question, from 1; 0 for what asks nothing. */
  number: number;
}

const asksNothing = new Set(['welcome', 'statement', 'ending', 'heading', 'text', 'image', 'video', 'pdf', 'embed', 'divider', 'page_break', 'group', 'captcha']);

export const isQuestion = (type: string): boolean => !asksNothing.has(type);

/** All blocks in their order, those in groups below their group. */
export function rowsOf(blocks: readonly Block[]): Row[] {
  const rows: Row[] = [];
  let asked = 0;
  const walk = (list: readonly Block[], parent: string | undefined, depth: number) =>
    list.forEach((block, index) => {
      rows.push({ block, place: { parent, index }, depth, of: list.length, number: isQuestion(block.type) ? ++asked : 0 });
      if (block.children) walk(block.children, block.id, depth + 1);
    });
  walk(blocks, undefined, 0);
  return rows;
}

/** Where a block goes when it is moved one step: over its neighbour, into a group that it meets, out of its own at the end. */
export function step(rows: readonly Row[], id: string, by: -1 | 1): Place | undefined {
  const row = rows.find((r) => r.block.id === id);
  if (!row) return undefined;
  const { parent, index } = row.place;
  const neighbour = rows.find((r) => r.place.parent === parent && r.place.index === index + by);
  if (neighbour) {
    if (neighbour.block.type === 'group' && row.block.type !== 'group') {
      return { parent: neighbour.block.id, index: by > 0 ? 0 : (neighbour.block.children?.length ?? 0) };
    }
    return { parent, index: index + by };
  }
  const group = rows.find((r) => r.block.id === parent);
  return group && { parent: group.place.parent, index: group.place.index + (by > 0 ? 1 : 0) };
}

/** All places that a block can be moved to: not into itself. */
export function placesFor(rows: readonly Row[], id: string): Place[] {
  const inside = new Set<string | undefined>([id]);
  const places: Place[] = [];
  const ends = new Map<string | undefined, number>();
  for (const row of rows) {
    if (inside.has(row.place.parent)) {
      inside.add(row.block.id);
      continue;
    }
    places.push(row.place);
    ends.set(row.place.parent, row.place.index + 1);
    if (row.block.type === 'group' && row.block.id !== id && !row.block.children?.length) places.push({ parent: row.block.id, index: 0 });
  }
  for (const [parent, index] of ends) places.push({ parent, index });
  return places;
}

/** The place that a block has when it was moved before the one that is at a place now. */
export function afterwards(rows: readonly Row[], id: string, to: Place): Place {
  const from = rows.find((r) => r.block.id === id)?.place;
  return from && from.parent === to.parent && from.index < to.index ? { ...to, index: to.index - 1 } : to;
}

/** What a block is called in lists: its label on one line, else its type. */
export function nameOf(block: Block, typeName: (type: string) => string): string {
  const label = (block.label ?? '').replace(/\s+/g, ' ').trim();
  return label === '' ? typeName(block.type) : label.length > 80 ? label.slice(0, 79) + '…' : label;
}
