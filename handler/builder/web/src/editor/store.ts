// The editor's state and all edits, with undo and redo.

import { computed, signal } from '@preact/signals';
import type { Obj } from '../app/json';
import type { Block } from '../app/records';
import { findNode, set, type Content, type Path } from './content';
import * as edits from './edits';
import { apply, diff, replay, typedPaths, type Operation } from './operations';
import { Sync } from './sync';

const typingMergeTime = 1000; // milliseconds between keys that share an undo step
const maxUndoSteps = 500;

interface Step {
  before: Content;
  after: Content;
  key: string; // the paths of typed text, or '' for other edits
  at: number;
}

export class EditorStore extends Sync {
  /** The undo steps, and how many of them are done. The remaining steps can be redone. */
  private readonly history = signal<{ steps: readonly Step[]; done: number }>({ steps: [], done: 0 });

  readonly canUndo = computed(() => this.history.value.done > 0);
  readonly canRedo = computed(() => this.history.value.done < this.history.value.steps.length);

  /** Sets the value at a path such as ['blocks', id, 'label'] or ['theme', 'font']. undefined removes it. */
  set = (path: Path, value: unknown): void => this.apply((c) => set(c, path, value));
  /** Merges a patch (RFC 7396) into a block. If children is null, the children are moved after the block. */
  patch = (id: string, patch: Partial<Record<keyof Block, unknown>>): void => this.apply((c) => edits.patchBlock(c, id, patch));
  patchSection = (section: edits.Section, patch: Obj): void => this.apply((c) => edits.patchSection(c, section, patch));
  /** Adds a block with a new id, see newId. */
  add = (block: Block, place: edits.Position = { parent: undefined, index: Infinity }): void => this.apply((c) => edits.addBlock(c, block, place));
  remove = (id: string): void => this.apply((c) => edits.removeBlock(c, id));
  move = (id: string, place: edits.Position): void => this.apply((c) => edits.moveBlock(c, id, place));
  newId = (): string => edits.newId(this.shown.value as Content, this.options.random);

  /** Inserts a copy after a block and returns the copy's id. */
  duplicate(id: string): string {
    const result = edits.duplicate(this.shown.peek() as Content, id, this.options.random);
    this.apply(() => result.content);
    return result.id;
  }

  /** Inserts copies of blocks and returns the first copy's id. */
  paste(blocks: readonly Block[], place: edits.Position): string {
    const copies = edits.copyBlocks(this.shown.peek() as Content, blocks, this.options.random);
    this.apply((c) => edits.addBlocks(c, copies, place));
    return copies[0]!.id;
  }

  /** Returns a block at any depth and the id of its parent, which is '' at the top level. */
  find(id: string): { block: Block; parent: string } | undefined {
    const content = this.shown.value;
    return content ? findNode(content, id) : undefined;
  }

  /**
   * Applies an edit. An edit that only changes text or numbers counts as typing: it is sent after a pause, and shares
   * an undo step with an edit of the same values less than a second before. Other edits are sent immediately.
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

  /** Undoes the last edit but keeps remote changes. Returns the changed paths. */
  undo(): Path[] {
    return this.step(-1);
  }

  redo(): Path[] {
    return this.step(1);
  }

  /** Returns a function that undoes the last edit. If other edits follow it, this is a new edit. */
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

  /** Resolves a conflict with one side's value. */
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
      if (rewritten.length === 0) step.key = ''; // remote changes end the undo step
    }
  }
}
