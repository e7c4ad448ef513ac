// Shows the form as respondents see it, in a same-origin frame that the service renders. Typed text is written into
// the frame immediately. After a pause, the service renders the changed blocks again. The frame itself runs no
// scripts.
import { effect, useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { ApiError, request } from '../app/api';
import { config } from '../app/config';
import { allBlocks, type Block } from '../app/records';
import { t } from '../app/words';
import { Button, IconButton } from '../ui/Button';
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
  /** Blocks with an error at ['blocks', id, …] are marked. */
  errors?: ReadonlySignal<readonly { path: readonly string[] }[]>;
  /** Adds the first block of an empty form. */
  onAdd?(): void;
}

export function Canvas({ form, content, selected, onChoose, onPreview, errors, onAdd }: Props) {
  const frame = useRef<HTMLIFrameElement>(null);
  const cleanup = useRef<() => void>(() => undefined);
  const narrow = useSignal(false);
  const failed = useSignal(false);
  useEffect(() => () => cleanup.current(), []);
  const handleLoad = (): void => {
    cleanup.current();
    const canvas = CanvasDocument.create(frame.current!, form, onChoose);
    failed.value = !canvas;
    if (!canvas) return;
    const cleanups = [
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
        {content.value?.blocks.length === 0 && (
          <div class="canvas-over">
            <p class="empty-title">{t('editor.empty_title')}</p>
            <p class="muted">{t('editor.empty_text')}</p>
            {onAdd && <Button kind="primary" icon="plus" onClick={onAdd}>{t('editor.empty_add')}</Button>}
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

  private constructor(
    private readonly doc: Document,
    private readonly path: string,
    private readonly theme: CSSStyleSheet,
    private readonly rules: CSSStyleSheet,
  ) {}

  /** Returns undefined if the frame shows no form. */
  static create(frame: HTMLIFrameElement, form: string, onSelect: (id: string) => void): CanvasDocument | undefined {
    const doc = frame.contentDocument;
    const theme = doc?.querySelector('[data-theme]');
    if (!doc || !theme) return undefined;
    const { CSSStyleSheet } = frame.contentWindow as Window & typeof globalThis; // a document accepts only style sheets from its own window
    const canvas = new CanvasDocument(doc, `/-/canvas/${form}`, new CSSStyleSheet(), new CSSStyleSheet());
    setStyle(canvas.theme, theme.textContent ?? '');
    theme.remove();
    doc.adoptedStyleSheets = [canvas.theme, canvas.rules];
    // The focus stays in the editor, and controls in the frame do nothing.
    doc.addEventListener('mousedown', (e) => e.preventDefault());
    doc.addEventListener('click', (e) => {
      e.preventDefault();
      const block = (e.target as Element).closest<HTMLElement>('[data-block]');
      if (block) onSelect(block.dataset.block!);
    });
    canvas.prepare(doc);
    return canvas;
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.request?.abort();
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
      for (const block of changed) updateTexts(elements.get(block.id), block);
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
    const changed = blocks.filter((b) => layout !== this.layout || !isSameBlock(b, this.rendered.get(b.id)));
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

  private apply({ style, around, blocks }: CanvasResponse): void {
    setStyle(this.theme, style);
    if (around !== this.around) this.wrap((this.around = around));
    const elements = this.elements();
    for (const { id, html } of blocks) {
      const newElement = this.parse(html);
      elements.get(id)?.replaceWith(newElement);
      this.prepare(newElement);
    }
    this.reorder();
    const now = this.elements();
    for (const block of allBlocks(this.content!.blocks.filter((b) => blocks.some((d) => d.id === b.id)))) updateTexts(now.get(block.id), block);
    setStyle(this.rules, Array.from(this.doc.querySelectorAll<HTMLElement>('[data-style]'), (e) => e.dataset.style).join(''));
    this.setClasses();
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

  /** Labels empty placeholders, and removes controls from the tab order. */
  private prepare(root: ParentNode): void {
    for (const e of root.querySelectorAll<HTMLElement>('a, button, input, select, textarea, video')) e.tabIndex = -1;
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

/** Writes a block's label and description into its element, if the element shows them. */
function updateTexts(element: Element | undefined, block: Block): void {
  if (!element) return;
  const findOwn = (selector: string): Element | undefined =>
    Array.from(element.querySelectorAll(selector)).find((e) => e.closest('[data-block]') === element);
  const title = findOwn('.fs-label, legend, h1, h2, .fs-text, blockquote p');
  const text = title && Array.from(title.childNodes).find((n) => n.nodeType === Node.TEXT_NODE);
  const label = (title?.querySelector(':scope > .num') ? ' ' : '') + (block.label ?? '');
  if (text && block.label && text.nodeValue !== label) text.nodeValue = label; // without a label, the page shows its own text
  const description = findOwn('.fs-desc');
  if (description && description.textContent !== (block.description ?? '')) description.textContent = block.description ?? '';
}
