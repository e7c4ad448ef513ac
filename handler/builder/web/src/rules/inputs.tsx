import { useContext, useId } from 'preact/hooks';
import { t } from '../app/words';
import { DraftField } from '../props/DraftField';
import { ScopeContext } from '../props/scope';
import { splitLines, ValueError } from '../props/values';
import { NumberField, Select, TextField } from '../ui/Field';
import { pathOf, type Field, type Fields, type Json, type Ref } from './fields';
import { comparedField, isOutOfOrder, isRef, varLogic, type Leaf, type Operand } from './parse';
import { othersOf } from './checks';
import { fieldName, isTimeKind, valueName } from './describe';
import { Button } from '../ui/Button';

/** Returns options for the known fields, and for the current field if it is not among them. */
export function fieldOptions(known: readonly Field[], now: Field | undefined): (readonly [string, string])[] {
  const missing = now && !known.some((f) => pathOf(f.ref) === pathOf(now.ref)) ? [now] : [];
  return [...missing, ...known].map((f) => {
    const name = fieldName(f, t);
    return [pathOf(f.ref), f.kind !== 'unknown' && (f.ref.from === 'hidden' || f.ref.from === 'variables') ? t('rules.from.' + f.ref.from, { name }) : name] as const;
  });
}

/** A selection of the field that another field is compared with. */
export function OtherField({ field, other, fields, known, put }: { field: Field; other: Field; fields: Fields; known: readonly Field[]; put(other: Field): void }) {
  return <Select label={t('rules.other_answer')} hideLabel value={pathOf(other.ref)} options={fieldOptions(othersOf(field, known), other)} onChange={(path) => put(fields.get(fields.resolve(path) ?? other.ref))} />;
}

/** The input for the value in a comparison. */
export function LeafValue({ leaf, fields, known, put }: { leaf: Leaf; fields: Fields; known: readonly Field[]; put(value: Json): void }) {
  const field = fields.get(leaf.ref);
  const { value } = leaf;
  const other = comparedField(leaf, fields);
  if (value === undefined) return null;
  if (other) return <OtherField field={field} other={other} fields={fields} known={known} put={(o) => put(varLogic(o.ref))} />;
  if (leaf.op === 'between' && Array.isArray(value)) {
    const [a = null, b = null] = value;
    return (
      <div class="rule-pair">
        <ScalarInput label={t('rules.from_value')} field={field} value={a} put={(v) => put([v, b])} />
        <ScalarInput label={t('rules.to_value')} field={field} value={b} put={(v) => put([a, v])} />
      </div>
    );
  }
  if (!Array.isArray(value)) return <ScalarInput label={t('rules.value_label')} hideLabel field={field} value={value} put={put} />;
  return (
    <>
      {field.choices.length === 0 ? <LinesInput field={field} value={value} put={put} /> : field.kind === 'order' ? <RankingInput field={field} value={value} put={put} /> : <ChoiceList field={field} value={value} put={put} />}
      {isOutOfOrder(leaf, fields) && (
        <p class="notice rule-note">
          {t('rules.ranking_order_changed')} <Button onClick={() => put(inFormOrder(field, value))}>{t('rules.use_new_order')}</Button>
        </p>
      )}
    </>
  );
}

/** Sorts values into the form's order. Unknown values come last. */
const inFormOrder = (field: Field, values: Json[]): Json[] => {
  const known = field.choices.map((c): Json => c.id).filter((id) => values.includes(id));
  return [...known, ...values.filter((v) => !known.includes(v))];
};

function ScalarInput({ label, hideLabel, field, value, put }: { label: string; hideLabel?: boolean; field: Field; value: Json; put(value: Json): void }) {
  const shared = { label, ...(hideLabel && { hideLabel }) };
  if (typeof value === 'boolean') {
    return <Select {...shared} value={String(value)} options={[['true', t('rules.yes')], ['false', t('rules.no')]]} onChange={(v) => put(v === 'true')} />;
  }
  if (typeof value === 'number') return <NumberField {...shared} value={value} onInput={(n) => n !== undefined && put(n)} />;
  const text = String(value);
  if (field.choices.length > 0) {
    const ids = field.choices.map((c) => c.id);
    return <Select {...shared} value={text} options={(ids.includes(text) ? ids : [text, ...ids]).map((id) => [id, choiceName(id, field)])} onChange={put} />;
  }
  if (!isTimeKind(field.kind)) {
    return <TextField {...shared} value={text} hint={field.kind === 'country' && t('rules.hint.country')} onInput={(v) => put(field.kind === 'country' ? v.toUpperCase() : v)} />;
  }
  const isDateTime = field.kind === 'datetime';
  const completeTime = (v: string) => (isDateTime ? v + (v.length > 16 ? 'Z' : ':00Z') : v.length === 5 && field.seconds ? v + ':00' : v);
  return (
    <TextField
      {...shared}
      type={isDateTime ? 'datetime-local' : field.kind === 'date' ? 'date' : 'time'}
      value={isDateTime ? text.replace(/(:00)?Z$/, '') : text}
      hint={isDateTime && t('rules.hint.utc')}
      onInput={(v) => v !== '' && put(completeTime(v))}
    />
  );
}

