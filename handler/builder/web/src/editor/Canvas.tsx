// The form as respondents see it, in a frame of the own origin that the service draws. What is typed is
// written into it at once; then the blocks that changed are drawn anew. Nothing runs in the frame:
// what happens there is heard, and done, from here.
import { effect, useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { ApiError, request } from '../app/api';
import { config } from '../app/config';
import { allBlocks, type Block } from '../app/records';
import { t } from '../app/words';
import { Button, IconButton } from '../ui/Button';
import type { Content } from './content';

/** Whether the form is dark for those whose browser prefers that. */
const hasDarkColors = (content: Content | null): boolean => (content?.theme.colors as { dark?: object } | undefined)?.dark !== undefined;

const classes = (...names: (string | false)[]): string => names.filter(Boolean).join(' ');

interface Props {
  form: string;
  content: ReadonlySignal<Content | null>;
  /** The id of the block that is chosen, '' for none. */
  selected: ReadonlySignal<string>;
  onChoose(id: string): void;
  onPreview(): void;
  /** What is wrong: blocks at ['blocks', id, …] are marked. */
  faults?: ReadonlySignal<readonly { path: readonly string[] }[]>;
  /** Adds the first block of a form without any. */
  onAdd?(): void;
}

export function Canvas({ form, content, selected, onChoose, onPreview, faults, onAdd }: Props) {
  const frame = useRef<HTMLIFrameElement>(null);
  const stop = useRef<() => void>(() => undefined);
  const narrow = useSignal(false);
  const failed = useSignal(false);
  useEffect(() => () => stop.current(), []);
  const loaded = (): void => {
    stop.current();
    const drawing = Drawing.of(frame.current!, form, onChoose);
    failed.value = !drawing;
    if (!drawing) return;
    const ends = [
      effect(() => {
        if (content.value) drawing.show(content.value);
      }),
      effect(() => drawing.pick(selected.value)),
      effect(() => drawing.mark(new Set(faults?.value.filter((f) => f.path[0] === 'blocks').map((f) => f.path[1])))),
      () => drawing.end(),
    ];
    stop.current = () => ends.forEach((end) => end());
  };
  return (
    <div class={classes('canvas', narrow.value && 'narrow', !hasDarkColors(content.value) && 'light-form')}>
      <div class="canvas-bar" role="group" aria-label={t('editor.width')}>
        <IconButton icon="eye" label={t('editor.share_preview')} onClick={onPreview} />
        <IconButton icon="monitor" label={t('editor.width_full')} aria-pressed={!narrow.value} onClick={() => (narrow.value = false)} />
        <IconButton icon="smartphone" label={t('editor.width_phone')} aria-pressed={narrow.value} onClick={() => (narrow.value = true)} />
      </div>
      <div class="canvas-space">
        <iframe ref={frame} class="canvas-frame" title={t('editor.canvas_frame')} src={`${config.base}/-/canvas/${form}`} onLoad={loaded} />
        {content.value?.blocks.length === 0 && (
          <div class="canvas-over">
            <p class="empty-title">{t('editor.first')}</p>
            <p class="muted">{t('editor.first_text')}</p>
            {onAdd && <Button kind="primary" icon="plus" onClick={onAdd}>{t('editor.first_add')}</Button>}
          </div>
        )}
        {failed.value && (
          <div class="canvas-over" role="alert">
            <p>{t('editor.canvas_failed')}</p>
            <Button onClick={() => frame.current!.contentWindow!.location.reload()}>{t('app.again')}</Button>
          </div>
        )}
      </div>
    </div>
  );
}

/** What the service draws, see CanvasParts in package formpage. */
interface Parts {
  style: string;
  around: string;
  blocks: { id: string; html: string }[];
}

const pause = 250; // after the last key
const retry = 5000;

/** The document in the frame, which follows a content. */
class Drawing {
  private content: Content | null = null;
  private shown = new Map<string, Block>(); // all blocks of content
  private order = '';
  private drawn = new Map<string, Block>(); // those at the top, as the service drew them last
  private manner = ''; // the settings that change how each block is drawn
  private looks = ''; // name, settings and theme, as they were drawn
  private around = '';
  private picked = '';
  private wrong: ReadonlySet<string | undefined> = new Set();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private sending: AbortController | undefined;

  private constructor(
    private readonly doc: Document,
    private readonly path: string,
    private readonly theme: CSSStyleSheet,
    private readonly rules: CSSStyleSheet,
  ) {}

  /** Undefined when the frame shows no form. */
  static of(frame: HTMLIFrameElement, form: string, onPick: (id: string) => void): Drawing | undefined {
    const doc = frame.contentDocument;
    const theme = doc?.querySelector('[data-theme]');
    if (!doc || !theme) return undefined;
    const { CSSStyleSheet } = frame.contentWindow as Window & typeof globalThis; // a document takes its own alone
    const drawing = new Drawing(doc, `/-/canvas/${form}`, new CSSStyleSheet(), new CSSStyleSheet());
    replace(drawing.theme, theme.textContent ?? '');
    theme.remove();
    doc.adoptedStyleSheets = [drawing.theme, drawing.rules];
    // The focus stays where it is, and nothing in the frame takes a press.
    doc.addEventListener('mousedown', (e) => e.preventDefault());
    doc.addEventListener('click', (e) => {
      e.preventDefault();
      const block = (e.target as Element).closest<HTMLElement>('[data-block]');
      if (block) onPick(block.dataset.block!);
    });
    drawing.finish(doc);
    return drawing;
  }

  end(): void {
    clearTimeout(this.timer);
    this.sending?.abort();
  }

  show(content: Content): void {
    const before = this.shown;
    this.content = content;
    this.shown = new Map(allBlocks(content.blocks).map((b) => [b.id, b]));
    const order = JSON.stringify(content.blocks, ['id', 'type', 'children']);
    const moved = order !== this.order;
    this.order = order;
    if (moved) this.arrange();
    const changed = [...this.shown.values()].filter((b) => before.get(b.id) !== b);
    if (changed.length > 0) {
      const elements = this.elements();
      for (const block of changed) write(elements.get(block.id), block);
    }
    this.later(moved ? 0 : pause);
  }

  pick(id: string): void {
    this.picked = id;
    this.signs();
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    this.doc.querySelector('.picked')?.scrollIntoView({ block: 'nearest', behavior: still ? 'auto' : 'smooth' });
  }

  mark(wrong: ReadonlySet<string | undefined>): void {
    this.wrong = wrong;
    this.signs();
  }

  private signs(): void {
    for (const element of this.doc.querySelectorAll('.picked, .wrong')) element.classList.remove('picked', 'wrong');
    if (this.picked === '' && this.wrong.size === 0) return;
    const elements = this.elements();
    elements.get(this.picked)?.classList.add('picked');
    for (const id of this.wrong) elements.get(id ?? '')?.classList.add('wrong');
  }

  private elements(): Map<string, HTMLElement> {
    return new Map(Array.from(this.doc.querySelectorAll<HTMLElement>('[data-block]'), (e) => [e.dataset.block!, e]));
  }

  /** Brings the elements into the order of the content. */
  private arrange(): void {
    const elements = this.elements();
    for (const [id, element] of elements) if (!this.shown.has(id)) element.remove();
    const fill = (into: Element | null, blocks: Block[], top?: Block): void => {
      if (!into) return;
      let at: Element | null = into.querySelector(':scope > [data-block]');
      for (const block of blocks) {
        if (!elements.has(block.id)) this.drawn.delete((top ?? block).id);
        const element = elements.get(block.id) ?? this.blank(block);
        if (at && at !== element && at.nextElementSibling === element) {
          at.remove(); // it comes later: the others need not move
          at = element;
        }
        if (at === element) at = at.nextElementSibling;
        else into.insertBefore(element, at);
        if (block.children) fill(element.querySelector(':scope > fieldset'), block.children, top ?? block);
      }
    };
    const { blocks } = this.content!;
    fill(this.doc.querySelector('.fs-fields'), blocks.filter((b) => b.type !== 'ending'));
    fill(this.doc.querySelector('.fs-ends'), blocks.filter((b) => b.type === 'ending'));
    this.doc.querySelectorAll('.num').forEach((e, i) => (e.textContent = `${i + 1}.`));
  }

  /** Stands for a block until it is drawn. */
  private blank(block: Block): HTMLElement {
    const element = this.doc.createElement('div');
    Object.assign(element.dataset, { block: block.id, type: block.type });
    element.append(this.doc.createElement('div'));
    element.firstElementChild!.className = 'fs-none';
    this.finish(element);
    return element;
  }

  private later(milliseconds: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.draw(), milliseconds);
  }

  /** Has the service draw what differs from what it drew last. */
  private async draw(): Promise<void> {
    const content = this.content!;
    const { name, blocks, settings, theme } = content;
    const manner = JSON.stringify([settings.numberedQuestions, settings.inlineFields, settings.singlePage]);
    const looks = JSON.stringify([name, settings, theme]);
    const changed = blocks.filter((b) => manner !== this.manner || !same(b, this.drawn.get(b.id)));
    if (changed.length === 0 && looks === this.looks) return;
    this.sending?.abort();
    const { signal } = (this.sending = new AbortController());
    try {
      const { body } = await request<Parts>(this.path, { body: { name, blocks: changed, settings, theme }, signal });
      if (signal.aborted) return; // another one is under way, with these blocks too
      this.take(body);
      for (const block of changed) this.drawn.set(block.id, block);
      [this.manner, this.looks] = [manner, looks];
      if (this.content !== content) this.later(pause);
    } catch (error) {
      if (!signal.aborted && error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 500)) this.later(retry);
    }
  }

  private take({ style, around, blocks }: Parts): void {
    replace(this.theme, style);
    if (around !== this.around) this.surround((this.around = around));
    const elements = this.elements();
    for (const { id, html } of blocks) {
      const drawn = this.parsed(html);
      elements.get(id)?.replaceWith(drawn);
      this.finish(drawn);
    }
    this.arrange();
    const now = this.elements();
    for (const block of allBlocks(this.content!.blocks.filter((b) => blocks.some((d) => d.id === b.id)))) write(now.get(block.id), block);
    replace(this.rules, Array.from(this.doc.querySelectorAll<HTMLElement>('[data-style]'), (e) => e.dataset.style).join(''));
    this.signs();
  }

  /** Puts the blocks into what stands around them now. */
  private surround(html: string): void {
    const box = this.doc.querySelector('.fs-box')!;
    const { scrollY } = this.doc.defaultView!;
    const next = this.parsed(html);
    for (const place of ['.fs-fields', '.fs-ends']) next.querySelector(place)!.append(...box.querySelector(place)!.children);
    box.replaceWith(next);
    this.finish(next);
    this.doc.defaultView!.scrollTo(0, scrollY);
  }

  private parsed(html: string): Element {
    const template = this.doc.createElement('template');
    template.innerHTML = html;
    return this.doc.importNode(template.content, true).firstElementChild!;
  }

  /** Names what shows nothing yet, and keeps the focus out. */
  private finish(drawn: ParentNode): void {
    for (const e of drawn.querySelectorAll<HTMLElement>('a, button, input, select, textarea, video')) e.tabIndex = -1;
    for (const e of drawn.querySelectorAll('.fs-none:empty')) {
      const type = e.closest<HTMLElement>('[data-block]')?.dataset.type ?? '';
      e.textContent = type === 'page_break' ? t('editor.page') : t(`props.type_${type}`);
    }
  }
}

const styles = new WeakMap<CSSStyleSheet, string>();

/** Changes a style sheet if it is another one: the whole document is styled anew. */
function replace(sheet: CSSStyleSheet, style: string): void {
  if (styles.get(sheet) === style) return;
  styles.set(sheet, style);
  sheet.replaceSync(style);
}

const same = (a: Block, b: Block | undefined): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);

/** Writes the texts of a block into its element, as far as there is a place for them. */
function write(element: Element | undefined, block: Block): void {
  if (!element) return;
  const own = (selector: string): Element | undefined =>
    Array.from(element.querySelectorAll(selector)).find((e) => e.closest('[data-block]') === element);
  const title = own('.fs-label, legend, h1, h2, .fs-text, blockquote p');
  const text = title && Array.from(title.childNodes).find((n) => n.nodeType === Node.TEXT_NODE);
  const label = (title?.querySelector(':scope > .num') ? ' ' : '') + (block.label ?? '');
  if (text && block.label && text.nodeValue !== label) text.nodeValue = label; // without a label it has one of the page's
  const about = own('.fs-desc');
  if (about && about.textContent !== (block.description ?? '')) about.textContent = block.description ?? '';
}
