import { effect, useComputed, useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { type Detail, builderApi, request } from '../app/api';
import { can, config, offers } from '../app/config';
import { Frame } from '../app/Frame';
import { allBlocks, type Block, type FormSummary } from '../app/records';
import { StatusBadge } from '../app/StatusBadge';
import { t } from '../app/words';
import { invalidFields } from '../props/DraftField';
import { newBlock } from '../props/model';
import { openContent } from '../rules/insertions';
import { countUsers } from '../rules/references';
import { Button, IconButton } from '../ui/Button';
import { Dialog } from '../ui/Dialog';
import { Icon } from '../ui/Icon';
import { Empty, ErrorNotice, dismissUndo, Loading, showToast, useDocumentEvent } from '../ui/states';
import { AddMenu } from './AddMenu';
import { Canvas } from './Canvas';
import { Conflicts } from './Conflicts';
import { Shortcuts } from './Shortcuts';
import { iconOf, typeName } from './blockTypes';
import { blocksFromText, blocksToText } from './clipboard';
import { pathOf, type Path } from './content';
import { MoveDialog } from './MoveTo';
import { browserStorage } from './drafts';
import type { Position } from './edits';
import { type Actions, Outline } from './Outline';
import { PropertiesPanel, type OnRemoved } from './PropertiesPanel';
import { blockLabel, isQuestion } from './positions';
import { PublishButton } from './Publish';
import { SaveStatus } from './SaveStatus';
import { isGeneral, Problems } from './Problems';
import { openPreview, ShareButton } from './Share';
import type { Violation } from './operations';
import { EditorStore } from './store';
import { formBackend } from './requests';
import { explainWarnings } from './warnings';

/** The most common block types. One click adds a block. */
const commonTypes = ['short_text', 'long_text', 'email', 'single_choice', 'multiple_choice', 'opinion_scale'];

type Pane = 'outline' | 'canvas' | 'panel';

/** The editor for a form, with the outline, the canvas and the properties panel. */
export function Editor({ form }: { form: string; view: string }) {
  const store = useMemo(() => new EditorStore({ backend: formBackend(request, form), key: `${config.user}/${form}`, storage: browserStorage() }), [form]);
  const selected = useSignal('');
  const tab = useSignal('block');
  const pane = useSignal<Pane>('canvas'); // the pane that a narrow window shows
  const openDialog = useSignal<'' | 'keys' | 'problems' | { add: string | undefined; onCanvas: boolean } | { move: string }>('');
  const serviceWarnings = useSignal<readonly Detail[]>([]);
  const unpublished = useSignal<boolean | undefined>(undefined); // undefined until the first response

  useEffect(() => {
    void store.open();
    const stopListening = store.observe(window);
    return () => (stopListening(), dismissUndo(), void store.close());
  }, [store]);
  useEffect(() => effect(() => void (store.shown.value && (openContent.value = store.shown.value))), [store]);

  // Warnings depend on the saved content and on the form itself.
  const saved = store.status.value === 'saved' ? store.shown.value : undefined;
  useEffect(() => {
    if (!saved) {
      unpublished.value ||= undefined;
      return;
    }
    const timer = setTimeout(() => {
      builderApi<{ items: Detail[]; unpublished: boolean }>(`/forms/${form}/warnings`).then(
        (is) => {
          serviceWarnings.value = is.items;
          unpublished.value = is.unpublished;
        },
        () => undefined, // the editor works without warnings
      );
    }, 700);
    return () => clearTimeout(timer);
  }, [saved, store.form.value]);

  const blocks = useComputed(() => store.shown.value?.blocks ?? []);
  const locatedWarnings = useComputed<Violation[]>(() => explainWarnings(serviceWarnings.value, blocks.value).map((w) => ({ ...w, path: store.shown.value ? pathOf(store.shown.value, w.path) : [] })));
  const warnings = useComputed(() => messagesByBlock(locatedWarnings.value));
  const blockErrors = useComputed(() => {
    const found = new Map<string, string>();
    for (const f of store.errors.value) if (f.path[0] === 'blocks' && f.path[1] && !found.has(f.path[1])) found.set(f.path[1], f.message);
    return found;
  });
  const status = store.status.value === 'saved' && !can('forms:write') ? 'read-only' : store.status.value;
  const readOnly = status === 'read-only' || status === 'gone';

  const edit = (id: string) => {
    selected.value = id;
    tab.value = 'block';
    pane.value = 'panel';
    requestAnimationFrame(() => firstControl()?.focus());
  };
  const editLogic = (id: string) => {
    selected.value = id;
    tab.value = 'block';
    requestAnimationFrame(() => {
      const logic = document.getElementById('logic') as HTMLDetailsElement;
      logic.open = true;
      logic.querySelector('summary')!.focus();
      logic.scrollIntoView();
    });
  };
  // A narrow window shows only one pane, so selecting a block opens the properties panel and moves the focus to it.
  const select = (id: string) => {
    if (document.getElementById('panel')?.checkVisibility()) {
      selected.value = id;
      tab.value = 'block';
    } else edit(id);
  };
  // If the focused element was removed or moved, the focus is lost.
  const focusRow = (shouldFocus = (_: Element | null) => true) =>
    requestAnimationFrame(() => {
      if (!shouldFocus(document.activeElement)) return;
      const row = selected.value && document.querySelector<HTMLElement>(`.outline [data-id="${CSS.escape(selected.value)}"]`);
      const next = row || document.querySelector<HTMLElement>('.outline [tabindex="0"], .pane-head button');
      next?.focus();
    });
  const focusLost = (e: Element | null) => !e || e === document.body;
  const positionFor = (type: string, after: string | undefined): Position => {
    const node = after === undefined ? undefined : store.find(after);
    const siblings = (node?.parent ? store.find(node.parent)?.block.children : blocks.value) ?? [];
    // Blocks after an ending are never shown, so new blocks go before the endings.
    const index = node ? siblings.findIndex((b) => b.id === after) + 1 : type === 'ending' ? siblings.length : firstEnding(siblings);
    return { parent: node?.parent || undefined, index: type === 'welcome' && !node ? 0 : index };
  };
  const editLabel = useRef((_id: string) => false);
  /** Reports whether a block or one of its children has a type that the host does not offer, and shows a message. */
  const isFixed = (...of: (Block | undefined)[]): boolean => {
    const fixed = allBlocks(of.filter((b) => b !== undefined)).some((b) => !offers('block_types', b.type));
    if (fixed) showToast(t('props.not_offered'));
    return fixed;
  };
  /** Adds a block, and edits its label on the canvas if it shows one, or its properties. */
  const add = (type: string, place: Position, onCanvas = false) => {
    const id = store.newId();
    store.add(newBlock(type, id), place);
    if (!onCanvas || ['image', 'video', 'pdf', 'embed', 'captcha'].includes(type)) edit(id);
    else {
      selected.value = id;
      tab.value = 'block';
      const editText = () => void (editLabel.current(id) || focusRow());
      if (openDialog.value) requestAnimationFrame(editText); // an open dialog keeps the focus
      else editText();
    }
    openDialog.value = '';
  };
  /** Adds a question after a block, or in a group. */
  const addNext = (id: string, onCanvas: boolean) => {
    const block = store.find(id)?.block;
    if (!block || block.type === 'ending') return;
    const type = [block.type, 'short_text'].find((name) => isQuestion(name) && offers('block_types', name));
    if (!type) return actions.add(id);
    add(type, block.type === 'group' ? { parent: id, index: 0 } : positionFor(type, id), onCanvas);
  };
  const textOf = (id: string) => blocksToText([store.find(id)!.block]);
  const paste = (text: string, after: string | undefined) => {
    const copied = blocksFromText(text);
    if (!copied) return showToast(t('editor.paste_invalid'));
    if (isFixed(...copied)) return;
    selected.value = store.paste(copied, positionFor(copied[0]!.type, after));
    focusRow();
    offerUndo(t('editor.pasted', { n: copied.length }));
  };
  const handleClipboard = (e: ClipboardEvent) => {
    const id = selected.value;
    if (e.defaultPrevented || isTyping(e.target as Element) || document.querySelector('dialog[open]') || !content) return;
    if (e.type === 'paste' && !readOnly) paste(e.clipboardData?.getData('text/plain') ?? '', id || undefined);
    else if (e.type !== 'paste' && store.find(id) && getSelection()?.isCollapsed !== false && (e.type === 'copy' || !readOnly)) {
      e.clipboardData?.setData('text/plain', textOf(id));
      if (e.type === 'cut') actions.remove(id);
    } else return;
    e.preventDefault();
  };
  const actions: Actions = {
    add: (after) => (openDialog.value = { add: after, onCanvas: false }),
    edit,
    select,
    move: (id, to) => store.move(id, to),
    moveTo: (id) => (openDialog.value = { move: id }),
    duplicate: (id) => isFixed(store.find(id)?.block) || edit(store.duplicate(id)),
    copy: (id) => void useClipboard((clipboard) => clipboard.writeText(textOf(id))),
    cut: (id) => void useClipboard(async (clipboard) => (await clipboard.writeText(textOf(id)), actions.remove(id))),
    paste: (id) => void useClipboard(async (clipboard) => paste(await clipboard.readText(), id)),
    remove: (id) => {
      const block = store.find(id)?.block;
      if (!block || isFixed(block)) return; // undoing the removal would add it
      store.remove(id);
      const ids = [block, ...(block.children ?? [])].map((b) => b.id);
      reportRemoved(blockLabel(block, typeName), 'block', Math.max(...ids.map((id) => countUsers(store.shown.value as never, { kind: 'block', id }))));
      focusRow(focusLost);
    },
  };
  const selectChanged = (changed: readonly Path[]) => {
    const id = changed.find((p) => p[0] === 'blocks' && p[1])?.[1];
    if (id && store.find(id)) selected.value = id;
    focusRow(focusLost);
  };
  const undoOrRedo = (direction: 'undo' | 'redo') => selectChanged(store[direction]());
  const offerUndo = (text: string) => {
    const undoEdit = store.undoLater();
    showToast(text, () => selectChanged(undoEdit()));
  };
  const reportRemoved: OnRemoved = (name, kind, uses) => offerUndo(t('editor.removed', { name }) + (uses ? ' ' + t('editor.logic_uses_' + kind, { n: uses }) : ''));

  const general = store.errors.value.filter((f) => isGeneral(store, f));
  /** Lists the violations, or leads to a field with invalid text, which shows its error itself. */
  const explain = () => {
    if (store.errors.value.length > 0) return void (openDialog.value = 'problems');
    pane.value = 'panel';
    requestAnimationFrame(() => document.querySelector<HTMLElement>('#panel [aria-invalid=true]')?.focus());
  };

  const handleKey = (e: KeyboardEvent) => {
    const element = e.target as HTMLElement;
    if (e.defaultPrevented || element.closest('dialog')) return;
    const typing = isTyping(element);
    const isTyped = typedField.current === element; // use the browser's own undo for typed text
    const command = e.ctrlKey || e.metaKey;
    if (command && e.key.toLowerCase() === 'z' && !isTyped) undoOrRedo(e.shiftKey ? 'redo' : 'undo');
    else if (command && e.key.toLowerCase() === 'y' && !isTyped) undoOrRedo('redo');
    else if (command && e.key.toLowerCase() === 's') void store.flush();
    else if (e.key === 'Enter' && !command && !e.shiftKey && !e.isComposing && typing && element.closest('#panel [data-path="/label"]')) addNext(selected.value, false);
    else if (e.key === 'F6') focusNextPane(e.shiftKey ? -1 : 1, pane);
    else if (e.key === '?' && !typing) openDialog.value = 'keys';
    else if (e.key === '/' && !typing && !readOnly && !command) actions.add(selected.value || undefined);
    else if (e.key === 'Escape' && !element.closest('[role=menu]') && selected.value && (element.closest('#panel') || element.ownerDocument !== document)) {
      element.blur();
      pane.value = 'outline';
      focusRow();
    } else return;
    e.preventDefault();
  };
  // The field that the user is typing in. It has changed since it got the focus.
  const typedField = useRef<EventTarget | null>(null);
  const handleEvent = (e: Event) => {
    if (e.type === 'keydown') handleKey(e as KeyboardEvent);
    else if (['copy', 'cut', 'paste'].includes(e.type)) handleClipboard(e as ClipboardEvent);
    else if (e.type === 'focusout') void store.flush();
    else typedField.current = e.type === 'input' && (e.target as HTMLElement).matches('textarea, [contenteditable], input:not([type=checkbox], [type=radio], [type=color], [type=file], [type=range])') ? e.target : null;
  };
  for (const type of ['input', 'focusin', 'copy', 'cut', 'paste'] as const) useDocumentEvent(type, handleEvent);
  useDocumentEvent('keydown', handleEvent); // works wherever the focus is, even before anything was focused

  const content = store.shown.value;
  const summary = store.form.value as (FormSummary & { id: string }) | null;
  const formState = { form, status: summary?.status ?? 'draft', isClosed: summary?.is_closed ?? false, unpublished: unpublished.value } as const;
  const dialog = openDialog.value;
  const block = selected.value ? store.find(selected.value)?.block : undefined;
  const saveAll = async () => {
    await store.flush();
    return store.status.value === 'saved' && invalidFields.value === 0;
  };

  return (
    <Frame
      form={!content && store.status.value === 'gone' ? undefined : form}
      workspace={summary?.workspace_id}
      title={content?.name ?? ''}
      fill
      actions={
        content && (
          <>
            <SaveStatus status={status === 'saved' && invalidFields.value > 0 ? 'refused' : status} errors={store.errors.value.length + invalidFields.value} onRetry={() => void store.retry()} onExplain={explain} />
            {can('forms:write') && <IconButton icon="undo-2" label={t('app.undo')} disabled={!store.canUndo.value || readOnly} onClick={() => undoOrRedo('undo')} />}
            {can('forms:write') && <IconButton icon="redo-2" label={t('editor.redo')} disabled={!store.canRedo.value || readOnly} onClick={() => undoOrRedo('redo')} />}
            <IconButton icon="keyboard" label={t('editor.shortcuts')} class="wide-only" onClick={() => (openDialog.value = 'keys')} />
            {summary && <span class="wide-only"><StatusBadge form={summary} unpublished={unpublished.value} compact /></span>}
            <ShareButton {...formState} />
            {can('forms:write') && <PublishButton {...formState} beforePublish={saveAll} problems={<Problems store={store} />} onPublished={() => void store.refresh()} />}
          </>
        )
      }
    >
      {!content && store.status.value === 'loading' && <Loading />}
      {!content && store.status.value === 'gone' && <Empty icon="file" title={t('app.not_found')} />}
      {!content && ['offline', 'unsaved'].includes(store.status.value) && <ErrorNotice error={undefined} retry={() => void store.retry()} />}
      {content && general.length > 0 && <div class="notice bad editor-notice" role="alert"><Icon name="circle-alert" /> <Problems store={store} of={general} /></div>}
      {content && (
        <div class={`editor show-${pane.value}`}>
          <section class="pane pane-outline" aria-label={t('editor.pane_outline')} id="outline">
            {can('forms:write') && <div class="pane-head">
              <Button kind="primary" icon="plus" disabled={readOnly} onClick={() => actions.add(selected.value || undefined)}>{t('editor.add')}</Button>
              <div class="often" role="group" aria-label={t('editor.add_common')}>
                {commonTypes.filter((type) => offers('block_types', type)).map((type) => (
                  <IconButton key={type} icon={iconOf(type)} label={t('editor.add_this', { type: typeName(type) })} disabled={readOnly} onClick={() => add(type, positionFor(type, selected.value || undefined))} />
                ))}
              </div>
            </div>}
            {locatedWarnings.value.filter((w) => w.path.join() === 'blocks').map((w) => (
              <p key={w.code} class="notice" role="status"><Icon name="triangle-alert" /> <span>{w.message}</span></p>
            ))}
            {content.blocks.length === 0 && !readOnly && <p class="muted pane-note">{t('editor.empty_outline')}</p>}
            <Outline blocks={blocks.value} selected={selected} errors={blockErrors.value} warnings={warnings.value} readOnly={readOnly} actions={actions} />
          </section>
          <section class="pane pane-canvas" aria-label={t('editor.pane_canvas')} id="canvas">
            <Canvas form={form} content={store.shown} selected={selected} onChoose={select} onPreview={() => void openPreview(form, saveAll)} errors={store.errors}
              editable={!readOnly} editLabel={editLabel} onEvent={handleEvent} onEnter={(id) => addNext(id, true)} onAdd={(after) => (openDialog.value = { add: after, onCanvas: true })}
              onText={(id, field, text) => isFixed({ ...store.find(id)!.block, children: [] }) || store.set(['blocks', id, field], text || undefined)}
            />
          </section>
          <section class="pane pane-panel" aria-label={t('editor.pane_panel')} id="panel" tabIndex={-1}>
            <Conflicts store={store} />
            <PropertiesPanel
              form={form}
              store={store}
              block={block}
              tab={tab}
              warnings={locatedWarnings.value}
              readOnly={readOnly}
              onRemoved={reportRemoved}
              onChooseLogic={editLogic}
              onChanged={offerUndo}
            />
          </section>
          <div class="pane-switch" role="group" aria-label={t('editor.sections')}>
            {(['outline', 'canvas', 'panel'] as const).map((p) => (
              <Button key={p} kind="quiet" icon={{ outline: 'list', canvas: 'eye', panel: 'settings' }[p] as 'list'} aria-pressed={pane.value === p} onClick={() => (pane.value = p)}>
                {t('editor.pane_' + p)}
              </Button>
            ))}
          </div>
        </div>
      )}
      {typeof dialog === 'object' && 'add' in dialog && <AddMenu title={t('editor.add')} onChoose={(type) => add(type, positionFor(type, dialog.add), dialog.onCanvas)} onClose={() => (openDialog.value = '')} />}
      {typeof dialog === 'object' && 'move' in dialog && <MoveDialog blocks={blocks.value} id={dialog.move} onChoose={(to) => (store.move(dialog.move, to), (openDialog.value = ''), focusRow())} onClose={() => (openDialog.value = '')} />}
      {dialog === 'problems' && (
        <Dialog title={t('editor.status_refused', { n: store.errors.value.length })} onClose={() => (openDialog.value = '')}>
          <Problems store={store} onChoose={(id) => ((openDialog.value = ''), edit(id))} />
        </Dialog>
      )}
      {dialog === 'keys' && (
        <Dialog title={t('editor.shortcuts')} onClose={() => (openDialog.value = '')}>
          <Shortcuts />
        </Dialog>
      )}
    </Frame>
  );
}

/** Reports whether keys change an element's value. */
const isTyping = (e: Element): boolean => e.matches('input:not([type=checkbox], [type=radio]), textarea, select') || e.closest('[contenteditable=true]') !== null;

/** Uses the clipboard from a menu. Browsers can refuse it, but they always allow the keyboard shortcuts. */
const useClipboard = async (use: (clipboard: Clipboard) => Promise<unknown>) => {
  try {
    await use(navigator.clipboard);
  } catch {
    showToast(t('editor.clipboard_refused'));
  }
};

/** Returns the first control for editing a block: its text if possible. */
const firstControl = (): HTMLElement | undefined =>
  [...document.querySelectorAll<HTMLElement>('#panel-body :is(textarea, input:not([type=checkbox]), [contenteditable=true]), #panel-body select')]
    .sort((a, b) => Number(a.matches('select')) - Number(b.matches('select')))
    .find((e) => e.checkVisibility());

const firstEnding = (blocks: readonly Block[]): number => {
  const at = blocks.findIndex((b) => b.type === 'ending');
  return at < 0 ? blocks.length : at;
};

/** Joins the messages about each block. */
function messagesByBlock(warnings: readonly Violation[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const { path: [first, id], message } of warnings) {
    if (first === 'blocks' && id) found.set(id, found.has(id) ? found.get(id) + ' ' + message : message);
  }
  return found;
}

function focusNextPane(by: -1 | 1, pane: { value: Pane }): void {
  const panes: Pane[] = ['outline', 'canvas', 'panel'];
  const here = panes.findIndex((p) => document.getElementById(p)?.contains(document.activeElement));
  const next = panes[(here + by + panes.length) % panes.length]!;
  pane.value = next;
  requestAnimationFrame(() => document.querySelector<HTMLElement>(`#${next} :is(.outline [tabindex="0"], button:not([disabled]), input, textarea, select, [contenteditable=true])`)?.focus());
}
