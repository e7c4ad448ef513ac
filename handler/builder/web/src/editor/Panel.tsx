import { type Signal, useSignal } from '@preact/signals';
import type { Detail } from '../app/api';
import type { Block, Json } from '../app/records';
import { t } from '../app/words';
import { BlockProperties } from '../props/BlockProperties';
import { FormSettings } from '../props/FormSettings';
import { ThemeEditor } from '../props/ThemeEditor';
import { VariablesEditor } from '../props/VariablesEditor';
import { users } from '../rules/references';
import { retype, type Retyped } from '../rules/retype';
import { RuleEditor } from '../rules/RuleEditor';
import { Select, TextField } from '../ui/Field';
import { patchBlock, renameField } from './edits';
import { typeName } from './kinds';
import type { Fault } from './operations';
import { nameOf } from './places';
import type { EditorStore } from './store';
import { rememberChoice } from './warnings';

/** Something was removed that so many rules use. */
export type Removed = (name: string, kind: 'block' | 'choice' | 'field', uses: number) => void;

const tabs = ['block', 'form', 'design', 'data'] as const;

interface Props {
  store: EditorStore;
  block: Block | undefined;
  tab: Signal<string>;
  /** Of the service, by JSON Pointer into the block, and into the settings. */
  notes: readonly Detail[];
  settingsNotes: readonly Detail[];
  nameNote: string | undefined;
  readOnly: boolean;
  onRemoved: Removed;
  /** Says what an edit did beside what was asked for, with a way back. */
  onChanged(text: string): void;
}

/** Properties that make another kind of answer of a block, as its type does. */
const kinds = ['multiSelection', 'showSeconds', 'showTimePicker', 'otherOption'];

