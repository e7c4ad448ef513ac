import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { t } from '../app/words';

interface Around {
  label: string;
  /** The label is for screen readers alone. */
  bare?: boolean;
  hint?: ComponentChildren;
  /** What is wrong with the value. */
  fault?: string | undefined;
}

/** Puts a label, a hint and a fault around a control, which gets the ids for its attributes. */
export function Field({ label, bare, hint, fault, children }: Around & { children: (ids: { id: string; 'aria-describedby': string | undefined; 'aria-invalid': boolean | undefined }) => ComponentChildren }) {
  const id = useId();
  const about = [hint ? id + 'h' : '', fault ? id + 'f' : ''].filter(Boolean).join(' ');
  return (
    <div class={fault ? 'field wrong' : 'field'}>
      <label for={id} class={bare ? 'unseen' : undefined}>{label}</label>
      {children({ id, 'aria-describedby': about || undefined, 'aria-invalid': fault ? true : undefined })}
      {hint && <p class="hint" id={id + 'h'}>{hint}</p>}
      {fault && <p class="fault" id={id + 'f'}>{fault}</p>}
    </div>
  );
}

/** What a control takes of the element's own attributes. */
interface Native {
  placeholder?: string | undefined;
  disabled?: boolean | undefined;
  readOnly?: boolean | undefined;
  maxLength?: number | undefined;
  onBlur?(event: FocusEvent): void;
  onFocus?(event: FocusEvent): void;
  onKeyDown?(event: KeyboardEvent): void;
}

interface Text extends Around, Native {
  value: string;
  onInput(value: string): void;
  type?: 'text' | 'search' | 'email' | 'url' | 'tel' | 'date' | 'time' | 'datetime-local';
  list?: string;
  inputRef?: { current: HTMLInputElement | null };
}

// Without these a browser takes six digits of a year, which no service knows.
const latest: Record<string, string> = { date: '9999-12-31', 'datetime-local': '9999-12-31T23:59:59' };

export function TextField({ label, bare, hint, fault, value, onInput, type = 'text', inputRef, ...rest }: Text) {
  return (
    <Field label={label} bare={bare ?? false} hint={hint} fault={fault}>
      {(ids) => <input dir="auto" {...rest} {...ids} ref={inputRef} class="input" type={type as 'text'} max={latest[type]} value={value} onInput={(e) => onInput(e.currentTarget.value)} />}
    </Field>
  );
}

interface Area extends Around, Native {
  value: string;
  onInput(value: string): void;
  rows?: number;
  code?: boolean;
  /** Takes the focus when it is first shown. */
  autoFocus?: boolean;
}

const focus = (element: HTMLElement | null): void => element?.focus();

export function TextArea({ label, bare, hint, fault, value, onInput, code, rows = 3, autoFocus, ...rest }: Area) {
  return (
    <Field label={label} bare={bare ?? false} hint={hint} fault={fault}>
      {(ids) => (
        <textarea dir={code ? 'ltr' : 'auto'} {...rest} {...ids} ref={autoFocus ? focus : undefined} rows={rows} class={code ? 'input code' : 'input'} spellcheck={!code} value={value} onInput={(e) => onInput(e.currentTarget.value)} />
      )}
    </Field>
  );
}

interface Figure extends Around, Native {
  value: number | undefined;
  /** undefined: the field is empty. What is no number is shown as a fault and not passed on. */
  onInput(value: number | undefined): void;
  min?: number;
  max?: number;
  step?: number | 'any';
}

export function NumberField({ label, bare, hint, fault, value, onInput, step = 'any', ...rest }: Figure) {
  const [bad, setBad] = useState(false);
  return (
    <Field label={label} bare={bare ?? false} hint={hint} fault={bad ? t('app.enter_number') : fault}>
      {(ids) => (
        <input
          {...rest}
          {...ids}
          class="input"
          type="number"
          step={step}
          value={value ?? ''}
          onInput={(e) => {
            const input = e.currentTarget;
            setBad(input.validity.badInput);
            if (!input.validity.badInput) onInput(input.value === '' ? undefined : input.valueAsNumber);
          }}
        />
      )}
    </Field>
  );
}

export function Select({ label, bare, hint, fault, value, options, onChange, disabled }: Around & { value: string; options: readonly (readonly [value: string, text: string])[]; onChange(value: string): void; disabled?: boolean }) {
  return (
    <Field label={label} bare={bare ?? false} hint={hint} fault={fault}>
      {(ids) => (
        <select {...ids} class="input" value={value} disabled={disabled} onChange={(e) => onChange(e.currentTarget.value)}>
          {options.map(([v, text]) => (
            <option key={v} value={v} dir="auto">{text}</option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function Switch({ label, hint, fault, value, onChange, disabled }: Around & { value: boolean; onChange(value: boolean): void; disabled?: boolean }) {
  const id = useId();
  return (
    <div class={fault ? 'field switch wrong' : 'field switch'}>
      <input id={id} type="checkbox" role="switch" checked={value} disabled={disabled} aria-describedby={hint || fault ? id + 'h' : undefined} onChange={(e) => onChange(e.currentTarget.checked)} />
      <label for={id}>{label}</label>
      {(hint || fault) && <p class={fault ? 'fault' : 'hint'} id={id + 'h'}>{fault ?? hint}</p>}
    </div>
  );
}
