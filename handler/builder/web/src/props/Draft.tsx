import { signal } from '@preact/signals';
import type { ComponentChildren, TargetedEvent, TargetedKeyboardEvent } from 'preact';
import { useLayoutEffect, useReducer } from 'preact/hooks';
import { route } from '../app/router';
import { t } from '../app/words';
import { Field } from '../ui/Field';
import { Fault } from './values';

// What is typed and cannot be a value yet, by where it belongs. It is shown, with its fault, until it is
// corrected or the value changes from elsewhere, also when the panel was closed in between.
const drafts = new Map<string, { text: string; over: string; bad: boolean; left: boolean }>();

/** How many fields on the page were left with a text that is no value, and is saved nowhere. */
export const unreadable = signal(0);

interface Props<T> {
  at: string;
  label: string;
  bare?: boolean;
  hint?: ComponentChildren;
  fault?: string | undefined;
  value: T | undefined;
  show(value: T | undefined): string;
  /** The value of a text, undefined for none, or what is wrong with it. */
  read(text: string): T | undefined | Fault;
  set(value: T | undefined): void;
  /** Completes a text when the field is left. */
  tidy?(text: string): string;
  type?: 'text' | 'date' | 'datetime-local' | 'url';
  decimal?: boolean;
  rows?: number;
  code?: boolean;
  placeholder?: string | undefined;
  /** The value changes when the field is left, or Enter is pressed, not with each key. */
  late?: boolean;
  /** Stands in the line, before the text. */
  before?: ComponentChildren;
  /** The attribute data-key, to find the field by. */
  name?: string | undefined;
  onKeyDown?(event: KeyboardEvent): void;
  onPaste?(event: ClipboardEvent): void;
}

/** A field for a value that is written as text. Only what can be read changes the value. */
export function Draft<T>({ at: place, label, bare, hint, fault, value, show, read, set, tidy, type = 'text', decimal, rows, code, placeholder, late, before, name, onKeyDown, onPaste }: Props<T>) {
  const at = route.value + '\n' + place;
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const shown = show(value);
  const verdict = (d: { text: string; bad: boolean }): T | undefined | Fault => (d.bad ? new Fault(t('props.error_date')) : read(d.text));
  let draft = drafts.get(at);
  const got = draft && verdict(draft);
  if (draft && (late || got instanceof Fault ? draft.over !== shown : show(got) !== shown)) {
    drafts.delete(at);
    draft = undefined;
  }
  const counts = draft?.left === true && got instanceof Fault;
  useLayoutEffect(() => {
    if (!counts) return;
    unreadable.value++;
    return () => void unreadable.value--;
  }, [counts]);
  const take = (text: string, bad: boolean, now = !late): void => {
    const made = { text, over: shown, bad, left: false };
    drafts.set(at, made);
    const result = verdict(made);
    if (now && !(result instanceof Fault) && show(result) !== shown) set(result);
    redraw(undefined);
  };
  const leave = (text: string, bad: boolean): void => {
    const tidied = tidy?.(text) ?? text;
    if (drafts.has(at) && (late || tidied !== text)) take(tidied, bad, true);
    const kept = drafts.get(at);
    if (kept && !(verdict(kept) instanceof Fault)) drafts.delete(at);
    else if (kept) kept.left = true;
    redraw(undefined);
  };
  const shared = {
    class: code ? 'input code' : 'input',
    value: draft?.text ?? shown,
    placeholder,
    'data-key': name,
    spellcheck: !code,
    onKeyDown: (e: TargetedKeyboardEvent<HTMLInputElement | HTMLTextAreaElement>) => {
      if (late && e.key === 'Enter' && !e.isComposing) leave(e.currentTarget.value, false);
      onKeyDown?.(e);
    },
    onPaste,
    onInput: (e: TargetedEvent<HTMLInputElement | HTMLTextAreaElement>) => take(e.currentTarget.value, e.currentTarget.validity.badInput),
    onBlur: (e: TargetedEvent<HTMLInputElement | HTMLTextAreaElement>) => leave(e.currentTarget.value, e.currentTarget.validity.badInput),
  };
  const problem = draft && got instanceof Fault ? got.text : fault;
  return (
    <Field label={label} bare={bare ?? false} hint={hint} fault={problem}>
      {(ids) => {
        if (rows) return <textarea {...ids} {...shared} rows={rows} />;
        const input = <input {...ids} {...shared} type={type as 'text'} inputMode={decimal ? 'decimal' : undefined} />;
        return before ? <span class="color">{before}{input}</span> : input;
      }}
    </Field>
  );
}

/** A line or some lines of text. */
export const plain = { show: (v: string | undefined): string => v ?? '', read: (text: string): string | undefined => text || undefined };
