// Edits the source of a text with marks (see app/text.ts) in an element of any document. Formatting marks are shown as
// typed. Insertions are shown as chips. The browser changes plain text itself, so that spelling and input methods work.
// After each change, the source is read from the element.
import { insertionsIn, type Marks } from '../app/text';

interface Options {
  value: string;
  /** Returns the text of a chip, or undefined if the name is unknown. */
  labelOf(name: string): string | undefined;
  onInput(source: string): void;
  /** Called before the editor handles a key, which it does only if the event's default is not prevented. */
  onKey?(e: KeyboardEvent): void;
  marks?: Marks;
  /** Whether the text can have line breaks. Defaults to true. */
  multiline?: boolean;
}

export interface MarkedText {
  /** Shows a source or labels that have changed elsewhere. */
  set(source: string): void;
  /** Replaces the selection, and focuses the element. */
  insert(text: string): void;
  /** Puts a mark on both sides of the selection, or removes it if it is there. */
  wrap(mark: '**' | '_'): void;
  /** Returns the selected part of the source. */
  selected(): string;
  dispose(): void;
}

/** A source with its selection. */
interface State { source: string; from: number; to: number }

export function editMarkedText(element: HTMLElement, { value, labelOf, onInput, onKey, marks, multiline = true }: Options): MarkedText {
  const doc = element.ownerDocument;
  const controller = new AbortController();
  let state: State = { source: value, from: value.length, to: value.length };
  let past: State[] = [];
  let future: State[] = [];
  let lastKind = ''; // the kind of the last change; changes of one kind are undone together
  let composing = false;

  /** Returns the offset in the source of a point in the element. */
  const offsetOf = (node: Node, offset: number): number => {
    const range = doc.createRange();
    range.setStart(element, 0);
    range.setEnd(node, offset);
    return sourceOf(range.cloneContents()).length;
  };
  const readSelection = (): void => {
    const selection = doc.getSelection();
    if (!selection?.rangeCount) return;
    const range = selection.getRangeAt(0);
    if (!element.contains(range.startContainer) || !element.contains(range.endContainer)) return;
    state = { ...state, from: offsetOf(range.startContainer, range.startOffset), to: offsetOf(range.endContainer, range.endOffset) };
  };
  const pointAt = (offset: number): [Node, number] => {
    let left = offset;
    for (const [i, node] of [...element.childNodes].entries()) {
      const size = nodeSource(node, false).length;
      if (node.nodeType === 3 && left <= size) return [node, left];
      if (left < size) return [element, i];
      left -= size;
    }
    return [element, element.childNodes.length];
  };
  const render = (): void => {
    const { source } = state;
    const nodes: Node[] = [];
    let at = 0;
    for (const { from, to, name } of [...insertionsIn(source, marks), { from: source.length, to: source.length, name: '' }]) {
      if (at < from) nodes.push(doc.createTextNode(source.slice(at, from)));
      if (name) nodes.push(chip(source.slice(from, to), labelOf(name)));
      at = to;
    }
    // With a last line break, browsers show an empty last line and a caret after a chip.
    nodes.push(doc.createElement('br'));
    const shown = [...element.childNodes];
    element.toggleAttribute('data-empty', source === '');
    if (shown.length === nodes.length && nodes.every((node, i) => node.isEqualNode(shown[i]!))) return;
    element.replaceChildren(...nodes);
    if (doc.activeElement === element) doc.getSelection()?.setBaseAndExtent(...pointAt(state.from), ...pointAt(state.to));
  };
  const chip = (source: string, label: string | undefined): HTMLElement => {
    const span = doc.createElement('span');
    span.className = label === undefined ? 'chip missing' : 'chip';
    span.contentEditable = 'false';
    span.dataset.source = span.title = source;
    span.textContent = label ?? source;
    return span;
  };

  const change = (next: State, kind = '', before = state): void => {
    if (!kind || kind !== lastKind) past.push(before);
    lastKind = kind;
    future = [];
    show(next);
  };
  const show = (next: State): void => {
    state = next;
    if (!composing) render();
    onInput(state.source);
  };
  const replace = (from: number, to: number, text: string, kind = ''): void => {
    const { source } = state;
    change({ source: source.slice(0, from) + text + source.slice(to), from: from + text.length, to: from + text.length }, kind);
  };
  const step = (list: State[], other: State[]): boolean => {
    const next = list.pop();
    if (!next) return false;
    other.push(state);
    lastKind = '';
    show(next);
    return true;
  };
  const readChange = (kind: string): void => {
    const before = state;
    state = { ...state, source: sourceOf(element) };
    readSelection();
    if (state.source !== before.source) change(state, kind, before);
    else if (!composing) render();
  };
  const clean = (text: string): string => (multiline ? text.replace(/\r\n?/g, '\n') : text.replace(/\s*[\r\n]+\s*/g, ' '));

  /** Returns the part of the source that an event changes. */
  const targetOf = (e: InputEvent): [from: number, to: number] => {
    const [range] = e.getTargetRanges();
    return range ? [offsetOf(range.startContainer, range.startOffset), offsetOf(range.endContainer, range.endOffset)] : [state.from, state.to];
  };
  const handleBeforeInput = (e: InputEvent): void => {
    if (composing || e.isComposing) return;
    readSelection();
    const { source, from, to } = state;
    const chips = insertionsIn(source, marks);
    let edit: [from: number, to: number, text: string] | undefined;
    if (/^insert(Paragraph|LineBreak)$/.test(e.inputType)) edit = multiline ? [from, to, '\n'] : [to, to, ''];
    else if (/^insert.*(Paste|Drop|Yank)/.test(e.inputType)) edit = [...targetOf(e), clean(e.dataTransfer?.getData('text/plain') ?? '')];
    else if (e.inputType.startsWith('delete')) {
      const isForward = e.inputType.endsWith('Forward');
      const next = chips.find((i) => from === to && from === (isForward ? i.from : i.to));
      const [first, last] = next ? [next.from, next.to] : targetOf(e);
      if (chips.some((i) => i.from < last && i.to > first)) edit = [first, last, ''];
    } else if (e.inputType === 'insertText') {
      // Chromium can lose text that is typed next to a chip.
      if (chips.some((i) => i.from <= to && i.to >= from)) edit = [from, to, e.data ?? ''];
    } else if (!/^insert(ReplacementText|CompositionText|FromComposition)$/.test(e.inputType)) {
      e.preventDefault(); // formatting and the browser's own undo
      if (e.inputType === 'historyUndo') step(past, future);
      if (e.inputType === 'historyRedo') step(future, past);
    }
    if (!edit) return;
    e.preventDefault();
    if (edit[0] !== edit[1] || edit[2] !== '') replace(...edit, e.data && e.data !== ' ' ? e.inputType : '');
  };
  const handleKey = (e: KeyboardEvent): void => {
    onKey?.(e);
    if (e.defaultPrevented || e.isComposing || !(e.ctrlKey || e.metaKey) || e.altKey) return;
    const key = e.key.toLowerCase();
    if (key === 'y' || key === 'z') {
      const isRedo = e.shiftKey || key === 'y';
      if (isRedo ? step(future, past) : step(past, future)) e.preventDefault();
    } else if ((key === 'b' || key === 'i') && !e.shiftKey && marks?.formatting !== false) {
      e.preventDefault();
      wrap(key === 'b' ? '**' : '_');
    }
  };
  const handleCopy = (e: ClipboardEvent): void => {
    readSelection();
    if (state.from === state.to) return;
    e.preventDefault();
    e.clipboardData?.setData('text/plain', state.source.slice(state.from, state.to));
    if (e.type === 'cut') replace(state.from, state.to, '');
  };
  const focusSelection = (): void => {
    const { from, to } = state;
    element.focus();
    doc.getSelection()?.setBaseAndExtent(...pointAt(from), ...pointAt(to));
    state = { ...state, from, to };
  };

  const wrap = (mark: string): void => {
    focusSelection();
    const { source } = state;
    let { from, to } = state;
    while (from < to && /\s/.test(source[from]!)) from++;
    while (from < to && /\s/.test(source[to - 1]!)) to--;
    const [before, text, after] = [source.slice(0, from), source.slice(from, to), source.slice(to)];
    const { length } = mark;
    if (before.endsWith(mark) && after.startsWith(mark)) change({ source: before.slice(0, -length) + text + after.slice(length), from: from - length, to: to - length });
    else change({ source: before + mark + text + mark + after, from: from + length, to: to + length });
  };

  const on = <K extends keyof HTMLElementEventMap>(name: K, listener: (e: HTMLElementEventMap[K]) => void): void => element.addEventListener(name, listener, { signal: controller.signal });
  on('beforeinput', handleBeforeInput);
  on('input', (e) => {
    const { inputType = '', data } = e as InputEvent;
    readChange(data === ' ' ? '' : inputType);
  });
  on('compositionstart', () => (readSelection(), (composing = true)));
  on('compositionend', () => ((composing = false), readChange('')));
  on('keydown', handleKey);
  on('copy', handleCopy);
  on('cut', handleCopy);
  on('dragstart', (e) => e.preventDefault()); // a dragged chip would become text
  doc.addEventListener('selectionchange', () => composing || readSelection(), { signal: controller.signal });
  for (const [name, value] of Object.entries({ contenteditable: 'true', role: 'textbox', dir: 'auto', 'aria-multiline': String(multiline) })) element.setAttribute(name, value);
  element.style.whiteSpace = 'pre-wrap';
  render();

  return {
    set(source) {
      if (composing) return;
      if (source !== state.source) {
        state = { source, from: Math.min(state.from, source.length), to: Math.min(state.to, source.length) };
        [past, future, lastKind] = [[], [], ''];
      }
      render();
    },
    insert(text) {
      focusSelection();
      replace(state.from, state.to, clean(text));
    },
    wrap,
    selected: () => state.source.slice(state.from, state.to),
    dispose() {
      controller.abort();
      element.removeAttribute('contenteditable');
    },
  };
}

/** Returns the source that an element shows. Its last line break is not part of the source. */
export function sourceOf(parent: ParentNode): string {
  const nodes = [...parent.childNodes];
  return nodes.map((node, i) => nodeSource(node, i === nodes.length - 1)).join('');
}

function nodeSource(node: ChildNode, isLast: boolean): string {
  if (node.nodeType === 3) return (node as Text).data;
  const element = node as HTMLElement;
  if (element.localName === 'br') return isLast ? '' : '\n';
  return element.dataset.source ?? (element.previousSibling && /^(div|p)$/.test(element.localName) ? '\n' : '') + sourceOf(element);
}