const choiceName = (id: string, field: Field): string => field.choices.find((c) => c.id === id)?.label || valueName(id, { ...field, kind: 'choice', choices: [] }, t);

/** Checkboxes for selecting several choices. */
function ChoiceList({ field, value, put }: { field: Field; value: Json[]; put(value: Json): void }) {
  const ids = inFormOrder(field, [...field.choices.map((c) => c.id), ...value.filter((v) => !field.choices.some((c) => c.id === v))]);
  return (
    <fieldset class="rule-checks">
      <legend class="unseen">{t('rules.value_label')}</legend>
      {ids.map((id) => (
        <label key={id}>
          <input type="checkbox" checked={value.includes(id)} onChange={(e) => put(inFormOrder(field, e.currentTarget.checked ? [...value, id] : value.filter((v) => v !== id)))} />
          <span dir="auto">{choiceName(String(id), field)}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** All choices in order. Selecting a choice swaps it with the current one. */
function RankingInput({ field, value, put }: { field: Field; value: Json[]; put(value: Json): void }) {
  const options = inFormOrder(field, [...new Set([...field.choices.map((c): Json => c.id), ...value])]).map((id) => [String(id), choiceName(String(id), field)] as const);
  const take = (place: number, id: string) => put(value.map((v, i) => (i === place ? id : v === id ? (value[place] ?? id) : v)));
  return (
    <>
      {value.map((id, i) => <Select key={i} label={t('rules.part.place', { n: i + 1 })} value={String(id)} options={options} onChange={(v) => take(i, v)} />)}
    </>
  );
}

/** Texts or numbers, one per line. */
function LinesInput({ field, value, put }: { field: Field; value: Json[]; put(value: Json): void }) {
  const parse = (text: string): Json[] | ValueError => {
    const lines = splitLines(field.kind === 'country' ? text.toUpperCase() : text);
    if (field.kind !== 'number') return lines;
    const numbers = lines.map(Number);
    return numbers.every(Number.isFinite) ? numbers : new ValueError(t('app.enter_number'));
  };
  return (
    <DraftField
      at={useDraftPlace()}
      label={t('rules.values')}
      hideLabel
      rows={3}
      hint={t(field.kind === 'country' ? 'rules.hint.countries' : 'rules.hint.lines')}
      value={value}
      format={(values = []) => values.join('\n')}
      parse={parse}
      set={(values = []) => put(values)}
    />
  );
}

/** Returns a place for text that is not valid yet, see DraftField. */
const useDraftPlace = (): string => `${useContext(ScopeContext)?.id}:${useId()}`;

const formatJSON = (value: Json | undefined): string => JSON.stringify(value, null, 2);

function parseJSON(text: string): Json | ValueError {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return new ValueError(t('rules.invalid_json'));
  }
}

/** Shows logic that sentences cannot express, as JSON. Only valid JSON changes it. */
export function JSONBox({ label, value, onChange, back }: { label: string; value: Json; onChange(value: Json | undefined): void; back?: (() => void) | undefined }) {
  const rows = Math.min(16, formatJSON(value).split('\n').length + 1);
  return (
    <div class="rule-json">
      <DraftField at={useDraftPlace()} label={label} code rows={rows} hint={t('rules.hint.json')} value={value} format={formatJSON} parse={parseJSON} set={onChange} />
      <div class="row">
        {back && <Button onClick={back}>{t('rules.show_as_sentence')}</Button>}
        <Button kind="quiet" icon="trash-2" onClick={() => onChange(undefined)}>{t('rules.remove')}</Button>
      </div>
    </div>
  );
}

/**
 * The editor for an operand: a number, text or a field. If self is set, one option is to leave that variable
 * unchanged.
 */
export function OperandField({ label, value, fields, known, texts, self, put }: { label: string; value: Operand; fields: Fields; known: readonly Field[]; texts: boolean; self?: Ref | undefined; put(value: Operand): void }) {
  const path = isRef(value) ? pathOf(value) : typeof value;
  const noChange = self && ([pathOf(self), t('rules.no_change')] as const);
  const options = [
    ...(noChange ? [noChange] : []), ['number', t('rules.number')] as const, ...(texts ? [['string', t('rules.text')] as const] : []),
    ...fieldOptions(known, isRef(value) ? fields.get(value) : undefined).filter(([p]) => p !== noChange?.[0]),
  ];
  const choose = (chosen: string) => put(chosen === 'number' ? 1 : chosen === 'string' ? '' : (fields.resolve(chosen) ?? 1));
  return (
    <div class="rule-pair">
      <Select label={label} value={path} options={options} onChange={choose} />
      {typeof value === 'number' && <NumberField label={t('rules.number')} value={value} onInput={(n) => n !== undefined && put(n)} />}
      {typeof value === 'string' && <TextField label={t('rules.text')} value={value} onInput={put} />}
    </div>
  );
}