/** What is selected, and what the whole form has beside its blocks. */
export function Panel({ store, block, tab, notes, settingsNotes, nameNote, readOnly, onRemoved, onChanged }: Props) {
  const content = store.shown.value!;
  const faults = store.faults.value;
  const of = (section: string): Detail[] => faults.filter((f) => f.path[0] === section).map((f) => detail(f, f.path.slice(1), content[section as 'settings']));

  // Rules whose conditions have no equal for the new type of the block that they read, as long as both stay as they are.
  const unfit = useSignal<readonly { rule: unknown; source: string; type: string }[]>([]);
  const edit = (of: Block, patch: Partial<Record<keyof Block, unknown>>): void => {
    if (!('type' in patch) && !kinds.some((name) => name in ((patch.properties ?? {}) as object))) return store.patch(of.id, patch);
    let made: Retyped | undefined;
    store.apply((c) => {
      const patched = patchBlock(c, of.id, patch);
      made = retype(c as never, patched as never, of.id);
      return made.blocks === patched.blocks ? patched : { ...patched, blocks: made.blocks };
    });
    const { changed = [], left = [] } = made ?? {};
    const type = store.find(of.id)?.block.type ?? '';
    unfit.value = left.map((id) => ({ rule: store.find(id)?.block.properties?.rule, source: of.id, type }));
    const said = [...(changed.length ? [t('editor.rules_adapted', { n: changed.length })] : []), ...(left.length ? [t('editor.rules_left', { n: left.length })] : [])];
    if (said.length > 0) onChanged(said.join(' '));
  };
  const rule = block?.properties?.rule;
  const inRule = '/properties/rule';
  const ruleNotes = [
    ...notes.filter((n) => n.path.startsWith(inRule)).map((n) => ({ ...n, path: n.path.slice(inRule.length) })),
    ...unfit.value.flatMap((u) => {
      const source = u.rule === rule ? store.find(u.source)?.block : undefined;
      return source?.type === u.type ? [{ path: '', code: '', message: t('editor.rule_unfit', { name: nameOf(source, typeName) }) }] : [];
    }),
  ];

  const arrows = (e: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (by === undefined) return;
    tab.value = tabs[(tabs.indexOf(tab.value as 'block') + by + tabs.length) % tabs.length]!;
    e.preventDefault();
    requestAnimationFrame(() => document.getElementById('tab-' + tab.value)?.focus());
  };

  return (
    <>
      <div class="panel-tabs" role="tablist" aria-label={t('editor.tabs')} onKeyDown={arrows}>
        {tabs.map((name) => (
          <button key={name} id={'tab-' + name} type="button" role="tab" aria-selected={tab.value === name} aria-controls="panel-body" tabIndex={tab.value === name ? 0 : -1} onClick={() => (tab.value = name)}>
            {t('editor.tab_' + name)}
          </button>
        ))}
      </div>
      <div id="panel-body" role="tabpanel" aria-labelledby={'tab-' + tab.value} onBlurCapture={() => void store.flush()}>
        <fieldset class="panel-body" disabled={readOnly}>
          <h2 class="unseen">{t('editor.tab_' + tab.value)}</h2>
          {tab.value === 'block' && !block && <p class="muted">{t('editor.nothing')}</p>}
          {tab.value === 'block' && block && (
            <BlockProperties
              key={block.id}
              block={block as never}
              onPatch={(patch) => edit(block, patch)}
              faults={faults.filter((f) => f.path[0] === 'blocks' && f.path[1] === block.id).map((f) => detail(f, f.path.slice(2), block))}
              notes={notes}
              onRemoved={(label, choice, list) => {
                if (choice === undefined) return onRemoved(label, 'choice', 0);
                rememberChoice(block.id, choice, label);
                onRemoved(label, 'choice', users(content as never, { kind: list === 'matrix_rows' ? 'row' : 'choice', block: block.id, id: choice }));
              }}
              rules={
                <details class="props-section" open={rule !== undefined}>
                  <summary>{t('editor.logic')}</summary>
                  <RuleEditor
                    content={content as never}
                    block={block.id}
                    value={rule as Json | undefined}
                    notes={ruleNotes}
                    onChange={(rule) => store.set(['blocks', block.id, 'properties', 'rule'], rule)}
                  />
                </details>
              }
            />
          )}
          {tab.value === 'form' && (
            <>
              <TextField label={t('editor.name')} value={content.name} maxLength={200} hint={nameNote && <span class="props-note">{nameNote}</span>} fault={faults.find((f) => f.path[0] === 'name')?.message} onInput={(name) => store.rename(name)} />
              <Select
                label={t('forms.type')}
                hint={t(`forms.type_${content.type}_text`)}
                value={content.type}
                options={(['MULTI', 'SINGLE'] as const).map((type) => [type, t('forms.type_' + type)] as const)}
                onChange={(type) => store.set(['type'], type)}
              />
              <FormSettings settings={content.settings} blocks={content.blocks as never} onPatch={(patch) => store.patchSection('settings', patch)} faults={of('settings')} notes={settingsNotes} />
            </>
          )}
          {tab.value === 'design' && (
            <ThemeEditor theme={content.theme} settings={content.settings} onPatch={(patch) => store.patchSection('theme', patch)} faults={of('theme')} />
          )}
          {tab.value === 'data' && (
            <VariablesEditor
              variables={content.variables}
              hiddenFields={content.hidden_fields}
              blocks={content.blocks as never}
              onPatch={(patch) => {
                if (patch.variables) store.patchSection('variables', patch.variables);
                if (patch.hidden_fields) store.setHiddenFields(patch.hidden_fields);
              }}
              onRename={(kind, from, to) => store.apply((c) => renameField(c, kind, from, to))}
              faults={faults.filter((f) => f.path[0] === 'variables' || f.path[0] === 'hidden_fields').map((f) => detail(f, f.path, content))}
              onRemoved={(name) => onRemoved(name, 'field', users(content as never, { kind: Object.hasOwn(content.variables, name) ? 'variable' : 'hidden', id: name }))}
            />
          )}
        </fieldset>
      </div>
    </>
  );
}

/** A fault with a JSON Pointer into a value: items that the path names by id have their index there. */
function detail(fault: Fault, path: readonly string[], value: unknown): Detail {
  let pointer = '';
  for (const name of path) {
    const index: number = Array.isArray(value) ? value.findIndex((item: { id?: string }) => item?.id === name) : -1;
    const key = index >= 0 ? String(index) : name;
    pointer += '/' + key.replaceAll('~', '~0').replaceAll('/', '~1');
    value = (value as Record<string, unknown> | undefined)?.[key];
  }
  return { path: pointer, code: fault.code, message: fault.message };
}
