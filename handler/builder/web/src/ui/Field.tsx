import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { t } from '../app/words';

interface FieldProps {
  label: string;
  /** Whether the label is only for screen readers. */
  hideLabel?: boolean;
  hint?: ComponentChildren;
  /** The value's error. */
  error?: string | undefined;
}

/** Renders a label, a hint and an error around a control. The control receives the ids for its attributes. */
export function Field({ label, hideLabel, hint, error, children }: FieldProps & { children: (ids: { id: string; 'aria-describedby': string | undefined; 'aria-invalid': boolean | undefined }) => ComponentChildren }) {
  const id = useId();
  const describedBy = [hint ? id + 'h' : '', error ? id + 'f' : ''].filter(Boolean).join(' ');
  return (
    <div class={error ? 'field wrong' : 'field'}>
      <label id={id + 'l'} for={id} class={hideLabel ? 'unseen' : undefined} onClick={() => document.getElementById(id)?.focus()}>{label}</label>
      {children({ id, 'aria-describedby': describedBy || undefined, 'aria-invalid': error ? true : undefined })}
      {hint && <p class="hint" id={id + 'h'}>{hint}</p>}
      {error && <p class="fault" id={id + 'f'}>{error}</p>}
    </div>
  );
}

/** The native attributes that controls accept. */
interface NativeProps {
  placeholder?: string | undefined;
  maxLength?: number | undefined;
  onBlur?(event: FocusEvent): void;
  onKeyDown?(event: KeyboardEvent): void;
}

interface TextFieldProps extends FieldProps, NativeProps {
  value: string;
  onInput(value: string): void;
  type?: 'text' | 'search' | 'email' | 'url' | 'tel' | 'date' | 'time' | 'datetime-local';
}

// Without a maximum, browsers accept years with six digits.
const maxDates: Record<string, string> = { date: '9999-12-31', 'datetime-local': '9999-12-31T23:59:59' };

export function TextField({ label, hideLabel, hint, error, value, onInput, type = 'text', ...rest }: TextFieldProps) {
  return (
    <Field label={label} hideLabel={hideLabel} hint={hint} error={error}>
      {(ids) => <input dir="auto" {...rest} {...ids} class="input" type={type as 'text'} max={maxDates[type]} value={value} onInput={(e) => onInput(e.currentTarget.value)} />}
    </Field>
  );
}

interface TextAreaProps extends FieldProps, NativeProps {
  value: string;
  onInput(value: string): void;
  rows?: number;
  code?: boolean;
  /** Whether the field is focused when it is first shown. */
  autoFocus?: boolean;
}

const focus = (element: HTMLElement | null): void => element?.focus();

export function TextArea({ label, hideLabel, hint, error, value, onInput, code, rows = 3, autoFocus, ...rest }: TextAreaProps) {
  return (
    <Field label={label} hideLabel={hideLabel} hint={hint} error={error}>
      {(ids) => (
        <textarea dir={code ? 'ltr' : 'auto'} {...rest} {...ids} ref={autoFocus ? focus : undefined} rows={rows} class={code ? 'input code' : 'input'} spellcheck={!code} value={value} onInput={(e) => onInput(e.currentTarget.value)} />
      )}
    </Field>
  );
}

interface NumberFieldProps extends FieldProps, NativeProps {
  value: number | undefined;
  /** undefined means that the field is empty. Invalid input results in an error and is not reported. */
  onInput(value: number | undefined): void;
  min?: number;
  max?: number;
  step?: number | 'any';
}

export function NumberField({ label, hideLabel, hint, error, value, onInput, step = 'any', ...rest }: NumberFieldProps) {
  const [isInvalid, setIsInvalid] = useState(false);
  return (
    <Field label={label} hideLabel={hideLabel} hint={hint} error={isInvalid ? t('app.enter_number') : error}>
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
            setIsInvalid(input.validity.badInput);
            if (!input.validity.badInput) onInput(input.value === '' ? undefined : input.valueAsNumber);
          }}
        />
      )}
    </Field>
  );
}

export function Select({ label, hideLabel, hint, error, value, options, onChange }: FieldProps & { value: string; options: readonly (readonly [value: string, text: string])[]; onChange(value: string): void }) {
  return (
    <Field label={label} hideLabel={hideLabel} hint={hint} error={error}>
      {(ids) => (
        <select {...ids} class="input" value={value} onChange={(e) => onChange(e.currentTarget.value)}>
          {options.map(([v, text]) => (
            <option key={v} value={v} dir="auto">{text}</option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function Switch({ label, hint, error, value, onChange }: FieldProps & { value: boolean; onChange(value: boolean): void }) {
  const id = useId();
  return (
    <div class={error ? 'field switch wrong' : 'field switch'}>
      <input id={id} type="checkbox" role="switch" checked={value} aria-describedby={hint || error ? id + 'h' : undefined} onChange={(e) => onChange(e.currentTarget.checked)} />
      <label for={id}>{label}</label>
      {(hint || error) && <p class={error ? 'fault' : 'hint'} id={id + 'h'}>{error ?? hint}</p>}
    </div>
  );
}
