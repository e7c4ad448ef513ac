// What the views of the editor read, and every edit that they make, with undo and redo.

import { computed, signal } from '@preact/signals';
import type { Obj } from '../app/json';
import type { Block } from '../app/records';
import { findNode, set, type Content, type Path } from './content';
import * as edits from './edits';
import { apply, diff, replay, typedPaths, type Operation } from './operations';
import { Sync } from './sync';

const typingMergeTime = 1000; // milliseconds between keys in one step of undo
const maxUndoSteps = 500;

interface Step {
  before: Content;
  after: Content;
  key: string; // where text was typed, '' for other edits
  at: number;
}

export class EditorStore extends Sync {
  /** The steps of undo, and how many of them are done. The others can be done again. */
  private readonly history = signal<{ steps: readonly Step[]; done: number }>({ steps: [], done: 0 });

  readonly canUndo = computed(() => this.history.value.done > 0);
  readonly canRedo = computed(() => this.history.value.done < this.history.value.steps.length);

  /** Gives a place another value, undefined for none: ['blocks', id, 'choices', choice, 'label'], ['theme', 'font'], ['name']. */
  set = (path: Path, value: unknown): void => this.apply((c) => set(c, path, value));
  /** Merges a patch (RFC 7396) into a block. children: null puts its children behind it. */
  patch = (id: string, patch: Partial<Record<keyof Block, unknown>>): void => this.apply((c) => edits.patchBlock(c, id, patch));
  patchSection = (section: edits.Section, patch: Obj): void => this.apply((c) => edits.patchSection(c, section, patch));
  /** Adds a block. Its id must be new, see newId. */
  add = (block: Block, place: edits.Position = { parent: undefined, index: Infinity }): void => this.apply((c) => edits.addBlock(c, block, place));
  remove = (id: string): void => this.apply((c) => edits.removeBlock(c, id));
  move = (id: string, place: edits.Position): void => this.apply((c) => edits.moveBlock(c, id, place));
  newId = (): string => edits.newId(this.shown.value as Content, this.options.random);

  /** Puts a copy behind a block and returns its id. */
  duplicate(id: string): string {
    const result = edits.duplicate(this.shown.peek() as Content, id, this.options.random);
    this.apply(() => result.content);
    return result.id;
  }

  /** A block at any depth as it is shown, and the id of its parent, '' at the top. */
  find(id: string): { block: Block; parent: string } | undefined {
    const content = this.shown.value;
    return content ? findNode(content, id) : undefined;
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
    const [key, at, lastStep] = [typedPaths(ops) ?? '', this.clock.now(), this.last()];
    const isTyped = key !== '' && lastStep?.key === key && at - lastStep.at <= typingMergeTime;
    const { steps, done } = this.history.peek();
    const keptSteps = steps.slice(0, isTyped ? done - 1 : done);
    const newSteps = [...keptSteps, { before: isTyped ? lastStep.before : before, after, key, at }].slice(-maxUndoSteps);
    this.history.value = { steps: newSteps, done: newSteps.length };
    this.edit(after, key === '');
  }

  /** Undoes the last edit that can be undone. What others changed stays. Returns the places that changed. */
  undo(): Path[] {
    return this.step(-1);
  }

  redo(): Path[] {
    return this.step(1);
  }

  /** Returns a function that undoes the last edit, by one more edit if others follow it. */
  undoLater(): () => Path[] {
    const step = this.last();
    return () => {
      const before = this.shown.peek();
      if (!step || !before || this.last() === step) return this.undo();
      this.apply((c) => replay(step.after, step.before, c));
      return diff(before, this.shown.peek() as Content).map((op) => op.path);
    };
  }

  private last(): Step | undefined {
    const { steps, done } = this.history.peek();
    return steps[done - 1];
  }

  private step(by: -1 | 1): Path[] {
    for (;;) {
      const [{ steps, done }, now] = [this.history.peek(), this.shown.peek()];
      const step = steps[by < 0 ? done - 1 : done];
      if (!step || !now) return [];
      this.history.value = { steps, done: done + by };
      step.key = '';
      const result = by < 0 ? replay(step.after, step.before, now) : replay(step.before, step.after, now);
      const changed = diff(now, result).map((op) => op.path);
      if (changed.length === 0) continue;
      this.edit(result, true);
      return changed;
    }
  }

  /** Resolves a conflict: which value counts. */
  resolve(path: Path, side: 'mine' | 'theirs'): void {
    const after = this.settle(path, side);
    if (!after) return;
    this.apply(() => after);
    this.edit(this.shown.peek() as Content, true);
  }

  protected override onUpdate(rewritten: readonly Operation[]): void {
    for (const step of this.history.peek().steps) {
      step.before = apply(step.before, rewritten);
      step.after = apply(step.after, rewritten);
      if (rewritten.length === 0) step.key = ''; // what others did between two keys is theirs
    }
  }
}
