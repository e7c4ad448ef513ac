import { type Signal, useSignal } from '@preact/signals';
import type { Detail } from '../app/api';
import { downloadForm } from '../app/download';
import type { Block, Json } from '../app/records';
import { config, offers } from '../app/config';
import { t } from '../app/words';
import { BlockProperties } from '../props/BlockProperties';
import { FormSettings } from '../props/FormSettings';
import { ThemeEditor } from '../props/ThemeEditor';
import { VariablesEditor } from '../props/VariablesEditor';
import { countUsers } from '../rules/references';
import { retype, type RetypeResult } from '../rules/retype';
import { LogicView } from '../rules/LogicView';
import { RuleEditor } from '../rules/RuleEditor';
import { Button } from '../ui/Button';
import { Select, TextField } from '../ui/Field';
import { patchBlock, renameField } from './edits';
import { typeName } from './blockTypes';
import { get, pointerTo } from './content';
import { isWithin, type Violation } from './operations';
import { blockLabel } from './positions';
import type { EditorStore } from './store';
import { rememberChoice } from './warnings';

/** Called after an item was removed. uses is the number of rules that refer to it. */
export type OnRemoved = (name: string, kind: 'block' | 'choice' | 'field', uses: number) => void;

const tabs = ['block', 'logic', 'form', 'design', 'data'] as const;

interface Props {
  form: string;
  store: EditorStore;
  block: Block | undefined;
  tab: Signal<string>;
  warnings: readonly Violation[];
  readOnly: boolean;
  onRemoved: OnRemoved;
  /** Opens the logic of a block. */
  onChooseLogic(id: string): void;
  /** Reports a side effect of an edit, with an undo button. */
  onChanged(text: string): void;
}

/** Properties that, like the block type, determine the kind of answer. */
const answerProperties = ['multiSelection', 'showSeconds', 'showTimePicker', 'otherOption'];

