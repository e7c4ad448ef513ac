import { useRef, useState } from 'preact/hooks';
import type { Detail } from '../app/api';
import { t } from '../app/words';
import { Button, IconButton } from '../ui/Button';
import { Select, TextField } from '../ui/Field';
import { DraftField, plainText } from './DraftField';
import type { Obj } from '../app/json';
import { allBlocks, type Block } from '../app/records';
import { ValueError, parseNumber, formatNumberInput } from './values';

interface Props {
  variables: Obj;
  hiddenFields: readonly string[];
  /** The form's blocks. Their ids cannot be used as names of hidden fields. */
  blocks: readonly Block[];
  /** Receives a merge patch for {variables, hidden_fields}. */
  onPatch(patch: { variables?: Obj; hidden_fields?: string[] }): void;
  /** Renames a variable or hidden field, including in rules. */
  onRename(kind: 'variables' | 'hidden', from: string, to: string): void;
  /** Errors, with JSON Pointers into the definition. */
  errors?: readonly Detail[];
  onRemoved?(label: string): void;
}

/** Edits a form's variables and hidden fields. */
export function VariablesEditor({ variables, hiddenFields, blocks, onPatch, onRename, errors = [], onRemoved }: Props) {
  const ids = allBlocks(blocks).map((b) => b.id);
  const errorAt = (pointer: string): string | undefined => errors.filter((d) => d.path === pointer).map((d) => d.message).join(' ') || undefined;
  /** Returns a function that trims and validates a name. */
  const checkName = (others: readonly string[], reserved: readonly string[]) => (text: string): string | ValueError => {
    const name = text.trim();
    if (name === '') return new ValueError(t('props.error_name'));
    if ([...name].length > 200) return new ValueError(t('props.error_too_long'));
    if (others.includes(name)) return new ValueError(t('props.error_name_used'));
    return reserved.includes(name) ? new ValueError(t('props.error_block_id')) : name;
  };
  // A renamed variable keeps its line and the focus.
  const lineKeys = useRef(new Map<string, number>()).current;
  const lastKey = useRef(0);
  for (const name of Object.keys(variables)) if (!lineKeys.has(name)) lineKeys.set(name, ++lastKey.current);
  const names = Object.keys(variables).sort((a, b) => lineKeys.get(a)! - lineKeys.get(b)!);
  const rename = (from: string, to: string | undefined): void => {
    if (to === undefined || to === from) return;
    lineKeys.set(to, lineKeys.get(from)!).set(from, ++lastKey.current);
    onRename('variables', from, to);
  };
  return (
    <div class="props">
      <fieldset class="props-set" data-path="/variables">
        <legend>{t('props.variables')}</legend>
        <p class="hint">{t('props.variables_hint')}</p>
        <ul class="props-rows">
          {names.map((name) => {
            const value = variables[name];
            const isNumber = typeof value === 'number';
            const set = (v: unknown): void => onPatch({ variables: { [name]: v } });
            const shared = { at: `variables.${name}`, label: t('props.variable_value', { name }), hideLabel: true, error: errorAt('/variables/' + name.replaceAll('~', '~0').replaceAll('/', '~1')) };
            return (
              <li key={lineKeys.get(name)}>
                <DraftField at={`variables:${name}`} label={t('props.variable_name')} hideLabel value={name} format={plainText.format} parse={(s) => (s.trim() === name ? name : checkName(names, [])(s))} set={(to) => rename(name, to)} lazy />
                <Select label={t('props.variable_type', { name })} hideLabel value={isNumber ? 'number' : 'text'} options={[['number', t('props.variable_type_number')], ['text', t('props.variable_type_text')]]} onChange={(kind) => set(kind === 'number' ? Number(value) || 0 : String(value))} />
                {isNumber
                  ? <DraftField {...shared} decimal value={value} format={formatNumberInput} parse={(s) => parseNumber(s) ?? new ValueError(t('props.error_number'))} set={set} />
                  : <DraftField {...shared} value={typeof value === 'string' ? value : ''} format={plainText.format} parse={(s) => s} set={set} />}
                <IconButton icon="x" label={t('props.remove_this', { label: name })} onClick={() => (onPatch({ variables: { [name]: null } }), onRemoved?.(name))} />
              </li>
            );
          })}
        </ul>
        <AddName label={t('props.new_variable')} check={checkName(names, [])} add={(name) => onPatch({ variables: { [name]: 0 } })} />
      </fieldset>
      <fieldset class="props-set" data-path="/hidden_fields">
        <legend>{t('props.hidden_fields')}</legend>
        <p class="hint">{t('props.hidden_fields_hint')}</p>
        <ul class="props-rows">
          {hiddenFields.map((name, i) => (
            <li key={i}>
              <DraftField
                at={`hidden:${name}`} label={t('props.hidden_field')} hideLabel value={name} format={plainText.format} error={errorAt('/hidden_fields/' + i)} lazy
                parse={(s) => (s.trim() === name ? name : checkName(hiddenFields, ids)(s))} set={(to) => to !== undefined && onRename('hidden', name, to)}
              />
              <IconButton icon="x" label={t('props.remove_this', { label: name })} onClick={() => (onPatch({ hidden_fields: hiddenFields.toSpliced(i, 1) }), onRemoved?.(name))} />
            </li>
          ))}
        </ul>
        <AddName label={t('props.new_hidden_field')} check={checkName(hiddenFields, ids)} add={(name) => onPatch({ hidden_fields: [...hiddenFields, name] })} error={errorAt('/hidden_fields')} />
      </fieldset>
    </div>
  );
}

/** A field that adds a name. */
function AddName({ label, check, add, error }: { label: string; check(text: string): string | ValueError; add(name: string): void; error?: string | undefined }) {
  const [name, setName] = useState('');
  const [problem, setProblem] = useState<string>();
  const submit = (): void => {
    const result = check(name);
    if (result instanceof ValueError) return setProblem(result.text);
    add(result);
    setName('');
  };
  return (
    <div class="props-add">
      <TextField
        label={label} value={name} error={problem ?? error} onInput={(v) => (setName(v), setProblem(undefined))}
        onKeyDown={(e) => e.key === 'Enter' && !e.isComposing && (e.preventDefault(), submit())}
      />
      <Button onClick={submit}>{t('props.add')}</Button>
    </div>
  );
}
