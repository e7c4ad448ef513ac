import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { type Detail, builderApi, request } from '../app/api';
import { config } from '../app/config';
import { Frame } from '../app/Frame';
import type { Block, FormSummary } from '../app/records';
import { StatusBadge } from '../app/StatusBadge';
import { t } from '../app/words';
import { invalidFields } from '../props/DraftField';
import { newBlock } from '../props/model';
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
import { pathOf, type Path } from './content';
import { MoveDialog } from './MoveTo';
import { browserStorage } from './drafts';
import { type Actions, Outline } from './Outline';
import { PropertiesPanel, type OnRemoved } from './PropertiesPanel';
import { blockLabel } from './positions';
import { PublishButton } from './Publish';
import { SaveStatus } from './SaveStatus';
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
  const openDialog = useSignal<'' | 'keys' | { add: string | undefined } | { move: string }>('');
  const serviceWarnings = useSignal<readonly Detail[]>([]);
  const unpublished = useSignal<boolean | undefined>(undefined); // undefined until the first response

  useEffect(() => {
    void store.open();
    const stopListening = store.observe(window);
    return () => (stopListening(), dismissUndo(), void store.close());
  }, [store]);

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
  const readOnly = store.status.value === 'read-only' || store.status.value === 'gone';

  const edit = (id: string) => {
    selected.value = id;
    tab.value = 'block';
    pane.value = 'panel';
    requestAnimationFrame(() => firstControl()?.focus());
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
  const add = (type: string, after: string | undefined) => {
    const id = store.newId();
    const node = after === undefined ? undefined : store.find(after);
    const siblings = (node?.parent ? store.find(node.parent)?.block.children : blocks.value) ?? [];
    // Blocks after an ending are never shown, so new blocks go before the endings.
    const index = node ? siblings.findIndex((b) => b.id === after) + 1 : type === 'ending' ? siblings.length : firstEnding(siblings);
    store.add(newBlock(type, id) as Block, { parent: node?.parent || undefined, index: type === 'welcome' && !node ? 0 : index });
    openDialog.value = '';
    edit(id);
  };
  const actions: Actions = {
    add: (after) => (openDialog.value = { add: after }),
    edit,
    select,
    move: (id, to) => store.move(id, to),
    moveTo: (id) => (openDialog.value = { move: id }),
    duplicate: (id) => edit(store.duplicate(id)),
    remove: (id) => {
      const block = store.find(id)?.block;
      if (!block) return;
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

  const handleKey = (e: KeyboardEvent) => {
    const element = e.target as HTMLElement;
    if (e.defaultPrevented || element.closest('dialog')) return;
    const typing = element.matches('input:not([type=checkbox]):not([type=radio]), textarea, select');
    const isTyped = typedField.current === element; // use the browser's own undo for typed text
    const command = e.ctrlKey || e.metaKey;
    if (command && e.key.toLowerCase() === 'z' && !isTyped) undoOrRedo(e.shiftKey ? 'redo' : 'undo');
    else if (command && e.key.toLowerCase() === 'y' && !isTyped) undoOrRedo('redo');
    else if (command && e.key.toLowerCase() === 's') void store.flush();
    else if (e.key === 'F6') focusNextPane(e.shiftKey ? -1 : 1, pane);
    else if (e.key === '?' && !typing) openDialog.value = 'keys';
    else if (e.key === '/' && !typing && !readOnly && !command) actions.add(selected.value || undefined);
    else if (e.key === 'Escape' && !element.closest('[role=menu]') && selected.value && element.closest('#panel')) {
      pane.value = 'outline';
      focusRow();
    } else return;
    e.preventDefault();
  };
  // The field that the user is typing in. It has changed since it got the focus.
  const typedField = useRef<EventTarget | null>(null);
  useDocumentEvent('input', (e) => (typedField.current = (e.target as Element).matches('textarea, input:not([type=checkbox], [type=radio], [type=color], [type=file], [type=range])') ? e.target : null));
  useDocumentEvent('focusin', () => (typedField.current = null));
  useDocumentEvent('keydown', handleKey); // works wherever the focus is, even before anything was focused

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
      form={form}
      workspace={summary?.workspace_id}
      title={content?.name ?? ''}
      fill
      actions={
        content && (
          <>
            <SaveStatus status={store.status.value === 'saved' && invalidFields.value > 0 ? 'refused' : store.status.value} errors={store.errors.value.length + invalidFields.value} onRetry={() => void store.retry()} />
            <IconButton icon="undo-2" label={t('app.undo')} disabled={!store.canUndo.value || readOnly} onClick={() => undoOrRedo('undo')} />
            <IconButton icon="redo-2" label={t('editor.redo')} disabled={!store.canRedo.value || readOnly} onClick={() => undoOrRedo('redo')} />
            <IconButton icon="keyboard" label={t('editor.shortcuts')} class="wide-only" onClick={() => (openDialog.value = 'keys')} />
            {summary && <span class="wide-only"><StatusBadge form={summary} unpublished={unpublished.value} compact /></span>}
            <ShareButton {...formState} />
            <PublishButton {...formState} beforePublish={saveAll} onPublished={() => void store.refresh()} />
          </>
        )
      }
    >
      {!content && store.status.value === 'loading' && <Loading />}
      {!content && store.status.value === 'gone' && <Empty icon="file" title={t('app.not_found')} />}
      {!content && ['offline', 'unsaved'].includes(store.status.value) && <ErrorNotice error={undefined} retry={() => void store.retry()} />}
      {content && (
        <div class={`editor show-${pane.value}`}>
          <section class="pane pane-outline" aria-label={t('editor.pane_outline')} id="outline">
            <div class="pane-head">
              <Button kind="primary" icon="plus" disabled={readOnly} onClick={() => actions.add(selected.value || undefined)}>{t('editor.add')}</Button>
              <div class="often" role="group" aria-label={t('editor.add_common')}>
                {commonTypes.map((type) => (
                  <IconButton key={type} icon={iconOf(type)} label={t('editor.add_this', { type: typeName(type) })} disabled={readOnly} onClick={() => add(type, selected.value || undefined)} />
                ))}
              </div>
            </div>
            {locatedWarnings.value.filter((w) => w.path.join() === 'blocks').map((w) => (
              <p key={w.code} class="notice" role="status"><Icon name="triangle-alert" /> <span>{w.message}</span></p>
            ))}
            {content.blocks.length === 0 && <p class="muted pane-note">{t('editor.empty_outline')}</p>}
            <Outline blocks={blocks.value} selected={selected} errors={blockErrors.value} warnings={warnings.value} readOnly={readOnly} actions={actions} />
          </section>
          <section class="pane pane-canvas" aria-label={t('editor.pane_canvas')} id="canvas">
            <Canvas form={form} content={store.shown} selected={selected} onChoose={select} onPreview={() => void openPreview(form, saveAll)} errors={store.errors} onAdd={() => actions.add(undefined)} />
          </section>
          <section class="pane pane-panel" aria-label={t('editor.pane_panel')} id="panel" tabIndex={-1}>
            <Conflicts store={store} />
            <PropertiesPanel
              store={store}
              block={block}
              tab={tab}
              warnings={locatedWarnings.value}
              readOnly={readOnly}
              onRemoved={reportRemoved}
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
      {typeof dialog === 'object' && 'add' in dialog && <AddMenu title={t('editor.add')} onChoose={(type) => add(type, dialog.add)} onClose={() => (openDialog.value = '')} />}
      {typeof dialog === 'object' && 'move' in dialog && <MoveDialog blocks={blocks.value} id={dialog.move} onChoose={(to) => (store.move(dialog.move, to), (openDialog.value = ''), focusRow())} onClose={() => (openDialog.value = '')} />}
      {dialog === 'keys' && (
        <Dialog title={t('editor.shortcuts')} onClose={() => (openDialog.value = '')}>
          <Shortcuts />
        </Dialog>
      )}
    </Frame>
  );
}

/** Returns the first control for editing a block: its text if possible. */
const firstControl = (): HTMLElement | undefined =>
  [...document.querySelectorAll<HTMLElement>('#panel-body :is(textarea, input:not([type=checkbox])), #panel-body select')]
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
  requestAnimationFrame(() => document.querySelector<HTMLElement>(`#${next} :is(.outline [tabindex="0"], button:not([disabled]), input, textarea, select)`)?.focus());
}