/** The properties panel, for the selected block and for the form as a whole. */
export function PropertiesPanel({ form, store, block, tab, warnings, readOnly, onRemoved, onChooseLogic, onChanged }: Props) {
  const content = store.shown.value!;
  const errors = store.errors.value;
  const nameWarning = warnings.find((w) => w.path[0] === 'name')?.message;
  /** Returns the details for a value in the content, with JSON Pointers into that value. */
  const detailsWithin = (list: readonly Violation[], ...place: string[]): Detail[] =>
    list.filter((f) => isWithin(f.path, place)).map((f) => ({ ...f, path: pointerTo(get(content, place), f.path.slice(place.length)) }));

  // Rules that read a block whose type has changed, and that could not be converted. A warning is shown until the
  // rule or the type changes.
  const outdatedRules = useSignal<readonly { rule: unknown; source: string; type: string }[]>([]);
  const edit = (of: Block, patch: Partial<Record<keyof Block, unknown>>): void => {
    if (!('type' in patch) && !answerProperties.some((name) => name in ((patch.properties ?? {}) as object))) return store.patch(of.id, patch);
    let result: RetypeResult | undefined;
    store.apply((c) => {
      const patched = patchBlock(c, of.id, patch);
      result = retype(c as never, patched as never, of.id);
      return result.blocks === patched.blocks ? patched : { ...patched, blocks: result.blocks };
    });
    const { changed = [], outdated = [] } = result ?? {};
    const type = store.find(of.id)?.block.type ?? '';
    outdatedRules.value = outdated.map((id) => ({ rule: store.find(id)?.block.properties?.rule, source: of.id, type }));
    const messages = [...(changed.length ? [t('editor.logic_updated', { n: changed.length })] : []), ...(outdated.length ? [t('editor.logic_outdated', { n: outdated.length })] : [])];
    if (messages.length > 0) onChanged(messages.join(' '));
  };
  const rule = block?.properties?.rule;
  const ruleWarnings = [
    ...(block ? detailsWithin(warnings, 'blocks', block.id, 'properties', 'rule') : []),
    ...outdatedRules.value.flatMap((u) => {
      const source = u.rule === rule ? store.find(u.source)?.block : undefined;
      return source?.type === u.type ? [{ path: '', code: '', message: t('editor.logic_type_changed', { name: blockLabel(source, typeName) }) }] : [];
    }),
  ];

  const isFixed = (tab.value === 'block' && block && !offers('block_types', block.type)) || (tab.value === 'design' && config.offer?.no_theme);

  const handleTabKey = (e: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (step === undefined) return;
    tab.value = tabs[(tabs.indexOf(tab.value as 'block') + step + tabs.length) % tabs.length]!;
    e.preventDefault();
    requestAnimationFrame(() => document.getElementById('tab-' + tab.value)?.focus());
  };

  return (
    <>
      <div class="panel-tabs" role="tablist" aria-label={t('editor.tabs')} onKeyDown={handleTabKey}>
        {tabs.map((name) => (
          <button key={name} id={'tab-' + name} type="button" role="tab" aria-selected={tab.value === name} aria-controls="panel-body" tabIndex={tab.value === name ? 0 : -1} onClick={() => (tab.value = name)}>
            {t('editor.tab_' + name)}
          </button>
        ))}
      </div>
      <div id="panel-body" role="tabpanel" aria-labelledby={'tab-' + tab.value} onBlurCapture={() => void store.flush()}>
        <fieldset class="panel-body" disabled={readOnly || isFixed}>
          <h2 class="unseen">{t('editor.tab_' + tab.value)}</h2>
          {isFixed && <p class="notice">{t('props.not_offered')}</p>}
          {tab.value === 'block' && !block && <p class="muted">{t(readOnly ? 'editor.select_block_to_view' : 'editor.select_block')}</p>}
          {tab.value === 'block' && block && (
            <BlockProperties
              key={block.id}
              block={block as never}
              onPatch={(patch) => edit(block, patch)}
              errors={detailsWithin(errors, 'blocks', block.id)}
              warnings={detailsWithin(warnings, 'blocks', block.id)}
              onRemoved={(label, choice, list) => {
                if (choice === undefined) return onRemoved(label, 'choice', 0);
                rememberChoice(block.id, choice, label);
                onRemoved(label, 'choice', countUsers(content as never, { kind: list === 'matrix_rows' ? 'row' : 'choice', block: block.id, id: choice }));
              }}
              rules={
                <details id="logic" class="props-section" open={rule !== undefined}>
                  <summary>{t('editor.logic')}</summary>
                  <RuleEditor
                    form={form}
                    content={content as never}
                    block={block.id}
                    value={rule as Json | undefined}
                    errors={detailsWithin(errors, 'blocks', block.id, 'properties', 'rule')}
                    warnings={ruleWarnings}
                    onChange={(rule) => store.set(['blocks', block.id, 'properties', 'rule'], rule)}
                  />
                </details>
              }
            />
          )}
          {tab.value === 'logic' && <LogicView content={content as never} onChoose={onChooseLogic} />}
          {tab.value === 'form' && (
            <>
              <TextField label={t('editor.name')} value={content.name} maxLength={200} hint={nameWarning && <span class="props-note">{nameWarning}</span>} error={errors.find((f) => f.path[0] === 'name')?.message} onInput={(name) => store.set(['name'], name)} />
              <Select
                label={t('forms.layout')}
                hint={t(`forms.layout_${content.type}_text`)}
                value={content.type}
                options={(['MULTI', 'SINGLE'] as const).map((type) => [type, t('forms.layout_' + type)] as const)}
                onChange={(type) => store.set(['type'], type)}
              />
              <FormSettings settings={content.settings} blocks={content.blocks as never} onPatch={(patch) => store.patchSection('settings', patch)} errors={detailsWithin(errors, 'settings')} warnings={detailsWithin(warnings, 'settings')} />
            </>
          )}
          {tab.value === 'design' && (
            <ThemeEditor theme={content.theme} settings={content.settings} onPatch={(patch) => store.patchSection('theme', patch)} errors={detailsWithin(errors, 'theme')} />
          )}
          {tab.value === 'data' && (
            <VariablesEditor
              variables={content.variables}
              hiddenFields={content.hidden_fields}
              blocks={content.blocks as never}
              onPatch={(patch) => {
                if (patch.variables) store.patchSection('variables', patch.variables);
                if (patch.hidden_fields) store.set(['hidden_fields'], patch.hidden_fields);
              }}
              onRename={(kind, from, to) => store.apply((c) => renameField(c, kind, from, to))}
              errors={detailsWithin(errors)}
              onRemoved={(name) => onRemoved(name, 'field', countUsers(content as never, { kind: Object.hasOwn(content.variables, name) ? 'variable' : 'hidden', id: name }))}
            />
          )}
        </fieldset>
        {tab.value === 'form' && <Button icon="download" class="panel-download" onClick={() => { const { name, type, ...definition } = content; downloadForm({ name, type, definition }); }}>{t('forms.download')}</Button>}
      </div>
    </>
  );
}
