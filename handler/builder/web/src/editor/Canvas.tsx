// Shows the form as respondents see it, in a same-origin frame that the service renders. Typed text is written into
// the frame immediately. After a pause, the service renders the changed blocks again. Texts can be edited in the frame.
// The frame itself runs no scripts.
import { effect, useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { ApiError, request } from '../app/api';
import { config } from '../app/config';
import { allBlocks, hasLogic, type Block } from '../app/records';
import { labelInsertions, plainText } from '../app/text';
import { t } from '../app/words';
import { insertionLabel } from '../rules/insertions';
import { Button, IconButton } from '../ui/Button';
import { editMarkedText, type MarkedText } from '../ui/markedText';
import type { Content } from './content';

/** Reports whether the form has colors for dark mode. */
const hasDarkColors = (content: Content | null): boolean => (content?.theme.colors as { dark?: object } | undefined)?.dark !== undefined;

const classes = (...names: (string | false)[]): string => names.filter(Boolean).join(' ');

interface Props {
  form: string;
  content: ReadonlySignal<Content | null>;
  /** The id of the selected block, or '' if there is none. */
  selected: ReadonlySignal<string>;
  onChoose(id: string): void;
  onPreview(): void;
  /** Whether texts can be edited on the canvas, and blocks can be added. */
  editable: boolean;
  /** Receives a typed text. */
  onText(id: string, field: TextField, text: string): void;
  /** Called when Enter is pressed in a label. */
  onEnter(id: string): void;
  /** Adds a block below another block, or the first block of an empty form. */
  onAdd(after: string | undefined): void;
  /** Receives the frame's events that the editor also handles in its own document. */
  onEvent(e: Event): void;
  /** Receives a function that starts to edit a block's label. It returns false if the block shows no label. */
  editLabel: { current: (id: string) => boolean };
  /** Blocks with an error at ['blocks', id, …] are marked. */
  errors?: ReadonlySignal<readonly { path: readonly string[] }[]>;
}

/** The texts that can be edited on the canvas. */
export type TextField = 'label' | 'description';

export function Canvas(props: Props) {
  const { form, content, selected, onPreview, errors, onAdd, editable, editLabel } = props;
  const latest = useRef(props);
  latest.current = props;
  const isEditable = useSignal(editable);
  isEditable.value = editable;
  const frame = useRef<HTMLIFrameElement>(null);
  const cleanup = useRef<() => void>(() => undefined);
  const narrow = useSignal(false);
  const failed = useSignal(false);
  useEffect(() => () => cleanup.current(), []);
  const handleLoad = (): void => {
    cleanup.current();
    const canvas = CanvasDocument.create(frame.current!, form, () => latest.current);
    failed.value = !canvas;
    if (!canvas) return;
    editLabel.current = (id) => canvas.edit(id, 'label');
    const cleanups = [
      effect(() => canvas.setEditable(isEditable.value)),
      effect(() => {
        if (content.value) canvas.update(content.value);
      }),
      effect(() => canvas.select(selected.value)),
      effect(() => canvas.mark(new Set(errors?.value.filter((f) => f.path[0] === 'blocks').map((f) => f.path[1])))),
      () => canvas.dispose(),
    ];
    cleanup.current = () => cleanups.forEach((end) => end());
  };
  return (
    <div class={classes('canvas', narrow.value && 'narrow', !hasDarkColors(content.value) && 'light-form')}>
      <div class="canvas-bar" role="group" aria-label={t('editor.preview_width')}>
        <IconButton icon="eye" label={t('editor.share_preview')} onClick={onPreview} />
        <IconButton icon="monitor" label={t('editor.preview_width_full')} aria-pressed={!narrow.value} onClick={() => (narrow.value = false)} />
        <IconButton icon="smartphone" label={t('editor.preview_width_phone')} aria-pressed={narrow.value} onClick={() => (narrow.value = true)} />
      </div>
      <div class="canvas-space">
        <iframe ref={frame} class="canvas-frame" title={t('editor.preview')} src={`${config.base}/-/canvas/${form}`} onLoad={handleLoad} />
        {editable && content.value?.blocks.length === 0 && (
          <div class="canvas-over">
            <p class="empty-title">{t('editor.empty_title')}</p>
            <p class="muted">{t('editor.empty_text')}</p>
            <Button kind="primary" icon="plus" onClick={() => onAdd(undefined)}>{t('editor.empty_add')}</Button>
          </div>
        )}
        {failed.value && (
          <div class="canvas-over" role="alert">
            <p>{t('editor.preview_failed')}</p>
            <Button onClick={() => frame.current!.contentWindow!.location.reload()}>{t('app.try_again')}</Button>
          </div>
        )}
      </div>
    </div>
  );
}

/** The service's response, see CanvasParts in package formpage. */
interface CanvasResponse {
  style: string;
  around: string;
  blocks: { id: string; html: string }[];
}

const renderDelay = 250; // milliseconds after the last key
const retryDelay = 5000;

/** The document in the frame, which is updated whenever the content changes. */
class CanvasDocument {
  private content: Content | null = null;
  private blocks = new Map<string, Block>(); // all blocks of content, by id
  private order = '';
  private rendered = new Map<string, Block>(); // top-level blocks, as the service last rendered them
  private layout = ''; // the settings that affect every block, as last rendered
  private design = ''; // name, settings and theme, as last rendered
  private around = '';
  private selected = '';
  private invalid: ReadonlySet<string | undefined> = new Set();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private request: AbortController | undefined;

  private editing: { id: string; field: TextField; box: HTMLElement; text: MarkedText } | undefined;

  private constructor(
    private readonly doc: Document,
    private readonly props: () => Props,
    private readonly path: string,
    private readonly theme: CSSStyleSheet,
    private readonly rules: CSSStyleSheet,
  ) {}

  /** Returns undefined if the frame shows no form. */
  static create(frame: HTMLIFrameElement, form: string, props: () => Props): CanvasDocument | undefined {
    const doc = frame.contentDocument;
    const theme = doc?.querySelector('[data-theme]');
    if (!doc || !theme) return undefined;
    const { CSSStyleSheet } = frame.contentWindow as Window & typeof globalThis; // a document accepts only style sheets from its own window
    const canvas = new CanvasDocument(doc, props, `/-/canvas/${form}`, new CSSStyleSheet(), new CSSStyleSheet());
    setStyle(canvas.theme, theme.textContent ?? '');
    theme.remove();
    doc.adoptedStyleSheets = [canvas.theme, canvas.rules];
    // Unless a text is edited, the focus stays in the editor. Controls in the frame do nothing.
    doc.addEventListener('mousedown', (e) => canvas.editing?.box.contains(e.target as Node) || e.preventDefault());
    doc.addEventListener('click', (e) => {
      e.preventDefault();
      canvas.handleClick(e);
    });
    for (const type of ['keydown', 'input', 'focusin', 'focusout', 'copy', 'cut', 'paste']) doc.addEventListener(type, (e) => props().onEvent(e));
    canvas.prepare(doc);
    return canvas;
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.request?.abort();
  }

  private handleClick(e: MouseEvent): void {
    const target = e.target as Element;
    const block = target.closest<HTMLElement>('[data-block]');
    const id = block?.dataset.block;
    if (!id || this.editing?.box.contains(target)) return;
    if (target.matches('.fs-plus')) return this.props().onAdd(id);
    const isText = (field: TextField): boolean => findText(block, field)?.contains(target) === true;
    const field = isText('label') || target.matches('.fs-none') ? 'label' : isText('description') ? 'description' : undefined;
    if (!field || id !== this.selected || !this.props().editable || !this.edit(id, field, e)) this.props().onChoose(id);
  }

  setEditable(editable: boolean): void {
    this.doc.documentElement.classList.toggle('editable', editable);
    if (!editable) this.endEditing();
  }

  /** Starts to edit a text, with the caret at a point or at the end. Returns false if the block shows no such text. */
  edit(id: string, field: TextField, point?: { clientX: number; clientY: number }): boolean {
    this.endEditing();
    const { doc } = this;
    const [block, element] = [this.blocks.get(id), this.elements().get(id)];
    const shown = element && findText(element, field);
    if (!block || !element || ['divider', 'page_break'].includes(block.type)) return false;
    const box = doc.createElement(shown ? 'span' : 'div');
    box.className = shown ? 'fs-edit' : 'fs-edit fs-label';
    box.dataset.placeholder = t('props.type_' + block.type);
    box.ariaLabel = t('props.' + field);
    if (shown) {
      for (const node of [...shown.childNodes]) if (!(node as Element).matches?.('.num, .req')) node.remove();
      shown.insertBefore(box, shown.querySelector('.req'));
    } else element.prepend(box);
    const onKey = (e: KeyboardEvent): void => {
      if (field !== 'label' || e.key !== 'Enter' || e.isComposing || e.shiftKey || e.ctrlKey || e.metaKey) return;
      e.preventDefault();
      this.props().onEnter(id);
    };
    this.editing = { id, field, box, text: editMarkedText(box, { value: block[field] ?? '', labelOf: insertionLabel, onKey, onInput: (text) => this.props().onText(id, field, text) }) };
    box.addEventListener('blur', () => this.editing?.box === box && this.endEditing());
    doc.defaultView!.focus();
    box.focus();
    const caret = point && doc.caretPositionFromPoint?.(point.clientX, point.clientY);
    if (caret && box.contains(caret.offsetNode)) doc.getSelection()!.collapse(caret.offsetNode, caret.offset);
    else doc.getSelection()!.collapse(box, box.childNodes.length - 1); // before the last line break
    return true;
  }

  /** Lets the service render the edited block again. */
  private endEditing(): void {
    const { editing, content } = this;
    if (!editing) return;
    this.editing = undefined;
    editing.text.dispose();
    for (const { id, children = [] } of content!.blocks) if (id === editing.id || allBlocks(children).some((b) => b.id === editing.id)) this.rendered.delete(id);
    this.schedule(0);
  }

  update(content: Content): void {
    const before = this.blocks;
    this.content = content;
    this.blocks = new Map(allBlocks(content.blocks).map((b) => [b.id, b]));
    const order = JSON.stringify(content.blocks, ['id', 'type', 'children']);
    const moved = order !== this.order;
    this.order = order;
    if (moved) this.reorder();
    const changed = [...this.blocks.values()].filter((b) => before.get(b.id) !== b);
    if (changed.length > 0) {
      const elements = this.elements();
      for (const block of changed) this.updateElement(elements.get(block.id), block);
    }
    if (this.editing) {
      const block = this.blocks.get(this.editing.id);
      if (block) this.editing.text.set(block[this.editing.field] ?? '');
      else this.endEditing();
    }
    this.schedule(moved ? 0 : renderDelay);
  }

  select(id: string): void {
    this.selected = id;
    this.setClasses();
    const reducedMotion = matchMedia('(prefers-reduced-motion: reduce)').matches;
    this.doc.querySelector('.picked')?.scrollIntoView({ block: 'nearest', behavior: reducedMotion ? 'auto' : 'smooth' });
  }

  mark(invalid: ReadonlySet<string | undefined>): void {
    this.invalid = invalid;
    this.setClasses();
  }

  private setClasses(): void {
    for (const element of this.doc.querySelectorAll('.picked, .wrong')) element.classList.remove('picked', 'wrong');
    if (this.selected === '' && this.invalid.size === 0) return;
    const elements = this.elements();
    elements.get(this.selected)?.classList.add('picked');
    for (const id of this.invalid) elements.get(id ?? '')?.classList.add('wrong');
  }

  private elements(): Map<string, HTMLElement> {
    return new Map(Array.from(this.doc.querySelectorAll<HTMLElement>('[data-block]'), (e) => [e.dataset.block!, e]));
  }

  /** Arranges the elements in the same order as the content. */
  private reorder(): void {
    const elements = this.elements();
    for (const [id, element] of elements) if (!this.blocks.has(id)) element.remove();
    const placeBlocks = (parent: Element | null, blocks: Block[], top?: Block): void => {
      if (!parent) return;
      let at: Element | null = parent.querySelector(':scope > [data-block]');
      for (const block of blocks) {
        if (!elements.has(block.id)) this.rendered.delete((top ?? block).id);
        const element = elements.get(block.id) ?? this.placeholder(block);
        if (at && at !== element && at.nextElementSibling === element) {
          at.remove(); // the removed element is inserted later, so the others stay in place
          at = element;
        }
        if (at === element) at = at.nextElementSibling;
        else parent.insertBefore(element, at);
        if (block.children) placeBlocks(element.querySelector(':scope > fieldset'), block.children, top ?? block);
      }
    };
    const { blocks } = this.content!;
    placeBlocks(this.doc.querySelector('.fs-fields'), blocks.filter((b) => b.type !== 'ending'));
    placeBlocks(this.doc.querySelector('.fs-ends'), blocks.filter((b) => b.type === 'ending'));
    this.doc.querySelectorAll('.num').forEach((e, i) => (e.textContent = `${i + 1}.`));
  }

  /** Returns a placeholder element for a block that the service has not rendered yet. */
  private placeholder(block: Block): HTMLElement {
    const element = this.doc.createElement('div');
    Object.assign(element.dataset, { block: block.id, type: block.type });
    element.append(this.doc.createElement('div'));
    element.firstElementChild!.className = 'fs-none';
    this.prepare(element);
    return element;
  }

  private schedule(milliseconds: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.render(), milliseconds);
  }

  /** Asks the service to render everything that changed since the last response. */
  private async render(): Promise<void> {
    const content = this.content!;
    const { name, blocks, settings, theme } = content;
    const layout = JSON.stringify([settings.numberedQuestions, settings.inlineFields, settings.singlePage]);
    const design = JSON.stringify([name, settings, theme]);
    const edited = this.editing?.box.parentElement?.closest('.fs-fields > [data-block], .fs-ends > [data-block]');
    // The service renders an edited block only if it is new. Otherwise the text would lose the focus.
    const isEdited = (b: Block): boolean => (edited as HTMLElement | null)?.dataset.block === b.id && this.rendered.has(b.id);
    const changed = blocks.filter((b) => (layout !== this.layout || !isSameBlock(b, this.rendered.get(b.id))) && !isEdited(b));
    if (changed.length === 0 && design === this.design) return;
    this.request?.abort();
    const { signal } = (this.request = new AbortController());
    try {
      const { body } = await request<CanvasResponse>(this.path, { body: { name, blocks: changed, settings, theme }, signal });
      if (signal.aborted) return; // a newer request includes these blocks
      this.apply(body);
      for (const block of changed) this.rendered.set(block.id, block);
      [this.layout, this.design] = [layout, design];
      if (this.content !== content) this.schedule(renderDelay);
    } catch (error) {
      if (!signal.aborted && error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 500)) this.schedule(retryDelay);
    }
  }

  /** Marks an element whose block has logic. Writes the block's label and description into the element, if it shows them. */
  private updateElement(element: HTMLElement | undefined, block: Block): void {
    if (!element) return;
    if (hasLogic(block)) element.dataset.logic = t('editor.logic');
    else delete element.dataset.logic;
    if (this.editing?.id === block.id) return;
    const { label, description = '' } = block;
    const title = findText(element, 'label');
    const text = title && Array.from(title.childNodes).find((n) => n.nodeType === Node.TEXT_NODE);
    if (text && label && !hasMarks(title, label)) { // without a label, the page shows its own text
      const value = (title.querySelector(':scope > .num') ? ' ' : '') + label;
      if (text.nodeValue !== value) text.nodeValue = value;
    }
    const shown = findText(element, 'description');
    if (shown && shown.textContent !== description && !hasMarks(shown, description)) shown.textContent = description;
  }

  private apply({ style, around, blocks }: CanvasResponse): void {
    setStyle(this.theme, style);
    if (around !== this.around && !this.editing) this.wrap((this.around = around));
    const elements = this.elements();
    for (const { id, html } of blocks) {
      const newElement = this.parse(html);
      this.prepare(newElement);
      const old = elements.get(id);
      if (old && this.editing && old.contains(this.editing.box)) this.replaceAround(newElement);
      else old?.replaceWith(newElement);
    }
    this.reorder();
    const now = this.elements();
    for (const block of allBlocks(this.content!.blocks.filter((b) => blocks.some((d) => d.id === b.id)))) this.updateElement(now.get(block.id), block);
    setStyle(this.rules, Array.from(this.doc.querySelectorAll<HTMLElement>('[data-style]'), (e) => e.dataset.style).join(''));
    this.setClasses();
  }

  /** Replaces everything in a new block except for the text that is being edited. */
  private replaceAround(rendered: Element): void {
    const { id, box } = this.editing!;
    const element = box.parentElement!;
    const next = rendered.matches(`[data-block="${CSS.escape(id)}"]`) ? rendered : rendered.querySelector(`[data-block="${CSS.escape(id)}"]`);
    if (!next || !element.matches('[data-block]')) return;
    findText(next, 'label')?.remove();
    for (const child of [...element.children]) if (child !== box) child.remove();
    element.append(...next.childNodes);
  }

  /** Replaces the layout around the blocks. */
  private wrap(html: string): void {
    const box = this.doc.querySelector('.fs-box')!;
    const { scrollY } = this.doc.defaultView!;
    const next = this.parse(html);
    for (const selector of ['.fs-fields', '.fs-ends']) next.querySelector(selector)!.append(...box.querySelector(selector)!.children);
    box.replaceWith(next);
    this.prepare(next);
    this.doc.defaultView!.scrollTo(0, scrollY);
  }

  private parse(html: string): Element {
    const template = this.doc.createElement('template');
    template.innerHTML = html;
    return this.doc.importNode(template.content, true).firstElementChild!;
  }

  /** Labels empty placeholders and insertions, adds buttons that add blocks, and removes controls from the tab order. */
  private prepare(root: Document | Element): void {
    for (const block of [root, ...root.querySelectorAll('[data-block]')]) {
      if (!(block as Element).matches?.('[data-block]')) continue;
      const button = this.doc.createElement('button');
      button.className = 'fs-plus';
      button.ariaLabel = button.title = t('editor.add_below');
      (block as Element).append(button);
    }
    for (const e of root.querySelectorAll<HTMLElement>('a, button, input, select, textarea, video')) e.tabIndex = -1;
    const texts = this.doc.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let n = texts.nextNode(); n; n = texts.nextNode()) {
      if (n.nodeValue!.includes('{{') && n.parentElement!.closest(`${Object.values(textSelectors).join()}, button`)) n.nodeValue = labelInsertions(n.nodeValue!);
    }
    for (const e of root.querySelectorAll('.fs-none:empty')) {
      const type = e.closest<HTMLElement>('[data-block]')?.dataset.type ?? '';
      e.textContent = type === 'page_break' ? t('editor.page') : t(`props.type_${type}`);
    }
  }
}

const sheetTexts = new WeakMap<CSSStyleSheet, string>();

/** Sets a style sheet's text if it has changed, because every change makes the browser restyle the whole document. */
function setStyle(sheet: CSSStyleSheet, style: string): void {
  if (sheetTexts.get(sheet) === style) return;
  sheetTexts.set(sheet, style);
  sheet.replaceSync(style);
}

const isSameBlock = (a: Block, b: Block | undefined): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);

/** Reports whether only the service can render a text in an element, because one of them has marks. */
const hasMarks = (element: Element, text: string): boolean => plainText(text, undefined, () => '') !== text || element.querySelector('a, strong, em, bdi') !== null;

const textSelectors = { label: '.fs-label, legend, h1, h2, .fs-text, blockquote p', description: '.fs-desc' };

/** Returns the element of a block's text, but not of a text in its children. */
const findText = (element: Element, field: TextField): HTMLElement | undefined =>
  Array.from(element.querySelectorAll<HTMLElement>(textSelectors[field])).find((e) => e.closest('[data-block]') === element.closest('[data-block]'));
