import { useRef, useState } from 'preact/hooks';
import type { Detail } from '../app/api';
import { t } from '../app/words';
import { Button, IconButton } from '../ui/Button';
import { Select, TextField } from '../ui/Field';
import { Draft, plain } from './Draft';
import type { Obj } from '../app/json';
import { allBlocks, type Block } from '../app/records';
import { Fault, readNumber, showNumber } from './values';

interface Props {
  variables: Obj;
  hiddenFields: readonly string[];
  /** The blocks of the form, whose ids are no names of hidden fields. */
  blocks: readonly Block[];
  /** Takes a merge patch of {variables, hidden_fields}. */
  onPatch(patch: { variables?: Obj; hidden_fields?: string[] }): void;
  /** Gives one another name, wherever it is used. */
  onRename(kind: 'variables' | 'hidden', from: string, to: string): void;
  /** By JSON Pointer into the definition. */
  faults?: readonly Detail[];
  onRemoved?(label: string): void;
}

/** The variables that rules set, and the hidden fields that a page hands over. */
export function VariablesEditor({ variables, hiddenFields, blocks, onPatch, onRename, faults = [], onRemoved }: Props) {
  const ids = allBlocks(blocks).map((b) => b.id);
  const at = (pointer: string): string | undefined => faults.filter((d) => d.path === pointer).map((d) => d.message).join(' ') || undefined;
  /** What is wrong with a name among others. */
  const check = (others: readonly string[], blocked: readonly string[]) => (text: string): string | Fault => {
    const name = text.trim();
    if (name === '') return new Fault(t('props.error_name'));
    if ([...name].length > 200) return new Fault(t('props.error_too_long'));
    if (others.includes(name)) return new Fault(t('props.error_name_used'));
    return blocked.includes(name) ? new Fault(t('props.error_block_id')) : name;
  };
  // A line stays where it is, and keeps the focus, when its variable gets another name.
  const lines = useRef(new Map<string, number>()).current;
  const last = useRef(0);
  for (const name of Object.keys(variables)) if (!lines.has(name)) lines.set(name, ++last.current);
  const names = Object.keys(variables).sort((a, b) => lines.get(a)! - lines.get(b)!);
  const rename = (from: string, to: string | undefined): void => {
    if (to === undefined || to === from) return;
    lines.set(to, lines.get(from)!).set(from, ++last.current);
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
            const shared = { at: `variables.${name}`, label: t('props.variable_value', { name }), bare: true, fault: at('/variables/' + name.replaceAll('~', '~0').replaceAll('/', '~1')) };
            return (
              <li key={lines.get(name)}>
                <Draft at={`variables:${name}`} label={t('props.variable_name')} bare value={name} show={plain.show} read={(s) => (s.trim() === name ? name : check(names, [])(s))} set={(to) => rename(name, to)} late />
                <Select label={t('props.variable_kind', { name })} bare value={isNumber ? 'number' : 'text'} options={[['number', t('props.kind_number')], ['text', t('props.kind_text')]]} onChange={(kind) => set(kind === 'number' ? Number(value) || 0 : String(value))} />
                {isNumber
                  ? <Draft {...shared} decimal value={value} show={showNumber} read={(s) => readNumber(s) ?? new Fault(t('props.error_number'))} set={set} />
                  : <Draft {...shared} value={typeof value === 'string' ? value : ''} show={plain.show} read={(s) => s} set={set} />}
                <IconButton icon="x" label={t('props.remove_this', { label: name })} onClick={() => (onPatch({ variables: { [name]: null } }), onRemoved?.(name))} />
              </li>
            );
          })}
        </ul>
        <Add label={t('props.variable_new')} check={check(names, [])} add={(name) => onPatch({ variables: { [name]: 0 } })} />
      </fieldset>
      <fieldset class="props-set" data-path="/hidden_fields">
        <legend>{t('props.hidden_fields')}</legend>
        <p class="hint">{t('props.hidden_fields_hint')}</p>
        <ul class="props-rows">
          {hiddenFields.map((name, i) => (
            <li key={i}>
              <Draft
                at={`hidden:${name}`} label={t('props.hidden_field')} bare value={name} show={plain.show} fault={at('/hidden_fields/' + i)} late
                read={(s) => (s.trim() === name ? name : check(hiddenFields, ids)(s))} set={(to) => to !== undefined && onRename('hidden', name, to)}
              />
              <IconButton icon="x" label={t('props.remove_this', { label: name })} onClick={() => (onPatch({ hidden_fields: hiddenFields.toSpliced(i, 1) }), onRemoved?.(name))} />
            </li>
          ))}
        </ul>
        <Add label={t('props.hidden_new')} check={check(hiddenFields, ids)} add={(name) => onPatch({ hidden_fields: [...hiddenFields, name] })} fault={at('/hidden_fields')} />
      </fieldset>
    </div>
  );
}

/** A line for the name of something new. */
function Add({ label, check, add, fault }: { label: string; check(text: string): string | Fault; add(name: string): void; fault?: string | undefined }) {
  const [name, setName] = useState('');
  const [problem, setProblem] = useState<string>();
  const take = (): void => {
    const got = check(name);
    if (got instanceof Fault) return setProblem(got.text);
    add(got);
    setName('');
  };
  return (
    <div class="props-add">
      <TextField
        label={label} value={name} fault={problem ?? fault} onInput={(v) => (setName(v), setProblem(undefined))}
        onKeyDown={(e) => e.key === 'Enter' && !e.isComposing && (e.preventDefault(), take())}
      />
      <Button onClick={take}>{t('props.add')}</Button>
    </div>
  );
}
