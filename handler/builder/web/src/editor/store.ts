// What the views of the editor read, and every edit that they make, with undo and redo.

import { computed, signal } from '@preact/signals';
import type { Obj } from '../app/json';
import type { Block } from '../app/records';
import { find, set, type Content, type Path } from './content';
import * as edits from './edits';
import { apply, diff, inverse, joined, rewrite, typedAt, type Operation } from './operations';
import { Sync } from './sync';

const mergeTyping = 1000; // milliseconds between keys in one step of undo
const undoSteps = 500;

interface Step {
  ops: readonly Operation[];
  key: string; // where text was typed, '' for other edits
  at: number;
}

export class EditorStore extends Sync {
  private readonly past = signal<readonly Step[]>([]);
  private readonly future = signal<readonly Step[]>([]);

  readonly canUndo = computed(() => this.past.value.length > 0);
  readonly canRedo = computed(() => this.future.value.length > 0);

  /** Gives a place another value, undefined for none: ['blocks', id, 'choices', choice, 'label'], ['theme', 'font'], ['name']. */
  set = (path: Path, value: unknown): void => this.apply((c) => set(c, path, value));
  /** Merges a patch (RFC 7396) into a block. children: null puts its children behind it. */
  patch = (id: string, patch: Partial<Record<keyof Block, unknown>>): void => this.apply((c) => edits.patchBlock(c, id, patch));
  patchSection = (section: edits.Section, patch: Obj): void => this.apply((c) => edits.patchSection(c, section, patch));
  rename = (name: string): void => this.apply((c) => edits.rename(c, name));
  setHiddenFields = (names: string[]): void => this.apply((c) => edits.setHiddenFields(c, names));
  /** Adds a block. Its id must be new, see newId. */
  add = (block: Block, place: edits.Place = { parent: undefined, index: Infinity }): void => this.apply((c) => edits.addBlock(c, block, place));
  remove = (id: string): void => this.apply((c) => edits.removeBlock(c, id));
  move = (id: string, place: edits.Place): void => this.apply((c) => edits.moveBlock(c, id, place));
  newId = (): string => edits.newId(this.shown.value as Content, this.options.random);

  /** Puts a copy behind a block and returns its id. */
  duplicate(id: string): string {
    let made = '';
    this.apply((c) => {
      const copy = edits.duplicate(c, id, this.options.random);
      made = copy.id;
      return copy.content;
    });
    return made;
  }

  /** A block at any depth as it is shown, and the id of its parent, '' at the top. */
  find(id: string): { block: Block; parent: string } | undefined {
    const content = this.shown.value;
    return content ? find(content, id) : undefined;
  }

  /**
   * Does an edit of any kind, by a function that returns a new content. An edit that only changes texts and
   * numbers is typing: it is sent after a pause, and is one step of undo with what is typed at the same places
   * within a second. Every other edit is sent immediately.
   */
  apply(edit: (c: Content) => Content): void {
    const before = this.shown.peek();
    const after = before && edit(before);
    const ops = before && after ? diff(before, after) : [];
    if (!after || ops.length === 0) return;
    const [key, at, last] = [typedAt(ops) ?? '', this.clock.now(), this.past.peek().at(-1)];
    const isTyped = key !== '' && last?.key === key && at - last.at <= mergeTyping;
    const step = isTyped ? { ops: joined(last.ops, ops), key, at } : { ops, key, at };
    this.past.value = [...this.past.peek().slice(0, isTyped ? -1 : undefined), step].slice(-undoSteps);
    this.future.value = [];
    this.edit(after, key === '');
  }

  /** Undoes the last edit that can be undone. What others changed stays. Returns the places that changed. */
  undo(): Path[] {
    return this.back(this.past, this.future, inverse);
  }

  redo(): Path[] {
    return this.back(this.future, this.past, (ops) => ops);
  }

  /** Returns a function that undoes the last edit, by one more edit if others follow it. */
  takeBack(): () => Path[] {
    const step = this.past.peek().at(-1);
    return () => {
      const [last, before] = [this.past.peek().at(-1), this.shown.peek()];
      if (!step || !before || last === step) return this.undo();
      this.apply((c) => apply(c, inverse(step.ops)));
      return diff(before, this.shown.peek() as Content).map((op) => op.path);
    };
  }

  private back(from: typeof this.past, to: typeof this.past, way: (ops: readonly Operation[]) => readonly Operation[]): Path[] {
    for (let step; this.shown.peek() && (step = from.peek().at(-1)); ) {
      const now = this.shown.peek() as Content;
      const made = apply(now, way(step.ops));
      from.value = from.peek().slice(0, -1);
      const changed = diff(now, made);
      if (changed.length === 0) continue;
      to.value = [...to.peek(), { ...step, key: '' }];
      this.edit(made, true);
      return changed.map((op) => op.path);
    }
    return [];
  }

  /** Resolves a conflict: which value counts. */
  resolve(path: Path, side: 'mine' | 'theirs'): void {
    const after = this.release(path, side);
    if (!after) return;
    this.apply(() => after);
    this.edit(this.shown.peek() as Content, true);
  }

  protected override changed(rewritten: readonly Operation[], near: Content): void {
    for (const step of [...this.past.peek(), ...this.future.peek()]) {
      step.ops = rewrite(step.ops, rewritten, near);
      if (rewritten.length === 0) step.key = ''; // what others did between two keys is theirs
    }
  }
}
